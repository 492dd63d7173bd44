//! Power-on: what the media hold, found by the tails of lines and the metadata of sectors.

use crate::ftl::{Ftl, Job, SPENT_FULL, State, count};
use crate::lines::LineState;
use crate::media::{Head, parse_head, parse_oob};
use crate::record::{Left, Record};
use crate::resume::Scan;
use crate::shape::{LineId, SectorAddr};
use crate::submit::OOB;
use crate::told::Operation;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use aster_openchannel::{ADDRESSES_MAX, BlockFlags, VectorError};
use aster_parties::{Boot, DriveState};
use aster_units::Content;

/// No line has this sequence number: no drive lives so long. Each line that is opened has a larger one than
/// those before, so that a line with this one was not written by this FTL.
const SEQUENCE_MAX: u64 = 1 << 62;

/// A line that has been written.
struct FoundLine {
    sequence: u64,
    line: LineId,
    /// What its head says, if it could be read.
    head: Option<Head>,
}

/// What reading a vector of sectors found.
pub(crate) struct Found {
    /// A bit for each sector that was read.
    pub(crate) read: u64,
    /// None of the others has been written.
    rest_is_empty: bool,
}

/// A page of all LUNs of a line.
#[derive(Clone, Copy)]
struct Row {
    line: LineId,
    page: u32,
    /// The line's sequence number.
    sequence: u64,
    /// The map is to say that its blocks are there.
    maps: bool,
}

/// The room for reads of recovery.
pub(crate) struct Scratch {
    pub(crate) data: Vec<u8>,
    pub(crate) oob: Vec<u8>,
}

impl Ftl {
    /// Brings the drive up and finds what is on it, from the beginning if the drive loses its power
    /// meanwhile.
    ///
    /// # Errors
    /// In words, when the drive can't be used.
    pub(crate) async fn boot(&self) -> Result<(), String> {
        loop {
            self.boot_began_after.set(self.restarts.get());
            let ended = self.boot_once().await;
            if !self.has_lost_boot() {
                return ended;
            }
            let (blocks, spent) = (self.blocks, self.spent_nvram.clone());
            self.state.replace(State::new(self.shape, blocks, &self.config, spent));
            self.stats.take();
        }
    }
    async fn boot_once(&self) -> Result<(), String> {
        let begun = self.exec.now();
        let drive = self.open_drive().await?;
        let (found, expected) = (drive.geometry(), &self.config.geometry);
        let shape = |g: &aster_units::Geometry| {
            (g.channels, g.luns_per_channel(), g.planes, g.blocks_per_lun, g.pages_per_block, g.page_bytes)
        };
        if shape(found) != shape(expected) {
            return Err(format!("the drive has another array than its profile: {found:?}"));
        }
        let identity = drive.identity().clone();
        if *self.drive.get_or_init(|| drive).identity() != identity {
            return Err("another drive came back than the one that was lost".to_string());
        }
        let never_written = self.read_tables().await?;
        {
            let State { spent, lines, .. } = &mut *self.state.borrow_mut();
            spent.read(|chunk| lines.is_bad_chunk(chunk));
            never_written.into_iter().for_each(|chunk| spent.never_written(chunk));
        }
        let record = Record::read(&self.nvram);
        {
            let state = &mut *self.state.borrow_mut();
            state.record = record;
            // What a format could not erase must not look newer than what is written from now on.
            state.sequence = state.sequence.max(record.counts_from);
        }
        let found = match record.left {
            Left::Formatting => Vec::new(),
            Left::Clean | Left::InUse | Left::Missing => self.find_lines(record.counts_from).await?,
        };
        let is_fresh = found.is_empty() && record.left == Left::Missing;
        self.read_lines(&found).await?;
        self.free_others(&found)?;
        if self.state.borrow().open.is_some() {
            self.choose_next();
        }
        if record.left == Left::Formatting {
            self.erase_all().await;
            if self.has_lost_boot() {
                return Err("the drive lost its power".to_string());
            }
            self.keep_record(Left::InUse);
        }
        if record.left == Left::Missing {
            self.keep_record(Left::InUse);
        }
        let boot = match record.left {
            Left::Clean => Boot::Clean,
            _ if is_fresh => Boot::Fresh,
            _ => Boot::Recovered,
        };
        let nanos = self.exec.now().since(begun).as_nanos();
        self.count(|stats| (stats.boot, stats.boot_nanos) = (boot, nanos));
        self.condition.set(DriveState::Ready);
        self.tell_media();
        Ok(())
    }

