//! A worker per LUN: the scheduler of a drive whose firmware is coroutines.

use crate::backend::Backend;
use crate::controllers::Controllers;
use crate::worker::Worker;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::Recorder;
use aster_flash::Controller;
use aster_parties::{
    Below, BringUpGate, FlashScheduler, LunPlace, PieceError, SchedulerNeeds, SchedulerPorts, SchedulerView,
    Tasks,
};
use aster_ports::flash::FlashPort;
use aster_units::LunIndex;

/// Serves each LUN by a [`Worker`] on its core, for which the drive's [`Tasks`] choose.
#[derive(Clone, Copy, Debug, Default)]
pub struct Workers;

/// Spawns a worker for each of `luns`, in that order, on its core.
pub fn spawn_workers<B: Backend + 'static>(
    luns: &[LunPlace],
    port: &Rc<FlashPort>,
    tasks: &Rc<Tasks>,
    gate: &Rc<BringUpGate>,
    recorder: &Recorder,
    controller: impl Fn(LunIndex) -> B,
) {
    let of = |place: &LunPlace| (place.lun, place.package, controller(place.lun));
    let controllers = Controllers::new(luns.iter().map(of));
    for &LunPlace { lun, ref core, .. } in luns {
        let worker = Worker {
            lun,
            port: Rc::clone(port),
            controllers: Rc::clone(&controllers),
            tasks: Rc::clone(tasks),
            gate: Rc::clone(gate),
            recorder: recorder.clone(),
        };
        core.spawn(worker.run());
    }
}

struct WorkersView;

impl SchedulerView for WorkersView {}

impl FlashScheduler<Controller> for Workers {
    fn needs(&self) -> SchedulerNeeds {
        // The request that is carried out, and the read that is begun behind it.
        SchedulerNeeds {
            requests_per_lun: 2,
            takes_software: true,
            polls: false,
            commands: false,
            ..SchedulerNeeds::default()
        }
    }
    fn start(
        self: Box<Self>,
        ports: SchedulerPorts<Controller>,
    ) -> Result<Rc<dyn SchedulerView>, PieceError> {
        let SchedulerPorts { requests, below, luns, tasks, up, recorder, .. } = ports;
        match below {
            Below::Luns(controller) => {
                spawn_workers(&luns, &requests, &tasks, &up, &recorder, controller);
            }
            Below::Port(port) => {
                spawn_workers(&luns, &requests, &tasks, &up, &recorder, |_| Rc::clone(&port));
            }
        }
        Ok(Rc::new(WorkersView))
    }
}
