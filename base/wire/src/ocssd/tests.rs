extern crate std;
use super::identity::{Capabilities, MediaCapabilities, PlaneOperations};
use super::*;
use crate::nvme::Status;
use aster_units::Geometry;
use core::mem::{offset_of, size_of};
use proptest::prelude::*;
use std::string::ToString;
use std::vec::Vec;
use zerocopy::IntoBytes;

/// The 64 GB layout of the slides: 8 channels of 8 LUNs, 2 planes, 256 blocks a plane, 128 pages (O8).
const SLIDES: Geometry = Geometry {
    channels: 8,
    ways: 8,
    luns: 1,
    planes: 2,
    blocks_per_lun: 512,
    pages_per_block: 128,
    page_bytes: 16_384,
    spare_bytes: 1_664,
};
/// The board at full size: 4,096 blocks a plane (P25).
const FULL: Geometry = Geometry { blocks_per_lun: 8192, ..SLIDES };

fn field(offset: u8, bits: u8) -> FieldBits {
    FieldBits { offset, bits }
}

#[test]
fn formats_have_the_bits_that_slides_and_board_print() {
    let slides = AddressFormat::of_geometry(&SLIDES);
    assert_eq!(
        [slides.sector, slides.page, slides.block, slides.plane, slides.lun, slides.channel],
        [field(0, 2), field(2, 7), field(9, 8), field(17, 1), field(18, 3), field(21, 3)]
    );
    let full = AddressFormat::of_geometry(&FULL);
    assert_eq!(
        [full.sector, full.page, full.block, full.plane, full.lun, full.channel],
        [field(0, 2), field(2, 7), field(9, 12), field(21, 1), field(22, 3), field(25, 3)]
    );
    assert!(slides.is_valid() && full.is_valid());
}

/// O9's trace, in the layout of the slides; the same places at full size (P25).
#[test]
fn the_addresses_of_the_slides_name_their_places() {
    let place = |channel, lun, plane, block, page, sector| Place { channel, lun, plane, block, page, sector };
    let golden = [
        (0x00fc_0200, 0x0fc0_0200, place(7, 7, 0, 1, 0, 0)),
        (0x00fc_0203, 0x0fc0_0203, place(7, 7, 0, 1, 0, 3)),
        (0x00fe_0200, 0x0fe0_0200, place(7, 7, 1, 1, 0, 0)),
        (0x00fe_0203, 0x0fe0_0203, place(7, 7, 1, 1, 0, 3)),
        (0x00fc_0400, 0x0fc0_0400, place(7, 7, 0, 2, 0, 0)),
        (0x0000_0204, 0x0000_0204, place(0, 0, 0, 1, 1, 0)),
        (0x0000_0207, 0x0000_0207, place(0, 0, 0, 1, 1, 3)),
        (0x0002_0204, 0x0020_0204, place(0, 0, 1, 1, 1, 0)),
        (0x0002_0207, 0x0020_0207, place(0, 0, 1, 1, 1, 3)),
        (0x0000_0404, 0x0000_0404, place(0, 0, 0, 2, 1, 0)),
    ];
    for (in_slides, at_full_size, place) in golden {
        for (geometry, address) in [(SLIDES, in_slides), (FULL, at_full_size)] {
            let format = AddressFormat::of_geometry(&geometry);
            assert_eq!(format.encode(place), address, "{place}");
            assert_eq!(format.decode(address, &geometry), Some(place), "{address:08x}");
        }
    }
    assert_eq!(golden[1].2.to_string(), "ch7.lun7.pl0.blk1.pg0.sec3");
}

#[test]
fn an_address_outside_of_the_drive_names_nothing() {
    let format = AddressFormat::of_geometry(&SLIDES);
    assert_eq!(format.decode(1 << 24, &SLIDES), None, "a bit above the channels");
    // 96 blocks a plane need seven bits, which could count to 127.
    let odd = Geometry { blocks_per_lun: 192, ..SLIDES };
    let format = AddressFormat::of_geometry(&odd);
    assert_eq!(format.decode(95 << 9, &odd).map(|place| place.block), Some(95));
    assert_eq!(format.decode(96 << 9, &odd), None);
}

#[test]
fn a_format_whose_fields_overlap_or_pass_64_bits_is_invalid() {
    let good = AddressFormat::of_geometry(&SLIDES);
    assert!(!AddressFormat { page: field(1, 7), ..good }.is_valid());
    assert!(!AddressFormat { channel: field(62, 3), ..good }.is_valid());
    assert!(!AddressFormat { channel: field(255, 255), ..good }.is_valid());
}

