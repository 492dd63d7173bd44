//! Puts a drive together, step by step, from a profile, pieces and media.
//!
//! Each arrangement of firmware is one function whose lines are the steps: [`apart`] and [`spliced`]. A
//! step uses what earlier ones made. The order in which the steps spawn tasks and register handlers is
//! behaviour (`device/order.rs`).

use crate::arrivals::Arrivals;
use crate::configure::{self, BuildError};
use crate::core_role::CoreRole;
use crate::cores::Cores;
use crate::fill;
use crate::firmware;
use crate::host_link::{Carrier, HostLink};
use crate::media::{Media, NandSource};
use crate::nvram::{front_end_part, translation_part};
use crate::pci;
use crate::pieces::{Behind, Pieces};
use crate::profile::{ControllerName, Profile};
use crate::stackful::Stacks;
use crate::thermal::{Counters, Sensor};
use crate::wear;
use crate::wiring::{Channels, Surroundings};
use aster_board::{EmmcCard, Link, PciFunction, SharedEmmcCells, TlpLink};
use aster_ecc::{Engine, EngineConfig, EnginePorts};
use aster_events::{Firmware, Recorder};
use aster_exec::{Core, Exec};
use aster_flash::Controller;
use aster_nand::{CellFiller, NandArray, NandCells};
use aster_parties::{
    BARS, Below, CommandSplice, FlashScheduler, FrontEnd, FrontEndNeeds, FrontEndPiece, FrontEndPorts,
    FunctionSpec, Prefill, SchedulerNeeds, SchedulerPorts, SchedulerView, Tasks, Translation,
    TranslationNeeds, TranslationPorts, TranslationView, WriteHistory,
};
use aster_ports::cores::{Interrupt, Notice};
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::emmc::EmmcPort;
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_ports::link::{LinkPort, TAG_BYTES};
use aster_ports::medium::{SharedBacklog, SharedNvram};
use aster_ports::resource::{Bandwidth, SharedBandwidth};
use aster_ports::tlp::{TlpPort, TlpSettings};
use aster_sched::{WorkersConfig, spawn_workers};
use aster_units::{BufferId, Content, Geometry, Instant, Restriction};
use std::cell::RefCell;
use std::rc::Rc;

/// Metadata buffers for bring-up: each core of flash software handles one package after the other.
fn bring_up_buffers(profile: &Profile) -> u32 {
    u32::from(profile.flash_cores()).max(1)
}

/// The drive to build.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    pub(crate) profile: &'a Profile,
    pub(crate) content: Content,
    pub(crate) recorder: &'a Recorder,
    /// When it gets its power.
    pub(crate) at: Instant,
}

/// What the host sees of a running drive, and what carries its commands out.
pub(crate) struct Face {
    pub(crate) exec: Exec,
    pub(crate) dram: SharedDram,
    pub(crate) link: Rc<HostLink>,
    pub(crate) pci: Rc<RefCell<PciFunction>>,
    /// Bytes of each BAR; 0 for a BAR that doesn't exist.
    pub(crate) bar_bytes: [u64; BARS],
    pub(crate) front: Rc<dyn FrontEnd>,
    pub(crate) arrivals: Rc<Arrivals>,
    /// The board's temperature sensor, if it has one.
    pub(crate) sensor: Option<Rc<Sensor>>,
    pub(crate) translation: Rc<dyn TranslationView>,
    /// Where events of the commands that the host sends go, and of what serves them.
    pub(crate) recorder: Recorder,
}

/// The flash of a running drive and what belongs to it: media, channels, cores, scheduler.
pub(crate) struct Array {
    pub(crate) kept: Rc<Kept>,
    pub(crate) channels: Channels,
    pub(crate) cores: Vec<Core>,
    pub(crate) stacks: Option<Rc<Stacks>>,
    pub(crate) scheduler: Rc<dyn SchedulerView>,
    pub(crate) corrector: Option<Rc<Engine>>,
    pub(crate) memory: SharedBandwidth,
}

