//! Wires the channels: engines and packages, and above them the controller that the profile names.

use crate::channels::{ChannelEngine, ChannelHardware};
use crate::configure::{self, BuildError};
use crate::pieces::MakeArbiter;
use crate::profile::{ControllerName, Profile};
use aster_channel::fixed::{Control, FixedConfig, FixedController};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_flash::{Controller, FlashConfig, Lun, boot};
use aster_nand::NandPackage;
use aster_parties::{BringUpGate, LunPlace};
use aster_ports::channel::ChannelPort;
use aster_ports::dram::SharedDram;
use aster_ports::flash::FlashPort;
use aster_ports::resource::SharedBandwidth;
use aster_units::{BufferId, ChannelId, Content, Geometry, LunAddr, LunIndex};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

// The parties above I3 send whole operations, and the FTL looks for factory marks with raw reads. A
// controller without these capabilities would need an adaptor in front.
const _: () = assert!(Controller::CAPABILITIES.compound && Controller::CAPABILITIES.raw);
const _: () = assert!(FixedController::CAPABILITIES.compound && FixedController::CAPABILITIES.raw);

/// Everything around the channels.
pub(crate) struct Surroundings<'a> {
    pub(crate) exec: &'a Exec,
    pub(crate) profile: &'a Profile,
    pub(crate) content: Content,
    /// The geometry that requests are addressed in. The packages may have more (C31).
    pub(crate) geometry: Geometry,
    pub(crate) dram: &'a SharedDram,
    /// The first buffer for bytes that bring-up uses: each core of flash software has one.
    pub(crate) scratch: BufferId,
    /// The way of each channel to memory.
    pub(crate) buses: &'a [SharedBandwidth],
    /// The buses that completions of controllers in hardware pass if firmware polls for them. The
    /// controllers then report by ready bit and flag.
    pub(crate) completions: Option<&'a [SharedBandwidth; 2]>,
    /// The core that runs the flash operations of each channel.
    pub(crate) cores: &'a [Core],
    /// The port that controllers in hardware serve.
    pub(crate) controllers: &'a Rc<FlashPort>,
    pub(crate) recorder: &'a Recorder,
}

/// The channels of a drive or bench.
pub(crate) struct Channels {
    pub(crate) engines: Vec<Rc<dyn ChannelEngine>>,
    /// The controllers in hardware, one per channel; empty if they are software.
    pub(crate) fixed: Vec<Rc<FixedController>>,
    /// I2 of each channel, and what flash software knows of the packages.
    pub(crate) ports: Vec<Rc<ChannelPort>>,
    pub(crate) flash: Rc<FlashConfig>,
    /// The LUNs, channel by channel, in the order of the channel's slots.
    pub(crate) luns: Vec<LunPlace>,
    /// Opens when the packages have been brought up.
    pub(crate) gate: Rc<BringUpGate>,
    /// Why bring-up failed.
    pub(crate) fault: Rc<RefCell<Option<String>>>,
}

fn control(name: ControllerName) -> Option<Control> {
    match name {
        ControllerName::Software => None,
        ControllerName::Synchronous => Some(Control::Synchronous),
        ControllerName::Asynchronous => Some(Control::Asynchronous),
    }
}

/// A fixed controller is configured with the same facts that flash software gets.
fn fixed_config(profile: &Profile, flash: &FlashConfig, polled: bool) -> FixedConfig {
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
        clock_period: configure::clock(profile).period,
        poll_interval: flash.poll.interval,
        poll_early: flash.poll.early,
        patience: flash.poll.patience,
        polled,
        multi_plane: profile.scheduler.multi_plane,
    }
}

