//! A plain NVMe drive as a target: each command is handed to the drive by our driver.

use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use aster_driver::{
    Config, Driver, DriverError, FunctionBar, MESSAGE_ADDRESS, QueueId, Range, SecureErase, enumerate,
};
use aster_events::{Event, Function, Recorder, Wait};
use aster_exec::{Core, Exec, WaitQueue};
use aster_parties::{
    DataMover, DataPart, DriveFunction, DriveState, MediaState, PieceError, TargetNeeds, TargetPiece,
    TargetPorts, TargetView, TranslationStats, TranslationView, status_of,
};
use aster_ports::dram::SharedDram;
use aster_ports::host::{CommandPort, Completion, DmaDirection, HostCommand, HostOp, HostStatus};
use aster_ports::link::HostMemory;
use aster_units::{BufferId, Content, Lpn, Ppa, SECTOR_BYTES};
use core::cell::{Cell, RefCell};

/// The most commands that are served at once.
const WORKERS_MAX: u16 = 64;
/// The queue pair that all go to.
const QUEUE: QueueId = QueueId(1);

/// No buffer in particular.
const ANY: u32 = u32::MAX;

/// What a plain drive is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlainConfig {
    /// Bytes of its namespace.
    pub capacity_bytes: u64,
    /// How it keeps content.
    pub content: Content,
    /// Commands that a queue of it holds.
    pub queue_depth: u16,
    /// Bytes of a command at most.
    pub transfer_bytes_max: u32,
}

/// A plain NVMe drive as a target.
pub struct Plain {
    config: PlainConfig,
}

impl Plain {
    /// I/O queue pairs that it wants of the drive.
    pub const QUEUE_PAIRS: u16 = 1;

    /// A drive of this configuration.
    pub fn new(config: PlainConfig) -> Self {
        Plain { config }
    }
}

impl TargetPiece for Plain {
    fn needs(&self) -> TargetNeeds {
        TargetNeeds { data_buffers: WORKERS_MAX.into(), ..TargetNeeds::default() }
    }
    fn capacity_bytes(&self) -> u64 {
        self.config.capacity_bytes
    }
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError> {
        let TargetPorts {
            core, commands, command_slots, command_cycles, buffers, function, recorder, ..
        } = ports;
        let Plain { config } = *self;
        let workers = command_slots.min(WORKERS_MAX);
        let driver = Config {
            queue_pairs: Plain::QUEUE_PAIRS,
            depth: workers.min(config.queue_depth),
            transfer_bytes_max: config.transfer_bytes_max,
            content: config.content,
            ..Config::default()
        };
        let unfit = |error: &dyn core::fmt::Display| PieceError::new("target.kind", error.to_string());
        driver.validate().map_err(|error| unfit(&error))?;
        let exec = core.exec().clone();
        let memory = Rc::new(RefCell::new(driver.memory()));
        let driver = Driver::new(&exec, FunctionBar(Rc::clone(&function)), &memory, driver)
            .map_err(|error| unfit(&error))?;
        let running = Rc::new(Running {
            exec,
            core: core.clone(),
            commands,
            command_cycles,
            buffers,
            config,
            function,
            memory,
            driver,
            condition: Cell::new(DriveState::Booting),
            is_down: Cell::new(false),
            error: RefCell::new(None),
            stats: Cell::default(),
            gate: RefCell::default(),
            gates: WaitQueue::with_capacity(usize::from(workers) + 1),
            watcher: RefCell::new(None),
            recorder,
        });
        let up = Rc::clone(&running);
        core.spawn(async move {
            match up.bring_up().await {
                Ok(()) => up.condition.set(DriveState::Ready),
                Err(why) => return up.fail(why),
            }
            for id in 0..workers {
                up.core.spawn(serve(Rc::clone(&up), id.into()));
            }
        });
        Ok(running)
    }
}

/// Commands that are being served, for a format that must be alone.
#[derive(Default)]
struct Gate {
    closed: bool,
    inside: u32,
}

/// Who is told when the drive takes no more writes.
type Watcher = Box<dyn Fn(MediaState)>;

