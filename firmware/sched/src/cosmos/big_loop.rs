//! The loop itself, and how it waits.

use super::dependency::DependencyChecker;
use super::packer::{OperationPacker, Packed};
use super::priority::{Candidate, PriorityManager};
use super::state::StateManager;
use super::station::ReservationStation;
use super::{DMA_UNIT_BYTES, LoopConfig};
use crate::bell::Bell;
use crate::loop_operation::Operation;
use crate::loop_stats::{LoopPart, LoopStats, PARTS};
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Function, Recorder};
use aster_exec::Core;
use aster_parties::BringUpGate;
use aster_parties::CoreBuses;
use aster_ports::flash::{FlashPort, FlashRequest, Tag};
use aster_ports::host::{CommandPort, DmaRequest, DmaTag};
use aster_ports::resource::Bandwidth;
use aster_units::{Duration, Instant, LunAddr, LunIndex};
use core::cell::RefCell;

/// What the loop stands between.
pub struct LoopPorts {
    /// The host interface controller.
    pub host: Rc<CommandPort>,
    /// The FTL's side of I5, with the same bounds.
    pub ftl: Rc<CommandPort>,
    /// The FTL's flash requests.
    pub requests: Rc<FlashPort>,
    /// The channel controllers.
    pub controllers: Rc<FlashPort>,
    /// The buses over which the core reaches registers and memory.
    pub buses: CoreBuses,
}

/// Bytes of a register, and of a completion flag.
const WORD_BYTES: u64 = 4;

/// What an operation set is for.
#[derive(Clone, Copy)]
pub(super) enum Payload {
    /// A flash request, with the transfer that follows a read as the last operation of its set.
    Flash(Tag, FlashRequest, Option<(DmaTag, DmaRequest)>),
    Packed(Packed),
    Dma(DmaTag, DmaRequest),
}

/// A command that the firmware has taken.
#[derive(Clone, Copy)]
pub(super) struct TakenCommand {
    /// The controller completes it with the last unit of its data (P13).
    pub(super) automatic: bool,
    /// When the firmware had read it from the controller, minus the time that it waited there for a pass that
    /// takes it.
    pub(super) since: Instant,
    /// When the status checker last saw that some of its data had been moved.
    pub(super) moved: Option<Instant>,
}

/// A host DMA operation that the controller carries out.
pub(super) struct DmaInFlight {
    pub(super) operation: Operation,
    pub(super) issued: Instant,
    pub(super) units: Vec<DmaTag>,
    pub(super) failed: Option<aster_ports::host::DmaError>,
    // When the status checker has seen that all units are done.
    pub(super) done: Option<Instant>,
}

/// Cosmos+'s firmware.
pub struct BigLoop {
    pub(super) core: Core,
    pub(super) config: LoopConfig,
    pub(super) ports: LoopPorts,
    pub(super) recorder: Recorder,
    pub(super) packer: OperationPacker,
    pub(super) checker: DependencyChecker,
    pub(super) station: ReservationStation,
    pub(super) states: StateManager,
    pub(super) priorities: PriorityManager,
    pub(super) payloads: Vec<Option<Payload>>,
    // Transfers whose flash requests haven't been collected yet, indexed by flash request.
    pub(super) following: Vec<Option<(DmaTag, DmaRequest)>>,
    pub(super) dma: VecDeque<DmaInFlight>,
    // Memory of completed DMA operations, for reuse.
    pub(super) dma_spare: Vec<Vec<DmaTag>>,
    // The commands, by slot.
    pub(super) taken: Vec<TakenCommand>,
    // The ways of each channel.
    pub(super) channels: Vec<Vec<LunIndex>>,
    // Busy ways of each channel.
    pub(super) working: Vec<u32>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) stats: Rc<RefCell<LoopStats>>,
    // Time of the current pass, by part.
    parts: [Duration; PARTS],
    since: Instant,
    // The earliest instant at which the bell rings because a way must be given up.
    pub(super) alarm: Instant,
    pub(super) bell: Rc<Bell>,
    pub(super) bell_id: aster_exec::HandlerId,
}

impl BigLoop {
    /// Builds the loop between `ports` and connects it to them. `sets` operation sets are in its hands at
    /// most.
    pub fn new(core: &Core, config: LoopConfig, ports: LoopPorts, sets: u16, recorder: &Recorder) -> Self {
        let exec = core.exec();
        let geometry = &config.geometry;
        assert_eq!(geometry.luns, 1, "a way has one queue, so it has one LUN");
        assert_eq!(
            ports.host.bounds(),
            ports.ftl.bounds(),
            "the FTL's command port is as large as the host's"
        );
        let (bell, bell_id) = Bell::new(exec);
        ports.host.attach_back(bell_id);
        ports.ftl.attach(bell_id);
        ports.requests.collect(bell_id);
        ports.controllers.watch(bell_id);
        ports.ftl.chain_dma();
        ports.host.manage_lists();
        let (commands, transfers) = ports.host.bounds();
        let ways = geometry.total_luns();
        let of_channel = |channel| {
            let lun = move |way| geometry.lun_index(LunAddr { channel, way, lun: 0 });
            (0..geometry.ways).map(lun).collect()
        };
        let sets = sets.saturating_add(transfers);
        BigLoop {
            core: core.clone(),
            recorder: recorder.clone(),
            packer: OperationPacker::new(*geometry, usize::from(sets)),
            checker: DependencyChecker::new(sets),
            station: ReservationStation::new(ways, usize::from(sets).div_ceil(ways as usize)),
            states: StateManager::new(ways, config.read_retries),
            priorities: PriorityManager::new(geometry.channels, geometry.ways),
            payloads: vec![None; usize::from(sets)],
            following: vec![None; ports.requests.depth()],
            dma: VecDeque::with_capacity(usize::from(transfers)),
            dma_spare: Vec::with_capacity(usize::from(transfers)),
            taken: vec![
                TakenCommand { automatic: false, since: Instant::ZERO, moved: None };
                usize::from(commands)
            ],
            channels: (0..geometry.channels).map(of_channel).collect(),
            working: vec![0; usize::from(geometry.channels)],
            candidates: Vec::with_capacity(usize::from(geometry.ways)),
            stats: Rc::default(),
            parts: [Duration::ZERO; PARTS],
            since: Instant::ZERO,
            alarm: Instant::MAX,
            config,
            ports,
            bell,
            bell_id,
        }
    }

