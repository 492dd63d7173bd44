use aster_device::plug::{BarRead, ReadTag};
use aster_device::profile::Profile;
use aster_device::{BuildError, ChannelHardware, Device, Media, Pieces};
use aster_driver::{Bar, Config, Driver, DriverError, MESSAGE_ADDRESS, SharedMemory, enumerate};
use aster_events::Recorder;
use aster_exec::Exec;
use aster_ports::link::{BadAddress, LinkOp, carry_out};
use aster_targets::with_ours;
use aster_units::{Content, Duration, Instant};
use aster_workload::runner::{Fault, LatencySink, Runner};
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

/// Why a run can't continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The profile doesn't describe a working drive, or the media don't belong to it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The host's PCI layer found no NVMe function.
    #[error(
        "the drive's PCI function doesn't look like an NVMe controller. With host.front_end = \
         \"message-unit\" it takes command frames, and an FTL on the host makes an NVMe drive of it: \
         target.kind = \"hostftl\" or \"page-mapping\""
    )]
    Enumeration,
    /// The drive's firmware could not bring it up.
    #[error("the drive reports: {0}")]
    Drive(String),
    /// The driver gave up.
    #[error("driver: {0}")]
    Driver(#[from] DriverError),
    /// The caller stopped it.
    #[error("interrupted while {0}")]
    Interrupted(&'static str),
    /// The workload can't continue.
    #[error("{0}")]
    Workload(Fault),
    /// Neither host nor drive has anything to do, but the work isn't done.
    #[error("host and drive both wait for ever at {at}: {what}")]
    Stalled {
        /// The later of the two clocks.
        at: Instant,
        /// The work that isn't done.
        what: &'static str,
    },
}

/// The driver's view of BAR0: accesses happen at the host's current time.
pub struct VirtualBar {
    host: Exec,
    device: Rc<Device>,
}

impl Bar for VirtualBar {
    fn read(&mut self, offset: u32, size: u8) -> BarRead {
        self.device.catch_up(self.host.now());
        self.device.begin_bar_read(0, offset, size)
    }
    fn take_read(&mut self, tag: ReadTag) -> Option<u64> {
        self.device.catch_up(self.host.now());
        self.device.take_bar_read(tag)
    }
    #[inline]
    fn write(&mut self, offset: u32, size: u8, value: u64) {
        self.device.catch_up(self.host.now());
        self.device.bar_write(0, offset, size, value);
    }
}

/// Steps between two calls that ask the caller whether to continue.
const STEPS_A_TICK: u32 = 16_384;

/// A host and a drive on one thread, two clocks.
pub struct Machine {
    host: Exec,
    memory: SharedMemory,
    driver: Rc<Driver<VirtualBar>>,
    device: Rc<Device>,
}

impl Machine {
    /// Powers a drive on in a host whose driver is set up as `config` says. No simulated time passes.
    ///
    /// # Errors
    /// When the profile doesn't describe a working drive, or the driver's configuration is out of range.
    pub fn power_on(
        name: &str,
        profile: &Profile,
        content: Option<Content>,
        media: Media,
        recorder: &Recorder,
        config: Config,
    ) -> Result<Self, RunError> {
        Machine::power_on_with(ChannelHardware::Timed, name, profile, content, media, recorder, config)
    }

    /// As [`Machine::power_on`], with a reader's own `pieces`. A `ChannelHardware` alone is enough.
    ///
    /// # Errors
    /// As [`Machine::power_on`], and when this drive can't have such channels.
    pub fn power_on_with(
        pieces: impl Into<Pieces>,
        name: &str,
        profile: &Profile,
        content: Option<Content>,
        media: Media,
        recorder: &Recorder,
        config: Config,
    ) -> Result<Self, RunError> {
        let pieces = with_ours(pieces.into());
        let device = Device::power_on_with(pieces, name, profile, content, media, recorder)?;
        Machine::of(device, config)
    }

    /// Powers a host on over a drive that has kept its power ([`Machine::cut_host`]). The profile's target
    /// starts anew.
    ///
    /// # Errors
    /// When the profile has no target or doesn't describe a working one, or the driver's configuration is
    /// out of range.
    pub fn power_on_over(
        pieces: impl Into<Pieces>,
        name: &str,
        profile: &Profile,
        drive: Rc<Device>,
        config: Config,
    ) -> Result<Self, RunError> {
        Machine::of(Device::power_on_over(with_ours(pieces.into()), name, profile, drive)?, config)
    }

    fn of(device: Device, config: Config) -> Result<Self, RunError> {
        let device = Rc::new(device);
        let config = Config { content: device.content(), ..config };
        config.validate().map_err(DriverError::from)?;
        let host = Exec::new();
        host.catch_up(device.now());
        let memory: SharedMemory = Rc::new(RefCell::new(config.memory()));
        let bar = VirtualBar { host: host.clone(), device: Rc::clone(&device) };
        let driver = Driver::new(&host, bar, &memory, config)?;
        Ok(Machine { host, memory, driver, device })
    }

    /// Enumerates the function and brings the driver up.
    ///
    /// # Errors
    /// When the drive doesn't come up.
    pub fn boot(&self) -> Result<(), RunError> {
        self.boot_while(&mut || true)
    }
    /// As [`Machine::boot`]; calls `goes_on` every few thousand steps, and more often while the drive is
    /// being filled ([`Media::written_by`]). Stops if it returns `false`.
    ///
    /// # Errors
    /// As [`Machine::boot`], and [`RunError::Interrupted`].
    pub fn boot_while(&self, goes_on: &mut dyn FnMut() -> bool) -> Result<(), RunError> {
        enumerate(&*self.device).ok_or(RunError::Enumeration)?;
        let driver = Rc::clone(&self.driver);
        let begun =
            self.block_on_while("initialising the controller", async move { driver.init().await }, goes_on);
        // The drive's error says more than the driver's time-out.
        self.check_drive()?;
        begun??;
        // The controller is ready before its firmware has finished recovery.
        let mut steps = 0;
        while self.device.is_booting() {
            self.check_drive()?;
            self.step_or_stall("waiting for the drive's firmware", &mut steps, goes_on)?;
        }
        self.check_drive()
    }
    fn check_drive(&self) -> Result<(), RunError> {
        match self.device.fault() {
            Some(fault) => Err(RunError::Drive(fault)),
            None => Ok(()),
        }
    }

    /// The firmware takes a write error of the disk for bad blocks, so the run must report it instead of
    /// figures.
    fn check_image(&self) -> Result<(), RunError> {
        self.device.image_fault().map_or(Ok(()), |fault| Err(RunError::Drive(fault)))
    }

    /// The driver.
    pub fn driver(&self) -> &Rc<Driver<VirtualBar>> {
        &self.driver
    }
    /// The drive.
    pub fn device(&self) -> &Rc<Device> {
        &self.device
    }
    /// The host's executor: for tasks that use the driver.
    pub fn host(&self) -> &Exec {
        &self.host
    }
    /// The later of the two clocks.
    pub fn now(&self) -> Instant {
        self.host.now().max(self.device.now())
    }

    /// Advances whichever of host and drive has the earlier deadline, the host first on ties. `false` when
    /// both wait.
    #[inline]
    pub fn step(&self) -> bool {
        match (self.host.next_deadline(), self.device.next_deadline()) {
            (Some(host), device) if device.is_none_or(|device| host <= device) => self.host.advance_to(host),
            (_, Some(device)) => {
                self.device.advance_to(device);
                self.carry(|vector| self.driver.interrupt(vector));
            }
            (_, None) => return false,
        }
        true
    }

    /// Runs `runner` to its end. Calls `tick` every few thousand steps, for progress. When `tick` returns
    /// `false`, the runner issues nothing more, and the run ends when the requests in flight have
    /// completed.
    ///
    /// # Errors
    /// When both sides wait for ever, the runner can't continue, or the drive's image can't be written or
    /// read.
    pub fn run<L: LatencySink>(
        &self,
        runner: &mut Runner<VirtualBar, L>,
        tick: impl FnMut(&Runner<VirtualBar, L>) -> bool,
    ) -> Result<(), RunError> {
        let carry = |op: &LinkOp| self.carry_out(op);
        self.run_by(|host, most| self.device.advance_until_interrupt(host, most, carry), runner, tick)
    }
    /// As [`Machine::run`]. The drive works by `advance`, until the host or its memory is asked for.
    pub(crate) fn run_by<L: LatencySink>(
        &self,
        advance: impl Fn(Option<Instant>, u32) -> u32,
        runner: &mut Runner<VirtualBar, L>,
        mut tick: impl FnMut(&Runner<VirtualBar, L>) -> bool,
    ) -> Result<(), RunError> {
        self.host.catch_up(self.now());
        runner.start();
        let mut steps = 0;
        while !runner.is_done() {
            let timer = runner.next_deadline();
            let host = match (self.host.next_deadline(), timer) {
                (Some(task), Some(timer)) => Some(task.min(timer)),
                (task, timer) => task.or(timer),
            };
            match (host, self.device.next_deadline()) {
                (Some(host), device) if device.is_none_or(|device| host <= device) => {
                    self.host.advance_to(host);
                    if timer.is_some_and(|at| at <= host) {
                        runner.on_timer();
                    }
                }
                (host, Some(_)) => {
                    // The host's state doesn't change until the drive sends something.
                    steps += advance(host, STEPS_A_TICK - steps) - 1;
                    self.carry(|vector| runner.on_interrupt(vector));
                }
                (_, None) => {
                    return Err(match self.device.fault() {
                        Some(fault) => RunError::Drive(fault),
                        None => RunError::Stalled { at: self.now(), what: "running the workload" },
                    });
                }
            }
            steps += 1;
            if steps == STEPS_A_TICK {
                steps = 0;
                self.check_image()?;
                if !tick(runner) {
                    runner.stop();
                }
            }
        }
        // The drive may still work on commands that it has already completed to the host. That work and
        // its events belong to this run, not to the next one.
        while let Some(at) = self.device.next_deadline()
            && (self.device.commands_completed_early() > 0 || self.ends_behind_host(at))
        {
            self.device.advance_to(at);
            self.carry(|vector| runner.on_interrupt(vector));
        }
        self.check_image()?;
        match runner.fault() {
            Some(_) if self.device.fault().is_some() => {
                Err(RunError::Drive(self.device.fault().unwrap_or_default()))
            }
            Some(fault) => Err(RunError::Workload(fault)),
            None => Ok(()),
        }
    }

    /// Whether what is due at `at` belongs to commands whose end the host has heard of. The controller before
    /// a target writes a completion entry and sends its interrupt at one instant, and learns only then that
    /// the entry is written.
    fn ends_behind_host(&self, at: Instant) -> bool {
        at <= self.device.now() && self.device.below().is_some()
    }

    /// Carries out the drive's DMA and delivers its interrupts.
    #[inline]
    fn carry(&self, mut interrupt: impl FnMut(u16)) {
        while let Some(vector) = self.device.next_interrupt(|op| self.carry_out(op)) {
            if let Some((MESSAGE_ADDRESS, data)) = self.device.message(vector) {
                self.host.catch_up(self.device.now());
                interrupt(data as u16);
            }
        }
    }

    /// Carries out a DMA, which the host has to have allowed.
    #[inline]
    fn carry_out(&self, op: &LinkOp) -> Result<(), BadAddress> {
        if !self.device.is_bus_master() {
            return Err(BadAddress(0));
        }
        carry_out(op, &mut *self.memory.borrow_mut(), self.device.dram())
    }

    /// Runs `work` as a task of the host to its end.
    ///
    /// # Errors
    /// When both sides wait for ever before it has ended.
    pub fn block_on<T: 'static>(
        &self,
        what: &'static str,
        work: impl Future<Output = T> + 'static,
    ) -> Result<T, RunError> {
        self.block_on_while(what, work, &mut || true)
    }
    fn block_on_while<T: 'static>(
        &self,
        what: &'static str,
        work: impl Future<Output = T> + 'static,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<T, RunError> {
        let result = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&result);
        self.host.spawn(async move {
            let value = work.await;
            *slot.borrow_mut() = Some(value);
        });
        let mut steps = 0;
        loop {
            if let Some(value) = result.borrow_mut().take() {
                return Ok(value);
            }
            self.step_or_stall(what, &mut steps, goes_on)?;
        }
    }
    /// Makes a step, or returns why neither side can make one.
    fn step_or_stall(
        &self,
        what: &'static str,
        steps: &mut u32,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), RunError> {
        if !self.step() {
            return Err(match self.device.fault() {
                Some(fault) => RunError::Drive(fault),
                None => RunError::Stalled { at: self.now(), what },
            });
        }
        *steps += 1;
        let is_due = steps.is_multiple_of(STEPS_A_TICK) || self.device.translation().filled_share().is_some();
        if is_due && !goes_on() {
            return Err(RunError::Interrupted(what));
        }
        Ok(())
    }

    /// Lets `duration` pass while the drive does background work.
    pub fn idle(&self, duration: Duration) {
        let until = self.now() + duration;
        loop {
            let next = [self.host.next_deadline(), self.device.next_deadline()].into_iter().flatten().min();
            if next.is_none_or(|next| next > until) {
                break;
            }
            self.step();
        }
        self.host.catch_up(until);
        self.device.catch_up(until);
    }

    /// Shuts the controller down by CC.SHN, then removes the power.
    ///
    /// # Errors
    /// When the shutdown doesn't complete, or the image could not be written.
    pub fn shut_down(self) -> Result<Media, RunError> {
        let driver = Rc::clone(&self.driver);
        let ended = self.block_on("shutting the controller down", async move { driver.shut_down().await });
        self.check_image()?;
        ended??;
        Ok(self.cut_power())
    }

    /// Removes the power now, whatever is going on.
    pub fn cut_power(self) -> Media {
        self.unplug().power_off()
    }

    /// Removes the power of the drive alone now, whatever is going on, and gives it back at once. The FTL
    /// that runs on the host goes on ([`Device::restart_drive`]).
    ///
    /// # Errors
    /// When the drive stands under no target, or can't be built again.
    pub fn restart_drive(
        &self,
        pieces: impl Into<Pieces>,
        name: &str,
        profile: &Profile,
    ) -> Result<(), RunError> {
        // The host's clock may be ahead, and what begins anew must not begin in its past.
        self.device.catch_up(self.now());
        Ok(self.device.restart_drive(with_ours(pieces.into()), name, profile)?)
    }

    /// Removes the power of the host now, whatever is going on, and of the FTL that runs on it. The drive
    /// keeps its power. `None` for a drive without a target, whose media are lost with the call.
    pub fn cut_host(self) -> Option<Rc<Device>> {
        self.unplug().cut_host()
    }

    /// The drive without its host, which is gone.
    fn unplug(self) -> Device {
        self.host.shut_down();
        let Machine { driver, device, .. } = self;
        drop(driver);
        match Rc::try_unwrap(device) {
            Ok(device) => device,
            Err(_) => panic!("somebody still holds the drive whose power is cut"),
        }
    }
}
