//! The rings between the translation's core and the engine's, and the two tasks at their ends (S16, S17).

use crate::frame::FrameCode;
use crate::stats::EccStats;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::Detector;
use aster_events::{Event, Function, Recorder};
use aster_exec::{Core, Ring};
use aster_ports::cores::Interrupt;
use aster_ports::dram::SharedDram;
use aster_ports::flash::{FlashPort, FlashRequest, MAX_TARGETS, Outcomes, Tag};
use aster_units::BufferId;
use core::cell::RefCell;

/// Cycles of the engine's steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EccCosts {
    /// The translation's core: entering a frame into the available ring.
    pub submit: u64,
    /// The engine's core: taking a frame, its syndromes and key equation, and its entry in the used ring.
    pub frame: u64,
    /// The engine's core: locating and correcting one wrong bit. A frame that can't be corrected costs as
    /// much as one with the most bits that can.
    pub error: u64,
    /// The engine's core: computing the code bits of one frame of a page that is programmed, with
    /// [`Detector::Crc`].
    pub encode: u64,
}

/// What an engine is.
pub struct EngineConfig {
    /// The code.
    pub code: FrameCode,
    /// Cycles of its steps.
    pub costs: EccCosts,
    /// Entries of the available ring.
    pub ring_entries: u16,
}

/// What an engine is connected to.
pub struct EnginePorts {
    /// The port between the translation and the flash scheduler.
    pub requests: Rc<FlashPort>,
    /// The page buffers, with code areas.
    pub buffers: SharedDram,
    /// The core that enters frames: the translation's.
    pub client: Core,
    /// The core that corrects.
    pub core: Core,
    /// How the engine notifies who asked for a read.
    pub interrupt: Interrupt,
    /// Where events go.
    pub recorder: Recorder,
}

/// An entry of the available ring: a frame, that is a data block with its code bits (S17).
#[derive(Clone, Copy)]
struct EccCommand {
    tag: Tag,
    target: u8,
    buffer: BufferId,
    frame: u16,
}

/// A read with flagged frames.
#[derive(Clone, Copy)]
struct FlaggedRead {
    request: FlashRequest,
    outcomes: Outcomes,
    /// Frames that haven't been corrected yet, and one more until all have been entered.
    left: u16,
    pages: [FlaggedPage; MAX_TARGETS],
}

/// What a page of a read had.
#[derive(Clone, Copy, Default)]
struct FlaggedPage {
    frames: u16,
    failed: u16,
}

/// A running engine.
pub struct Engine {
    ports: EnginePorts,
    costs: EccCosts,
    code: RefCell<FrameCode>,
    available: Ring<EccCommand>,
    /// By the tag's index.
    reads: RefCell<Vec<Option<FlaggedRead>>>,
    stats: RefCell<EccStats>,
}

impl Engine {
    /// Diverts flagged results of `ports.requests`, and spawns the tasks that correct them. Where a CRC
    /// detects wrong bits, channels have no encoder, and the engine diverts programs as well (S11).
    ///
    /// # Panics
    /// If another engine diverts them already.
    pub fn start(config: EngineConfig, ports: EnginePorts) -> Rc<Self> {
        ports.requests.divert_flagged();
        let reads = RefCell::new(vec![None; ports.requests.depth()]);
        let (client, core) = (ports.client.clone(), ports.core.clone());
        let engine = Rc::new(Engine {
            ports,
            costs: config.costs,
            code: RefCell::new(config.code),
            available: Ring::new(usize::from(config.ring_entries)),
            reads,
            stats: RefCell::default(),
        });
        if engine.code.borrow().detector() == Detector::Crc {
            engine.ports.requests.divert_programs();
            core.spawn(Rc::clone(&engine).encode());
        }
        client.spawn(Rc::clone(&engine).enter());
        core.spawn(Rc::clone(&engine).correct());
        engine
    }
    /// What it has done.
    pub fn stats(&self) -> EccStats {
        *self.stats.borrow()
    }
    /// The firmware functions that it charges cores for.
    pub fn functions(&self) -> Vec<Function> {
        let EccCosts { submit, frame, error, encode } = self.costs;
        if submit + frame + error + encode > 0 { vec![Function::Correction] } else { Vec::new() }
    }

    // ---- on the translation's core ----

