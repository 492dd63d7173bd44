use super::*;
use crate::config_space::{DEVICE_CONTROL, PM_CONTROL};
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::{BarSpec, PciIds, PowerReport, PowerValue};
use aster_wire::pcie::{Bar, BarKind, ClassCode};

const LINK: PciLink = PciLink { speed: 2, lanes: 8, max_payload: 256 };
const BAR0_BYTES: u64 = 0x4000;
const TABLE: u32 = 0x2000;
const PENDING: u32 = 0x3000;

fn spec(bars: Vec<BarSpec>, interrupts: Interrupts) -> FunctionSpec {
    let ids =
        PciIds { vendor: 0x1d1d, device: 0x2807, subsystem_vendor: 0x1234, subsystem: 0x5678, revision: 3 };
    FunctionSpec { ids, class: ClassCode::NVME, bars, interrupts, power: None }
}

fn bar(register: u8, kind: BarKind, bytes: u64) -> BarSpec {
    BarSpec { register, kind, prefetchable: false, bytes }
}

/// A function as an NVMe controller has it.
fn function() -> PciFunction {
    let interrupts = Interrupts::MsiX { vectors: 65, bar: 0, table: TABLE, pending: PENDING };
    PciFunction::new(spec(vec![bar(0, BarKind::Memory64, BAR0_BYTES)], interrupts), LINK).unwrap()
}

/// Three BARs of different kinds, and four vectors of MSI.
fn of_three_bars() -> PciFunction {
    let bars = vec![
        bar(0, BarKind::Memory32, 64),
        BarSpec { prefetchable: true, ..bar(1, BarKind::Memory64, 1 << 30) },
        bar(5, BarKind::Memory32, 0x1000),
    ];
    PciFunction::new(spec(bars, Interrupts::Msi { vectors_log2: 2 }), LINK).unwrap()
}

#[test]
fn a_host_finds_an_nvme_function_and_sizes_its_bar() {
    let mut f = function();
    assert_eq!(f.config_read(0, 4), 0x2807_1d1d);
    assert_eq!(f.config_read(8, 4) >> 8, 0x01_08_02);
    f.config_write(0x10, 4, u32::MAX);
    f.config_write(0x14, 4, u32::MAX);
    let (low, high) = (f.config_read(0x10, 4), f.config_read(0x14, 4));
    assert_eq!(Bar::size_from_probe(low, high), Some(BAR0_BYTES));
    f.config_write(0x10, 4, 0xfebf_0000);
    f.config_write(0x14, 4, 1);
    assert_eq!((f.config_read(0x10, 4), f.config_read(0x14, 4)), (0xfebf_0004, 1));
    let found: Vec<_> = f.capabilities().collect();
    assert_eq!(found, [CapabilityId::PowerManagement, CapabilityId::PciExpress, CapabilityId::MsiX]);
}

#[test]
fn identity_bits_are_read_only_and_the_command_register_is_not() {
    let mut f = function();
    f.config_write(0, 4, 0);
    assert_eq!(f.config_read(0, 4), 0x2807_1d1d);
    assert!(!f.is_bus_master());
    f.config_write(4, 2, 0x0006);
    assert!(f.is_bus_master() && f.answers_memory());
}

#[test]
fn without_memory_space_or_out_of_d0_the_function_neither_answers_nor_reaches_memory() {
    let mut f = function();
    assert!(!f.answers_memory(), "Memory Space is off after reset");
    f.config_write(4, 2, 0x0006);
    f.config_write(PM_CONTROL as u16, 2, 3);
    assert!(!f.answers_memory() && !f.is_bus_master(), "D3hot");
    f.config_write(PM_CONTROL as u16, 2, 0);
    assert!(f.answers_memory() && f.is_bus_master());
    f.config_write(4, 2, 0x0004);
    assert!(!f.answers_memory() && f.is_bus_master());
}

#[test]
fn memory_space_means_nothing_where_addresses_are_decoded_outside() {
    let mut f = function();
    f.decode_outside();
    assert!(f.answers_memory(), "Memory Space is off after reset");
    assert!(!f.is_bus_master(), "its own accesses still need leave");
    f.config_write(4, 2, 0x0404);
    assert!(f.is_bus_master() && f.answers_memory());
    f.config_write(PM_CONTROL as u16, 2, 3);
    assert!(!f.answers_memory() && !f.is_bus_master(), "D3hot");
    f.reset();
    assert!(f.answers_memory() && !f.is_bus_master(), "and after another reset");
}

#[test]
fn error_bits_of_the_status_register_are_cleared_by_ones_and_nothing_else_is() {
    let mut f = function();
    f.note_master_abort();
    assert_eq!(f.config_read(6, 2), 0x2010);
    f.config_write(4, 4, 0xd7ff_0006);
    assert_eq!(f.config_read(6, 2), 0x2010, "no one was written to bit 13");
    f.config_write(6, 2, 0x2010);
    assert_eq!(f.config_read(4, 4), 0x0010_0006, "the capability list stays");
    f.note_master_abort();
    f.config_write(7, 1, 0x20);
    assert_eq!(f.config_read(6, 2), 0x0010, "written as a byte, too");
}

