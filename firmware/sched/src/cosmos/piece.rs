//! The big loop as one of the flash schedulers that a drive can have.

use super::big_loop::{BigLoop, LoopPorts};
use super::{LoopConfig, LoopStats};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::Function;
use aster_parties::{
    Below, CommandSplice, FlashScheduler, PieceError, SchedulerNeeds, SchedulerPorts, SchedulerView,
};
use core::any::Any;
use core::cell::RefCell;

/// Cosmos+'s firmware before it is started.
pub struct Cosmos(pub LoopConfig);

struct LoopView {
    config: LoopConfig,
    stats: Rc<RefCell<LoopStats>>,
}

impl SchedulerView for LoopView {
    fn functions(&self) -> Vec<Function> {
        let LoopConfig { costs, register_access, read_retries, .. } = self.config;
        // Register accesses stall the core.
        let registers = !register_access.is_zero();
        let issues = registers || costs.issue > 0;
        let works = [
            (Function::NvmeManager, registers || costs.pass > 0),
            (Function::StatusChecker, registers || costs.status > 0),
            (Function::DependencyChecker, costs.finish > 0),
            (Function::PriorityManager, costs.compare > 0),
            (Function::Issuer, issues),
            (Function::ReadRetry, issues && read_retries > 0),
        ];
        works.into_iter().filter(|(_, works)| *works).map(|(function, _)| function).collect()
    }
    fn own_stats(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(*self.stats.borrow()))
    }
}

impl<C> FlashScheduler<C> for Cosmos {
    fn needs(&self) -> SchedulerNeeds {
        // A way has one operation at its controller at a time.
        SchedulerNeeds {
            requests_per_lun: 1,
            takes_software: false,
            polls: true,
            repeats_reads: true,
            commands: true,
            ..SchedulerNeeds::default()
        }
    }
    fn start(self: Box<Self>, ports: SchedulerPorts<C>) -> Result<Rc<dyn SchedulerView>, PieceError> {
        let SchedulerPorts { core, requests, below, commands, buses, up, recorder, .. } = ports;
        let (Below::Port(controllers), Some(CommandSplice { front, translation })) = (below, commands) else {
            let reason = "\"cosmos\" must have the host's commands, and a port below it";
            return Err(PieceError::new("scheduler.policy", reason));
        };
        let sets = requests.depth() as u16;
        let ports = LoopPorts { host: front, ftl: translation, requests, controllers };
        let firmware = BigLoop::new(&core, self.0, ports, buses, sets, &recorder);
        let stats = firmware.stats();
        core.spawn(firmware.run(up));
        Ok(Rc::new(LoopView { config: self.0, stats }))
    }
}
