//! What the host has set: the features, which last until a reset, and the format of the namespace.

use crate::config::{BlockSize, HostIfConfig};
use crate::features::Features;

/// The settings.
#[derive(Debug)]
pub(crate) struct Settings {
    features: Features,
    block_size: BlockSize,
    /// A Format NVM is with the FTL.
    formatting: bool,
    /// A format has changed the block size, and the front end has not reported it yet.
    format_changed: bool,
}

impl Settings {
    pub fn new(config: &HostIfConfig) -> Self {
        let (features, block_size) = (Features::new(config), config.block_size);
        Settings { features, block_size, formatting: false, format_changed: false }
    }
    #[inline]
    pub fn features(&self) -> &Features {
        &self.features
    }
    pub fn features_mut(&mut self) -> &mut Features {
        &mut self.features
    }
    /// A reset: no feature is saveable.
    pub fn reset_features(&mut self, config: &HostIfConfig) {
        self.features = Features::new(config);
    }

    /// The size of a logical block now.
    #[inline]
    pub fn block_size(&self) -> BlockSize {
        self.block_size
    }
    #[inline]
    pub fn is_formatting(&self) -> bool {
        self.formatting
    }
    /// A Format NVM goes to the FTL.
    pub fn begin_format(&mut self) {
        assert!(!self.formatting, "one format at a time");
        self.formatting = true;
    }
    /// The FTL has done a format, with this block size if it succeeded.
    pub fn end_format(&mut self, formatted: Option<BlockSize>) {
        assert!(self.formatting, "a format was with the FTL");
        self.formatting = false;
        if let Some(block_size) = formatted {
            (self.block_size, self.format_changed) = (block_size, true);
        }
    }
    /// Whether a format has changed the block size since the last report.
    #[inline]
    pub fn format_changed(&self) -> bool {
        self.format_changed
    }
    /// Takes the note that a format has ended since the last call.
    pub fn take_format_changed(&mut self) -> bool {
        core::mem::take(&mut self.format_changed)
    }
}
