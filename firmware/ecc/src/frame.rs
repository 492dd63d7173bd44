//! The correction of one frame, from its bits or, on a drive that keeps fingerprints, from their number.

use alloc::vec;
use alloc::vec::Vec;
use aster_codec::{Bch, BchError, BchScratch, Detector, FrameBch};
use aster_ports::codes::CodeArea;
use aster_ports::dram::Buffers;
use aster_ports::layout::{PageLayout, SEED_BYTES};
use aster_units::{BufferId, Content};

/// The code of a drive's frames, with working memory.
pub struct FrameCode {
    layout: PageLayout,
    codes: CodeArea,
    chunk: FrameBch,
    oob: FrameBch,
    chunk_scratch: BchScratch,
    oob_scratch: BchScratch,
    record: Vec<u8>,
}

impl FrameCode {
    /// BCH codes over GF(2^`m`) that are designed for `t` errors a frame and correct up to `limit` (G6). They
    /// are those of the channels' encoders, and so is the `detector`.
    ///
    /// # Errors
    /// When the code doesn't exist for the frames of `layout`.
    pub fn new(
        detector: Detector,
        m: u32,
        t: usize,
        limit: usize,
        layout: &PageLayout,
    ) -> Result<Self, BchError> {
        let head = usize::from(SEED_BYTES) + usize::from(layout.oob_bytes());
        let of = |bytes| Ok(FrameBch::new(Bch::with_limit(m, t, limit, bytes)?, detector));
        let (chunk, oob) = (of(usize::from(layout.chunk_bytes()))?, of(head)?);
        Ok(FrameCode {
            layout: *layout,
            codes: CodeArea::of(layout),
            chunk_scratch: BchScratch::new(chunk.bch()),
            oob_scratch: BchScratch::new(oob.bch()),
            record: vec![0; head],
            chunk,
            oob,
        })
    }
    /// Where the frames' code bits are in a buffer's code area.
    pub fn codes(&self) -> &CodeArea {
        &self.codes
    }
    /// What finds wrong bits.
    pub fn detector(&self) -> Detector {
        self.chunk.detector()
    }
    /// The page format.
    pub fn layout(&self) -> &PageLayout {
        &self.layout
    }
    /// The most wrong bits of a frame that are corrected.
    pub fn limit(&self) -> usize {
        self.chunk.bch().limit()
    }

    /// Corrects a flagged frame of the page in `buffer`. Returns how many bits were wrong, or `None` if they
    /// are more than the code corrects: then the frame stays as it was read.
    pub fn correct(&mut self, memory: &mut Buffers, buffer: BufferId, frame: u16) -> Option<usize> {
        let content = memory.content_of(buffer);
        let (page, oob, area) = memory.page_oob_and_codes_mut(buffer);
        if frame == self.codes.oob_frame() {
            let (seed, rest) = self.record.split_at_mut(usize::from(SEED_BYTES));
            seed.copy_from_slice(self.codes.seed(area));
            rest.copy_from_slice(oob);
            let code = self.codes.code_mut(area, frame);
            let errors = self.oob.decode(&mut self.record, code, &mut self.oob_scratch).ok()?;
            let (seed, rest) = self.record.split_at(usize::from(SEED_BYTES));
            oob.copy_from_slice(rest);
            self.codes.seed_mut(area).copy_from_slice(seed);
            return Some(errors);
        }
        let code = self.codes.code_mut(area, frame);
        match content {
            Content::Full => {
                let bytes = self.chunk.bch().data_bytes();
                let data = &mut page[usize::from(frame) * bytes..][..bytes];
                self.chunk.decode(data, code, &mut self.chunk_scratch).ok()
            }
            // There are no bits. A bounded-distance decoder corrects up to its limit.
            Content::Fingerprint => {
                let errors = usize::from(code[0]);
                (errors <= self.chunk.bch().limit()).then_some(errors)
            }
        }
    }
}
