//! Who asks for a flash operation.

/// Why a translation asks for a flash operation. A flash scheduler may prefer one kind to another (P33).
///
/// All programs of a block, from one erase to the next, come from the same source: a scheduler that keeps
/// a queue for each source also keeps the order of a block's pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum FlashSource {
    /// The host's data: commands that wait for it, and evictions from a write buffer.
    #[default]
    User,
    /// The translation's own records: stored map, log, translation pages, factory marks.
    Mapping,
    /// Garbage collection, and what else a translation does in the background.
    Gc,
}

impl FlashSource {
    /// Every source, in the order of their numbers.
    pub const ALL: [FlashSource; 3] = [FlashSource::User, FlashSource::Mapping, FlashSource::Gc];
}
