//! A translation without a map. Each page of a vector becomes a flash request. It keeps the state of each
//! block in NVRAM, and each block's write pointer, which it finds at boot.

use super::set::{CHUNK_BYTES, METADATA_BYTES, OPERATIONS, TABLE_HEADER_BYTES, code_of, state_of};
use super::shape::{Page, Shape};
use aster_device::plug::{
    BlockState, CommandId, CommandPort, Completion, DamagedRecord, DmaDirection, DmaPart, DmaRequest,
    DriveState, FlashOp, FlashPort, FlashRequest, FlashStatus, Function, HostCommand, HostOp, HostStatus,
    MediaState, NvramSlice, Operations, Outcome, PieceError, ReportKind, SharedDram, Tag, Target,
    Translation, TranslationNeeds, TranslationPorts, TranslationStats, TranslationView, VECTOR_MAX,
};
use aster_units::{BlockAddr, BufferId, Lpn, LunIndex, PageInBlock, Ppa, Restriction, RowAddr, SectorRange};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The offset of the table of states in NVRAM. The byte before it is set if the table exists.
const TABLE_AT: usize = 1;
/// The least number of cleared bits that make a spare byte a factory mark.
const MARK_ZEROES: u32 = 4;

pub struct Direct {
    pub shape: Shape,
    pub restriction: Restriction,
}

#[derive(Clone, Copy)]
struct Block {
    state: BlockState,
    /// Pages programmed since the last erase.
    written: u16,
}

pub struct Running {
    shape: Shape,
    restriction: Restriction,
    state: Cell<DriveState>,
    /// By LUN.
    blocks: RefCell<Vec<Block>>,
    commands: Rc<CommandPort>,
    flash: Rc<FlashPort>,
    buffers: SharedDram,
    nvram: NvramSlice,
    served: Cell<u64>,
}

/// The result of a vector: a status, and a bit for each address that failed.
type Ended = (HostStatus, u64);

impl Translation for Direct {
    fn needs(&self) -> TranslationNeeds {
        let g = &self.shape.geometry;
        TranslationNeeds {
            data_buffers: VECTOR_MAX as u32,
            metadata_buffers: 1,
            nvram_bytes: TABLE_AT + (g.total_luns() * g.blocks_per_lun) as usize,
            emmc_bytes: 0,
            flash_requests: VECTOR_MAX as u16,
        }
    }
    fn offers(&self) -> Operations {
        OPERATIONS
    }
    fn damaged_records(&self, nvram: &NvramSlice) -> Vec<DamagedRecord> {
        let mut table = vec![0; nvram.size()];
        nvram.read(0, &mut table);
        let is_damaged = |at: &usize| table[0] != 0 && state_of(table[*at]).is_none();
        let (what, instead) = ("the state of a block", "its maker's mark is looked at again");
        (TABLE_AT..table.len()).filter(is_damaged).map(|at| DamagedRecord { at, what, instead }).collect()
    }
    fn capacity_bytes(&self) -> u64 {
        self.shape.geometry.raw_bytes()
    }
    fn start(self: Box<Self>, ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError> {
        let blocks = self.shape.geometry.total_luns() * self.shape.geometry.blocks_per_lun;
        let running = Rc::new(Running {
            shape: self.shape,
            restriction: self.restriction,
            state: Cell::new(DriveState::Booting),
            blocks: RefCell::new(vec![Block { state: BlockState::Free, written: 0 }; blocks as usize]),
            commands: ports.commands,
            flash: ports.flash,
            buffers: ports.buffers,
            nvram: ports.nvram,
            served: Cell::new(0),
        });
        let task = Rc::clone(&running);
        ports.core.spawn(async move {
            task.boot().await;
            loop {
                let command = task.commands.next_command().await;
                let (status, result) = task.serve(&command).await;
                task.served.set(task.served.get() + 1);
                task.commands.complete(Completion { result, ..Completion::new(command.id, status) });
            }
        });
        Ok(running)
    }
}

impl Running {
    fn index(&self, lun: LunIndex, block: BlockAddr) -> usize {
        lun.index() * self.shape.geometry.blocks_per_lun as usize + block.0 as usize
    }
    fn block(&self, page: &Page) -> Block {
        self.blocks.borrow()[self.index(page.lun, page.block)]
    }
    fn change(&self, lun: LunIndex, block: BlockAddr, change: impl FnOnce(&mut Block)) {
        let index = self.index(lun, block);
        let mut blocks = self.blocks.borrow_mut();
        change(&mut blocks[index]);
        self.nvram.write(TABLE_AT + index, &[code_of(blocks[index].state)]);
    }
    /// The buffer for transfers other than of pages.
    fn side(&self) -> BufferId {
        self.buffers.borrow().metadata_buffer(0)
    }

