//! The driver at work.

use super::bring_up::{ArrayInfo, bring_up};
use super::error::ArrayError;
use super::frames::FrameQueue;
use super::layout::{command_frame, status_frame};
use super::status::StatusReader;
use super::tags::{CommandTag, Ended, Gone, Tags};
use super::thermometer::{TemperatureWatcher, Thermometer};
use alloc::rc::Rc;
use aster_exec::{Core, Exec, WaitCell, WaitQueue};
use aster_parties::{DriveFunction, TargetMemory};
use aster_units::Duration;
use aster_wire::array::registers::{
    self, StatusConfig, UnitStatus, VECTOR_FATAL, VECTOR_STATUS, VECTOR_TEMPERATURE,
};
use aster_wire::array::{Command, FrameAddress, STATUS_FRAME_BYTES, STATUS_FRAMES, StatusEntry};
use core::cell::{Cell, RefCell};

/// How often the driver looks for commands that take too long, and how long that is.
const WATCH: Duration = Duration::from_secs(1);
const TOO_LONG: Duration = Duration::from_secs(30);
/// The bits of a message's data that are the vector's.
const VECTOR_MASK: u32 = 3;

/// A driver of one drive.
pub struct ArrayDriver {
    exec: Exec,
    function: Rc<dyn DriveFunction>,
    memory: Rc<RefCell<TargetMemory>>,
    /// Where its region of the memory begins.
    region: u64,
    tags: Tags,
    frames: RefCell<FrameQueue>,
    status: RefCell<StatusReader>,
    room: WaitQueue,
    pump: WaitCell,
    watch: WaitCell,
    fault: Cell<Option<ArrayError>>,
    /// The drive takes commands.
    is_attached: Cell<bool>,
    attached: WaitQueue,
    /// The drive takes no more writes.
    is_read_only: Cell<bool>,
    /// How often it has lost its power, or was reset.
    losses: Cell<u32>,
    /// A command has ended since the drive was attached.
    is_at_work: Cell<bool>,
    thermometer: Thermometer,
    status_config: Cell<StatusConfig>,
}

impl ArrayDriver {
    /// A driver for the drive behind `function`, with a region of
    /// [`REGION_BYTES`](super::REGION_BYTES) in `memory` from `region` on, a multiple of 4096. It spawns its
    /// tasks on `core`; [`bring_up`](ArrayDriver::bring_up) must come first.
    pub fn new(
        core: &Core,
        function: Rc<dyn DriveFunction>,
        memory: Rc<RefCell<TargetMemory>>,
        region: u64,
    ) -> Rc<Self> {
        assert!(region.is_multiple_of(4096), "the status buffer begins at a multiple of 4096");
        let driver = Rc::new(ArrayDriver {
            exec: core.exec().clone(),
            function,
            memory,
            region,
            tags: Tags::default(),
            frames: RefCell::default(),
            status: RefCell::default(),
            room: WaitQueue::default(),
            pump: WaitCell::default(),
            watch: WaitCell::default(),
            fault: Cell::new(None),
            is_attached: Cell::new(true),
            attached: WaitQueue::default(),
            is_read_only: Cell::new(false),
            losses: Cell::new(0),
            is_at_work: Cell::new(false),
            thermometer: Thermometer::default(),
            status_config: Cell::new(StatusConfig(0).with_entries(1)),
        });
        let (pump, watch) = (Rc::clone(&driver), Rc::clone(&driver));
        core.spawn(async move { pump.send_frames().await });
        core.spawn(async move { watch.watch_times().await });
        driver
    }
    /// The unit sends a status frame at so many entries, or so long after the first (H17), from the next
    /// [`bring_up`](ArrayDriver::bring_up) on. Without it, one for each batch of commands that end at once.
    pub fn collect_status(&self, config: StatusConfig) {
        self.status_config.set(config);
    }
    /// Finds the drive's unit, waits until it is ready, and switches it on; once more if the drive loses its
    /// power meanwhile. Commands of a host before are gone by then.
    ///
    /// # Errors
    /// Why there is no drive to work with.
    pub async fn bring_up(&self) -> Result<ArrayInfo, ArrayError> {
        self.attach(|_| true).await
    }
    /// Brings up a drive that `is_it`.
    async fn attach(&self, is_it: impl Fn(&ArrayInfo) -> bool) -> Result<ArrayInfo, ArrayError> {
        loop {
            let losses = self.losses.get();
            let (buffer, config) = (self.region, self.status_config.get());
            let found = bring_up(&self.exec, &*self.function, (buffer, config), &self.thermometer).await;
            if self.losses.get() != losses {
                continue;
            }
            let found = found?;
            self.read_status();
            if !is_it(&found) {
                return Err(ArrayError::AnotherDrive);
            }
            self.is_attached.set(true);
            self.attached.wake_all(&self.exec);
            self.pump.wake(&self.exec);
            return Ok(found);
        }
    }

