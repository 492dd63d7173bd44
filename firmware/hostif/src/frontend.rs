//! The glue: a controller on an executor, between a link port and a command port.

use crate::config::{BlockSize, ConfigError, HostIfConfig};
use crate::controller::Controller;
use crate::controller::fetch_by_workers::EntryTaken;
use crate::ports::{ControllerPorts, Timer};
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::Recorder;
use aster_exec::{Exec, Handler, HandlerId};
use aster_parties::{CommandSet, History, HostTrouble, MediaHealth};
use aster_ports::dram::SharedDram;
use aster_ports::host::{CommandPort, FRONT_KICK};
use aster_ports::link::{BadAddress, FRONT_ANSWER, LinkPort};
use aster_ports::medium::SharedBacklog;
use aster_units::{Duration, Instant};
use core::cell::{Cell, Ref, RefCell};

type FormatObserver = Box<dyn FnMut(BlockSize)>;
type HistoryObserver = Box<dyn FnMut(&History)>;

/// The shortest time between two reports of the counters. A loss of power loses what they counted since
/// the last report.
const HISTORY_PERIOD: Duration = Duration::from_secs(1);

/// An NVMe controller wired into a device.
pub struct NvmeFrontEnd {
    exec: Exec,
    controller: RefCell<Controller>,
    link: Rc<LinkPort>,
    commands: Rc<CommandPort>,
    dram: SharedDram,
    recorder: Recorder,
    handler: Cell<Option<HandlerId>>,
    /// Who hears what the workers must know, and by which token.
    follower: Cell<Option<(HandlerId, u64)>>,
    on_format: RefCell<Option<FormatObserver>>,
    on_history: RefCell<Option<HistoryObserver>>,
    // When the counters are reported next, and whether the drive was shut down at the last report.
    history_due: Cell<Instant>,
    was_shut_down: Cell<bool>,
}

impl NvmeFrontEnd {
    /// Registers a controller with this command set at `exec` and connects it to both ports. `commands`
    /// comes from [`HostIfConfig::command_port`]. Panics if `dram` has less than
    /// [`HostIfConfig::sram_bytes`] of SRAM.
    ///
    /// # Errors
    /// When the configuration is out of bounds.
    pub fn start(
        exec: &Exec,
        config: HostIfConfig,
        set: Box<dyn CommandSet>,
        link: &Rc<LinkPort>,
        commands: &Rc<CommandPort>,
        dram: &SharedDram,
        recorder: &Recorder,
    ) -> Result<Rc<Self>, ConfigError> {
        let (needed, found) = (config.sram_bytes(), dram.borrow().sram().len());
        let controller = RefCell::new(Controller::new(config, set)?);
        assert!(found >= needed, "the front end needs {needed} bytes of SRAM, there are {found}");
        let front = Rc::new(NvmeFrontEnd {
            exec: exec.clone(),
            controller,
            link: Rc::clone(link),
            commands: Rc::clone(commands),
            dram: Rc::clone(dram),
            recorder: recorder.clone(),
            handler: Cell::new(None),
            follower: Cell::new(None),
            on_format: RefCell::new(None),
            on_history: RefCell::new(None),
            history_due: Cell::new(Instant::ZERO + HISTORY_PERIOD),
            was_shut_down: Cell::new(false),
        });
        let handler = exec.register(front.clone());
        front.handler.set(Some(handler));
        front.link.attach_front(handler);
        front.commands.attach(handler);
        Ok(front)
    }

    /// Calls `observer` with the new block size after each Format NVM, so that the device can keep it in
    /// NVRAM.
    pub fn on_format(&self, observer: impl FnMut(BlockSize) + 'static) {
        *self.on_format.borrow_mut() = Some(Box::new(observer));
    }

    /// Calls `observer` with the drive's counters whenever the device should keep them in NVRAM: at once
    /// when a shutdown has completed or the host has enabled the controller after one, otherwise at most
    /// once per second. An idle drive makes no calls.
    pub fn on_history(&self, observer: impl FnMut(&History) + 'static) {
        *self.on_history.borrow_mut() = Some(Box::new(observer));
    }

