//! What all workers share.

use crate::buffers::BufferPool;
use crate::chunks::chunk_of;
use crate::config::VectorsConfig;
use crate::group::Group;
use crate::kept::Kept;
use crate::plan::{PlaneSet, Run};
use crate::shape::Shape;
use crate::table::BlockTable;
use crate::turns::Turns;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Function, Recorder};
use aster_exec::{Core, Exec, WaitQueue};
use aster_parties::{DriveState, MediaState, TranslationStats};
use aster_ports::dram::SharedDram;
use aster_ports::flash::{
    Flags, FlashOp, FlashPort, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Tag, Target,
};
use aster_ports::host::{
    BlockState, CommandId, CommandPort, DmaDirection, DmaPart, DmaRequest, HostStatus, VectorFault,
};
use aster_units::{BlockAddr, BufferId, LunIndex, PageInBlock, SectorRange};
use aster_wire::ocssd::v2::ChunkFlags;
use core::cell::{Cell, RefCell};

/// Calls whoever watches the media.
type Watcher = Box<dyn Fn(MediaState)>;

/// A page, or a block with any of its pages, that a request is for.
pub(crate) struct Page {
    pub lun: LunIndex,
    pub block: BlockAddr,
    pub page: PageInBlock,
    pub sectors: SectorRange,
    pub buffer: BufferId,
}

/// A request in flight, and how many pages it is for.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub tag: Tag,
    pub targets: u8,
}

pub(crate) struct Drive {
    pub core: Core,
    pub config: VectorsConfig,
    pub shape: Shape,
    pub commands: Rc<CommandPort>,
    pub flash: Rc<FlashPort>,
    pub dram: SharedDram,
    pub recorder: Recorder,
    pub turns: Turns,
    pub buffers: BufferPool,
    pub table: RefCell<BlockTable>,
    pub kept: RefCell<Kept>,
    pub stats: RefCell<TranslationStats>,
    /// Who waits for programs and erases of a LUN to end: at most the worker whose turn it is.
    pub ended: Box<[WaitQueue]>,
    /// Workers that have not done their part of boot yet.
    pub booting: Cell<u16>,
    /// Workers that wait until the drive serves.
    pub ready: WaitQueue,
    pub watcher: RefCell<Option<Watcher>>,
    /// Blocks that went bad in use, per LUN.
    pub grown: RefCell<Box<[u32]>>,
}

impl Drive {
    pub fn exec(&self) -> &Exec {
        self.core.exec()
    }
    pub fn emit(&self, event: impl FnOnce() -> Event) {
        if self.recorder.is_on() {
            self.recorder.emit(self.core.now(), event);
        }
    }
    /// Spends cycles of the core on `function`.
    pub fn spend(&self, function: Function, cycles: u64) {
        self.recorder.account(function, || self.core.stands(), || self.core.charge(cycles));
    }
    pub fn count(&self, change: impl FnOnce(&mut TranslationStats)) {
        change(&mut self.stats.borrow_mut());
    }
    pub fn state(&self) -> DriveState {
        self.stats.borrow().state
    }
    /// The buffer of a worker that holds every byte.
    pub fn side_of(&self, worker: u16) -> BufferId {
        self.dram.borrow().metadata_buffer(worker.into())
    }

    // ---- flash ----

