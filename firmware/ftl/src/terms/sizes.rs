//! Sizes of the structures that the FTL stores. They decide how much space a drive needs for them.

/// The most pages of a word line.
pub(crate) const PAGES_PER_WORD_LINE_MAX: usize = 4;
/// Blocks that may be opened before a log page names them: one per this many bytes of a log page, in which
/// each takes eight.
pub(crate) const OPENED_SHARE: usize = 64;
/// Bytes of a log page before its lists.
pub(crate) const HEADER_BYTES: usize = 96;
/// Room that a log page keeps for entries, no matter how long its lists are.
pub(crate) const ENTRIES_BYTES_MIN: usize = 512;
/// Bytes in a log page of a range, and of a run of stale pages.
pub(crate) const RANGE_BYTES: usize = 6;
/// Bytes of a block's number in a log page.
pub(crate) const BLOCK_BYTES: usize = 4;
/// The most bytes of a log entry that says where a logical page has moved.
pub(crate) const MOVE_BYTES_MAX: usize = 9;
/// Bytes of one copy of the root record.
pub(crate) const ROOT_BYTES: usize = 24 << 10;
/// Blocks of a stored map that a root record can list.
pub(crate) const MAP_BLOCKS_MAX: usize = 1000;
/// Slots of a log that a root record can list.
pub(crate) const SLOTS_MAX: usize = 2048;
/// Bytes of a block's entry in the stored block table.
pub(crate) const BLOCK_ENTRY_BYTES: u64 = 8;
/// Bytes of a page's entry in the stored map.
pub(crate) const MAP_ENTRY_BYTES: u64 = 4;
/// Pages of content in a stripe of the stored map.
pub(crate) const CONTENT_PAGES: u32 = 15;

/// Blocks that may fail under one page before the drive gives up on it.
pub(crate) const PROGRAM_ATTEMPTS: u32 = 8;