    /// The drive has lost its power and has it again, or its unit has stopped: all commands that were
    /// submitted end as lost. Others wait until it [is attached](ArrayDriver::attach_again).
    pub fn lose_drive(&self) {
        self.losses.set(self.losses.get() + 1);
        self.is_attached.set(false);
        self.is_at_work.set(false);
        self.frames.borrow_mut().lose();
        *self.status.borrow_mut() = StatusReader::default();
        let mut memory = self.memory.borrow_mut();
        let bytes = STATUS_FRAMES * STATUS_FRAME_BYTES;
        memory.bytes_mut(self.region, bytes).expect("the region is in memory").fill(0);
        drop(memory);
        self.tags.give_up(&self.exec);
    }
    /// How often the drive was [lost](ArrayDriver::lose_drive).
    pub fn losses(&self) -> u32 {
        self.losses.get()
    }
    /// Brings the drive up once more after it was lost, until it stays.
    ///
    /// # Errors
    /// Why that can't be: it doesn't come up, or isn't the one that was lost.
    pub async fn attach_again(&self, info: &ArrayInfo) -> Result<(), ArrayError> {
        self.attach(|found| found == info).await.map(drop)
    }
    /// Whether the drive takes commands.
    pub fn is_attached(&self) -> bool {
        self.is_attached.get()
    }
    /// Waits until the drive takes commands. One that has been given up takes them, and ends them at once.
    pub async fn attached(&self) {
        if !self.is_attached.get() {
            let is_there = || (self.is_attached.get() || self.fault.get().is_some()).then_some(());
            self.attached.wait(&self.exec, is_there).await;
        }
    }
    /// Gives the drive up.
    pub fn fail(&self, error: ArrayError) {
        self.give_up(error);
        self.attached.wake_all(&self.exec);
    }
    /// Why the drive has been given up, if it has.
    pub fn fault(&self) -> Option<ArrayError> {
        self.fault.get()
    }
    /// Commands that were submitted since power-on.
    pub fn commands(&self) -> u64 {
        self.frames.borrow().commands()
    }
    /// Frames that were handed over since power-on.
    pub fn frames(&self) -> u64 {
        self.frames.borrow().sent()
    }
    /// How many commands may be submitted now.
    pub fn room(&self) -> usize {
        self.tags.room()
    }
    /// Submits a command, if the drive has room for it; its number is the driver's. Commands reach the drive
    /// in the order of their submission. Its end must be taken by [`finished`](ArrayDriver::finished).
    pub fn submit(&self, command: Command) -> Option<CommandTag> {
        self.submit_made(|_| command)
    }
    fn submit_made(&self, make: impl FnOnce(CommandTag) -> Command) -> Option<CommandTag> {
        let tag = self.tags.take(make)?;
        if self.fault.get().is_some() {
            self.tags.give_up(&self.exec);
            return Some(tag);
        }
        self.frames.borrow_mut().add(tag);
        self.pump.wake(&self.exec);
        Some(tag)
    }
    /// Submits a command as soon as the drive has room. Tasks that wait are served in their order.
    pub async fn submit_soon(&self, command: Command) -> CommandTag {
        self.room.wait(&self.exec, || self.submit(command)).await
    }
    /// As [`submit_soon`](ArrayDriver::submit_soon), with a command that `make` makes for its number: host
    /// memory that belongs to a number isn't used by two commands at once.
    pub async fn submit_made_soon(&self, make: impl Fn(CommandTag) -> Command) -> CommandTag {
        self.room.wait(&self.exec, || self.submit_made(&make)).await
    }
    /// Waits for a command's end.
    ///
    /// # Errors
    /// When the drive has been given up.
    pub async fn finished(&self, tag: CommandTag) -> Result<Ended, Gone> {
        let ended = self.tags.finished(&self.exec, tag).await;
        self.room.wake_one(&self.exec);
        ended
    }
    /// Sends a command and waits for its end.
    ///
    /// # Errors
    /// When the drive has been given up.
    pub async fn send(&self, command: Command) -> Result<Ended, Gone> {
        let tag = self.submit_soon(command).await;
        self.finished(tag).await
    }