/// Offsets as liblightnvm and LightNVM have them.
#[test]
fn structures_have_their_sizes_and_offsets() {
    assert_eq!((size_of::<Identity12>(), size_of::<Group12>()), (4096, 960));
    assert_eq!((size_of::<AddressFormat>(), size_of::<TableHeader>()), (16, 64));
    assert_eq!(offset_of!(Identity12, capabilities), 4);
    assert_eq!(offset_of!(Identity12, modes), 8);
    assert_eq!(offset_of!(Identity12, address_format), 12);
    assert_eq!(offset_of!(Identity12, groups), 256);
    let group = [
        (offset_of!(Group12, channels), 4),
        (offset_of!(Group12, luns), 5),
        (offset_of!(Group12, planes), 6),
        (offset_of!(Group12, blocks), 8),
        (offset_of!(Group12, pages), 10),
        (offset_of!(Group12, page_bytes), 12),
        (offset_of!(Group12, sector_bytes), 14),
        (offset_of!(Group12, metadata_bytes), 16),
        (offset_of!(Group12, read_typical), 20),
        (offset_of!(Group12, erase_max), 40),
        (offset_of!(Group12, plane_operations), 44),
        (offset_of!(Group12, media_capabilities), 48),
        (offset_of!(Group12, parallel_channels), 52),
        (offset_of!(Group12, media_id), 56),
        (offset_of!(Group12, page_pairs), 72),
    ];
    assert!(group.iter().all(|(is, must)| is == must), "{group:?}");
    assert_eq!(offset_of!(TableHeader, blocks), 12);
    assert_eq!(offset_of!(TableHeader, host), 28);
    let both = PlaneOperations(0)
        .with_read_single(true)
        .with_read_dual(true)
        .with_program_single(true)
        .with_program_dual(true)
        .with_erase_single(true)
        .with_erase_dual(true);
    assert_eq!(both.0, 0x03_03_03);
    assert_eq!((Capabilities(0).with_bad_block_table(true).0, MediaCapabilities(0).with_slc(true).0), (1, 1));
}

/// Dword 12 of Linux's writes and reads: scrambler off, suspend allowed, two planes (P23).
#[test]
fn control_bits_are_where_linux_sets_them() {
    let write = VectorControl((0x201 << 16) | 7);
    assert_eq!((write.addresses_less_one(), write.plane_mode(), write.scramble_off()), (7, 1, true));
    let read = VectorControl(0x280 << 16);
    assert!(read.suspend() && read.scramble_off() && !read.slc() && read.plane_mode() == 0);
    assert!(VectorControl(0x100 << 16).slc());
    assert_eq!(vector::TableControl((2 << 16) | 1).state(), BlockFlags::GrownBad.raw());
}

/// Completion queue entries carry these shifted by the phase tag (P27).
#[test]
fn statuses_are_those_that_lightnvm_compares() {
    let parts = |status: Status| (status.bits().code_type(), status.code(), status.bits().dnr());
    assert_eq!(parts(status::WRITE_FAIL), (0, 0xff, true));
    assert_eq!(parts(status::EMPTY_PAGE), (2, 0xff, true));
    assert_eq!(parts(status::ECC_FAIL), (2, 0x81, true));
    assert_eq!(parts(status::TRANSFER_FAIL), (0, 0x04, true));
    assert_eq!(parts(status::HIGH_ECC), (7, 0x00, true));
    assert_eq!(parts(status::PROTECTED_BLOCK), (2, 0x86, true));
    assert_eq!(parts(status::OUT_OF_ORDER), (2, 0xf2, true));
    assert_eq!(parts(status::OUT_OF_GEOMETRY), (0, 0x80, true));
    assert_eq!(status::EMPTY_PAGE.with_phase_tag(true), (0x42ff << 1) | 1);
}

#[test]
fn a_table_counts_its_states() {
    use BlockFlags::{Device, FactoryBad, Free, GrownBad, Host};
    let states = [Free, FactoryBad, Free, GrownBad, Host, Host, Device, FactoryBad, FactoryBad];
    let header = TableHeader::of(states.iter().copied());
    let counts = [header.blocks, header.factory_bad, header.grown_bad, header.device, header.host];
    assert_eq!(counts.map(|count| count.get()), [9, 3, 1, 1, 2]);
    assert_eq!(header.as_bytes()[..6], [b'B', b'B', b'L', b'T', 1, 0]);
}

prop_compose! {
    fn geometries()(
        channels in 1u16..=64, ways in 1u8..=16, luns_log2 in 0u32..=3, planes_log2 in 0u32..=3,
        blocks_per_plane in 2u32..=5000, pages_per_block in 1u16..=1024, sectors in 1u32..=15,
    ) -> Geometry {
        let planes = 1u8 << planes_log2;
        Geometry {
            channels, ways, luns: 1 << luns_log2, planes,
            blocks_per_lun: blocks_per_plane * u32::from(planes), pages_per_block,
            page_bytes: sectors * 4096, spare_bytes: 400,
        }
    }
}

proptest! {
    #[test]
    fn every_place_of_every_geometry_has_an_address_of_its_own(
        geometry in geometries(), parts in prop::collection::vec(any::<u32>(), 12),
    ) {
        let format = AddressFormat::of_geometry(&geometry);
        prop_assert!(format.is_valid());
        let places: Vec<Place> = parts.chunks(6).map(|part| Place {
            channel: (part[0] % u32::from(geometry.channels)) as u16,
            lun: (part[1] % geometry.luns_per_channel()) as u16,
            plane: (part[2] % u32::from(geometry.planes)) as u8,
            block: part[3] % (geometry.blocks_per_lun / u32::from(geometry.planes)),
            page: (part[4] % u32::from(geometry.pages_per_block)) as u16,
            sector: (part[5] % u32::from(geometry.sectors_per_page())) as u8,
        }).collect();
        for place in &places {
            prop_assert_eq!(format.decode(format.encode(*place), &geometry), Some(*place));
        }
        prop_assert_eq!(places[0] == places[1], format.encode(places[0]) == format.encode(places[1]));
    }
    #[test]
    fn any_format_and_any_address_are_answered(
        bytes in any::<[u8; 16]>(), address in any::<u64>(), geometry in geometries(),
    ) {
        let format: AddressFormat = zerocopy::transmute!(bytes);
        if let Some(place) = format.decode(address, &geometry) {
            prop_assert!(place.is_in(&geometry));
            if format.is_valid() {
                prop_assert_eq!(format.encode(place), address);
            }
        }
    }
}
