//! What each logical block may hold after a sudden loss of power.

use aster_device::plug::Promises;
use std::collections::BTreeMap;
use std::fmt;

/// A version of a block that the host sent after the one that is safe.
#[derive(Clone, Copy, Debug)]
struct Later {
    version: u32,
    /// When its command completed, counted in completions.
    completed: Option<u64>,
    command: u64,
    /// It is a trim, which the drive doesn't promise to keep over a loss of power.
    revocable: bool,
}

/// A block whose content is not allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    block: u64,
    found: u32,
    allowed: Vec<u32>,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |version: &u32| match version {
            0 => "nothing".to_owned(),
            version => format!("version {version}"),
        };
        let allowed: Vec<String> = self.allowed.iter().map(name).collect();
        write!(f, "block {} holds {}, but must hold {}", self.block, name(&self.found), allowed.join(" or "))
    }
}

/// Which versions the blocks of a drive may hold. Version 0 is nothing: never written, or deallocated.
///
/// The host ensures that no two commands in flight name the same block, since NVMe doesn't order them.
pub(super) struct Durability {
    /// The safe version of each block: no loss of power may undo it.
    safe: Vec<u32>,
    /// What was sent after it, oldest first.
    later: BTreeMap<u64, Vec<Later>>,
    latest: u32,
    commands: u64,
    completions: u64,
    promises: Promises,
}

/// A command in flight that changes blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    command: u64,
    first: u64,
    blocks: u64,
    pub(super) version: u32,
}

/// A flush in flight: the commands that had completed before it was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlushMark(u64);

