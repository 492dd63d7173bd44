//! The state of the drive and its media: what a translation reports, and what a front end gets.

/// What the drive can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DriveState {
    /// Booting: it reads its metadata.
    #[default]
    Booting,
    /// It serves the host.
    Ready,
    /// Out of spare blocks: only reads are served.
    ReadOnly,
    /// It could not boot.
    Failed,
}

/// How a drive came up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Boot {
    /// It is not up yet.
    #[default]
    None,
    /// From the factory.
    Fresh,
    /// After a shutdown.
    Clean,
    /// After a sudden loss of power, from the stored map and the log.
    Recovered,
    /// After a sudden loss of power, from the OOB of every page.
    Rebuilt,
}

/// What survives a loss of power once the command has completed. Every drive promises in any case that
/// writes survive a clean shutdown, and that nothing survives a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promises {
    /// What had completed before the host sent a flush survives once that flush has completed.
    pub flush: bool,
    /// A write or a write of zeroes with force unit access survives.
    pub fua: bool,
    /// A deallocation survives if it was flushed or followed by a clean shutdown. Without this promise,
    /// any earlier content of the blocks may come back.
    pub trim: bool,
}

impl Promises {
    /// What NVMe requires, and trims as well.
    pub const ALL: Promises = Promises { flush: true, fua: true, trim: true };
}

/// The state of the media, as far as the translation knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MediaState {
    /// The spare blocks that are left in the LUN that has lost the most, in percent of those it had from
    /// the factory.
    pub available_spare: u8,
    /// The drive can't write any more.
    pub read_only: bool,
    /// The log or the stored map was lost at this power-on ([`Boot::Rebuilt`]). Trimmed data may be back,
    /// even if the trim was flushed.
    pub rebuilt: bool,
    /// Blocks erased since power-on.
    pub erases: u64,
}

/// The health of the media as a front end reports it to the host (SMART): what the translation knows of
/// blocks, and the wear of the cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MediaHealth {
    /// Spare blocks left in percent.
    pub available_spare: u8,
    /// Percentage of spare below which the host is warned.
    pub available_spare_threshold: u8,
    /// Life used in percent: 255 for more.
    pub percentage_used: u8,
    /// Media or internal errors have made the drive unreliable.
    pub reliability_degraded: bool,
    /// Only reads are possible.
    pub read_only: bool,
    /// Composite temperature in kelvins: that of the hottest part.
    pub temperature_kelvins: u16,
    /// What each of the sensors shows, in kelvins; 0 for one that isn't there. The first one is the board's.
    pub sensor_kelvins: [u16; 2],
    /// Minutes since power-on at the warning threshold or above it, and of these at the critical one or
    /// above it.
    pub hot_minutes: [u32; 2],
}

impl Default for MediaHealth {
    /// A new drive at 25 °C.
    fn default() -> Self {
        MediaHealth {
            available_spare: 100,
            available_spare_threshold: 10,
            percentage_used: 0,
            reliability_degraded: false,
            read_only: false,
            temperature_kelvins: 298,
            sensor_kelvins: [0; 2],
            hot_minutes: [0; 2],
        }
    }
}
