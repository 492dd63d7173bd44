use crate::arrivals::{Arrivals, Write};
use crate::build::{self, BuildError, OOB_BYTES};
use crate::channels::ChannelHardware;
use crate::firmware::{self, StatisticsLog};
use crate::life::Life;
use crate::media::{Media, NandSource};
use crate::pieces::Pieces;
use crate::profile::{ControllerName, Profile};
use crate::wiring::{Channels, Surroundings};
use aster_board::{BAR0_BYTES, Link, LinkStats, MSIX_TABLE_OFFSET, PciFunction};
use aster_channel::ChannelStats;
use aster_channel::fixed::Filter;
use aster_events::{Firmware, Recorder};
use aster_exec::{Core, CoreStats, Exec};
use aster_hostif::{DoorbellBuffer, FrontEnd, History, MediaHealth, QueueDoorbell};
use aster_nand::{EraseSpread, NandArray, NandCells, NandInspect, Totals};
use aster_parties::{Boot, DriveState, TranslationPorts, TranslationStats, TranslationView};
use aster_ports::channel::BusTap;
use aster_ports::cores::Interrupt;
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::flash::FlashPort;
use aster_ports::link::{BadAddress, LinkOp, LinkPort};
use aster_ports::medium::{SharedBacklog, SharedNvram};
use aster_ports::resource::{Bandwidth, SharedBandwidth};
use aster_sched::cosmos::LoopStats;
use aster_sched::{Below, CommandSplice, SchedulerPorts, SchedulerView, spawn_workers};
use aster_units::{BlockAddr, Content, Duration, Geometry, Instant, LunIndex, Restriction};
use std::cell::RefCell;
use std::rc::Rc;

/// Metadata buffers that bring-up uses: one a way of a channel, channels after each other in time.
const BRING_UP_BUFFERS: u32 = 1;

/// A whole drive: one value on one thread with one clock (design §1).
pub struct Device {
    exec: Exec,
    recorder: Recorder,
    content: Content,
    geometry: Geometry,
    restriction: Restriction,
    dram: SharedDram,
    link_port: Rc<LinkPort>,
    link: Rc<Link>,
    pci: Rc<RefCell<PciFunction>>,
    front: Rc<FrontEnd>,
    arrivals: Rc<Arrivals>,
    channels: Channels,
    cores: Vec<Core>,
    translation: Rc<dyn TranslationView>,
    scheduler: Rc<dyn SchedulerView>,
    firmware: Firmware,
    cells: NandCells,
    nvram: SharedNvram,
    serial: Option<String>,
    backlog: Option<SharedBacklog>,
    memory: SharedBandwidth,
}

/// What the parts of a drive have done so far.
#[derive(Clone, Debug)]
pub struct DriveStats {
    /// The translation's counters.
    pub ftl: TranslationStats,
    /// Reads, programs and erases of the cells.
    pub nand: Totals,
    /// How the erases spread.
    pub erases: EraseSpread,
    /// Each channel.
    pub channels: Vec<ChannelStats>,
    /// The host link.
    pub link: LinkStats,
    /// Each core: FTL, then flash if it has its own.
    pub cores: Vec<CoreStats>,
    /// Bytes through DRAM.
    pub dram_bytes: u64,
    /// The big loop, in a drive whose firmware is one.
    pub big_loop: Option<LoopStats>,
}

impl Device {
    /// Builds a drive and powers it on. `name` shows as its model; `content` overrides the profile's.
    ///
    /// # Errors
    /// When the profile doesn't make a drive, or the media don't belong to it.
    pub fn power_on(
        name: &str,
        profile: &Profile,
        content: Option<Content>,
        media: Media,
        recorder: &Recorder,
    ) -> Result<Self, BuildError> {
        Device::power_on_with(ChannelHardware::Timed, name, profile, content, media, recorder)
    }

