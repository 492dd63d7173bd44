//! Commands in flight, by number.

use super::error::ArrayError;
use aster_exec::{Exec, WaitCell};
use aster_units::Instant;
use aster_wire::array::{Command, StatusCode};
use core::cell::RefCell;

/// Commands that the drive has slots for (H11).
pub const TAGS: usize = 64;

/// Names a command in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandTag(pub(super) u8);

impl CommandTag {
    /// Its number, below 64.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// What became of it.
    pub code: StatusCode,
    /// Lanes of a group that failed, or sectors of a page, as bits.
    pub failed: u8,
    /// The most bits that were corrected in a chunk.
    pub corrected: u8,
}

/// The drive has been given up, so nobody knows what became of the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the drive has been given up")]
pub struct Gone;

#[derive(Clone, Copy)]
enum TagState {
    Free,
    /// It is in no frame yet.
    Waiting(Command),
    /// It is in the frame with this number.
    InDrive {
        frame: u64,
        since: Instant,
    },
    Ended(Result<Ended, Gone>),
}

/// The commands in flight.
pub(super) struct Tags {
    all: RefCell<[TagState; TAGS]>,
    waiters: [WaitCell; TAGS],
}

impl Default for Tags {
    fn default() -> Self {
        Tags {
            all: RefCell::new([TagState::Free; TAGS]),
            waiters: core::array::from_fn(|_| WaitCell::default()),
        }
    }
}

impl Tags {
    /// Gives a command a number, if one is free. `make` makes the command for that number.
    pub fn take(&self, make: impl FnOnce(CommandTag) -> Command) -> Option<CommandTag> {
        let mut all = self.all.borrow_mut();
        let free = all.iter().position(|tag| matches!(tag, TagState::Free))?;
        let mut command = make(CommandTag(free as u8));
        command.id = free as u16;
        all[free] = TagState::Waiting(command);
        Some(CommandTag(free as u8))
    }
    /// How many more commands may be taken.
    pub fn room(&self) -> usize {
        self.all.borrow().iter().filter(|tag| matches!(tag, TagState::Free)).count()
    }
    /// The command with this number, which is in no frame yet.
    pub fn command(&self, tag: CommandTag) -> Command {
        match self.all.borrow()[tag.index()] {
            TagState::Waiting(command) => command,
            _ => unreachable!("the command waits for a frame"),
        }
    }
    /// The command is in a frame now.
    pub fn framed(&self, tag: CommandTag, frame: u64, since: Instant) {
        self.all.borrow_mut()[tag.index()] = TagState::InDrive { frame, since };
    }
    /// The command with the number `id` has ended. Returns the frame in which it was.
    pub fn end(&self, exec: &Exec, id: u16, ended: Ended) -> Result<u64, ArrayError> {
        let mut all = self.all.borrow_mut();
        match all.get_mut(usize::from(id)) {
            Some(tag @ TagState::InDrive { .. }) => {
                let TagState::InDrive { frame, .. } = *tag else { unreachable!("just matched") };
                *tag = TagState::Ended(Ok(ended));
                self.waiters[usize::from(id)].wake(exec);
                Ok(frame)
            }
            _ => Err(ArrayError::UnknownCommand(id)),
        }
    }
    /// No command ends any more.
    pub fn give_up(&self, exec: &Exec) {
        for (tag, waiter) in self.all.borrow_mut().iter_mut().zip(&self.waiters) {
            if matches!(tag, TagState::Waiting(_) | TagState::InDrive { .. }) {
                *tag = TagState::Ended(Err(Gone));
                waiter.wake(exec);
            }
        }
    }
    /// The command that has been in the drive longest, and since when.
    pub fn oldest(&self) -> Option<(u16, Instant)> {
        let all = self.all.borrow();
        let in_drive = (0..).zip(all.iter()).filter_map(|(id, tag)| match tag {
            TagState::InDrive { since, .. } => Some((id, *since)),
            _ => None,
        });
        in_drive.min_by_key(|&(_, since)| since)
    }
    /// Takes a command's end, if it has ended, and frees its number.
    pub fn try_take(&self, tag: CommandTag) -> Option<Result<Ended, Gone>> {
        let mut all = self.all.borrow_mut();
        let TagState::Ended(ended) = all[tag.index()] else { return None };
        all[tag.index()] = TagState::Free;
        Some(ended)
    }
    /// Waits for a command's end, and frees its number.
    pub async fn finished(&self, exec: &Exec, tag: CommandTag) -> Result<Ended, Gone> {
        self.waiters[tag.index()].wait(exec, || self.try_take(tag)).await
    }
}