#[test]
fn a_masked_vector_keeps_its_message_until_it_is_unmasked() {
    let mut f = function();
    f.config_write(4, 2, 0x0006);
    assert_eq!(f.message(2), None, "MSI-X is off");
    f.config_write(INTERRUPTS as u16, 4, 0x8000_0000);
    let entry = TABLE + 2 * 16;
    assert!(f.bar_write(0, entry, 8, 0xfee0_0000));
    assert!(f.bar_write(0, entry + 8, 4, 7));
    assert_eq!(f.message(2), None, "masked after reset");
    assert_eq!(f.bar_read(0, PENDING, 8), Some(1 << 2));
    assert!(f.bar_write(0, entry + 12, 4, 0));
    assert_eq!(f.next_released(), Some(2));
    assert_eq!(f.bar_read(0, PENDING, 8), Some(0));
    assert_eq!(f.next_released(), None);
    assert_eq!(f.message(2), Some((0xfee0_0000, 7)));
}

#[test]
fn a_function_level_reset_is_asked_for_once_and_clears_everything() {
    let mut f = function();
    f.config_write(4, 2, 0x0006);
    f.config_write(DEVICE_CONTROL as u16, 2, 0x8000);
    assert!(f.take_reset_request());
    assert!(!f.take_reset_request());
    f.reset();
    assert!(!f.is_bus_master());
}

#[test]
fn accesses_outside_read_as_ones_and_change_nothing() {
    let mut f = function();
    assert_eq!(f.config_read(4095, 4), u32::MAX);
    f.config_write(4095, 4, 0);
    assert_eq!(f.bar_read(0, 0x100, 4), None);
    assert!(!f.bar_write(0, 0x100, 4, 0));
    assert_eq!(f.bar_read(0, PENDING + 16, 8), Some(0), "that page is the pending bits' alone");
    assert_eq!(f.bar_read(1, PENDING, 8), None, "in another BAR");
}

#[test]
fn each_bar_has_its_size_and_its_kind_and_a_register_without_one_is_empty() {
    let mut f = of_three_bars();
    let empty = [0x20, 0x1c];
    (0..6).for_each(|register| f.config_write(0x10 + 4 * register, 4, u32::MAX));
    let read = |at| f.config_read(at, 4);
    assert_eq!(Bar::size_from_probe(read(0x10), 0), Some(64));
    assert_eq!(Bar::size_from_probe(read(0x14), read(0x18)), Some(1 << 30));
    assert_eq!(read(0x14) & 0xf, 0xc, "64 bits wide and prefetchable");
    assert_eq!(Bar::size_from_probe(read(0x24), 0), Some(0x1000));
    assert_eq!(empty.map(read), [0, 0]);
    // A host may also write an address byte by byte.
    f.config_write(0x26, 1, 0xab);
    f.config_write(0x27, 1, 0xfe);
    assert_eq!(f.config_read(0x24, 4), 0xfeab_f000);
    f.reset();
    assert_eq!(f.config_read(0x24, 4), 0);
}

#[test]
fn ids_class_and_link_are_those_that_were_asked_for() {
    let f = of_three_bars();
    assert_eq!((f.config_read(0x08, 1), f.config_read(0x2c, 4)), (3, 0x5678_1234));
    assert_eq!(f.config_read(0x62, 2), 0x82, "5 GT/s over 8 lanes");
}

/// Where the MSI capability is.
const MSI: u16 = INTERRUPTS as u16;
const MASK: u16 = MSI + 0x10;
const MSI_PENDING: u16 = MSI + 0x14;

#[test]
fn an_msi_is_the_message_of_configuration_space_with_the_vector_in_its_low_bits() {
    let mut f = of_three_bars();
    let found: Vec<_> = f.capabilities().collect();
    assert_eq!(found, [CapabilityId::PowerManagement, CapabilityId::PciExpress, CapabilityId::Msi]);
    assert_eq!(f.config_read(MSI + 2, 2), 0x0184, "four vectors, 64 bits, masks");
    f.config_write(4, 2, 0x0006);
    f.config_write(MSI + 4, 4, 0xfee0_1003);
    f.config_write(MSI + 8, 4, 2);
    f.config_write(MSI + 12, 4, 0xffff_4040);
    assert_eq!(f.message(0), None, "MSI is off");
    f.config_write(MSI + 2, 2, 0x0001 | 2 << 4);
    assert_eq!(
        (f.message(0), f.message(3)),
        (Some((2 << 32 | 0xfee0_1000, 0x4040)), Some((2 << 32 | 0xfee0_1000, 0x4043)))
    );
    assert_eq!(f.message(4), None, "there is no such vector");
    f.config_write(4, 2, 0x0002);
    assert_eq!(f.message(0), None, "it may not write to memory");
    assert_eq!((f.claims(0, 0), f.bar_read(5, 0, 4)), (false, None), "no BAR has a table");
}

