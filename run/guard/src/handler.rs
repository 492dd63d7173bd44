//! What happens at a SIGBUS.
//!
//! The handler runs in the middle of whatever touched the page, so it takes no lock and no memory: it reads
//! atomics and asks the system for a page.

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

/// What was done at a SIGBUS before, or why the handler could not be set.
static BEFORE: OnceLock<Result<Before, i32>> = OnceLock::new();

/// The handler that was there before.
#[derive(Clone, Copy)]
struct Before {
    handler: usize,
    flags: c_int,
}

/// Sets the handler, once in a process.
pub(crate) fn install() -> io::Result<()> {
    let before = BEFORE.get_or_init(|| {
        // Whoever faults until `BEFORE` is known has no watched mapping yet: the handler treats it as the
        // system would.
        let mut old = MaybeUninit::<sigaction>::zeroed();
        // SAFETY: an action of zeroes is one without flags and with an empty mask; what is set below makes it
        // ours.
        let mut action: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = handle as *const () as usize;
        // On a thread's own signal stack where it has one: the handler of Rust's runtime, which finds
        // overflows of stacks, needs that.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        // SAFETY: both are a `sigaction` for the length of the call, and `handle` has the signature that
        // SA_SIGINFO asks for. It keeps to what a handler may do.
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
    // A signal that a process sent has no address: other facts stand in its place.
    if code <= 0 {
        pass_on(signal, info, context);
        return;
    }
    // SAFETY: as above, and the system raised it, so the address is meant.
    let address = unsafe { (*info).si_addr() }.addr();
    if let Some((watch, page)) = Watch::over(address)
        && put_zeroes(&page)
    {
        watch.note_gone(page);
        return;
    }
    pass_on(signal, info, context);
}

/// Maps zeroes over a page that is missing. The code that was interrupted finds `errno` as it was.
fn put_zeroes(page: &Range<usize>) -> bool {
    // SAFETY: a thread's `errno` is there as long as the thread.
    let errno = unsafe { *libc::__errno_location() };
    let flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: the page lies in a mapping that a `Shared` of this thread owns, as `Watch::over` tells, so that
    // nobody unmaps it meanwhile. The `Shared` hands out no reference to its memory: there is nothing that
    // could find other bytes than it expects.
    let mapped =
        unsafe { libc::mmap(page.start as *mut c_void, page.len(), PROT_READ | PROT_WRITE, flags, -1, 0) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    mapped != MAP_FAILED
}

/// A SIGBUS that is not about shared memory: does what would have been done without us.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the system hands over a valid `siginfo_t`.
    let sent = unsafe { (*info).si_code } <= 0;
    match BEFORE.get() {
        // Only what was sent can be ignored: the system ends a process at a fault that is.
        Some(Ok(Before { handler: SIG_IGN, .. })) if sent => return,
        Some(Ok(Before { handler, flags })) if !matches!(*handler, SIG_DFL | SIG_IGN) => {
            if flags & SA_SIGINFO != 0 {
                // SAFETY: with SA_SIGINFO the system takes what was set for a function of this signature, and
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
            // SAFETY: it is a `sigaction`, and nobody wants the old one.
            unsafe { libc::sigaction(signal, &raw const default, null_mut()) };
        }
    }
    // An access that failed is repeated after this handler, and then ends the process. A signal that was sent
    // does not come again. The handler before us may have set the default action, as that of Rust's runtime
    // does: the process would go on with our handler gone, and the next missing page would end it.
    if sent && is_default(signal) {
        // SAFETY: it takes no memory of ours; the signal waits until this handler has returned.
        unsafe { libc::raise(signal) };
    }
}

/// Whether nobody handles `signal` now.
fn is_default(signal: c_int) -> bool {
    let mut now = MaybeUninit::<sigaction>::zeroed();
    // SAFETY: it is a `sigaction` to be filled in, and nothing is set.
    let told = unsafe { libc::sigaction(signal, null(), now.as_mut_ptr()) } == 0;
    // SAFETY: zeroes were an action already.
    told && unsafe { now.assume_init() }.sa_sigaction == SIG_DFL
}
