//! What a translation has done.

use crate::state::{Boot, DriveState};
use aster_units::Ppa;

/// Flash operations by their purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlashCounts {
    /// For a host read, or an eviction from the data buffer.
    pub host: u64,
    /// For garbage collection.
    pub gc: u64,
    /// For the stored map, the log, recovery, and the scan for bad blocks.
    pub metadata: u64,
    /// To complete a page that was written in part.
    pub merge: u64,
    /// To complete a word line, so that its pages are safe.
    pub padding: u64,
    /// To find data that fades.
    pub scan: u64,
}

impl FlashCounts {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.host + self.gc + self.metadata + self.merge + self.padding + self.scan
    }
}

/// What a translation has done since power-on. A field that it doesn't count is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TranslationStats {
    /// What the drive can do.
    pub state: DriveState,
    /// Commands completed.
    pub commands: u64,
    /// Mapping units read by the host, in whole or part.
    pub host_pages_read: u64,
    /// How many of those are unmapped: never written, or deallocated since. They read as zeroes, without
    /// a flash read.
    pub host_pages_unmapped: u64,
    /// Mapping units written by the host, in whole or part.
    pub host_pages_written: u64,
    /// Bytes read by the host.
    pub host_bytes_read: u64,
    /// Bytes written by the host.
    pub host_bytes_written: u64,
    /// Bytes that flash programs stored.
    pub flash_bytes_written: u64,
    /// Pages read.
    pub flash_reads: FlashCounts,
    /// Pages programmed.
    pub flash_programs: FlashCounts,
    /// Blocks erased.
    pub flash_erases: FlashCounts,
    /// Victim blocks collected.
    pub gc_runs: u64,
    /// How many of those were emptied for wear levelling, because they were less worn than others.
    pub levelled: u64,
    /// How many of those were emptied for refresh, to rewrite their data before they fade.
    pub refreshed: u64,
    /// Slices that found their page in the data buffer.
    pub buffer_hits: u64,
    /// Slices that did not.
    pub buffer_misses: u64,
    /// Factory bad blocks found.
    pub factory_bad_blocks: u64,
    /// Blocks that went bad in use.
    pub grown_bad_blocks: u64,
    /// 4 KiB sectors found uncorrectable. A sector counts each time it is read.
    pub uncorrectable_sectors: u64,
    /// The flash page of the first uncorrectable sector.
    pub first_lost: Option<Ppa>,
    /// Maps stored while the drive served, or by a shutdown.
    pub checkpoints: u64,
    /// Pages of the stored map that could not be read and were reconstructed from the other pages of
    /// their stripe.
    pub map_pages_restored: u64,
    /// Log pages written.
    pub log_pages: u64,
    /// How the drive came up.
    pub boot: Boot,
    /// From power to service, in nanoseconds of simulated time; 0 while booting.
    pub boot_nanos: u64,
    /// Pages read during boot.
    pub boot_reads: u64,
}

impl TranslationStats {
    /// Write amplification: bytes programmed over bytes written by the host; 0 before the first write.
    pub fn waf(&self) -> f64 {
        if self.host_bytes_written == 0 {
            return 0.0;
        }
        self.flash_bytes_written as f64 / self.host_bytes_written as f64
    }
}
