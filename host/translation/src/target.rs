//! A translation as the target of a drive.

use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use aster_events::{Event, Function, Recorder};
use aster_exec::{Core, Exec, Handler, WaitCell};
use aster_parties::{
    DriveFunction, DriveState, MediaState, NvramSlice, PieceError, PreferredWrites, Promises, TargetNeeds,
    TargetPiece, TargetPorts, TargetView, Translation, TranslationPorts, TranslationStats, TranslationView,
};
use aster_ports::cores::Interrupt;
use aster_ports::dram::SharedDram;
use aster_ports::flash::{FlashOp, FlashPort, FlashRequest, Outcome, Tag, Target};
use aster_ports::link::HostMemory;
use aster_ports::medium::Nvram;
use aster_units::{Duration, Geometry, Lpn, LunIndex, Ppa};
use aster_wire::ocssd::METADATA_BYTES;
use core::cell::RefCell;
use core::pin::Pin;

/// OOB bytes beside each sector.
pub(crate) const SECTOR_OOB: usize = METADATA_BYTES as usize;

/// The driver of a drive that carries flash requests.
pub trait Carrier {
    /// The drive's message: `data` is written to `address`.
    fn interrupt(&self, address: u64, data: u32);
    /// The memory that the drive's DMA reaches.
    fn memory(&self) -> &RefCell<dyn HostMemory>;
    /// Why the drive can't be worked with any more.
    fn fault(&self) -> Option<String>;
}

/// A driver, and the bringing up of its drive: it serves the port from its end on.
pub struct Connection {
    /// The driver.
    pub carrier: Rc<dyn Carrier>,
    /// Ends when the port is served, or with the reason why it can't be.
    pub brings_up: Pin<Box<dyn Future<Output = Result<(), String>>>>,
}

/// What a port is connected with.
pub struct Wiring {
    /// The core for the tasks that serve it.
    pub core: Core,
    /// The drive.
    pub function: Rc<dyn DriveFunction>,
    /// The array, as the translation counts it.
    pub geometry: Geometry,
    /// The translation's port.
    pub port: Rc<FlashPort>,
    /// The buffers that its requests name.
    pub buffers: SharedDram,
    /// Where events go.
    pub recorder: Recorder,
    pub(crate) bell: Rc<Bell>,
}

impl Wiring {
    /// A target of a request is sent to the drive, as a flash scheduler would issue it.
    pub(crate) fn issued(&self, lun: LunIndex, phase: FlashOp, target: &Target) {
        let (lun, kind, row) = (lun.0, phase.class(), target.row.0);
        self.recorder.emit(self.core.exec().now(), || Event::FlashIssued { lun, kind, row });
    }
    /// It has ended.
    pub(crate) fn ended(&self, lun: LunIndex, phase: FlashOp, target: &Target, outcome: &Outcome) {
        let (lun, kind, row) = (lun.0, phase.class(), target.row.0);
        let (status, corrected) = (outcome.status.code(), outcome.corrected);
        let ended = || Event::FlashFinished { lun, kind, row, status, corrected };
        self.recorder.emit(self.core.exec().now(), ended);
    }
    /// Waits for a request, and takes it.
    pub(crate) async fn next(&self) -> (Tag, FlashRequest) {
        self.bell.dispatcher.wait(self.core.exec(), || self.port.try_collect()).await
    }
}

/// Connects a port to a drive of some kind.
pub type Connect = Box<dyn FnOnce(Wiring) -> Result<Connection, PieceError>>;

/// The handler that a port tells of requests: it wakes the dispatcher, if there is one already.
pub(crate) struct Bell {
    exec: Exec,
    dispatcher: WaitCell,
}

impl Bell {
    fn attach(exec: &Exec, port: &FlashPort) -> Rc<Self> {
        let bell = Rc::new(Bell { exec: exec.clone(), dispatcher: WaitCell::default() });
        port.collect(exec.register(bell.clone()));
        bell
    }
}

impl Handler for Bell {
    fn fire(&self, _: u64) {
        self.dispatcher.wake(&self.exec);
    }
}

/// A translation before it runs on the host. What it would keep in NVRAM is lost with the host's power: each
/// power-on is recovery from the flash alone (record 8).
pub struct TranslationTarget {
    translation: Box<dyn Translation>,
    geometry: Geometry,
    oob_bytes: u8,
    connect: Connect,
}