    /// Enters the flagged frames of one read after the other into the available ring, for ever.
    async fn enter(self: Rc<Self>) {
        loop {
            let (tag, request, outcomes) = self.ports.requests.next_flagged().await;
            let pages = [FlaggedPage::default(); MAX_TARGETS];
            let read = FlaggedRead { request, outcomes, left: 1, pages };
            self.reads.borrow_mut()[tag.index()] = Some(read);
            self.count(|stats| stats.reads += 1);
            for target in (0..request.targets().len()).filter(|&target| outcomes[target].flagged) {
                let buffer = request.targets()[target].buffer;
                let mut from = 0;
                while let Some(frame) = self.next_flagged(buffer, from) {
                    from = frame + 1;
                    self.spend(&self.ports.client, self.costs.submit);
                    self.ports.client.settle().await;
                    self.change(tag, |read| {
                        read.left += 1;
                        read.pages[target].frames += 1;
                    });
                    let command = EccCommand { tag, target: target as u8, buffer, frame };
                    self.available.push(self.ports.client.exec(), command).await;
                    let entries = self.available.len() as u64;
                    self.count(|stats| {
                        stats.frames += 1;
                        stats.ring_highest = stats.ring_highest.max(entries);
                    });
                }
            }
            self.one_less(tag);
        }
    }
    fn next_flagged(&self, buffer: BufferId, from: u16) -> Option<u16> {
        self.code.borrow().codes().next_flagged(self.ports.buffers.borrow().codes(buffer), from)
    }

    // ---- on the engine's core ----

    /// Corrects one frame after the other, for ever.
    async fn correct(self: Rc<Self>) {
        let core = self.ports.core.clone();
        loop {
            let EccCommand { tag, target, buffer, frame } = self.available.pop(core.exec()).await;
            let (errors, limit) = {
                let mut code = self.code.borrow_mut();
                let errors = code.correct(&mut self.ports.buffers.borrow_mut(), buffer, frame);
                (errors, code.limit())
            };
            let located = errors.unwrap_or(limit) as u64;
            self.spend(&core, self.costs.frame + self.costs.error * located);
            core.settle().await;
            self.judge(tag, usize::from(target), frame, errors);
            self.one_less(tag);
        }
    }
    /// Encodes the pages of one program after the other, for ever. What is programmed raw has its code bits.
    async fn encode(self: Rc<Self>) {
        let (core, requests) = (&self.ports.core, &self.ports.requests);
        let frames = u64::from(self.code.borrow().codes().oob_frame()) + 1;
        loop {
            let (tag, request) = requests.next_program().await;
            let pages = if request.flags.raw { 0 } else { request.targets().len() };
            for _ in 0..pages {
                self.spend(core, self.costs.encode * frames);
                core.settle().await;
                self.count(|stats| stats.encoded += frames);
            }
            requests.encoded(tag);
        }
    }
    /// Enters the verdict on a frame into its read's outcome.
    fn judge(&self, tag: Tag, target: usize, frame: u16, errors: Option<usize>) {
        let code = self.code.borrow();
        self.change(tag, |read| {
            let outcome = &mut read.outcomes[target];
            match errors {
                Some(errors) => outcome.corrected_in(errors),
                None if frame == code.codes().oob_frame() => outcome.fail_oob(),
                None => {
                    let (sector, parts) = code.layout().parts_of(frame);
                    outcome.fail(sector, parts);
                }
            }
            read.pages[target].failed += u16::from(errors.is_none());
        });
        self.count(|stats| match errors {
            Some(errors) => {
                stats.corrected += errors as u64;
                stats.sound += u64::from(errors == 0);
            }
            None => stats.uncorrectable += 1,
        });
    }

    // ---- on both ----

    /// One thing less that a read waits for. With the last one its result goes to who asked.
    fn one_less(&self, tag: Tag) {
        let mut left = 0;
        self.change(tag, |read| {
            read.left -= 1;
            left = read.left;
        });
        if left > 0 {
            return;
        }
        let read = self.reads.borrow_mut()[tag.index()].take();
        let FlaggedRead { request, mut outcomes, pages, .. } = read.expect("a read under way");
        let now = self.ports.requests.exec().now();
        let each = request.targets().iter().zip(&mut outcomes).zip(pages);
        for ((target, outcome), FlaggedPage { frames, failed }) in each.filter(|((_, o), _)| o.flagged) {
            outcome.flagged = false;
            let (lun, row, corrected) = (request.lun.0, target.row.0, outcome.corrected);
            self.ports.recorder.emit(now, || Event::PageCorrected { lun, row, frames, failed, corrected });
        }
        self.ports.requests.deliver(tag, outcomes, self.ports.interrupt);
    }
    fn change(&self, tag: Tag, change: impl FnOnce(&mut FlaggedRead)) {
        change(self.reads.borrow_mut()[tag.index()].as_mut().expect("a read under way"));
    }
    fn count(&self, change: impl FnOnce(&mut EccStats)) {
        change(&mut self.stats.borrow_mut());
    }
    fn spend(&self, core: &Core, cycles: u64) {
        let work = || core.charge(cycles);
        self.ports.recorder.account(Function::Correction, || core.stands(), work);
    }
}
