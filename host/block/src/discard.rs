//! Zeroes and deallocations: the target carries them out, and the cache may not bring back what they took.
//!
//! Until the target has ended, nobody writes the blocks, and those that are dirty are held back. If it
//! succeeded they are forgotten, and if not they are dirty as before.

use crate::cache::Cache;
use crate::lower::{Ended, bytes_of};
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::DataPart;
use aster_ports::host::{ByteRange, HostOp};
use aster_units::SECTOR_BYTES;
use core::ops::Range;

impl Cache {
    /// Whether a block may not be written now.
    pub(crate) fn is_locked(&self, block: u32) -> bool {
        self.locked.borrow().iter().any(|locked| locked.contains(&block))
    }
    /// Locks ranges together, once no block of them is locked.
    async fn lock(&self, ranges: &[Range<u32>]) {
        let overlap = |a: &Range<u32>, b: &Range<u32>| a.start < b.end && b.start < a.end;
        let lock = || {
            let locked = &mut *self.locked.borrow_mut();
            let is_free = !locked.iter().any(|locked| ranges.iter().any(|range| overlap(locked, range)));
            is_free.then(|| locked.extend_from_slice(ranges))
        };
        self.changed.wait(&self.exec, lock).await;
    }
    fn unlock(&self, ranges: &[Range<u32>]) {
        self.locked.borrow_mut().retain(|locked| !ranges.contains(locked));
        self.tell();
    }

    /// Has the target change ranges by `work`, whose pages are forgotten if it succeeds.
    pub(crate) async fn change(&self, ranges: &[Range<u32>], work: impl Future<Output = Ended>) -> Ended {
        for range in ranges {
            // Nothing of it is begun to be written back any more, but what is under way may fail.
            let held = || self.pages.borrow_mut().hold(range.clone()).then_some(());
            self.changed.wait(&self.exec, held).await;
        }
        let ended = work.await;
        for range in ranges {
            let mut pages = self.pages.borrow_mut();
            match ended {
                Ok(()) => pages.forget(range.clone(), true),
                Err(_) => pages.let_go(range.clone()),
            }
        }
        self.work.wake_all(&self.exec);
        for range in ranges {
            self.forget_clean(range.clone()).await;
        }
        ended
    }
    /// Waits until nobody reads a block or writes it back.
    async fn quiet(&self, block: u32) {
        let quiet = || (!self.pages.borrow().is_busy(block)).then_some(());
        self.changed.wait(&self.exec, quiet).await;
    }
    /// Forgets what was read of a range while the target was changing it.
    async fn forget_clean(&self, blocks: Range<u32>) {
        // Who begins to read from now on reads what the target has now. So each is waited for alone.
        let reading = self.pages.borrow().reading_in(blocks.clone());
        for block in reading {
            let read = || (!self.pages.borrow().is_reading(block)).then_some(());
            self.changed.wait(&self.exec, read).await;
        }
        self.pages.borrow_mut().forget(blocks, false);
        self.tell();
    }

    /// Zeroes a range: what it covers of single blocks in the cache, and the blocks that it covers in whole
    /// on the target.
    pub(crate) async fn write_zeroes(&self, op: HostOp, (offset, length): (u64, u64), fua: bool) -> Ended {
        self.writable()?;
        let locked = [touched(offset, length)];
        self.lock(&locked).await;
        let ended = self.zero_locked(op, (offset, length), fua).await;
        self.unlock(&locked);
        self.dirtied();
        ended
    }
    async fn zero_locked(&self, op: HostOp, (offset, length): (u64, u64), fua: bool) -> Ended {
        for part in borders(offset, length).into_iter().flatten() {
            while !self.zero(&part) {
                self.waiting(self.read_lacking(part.sectors())).await?;
            }
        }
        let whole = covered(offset, length);
        if whole.is_empty() {
            return Ok(());
        }
        let (offset, length) = bytes_of(&whole);
        self.change(&[whole], self.lower.carry_out(op, offset, length, fua)).await
    }
    /// Deallocates ranges. Of a block that the cache holds and a range covers in part, that part becomes
    /// zeroes in the cache: what it held must not come back when the block is written back.
    pub(crate) async fn deallocate(&self, ranges: &[ByteRange]) -> Ended {
        let locked: Vec<_> = ranges.iter().map(|range| touched(range.offset, range.length)).collect();
        // One range after the other would wait for ever for another command's, and that for this one's. Of
        // ranges that overlap one lock is enough.
        let locked = apart(locked);
        self.lock(&locked).await;
        for &ByteRange { offset, length } in ranges {
            for part in borders(offset, length).into_iter().flatten() {
                self.quiet(part.first).await;
                self.zero(&part);
            }
        }
        let whole: Vec<_> = ranges.iter().map(|range| covered(range.offset, range.length)).collect();
        let ended = self.change(&whole, self.lower.deallocate(ranges)).await;
        for range in &locked {
            self.forget_clean(range.clone()).await;
        }
        self.unlock(&locked);
        self.dirtied();
        ended
    }
    /// Zeroes part of a block in the cache. Returns whether the cache holds the block.
    fn zero(&self, part: &DataPart) -> bool {
        let ratio = SECTOR_BYTES / self.content.sector_len();
        let zeroes = vec![0; part.bytes / ratio];
        self.pages.borrow_mut().write_part(part.first, part.skip / ratio, &zeroes, self.exec.now())
    }
}

/// The same blocks by ranges that don't overlap.
fn apart(mut ranges: Vec<Range<u32>>) -> Vec<Range<u32>> {
    ranges.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// The blocks of which a range has bytes.
pub(crate) fn touched(offset: u64, length: u64) -> Range<u32> {
    let sector = SECTOR_BYTES as u64;
    (offset / sector) as u32..(offset + length).div_ceil(sector) as u32
}
/// The blocks that a range covers in whole.
fn covered(offset: u64, length: u64) -> Range<u32> {
    let sector = SECTOR_BYTES as u64;
    let first = offset.div_ceil(sector) as u32;
    first..((offset + length) / sector).max(first.into()) as u32
}
/// The parts of a range of bytes that cover no block in whole.
fn borders(offset: u64, length: u64) -> [Option<DataPart>; 2] {
    let (end, sector) = (offset + length, SECTOR_BYTES as u64);
    let part = |from: u64, to: u64| {
        let bytes = to.saturating_sub(from);
        let (first, skip) = ((from / sector) as u32, (from % sector) as usize);
        (bytes > 0).then_some(DataPart { first, count: 1, skip, bytes: bytes as usize, done: 0 })
    };
    let whole = covered(offset, length);
    match whole.is_empty() {
        // It lies in one block, or in two.
        true => {
            let cut = (offset / sector + 1) * sector;
            [part(offset, end.min(cut)), part(cut, end)]
        }
        false => [part(offset, u64::from(whole.start) * sector), part(u64::from(whole.end) * sector, end)],
    }
}
