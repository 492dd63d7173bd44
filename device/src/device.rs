use crate::arrivals::Write;
use crate::assembly::{self, Array, Face, Kept, Wanted};
use crate::channels::ChannelHardware;
use crate::configure::{self, BuildError, value};
use crate::firmware::StatisticsLog;
use crate::host_link::Transport;
use crate::media::Media;
use crate::pci::send_released;
use crate::pieces::Pieces;
use crate::profile::Profile;
use crate::stackful::StackStats;
use crate::target::{Below, Side};
use crate::thermal::ThermalStats;
use crate::wear::used_blocks;
use aster_board::LinkStats;
use aster_channel::ChannelStats;
use aster_ecc::EccStats;
use aster_events::{Above, Below as OfBelow, Counter, DriveCounters, EventSink, Firmware, Recorder, Tee};
use aster_exec::{Core, CoreStats};
use aster_nand::{EraseSpread, NandInspect, Totals};
use aster_parties::{
    BarRead, Boot, DoorbellBuffer, DriveFunction, DriveState, Filter, FunctionSpec, History, HostTrouble,
    NvmeView, POSTED_WRITES, QueueDoorbell, ReadTag, TranslationStats, TranslationView,
};
use aster_ports::channel::BusTap;
use aster_ports::dram::Dram;
use aster_ports::link::{BadAddress, LinkOp};
use aster_ports::medium::SharedBacklog;
use aster_ports::tlp::TlpStats;
use aster_sched::cosmos::LoopStats;
use aster_units::{Content, Duration, Geometry, Instant, Restriction};
use std::rc::Rc;

/// A whole drive: one value on one thread with one clock (design §1).
///
/// A drive with a [target](crate::plug::TargetPiece) is one that stands over another: the host sees the
/// target's controller, and the flash is that of the drive below.
pub struct Device {
    face: Face,
    under: Under,
    /// Of the drive with the flash.
    kept: Rc<Kept>,
}

/// How long a host waits for the answer to a read of a register: then its root complex gives the read up
/// (PCIe 4.0 §2.8).
pub const READ_WITHIN: Duration = Duration::from_millis(50);

/// What is under a drive's face.
enum Under {
    /// Flash.
    Array(Box<Array>),
    /// A drive, which the target makes blocks of.
    Drive(Rc<Below<Device>>),
}

/// What each part of a drive has done so far.
#[derive(Clone, Debug)]
pub struct DriveStats {
    /// The counters of the translation, or of the target where there is one. All others are those of the
    /// drive with the flash.
    pub ftl: TranslationStats,
    /// Reads, programs and erases of the cells.
    pub nand: Totals,
    /// How the erases spread.
    pub erases: EraseSpread,
    /// Each channel.
    pub channels: Vec<ChannelStats>,
    /// The host link.
    pub link: LinkStats,
    /// Each core: the FTL's, then the flash scheduler's and the ECC engine's if they have their own.
    pub cores: Vec<CoreStats>,
    /// Bytes moved through DRAM.
    pub dram_bytes: u64,
    /// The big loop, if the firmware is one.
    pub big_loop: Option<LoopStats>,
    /// What only this drive's flash scheduler counts, by name.
    pub scheduler: Vec<(&'static str, u64)>,
    /// Correction in software, if the channels only detect errors.
    pub ecc: Option<EccStats>,
    /// The packets of the host link, if firmware sends them itself.
    pub packets: Option<TlpStats>,
    /// The stacks of the firmware's tasks, if they have stacks of their own.
    pub stacks: Option<StackStats>,
    /// The temperature sensor, if the board has one.
    pub thermal: Option<ThermalStats>,
}

impl Device {
    /// Builds a drive and powers it on. Identify shows `name` as its model. `content` overrides the
    /// profile's.
    ///
    /// # Errors
    /// When the profile doesn't describe a working drive, or the media don't belong to it.
    pub fn power_on(
        name: &str,
        profile: &Profile,
        content: Option<Content>,
        media: Media,
        recorder: &Recorder,
    ) -> Result<Self, BuildError> {
        Device::power_on_with(ChannelHardware::Timed, name, profile, content, media, recorder)
    }

