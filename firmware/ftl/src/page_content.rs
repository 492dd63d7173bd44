//! What pages hold in their buffers: granules, what of them is lost, and their OOB records.

use crate::cache::buffer::Granules;
use crate::drive::Drive;
use crate::page::lost;
use crate::terms::oob::OobRecord;
use aster_ports::flash::{FlashStatus, Outcome};
use aster_units::{BufferId, Content, SECTOR_BYTES, SectorRange};

pub(crate) fn mask(first: u32, count: u32) -> Granules {
    if count == 0 { 0 } else { (Granules::MAX >> (Granules::BITS - count)) << first }
}

fn bits(mut granules: Granules) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let first = granules.trailing_zeros() as usize;
        granules &= granules.wrapping_sub(1);
        (first < Granules::BITS as usize).then_some(first)
    })
}

impl Drive {
    /// Host bytes a granule.
    pub(crate) fn granule_bytes(&self) -> u32 {
        match self.config.content {
            Content::Full => 512,
            Content::Fingerprint => SECTOR_BYTES as u32,
        }
    }
    /// Granules a sector.
    pub(crate) fn granules_per_sector(&self) -> u32 {
        SECTOR_BYTES as u32 / self.granule_bytes()
    }
    /// Granules a page.
    pub(crate) fn granules_per_page(&self) -> u32 {
        self.geometry.page_bytes / self.granule_bytes()
    }
    /// The granules of the sectors in `sectors`.
    pub(crate) fn granules_of(&self, sectors: u16) -> u128 {
        let per = self.granules_per_sector();
        let one = (1u128 << per) - 1;
        (0..u32::from(self.geometry.sectors_per_page()))
            .filter(|s| sectors >> s & 1 == 1)
            .fold(0, |all, s| all | one << (s * per))
    }
    /// The granules that could not be corrected.
    pub(crate) fn failed_granules(&self, outcome: &Outcome) -> u128 {
        match self.config.content {
            Content::Full => u128::from_le_bytes(outcome.lost_parts()),
            Content::Fingerprint => self.granules_of(outcome.failed_sectors),
        }
    }
    /// The sectors that `granules` touch.
    pub(crate) fn sectors_of(&self, granules: u128) -> u16 {
        let per = self.granules_per_sector();
        let one = (1u128 << per) - 1;
        (0..u32::from(self.geometry.sectors_per_page()))
            .filter(|s| granules >> (s * per) & one != 0)
            .fold(0, |all, s| all | 1 << s)
    }
    /// The lost sectors of a page just read, and its OOB record. Without a record nothing vouches for the
    /// content.
    pub(crate) fn judge(
        &self,
        outcome: &Outcome,
        sectors: SectorRange,
        buffer: BufferId,
    ) -> (u16, Option<OobRecord>) {
        let readable = match outcome.status {
            FlashStatus::Done => !outcome.oob_failed && !outcome.erased,
            FlashStatus::Uncorrectable => !outcome.oob_failed,
            FlashStatus::Failed | FlashStatus::Error => false,
        };
        let record = if readable { OobRecord::decode(self.dram.borrow().oob(buffer)) } else { None };
        let lost = match record {
            Some(record) => record.lost_sectors | outcome.failed_sectors,
            None => u16::MAX,
        };
        let lost = lost & sectors.mask();
        if lost != 0 {
            self.count(|s| s.uncorrectable_sectors += u64::from(lost.count_ones()));
        }
        (lost, record)
    }
    pub(crate) fn whole_page(&self) -> Granules {
        mask(0, self.granules_per_page())
    }
    /// Bytes that a granule takes in a buffer.
    fn granule_len(&self) -> usize {
        match self.config.content {
            Content::Full => self.granule_bytes() as usize,
            Content::Fingerprint => Content::Fingerprint.sector_len(),
        }
    }
    pub(crate) fn zero(&self, buffer: BufferId, granules: Granules) {
        let len = self.granule_len();
        let mut dram = self.dram.borrow_mut();
        let page = dram.page_mut(buffer);
        for granule in bits(granules) {
            page[granule * len..(granule + 1) * len].fill(0);
        }
    }
    pub(crate) fn is_equal(&self, a: BufferId, b: BufferId, granules: Granules) -> bool {
        let len = self.granule_len();
        let dram = self.dram.borrow();
        let (a, b) = (dram.page(a), dram.page(b));
        bits(granules).all(|g| a[g * len..(g + 1) * len] == b[g * len..(g + 1) * len])
    }
    /// Notes lost granules in the sectors of a page that is to be written.
    pub(crate) fn note_lost(&self, buffer: BufferId, lost: Granules) {
        // Where a granule is a sector there is nothing to tell beyond what the OOB record says.
        if self.config.content == Content::Full {
            let mut dram = self.dram.borrow_mut();
            for (sector, bytes) in dram.page_mut(buffer).chunks_exact_mut(SECTOR_BYTES).enumerate() {
                let lost = (lost >> (sector as u32 * self.granules_per_sector())) as lost::Blocks;
                if lost != 0 {
                    lost::note(bytes, lost);
                }
            }
        }
    }
    /// The lost granules of a page that was read: those that `failed` now, and what the `noted` sectors say.
    /// What they still hold comes to its place.
    pub(crate) fn take_notes(&self, buffer: BufferId, noted: u16, failed: Granules) -> Granules {
        if self.config.content != Content::Full {
            return self.granules_of(noted) | failed;
        }
        let mut dram = self.dram.borrow_mut();
        let sectors = dram.page_mut(buffer).chunks_exact_mut(SECTOR_BYTES).enumerate();
        sectors.filter(|(sector, _)| noted >> sector & 1 == 1).fold(failed, |all, (sector, bytes)| {
            let at = sector as u32 * self.granules_per_sector();
            all | Granules::from(lost::take_note(bytes, (failed >> at) as lost::Blocks)) << at
        })
    }
    pub(crate) fn copy_granules(&self, from: BufferId, to: BufferId, granules: Granules) {
        let len = self.granule_len();
        let mut held = [0; SECTOR_BYTES];
        let mut dram = self.dram.borrow_mut();
        for granule in bits(granules) {
            let at = granule * len..(granule + 1) * len;
            held[..len].copy_from_slice(&dram.page(from)[at.clone()]);
            dram.page_mut(to)[at].copy_from_slice(&held[..len]);
        }
    }
}
