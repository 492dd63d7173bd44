extern crate std;
use super::*;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_units::{Duration, Frequency, Instant, Rng};
use core::cell::{Cell, RefCell};
use std::vec;

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

struct Log(RefCell<Vec<(Instant, u64)>>, Exec);
impl Handler for Log {
    fn fire(&self, token: u64) {
        self.0.borrow_mut().push((self.1.now(), token));
    }
}

#[test]
fn events_come_in_order_of_time_then_of_scheduling() {
    let exec = Exec::new();
    let log = Rc::new(Log(RefCell::default(), exec.clone()));
    let id = exec.register(log.clone());
    for (at, token) in [(5, 1), (3, 2), (5, 3), (1, 4)] {
        exec.schedule(us(at), id, token);
    }
    exec.advance_to(us(4));
    assert_eq!(*log.0.borrow(), vec![(us(1), 4), (us(3), 2)]);
    assert_eq!(exec.now(), us(4));
    assert_eq!(exec.next_deadline(), Some(us(5)));
    exec.advance_to(us(9));
    assert_eq!(log.0.borrow()[2..], [(us(5), 1), (us(5), 3)]);
    assert_eq!(exec.next_deadline(), None);
    exec.shut_down();
}

#[test]
fn a_charged_core_polls_its_other_tasks_only_when_it_is_free() {
    let exec = Exec::new();
    let core = Core::new(&exec, Frequency::from_hertz(1_000_000).unwrap());
    let seen = Rc::new(RefCell::new(Vec::new()));
    for name in 0..2u64 {
        let (core2, seen) = (core.clone(), seen.clone());
        core.spawn(async move {
            for _ in 0..2 {
                seen.borrow_mut().push((core2.exec().now(), name));
                core2.charge(10);
                core2.exec().sleep(Duration::from_micros(1)).await;
            }
        });
    }
    exec.advance_to(us(100));
    assert_eq!(*seen.borrow(), vec![(us(0), 0), (us(10), 1), (us(20), 0), (us(30), 1)]);
    assert_eq!(core.stats().cycles, 40);
}

#[test]
fn settling_keeps_the_core_and_lets_the_clock_catch_up() {
    let exec = Exec::new();
    let core = Core::new(&exec, Frequency::from_hertz(120_000_000).unwrap());
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (c, s) = (core.clone(), seen.clone());
    core.spawn(async move {
        c.charge(120);
        assert_eq!(c.now(), us(1));
        c.settle().await;
        s.borrow_mut().push((c.exec().now(), 'a'));
    });
    let (c, s) = (core.clone(), seen.clone());
    core.spawn(async move { s.borrow_mut().push((c.exec().now(), 'b')) });
    exec.advance_to(us(5));
    assert_eq!(*seen.borrow(), vec![(us(1), 'a'), (us(1), 'b')]);
}

#[test]
fn a_full_ring_holds_its_producer_until_there_is_room() {
    let exec = Exec::new();
    let ring = Rc::new(Ring::new(2));
    let got = Rc::new(RefCell::new(Vec::new()));
    let (e, r) = (exec.clone(), ring.clone());
    exec.spawn(async move {
        for i in 0..5 {
            r.push(&e, i).await;
        }
    });
    let (e, r, g) = (exec.clone(), ring.clone(), got.clone());
    exec.spawn(async move {
        for _ in 0..5 {
            e.sleep(Duration::from_micros(1)).await;
            let item = r.pop(&e).await;
            g.borrow_mut().push((e.now(), item));
        }
    });
    exec.advance_to(us(3));
    assert_eq!(got.borrow().len(), 3);
    assert!(ring.is_full());
    exec.advance_to(us(10));
    assert_eq!(*got.borrow(), vec![(us(1), 0), (us(2), 1), (us(3), 2), (us(4), 3), (us(5), 4)]);
}

#[test]
fn posts_run_after_the_caller_and_before_time_moves() {
    let exec = Exec::new();
    let log = Rc::new(Log(RefCell::default(), exec.clone()));
    let id = exec.register(log.clone());
    let e = exec.clone();
    let l = log.clone();
    exec.spawn(async move {
        e.post(id, 7);
        assert!(l.0.borrow().is_empty());
        e.sleep(Duration::from_micros(1)).await;
        assert_eq!(l.0.borrow().len(), 1);
    });
    exec.advance_to(us(2));
    assert_eq!(*log.0.borrow(), vec![(us(0), 7)]);
    assert_eq!(exec.counts(), Counts { events: 1, posts: 1, polls: 2, instants: 1 });
    exec.shut_down();
}

