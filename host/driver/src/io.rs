//! I/O commands (NVMe 1.4 §6): submitted into a slot, or awaited by a task.

use crate::bar::Bar;
use crate::buffers::{Data, DataMut};
use crate::driver::Driver;
use crate::error::DriverError;
use crate::ids::{QueueId, SlotId};
use crate::queue::Following;
use alloc::collections::VecDeque;
use aster_units::{Content, SECTOR_BYTES};
use aster_wire::nvme::dsm::{RANGES_MAX, Range};
use aster_wire::nvme::io::{BlockRange, DatasetManagement, IoCommand};
use zerocopy::IntoBytes;

/// What an I/O command does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoOp {
    /// Read into the slot's buffer (§6.9).
    Read,
    /// Write from the slot's buffer (§6.15).
    Write,
    /// Compare with the slot's buffer (§6.6).
    Compare,
    /// Zero the blocks (§6.17).
    WriteZeroes {
        /// DEAC: the controller should deallocate the blocks. Without it the controller may.
        deallocate: bool,
    },
    /// Deallocate the one range of blocks (§6.7).
    Deallocate,
    /// Bring everything that completed before to non-volatile media (§6.8).
    Flush,
}

/// An I/O command for the driver's namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Io {
    /// What to do.
    pub op: IoOp,
    /// First logical block; 0 for a flush.
    pub slba: u64,
    /// Logical blocks, up to [`Driver::blocks_max`]; 0 only for a flush.
    pub blocks: u32,
    /// Force unit access: on non-volatile media before it completes. Only for reads, writes and zeroing.
    pub fua: bool,
    /// The identifier of the stream that a write belongs to (§9.3); 0 for none. Only where
    /// [`Driver::streams`] isn't 0.
    pub stream: u16,
}

impl IoOp {
    /// Whether the command moves data between the slot's buffer and the drive.
    #[inline]
    pub const fn has_data(self) -> bool {
        matches!(self, IoOp::Read | IoOp::Write | IoOp::Compare)
    }
}

/// Logical blocks that commands without data can name at most: 16 bits zero-based (§6.17).
const BLOCKS_WITHOUT_DATA: u32 = 1 << 16;

