use super::*;
use aster_exec::{Core, Exec, Ring, WaitCell, WaitQueue};
use aster_units::{Duration, Frequency, Instant};
use std::cell::RefCell;
use std::pin::pin;

const STACK_BYTES: u32 = 64 << 10;

struct Bench {
    exec: Exec,
    core: Core,
    stacks: Option<Rc<Stacks>>,
    log: Rc<RefCell<Vec<(Instant, u64)>>>,
}

impl Bench {
    fn new(stackful: bool) -> Self {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let stacks = stackful.then(|| Rc::new(Stacks::new(STACK_BYTES)));
        if let Some(stacks) = &stacks {
            core.carry_by(Rc::clone(stacks) as Rc<dyn Carrier>);
        }
        Bench { exec, core, stacks, log: Rc::default() }
    }
    fn advance(&self, microseconds: u64) {
        self.exec.advance_to(Instant::ZERO + Duration::from_micros(microseconds));
    }
    fn note(&self) -> impl Fn(u64) + Clone + use<> {
        let (exec, log) = (self.exec.clone(), Rc::clone(&self.log));
        move |what| log.borrow_mut().push((exec.now(), what))
    }
}

/// Runs `setup` with and without stacks and asserts that the same is noted at the same times, by as many
/// polls. Gives what was noted.
fn alike(setup: impl Fn(&Bench)) -> Vec<(Instant, u64)> {
    let [plain, stackful] = [false, true].map(|stackful| {
        let bench = Bench::new(stackful);
        setup(&bench);
        bench.advance(10_000);
        if let Some(stacks) = &bench.stacks {
            let stats = stacks.stats();
            assert_eq!(stats.switches, bench.exec.counts().polls, "every task has a stack");
            assert!((100..u64::from(STACK_BYTES)).contains(&stats.deepest_bytes), "{stats:?}");
        }
        let noted = bench.log.take();
        let counts = bench.exec.counts();
        bench.exec.shut_down();
        (noted, counts)
    });
    assert!(!plain.0.is_empty());
    assert_eq!(plain, stackful);
    plain.0
}

#[test]
fn every_kind_of_wait_goes_on_at_the_same_time_with_and_without_a_stack() {
    alike(|bench| {
        let ring = Rc::new(Ring::new(2));
        let (cell, queue) = (Rc::new(WaitCell::default()), Rc::new(WaitQueue::default()));
        for producer in 0..3 {
            let (core, ring, note) = (bench.core.clone(), Rc::clone(&ring), bench.note());
            bench.core.spawn(async move {
                for turn in 0..20 {
                    core.charge(700 * (producer + 1));
                    core.settle().await;
                    ring.push(core.exec(), 100 * producer + turn).await;
                    note(1_000 + producer);
                    core.yield_now().await;
                }
            });
        }
        let (core, cell2, queue2, note) = (bench.core.clone(), cell.clone(), queue.clone(), bench.note());
        let open = Rc::new(Cell::new(0));
        let opened = Rc::clone(&open);
        bench.core.spawn(async move {
            for turn in 0..60u64 {
                let item = ring.pop(core.exec()).await;
                note(item);
                core.exec().sleep(Duration::from_nanos(900 + 37 * turn)).await;
                open.set(turn);
                cell2.wake(core.exec());
                queue2.wake_one(core.exec());
            }
        });
        let (exec, note, now) = (bench.exec.clone(), bench.note(), Rc::clone(&opened));
        bench.core.spawn(async move {
            for turn in (0..60).step_by(7) {
                cell.wait(&exec, || (now.get() >= turn).then_some(())).await;
                note(5_000 + turn);
            }
        });
        for waiter in 0..2 {
            let (exec, queue, note, now) = (bench.exec.clone(), queue.clone(), bench.note(), opened.clone());
            bench.core.spawn(async move {
                for turn in (waiter..50).step_by(9) {
                    queue.wait(&exec, || (now.get() >= turn).then_some(())).await;
                    note(6_000 + 100 * waiter + turn);
                }
            });
        }
    });
}

/// Waits at the bottom of `depth` nested calls, each with locals that it needs afterwards (S14).
fn nested(exec: Exec, depth: u64) -> Pin<Box<dyn Future<Output = u64>>> {
    Box::pin(async move {
        let locals = [depth, depth * depth, !depth];
        if depth == 0 {
            exec.sleep(Duration::from_micros(3)).await;
            return 1;
        }
        let below = nested(exec.clone(), depth - 1).await;
        exec.sleep(Duration::from_nanos(10)).await;
        below + locals[0] + locals[1] + !locals[2]
    })
}

