//! The stream stages between Packetizer and µFSM: ECC, then scrambler on the way in; the other way round on
//! the way out (C19).
//!
//! The package keeps a page that was written through the stages plain, and its bit errors separately
//! (design §4). If no bit of a chunk is wrong, the code word is never computed. A chunk with wrong bits
//! is encoded, damaged and actually corrected. On a drive that keeps fingerprints there is nothing to
//! decode: a chunk with more wrong bits than the code corrects fails, as with a bounded-distance decoder.
//!
//! Stages that only detect ([`Correction::OnDemand`], S9, S10) leave a chunk as it was read. Its code bits go
//! to the buffer's code area, where a bitmap flags it for the software that corrects.

use crate::solver::SharedSolver;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::{Bch, BchError, BchScratch, Detector, FrameBch, Scrambler};
use aster_ports::channel::{FrameReport, TxnError};
use aster_ports::codes::CodeArea;
use aster_ports::dram::Buffers;
use aster_ports::layout::{PageLayout, SEED_BYTES, Span};
use aster_ports::package::{DataOut, PageData, ProtocolError};
use aster_txn::Descriptor;
use aster_units::{Content, Duration, Instant, SECTOR_BYTES};
use hits::Hits;

/// What the stages do with a chunk that has wrong bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Correction {
    /// They correct it.
    #[default]
    InHardware,
    /// They flag it for software. The buffers must have code areas, and pages must not be scrambled: with a
    /// wrong bit in its seed, a page can't be descrambled before the seed has been corrected.
    OnDemand,
}

/// The ECC stage: one code for data chunks, the same code shortened for seed and OOB.
pub struct Ecc {
    chunk: FrameBch,
    oob: FrameBch,
}

impl Ecc {
    /// The ECC for `layout`: codes over GF(2^`m`) that are designed for `t` errors and correct up to
    /// `limit` (G6).
    ///
    /// # Errors
    /// When the code doesn't exist for these sizes.
    pub fn new(m: u32, t: usize, limit: usize, layout: &PageLayout) -> Result<Self, BchError> {
        Ecc::detected_by(Detector::default(), m, t, limit, layout)
    }
    /// As [`Ecc::new`], with `detector` to find wrong bits (S11). The layout has room for its bytes behind
    /// each parity.
    ///
    /// # Errors
    /// When the code doesn't exist for these sizes.
    pub fn detected_by(
        detector: Detector,
        m: u32,
        t: usize,
        limit: usize,
        layout: &PageLayout,
    ) -> Result<Self, BchError> {
        let head = usize::from(SEED_BYTES) + usize::from(layout.oob_bytes());
        let of = |bytes| Ok(FrameBch::new(Bch::with_limit(m, t, limit, bytes)?, detector));
        Ok(Ecc { chunk: of(usize::from(layout.chunk_bytes()))?, oob: of(head)? })
    }
}

/// The stages of a channel.
pub struct StageConfig {
    /// Where data, parity and OOB lie.
    pub layout: PageLayout,
    /// The ECC stage.
    pub ecc: Ecc,
    /// Whether they correct what they detect.
    pub correction: Correction,
    /// From the last byte on the bus to data that are known to be good.
    pub detect_latency: Duration,
    /// Time of key equation and root search for one damaged chunk; with a shared solver, of root search
    /// alone.
    pub correct_latency: Duration,
    /// The key equation solver that several channels share; with `None`, the channel has its own.
    pub solver: Option<SharedSolver>,
}

struct Scratch {
    data: Vec<u8>,
    parity: Vec<u8>,
    // Each code needs a scratch of its size.
    chunk: BchScratch,
    oob: BchScratch,
}