    /// As [`Device::power_on`], with a reader's own `pieces`. [`ChannelHardware`] alone converts into
    /// pieces.
    ///
    /// # Errors
    /// As [`Device::power_on`], and when this drive can't have such channels.
    pub fn power_on_with(
        pieces: impl Into<Pieces>,
        name: &str,
        profile: &Profile,
        content: Option<Content>,
        media: Media,
        recorder: &Recorder,
    ) -> Result<Self, BuildError> {
        let (pieces, content) = (pieces.into(), content.unwrap_or(profile.content.into()));
        let (serial, is_written) = (media.serial.clone(), media.history.is_some());
        let assemble = |profile, pieces| -> Result<Self, BuildError> {
            Device::with_flash(Wanted { name, profile, content, recorder, at: Instant::ZERO }, pieces, media)
        };
        if profile.target.is_none() {
            return assemble(profile, pieces);
        }
        if is_written {
            return Err(value("target", "must be absent to fill a drive at once: its FTL is on the host"));
        }
        let side = Side::make(&pieces, profile, content, name, serial)?;
        let drive = assemble(&configure::below_target(profile), pieces)?;
        Device::over(side, profile, Rc::new(drive))
    }

    /// Powers a host on over `drive`, which has kept its power when the host before lost it
    /// ([`Device::cut_host`]). The profile's target starts anew.
    ///
    /// # Errors
    /// When the profile has no target, or doesn't describe a working one.
    pub fn power_on_over(
        pieces: impl Into<Pieces>,
        name: &str,
        profile: &Profile,
        drive: Rc<Device>,
    ) -> Result<Self, BuildError> {
        if profile.target.is_none() {
            return Err(value("target", "must be given: only a host with an FTL stands over a drive"));
        }
        let (content, serial) = (drive.content(), drive.kept.serial.clone());
        let side = Side::make(&pieces.into(), profile, content, name, serial)?;
        Device::over(side, profile, drive)
    }

    fn over(side: Side, profile: &Profile, drive: Rc<Device>) -> Result<Self, BuildError> {
        let kept = Rc::clone(&drive.kept);
        let (face, below) = side.power_on(profile, drive, &kept)?;
        Ok(Device { face, under: Under::Drive(below), kept })
    }
    fn with_flash(wanted: Wanted<'_>, pieces: Pieces, media: Media) -> Result<Self, BuildError> {
        let (face, array) = assembly::assemble(wanted, pieces, media)?;
        let kept = Rc::clone(&array.kept);
        Ok(Device { face, under: Under::Array(Box::new(array)), kept })
    }

    /// The drive that this one stands over, if its profile has a target.
    pub fn below(&self) -> Option<Rc<Device>> {
        match &self.under {
            Under::Array(_) => None,
            Under::Drive(below) => Some(below.drive()),
        }
    }
    /// That drive as the function of which the host with the target makes accesses, at the host's time.
    pub fn function_below(&self) -> Option<Rc<dyn DriveFunction>> {
        match &self.under {
            Under::Array(_) => None,
            Under::Drive(below) => Some(Rc::clone(below) as Rc<dyn DriveFunction>),
        }
    }

    /// Where the operation monitor's samples go so that hosts can fetch them (C46).
    pub fn statistics_log(&self) -> StatisticsLog {
        StatisticsLog(Rc::clone(&self.face.front))
    }
    /// The firmware's cores and functions, for the operation monitor.
    pub fn firmware(&self) -> &Firmware {
        &self.kept.firmware
    }

    // ---- time ----

