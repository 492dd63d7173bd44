//! Finding the controller on PCIe and switching it on: BAR0, bus mastering, MSI-X (PCIe 4.0 §7).

use crate::bar::Bar;
use alloc::vec;
use aster_wire::pcie::{
    Bar as BarState, CapabilityId, CapabilityWalk, ClassCode, Command, HEADER_BYTES, Header,
    MSIX_ENTRY_BYTES, MsixCapability, MsixControl, MsixPointer, MsixVectorControl,
};
use zerocopy::FromBytes;

/// The function's configuration space. The implementation belongs to the run mode.
pub trait ConfigSpace {
    /// Reads 1, 2 or 4 bytes at `offset`. Where nothing answers, all ones.
    fn read(&mut self, offset: u16, size: u8) -> u32;
    /// Writes the low 1, 2 or 4 bytes of `value` at `offset`.
    fn write(&mut self, offset: u16, size: u8, value: u32);
}

/// Where an x86 host takes interrupt messages. The vector is the message's data.
pub const MESSAGE_ADDRESS: u64 = 0xfee0_0000;

/// Capabilities lie in the first 256 bytes of configuration space (PCIe 4.0 §7.5.3).
const CAPABILITY_BYTES: u16 = 256;
const COMMAND: u16 = 0x04;
const BAR0: u16 = 0x10;
const BAR0_HIGH: u16 = 0x14;
/// Message control in the MSI-X capability (PCIe 4.0 §7.7.2.2).
const MSIX_CONTROL: u16 = 2;

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PciFunction {
    /// PCI vendor ID.
    pub vendor: u16,
    /// PCI device ID.
    pub device: u16,
    /// Bytes of BAR0.
    pub bar_bytes: u64,
    /// MSI-X vectors that were switched on: for [`crate::Config::vectors`].
    pub vectors: u16,
}

/// Why the function is not one that the driver can use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PciError {
    /// Configuration space reads as all ones.
    #[error("no PCIe function answers")]
    Absent,
    /// The class code is not that of an NVMe I/O controller.
    #[error("the PCIe function is not an NVMe controller: its class code is {0:?}")]
    NotNvme(ClassCode),
    /// BAR0 is not implemented.
    #[error("the PCIe function has no BAR0")]
    NoBar,
    /// BAR0 must lie at a multiple of its size.
    #[error("BAR0 of {bytes} bytes can't lie at {address:#x}")]
    Misplaced {
        /// Where it was to be.
        address: u64,
        /// Its size.
        bytes: u64,
    },
    /// There is no MSI-X capability, or its table is not in BAR0.
    #[error("the PCIe function has no MSI-X table in BAR0")]
    NoMsix,
}

/// Switches the function on: places BAR0 at `bar_address`, allows memory accesses and bus mastering, and directs up to
/// `vectors` MSI-X vectors to [`MESSAGE_ADDRESS`], each with its number as data. `bar` reaches BAR0 from then on.
///
/// # Errors
/// When the function is no NVMe controller that has what the driver needs.
pub fn enable(
    config: &mut dyn ConfigSpace,
    bar: &mut dyn Bar,
    bar_address: u64,
    vectors: u16,
) -> Result<PciFunction, PciError> {
    let mut space = vec![0u8; usize::from(CAPABILITY_BYTES)];
    for (dword, offset) in space.chunks_exact_mut(4).zip((0..CAPABILITY_BYTES).step_by(4)) {
        dword.copy_from_slice(&config.read(offset, 4).to_le_bytes());
    }
    let header = Header::ref_from_bytes(&space[..HEADER_BYTES]).expect("as many bytes as the header has");
    let (vendor, device) = (header.vendor_id.get(), header.device_id.get());
    if vendor == u16::MAX {
        return Err(PciError::Absent);
    }
    if header.class_code != ClassCode::NVME {
        return Err(PciError::NotNvme(header.class_code));
    }
    let (msix_at, msix) = find_msix(&space).ok_or(PciError::NoMsix)?;
    let bar_bytes = place_bar(config, bar_address)?;
    let on = Command(0).with_memory_space(true).with_bus_master(true).with_interrupt_disable(true);
    config.write(COMMAND, 2, u32::from(on.0));
    let control = MsixControl(0).with_enable(true);
    let masked = control.with_function_mask(true);
    config.write(msix_at + MSIX_CONTROL, 2, u32::from(masked.0));
    let vectors = vectors.min(msix.vectors());
    let table = MsixPointer(msix.table.get()).offset();
    for vector in 0..vectors {
        let entry = table + u32::from(vector) * MSIX_ENTRY_BYTES as u32;
        bar.write(entry, 8, MESSAGE_ADDRESS);
        bar.write(entry + 8, 4, u64::from(vector));
        bar.write(entry + 12, 4, u64::from(MsixVectorControl(0).0));
    }
    config.write(msix_at + MSIX_CONTROL, 2, u32::from(control.0));
    Ok(PciFunction { vendor, device, bar_bytes, vectors })
}

