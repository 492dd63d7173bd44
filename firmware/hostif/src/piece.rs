//! The NVMe front end as a party of a drive.

use crate::config::{BlockSize, ConfigError, HostIfConfig};
use crate::frontend::NvmeFrontEnd;
use crate::function::function;
use crate::persistent::PersistentState;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Function;
use aster_parties::{
    BarRead, CommandSet, DamagedRecord, DoorbellBuffer, FrontEnd, FrontEndNeeds, FrontEndPiece,
    FrontEndPorts, FunctionSpec, History, HostTrouble, MediaHealth, NvmeView, NvramSlice, PciIds, PieceError,
    QueueDoorbell,
};
use aster_units::Duration;

/// An NVMe controller with one namespace (NVMe 1.4), before it runs: in this form it is hardware, and takes
/// no core's time. [`SoftwareNvme`](crate::SoftwareNvme) is the same controller as firmware.
pub struct Nvme {
    config: HostIfConfig,
    ids: PciIds,
    set: Box<dyn CommandSet>,
    command_fifo: Option<Duration>,
}

impl Nvme {
    /// Makes a controller whose I/O commands are those of `set`. `config` has the history and block format
    /// of a new drive; a saved state replaces them.
    ///
    /// # Errors
    /// When the configuration is out of bounds.
    pub fn new(mut config: HostIfConfig, ids: PciIds, set: Box<dyn CommandSet>) -> Result<Self, ConfigError> {
        config.suit(&*set);
        config.check()?;
        Ok(Nvme { config, ids, set, command_fifo: None })
    }

    /// The same controller, which presents commands by a memory-mapped FIFO (S35): the translation's core
    /// reads a register for each command that it takes, and writes one for each that it completes. `access`
    /// is the time of one of them; without it, there is no such FIFO.
    #[must_use]
    pub fn with_command_fifo(self, access: Option<Duration>) -> Self {
        Nvme { command_fifo: access, ..self }
    }
}

impl FrontEndPiece for Nvme {
    fn needs(&self) -> FrontEndNeeds {
        FrontEndNeeds {
            sram_bytes: self.config.sram_bytes(),
            command_slots: self.config.command_slots(),
            dma_requests: self.config.dma_requests,
            link_operations: self.config.link_operations(),
            operations: self.set.needs(),
            core: self.command_fifo.is_some(),
            packets: false,
        }
    }
    fn function(&self) -> FunctionSpec {
        function(self.ids, self.config.bar(), self.config.vectors)
    }
    fn completes_early(&self) -> bool {
        self.config.auto_completion
    }
    fn damaged_records(&self, saved: &NvramSlice) -> Vec<DamagedRecord> {
        let instead = "SMART's counters begin anew, and the block size is the profile's";
        let life = DamagedRecord { at: 0, what: "the record of the drive's life", instead };
        if PersistentState::is_damaged(saved) { vec![life] } else { Vec::new() }
    }
    fn start(self: Box<Self>, ports: FrontEndPorts) -> Result<Rc<dyn FrontEnd>, PieceError> {
        Ok(self.start_controller(ports)?)
    }
}

impl Nvme {
    /// Starts the controller behind `ports.link`.
    pub(crate) fn start_controller(self, ports: FrontEndPorts) -> Result<Rc<NvmeFrontEnd>, PieceError> {
        let FrontEndPorts { exec, core, link, commands, memory, saved, backlog, recorder, .. } = ports;
        let Nvme { mut config, set, command_fifo, .. } = self;
        let before = PersistentState::load(&saved);
        config.history = before.history;
        config.block_size = block_size(&config, before.block_size);
        let block_size = config.block_size;
        let front = NvmeFrontEnd::start(&exec, config, set, &link, &commands, &memory, &recorder)
            .map_err(|error| PieceError::new("host", error))?;
        if let Some(access) = command_fifo {
            let core = core.ok_or_else(|| PieceError::new("host.command_fifo", "needs a core"))?;
            let (on, recorder) = (core.clone(), recorder.clone());
            commands.behind_registers(core, move || {
                recorder.account(Function::NvmeManager, || on.stands(), || on.stall(access));
            });
        }
        if let Some(backlog) = backlog {
            front.pause_with(Some(backlog));
        }
        let kept = saved.clone();
        front.on_format(move |size| {
            PersistentState { block_size: Some(size), ..PersistentState::load(&kept) }.store(&kept);
        });
        // The block format stays the one that the drive was made with.
        PersistentState { history: front.history(), block_size: Some(block_size) }.store(&saved);
        front.on_history(move |history: &History| {
            PersistentState { history: *history, ..PersistentState::load(&saved) }.store(&saved);
        });
        Ok(front)
    }
}

/// The block format of a drive: the one that it was made with (`kept`), else the profile's. 512-byte
/// blocks need full content.
pub fn block_size(config: &HostIfConfig, kept: Option<BlockSize>) -> BlockSize {
    match kept {
        Some(kept) if config.offers_512 => kept,
        _ => config.block_size,
    }
}

impl FrontEnd for NvmeFrontEnd {
    fn read(&self, _bar: u8, offset: u32, size: u8) -> BarRead {
        BarRead::Now(self.mmio_read(offset, size))
    }
    fn write(&self, _bar: u8, offset: u32, size: u8, value: u64) {
        self.mmio_write(offset, size, value);
    }
    fn function_reset(&self) {
        NvmeFrontEnd::function_reset(self);
    }
    fn completed(&self) -> u64 {
        self.controller().completed()
    }
    fn commands_in_flight(&self) -> usize {
        self.controller().commands_in_flight()
    }
    fn commands_completed_early(&self) -> usize {
        self.controller().commands_completed_early()
    }
    fn functions(&self) -> Vec<Function> {
        if self.has_command_fifo() { vec![Function::NvmeManager] } else { Vec::new() }
    }
    fn media_changed(&self, media: MediaHealth) {
        self.set_media_health(media);
    }
    fn room_changed(&self) {
        self.look_at_room();
    }
    fn hold_nothing_back(&self) {
        self.pause_with(None);
        self.look_at_room();
    }
    fn power_off(&self) {
        self.tell_history();
    }
    fn nvme(&self) -> Option<&dyn NvmeView> {
        Some(self)
    }
}

impl NvmeView for NvmeFrontEnd {
    fn offer_doorbell_buffer(&self) {
        NvmeFrontEnd::offer_doorbell_buffer(self);
    }
    fn doorbell_buffer(&self) -> Option<DoorbellBuffer> {
        self.controller().doorbell_buffer()
    }
    fn doorbell_generation(&self) -> u32 {
        self.controller().doorbell_generation()
    }
    fn doorbells(&self) -> Vec<QueueDoorbell> {
        self.controller().doorbells().collect()
    }
    fn history(&self) -> History {
        NvmeFrontEnd::history(self)
    }
    fn set_statistics(&self, sample: &[u8]) {
        NvmeFrontEnd::set_statistics(self, sample);
    }
    fn take_trouble(&self) -> Option<HostTrouble> {
        NvmeFrontEnd::take_trouble(self)
    }
    fn excuse_host(&self) {
        NvmeFrontEnd::excuse_host(self);
    }
}
