//! The drive's flash, for a mapping that keeps its pages there.

use crate::blocks::programmed::Programmed;
use crate::blocks::table::Destination;
use crate::journal::state::Journal;
use crate::terms::block::{PoolIndex, Stream};
use crate::terms::cause::Cause;
use crate::terms::oob::{OobRecord, PageKind};
use crate::terms::sizes::PROGRAM_ATTEMPTS;
use alloc::rc::Rc;
use aster_ports::flash::Tag;
use aster_units::{BufferId, Lpn, Ppa, Upa};

/// Reads and writes the map's own units. They are pages of the FTL like those of the host, so that garbage
/// collection, log and recovery treat them alike.
pub struct MapStore(pub(crate) Rc<Journal>);

impl MapStore {
    /// The journal, with all that is below it.
    pub(super) fn journal(&self) -> &Rc<Journal> {
        &self.0
    }
    /// The pool that a unit lies in.
    pub(super) fn pool_of(&self, unit: Lpn) -> PoolIndex {
        self.0.blocks().pool_of(self.0.runtime().units.frame_of(unit))
    }
    /// Begins to read a page. Until [`MapStore::end_read`] its block isn't erased.
    pub(super) async fn begin_read(&self, at: Upa, into: BufferId) -> Tag {
        let page = self.0.runtime().units.page_of(at);
        self.0.blocks().table().in_flight.read_begins(page);
        self.0.blocks().begin_read(page, self.0.pages().whole(), into, Cause::Metadata).await
    }
    /// Ends a read. Returns whether the page is intact and holds the unit.
    pub(super) async fn end_read(&self, unit: Lpn, at: Upa, into: BufferId, tag: Tag) -> bool {
        let outcome = self.0.media().done(tag).await;
        let page = self.0.runtime().units.page_of(at);
        self.0.blocks().read_over(page);
        self.0.blocks().check_retention(page, &outcome, true);
        let (lost, record) = self.0.media().judge(&outcome, self.0.pages().whole(), into);
        lost == 0 && record.is_some_and(|record| record.kind == PageKind::Data && record.lpn == unit.0)
    }
    /// Reads a page. Returns whether it is intact and holds the unit.
    pub(super) async fn read(&self, unit: Lpn, at: Upa, into: BufferId) -> bool {
        let tag = self.begin_read(at, into).await;
        self.end_read(unit, at, into, tag).await
    }
    /// Programs a unit's page from a buffer after writing the OOB record there. Calls `moved` to change the
    /// map as soon as the program has ended. Returns `None` if there is no room or every attempt has
    /// failed.
    pub(super) async fn write(&self, unit: Lpn, from: BufferId, moved: impl Fn(Programmed)) -> Option<Ppa> {
        let sequence = self.0.blocks().sequence.next();
        let record = OobRecord { kind: PageKind::Data, lpn: unit.0, sequence, lost_sectors: 0, copy: 0 };
        self.0.pages().put_record(from, &record);
        let to = Destination::Pool(self.pool_of(unit));
        for _ in 0..PROGRAM_ATTEMPTS {
            let programs = self
                .0
                .writer
                .begin_programs(to, Stream::Mapping, &[from], &[], |_, _| true, Cause::Metadata)
                .await?;
            let (page, tag) = programs.first();
            let done = self.0.writer.program_done(page, tag).await.map(&moved);
            self.0.writer.padded(programs.padding()).await;
            if done.is_some() {
                return Some(page);
            }
        }
        None
    }
}
