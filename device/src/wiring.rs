//! Wires the channels: engines and packages below, the controller that the profile names above them, and the workers of
//! the flash scheduler where there is one.

use crate::build::{self, BuildError};
use crate::channels::ChannelEngine;
use crate::pieces::Pieces;
use crate::profile::{ControllerName, Profile, SchedulerPolicy};
use aster_channel::fixed::{Control, FixedConfig, FixedController};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_flash::{Controller, FlashConfig, Lun, boot};
use aster_nand::NandArray;
use aster_ports::channel::ChannelPort;
use aster_ports::cores::Interrupt;
use aster_ports::dram::SharedDram;
use aster_ports::flash::FlashPort;
use aster_ports::resource::SharedBandwidth;
use aster_sched::{Backend, Gate, Worker};
use aster_units::{BufferId, ChannelId, Content, Geometry, LunAddr};
use std::cell::RefCell;
use std::rc::Rc;

// Whoever stands above I3 sends whole operations, and the FTL looks for factory marks with raw reads; a controller
// without them would need an adaptor in front.
const _: () = assert!(Controller::CAPABILITIES.compound && Controller::CAPABILITIES.raw);
const _: () = assert!(FixedController::CAPABILITIES.compound && FixedController::CAPABILITIES.raw);

/// What channels are wired to.
pub(crate) struct Surroundings<'a> {
    pub(crate) exec: &'a Exec,
    pub(crate) profile: &'a Profile,
    pub(crate) content: Content,
    /// What requests are addressed in; the packages may have more (C31).
    pub(crate) geometry: Geometry,
    pub(crate) dram: &'a SharedDram,
    /// A buffer that holds bytes, for bringing packages up.
    pub(crate) scratch: BufferId,
    /// The way of each channel to memory.
    pub(crate) buses: &'a [SharedBandwidth],
    /// What completions of controllers in hardware pass, where firmware polls for them.
    pub(crate) completions: Option<&'a [SharedBandwidth; 2]>,
    /// What runs flash operations and the flash scheduler.
    pub(crate) core: &'a Core,
    /// How that core is told by another.
    pub(crate) interrupt: Interrupt,
    /// Where requests come from.
    pub(crate) requests: &'a Rc<FlashPort>,
    pub(crate) recorder: &'a Recorder,
}

/// Who sends requests to a controller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Above {
    /// A flash scheduler.
    Scheduler,
    /// Nobody of the drive: requests are injected at the controller (B22).
    Injection,
}

/// The channels of a drive or bench.
pub(crate) struct Channels {
    pub(crate) engines: Vec<Rc<dyn ChannelEngine>>,
    /// The controllers that are hardware, one a channel; none when they are software.
    pub(crate) fixed: Vec<Rc<FixedController>>,
    /// I2 of each channel, and what flash software knows of the packages.
    pub(crate) ports: Vec<Rc<ChannelPort>>,
    pub(crate) flash: Rc<FlashConfig>,
    /// Opens when the packages have been brought up.
    pub(crate) gate: Rc<Gate>,
    /// I3 below a flash scheduler that is not made of workers: the big loop's.
    pub(crate) below: Option<Rc<FlashPort>>,
    /// Why they could not be.
    pub(crate) fault: Rc<RefCell<Option<String>>>,
}

fn control(name: ControllerName) -> Option<Control> {
    match name {
        ControllerName::Software => None,
        ControllerName::Synchronous => Some(Control::Synchronous),
        ControllerName::Asynchronous => Some(Control::Asynchronous),
    }
}

/// What a fixed controller is built to know is what flash software is told.
fn fixed_config(profile: &Profile, flash: &FlashConfig, looped: bool) -> FixedConfig {
    FixedConfig {
        layout: flash.layout,
        geometry: flash.shape.geometry,
        cells: flash.shape.cells,
        t_r: flash.t_r,
        t_prog: flash.t_prog,
        t_bers: flash.t_bers,
        t_rst: flash.t_rst,
        one_shot: flash.variant.commands.one_shot,
        t_one_shot: flash.variant.one_shot_program,
        scramble: flash.scramble,
        clock_period: build::clock(profile).period,
        poll_interval: flash.poll.interval,
        poll_early: flash.poll.early,
        patience: flash.poll.patience,
        detached: looped,
    }
}

