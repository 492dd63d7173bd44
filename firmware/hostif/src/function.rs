//! The PCIe function of an NVMe controller (NVMe 1.4 §2).

use alloc::vec;
use aster_parties::{BarSpec, FunctionSpec, Interrupts, PciIds};
use aster_wire::pcie::{BarKind, ClassCode};

/// Size of BAR0: registers and doorbells, then the MSI-X table and its pending bits.
pub const BAR0_BYTES: u64 = 0x4000;
/// Where the MSI-X table begins in BAR0: after the doorbells of 64 queue pairs.
pub const MSIX_TABLE_OFFSET: u32 = 0x2000;
/// Where the pending bits begin in BAR0.
const MSIX_PENDING_OFFSET: u32 = 0x3000;

/// The PCIe function of a controller with `vectors` interrupt vectors.
pub(crate) fn function(ids: PciIds, vectors: u16) -> FunctionSpec {
    FunctionSpec {
        ids,
        class: ClassCode::NVME,
        bars: vec![BarSpec { register: 0, kind: BarKind::Memory64, prefetchable: false, bytes: BAR0_BYTES }],
        interrupts: Interrupts::MsiX {
            vectors,
            bar: 0,
            table: MSIX_TABLE_OFFSET,
            pending: MSIX_PENDING_OFFSET,
        },
        power: None,
    }
}
