//! The port between the cache and the target below it, of which the cache is the front end. What the target
//! moves is copied between its page buffers and memory of the command, in no time.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::{Exec, Handler, WaitCell, WaitQueue};
use aster_ports::dram::SharedDram;
use aster_ports::host::{
    ByteRange, CommandId, CommandPort, Completion, DmaDirection, DmaRequest, HostCommand, HostOp, HostStatus,
};
use aster_units::{Content, SECTOR_BYTES};
use core::cell::RefCell;
use core::ops::Range;

/// Commands to the target in flight.
pub(crate) const COMMANDS: u16 = 64;
/// DMA requests of the target in flight.
const DMA_REQUESTS: u16 = 128;
/// Sectors of a command's data at most: 128 KiB.
pub(crate) const RUN: u32 = 32;

/// How a command ended: with a place on the drive if blocks could not be read.
pub(crate) type Ended = Result<(), (HostStatus, Option<u64>)>;

struct Slot {
    data: Vec<u8>,
    ended: Option<Completion>,
}

/// The port.
pub(crate) struct Lower {
    exec: Exec,
    port: Rc<CommandPort>,
    buffers: SharedDram,
    content: Content,
    slots: RefCell<Vec<Slot>>,
    free: RefCell<Vec<u16>>,
    frees: WaitQueue,
    ends: Vec<WaitCell>,
}

/// A command under way.
#[must_use = "its slot is free when it has ended"]
pub(crate) struct UnderWay(u16);

impl Lower {
    /// A port, whose target has these page buffers. `waiters` tasks at most send commands.
    pub(crate) fn start(exec: &Exec, buffers: SharedDram, content: Content, waiters: usize) -> Rc<Self> {
        let port = CommandPort::new(exec, COMMANDS, DMA_REQUESTS);
        let data = || vec![0; RUN as usize * content.sector_len()];
        let lower = Rc::new(Lower {
            exec: exec.clone(),
            port: Rc::clone(&port),
            buffers,
            content,
            slots: RefCell::new((0..COMMANDS).map(|_| Slot { data: data(), ended: None }).collect()),
            free: RefCell::new((0..COMMANDS).rev().collect()),
            frees: WaitQueue::with_capacity(waiters),
            ends: (0..COMMANDS).map(|_| WaitCell::default()).collect(),
        });
        port.attach(exec.register(lower.clone()));
        lower
    }
    /// The port, for the target.
    pub(crate) fn port(&self) -> Rc<CommandPort> {
        Rc::clone(&self.port)
    }

    /// Sends a command once a slot is free. `fill` gets the memory for its data just before.
    pub(crate) async fn send(
        &self,
        op: HostOp,
        offset: u64,
        length: u64,
        fua: bool,
        fill: impl FnOnce(&mut [u8]),
    ) -> UnderWay {
        let id = self.frees.wait(&self.exec, || self.free.borrow_mut().pop()).await;
        fill(&mut self.slots.borrow_mut()[usize::from(id)].data);
        self.port.push_command(HostCommand { id: CommandId(id), op, offset, length, fua });
        UnderWay(id)
    }
    /// Reads a run of blocks.
    pub(crate) async fn read(&self, run: Range<u32>) -> UnderWay {
        let (offset, length) = bytes_of(&run);
        self.send(HostOp::Read, offset, length, false, |_| ()).await
    }
    /// Deallocates ranges.
    pub(crate) async fn deallocate(&self, ranges: &[ByteRange]) -> Ended {
        let id = self.frees.wait(&self.exec, || self.free.borrow_mut().pop()).await;
        self.port.set_ranges(CommandId(id), ranges.iter().copied());
        let length = ranges.iter().map(|range| range.length).sum();
        let op = HostOp::Deallocate;
        self.port.push_command(HostCommand { id: CommandId(id), op, offset: 0, length, fua: false });
        self.end(UnderWay(id), |_| ()).await
    }
    /// Waits for the end of a command. `take` gets its data if it succeeded.
    pub(crate) async fn end(&self, UnderWay(id): UnderWay, take: impl FnOnce(&[u8])) -> Ended {
        let slot = usize::from(id);
        let ended = || self.slots.borrow_mut()[slot].ended.take();
        let completion = self.ends[slot].wait(&self.exec, ended).await;
        let ended = match completion.status {
            HostStatus::Success => Ok(()),
            status => Err((status, completion.failed_at)),
        };
        if ended.is_ok() {
            take(&self.slots.borrow()[slot].data);
        }
        self.free.borrow_mut().push(id);
        self.frees.wake_one(&self.exec);
        ended
    }
    /// Sends a command without data, and waits for its end.
    pub(crate) async fn carry_out(&self, op: HostOp, offset: u64, length: u64, fua: bool) -> Ended {
        let under_way = self.send(op, offset, length, fua, |_| ()).await;
        self.end(under_way, |_| ()).await
    }

    fn copy(&self, request: &DmaRequest) {
        let ratio = SECTOR_BYTES / self.content.sector_len();
        let length = request.length as usize / ratio;
        let (at, into) = (request.offset as usize / ratio, request.buffer_offset as usize / ratio);
        let data = &mut self.slots.borrow_mut()[usize::from(request.command.0)].data;
        match request.direction {
            DmaDirection::ToHost => {
                let buffers = self.buffers.borrow();
                data[at..at + length].copy_from_slice(&buffers.page(request.buffer)[into..into + length]);
            }
            DmaDirection::FromHost => {
                let mut buffers = self.buffers.borrow_mut();
                buffers.page_mut(request.buffer)[into..into + length].copy_from_slice(&data[at..at + length]);
            }
        }
    }
}

/// Where blocks are on the drive: the first byte, and how many.
pub(crate) fn bytes_of(blocks: &Range<u32>) -> (u64, u64) {
    let sector = SECTOR_BYTES as u64;
    (u64::from(blocks.start) * sector, (blocks.end - blocks.start) as u64 * sector)
}

impl Handler for Lower {
    fn fire(&self, _: u64) {
        self.port.acknowledge();
        while let Some((tag, request)) = self.port.next_dma() {
            self.copy(&request);
            self.port.dma_done(tag, Ok(()));
        }
        while let Some(completion) = self.port.next_completion() {
            let slot = usize::from(completion.id.0);
            self.slots.borrow_mut()[slot].ended = Some(completion);
            self.ends[slot].wake(&self.exec);
        }
    }
}
