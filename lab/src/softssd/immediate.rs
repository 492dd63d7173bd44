//! A translation that ends each command successfully as soon as its data has been moved: what the paper puts
//! behind both host interfaces to measure these alone (S34).

use aster_device::plug::{
    Completion, Core, DmaDirection, DmaPart, DmaRequest, DriveState, Function, HostCommand, HostOp,
    HostStatus, MediaState, PieceError, Translation, TranslationNeeds, TranslationPorts, TranslationStats,
    TranslationView,
};
use aster_units::{BufferId, Lpn, Ppa};
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
    /// Cycles for asking for its data.
    pub(super) dma: u64,
    /// Commands have no more data than a page.
    pub(super) page_bytes: u32,
    /// Commands that move their data at the same time, each by a task of its own.
    pub(super) movers: u32,
}

/// The data of a command; `None` if it has none.
fn data_of(command: &HostCommand, buffer: u32, page_bytes: u32) -> Option<DmaRequest> {
    let direction = match command.op {
        HostOp::Read => DmaDirection::ToHost,
        HostOp::Write => DmaDirection::FromHost,
        _ => return None,
    };
    Some(DmaRequest {
        command: command.id,
        direction,
        part: DmaPart::Data,
        offset: 0,
        buffer: BufferId(buffer),
        buffer_offset: 0,
        length: command.length.min(page_bytes.into()) as u32,
        after: None,
    })
}

#[derive(Default)]
struct Running(Cell<u64>);

impl Translation for Immediate {
    fn needs(&self) -> TranslationNeeds {
        TranslationNeeds { data_buffers: self.movers, ..TranslationNeeds::default() }
    }
    fn capacity_bytes(&self) -> u64 {
        self.bytes
    }
    fn start(self: Box<Self>, ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError> {
        let running = Rc::new(Running::default());
        let TranslationPorts { core, commands, .. } = ports;
        for buffer in 0..self.movers {
            let (counted, commands, on) = (Rc::clone(&running), Rc::clone(&commands), Core::clone(&core));
            let (cycles, dma, page_bytes) = (self.cycles, self.dma, self.page_bytes);
            core.spawn(async move {
                loop {
                    let command = commands.next_command().await;
                    on.charge(cycles);
                    let data = data_of(&command, buffer, page_bytes);
                    on.charge(data.as_ref().map_or(0, |_| dma));
                    on.settle().await;
                    let mut status = HostStatus::Success;
                    if let Some(data) = data {
                        status = commands.dma(data).await.map_or(HostStatus::DataTransfer, |()| status);
                    }
                    counted.0.set(counted.0.get() + 1);
                    commands.complete(Completion::new(command.id, status));
                }
            });
        }
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