    /// Notes the chunks of which a block in one of the planes is bad. Returns those that were bad from the
    /// factory on.
    async fn read_tables(&self) -> Result<Vec<usize>, String> {
        let mut never_written = Vec::new();
        let planes = self.shape.planes() as usize;
        for lun in 0..self.shape.luns() {
            let place = self.shape.block(LineId(0), lun);
            let table = self.drive().table(place.channel, place.lun).await;
            let table = table.map_err(|error| error.to_string())?;
            let state = &mut *self.state.borrow_mut();
            for (line, states) in (0..).map(LineId).zip(table.chunks(planes)) {
                if states.iter().any(|&state| state != BlockFlags::Free) {
                    state.lines.mark_bad(line, lun);
                }
                if states.contains(&BlockFlags::FactoryBad) {
                    never_written.push(state.lines.chunk(line, lun));
                }
            }
            let of = |flags| table.iter().filter(|&&state| state == flags).count() as u64;
            self.count(|stats| stats.factory_bad_blocks += of(BlockFlags::FactoryBad));
        }
        Ok(never_written)
    }

    /// The lines that have been written, in the order in which they were opened. Its head is the first thing
    /// on a line, but the LUN that it is on may have been another one then: so the first page of all LUNs
    /// tells. Lines of smaller sequence numbers than `counts_from` were written before a format.
    async fn find_lines(&self, counts_from: u64) -> Result<Vec<FoundLine>, String> {
        let mut scratch = self.scratch();
        let mut found = Vec::new();
        for line in (0..self.shape.lines()).map(LineId) {
            let (mut newest, mut heads) = (None, Vec::new());
            let firsts = (0..self.shape.luns()).map(|lun| self.shape.unit(line, 0, lun));
            let firsts: Vec<_> = firsts.filter(|&first| !self.is_spent(first)).collect();
            for sectors in firsts.chunks(ADDRESSES_MAX) {
                let read = self.look(sectors, &mut scratch).await?.read;
                for (n, oob) in scratch.oob.as_chunks::<OOB>().0[..sectors.len()].iter().enumerate() {
                    let (sequence, _) = parse_oob(oob);
                    if read >> n & 1 != 0 && sequence >= counts_from {
                        if sequence >= SEQUENCE_MAX {
                            return Err(format!("{line:?} has a sequence number that no line reaches"));
                        }
                        newest = newest.max(Some(sequence));
                        heads.extend(self.head_in(&scratch.data, n));
                    }
                }
            }
            found.extend(newest.map(|sequence| {
                let is_its = |head: &Head| head.line == line && head.sequence == sequence;
                FoundLine { sequence, line, head: heads.into_iter().find(is_its) }
            }));
        }
        found.sort_unstable_by_key(|line| line.sequence);
        Ok(found)
    }
    /// The head in the sector with this number among those just read. A drive that keeps fingerprints has
    /// none.
    fn head_in(&self, data: &[u8], n: usize) -> Option<Head> {
        let len = self.config.content.sector_len();
        match self.config.content {
            Content::Full => parse_head(&self.shape, &data[n * len..][..len]),
            Content::Fingerprint => None,
        }
    }
    pub(crate) fn scratch(&self) -> Scratch {
        let len = self.config.content.sector_len();
        Scratch { data: vec![0; ADDRESSES_MAX * len], oob: vec![0; ADDRESSES_MAX * OOB] }
    }
    /// Reads sectors. Those of a block that the drive keeps for itself count as empty.
    pub(crate) async fn look(&self, sectors: &[SectorAddr], scratch: &mut Scratch) -> Result<Found, String> {
        let len = self.config.content.sector_len();
        let Scratch { data, oob } = scratch;
        let (data, oob) = (&mut data[..sectors.len() * len], &mut oob[..sectors.len() * OOB]);
        if let Some(found) = self.read_found(sectors, data, oob).await? {
            return Ok(found);
        }
        // The vector was refused as a whole for one of its blocks.
        let mut all = Found { read: 0, rest_is_empty: true };
        for (n, (data, oob)) in data.chunks_mut(len).zip(oob.chunks_mut(OOB)).enumerate() {
            if let Some(found) = self.read_found(&sectors[n..=n], data, oob).await? {
                all.read |= found.read << n;
                all.rest_is_empty &= found.read != 0 || found.rest_is_empty;
            }
        }
        Ok(all)
    }
    /// As [`Ftl::look`]. `None` if the drive refuses to read one of the blocks.
    async fn read_found(
        &self,
        sectors: &[SectorAddr],
        data: &mut [u8],
        oob: &mut [u8],
    ) -> Result<Option<Found>, String> {
        let ended = self.read(sectors, data, oob).await;
        if self.condition.get() == DriveState::Booting {
            self.count(|stats| stats.boot_reads += sectors.len() as u64);
        }
        let all = u64::MAX >> (ADDRESSES_MAX - sectors.len());
        match ended {
            Ok(()) => Ok(Some(Found { read: all, rest_is_empty: false })),
            Err(error) if error.is_high_ecc() => Ok(Some(Found { read: all, rest_is_empty: false })),
            Err(error) if error.is_block_refused() => Ok(None),
            Err(error) => {
                let rest_is_empty = error.is_empty_page();
                match error {
                    VectorError::Failed { failed, .. } if failed != 0 => {
                        Ok(Some(Found { read: all & !failed, rest_is_empty }))
                    }
                    error => Err(error.to_string()),
                }
            }
        }
    }