    /// The loop's counters, to read while it runs.
    pub fn stats(&self) -> Rc<RefCell<LoopStats>> {
        Rc::clone(&self.stats)
    }

    /// The most units of host DMA that a transfer takes.
    pub(super) fn units_of(request: &DmaRequest) -> u32 {
        let first = request.offset / DMA_UNIT_BYTES;
        let last = (request.offset + request.length - 1) / DMA_UNIT_BYTES;
        last - first + 1
    }

    /// Runs for ever once the packages have been brought up (Algorithm 1): in each pass one command, if one
    /// waits, then the FTL, then the low-level scheduler, if the reservation station holds anything or host
    /// DMA is under way. In a pass that brings a command the scheduler is left out, as in the board's public
    /// firmware, so that commands are taken in as fast as they come (docs/adr/0006). Admin commands are not
    /// the loop's: the host interface answers them.
    pub async fn run(mut self, gate: Rc<BringUpGate>) {
        let exec = self.core.exec().clone();
        gate.pass(&exec).await;
        loop {
            self.core.settle().await;
            let began = self.core.now();
            (self.parts, self.since) = ([Duration::ZERO; PARTS], began);
            self.bell.still();
            self.spend(Function::NvmeManager, self.config.costs.pass);
            let taken = self.take_command().await;
            let mut moved = taken;
            self.account(LoopPart::Commands);
            // What the host DMA engine has been given has left its queue.
            if !taken && (!self.station.is_empty() || !self.dma.is_empty()) {
                moved |= self.check_status();
                self.account(LoopPart::Status);
            }
            // Woken tasks of the FTL run before the loop continues.
            self.core.yield_now().await;
            self.account(LoopPart::Ftl);
            moved |= self.answer_commands().await;
            self.account(LoopPart::Commands);
            moved |= self.take_operations();
            self.account(LoopPart::Order);
            if !taken && !self.station.is_empty() {
                moved |= self.issue().await;
            }
            self.count_pass(1);
            if !moved {
                self.wait(began).await;
            }
        }
    }

    /// The core's time since the last call was `part`'s.
    pub(super) fn account(&mut self, part: LoopPart) {
        let now = self.core.now();
        self.parts[part as usize] += now.since(self.since);
        self.since = now;
    }
    fn count_pass(&self, times: u64) {
        let mut stats = self.stats.borrow_mut();
        stats.passes += times;
        for (sum, time) in stats.parts.iter_mut().zip(self.parts) {
            *sum += time * times;
        }
    }
    /// Spends `cycles` of the core on `function`.
    #[inline]
    pub(super) fn spend(&self, function: Function, cycles: u64) {
        self.work(function, |core| core.charge(cycles));
    }
    /// A register access stalls the core until each word has crossed the buses and its response is back. The
    /// board maps registers strongly ordered, so a write waits for its response like a read.
    #[inline]
    pub(super) fn access(&self, function: Function, bus: &Bandwidth, words: u64) {
        self.cross(function, bus, words, self.config.register_access);
    }
    /// Accesses to words that controllers read or write in memory and that are therefore uncached: completion
    /// flags, reports, error counts.
    #[inline]
    pub(super) fn memory(&self, function: Function, words: u64) {
        self.cross(function, &self.ports.buses.memory, words, self.config.memory_access);
    }
    fn cross(&self, function: Function, bus: &Bandwidth, words: u64, each: Duration) {
        if each.is_zero() {
            return;
        }
        // The bus is taken from now on, although the core may be ahead of the clock: transfers that others
        // send in between must not wait for it.
        let waits = bus.between(self.core.exec().now(), words * WORD_BYTES);
        self.work(function, |core| core.stall(waits + each * words));
    }
    #[inline]
    fn work(&self, function: Function, work: impl FnOnce(&Core)) {
        self.recorder.account(function, || self.core.stands(), || work(&self.core));
    }
    #[inline]
    pub(super) fn count(&self, change: impl FnOnce(&mut LoopStats)) {
        change(&mut self.stats.borrow_mut());
    }

    /// The pass found nothing to do, and neither would further ones until something happens. They are counted
    /// as if they had been run (design §2), and the next real pass begins when such a pass would have begun.
    /// Events show this time as waiting.
    async fn wait(&mut self, began: Instant) {
        let ended = self.core.now();
        self.set_alarm();
        let exec = self.core.exec();
        self.bell.wait().await;
        let (now, takes) = (exec.now(), ended.since(began));
        if now <= ended || takes.is_zero() {
            return;
        }
        let passes = now.since(ended).as_picos().div_ceil(takes.as_picos());
        self.count_pass(passes);
        self.count(|s| s.idle_passes += passes);
        self.core.stall((ended + takes * passes).since(now));
    }
}