    /// A request for a page of a block.
    pub fn request(
        &self,
        phase: FlashOp,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
        sectors: SectorRange,
        buffer: BufferId,
    ) -> FlashRequest {
        FlashRequest::single(phase, lun, Target { row: self.shape.row(lun, block, page), sectors, buffer })
    }
    /// Submits what a command does to several pages: a request for each, or one for those that a multi-plane
    /// operation carries out. Pages that go together must follow each other. Requests for the same page of
    /// several lanes are submitted together. `sent` gets them in the order of `pages`.
    pub fn submit_all(
        &self,
        phase: FlashOp,
        flags: Flags,
        pages: impl Iterator<Item = Page>,
        sent: &mut Vec<Sent>,
    ) {
        let planes = self.config.geometry.planes;
        let mut group: Option<Group> = None;
        let mut waits: Option<(PlaneSet, Page, [Target; MAX_TARGETS], usize)> = None;
        let mut submit = |of: &Page, targets: &[Target], sent: &mut Vec<Sent>| {
            let request = FlashRequest::vector(phase, of.lun, targets);
            let mut request = request.expect("a target for each plane at most");
            request.flags = flags;
            if self.config.lanes == 0 {
                return self.submit_one(request, sent);
            }
            let joins = group
                .as_mut()
                .is_some_and(|group| group.join(&request, of.page, self.config.lanes, &self.config.geometry));
            if !joins && let Some(whole) = group.replace(Group::of(request, of.page)) {
                self.submit_group(&whole, sent);
            }
        };
        for page in pages {
            let Page { lun, block, page: number, sectors, buffer } = page;
            let target = Target { row: self.shape.row(lun, block, number), sectors, buffer };
            let set = PlaneSet::of(lun, block, number, planes);
            let joined =
                waits.as_mut().filter(|_| self.config.multi_plane).and_then(|(of, _, targets, n)| {
                    *of = of.with(set)?;
                    targets[*n] = target;
                    *n += 1;
                    Some(())
                });
            if joined.is_none()
                && let Some((_, of, targets, n)) = waits.replace((set, page, [target; MAX_TARGETS], 1))
            {
                submit(&of, &targets[..n], sent);
            }
        }
        if let Some((_, of, targets, n)) = waits {
            submit(&of, &targets[..n], sent);
        }
        if let Some(last) = group {
            self.submit_group(&last, sent);
        }
    }
    fn submit_one(&self, request: FlashRequest, sent: &mut Vec<Sent>) {
        sent.push(Sent { tag: self.submit(request), targets: request.targets().len() as u8 });
    }
    fn submit_group(&self, group: &Group, sent: &mut Vec<Sent>) {
        if let [single] = group.requests() {
            return self.submit_one(*single, sent);
        }
        group.requests().iter().for_each(|request| self.tell_queued(request));
        let tags = group.send(&self.flash).expect("the port has room for what workers have in flight");
        sent.extend(tags.map(|tag| Sent { tag, targets: 1 }));
    }
    /// The page that a read of `run` is for.
    pub fn page_of(&self, run: &Run, buffer: BufferId) -> Page {
        let sectors = if self.config.partial_reads { run.sectors } else { self.whole() };
        Page { lun: run.lun, block: run.block, page: run.page, sectors, buffer }
    }
    /// All sectors of a page.
    pub fn whole(&self) -> SectorRange {
        SectorRange::whole(self.config.geometry.sectors_per_page())
    }
    /// Submits a request. The port has room for all that workers may have in flight.
    pub fn submit(&self, request: FlashRequest) -> Tag {
        self.tell_queued(&request);
        self.flash.submit(request).expect("the port has room for what workers have in flight")
    }
    fn tell_queued(&self, request: &FlashRequest) {
        self.emit(|| Event::FlashQueued {
            task: self.exec().current().number(),
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
            buffer: request.targets()[0].buffer.0,
        });
    }
    /// How each page of a request has ended.
    pub async fn finished_all(&self, sent: Sent) -> impl Iterator<Item = Outcome> + use<> {
        self.flash.finished(sent.tag).await.into_iter().take(sent.targets.into())
    }
    pub async fn finished(&self, tag: Tag) -> Outcome {
        self.flash.finished(tag).await[0]
    }
    /// A block's program or erase has ended: whoever waits for it looks again.
    pub fn block_ended(&self, lun: LunIndex) {
        self.ended[lun.index()].wake_all(self.exec());
    }
    /// A program or erase of a block has failed: it is bad from now on.
    pub fn grow_bad(&self, lun: LunIndex, block: BlockAddr) {
        {
            let mut table = self.table.borrow_mut();
            let block = table.get_mut(lun, block);
            if !block.is_usable() {
                return;
            }
            (block.state, block.closed) = (BlockState::GrownBad, false);
        }
        self.count(|s| s.grown_bad_blocks += 1);
        self.grown.borrow_mut()[lun.index()] += 1;
        self.emit(|| Event::BlockRetired { lun: lun.0, block: self.shape.of_array(block).0 });
        self.save_table();
        self.tell_media();
    }
    /// A program of a block has failed. Returns how the write ends. Without chunks the block is bad from
    /// now on. A chunk goes on behind the page that is left, since a page may fail alone, and is closed with
    /// the second one.
    pub fn program_failed(&self, lun: LunIndex, block: BlockAddr, found: Found) -> HostStatus {
        if !self.config.chunks {
            self.grow_bad(lun, block);
            return HostStatus::WriteFault;
        }
        let goes_on = {
            let mut table = self.table.borrow_mut();
            let failures = |block| table.get(lun, block).failures;
            let is_first = self.shape.all_planes(block).all(|block| failures(block) == 0);
            let is_open = chunk_of(lun, block, &table, &self.shape).state == ChunkFlags::Open;
            let goes_on = is_first && is_open && found == Found::Page;
            let failed = table.get_mut(lun, block);
            (failed.failures, failed.closed) = (failed.failures + 1, !goes_on);
            failed.failed_page |= found == Found::Page;
            goes_on
        };
        self.save_table();
        HostStatus::Vector(if goes_on { VectorFault::NextUnit } else { VectorFault::ClosedEarly })
    }
    /// Keeps the bad-block table. A drive with more bad blocks than fit takes no more writes.
    pub fn save_table(&self) {
        let mut kept = self.kept.borrow_mut();
        kept.save(&self.table.borrow());
        if kept.is_overfull() {
            self.count(|s| s.state = DriveState::ReadOnly);
        }
    }
    /// Tells the watcher of the media's state.
    pub fn tell_media(&self) {
        if let Some(watcher) = &*self.watcher.borrow() {
            watcher(self.media_state());
        }
    }
    fn media_state(&self) -> MediaState {
        // Spare blocks are the host's to keep. What the drive knows is how many have gone bad in a LUN.
        let worst = self.grown.borrow().iter().copied().max().unwrap_or(0);
        let of = self.config.geometry.blocks_per_lun;
        let stats = self.stats.borrow();
        MediaState {
            available_spare: (100 - u64::from(worst.min(of)) * 100 / u64::from(of)) as u8,
            read_only: stats.state == DriveState::ReadOnly,
            rebuilt: false,
            erases: stats.flash_erases.total(),
        }
    }

