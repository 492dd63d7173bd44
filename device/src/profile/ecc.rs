//! The schema of `[ecc]`.

use aster_codec::Detector;
use serde::{Deserialize, Serialize};

/// Where parity lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementName {
    /// In the spare area.
    #[default]
    Spare,
    /// Behind each chunk.
    Interleaved,
}

/// Who corrects the wrong bits of a page (S10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CorrectionName {
    /// The channel, while the page passes.
    #[default]
    Hardware,
    /// The ECC engine in software; the channel only detects them.
    OnDemand,
}

/// What finds the wrong bits of a page that software corrects (S11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetectorName {
    /// The syndromes of the code that corrects. The channel encodes.
    #[default]
    Syndromes,
    /// A CRC-32C behind each chunk's parity. The ECC engine encodes.
    Crc,
}

impl From<DetectorName> for Detector {
    fn from(name: DetectorName) -> Self {
        match name {
            DetectorName::Syndromes => Detector::Syndromes,
            DetectorName::Crc => Detector::Crc,
        }
    }
}

/// Error correction and page format.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EccProfile {
    /// The code's field is GF(2^field).
    pub field: u32,
    /// Errors per chunk that the code is designed for.
    pub designed: usize,
    /// Errors per chunk that are corrected; at most `designed` (G6).
    pub corrected: usize,
    /// Data bytes per chunk.
    pub chunk_bytes: u16,
    /// Where parity lies.
    #[serde(default)]
    pub placement: PlacementName,
    /// Pages pass the scrambler (C20).
    #[serde(default = "scrambled")]
    pub scrambler: bool,
    /// Who corrects wrong bits.
    #[serde(default)]
    pub correction: CorrectionName,
    /// What finds wrong bits that software corrects: the code's syndromes, or a CRC-32C in 4 more bytes a
    /// chunk, for which the ECC engine encodes (S11).
    #[serde(default)]
    pub detector: DetectorName,
    /// Nanoseconds from the last byte off the bus to data known good.
    #[serde(default)]
    pub detect_ns: u32,
    /// Nanoseconds to correct one damaged chunk; only to search its roots if the key equation solver is
    /// shared.
    #[serde(default)]
    pub correct_ns: u32,
    /// Channels that share a key equation solver (C22); 0 when each has its own, in `correct_ns`.
    #[serde(default)]
    pub solver_channels: u16,
    /// Nanoseconds that a shared solver takes for a chunk.
    #[serde(default)]
    pub solver_ns: u32,
}

fn scrambled() -> bool {
    true
}
