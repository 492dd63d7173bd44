//! The drive's temperature, as its register tells it (H4).

use alloc::boxed::Box;
use aster_parties::DriveFunction;
use aster_wire::array::registers;
use core::cell::{Cell, RefCell};

/// What the register reads of a drive that doesn't answer.
const NO_ANSWER: u32 = u32::MAX;

/// Gets the temperature in kelvins.
pub(crate) type TemperatureWatcher = Box<dyn Fn(u16)>;

/// The temperature that was read last, and who wants to know.
#[derive(Default)]
pub(super) struct Thermometer {
    /// `None` before the first reading.
    kelvins: Cell<Option<u16>>,
    watcher: RefCell<Option<TemperatureWatcher>>,
}

impl Thermometer {
    /// Reads the register.
    pub fn read(&self, function: &dyn DriveFunction) {
        let word = function.bar_read(0, registers::TEMPERATURE, 4) as u32;
        if word != NO_ANSWER {
            self.kelvins.set(Some(word as u16));
            self.tell();
        }
    }
    /// Calls `watcher` at each reading, and now if there was one. It replaces the watcher before.
    pub fn watch(&self, watcher: TemperatureWatcher) {
        *self.watcher.borrow_mut() = Some(watcher);
        self.tell();
    }
    fn tell(&self) {
        if let (Some(kelvins), Some(watcher)) = (self.kelvins.get(), &*self.watcher.borrow()) {
            watcher(kelvins);
        }
    }
}