/// The target at work.
struct Running {
    exec: Exec,
    core: Core,
    commands: Rc<CommandPort>,
    command_cycles: u64,
    buffers: SharedDram,
    config: PlainConfig,
    function: Rc<dyn DriveFunction>,
    memory: Rc<RefCell<aster_driver::GuestMemory>>,
    driver: Rc<Driver<FunctionBar>>,
    condition: Cell<DriveState>,
    /// It was shut down, and has not been used since.
    is_down: Cell<bool>,
    error: RefCell<Option<String>>,
    stats: Cell<TranslationStats>,
    gate: RefCell<Gate>,
    gates: WaitQueue,
    watcher: RefCell<Option<Watcher>>,
    recorder: Recorder,
}

/// How a command ended: with a place on the drive if blocks could not be read.
type Ended = Result<(), (HostStatus, Option<u64>)>;

struct Worker {
    buffer: BufferId,
    data: Vec<u8>,
}

/// Serves one command after the other, with page buffer `id`.
async fn serve(running: Rc<Running>, id: u32) {
    let sectors = running.config.transfer_bytes_max as usize / SECTOR_BYTES;
    let data = vec![0; sectors * running.config.content.sector_len()];
    let mut work = Worker { buffer: BufferId(id), data };
    loop {
        let command = running.commands.next_command().await;
        let HostCommand { id, offset, length, op, .. } = command;
        let task = running.exec.current().number();
        let write = !matches!(op, HostOp::Read | HostOp::Compare);
        let lpn = (offset / SECTOR_BYTES as u64) as u32;
        running.emit(|| Event::CommandStarted { command: id.0, offset, length });
        running.emit(|| Event::SliceStarted { command: id.0, lpn, write, task });
        running.core.charge(running.command_cycles);
        running.core.settle().await;
        let ended = running.carry_out(&command, &mut work).await;
        let (status, failed_at) = match ended {
            Ok(()) => (HostStatus::Success, None),
            Err(failed) => failed,
        };
        running.emit(|| Event::SliceEnded { task });
        running.emit(|| Event::CommandFinished { command: id.0 });
        running.commands.complete(Completion { failed_at, ..Completion::new(id, status) });
    }
}

/// What the drive's status means to the host of a command. A drive that gives no status has not done what
/// the command asked for.
fn meaning(error: &DriverError, op: HostOp) -> HostStatus {
    let undone = match op {
        HostOp::Read | HostOp::Compare => HostStatus::UnrecoveredRead,
        _ => HostStatus::WriteFault,
    };
    let DriverError::Command { status, .. } = error else { return undone };
    let known = [
        HostStatus::UnrecoveredRead,
        HostStatus::CompareFailure,
        HostStatus::DataTransfer,
        HostStatus::ReadOnly,
        HostStatus::Aborted,
    ];
    known.into_iter().find(|&known| status.is(status_of(known))).unwrap_or(undone)
}

