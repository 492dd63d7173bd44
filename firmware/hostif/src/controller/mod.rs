//! The controller as a value: its parts, and which part handles each input.

mod admin;
mod complete;
mod data;
mod errors;
mod fetch;
pub(crate) mod fetch_by_workers;
mod io;
mod keep_alive;
mod mmio;
mod parking;
mod reset;

use crate::config::{BlockSize, ConfigError, Fetching, HostIfConfig};
use crate::dma::Dma;
use crate::interrupt::Interrupts;
use crate::lifecycle::Lifecycle;
use crate::pages::HostRuns;
pub(crate) use crate::pages::one_segment;
use crate::pause::Pause;
use crate::ports::{ControllerPorts, DmaPurpose, Timer};
use crate::queues::Queues;
use crate::reports::Reports;
use crate::settings::Settings;
use crate::slots::Slots;
use alloc::boxed::Box;
use aster_events::Event;
use aster_parties::{CommandSet, History, HostTrouble, MediaHealth};
use aster_ports::host::DmaDirection;
use aster_ports::link::{BadAddress, LinkOp, Local, Segment};
use aster_ports::medium::SharedBacklog;
use aster_units::Instant;

/// An NVMe 1.4 controller with one namespace.
///
/// [`crate::NvmeFrontEnd`] drives it. By itself it only shows its state.
#[derive(Debug)]
pub struct Controller {
    config: HostIfConfig,
    set: Box<dyn CommandSet>,
    lifecycle: Lifecycle,
    slots: Slots,
    dma: Dma,
    queues: Queues,
    interrupts: Interrupts,
    settings: Settings,
    reports: Reports,
    pause: Pause,
}

impl Controller {
    /// Makes a controller in the state that follows power-on, whose I/O commands are those of `set`.
    ///
    /// # Errors
    /// When the configuration is out of bounds.
    pub fn new(config: HostIfConfig, set: Box<dyn CommandSet>) -> Result<Self, ConfigError> {
        config.check()?;
        let queues = usize::from(config.queue_pairs) + 1;
        let slots = Slots::new(config.slots, config.fetching == Fetching::ByWorkers);
        let slot_count = slots.ids().len();
        Ok(Controller {
            lifecycle: Lifecycle::new(&config),
            dma: Dma::new(&config, slot_count),
            slots,
            queues: Queues::new(&config),
            interrupts: Interrupts::new(config.vectors, queues),
            settings: Settings::new(&config),
            reports: Reports::new(&config.history, config.media_errors_max),
            pause: Pause::default(),
            config,
            set,
        })
    }

    /// Makes `backlog` say whether there is room. With `None` there is always room.
    pub(crate) fn pause_with(&mut self, backlog: Option<SharedBacklog>) {
        self.pause.follow(backlog, self.slots.ids().len());
    }
    /// Whether the device or the workers have something to hear, if at the last report the drive was shut
    /// down or not.
    #[inline]
    pub(crate) fn has_something_to_tell(&self, was_shut_down: bool) -> bool {
        self.settings.format_changed() || self.has_news() || self.is_shut_down() != was_shut_down
    }
    /// Takes the note that a format has changed the block size.
    pub(crate) fn take_format_changed(&mut self) -> bool {
        self.settings.take_format_changed()
    }
    /// Takes a slot whose command no longer needs its worker.
    pub(crate) fn next_left(&mut self) -> Option<u16> {
        self.slots.next_left()
    }