    // ---- host ----

    /// A host DMA between a command's data or metadata and a buffer.
    pub fn dma(
        &self,
        command: CommandId,
        direction: DmaDirection,
        part: DmaPart,
        (offset, length): (u32, u32),
        (buffer, buffer_offset): (BufferId, u32),
    ) -> DmaRequest {
        self.spend(Function::HostDma, self.config.costs.dma);
        DmaRequest { command, direction, part, offset, buffer, buffer_offset, length, after: None }
    }
    /// The task begins to wait until the data of its vector have been moved: `bytes` of them, of which the
    /// first are in `buffer`.
    pub fn transfer_begins(&self, direction: DmaDirection, bytes: u32, buffer: BufferId) {
        self.emit(|| Event::TransferQueued {
            task: self.exec().current().number(),
            from_host: direction == DmaDirection::FromHost,
            bytes,
            buffer: buffer.0,
            compare: false,
        });
    }
    /// They have been.
    pub fn transfer_ended(&self, moved: bool) {
        self.emit(|| Event::TransferEnded { task: self.exec().current().number(), failed: !moved });
    }
}

/// What a look at a page has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A page that was programmed, well or not.
    Page,
    /// An erased one. If a program of it has failed, the package has refused that, and will refuse what comes
    /// behind it.
    Nothing,
    /// Neither, since the LUN doesn't answer. A page that it had begun is found once it answers again.
    Unknown,
}

/// Whether a read, program or erase has done what it should.
pub(crate) fn is_done(outcome: &Outcome) -> bool {
    outcome.status == FlashStatus::Done
}

/// Bytes of metadata beside each sector. A page's OOB holds those of its sectors.
pub(crate) const METADATA_BYTES: usize = aster_wire::ocssd::METADATA_BYTES as usize;

/// The metadata of sector `n` in a run of them.
pub(crate) fn metadata_of(all: &[u8], n: usize) -> [u8; METADATA_BYTES] {
    let mut one = [0; METADATA_BYTES];
    one.copy_from_slice(&all[n * METADATA_BYTES..][..METADATA_BYTES]);
    one
}
/// Where the metadata of sector `n` are in a run of them.
pub(crate) fn metadata_at(all: &mut [u8], n: usize) -> &mut [u8] {
    &mut all[n * METADATA_BYTES..][..METADATA_BYTES]
}
