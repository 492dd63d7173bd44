//! Which requests may begin while a drive is too hot (H4): those of a few dies of each controller.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_units::{Instant, LunIndex};
use core::cell::{Cell, RefCell};

/// Requests after which a die that others wait for lets them in.
const TURN: u32 = 16;
/// No limit.
const ALL: u16 = u16::MAX;

/// The dies of an array, and the controllers that they belong to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DieGroups {
    /// The die of each LUN, counted from 0. LUNs that work in lockstep are one die.
    pub die_of: Vec<u16>,
    /// The controller of each die, counted from 0.
    pub controller_of: Vec<u16>,
    /// Dies give way to others while they have work. Not so where a scheduler may wait for a later request
    /// before it begins an earlier one, as for the rest of a word line.
    pub take_turns: bool,
}

/// Counts the requests of each die, and holds some back while there is a limit. Within a die they keep their
/// order, and those that are sent at the same instant go together.
pub(crate) struct Admission<T> {
    die_of: Box<[u16]>,
    dies: Box<[Die<T>]>,
    controllers: Box<[Controller]>,
    /// Dies of a controller that may work, or [`ALL`].
    limit: Cell<u16>,
    turn: u32,
}

struct Die<T> {
    controller: u16,
    /// Requests that have begun and haven't ended.
    begun: Cell<u32>,
    /// Those that have begun since the die was let in, and when the latest did.
    of_turn: Cell<u32>,
    latest: Cell<Instant>,
    held: RefCell<VecDeque<T>>,
}

struct Controller {
    /// Dies with requests that have begun.
    working: Cell<u16>,
    /// Dies with requests that are held, in their order.
    waiting: RefCell<VecDeque<u16>>,
}

impl<T: Copy> Admission<T> {
    /// Without a limit, for at most `depth` requests.
    pub fn new(groups: DieGroups, depth: usize) -> Self {
        let DieGroups { die_of, controller_of, take_turns } = groups;
        let controllers = controller_of.iter().copied().max().map_or(0, |last| usize::from(last) + 1);
        let controllers = (0..controllers)
            .map(|_| Controller {
                working: Cell::new(0),
                waiting: RefCell::new(VecDeque::with_capacity(controller_of.len())),
            })
            .collect();
        let die = |&controller: &u16| Die {
            controller,
            begun: Cell::new(0),
            of_turn: Cell::new(0),
            latest: Cell::new(Instant::ZERO),
            held: RefCell::new(VecDeque::with_capacity(depth)),
        };
        Admission {
            die_of: die_of.into(),
            dies: controller_of.iter().map(die).collect(),
            controllers,
            limit: Cell::new(ALL),
            turn: if take_turns { TURN } else { u32::MAX },
        }
    }