    // ---- flash ----

    fn request(&self, phase: FlashOp, page: &Page, buffer: BufferId) -> FlashRequest {
        let lun = self.shape.geometry.lun_addr(page.lun).lun;
        self.at(phase, page.lun, self.restriction.row(lun, page.block, page.page), buffer)
    }
    fn at(&self, phase: FlashOp, lun: LunIndex, row: RowAddr, buffer: BufferId) -> FlashRequest {
        let sectors = SectorRange::whole(self.shape.geometry.sectors_per_page());
        FlashRequest::single(phase, lun, Target { row, sectors, buffer })
    }
    fn submit(&self, phase: FlashOp, page: &Page, buffer: BufferId) -> Tag {
        self.flash
            .submit(self.request(phase, page, buffer))
            .expect("a vector has no more than there is room for")
    }
    async fn finished(&self, tag: Tag) -> Outcome {
        self.flash.finished(tag).await[0]
    }

    // ---- boot ----

    async fn boot(&self) {
        let mut known = [0];
        self.nvram.read(0, &mut known);
        for lun in (0..self.shape.geometry.total_luns()).map(LunIndex) {
            for block in (0..self.shape.geometry.blocks_per_lun).map(BlockAddr) {
                let mut code = [0];
                self.nvram.read(TABLE_AT + self.index(lun, block), &mut code);
                let state = match state_of(code[0]).filter(|_| known[0] != 0) {
                    Some(state) => state,
                    None => self.mark_of(lun, block).await,
                };
                let written =
                    if state == BlockState::FactoryBad { 0 } else { self.pages_written(lun, block).await };
                self.change(lun, block, |entry| *entry = Block { state, written });
            }
        }
        self.nvram.write(0, &[1]);
        self.state.set(DriveState::Ready);
    }
    /// Whether the factory has marked a block as bad, in the spare bytes of its first or last page.
    async fn mark_of(&self, lun: LunIndex, block: BlockAddr) -> BlockState {
        let of_lun = self.shape.geometry.lun_addr(lun).lun;
        for last in [false, true] {
            let mut request =
                self.at(FlashOp::Read, lun, self.restriction.mark_row(of_lun, block, last), self.side());
            request.flags.raw = true;
            self.flash.call(request).await;
            if self.buffers.borrow().oob(self.side())[0].count_zeros() >= MARK_ZEROES {
                return BlockState::FactoryBad;
            }
        }
        BlockState::Free
    }
    async fn pages_written(&self, lun: LunIndex, block: BlockAddr) -> u16 {
        for page in 0..self.shape.geometry.pages_per_block {
            let at = Page { lun, block, page: PageInBlock(page) };
            if self.finished(self.submit(FlashOp::Read, &at, BufferId(0))).await.erased {
                return page;
            }
        }
        self.shape.geometry.pages_per_block
    }

    // ---- commands ----

    async fn serve(&self, command: &HostCommand) -> Ended {
        let pages: Vec<Page> = (0..)
            .map_while(|n| self.commands.address(command.id, n))
            .map(|address| self.shape.page(address).expect("the command set has checked it"))
            .collect();
        match command.op {
            HostOp::VectorRead(_) => self.read(command.id, &pages).await,
            HostOp::VectorWrite(_) => self.write(command.id, &pages).await,
            HostOp::VectorErase(_) => self.erase(&pages).await,
            HostOp::VectorCopy => {
                let (from, to) = pages.split_at(pages.len() / 2);
                self.copy(from, to).await
            }
            HostOp::Format { .. } => self.format().await,
            HostOp::Report(kind) => self.report(command, kind, &pages).await,
            HostOp::SetBlockState(state) => {
                pages.iter().for_each(|at| self.change(at.lun, at.block, |block| block.state = state));
                (HostStatus::Success, 0)
            }
            HostOp::Flush | HostOp::Shutdown => (HostStatus::Success, 0),
            _ => (HostStatus::Refused, 0),
        }
    }

    /// Moves data and metadata of page `n` of the vector, which is in buffer `n` with its OOB.
    async fn transfer(&self, id: CommandId, n: usize, direction: DmaDirection) -> bool {
        let (buffer, side, page_bytes) = (BufferId(n as u32), self.side(), self.shape.geometry.page_bytes);
        if direction == DmaDirection::ToHost {
            let mut buffers = self.buffers.borrow_mut();
            let beside: [u8; METADATA_BYTES as usize] = buffers.oob(buffer).try_into().expect("16 bytes");
            buffers.page_mut(side)[..beside.len()].copy_from_slice(&beside);
        }
        for (part, buffer, length) in
            [(DmaPart::Data, buffer, page_bytes), (DmaPart::Metadata, side, METADATA_BYTES)]
        {
            let offset = n as u32 * length;
            let request = DmaRequest {
                command: id,
                direction,
                part,
                offset,
                buffer,
                buffer_offset: 0,
                length,
                after: None,
            };
            if self.commands.dma(request).await.is_err() {
                return false;
            }
        }
        if direction == DmaDirection::FromHost {
            let mut buffers = self.buffers.borrow_mut();
            let beside: [u8; METADATA_BYTES as usize] =
                buffers.page(side)[..METADATA_BYTES as usize].try_into().expect("16 bytes");
            buffers.oob_mut(buffer).copy_from_slice(&beside);
        }
        true
    }