    /// The drive's clock.
    pub fn now(&self) -> Instant {
        self.face.exec.now()
    }
    /// When the drive has something to do next.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.face.exec.next_deadline()
    }
    /// Does everything that is due by `until`.
    #[inline]
    pub fn advance_to(&self, until: Instant) {
        self.face.exec.advance_to(until);
    }
    /// Processes up to `most` instants at which something is due, but only those before `host`, the
    /// instant at which the host has something to do. `carry` carries DMA out at the end of its instant:
    /// the drive goes on there, and the instant counts once more. Stops early when the drive sends an
    /// interrupt, which [`Device::next_out`] gives. `carry` must not use the device. Returns the number of
    /// instants. It is at least one: the
    /// first instant is processed in any case.
    #[inline]
    pub fn advance_until_interrupt(
        &self,
        host: Option<Instant>,
        most: u32,
        mut carry: impl FnMut(&LinkOp) -> Result<(), BadAddress>,
    ) -> u32 {
        let mut carry = |op: &LinkOp| {
            let result = carry(op);
            self.note_result(&result);
            result
        };
        self.face.exec.advance_while(host, most, || self.face.link.port.carry_dma(&mut carry)).max(1)
    }
    /// As [`Device::advance_until_interrupt`], but stops for any operation, which it leaves to the run mode.
    pub fn advance_until_out(&self, host: Option<Instant>, most: u32) -> u32 {
        self.face.exec.advance_while(host, most, || !self.face.link.port.has_out()).max(1)
    }
    /// Moves the clock to `at`, before input from outside.
    #[inline]
    pub fn catch_up(&self, at: Instant) {
        self.face.exec.catch_up(at);
    }
    /// The executor's counts of work.
    pub fn counts(&self) -> aster_exec::Counts {
        self.face.exec.counts()
    }

    // ---- the host's side ----

    /// Reads configuration space, after all posted writes sent before.
    pub fn config_read(&self, offset: u16, size: u8) -> u32 {
        self.face.arrivals.push_through();
        self.face.pci.borrow().config_read(offset, size)
    }
    /// Writes configuration space, after all posted writes sent before. Returns true if the write asked
    /// for a function-level reset, which has taken effect at once.
    pub fn config_write(&self, offset: u16, size: u8, value: u32) -> bool {
        self.face.arrivals.push_through();
        let reset = {
            let mut pci = self.face.pci.borrow_mut();
            pci.config_write(offset, size, value);
            pci.take_reset_request()
        };
        if reset {
            self.reset_function();
        }
        self.face.link.follow(&self.face.pci.borrow());
        send_released(&self.face.pci, &self.face.link);
        reset
    }
    /// Lets BARs answer even while Memory Space Enable is clear. The caller then decodes addresses itself
    /// and passes on only accesses to a BAR
    /// ([`PciFunction::decode_outside`](aster_board::PciFunction::decode_outside)).
    pub fn decode_outside(&self) {
        self.face.pci.borrow_mut().decode_outside();
    }
    /// Whether the BARs answer.
    pub fn answers_memory(&self) -> bool {
        self.face.pci.borrow().answers_memory()
    }
    /// Resets the function now, as a function-level reset does (PCIe 4.0 §6.6.2).
    pub fn reset_function(&self) {
        self.face.arrivals.push_through();
        if let Some(link) = self.face.link.register_packets() {
            link.forget_accesses();
        }
        self.face.front.function_reset();
        self.face.pci.borrow_mut().reset();
        self.face.link.follow(&self.face.pci.borrow());
    }
    /// Unmasks or masks a vector as the host's write of its mask bit does, even while BARs don't answer.
    /// For a host that emulates the MSI-X table itself and only passes on which vectors it listens to.
    pub fn set_vector_mask(&self, vector: u16, masked: bool) {
        self.face.pci.borrow_mut().set_vector_mask(vector, masked);
        send_released(&self.face.pci, &self.face.link);
    }
    /// The function that the front end asked for: ids, BARs, interrupts.
    pub fn function(&self) -> FunctionSpec {
        self.face.pci.borrow().spec().clone()
    }

    // ---- doorbells that the run mode polls ----

