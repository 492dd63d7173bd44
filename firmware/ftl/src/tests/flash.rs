//! A flash array behind `FlashPort`. It holds the firmware to the rules of NAND: pages are programmed in
//! order, once, after an erase; reads of bad places fail as asked.

use crate::terms::oob::{OOB_BYTES, OobRecord};
use crate::terms::units::UnitShape;
use aster_exec::{Core, Exec};
use aster_ports::dram::SharedDram;
use aster_ports::flash::{FlashOp, FlashPort, FlashRequest, FlashStatus, Outcome, Target};
use aster_units::{BufferId, Content, Duration, Geometry, LunIndex, Ppa, Rng};
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

/// What goes wrong, in one of so many operations; 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub program: u64,
    pub erase: u64,
    /// An erase that fails leaves everything as it is; else nothing of the block is readable afterwards.
    pub erase_leaves_data: bool,
}

#[derive(Clone)]
struct Page {
    content: Content,
    bytes: Box<[u8]>,
    oob: Box<[u8]>,
}

/// The cells: what stays without power.
#[derive(Clone)]
pub struct Cells {
    geometry: Geometry,
    pages: Vec<Option<Page>>,
    next: Vec<u16>,
    pub factory_bad: Vec<bool>,
    /// The first spare byte of pages, where it isn't the 00h of a factory bad block or the FFh of a good one.
    pub marks: BTreeMap<u32, u8>,
    pub bad: Vec<bool>,
    /// Sectors that can't be read, by physical page, until it is erased.
    pub uncorrectable: BTreeMap<u32, u16>,
    pub oob_broken: BTreeMap<u32, ()>,
    /// Wrong bits that are corrected in each read, by physical page, until it is erased; of all others
    /// `wrong_bits_min`.
    pub wrong_bits: BTreeMap<u32, u8>,
    pub wrong_bits_min: u8,
    pub faults: Faults,
    /// LUNs whose next program, or next erase, fails; as often as they stand here.
    pub next_programs_fail: Vec<LunIndex>,
    pub next_erases_fail: Vec<LunIndex>,
    rng: Rng,
    pub erases: Vec<u32>,
    // What each LUN is doing, and whether that has taken effect.
    working: BTreeMap<u32, (FlashRequest, bool)>,
    half_erased: Vec<bool>,
    /// The next program of this page fails.
    pub fail_at: Option<Ppa>,
    /// Polls of the tasks that serve the port.
    pub polls: u64,
    /// OOB bytes of a page.
    oob_len: usize,
}

/// How pages with so many OOB bytes are divided.
fn shape_of(oob: &[u8]) -> UnitShape {
    let mut shapes = (0..=4).map(|shift| UnitShape::new(1 << shift, 1));
    shapes.find(|shape| shape.oob_bytes() == oob.len()).expect("a record of some shape")
}

pub type SharedCells = Rc<RefCell<Cells>>;

impl Cells {
    pub fn new(geometry: Geometry, seed: u64) -> SharedCells {
        let blocks = (geometry.total_luns() * geometry.blocks_per_lun) as usize;
        Rc::new(RefCell::new(Cells {
            geometry,
            pages: (0..geometry.total_pages()).map(|_| None).collect(),
            next: vec![0; blocks],
            factory_bad: vec![false; blocks],
            marks: BTreeMap::new(),
            bad: vec![false; blocks],
            uncorrectable: BTreeMap::new(),
            oob_broken: BTreeMap::new(),
            wrong_bits: BTreeMap::new(),
            wrong_bits_min: 0,
            faults: Faults::default(),
            next_programs_fail: vec![],
            next_erases_fail: vec![],
            rng: Rng::new(seed),
            erases: vec![0; blocks],
            working: BTreeMap::new(),
            half_erased: vec![false; blocks],
            fail_at: None,
            polls: 0,
            oob_len: OOB_BYTES,
        }))
    }
    fn strikes(&mut self, one_in: u64) -> bool {
        one_in > 0 && self.rng.below(one_in) == 0
    }
    fn is_due(due: &mut Vec<LunIndex>, lun: LunIndex) -> bool {
        due.iter().position(|of| *of == lun).map(|at| due.swap_remove(at)).is_some()
    }
    fn ppa(&self, lun: LunIndex, target: &Target) -> Ppa {
        let (row_lun, block, page) = self.geometry.split_row(target.row);
        assert_eq!(row_lun, self.geometry.lun_addr(lun).lun, "a row address names another LUN");
        assert!(block.0 < self.geometry.blocks_per_lun && page.0 < self.geometry.pages_per_block);
        self.geometry.ppa(lun, block, page)
    }
    fn block(&self, ppa: Ppa) -> usize {
        ppa.0 as usize / usize::from(self.geometry.pages_per_block)
    }

