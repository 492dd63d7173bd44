//! I3's rings: requests are submitted, taken, finished and collected in any order by both sides, against a
//! model of plain queues (S16).

use super::input::Input;
use aster_exec::{Exec, Handler};
use aster_ports::cores::{Interrupt, Notice};
use aster_ports::flash::{FlashOp, FlashPort, FlashRequest, Outcome, Outcomes, Tag, Target};
use aster_units::{BufferId, Duration, LunIndex, RowAddr, SectorRange};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The most LUNs and requests of a port.
const LUNS_MAX: u32 = 5;
const DEPTH_MAX: u32 = 12;

/// Counts how often it is told of something.
#[derive(Default)]
struct Told(Cell<u64>);

impl Handler for Told {
    fn fire(&self, _: u64) {
        self.0.set(self.0.get() + 1);
    }
}

/// What the rings should hold.
#[derive(Default)]
struct Model {
    /// Available, by lane, or in the first lane if all are collected: number and request.
    available: Vec<VecDeque<(u32, Tag)>>,
    /// Taken by the controller's side.
    taken: Vec<(u32, Tag)>,
    /// Answered and not fetched, by number.
    answered: BTreeMap<u32, (Tag, Outcomes)>,
    entries: u64,
    highest: usize,
    completed: u64,
}

impl Model {
    fn in_flight(&self) -> usize {
        self.available.iter().map(VecDeque::len).sum::<usize>() + self.taken.len() + self.answered.len()
    }
}

fn request(lun: u32, number: u32) -> FlashRequest {
    let target = Target { row: RowAddr(number), sectors: SectorRange::whole(1), buffer: BufferId(number) };
    FlashRequest::single(FlashOp::Read, LunIndex(lun), target)
}

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let exec = Exec::new();
    let (luns, depth) = (1 + input.below(LUNS_MAX), 1 + input.below(DEPTH_MAX));
    let interrupt = Interrupt { latency: Duration::from_nanos(u64::from(input.below(3)) * 200) };
    let polled = input.u8() & 1 == 1;
    let notice = if polled { Notice::polled(interrupt) } else { Notice::from(interrupt) };
    let port = FlashPort::new(&exec, luns, depth as u16, notice);
    let collects = input.u8() & 1 == 1;
    let (told, watcher) = (Rc::new(Told::default()), Rc::new(Told::default()));
    if collects {
        port.collect(exec.register(told.clone()));
    }
    port.watch(exec.register(watcher.clone()));
    let mut model = Model { available: vec![VecDeque::new(); luns as usize], ..Model::default() };
    let mut number = 0;
    while !input.is_empty() {
        match input.below(8) {
            0..=2 => {
                let lun = input.below(luns);
                let tag = port.submit(request(lun, number));
                assert_eq!(tag.is_some(), model.in_flight() < depth as usize, "room");
                if let Some(tag) = tag {
                    assert!(model.taken.iter().all(|(_, other)| *other != tag), "a slot has one request");
                    let lane = if collects { 0 } else { lun as usize };
                    model.available[lane].push_back((number, tag));
                    (model.entries, number) = (model.entries + 1, number + 1);
                    model.highest = model.highest.max(model.in_flight());
                }
            }
            3 | 4 => {
                let lun = input.below(luns);
                let lane = if collects { 0 } else { lun as usize };
                let choice = input.u8() as usize;
                let waiting = model.available[lane].len();
                let index = if collects || waiting == 0 { 0 } else { choice % waiting };
                let got = match collects {
                    true => port.try_collect(),
                    false => port.try_next(LunIndex(lun), |of| index.min(of.count() - 1)),
                };
                let expected = model.available[lane].remove(index);
                let found = got.map(|(tag, request)| (request.targets()[0].row.0, tag));
                assert_eq!(found, expected, "the request that was chosen");
                model.taken.extend(found);
            }
            5 if !model.taken.is_empty() => {
                let at = input.below(model.taken.len() as u32) as usize;
                let (number, tag) = model.taken.swap_remove(at);
                let outcomes = [Outcome { feature: number, ..Outcome::default() }; 4];
                port.complete(tag, outcomes);
                model.completed += 1;
                model.answered.insert(number, (tag, outcomes));
            }
            6 => {
                let waiting = model.available.iter().flatten().chain(&model.taken);
                for &(_, tag) in waiting {
                    assert_eq!(port.try_take(tag), None, "nothing has answered it");
                }
                let number = model.answered.keys().nth(usize::from(input.u8())).copied();
                if let Some((tag, outcomes)) = number.and_then(|n| model.answered.remove(&n)) {
                    assert_eq!(port.try_take(tag), Some(outcomes), "once");
                    assert_eq!(port.try_take(tag), None, "and not twice");
                }
            }
            _ => exec.advance_to(exec.now() + Duration::from_nanos(u64::from(input.u8()))),
        }
        assert_eq!(port.room(), depth as usize - model.in_flight());
        let counts = port.counts();
        assert_eq!((counts.entries, usize::from(counts.highest)), (model.entries, model.highest));
        let raised = if polled || collects { 0 } else { model.entries };
        assert_eq!((counts.submit_interrupts, counts.complete_interrupts), (raised, model.completed));
    }
    exec.advance_to(exec.now() + Duration::from_micros(1));
    assert_eq!(told.0.get(), if collects { model.entries } else { 0 }, "each request is told of");
    assert_eq!(watcher.0.get(), model.completed, "and each result");
    exec.shut_down();
}