impl TranslationTarget {
    /// `translation`, which counts rows as those of an array of this geometry and writes `oob_bytes` beside
    /// each page, over a drive that `connect` reaches.
    ///
    /// # Errors
    /// When these are more than a sector has room for, since each sector of a page has all of them.
    pub fn new(
        translation: Box<dyn Translation>,
        geometry: Geometry,
        oob_bytes: u8,
        connect: Connect,
    ) -> Result<Self, PieceError> {
        if usize::from(oob_bytes) > SECTOR_OOB {
            let reason = format!(
                "must be 0 for an FTL on the host: a page's record may have {SECTOR_OOB} bytes, but has \
                 {oob_bytes}"
            );
            return Err(PieceError::new("ftl.mapping_unit_bytes", reason));
        }
        Ok(TranslationTarget { translation, geometry, oob_bytes, connect })
    }
}

impl TargetPiece for TranslationTarget {
    fn needs(&self) -> TargetNeeds {
        let needs = self.translation.needs();
        TargetNeeds {
            data_buffers: needs.data_buffers,
            metadata_buffers: needs.metadata_buffers,
            oob_bytes: self.oob_bytes,
            nvram_bytes: 0,
        }
    }
    fn capacity_bytes(&self) -> u64 {
        self.translation.capacity_bytes()
    }
    fn preferred_writes(&self) -> Option<PreferredWrites> {
        self.translation.preferred_writes()
    }
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError> {
        let TargetPorts { core, commands, command_slots, buffers, function, recorder, .. } = ports;
        let TranslationTarget { translation, geometry, connect, .. } = *self;
        let needs = translation.needs();
        // A host's memory: it is empty after each power-on, which is recovery from the flash alone.
        let volatile = Nvram::volatile(needs.nvram_bytes);
        let nvram = NvramSlice::new(&volatile, 0, needs.nvram_bytes);
        let notice = Interrupt { latency: Duration::ZERO };
        let port = FlashPort::new(core.exec(), geometry.total_luns(), needs.flash_requests, notice);
        let bell = Bell::attach(core.exec(), &port);
        let wiring = Wiring {
            core: core.clone(),
            function,
            geometry,
            port: Rc::clone(&port),
            buffers: buffers.clone(),
            recorder: recorder.clone(),
            bell,
        };
        let Connection { carrier, brings_up } = connect(wiring)?;
        let inner = translation.start(TranslationPorts {
            core: core.clone(),
            commands,
            command_slots,
            completes_early: false,
            flash: port,
            buffers,
            nvram,
            emmc: None,
            prefill: None,
            recorder,
        })?;
        let running = Rc::new(Running { inner, carrier, error: RefCell::new(None) });
        let up = Rc::clone(&running);
        core.spawn(async move { *up.error.borrow_mut() = brings_up.await.err() });
        Ok(running)
    }
}

/// A translation at work on the host, and the driver of its drive.
struct Running {
    inner: Rc<dyn TranslationView>,
    carrier: Rc<dyn Carrier>,
    /// Why the drive can't be worked with.
    error: RefCell<Option<String>>,
}

impl TranslationView for Running {
    fn state(&self) -> DriveState {
        match self.boot_error() {
            Some(_) => DriveState::Failed,
            None => self.inner.state(),
        }
    }
    fn boot_error(&self) -> Option<String> {
        let of_drive = self.carrier.fault().or_else(|| self.error.borrow().clone());
        of_drive.or_else(|| self.inner.boot_error())
    }
    fn stats(&self) -> TranslationStats {
        TranslationStats { state: self.state(), ..self.inner.stats() }
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.inner.counters(each);
    }
    fn promises(&self) -> Promises {
        self.inner.promises()
    }
    fn watch_media(&self, watcher: Box<dyn Fn(MediaState)>) {
        self.inner.watch_media(watcher);
    }
    fn location_of(&self, page: Lpn) -> Option<Ppa> {
        self.inner.location_of(page)
    }
    fn write_buffer(&self) -> &'static str {
        "the data buffer of the FTL on the host (ftl.buffer_entries)"
    }
    fn functions(&self) -> Vec<Function> {
        self.inner.functions()
    }
}

impl TargetView for Running {
    fn interrupt(&self, address: u64, data: u32) {
        self.carrier.interrupt(address, data);
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        self.carrier.memory()
    }
}