/// The stages with their working memory.
pub struct Stages {
    layout: PageLayout,
    ecc: Ecc,
    scratch: Scratch,
    correction: Correction,
    codes: CodeArea,
    detect_latency: Duration,
    correct_latency: Duration,
    solver: Option<SharedSolver>,
    hits: Hits,
    // A raw page's bytes, gathered burst by burst.
    raw: Box<[u8]>,
    parts: usize,
    report: FrameReport,
    damaged_chunks: u64,
}

impl Stages {
    /// Allocates all working memory.
    pub fn new(config: StageConfig) -> Self {
        let layout = config.layout;
        let ecc = config.ecc;
        let longest =
            usize::from(layout.chunk_bytes()).max(usize::from(SEED_BYTES + u16::from(layout.oob_bytes())));
        let scratch = Scratch {
            data: vec![0; longest],
            parity: vec![0; usize::from(layout.parity_bytes())],
            chunk: BchScratch::new(ecc.chunk.bch()),
            oob: BchScratch::new(ecc.oob.bch()),
        };
        Stages {
            layout,
            ecc,
            scratch,
            hits: Hits::new(&layout),
            correction: config.correction,
            codes: CodeArea::of(&layout),
            detect_latency: config.detect_latency,
            correct_latency: config.correct_latency,
            solver: config.solver,
            raw: vec![0xff; layout.raw_bytes() as usize].into(),
            parts: 0,
            report: FrameReport::default(),
            damaged_chunks: 0,
        }
    }

    /// The page format.
    pub fn layout(&self) -> &PageLayout {
        &self.layout
    }

