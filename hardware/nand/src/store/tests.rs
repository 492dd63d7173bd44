extern crate std;
use super::*;
use crate::tests::config;
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::package::PageData;
use aster_units::{CellMode, Geometry};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

/// What a host does to the cells.
#[derive(Clone, Debug)]
enum Op {
    Program { block: u32, page: u16, form: u8, fill: u8, cut: bool },
    Erase { block: u32 },
    HalfErase { block: u32 },
    Read { block: u32, page: u16 },
}

fn op() -> impl Strategy<Value = Op> {
    let (block, page) = (0..4u32, 0..8u16);
    prop_oneof![
        6 => (block.clone(), 0..4u8, any::<u8>(), prop::bool::weighted(0.05))
            .prop_map(|(block, form, fill, cut)| Op::Program { block, page: u16::MAX, form, fill, cut }),
        1 => (block.clone(), page.clone(), 0..4u8, any::<u8>())
            .prop_map(|(block, page, form, fill)| Op::Program { block, page, form, fill, cut: false }),
        1 => block.clone().prop_map(|block| Op::Erase { block }),
        1 => prop::bool::weighted(0.2).prop_flat_map(move |half| (0..4u32).prop_map(move |block| if half {
            Op::HalfErase { block }
        } else {
            Op::Erase { block }
        })),
        6 => (block, page).prop_map(|(block, page)| Op::Read { block, page }),
    ]
}

/// The page that `form` and `fill` stand for, in a register.
fn fill_register(register: &mut Register, content: Content, form: u8, fill: u8, row_seed: u32) {
    register.clear();
    let oob = [fill ^ 0x55; 16];
    let page = |content: Content, seed| {
        let data: Vec<u8> = (0..2 * content.sector_len()).map(|i| fill.wrapping_add(i as u8)).collect();
        (content, data, seed)
    };
    let (content, data, seed) = match form {
        0 => page(content, row_seed),
        1 => page(content, if fill.is_multiple_of(2) { 1234 } else { 0 }),
        2 => page(Content::Full, row_seed),
        _ => {
            register.set_bytes(9_216, 3, &[fill; 40]);
            return;
        }
    };
    register.set_page(&PageData { content, data: &data, oob: &oob, seed });
}

type Shown = (Holds, Vec<u8>, Vec<u8>, u32);

fn shown(register: &Register) -> Shown {
    match register.holds {
        Holds::Page => (Holds::Page, register.data.clone(), register.oob.clone(), register.seed),
        Holds::Bytes => (Holds::Bytes, register.bytes.clone(), vec![], 0),
        other => (other, vec![], vec![], 0),
    }
}

#[derive(Default)]
struct ModelBlock {
    pages: Vec<(Shown, bool)>,
    erases: u32,
    torn: bool,
}

/// Runs `ops` on real cells and on the obvious model beside them. Every read must agree.
fn check(content: Content, ops: &[Op], mut reopen: impl FnMut(Option<Die>) -> Die) {
    let config = config(content);
    let mut die = reopen(None);
    let mut register = Register::new(&config.layout, content);
    let mut model: BTreeMap<u32, ModelBlock> = BTreeMap::new();
    for (step, op) in ops.iter().enumerate() {
        if step % 37 == 36 {
            die = reopen(Some(die));
        }
        match *op {
            Op::Program { block, page, form, fill, cut } => {
                let state = model.entry(block).or_default();
                let page = if page == u16::MAX { state.pages.len() as u16 } else { page };
                if page >= 8 {
                    continue;
                }
                let (b, p) = (BlockAddr(block), PageInBlock(page));
                fill_register(&mut register, content, form, fill, die.derived_seed(b, p));
                let passed = die.program(PageAddr::new(b, p), &register, cut);
                let taken = usize::from(page) == state.pages.len() && !state.torn;
                assert_eq!(passed, taken && !cut, "{op:?}");
                if taken {
                    state.pages.push((shown(&register), cut));
                }
            }
            Op::Erase { block } => {
                assert!(die.erase(BlockAddr(block)));
                let state = model.entry(block).or_default();
                *state = ModelBlock { erases: state.erases + 1, ..Default::default() };
            }
            Op::HalfErase { block } => {
                die.half_erase(BlockAddr(block));
                model.entry(block).or_default().torn = true;
            }
            Op::Read { block, page } => {
                let state = model.entry(block).or_default();
                die.load(PageAddr::new(BlockAddr(block), PageInBlock(page)), 0.0, &mut register);
                match state.pages.get(usize::from(page)) {
                    _ if state.torn && register.holds == Holds::Bytes => {}
                    Some((_, true)) if register.holds == Holds::Bytes => {}
                    Some((want, torn)) => {
                        assert_eq!(&shown(&register), want, "{op:?}");
                        assert_eq!(!register.flips.is_empty(), *torn || state.torn);
                    }
                    None => {
                        assert_eq!(register.holds, Holds::Erased);
                        assert_eq!(!register.flips.is_empty(), state.torn);
                    }
                }
                assert_eq!(die.block(BlockAddr(block)).erases, state.erases);
            }
        }
    }
    let programmed: usize = model.values().map(|b| b.pages.len()).sum();
    assert_eq!(die.programmed(), programmed as u64);
}

