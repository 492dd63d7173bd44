//! The NAND image: a byte-addressed medium that holds the cells of a drive.
//!
//! All offsets follow from the configuration. The image is therefore sparse and needs no journal: an
//! operation takes effect with the last of its writes, whose order the write methods define. A process
//! that is killed leaves an image like that of a drive that lost power, never a damaged one. If the
//! operating system crashes, the image may be damaged, since nothing waits for the disk. Integers are
//! little-endian.
//!
//! | offset | what |
//! |---|---|
//! | 0 | header: magic, version, the configuration's shape, age in hours, CRC-32C |
//! | 4096 | block entries of 32 bytes, blocks of LUN 0 first: P/E cycles, reads, stamp, flags, CRC-32C |
//! | next multiple of 4096 | page records, in the order of PPAs: P/E cycles + 1 when written, seed, form, OOB, fingerprints, CRC-32C of each 4096 bytes of the slot, CRC-32C |
//! | next multiple of 4096 | page slots in the same order, each the raw page's bytes rounded up to a multiple of 4096 |
//!
//! A page is programmed if its record has its block's P/E count. An erase therefore makes all records of
//! a block stale by writing only the block's entry. A block entry of zeroes is a block that was never
//! used.

use super::record::{
    BlockEntry, ENTRY_BYTES, PageRecord, RECORD_FIXED, RecordShape, Records, SUM_BYTES, SUMMED_BYTES, u32_at,
};
use crate::config::{NandConfig, NandError};
use crate::damage::DamagedPage;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c;
use aster_ports::layout::Placement;
use aster_ports::medium::{Medium, MediumError};
use aster_units::{BlockAddr, CellMode, Content, LunIndex, PageInBlock};
use core::cell::RefCell;

const MAGIC: u64 = u64::from_le_bytes(*b"ASTRNAND");
/// Version 2 has checksums of the pages' bytes, and entries of 32 bytes.
const VERSION: u64 = 2;
/// The header's place, and the alignment of what follows.
const ALIGN: u64 = 4096;

/// A part of a page on the image.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RecordPart {
    /// Its record.
    Record,
    /// Bytes of its slot, from this one on.
    Slot(usize),
}

/// The medium shared by all LUNs.
pub(crate) type SharedImage = Rc<RefCell<Image>>;

