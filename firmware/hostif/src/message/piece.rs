//! The message unit as a party of a drive.

use super::array::ArrayShape;
use super::fifo::BUFFERS;
use super::mcu::{Mcu, McuCosts};
use super::runs::OPERATIONS_MAX;
use super::slots::SLOTS;
use super::unit::{MessageUnit, SRAM_BYTES};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use aster_parties::{
    BarSpec, FrontEnd, FrontEndNeeds, FrontEndPiece, FrontEndPorts, FunctionSpec, Interrupts, Operations,
    PciIds, PieceError,
};
use aster_wire::array::STATUS_FRAMES;
use aster_wire::array::registers::REGISTER_BAR_BYTES;
use aster_wire::pcie::{BarKind, ClassCode};

/// DMA requests that the translation may have in flight: four for each command.
const DMA_REQUESTS: u16 = 4 * SLOTS;

/// A message unit before it runs (H1).
pub struct MessageUnitPiece {
    shape: ArrayShape,
    ids: PciIds,
    costs: McuCosts,
    alarm_kelvins: u16,
}

impl MessageUnitPiece {
    /// The message unit of a drive with this array, and the firmware of its MCU, whose steps cost so much.
    pub const fn new(shape: ArrayShape, ids: PciIds, costs: McuCosts) -> Self {
        MessageUnitPiece { shape, ids, costs, alarm_kelvins: 0 }
    }
    /// The host is told of temperatures from `kelvins` on, until it sets another threshold; 0 for none.
    #[must_use]
    pub const fn with_alarm(self, kelvins: u16) -> Self {
        MessageUnitPiece { alarm_kelvins: kelvins, ..self }
    }
}

impl FrontEndPiece for MessageUnitPiece {
    fn needs(&self) -> FrontEndNeeds {
        FrontEndNeeds {
            sram_bytes: SRAM_BYTES,
            // One more for the NOP with which the unit finds out that the drive has booted.
            command_slots: SLOTS + 1,
            dma_requests: DMA_REQUESTS,
            link_operations: BUFFERS + STATUS_FRAMES + OPERATIONS_MAX * usize::from(DMA_REQUESTS),
            operations: Operations { blocks: false, vectors: true, reports: true, ..Operations::default() },
            core: true,
            packets: false,
        }
    }
    fn function(&self) -> FunctionSpec {
        FunctionSpec {
            ids: self.ids,
            // Other mass storage controller: no driver of a standard fits.
            class: ClassCode { base_class: 0x01, sub_class: 0x80, interface: 0 },
            bars: vec![BarSpec {
                register: 0,
                kind: BarKind::Memory64,
                prefetchable: false,
                bytes: REGISTER_BAR_BYTES,
            }],
            // Status frames, temperature, errors (H4, H13): three of four.
            interrupts: Interrupts::Msi { vectors_log2: 2 },
            power: None,
        }
    }
    fn start(self: Box<Self>, ports: FrontEndPorts) -> Result<Rc<dyn FrontEnd>, PieceError> {
        let core = ports.core.clone().ok_or_else(|| PieceError::new("host.front_end", "has no core"))?;
        let recorder = ports.recorder.clone();
        let unit = MessageUnit::start(self.shape, self.costs.functions(), self.alarm_kelvins, ports);
        Mcu::start(&unit, &core, self.costs, &recorder);
        Ok(unit)
    }
}
