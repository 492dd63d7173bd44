//! Counters of the ECC engine.

/// What the engine has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EccStats {
    /// Reads with flagged frames.
    pub reads: u64,
    /// Flagged frames, each of which was a command.
    pub frames: u64,
    /// Bits corrected.
    pub corrected: u64,
    /// Frames with more wrong bits than the code corrects.
    pub uncorrectable: u64,
    /// Flagged frames that were code words of BCH: the detector's checksum alone had wrong bits.
    pub sound: u64,
    /// Frames encoded.
    pub encoded: u64,
    /// The most commands in the available ring.
    pub ring_highest: u64,
}

impl EccStats {
    /// Each counter by its name in reports.
    pub fn each(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("ecc_reads", self.reads);
        each("ecc_frames", self.frames);
        each("ecc_corrected_bits", self.corrected);
        each("ecc_uncorrectable_frames", self.uncorrectable);
        each("ecc_sound_frames", self.sound);
        each("ecc_encoded_frames", self.encoded);
        each("ecc_ring_highest", self.ring_highest);
    }
}