    /// Offers Doorbell Buffer Config to the host. From now on the run mode must poll doorbells in host
    /// memory.
    pub fn offer_doorbell_buffer(&self) {
        if let Some(nvme) = self.nvme() {
            nvme.offer_doorbell_buffer();
        }
    }
    /// Where the host keeps the doorbells of its I/O queues, if it has configured a buffer.
    pub fn doorbell_buffer(&self) -> Option<DoorbellBuffer> {
        self.nvme()?.doorbell_buffer()
    }
    /// A number that changes whenever a queue is created or deleted, or the doorbell buffer changes.
    #[inline]
    pub fn doorbell_generation(&self) -> u32 {
        self.nvme().map_or(0, NvmeView::doorbell_generation)
    }
    /// The doorbells of the queues that exist.
    pub fn doorbells(&self) -> Vec<QueueDoorbell> {
        self.nvme().map_or(Vec::new(), NvmeView::doorbells)
    }
    /// Begins a read of a BAR now, after all posted writes sent before. The answer is all ones if the BAR
    /// doesn't exist or doesn't answer.
    ///
    /// Where firmware serves accesses by packets, each read is answered later: the request crosses the link
    /// behind the writes before it, and a completion comes back.
    pub fn begin_bar_read(&self, bar: u8, offset: u32, size: u8) -> BarRead {
        self.face.arrivals.push_through();
        if let Some(link) = self.face.link.register_packets() {
            if let Some(sensor) = &self.face.sensor {
                sensor.host_is_here();
            }
            return link.host_read(bar, offset, size);
        }
        let own = {
            let pci = self.face.pci.borrow();
            if !self.has_bytes(bar, offset, size) || !pci.answers_memory() {
                return BarRead::Now(u64::MAX);
            }
            pci.bar_read(bar, offset, size)
        };
        if let Some(sensor) = &self.face.sensor {
            sensor.host_is_here();
        }
        own.map_or_else(|| self.face.front.read(bar, offset, size), BarRead::Now)
    }
    /// Takes the answer of a read that was to be answered later; `None` while there is none.
    pub fn take_bar_read(&self, tag: ReadTag) -> Option<u64> {
        match self.face.link.register_packets() {
            Some(link) => link.take_read(tag),
            None => self.face.front.take_read(tag),
        }
    }
    /// As [`Device::begin_bar_read`], for whoever has no clock of its own: the drive works until it has
    /// answered, for [`READ_WITHIN`] at most. What it asks of its host meanwhile waits.
    pub fn bar_read(&self, bar: u8, offset: u32, size: u8) -> u64 {
        self.bar_read_with((bar, offset, size), |at| self.advance_to(at))
    }
    /// The same for whoever has something to do at each instant at which the drive works: `step` does it.
    pub fn bar_read_with(&self, (bar, offset, size): (u8, u32, u8), mut step: impl FnMut(Instant)) -> u64 {
        let tag = match self.begin_bar_read(bar, offset, size) {
            BarRead::Now(value) => return value,
            BarRead::Later(tag) => tag,
        };
        let until = self.now() + READ_WITHIN;
        loop {
            if let Some(value) = self.take_bar_read(tag) {
                return value;
            }
            let Some(at) = self.next_deadline().filter(|at| *at <= until) else { return u64::MAX };
            step(at);
        }
    }
    /// Whether a BAR has these bytes.
    #[inline]
    fn has_bytes(&self, bar: u8, offset: u32, size: u8) -> bool {
        let bytes = self.face.bar_bytes.get(usize::from(bar)).copied().unwrap_or(0);
        u64::from(offset) + u64::from(size) <= bytes
    }
    /// Sends a posted write to a BAR now. It arrives one link latency later, or earlier with the next
    /// non-posted access. It is dropped if the BAR doesn't exist or doesn't answer. As a packet it has its
    /// effect when firmware has taken it. Any number may be sent: whoever may write without end looks at
    /// [`Device::takes_register_writes`] first.
    #[inline]
    pub fn bar_write(&self, bar: u8, offset: u32, size: u8, value: u64) {
        self.bar_write_at(self.face.exec.now(), bar, offset, size, value);
    }
    /// Register writes of the host that the drive has not taken: on their way, without credits, or behind
    /// others that firmware works on.
    pub fn register_writes(&self) -> usize {
        let ahead = match self.face.link.register_packets() {
            Some(link) => link.host_writes_waiting(),
            None => self.face.front.writes_waiting(),
        };
        self.face.arrivals.under_way() + ahead
    }
    /// Whether the host has credits for one more register write. Run modes whose host may write without end
    /// let it wait meanwhile; a driver of ours never has many under way.
    #[inline]
    pub fn takes_register_writes(&self) -> bool {
        self.register_writes() < POSTED_WRITES
    }
    /// Lets the drive work until the host has credits for a register write, for [`READ_WITHIN`] at most.
    /// Returns whether it has some.
    pub fn wait_for_credits(&self, mut step: impl FnMut(Instant)) -> bool {
        let until = self.now() + READ_WITHIN;
        while !self.takes_register_writes() {
            let Some(at) = self.next_deadline().filter(|at| *at <= until) else { return false };
            step(at);
        }
        true
    }
    /// As [`Device::bar_write`], sent at a time that may be ahead of the drive's clock. A time in the past
    /// counts as now.
    #[inline]
    pub fn bar_write_at(&self, sent: Instant, bar: u8, offset: u32, size: u8, value: u64) {
        let crosses = self.face.link.register_packets().is_some();
        if crosses || self.has_bytes(bar, offset, size) {
            self.face.arrivals.send(Write { bar, offset, size, value }, sent);
        }
    }
    /// The next operation that the drive asks the run mode to carry out. Operations from before a reset
    /// are skipped, since the drive may no longer access that host's memory.
    #[inline]
    pub fn next_out(&self) -> Option<LinkOp> {
        self.face.link.port.next_out()
    }
    /// Has `carry` carry DMA out until the drive sends an interrupt, whose vector it returns. `None` when
    /// there is nothing left to carry out. `carry` must not use the device.
    #[inline]
    pub fn next_interrupt(&self, mut carry: impl FnMut(&LinkOp) -> Result<(), BadAddress>) -> Option<u16> {
        self.face.link.port.next_interrupt(|op| {
            let result = carry(op);
            self.note_result(&result);
            result
        })
    }
    /// Answers a DMA.
    #[inline]
    pub fn done(&self, op: &LinkOp, result: Result<(), BadAddress>) {
        self.note_result(&result);
        self.face.link.port.done(op, result);
    }
    #[inline]
    fn note_result(&self, result: &Result<(), BadAddress>) {
        if result.is_err() {
            self.face.pci.borrow_mut().note_master_abort();
        }
    }
    /// Whether the host lets the drive access its memory.
    #[inline]
    pub fn is_bus_master(&self) -> bool {
        self.face.pci.borrow().is_bus_master()
    }
    /// An interrupt's message, or `None` if the vector is masked. Unmasking raises the interrupt again.
    #[inline]
    pub fn message(&self, vector: u16) -> Option<(u64, u32)> {
        self.face.pci.borrow_mut().message(vector)
    }
    /// The drive's memory, for DMA.
    pub fn dram(&self) -> &Dram {
        &self.face.dram
    }