    /// As [`Device::power_on`], with a reader's own `pieces`; channels alone will do.
    ///
    /// # Errors
    /// Also when such channels can't be those of this drive.
    pub fn power_on_with(
        pieces: impl Into<Pieces>,
        name: &str,
        profile: &Profile,
        content: Option<Content>,
        media: Media,
        recorder: &Recorder,
    ) -> Result<Self, BuildError> {
        let pieces: Pieces = pieces.into();
        let content = content.unwrap_or(profile.content.into());
        let exec = Exec::new();
        let Media { nand, nvram, serial, backlog } = media;
        let mut array = match nand {
            NandSource::Fresh => NandArray::new(build::nand(profile, content)?, None, recorder)?,
            NandSource::Image(medium) => {
                NandArray::new(build::nand(profile, content)?, Some(medium), recorder)?
            }
            NandSource::Cells(cells) => NandArray::power_up(cells, recorder)?,
        };
        let memory = Bandwidth::new(profile.board.dram_mb_per_s * 1_000_000);
        let (geometry, restriction) = (profile.used_geometry(), profile.restriction());

        pieces.check_own_keys(profile)?;
        let translation = pieces.make_translation(profile, content)?;
        let needs = translation.needs();
        if !profile.board.nvram_kept {
            nvram.keep_only_saved(needs.nvram_bytes);
        }
        let namespace_bytes = translation.capacity_bytes();
        let life = Life::load(&nvram);
        let block_size = build::block_size(profile, content, life.block_size);
        let mut host_config = build::host(profile, name, content, namespace_bytes, block_size);
        host_config.history = life.history;
        if let Some(serial) = &serial {
            host_config.serial = serial.clone();
        }
        host_config.check()?;
        let command_slots = host_config.command_slots();
        let metadata = needs.metadata_buffers;
        let dram = Dram::new(
            content,
            geometry.sectors_per_page(),
            OOB_BYTES,
            needs.data_buffers,
            metadata + BRING_UP_BUFFERS,
            host_config.sram_bytes(),
        );
        let scratch = dram.borrow().metadata_buffer(metadata);

        let frequency = build::frequency(profile)?;
        let ftl_core = Core::new(&exec, frequency);
        let (flash_core, interrupt) = if profile.cores.flash_core {
            let latency = Duration::from_nanos(u64::from(profile.cores.interrupt_ns));
            (Core::new(&exec, frequency), Interrupt { latency })
        } else {
            (ftl_core.clone(), Interrupt::default())
        };
        let mut cores = vec![ftl_core.clone()];
        if profile.cores.flash_core {
            cores.push(flash_core.clone());
        }

        // The flash scheduler, and what is below it.
        let scheduler = pieces.make_scheduler(profile)?;
        let below_needs = scheduler.needs();
        let software = profile.channel.controller == ControllerName::Software;
        // One that takes the host's commands runs on the translation's core.
        let (scheduler_core, above, between) = if below_needs.commands {
            (&ftl_core, Interrupt::default(), interrupt)
        } else {
            (&flash_core, interrupt, Interrupt::default())
        };
        let flash_depth = needs.flash_requests;
        let flash_port = FlashPort::new(&exec, geometry.total_luns(), flash_depth, above);
        let (host_bus, buses) = build::buses(profile, &memory);
        let control_buses = build::control_buses(profile, &memory);
        let below_depth = u32::from(below_needs.requests_per_lun) * geometry.total_luns();
        let below_depth = below_depth.min(u16::MAX.into()) as u16;
        let controllers = match (software, below_needs.takes_software) {
            (true, true) => None,
            (true, false) => Some(flash_port.below(below_depth, between)),
            (false, _) => Some(flash_port.below(below_depth, Interrupt::default())),
        };
        let around = Surroundings {
            exec: &exec,
            profile,
            content,
            geometry,
            dram: &dram,
            scratch,
            buses: &buses,
            completions: below_needs.polls.then_some(&control_buses.completions),
            core: &flash_core,
            controllers: controllers.as_ref().unwrap_or(&flash_port),
            recorder,
        };
        let Pieces { hardware, tasks, arbiter, .. } = pieces;
        let channels = Channels::build(&around, &mut array, &hardware, arbiter.as_ref())?;
        let tasks = Rc::new(build::tasks(profile, tasks));
        let of_software = channels.software(&flash_core, geometry, recorder);
        let below = match controllers.clone() {
            None => Below::Luns(Box::new(of_software)),
            Some(port) => {
                if software {
                    // What the scheduler sends is taken one after the other, and the scheduler tells of it.
                    let silent = Recorder::default();
                    let gate = &channels.gate;
                    spawn_workers(&flash_core, &channels.luns, &port, &tasks, gate, &silent, of_software);
                }
                Below::Port(port)
            }
        };
        let command_port = host_config.command_port(&exec);
        let translation_port =
            if below_needs.commands { host_config.command_port(&exec) } else { Rc::clone(&command_port) };
        let splice =
            || CommandSplice { front: Rc::clone(&command_port), translation: Rc::clone(&translation_port) };
        let scheduler_ports = SchedulerPorts {
            core: scheduler_core.clone(),
            requests: Rc::clone(&flash_port),
            below,
            luns: channels.luns.clone(),
            tasks,
            commands: below_needs.commands.then(splice),
            buses: control_buses.core,
            up: Rc::clone(&channels.gate),
            recorder: recorder.clone(),
        };
        // It starts before the packages are brought up, or behind the translation.
        let (started, waiting) = if below_needs.commands {
            (None, Some((scheduler, scheduler_ports)))
        } else {
            (Some(scheduler.start(scheduler_ports)?), None)
        };
        channels.bring_up(&around);

        // Front end and FTL.
        let link_port = LinkPort::new(&exec, host_config.link_operations());
        let link = Link::start(&exec, &link_port, build::link(profile), host_bus, recorder);
        let vectors = host_config.vectors;
        let front = FrontEnd::start(&exec, host_config, &link_port, &command_port, &dram, recorder)?;
        if let Some(backlog) = &backlog {
            front.pause_with(Some(Rc::clone(backlog)));
        }
        let kept = nvram.clone();
        front.on_format(Box::new(move |size| {
            Life { block_size: Some(size), ..Life::load(&kept) }.store(&kept);
        }));
        // The block format stays what the drive was made with.
        Life { history: front.history(), block_size: Some(block_size) }.store(&nvram);
        let kept = nvram.clone();
        front.on_history(Box::new(move |history: &History| {
            Life { history: *history, ..Life::load(&kept) }.store(&kept);
        }));
        let translation = translation.start(TranslationPorts {
            core: ftl_core.clone(),
            commands: translation_port,
            command_slots,
            completes_early: profile.host.auto_completion,
            flash: Rc::clone(&flash_port),
            buffers: dram.clone(),
            nvram: nvram.clone(),
            recorder: recorder.clone(),
        })?;
        let scheduler = match waiting {
            Some((scheduler, ports)) => scheduler.start(ports)?,
            None => started.expect("it has been started where it didn't wait"),
        };
        let (told, endurance) = (Rc::clone(&front), u64::from(profile.package.endurance.max(1)));
        let (inspect, blocks) =
            (array.inspect(), u64::from(geometry.total_luns()) * u64::from(geometry.blocks_per_lun));
        // The totals of cells begin when an image is opened, what a block has been through doesn't.
        let (worn, opened) =
            (erases_of_blocks(&inspect, &geometry, &restriction), inspect.totals_of_drive().erases);
        let threshold = profile.host.spare_threshold_percent;
        translation.watch_media(Box::new(move |media| {
            let erases = worn + (inspect.totals_of_drive().erases - opened);
            let used = erases * 100 / (blocks * endurance);
            told.set_media_health(MediaHealth {
                available_spare: media.available_spare,
                available_spare_threshold: threshold,
                percentage_used: used.min(255) as u8,
                read_only: media.read_only,
                reliability_degraded: media.rebuilt,
                ..MediaHealth::default()
            });
        }));
        let pci = Rc::new(RefCell::new(PciFunction::new(build::pci_ids(profile), vectors)));
        let (function, target, messages) = (Rc::clone(&pci), Rc::clone(&front), Rc::clone(&link_port));
        let deliver = Box::new(move |w: Write| {
            if !function.borrow().answers_memory() {
                return;
            }
            if w.offset < MSIX_TABLE_OFFSET {
                return target.mmio_write(w.offset, w.size, w.value);
            }
            function.borrow_mut().bar_write(w.offset, w.size, w.value);
            send_released(&function, &messages);
        });
        let arrivals = Arrivals::start(&exec, link.latency(), deliver);
        Ok(Device {
            exec,
            recorder: recorder.clone(),
            content,
            geometry,
            restriction,
            dram,
            link_port,
            link,
            pci,
            front,
            arrivals,
            channels,
            cores,
            firmware: firmware::firmware(profile, &[translation.functions(), scheduler.functions()].concat()),
            translation,
            scheduler,
            cells: array.cells(),
            nvram,
            serial,
            backlog,
            memory,
        })
    }

