//! A worker per LUN: the scheduler of a drive whose firmware is coroutines.

use crate::backend::Backend;
use crate::controllers::{Controllers, WorkersConfig};
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
#[derive(Clone, Copy, Debug)]
pub struct Workers(pub WorkersConfig);

/// Spawns a worker for each of `luns`, in that order, on its core. Returns what they
/// share.
pub fn spawn_workers<B: Backend + 'static>(
    luns: &[LunPlace],
    port: &Rc<FlashPort>,
    tasks: &Rc<Tasks>,
    gate: &Rc<BringUpGate>,
    recorder: &Recorder,
    config: WorkersConfig,
    controller: impl Fn(LunIndex) -> B,
) -> Rc<Controllers<B>> {
    let of = |place: &LunPlace| (place.lun, place.package, controller(place.lun));
    let controllers = Controllers::new(luns.iter().map(of), config);
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
    controllers
}

struct WorkersView<B>(Rc<Controllers<B>>);

impl<B> SchedulerView for WorkersView<B> {
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let Controllers { config, stats, suspends, .. } = &*self.0;
        if config.retries.times > 0 {
            stats.counters(each);
        }
        if config.suspends > 0 {
            each("operations_suspended", suspends.suspended.get());
            each("reads_while_suspended", suspends.reads.get());
        }
    }
}

impl FlashScheduler<Controller> for Workers {
    fn needs(&self) -> SchedulerNeeds {
        // The request that is carried out, and the read that is begun behind it.
        SchedulerNeeds {
            requests_per_lun: 2,
            takes_software: true,
            repeats_reads: true,
            ..SchedulerNeeds::default()
        }
    }
    fn start(
        self: Box<Self>,
        ports: SchedulerPorts<Controller>,
    ) -> Result<Rc<dyn SchedulerView>, PieceError> {
        let SchedulerPorts { requests, below, luns, tasks, up, recorder, .. } = ports;
        Ok(match below {
            Below::Luns(controller) => Rc::new(WorkersView(spawn_workers(
                &luns, &requests, &tasks, &up, &recorder, self.0, controller,
            ))),
            Below::Port(port) => {
                Rc::new(WorkersView(spawn_workers(&luns, &requests, &tasks, &up, &recorder, self.0, |_| {
                    Rc::clone(&port)
                })))
            }
        })
    }
}