/// What a drive still has, or is, after a loss of power.
pub(crate) struct Kept {
    pub(crate) recorder: Recorder,
    pub(crate) content: Content,
    pub(crate) geometry: Geometry,
    pub(crate) restriction: Restriction,
    pub(crate) firmware: Firmware,
    pub(crate) cells: NandCells,
    pub(crate) nvram: SharedNvram,
    pub(crate) emmc: SharedEmmcCells,
    /// The eMMC's card, if the board has one and the translation uses it.
    pub(crate) card: Option<Rc<EmmcCard>>,
    pub(crate) serial: Option<String>,
    pub(crate) backlog: Option<SharedBacklog>,
}

/// The parts of a running drive.
pub(crate) type Parts = (Face, Array);

/// Builds the drive.
pub(crate) fn assemble(wanted: Wanted<'_>, pieces: Pieces, media: Media) -> Result<Parts, BuildError> {
    let base = Base::lay(wanted, pieces, media)?;
    if !base.scheduler_needs.commands {
        return apart(base);
    }
    if base.ecc.is_some() {
        let reason = "must be \"hardware\" with a flash scheduler that takes the host's commands, since it \
                      sends a page to the host as soon as it has been read";
        return Err(configure::value("ecc.correction", reason));
    }
    spliced(base)
}

/// Firmware of coroutines: translation and scheduler each have ports of their own.
fn apart(mut base: Base<'_>) -> Result<Parts, BuildError> {
    let interrupt = base.cores.interrupt;
    let above = match base.scheduler_needs.polls_requests {
        true => Notice::polled(interrupt),
        false => Notice::from(interrupt),
    };
    let ports = base.flash_ports(above, Interrupt::default());
    let channels = base.channels(&ports)?;
    let below = base.below(&ports, &channels);
    let scheduler =
        base.start_scheduler(&base.cores.core(CoreRole::Flash(0)).clone(), &ports, &channels, below, None)?;
    base.bring_up(&ports, &channels);
    base.start_correction(&ports);
    let link = base.link();
    let commands = base.command_port();
    let front = base.start_front_end(&link, &commands)?;
    let translation = base.start_translation(&ports, commands)?;
    base.whole(&ports.requests, channels, link, front, translation, scheduler)
}

/// Firmware of one big loop: the host's commands pass the scheduler on their way to the translation, and
/// both run on one core.
fn spliced(mut base: Base<'_>) -> Result<Parts, BuildError> {
    let ports = base.flash_ports(Interrupt::default().into(), base.cores.interrupt);
    let channels = base.channels(&ports)?;
    let below = base.below(&ports, &channels);
    base.bring_up(&ports, &channels);
    let link = base.link();
    let splice = CommandSplice { front: base.command_port(), translation: base.command_port() };
    let front = base.start_front_end(&link, &splice.front)?;
    let translation = base.start_translation(&ports, Rc::clone(&splice.translation))?;
    let core = base.cores.core(CoreRole::Translation).clone();
    let scheduler = base.start_scheduler(&core, &ports, &channels, below, Some(splice))?;
    base.whole(&ports.requests, channels, link, front, translation, scheduler)
}

/// I3: the port above the scheduler, and the one below it if there is one.
struct FlashPorts {
    requests: Rc<FlashPort>,
    controllers: Option<Rc<FlashPort>>,
}