    /// A request to `lun` may begin: true. Else it is held until [`Admission::leave`] or
    /// [`Admission::set_limit`] lets it in.
    pub fn enter(&self, request: T, lun: LunIndex, now: Instant) -> bool {
        let number = self.die_of[lun.index()];
        let die = &self.dies[usize::from(number)];
        if self.fits(die, now) {
            self.begin(die, now);
            return true;
        }
        let mut held = die.held.borrow_mut();
        if held.is_empty() {
            self.controllers[usize::from(die.controller)].waiting.borrow_mut().push_back(number);
        }
        held.push_back(request);
        false
    }
    fn fits(&self, die: &Die<T>, now: Instant) -> bool {
        let limit = self.limit.get();
        if limit == ALL {
            return true;
        }
        if !die.held.borrow().is_empty() {
            return false;
        }
        let controller = &self.controllers[usize::from(die.controller)];
        let nobody_waits = controller.waiting.borrow().is_empty();
        match die.begun.get() {
            0 => nobody_waits && controller.working.get() < limit,
            _ => nobody_waits || die.of_turn.get() < self.turn || die.latest.get() == now,
        }
    }
    fn begin(&self, die: &Die<T>, now: Instant) {
        if die.begun.get() == 0 {
            let controller = &self.controllers[usize::from(die.controller)];
            controller.working.set(controller.working.get() + 1);
            die.of_turn.set(0);
        }
        die.begun.set(die.begun.get() + 1);
        die.of_turn.set(die.of_turn.get() + 1);
        die.latest.set(now);
    }
    /// A request to `lun` that had begun has ended. `begin` gets those that begin now.
    pub fn leave(&self, lun: LunIndex, now: Instant, begin: impl FnMut(T)) {
        let die = &self.dies[usize::from(self.die_of[lun.index()])];
        let controller = &self.controllers[usize::from(die.controller)];
        die.begun.set(die.begun.get() - 1);
        if die.begun.get() == 0 {
            controller.working.set(controller.working.get() - 1);
        }
        self.let_in(controller, now, begin);
    }
    /// At most `dies` of each controller work from now on, at least one; `None`: all that there are. `begin`
    /// gets the requests that begin now.
    pub fn set_limit(&self, dies: Option<u16>, now: Instant, mut begin: impl FnMut(T)) {
        assert!(dies != Some(0), "a die must work");
        self.limit.set(dies.unwrap_or(ALL));
        self.controllers.iter().for_each(|controller| self.let_in(controller, now, &mut begin));
    }
    fn let_in(&self, controller: &Controller, now: Instant, mut begin: impl FnMut(T)) {
        loop {
            let Some(&next) = controller.waiting.borrow().front() else { return };
            let die = &self.dies[usize::from(next)];
            if die.begun.get() == 0 && controller.working.get() >= self.limit.get() {
                return;
            }
            controller.waiting.borrow_mut().pop_front();
            die.of_turn.set(0);
            while let Some(request) = {
                let mut held = die.held.borrow_mut();
                held.pop_front()
            } {
                self.begin(die, now);
                begin(request);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use aster_units::{Duration, Rng};

    /// Two controllers of four dies.
    fn groups(take_turns: bool) -> DieGroups {
        DieGroups { die_of: (0..8).collect(), controller_of: vec![0, 0, 0, 0, 1, 1, 1, 1], take_turns }
    }
    fn at(nanos: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(nanos)
    }

    #[test]
    fn a_few_dies_of_each_controller_work_and_the_others_come_in_their_order() {
        let admission = Admission::new(groups(true), 16);
        admission.set_limit(Some(2), at(0), |_| panic!("nothing is held"));
        let enter = |request: u32, lun: u32| admission.enter(request, LunIndex(lun), at(request.into()));
        assert!(enter(1, 0) && enter(2, 1) && enter(3, 0), "two dies, one of them twice");
        assert!(!enter(4, 2) && !enter(5, 3) && !enter(6, 2));
        assert!(enter(7, 4) && enter(8, 5) && !enter(9, 6), "the other controller has two of its own");
        let left = |lun: u32| {
            let mut begun = vec![];
            admission.leave(LunIndex(lun), at(20), |request| begun.push(request));
            begun
        };
        assert_eq!(left(0), [], "the die still works");
        assert_eq!(left(0), [4, 6], "all of the die that has waited longest");
        assert_eq!(left(1), [5]);
        let mut begun = vec![];
        admission.set_limit(None, at(30), |request| begun.push(request));
        assert_eq!(begun, [9]);
        assert!(enter(40, 6) && enter(41, 7) && enter(42, 1));
    }

    /// A die that never runs dry doesn't keep the others out, unless it must.
    #[test]
    fn dies_take_turns() {
        for take_turns in [true, false] {
            let admission = Admission::new(groups(take_turns), 64);
            admission.set_limit(Some(1), at(0), |_| ());
            assert!(admission.enter(0, LunIndex(0), at(0)) && !admission.enter(1_000, LunIndex(1), at(0)));
            let held = (1..40u32).find(|&n| {
                // One more is always sent before one ends.
                let is_held = !admission.enter(n, LunIndex(0), at(n.into()));
                if !is_held {
                    admission.leave(LunIndex(0), at(n.into()), |n| panic!("{n} begins beside"));
                }
                is_held
            });
            assert_eq!(held, take_turns.then_some(TURN));
            let mut begun = vec![];
            admission.leave(LunIndex(0), at(50), |request| begun.push(request));
            assert_eq!(begun, [1_000]);
        }
    }

    /// What is sent together begins together: LUNs in lockstep wait for one another.
    #[test]
    fn requests_of_one_instant_are_not_parted_by_the_end_of_a_turn() {
        let lanes = DieGroups { die_of: vec![0, 0, 0, 0, 1], controller_of: vec![0, 0], take_turns: true };
        let admission = Admission::new(lanes, 64);
        admission.set_limit(Some(1), at(0), |_| ());
        (0..TURN - 1).for_each(|n| assert!(admission.enter(n, LunIndex(0), at(n.into()))));
        assert!(!admission.enter(100, LunIndex(4), at(20)));
        (0..4).for_each(|lane| assert!(admission.enter(200 + lane, LunIndex(lane), at(30))));
        assert!(!admission.enter(300, LunIndex(0), at(31)), "the turn is over");
    }

    /// Random requests, ends and limits: nothing is lost, no die changes its order, and no more dies begin
    /// than may.
    #[test]
    fn every_request_begins_once_in_the_order_of_its_die() {
        let mut random = Rng::new(5);
        for take_turns in [true, false] {
            let admission = Admission::new(groups(take_turns), 4_000);
            let (mut sent, mut begun) = (vec![0u32; 8], vec![0u32; 8]);
            let mut running: Vec<u32> = vec![];
            let mut limit = None;
            for step in 0..20_000 {
                let mut starts = vec![];
                match random.below(40) {
                    0 => {
                        limit = [None, Some(1), Some(2), Some(3)][random.below(4) as usize];
                        admission.set_limit(limit, at(step), |request| starts.push(request));
                    }
                    1..20 => {
                        let lun = random.below(8) as u32;
                        let request = (lun, sent[lun as usize]);
                        sent[lun as usize] += 1;
                        if admission.enter(request, LunIndex(lun), at(step)) {
                            starts.push(request);
                        }
                    }
                    _ if !running.is_empty() => {
                        let lun = running.swap_remove(random.below(running.len() as u64) as usize);
                        admission.leave(LunIndex(lun), at(step), |request| starts.push(request));
                    }
                    _ => {}
                }
                let works = |running: &[u32], die: u32| running.contains(&die);
                for (lun, number) in starts {
                    assert_eq!(number, begun[lun as usize], "die {lun}");
                    begun[lun as usize] += 1;
                    let others = (0..8).filter(|&die| die / 4 == lun / 4 && works(&running, die)).count();
                    let is_new = !works(&running, lun);
                    assert!(!is_new || limit.is_none_or(|most: u16| others < most.into()), "at {step}");
                    running.push(lun);
                }
            }
            while let Some(lun) = running.pop() {
                admission.leave(LunIndex(lun), at(30_000), |(lun, _)| {
                    begun[lun as usize] += 1;
                    running.push(lun);
                });
            }
            assert_eq!(sent, begun);
            assert!(sent.iter().sum::<u32>() > 8_000);
        }
    }
}
