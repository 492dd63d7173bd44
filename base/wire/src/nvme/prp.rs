//! Physical region pages: how a command names host memory (NVMe 1.4 §4.3).
//!
//! [`PrpWalk`] is sans-I/O: it says which memory comes next and which list page it needs; the caller does
//! the DMA. [`PrpShape`] is for the driver's side: how many entries a transfer needs and what goes into
//! PRP2.

use core::fmt;

/// Bytes of one PRP entry.
pub const PRP_ENTRY_BYTES: usize = 8;

/// A memory page size: a power of two from 4 KiB to 128 MiB, as CC.MPS encodes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PageSize {
    log2: u8,
}

impl PageSize {
    /// 4 KiB, the smallest and the usual one.
    pub const FOUR_KIB: PageSize = PageSize { log2: 12 };
    /// The size that CC.MPS encodes: `2^(12 + mps)` bytes. Asserts that `mps` fits its four bits.
    pub const fn from_mps(mps: u8) -> Self {
        assert!(mps < 16, "MPS has 4 bits");
        PageSize { log2: 12 + mps }
    }
    /// Bytes.
    #[inline]
    pub const fn bytes(self) -> u64 {
        1 << self.log2
    }
    /// The offset of an address in its page.
    #[inline]
    pub const fn offset(self, address: u64) -> u64 {
        address & (self.bytes() - 1)
    }
    /// PRP entries in a page.
    #[inline]
    pub const fn entries(self) -> u64 {
        self.bytes() / PRP_ENTRY_BYTES as u64
    }
}

/// A PRP entry: page base and offset (NVMe 1.4 §4.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PrpEntry(pub u64);

impl PrpEntry {
    /// The page's address.
    pub const fn base(self, page: PageSize) -> u64 {
        self.0 & !(page.bytes() - 1)
    }
    /// The offset in the page.
    #[inline]
    pub const fn offset(self, page: PageSize) -> u64 {
        page.offset(self.0)
    }
    /// Bytes from the entry's position to its page's end.
    #[inline]
    pub const fn bytes_left(self, page: PageSize) -> u64 {
        page.bytes() - self.offset(page)
    }
}

impl fmt::Debug for PrpEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrpEntry({:#x})", self.0)
    }
}

/// What is wrong with a command's PRPs. Every one is status PRP Offset Invalid (NVMe 1.4 §4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrpError {
    /// PRP1's offset is not a multiple of 4.
    UnalignedPrp1(PrpEntry),
    /// PRP2 names the second page and has an offset.
    OffsetInPrp2(PrpEntry),
    /// PRP2 points to a list and is not a multiple of 8.
    UnalignedList(PrpEntry),
    /// A list entry that names a page has an offset.
    OffsetInList {
        /// The entry.
        entry: PrpEntry,
        /// Its index in the list page.
        index: u32,
    },
    /// A list's last entry, which points to the next list page, has an offset.
    OffsetInChain(PrpEntry),
}

impl fmt::Display for PrpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrpError::UnalignedPrp1(e) => write!(f, "PRP1 {:#x} is not a multiple of 4", e.0),
            PrpError::OffsetInPrp2(e) => write!(f, "PRP2 {:#x} is not at the start of a page", e.0),
            PrpError::UnalignedList(e) => write!(f, "the PRP list pointer {:#x} is not a multiple of 8", e.0),
            PrpError::OffsetInList { entry, index } => {
                write!(f, "entry {index} of a PRP list, {:#x}, is not at the start of a page", entry.0)
            }
            PrpError::OffsetInChain(e) => {
                write!(f, "the pointer to the next PRP list page, {:#x}, is not at the start of a page", e.0)
            }
        }
    }
}

impl core::error::Error for PrpError {}

/// A run of host memory inside one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// First byte's address.
    pub address: u64,
    /// Length; never 0.
    pub bytes: u32,
}

/// The next step of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrpStep {
    /// The next memory of the transfer, in order.
    Segment(Segment),
    /// Read `entries` PRP entries at `address` and pass their bytes to the following calls.
    NeedList {
        /// Where the list page's entries begin: a multiple of 8.
        address: u64,
        /// How many: as many as the transfer needs, or up to the page's end; never 0.
        entries: u32,
    },
    /// The walk has named every byte.
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Position {
    /// PRP1 comes next.
    Prp1,
    /// PRP2 comes next.
    Prp2,
    /// The walk has asked for a list. Entry `index` of `entries` comes next.
    List { index: u32, entries: u32 },
}

/// Walks the PRPs of one command (NVMe 1.4 §4.3).
///
/// Call [`PrpWalk::step`] until it returns [`PrpStep::Done`]. Pass an empty list at first. After
/// [`PrpStep::NeedList`], pass the bytes that were read, until the next `NeedList`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrpWalk {
    prp1: PrpEntry,
    prp2: PrpEntry,
    page: PageSize,
    left: u64,
    position: Position,
}

impl PrpWalk {
    /// A walk over `bytes` bytes that begin at `prp1`.
    ///
    /// # Errors
    /// [`PrpError::UnalignedPrp1`].
    pub fn new(prp1: u64, prp2: u64, bytes: u64, page: PageSize) -> Result<Self, PrpError> {
        let prp1 = PrpEntry(prp1);
        if bytes > 0 && !prp1.0.is_multiple_of(4) {
            return Err(PrpError::UnalignedPrp1(prp1));
        }
        Ok(PrpWalk { prp1, prp2: PrpEntry(prp2), page, left: bytes, position: Position::Prp1 })
    }

    /// Bytes not named yet.
    pub const fn bytes_left(&self) -> u64 {
        self.left
    }