impl Channels {
    /// Builds engines and controllers on each channel's packages. They serve no requests until
    /// [`Channels::bring_up`].
    pub(crate) fn build(
        around: &Surroundings<'_>,
        packages_of_channels: Vec<Vec<NandPackage>>,
        hardware: &ChannelHardware,
        arbiter: Option<&MakeArbiter>,
    ) -> Result<Self, BuildError> {
        let Surroundings { exec, profile, geometry, dram, recorder, .. } = *around;
        let flash = Rc::new(configure::flash(profile)?);
        let fixed_config = fixed_config(profile, &flash, around.completions.is_some());
        let control = control(profile.channel.controller);
        let packages = profile.array_geometry();
        let solvers = configure::solvers(profile);
        let (mut engines, mut ports, mut fixed, mut places) = (vec![], vec![], vec![], vec![]);
        for (channel, of_channel) in (0..packages.channels).zip(packages_of_channels) {
            let slots = packages.luns_per_channel() as usize;
            let port = ChannelPort::new(exec, ChannelId(channel), usize::from(packages.ways), slots);
            let arbiter = match arbiter {
                Some(make) => Some(make(port.id(), slots)),
                None => configure::transactions(profile).arbiter(slots),
            };
            if let Some(arbiter) = arbiter {
                arbiter.serve(&port);
            }
            let engine = configure::engine(
                profile,
                &around.buses[usize::from(channel)],
                solvers[usize::from(channel)].clone(),
            )?;
            hardware.check(around.content, profile.channel.controller, &engine)?;
            engines.push(hardware.start(&port, dram, of_channel, engine, recorder));
            // In the order of the channel's slots.
            let luns = (0..packages.luns)
                .flat_map(|lun| (0..packages.ways).map(move |way| LunAddr { channel, way, lun }));
            let first = places.len();
            places.extend(luns.map(|at| LunPlace {
                lun: geometry.lun_index(at),
                channel,
                package: u32::from(channel) * u32::from(packages.ways) + u32::from(at.way),
                core: around.cores[usize::from(channel)].clone(),
            }));
            if let Some(control) = control {
                let lanes: Vec<_> = places[first..].iter().map(|place| place.lun).collect();
                let controller =
                    FixedController::new(control, around.controllers, &port, fixed_config, &lanes);
                if let Some(buses) = around.completions {
                    controller.send_completions_over(buses);
                }
                fixed.push(controller);
            }
            ports.push(port);
        }
        let (gate, fault) = (Rc::new(BringUpGate::default()), Rc::new(RefCell::new(None)));
        Ok(Channels { engines, fixed, ports, flash, luns: places, gate, fault })
    }

    /// Controllers in software by LUN, each on the core of `cores` that its channel has.
    pub(crate) fn software(
        &self,
        cores: &[Core],
        geometry: Geometry,
        recorder: &Recorder,
    ) -> impl Fn(LunIndex) -> Controller + 'static {
        let (cores, recorder) = (cores.to_vec(), recorder.clone());
        let (ports, flash) = (self.ports.clone(), Rc::clone(&self.flash));
        move |lun| {
            let LunAddr { channel, way, lun } = geometry.lun_addr(lun);
            let (core, port) = (&cores[usize::from(channel)], &ports[usize::from(channel)]);
            let lun = Lun::new(core, port, &flash, usize::from(way), usize::from(lun));
            Controller::new(lun.reporting_to(&recorder))
        }
    }

    /// Begins to bring the packages up: each core of flash software those of its channels. The controllers
    /// must have been started.
    pub(crate) fn bring_up(&self, around: &Surroundings<'_>) {
        let Surroundings { exec, profile, dram, cores, recorder, .. } = *around;
        let ways = usize::from(profile.array_geometry().ways);
        let of_cores: Vec<_> = cores.chunk_by(|one, next| one.number() == next.number()).collect();
        let left = Rc::new(Cell::new(of_cores.len()));
        let mut ports = self.ports.iter();
        for (n, of_core) in of_cores.into_iter().enumerate() {
            let (core, ports) = (&of_core[0], ports.by_ref().take(of_core.len()).collect::<Vec<_>>());
            let luns = (0..ways)
                .flat_map(|way| ports.iter().map(move |port| (way, port)))
                .map(|(way, port)| Lun::new(core, port, &self.flash, way, 0).reporting_to(recorder))
                .collect();
            core.spawn(bring_up(BringUp {
                exec: exec.clone(),
                luns,
                dram: dram.clone(),
                scratch: BufferId(around.scratch.0 + n as u32),
                left: Rc::clone(&left),
                gate: Rc::clone(&self.gate),
                fixed: self.fixed.clone(),
                fault: Rc::clone(&self.fault),
            }));
        }
    }
}

/// What a core brings up.
struct BringUp {
    exec: Exec,
    luns: Vec<Lun>,
    dram: SharedDram,
    scratch: BufferId,
    /// Cores that aren't done yet.
    left: Rc<Cell<usize>>,
    gate: Rc<BringUpGate>,
    fixed: Vec<Rc<FixedController>>,
    fault: Rc<RefCell<Option<String>>>,
}

/// Software identifies every package and switches its data interface, whatever the controller (B12). A
/// controller in hardware then takes its channel over.
async fn bring_up(parts: BringUp) {
    for lun in &parts.luns {
        if let Err(e) = boot::bring_up(lun, &parts.dram, parts.scratch).await {
            // A package that doesn't answer is left out, where others have what it held (H33).
            if lun.is_dead() {
                lun.give_up_package();
                continue;
            }
            let place = format!("channel {} way {}: {e}", lun.port().id(), lun.way());
            parts.fault.borrow_mut().get_or_insert(place);
            return;
        }
    }
    parts.left.set(parts.left.get() - 1);
    if parts.left.get() == 0 {
        parts.fixed.iter().for_each(|controller| controller.take_over());
        parts.gate.open(&parts.exec);
    }
}
