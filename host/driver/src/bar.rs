/// Access to the controller's BAR0. The implementation belongs to the run mode: virtual time, vfio, a test.
pub trait Bar {
    /// Reads `size` bytes (4 or 8) at `offset`, at the host's current time. If nothing responds, it returns
    /// all ones.
    fn read(&mut self, offset: u32, size: u8) -> u64;
    /// Writes the low `size` bytes (4 or 8) of `value` at `offset`: posted, in order.
    fn write(&mut self, offset: u32, size: u8, value: u64);
}
