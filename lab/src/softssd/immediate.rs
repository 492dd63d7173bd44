//! A translation that ends each command at once, successfully and without moving data: what the paper puts
//! behind both host interfaces to measure these alone (S34).

use aster_device::plug::{
    Completion, Core, DriveState, Function, HostStatus, MediaState, PieceError, Translation,
    TranslationNeeds, TranslationPorts, TranslationStats, TranslationView,
};
use aster_units::{Lpn, Ppa};
use std::cell::Cell;
use std::rc::Rc;

/// The name that profiles choose it by.
pub(super) const IMMEDIATE: &str = "immediate";

/// The translation before it is started.
pub(super) struct Immediate {
    /// Bytes of the namespace.
    pub(super) bytes: u64,
    /// Cycles for taking and ending a command.
    pub(super) cycles: u64,
}

#[derive(Default)]
struct Running(Cell<u64>);

impl Translation for Immediate {
    fn needs(&self) -> TranslationNeeds {
        TranslationNeeds { data_buffers: 1, ..TranslationNeeds::default() }
    }
    fn capacity_bytes(&self) -> u64 {
        self.bytes
    }
    fn start(self: Box<Self>, ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError> {
        let running = Rc::new(Running::default());
        let (counted, cycles) = (Rc::clone(&running), self.cycles);
        let TranslationPorts { core, commands, .. } = ports;
        let on: Core = core.clone();
        core.spawn(async move {
            loop {
                let command = commands.next_command().await;
                on.charge(cycles);
                on.settle().await;
                counted.0.set(counted.0.get() + 1);
                commands.complete(Completion::new(command.id, HostStatus::Success));
            }
        });
        Ok(running)
    }
}

impl TranslationView for Running {
    fn state(&self) -> DriveState {
        DriveState::Ready
    }
    fn boot_error(&self) -> Option<String> {
        None
    }
    fn stats(&self) -> TranslationStats {
        let commands = self.0.get();
        TranslationStats { state: DriveState::Ready, commands, ..TranslationStats::default() }
    }
    fn watch_media(&self, _: Box<dyn Fn(MediaState)>) {}
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}