    /// Whether nothing counts that a sector's chunk holds.
    fn is_spent(&self, sector: SectorAddr) -> bool {
        let state = self.state.borrow();
        state.spent.has(state.lines.chunk(self.shape.line_of(sector), self.shape.lun_of(sector)))
    }

    /// Finds what is on these lines, oldest line first: a later version of a block takes the place of an
    /// earlier one. The tail of a line tells, or else the metadata of all its sectors. The newest line may be
    /// written on, which takes the latter.
    async fn read_lines(&self, found: &[FoundLine]) -> Result<(), String> {
        let mut scratch = self.scratch();
        let mut newest = Scan::new(&self.shape);
        for (n, &FoundLine { sequence, line, ref head }) in found.iter().enumerate() {
            let is_newest = n + 1 == found.len();
            let by_tail = match head {
                Some(head) if !is_newest => self.read_by_tail(head, &mut scratch).await?,
                _ => false,
            };
            if !by_tail {
                count(&self.counters.lines_scanned, 1);
                let mut scan = is_newest.then_some(&mut newest);
                for page in 0..self.shape.pages() {
                    let row = Row { line, page, sequence, maps: true };
                    if !self.read_row(row, &mut scratch, scan.as_deref_mut()).await? {
                        break;
                    }
                }
            }
            let state = &mut *self.state.borrow_mut();
            state.lines.found(line, sequence);
            state.sequence = sequence + 1;
        }
        {
            let state = &mut *self.state.borrow_mut();
            state.map.iter().for_each(|(_, sector)| state.lines.validate(sector));
        }
        if let Some(newest_line) = found.last() {
            self.resume(newest_line.line, &newest);
        }
        Ok(())
    }
    /// What has been written on the line that is open, when the drive has lost its power meanwhile.
    pub(crate) async fn scan_open(&self, line: LineId) -> Result<Scan, String> {
        let sequence = self.state.borrow().lines.sequence(line);
        let (mut scratch, mut scan) = (self.scratch(), Scan::new(&self.shape));
        for page in 0..self.shape.pages() {
            let row = Row { line, page, sequence, maps: false };
            if !self.read_row(row, &mut scratch, Some(&mut scan)).await? {
                break;
            }
        }
        Ok(scan)
    }
    /// Reads a page of all LUNs of a line. Returns whether one of its sectors has been written.
    async fn read_row(
        &self,
        row: Row,
        scratch: &mut Scratch,
        mut scan: Option<&mut Scan>,
    ) -> Result<bool, String> {
        let Row { line, page, sequence, maps } = row;
        let first = self.shape.unit(line, page, 0).0;
        // Chunks on which nothing counts aren't asked: a drive may refuse to read from some of them.
        let row = (first..first + self.shape.luns() * self.shape.unit_sectors()).map(SectorAddr);
        let row: Vec<_> = row.filter(|&sector| !self.is_spent(sector)).collect();
        let mut any = false;
        for sectors in row.chunks(ADDRESSES_MAX) {
            let Found { read, rest_is_empty } = self.look(sectors, scratch).await?;
            any |= read != 0 || !rest_is_empty;
            if let Some(scan) = scan.as_deref_mut() {
                self.note_written(sectors, read, rest_is_empty, sequence, scratch, scan).await?;
            }
            let state = &mut *self.state.borrow_mut();
            for (n, &sector) in sectors.iter().enumerate().filter(|(n, _)| read >> n & 1 != 0) {
                let (of, block) = parse_oob(&scratch.oob.as_chunks::<OOB>().0[n]);
                // A chunk that was left out may still hold what the line had before.
                if maps
                    && of == sequence
                    && let Some(block) = block.filter(|&block| block < state.map.blocks())
                {
                    state.map.set(block, Some(sector));
                }
            }
        }
        Ok(any)
    }
    /// Notes which of these sectors have been written. Reading them gave this; one that can't be read hides
    /// that others are empty, so each of those is asked for alone.
    async fn note_written(
        &self,
        sectors: &[SectorAddr],
        read: u64,
        rest_is_empty: bool,
        sequence: u64,
        scratch: &Scratch,
        scan: &mut Scan,
    ) -> Result<(), String> {
        let mut alone = self.scratch();
        for (n, &sector) in sectors.iter().enumerate() {
            let index = self.shape.index_of(sector);
            if read >> n & 1 != 0 {
                let (of, block) = parse_oob(&scratch.oob.as_chunks::<OOB>().0[n]);
                let belongs = of == sequence;
                scan.note(index, block.filter(|_| belongs));
                if belongs && index < self.shape.luns() * self.shape.unit_sectors() {
                    scan.note_found();
                }
            } else if !rest_is_empty {
                let found = self.look(&[sector], &mut alone).await?;
                if found.read != 0 || !found.rest_is_empty {
                    scan.note(index, None);
                }
            }
        }
        Ok(())
    }
    /// All other lines are free, and so are those of which nothing counts any more.
    fn free_others(&self, found: &[FoundLine]) -> Result<(), String> {
        let state = &mut *self.state.borrow_mut();
        for line in (0..self.shape.lines()).map(LineId) {
            if !found.iter().any(|other| other.line == line) || state.lines.valid_count(line) == 0 {
                state.release(line, self.shape.luns()).then_some(()).ok_or(SPENT_FULL)?;
            }
        }
        Ok(())
    }

    /// Erases all good chunks of all lines that are free, many LUNs at a time.
    pub(crate) async fn erase_all(&self) {
        for line in (0..self.shape.lines()).map(LineId) {
            for lun in 0..self.shape.luns() {
                let is_erased = {
                    let state = self.state.borrow();
                    state.lines.state(line) == LineState::Free && !state.lines.is_bad(line, lun)
                };
                if is_erased {
                    let chunk = self.shape.unit(line, 0, lun);
                    self.take_lun(self.next_job(), Operation::Erase, chunk).await;
                    self.jobs.push(&self.exec, Job::Erase { line, lun }).await;
                }
            }
        }
        let is_done = || {
            let state = self.state.borrow();
            (state.busy.iter().all(|&busy| busy == 0) || self.is_failed()).then_some(())
        };
        self.work.wait(&self.exec, is_done).await;
    }
}