/// What exists before any part runs, and what all steps use.
struct Base<'a> {
    wanted: Wanted<'a>,
    exec: Exec,
    geometry: Geometry,
    array: NandArray,
    nvram: SharedNvram,
    emmc: SharedEmmcCells,
    card: Option<Rc<EmmcCard>>,
    serial: Option<String>,
    backlog: Option<SharedBacklog>,
    /// What a fresh drive is filled with.
    history: Option<Box<dyn WriteHistory>>,
    /// Pieces that haven't been started. Each is started once.
    front_end: Option<Box<dyn FrontEndPiece>>,
    front_needs: FrontEndNeeds,
    function: FunctionSpec,
    completes_early: bool,
    translation: Option<Box<dyn Translation>>,
    needs: TranslationNeeds,
    scheduler: Option<Box<dyn FlashScheduler<Controller>>>,
    scheduler_needs: SchedulerNeeds,
    /// What the workers do that are controllers in software below a scheduler's port.
    workers: WorkersConfig,
    pieces: Pieces,
    tasks: Rc<Tasks>,
    memory: SharedBandwidth,
    dram: SharedDram,
    scratch: BufferId,
    host_bus: SharedBandwidth,
    channel_buses: Vec<SharedBandwidth>,
    control_buses: configure::ControlBuses,
    cores: Cores,
    /// The core of each channel's flash software.
    flash_cores: Vec<Core>,
    /// Correction in software before it is started, if there is one, and then running.
    ecc: Option<EngineConfig>,
    corrector: Option<Rc<Engine>>,
}

impl<'a> Base<'a> {
    /// Makes cells, pieces, memories, buses and cores, and loads what was kept without power.
    fn lay(wanted: Wanted<'a>, mut pieces: Pieces, media: Media) -> Result<Self, BuildError> {
        let Wanted { name, profile, content, .. } = wanted;
        let Media { nand, nvram, emmc, serial, backlog, history } = media;
        let array = cells(wanted, nand)?;

        pieces.check_own_keys(profile)?;
        let translation = pieces.make_translation(profile, content)?;
        if history.is_some() {
            translation.can_be_filled()?;
        }
        let scheduler = pieces.make_scheduler(profile)?;
        let (needs, scheduler_needs) = (translation.needs(), scheduler.needs());
        let workers = match scheduler_needs.repeats_reads {
            true => WorkersConfig::plain(profile.array_geometry()),
            false => configure::workers(profile, &configure::flash(profile)?),
        };
        let tasks = Rc::new(configure::tasks(profile, pieces.tasks.take()));

        if !profile.board.nvram_kept {
            nvram.keep_only_saved(needs.nvram_bytes);
        }
        let behind = Behind::of_translation(profile, &*translation);
        let front_end = pieces.make_front_end(profile, content, name, serial.clone(), behind)?;
        let front_needs = front_end.needs();

        let (exec, geometry) = (Exec::new(), profile.used_geometry());
        exec.catch_up(wanted.at);
        let memory = Bandwidth::new(profile.board.dram_mb_per_s * 1_000_000);
        let dram = Dram::with_codes(
            content,
            geometry.sectors_per_page(),
            configure::oob_bytes(profile),
            (needs.data_buffers, needs.metadata_buffers + bring_up_buffers(profile)),
            front_needs.sram_bytes + packet_buffers(profile, &front_needs),
            configure::code_bytes(profile)?,
        );
        let scratch = dram.borrow().metadata_buffer(needs.metadata_buffers);
        let (host_bus, channel_buses) = configure::buses(profile, &memory);
        let control_buses = configure::control_buses(profile, &memory);
        let cores = Cores::of(&exec, profile)?;
        let flash_cores = cores.of_channels(profile);
        Ok(Base {
            wanted,
            exec,
            geometry,
            array,
            nvram,
            emmc,
            card: None,
            serial,
            backlog,
            history,
            function: front_end.function(),
            completes_early: front_end.completes_early(),
            front_end: Some(front_end),
            front_needs,
            translation: Some(translation),
            needs,
            scheduler: Some(scheduler),
            scheduler_needs,
            workers,
            pieces,
            tasks,
            memory,
            dram,
            scratch,
            host_bus,
            channel_buses,
            control_buses,
            cores,
            flash_cores,
            ecc: configure::ecc_engine(profile)?,
            corrector: None,
        })
    }