#[test]
fn an_msi_behind_its_mask_bit_is_pending_until_that_is_cleared() {
    let mut f = of_three_bars();
    f.config_write(4, 2, 0x0006);
    f.config_write(MSI + 2, 2, 0x0001 | 2 << 4);
    f.config_write(MASK, 4, u32::MAX);
    assert_eq!(f.config_read(MASK, 4), 0xf, "a bit per vector");
    assert_eq!((f.message(1), f.message(3)), (None, None));
    f.config_write(MSI_PENDING, 4, 0);
    assert_eq!(f.config_read(MSI_PENDING, 4), 0b1010, "read-only");
    f.config_write(MASK, 1, 0b0111);
    assert_eq!((f.next_released(), f.next_released()), (Some(3), None));
    f.set_vector_mask(1, false);
    f.set_vector_mask(9, false);
    assert_eq!((f.config_read(MASK, 4), f.config_read(MSI_PENDING, 4)), (0b0101, 0b0010));
    f.config_write(MSI + 2, 2, 0);
    assert_eq!(f.next_released(), None, "MSI is off");
    f.config_write(MSI + 2, 2, 1);
    assert_eq!((f.next_released(), f.next_released()), (Some(1), None));
    f.set_vector_mask(1, true);
    f.message(1);
    f.reset();
    assert_eq!((f.config_read(MASK, 4), f.config_read(MSI_PENDING, 4)), (0, 0));
}

#[test]
fn a_function_that_cannot_be_is_refused() {
    let error = PciFunction::new(
        spec(vec![], Interrupts::MsiX { vectors: 1, bar: 0, table: 0, pending: 0x800 }),
        LINK,
    );
    assert!(error.err().is_some_and(|error| error.reason.contains("within BAR0")));
}

/// Sizes are codes: 128 bytes times two to the power of the code (PCIe 4.0 §7.5.3.4).
#[test]
fn device_control_says_how_large_packets_may_be() {
    let mut f = function();
    let settings = |f: &PciFunction| {
        let TlpSettings { max_payload, max_read_request, extended_tags } = f.link_settings();
        (max_payload, max_read_request, extended_tags)
    };
    assert_eq!(settings(&f), (128, 512, false), "after reset");
    f.config_write(DEVICE_CONTROL as u16, 2, 1 << 5 | 1 << 8 | 5 << 12);
    assert_eq!(settings(&f), (256, 4096, true));
    f.config_write(DEVICE_CONTROL as u16, 2, 5 << 5 | 7 << 12);
    assert_eq!(settings(&f), (256, 4096, false), "more than is supported, and a reserved code");
    f.reset();
    assert_eq!(settings(&f), (128, 512, false));
}

/// H4: Data_Select is bits 12:9 of PMCSR, Data_Scale bits 14:13, Data the byte behind
/// (PCIe 4.0 §7.5.2.2, §7.5.2.3).
#[test]
fn a_host_walks_through_the_power_that_a_function_tells() {
    let power =
        PowerReport([(91, 1), (0, 0), (0, 0), (50, 2), (85, 1), (0, 0), (0, 0), (7, 3)].map(|value| {
            let (data, scale) = value;
            PowerValue { data, scale }
        }));
    let told = FunctionSpec { power: Some(power), ..of_three_bars().spec().clone() };
    let mut f = PciFunction::new(told, LINK).unwrap();
    assert_eq!(f.config_read(0x40, 4), 0x0003_5001, "no D1, no D2, no auxiliary current, no PME");
    assert_eq!(f.config_read(0x44, 4), 0x5b00_2008, "9.1 W in D0, in units of 0.1 W");
    // What the host writes, and what it reads then.
    for (written, read) in [
        (0x0200, 0x0000_0208),
        (0x0400, 0x0000_0408),
        (0x0600, 0x3200_4608),
        (0x0800, 0x5500_2808),
        (0x0e00, 0x0700_6e08),
        (0x1000, 0x0000_1008),
        (0x1e00, 0x0000_1e08),
        // Scale and data are read-only, and so are the bits that nobody has.
        (0xff00_e1fc, 0x5b00_2008),
    ] {
        f.config_write(0x44, 4, written);
        assert_eq!(f.config_read(0x44, 4), read, "{written:#x}");
    }
    // Byte by byte, too, and in D3hot, where a reset selects D0 again.
    f.config_write(0x44, 1, 3);
    f.config_write(0x45, 1, 0x0e);
    assert_eq!((f.config_read(0x44, 4), f.power_state()), (0x0700_6e0b, 3));
    f.reset();
    assert_eq!(f.config_read(0x44, 4), 0x5b00_2008);
}

#[test]
fn a_function_that_tells_no_power_has_nothing_to_select() {
    let mut f = function();
    f.config_write(0x44, 4, u32::MAX);
    assert_eq!(f.config_read(0x44, 4), 0x0000_000b, "the power state alone");
}
