//! An eMMC on the board: cells that keep their content without power, and a card that takes its time for
//! each block.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::{Exec, Handler, HandlerId};
use aster_ports::emmc::{EMMC_BLOCK_BYTES, EMMC_COMMAND, EmmcCommand, EmmcPort};
use aster_ports::medium::{Medium, MediumError};
use aster_units::{Duration, Instant};
use core::cell::{Cell, RefCell};

/// Bytes that a card programs at once. A loss of power in the middle of a block leaves some of them as
/// wanted, those behind as they were, and destroys those under way.
const PROGRAM_BYTES: usize = 512;
/// The token of the event at which a command ends.
const ENDS: u64 = EMMC_COMMAND + 1;

/// Blocks in memory, zeroes where nothing was written.
struct InMemory {
    bytes: u64,
    blocks: BTreeMap<u64, Vec<u8>>,
}

impl Medium for InMemory {
    fn size(&self) -> u64 {
        self.bytes
    }
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), MediumError> {
        for (n, part) in (0..).zip(into.chunks_mut(EMMC_BLOCK_BYTES)) {
            match self.blocks.get(&(offset + n * EMMC_BLOCK_BYTES as u64)) {
                Some(block) => part.copy_from_slice(&block[..part.len()]),
                None => part.fill(0),
            }
        }
        Ok(())
    }
    fn write_at(&mut self, offset: u64, from: &[u8]) -> Result<(), MediumError> {
        for (n, part) in (0..).zip(from.chunks(EMMC_BLOCK_BYTES)) {
            self.blocks.insert(offset + n * EMMC_BLOCK_BYTES as u64, part.to_vec());
        }
        Ok(())
    }
    fn discard(&mut self, offset: u64, length: u64) -> Result<(), MediumError> {
        self.blocks.retain(|&at, _| !(offset..offset + length).contains(&at));
        Ok(())
    }
}

/// What a card keeps without power.
pub struct EmmcCells {
    medium: RefCell<Box<dyn Medium>>,
    refused: RefCell<Option<MediumError>>,
}

/// The cells, shared by the card and who looks at them.
pub type SharedEmmcCells = Rc<EmmcCells>;

impl EmmcCells {
    /// Cells of `bytes` bytes in memory, all zeroes.
    pub fn in_memory(bytes: u64) -> SharedEmmcCells {
        EmmcCells::on_medium(Box::new(InMemory { bytes, blocks: BTreeMap::new() }))
    }
    /// The cells that `medium` keeps.
    pub fn on_medium(medium: Box<dyn Medium>) -> SharedEmmcCells {
        Rc::new(EmmcCells { medium: RefCell::new(medium), refused: RefCell::default() })
    }
    /// Blocks that there are.
    pub fn blocks(&self) -> u32 {
        (self.medium.borrow().size() / EMMC_BLOCK_BYTES as u64) as u32
    }
    /// A block's content; zeroes where the backing can't be read.
    pub fn block(&self, block: u32) -> Vec<u8> {
        let mut content = vec![0; EMMC_BLOCK_BYTES];
        let place = self.place_of(block);
        let read = self.medium.borrow_mut().read_at(place, &mut content);
        if let Err(error) = read {
            self.refused.borrow_mut().get_or_insert(error);
            content.fill(0);
        }
        content
    }
    /// Makes this a block's content. Nothing is written any more once the backing has refused something, so
    /// that it stays as it was then.
    pub fn set_block(&self, block: u32, content: &[u8]) {
        assert_eq!(content.len(), EMMC_BLOCK_BYTES, "a block is written as a whole");
        let (place, mut refused) = (self.place_of(block), self.refused.borrow_mut());
        if refused.is_none() {
            *refused = self.medium.borrow_mut().write_at(place, content).err();
        }
    }
    /// The backing's first error.
    pub fn refused(&self) -> Option<MediumError> {
        self.refused.borrow().clone()
    }
    fn place_of(&self, block: u32) -> u64 {
        let blocks = self.blocks();
        assert!(block < blocks, "an eMMC of {blocks} blocks has no block {block}");
        u64::from(block) * EMMC_BLOCK_BYTES as u64
    }
}