    async fn read(&self, id: CommandId, pages: &[Page]) -> Ended {
        let mut failed = 0;
        let written = |page: &Page| page.page.0 < self.block(page).written;
        let tags: Vec<Option<Tag>> = (0..)
            .zip(pages)
            .map(|(n, page)| written(page).then(|| self.submit(FlashOp::Read, page, BufferId(n))))
            .collect();
        // Waits for every request before it returns, since the controller uses the buffers until then.
        let mut good = vec![false; pages.len()];
        for (tag, good) in tags.into_iter().zip(&mut good) {
            if let Some(tag) = tag {
                let outcome = self.finished(tag).await;
                *good = outcome.status == FlashStatus::Done && !outcome.erased;
            }
        }
        for (n, good) in good.into_iter().enumerate() {
            if !good {
                failed |= 1 << n;
            } else if !self.transfer(id, n, DmaDirection::ToHost).await {
                return (HostStatus::DataTransfer, failed);
            }
        }
        (if failed == 0 { HostStatus::Success } else { HostStatus::UnrecoveredRead }, failed)
    }

    /// Whether a vector's pages are the next ones of their blocks, in order.
    fn is_in_order(&self, pages: &[Page]) -> bool {
        pages.iter().enumerate().all(|(n, page)| {
            let same = |before: &&Page| (before.lun, before.block) == (page.lun, page.block);
            let before = pages[..n].iter().filter(same).count() as u16;
            let block = self.block(page);
            let usable = matches!(block.state, BlockState::Free | BlockState::Host);
            usable && page.page.0 == block.written + before
        })
    }
    async fn write(&self, id: CommandId, pages: &[Page]) -> Ended {
        if !self.is_in_order(pages) {
            return (HostStatus::Refused, 0);
        }
        let mut tags = Vec::new();
        let mut whole = true;
        for (n, page) in pages.iter().enumerate() {
            whole = self.transfer(id, n, DmaDirection::FromHost).await;
            if !whole {
                break;
            }
            tags.push(self.submit(FlashOp::Program, page, BufferId(n as u32)));
            self.change(page.lun, page.block, |block| block.written += 1);
        }
        let failed = self.failures(pages, tags).await;
        match (whole, failed) {
            (false, _) => (HostStatus::DataTransfer, failed),
            (true, 0) => (HostStatus::Success, 0),
            (true, _) => (HostStatus::WriteFault, failed),
        }
    }
    /// Reads each page with its metadata and programs both elsewhere. No data crosses the host link.
    async fn copy(&self, from: &[Page], to: &[Page]) -> Ended {
        if !self.is_in_order(to) {
            return (HostStatus::Refused, 0);
        }
        let reads = (0..).zip(from).map(|(n, page)| self.submit(FlashOp::Read, page, BufferId(n)));
        let mut failed = 0;
        for (n, tag) in reads.collect::<Vec<_>>().into_iter().enumerate() {
            let outcome = self.finished(tag).await;
            if outcome.status != FlashStatus::Done || outcome.erased {
                failed |= 1 << n;
            }
        }
        if failed != 0 {
            return (HostStatus::UnrecoveredRead, failed);
        }
        let mut tags = Vec::new();
        for (n, page) in (0..).zip(to) {
            tags.push(self.submit(FlashOp::Program, page, BufferId(n)));
            self.change(page.lun, page.block, |block| block.written += 1);
        }
        let failed = self.failures(to, tags).await;
        (if failed == 0 { HostStatus::Success } else { HostStatus::WriteFault }, failed)
    }
    /// Erases every block that isn't bad.
    async fn format(&self) -> Ended {
        let g = self.shape.geometry;
        for lun in (0..g.total_luns()).map(LunIndex) {
            let blocks = (0..g.blocks_per_lun).map(|block| Page {
                lun,
                block: BlockAddr(block),
                page: PageInBlock(0),
            });
            let is_good = |page: &Page| {
                !matches!(self.block(page).state, BlockState::FactoryBad | BlockState::GrownBad)
            };
            let ended = self.erase(&blocks.filter(is_good).collect::<Vec<_>>()).await;
            if ended.0 != HostStatus::Success {
                return (ended.0, 0);
            }
        }
        (HostStatus::Success, 0)
    }
    async fn erase(&self, pages: &[Page]) -> Ended {
        let bad =
            |page: &Page| matches!(self.block(page).state, BlockState::FactoryBad | BlockState::GrownBad);
        if pages.iter().any(bad) {
            return (HostStatus::Refused, 0);
        }
        let tags = pages.iter().map(|page| self.submit(FlashOp::Erase, page, BufferId(0))).collect();
        let failed = self.failures(pages, tags).await;
        for (_, page) in pages.iter().enumerate().filter(|(n, _)| failed >> n & 1 == 0) {
            self.change(page.lun, page.block, |block| block.written = 0);
        }
        (if failed == 0 { HostStatus::Success } else { HostStatus::WriteFault }, failed)
    }
    /// Waits for programs or erases. A failure makes the block a bad one.
    async fn failures(&self, pages: &[Page], tags: Vec<Tag>) -> u64 {
        let mut failed = 0;
        for (n, (page, tag)) in pages.iter().zip(tags).enumerate() {
            if self.finished(tag).await.status != FlashStatus::Done {
                failed |= 1 << n;
                self.change(page.lun, page.block, |block| block.state = BlockState::GrownBad);
            }
        }
        failed
    }