    /// Where the operation monitor's samples go that hosts fetch (C46).
    pub fn statistics_log(&self) -> StatisticsLog {
        StatisticsLog(Rc::clone(&self.front))
    }
    /// The firmware's cores and functions, for the operation monitor.
    pub fn firmware(&self) -> &Firmware {
        &self.firmware
    }

    // ---- time ----

    /// The drive's clock.
    pub fn now(&self) -> Instant {
        self.exec.now()
    }
    /// When the drive next has something to do.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.exec.next_deadline()
    }
    /// Does everything that is due by `until`.
    #[inline]
    pub fn advance_to(&self, until: Instant) {
        self.exec.advance_to(until);
    }
    /// Does what is due instant by instant, `most` of them at most and only before `host` has something to do, until the drive asks
    /// something of the run mode. Gives how many instants that were: one at least, whatever is due then.
    #[inline]
    pub fn advance_until_out(&self, host: Option<Instant>, most: u32) -> u32 {
        let mut instants = 0;
        let mut next = self.next_deadline();
        while let Some(at) = next {
            self.exec.advance_to(at);
            instants += 1;
            if instants >= most || self.link_port.has_out() {
                break;
            }
            next = self.next_deadline().filter(|&at| host.is_none_or(|host| at < host));
        }
        instants.max(1)
    }
    /// Moves the clock to `at` before input from outside.
    #[inline]
    pub fn catch_up(&self, at: Instant) {
        self.exec.catch_up(at);
    }
    /// The executor's counts of work.
    pub fn counts(&self) -> aster_exec::Counts {
        self.exec.counts()
    }

    // ---- the host's side ----

    /// Reads configuration space, behind the posted writes before it.
    pub fn config_read(&self, offset: u16, size: u8) -> u32 {
        self.arrivals.push_through();
        self.pci.borrow().config_read(offset, size)
    }
    /// Writes configuration space, behind the posted writes before it. A function-level reset takes effect at once: then
    /// this is true.
    pub fn config_write(&self, offset: u16, size: u8, value: u32) -> bool {
        self.arrivals.push_through();
        let reset = {
            let mut pci = self.pci.borrow_mut();
            pci.config_write(offset, size, value);
            pci.take_reset_request()
        };
        if reset {
            self.reset_function();
        }
        send_released(&self.pci, &self.link_port);
        reset
    }
    /// BAR0 answers whatever Memory Space Enable says: whoever runs the drive brings it only what is meant for BAR0
    /// ([`PciFunction::decode_outside`]).
    pub fn decode_outside(&self) {
        self.pci.borrow_mut().decode_outside();
    }
    /// True when BAR0 answers.
    pub fn answers_memory(&self) -> bool {
        self.pci.borrow().answers_memory()
    }
    /// Resets the function now, as a function-level reset does (PCIe 4.0 §6.6.2).
    pub fn reset_function(&self) {
        self.arrivals.push_through();
        self.front.function_reset();
        self.pci.borrow_mut().reset();
    }
    /// Unmasks or masks an MSI-X vector as a write of its table entry does, whatever BAR0 answers: for a host that keeps the
    /// table to itself and hands over only which vectors it listens to.
    pub fn set_vector_mask(&self, vector: u16, masked: bool) {
        self.pci.borrow_mut().set_vector_mask(vector, masked);
        send_released(&self.pci, &self.link_port);
    }
    /// MSI-X vectors of the function.
    pub fn vectors(&self) -> u16 {
        self.pci.borrow().vectors()
    }

    // ---- doorbells that the run mode looks at ----

    /// Offers Doorbell Buffer Config to the host: the run mode looks at doorbells in host memory from now on.
    pub fn offer_doorbell_buffer(&self) {
        self.front.offer_doorbell_buffer();
    }
    /// Where the host keeps the doorbells of its I/O queues, if it does.
    pub fn doorbell_buffer(&self) -> Option<DoorbellBuffer> {
        self.front.controller().doorbell_buffer()
    }
    /// Another number whenever a queue has come or gone, or the doorbell buffer.
    #[inline]
    pub fn doorbell_generation(&self) -> u32 {
        self.front.controller().doorbell_generation()
    }
    /// The doorbells that there are.
    pub fn doorbells(&self) -> Vec<QueueDoorbell> {
        self.front.controller().doorbells().collect()
    }
    /// Reads BAR0 as of now, behind the posted writes before it. All ones where or while BAR0 doesn't answer.
    pub fn bar_read(&self, offset: u32, size: u8) -> u64 {
        self.arrivals.push_through();
        if u64::from(offset) + u64::from(size) > BAR0_BYTES || !self.pci.borrow().answers_memory() {
            return u64::MAX;
        }
        match self.pci.borrow().bar_read(offset, size) {
            Some(value) => value,
            None => self.front.mmio_read(offset, size),
        }
    }
    /// A posted write to BAR0, sent now; it arrives one link latency later, or with the next access that is not posted. It
    /// is dropped where or while BAR0 doesn't answer.
    #[inline]
    pub fn bar_write(&self, offset: u32, size: u8, value: u64) {
        self.bar_write_at(self.exec.now(), offset, size, value);
    }
    /// As [`Device::bar_write`], sent at a time that the drive's clock may not show yet; one that has passed counts as now.
    pub fn bar_write_at(&self, sent: Instant, offset: u32, size: u8, value: u64) {
        if u64::from(offset) + u64::from(size) <= BAR0_BYTES {
            self.arrivals.send(Write { offset, size, value }, sent);
        }
    }
    /// The next operation that the drive asks the run mode to carry out. What a reset has overtaken is answered here: that
    /// host's memory is no longer the drive's to touch.
    #[inline]
    pub fn next_out(&self) -> Option<LinkOp> {
        loop {
            let op = self.link_port.next_out()?;
            if !self.front.controller().is_stale(&op) {
                return Some(op);
            }
            self.link_port.done(&op, Err(BadAddress(0)));
        }
    }
    /// Answers a DMA.
    #[inline]
    pub fn done(&self, op: &LinkOp, result: Result<(), BadAddress>) {
        if result.is_err() {
            self.pci.borrow_mut().note_master_abort();
        }
        self.link_port.done(op, result);
    }
    /// True when the host lets the drive reach its memory.
    #[inline]
    pub fn is_bus_master(&self) -> bool {
        self.pci.borrow().is_bus_master()
    }
    /// The message of an interrupt, unless it is masked: then it comes as another interrupt once it is not.
    #[inline]
    pub fn message(&self, vector: u16) -> Option<(u64, u32)> {
        self.pci.borrow_mut().message(vector)
    }
    /// The drive's memory, for DMA.
    pub fn dram(&self) -> &Dram {
        &self.dram
    }

    // ---- looking at it ----

    /// Completion entries that have reached the host since power-on.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.front.controller().completed()
    }
    /// Commands that the host knows done and the firmware is not done with.
    pub fn commands_ahead(&self) -> usize {
        self.front.controller().commands_ahead()
    }
    /// Commands in the drive, those included.
    pub fn commands_in_flight(&self) -> usize {
        self.front.controller().commands_in_flight()
    }
    /// The drive's life up to now.
    pub fn history(&self) -> History {
        self.front.history()
    }
    /// How page content is kept.
    pub fn content(&self) -> Content {
        self.content
    }
    /// The array that the firmware uses.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    /// Where that lies in the packages: [`Device::nand`] knows blocks and pages by their addresses there.
    pub fn restriction(&self) -> &Restriction {
        &self.restriction
    }
    /// Where events go.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }
    /// What everything has done.
    pub fn stats(&self) -> DriveStats {
        let inspect = self.cells.inspect();
        DriveStats {
            ftl: self.translation.stats(),
            nand: inspect.totals_of_drive(),
            erases: inspect.erase_spread(used_blocks(&self.geometry, &self.restriction)),
            channels: self.channels.engines.iter().map(|e| e.stats()).collect(),
            link: self.link.stats(),
            cores: self.cores.iter().map(Core::stats).collect(),
            dram_bytes: self.memory.moved(),
            big_loop: self.scheduler.loop_stats(),
        }
    }
    /// Looks at the cells, and breaks them on purpose.
    pub fn nand(&self) -> NandInspect {
        self.cells.inspect()
    }
    /// The translation.
    pub fn translation(&self) -> &dyn TranslationView {
        &*self.translation
    }
    /// True while the firmware reads what it needs to know: commands wait.
    pub fn is_booting(&self) -> bool {
        self.translation.state() == DriveState::Booting
    }
    /// What coming back from a sudden loss of power took, in words; `None` while the drive boots and after any other boot.
    pub fn recovery(&self) -> Option<String> {
        let ftl = self.translation.stats();
        let how = match ftl.boot {
            Boot::Recovered => "recovered",
            Boot::Rebuilt => {
                "rebuilt from every page, since its log or its stored map is lost (what was trimmed may be back),"
            }
            Boot::None | Boot::Fresh | Boot::Clean => return None,
        };
        let (millis, reads) = (ftl.boot_nanos as f64 / 1e6, ftl.boot_reads);
        Some(format!("the power was lost: {how} in {millis:.3} ms, simulated, with {reads} page reads"))
    }
    /// Why the drive can't serve: bring-up or boot failed, or its image can't be read or written any more.
    pub fn fault(&self) -> Option<String> {
        let of_bring_up = || self.channels.fault.borrow().clone();
        let of_boot = || self.translation.boot_error();
        // The image first: what it refuses, the firmware takes for cells that fail.
        self.image_fault().or_else(of_bring_up).or_else(of_boot)
    }
    /// What the medium behind NAND or NVRAM said when it failed: a disk that is full, mostly; or which of its pages isn't what was
    /// programmed any more. Until somebody stops it the drive goes on as over bad blocks.
    pub fn image_fault(&self) -> Option<String> {
        let of_backlog = || self.backlog.as_ref().and_then(|backlog| backlog.fault());
        let of_nvram = || self.nvram.refused();
        let error = self.cells.inspect().medium_error().or_else(of_nvram).or_else(of_backlog)?;
        Some(format!("its image can't be used any more, {error}"))
    }
    /// What is behind the drive when its image lies on a disk that may be full for a while.
    pub fn backlog(&self) -> Option<&SharedBacklog> {
        self.backlog.as_ref()
    }
    /// The disk under the image may have run full, or have room again, since the last call: the host hears of the one, and its writes
    /// go on after the other.
    pub fn look_at_room(&self) {
        self.front.look_at_room();
    }
    /// From now on the drive serves no host that must be told the truth about what is durable: nothing is held back any more.
    pub fn hold_nothing_back(&self) {
        self.front.pause_with(None);
        self.front.look_at_room();
    }
    /// Shows a channel's bus activity to `tap` from now on.
    pub fn set_tap(&self, channel: usize, tap: Option<Box<dyn BusTap>>) {
        if let Some(engine) = self.channels.engines.get(channel) {
            engine.set_tap(tap);
        }
    }

    /// Puts a filter into the control path of a channel's controller, behind those that are there (C16). False when the
    /// channel has no such path: only the asynchronous controller has one.
    pub fn insert_filter(&self, channel: usize, filter: Box<dyn Filter>) -> bool {
        self.channels.fixed.get(channel).is_some_and(|controller| controller.insert_filter(filter))
    }

    /// Cuts the power now. What survives powers the next device on.
    pub fn power_off(mut self) -> Media {
        self.cells.power_off(self.exec.now());
        let life = Life::load(&self.nvram);
        Life { history: self.front.history(), ..life }.store(&self.nvram);
        self.nvram.power_off();
        let media =
            Media::kept(self.cells.clone(), self.nvram.clone(), self.serial.take(), self.backlog.take());
        drop(self);
        media
    }
}

/// The blocks of a LUN that the firmware uses, by their addresses in the package.
fn used_blocks(
    geometry: &Geometry,
    restriction: &Restriction,
) -> impl Iterator<Item = BlockAddr> + Clone + use<> {
    let restriction = *restriction;
    (0..geometry.blocks_per_lun).map(move |block| restriction.block(BlockAddr(block)))
}

/// Program/erase cycles of all blocks that the firmware uses, over their whole life.
fn erases_of_blocks(inspect: &NandInspect, geometry: &Geometry, restriction: &Restriction) -> u64 {
    let of_lun = |lun| used_blocks(geometry, restriction).map(move |block| (LunIndex(lun), block));
    (0..geometry.total_luns()).flat_map(of_lun).map(|(l, b)| u64::from(inspect.block(l, b).erases)).sum()
}

/// Sends what was pending behind a mask: it takes its way over the link as any interrupt does.
fn send_released(pci: &RefCell<PciFunction>, link: &LinkPort) {
    loop {
        let released = pci.borrow_mut().next_released();
        let Some(vector) = released else { return };
        link.push(LinkOp::Interrupt { vector });
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

#[cfg(test)]
mod order;
#[cfg(test)]
mod tests;