    fn has_software_controllers(&self) -> bool {
        self.wanted.profile.channel.controller == ControllerName::Software
    }

    /// Makes the ports of I3. `above` notifies across the port between the translation and the scheduler,
    /// `between` across the one between the scheduler and controllers in software.
    fn flash_ports(&self, above: Notice, between: Interrupt) -> FlashPorts {
        let luns = self.geometry.total_luns();
        let requests = FlashPort::new(&self.exec, luns, self.needs.flash_requests, above);
        if self.wanted.profile.board.thermal.is_some() {
            requests.admit_by_die(configure::die_groups(self.wanted.profile));
        }
        let depth = u32::from(self.scheduler_needs.requests_per_lun) * luns;
        let depth = depth.min(u16::MAX.into()) as u16;
        let controllers = match (self.has_software_controllers(), self.scheduler_needs.takes_software) {
            (true, true) => None,
            (true, false) => Some(requests.below(depth, between)),
            (false, _) => Some(requests.below(depth, Interrupt::default())),
        };
        FlashPorts { requests, controllers }
    }

    fn surroundings<'b>(&'b self, ports: &'b FlashPorts) -> Surroundings<'b> {
        Surroundings {
            exec: &self.exec,
            profile: self.wanted.profile,
            content: self.wanted.content,
            geometry: self.geometry,
            dram: &self.dram,
            scratch: self.scratch,
            buses: &self.channel_buses,
            completions: self.scheduler_needs.polls.then_some(&self.control_buses.completions),
            cores: &self.flash_cores,
            controllers: ports.controllers.as_ref().unwrap_or(&ports.requests),
            recorder: self.wanted.recorder,
        }
    }
    /// Makes packages, engines and controllers in hardware.
    fn channels(&mut self, ports: &FlashPorts) -> Result<Channels, BuildError> {
        let of_channel = |channel| self.array.take_packages(channel);
        let packages = (0..self.wanted.profile.array_geometry().channels).map(of_channel).collect();
        let Pieces { hardware, arbiter, .. } = &self.pieces;
        Channels::build(&self.surroundings(ports), packages, hardware, arbiter.as_ref())
    }
    /// The scheduler's lower side. With a port below it, controllers in software are workers that take
    /// requests one after the other as the scheduler sends them.
    fn below(&self, ports: &FlashPorts, channels: &Channels) -> Below<Controller> {
        let software = channels.software(&self.flash_cores, self.geometry, self.wanted.recorder);
        let Some(port) = &ports.controllers else { return Below::Luns(Box::new(software)) };
        if self.has_software_controllers() {
            let silent = Recorder::default();
            let (tasks, gate) = (&self.tasks, &channels.gate);
            spawn_workers(&channels.luns, port, tasks, gate, &silent, self.workers, software);
        }
        Below::Port(Rc::clone(port))
    }
    fn start_scheduler(
        &mut self,
        core: &Core,
        ports: &FlashPorts,
        channels: &Channels,
        below: Below<Controller>,
        commands: Option<CommandSplice>,
    ) -> Result<Rc<dyn SchedulerView>, BuildError> {
        let scheduler = self.scheduler.take().expect("a scheduler is started once");
        let view = scheduler.start(SchedulerPorts {
            core: core.clone(),
            requests: Rc::clone(&ports.requests),
            below,
            luns: channels.luns.clone(),
            tasks: Rc::clone(&self.tasks),
            commands,
            buses: self.control_buses.core.clone(),
            up: Rc::clone(&channels.gate),
            recorder: self.wanted.recorder.clone(),
        })?;
        Ok(view)
    }
    fn bring_up(&self, ports: &FlashPorts, channels: &Channels) {
        channels.bring_up(&self.surroundings(ports));
    }