#[test]
fn locals_and_nested_calls_survive_waits_at_every_depth() {
    let noted = alike(|bench| {
        for task in 0..104 {
            let (exec, note) = (bench.exec.clone(), bench.note());
            bench.core.spawn(async move { note(nested(exec, 20 + task % 5).await) });
        }
    });
    let expected = |depth: u64| 1 + (1..=depth).map(|d| d * d + 2 * d).sum::<u64>();
    let of_depths: Vec<u64> = noted.iter().map(|(_, value)| *value).collect();
    assert_eq!(of_depths.len(), 104);
    for depth in 20..25 {
        assert!(of_depths.contains(&expected(depth)), "{depth}");
    }
}

/// Notes that it was dropped, and not because the stack was unwound: a release build can't do that.
struct Held(Rc<Cell<u32>>);
impl Drop for Held {
    fn drop(&mut self) {
        self.0.set(self.0.get() + u32::from(!std::thread::panicking()));
    }
}

#[test]
fn at_the_end_what_suspended_tasks_hold_is_dropped_and_they_do_nothing_more() {
    let bench = Bench::new(true);
    let (dropped, note) = (Rc::new(Cell::new(0)), bench.note());
    for task in 0..104u64 {
        let (exec, note, held) = (bench.exec.clone(), note.clone(), Held(Rc::clone(&dropped)));
        bench.core.spawn(async move {
            let inner = async {
                let _also = Held(Rc::clone(&held.0));
                exec.sleep(Duration::from_micros(1 + task)).await;
                note(task);
                let again = pin!(exec.sleep(Duration::from_micros(1_000)));
                exec.before_waiting(again, || note(200 + task)).await;
                note(400 + task);
            };
            inner.await;
            drop(held);
        });
    }
    bench.advance(50);
    assert_eq!(bench.log.borrow().len(), 100, "50 tasks wait for the second time");
    // One that has never run.
    let held = Held(Rc::clone(&dropped));
    bench.core.spawn(async move { drop(held) });
    assert_eq!(dropped.get(), 0);
    bench.exec.shut_down();
    assert_eq!(dropped.get(), 2 * 104 + 1);
    assert_eq!(bench.log.borrow().len(), 100);
}

#[test]
fn a_first_wait_is_told_of_before_it_begins_and_only_once() {
    let noted = alike(|bench| {
        let (exec, note) = (bench.exec.clone(), bench.note());
        bench.core.spawn(async move {
            let twice = async {
                exec.sleep(Duration::from_micros(2)).await;
                exec.sleep(Duration::from_micros(3)).await;
            };
            exec.before_waiting(pin!(twice), || note(1)).await;
            note(2);
            exec.before_waiting(pin!(async {}), || note(3)).await;
            note(4);
        });
    });
    let at = |microseconds| Instant::ZERO + Duration::from_micros(microseconds);
    assert_eq!(noted, [(at(0), 1), (at(5), 2), (at(5), 4)]);
}

#[test]
fn a_wait_that_is_not_the_executors_returns_to_the_stacks_bottom() {
    let noted = alike(|bench| {
        let (exec, note) = (bench.exec.clone(), bench.note());
        bench.core.spawn(async move {
            let mut polls = 0;
            std::future::poll_fn(|_| {
                polls += 1;
                exec.wake_at(exec.now() + Duration::from_micros(1), exec.current());
                if polls == 4 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            note(polls);
        });
    });
    assert_eq!(noted, [(Instant::ZERO + Duration::from_micros(3), 4)]);
}

#[test]
fn a_panic_on_a_tasks_stack_reaches_who_polled_it() {
    let bench = Bench::new(true);
    let exec = bench.exec.clone();
    bench.core.spawn(async move {
        exec.sleep(Duration::from_micros(1)).await;
        panic!("found by the task");
    });
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.advance(5))).unwrap_err();
    assert_eq!(caught.downcast_ref(), Some(&"found by the task"));
    // Another task's stack can be entered.
    let note = bench.note();
    bench.core.spawn(async move { note(7) });
    bench.advance(6);
    assert_eq!(bench.log.borrow().last().map(|(_, what)| *what), Some(7));
    bench.exec.shut_down();
}