impl Channels {
    /// Builds engines and controllers on `array`'s packages and begins to bring the packages up.
    pub(crate) fn start(
        around: &Surroundings<'_>,
        array: &mut NandArray,
        above: Above,
        pieces: Pieces,
    ) -> Result<Self, BuildError> {
        let Surroundings { exec, profile, geometry, dram, core, requests, recorder, .. } = *around;
        let flash = Rc::new(build::flash(profile)?);
        let looped = above == Above::Scheduler && profile.scheduler.policy == SchedulerPolicy::Cosmos;
        let fixed_config = fixed_config(profile, &flash, looped);
        let control = control(profile.channel.controller);
        let packages = profile.array_geometry();
        let between_of = |requests_per_lun: u16, interrupt| {
            requests.below(requests_per_lun * geometry.total_luns() as u16, interrupt)
        };
        let between = match (control, above) {
            // The loop has one request a LUN in a controller's hands.
            (Some(_), Above::Scheduler) if looped => between_of(1, Interrupt::default()),
            (None, Above::Scheduler) if looped => between_of(1, around.interrupt),
            // A worker has two: one, and the read that is begun behind it.
            (Some(_), Above::Scheduler) => between_of(2, Interrupt::default()),
            _ => Rc::clone(requests),
        };
        // Under the loop, workers are the software controller's own: they take what the loop sends, and the loop tells of it.
        let (workers_port, workers_recorder) =
            if looped { (&between, Recorder::default()) } else { (requests, recorder.clone()) };
        let gate = Rc::new(Gate::default());
        let Pieces { hardware, tasks, arbiter, .. } = pieces;
        let tasks = Rc::new(build::tasks(profile, tasks));
        let solvers = build::solvers(profile);
        let (mut engines, mut ports, mut fixed) = (Vec::new(), Vec::new(), Vec::new());
        for channel in 0..packages.channels {
            let slots = packages.luns_per_channel() as usize;
            let port = ChannelPort::new(exec, ChannelId(channel), usize::from(packages.ways), slots);
            let arbiter = match &arbiter {
                Some(make) => Some(make(port.id(), slots)),
                None => build::transactions(profile).arbiter(slots),
            };
            if let Some(arbiter) = arbiter {
                port.set_arbiter(arbiter);
            }
            let engine = build::engine(
                profile,
                &around.buses[usize::from(channel)],
                solvers[usize::from(channel)].clone(),
            )?;
            hardware.check(around.content, profile.channel.controller, &engine)?;
            engines.push(hardware.start(&port, dram, array.take_packages(channel), engine, recorder));
            // In the order of the channel's slots.
            let luns: Vec<_> = (0..packages.luns)
                .flat_map(|lun| (0..packages.ways).map(move |way| LunAddr { channel, way, lun }))
                .collect();
            if let Some(control) = control {
                let lanes: Vec<_> = luns.iter().map(|&at| geometry.lun_index(at)).collect();
                let controller = FixedController::new(control, &between, &port, fixed_config, &lanes);
                if let Some(buses) = around.completions {
                    controller.send_completions_over(buses);
                }
                fixed.push(controller);
            }
            if control.is_none() || (above == Above::Scheduler && !looped) {
                for at in luns {
                    let lun = || {
                        let (way, lun) = (usize::from(at.way), usize::from(at.lun));
                        Lun::new(core, &port, &flash, way, lun).reporting_to(recorder)
                    };
                    let worker = Worker {
                        lun: geometry.lun_index(at),
                        port: Rc::clone(workers_port),
                        controller: match control {
                            None => Controller::new(lun()).into(),
                            Some(_) => Backend::Hardware(Rc::clone(&between)),
                        },
                        package: u32::from(channel) * u32::from(packages.ways) + u32::from(at.way),
                        tasks: Rc::clone(&tasks),
                        gate: Rc::clone(&gate),
                        recorder: workers_recorder.clone(),
                    };
                    core.spawn(worker.run());
                }
            }
            ports.push(port);
        }
        let fault = Rc::new(RefCell::new(None));
        let luns = (0..usize::from(packages.ways))
            .flat_map(|way| ports.iter().map(move |port| (way, port)))
            .map(|(way, port)| Lun::new(core, port, &flash, way, 0).reporting_to(recorder))
            .collect();
        core.spawn(bring_up(BringUp {
            exec: exec.clone(),
            luns,
            dram: dram.clone(),
            scratch: around.scratch,
            gate: Rc::clone(&gate),
            fixed: fixed.clone(),
            fault: Rc::clone(&fault),
        }));
        let below = looped.then_some(between);
        Ok(Channels { engines, fixed, fault, ports, flash, gate, below })
    }
}

struct BringUp {
    exec: Exec,
    luns: Vec<Lun>,
    dram: SharedDram,
    scratch: BufferId,
    gate: Rc<Gate>,
    fixed: Vec<Rc<FixedController>>,
    fault: Rc<RefCell<Option<String>>>,
}

/// Software identifies every package and switches its data interface, whatever the controller (B12); then a controller
/// that is hardware takes its channel over.
async fn bring_up(parts: BringUp) {
    for lun in &parts.luns {
        if let Err(e) = boot::bring_up(lun, &parts.dram, parts.scratch).await {
            let place = format!("channel {} way {}: {e}", lun.port().id(), lun.way());
            *parts.fault.borrow_mut() = Some(place);
            return;
        }
    }
    parts.fixed.iter().for_each(|controller| controller.take_over());
    parts.gate.open(&parts.exec);
}
