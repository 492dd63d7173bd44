//! A fixed controller of one channel: its operation modules, and the path from them to the engine.

use super::asynchronous::{ControlPath, Descent, WAITS};
use super::config::FixedConfig;
use super::module::{Module, Next};
use super::segment::{Place, Waits, lay_out};
use super::synchronous::RoundRobin;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, Handler, HandlerId};
use aster_parties::{Answer, ControlWord, Filter, Segment, SegmentKind};
use aster_ports::channel::ChannelPort;
use aster_ports::flash::{Capabilities, FlashPort, MAX_TARGETS, Tag};
use aster_ports::package::Interface;
use aster_ports::resource::SharedBandwidth;
use aster_units::{Duration, Instant, LunIndex};
use core::cell::{Cell, RefCell};

/// How segments get the channel (B29).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Operation modules that wait for an arbiter's grant.
    Synchronous,
    /// Control words that queue at a dispatcher.
    Asynchronous,
}

enum Discipline {
    Synchronous,
    Asynchronous(ControlPath),
}

/// One LUN's operation module and its place.
struct Unit {
    lun: LunIndex,
    place: Place,
    module: RefCell<Module>,
    // A segment whose control word has not entered the dispatcher's queue yet.
    outside: Cell<Option<(Segment, Duration)>>,
    // Requests whose bus part is over, but whose data are still in the stages or whose completion is in
    // transit.
    ending: RefCell<Vec<Ending>>,
}

/// A request that is ending. Its results have been noted at the port.
struct Ending {
    tag: Tag,
    // When the present step is over.
    at: Instant,
    // The completion has been sent. Before that, the data are in the stages.
    sent: bool,
}

/// A channel controller in hardware. It serves its channel's lanes of an I3 port.
pub struct FixedController {
    exec: Exec,
    requests: Rc<FlashPort>,
    channel: Rc<ChannelPort>,
    config: FixedConfig,
    units: Vec<Unit>,
    discipline: Discipline,
    // The buses that a completion passes before the firmware sees it.
    completions: RefCell<Vec<SharedBandwidth>>,
    id: Cell<Option<HandlerId>>,
}

/// The usual maximum of requests per LUN that are ending at the same time: the stages take less time than
/// the LUN's next array operation.
const ENDING: usize = 4;

/// Registers' lengths of a completion: a flag and a status.
const COMPLETION: u64 = 2;

// Tokens: the slot, and what has happened to it.
const REQUEST: u64 = 0;
const ENDED: u64 = 1;
const RESUME: u64 = 2;
const ENDING_OVER: u64 = 3;
const KINDS: u64 = 4;

impl FixedController {
    /// Its capabilities, which are those of the software-defined controller.
    pub const CAPABILITIES: Capabilities =
        Capabilities { compound: true, targets: MAX_TARGETS as u8, raw: true, slc: false };

    /// Builds the controller of `channel`. `luns` says which lane of `requests` belongs to each of the
    /// channel's slots. It serves them from [`FixedController::take_over`] on.
    pub fn new(
        control: Control,
        requests: &Rc<FlashPort>,
        channel: &Rc<ChannelPort>,
        config: FixedConfig,
        luns: &[LunIndex],
    ) -> Rc<Self> {
        assert_eq!(luns.len(), channel.slots(), "a lane for each slot");
        let ways = usize::from(config.geometry.ways);
        let unit = |(slot, &lun): (usize, &LunIndex)| Unit {
            lun,
            place: Place { way: slot % ways, names_row: config.geometry.luns > 1 || config.multi_plane },
            module: RefCell::new(Module::new()),
            outside: Cell::new(None),
            ending: RefCell::new(Vec::with_capacity(ENDING)),
        };
        let controller = Rc::new(FixedController {
            exec: channel.exec().clone(),
            requests: Rc::clone(requests),
            channel: Rc::clone(channel),
            config,
            units: luns.iter().enumerate().map(unit).collect(),
            discipline: match control {
                Control::Synchronous => Discipline::Synchronous,
                Control::Asynchronous => Discipline::Asynchronous(ControlPath::new(luns.len())),
            },
            completions: RefCell::default(),
            id: Cell::new(None),
        });
        controller.id.set(Some(controller.exec.register(controller.clone())));
        controller
    }