    fn execute(&mut self, request: &FlashRequest, dram: &SharedDram) -> Outcome {
        let target = request.targets()[0];
        let ppa = self.ppa(request.lun, &target);
        match request.phase {
            FlashOp::Read if request.flags.raw => self.read_raw(ppa, &target, dram),
            FlashOp::Read => self.read(ppa, &target, dram),
            FlashOp::Program => {
                let fails = Cells::is_due(&mut self.next_programs_fail, request.lun);
                self.program(ppa, &target, dram, fails)
            }
            FlashOp::Erase => {
                let fails = Cells::is_due(&mut self.next_erases_fail, request.lun);
                self.erase(ppa, fails)
            }
            other => panic!("the FTL asked for {other:?}"),
        }
    }
    fn read_raw(&self, ppa: Ppa, target: &Target, dram: &SharedDram) -> Outcome {
        let written = self.pages[ppa.0 as usize].is_some() || self.half_erased[self.block(ppa)];
        let usual = match self.factory_bad[self.block(ppa)] {
            true => 0,
            false if written => 0x5A,
            false => 0xFF,
        };
        let mark = self.marks.get(&ppa.0).copied().unwrap_or(usual);
        dram.borrow_mut().oob_mut(target.buffer).fill(mark);
        Outcome::default()
    }
    fn read(&self, ppa: Ppa, target: &Target, dram: &SharedDram) -> Outcome {
        if self.half_erased[self.block(ppa)] {
            let failed_sectors = target.sectors.mask();
            let status = FlashStatus::Uncorrectable;
            return Outcome { status, failed_sectors, oob_failed: true, ..Outcome::default() };
        }
        let Some(page) = &self.pages[ppa.0 as usize] else {
            return Outcome { erased: true, ..Outcome::default() };
        };
        let mut dram = dram.borrow_mut();
        if dram.content_of(target.buffer) != page.content {
            return Outcome { status: FlashStatus::Error, ..Outcome::default() };
        }
        let len = page.content.sector_len();
        let (bytes, oob) = dram.page_and_oob_mut(target.buffer);
        let failed = self.uncorrectable.get(&ppa.0).copied().unwrap_or(0) & target.sectors.mask();
        for sector in usize::from(target.sectors.first)..usize::from(target.sectors.end()) {
            let at = sector * len..(sector + 1) * len;
            bytes[at.clone()].copy_from_slice(&page.bytes[at.clone()]);
            if failed >> sector & 1 == 1 {
                // Most of it looks as if it were there.
                bytes[at.end - 1] ^= 0xA5;
            }
        }
        oob.copy_from_slice(&page.oob);
        let oob_failed = self.oob_broken.contains_key(&ppa.0);
        if oob_failed {
            oob.fill(0x3C);
        }
        let status = if failed != 0 || oob_failed { FlashStatus::Uncorrectable } else { FlashStatus::Done };
        {
            let worst_chunk = self.wrong_bits.get(&ppa.0).copied().unwrap_or(0).max(self.wrong_bits_min);
            Outcome { status, failed_sectors: failed, oob_failed, worst_chunk, ..Outcome::default() }
        }
    }
    fn program(&mut self, ppa: Ppa, target: &Target, dram: &SharedDram, fails: bool) -> Outcome {
        let block = self.block(ppa);
        let page = (ppa.0 % u32::from(self.geometry.pages_per_block)) as u16;
        assert!(!self.factory_bad[block], "a factory bad block is programmed");
        assert!(!self.half_erased[block], "block {block} is programmed, but only half erased");
        assert_eq!(self.next[block], page, "block {block} is programmed out of order or twice");
        assert_eq!(target.sectors.count, self.geometry.sectors_per_page(), "part of a page is programmed");
        self.next[block] += 1;
        let meant = self.fail_at.take_if(|at| *at == ppa).is_some();
        if self.bad[block] || fails || meant || self.strikes(self.faults.program) {
            if !self.bad[block] {
                // Its pulses have reached the cells: a page that failed doesn't look erased.
                let dram = dram.borrow();
                let (len, oob_len) = (dram.page(target.buffer).len(), dram.oob(target.buffer).len());
                let noise = Page::noise(dram.content_of(target.buffer), len, oob_len);
                self.pages[ppa.0 as usize] = Some(noise);
                self.uncorrectable.insert(ppa.0, u16::MAX);
                self.oob_broken.insert(ppa.0, ());
            }
            self.bad[block] = true;
            return Outcome { status: FlashStatus::Failed, ..Outcome::default() };
        }
        let dram = dram.borrow();
        let (bytes, oob) = dram.page_and_oob(target.buffer);
        self.pages[ppa.0 as usize] =
            Some(Page { content: dram.content_of(target.buffer), bytes: bytes.into(), oob: oob.into() });
        Outcome::default()
    }
    fn erase(&mut self, ppa: Ppa, fails: bool) -> Outcome {
        let block = self.block(ppa);
        assert!(!self.factory_bad[block], "a factory bad block is erased");
        self.erases[block] += 1;
        if self.bad[block] || fails || self.strikes(self.faults.erase) {
            self.bad[block] = true;
            if !self.faults.erase_leaves_data {
                self.half_erase(block);
            }
            return Outcome { status: FlashStatus::Failed, ..Outcome::default() };
        }
        self.next[block] = 0;
        self.half_erased[block] = false;
        for page in self.pages_of(block) {
            self.pages[page as usize] = None;
            self.uncorrectable.remove(&page);
            self.oob_broken.remove(&page);
            self.wrong_bits.remove(&page);
        }
        Outcome::default()
    }
}