    /// A message of the drive has come. Returns an error if its unit has stopped (H10): only a reset makes it
    /// go on, and what it had not processed is lost. The caller [loses](ArrayDriver::lose_drive) the drive
    /// and [attaches](ArrayDriver::attach_again) it again, or [gives it up](ArrayDriver::fail).
    #[must_use]
    pub fn interrupt(&self, data: u32) -> Option<ArrayError> {
        if self.fault.get().is_some() || !self.is_attached.get() {
            return None;
        }
        match (data & VECTOR_MASK) as u16 {
            VECTOR_STATUS => {
                if let Err(error) = self.take_statuses() {
                    self.give_up(error);
                }
            }
            VECTOR_FATAL => {
                let status = self.read_status();
                // A drive that has become read-only still reads.
                if status.frame_error() || status.status_error() || status.overflow() {
                    return Some(ArrayError::Stopped(status));
                }
            }
            VECTOR_TEMPERATURE => self.thermometer.read(&*self.function),
            _ => {}
        }
        None
    }
    /// Reads the unit's status, and whether the drive takes writes.
    fn read_status(&self) -> UnitStatus {
        let status = UnitStatus(self.function.bar_read(0, registers::STATUS, 4) as u32);
        self.is_read_only.set(status.fatal());
        status
    }
    /// Whether the drive has said, when it was attached or since, that it takes no more writes.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only.get()
    }
    /// Whether a command has ended since the drive was attached: if not, it stops again and again.
    pub fn is_at_work(&self) -> bool {
        self.is_at_work.get()
    }
    /// Calls `watcher` with the drive's temperature in kelvins when it is read: as the drive comes up, at its
    /// alarm and [when asked to](ArrayDriver::read_temperature).
    pub fn watch_temperature(&self, watcher: TemperatureWatcher) {
        self.thermometer.watch(watcher);
    }
    /// Reads the temperature of a drive that is attached and hasn't been given up.
    pub fn read_temperature(&self) {
        if self.fault.get().is_none() && self.is_attached.get() {
            self.thermometer.read(&*self.function);
        }
    }
    fn take_statuses(&self) -> Result<(), ArrayError> {
        let mut taken = false;
        loop {
            let mut status = self.status.borrow_mut();
            let at = self.region + status_frame(status.place());
            let mut memory = self.memory.borrow_mut();
            let frame = memory.bytes_mut(at, STATUS_FRAME_BYTES).expect("the region is in memory");
            let mut wrong = None;
            let any = status.take(frame, |entry| {
                if let Err(error) = self.ended(&entry) {
                    wrong.get_or_insert(error);
                }
            })?;
            match wrong {
                Some(error) => return Err(error),
                None if !any => break,
                None => taken = true,
            }
        }
        if taken {
            let head = self.status.borrow().taken();
            self.function.bar_write(0, registers::STATUS_HEAD, 4, head.into());
            self.pump.wake(&self.exec);
        }
        Ok(())
    }
    fn ended(&self, entry: &StatusEntry) -> Result<(), ArrayError> {
        let code = entry.status().ok_or(ArrayError::UnknownCode(entry.code))?;
        let ended = Ended { code, failed: entry.failed, corrected: entry.corrected };
        let frame = self.tags.end(&self.exec, entry.id.get(), ended)?;
        self.frames.borrow_mut().ended(frame);
        self.is_at_work.set(true);
        Ok(())
    }
    fn give_up(&self, error: ArrayError) {
        self.fault.set(Some(error));
        self.tags.give_up(&self.exec);
    }

    /// Makes frames of what is submitted. A command that comes alone leaves at once; while the drive has as
    /// many frames as its FIFO holds, commands gather.
    async fn send_frames(&self) {
        loop {
            let can = || self.fault.get().is_none() && self.is_attached.get();
            let is_due = || (can() && self.frames.borrow().is_due()).then_some(());
            self.pump.wait(&self.exec, is_due).await;
            let now = self.exec.now();
            let address = {
                let mut frames = self.frames.borrow_mut();
                let framed = |tag, frame| self.tags.framed(tag, frame, now);
                let Some((first, bytes)) = frames.next(|tag| self.tags.command(tag), framed) else {
                    continue;
                };
                let at = self.region + command_frame(first.index());
                let mut memory = self.memory.borrow_mut();
                let place = memory.bytes_mut(at, bytes.len()).expect("the region is in memory");
                place.copy_from_slice(bytes);
                FrameAddress::of(at, bytes.len())
            };
            self.function.bar_write(0, registers::FRAME_ADDRESS, 8, address.0);
            self.watch.wake(&self.exec);
        }
    }
    /// Gives the drive up when a command takes too long. While none is in the drive, no time is watched.
    async fn watch_times(&self) {
        loop {
            self.watch.wait(&self.exec, || self.tags.oldest().map(|_| ())).await;
            self.exec.sleep(WATCH).await;
            let oldest = self.tags.oldest().filter(|_| self.fault.get().is_none());
            if let Some((id, since)) = oldest {
                let waited = self.exec.now().since(since);
                if waited >= TOO_LONG {
                    self.give_up(ArrayError::Overdue { id, waited });
                }
            }
        }
    }
}
