//! Cells that lift each other: the cells around a cell decide how often it is wrong.

use super::bench::*;
use crate::*;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_ports::package::PageData;
use aster_units::{BlockAddr, Content, PageInBlock};

/// A lift of 3 widths after one erase, which harms only erased cells.
fn coupled(content: Content) -> NandConfig {
    let mut c = config(content);
    let lifted = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    c.errors = ErrorModel { fresh: 1e-3, level_width_mv: 1.0, coupling_mv: 3e3, lifted, ..ErrorModel::NONE };
    c
}

fn put(bus: &mut Bus, content: Content, page: u16, fill: u8, seed: u32) {
    let (data, oob) = page_of(content, fill);
    bus.load(1, page, &PageData { content, data: &data, oob: &oob, seed }).unwrap();
    bus.cmd(0x10).until_ready();
}

/// The flips of page 0 of a block after this many erases, with its pages filled from `fills`.
fn flips(
    bus: &mut Bus,
    content: Content,
    erases: u32,
    fills: &[u8],
    seed: impl Fn(u16) -> u32,
) -> BTreeSet<u32> {
    for _ in 0..erases {
        bus.erase(1);
    }
    for (page, fill) in (0u16..).zip(fills) {
        put(bus, content, page, *fill, seed(page));
    }
    bus.read(1, 0).flips().iter().copied().collect()
}
fn plain(erases: u32, fills: &[u8]) -> BTreeSet<u32> {
    let (mut bus, _) = one(coupled(Content::Full));
    // Only flips in the data count: parity and OOB are as good as random.
    let all = flips(&mut bus, Content::Full, erases, fills, |_| 0);
    all.into_iter().filter(|position| *position < 8 * GEOMETRY.page_bytes).collect()
}

#[test]
fn an_erased_cell_is_wrong_more_often_for_each_charged_neighbour() {
    // With AAh in both the LSB and the MSB page, erased cells and cells at the third level alternate.
    let erased = |position: &u32| position.is_multiple_of(2);
    let sets = [
        // Erased cells on the same word line, and nothing above.
        plain(1, &[0xff, 0xff]),
        // Charged cells on either side, erased ones above.
        plain(1, &[0xaa, 0xaa, 0xff, 0xff]),
        // Charged cells on either side, and charged cells above the erased ones.
        plain(1, &[0xaa, 0xaa, 0x55, 0x55]),
    ];
    let counts: Vec<_> = sets.iter().map(|set| set.iter().filter(|p| erased(p)).count()).collect();
    assert!(counts[0] < counts[1] && counts[1] < counts[2] / 2, "{counts:?}");
    let of_charged =
        |set: &BTreeSet<u32>| set.iter().copied().filter(|p| !erased(p)).collect::<BTreeSet<_>>();
    assert_eq!(of_charged(&sets[1]), of_charged(&sets[2]), "what a lift doesn't harm");
    // An MSB page alone charges its cells.
    let by_msb = plain(1, &[0xaa, 0xaa, 0xff, 0x55]);
    assert_eq!(by_msb, sets[2]);
}

#[test]
fn a_fresh_block_and_a_package_without_coupling_know_no_neighbours() {
    let fresh = plain(0, &[0xaa, 0xaa, 0x55, 0x55]);
    assert!(fresh == plain(0, &[0xff, 0xff]) && !fresh.is_empty());
    let uncoupled = |fills: &[u8]| {
        let mut c = coupled(Content::Full);
        (c.errors.coupling_mv, c.errors.lifted) = (0.0, [0.0; LEVELS_MAX]);
        let (mut bus, _) = one(c);
        flips(&mut bus, Content::Full, 1, fills, |_| 0)
    };
    assert_eq!(uncoupled(&[0xaa, 0xaa, 0x55, 0x55]), uncoupled(&[0xff, 0xff]));
}

/// The cells hold scrambled bytes. It doesn't matter where a page's bytes are kept.
#[test]
fn scrambled_data_lift_like_random_data_in_memory_and_on_an_image_alike() {
    let fills = [0xaa, 0xaa, 0x55, 0x55];
    let seed = |page| aster_codec::seed_of_row(GEOMETRY.row(0, BlockAddr(1), PageInBlock(page)));
    let (mut bus, _) = one(coupled(Content::Full));
    let scrambled = flips(&mut bus, Content::Full, 1, &fills, seed);
    let plain = plain(1, &fills);
    assert!(
        scrambled.len() < plain.len() && scrambled.len() > plain.len() / 4,
        "{} {}",
        scrambled.len(),
        plain.len()
    );

    let c = coupled(Content::Full);
    let medium = TestMedium::for_config(&c);
    let mut array = NandArray::new(c, medium.boxed(), &Recorder::default()).unwrap();
    let mut bus = Bus::new(array.take_packages(0).remove(0));
    assert_eq!(flips(&mut bus, Content::Full, 1, &fills, seed), scrambled);
    // Seeds of other rows, as COPYBACK leaves them, and pages with only tags.
    let (mut bus, _) = one(coupled(Content::Full));
    assert_ne!(flips(&mut bus, Content::Full, 1, &fills, |page| seed(page + 4)), scrambled);
    let (mut bus, _) = one(coupled(Content::Fingerprint));
    let tags = flips(&mut bus, Content::Fingerprint, 1, &fills, seed);
    assert!(tags.len() * 2 > scrambled.len() && tags.len() < scrambled.len() * 2, "{}", tags.len());
}
