//! Whatever comes over the bus or is on the medium, nothing panics, and the package works afterwards.

use super::bench::*;
use crate::{NandArray, NandConfig};
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_ports::package::{BurstTiming, DataIn, DataMode, Package, PageData, ProtocolError};
use aster_txn::Latch;
use aster_units::{CellMode, Content, Duration, Geometry};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Command(u8),
    Address(u8),
    Out(u32),
    In(u16),
    Page,
    Select(bool),
    /// A prefix (0 for none), a first cycle with its address, perhaps a page, and a second cycle.
    Whole {
        prefix: u8,
        first: u8,
        row: u8,
        confirm: u8,
    },
}

/// A command from its first cycle to its last, with any row address.
fn whole() -> impl Strategy<Value = Step> {
    const SHAPES: [(u8, &[u8]); 6] = [
        (0x00, &[0x30, 0x30, 0x31, 0x32, 0x35]),
        (0x80, &[0x10, 0x10, 0x11, 0x15, 0x1a]),
        (0x81, &[0x10, 0x15, 0x11]),
        (0x85, &[0x10, 0x11]),
        (0x60, &[0xd0, 0xd1]),
        (0x78, &[0x70]),
    ];
    const SINGLE: [u8; 5] = [0x61, 0xd2, 0x84, 0x13, 0xfa];
    let prefix = prop_oneof![4 => Just(0u8), 1 => prop::sample::select(&[0xa2u8, 1, 2, 3])];
    let row = prop_oneof![0..20u8, any::<u8>()];
    let shaped = prop::sample::select(&SHAPES)
        .prop_flat_map(|(first, confirms)| (Just(first), prop::sample::select(confirms)));
    prop_oneof![
        4 => (prefix, shaped, row.clone())
            .prop_map(|(prefix, (first, confirm), row)| Step::Whole { prefix, first, row, confirm }),
        1 => (prop::sample::select(&SINGLE), row)
            .prop_map(|(first, row)| Step::Whole { prefix: 0, first, row, confirm: 0 }),
        1 => prop::sample::select(&[0x31u8, 0x3f]).prop_map(Step::Command),
    ]
}

/// Mostly plausible cycles, so that sequences get somewhere.
fn step() -> impl Strategy<Value = Step> {
    const KNOWN: [u8; 38] = [
        0x00, 0x30, 0x05, 0x06, 0xe0, 0x80, 0x10, 0x85, 0x60, 0xd0, 0x70, 0x78, 0x90, 0xec, 0xed, 0xee, 0xef,
        0xff, 0x31, 0x32, 0x35, 0x3f, 0x81, 0x11, 0x15, 0xd1, 0xa2, 0x01, 0x02, 0x03, 0x1a, 0x61, 0xd2, 0x84,
        0x13, 0xfa, 0xfc, 0xf9,
    ];
    prop_oneof![
        6 => prop::sample::select(&KNOWN).prop_map(Step::Command),
        1 => any::<u8>().prop_map(Step::Command),
        10 => prop_oneof![Just(0u8), Just(1), Just(0x20), any::<u8>()].prop_map(Step::Address),
        4 => prop_oneof![Just(1u32), Just(4), 0..10_000u32, any::<u32>()].prop_map(Step::Out),
        3 => prop_oneof![Just(4u16), 0..10_000u16].prop_map(Step::In),
        2 => Just(Step::Page),
        1 => prop::bool::weighted(0.9).prop_map(Step::Select),
        12 => whole(),
    ]
}

fn run_whole(
    bus: &mut Bus,
    [prefix, first, row, confirm]: [u8; 4],
    page: PageData<'_>,
) -> Result<(), ProtocolError> {
    if prefix != 0 {
        bus.try_cmd(prefix)?;
    }
    bus.try_cmd(first)?;
    if matches!(first, 0x00 | 0x80 | 0x81 | 0x85) {
        bus.try_addr(0)?;
        bus.try_addr(0)?;
    }
    for address in [row, 0, 0] {
        bus.try_addr(address)?;
    }
    if matches!(first, 0x80 | 0x81) {
        let timing = bus.timing();
        bus.package.data_in(timing, 8_905, DataIn::Page(page))?;
    }
    if confirm == 0 { Ok(()) } else { bus.try_cmd(confirm) }
}