    /// Takes over the channel from the firmware that brought its packages up, and starts to serve
    /// requests.
    pub fn take_over(&self) {
        let id = self.id();
        self.channel.set_chooser(match &self.discipline {
            Discipline::Synchronous => {
                let mut turns = RoundRobin::default();
                Box::new(move |_, waiting| turns.choose(waiting))
            }
            Discipline::Asynchronous(path) => path.dispatcher(),
        });
        for (slot, unit) in self.units.iter().enumerate() {
            self.channel.give_slot(slot, id, token(slot, ENDED));
            self.requests.give_lane(unit.lun, id, token(slot, REQUEST));
            self.exec.post(id, token(slot, REQUEST));
        }
    }

    /// From now on a completion arrives when its word has passed all of `buses`, for which it contends
    /// with their other users.
    pub fn send_completions_over(&self, buses: &[SharedBandwidth]) {
        *self.completions.borrow_mut() = buses.to_vec();
    }
    /// When a completion that is sent now arrives.
    fn arrives(&self) -> Instant {
        let now = self.exec.now();
        let mut waits = Duration::ZERO;
        for bus in self.completions.borrow().iter() {
            waits = waits.max(bus.between(now, COMPLETION));
        }
        now + waits
    }
    /// Ends a request whose data are good from `good` on. Its completion is sent then.
    fn end(&self, slot: usize, tag: Tag, good: Instant) {
        let now = self.exec.now();
        let (at, sent) = if good > now { (good, false) } else { (self.arrives(), true) };
        if sent && at <= now {
            return self.requests.complete_noted(tag);
        }
        self.units[slot].ending.borrow_mut().push(Ending { tag, at, sent });
        self.exec.schedule(at, self.id(), token(slot, ENDING_OVER));
    }

    /// Adds a filter to the control path, behind the existing ones (C16). False on a synchronous
    /// controller, which has no control words to filter.
    pub fn insert_filter(&self, filter: Box<dyn Filter>) -> bool {
        match &self.discipline {
            Discipline::Synchronous => false,
            Discipline::Asynchronous(path) => {
                path.insert(filter);
                true
            }
        }
    }
    /// Sends an administrative control word down the control path (C18). Refuses accesses, which only
    /// come from I3. A synchronous controller has no such path and refuses all words.
    pub fn ask(&self, word: &ControlWord) -> Answer {
        match (&self.discipline, word) {
            (Discipline::Synchronous, _) | (_, ControlWord::Access { .. }) => Answer::Refused,
            (Discipline::Asynchronous(path), _) => path.ask(self.exec.now(), word),
        }
    }

