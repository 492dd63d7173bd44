//! The MSI-X table and its pending bits, in a BAR (PCIe 4.0 §7.7.2).

use alloc::vec;
use alloc::vec::Vec;
use aster_wire::pcie::{MSIX_ENTRY_BYTES, MsixEntry, pba_word_and_bit};
use zerocopy::IntoBytes;

/// The pages that contain the structures contain nothing else (PCIe 4.0 §7.7.2).
const PAGE_BITS: u32 = 12;
/// Vector control in an entry of the table; bit 0 masks (PCIe 4.0 §7.7.2.8).
const VECTOR_CONTROL: u32 = 12;

/// Table and pending bits.
pub(crate) struct MsixTable {
    bar: u8,
    /// Where the table and the pending bits begin.
    table_at: u32,
    pending_at: u32,
    table: Vec<MsixEntry>,
    pending: Vec<u64>,
    /// Where the first page with a structure begins. Most accesses are below it.
    claimed_from: u32,
}

impl MsixTable {
    /// The state after reset: all vectors masked, nothing pending.
    pub(crate) fn new(vectors: u16, bar: u8, table_at: u32, pending_at: u32) -> Self {
        MsixTable {
            bar,
            table_at,
            pending_at,
            table: vec![MsixEntry::default(); usize::from(vectors)],
            pending: vec![0; usize::from(vectors).div_ceil(64)],
            claimed_from: table_at.min(pending_at) >> PAGE_BITS << PAGE_BITS,
        }
    }
    pub(crate) fn reset(&mut self) {
        self.table.fill(MsixEntry::default());
        self.pending.fill(0);
    }

    /// Whether an access is to a page of the table or of the pending bits.
    #[inline]
    pub(crate) fn claims(&self, bar: u8, offset: u32) -> bool {
        offset >= self.claimed_from && bar == self.bar && self.has_in_page_of(offset)
    }
    fn has_in_page_of(&self, offset: u32) -> bool {
        let page = offset >> PAGE_BITS;
        let within = |begin: u32, bytes: usize| {
            page >= begin >> PAGE_BITS && page <= (begin + bytes as u32 - 1) >> PAGE_BITS
        };
        within(self.table_at, self.table.len() * MSIX_ENTRY_BYTES)
            || within(self.pending_at, self.pending.len() * size_of::<u64>())
    }
    /// Reads `size` bytes at a claimed offset. Bytes outside the structures are zero.
    pub(crate) fn read(&self, offset: u32, size: u8) -> u64 {
        let mut value = [0u8; 8];
        for (byte, at) in value[..usize::from(size.clamp(1, 8))].iter_mut().zip(offset..) {
            let in_table = at.checked_sub(self.table_at).map(|at| at as usize);
            let in_pending = at.checked_sub(self.pending_at).map(|at| at as usize);
            let found = in_table.and_then(|at| self.table.as_bytes().get(at));
            *byte = found.or_else(|| self.pending.as_bytes().get(in_pending?)).copied().unwrap_or(0);
        }
        u64::from_le_bytes(value)
    }
    /// Writes at a claimed offset. Pending bits are read-only.
    pub(crate) fn write(&mut self, offset: u32, size: u8, value: u64) {
        let Some(at) = offset.checked_sub(self.table_at).map(|at| at as usize) else { return };
        let size = usize::from(size.clamp(1, 8));
        if let Some(bytes) = self.table.as_mut_bytes().get_mut(at..at + size) {
            bytes.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }

    /// The message of `vector`, as (address, data), if neither the vector nor the function is masked.
    /// Otherwise sets the vector's pending bit.
    pub(crate) fn message(&mut self, vector: u16, function_mask: bool) -> Option<(u64, u32)> {
        let entry = self.table.get(usize::from(vector))?;
        if function_mask || entry.is_masked() {
            let (word, bit) = pba_word_and_bit(vector);
            self.pending[word] |= 1 << bit;
            return None;
        }
        Some((entry.address.get(), entry.data.get()))
    }
    /// Masks or unmasks a vector, if it exists.
    pub(crate) fn set_mask(&mut self, vector: u16, masked: bool) {
        let offset = self.table_at + u32::from(vector) * MSIX_ENTRY_BYTES as u32 + VECTOR_CONTROL;
        self.write(offset, 4, masked.into());
    }
    /// Takes a vector whose message is pending and not masked. It isn't pending any more.
    pub(crate) fn release(&mut self) -> Option<u16> {
        let vector = (0..self.table.len() as u16).find(|&vector| {
            let (word, bit) = pba_word_and_bit(vector);
            self.pending[word] >> bit & 1 == 1 && !self.table[usize::from(vector)].is_masked()
        })?;
        let (word, bit) = pba_word_and_bit(vector);
        self.pending[word] &= !(1 << bit);
        Some(vector)
    }
}