    /// Starts correction in software, if the profile has it.
    fn start_correction(&mut self, ports: &FlashPorts) {
        let Some(config) = self.ecc.take() else { return };
        let role = CoreRole::Correction;
        let ports = EnginePorts {
            requests: Rc::clone(&ports.requests),
            buffers: self.dram.clone(),
            client: self.cores.core(CoreRole::Translation).clone(),
            core: self.cores.core(role).clone(),
            interrupt: self.cores.interrupt_from(role),
            recorder: self.wanted.recorder.clone(),
        };
        self.corrector = Some(Engine::start(config, ports));
    }

    fn link(&self) -> HostLink {
        if self.front_needs.packets {
            return self.packet_link();
        }
        let port = LinkPort::new(&self.exec, self.front_needs.link_operations);
        let config = configure::link(self.wanted.profile);
        let bus = SharedBandwidth::clone(&self.host_bus);
        let link = Link::start(&self.exec, &port, config, bus, self.wanted.recorder);
        HostLink { port, carrier: Carrier::Operations(link) }
    }
    /// A link of packets. Its buffers lie in the SRAM behind the front end's.
    fn packet_link(&self) -> HostLink {
        let Wanted { profile, recorder, .. } = self.wanted;
        let port = LinkPort::new(&self.exec, TlpLink::OPERATIONS);
        let packets = TlpPort::new(&self.exec, &port, TlpSettings::AFTER_RESET);
        let (ports, config) = ((&packets, &port), configure::packet_link(profile));
        let buffers = (&self.dram, packet_buffers_at(&self.front_needs));
        let bus = SharedBandwidth::clone(&self.host_bus);
        let link = TlpLink::start(&self.exec, ports, config, buffers, bus, recorder);
        HostLink { port, carrier: Carrier::Packets(link, packets) }
    }
    /// Makes the command port (I5).
    fn command_port(&self) -> Rc<CommandPort> {
        let FrontEndNeeds { command_slots, dma_requests, .. } = self.front_needs;
        CommandPort::new(&self.exec, command_slots, dma_requests)
    }
    fn start_front_end(
        &mut self,
        link: &HostLink,
        commands: &Rc<CommandPort>,
    ) -> Result<Rc<dyn FrontEnd>, BuildError> {
        let front_end = self.front_end.take().expect("a front end is started once");
        let front = front_end.start(FrontEndPorts {
            exec: self.exec.clone(),
            link: Rc::clone(&link.port),
            packets: link.packets().cloned(),
            commands: Rc::clone(commands),
            memory: self.dram.clone(),
            saved: front_end_part(&self.nvram),
            backlog: self.backlog.clone(),
            core: self.front_needs.core.then(|| self.cores.core(CoreRole::Translation).clone()),
            recorder: self.wanted.recorder.clone(),
        })?;
        Ok(front)
    }
    fn start_translation(
        &mut self,
        ports: &FlashPorts,
        commands: Rc<CommandPort>,
    ) -> Result<Rc<dyn TranslationView>, BuildError> {
        let translation = self.translation.take().expect("a translation is started once");
        let emmc = self.start_emmc();
        let scrambled = self.wanted.profile.ecc.scrambler;
        let prefill = self.history.take().map(|history| {
            let cells = Box::new(fill::Cells(CellFiller::new(&self.array.cells(), scrambled)));
            Prefill { history, cells }
        });
        let view = translation.start(TranslationPorts {
            core: self.cores.core(CoreRole::Translation).clone(),
            commands,
            command_slots: self.front_needs.command_slots,
            completes_early: self.completes_early,
            flash: Rc::clone(&ports.requests),
            buffers: self.dram.clone(),
            nvram: translation_part(&self.nvram, self.needs.nvram_bytes),
            emmc,
            prefill,
            recorder: self.wanted.recorder.clone(),
        })?;
        Ok(view)
    }
    /// Starts the eMMC, if the board has one and the translation uses it.
    fn start_emmc(&mut self) -> Option<Rc<EmmcPort>> {
        let times = configure::emmc(self.wanted.profile).filter(|_| self.needs.emmc_bytes > 0)?;
        let port = EmmcPort::new(&self.exec);
        self.card = Some(EmmcCard::start(&self.exec, &port, Rc::clone(&self.emmc), times));
        Some(port)
    }