    /// A transaction begins.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.parts = 0;
        self.report = FrameReport::default();
        self.damaged_chunks = 0;
    }

    /// What the stages have found since [`Stages::reset`], and how long they take after the last byte,
    /// which came at `now`.
    #[inline]
    pub(crate) fn finish(&self, now: Instant) -> (FrameReport, Duration) {
        if self.parts == 0 {
            return (self.report, Duration::ZERO);
        }
        let after = match &self.solver {
            None => self.correct_latency * self.damaged_chunks,
            Some(_) if self.damaged_chunks == 0 => Duration::ZERO,
            Some(solver) => solver.solve(now, self.damaged_chunks).since(now) + self.correct_latency,
        };
        (self.report, self.detect_latency + after)
    }

    /// Moves part `part` of the bursts of `descriptor`'s sectors from the package to memory.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        part: u8,
        bytes: u32,
        descriptor: &Descriptor,
        out: &DataOut<'_>,
        memory: &mut Buffers,
    ) -> Result<(), TxnError> {
        let bursts = self.layout.bursts(descriptor.sectors);
        let spans = bursts.as_slice();
        let span = *spans.get(usize::from(part)).ok_or(TxnError::Frame)?;
        if span.length != bytes {
            return Err(TxnError::Frame);
        }
        self.parts += 1;
        match *out {
            DataOut::Page { column, page, flips } => {
                if column != span.column {
                    return Err(TxnError::Frame);
                }
                if part == 0 {
                    self.receive_plain(descriptor, page, flips, memory)?;
                }
            }
            DataOut::Erased { column, flips } => {
                if column != span.column {
                    return Err(TxnError::Frame);
                }
                if part == 0 {
                    self.receive_erased(descriptor, flips, memory);
                }
            }
            DataOut::Bytes(raw) => {
                let start = usize::from(span.column.0);
                self.raw[start..start + raw.len()].copy_from_slice(raw);
                if usize::from(part) + 1 == spans.len() {
                    self.receive_raw(descriptor, memory)?;
                }
            }
        }
        Ok(())
    }

    /// Receives a burst without the stages: puts the bus bytes into `descriptor.buffer` from byte `from`
    /// on. Bytes beyond the page's data go to the buffer's OOB, as far as there is room.
    pub(crate) fn receive_unchecked(
        &mut self,
        from: u32,
        bytes: u32,
        descriptor: &Descriptor,
        out: &DataOut<'_>,
        memory: &mut Buffers,
    ) -> Result<(), TxnError> {
        if memory.content_of(descriptor.buffer) != Content::Full {
            return Err(TxnError::Protocol(ProtocolError::NoBytes));
        }
        let raw = self.literal(out, bytes)?;
        let (page, oob) = memory.page_and_oob_mut(descriptor.buffer);
        let from = from as usize;
        let in_page = page.len().saturating_sub(from).min(raw.len());
        if in_page > 0 {
            page[from..from + in_page].copy_from_slice(&raw[..in_page]);
        }
        let rest = &raw[in_page..];
        let skip = (from + in_page).saturating_sub(page.len());
        if let Some(target) = oob.get_mut(skip..) {
            let n = target.len().min(rest.len());
            target[..n].copy_from_slice(&rest[..n]);
        }
        Ok(())
    }

    /// The bytes of a burst that bypasses the stages. A drive that keeps fingerprints doesn't have the
    /// bytes of a page.
    pub(crate) fn literal(&mut self, out: &DataOut<'_>, bytes: u32) -> Result<Vec<u8>, TxnError> {
        match out {
            DataOut::Page { page, .. } if page.content != Content::Full => {
                Err(TxnError::Protocol(ProtocolError::NoBytes))
            }
            _ => Ok(self.bus_bytes(out, bytes)),
        }
    }

    /// The bytes of a burst of `bytes` bytes as they are on the bus. On a drive that keeps fingerprints a
    /// page's bytes are not known, and are FFh here.
    pub(crate) fn bus_bytes(&mut self, out: &DataOut<'_>, bytes: u32) -> Vec<u8> {
        let (mut raw, column, flips) = match *out {
            DataOut::Bytes(literal) => return literal.to_vec(),
            DataOut::Page { column, page, flips } => (self.code_word(&page), column, flips),
            DataOut::Erased { column, flips } => {
                (vec![0xff; self.layout.raw_bytes() as usize], column, flips)
            }
        };
        let whole = Span { column: aster_units::Column(0), length: raw.len() as u32 };
        flip(&mut raw, (flips, whole));
        let from = usize::from(column.0);
        raw[from..from + bytes as usize].to_vec()
    }

    /// The whole raw page that the stages make of plain content: encoded, then scrambled (C19), with FFh
    /// in unused columns.
    pub(crate) fn code_word(&mut self, page: &PageData<'_>) -> Vec<u8> {
        let mut raw = vec![0xff; self.layout.raw_bytes() as usize];
        if page.content == Content::Full {
            let chunk_bytes = usize::from(self.layout.chunk_bytes());
            let parity_bytes = usize::from(self.layout.parity_bytes());
            for (chunk, data) in page.data.chunks_exact(chunk_bytes).enumerate() {
                let at = usize::from(self.layout.chunk_data(chunk as u16).column.0);
                let parity_at = usize::from(self.layout.chunk_parity(chunk as u16).column.0);
                raw[at..at + chunk_bytes].copy_from_slice(data);
                self.ecc.chunk.encode(data, &mut raw[parity_at..parity_at + parity_bytes]);
                descramble(page.seed, parity_at, &mut raw[parity_at..parity_at + parity_bytes]);
                descramble(page.seed, at, &mut raw[at..at + chunk_bytes]);
            }
        }
        let at = usize::from(self.layout.oob_span().column.0);
        let head = usize::from(SEED_BYTES) + page.oob.len();
        raw[at..at + 4].copy_from_slice(&page.seed.to_le_bytes());
        raw[at + 4..at + head].copy_from_slice(page.oob);
        let (record, parity) = raw[at..].split_at_mut(head);
        self.ecc.oob.encode(record, &mut parity[..self.ecc.oob.code_bytes()]);
        raw
    }

    #[inline]
    fn receive_plain(
        &mut self,
        descriptor: &Descriptor,
        page: PageData<'_>,
        flips: &[u32],
        memory: &mut Buffers,
    ) -> Result<(), TxnError> {
        if memory.content_of(descriptor.buffer) != page.content {
            return Err(TxnError::Protocol(ProtocolError::NoBytes));
        }
        let sector_len = page.content.sector_len();
        let (first, end) = (usize::from(descriptor.sectors.first), usize::from(descriptor.sectors.end()));
        let (target, oob) = memory.page_and_oob_mut(descriptor.buffer);
        let covered = first * sector_len..end * sector_len;
        target[covered.clone()].copy_from_slice(&page.data[covered]);
        // Another FTL may have written a record of another length.
        let common = oob.len().min(page.oob.len());
        oob[..common].copy_from_slice(&page.oob[..common]);
        oob[common..].fill(0xFF);
        if !flips.is_empty() {
            match self.correction {
                Correction::InHardware => self.damage_and_correct(descriptor, page, flips, target, oob),
                Correction::OnDemand => {
                    let buffer = memory.page_oob_and_codes_mut(descriptor.buffer);
                    self.damage_and_flag(descriptor, page, flips, buffer);
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn damage_and_correct(
        &mut self,
        descriptor: &Descriptor,
        page: PageData<'_>,
        flips: &[u32],
        target: &mut [u8],
        oob: &mut [u8],
    ) {
        let per_sector = self.layout.chunks_per_sector();
        let chunk_bytes = usize::from(self.layout.chunk_bytes());
        let end = u16::from(descriptor.sectors.end()) * per_sector;
        let mut next = u16::from(descriptor.sectors.first) * per_sector;
        self.hits.find(&self.layout, flips);
        while let Some(chunk) = self.hits.next(next, end) {
            next = chunk + 1;
            let (data_span, parity_span) = (self.layout.chunk_data(chunk), self.layout.chunk_parity(chunk));
            let (in_data, in_parity) = (within(flips, data_span), within(flips, parity_span));
            let verdict = match page.content {
                Content::Full => {
                    let at = usize::from(chunk) * chunk_bytes;
                    correct(
                        &self.ecc,
                        &mut self.scratch,
                        Which::Chunk,
                        &mut target[at..at + chunk_bytes],
                        (in_data, data_span),
                        (in_parity, parity_span),
                    )
                }
                Content::Fingerprint => count(&self.ecc, in_data.len() + in_parity.len()),
            };
            let (sector, parts) = self.layout.parts_of(chunk);
            self.note_damage(verdict, |report| report.fail(sector, parts));
        }
        let span = self.layout.oob_span();
        let hit = within(flips, span);
        if !hit.is_empty() {
            let head = usize::from(SEED_BYTES) + oob.len();
            let mut record = [0u8; 4 + 255];
            record[..4].copy_from_slice(&page.seed.to_le_bytes());
            record[4..head].copy_from_slice(oob);
            let data_span = Span { column: span.column, length: head as u32 };
            let parity_span = Span {
                column: aster_units::Column(span.column.0 + head as u16),
                length: u32::from(self.layout.parity_bytes()),
            };
            let (in_data, in_parity) = (within(flips, data_span), within(flips, parity_span));
            let verdict = correct(
                &self.ecc,
                &mut self.scratch,
                Which::Oob,
                &mut record[..head],
                (in_data, data_span),
                (in_parity, parity_span),
            );
            oob.copy_from_slice(&record[4..head]);
            self.note_damage(verdict, |report| report.oob_failed = true);
        }
    }

    fn receive_erased(&mut self, descriptor: &Descriptor, flips: &[u32], memory: &mut Buffers) {
        let sector_len = memory.content_of(descriptor.buffer).sector_len();
        let (first, end) = (usize::from(descriptor.sectors.first), usize::from(descriptor.sectors.end()));
        let (target, oob) = memory.page_and_oob_mut(descriptor.buffer);
        // The buffer may hold other sectors, from another page.
        target[first * sector_len..end * sector_len].fill(0xff);
        oob.fill(0xff);
        self.report.erased = true;
        // An all-ones page with few zeroes reads as erased. More zeroes than the code could correct are
        // damage.
        let per_sector = self.layout.chunks_per_sector();
        for sector in descriptor.sectors.first..descriptor.sectors.end() {
            for chunk in u16::from(sector) * per_sector..u16::from(sector + 1) * per_sector {
                let zeroes = within(flips, self.layout.chunk_data(chunk)).len()
                    + within(flips, self.layout.chunk_parity(chunk)).len();
                if zeroes > 0 {
                    let (verdict, (_, parts)) = (count(&self.ecc, zeroes), self.layout.parts_of(chunk));
                    self.note(verdict, |report| {
                        report.fail(sector, parts);
                        report.erased = false;
                    });
                }
            }
        }
    }

    fn receive_raw(&mut self, descriptor: &Descriptor, memory: &mut Buffers) -> Result<(), TxnError> {
        if memory.content_of(descriptor.buffer) != Content::Full {
            return Err(TxnError::Protocol(ProtocolError::NoBytes));
        }
        let oob_span = self.layout.oob_span();
        let head = usize::from(SEED_BYTES) + usize::from(self.layout.oob_bytes());
        let oob_at = usize::from(oob_span.column.0);
        if zeroes(&self.raw, oob_span).count() <= self.ecc.oob.bch().limit() {
            // An all-ones record with few zeroes: the page was never programmed (as in `receive_erased`).
            let bursts = self.layout.bursts(descriptor.sectors);
            let flips: Vec<u32> =
                bursts.as_slice().iter().flat_map(|&span| zeroes(&self.raw, span)).collect();
            self.receive_erased(descriptor, &flips, memory);
            return Ok(());
        }
        if self.correction == Correction::OnDemand {
            let buffer = memory.page_oob_and_codes_mut(descriptor.buffer);
            self.file_raw(descriptor, buffer);
            return Ok(());
        }
        let (target, oob) = memory.page_and_oob_mut(descriptor.buffer);

        let verdict = decode(
            &self.ecc,
            &mut self.scratch,
            Which::Oob,
            &mut self.raw,
            oob_at..oob_at + head,
            oob_at + head,
        );
        self.note_damage(verdict, |report| report.oob_failed = true);
        oob.copy_from_slice(&self.raw[oob_at + 4..oob_at + head]);
        let mut seed = [0; 4];
        seed.copy_from_slice(&self.raw[oob_at..oob_at + 4]);
        let seed = u32::from_le_bytes(seed);

        let per_sector = self.layout.chunks_per_sector();
        let chunk_bytes = usize::from(self.layout.chunk_bytes());
        for sector in descriptor.sectors.first..descriptor.sectors.end() {
            for chunk in u16::from(sector) * per_sector..u16::from(sector + 1) * per_sector {
                let data = usize::from(self.layout.chunk_data(chunk).column.0);
                let parity = usize::from(self.layout.chunk_parity(chunk).column.0);
                descramble(seed, data, &mut self.raw[data..data + chunk_bytes]);
                let parity_bytes = usize::from(self.layout.parity_bytes());
                descramble(seed, parity, &mut self.raw[parity..parity + parity_bytes]);
                let verdict = decode(
                    &self.ecc,
                    &mut self.scratch,
                    Which::Chunk,
                    &mut self.raw,
                    data..data + chunk_bytes,
                    parity,
                );
                let (_, parts) = self.layout.parts_of(chunk);
                self.note_damage(verdict, |report| report.fail(sector, parts));
                let at = usize::from(chunk) * chunk_bytes;
                target[at..at + chunk_bytes].copy_from_slice(&self.raw[data..data + chunk_bytes]);
            }
        }
        debug_assert_eq!(SECTOR_BYTES, usize::from(per_sector) * chunk_bytes);
        Ok(())
    }

    /// As [`Stages::note`], for a chunk that went through the decoder. A chunk with wrong bits takes
    /// time.
    fn note_damage(&mut self, verdict: Option<usize>, failed: impl FnOnce(&mut FrameReport)) {
        self.damaged_chunks += u64::from(verdict != Some(0));
        self.note(verdict, failed);
    }

    fn note(&mut self, verdict: Option<usize>, failed: impl FnOnce(&mut FrameReport)) {
        match verdict {
            Some(corrected) => {
                self.report.worst_chunk = self.report.worst_chunk.max(corrected.min(255) as u8);
                self.report.corrected = self.report.corrected.saturating_add(corrected as u16);
            }
            None => failed(&mut self.report),
        }
    }
}

fn descramble(seed: u32, offset: usize, bytes: &mut [u8]) {
    if seed != 0 {
        Scrambler::apply_at(seed, offset, bytes);
    }
}

#[derive(Clone, Copy)]
enum Which {
    Chunk,
    Oob,
}

/// The bits of a span that are 0, as ascending positions in the raw page.
fn zeroes(raw: &[u8], span: Span) -> impl Iterator<Item = u32> + '_ {
    let start = u32::from(span.column.0);
    (start..span.end()).filter(|&byte| raw[byte as usize] != 0xff).flat_map(move |byte| {
        let value = raw[byte as usize];
        (0..8).filter(move |bit| value & 0x80 >> bit == 0).map(move |bit| byte * 8 + bit)
    })
}

/// The flips within a span, as ascending bit positions.
fn within(flips: &[u32], span: Span) -> &[u32] {
    let (start, end) = (u32::from(span.column.0) * 8, span.end() * 8);
    let from = flips.partition_point(|&f| f < start);
    let to = flips.partition_point(|&f| f < end);
    &flips[from..to]
}

/// The result of a bounded-distance decoder for `errors` wrong bits: their number, or `None` if it can't
/// correct them.
fn count(ecc: &Ecc, errors: usize) -> Option<usize> {
    (errors <= ecc.chunk.bch().limit()).then_some(errors)
}

/// Encodes plain `bytes`, flips bits, and corrects them.
fn correct(
    ecc: &Ecc,
    scratch: &mut Scratch,
    which: Which,
    bytes: &mut [u8],
    data: (&[u32], Span),
    parity: (&[u32], Span),
) -> Option<usize> {
    let (code, working) = match which {
        Which::Chunk => (&ecc.chunk, &mut scratch.chunk),
        Which::Oob => (&ecc.oob, &mut scratch.oob),
    };
    code.encode(bytes, &mut scratch.parity);
    flip(bytes, data);
    flip(&mut scratch.parity, parity);
    code.decode(bytes, &mut scratch.parity, working).ok()
}

fn flip(bytes: &mut [u8], (flips, span): (&[u32], Span)) {
    for &position in flips {
        let bit = position - u32::from(span.column.0) * 8;
        bytes[(bit / 8) as usize] ^= 0x80 >> (bit % 8);
    }
}

/// Decodes a code word within a raw page, in place.
fn decode(
    ecc: &Ecc,
    scratch: &mut Scratch,
    which: Which,
    raw: &mut [u8],
    data: core::ops::Range<usize>,
    parity: usize,
) -> Option<usize> {
    let (code, working) = match which {
        Which::Chunk => (&ecc.chunk, &mut scratch.chunk),
        Which::Oob => (&ecc.oob, &mut scratch.oob),
    };
    let n = data.len();
    scratch.data[..n].copy_from_slice(&raw[data.clone()]);
    scratch.parity.copy_from_slice(&raw[parity..parity + code.code_bytes()]);
    let corrected = code.decode(&mut scratch.data[..n], &mut scratch.parity, working).ok()?;
    raw[data].copy_from_slice(&scratch.data[..n]);
    Some(corrected)
}

mod hits;
mod on_demand;
#[cfg(test)]
mod tests;
