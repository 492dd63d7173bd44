//! Operations poll a LUN's status from the time on at which its array should be done, not before.

use super::variants::{FAST, TWO_PLANES, make, target};
use super::*;
use aster_ports::flash::Target;

/// A package whose tPROG and tBERS are `longer` or `shorter` than the typical times that software assumes.
fn off_by(longer: Duration, shorter: Duration) -> Bench {
    let bench = Bench::with(TWO_PLANES, Content::Fingerprint, Placement::Spare, FAST, |nand, flash| {
        make(nand, flash);
        for typical in flash.t_prog.iter_mut().chain([&mut flash.t_bers]) {
            *typical = (*typical + shorter).saturating_sub(longer);
        }
    });
    bench.bring_up(0);
    bench
}

/// Runs the operation; returns how often it polled the status, and how long it took.
fn polls(bench: &Bench, operation: impl AsyncFnOnce() + 'static) -> (usize, Duration) {
    let (seen, start) = (bench.watch(), bench.exec.now());
    bench.run(operation);
    let polls = seen.borrow().iter().filter(|one| **one == Seen::Cmd(0x70)).count();
    (polls, bench.exec.now().since(start))
}

const PAGES: u16 = 8;
/// Of eight pages in turn LSB and MSB.
const ARRAY: Duration = Duration::from_micros(4 * (481 + 2_295));
const NONE: Duration = Duration::ZERO;

fn cached(bench: &Bench) -> (usize, Duration) {
    let lun = bench.lun(0, 0);
    let pages: Vec<Target> = (0..PAGES).map(|i| target(bench, 2, i, 0)).collect();
    polls(bench, async move || program_cache(&lun, &pages, &mut [false; 8]).await.unwrap())
}

#[test]
fn a_cached_program_asks_once_a_page_when_arrays_take_their_typical_time() {
    let (polls, took) = cached(&off_by(NONE, NONE));
    assert_eq!(polls, usize::from(PAGES));
    // One transfer of about 92 µs that nothing hides, and 3 µs per page.
    assert!(took < ARRAY + Duration::from_micros(95 + 8 * 5), "{took}");
}

/// If polls didn't correct the expected time, 20 µs per page would add up.
#[test]
fn a_cached_program_of_a_slower_array_asks_for_what_each_page_takes_longer() {
    let (polls, took) = cached(&off_by(Duration::from_micros(20), NONE));
    assert!((8..=8 * 22).contains(&polls), "{polls}");
    assert!(took < ARRAY + Duration::from_micros(95 + 8 * 5), "{took}");
}

#[test]
fn a_cached_program_of_a_faster_array_asks_once_a_page() {
    let (polls, took) = cached(&off_by(NONE, Duration::from_micros(20)));
    assert_eq!(polls, usize::from(PAGES));
    assert!(took < ARRAY + Duration::from_micros(95 + 8 * 25), "{took}");
}

/// One poll for the suspend, one for the page read in between, one for the resume.
#[test]
fn a_resumed_erase_asks_when_what_was_left_of_it_is_done() {
    let bench = off_by(NONE, NONE);
    for progress in [1, 2_500, 4_900] {
        let (lun, block) = (bench.lun(0, 0), bench.row(4, 0));
        let read = target(&bench, 2, 0, 8);
        let progress = Duration::from_micros(progress);
        let (polls, took) = polls(&bench, async move || {
            erase_with_read(&lun, block, progress, &read).await.unwrap();
        });
        assert_eq!(polls, 3, "{progress}");
        let us = Duration::from_micros;
        assert!(
            took > us(5_000 + 30 + 58 + 90) && took < us(5_000 + 30 + 58 + 90 + 15),
            "{progress}: {took}"
        );
    }
}

#[test]
fn a_resumed_program_asks_when_what_was_left_of_it_is_done() {
    for (longer, most) in [(0, 2), (20, 22)] {
        let bench = off_by(Duration::from_micros(longer), NONE);
        let (lun, row, exec) = (bench.lun(0, 0), bench.row(2, 0), bench.exec.clone());
        let (polls, _) = polls(&bench, async move || {
            let since = start_program(&lun, row, BufferId(0)).await.unwrap();
            exec.sleep(Duration::from_micros(200)).await;
            let found = suspend_program(&lun, row, since).await.unwrap();
            assert!(found.status.command_specific());
            let about = Duration::from_micros(200);
            assert!(found.worked >= about && found.worked < about + Duration::from_micros(2));
            assert!(!resume_program(&lun, row, found.worked).await.unwrap().fail());
        });
        assert!(polls <= most, "{polls} polls of an array that takes {longer} µs longer");
    }
}

/// A suspend that comes after the erase has ended leaves nothing to resume.
#[test]
fn an_erase_that_ended_before_its_suspend_is_not_resumed() {
    let bench = off_by(NONE, NONE);
    let (lun, block) = (bench.lun(0, 0), bench.row(4, 0));
    let read = target(&bench, 2, 0, 8);
    let (polls, _) = polls(&bench, async move || {
        let (status, _) = erase_with_read(&lun, block, Duration::from_micros(5_100), &read).await.unwrap();
        assert!(!status.fail() && !status.command_specific());
    });
    assert_eq!(polls, 2);
    assert_eq!(bench.inspect.block(LunIndex(0), BlockAddr(4)).erases, 1);
}
