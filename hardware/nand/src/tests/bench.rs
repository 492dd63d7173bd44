//! A small array, and a bus that drives one package with legal waits unless told otherwise.

use crate::*;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::medium::{Medium, MediumError};
use aster_ports::package::{BurstTiming, DataIn, DataMode, DataOut, Package, PageData, ProtocolError};
use aster_txn::Latch;
use aster_units::{
    BlockAddr, CellMode, Content, Duration, Geometry, Instant, LunIndex, PageInBlock, RowAddr,
};
use aster_wire::onfi::CommandSet;
use aster_wire::onfi::command_set::{OneShot, ReadRetry, Suspend};
use core::cell::RefCell;

pub const GEOMETRY: Geometry = Geometry {
    channels: 1,
    ways: 1,
    luns: 1,
    planes: 1,
    blocks_per_lun: 16,
    pages_per_block: 8,
    page_bytes: 8_192,
    spare_bytes: 1_024,
};

pub fn config(content: Content) -> NandConfig {
    NandConfig {
        geometry: GEOMETRY,
        layout: PageLayout::new(2, 9_216, 256, 21, 16, Placement::Spare).unwrap(),
        content,
        cells: CellMode::Mlc,
        timing: ArrayTiming::COSMOS_MLC,
        bus: BusConfig {
            sdr_mode_max: 5,
            nv_ddr_mode_max: None,
            nv_ddr2_mode_max: Some(7),
            t_ccs: Duration::from_nanos(300),
        },
        variant: Variant::default(),
        identity: Identity::default(),
        errors: ErrorModel::NONE,
        failures: FailureModel::NONE,
        seed: 42,
    }
}

/// A variant with every command. The vendor's opcodes are those of the shipped packages.
pub fn everything() -> Variant {
    Variant {
        commands: CommandSet {
            read_cache: true,
            program_cache: true,
            multi_plane: true,
            copyback: true,
            reset_lun: true,
            odt_configure: true,
            zq_calibration: true,
            pseudo_slc: Some(0xa2),
            one_shot: Some(OneShot { pages: [0x01, 0x02, 0x03], load_confirm: 0x1a }),
            suspend: Some(Suspend { erase: 0x61, erase_resume: 0xd2, program: 0x84, program_resume: 0x13 }),
            read_retry: Some(ReadRetry { feature: 0x89, levels: 4 }),
        },
        read_levels_mv: vec![0, -40, -80, -120],
        pair_loss: true,
        lsb_pages: false,
    }
}

/// An MLC package with every command, with two planes.
pub fn rich(content: Content) -> NandConfig {
    let mut c = config(content);
    c.geometry.planes = 2;
    c.variant = everything();
    c.variant.commands.one_shot = None;
    c
}

/// The data of a data-out burst, owned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Out {
    Bytes(Vec<u8>),
    Page { column: u16, content: Content, data: Vec<u8>, oob: Vec<u8>, seed: u32, flips: Vec<u32> },
    Erased { flips: Vec<u32> },
}

impl Out {
    pub fn bytes(&self) -> &[u8] {
        let Out::Bytes(bytes) = self else { panic!("{self:?} are no bytes") };
        bytes
    }
    pub fn flips(&self) -> &[u32] {
        match self {
            Out::Page { flips, .. } | Out::Erased { flips } => flips,
            Out::Bytes(_) => panic!("bytes carry no flips"),
        }
    }
}

/// Drives one package. `now` is the time of the last edge.
pub struct Bus {
    pub package: NandPackage,
    pub now: Instant,
    pub mode: DataMode,
    /// Time between any two edges, long enough for every wait.
    pub gap: Duration,
}