impl Running {
    fn emit(&self, event: impl FnOnce() -> Event) {
        self.recorder.emit(self.exec.now(), event);
    }
    /// Tells that the drive's answer is waited for while `work` goes on.
    async fn waiting<T>(&self, work: impl Future<Output = T>) -> T {
        let task = self.exec.current().number();
        self.emit(|| Event::WaitStarted { task, reason: Wait::Drive.number(), buffer: ANY });
        let done = work.await;
        self.emit(|| Event::WaitEnded { task });
        done
    }
    async fn bring_up(&self) -> Result<(), String> {
        enumerate(&*self.function).ok_or("the drive is no NVMe controller with 64-bit BAR0 and MSI-X")?;
        self.driver.init().await.map_err(|error| error.to_string())?;
        let has = self.driver.namespace().bytes();
        if has < self.config.capacity_bytes {
            return Err(format!(
                "the drive has {has} bytes, but its profile says {}",
                self.config.capacity_bytes
            ));
        }
        Ok(())
    }
    fn fail(&self, why: String) {
        *self.error.borrow_mut() = Some(why);
        self.condition.set(DriveState::Failed);
        self.tell();
    }
    fn media(&self) -> MediaState {
        MediaState {
            available_spare: 100,
            read_only: self.condition.get() == DriveState::ReadOnly,
            rebuilt: false,
            erases: 0,
        }
    }
    fn tell(&self) {
        if let Some(watcher) = &*self.watcher.borrow() {
            watcher(self.media());
        }
    }
    fn count(&self, change: impl FnOnce(&mut TranslationStats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }

    async fn carry_out(&self, command: &HostCommand, work: &mut Worker) -> Ended {
        let is_alone = matches!(command.op, HostOp::Format { .. } | HostOp::Shutdown) || self.is_down.get();
        let enter = || {
            let gate = &mut *self.gate.borrow_mut();
            let open = !gate.closed;
            match is_alone {
                true => gate.closed |= open,
                false => gate.inside += u32::from(open),
            }
            open.then_some(())
        };
        self.gates.wait(&self.exec, enter).await;
        if is_alone {
            self.gates.wait(&self.exec, || (self.gate.borrow().inside == 0).then_some(())).await;
        }
        let ended = match self.wake_up().await {
            Ok(()) => self.send(command, work).await,
            Err(error) => Err((meaning(&error, command.op), None)),
        };
        {
            let gate = &mut *self.gate.borrow_mut();
            match is_alone {
                true => gate.closed = false,
                false => gate.inside -= 1,
            }
        }
        self.gates.wake_all(&self.exec);
        self.count(|stats| stats.commands += 1);
        if let (Err((HostStatus::ReadOnly, _)), DriveState::Ready) = (&ended, self.condition.get()) {
            self.condition.set(DriveState::ReadOnly);
            self.tell();
        }
        ended
    }

    /// Brings the drive up again if it was shut down.
    async fn wake_up(&self) -> Result<(), DriverError> {
        if self.is_down.get() {
            self.driver.init().await?;
            self.is_down.set(false);
        }
        Ok(())
    }
    async fn send(&self, command: &HostCommand, work: &mut Worker) -> Ended {
        let HostCommand { op, offset, length, fua, .. } = *command;
        let ended = |result: Result<(), DriverError>| result.map_err(|error| (meaning(&error, op), None));
        let blocks_of = |bytes: u64| bytes / u64::from(self.driver.namespace().block_bytes);
        match op {
            HostOp::Read | HostOp::Write | HostOp::Compare => {
                let most = u64::from(self.config.transfer_bytes_max);
                let mut done = 0;
                while done < length {
                    let bytes = most.min(length - done) as usize;
                    self.piece(command, done, bytes, work).await?;
                    done += bytes as u64;
                }
                self.count(|stats| match op {
                    HostOp::Write => stats.host_bytes_written += length,
                    _ => stats.host_bytes_read += length,
                });
                Ok(())
            }
            HostOp::WriteZeroes { deallocate } => {
                let (slba, blocks) = (blocks_of(offset), blocks_of(length));
                ended(self.waiting(self.driver.write_zeroes(QUEUE, slba, blocks, deallocate, fua)).await)
            }
            HostOp::Deallocate => {
                let ranges: Vec<_> = (0..)
                    .map_while(|n| self.commands.range(command.id, n))
                    .filter(|range| range.length > 0)
                    .map(|range| Range::new(blocks_of(range.offset), blocks_of(range.length) as u32))
                    .collect();
                match ranges.is_empty() {
                    true => Ok(()),
                    false => ended(self.waiting(self.driver.deallocate(QUEUE, &ranges)).await),
                }
            }
            HostOp::Flush => ended(self.waiting(self.driver.flush(QUEUE)).await),
            HostOp::Format { erase } => {
                let format = self.driver.namespace().lba_format;
                let erase = if erase { SecureErase::UserData } else { SecureErase::None };
                ended(self.waiting(self.driver.format(format, erase)).await)
            }
            HostOp::Shutdown => {
                self.is_down.set(true);
                ended(self.waiting(self.driver.shut_down()).await)
            }
            _ => Err((HostStatus::Refused, None)),
        }
    }

    /// Moves part of a command's data between the host and `work.data`, and by one command between that and
    /// the drive.
    async fn piece(&self, command: &HostCommand, done: u64, bytes: usize, work: &mut Worker) -> Ended {
        let HostCommand { op, offset, fua, .. } = *command;
        let ratio = SECTOR_BYTES / self.config.content.sector_len();
        let slba = (offset + done) / u64::from(self.driver.namespace().block_bytes);
        if op == HostOp::Read {
            if let Err(error) = self.read(slba, &mut work.data[..bytes / ratio]).await {
                let at = error.is_unrecovered_read().then(|| self.first_lost(slba, bytes));
                let at = match at {
                    Some(first) => first.await,
                    None => None,
                };
                return Err((meaning(&error, op), at));
            }
            return self.transfer(command, done, bytes, DmaDirection::ToHost, work).await;
        }
        self.transfer(command, done, bytes, DmaDirection::FromHost, work).await?;
        let data = &work.data[..bytes / ratio];
        if (op, self.config.content) == (HostOp::Compare, Content::Fingerprint) {
            return Err((HostStatus::Refused, None));
        }
        let sent = async {
            match self.config.content {
                Content::Full if op == HostOp::Compare => self.driver.compare(QUEUE, slba, data).await,
                Content::Full => self.driver.write(QUEUE, slba, data, fua).await,
                Content::Fingerprint => self.driver.write_tags(QUEUE, slba, data.as_chunks().0, fua).await,
            }
        };
        self.waiting(sent).await.map_err(|error| (meaning(&error, op), None))
    }

    async fn read(&self, slba: u64, into: &mut [u8]) -> Result<(), DriverError> {
        let read = async {
            match self.config.content {
                Content::Full => self.driver.read(QUEUE, slba, into).await,
                Content::Fingerprint => self.driver.read_tags(QUEUE, slba, into.as_chunks_mut().0).await,
            }
        };
        self.waiting(read).await
    }
    /// Where the first block that can't be read begins on the drive, of a read that failed.
    async fn first_lost(&self, slba: u64, bytes: usize) -> Option<u64> {
        let block = u64::from(self.driver.namespace().block_bytes);
        let mut data = vec![0; block as usize * self.config.content.sector_len() / SECTOR_BYTES];
        for slba in slba..slba + bytes as u64 / block {
            if self.read(slba, &mut data).await.is_err_and(|error| error.is_unrecovered_read()) {
                return Some(slba * block);
            }
        }
        None
    }

    /// Moves bytes between the host and `work.data`.
    async fn transfer(
        &self,
        command: &HostCommand,
        done: u64,
        bytes: usize,
        direction: DmaDirection,
        work: &mut Worker,
    ) -> Ended {
        let Running { exec, commands, buffers, recorder, .. } = self;
        let count = bytes.div_ceil(SECTOR_BYTES) as u32;
        let part = DataPart { first: 0, count, skip: 0, bytes, done };
        let mover = DataMover { exec, commands, buffers, recorder };
        let moved = mover.transfer(command, &part, direction, work.buffer, &mut work.data).await;
        moved.map_err(|_| (HostStatus::DataTransfer, None))
    }
}

impl TranslationView for Running {
    fn state(&self) -> DriveState {
        self.condition.get()
    }
    fn boot_error(&self) -> Option<String> {
        self.error.borrow().clone()
    }
    fn stats(&self) -> TranslationStats {
        TranslationStats { state: self.condition.get(), ..self.stats.get() }
    }
    fn watch_media(&self, watcher: Watcher) {
        watcher(self.media());
        *self.watcher.borrow_mut() = Some(watcher);
    }
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}

impl TargetView for Running {
    fn interrupt(&self, address: u64, data: u32) {
        if address == MESSAGE_ADDRESS {
            self.driver.interrupt(data as u16);
        }
    }
    fn has_ftl(&self) -> bool {
        false
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &*self.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Duration;

    #[test]
    fn a_drive_that_does_not_answer_fails_a_read_as_a_read_and_a_write_as_a_write() {
        let silent = DriverError::NotReady { wanted: 1, waited: Duration::from_millis(500) };
        for (op, status) in [
            (HostOp::Read, HostStatus::UnrecoveredRead),
            (HostOp::Compare, HostStatus::UnrecoveredRead),
            (HostOp::Write, HostStatus::WriteFault),
            (HostOp::Flush, HostStatus::WriteFault),
        ] {
            assert_eq!(meaning(&silent, op), status);
        }
    }
}
