//! The guard doesn't handle a SIGBUS that a process sent: the previous action decides, and the guard stays
//! active for as long as the process lives.
//!
//! A signal's action applies to the whole process, so each case runs in its own process: this test starts its
//! own program again.

use aster_run_memory::{Gone, Shared};
use libc::{SA_SIGINFO, SI_QUEUE, SIG_DFL, SIG_IGN, SIGBUS, c_int, c_void, sigaction, siginfo_t};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs::File;
use std::mem::{MaybeUninit, zeroed};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which case a process is.
const CASE: &str = "ASTER_GUARD_TEST_CASE";
/// The output of a process that survived the signal.
const WENT_ON: &str = "went on behind the signal";
const LENGTH: u64 = 0x4000;

static CALLS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: c_int, _: *mut siginfo_t, _: *mut c_void) {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

fn set(handler: usize, flags: c_int) {
    // SAFETY: an action of zeroes is the default one; `handler` is a constant of the system's or `count`,
    // which has the signature that `flags` ask for.
    unsafe {
        let mut action: sigaction = zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(SIGBUS, &raw const action, null_mut()), 0);
    }
}

fn raise() {
    // SAFETY: the process was started for this.
    assert_eq!(unsafe { libc::raise(SIGBUS) }, 0);
}

/// Sends this thread a SIGBUS that carries an address where one that the system raises has it.
fn send_with(address: usize) {
    let mut info = MaybeUninit::<siginfo_t>::zeroed();
    // SAFETY: zeroes are a `siginfo_t`. After its three numbers, aligned for an address, is the field that
    // `si_addr` reads, as the first assertion checks. The call only reads `info`.
    unsafe {
        (*info.as_mut_ptr()).si_signo = SIGBUS;
        (*info.as_mut_ptr()).si_code = SI_QUEUE;
        info.as_mut_ptr().cast::<usize>().add(16 / size_of::<usize>()).write(address);
        assert_eq!((*info.as_ptr()).si_addr().addr(), address);
        let (process, thread) = (libc::getpid(), libc::gettid());
        let sent = libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, SIGBUS, info.as_ptr());
        assert_eq!(sent, 0);
    }
}

/// Where this process's mapping of a file begins.
fn address_of(name: &str) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.contains(name)).unwrap();
    usize::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
}

/// Runs one case in its process.
fn be(case: &str) {
    // SAFETY: it takes only numbers. It keeps a process that ends by a signal from leaving a core file.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    match case {
        "default" => set(SIG_DFL, 0),
        "ignored" => set(SIG_IGN, 0),
        "handler" => set(count as *const () as usize, SA_SIGINFO),
        "runtime" => {}
        other => panic!("{other}"),
    }
    let file = memfd_create("signals", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, LENGTH).unwrap();
    let file = Arc::new(File::from(file));
    let shared = Shared::new(Arc::clone(&file), 0, LENGTH, 0x1000, true).unwrap();
    shared.write(0, &[7]).unwrap();
    if case == "handler" {
        send_with(address_of("memfd:signals"));
        assert_eq!(CALLS.load(Ordering::Relaxed), 1, "it was passed on");
        assert_eq!(shared.read(0, &mut [0]), Ok(()), "nothing was missing");
    }
    raise();
    println!("{WENT_ON}");
    ftruncate(&*file, 0).unwrap();
    assert_eq!(shared.read(0, &mut [0]), Err(Gone), "the guard is on duty");
    assert_eq!(CALLS.load(Ordering::Relaxed), if case == "handler" { 2 } else { 0 });
}

fn process(case: &str) -> (ExitStatus, bool) {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let name = "a_signal_that_was_sent_does_what_it_did_before";
    let output = program.args(["--exact", name, "--nocapture"]).env(CASE, case).output().unwrap();
    println!("{case}: {output:?}");
    (output.status, String::from_utf8_lossy(&output.stdout).contains(WENT_ON))
}

#[test]
fn a_signal_that_was_sent_does_what_it_did_before() {
    if let Ok(case) = std::env::var(CASE) {
        return be(&case);
    }
    // At a signal that isn't its own, Rust's runtime removes its handler, and ours with it: a process that
    // continued would be without its guard.
    for case in ["default", "runtime"] {
        let (status, went_on) = process(case);
        assert_eq!(
            (status.signal(), went_on),
            (Some(SIGBUS), false),
            "{case}: the first one ends the process"
        );
    }
    for case in ["ignored", "handler"] {
        let (status, went_on) = process(case);
        assert!(status.success() && went_on, "{case}: {status}");
    }
}