    /// Reads `size` bytes (1, 2, 4 or 8) of BAR0 at `offset`, now.
    pub fn mmio_read(&self, offset: u32, size: u8) -> u64 {
        self.controller.borrow().read_register(offset.into(), size)
    }
    /// Writes the `size` low bytes (4 or 8) of `value` to BAR0 at `offset`, now.
    #[inline]
    pub fn mmio_write(&self, offset: u32, size: u8, value: u64) {
        self.with(|controller, ports| controller.write_register(ports, offset.into(), size, value));
    }
    /// PCIe function level reset.
    pub fn function_reset(&self) {
        self.with(Controller::reset_function);
    }
    /// Offers Doorbell Buffer Config to the host. From now on the run mode must poll doorbells in host
    /// memory.
    pub fn offer_doorbell_buffer(&self) {
        self.controller.borrow_mut().offer_doorbell_buffer();
    }
    /// Takes over a new state of the media: SMART shows it, and the events that the host asked for are
    /// raised.
    pub fn set_media_health(&self, media: MediaHealth) {
        self.with(|controller, ports| controller.set_media_health(ports, media));
    }
    /// Makes `backlog` decide from now on whether writes are parked and whether promises of durability are
    /// deferred. With `None` nothing ever waits.
    pub fn pause_with(&self, backlog: Option<SharedBacklog>) {
        self.controller.borrow_mut().pause_with(backlog);
    }
    /// Looks at the backlog again: its answer may have changed since [`NvmeFrontEnd::pause_with`].
    pub fn look_at_room(&self) {
        self.with(Controller::look_at_room);
    }
    /// Takes the operation monitor's latest sample, which hosts read by Get Log Page C0h. Bytes beyond
    /// [`STATISTICS_BYTES`](aster_wire::nvme::log::STATISTICS_BYTES) are cut off.
    pub fn set_statistics(&self, sample: &[u8]) {
        self.controller.borrow_mut().set_statistics(sample);
    }
    /// Takes what ails the host and hasn't been told yet.
    pub fn take_trouble(&self) -> Option<HostTrouble> {
        self.controller.borrow_mut().take_trouble()
    }
    /// The drive stood still and could not hear the host.
    pub fn excuse_host(&self) {
        self.controller.borrow_mut().excuse_host();
    }
    /// The controller's state.
    pub fn controller(&self) -> Ref<'_, Controller> {
        self.controller.borrow()
    }
    /// The size of a logical block now.
    pub fn lba_format(&self) -> BlockSize {
        self.controller.borrow().block_size()
    }
    /// The drive's counters up to now. The device keeps them in NVRAM at power-off.
    pub fn history(&self) -> History {
        self.controller.borrow().history(self.exec.now())
    }

    /// Whether firmware reaches commands by registers ([`CommandPort::behind_registers`]).
    pub(crate) fn has_command_fifo(&self) -> bool {
        self.commands.is_behind_registers()
    }

    /// Posts `token` to `follower` when there is something that workers must know.
    pub(crate) fn follow(&self, follower: HandlerId, token: u64) {
        self.follower.set(Some((follower, token)));
    }
    /// See [`Controller::next_entry`].
    pub(crate) fn next_entry(&self, queue: u16, number: u16) -> Option<EntryTaken> {
        self.controller.borrow_mut().next_entry(self.link.epoch(), queue, number)
    }
    /// See [`Controller::entry_fetched`].
    pub(crate) fn entry_fetched(&self, entry: EntryTaken, result: Result<(), BadAddress>) -> Option<u16> {
        let mut slot = None;
        self.with(|controller, ports| slot = controller.entry_fetched(ports, entry, result));
        slot
    }
    /// Takes a slot whose command no longer needs its worker.
    pub(crate) fn next_left(&self) -> Option<u16> {
        self.controller.borrow_mut().next_left()
    }
    /// See [`Controller::next_woken`].
    pub(crate) fn next_woken(&self) -> Option<u16> {
        self.controller.borrow_mut().next_woken()
    }

    #[cold]
    pub(crate) fn tell_history(&self) {
        self.history_due.set(self.exec.now() + HISTORY_PERIOD);
        let history = self.history();
        if let Some(observer) = self.on_history.borrow_mut().as_mut() {
            observer(&history);
        }
    }
    #[cold]
    fn tell_format(&self) {
        let size = self.lba_format();
        if let Some(observer) = self.on_format.borrow_mut().as_mut() {
            observer(size);
        }
    }
    #[inline]
    fn with(&self, act: impl FnOnce(&mut Controller, &mut ControllerPorts)) {
        let mut controller = self.controller.borrow_mut();
        {
            let mut dram = self.dram.borrow_mut();
            let mut ports = ControllerPorts {
                exec: &self.exec,
                handler: self.handler.get().expect("set when the front end is made"),
                link: &self.link,
                commands: &self.commands,
                sram: dram.sram_mut(),
                recorder: &self.recorder,
            };
            act(&mut controller, &mut ports);
        }
        // Released first: who is told may look at the front end.
        let has_something = controller.has_something_to_tell(self.was_shut_down.get());
        drop(controller);
        if has_something || self.exec.now() >= self.history_due.get() {
            self.tell();
        }
    }
    /// Tells the workers and the observers what they have to hear.
    #[inline(never)]
    fn tell(&self) {
        let mut controller = self.controller.borrow_mut();
        let format_changed = controller.take_format_changed();
        let shut_down = controller.is_shut_down();
        if controller.take_news() {
            let (follower, token) = self.follower.get().expect("workers follow the controller");
            self.exec.post(follower, token);
        }
        drop(controller);
        if shut_down != self.was_shut_down.get() || self.exec.now() >= self.history_due.get() {
            self.was_shut_down.set(shut_down);
            self.tell_history();
        }
        if format_changed {
            self.tell_format();
        }
    }
}

impl Handler for NvmeFrontEnd {
    fn fire(&self, token: u64) {
        self.with(|controller, ports| match token {
            FRONT_KICK => controller.on_kick(ports),
            FRONT_ANSWER => controller.on_answers(ports),
            timer => controller.on_timer(ports, Timer::from_token(timer)),
        });
    }
}