fn noisy(content: Content, cells: CellMode) -> NandConfig {
    let mut c = config(content);
    c.cells = cells;
    c.geometry = Geometry { luns: 2, planes: 2, ..GEOMETRY };
    c.variant = everything();
    c.variant.commands.one_shot = c.variant.commands.one_shot.filter(|_| cells == CellMode::Tlc);
    c.errors.fresh = 1e-5;
    c.errors.neighbour = 0.2;
    c.failures.factory_bad_per_mille = 100;
    c.failures.program_per_million = 50_000;
    c
}

proptest! {
    #[test]
    fn random_cycles_never_panic_and_reset_always_helps(
        full in any::<bool>(),
        triple in any::<bool>(),
        steps in prop::collection::vec((step(), prop_oneof![Just(1u64), 0..2_000u64, 0..3_000_000u64]),
            1..200),
    ) {
        let content = if full { Content::Full } else { Content::Fingerprint };
        let mut array = NandArray::new(noisy(content, if triple { CellMode::Tlc } else { CellMode::Mlc }),
            None, &Recorder::default()).unwrap();
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        let (data, oob) = page_of(content, 7);
        let mut modes = [DataMode::Sdr, DataMode::NvDdr2].into_iter().cycle();
        for (step, nanos) in steps {
            bus.wait(Duration::from_nanos(nanos));
            let now = bus.now;
            let burst = |mode| BurstTiming { first: now, last: now, mode };
            // Most of the time, an error is expected.
            let _ = match step {
                Step::Command(value) => bus.package.latch(now, Latch::Command(value)),
                Step::Address(value) => bus.package.latch(now, Latch::Address(value)),
                Step::Out(length) => {
                    let first = bus.package.data_out(burst(DataMode::Sdr), length, |_| ());
                    first.or_else(|_| bus.package.data_out(burst(modes.next().unwrap()), length, |_| ()))
                }
                Step::In(length) => {
                    let bytes = vec![0x27; usize::from(length)];
                    bus.package.data_in(burst(DataMode::Sdr), u32::from(length), DataIn::Bytes(&bytes))
                }
                Step::Page => {
                    let page = PageData { content, data: &data, oob: &oob, seed: 9 };
                    bus.package.data_in(burst(DataMode::Sdr), 8_905, DataIn::Page(page))
                }
                Step::Select(on) => bus.package.select(now, on),
                Step::Whole { prefix, first, row, confirm } => {
                    let page = PageData { content, data: &data, oob: &oob, seed: 9 };
                    run_whole(&mut bus, [prefix, first, row, confirm], page)
                }
            };
        }
        bus.wait(Duration::from_millis(100));
        let now = bus.now;
        let _ = bus.package.select(now, true);
        // READ STATUS reports on the LUN that was addressed last. Another LUN may need tRST of an erase,
        // half a millisecond.
        bus.cmd(0xff).wait(Duration::from_millis(1));
        bus.mode = DataMode::Sdr;
        prop_assert_eq!(bus.until_ready(), 0xe0);
        let fresh = bus.row(0, 0);
        bus.cmd(0x60).addr(&fresh).cmd(0xd0).until_ready();
        bus.cmd(0x00).addr(&[0, 0]).addr(&fresh).cmd(0x30).until_ready();
        bus.cmd(0x00).out(9_216);
    }

    #[test]
    fn a_spoiled_image_is_refused_or_opened_but_never_panics(
        spoils in prop::collection::vec((0..12_288u64, any::<u8>()), 1..20),
        full in any::<bool>(),
    ) {
        let c = config(if full { Content::Full } else { Content::Fingerprint });
        let medium = TestMedium::for_config(&c);
        let mut array = NandArray::new(c.clone(), medium.boxed(), &Recorder::default()).unwrap();
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        for page in 0..4 {
            bus.program(1, page, page as u8);
        }
        drop((bus, array));
        for (at, value) in spoils {
            if let Some(page) = medium.pages.borrow_mut().get_mut(&(at / 4096)) {
                page[(at % 4096) as usize] = value;
            }
        }
        if let Ok(mut array) = NandArray::new(c, medium.boxed(), &Recorder::default()) {
            let mut bus = Bus::new(array.take_packages(0).remove(0));
            let _: Vec<Out> = (0..8).map(|page| bus.read(1, page)).collect();
            bus.erase(1);
        }
    }
}
