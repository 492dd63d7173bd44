//! What a translation says of the drive and its media.

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
