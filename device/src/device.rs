use crate::arrivals::Write;
use crate::assembly::{self, Parts, Wanted};
use crate::channels::ChannelHardware;
use crate::configure::BuildError;
use crate::firmware::StatisticsLog;
use crate::media::Media;
use crate::pci::send_released;
use crate::pieces::Pieces;
use crate::profile::Profile;
use crate::wear::used_blocks;
use aster_board::LinkStats;
use aster_channel::ChannelStats;
use aster_channel::fixed::Filter;
use aster_events::{Firmware, Recorder};
use aster_exec::{Core, CoreStats};
use aster_nand::{EraseSpread, NandInspect, Totals};
use aster_parties::{
    Boot, DoorbellBuffer, DriveState, FunctionSpec, History, NvmeView, QueueDoorbell, TranslationStats,
    TranslationView,
};
use aster_ports::channel::BusTap;
use aster_ports::dram::Dram;
use aster_ports::link::{BadAddress, LinkOp};
use aster_ports::medium::SharedBacklog;
use aster_sched::cosmos::LoopStats;
use aster_units::{Content, Geometry, Instant, Restriction};
use std::rc::Rc;

/// A whole drive: one value on one thread with one clock (design §1).
pub struct Device {
    parts: Parts,
}

/// What each part of a drive has done so far.
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
    /// Each core: the FTL's, then the flash scheduler's if it has its own.
    pub cores: Vec<CoreStats>,
    /// Bytes moved through DRAM.
    pub dram_bytes: u64,
    /// The big loop, if the firmware is one.
    pub big_loop: Option<LoopStats>,
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
        let content = content.unwrap_or(profile.content.into());
        let wanted = Wanted { name, profile, content, recorder };
        Ok(Device { parts: assembly::assemble(wanted, pieces.into(), media)? })
    }

    /// Where the operation monitor's samples go so that hosts can fetch them (C46).
    pub fn statistics_log(&self) -> StatisticsLog {
        StatisticsLog(Rc::clone(&self.parts.front))
    }
    /// The firmware's cores and functions, for the operation monitor.
    pub fn firmware(&self) -> &Firmware {
        &self.parts.firmware
    }

    // ---- time ----

    /// The drive's clock.
    pub fn now(&self) -> Instant {
        self.parts.exec.now()
    }
    /// When the drive has something to do next.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.parts.exec.next_deadline()
    }
    /// Does everything that is due by `until`.
    #[inline]
    pub fn advance_to(&self, until: Instant) {
        self.parts.exec.advance_to(until);
    }
    /// Processes up to `most` instants at which something is due, but only those before `host`, the
    /// instant at which the host has something to do. Stops early when the drive asks something of the run
    /// mode. Returns the number of instants. It is at least one: the first instant is processed in any
    /// case.
    #[inline]
    pub fn advance_until_out(&self, host: Option<Instant>, most: u32) -> u32 {
        let mut instants = 0;
        let mut next = self.next_deadline();
        while let Some(at) = next {
            self.parts.exec.advance_to(at);
            instants += 1;
            if instants >= most || self.parts.link_port.has_out() {
                break;
            }
            next = self.next_deadline().filter(|&at| host.is_none_or(|host| at < host));
        }
        instants.max(1)
    }
    /// Moves the clock to `at`, before input from outside.
    #[inline]
    pub fn catch_up(&self, at: Instant) {
        self.parts.exec.catch_up(at);
    }
    /// The executor's counts of work.
    pub fn counts(&self) -> aster_exec::Counts {
        self.parts.exec.counts()
    }

    // ---- the host's side ----

    /// Reads configuration space, after all posted writes sent before.
    pub fn config_read(&self, offset: u16, size: u8) -> u32 {
        self.parts.arrivals.push_through();
        self.parts.pci.borrow().config_read(offset, size)
    }
    /// Writes configuration space, after all posted writes sent before. Returns true if the write asked
    /// for a function-level reset, which has taken effect at once.
    pub fn config_write(&self, offset: u16, size: u8, value: u32) -> bool {
        self.parts.arrivals.push_through();
        let reset = {
            let mut pci = self.parts.pci.borrow_mut();
            pci.config_write(offset, size, value);
            pci.take_reset_request()
        };
        if reset {
            self.reset_function();
        }
        send_released(&self.parts.pci, &self.parts.link_port);
        reset
    }
    /// Lets BARs answer even while Memory Space Enable is clear. The caller then decodes addresses itself
    /// and passes on only accesses to a BAR
    /// ([`PciFunction::decode_outside`](aster_board::PciFunction::decode_outside)).
    pub fn decode_outside(&self) {
        self.parts.pci.borrow_mut().decode_outside();
    }
    /// Whether the BARs answer.
    pub fn answers_memory(&self) -> bool {
        self.parts.pci.borrow().answers_memory()
    }
    /// Resets the function now, as a function-level reset does (PCIe 4.0 §6.6.2).
    pub fn reset_function(&self) {
        self.parts.arrivals.push_through();
        self.parts.front.function_reset();
        self.parts.pci.borrow_mut().reset();
    }
    /// Unmasks or masks a vector as the host's write of its mask bit does, even while BARs don't answer.
    /// For a host that emulates the MSI-X table itself and only passes on which vectors it listens to.
    pub fn set_vector_mask(&self, vector: u16, masked: bool) {
        self.parts.pci.borrow_mut().set_vector_mask(vector, masked);
        send_released(&self.parts.pci, &self.parts.link_port);
    }
    /// The function that the front end asked for: ids, BARs, interrupts.
    pub fn function(&self) -> FunctionSpec {
        self.parts.pci.borrow().spec().clone()
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
    /// Reads a BAR now, after all posted writes sent before. Returns all ones if the BAR doesn't exist or
    /// doesn't answer.
    pub fn bar_read(&self, bar: u8, offset: u32, size: u8) -> u64 {
        self.parts.arrivals.push_through();
        let own = {
            let pci = self.parts.pci.borrow();
            if !self.has_bytes(bar, offset, size) || !pci.answers_memory() {
                return u64::MAX;
            }
            pci.bar_read(bar, offset, size)
        };
        own.unwrap_or_else(|| self.parts.front.read(bar, offset, size))
    }
    /// Whether a BAR has these bytes.
    #[inline]
    fn has_bytes(&self, bar: u8, offset: u32, size: u8) -> bool {
        let bytes = self.parts.bar_bytes.get(usize::from(bar)).copied().unwrap_or(0);
        u64::from(offset) + u64::from(size) <= bytes
    }
    /// Sends a posted write to a BAR now. It arrives one link latency later, or earlier with the next
    /// non-posted access. It is dropped if the BAR doesn't exist or doesn't answer.
    #[inline]
    pub fn bar_write(&self, bar: u8, offset: u32, size: u8, value: u64) {
        self.bar_write_at(self.parts.exec.now(), bar, offset, size, value);
    }
    /// As [`Device::bar_write`], sent at a time that may be ahead of the drive's clock. A time in the past
    /// counts as now.
    pub fn bar_write_at(&self, sent: Instant, bar: u8, offset: u32, size: u8, value: u64) {
        if self.has_bytes(bar, offset, size) {
            self.parts.arrivals.send(Write { bar, offset, size, value }, sent);
        }
    }
    /// The next operation that the drive asks the run mode to carry out. Operations from before a reset
    /// are skipped, since the drive may no longer access that host's memory.
    #[inline]
    pub fn next_out(&self) -> Option<LinkOp> {
        self.parts.link_port.next_out()
    }
    /// Answers a DMA.
    #[inline]
    pub fn done(&self, op: &LinkOp, result: Result<(), BadAddress>) {
        if result.is_err() {
            self.parts.pci.borrow_mut().note_master_abort();
        }
        self.parts.link_port.done(op, result);
    }
    /// Whether the host lets the drive access its memory.
    #[inline]
    pub fn is_bus_master(&self) -> bool {
        self.parts.pci.borrow().is_bus_master()
    }
    /// An interrupt's message, or `None` if the vector is masked. Unmasking raises the interrupt again.
    #[inline]
    pub fn message(&self, vector: u16) -> Option<(u64, u32)> {
        self.parts.pci.borrow_mut().message(vector)
    }
    /// The drive's memory, for DMA.
    pub fn dram(&self) -> &Dram {
        &self.parts.dram
    }

    // ---- inspection ----

    /// Commands completed to the host since power-on.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.parts.front.completed()
    }
    /// Commands that the host has seen completed and the firmware is not done with.
    pub fn commands_completed_early(&self) -> usize {
        self.parts.front.commands_completed_early()
    }
    /// Commands in the drive, including those completed early.
    pub fn commands_in_flight(&self) -> usize {
        self.parts.front.commands_in_flight()
    }
    /// The NVMe controller; `None` for a drive with another front end.
    #[inline]
    fn nvme(&self) -> Option<&dyn NvmeView> {
        self.parts.front.nvme()
    }
    /// Whether the front end is an NVMe controller.
    pub fn is_nvme(&self) -> bool {
        self.nvme().is_some()
    }
    /// The drive's lifetime counters up to now. All zeroes with a front end other than NVMe.
    pub fn history(&self) -> History {
        self.nvme().map_or(History::default(), NvmeView::history)
    }
    /// How the drive stores page content.
    pub fn content(&self) -> Content {
        self.parts.content
    }
    /// The array that the firmware uses.
    pub fn geometry(&self) -> &Geometry {
        &self.parts.geometry
    }
    /// Where that array lies in the packages. [`Device::nand`] addresses blocks and pages as the packages
    /// do.
    pub fn restriction(&self) -> &Restriction {
        &self.parts.restriction
    }
    /// Where events go.
    pub fn recorder(&self) -> &Recorder {
        &self.parts.recorder
    }
    /// What each part has done.
    pub fn stats(&self) -> DriveStats {
        let inspect = self.parts.cells.inspect();
        DriveStats {
            ftl: self.parts.translation.stats(),
            nand: inspect.totals_of_drive(),
            erases: inspect.erase_spread(used_blocks(&self.parts.geometry, &self.parts.restriction)),
            channels: self.parts.channels.engines.iter().map(|e| e.stats()).collect(),
            link: self.parts.link.stats(),
            cores: self.parts.cores.iter().map(Core::stats).collect(),
            dram_bytes: self.parts.memory.moved(),
            big_loop: self.parts.scheduler.loop_stats(),
        }
    }
    /// Looks at the cells, and damages them on purpose.
    pub fn nand(&self) -> NandInspect {
        self.parts.cells.inspect()
    }
    /// The translation.
    pub fn translation(&self) -> &dyn TranslationView {
        &*self.parts.translation
    }
    /// Whether the firmware is still booting. Commands wait meanwhile.
    pub fn is_booting(&self) -> bool {
        self.parts.translation.state() == DriveState::Booting
    }
    /// A description of the recovery from a sudden loss of power. `None` while the drive boots and after
    /// any other boot.
    pub fn recovery(&self) -> Option<String> {
        let ftl = self.parts.translation.stats();
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
        let of_bring_up = || self.parts.channels.fault.borrow().clone();
        let of_boot = || self.parts.translation.boot_error();
        // The image's fault comes first, because the firmware sees it as failing cells.
        self.image_fault().or_else(of_bring_up).or_else(of_boot)
    }
    /// The error of the medium behind NAND or NVRAM: usually a full disk, or a page that no longer has the
    /// content that was programmed. Unless the run mode stops it, the drive goes on and treats the
    /// affected blocks as bad.
    pub fn image_fault(&self) -> Option<String> {
        let of_backlog = || self.parts.backlog.as_ref().and_then(|backlog| backlog.fault());
        let of_nvram = || self.parts.nvram.refused();
        let error = self.parts.cells.inspect().medium_error().or_else(of_nvram).or_else(of_backlog)?;
        Some(format!("its image can't be used any more, {error}"))
    }
    /// The backlog of an image on a disk that may fill up temporarily.
    pub fn backlog(&self) -> Option<&SharedBacklog> {
        self.parts.backlog.as_ref()
    }
    /// Tells the front end that the disk under the image may have run full, or have room again, since the
    /// last call. A full disk is reported to the host; writes resume when there is room.
    pub fn look_at_room(&self) {
        self.parts.front.room_changed();
    }
    /// Stops parking writes and deferring completions. Call it when no host is left that relies on
    /// durability.
    pub fn hold_nothing_back(&self) {
        self.parts.front.hold_nothing_back();
    }
    /// Shows a channel's bus activity to `tap` from now on.
    pub fn set_tap(&self, channel: usize, tap: Option<Box<dyn BusTap>>) {
        if let Some(engine) = self.parts.channels.engines.get(channel) {
            engine.set_tap(tap);
        }
    }

    /// Appends a filter to the control path of a channel's controller (C16). Returns false if the
    /// controller has no such path: only the asynchronous one has.
    pub fn insert_filter(&self, channel: usize, filter: Box<dyn Filter>) -> bool {
        self.parts.channels.fixed.get(channel).is_some_and(|controller| controller.insert_filter(filter))
    }

    /// Cuts the power now. The returned media can power on the next device.
    pub fn power_off(mut self) -> Media {
        self.parts.cells.power_off(self.parts.exec.now());
        self.parts.front.power_off();
        self.parts.nvram.power_off();
        let media = Media::kept(
            self.parts.cells.clone(),
            self.parts.nvram.clone(),
            self.parts.serial.take(),
            self.parts.backlog.take(),
        );
        drop(self);
        media
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.parts.exec.shut_down();
    }
}

#[cfg(test)]
mod order;
#[cfg(test)]
mod tests;
