extern crate std;
use super::*;
use crate::config::NandError;
use crate::tests::config;
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::package::PageData;
use aster_units::{CellMode, Geometry};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

/// An operation of the host on the cells.
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

/// Fills a register with the page that `form` and `fill` stand for.
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
    pages: BTreeMap<u16, (Shown, bool)>,
    erases: u32,
    torn: bool,
}

impl ModelBlock {
    /// The page that may be programmed next: among all eight, or among the LSB pages with two bits per
    /// cell.
    fn next(&self, lsb_pages: bool) -> Option<u16> {
        let next = self.pages.len() as u16 * if lsb_pages { 2 } else { 1 };
        (next < 8).then_some(next)
    }
}

/// The tests' array, programmed in the order of all pages or in that of LSB pages.
fn ordered(content: Content, lsb_pages: bool) -> NandConfig {
    let mut ordered = config(content);
    ordered.variant.lsb_pages = lsb_pages;
    ordered
}

/// Runs `ops` on real cells and on a simple model. Every read must agree.
fn check(config: &NandConfig, ops: &[Op], mut reopen: impl FnMut(Option<Die>) -> Die) {
    let (content, lsb_pages) = (config.content, config.variant.lsb_pages);
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
                let next = state.next(lsb_pages);
                let page = match (page, next) {
                    (u16::MAX, None) => continue,
                    (u16::MAX, Some(next)) => next,
                    (page, _) => page,
                };
                let (b, p) = (BlockAddr(block), PageInBlock(page));
                fill_register(&mut register, content, form, fill, die.derived_seed(b, p));
                let passed = die.program(PageAddr::new(b, p), &mut register, cut);
                let taken = next == Some(page) && !state.torn;
                assert_eq!(passed, taken && !cut, "{op:?}");
                if taken {
                    state.pages.insert(page, (shown(&register), cut));
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
                // First one sector, as a host asks for it; then the rest.
                die.fetch(1 << (step % 2), &mut register);
                die.fetch(u16::MAX, &mut register);
                match state.pages.get(&page) {
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

fn on_image(config: NandConfig, ops: &[Op]) {
    let shared = Rc::new(config);
    let medium = crate::tests::TestMedium::for_config(&shared);
    check(&shared, ops, |old| {
        drop(old);
        let Some(boxed) = medium.boxed() else { unreachable!() };
        let image = Rc::new(core::cell::RefCell::new(Image::open(boxed, &shared).unwrap()));
        let mut die = Die::new(&shared, LunIndex(0), Some(image.clone()));
        restore(&mut image.borrow_mut(), LunIndex(0), &mut die).unwrap();
        die
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn cells_in_memory_agree_with_a_model(full in any::<bool>(), lsb in any::<bool>(),
        ops in prop::collection::vec(op(), 1..250)) {
        let content = if full { Content::Full } else { Content::Fingerprint };
        let shared = Rc::new(ordered(content, lsb));
        check(&shared, &ops, |old| old.unwrap_or_else(|| Die::new(&shared, LunIndex(0), None)));
    }

    #[test]
    fn cells_on_an_image_agree_with_a_model_over_reopening(full in any::<bool>(), lsb in any::<bool>(),
        ops in prop::collection::vec(op(), 1..150)) {
        on_image(ordered(if full { Content::Full } else { Content::Fingerprint }, lsb), &ops);
    }
}

/// A drive on an image.
struct OnImage {
    config: Rc<NandConfig>,
    medium: crate::tests::TestMedium,
}

impl OnImage {
    fn new(content: Content) -> Self {
        let config = Rc::new(config(content));
        OnImage { medium: crate::tests::TestMedium::for_config(&config), config }
    }
    fn open(&self) -> Result<Die, NandError> {
        let Some(boxed) = self.medium.boxed() else { unreachable!() };
        let image = Rc::new(core::cell::RefCell::new(Image::open(boxed, &self.config)?));
        let mut die = Die::new(&self.config, LunIndex(0), Some(image.clone()));
        restore(&mut image.borrow_mut(), LunIndex(0), &mut die)?;
        Ok(die)
    }
    fn register(&self) -> Register {
        Register::new(&self.config.layout, self.config.content)
    }
    /// The offset of a page of block 1.
    fn place(&self, page: u16, part: image::RecordPart) -> u64 {
        let Some(boxed) = self.medium.boxed() else { unreachable!() };
        let image = Image::open(boxed, &self.config).unwrap();
        image.damaged(LunIndex(0), BlockAddr(1), PageInBlock(page), part).offset
    }
    fn spoil(&self, at: u64) {
        let mut pages = self.medium.pages.borrow_mut();
        pages.get_mut(&(at / 4096)).expect("something is there")[(at % 4096) as usize] ^= 0x10;
    }
    /// Writes pages of block 1, each in one of the forms that a page can have.
    fn write(&self, die: &mut Die, forms: &[u8]) {
        let mut register = self.register();
        for (page, &form) in forms.iter().enumerate() {
            let (b, p) = (BlockAddr(1), PageInBlock(page as u16));
            fill_register(&mut register, self.config.content, form, 7, die.derived_seed(b, p));
            assert!(die.program(PageAddr::new(b, p), &mut register, false));
        }
    }
}

#[test]
fn a_sector_that_something_else_wrote_to_reads_as_uncorrectable_and_is_told_by_its_place() {
    let drive = OnImage::new(Content::Full);
    let mut die = drive.open().unwrap();
    drive.write(&mut die, &[0, 0, 3]);
    let at = drive.place(1, image::RecordPart::Slot(4096));
    drive.spoil(at + 77);
    drive.spoil(drive.place(2, image::RecordPart::Slot(8192)) + 900);
    let mut register = drive.register();
    let page = PageAddr::new(BlockAddr(1), PageInBlock(1));
    die.load(page, 0.0, &mut register);
    die.fetch(1, &mut register);
    assert!(register.flips.is_empty() && die.medium_error().is_none(), "the other sector is as it was");
    die.fetch(2, &mut register);
    assert!(register.flips.len() > 500, "uncorrectable");
    let error = die.medium_error().expect("it is reported").clone();
    assert_eq!(error.offset, at);
    assert!(error.reason.starts_with("page 1 of block 1 on LUN 0 isn't what was programmed"), "{error}");
    // Literal bytes have checksums as well, which survive the process.
    for mut die in [die, drive.open().unwrap()] {
        die.load(PageAddr::new(BlockAddr(1), PageInBlock(2)), 0.0, &mut register);
        assert!(die.medium_error().is_some());
        let mut damaged = Vec::new();
        assert_eq!(die.verify(BlockAddr(1), &mut damaged), Ok(3));
        let found: Vec<(u16, u64)> = damaged.iter().map(|d| (d.page.0, d.offset)).collect();
        assert_eq!(found, [(1, at), (2, drive.place(2, image::RecordPart::Slot(8192)))]);
    }
}

#[test]
fn whole_pages_on_a_drive_of_fingerprints_have_sums_too() {
    let drive = OnImage::new(Content::Fingerprint);
    let mut die = drive.open().unwrap();
    drive.write(&mut die, &[2, 3, 0]);
    let mut damaged = Vec::new();
    assert_eq!((die.verify(BlockAddr(1), &mut damaged), damaged.len()), (Ok(2), 0));
    drive.spoil(drive.place(0, image::RecordPart::Slot(0)));
    drop(die);
    let mut die = drive.open().unwrap();
    assert_eq!((die.verify(BlockAddr(1), &mut damaged), damaged.len()), (Ok(2), 1));
}

#[test]
fn a_record_that_something_else_wrote_to_is_no_program_that_was_cut_off() {
    // In its cycle, its seed and its checksums.
    for byte in [1, 5, 34] {
        let drive = OnImage::new(Content::Full);
        drive.write(&mut drive.open().unwrap(), &[0, 0, 0]);
        let at = drive.place(1, image::RecordPart::Record);
        drive.spoil(at + byte);
        let Err(NandError::Record(damaged)) = drive.open() else { panic!("byte {byte} was taken for good") };
        assert_eq!((damaged.block, damaged.page, damaged.offset), (BlockAddr(1), PageInBlock(1), at));
        // The last record may have been cut off. Its page is torn, and never silently something else.
        drive.spoil(at + byte);
        drive.spoil(drive.place(2, image::RecordPart::Record) + 5);
        let mut die = drive.open().unwrap();
        let mut register = drive.register();
        die.load(PageAddr::new(BlockAddr(1), PageInBlock(2)), 0.0, &mut register);
        assert!(register.flips.len() > 500, "torn");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A kill ends a write between two pages of the file. Whichever write that is, the image is like that
    /// of a drive that lost power, and not damaged.
    #[test]
    fn killed_processes_leave_images_that_are_whole(
        full in any::<bool>(),
        lives in prop::collection::vec((0..160u64, prop::collection::vec(op(), 1..60)), 1..5),
    ) {
        // Blocks whose entries and records are at the ends of different pages of the file.
        const APART: [u32; 4] = [0, 127, 128, 170];
        let mut config = config(if full { Content::Full } else { Content::Fingerprint });
        config.geometry.blocks_per_lun = 192;
        let config = Rc::new(config);
        let drive = OnImage { medium: crate::tests::TestMedium::for_config(&config), config };
        for (left, ops) in lives {
            let mut die = drive.open().unwrap();
            let mut register = drive.register();
            drive.medium.lives.set(left);
            for op in ops {
                match op {
                    Op::Program { block, form, fill, cut, .. } => {
                        let b = BlockAddr(APART[block as usize]);
                        let page = PageInBlock(die.block(b).next);
                        if page.0 < 8 {
                            fill_register(&mut register, drive.config.content, form, fill,
                                die.derived_seed(b, page));
                            die.program(PageAddr::new(b, page), &mut register, cut);
                        }
                    }
                    Op::Erase { block } => drop(die.erase(BlockAddr(APART[block as usize]))),
                    Op::HalfErase { block } => die.half_erase(BlockAddr(APART[block as usize])),
                    Op::Read { .. } => {}
                }
            }
            drop(die);
            drive.medium.lives.set(u64::MAX);
            let mut die = drive.open().unwrap_or_else(|error| panic!("{error}"));
            let mut damaged = Vec::new();
            for block in 0..drive.config.geometry.blocks_per_lun {
                die.verify(BlockAddr(block), &mut damaged).unwrap();
            }
            prop_assert_eq!(damaged, []);
        }
    }
}

/// The drive for the memory bound: four sectors per page, 16 bytes of OOB.
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
    // Two rounds with the rows' seeds, two without a scrambler.
    for round in 0..4 {
        for &block in &blocks {
            for page in 0..256 {
                let (b, p) = (BlockAddr(block), PageInBlock(page));
                let seed = if round < 2 { seed_of_row(shared.geometry.row(0, b, p)) } else { 0 };
                let page = PageData { content: Content::Fingerprint, data: &[7; 32], oob: &[1; 16], seed };
                register.set_page(&page);
                assert!(die.program(PageAddr::new(b, p), &mut register, false));
            }
        }
        let written = blocks.len() as u64 * 256;
        assert_eq!(die.programmed(), written);
        assert!(die.memory_bytes() <= 48 * written + 32 * 8_192, "round {round}: {}", die.memory_bytes());
        blocks.iter().for_each(|b| assert!(die.erase(BlockAddr(*b))));
    }
}

#[test]
fn a_drive_on_an_image_keeps_none_of_its_content_in_memory() {
    let drive = OnImage::new(Content::Full);
    let mut die = drive.open().unwrap();
    let mut register = drive.register();
    let g = drive.config.geometry;
    for block in (0..g.blocks_per_lun).map(BlockAddr) {
        for page in (0..g.pages_per_block).map(PageInBlock) {
            let seed = die.derived_seed(block, page);
            fill_register(&mut register, Content::Full, 0, page.0 as u8, seed);
            assert!(die.program(PageAddr::new(block, page), &mut register, false));
        }
    }
    let pages = u64::from(g.blocks_per_lun) * u64::from(g.pages_per_block);
    assert_eq!(die.programmed(), pages);
    let content = u64::from(drive.config.layout.sectors()) * 4096;
    // The OOB, and a checksum of four bytes for each part of the content.
    let a_page =
        u64::from(drive.config.layout.oob_bytes()) + content / SUMMED_BYTES as u64 * SUM_BYTES as u64;
    let blocks = size_of_val(&*die.blocks) as u64;
    assert!(die.memory_bytes() <= pages * a_page + blocks, "{} bytes", die.memory_bytes());
    assert!(pages * a_page < pages * content / 100);
    drop(die);
    // The same is true of a drive that was reopened.
    let die = drive.open().unwrap();
    assert_eq!(die.programmed(), pages);
    assert!(die.memory_bytes() <= pages * a_page + blocks, "{} bytes", die.memory_bytes());
}
