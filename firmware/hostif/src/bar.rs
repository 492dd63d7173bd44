//! What lies where in BAR0 (NVMe 1.4 §3.1, PCIe 4.0 §7.7.2).

use aster_wire::nvme::registers::Doorbell;
use aster_wire::pcie::{MSIX_ENTRY_BYTES, MSIX_VECTORS_MAX, pba_bytes};

/// CAP.DSTRD: doorbells are four bytes apart.
pub(crate) const DOORBELL_STRIDE: u8 = 0;

/// MSI-X vectors that suit so many I/O queue pairs: one for each and one for the admin queue, or as many as
/// there can be. The host then shares them among completion queues.
pub const fn vectors_for(queue_pairs: u16) -> u16 {
    if queue_pairs < MSIX_VECTORS_MAX { queue_pairs + 1 } else { MSIX_VECTORS_MAX }
}

/// What lies where in BAR0: registers and doorbells, then the MSI-X table, then its pending bits. Each
/// begins on a page of its own, so that a host can map doorbells without the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarLayout {
    /// Bytes of BAR0, a power of two.
    pub bytes: u64,
    /// Where the MSI-X table begins.
    pub table: u32,
    /// Where the pending bits begin.
    pub pending: u32,
}

/// A host's page.
const PAGE_BYTES: u64 = 0x1000;

impl BarLayout {
    /// BAR0 of a controller with so many I/O queue pairs and MSI-X vectors.
    pub const fn of(queue_pairs: u16, vectors: u16) -> Self {
        let table = Doorbell::bar_bytes(queue_pairs, DOORBELL_STRIDE).next_multiple_of(PAGE_BYTES);
        let pending = (table + vectors as u64 * MSIX_ENTRY_BYTES as u64).next_multiple_of(PAGE_BYTES);
        let bytes = (pending + pba_bytes(vectors) as u64).next_power_of_two();
        BarLayout { bytes, table: table as u32, pending: pending as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::function;
    use aster_parties::PciIds;
    use aster_wire::nvme::registers::DoorbellKind;

    #[test]
    fn bar0_grows_with_pairs_and_vectors() {
        let cases = [
            // The profiles that come with Aster.
            (1, 0x4000, 0x2000, 0x3000),
            (64, 0x4000, 0x2000, 0x3000),
            (65, 0x4000, 0x2000, 0x3000),
            // The last with its doorbells in one page, and the first with two.
            (511, 0x8000, 0x2000, 0x4000),
            (512, 0x8000, 0x3000, 0x6000),
            (1_000, 0x8000, 0x3000, 0x7000),
            (u16::MAX, 0x10_0000, 0x8_1000, 0x8_9000),
        ];
        for (pairs, bytes, table, pending) in cases {
            let vectors = vectors_for(pairs);
            assert_eq!(BarLayout::of(pairs, vectors), BarLayout { bytes, table, pending }, "{pairs} pairs");
        }
    }

    #[test]
    fn nothing_overlaps_and_the_bar_holds_it() {
        for pairs in (1..=u16::MAX).step_by(97).chain([u16::MAX]) {
            for vectors in [1, 2, 256, 257, 513, 1_025, MSIX_VECTORS_MAX] {
                let BarLayout { bytes, table, pending } = BarLayout::of(pairs, vectors);
                let last = Doorbell { queue: pairs, kind: DoorbellKind::CompletionHead };
                assert!(last.offset(DOORBELL_STRIDE) + 4 <= table.into(), "{pairs} pairs");
                assert!(table + u32::from(vectors) * 16 <= pending, "{vectors} vectors");
                assert!(pending + u32::from(vectors).div_ceil(64) * 8 <= bytes as u32, "{vectors} vectors");
                let spec = function(
                    PciIds { vendor: 1, device: 1, subsystem_vendor: 1, subsystem: 1, revision: 0 },
                    BarLayout { bytes, table, pending },
                    vectors,
                );
                assert_eq!(spec.check(), Ok(()), "{pairs} pairs, {vectors} vectors");
            }
        }
    }
}
