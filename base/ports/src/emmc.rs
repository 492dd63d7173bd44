//! The board's eMMC, as firmware uses it: blocks that keep their content without power, and one command at a
//! time.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::{Core, Exec, HandlerId, WaitCell};
use core::cell::{Cell, RefCell};
use core::fmt;

/// Bytes of a block, the least that a command reads or writes.
pub const EMMC_BLOCK_BYTES: usize = 4096;

/// The token of the event by which a card learns that a command waits for it.
pub const EMMC_COMMAND: u64 = 0;

/// A command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EmmcCommand {
    /// Brings a block into the port's buffer.
    Read(u32),
    /// Puts the port's buffer into a block.
    Write(u32),
}

/// The port between a core and the card. Blocks outside of the card are an error of the firmware, for which
/// the card panics.
pub struct EmmcPort {
    exec: Exec,
    card: Cell<Option<HandlerId>>,
    command: Cell<Option<EmmcCommand>>,
    buffer: RefCell<Vec<u8>>,
    ended: WaitCell,
}

impl fmt::Debug for EmmcPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmmcPort").field("command", &self.command).finish_non_exhaustive()
    }
}

impl EmmcPort {
    /// A port without a card.
    pub fn new(exec: &Exec) -> Rc<Self> {
        Rc::new(EmmcPort {
            exec: exec.clone(),
            card: Cell::new(None),
            command: Cell::new(None),
            buffer: RefCell::new(vec![0; EMMC_BLOCK_BYTES]),
            ended: WaitCell::default(),
        })
    }

    // ---- the firmware's side ----

    /// Reads a block. `into` may be shorter than a block.
    pub async fn read(&self, core: &Core, block: u32, into: &mut [u8]) {
        self.call(core, EmmcCommand::Read(block)).await;
        into.copy_from_slice(&self.buffer.borrow()[..into.len()]);
    }
    /// Writes a block. What `from` has less than a block becomes zeroes.
    pub async fn write(&self, core: &Core, block: u32, from: &[u8]) {
        {
            let mut buffer = self.buffer.borrow_mut();
            let (content, rest) = buffer.split_at_mut(from.len());
            content.copy_from_slice(from);
            rest.fill(0);
        }
        self.call(core, EmmcCommand::Write(block)).await;
    }
    async fn call(&self, core: &Core, command: EmmcCommand) {
        let card = self.card.get().expect("the port has a card");
        let other = self.command.replace(Some(command));
        assert!(other.is_none(), "an eMMC takes one command after the other, and {other:?} has not ended");
        self.exec.schedule(core.now(), card, EMMC_COMMAND);
        self.ended.wait(&self.exec, || self.command.get().is_none().then_some(())).await;
    }

    // ---- the card's side ----

    /// From now on this card gets the commands.
    pub fn attach(&self, card: HandlerId) {
        self.card.set(Some(card));
    }
    /// The command that has not ended.
    pub fn command(&self) -> Option<EmmcCommand> {
        self.command.get()
    }
    /// What a write puts into its block, and what a read brings.
    pub fn buffer(&self) -> &RefCell<Vec<u8>> {
        &self.buffer
    }
    /// The command has ended.
    pub fn end(&self) {
        self.command.set(None);
        self.ended.wake(&self.exec);
    }
}