impl<B: Bar + 'static> Driver<B> {
    /// The most logical blocks that one command may name; larger requests must be split.
    #[inline]
    pub fn blocks_max(&self, op: IoOp) -> u32 {
        match op {
            IoOp::Read | IoOp::Write | IoOp::Compare => self.blocks_max.get(),
            IoOp::WriteZeroes { .. } => BLOCKS_WITHOUT_DATA,
            // A range counts its blocks in 32 bits (§6.7).
            IoOp::Deallocate => u32::MAX,
            IoOp::Flush => 0,
        }
    }

    /// Puts a command into a slot's submission queue. [`Driver::ring`] tells the controller; the completion
    /// comes from [`Driver::next_completion`]. Asserts that the slot was taken and that the command is no
    /// larger than [`Driver::blocks_max`]; the controller checks whether it fits the namespace.
    #[inline]
    pub fn submit(&self, queue: QueueId, slot: SlotId, io: &Io) {
        self.submit_as(queue, slot, io, false);
    }

    #[inline]
    fn submit_as(&self, queue: QueueId, slot: SlotId, io: &Io, awaited: bool) {
        assert!(io.blocks <= self.blocks_max(io.op), "{io:?} is more than one command");
        let namespace = self.namespace.get();
        let mut pairs = self.pairs.borrow_mut();
        let mut memory = self.memory.borrow_mut();
        let pair = &mut pairs[queue.index()];
        let buffers = pair.buffers.as_ref().expect("an I/O queue has data buffers");
        let (prp1, prp2) = if io.op.has_data() {
            let bytes = u64::from(io.blocks) * u64::from(namespace.block_bytes);
            buffers.prps(slot.0, bytes, &mut memory)
        } else if io.op == IoOp::Deallocate {
            let at = buffers.ranges_of(slot.0);
            let range = Range::new(io.slba, io.blocks);
            let bytes = memory.bytes_mut(at, range.as_bytes().len()).expect("the page was allocated");
            bytes.copy_from_slice(range.as_bytes());
            (at, 0)
        } else {
            (0, 0)
        };
        let range = |io: &Io| BlockRange::new(io.slba, io.blocks).with_force_unit_access(io.fua);
        let command = match io.op {
            IoOp::Read => IoCommand::Read(range(io)),
            IoOp::Write => IoCommand::Write(range(io).with_stream(io.stream)),
            IoOp::Compare => IoCommand::Compare(range(io)),
            IoOp::WriteZeroes { deallocate } => {
                let mut zeroes = range(io);
                zeroes.control = zeroes.control.with_deallocate(deallocate);
                IoCommand::WriteZeroes(zeroes)
            }
            IoOp::Deallocate => IoCommand::DatasetManagement(DatasetManagement::deallocate(1)),
            IoOp::Flush => IoCommand::Flush,
        };
        let sqe = command.to_sqe(namespace.id, slot.0, prp1, prp2);
        let slba = (io.op != IoOp::Flush).then_some(io.slba);
        let following = Following { slba, awaited, endless: false };
        pair.push(slot, &sqe, following, self.exec.now(), &mut memory);
    }

    pub(crate) fn check_queue(&self, queue: QueueId) -> Result<(), DriverError> {
        if queue != QueueId::ADMIN && queue.0 <= self.live_pairs.get() {
            return Ok(());
        }
        Err(DriverError::Argument("the queue pair does not exist"))
    }

    async fn one(&self, queue: QueueId, io: Io) -> Result<(), DriverError> {
        self.check_queue(queue)?;
        let slot = self.await_slot(queue).await;
        self.submit_as(queue, slot, &io, true);
        self.ring(queue);
        self.await_success(queue, slot).await?;
        self.release_slot(queue, slot);
        Ok(())
    }

    /// Brings everything that completed before to non-volatile media (§6.8).
    ///
    /// # Errors
    /// Those of the command.
    pub async fn flush(&self, queue: QueueId) -> Result<(), DriverError> {
        self.one(queue, Io { op: IoOp::Flush, slba: 0, blocks: 0, fua: false, stream: 0 }).await
    }

    /// Zeroes any number of blocks (§6.17); with `forced` the zeroes are on the media before it completes
    /// (FUA).
    ///
    /// # Errors
    /// Those of the commands; those before the first error have happened.
    pub async fn write_zeroes(
        &self,
        queue: QueueId,
        slba: u64,
        blocks: u64,
        deallocate: bool,
        forced: bool,
    ) -> Result<(), DriverError> {
        let op = IoOp::WriteZeroes { deallocate };
        let mut done = 0;
        while done < blocks {
            let piece = (blocks - done).min(u64::from(BLOCKS_WITHOUT_DATA)) as u32;
            self.one(queue, Io { op, slba: slba + done, blocks: piece, fua: forced, stream: 0 }).await?;
            done += u64::from(piece);
        }
        Ok(())
    }

    /// Deallocates ranges, 1 to 256 (§6.7).
    ///
    /// # Errors
    /// Those of the command; [`DriverError::Argument`] for another number of ranges.
    pub async fn deallocate(&self, queue: QueueId, ranges: &[Range]) -> Result<(), DriverError> {
        self.check_queue(queue)?;
        if !(1..=RANGES_MAX).contains(&ranges.len()) {
            return Err(DriverError::Argument("a deallocation has 1 to 256 ranges"));
        }
        let slot = self.await_slot(queue).await;
        {
            let mut pairs = self.pairs.borrow_mut();
            let mut memory = self.memory.borrow_mut();
            let pair = &mut pairs[queue.index()];
            let at = pair.buffers.as_ref().expect("an I/O queue has data buffers").ranges_of(slot.0);
            let bytes = ranges.as_bytes();
            memory.bytes_mut(at, bytes.len()).expect("256 ranges are one page").copy_from_slice(bytes);
            let command = IoCommand::DatasetManagement(DatasetManagement::deallocate(ranges.len() as u16));
            let sqe = command.to_sqe(self.namespace.get().id, slot.0, at, 0);
            let following = Following { slba: Some(ranges[0].slba.get()), awaited: true, endless: false };
            pair.push(slot, &sqe, following, self.exec.now(), &mut memory);
        }
        self.ring(queue);
        self.await_success(queue, slot).await?;
        self.release_slot(queue, slot);
        Ok(())
    }

    /// Writes bytes, a multiple of the logical block; with `fua` they are on non-volatile media at the end
    /// (§6.15).
    ///
    /// # Errors
    /// Those of the commands: some blocks may be written then. [`DriverError::Argument`] when the length does
    /// not fit or the content is tags.
    pub async fn write(&self, queue: QueueId, slba: u64, bytes: &[u8], fua: bool) -> Result<(), DriverError> {
        self.send(queue, IoOp::Write, slba, Data::Bytes(bytes), fua).await
    }

    /// Writes tags, one per 4 KiB block.
    ///
    /// # Errors
    /// As [`Driver::write`], when the content is bytes.
    pub async fn write_tags(
        &self,
        queue: QueueId,
        slba: u64,
        tags: &[[u8; 8]],
        fua: bool,
    ) -> Result<(), DriverError> {
        self.send(queue, IoOp::Write, slba, Data::Tags(tags), fua).await
    }

    /// Compares stored bytes with `bytes` (§6.6).
    ///
    /// # Errors
    /// As [`Driver::write`]; a difference is status Compare Failure.
    pub async fn compare(&self, queue: QueueId, slba: u64, bytes: &[u8]) -> Result<(), DriverError> {
        self.send(queue, IoOp::Compare, slba, Data::Bytes(bytes), false).await
    }

    /// Reads bytes, a multiple of the logical block (§6.9).
    ///
    /// # Errors
    /// Those of the commands: part of `into` may be read then. [`DriverError::Argument`] when the length does
    /// not fit or the content is tags.
    pub async fn read(&self, queue: QueueId, slba: u64, into: &mut [u8]) -> Result<(), DriverError> {
        let bytes = into.len();
        let take = |at: usize, from: Data<'_>| {
            if let Data::Bytes(from) = from {
                into[at..at + from.len()].copy_from_slice(from);
            }
        };
        self.pieces(queue, IoOp::Read, slba, bytes, Content::Full, false, |_, _| {}, take).await
    }

    /// Reads tags, one per 4 KiB block.
    ///
    /// # Errors
    /// As [`Driver::read`], when the content is bytes.
    pub async fn read_tags(
        &self,
        queue: QueueId,
        slba: u64,
        into: &mut [[u8; 8]],
    ) -> Result<(), DriverError> {
        let bytes = into.len() * SECTOR_BYTES;
        let take = |at: usize, from: Data<'_>| {
            if let Data::Tags(from) = from {
                into[at / SECTOR_BYTES..][..from.len()].copy_from_slice(from);
            }
        };
        self.pieces(queue, IoOp::Read, slba, bytes, Content::Fingerprint, false, |_, _| {}, take).await
    }

    async fn send(
        &self,
        queue: QueueId,
        op: IoOp,
        slba: u64,
        data: Data<'_>,
        fua: bool,
    ) -> Result<(), DriverError> {
        let (bytes, content) = match data {
            Data::Bytes(from) => (from.len(), Content::Full),
            Data::Tags(from) => (from.len() * SECTOR_BYTES, Content::Fingerprint),
        };
        let give = |at: usize, into: DataMut<'_>| match (data, into) {
            (Data::Bytes(from), DataMut::Bytes(into)) => into.copy_from_slice(&from[at..at + into.len()]),
            (Data::Tags(from), DataMut::Tags(into)) => {
                into.copy_from_slice(&from[at / SECTOR_BYTES..][..into.len()]);
            }
            _ => unreachable!("the content was checked"),
        };
        self.pieces(queue, op, slba, bytes, content, fua, give, |_, _| {}).await
    }

    /// Carries out a transfer of any length as several commands that overlap as far as there are slots.
    /// `give` fills a buffer before its command, `take` empties it afterwards; both get the byte offset into
    /// the transfer.
    #[allow(clippy::too_many_arguments)] // one private function behind six public ones
    async fn pieces(
        &self,
        queue: QueueId,
        op: IoOp,
        slba: u64,
        bytes: usize,
        content: Content,
        fua: bool,
        mut give: impl FnMut(usize, DataMut<'_>),
        mut take: impl FnMut(usize, Data<'_>),
    ) -> Result<(), DriverError> {
        self.check_queue(queue)?;
        let block_bytes = self.namespace().block_bytes as usize;
        if !bytes.is_multiple_of(block_bytes) {
            return Err(DriverError::Argument("the length is not a multiple of the logical block"));
        }
        if content != self.config.content {
            return Err(DriverError::Argument("bytes and tags do not mix: the drive's content is the other"));
        }
        let piece_max = self.blocks_max.get() as usize * block_bytes;
        // (slot, offset, length) of the commands in flight, oldest first.
        let mut window: VecDeque<(SlotId, usize, u32)> = VecDeque::new();
        let (mut sent, mut outcome) = (0, Ok(()));
        loop {
            while sent < bytes && outcome.is_ok() {
                // If it has commands in flight, it waits for these instead of waiting for a slot.
                let slot = match self.take_slot(queue) {
                    Some(slot) => slot,
                    None if window.is_empty() => self.await_slot(queue).await,
                    None => break,
                };
                let length = (bytes - sent).min(piece_max) as u32;
                if matches!(op, IoOp::Write | IoOp::Compare) {
                    self.data_mut(queue, slot, length, |into| give(sent, into));
                }
                let first = slba + (sent / block_bytes) as u64;
                let io = Io { op, slba: first, blocks: length / block_bytes as u32, fua, stream: 0 };
                self.submit_as(queue, slot, &io, true);
                window.push_back((slot, sent, length));
                sent += length as usize;
            }
            self.ring(queue);
            let Some((slot, at, length)) = window.pop_front() else { return outcome };
            match self.await_success(queue, slot).await {
                Ok(_) => {
                    if op == IoOp::Read {
                        self.data(queue, slot, length, |from| take(at, from));
                    }
                    self.release_slot(queue, slot);
                }
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
    }
}
