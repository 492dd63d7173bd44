//! First come, first served: the scheduler for a storage controller whose host does the scheduling.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Event, Recorder};
use aster_exec::{Exec, Handler};
use aster_parties::{
    Below, FlashScheduler, LunPlace, PieceError, SchedulerNeeds, SchedulerPorts, SchedulerView,
};
use aster_ports::flash::{FlashPort, FlashRequest, FlashStatus, Tag};
use core::cell::{Cell, RefCell};

/// Hands requests to their channel's controller in order of arrival, up to a fixed number per channel at
/// once. It makes no choices and takes no core's time.
#[derive(Clone, Copy, Debug)]
pub struct PassThrough {
    /// How many requests a channel's controller has at once, at least 1.
    pub slots_per_channel: u16,
}

impl<C> FlashScheduler<C> for PassThrough {
    fn needs(&self) -> SchedulerNeeds {
        // All slots of a channel may be used by requests to one LUN.
        SchedulerNeeds { requests_per_lun: self.slots_per_channel, ..SchedulerNeeds::default() }
    }
    fn start(self: Box<Self>, ports: SchedulerPorts<C>) -> Result<Rc<dyn SchedulerView>, PieceError> {
        let SchedulerPorts { core, requests, below, luns, up, recorder, .. } = ports;
        let Below::Port(below) = below else {
            return Err(PieceError::new("scheduler.policy", "\"pass-through\" must have a port below it"));
        };
        if self.slots_per_channel == 0 {
            return Err(PieceError::new("scheduler.policy", "\"pass-through\" must have a slot per channel"));
        }
        let exec = core.exec().clone();
        let channels = luns.iter().map(|place| usize::from(place.channel) + 1).max().unwrap_or(0);
        let mut channel_of = vec![0; luns.len()];
        for LunPlace { lun, channel, .. } in luns {
            channel_of[lun.index()] = channel;
        }
        let slots = usize::from(self.slots_per_channel);
        let depth = requests.depth();
        let channel =
            |_| Channel { waiting: VecDeque::with_capacity(depth), under_way: Vec::with_capacity(slots) };
        let passing = Rc::new(Passing {
            exec: exec.clone(),
            requests,
            below,
            slots,
            channel_of,
            channels: RefCell::new((0..channels).map(channel).collect()),
            is_up: Cell::new(false),
            recorder,
        });
        let handler = exec.register(passing.clone());
        passing.requests.collect(handler);
        passing.below.watch(handler);
        let waiting = Rc::clone(&passing);
        exec.clone().spawn(async move {
            up.pass(&exec).await;
            waiting.is_up.set(true);
            waiting.fire(0);
        });
        Ok(passing)
    }
}

struct UnderWay {
    above: Tag,
    below: Tag,
    request: FlashRequest,
}

struct Channel {
    waiting: VecDeque<(Tag, FlashRequest)>,
    under_way: Vec<UnderWay>,
}

struct Passing {
    exec: Exec,
    requests: Rc<FlashPort>,
    below: Rc<FlashPort>,
    slots: usize,
    channel_of: Vec<u16>,
    channels: RefCell<Vec<Channel>>,
    is_up: Cell<bool>,
    recorder: Recorder,
}

impl SchedulerView for Passing {}

impl Handler for Passing {
    /// A request has come, or one below has ended.
    fn fire(&self, _: u64) {
        while let Some((tag, request)) = self.requests.try_collect() {
            let channel = usize::from(self.channel_of[request.lun.index()]);
            self.channels.borrow_mut()[channel].waiting.push_back((tag, request));
        }
        if !self.is_up.get() {
            return;
        }
        for channel in self.channels.borrow_mut().iter_mut() {
            channel.under_way.retain(|request| !self.answered(request));
            while channel.under_way.len() < self.slots
                && let Some((above, request)) = channel.waiting.pop_front()
            {
                let below = self.below.submit(request).expect("the port below has a slot for each of ours");
                self.recorder.emit(self.exec.now(), || Event::FlashIssued {
                    lun: request.lun.0,
                    kind: request.phase.class(),
                    row: request.targets()[0].row.0,
                });
                channel.under_way.push(UnderWay { above, below, request });
            }
        }
    }
}