    /// Connects health reports and the PCI function, and puts the parts together. `requests` is the port
    /// between translation and scheduler.
    fn whole(
        self,
        requests: &Rc<FlashPort>,
        channels: Channels,
        link: HostLink,
        front: Rc<dyn FrontEnd>,
        translation: Rc<dyn TranslationView>,
        scheduler: Rc<dyn SchedulerView>,
    ) -> Result<Parts, BuildError> {
        let Wanted { profile, content, recorder, .. } = self.wanted;
        let health = wear::watch(profile, self.array.inspect(), &*translation, &front);
        let bar_bytes = self.function.bar_bytes();
        // The board knows its power, unless the front end tells something else.
        let power = self.function.power.or_else(|| configure::power_report(profile));
        let pci = PciFunction::new(FunctionSpec { power, ..self.function }, configure::pci_link(profile))?;
        let pci = Rc::new(RefCell::new(pci));
        let link = Rc::new(link);
        let sensor = configure::sensor(profile).map(|config| {
            let channels = channels.engines.clone();
            let (nand, link, cores) = (self.array.inspect(), Rc::clone(&link), self.cores.all());
            let counters = Counters { nand, channels, link, cores };
            Sensor::start(&self.exec, config, counters, &health, Rc::clone(requests), recorder)
        });
        let first = sensor.clone().map(|sensor| -> pci::First { Box::new(move |_| sensor.host_is_here()) });
        let arrivals = match link.register_packets() {
            Some(packets) => pci::start_packets(&self.exec, &pci, packets, first),
            None => pci::start_arrivals(&self.exec, &pci, &front, &link, first),
        };
        let of_corrector = self.corrector.as_ref().map_or_else(Vec::new, |engine| engine.functions());
        let functions =
            [front.functions(), translation.functions(), scheduler.functions(), of_corrector].concat();
        let face = Face {
            exec: self.exec,
            dram: self.dram,
            link,
            pci,
            bar_bytes,
            front,
            arrivals,
            sensor,
            translation,
            recorder: recorder.clone(),
        };
        let kept = Kept {
            recorder: recorder.clone(),
            content,
            geometry: self.geometry,
            restriction: profile.restriction(),
            firmware: firmware::firmware(profile, &functions),
            cells: self.array.cells(),
            nvram: self.nvram,
            emmc: self.emmc,
            card: self.card,
            serial: self.serial,
            backlog: self.backlog,
        };
        let array = Array {
            kept: Rc::new(kept),
            channels,
            cores: self.cores.all(),
            stacks: self.cores.stacks.clone(),
            scheduler,
            corrector: self.corrector,
            memory: self.memory,
        };
        Ok((face, array))
    }
}

/// Where the buffers of a link of packets begin in the SRAM.
fn packet_buffers_at(needs: &FrontEndNeeds) -> usize {
    needs.sram_bytes.next_multiple_of(TAG_BYTES)
}
/// Bytes of SRAM for the buffers of a link of packets, if there is one.
fn packet_buffers(profile: &Profile, needs: &FrontEndNeeds) -> usize {
    if !needs.packets {
        return 0;
    }
    packet_buffers_at(needs) - needs.sram_bytes + TlpLink::sram_bytes(&configure::packet_link(profile))
}

fn cells(
    Wanted { profile, content, recorder, .. }: Wanted<'_>,
    nand: NandSource,
) -> Result<NandArray, BuildError> {
    Ok(match nand {
        NandSource::Fresh => NandArray::new(configure::nand(profile, content)?, None, recorder)?,
        NandSource::Image(medium) => {
            NandArray::new(configure::nand(profile, content)?, Some(medium), recorder)?
        }
        NandSource::Cells(cells) => NandArray::power_up(cells, recorder)?,
    })
}