fn on_image(content: Content, ops: &[Op]) {
    let shared = Rc::new(config(content));
    let medium = crate::tests::TestMedium::for_config(&shared);
    check(content, ops, |old| {
        drop(old);
        let Some(boxed) = medium.boxed() else { unreachable!() };
        let image = Rc::new(core::cell::RefCell::new(Image::open(boxed, &shared).unwrap()));
        let mut die = Die::new(&shared, LunIndex(0), Some(image.clone()));
        image.borrow_mut().restore(LunIndex(0), &mut die).unwrap();
        die
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn cells_in_memory_agree_with_a_model(full in any::<bool>(), ops in prop::collection::vec(op(), 1..250)) {
        let content = if full { Content::Full } else { Content::Fingerprint };
        let shared = Rc::new(config(content));
        check(content, &ops, |old| old.unwrap_or_else(|| Die::new(&shared, LunIndex(0), None)));
    }

    #[test]
    fn cells_on_an_image_agree_with_a_model_over_reopening(full in any::<bool>(), ops in prop::collection::vec(op(), 1..150)) {
        on_image(if full { Content::Full } else { Content::Fingerprint }, &ops);
    }
}

/// The drive of the memory bound: four sectors a page, 16 bytes of OOB.
fn big(content: Content) -> NandConfig {
    let mut c = config(content);
    c.geometry = Geometry {
        channels: 8,
        ways: 8,
        luns: 1,
        planes: 2,
        blocks_per_lun: 8_192,
        pages_per_block: 256,
        page_bytes: 16_384,
        spare_bytes: 1_664,
    };
    c.layout = PageLayout::new(4, 18_048, 256, 21, 16, Placement::Spare).unwrap();
    c.cells = CellMode::Mlc;
    c.failures.factory_bad_per_mille = 20;
    c
}

#[test]
fn a_fingerprint_page_takes_48_bytes_and_a_block_32() {
    let shared = Rc::new(big(Content::Fingerprint));
    let mut die = Die::new(&shared, LunIndex(0), None);
    assert!(die.memory_bytes() <= 32 * 8_192);
    let mut register = Register::new(&shared.layout, Content::Fingerprint);
    let blocks: Vec<u32> =
        (0..100).filter(|b| !die.block(BlockAddr(*b)).flags.has(Flags::FACTORY_BAD)).collect();
    // Two rounds with the rows' seeds, two without scrambler.
    for round in 0..4 {
        for &block in &blocks {
            for page in 0..256 {
                let (b, p) = (BlockAddr(block), PageInBlock(page));
                let seed = if round < 2 { seed_of_row(shared.geometry.row(0, b, p)) } else { 0 };
                let page = PageData { content: Content::Fingerprint, data: &[7; 32], oob: &[1; 16], seed };
                register.set_page(&page);
                assert!(die.program(PageAddr::new(b, p), &register, false));
            }
        }
        let written = blocks.len() as u64 * 256;
        assert_eq!(die.programmed(), written);
        assert!(die.memory_bytes() <= 48 * written + 32 * 8_192, "round {round}: {}", die.memory_bytes());
        blocks.iter().for_each(|b| assert!(die.erase(BlockAddr(*b))));
    }
}