    async fn report(&self, command: &HostCommand, kind: ReportKind, pages: &[Page]) -> Ended {
        let all = match kind {
            ReportKind::BlockStates => self.block_states(pages[0].lun),
            ReportKind::Chunks => self.chunks(),
            ReportKind::Status => return (HostStatus::Refused, 0),
        };
        let part = &all[command.offset as usize..][..command.length as usize];
        let side = self.side();
        self.buffers.borrow_mut().page_mut(side)[..part.len()].copy_from_slice(part);
        let request = DmaRequest {
            command: command.id,
            direction: DmaDirection::ToHost,
            part: DmaPart::Data,
            offset: 0,
            buffer: side,
            buffer_offset: 0,
            length: part.len() as u32,
            after: None,
        };
        let moved = self.commands.dma(request).await.is_ok();
        (if moved { HostStatus::Success } else { HostStatus::DataTransfer }, 0)
    }
    /// The bad-block table of a LUN: a header with counts, and a byte per block.
    fn block_states(&self, lun: LunIndex) -> Vec<u8> {
        let of_lun = self.shape.geometry.blocks_per_lun as usize;
        let blocks = self.blocks.borrow();
        let states = blocks[lun.index() * of_lun..][..of_lun].iter().map(|block| block.state);
        let count = |state| states.clone().filter(|of| *of == state).count() as u32;
        let mut table = vec![0; TABLE_HEADER_BYTES];
        table[..4].copy_from_slice(b"BBLT");
        table[4] = 1;
        let counts = [
            of_lun as u32,
            count(BlockState::FactoryBad),
            count(BlockState::GrownBad),
            count(BlockState::Device),
            count(BlockState::Host),
        ];
        for (at, count) in (12..).step_by(4).zip(counts) {
            table[at..at + 4].copy_from_slice(&count.to_le_bytes());
        }
        table.extend(states.map(code_of));
        table
    }
    /// A descriptor for each block: state, kind (pages in order), wear, place, size, write pointer.
    fn chunks(&self) -> Vec<u8> {
        let pages = self.shape.geometry.pages_per_block;
        let of = |index: usize, block: &Block| {
            let state = match block {
                Block { state: BlockState::FactoryBad | BlockState::GrownBad, .. } => 8,
                Block { written: 0, .. } => 1,
                Block { written, .. } if *written == pages => 2,
                _ => 4,
            };
            let mut chunk = [0; CHUNK_BYTES];
            (chunk[0], chunk[1]) = (state, 1);
            let of_lun = self.shape.geometry.blocks_per_lun as usize;
            let first = self.shape.address(LunIndex((index / of_lun) as u32), (index % of_lun) as u32, 0);
            let fields = [first, pages.into(), block.written.into()];
            for (at, field) in (8..).step_by(8).zip(fields) {
                chunk[at..at + 8].copy_from_slice(&u64::to_le_bytes(field));
            }
            chunk
        };
        self.blocks.borrow().iter().enumerate().flat_map(|(n, block)| of(n, block)).collect()
    }
}

impl TranslationView for Running {
    fn state(&self) -> DriveState {
        self.state.get()
    }
    fn boot_error(&self) -> Option<String> {
        None
    }
    fn stats(&self) -> TranslationStats {
        TranslationStats {
            state: self.state.get(),
            commands: self.served.get(),
            ..TranslationStats::default()
        }
    }
    fn watch_media(&self, _: Box<dyn Fn(MediaState)>) {}
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}
