//! What a line holds, by its tail.
//!
//! The tail is written while the last writes of data are in flight. So it is believed only if each of them
//! has ended well: the last unit of data on each LUN can be read and belongs to the line. A LUN's units are
//! programmed in their order, so those before it were as well; had one failed, its chunk would be bad.

use crate::ftl::{Ftl, count};
use crate::media::{Head, NO_BLOCK, SECTOR_BYTES, parse_oob, parse_tail};
use crate::recover::Scratch;
use crate::shape::{SectorAddr, Shape};
use crate::submit::OOB;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use aster_openchannel::ADDRESSES_MAX;

/// The units of a line by what is in them.
struct Units {
    data: Vec<SectorAddr>,
    tail: Vec<SectorAddr>,
}

impl Units {
    /// Of the line with this head. `None` if it has no room for data.
    fn of(shape: &Shape, head: &Head) -> Option<Self> {
        let all = (0..shape.pages()).flat_map(|page| (0..shape.luns()).map(move |lun| (page, lun)));
        let good = all.filter(|&(_, lun)| !head.left_out[lun as usize]);
        let units = good.map(|(page, lun)| shape.unit(head.line, page, lun));
        let mut data: Vec<_> = units.skip(Shape::HEAD_UNITS as usize).collect();
        let tail = data.split_off(data.len().checked_sub(shape.tail_units() as usize)?);
        Some(Units { data, tail })
    }
    /// The last unit of data of each LUN.
    fn last(&self, shape: &Shape) -> Vec<SectorAddr> {
        let mut last = vec![None; shape.luns() as usize];
        self.data.iter().for_each(|&unit| last[shape.lun_of(unit) as usize] = Some(unit));
        last.into_iter().flatten().collect()
    }
}

impl Ftl {
    /// Has the map say what the tail of a line tells. Returns `false`, and changes nothing, if there is none
    /// that can be believed.
    ///
    /// # Errors
    /// In words, when the drive can't be used.
    pub(crate) async fn read_by_tail(&self, head: &Head, scratch: &mut Scratch) -> Result<bool, String> {
        let is_changed = {
            let lines = &self.state.borrow().lines;
            (0..self.shape.luns()).any(|lun| lines.is_bad(head.line, lun) != head.left_out[lun as usize])
        };
        let units = Units::of(&self.shape, head).filter(|_| !is_changed);
        let Some(units) = units else { return Ok(false) };
        let mut bytes =
            Vec::with_capacity(units.tail.len() * self.shape.unit_sectors() as usize * SECTOR_BYTES);
        if !self.read_units(head, &units.tail, scratch, Some(&mut bytes)).await? {
            return Ok(false);
        }
        let Some(blocks) = parse_tail(&self.shape, head, &bytes) else { return Ok(false) };
        let of_unit = self.shape.unit_sectors();
        if blocks.len() != units.data.len() * of_unit as usize
            || !self.read_units(head, &units.last(&self.shape), scratch, None).await?
        {
            return Ok(false);
        }
        let state = &mut *self.state.borrow_mut();
        let sectors = units.data.iter().flat_map(|unit| (unit.0..unit.0 + of_unit).map(SectorAddr));
        for (sector, block) in sectors.zip(blocks) {
            if block != NO_BLOCK && block < state.map.blocks() {
                state.map.set(block, Some(sector));
            }
        }
        count(&self.counters.tails_read, 1);
        Ok(true)
    }
    /// Reads units of a line, and appends their bytes. Returns whether all could be read and belong to the
    /// line.
    async fn read_units(
        &self,
        head: &Head,
        units: &[SectorAddr],
        scratch: &mut Scratch,
        mut into: Option<&mut Vec<u8>>,
    ) -> Result<bool, String> {
        let of_unit = self.shape.unit_sectors();
        let sectors: Vec<_> =
            units.iter().flat_map(|unit| (unit.0..unit.0 + of_unit).map(SectorAddr)).collect();
        for sectors in sectors.chunks(ADDRESSES_MAX) {
            let all = u64::MAX >> (ADDRESSES_MAX - sectors.len());
            let is_read = self.look(sectors, scratch).await?.read == all;
            let oobs = &scratch.oob.as_chunks::<OOB>().0[..sectors.len()];
            if !is_read || oobs.iter().any(|oob| parse_oob(oob).0 != head.sequence) {
                return Ok(false);
            }
            if let Some(into) = into.as_deref_mut() {
                into.extend_from_slice(&scratch.data[..sectors.len() * SECTOR_BYTES]);
            }
        }
        Ok(true)
    }
}