/// What tests craft and look at.
impl Cells {
    /// The content of a programmed page.
    pub fn content(&self, ppa: Ppa) -> Option<Vec<u8>> {
        self.pages[ppa.0 as usize].as_ref().map(|page| page.bytes.to_vec())
    }
    /// Puts other content on a programmed page.
    pub fn set_content(&mut self, ppa: Ppa, bytes: &[u8]) {
        self.pages[ppa.0 as usize].as_mut().expect("the page is programmed").bytes = bytes.into();
    }
    /// The record of a programmed page.
    pub fn record(&self, ppa: Ppa) -> Option<OobRecord> {
        self.pages[ppa.0 as usize]
            .as_ref()
            .and_then(|page| OobRecord::decode_as(shape_of(&page.oob), &page.oob))
    }
    /// Puts another record on a programmed page.
    pub fn set_record(&mut self, ppa: Ppa, record: &OobRecord) {
        let page = self.pages[ppa.0 as usize].as_mut().expect("the page is programmed");
        record.encode_as(shape_of(&page.oob), &mut page.oob);
    }
    /// The programmed pages of the drive.
    pub fn programmed(&self) -> impl Iterator<Item = Ppa> {
        (0..self.pages.len()).filter(|&page| self.pages[page].is_some()).map(|page| Ppa(page as u32))
    }
    /// The blocks in which nothing is programmed.
    pub fn erased_blocks(&self) -> Vec<usize> {
        let free_list = |&block: &usize| !self.factory_bad[block] && !self.bad[block];
        (0..self.next.len()).filter(free_list).filter(|&block| self.next[block] == 0).collect()
    }
    /// The power went while a block was being erased.
    pub fn cut_erase(&mut self, block: usize) {
        self.half_erased[block] = true;
    }
    /// The blocks that operations failed in.
    pub fn grown_bad(&self) -> usize {
        self.bad.iter().filter(|&&bad| bad).count()
    }
    fn pages_of(&self, block: usize) -> std::ops::Range<u32> {
        let pages = u32::from(self.geometry.pages_per_block);
        block as u32 * pages..(block as u32 + 1) * pages
    }
    // Of an erase that fails the pulses have reached the cells: nothing on them is legible any more.
    fn half_erase(&mut self, block: usize) {
        for page in self.pages_of(block) {
            self.uncorrectable.insert(page, u16::MAX);
            self.oob_broken.insert(page, ());
            if let Some(page) = &mut self.pages[page as usize] {
                page.bytes.fill(0xA5);
            }
        }
    }
}

