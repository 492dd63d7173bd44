extern crate std;
use super::*;
use crate::nvme::Status;
use crate::ocssd::Place;
use aster_units::Geometry;
use core::mem::{offset_of, size_of};
use proptest::prelude::*;
use std::collections::BTreeSet;
use zerocopy::IntoBytes;

/// The Cosmos+ board at full size: 4,096 chunks of 1,024 blocks per LUN.
const FULL: Geometry = Geometry {
    channels: 8,
    ways: 8,
    luns: 1,
    planes: 2,
    blocks_per_lun: 8192,
    pages_per_block: 128,
    page_bytes: 16_384,
    spare_bytes: 1_664,
};

/// Offsets as SPDK's header and QEMU's model of a 2.0 drive have them (P29).
#[test]
fn structures_have_their_sizes_and_offsets() {
    assert_eq!((size_of::<Geometry20>(), GEOMETRY_BYTES), (4096, 4096));
    assert_eq!((size_of::<ChunkDescriptor>(), size_of::<Notice>()), (32, 64));
    let geometry = [
        (offset_of!(Geometry20, format), 8),
        (offset_of!(Geometry20, capabilities), 16),
        (offset_of!(Geometry20, wear_threshold), 32),
        (offset_of!(Geometry20, groups), 64),
        (offset_of!(Geometry20, units), 66),
        (offset_of!(Geometry20, chunks), 68),
        (offset_of!(Geometry20, chunk_blocks), 72),
        (offset_of!(Geometry20, write_min), 128),
        (offset_of!(Geometry20, write_opt), 132),
        (offset_of!(Geometry20, cached_blocks), 136),
        (offset_of!(Geometry20, open_max), 140),
        (offset_of!(Geometry20, open_per_unit_max), 144),
        (offset_of!(Geometry20, read_typical), 192),
        (offset_of!(Geometry20, read_max), 196),
        (offset_of!(Geometry20, write_typical), 200),
        (offset_of!(Geometry20, write_max), 204),
        (offset_of!(Geometry20, reset_typical), 208),
        (offset_of!(Geometry20, reset_max), 212),
        (offset_of!(Geometry20, vendor), 3072),
    ];
    assert!(geometry.iter().all(|(is, must)| is == must), "{geometry:?}");
    let others = [
        (offset_of!(ChunkDescriptor, wear), 2),
        (offset_of!(ChunkDescriptor, first), 8),
        (offset_of!(ChunkDescriptor, blocks), 16),
        (offset_of!(ChunkDescriptor, written), 24),
        (offset_of!(Notice, address), 8),
        (offset_of!(Notice, namespace), 16),
        (offset_of!(Notice, state), 20),
        (offset_of!(Notice, mask), 22),
        (offset_of!(Notice, blocks), 32),
        (offset_of!(LbaFormat, block), 3),
    ];
    assert!(others.iter().all(|(is, must)| is == must), "{others:?}");
}

#[test]
fn addresses_of_the_board_have_block_chunk_unit_and_group_from_bit_0_up() {
    let shape = ChunkShape::of(&FULL);
    let format = shape.format();
    assert_eq!((format.group, format.unit, format.chunk, format.block), (3, 3, 12, 10));
    assert_eq!((format.bits(), shape.chunk_blocks(), shape.row_blocks()), (28, 1024, 8));
    let place = |channel, lun, plane, block, page, sector| Place { channel, lun, plane, block, page, sector };
    let golden = [
        (0x000_0000, place(0, 0, 0, 0, 0, 0)),
        (0x000_0003, place(0, 0, 0, 0, 0, 3)),
        // Behind a page comes that of the next plane, and then the next page.
        (0x000_0004, place(0, 0, 1, 0, 0, 0)),
        (0x000_0008, place(0, 0, 0, 0, 1, 0)),
        (0x000_0400, place(0, 0, 0, 1, 0, 0)),
        (0x040_0000, place(0, 1, 0, 0, 0, 0)),
        (0x200_0000, place(1, 0, 0, 0, 0, 0)),
        (0xfff_ffff, place(7, 7, 1, 4095, 127, 3)),
    ];
    for (address, place) in golden {
        assert_eq!((shape.encode(place), shape.decode(address)), (address, Some(place)), "{place}");
    }
    assert_eq!(shape.decode(0x1000_0000), None, "a bit above the groups");
    assert_eq!(shape.index_of(golden[4].1), 1);
    assert_eq!(shape.index_of(golden[5].1), 4096);
    assert_eq!(shape.index_of(golden[6].1), 8 * 4096);
}

#[test]
fn an_address_behind_the_last_value_of_a_field_names_nothing() {
    // 96 chunks need seven bits, and 768 blocks of a chunk ten.
    let shape = ChunkShape::of(&Geometry { blocks_per_lun: 192, pages_per_block: 96, ..FULL });
    assert!(shape.decode(767).is_some() && shape.decode(768).is_none());
    assert!(shape.decode(95 << 10).is_some() && shape.decode(96 << 10).is_none());
    assert_eq!(shape.chunk_at(shape.all_chunks()), None);
}

