//! The driver of a message unit, as what carries flash requests.

use super::blocks;
use super::flash::{FlashOverFrames, Served};
use super::places::{Layout, Places};
use crate::target::{Carrier, Connection, Wiring};
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use aster_hostftl::driver::ArrayDriver;
use aster_parties::{PieceError, TargetMemory};
use aster_ports::link::HostMemory;
use core::cell::RefCell;

/// Connects a port to a drive that takes command frames.
///
/// # Errors
/// None.
pub fn connect(wiring: Wiring) -> Result<Connection, PieceError> {
    let layout = Layout::new(&wiring.geometry);
    let memory = Rc::new(RefCell::new(TargetMemory::new(layout.bytes(), &wiring.buffers)));
    let function = Rc::clone(&wiring.function);
    let driver = ArrayDriver::new(&wiring.core, function, Rc::clone(&memory), Layout::DRIVER);
    let carrier = Rc::new(Frames { driver: Rc::clone(&driver), memory: Rc::clone(&memory) });
    let brings_up = Box::pin(async move {
        let info = driver.bring_up().await.map_err(|error| error.to_string())?;
        let places = Places::of(wiring.geometry, &info)
            .map_err(|what| format!("the drive reports other {what} than its profile has"))?;
        let bad = blocks::ask(&driver, &memory, &places, &layout).await;
        let bad = bad.ok_or("the drive doesn't report the states of its blocks")?;
        FlashOverFrames::serve(Served { wiring, driver, memory, layout, places, bad });
        Ok(())
    });
    Ok(Connection { carrier, brings_up })
}

struct Frames {
    driver: Rc<ArrayDriver>,
    memory: Rc<RefCell<TargetMemory>>,
}

impl Carrier for Frames {
    fn interrupt(&self, _address: u64, data: u32) {
        if let Some(stopped) = self.driver.interrupt(data) {
            self.driver.fail(stopped);
        }
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &*self.memory
    }
    fn fault(&self) -> Option<String> {
        self.driver.fault().map(|fault| fault.to_string())
    }
}
