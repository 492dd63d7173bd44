//! The SIGBUS handler.
//!
//! The handler interrupts the code that accessed the page, so it takes no lock and allocates nothing: it
//! reads atomics and maps a page.

use crate::watch::Watch;
use libc::{
    MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED, MAP_NORESERVE, MAP_PRIVATE, PROT_READ, PROT_WRITE, SA_ONSTACK,
    SA_SIGINFO, SIG_DFL, SIG_IGN, SIGBUS, c_int, c_void, sigaction, siginfo_t,
};
use std::io;
use std::mem::{MaybeUninit, transmute};
use std::ops::Range;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// The previous SIGBUS action, or why the handler could not be set.
static BEFORE: OnceLock<Result<Before, i32>> = OnceLock::new();

/// The handler that was there before.
#[derive(Clone, Copy)]
struct Before {
    handler: usize,
    flags: c_int,
}

/// Sets the handler, once per process.
pub(crate) fn install() -> io::Result<()> {
    let before = BEFORE.get_or_init(|| {
        // A thread that faults before `BEFORE` is set has no watched mapping yet: the handler then does what
        // the system would do by default.
        let mut old = MaybeUninit::<sigaction>::zeroed();
        // SAFETY: an action of zeroes is one without flags and with an empty mask; the fields below are set
        // before use.
        let mut action: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = handle as *const () as usize;
        // Use a thread's own signal stack if it has one: the handler of Rust's runtime, which detects stack
        // overflows, needs that.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        // SAFETY: both are a `sigaction` for the length of the call, and `handle` has the signature that
        // SA_SIGINFO asks for. It does only what a signal handler may do.
        if unsafe { libc::sigaction(SIGBUS, &raw const action, old.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
        }
        // SAFETY: the call has filled it in, and zeroes were an action already.
        let old = unsafe { old.assume_init() };
        Ok(Before { handler: old.sa_sigaction, flags: old.sa_flags })
    });
    before.as_ref().map(|_| ()).map_err(|&error| io::Error::from_raw_os_error(error))
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the system hands over a valid `siginfo_t`.
    let code = unsafe { (*info).si_code };
    // A signal that a process sent has no address: the same bytes hold other fields.
    if code <= 0 {
        pass_on(signal, info, context);
        return;
    }
    // SAFETY: as above, and the system raised it, so the address is valid.
    let address = unsafe { (*info).si_addr() }.addr();
    if let Some((watch, page)) = Watch::over(address)
        && put_zeroes(&page)
    {
        watch.note_gone(page);
        return;
    }
    pass_on(signal, info, context);
}

/// Maps zeroes over a missing page, and restores `errno` for the interrupted code.
fn put_zeroes(page: &Range<usize>) -> bool {
    // SAFETY: a thread's `errno` is there as long as the thread.
    let errno = unsafe { *libc::__errno_location() };
    let flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: the page lies in a mapping that a `Shared` of this thread owns, as `Watch::over` tells, so
    // nothing unmaps it meanwhile. The `Shared` hands out no reference to its memory, so no reference can see
    // its bytes change.
    let mapped =
        unsafe { libc::mmap(page.start as *mut c_void, page.len(), PROT_READ | PROT_WRITE, flags, -1, 0) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    mapped != MAP_FAILED
}

/// A SIGBUS outside of watched memory: does what would have happened without this handler.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the system hands over a valid `siginfo_t`.
    let sent = unsafe { (*info).si_code } <= 0;
    match BEFORE.get() {
        // Only a signal that was sent can be ignored: for an ignored fault the system ends the process.
        Some(Ok(Before { handler: SIG_IGN, .. })) if sent => return,
        Some(Ok(Before { handler, flags })) if !matches!(*handler, SIG_DFL | SIG_IGN) => {
            if flags & SA_SIGINFO != 0 {
                // SAFETY: with SA_SIGINFO the system takes the handler for a function of this signature, and
                // so do we.
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                    unsafe { transmute(*handler) };
                handler(signal, info, context);
            } else {
                // SAFETY: without SA_SIGINFO it is a function of this signature.
                let handler: extern "C" fn(c_int) = unsafe { transmute(*handler) };
                handler(signal);
            }
        }
        _ => {
            // SAFETY: an action of zeroes is the default one.
            let default: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
            // SAFETY: it is a `sigaction`, and the old one isn't requested.
            unsafe { libc::sigaction(signal, &raw const default, null_mut()) };
        }
    }
    // A failed access is repeated after this handler returns, and then ends the process. A signal that was
    // sent doesn't come again. The previous handler may have set the default action, as that of Rust's
    // runtime does: then the process would continue without our handler, and the next missing page would end
    // it.
    if sent && is_default(signal) {
        // SAFETY: it accesses no memory of ours; the signal is blocked until this handler has returned.
        unsafe { libc::raise(signal) };
    }
}

/// Whether `signal` has the default action now.
fn is_default(signal: c_int) -> bool {
    let mut now = MaybeUninit::<sigaction>::zeroed();
    // SAFETY: it is a `sigaction` to be filled in; no action is changed.
    let told = unsafe { libc::sigaction(signal, null(), now.as_mut_ptr()) } == 0;
    // SAFETY: zeroes were an action already.
    told && unsafe { now.assume_init() }.sa_sigaction == SIG_DFL
}