impl Durability {
    /// For a new drive with these promises, all of whose blocks hold version `held`.
    pub(super) fn new(blocks: u64, held: u32, promises: Promises) -> Self {
        Durability {
            safe: vec![held; blocks as usize],
            later: BTreeMap::new(),
            latest: 0,
            commands: 0,
            completions: 0,
            promises,
        }
    }
    /// Logical blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.safe.len() as u64
    }
    /// A version that no block has had.
    pub(super) fn next_version(&mut self) -> u32 {
        self.latest += 1;
        self.latest
    }
    /// A command is being sent that writes `version` to blocks.
    pub(super) fn send(&mut self, first: u64, blocks: u64, version: u32) -> Change {
        self.send_as(first, blocks, version, false)
    }
    /// As [`Durability::send`], for a deallocation.
    pub(super) fn send_trim(&mut self, first: u64, blocks: u64) -> Change {
        self.send_as(first, blocks, 0, !self.promises.trim)
    }
    fn send_as(&mut self, first: u64, blocks: u64, version: u32, revocable: bool) -> Change {
        self.commands += 1;
        let later = Later { version, completed: None, command: self.commands, revocable };
        for block in first..first + blocks {
            self.later.entry(block).or_default().push(later);
        }
        Change { command: self.commands, first, blocks, version }
    }
    /// The command has completed; `forced` tells that it had force unit access.
    pub(super) fn complete(&mut self, change: Change, forced: bool) {
        self.end(change, forced && self.promises.fua);
    }
    /// A format has completed.
    pub(super) fn complete_format(&mut self, change: Change) {
        self.end(change, true);
    }
    fn end(&mut self, change: Change, forced: bool) {
        self.completions += 1;
        for block in change.first..change.first + change.blocks {
            let Some(later) = self.later.get_mut(&block) else { continue };
            let Some(at) = later.iter().position(|l| l.command == change.command) else { continue };
            later[at].completed = Some(self.completions);
            if forced {
                self.make_safe(block, at);
            }
        }
    }
    fn make_safe(&mut self, block: u64, at: usize) {
        let Some(later) = self.later.get_mut(&block) else { return };
        self.safe[block as usize] = later[at].version;
        later.drain(..=at);
        if later.is_empty() {
            self.later.remove(&block);
        }
    }
    /// A flush is being sent.
    pub(super) fn send_flush(&self) -> FlushMark {
        FlushMark(self.completions)
    }
    /// The flush has completed: commands that had completed before it was sent are safe, if the drive
    /// promises it.
    pub(super) fn complete_flush(&mut self, mark: FlushMark) {
        if self.promises.flush {
            self.complete_shutdown(mark);
        }
    }
    /// A shutdown that was sent at this mark has completed.
    pub(super) fn complete_shutdown(&mut self, mark: FlushMark) {
        let flushed = |later: &Later| later.completed.is_some_and(|at| at <= mark.0) && !later.revocable;
        let due: Vec<(u64, usize)> = self
            .later
            .iter()
            .filter_map(|(&block, later)| Some((block, later.iter().rposition(flushed)?)))
            .collect();
        due.into_iter().for_each(|(block, at)| self.make_safe(block, at));
    }
    /// A block that no command in flight names was read.
    ///
    /// # Errors
    /// When it isn't the version sent last.
    pub(super) fn read(&self, block: u64, found: u32) -> Result<(), Wrong> {
        let newest =
            self.later.get(&block).and_then(|l| l.last()).map_or(self.safe[block as usize], |l| l.version);
        match found == newest {
            true => Ok(()),
            false => Err(Wrong { block, found, allowed: vec![newest] }),
        }
    }
    /// A block was read after a loss of power. From now on it must keep this version.
    ///
    /// # Errors
    /// When it is none of the versions from the safe one to the one sent last.
    pub(super) fn found(&mut self, block: u64, found: u32) -> Result<(), Wrong> {
        let safe = self.safe[block as usize];
        let Some(later) = self.later.remove(&block) else {
            return match found == safe {
                true => Ok(()),
                false => Err(Wrong { block, found, allowed: vec![safe] }),
            };
        };
        // What its content says to be a version of this block is one; versions count up over the whole drive.
        let is_back = later.iter().any(|l| l.revocable) && found <= self.latest;
        if found != safe && !later.iter().any(|l| l.version == found) && !is_back {
            let allowed = [safe].into_iter().chain(later.iter().map(|l| l.version)).collect();
            return Err(Wrong { block, found, allowed });
        }
        self.safe[block as usize] = found;
        Ok(())
    }
    /// Blocks that may hold one of several versions after a loss of power.
    pub(super) fn undecided(&self) -> Vec<u64> {
        self.later.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durability() -> Durability {
        Durability::new(8, 0, Promises::ALL)
    }

    #[test]
    fn any_version_after_the_safe_one_may_be_found_and_then_only_that() {
        let mut durability = durability();
        let first = durability.send(2, 2, 1);
        durability.complete(first, false);
        durability.send(2, 1, 2);
        assert_eq!(durability.undecided(), [2, 3]);
        assert!(durability.read(2, 2).is_ok() && durability.read(2, 1).is_err());
        let wrong = durability.found(2, 3).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "block 2 holds version 3, but must hold nothing or version 1 or version 2"
        );
        let mut again = super::tests::durability();
        again.send(2, 1, 1);
        assert!(again.found(2, 1).is_ok());
        assert!(again.found(2, 0).is_err(), "what was read once must be read again");
    }

    #[test]
    fn a_flush_makes_safe_what_had_completed_when_it_was_sent() {
        let mut durability = durability();
        let before = durability.send(0, 1, 1);
        durability.complete(before, false);
        let beside = durability.send(1, 1, 2);
        let mark = durability.send_flush();
        durability.complete(beside, false);
        durability.complete_flush(mark);
        assert!(durability.found(0, 0).is_err(), "it was flushed");
        assert!(durability.found(1, 0).is_ok(), "it was in flight when the flush was sent");
    }

    #[test]
    fn forced_writes_are_safe_alone_and_replace_what_came_before() {
        let mut durability = durability();
        let old = durability.send(5, 1, 1);
        durability.complete(old, false);
        let forced = durability.send(5, 1, 2);
        durability.complete(forced, true);
        assert!(durability.undecided().is_empty());
        assert!(durability.found(5, 1).is_err() && durability.found(5, 2).is_ok());
    }

    /// A drive that promises `promises`, on which block 0 was written twice, each time flushed, then trimmed
    /// and flushed.
    fn trimmed(promises: Promises) -> Durability {
        let mut durability = Durability::new(8, 0, promises);
        for version in [1, 2, 0] {
            let change = match version {
                0 => durability.send_trim(0, 1),
                _ => {
                    let version = durability.next_version();
                    durability.send(0, 1, version)
                }
            };
            durability.complete(change, false);
            let mark = durability.send_flush();
            durability.complete_flush(mark);
        }
        durability
    }

    #[test]
    fn what_was_trimmed_may_be_back_only_where_trims_are_not_promised() {
        let lazy = Promises { trim: false, ..Promises::ALL };
        assert!(trimmed(Promises::ALL).found(0, 2).is_err() && trimmed(Promises::ALL).found(0, 0).is_ok());
        for version in [0, 1, 2] {
            assert!(
                trimmed(lazy).found(0, version).is_ok(),
                "version {version}, as it was at any time before"
            );
        }
        assert!(trimmed(lazy).found(0, 3).is_err(), "that was never sent");
        assert!(trimmed(lazy).read(0, 2).is_err(), "while it serves it holds nothing");

        let mut durability = trimmed(lazy);
        let version = durability.next_version();
        let change = durability.send(0, 1, version);
        durability.complete(change, true);
        assert!(durability.found(0, 2).is_err(), "a forced write came after the trim");
        let mut durability = trimmed(lazy);
        let mark = durability.send_flush();
        durability.complete_shutdown(mark);
        assert!(durability.found(0, 2).is_ok(), "after a shutdown, too");
        let mut durability = trimmed(lazy);
        let change = durability.send(0, 8, 0);
        durability.complete_format(change);
        assert!(durability.found(0, 2).is_err(), "and what a format has removed stays away");
    }

    #[test]
    fn flushes_and_forced_writes_make_nothing_safe_where_they_are_not_promised() {
        for forced in [false, true] {
            let found = |promises: Promises| {
                let mut durability = Durability::new(8, 0, promises);
                let version = durability.next_version();
                let change = durability.send(0, 1, version);
                durability.complete(change, forced);
                if !forced {
                    let mark = durability.send_flush();
                    durability.complete_flush(mark);
                }
                durability.found(0, 0).is_ok()
            };
            let less = if forced {
                Promises { fua: false, ..Promises::ALL }
            } else {
                Promises { flush: false, ..Promises::ALL }
            };
            assert_eq!((found(Promises::ALL), found(less)), (false, true), "forced: {forced}");
        }
    }
}
