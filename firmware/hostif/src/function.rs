//! The PCIe function of an NVMe controller (NVMe 1.4 §2).

use crate::bar::BarLayout;
use alloc::vec;
use aster_parties::{BarSpec, FunctionSpec, Interrupts, PciIds};
use aster_wire::pcie::{BarKind, ClassCode};

/// The PCIe function of a controller with `vectors` interrupt vectors.
pub(crate) fn function(ids: PciIds, layout: BarLayout, vectors: u16) -> FunctionSpec {
    let BarLayout { bytes, table, pending } = layout;
    FunctionSpec {
        ids,
        class: ClassCode::NVME,
        bars: vec![BarSpec { register: 0, kind: BarKind::Memory64, prefetchable: false, bytes }],
        interrupts: Interrupts::MsiX { vectors, bar: 0, table, pending },
        power: None,
    }
}
