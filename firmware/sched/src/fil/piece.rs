//! The interface layer as one of the flash schedulers that a drive can have.

use super::run::Layer;
use super::stats::FilStats;
use super::{FilConfig, FilCosts};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Function;
use aster_parties::{Below, FlashScheduler, PieceError, SchedulerNeeds, SchedulerPorts, SchedulerView};
use core::cell::RefCell;

/// SoftSSD's flash interface layer before it is started.
pub struct FlashInterface(pub FilConfig);

struct LayerView {
    costs: FilCosts,
    stats: Rc<RefCell<FilStats>>,
}

impl SchedulerView for LayerView {
    fn functions(&self) -> Vec<Function> {
        let FilCosts { take, dispatch, poll, finish } = self.costs;
        if take + dispatch + poll + finish > 0 { vec![Function::FlashInterface] } else { Vec::new() }
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.stats.borrow().each(each);
    }
}

impl<C> FlashScheduler<C> for FlashInterface {
    fn needs(&self) -> SchedulerNeeds {
        // A die has one command at its controller at a time.
        SchedulerNeeds {
            requests_per_lun: 1,
            takes_software: false,
            polls: true,
            polls_requests: true,
            repeats_reads: true,
            commands: false,
        }
    }
    fn start(self: Box<Self>, ports: SchedulerPorts<C>) -> Result<Rc<dyn SchedulerView>, PieceError> {
        let SchedulerPorts { core, requests, below, up, recorder, .. } = ports;
        let Below::Port(controllers) = below else {
            return Err(PieceError::new("scheduler.policy", "\"fil\" must have a port below it"));
        };
        let layer = Layer::new(&core, self.0, requests, controllers, &recorder);
        let stats = layer.stats();
        core.spawn(layer.run(up));
        Ok(Rc::new(LayerView { costs: self.0.costs, stats }))
    }
}