impl Bus {
    pub fn new(mut package: NandPackage) -> Self {
        package.select(Instant::ZERO, true).unwrap();
        Bus { package, now: Instant::ZERO, mode: DataMode::Sdr, gap: Duration::from_micros(1) }
    }
    pub fn wait(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        self
    }
    fn step(&mut self) -> Instant {
        self.now += self.gap;
        self.now
    }
    pub fn try_cmd(&mut self, value: u8) -> Result<(), ProtocolError> {
        let at = self.step();
        self.package.latch(at, Latch::Command(value))
    }
    pub fn try_addr(&mut self, value: u8) -> Result<(), ProtocolError> {
        let at = self.step();
        self.package.latch(at, Latch::Address(value))
    }
    pub fn cmd(&mut self, value: u8) -> &mut Self {
        self.try_cmd(value).unwrap_or_else(|e| panic!("{value:02X}h: {e}"));
        self
    }
    pub fn addr(&mut self, values: &[u8]) -> &mut Self {
        for &value in values {
            self.try_addr(value).unwrap_or_else(|e| panic!("address {value:02X}h: {e}"));
        }
        self
    }
    pub fn timing(&mut self) -> BurstTiming {
        let first = self.step();
        BurstTiming { first, last: first, mode: self.mode }
    }
    pub fn try_out(&mut self, length: u32) -> Result<Out, ProtocolError> {
        let timing = self.timing();
        self.package.data_out(timing, length, |out| match *out {
            DataOut::Bytes(bytes) => Out::Bytes(bytes.to_vec()),
            DataOut::Page { column, page, flips } => Out::Page {
                column: column.0,
                content: page.content,
                data: page.data.to_vec(),
                oob: page.oob.to_vec(),
                seed: page.seed,
                flips: flips.to_vec(),
            },
            DataOut::Erased { flips, .. } => Out::Erased { flips: flips.to_vec() },
        })
    }
    pub fn out(&mut self, length: u32) -> Out {
        self.try_out(length).unwrap_or_else(|e| panic!("data out: {e}"))
    }
    pub fn try_bytes_in(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        let timing = self.timing();
        self.package.data_in(timing, bytes.len() as u32, DataIn::Bytes(bytes))
    }
    pub fn bytes_in(&mut self, bytes: &[u8]) -> &mut Self {
        self.try_bytes_in(bytes).unwrap_or_else(|e| panic!("data in: {e}"));
        self
    }
    pub fn status(&mut self) -> u8 {
        self.cmd(0x70).out(1).bytes()[0]
    }
    /// Polls READ STATUS until RDY.
    pub fn until_ready(&mut self) -> u8 {
        loop {
            let status = self.status();
            if status & 0x40 != 0 {
                return status;
            }
            assert_eq!(status & 0x20, 0, "ARDY is clear while RDY is");
        }
    }

    /// The three cycles of a row address, lowest byte first.
    pub fn row(&self, block: u32, page: u16) -> [u8; 3] {
        let RowAddr(row) = GEOMETRY.row(0, BlockAddr(block), PageInBlock(page));
        [row as u8, (row >> 8) as u8, (row >> 16) as u8]
    }
    /// READ PAGE (ONFI 5.1): 00h, C1 C2 R1 R2 R3, 30h; then 00h returns from status to data.
    pub fn start_read(&mut self, block: u32, page: u16) -> &mut Self {
        let row = self.row(block, page);
        self.cmd(0x00).addr(&[0, 0]).addr(&row).cmd(0x30)
    }
    pub fn read(&mut self, block: u32, page: u16) -> Out {
        self.start_read(block, page).until_ready();
        self.cmd(0x00).out(9_216)
    }
    /// PAGE PROGRAM (ONFI 5.1): 80h, C1 C2 R1 R2 R3, data, 10h.
    pub fn load(&mut self, block: u32, page: u16, data: &PageData<'_>) -> Result<(), ProtocolError> {
        self.load_with(0x80, GEOMETRY.row(0, BlockAddr(block), PageInBlock(page)), data)
    }
    /// Loads a page with another first cycle.
    pub fn load_with(&mut self, first: u8, row: RowAddr, data: &PageData<'_>) -> Result<(), ProtocolError> {
        let row = row.0.to_le_bytes();
        self.cmd(first).addr(&[0, 0]).addr(&row[..3]);
        let timing = self.timing();
        // 8192 data, 32 chunks of 21 parity, 4 seed, 16 OOB, 21 parity.
        self.package.data_in(timing, 8_905, DataIn::Page(*data))
    }
    pub fn program(&mut self, block: u32, page: u16, fill: u8) -> u8 {
        let content = self.content();
        let (data, oob) = page_of(content, fill);
        let seed = aster_codec::seed_of_row(GEOMETRY.row(0, BlockAddr(block), PageInBlock(page)));
        self.load(block, page, &PageData { content, data: &data, oob: &oob, seed }).unwrap();
        self.cmd(0x10).until_ready()
    }
    /// BLOCK ERASE (ONFI 5.1): 60h, R1 R2 R3, D0h.
    pub fn erase(&mut self, block: u32) -> u8 {
        let row = self.row(block, 0);
        self.cmd(0x60).addr(&row).cmd(0xd0).until_ready()
    }
    fn content(&self) -> Content {
        self.package.config.content
    }
}

