/// The namespace that the driver uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Namespace {
    /// Its identifier.
    pub id: u32,
    /// Its size in logical blocks; 0 for an open-channel drive, whose sectors are addressed by vectors alone.
    pub blocks: u64,
    /// Bytes of a logical block: a power of two from 512 to 4,096.
    pub block_bytes: u32,
    /// The LBA format it has, of those that the controller lists.
    pub lba_format: u8,
}

impl Namespace {
    pub(crate) const NONE: Namespace = Namespace { id: 0, blocks: 0, block_bytes: 512, lba_format: 0 };

    /// Its size in bytes.
    pub const fn bytes(&self) -> u64 {
        self.blocks * self.block_bytes as u64
    }
}