/// What a card takes for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmmcTimes {
    /// Of a read.
    pub read: Duration,
    /// Of a write.
    pub write: Duration,
}

/// Commands that a card has carried out since power-on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EmmcStats {
    /// Blocks read.
    pub reads: u64,
    /// Blocks written.
    pub writes: u64,
}

/// A card under power.
pub struct EmmcCard {
    exec: Exec,
    port: Rc<EmmcPort>,
    cells: SharedEmmcCells,
    times: EmmcTimes,
    id: Cell<Option<HandlerId>>,
    // When the command that is in work has begun.
    begun: Cell<Option<Instant>>,
    stats: Cell<EmmcStats>,
}

impl EmmcCard {
    /// Puts a card behind `port`.
    pub fn start(exec: &Exec, port: &Rc<EmmcPort>, cells: SharedEmmcCells, times: EmmcTimes) -> Rc<Self> {
        let card = Rc::new(EmmcCard {
            exec: exec.clone(),
            port: Rc::clone(port),
            cells,
            times,
            id: Cell::new(None),
            begun: Cell::new(None),
            stats: Cell::default(),
        });
        let id = exec.register(Rc::<EmmcCard>::clone(&card));
        card.id.set(Some(id));
        port.attach(id);
        card
    }
    /// What it has done.
    pub fn stats(&self) -> EmmcStats {
        self.stats.get()
    }
    /// The power goes: a block that is being written is torn.
    pub fn power_off(&self, now: Instant) {
        let (Some(begun), Some(EmmcCommand::Write(block))) = (self.begun.get(), self.port.command()) else {
            return;
        };
        let (mut content, wanted) = (self.cells.block(block), self.port.buffer().borrow().clone());
        let steps = (EMMC_BLOCK_BYTES / PROGRAM_BYTES) as u128;
        let (elapsed, whole) = (now.since(begun).as_picos(), self.times.write.as_picos().max(1));
        let done = (u128::from(elapsed) * steps / u128::from(whole)).min(steps - 1) as usize;
        let under_way = done * PROGRAM_BYTES..(done + 1) * PROGRAM_BYTES;
        content[..under_way.start].copy_from_slice(&wanted[..under_way.start]);
        for (byte, wanted) in content[under_way.clone()].iter_mut().zip(&wanted[under_way]) {
            *byte = !*wanted;
        }
        self.cells.set_block(block, &content);
    }
    fn carry_out(&self, command: EmmcCommand) {
        let mut stats = self.stats.get();
        match command {
            EmmcCommand::Read(block) => {
                *self.port.buffer().borrow_mut() = self.cells.block(block);
                stats.reads += 1;
            }
            EmmcCommand::Write(block) => {
                self.cells.set_block(block, &self.port.buffer().borrow());
                stats.writes += 1;
            }
        }
        self.stats.set(stats);
        self.begun.set(None);
        self.port.end();
    }
}

