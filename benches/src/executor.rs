//! The executor: a timer event with 10³ and 10⁵ others pending, and a switch between tasks (design §2).

use crate::clock::cpu_seconds;
use aster_exec::{Exec, Ring};
use aster_units::{Duration, Instant, Rng};
use std::rc::Rc;

const EVENTS: u64 = 4_000_000;
const SWITCHES: u64 = 8_000_000;

/// Prints nanoseconds of CPU time per event and per switch.
pub fn measure() {
    println!("executor");
    for pending in [1_000u64, 100_000] {
        println!("  timer event, {pending:>6} pending  {:7.1} ns", timer_event(pending));
    }
    println!("  task switch                  {:7.1} ns", task_switch());
}

/// `pending` tasks sleep for random times. For each event the executor pops it, polls its task and pushes
/// the next sleep.
fn timer_event(pending: u64) -> f64 {
    let exec = Exec::new();
    for i in 0..pending {
        let e = exec.clone();
        let mut rng = Rng::new(i);
        exec.spawn(async move {
            loop {
                e.sleep(Duration::from_nanos(1 + rng.below(1_000_000))).await;
            }
        });
    }
    exec.advance_to(Instant::ZERO + Duration::from_millis(1));
    let (before, from) = (exec.counts().events, cpu_seconds());
    let step = Duration::from_nanos(500_000 * EVENTS / pending);
    exec.advance_to(exec.now() + step);
    let took = cpu_seconds() - from;
    let events = exec.counts().events - before;
    exec.shut_down();
    took * 1e9 / events as f64
}

/// Two tasks pass a token back and forth through rings, with one poll per pass.
fn task_switch() -> f64 {
    let exec = Exec::new();
    let rings = Rc::new([Ring::new(1), Ring::new(1)]);
    for side in 0..2 {
        let (e, r) = (exec.clone(), Rc::clone(&rings));
        exec.spawn(async move {
            for _ in 0..SWITCHES / 2 {
                let token: u64 = r[side].pop(&e).await;
                r[1 - side].push(&e, token + 1).await;
            }
        });
    }
    assert!(rings[0].try_push(&exec, 0).is_ok(), "an empty ring has room");
    let from = cpu_seconds();
    exec.advance_to(Instant::ZERO);
    let took = cpu_seconds() - from;
    let polls = exec.counts().polls;
    exec.shut_down();
    took * 1e9 / polls as f64
}