/// A page filled with `fill`.
pub fn page_of(content: Content, fill: u8) -> (Vec<u8>, Vec<u8>) {
    (vec![fill; 2 * content.sector_len()], vec![!fill; 16])
}

pub fn expect_page(out: &Out, fill: u8) {
    let Out::Page { content, data, oob, flips, .. } = out else { panic!("{out:?}") };
    let want = page_of(*content, fill);
    assert!((data, oob) == (&want.0, &want.1), "other bytes than {fill}");
    assert!(flips.is_empty());
}

pub fn one(config: NandConfig) -> (Bus, NandInspect) {
    let mut array = NandArray::new(config, None, &Recorder::default()).unwrap();
    let inspect = array.inspect();
    (Bus::new(array.take_packages(0).remove(0)), inspect)
}

pub const LUN: LunIndex = LunIndex(0);

/// A sparse medium in memory. Clones share their bytes, as reopening a file does.
#[derive(Clone)]
pub struct TestMedium {
    pub pages: Rc<RefCell<alloc::collections::BTreeMap<u64, Box<[u8; 4096]>>>>,
    pub size: u64,
    pub fails: Rc<core::cell::Cell<bool>>,
    /// Pages of 4096 bytes that are still written before the process is killed. Later writes are lost.
    /// The system carries out a write page by page, and a kill takes effect between two pages.
    pub lives: Rc<core::cell::Cell<u64>>,
}

impl TestMedium {
    pub fn for_config(config: &NandConfig) -> Self {
        TestMedium {
            pages: Rc::default(),
            size: NandArray::image_bytes(config),
            fails: Rc::default(),
            lives: Rc::new(core::cell::Cell::new(u64::MAX)),
        }
    }
    pub fn boxed(&self) -> Option<Box<dyn Medium>> {
        Some(Box::new(self.clone()))
    }
    fn check(&self, offset: u64, length: usize) -> Result<(), MediumError> {
        if self.fails.get() {
            return Err(MediumError { offset, reason: "the disk is on fire".into() });
        }
        assert!(offset + length as u64 <= self.size, "access outside the medium");
        Ok(())
    }
}

impl Medium for TestMedium {
    fn size(&self) -> u64 {
        self.size
    }
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), MediumError> {
        self.check(offset, into.len())?;
        let pages = self.pages.borrow();
        for (i, byte) in into.iter_mut().enumerate() {
            let at = offset + i as u64;
            *byte = pages.get(&(at / 4096)).map_or(0, |p| p[(at % 4096) as usize]);
        }
        Ok(())
    }
    fn write_at(&mut self, offset: u64, from: &[u8]) -> Result<(), MediumError> {
        self.check(offset, from.len())?;
        let mut pages = self.pages.borrow_mut();
        for (i, byte) in from.iter().enumerate() {
            let at = offset + i as u64;
            if i == 0 || at.is_multiple_of(4096) {
                let Some(left) = self.lives.get().checked_sub(1) else { return Ok(()) };
                self.lives.set(left);
            }
            let page = pages.entry(at / 4096).or_insert_with(|| Box::new([0; 4096]));
            page[(at % 4096) as usize] = *byte;
        }
        Ok(())
    }
    fn discard(&mut self, offset: u64, length: u64) -> Result<(), MediumError> {
        self.check(offset, length as usize)?;
        assert!(offset.is_multiple_of(4096) && length.is_multiple_of(4096), "discards whole pages");
        if self.lives.get() == 0 {
            return Ok(());
        }
        self.pages.borrow_mut().retain(|page, _| !(offset..offset + length).contains(&(page * 4096)));
        Ok(())
    }
}
