use aster_parties::{BarRead, ReadTag};

/// Access to the controller's BAR0. The implementation belongs to the run mode: virtual time, vfio, a test.
pub trait Bar {
    /// Begins a read of `size` bytes (4 or 8) at `offset`, at the host's current time. If nothing responds,
    /// the answer is all ones.
    fn read(&mut self, offset: u32, size: u8) -> BarRead;
    /// Takes the answer of a read that was to be answered later, at the host's current time; `None` while
    /// there is none.
    fn take_read(&mut self, tag: ReadTag) -> Option<u64>;
    /// Writes the low `size` bytes (4 or 8) of `value` at `offset`: posted, in order.
    fn write(&mut self, offset: u32, size: u8, value: u64);
}