#[test]
fn a_descriptor_is_32_bytes_with_one_bit_for_its_state() {
    let descriptor = ChunkDescriptor::sequential(ChunkFlags::Open, 7, 0x0102_0304, 1024, 0x0108);
    let bytes =
        [4, 1, 7, 0, 0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0, 0, 0];
    assert_eq!(descriptor.as_bytes(), bytes);
    assert_eq!(descriptor.state(), Some(ChunkFlags::Open));
    let mut both = descriptor;
    both.state = 3;
    assert_eq!(both.state(), None, "free and closed at once");
}

#[test]
fn control_bits_and_notices_are_where_the_sources_have_them() {
    let control = VectorControl20(0x8000_003f);
    assert!(control.limited_retry() && !control.fua() && control.blocks_less_one() == 63);
    assert_eq!(VectorControl20(0).with_fua(true).0, 1 << 30);
    let state = NoticeState(0).with_high_ecc(true);
    let notice = Notice::of_blocks(1, 1, 0x0102, 64, state);
    assert_eq!(
        notice.as_bytes()[..24],
        [1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 1, 0]
    );
    assert_eq!(notice.as_bytes()[32..34], [64, 0]);
    assert_eq!(NoticeState(0).with_worn(true).0, 0x100);
    assert_eq!((MediaFeedback(1).reads(), MediaFeedback(2).vector_reads()), (true, true));
    assert!(!geometry::MediaCapabilities(1).multiple_resets());
}

#[test]
fn statuses_are_media_errors_that_nobody_retries() {
    let parts = |status: Status| (status.bits().code_type(), status.code(), status.bits().dnr());
    let all = [
        (status::OFFLINE, 0xc0),
        (status::INVALID_RESET, 0xc1),
        (status::HIGH_ECC, 0xd0),
        (status::WRITE_NEXT_UNIT, 0xf0),
        (status::CLOSED_EARLY, 0xf1),
        (status::OUT_OF_ORDER, 0xf2),
        (status::UNWRITTEN, 0x87),
        (status::ECC_FAIL, 0x81),
    ];
    for (status, code) in all {
        assert_eq!(parts(status), (2, code, true));
        assert!(status::meaning(status).is_some());
    }
    assert_eq!(parts(status::OUT_OF_RANGE), (0, 0x80, true));
    assert_eq!(status::meaning(Status::SUCCESS), None);
}

prop_compose! {
    fn geometries()(
        channels in 1u16..=64, ways in 1u8..=16, luns_log2 in 0u32..=3, planes_log2 in 0u32..=2,
        chunks in 1u32..=5000, pages_per_block in 1u16..=1024, sectors in 1u32..=15,
    ) -> Geometry {
        let planes = 1u8 << planes_log2;
        Geometry {
            channels, ways, luns: 1 << luns_log2, planes,
            blocks_per_lun: chunks * u32::from(planes), pages_per_block,
            page_bytes: sectors * 4096, spare_bytes: 400,
        }
    }
}

proptest! {
    #[test]
    fn addresses_and_places_of_any_array_are_each_others(
        geometry in geometries(), addresses in prop::collection::vec(any::<u64>(), 16),
        parts in prop::collection::vec(any::<u32>(), 6),
    ) {
        let shape = ChunkShape::of(&geometry);
        let mask = (1u64 << shape.format().bits()) - 1;
        for address in addresses {
            prop_assert!(address & !mask == 0 || shape.decode(address).is_none());
            if let Some(place) = shape.decode(address & mask) {
                prop_assert!(place.is_in(&geometry));
                prop_assert_eq!(shape.encode(place), address & mask);
            }
        }
        let place = Place {
            channel: (parts[0] % u32::from(geometry.channels)) as u16,
            lun: (parts[1] % geometry.luns_per_channel()) as u16,
            plane: (parts[2] % u32::from(geometry.planes)) as u8,
            block: parts[3] % (geometry.blocks_per_lun / u32::from(geometry.planes)),
            page: (parts[4] % u32::from(geometry.pages_per_block)) as u16,
            sector: (parts[5] % u32::from(geometry.sectors_per_page())) as u8,
        };
        prop_assert_eq!(shape.decode(shape.encode(place)), Some(place));
        let chunk = Place { plane: 0, page: 0, sector: 0, ..place };
        prop_assert_eq!(shape.chunk_at(shape.index_of(place)), Some(chunk));
    }
    /// The sectors of a chunk are consecutive, in the order in which pblk writes its units.
    #[test]
    fn blocks_of_a_chunk_are_all_its_sectors(geometry in geometries(), index in any::<u32>()) {
        let geometry = Geometry { pages_per_block: geometry.pages_per_block % 8 + 1, ..geometry };
        let shape = ChunkShape::of(&geometry);
        let chunk = shape.chunk_at(index % shape.all_chunks()).expect("it is one of them");
        let first = shape.encode(chunk);
        let blocks = first..first + u64::from(shape.chunk_blocks());
        let places: BTreeSet<_> = blocks.map(|block| shape.decode(block).expect("a sector")).collect();
        prop_assert_eq!(places.len() as u32, shape.chunk_blocks());
        prop_assert!(places.iter().all(|place| shape.index_of(*place) == shape.index_of(chunk)));
    }
}