    /// The size of a logical block now. It survives power-off: the device keeps it in NVRAM.
    pub fn block_size(&self) -> BlockSize {
        self.settings.block_size()
    }
    /// The drive's lifetime counters up to `now`. They are the next power-on's [`HostIfConfig::history`].
    pub fn history(&self, now: Instant) -> History {
        self.reports.history(now)
    }
    /// Whether the last shutdown has completed and the controller has not been enabled since.
    #[inline]
    pub(crate) fn is_shut_down(&self) -> bool {
        self.reports.health().is_shut_down()
    }
    /// True between CSTS.RDY rising and falling.
    pub fn is_ready(&self) -> bool {
        self.lifecycle.is_ready()
    }
    /// Completion entries that have reached the host since power-on.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.slots.completed()
    }
    /// Commands that completed before the FTL was done with them, and that the FTL still has.
    pub fn commands_completed_early(&self) -> usize {
        self.slots.completed_early()
    }
    /// Commands in the drive. This includes commands whose queue was deleted, commands that completed
    /// before the FTL was done with them, and parked writes. It excludes Asynchronous Event Requests that
    /// wait for an event, since they keep nothing busy.
    pub fn commands_in_flight(&self) -> usize {
        self.slots.in_flight() + self.pause.parked()
    }

    /// Takes over a new state of the media (SMART, asynchronous events).
    pub(crate) fn set_media_health(&mut self, ports: &mut ControllerPorts, media: MediaHealth) {
        self.reports.set_media(media);
        self.check_health(ports);
        self.pump(ports);
    }

    /// Takes what ails the host and hasn't been told yet.
    pub(crate) fn take_trouble(&mut self) -> Option<HostTrouble> {
        self.reports.take_trouble()
    }
    /// Takes over a new sample of the operation monitor.
    pub(crate) fn set_statistics(&mut self, sample: &[u8]) {
        self.reports.set_statistics(sample);
    }

    /// Handles a timed event.
    pub(crate) fn on_timer(&mut self, ports: &mut ControllerPorts, timer: Timer) {
        match timer {
            Timer::Fetched => {
                while let Some(permit) = self.slots.next_fetched(ports.now()) {
                    self.decode(ports, permit);
                }
            }
            Timer::Finished => {
                while let Some(permit) = self.slots.next_finished(ports.now()) {
                    self.post(ports, permit);
                }
            }
            Timer::Transfer => {
                while let Some((tag, request)) = self.dma.next_request(ports.now()) {
                    self.start_transfer(ports, tag, request);
                }
            }
            Timer::KeepAlive => self.look_at_host(ports),
            Timer::Coalescing(vector) => self.interrupts.time_is_over(vector),
        }
        self.pump(ports);
    }

    /// Handles the answers of the host link.
    pub(crate) fn on_answers(&mut self, ports: &mut ControllerPorts) {
        while let Some((token, epoch, result)) = ports.link.next_answer() {
            self.on_answer(ports, DmaPurpose::from_wire(token), epoch == ports.link.epoch(), result);
        }
        self.pump(ports);
    }

    fn on_answer(
        &mut self,
        ports: &mut ControllerPorts,
        token: DmaPurpose,
        live: bool,
        result: Result<(), BadAddress>,
    ) {
        self.dma.ended();
        let queue = self.queue_of(token);
        self.queues.operation_ended(queue);
        match token {
            DmaPurpose::Fetch(queue) => self.fetch_answered(ports, queue, live, result),
            DmaPurpose::List(slot) => self.list_answered(ports, slot, result),
            DmaPurpose::Scratch(slot) => self.scratch_answered(ports, slot, result),
            DmaPurpose::Data(tag) => self.data_answered(ports, tag, result),
            DmaPurpose::Completion(slot) => self.completion_answered(ports, slot, live, result),
        }
        self.check_deletion(ports, queue);
        self.check_reset();
    }

    /// Handles the FTL's DMA requests and the commands that it finished.
    pub(crate) fn on_kick(&mut self, ports: &mut ControllerPorts) {
        ports.commands.acknowledge();
        while let Some((tag, request)) = ports.commands.next_dma() {
            if self.config.transfer_latency.is_zero() {
                self.start_transfer(ports, tag, request);
                continue;
            }
            let at = ports.now() + self.config.transfer_latency;
            if self.dma.delay(at, tag, request) {
                ports.wake_at(at, Timer::Transfer);
            }
        }
        if let Some(command) = ports.commands.next_list_request() {
            self.list_asked(ports, command.0);
        }
        while let Some(completion) = ports.commands.next_completion() {
            self.ftl_completed(ports, completion);
        }
        self.pump(ports);
    }

    /// Ends every call: fetches as many entries as there are free slots and sends the interrupts that are
    /// due. After most calls there is nothing to do.
    #[inline]
    pub(crate) fn pump(&mut self, ports: &mut ControllerPorts) {
        self.slots.assert_settled();
        if self.pause.has_parked() {
            self.resume_parked(ports);
        }
        if self.queues.has_waiting_entries() {
            self.fetch(ports);
        }
        if self.interrupts.is_any_due() {
            self.send_interrupts(ports);
        }
        self.slots.assert_settled();
    }

    /// Sends the messages that are due: one per vector, however many entries it announces.
    #[inline(never)]
    fn send_interrupts(&mut self, ports: &ControllerPorts) {
        while let Some(vector) = self.interrupts.next_message() {
            ports.link.push(LinkOp::Interrupt { vector });
            ports.emit(|| Event::InterruptSent { vector });
        }
    }

    /// The slot whose command a DMA is for. Workers fetch entries without the controller.
    pub(crate) fn slot_of(&self, purpose: DmaPurpose) -> u16 {
        match purpose {
            DmaPurpose::Fetch(queue) => unreachable!("the controller fetches from queue {queue}"),
            DmaPurpose::List(slot) | DmaPurpose::Scratch(slot) | DmaPurpose::Completion(slot) => slot,
            DmaPurpose::Data(tag) => self.dma.transfer(tag).slot,
        }
    }
    fn queue_of(&self, token: DmaPurpose) -> u16 {
        match token {
            DmaPurpose::Fetch(queue) => queue,
            DmaPurpose::List(slot) | DmaPurpose::Scratch(slot) | DmaPurpose::Completion(slot) => {
                self.slots[slot].queue()
            }
            DmaPurpose::Data(tag) => self.dma.transfer(tag).queue,
        }
    }

    /// Sends a DMA over one run of host memory on behalf of a queue.
    #[inline(always)]
    pub(crate) fn push_run(
        &mut self,
        ports: &ControllerPorts,
        direction: DmaDirection,
        local: Local,
        run: Segment,
        purpose: DmaPurpose,
        queue: u16,
    ) {
        self.queues.operation_began(queue);
        self.dma.push_run(ports, direction, local, run, purpose);
    }
    /// Sends a DMA on behalf of a queue.
    #[inline]
    pub(crate) fn push_dma(
        &mut self,
        ports: &ControllerPorts,
        direction: DmaDirection,
        local: Local,
        host: HostRuns,
        purpose: DmaPurpose,
        queue: u16,
    ) {
        self.queues.operation_began(queue);
        self.dma.push(ports, direction, local, host, purpose);
    }
}
