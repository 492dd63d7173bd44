//! Stages that only detect wrong bits, and leave them to software (S9, S10).

use super::{Stages, flip, within};
use aster_ports::layout::{SEED_BYTES, Span};
use aster_ports::package::PageData;
use aster_txn::Descriptor;
use aster_units::{Column, Content};

/// Bytes of the longest OOB record with its seed.
const RECORD_MAX: usize = SEED_BYTES as usize + u8::MAX as usize;

impl Stages {
    /// Damages chunks and flags those that are no code words, for software to correct.
    #[cold]
    pub(super) fn damage_and_flag(
        &mut self,
        descriptor: &Descriptor,
        page: PageData<'_>,
        flips: &[u32],
        (target, oob, area): (&mut [u8], &mut [u8], &mut [u8]),
    ) {
        let (layout, codes) = (self.layout, self.codes);
        codes.clear(area);
        let chunk_bytes = usize::from(layout.chunk_bytes());
        let per_sector = layout.chunks_per_sector();
        let (first, end) = (u16::from(descriptor.sectors.first), u16::from(descriptor.sectors.end()));
        for chunk in first * per_sector..end * per_sector {
            let (data_span, parity_span) = (layout.chunk_data(chunk), layout.chunk_parity(chunk));
            let (in_data, in_parity) = (within(flips, data_span), within(flips, parity_span));
            if in_data.is_empty() && in_parity.is_empty() {
                continue;
            }
            let code = codes.code_mut(area, chunk);
            match page.content {
                Content::Full => {
                    let at = usize::from(chunk) * chunk_bytes;
                    let bytes = &mut target[at..at + chunk_bytes];
                    self.ecc.chunk.encode(bytes, code);
                    flip(bytes, (in_data, data_span));
                    flip(code, (in_parity, parity_span));
                    if self.ecc.chunk.detect(bytes, code) {
                        continue;
                    }
                }
                Content::Fingerprint => {
                    // Those of the detector's own bytes are found, and nothing corrects them.
                    let parity_bytes = self.ecc.chunk.bch().parity_bytes() as u32;
                    let parity = Span { length: parity_bytes, ..parity_span };
                    let errors = in_data.len() + within(in_parity, parity).len();
                    code[0] = errors.min(255) as u8;
                }
            }
            codes.flag(area, chunk);
            self.report.flagged = true;
        }
        let span = layout.oob_span();
        if within(flips, span).is_empty() {
            return;
        }
        let head = usize::from(SEED_BYTES) + oob.len();
        let mut record = [0u8; RECORD_MAX];
        record[..4].copy_from_slice(&page.seed.to_le_bytes());
        record[4..head].copy_from_slice(oob);
        let data_span = Span { column: span.column, length: head as u32 };
        let parity_span =
            Span { column: Column(span.column.0 + head as u16), length: u32::from(layout.parity_bytes()) };
        let code = codes.code_mut(area, codes.oob_frame());
        self.ecc.oob.encode(&record[..head], code);
        flip(&mut record[..head], (within(flips, data_span), data_span));
        flip(code, (within(flips, parity_span), parity_span));
        self.file_oob(&record[..head], oob, area);
    }

    /// Puts an OOB record as it was read into its places, and flags it if it is no code word. Its code bits
    /// are in the code area.
    fn file_oob(&mut self, record: &[u8], oob: &mut [u8], area: &mut [u8]) {
        let codes = self.codes;
        codes.seed_mut(area).copy_from_slice(&record[..4]);
        oob.copy_from_slice(&record[4..]);
        if !self.ecc.oob.detect(record, codes.code(area, codes.oob_frame())) {
            codes.flag(area, codes.oob_frame());
            self.report.flagged = true;
        }
    }

    /// Puts a raw page's data, OOB and code bits into their places, and flags the frames that are no code
    /// words.
    pub(super) fn file_raw(
        &mut self,
        descriptor: &Descriptor,
        (target, oob, area): (&mut [u8], &mut [u8], &mut [u8]),
    ) {
        let (layout, codes) = (self.layout, self.codes);
        codes.clear(area);
        let head = usize::from(SEED_BYTES) + oob.len();
        let at = usize::from(layout.oob_span().column.0);
        let mut record = [0u8; RECORD_MAX];
        record[..head].copy_from_slice(&self.raw[at..at + head]);
        let parity = at + head..at + head + usize::from(layout.parity_bytes());
        codes.code_mut(area, codes.oob_frame()).copy_from_slice(&self.raw[parity]);
        self.file_oob(&record[..head], oob, area);
        let chunk_bytes = usize::from(layout.chunk_bytes());
        let per_sector = layout.chunks_per_sector();
        let (first, end) = (u16::from(descriptor.sectors.first), u16::from(descriptor.sectors.end()));
        for chunk in first * per_sector..end * per_sector {
            let data = usize::from(layout.chunk_data(chunk).column.0);
            let parity = usize::from(layout.chunk_parity(chunk).column.0);
            let bytes = &self.raw[data..data + chunk_bytes];
            let code = codes.code_mut(area, chunk);
            code.copy_from_slice(&self.raw[parity..parity + usize::from(layout.parity_bytes())]);
            let clean = self.ecc.chunk.detect(bytes, code);
            let at = usize::from(chunk) * chunk_bytes;
            target[at..at + chunk_bytes].copy_from_slice(bytes);
            if !clean {
                codes.flag(area, chunk);
                self.report.flagged = true;
            }
        }
    }
}