/// The MSI-X capability and its offset, if its table is in BAR0.
fn find_msix(space: &[u8]) -> Option<(u16, MsixCapability)> {
    let (_, at) = CapabilityWalk::new(space).find(|(id, _)| *id == CapabilityId::MsiX.raw())?;
    let bytes = space.get(usize::from(at)..)?;
    let (capability, _) = MsixCapability::read_from_prefix(bytes).ok()?;
    let table = MsixPointer(capability.table.get());
    (table.bar() == 0).then_some((u16::from(at), capability))
}

/// Finds BAR0's size as PCIe 4.0 §7.5.1.2.1 says, and places it.
fn place_bar(config: &mut dyn ConfigSpace, address: u64) -> Result<u64, PciError> {
    config.write(BAR0, 4, u32::MAX);
    config.write(BAR0_HIGH, 4, u32::MAX);
    let (low, high) = (config.read(BAR0, 4), config.read(BAR0_HIGH, 4));
    let bytes = BarState::size_from_probe(low, high).ok_or(PciError::NoBar)?;
    if !address.is_multiple_of(bytes) {
        return Err(PciError::Misplaced { address, bytes });
    }
    let [a, b, c, d, e, f, g, h] = address.to_le_bytes();
    config.write(BAR0, 4, u32::from_le_bytes([a, b, c, d]));
    config.write(BAR0_HIGH, 4, u32::from_le_bytes([e, f, g, h]));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::rc::Rc;
    use aster_board::{BAR0_BYTES, PciFunction as Board, PciIds};
    use core::cell::RefCell;

    struct Slot(Rc<RefCell<Board>>);
    impl ConfigSpace for Slot {
        fn read(&mut self, offset: u16, size: u8) -> u32 {
            self.0.borrow().config_read(offset, size)
        }
        fn write(&mut self, offset: u16, size: u8, value: u32) {
            self.0.borrow_mut().config_write(offset, size, value);
        }
    }
    impl Bar for Slot {
        fn read(&mut self, offset: u32, size: u8) -> u64 {
            self.0.borrow().bar_read(offset, size).unwrap_or(u64::MAX)
        }
        fn write(&mut self, offset: u32, size: u8, value: u64) {
            assert!(self.0.borrow_mut().bar_write(offset, size, value));
        }
    }

    fn board(vectors: u16) -> Rc<RefCell<Board>> {
        let ids = PciIds { vendor: 0x1234, device: 0x5678, link_speed: 3, lanes: 4 };
        Rc::new(RefCell::new(Board::new(ids, vectors)))
    }

    #[test]
    fn the_boards_function_is_found_placed_and_interrupts() {
        let board = board(5);
        let (mut config, mut bar) = (Slot(Rc::clone(&board)), Slot(Rc::clone(&board)));
        let address = 0x20_0000_0000;
        let found = enable(&mut config, &mut bar, address, 64).unwrap();
        let expected = PciFunction { vendor: 0x1234, device: 0x5678, bar_bytes: BAR0_BYTES, vectors: 5 };
        assert_eq!(found, expected);
        let mut board = board.borrow_mut();
        assert!(board.is_bus_master() && board.is_memory_enabled());
        assert_eq!(board.bar0().address(), address);
        for vector in 0..5 {
            assert_eq!(board.message(vector), Some((MESSAGE_ADDRESS, u32::from(vector))));
        }
    }

    #[test]
    fn vectors_that_are_not_asked_for_stay_masked() {
        let board = board(4);
        let (mut config, mut bar) = (Slot(Rc::clone(&board)), Slot(Rc::clone(&board)));
        assert_eq!(enable(&mut config, &mut bar, 0x10_0000, 2).unwrap().vectors, 2);
        assert!(board.borrow_mut().message(1).is_some());
        assert!(board.borrow_mut().message(2).is_none());
    }

    #[test]
    fn what_is_no_nvme_controller_is_refused() {
        struct Ones;
        impl ConfigSpace for Ones {
            fn read(&mut self, _offset: u16, _size: u8) -> u32 {
                u32::MAX
            }
            fn write(&mut self, _offset: u16, _size: u8, _value: u32) {}
        }
        let board = board(1);
        let mut bar = Slot(Rc::clone(&board));
        assert_eq!(enable(&mut Ones, &mut bar, 0, 1), Err(PciError::Absent));
        let mut config = Slot(Rc::clone(&board));
        let misplaced = PciError::Misplaced { address: 0x1000, bytes: BAR0_BYTES };
        assert_eq!(enable(&mut config, &mut bar, 0x1000, 1), Err(misplaced));
        /// An Ethernet controller with the same capabilities.
        struct Ethernet(Slot);
        impl ConfigSpace for Ethernet {
            fn read(&mut self, offset: u16, size: u8) -> u32 {
                let value = ConfigSpace::read(&mut self.0, offset, size);
                if offset == 8 { value & 0xff | 0x0200_0000 } else { value }
            }
            fn write(&mut self, offset: u16, size: u8, value: u32) {
                ConfigSpace::write(&mut self.0, offset, size, value);
            }
        }
        let refused = enable(&mut Ethernet(config), &mut bar, 0, 1);
        assert!(matches!(refused, Err(PciError::NotNvme(class)) if class.base_class == 2));
    }
}
