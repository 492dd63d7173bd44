//! A translation of a drive's own, at work on the host: its flash requests (I3) go to the drive as frames.
//!
//! [`TranslationTarget`] is the target of a drive: it starts any translation on the host's clock, with a
//! flash port whose other side is [`FlashOverFrames`]. What a translation learns of a factory's marks comes
//! from the drive's reports (`blocks`), since frames have no raw reads.

mod blocks;
mod flash;
mod places;
mod target;

pub use flash::FlashOverFrames;
pub use target::TranslationTarget;
