//! What a drive that is served tells its debug console: counts and latencies by phase, queues, the map,
//! garbage collection (S27).

mod heard;
mod text;

use aster_device::Device;
use heard::Heard;
use std::cell::RefCell;
use std::rc::Rc;

/// Listens to a drive, and says what it has heard beside what the drive counts by itself. Texts are ASCII, as
/// a serial line carries them, with a line end after each line.
pub struct Audit(Rc<RefCell<Heard>>);

impl Audit {
    /// Listens to `device` from now on, beside existing listeners. Before its first instant it hears
    /// everything.
    pub fn listen(device: &Device) -> Self {
        let heard = Rc::new(RefCell::new(Heard::new(device.geometry())));
        device.listen(Rc::clone(&heard));
        Audit(heard)
    }
    /// Counts and latencies by phase.
    pub fn report(&self, device: &Device) -> String {
        text::report(&self.0.borrow(), device)
    }
    /// The queues, and what is under way.
    pub fn queues(&self, device: &Device) -> String {
        text::queues(&self.0.borrow(), device)
    }
    /// Where logical pages are.
    pub fn map(&self, device: &Device) -> String {
        text::map(&self.0.borrow(), device)
    }
    /// Free blocks, and what collecting garbage took.
    pub fn gc(&self, device: &Device) -> String {
        text::gc(&self.0.borrow(), device)
    }
}

#[cfg(test)]
mod tests;