impl Cells {
    /// The power goes: what is in work is torn, and a program takes the pages before it on its word line
    /// along.
    pub fn cut_off(&mut self, pages_per_word_line: u16) {
        for (lun, (request, took_effect)) in std::mem::take(&mut self.working) {
            let ppa = self.ppa(LunIndex(lun), &request.targets()[0]);
            let block = self.block(ppa);
            let page = (ppa.0 % u32::from(self.geometry.pages_per_block)) as u16;
            match request.phase {
                FlashOp::Program if !self.bad[block] => {
                    if !took_effect {
                        assert_eq!(self.next[block], page);
                        self.next[block] += 1;
                        // Its record may be legible even so.
                        let like = page.checked_sub(1).and_then(|_| self.pages[ppa.0 as usize - 1].as_ref());
                        let sectors = usize::from(self.geometry.sectors_per_page());
                        let torn = match like {
                            Some(p) => {
                                Page { oob: p.oob.clone(), ..Page::noise(p.content, p.bytes.len(), 0) }
                            }
                            None => Page::noise(Content::Full, sectors * 4096, self.oob_len),
                        };
                        self.pages[ppa.0 as usize] = Some(torn);
                    }
                    for torn in page - page % pages_per_word_line..=page {
                        self.uncorrectable.insert(ppa.0 - u32::from(page - torn), u16::MAX);
                    }
                }
                FlashOp::Erase if !self.bad[block] => self.half_erased[block] = true,
                _ => {}
            }
        }
    }
}

impl Page {
    fn noise(content: Content, len: usize, oob_len: usize) -> Page {
        Page { content, bytes: vec![0xA5; len].into(), oob: vec![0x3C; oob_len].into() }
    }
}

/// Serves the port: a task a LUN, one request at a time, in order.
pub fn serve(core: &Core, cells: &SharedCells, port: &Rc<FlashPort>, dram: &SharedDram) {
    cells.borrow_mut().oob_len = dram.borrow().oob(BufferId(0)).len();
    let luns = cells.borrow().geometry.total_luns();
    for lun in (0..luns).map(LunIndex) {
        let (exec, cells, port, dram): (Exec, _, _, _) =
            (core.exec().clone(), cells.clone(), port.clone(), dram.clone());
        let polled = cells.clone();
        let mut work = Box::pin(async move {
            let mut rng = Rng::new(u64::from(lun.0) + 1);
            loop {
                let (tag, request) = port.next(lun, |_| 0).await;
                let micros = match request.phase {
                    FlashOp::Read => 40 + rng.below(30),
                    FlashOp::Program => 300 + rng.below(500),
                    _ => 3000,
                };
                // Half before, half after: content is taken in the middle, so that whoever changes a buffer
                // too early is found out.
                cells.borrow_mut().working.insert(lun.0, (request, false));
                exec.sleep(Duration::from_micros(micros / 2)).await;
                let outcome = cells.borrow_mut().execute(&request, &dram);
                cells.borrow_mut().working.insert(lun.0, (request, true));
                exec.sleep(Duration::from_micros(micros / 2)).await;
                cells.borrow_mut().working.remove(&lun.0);
                let mut outcomes = [Outcome::default(); 4];
                outcomes[0] = outcome;
                port.complete(tag, outcomes);
            }
        });
        core.exec().spawn(std::future::poll_fn(move |context| {
            polled.borrow_mut().polls += 1;
            work.as_mut().poll(context)
        }));
    }
}