    // ---- inspection ----

    /// How the drive with the flash exchanges packets with its host, as the host has set it up so far; `None`
    /// where hardware is the transaction layer.
    pub fn transport(&self) -> Option<Transport> {
        match &self.under {
            Under::Array(_) => self.face.link.transport(),
            Under::Drive(below) => below.drive().transport(),
        }
    }

    /// Commands completed to the host since power-on.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.face.front.completed()
    }
    /// Commands that the host has seen completed and the firmware is not done with.
    pub fn commands_completed_early(&self) -> usize {
        self.face.front.commands_completed_early()
    }
    /// Commands in the drive, including those completed early.
    pub fn commands_in_flight(&self) -> usize {
        self.face.front.commands_in_flight()
    }
    /// The NVMe controller; `None` for a drive with another front end.
    #[inline]
    fn nvme(&self) -> Option<&dyn NvmeView> {
        self.face.front.nvme()
    }
    /// Whether the front end is an NVMe controller.
    pub fn is_nvme(&self) -> bool {
        self.nvme().is_some()
    }
    /// The drive's lifetime counters up to now. All zeroes with a front end other than NVMe.
    pub fn history(&self) -> History {
        self.nvme().map_or(History::default(), NvmeView::history)
    }
    /// Takes what ails the host and hasn't been told yet.
    pub fn take_host_trouble(&self) -> Option<HostTrouble> {
        self.nvme()?.take_trouble()
    }
    /// The drive has stood still and could not hear the host meanwhile: that is no silence of the host's.
    pub fn excuse_host(&self) {
        if let Some(nvme) = self.nvme() {
            nvme.excuse_host();
        }
    }
    /// How the drive stores page content.
    pub fn content(&self) -> Content {
        self.kept.content
    }
    /// The array that the firmware uses.
    pub fn geometry(&self) -> &Geometry {
        &self.kept.geometry
    }
    /// Where that array lies in the packages. [`Device::nand`] addresses blocks and pages as the packages
    /// do.
    pub fn restriction(&self) -> &Restriction {
        &self.kept.restriction
    }
    /// Where the events of the drive with the flash go.
    pub fn recorder(&self) -> &Recorder {
        &self.kept.recorder
    }
    /// Where the events of the host's commands go, and of the translation that serves them: those of a
    /// target and of the controller before it, which have command slots, tasks and buffers of their own.
    /// Without a target the same as [`Device::recorder`].
    pub fn command_recorder(&self) -> &Recorder {
        &self.face.recorder
    }
    /// Has `sink` hear this drive as its host sees it, beside those who listen already. Of a target it hears
    /// the commands and their data, and of the drive below flash, firmware and link; both tell where they
    /// have put data.
    pub fn listen(&self, sink: impl EventSink + Clone + 'static) {
        match self.under {
            Under::Array(_) => Tee::add(self.recorder(), sink),
            Under::Drive(_) => {
                Tee::add(self.command_recorder(), Above(sink.clone()));
                Tee::add(self.recorder(), OfBelow(sink));
            }
        }
    }
    /// What each part has done.
    pub fn stats(&self) -> DriveStats {
        let ftl = self.face.translation.stats();
        let array = match &self.under {
            Under::Array(array) => array,
            Under::Drive(below) if below.has_ftl() => return DriveStats { ftl, ..below.drive().stats() },
            Under::Drive(below) => return below.drive().stats(),
        };
        let (inspect, kept) = (self.nand(), &self.kept);
        DriveStats {
            ftl,
            nand: inspect.totals_of_drive(),
            erases: inspect.erase_spread(used_blocks(&kept.geometry, &kept.restriction)),
            channels: array.channels.engines.iter().map(|e| e.stats()).collect(),
            link: self.face.link.stats(),
            cores: array.cores.iter().map(Core::stats).collect(),
            dram_bytes: array.memory.moved(),
            big_loop: array.scheduler.own_stats().and_then(|own| own.downcast_ref().copied()),
            scheduler: {
                let mut counters = Vec::new();
                array.scheduler.counters(&mut |name, value| counters.push((name, value)));
                counters
            },
            ecc: array.corrector.as_ref().map(|engine| engine.stats()),
            packets: self.face.link.packet_stats(),
            stacks: array.stacks.as_ref().map(|stacks| stacks.stats()),
            thermal: self.temperature(),
        }
    }
    /// What the operation monitor reads of this drive beside its events.
    pub fn counters(&self) -> DriveCounters {
        let below = match &self.under {
            Under::Array(_) => DriveCounters::default(),
            Under::Drive(below) => below.drive().counters(),
        };
        // They don't keep the drive: its events go to the monitor that has them.
        let packets = self.face.link.packets().map(|port| -> Counter {
            let port = Rc::downgrade(port);
            Rc::new(move || {
                let stats = port.upgrade().map(|port| port.stats()).unwrap_or_default();
                [stats.sent, stats.received + stats.requests.map_or(0, |requests| requests.handled)]
            })
        });
        let map = self.face.translation.counter("map_hits").map(|_| -> Counter {
            let translation = Rc::downgrade(&self.face.translation);
            Rc::new(move || {
                let Some(translation) = translation.upgrade() else { return [0; 2] };
                ["map_hits", "map_misses"].map(|name| translation.counter(name).unwrap_or(0))
            })
        });
        DriveCounters { packets: packets.or(below.packets), map: map.or(below.map) }
    }
    /// What the temperature sensor has told, if the drive with the flash has one.
    pub fn temperature(&self) -> Option<ThermalStats> {
        match &self.under {
            Under::Array(_) => self.face.sensor.as_ref().map(|sensor| sensor.stats()),
            Under::Drive(below) => below.drive().temperature(),
        }
    }
    /// Looks at the cells, and damages them on purpose.
    pub fn nand(&self) -> NandInspect {
        self.kept.cells.inspect()
    }
    /// The translation.
    pub fn translation(&self) -> &dyn TranslationView {
        &*self.face.translation
    }
    /// Whether the firmware is still booting. Commands wait meanwhile.
    pub fn is_booting(&self) -> bool {
        let is_below = || self.below().is_some_and(|drive| drive.is_booting());
        self.face.translation.state() == DriveState::Booting || is_below()
    }
    /// A description of the recovery from a sudden loss of power, and what else power-on has found that isn't
    /// as it should be. `None` while the drive boots and after any other boot.
    pub fn recovery(&self) -> Option<String> {
        let (lost, note) = (self.lost_power(), self.face.translation.boot_note());
        match (lost, note.filter(|_| !self.is_booting())) {
            (Some(lost), Some(note)) => Some(format!("{lost}; {note}")),
            (lost, note) => lost.or(note),
        }
    }
    fn lost_power(&self) -> Option<String> {
        let ftl = self.stats().ftl;
        let how = match ftl.boot {
            Boot::Recovered => "recovered",
            Boot::Rebuilt => {
                "rebuilt from every page, since its log or its stored map is lost (what was trimmed \
                 may be back),"
            }
            Boot::None | Boot::Fresh | Boot::Clean => return None,
        };
        let (millis, reads) = (ftl.boot_nanos as f64 / 1e6, ftl.boot_reads);
        Some(format!("the power was lost: {how} in {millis:.3} ms, simulated, with {reads} page reads"))
    }
    /// Why the drive can't serve: bring-up or boot failed, or its image can't be read or written.
    pub fn fault(&self) -> Option<String> {
        let of_bring_up = || match &self.under {
            Under::Array(array) => array.channels.fault.borrow().clone(),
            Under::Drive(below) => below.drive().fault(),
        };
        let of_boot = || self.face.translation.boot_error();
        // The image's fault comes first, because the firmware sees it as failing cells.
        self.image_fault().or_else(of_bring_up).or_else(of_boot)
    }
    /// The error of the medium behind NAND, NVRAM or eMMC: usually a full disk, or a page that no longer
    /// has the content that was programmed. Unless the run mode stops it, the drive goes on and treats the
    /// affected blocks as bad.
    pub fn image_fault(&self) -> Option<String> {
        let of_backlog = || self.kept.backlog.as_ref().and_then(|backlog| backlog.fault());
        let of_nvram = || self.kept.nvram.refused();
        let of_emmc = || self.kept.emmc.refused();
        let error = self.nand().medium_error().or_else(of_nvram).or_else(of_emmc).or_else(of_backlog)?;
        Some(format!("its image can't be used any more, {error}"))
    }
    /// The backlog of an image on a disk that may fill up temporarily.
    pub fn backlog(&self) -> Option<&SharedBacklog> {
        self.kept.backlog.as_ref()
    }
    /// Tells the front end that the disk under the image may have run full, or have room again, since the
    /// last call. A full disk is reported to the host; writes resume when there is room.
    pub fn look_at_room(&self) {
        self.face.front.room_changed();
        self.below().into_iter().for_each(|drive| drive.look_at_room());
    }
    /// Stops parking writes and deferring completions. Call it when no host is left that relies on
    /// durability.
    pub fn hold_nothing_back(&self) {
        self.face.front.hold_nothing_back();
        self.below().into_iter().for_each(|drive| drive.hold_nothing_back());
    }
    /// Shows a channel's bus activity to `tap` from now on.
    pub fn set_tap(&self, channel: usize, tap: Option<Box<dyn BusTap>>) {
        match &self.under {
            Under::Array(array) => {
                if let Some(engine) = array.channels.engines.get(channel) {
                    engine.set_tap(tap);
                }
            }
            Under::Drive(below) => below.drive().set_tap(channel, tap),
        }
    }

    /// Appends a filter to the control path of a channel's controller (C16). Returns false if the
    /// controller has no such path: only the asynchronous one has.
    pub fn insert_filter(&self, channel: usize, filter: Box<dyn Filter>) -> bool {
        match &self.under {
            Under::Array(array) => {
                let controller = array.channels.fixed.get(channel);
                controller.is_some_and(|controller| controller.insert_filter(filter))
            }
            Under::Drive(below) => below.drive().insert_filter(channel, filter),
        }
    }

    /// Cuts the power now, of drive and host where there is a target. The returned media can power on the
    /// next device.
    pub fn power_off(self) -> Media {
        if let Under::Drive(_) = &self.under {
            return self.part().power_off();
        }
        let kept = Rc::clone(&self.kept);
        kept.cells.power_off(self.face.exec.now());
        self.face.front.power_off();
        kept.nvram.power_off();
        if let Some(card) = &kept.card {
            card.power_off(self.face.exec.now());
        }
        drop(self);
        let Kept { cells, nvram, emmc, serial, backlog, .. } = &*kept;
        Media::kept(cells.clone(), nvram.clone(), emmc.clone(), serial.clone(), backlog.clone())
    }

    /// Cuts the power of the drive alone, and gives it back at once. The host keeps its power: its target
    /// learns that the drive is there anew (`TargetView::drive_restarted`). `name`, `profile` and `pieces`
    /// are those with which the device was powered on.
    ///
    /// Asserts that nobody else holds the [drive below](Device::below).
    ///
    /// # Errors
    /// When the profile has no target, or the drive can't be built again: the device is of no use then.
    pub fn restart_drive(
        &self,
        pieces: impl Into<Pieces>,
        name: &str,
        profile: &Profile,
    ) -> Result<(), BuildError> {
        let Under::Drive(below) = &self.under else {
            return Err(value("target", "must be given: only a host with an FTL outlives its drive"));
        };
        let (content, recorder, at) = (self.content(), self.recorder(), self.now());
        let profile = configure::below_target(profile);
        below.restart(|media| {
            let wanted = Wanted { name, profile: &profile, content, recorder, at };
            Device::with_flash(wanted, pieces.into(), media)
        })
    }
    /// Whether the target would go on if the drive alone lost its power now ([`Device::restart_drive`]).
    pub fn outlives_its_drive(&self) -> bool {
        match &self.under {
            Under::Array(_) => false,
            Under::Drive(below) => below.outlives_drive(),
        }
    }

    /// Cuts the power of the host alone, which the target runs on. The drive keeps its power and goes on
    /// with what it has; [`Device::power_on_over`] brings up the next host over it. `None` for a drive
    /// without a target, which is gone then.
    pub fn cut_host(self) -> Option<Rc<Device>> {
        self.below()?;
        Some(Rc::new(self.part()))
    }

    /// Cuts the power of the target. Asserts that nobody else holds the drive below, which stays.
    fn part(self) -> Device {
        let Under::Drive(below) = &self.under else { panic!("only a drive with a target has one below") };
        self.face.front.power_off();
        let drive = below.drive();
        drive.catch_up(self.face.exec.now());
        drop(self);
        Rc::try_unwrap(drive).unwrap_or_else(|_| panic!("a target still holds its drive without power"))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if let Under::Drive(below) = &self.under {
            below.part();
        }
        self.face.exec.shut_down();
    }
}

mod lower;
#[cfg(test)]
mod order;
#[cfg(test)]
mod tests;
