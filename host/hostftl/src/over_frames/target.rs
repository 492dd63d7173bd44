//! A translation as the target of a drive that takes frames.

use super::flash::{Bell, FlashOverFrames, Served};
use super::places::{Layout, Places, SECTOR_OOB};
use crate::driver::ArrayDriver;
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use aster_events::Function;
use aster_parties::{
    DriveState, MediaState, NvramSlice, PieceError, PreferredWrites, Promises, TargetMemory, TargetNeeds,
    TargetPiece, TargetPorts, TargetView, Translation, TranslationPorts, TranslationStats, TranslationView,
};
use aster_ports::cores::Interrupt;
use aster_ports::flash::FlashPort;
use aster_ports::link::HostMemory;
use aster_ports::medium::Nvram;
use aster_units::{Duration, Geometry, Lpn, Ppa};
use core::cell::RefCell;

/// A translation before it runs on the host. What it would keep in NVRAM is lost with the host's power: each
/// power-on is recovery from the flash alone (record 8).
pub struct TranslationTarget {
    translation: Box<dyn Translation>,
    geometry: Geometry,
    oob_bytes: u8,
}

impl TranslationTarget {
    /// `translation`, which counts rows as those of an array of this geometry and writes `oob_bytes` beside
    /// each page.
    ///
    /// # Errors
    /// When these are more than a sector has room for, since each sector of a page has all of them.
    pub fn new(
        translation: Box<dyn Translation>,
        geometry: Geometry,
        oob_bytes: u8,
    ) -> Result<Self, PieceError> {
        if usize::from(oob_bytes) > SECTOR_OOB {
            let reason = format!(
                "must be 0 for an FTL on the host: a page's record may have {SECTOR_OOB} bytes, but has \
                 {oob_bytes}"
            );
            return Err(PieceError::new("ftl.mapping_unit_bytes", reason));
        }
        Ok(TranslationTarget { translation, geometry, oob_bytes })
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
        let TranslationTarget { translation, geometry, .. } = *self;
        let needs = translation.needs();
        // A host's memory: it is empty after each power-on, which is recovery from the flash alone.
        let volatile = Nvram::volatile(needs.nvram_bytes);
        let nvram = NvramSlice::new(&volatile, 0, needs.nvram_bytes);
        let layout = Layout::new(&geometry);
        let memory = Rc::new(RefCell::new(TargetMemory::new(layout.bytes(), &buffers)));
        let driver = ArrayDriver::new(&core, function, Rc::clone(&memory), Layout::DRIVER);
        let notice = Interrupt { latency: Duration::ZERO };
        let port = FlashPort::new(core.exec(), geometry.total_luns(), needs.flash_requests, notice);
        let bell = Bell::attach(core.exec(), &port);
        let inner = translation.start(TranslationPorts {
            core: core.clone(),
            commands,
            command_slots,
            completes_early: false,
            flash: Rc::clone(&port),
            buffers: buffers.clone(),
            nvram,
            recorder,
        })?;
        let running = Rc::new(Running { inner, driver, memory, error: RefCell::new(None) });
        let (up, its_core) = (Rc::clone(&running), core.clone());
        core.spawn(async move {
            let places = match up.driver.bring_up().await.map_err(|error| error.to_string()) {
                Ok(info) => Places::of(geometry, &info)
                    .map_err(|what| format!("the drive reports other {what} than its profile has")),
                Err(error) => Err(error),
            };
            let failed = match places {
                Ok(places) => {
                    let (driver, memory) = (Rc::clone(&up.driver), Rc::clone(&up.memory));
                    let served = Served { driver, memory, buffers, port, layout, places, bell };
                    let serves = FlashOverFrames::serve(&its_core, served).await;
                    (!serves).then(|| "the drive doesn't report the states of its blocks".to_string())
                }
                Err(error) => Some(error),
            };
            *up.error.borrow_mut() = failed;
        });
        Ok(running)
    }
}

/// A translation at work on the host, and the driver of its drive.
struct Running {
    inner: Rc<dyn TranslationView>,
    driver: Rc<ArrayDriver>,
    memory: Rc<RefCell<TargetMemory>>,
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
        let of_drive = self.driver.fault().map(|fault| fault.to_string());
        of_drive.or_else(|| self.error.borrow().clone()).or_else(|| self.inner.boot_error())
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
    fn functions(&self) -> Vec<Function> {
        self.inner.functions()
    }
}

impl TargetView for Running {
    fn interrupt(&self, _address: u64, data: u32) {
        self.driver.interrupt(data);
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &*self.memory
    }
}
