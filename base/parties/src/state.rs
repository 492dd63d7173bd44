//! How the drive and its media are: what a translation says of them, and what a front end is told.

/// What the drive can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DriveState {
    /// Reading what it needs to know.
    #[default]
    Booting,
    /// Serving.
    Ready,
    /// Out of spare blocks: reads go on.
    ReadOnly,
    /// Could not boot.
    Failed,
}

/// How a drive came up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Boot {
    /// It has not yet.
    #[default]
    None,
    /// From the factory.
    Fresh,
    /// After a shutdown.
    Clean,
    /// After a sudden loss of power, from the stored map and the log.
    Recovered,
    /// After a sudden loss of power, from what stands on every page.
    Rebuilt,
}

/// What a loss of power can't take back, once the host has been told so. What is promised of writes anyway is
/// that they outlast a clean shutdown, and that nothing outlasts a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promises {
    /// What had completed before a flush was sent outlasts it.
    pub flush: bool,
    /// So does a write or a write of zeroes with force unit access.
    pub fua: bool,
    /// So does a deallocation that was flushed, and it outlasts a clean shutdown. Where that isn't promised,
    /// what was there at any time before may be back.
    pub trim: bool,
}

impl Promises {
    /// What NVMe asks for, and trims as well.
    pub const ALL: Promises = Promises { flush: true, fua: true, trim: true };
}

/// How the media are, as far as the translation knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MediaState {
    /// Blocks that may still go bad in the LUN that has lost most, in percent of those there were from the
    /// factory.
    pub available_spare: u8,
    /// Nothing can be written any more.
    pub read_only: bool,
    /// At this power-on log or stored map were lost ([`Boot::Rebuilt`]): what was trimmed may be back,
    /// flushed or not.
    pub rebuilt: bool,
    /// Blocks erased since power-on.
    pub erases: u64,
}

/// How the media are, as a front end shows it to the host (SMART): what the translation knows of blocks, and
/// how far the cells are worn.
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
    /// Temperature in kelvins.
    pub temperature_kelvins: u16,
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
        }
    }
}
