//! Why flash operations are done: statistics count them by cause.

use aster_parties::FlashCounts;
use aster_ports::flash::FlashSource;

/// Why a flash operation is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Host,
    Gc,
    Metadata,
    Merge,
    Padding,
    Scan,
}

impl Cause {
    /// Who asks for a read or an erase. For programs this is decided by the
    /// [`Stream`](crate::terms::block::Stream) of their block, all pages of which have the same source.
    pub(crate) const fn source(self) -> FlashSource {
        match self {
            Cause::Host | Cause::Merge | Cause::Padding => FlashSource::User,
            Cause::Metadata => FlashSource::Mapping,
            Cause::Gc | Cause::Scan => FlashSource::Gc,
        }
    }
    /// The counter of operations with this cause.
    pub(crate) fn of(self, counts: &mut FlashCounts) -> &mut u64 {
        match self {
            Cause::Host => &mut counts.host,
            Cause::Gc => &mut counts.gc,
            Cause::Metadata => &mut counts.metadata,
            Cause::Merge => &mut counts.merge,
            Cause::Padding => &mut counts.padding,
            Cause::Scan => &mut counts.scan,
        }
    }
}