    /// The next step. `list` holds the entries that the last [`PrpStep::NeedList`] asked for,
    /// little-endian. Asserts their number.
    ///
    /// # Errors
    /// If the next entry is wrong. The walk then stays where it is.
    #[inline]
    pub fn step(&mut self, list: &[u8]) -> Result<PrpStep, PrpError> {
        if self.left == 0 {
            return Ok(PrpStep::Done);
        }
        match self.position {
            Position::Prp1 => {
                self.position = Position::Prp2;
                Ok(self.take(self.prp1))
            }
            Position::Prp2 if self.left <= self.page.bytes() => {
                if self.prp2.offset(self.page) != 0 {
                    return Err(PrpError::OffsetInPrp2(self.prp2));
                }
                Ok(self.take(self.prp2))
            }
            Position::Prp2 => {
                if !self.prp2.0.is_multiple_of(PRP_ENTRY_BYTES as u64) {
                    return Err(PrpError::UnalignedList(self.prp2));
                }
                Ok(self.need_list(self.prp2))
            }
            Position::List { index, entries } => self.step_list(list, index, entries),
        }
    }

    #[inline]
    fn step_list(&mut self, list: &[u8], index: u32, entries: u32) -> Result<PrpStep, PrpError> {
        let entry = list_entry(list, index);
        let pages_left = self.left.div_ceil(self.page.bytes());
        // The last entry of a full list page points to the next one when more than one page is left (§4.3).
        if index + 1 == entries && pages_left > 1 {
            if entry.offset(self.page) != 0 {
                return Err(PrpError::OffsetInChain(entry));
            }
            return Ok(self.need_list(entry));
        }
        if entry.offset(self.page) != 0 {
            return Err(PrpError::OffsetInList { entry, index });
        }
        self.position = Position::List { index: index + 1, entries };
        Ok(self.take(entry))
    }

    /// Takes the list entries that come next and name a whole page each, and puts their addresses into
    /// `into`. Returns how many. [`PrpWalk::step`] would return the same pages one by one; what else there
    /// is, and whatever is wrong, is left to it.
    #[inline]
    pub fn take_whole_pages(&mut self, list: &[u8], into: &mut [u64]) -> usize {
        let Position::List { index, entries } = self.position else { return 0 };
        // The list's last entry may point to the next list page.
        let before_last = (entries - 1).saturating_sub(index) as usize;
        let whole = usize::try_from(self.left / self.page.bytes()).unwrap_or(usize::MAX);
        let count = before_last.min(whole).min(into.len());
        let from = index as usize * PRP_ENTRY_BYTES;
        let Some(bytes) = list.get(from..from + count * PRP_ENTRY_BYTES) else { return 0 };
        let mut all = 0;
        for (address, bytes) in into.iter_mut().zip(bytes.as_chunks().0) {
            *address = u64::from_le_bytes(*bytes);
            all |= *address;
        }
        if self.page.offset(all) != 0 {
            return 0;
        }
        self.position = Position::List { index: index + count as u32, entries };
        self.left -= count as u64 * self.page.bytes();
        count
    }

    #[inline]
    fn take(&mut self, entry: PrpEntry) -> PrpStep {
        let bytes = entry.bytes_left(self.page).min(self.left);
        self.left -= bytes;
        PrpStep::Segment(Segment { address: entry.0, bytes: bytes as u32 })
    }

    fn need_list(&mut self, pointer: PrpEntry) -> PrpStep {
        let room = pointer.bytes_left(self.page) / PRP_ENTRY_BYTES as u64;
        let entries = self.left.div_ceil(self.page.bytes()).min(room) as u32;
        self.position = Position::List { index: 0, entries };
        PrpStep::NeedList { address: pointer.0, entries }
    }
}

fn list_entry(list: &[u8], index: u32) -> PrpEntry {
    let at = index as usize * PRP_ENTRY_BYTES;
    let bytes = list.get(at..at + PRP_ENTRY_BYTES).expect("the list that the walk asked for");
    PrpEntry(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
}

/// The shape of a transfer's PRPs, which depends on where it begins (NVMe 1.4 §4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrpShape {
    /// No data: both entries are 0.
    None,
    /// PRP1 alone.
    One,
    /// PRP1 and PRP2 each name a page.
    Two,
    /// PRP1 names a page, PRP2 points to a list.
    List {
        /// Pages that the list names, without pointers to further list pages.
        data_entries: u64,
        /// List pages, if the list begins at a page's start.
        list_pages: u64,
    },
}

impl PrpShape {
    /// The shape of a transfer of `bytes` bytes that begins `offset` bytes into a page.
    pub const fn of(offset: u64, bytes: u64, page: PageSize) -> Self {
        match prp_entries(offset, bytes, page) {
            0 => PrpShape::None,
            1 => PrpShape::One,
            2 => PrpShape::Two,
            entries => {
                let data_entries = entries - 1;
                let fits = page.entries();
                // A full page holds `fits - 1` pages and a pointer; the last one has no pointer.
                let list_pages = if data_entries <= fits { 1 } else { (data_entries - 1).div_ceil(fits - 1) };
                PrpShape::List { data_entries, list_pages }
            }
        }
    }
}

/// The PRP entries that a transfer needs: the number of pages it touches, with `bytes` bytes from
/// `offset` bytes into a page on.
pub const fn prp_entries(offset: u64, bytes: u64, page: PageSize) -> u64 {
    if bytes == 0 { 0 } else { (page.offset(offset) + bytes).div_ceil(page.bytes()) }
}

#[cfg(test)]
mod tests;
