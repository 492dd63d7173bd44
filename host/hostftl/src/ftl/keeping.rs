//! What the FTL knows of the block group table on flash (H25).

use super::groups::{Exchange, GroupPlace, Groups};
use super::table_place::TablePlace;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use aster_units::BufferId;

/// Why the table that NVRAM names doesn't count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Misnamed {
    /// It can't be read.
    Unreadable,
    /// A newer one is on flash.
    Older,
}

/// What was found of tables at power-on.
#[derive(Default)]
pub(super) struct StoredTable {
    /// The copy that counts, and the group that has it; `None` if no table is whole.
    pub place: Option<(TablePlace, GroupPlace)>,
    /// The newest generation of which anything may be on flash.
    pub newest: u64,
    /// It wasn't where NVRAM says that it is.
    pub was_searched: bool,
    /// Why the one that NVRAM names doesn't count.
    pub misnamed: Option<Misnamed>,
    /// Its copies fade.
    pub is_faded: bool,
    /// The group of each of its members that could not be, and was dropped.
    pub mended: Vec<GroupPlace>,
}

/// What is known of the stored table.
pub(super) struct Keeping {
    /// The copy that counts.
    pub place: Option<TablePlace>,
    /// The group that has the table.
    pub group: Option<GroupPlace>,
    /// The group that gets the table because it is more worn, while it is stored there.
    pub moves_to: Option<GroupPlace>,
    /// The newest generation of which anything may be on flash.
    pub newest: u64,
    /// The area that is being written, and its first blank page; `None` if the other one comes next.
    pub next: Option<(u8, u16)>,
    /// The table is to be stored though nothing changes, since the copy that counts isn't as it should be.
    pub anew: bool,
    /// No copy could be stored: none will be before the next power-on.
    pub given_up: bool,
    /// The group that couldn't take the first table.
    pub refused: Option<GroupPlace>,
    /// A table is being stored, or is about to be.
    pub stores: bool,
    /// The exchange that is about to be stored. Its groups are held.
    pub pending: Option<Exchange>,
    /// The page buffer.
    pub buffer: BufferId,
    /// Power-on has found the table by reading, and not by NVRAM.
    pub was_searched: bool,
    /// Why the table that NVRAM named at power-on doesn't count.
    pub misnamed: Option<Misnamed>,
    /// The first start's table was built at power-on.
    pub was_built: bool,
    /// Members of the table that were dropped at power-on.
    pub dropped: u64,
    /// Tables that were stored since power-on.
    pub stored: u64,
    /// Tables that could not be stored since power-on.
    pub failures: u64,
}

impl Keeping {
    /// Of what was found at power-on.
    pub fn new(found: &StoredTable, buffer: BufferId) -> Self {
        Keeping {
            place: found.place.map(|(place, _)| place),
            group: found.place.map(|(_, at)| at),
            moves_to: None,
            newest: found.newest,
            next: None,
            anew: found.misnamed.is_some() || found.is_faded || !found.mended.is_empty(),
            given_up: false,
            refused: None,
            stores: false,
            pending: None,
            buffer,
            was_searched: found.was_searched,
            misnamed: found.misnamed,
            was_built: found.place.is_none(),
            dropped: found.mended.len() as u64,
            stored: 0,
            failures: 0,
        }
    }
    /// What a person should know of the table at power-on.
    pub fn note(&self) -> Option<String> {
        let misnamed = self.misnamed.map(|misnamed| {
            let what = match misnamed {
                Misnamed::Unreadable => "can't be read",
                Misnamed::Older => "is older than what is on flash",
            };
            let instead = match self.was_built {
                true => "since no other one is whole, the table was built as at the first start",
                false => "the newest whole one on flash was taken",
            };
            format!("the block group table that NVRAM names {what}: {instead}")
        });
        let dropped = (self.dropped > 0).then(|| {
            let members = if self.dropped == 1 { "member" } else { "members" };
            format!("{} {members} of the block group table could not be, and were dropped", self.dropped)
        });
        match (misnamed, dropped) {
            (Some(misnamed), Some(dropped)) => Some(format!("{misnamed}; {dropped}")),
            (misnamed, dropped) => misnamed.or(dropped),
        }
    }
    /// Whether groups can be repaired now: the change would be stored.
    pub fn can_store(&self) -> bool {
        self.place.is_some() && !self.given_up && !self.stores
    }
    /// No copy of a table could be programmed. A group that was to get the first one is free again, and
    /// another one gets it instead, once.
    pub fn store_failed(&mut self, groups: &mut Groups) {
        self.failures += 1;
        let first = if self.place.is_none() { self.group.take() } else { None };
        let Some(at) = first else {
            self.given_up = true;
            return;
        };
        groups.spoil(at);
        groups.give_back(at);
        self.next = None;
        self.given_up = self.refused.replace(at).is_some();
    }
    /// If the table was to move, that has been done, or has failed. The group that doesn't have it is free.
    pub fn end_move(&mut self, groups: &mut Groups, stored: bool) {
        let Some(to) = self.moves_to.take() else { return };
        let left = if stored { self.group.replace(to) } else { Some(to) };
        if let Some(left) = left {
            groups.spoil(left);
            groups.give_back(left);
        }
        if !stored {
            // Copies in the group that has the table go on in its other area.
            self.next = None;
        }
    }
}
