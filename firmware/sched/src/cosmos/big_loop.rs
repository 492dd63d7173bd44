//! The loop itself, and what it is made of.
//!
//! Its parts own their state: `time` the core and what its time is spent on, `sets` the operation sets,
//! `station` and `states` the ways' queues and states, `channels` which ways work and which could,
//! `transfers` host DMA in flight, `commands` what has been taken from the host, `alarm` what wakes a loop
//! with nothing to do. What several of them take part in is a function of the loop.

mod alarm;
mod channels;
mod commands;
mod core_time;
mod exchange;
mod issue;
mod retry;
mod sets;
mod status;
mod transfers;

use super::LoopConfig;
use super::state::StateManager;
use super::station::ReservationStation;
use crate::loop_stats::{LoopPart, LoopStats};
use alarm::Alarm;
use alloc::rc::Rc;
use aster_events::{Function, Recorder};
use aster_exec::Core;
use aster_parties::{BringUpGate, CoreBuses};
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_units::Instant;
use channels::Channels;
use commands::TakenCommands;
use core::cell::RefCell;
use core_time::CoreTime;
use sets::OperationSets;
use transfers::HostTransfers;

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
}

/// Cosmos+'s firmware.
pub struct BigLoop {
    config: LoopConfig,
    ports: LoopPorts,
    time: CoreTime,
    sets: OperationSets,
    station: ReservationStation,
    states: StateManager,
    channels: Channels,
    transfers: HostTransfers,
    commands: TakenCommands,
    alarm: Alarm,
}

impl BigLoop {
    /// Builds the loop between `ports` and connects it to them. `sets` operation sets are in its hands at
    /// most. It reaches registers and memory over `buses`.
    pub fn new(
        core: &Core,
        config: LoopConfig,
        ports: LoopPorts,
        buses: CoreBuses,
        sets: u16,
        recorder: &Recorder,
    ) -> Self {
        let geometry = &config.geometry;
        assert_eq!(geometry.luns, 1, "a way has one queue, so it has one LUN");
        assert_eq!(
            ports.host.bounds(),
            ports.ftl.bounds(),
            "the FTL's command port is as large as the host's"
        );
        let alarm = Alarm::new(core.exec());
        ports.host.attach_back(alarm.handler());
        ports.ftl.attach(alarm.handler());
        ports.requests.collect(alarm.handler());
        ports.controllers.watch(alarm.handler());
        ports.ftl.chain_dma();
        ports.host.manage_lists();
        let (commands, transfers) = ports.host.bounds();
        let ways = geometry.total_luns();
        let sets = sets.saturating_add(transfers);
        BigLoop {
            time: CoreTime::new(core, &config, buses, recorder),
            sets: OperationSets::new(*geometry, sets, ports.requests.depth()),
            station: ReservationStation::new(ways, usize::from(sets).div_ceil(ways as usize)),
            states: StateManager::new(ways, config.read_retries),
            channels: Channels::new(geometry),
            transfers: HostTransfers::new(transfers),
            commands: TakenCommands::new(commands),
            alarm,
            config,
            ports,
        }
    }

    /// The loop's counters, to read while it runs.
    pub fn stats(&self) -> Rc<RefCell<LoopStats>> {
        self.time.stats()
    }

    /// Runs for ever once the packages have been brought up (Algorithm 1): in each pass one command, if one
    /// waits, then the FTL, then the low-level scheduler, if the reservation station holds anything or host
    /// DMA is under way. In a pass that brings a command the scheduler is left out, as in the board's public
    /// firmware, so that commands are taken in as fast as they come (docs/adr/0006). Admin commands are not
    /// the loop's: the host interface answers them.
    pub async fn run(mut self, gate: Rc<BringUpGate>) {
        let exec = self.time.exec().clone();
        gate.pass(&exec).await;
        loop {
            self.time.settle().await;
            let began = self.time.now();
            self.time.begin_pass();
            self.alarm.still();
            self.time.spend(Function::NvmeManager, self.config.costs.pass);
            let taken = self.take_command().await;
            let mut moved = taken;
            self.time.account(LoopPart::Commands);
            // What the host DMA engine has been given has left its queue.
            if !taken && (!self.station.is_empty() || !self.transfers.is_empty()) {
                moved |= self.check_status();
                self.time.account(LoopPart::Status);
            }
            // Woken tasks of the FTL run before the loop continues.
            self.time.yield_now().await;
            self.time.account(LoopPart::Ftl);
            moved |= self.answer_commands().await;
            self.time.account(LoopPart::Commands);
            moved |= self.take_operations();
            self.time.account(LoopPart::Order);
            if !taken && !self.station.is_empty() {
                moved |= self.issue().await;
            }
            self.time.count_passes(1);
            if !moved {
                self.wait(began).await;
            }
        }
    }

    /// The pass found nothing to do, and neither would further ones until something happens. They are counted
    /// as if they had been run (design §2), and the next real pass begins when such a pass would have begun.
    /// Events show this time as waiting.
    async fn wait(&mut self, began: Instant) {
        let ended = self.time.now();
        self.set_alarm();
        self.alarm.wait().await;
        self.time.skip_passes(ended, ended.since(began));
    }
}