    fn id(&self) -> HandlerId {
        self.id.get().expect("registered when it was built")
    }
    fn waits(&self) -> &'static Waits {
        match self.discipline {
            Discipline::Synchronous => &Waits::NONE,
            Discipline::Asynchronous(_) => &WAITS,
        }
    }

    /// Takes the unit's next request, if the unit is free.
    #[inline]
    fn next_request(&self, unit: &Unit) -> Option<Next> {
        let mut module = unit.module.borrow_mut();
        if !module.is_idle() {
            return None;
        }
        let (tag, request) = self.requests.try_next(unit.lun, |_| 0)?;
        Some(module.begin(tag, request, &self.config, self.exec.now(), &mut self.noting(unit)))
    }

    fn noting<'a>(&'a self, unit: &Unit) -> impl FnMut(aster_ports::flash::FlashError) + use<'a> {
        let lun = unit.lun;
        move |error| self.requests.note_fault(lun, error)
    }

    /// Carries out `next` and the further steps that a module asks for, until it waits for something. Without
    /// a step it takes the next request.
    #[inline(always)]
    fn carry_on(&self, slot: usize, mut next: Option<Next>) {
        let unit = &self.units[slot];
        loop {
            if next.is_none() {
                next = self.next_request(unit);
            }
            match next {
                Some(Next::Send(segment, linger)) => {
                    if self.send(slot, segment, linger) {
                        return;
                    }
                    let mut module = unit.module.borrow_mut();
                    next = Some(module.refused(&self.config, self.exec.now(), &mut self.noting(unit)));
                }
                Some(Next::Pause(until)) => {
                    return self.exec.schedule(until, self.id(), token(slot, RESUME));
                }
                Some(Next::Finished(tag, at)) => {
                    self.requests.note(tag, unit.module.borrow().outcomes());
                    self.end(slot, tag, at);
                    next = None;
                }
                None => return,
            }
        }
    }

    /// Requests the channel for a segment; false if a filter refuses the segment.
    fn send(&self, slot: usize, segment: Segment, linger: Duration) -> bool {
        if let Discipline::Asynchronous(path) = &self.discipline {
            match path.send(self.exec.now(), slot as u16, self.units[slot].lun, segment) {
                Descent::Queued => {}
                Descent::Outside => {
                    self.units[slot].outside.set(Some((segment, linger)));
                    return true;
                }
                Descent::Refused => return false,
            }
        }
        self.drive(slot, segment, linger);
        true
    }

    /// Issues the segment to the engine, which starts it when the arbiter or dispatcher chooses it.
    #[inline]
    fn drive(&self, slot: usize, segment: Segment, linger: Duration) {
        let place = self.units[slot].place;
        if segment.kind == SegmentKind::Reset {
            self.channel.set_interface(place.way, Interface::POWER_ON);
        }
        lay_out(&segment, &mut self.channel.txn(slot), place, &self.config, self.waits());
        self.channel.issue(slot, self.exec.now(), linger);
    }

    /// Moves words into the dispatcher's queues as far as there is room now.
    fn let_in(&self) {
        let Discipline::Asynchronous(path) = &self.discipline else { return };
        while let Some(slot) = path.next_inside() {
            let slot = usize::from(slot);
            let (segment, linger) = self.units[slot].outside.take().expect("a word outside has a segment");
            self.drive(slot, segment, linger);
        }
    }

    /// The stages have finished with data of this unit, which has continued in the meantime (C22), or one
    /// of its completions has arrived.
    fn endings_over(&self, slot: usize) {
        let now = self.exec.now();
        loop {
            let mut ending = self.units[slot].ending.borrow_mut();
            let Some(first) = ending.iter().position(|e| e.at <= now) else { return };
            // Mostly it is the only one.
            let Ending { tag, sent, .. } = match ending.len() {
                1 => ending.pop().expect("it was found"),
                _ => ending.remove(first),
            };
            drop(ending);
            match sent {
                true => self.requests.complete_noted(tag),
                false => self.end(slot, tag, now),
            }
        }
    }

    /// A unit's segment has ended. Returns what its module does next, unless that is known already.
    #[inline]
    fn ended(&self, unit: &Unit, slot: usize) -> Option<Next> {
        let result = self.channel.take_result(slot)?;
        let now = self.exec.now();
        if self.config.polled {
            // Update the ready/busy register (C24) before the result is delivered, so that both are seen
            // together.
            let ready = self.channel.ready_from(unit.place.way);
            if ready > now {
                self.requests.note_busy(unit.lun, ready);
            }
        }
        Some(unit.module.borrow_mut().ended(result, &self.config, now, &mut self.noting(unit)))
    }
}

const fn token(slot: usize, kind: u64) -> u64 {
    slot as u64 * KINDS + kind
}

impl Handler for FixedController {
    fn fire(&self, token: u64) {
        let (slot, kind) = ((token / KINDS) as usize, token % KINDS);
        if kind == ENDING_OVER {
            return self.endings_over(slot);
        }
        let unit = &self.units[slot];
        let next = match kind {
            REQUEST => None,
            ENDED => match self.ended(unit, slot) {
                None => return,
                next => next,
            },
            _ => Some(unit.module.borrow_mut().resume(self.exec.now())),
        };
        self.carry_on(slot, next);
        if kind == ENDED {
            self.let_in();
        }
    }
}