impl Handler for EmmcCard {
    fn fire(&self, token: u64) {
        let command = self.port.command().expect("a card has an event for a command alone");
        if token == ENDS {
            return self.carry_out(command);
        }
        let now = self.exec.now();
        self.begun.set(Some(now));
        let time = match command {
            EmmcCommand::Read(_) => self.times.read,
            EmmcCommand::Write(_) => self.times.write,
        };
        self.exec.schedule(now + time, self.id.get().expect("a card that has started is registered"), ENDS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_exec::Core;
    use aster_units::Frequency;

    const TIMES: EmmcTimes =
        EmmcTimes { read: Duration::from_micros(100), write: Duration::from_micros(400) };

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// A card whose firmware writes 2s to block 3, which holds 1s, and reads it back.
    fn writing(cells: &SharedEmmcCells) -> (Exec, Rc<EmmcCard>, Rc<RefCell<Vec<u8>>>) {
        let exec = Exec::new();
        let port = EmmcPort::new(&exec);
        let card = EmmcCard::start(&exec, &port, Rc::clone(cells), TIMES);
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let (read, of_core) = (Rc::<RefCell<Vec<u8>>>::default(), core.clone());
        let into = Rc::clone(&read);
        core.spawn(async move {
            port.write(&of_core, 3, &[2; EMMC_BLOCK_BYTES]).await;
            let mut back = [0; 8];
            port.read(&of_core, 3, &mut back).await;
            *into.borrow_mut() = back.to_vec();
        });
        (exec, card, read)
    }
    fn of_ones() -> SharedEmmcCells {
        let cells = EmmcCells::in_memory(8 * EMMC_BLOCK_BYTES as u64);
        cells.set_block(3, &[1; EMMC_BLOCK_BYTES]);
        cells
    }

    #[test]
    fn each_block_takes_its_time_and_is_there_afterwards() {
        let cells = of_ones();
        let (exec, card, read) = writing(&cells);
        exec.advance_to(at(399));
        assert_eq!(cells.block(3), [1; EMMC_BLOCK_BYTES]);
        exec.advance_to(at(499));
        assert!(cells.block(3) == [2; EMMC_BLOCK_BYTES] && read.borrow().is_empty());
        exec.advance_to(at(500));
        assert_eq!((&read.borrow()[..], card.stats()), (&[2; 8][..], EmmcStats { reads: 1, writes: 1 }));
        // Nothing is in work, so the power takes nothing along.
        card.power_off(at(500));
        assert_eq!(cells.block(3), [2; EMMC_BLOCK_BYTES]);
        exec.shut_down();
    }

    #[test]
    fn a_loss_of_power_tears_the_block_that_is_being_written() {
        for (micros, whole) in [(0, 0), (60, 1), (200, 4), (399, 7)] {
            let cells = of_ones();
            let (exec, card, _) = writing(&cells);
            exec.advance_to(at(micros));
            card.power_off(at(micros));
            let (block, whole) = (cells.block(3), whole * PROGRAM_BYTES);
            assert!(block[..whole].iter().all(|&byte| byte == 2), "{micros} µs");
            assert!(block[whole..whole + PROGRAM_BYTES].iter().all(|&byte| byte == !2), "{micros} µs");
            assert!(block[whole + PROGRAM_BYTES..].iter().all(|&byte| byte == 1), "{micros} µs");
            exec.shut_down();
        }
    }

    #[test]
    fn a_read_that_is_cut_off_changes_nothing() {
        let cells = of_ones();
        let (exec, card, _) = writing(&cells);
        exec.advance_to(at(450));
        card.power_off(at(450));
        assert_eq!(cells.block(3), [2; EMMC_BLOCK_BYTES]);
        exec.shut_down();
    }

    /// A backing that is full.
    struct Full;
    impl Medium for Full {
        fn size(&self) -> u64 {
            EMMC_BLOCK_BYTES as u64
        }
        fn read_at(&mut self, _: u64, into: &mut [u8]) -> Result<(), MediumError> {
            into.fill(7);
            Ok(())
        }
        fn write_at(&mut self, offset: u64, _: &[u8]) -> Result<(), MediumError> {
            Err(MediumError { offset, reason: "no space left".into() })
        }
        fn discard(&mut self, _: u64, _: u64) -> Result<(), MediumError> {
            Ok(())
        }
    }

    #[test]
    fn a_backing_that_refuses_is_told() {
        let cells = EmmcCells::on_medium(Box::new(Full));
        assert_eq!((cells.blocks(), cells.refused()), (1, None));
        cells.set_block(0, &[1; EMMC_BLOCK_BYTES]);
        assert_eq!(cells.refused(), Some(MediumError { offset: 0, reason: "no space left".into() }));
        assert_eq!(cells.block(0), [7; EMMC_BLOCK_BYTES]);
    }
}