/// The number of fields that describe the array of an image. Each must be equal to the configuration's.
const FIELDS: usize = 17;
fn fields(config: &NandConfig) -> [(&'static str, u64); FIELDS] {
    let (g, l) = (&config.geometry, &config.layout);
    [
        ("magic", MAGIC),
        ("version", VERSION),
        ("channels", g.channels.into()),
        ("ways", g.ways.into()),
        ("luns", g.luns.into()),
        ("planes", g.planes.into()),
        ("blocks_per_lun", g.blocks_per_lun.into()),
        ("pages_per_block", g.pages_per_block.into()),
        ("page_bytes", g.page_bytes.into()),
        ("spare_bytes", g.spare_bytes.into()),
        ("chunk_bytes", l.chunk_bytes().into()),
        ("parity_bytes", l.parity_bytes().into()),
        ("interleaved", u64::from(l.placement() == Placement::Interleaved)),
        ("oob_bytes", l.oob_bytes().into()),
        ("fingerprint", u64::from(config.content == Content::Fingerprint)),
        (
            "bits a cell",
            match config.cells {
                CellMode::Slc => 1,
                CellMode::Mlc => 2,
                CellMode::Tlc => 3,
            },
        ),
        ("seed", config.seed),
    ]
}
const HEADER_BYTES: usize = 8 * FIELDS + 8;

/// The offsets of the image's parts.
#[derive(Clone, Copy, Debug)]
struct Places {
    blocks_per_lun: u64,
    pages_per_block: u64,
    record: RecordShape,
    records: u64,
    slot_bytes: u64,
    slots: u64,
    end: u64,
}

impl Places {
    fn of(config: &NandConfig) -> Self {
        let g = &config.geometry;
        let small = match config.content {
            Content::Full => 0,
            Content::Fingerprint => usize::from(config.layout.sectors()) * config.content.sector_len(),
        };
        let slot_bytes = u64::from(g.raw_page_bytes()).next_multiple_of(ALIGN);
        let sums = slot_bytes as usize / SUMMED_BYTES * SUM_BYTES;
        let oob = usize::from(config.layout.oob_bytes());
        let record =
            RecordShape { record: (RECORD_FIXED + oob + small + sums).next_multiple_of(8), oob, small, sums };
        let blocks = u64::from(g.total_luns()) * u64::from(g.blocks_per_lun);
        let records = (ALIGN + blocks * ENTRY_BYTES as u64).next_multiple_of(ALIGN);
        let slots = (records + g.total_pages() * record.record as u64).next_multiple_of(ALIGN);
        Places {
            blocks_per_lun: g.blocks_per_lun.into(),
            pages_per_block: g.pages_per_block.into(),
            record,
            records,
            slot_bytes,
            slots,
            end: slots + g.total_pages() * slot_bytes,
        }
    }
    fn block(&self, lun: LunIndex, block: BlockAddr) -> u64 {
        u64::from(lun.0) * self.blocks_per_lun + u64::from(block.0)
    }
    fn entry(&self, lun: LunIndex, block: BlockAddr) -> u64 {
        ALIGN + self.block(lun, block) * ENTRY_BYTES as u64
    }
    fn page(&self, lun: LunIndex, block: BlockAddr, page: PageInBlock) -> u64 {
        self.block(lun, block) * self.pages_per_block + u64::from(page.0)
    }
    fn record(&self, lun: LunIndex, block: BlockAddr, page: PageInBlock) -> u64 {
        self.records + self.page(lun, block, page) * self.record.record as u64
    }
    fn slot(&self, lun: LunIndex, block: BlockAddr, page: PageInBlock) -> u64 {
        self.slots + self.page(lun, block, page) * self.slot_bytes
    }
}

/// An image on its medium.
pub(crate) struct Image {
    medium: Box<dyn Medium>,
    config: Rc<NandConfig>,
    places: Places,
    age_hours: u32,
    record: Vec<u8>,
}

impl Image {
    /// Bytes that the image of such an array takes.
    pub fn bytes(config: &NandConfig) -> u64 {
        Places::of(config).end
    }
    /// Bytes in front of the page slots.
    pub fn records_bytes(config: &NandConfig) -> u64 {
        Places::of(config).slots
    }

    /// Opens the image on `medium`, or creates one if the medium begins with zeroes.
    pub fn open(mut medium: Box<dyn Medium>, config: &Rc<NandConfig>) -> Result<Self, NandError> {
        let places = Places::of(config);
        if medium.size() < places.end {
            // An image of another configuration is the likelier reason; report that if it is the case.
            if medium.size() >= HEADER_BYTES as u64 {
                check_header(&mut *medium, config)?;
            }
            return Err(NandError::Size { needed: places.end, found: medium.size() });
        }
        let age = check_header(&mut *medium, config)?;
        let record = vec![0; places.record.record];
        let mut image = Image { medium, config: config.clone(), places, age_hours: age.unwrap_or(0), record };
        if age.is_none() {
            image.write_age(0)?;
        }
        Ok(image)
    }

    /// Writes the header, with the array's age.
    pub fn write_age(&mut self, hours: u32) -> Result<(), MediumError> {
        let mut header = [0; HEADER_BYTES];
        for (into, (_, value)) in header.chunks_exact_mut(8).zip(fields(&self.config)) {
            into.copy_from_slice(&value.to_le_bytes());
        }
        header[8 * FIELDS..8 * FIELDS + 4].copy_from_slice(&hours.to_le_bytes());
        let crc = crc32c(&header[..HEADER_BYTES - 4]);
        header[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        self.age_hours = hours;
        self.medium.write_at(0, &header)
    }

    /// The array's age in hours, from the header.
    pub fn age_hours(&self) -> u32 {
        self.age_hours
    }

    /// The entries of a LUN's blocks, one after the other.
    pub fn entries(&mut self, lun: LunIndex) -> Result<Vec<u8>, MediumError> {
        let mut entries = vec![0; self.places.blocks_per_lun as usize * ENTRY_BYTES];
        self.medium.read_at(self.places.entry(lun, BlockAddr(0)), &mut entries)?;
        Ok(entries)
    }

    /// Where a block's entry is, in bytes from the start of the file or device that holds the medium.
    pub fn entry_offset(&self, lun: LunIndex, block: BlockAddr) -> u64 {
        self.medium.origin() + self.places.entry(lun, block)
    }

    /// A buffer for the page records of a block.
    pub fn records_buffer(&self) -> Vec<u8> {
        vec![0; self.places.pages_per_block as usize * self.places.record.record]
    }

    /// Reads the page records of a block into `buffer`, which has their size.
    pub fn records<'a>(
        &mut self,
        lun: LunIndex,
        block: BlockAddr,
        buffer: &'a mut [u8],
    ) -> Result<Records<'a>, MediumError> {
        self.medium.read_at(self.places.record(lun, block, PageInBlock(0)), buffer)?;
        Ok(Records::new(buffer, self.places.record))
    }

    /// The page records of a block that was never used: none.
    pub fn no_records(&self) -> Records<'static> {
        Records::new(&[], self.places.record)
    }

    /// The description of a damaged page, with its place.
    pub fn damaged(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
        part: RecordPart,
    ) -> DamagedPage {
        let at = match part {
            RecordPart::Record => self.places.record(lun, block, page),
            RecordPart::Slot(offset) => self.places.slot(lun, block, page) + offset as u64,
        };
        DamagedPage { lun, block, page, offset: self.medium.origin() + at }
    }

    /// Writes a block's entry.
    pub fn write_entry(
        &mut self,
        lun: LunIndex,
        block: BlockAddr,
        entry: &BlockEntry,
    ) -> Result<(), MediumError> {
        self.medium.write_at(self.places.entry(lun, block), &entry.to_bytes())
    }

    /// Writes a page: its bytes first, then the record that makes them valid.
    pub fn write_page(
        &mut self,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
        bytes: &[u8],
        record: &PageRecord<'_>,
    ) -> Result<(), MediumError> {
        if !bytes.is_empty() {
            self.medium.write_at(self.places.slot(lun, block, page), bytes)?;
        }
        record.write(&mut self.record, self.places.record.sums);
        self.medium.write_at(self.places.record(lun, block, page), &self.record)
    }

    /// Marks a page whose program has begun as torn, with a sound record.
    pub fn tear_page(
        &mut self,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
    ) -> Result<(), MediumError> {
        let at = self.places.record(lun, block, page);
        self.medium.read_at(at, &mut self.record)?;
        PageRecord::tear(&mut self.record);
        self.medium.write_at(at, &self.record)
    }

    /// Reads bytes of a page's slot from `offset` on.
    pub fn read_slot(
        &mut self,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), MediumError> {
        self.medium.read_at(self.places.slot(lun, block, page) + offset as u64, into)
    }

    /// Frees the space of an erased block's slots.
    pub fn discard(&mut self, lun: LunIndex, block: BlockAddr) -> Result<(), MediumError> {
        let first = self.places.slot(lun, block, PageInBlock(0));
        self.medium.discard(first, self.places.pages_per_block * self.places.slot_bytes)
    }
}

/// Compares the header with the configuration. Returns the image's age in hours, or `None` if there is no
/// image yet.
fn check_header(medium: &mut dyn Medium, config: &NandConfig) -> Result<Option<u32>, NandError> {
    let mut header = [0; HEADER_BYTES];
    medium.read_at(0, &mut header)?;
    if header.iter().all(|b| *b == 0) {
        return Ok(None);
    }
    let mut values = header.chunks_exact(8).map(|b| u64::from(u32_at(b, 0)) | u64::from(u32_at(b, 4)) << 32);
    if values.next() != Some(MAGIC) {
        return Err(NandError::Damaged {
            offset: medium.origin(),
            what: "this is no NAND image: it doesn't begin with ASTRNAND",
        });
    }
    if crc32c(&header[..HEADER_BYTES - 4]) != u32_at(&header, HEADER_BYTES - 4) {
        return Err(NandError::Damaged { offset: medium.origin(), what: "the header's checksum is wrong" });
    }
    for ((field, config), image) in fields(config).into_iter().skip(1).zip(values) {
        if image != config {
            return Err(NandError::Mismatch { field, image, config });
        }
    }
    Ok(Some(u32_at(&header, 8 * FIELDS)))
}