#[test]
fn the_roster_has_tasks_and_handlers_in_the_order_of_their_coming() {
    async fn first() {}
    async fn second() {}
    let exec = Exec::new();
    let core = Core::new(&exec, Frequency::from_hertz(1_000_000).unwrap());
    core.spawn(first());
    exec.register(Rc::new(Log(RefCell::default(), exec.clone())));
    exec.spawn(second());
    exec.advance_to(us(1));
    let Roster { tasks, handlers } = exec.roster();
    assert_eq!(tasks.len(), 2, "those that have ended, too");
    assert!(tasks[0].contains("first") && tasks[1].contains("second"), "{tasks:?}");
    assert!(handlers.len() == 1 && handlers[0].ends_with("Log"), "{handlers:?}");
    exec.shut_down();
}

#[test]
fn a_handler_may_register_others_while_it_handles_an_event() {
    struct Registrar(Exec, Rc<Log>, RefCell<Vec<HandlerId>>);
    impl Handler for Registrar {
        fn fire(&self, token: u64) {
            let id = self.0.register(self.1.clone());
            self.0.post(id, token);
            self.0.schedule(us(3), id, token + 1);
            self.2.borrow_mut().push(id);
        }
    }
    let exec = Exec::new();
    let log = Rc::new(Log(RefCell::default(), exec.clone()));
    let registrar = Rc::new(Registrar(exec.clone(), log.clone(), RefCell::default()));
    let first = exec.register(registrar.clone());
    exec.schedule(us(1), first, 10);
    exec.schedule(us(1), first, 20);
    exec.advance_to(us(2));
    let later = exec.register(log.clone());
    exec.post(later, 30);
    exec.advance_to(us(4));
    assert_eq!(registrar.2.borrow().iter().map(|id| id.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(later.0, 3);
    assert_eq!(*log.0.borrow(), [(1, 10), (1, 20), (2, 30), (3, 11), (3, 21)].map(|(at, n)| (us(at), n)));
    exec.shut_down();
}

/// What random tasks on two cores do, by time; and the counts of work.
fn life(seed: u64, run: impl Fn(&Exec)) -> (Vec<(Instant, u64)>, Counts) {
    let exec = Exec::new();
    let log = Rc::new(Log(RefCell::default(), exec.clone()));
    let handler = exec.register(log.clone());
    let cores = [7_000_000, 120_000_000]
        .map(|hertz| Core::new(&exec, Frequency::from_hertz(hertz).expect("it isn't zero")));
    for task in 0..Rng::new(seed).below(5) + 1 {
        let (exec, log) = (exec.clone(), log.clone());
        let core = cores[task as usize % 2].clone();
        let mut rng = Rng::new(seed << 8 | task);
        core.clone().spawn(async move {
            for step in 0..200 {
                log.fire(task << 32 | step);
                match rng.below(7) {
                    0 | 1 => core.charge(rng.below(40)),
                    2 => core.settle().await,
                    3 => core.yield_now().await,
                    4 => exec.sleep(Duration::from_nanos(rng.below(900))).await,
                    5 => exec.schedule(exec.now() + Duration::from_nanos(rng.below(2_000)), handler, 1 << 60),
                    _ => exec.post(handler, 1 << 61),
                }
            }
        });
    }
    run(&exec);
    assert_eq!(exec.next_deadline(), None);
    let lived = (log.0.borrow().clone(), exec.counts());
    exec.shut_down();
    lived
}

#[test]
fn portions_of_instants_do_what_single_ones_do() {
    for seed in 0..100 {
        let one_by_one = life(seed, |exec| {
            while let Some(at) = exec.next_deadline() {
                exec.advance_to(at);
            }
        });
        let in_portions = life(seed, |exec| {
            let mut rng = Rng::new(seed);
            while let Some(first) = exec.next_deadline() {
                let before = exec.now() + Duration::from_nanos(rng.below(3_000));
                let (most, stop) = (1 + rng.below(5) as u32, rng.below(6) as u32);
                let ends = Cell::new(0);
                let counted = exec.advance_while(Some(before), most, || {
                    ends.set(ends.get() + 1);
                    ends.get() != stop
                });
                assert!((1..=most).contains(&counted), "{counted} instants of {most}");
                assert!(stop == 0 || counted <= stop, "it was to stop at the end of instant {stop}");
                assert!(exec.now() < before || exec.now() == first);
            }
        });
        assert_eq!(in_portions, one_by_one, "seed {seed}");
    }
}