impl Passing {
    /// Answers a request if it has ended.
    fn answered(&self, UnderWay { above, below, request }: &UnderWay) -> bool {
        let Some(outcomes) = self.below.try_take(*below) else { return false };
        if outcomes.iter().any(|outcome| outcome.status == FlashStatus::Error) {
            while let Some(error) = self.below.take_fault(request.lun) {
                self.requests.note_fault(request.lun, error);
            }
        }
        self.recorder.emit(self.exec.now(), || Event::FlashFinished {
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
            status: outcomes[0].status.code(),
            corrected: outcomes[0].corrected,
        });
        self.requests.complete(*above, outcomes);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use aster_exec::Core;
    use aster_parties::{BringUpGate, CoreBuses, Tasks};
    use aster_ports::cores::Interrupt;
    use aster_ports::flash::{FlashError, FlashOp, MAX_TARGETS, Outcome, Target};
    use aster_ports::resource::Bandwidth;
    use aster_units::{BufferId, Frequency, Instant, LunIndex, RowAddr, SectorRange};

    fn program(lun: u32, row: u32) -> FlashRequest {
        let target = Target { row: RowAddr(row), sectors: SectorRange::whole(4), buffer: BufferId(0) };
        FlashRequest::single(FlashOp::Program, LunIndex(lun), target)
    }

    #[test]
    fn requests_pass_in_their_order_so_many_per_channel_and_none_before_the_packages_are_up() {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        // Two channels with two LUNs each.
        let place = |n| LunPlace { lun: LunIndex(n), channel: n as u16 % 2, package: n, core: core.clone() };
        let luns: Vec<_> = (0..4).map(place).collect();
        let requests = FlashPort::new(&exec, 4, 8, Interrupt::default());
        let below = requests.below(8, Interrupt::default());
        let (gate, bus) = (Rc::new(BringUpGate::default()), Bandwidth::new(0));
        let buses = CoreBuses { host: bus.clone(), channels: bus.clone(), memory: bus };
        let started = Box::new(PassThrough { slots_per_channel: 2 }).start(SchedulerPorts::<()> {
            core,
            requests: Rc::clone(&requests),
            below: Below::Port(Rc::clone(&below)),
            luns,
            tasks: Rc::new(Tasks::new(Box::new(Policy::Fifo), 4)),
            commands: None,
            buses,
            up: Rc::clone(&gate),
            recorder: Recorder::default(),
        });
        assert!(started.is_ok());
        let tags: Vec<_> = [(0, 1), (2, 2), (0, 3), (1, 4), (0, 5)]
            .into_iter()
            .map(|(lun, row)| requests.submit(program(lun, row)).unwrap())
            .collect();
        exec.advance_to(Instant::ZERO);
        assert_eq!(below.queued(LunIndex(0)), 0, "the packages are not up");
        gate.open(&exec);
        exec.advance_to(Instant::ZERO);
        let taken = |lun| {
            let first = |_: &mut dyn Iterator<Item = FlashOp>| 0;
            below.try_next(LunIndex(lun), first).map(|(tag, request)| (tag, request.targets()[0].row.0))
        };
        let (first, row) = taken(0).expect("one of channel 0");
        assert_eq!((row, taken(0)), (1, None), "its other slot is LUN 2's");
        assert_eq!((taken(2).map(|(_, row)| row), taken(1).map(|(_, row)| row)), (Some(2), Some(4)));

        let failed = Outcome { status: FlashStatus::Error, ..Outcome::default() };
        let at = exec.now();
        below.note_fault(LunIndex(0), FlashError::Unsupported { operation: "program", at });
        below.complete(first, [failed; MAX_TARGETS]);
        exec.advance_to(Instant::ZERO);
        assert_eq!(requests.try_take(tags[0]), Some([failed; MAX_TARGETS]));
        assert!(requests.take_fault(LunIndex(0)).is_some(), "the fault has come up with it");
        assert_eq!(taken(0).map(|(_, row)| row), Some(3), "in the order of their coming");
        assert_eq!(taken(0), None);
        exec.shut_down();
    }
}
