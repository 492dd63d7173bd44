//! Choices drawn from bytes.

/// Bytes that are taken from the front. When they are used up, every choice is zero.
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }
    /// True when nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The next bytes.
    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        let (front, rest) = self.0.split_at(N.min(self.0.len()));
        taken[..front.len()].copy_from_slice(front);
        self.0 = rest;
        taken
    }
    /// The next `count` bytes, or fewer if they run out.
    pub(super) fn take(&mut self, count: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        front
    }
    pub(super) fn u8(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }
    pub(super) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }
    pub(super) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }
    /// A number below `bound`, which is at most 65,536.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        if bound <= 256 {
            u32::from(self.u8()) % bound
        } else {
            u32::from(u16::from_le_bytes(self.bytes())) % bound
        }
    }
    /// One of these.
    pub(super) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }
}
