//! A minimal controller: it answers commands that it doesn't know with Invalid Opcode.

// Not `crate`: the tests of another crate of this room use the same file.
use super::{Bar, BarRead, GuestMemory, ReadTag, SharedMemory};
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_ports::link::HostMemory;
use aster_units::Content;
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::features::{FeatureId, NumberOfQueues};
use aster_wire::nvme::identify::{
    Cns, IDENTIFY_BYTES, IdentifyController, IdentifyNamespace, LbaFormat, NamespaceList,
};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::log::{HealthLog, LogId};
use aster_wire::nvme::prp::{PRP_ENTRY_BYTES, PageSize, PrpStep, PrpWalk};
use aster_wire::nvme::registers::{
    Aqa, Cap, Cc, Csts, DoorbellKind, Register, ShutdownNotification, ShutdownStatus, Target,
};
use aster_wire::nvme::{Cqe, Sqe, Status, dsm};
use core::cell::RefCell;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

pub(crate) const BLOCKS: u64 = 8192;

#[derive(Default)]
struct Ring {
    base: u64,
    entries: u16,
    index: u16,
    doorbell: u16,
    phase: bool,
    vector: u16,
}

/// The controller's behaviour and the faults to inject.
pub(crate) struct Manners {
    /// CSTS reads before RDY follows CC.EN; `None` for never.
    pub(crate) ready_after: Option<u32>,
    pub(crate) block_log2: u8,
    pub(crate) mdts: u8,
    pub(crate) queues: u16,
    pub(crate) queue_entries: u32,
    pub(crate) doorbell_stride: u8,
    /// Commands at this LBA are taken and never completed.
    pub(crate) swallow: Option<u64>,
    /// Commands at this LBA fail with this status.
    pub(crate) fail: Option<(u64, Status)>,
    /// Added to the command identifier of I/O completions.
    pub(crate) cid_offset: u16,
    /// Completes the commands of one batch in reverse order.
    pub(crate) reverse: bool,
}

impl Default for Manners {
    fn default() -> Self {
        Manners {
            ready_after: Some(3),
            block_log2: 12,
            mdts: 0,
            queues: 64,
            queue_entries: 65_536,
            doorbell_stride: 0,
            swallow: None,
            fail: None,
            cid_offset: 0,
            reverse: false,
        }
    }
}

pub(crate) struct Fake {
    pub(crate) manners: Manners,
    pub(crate) store: BTreeMap<u64, Vec<u8>>,
    pub(crate) doorbell_writes: u64,
    pub(crate) most_fetched: usize,
    pub(crate) flushes: u64,
    pub(crate) events: Vec<u32>,
    memory: SharedMemory,
    content: Content,
    cc: Cc,
    csts: Csts,
    aqa: Aqa,
    admin_bases: [u64; 2],
    csts_reads: u32,
    sqs: BTreeMap<u16, Ring>,
    cqs: BTreeMap<u16, Ring>,
    waiting_events: Vec<u16>,
    /// (queue, command identifier) of commands that were taken and not completed.
    swallowed: Vec<(u16, u16)>,
    released: Vec<(u16, u16)>,
}

/// The handle that the driver gets.
pub(crate) struct FakeBar(pub(crate) Rc<RefCell<Fake>>);

impl Bar for FakeBar {
    fn read(&mut self, offset: u32, size: u8) -> BarRead {
        BarRead::Now(self.0.borrow_mut().read(offset, size))
    }
    fn take_read(&mut self, _tag: ReadTag) -> Option<u64> {
        None
    }
    fn write(&mut self, offset: u32, _size: u8, value: u64) {
        self.0.borrow_mut().write(offset, value);
    }
}

impl Fake {
    pub(crate) fn new(memory: &SharedMemory, content: Content, manners: Manners) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Fake {
            manners,
            store: BTreeMap::new(),
            doorbell_writes: 0,
            most_fetched: 0,
            flushes: 0,
            events: Vec::new(),
            memory: Rc::clone(memory),
            content,
            cc: Cc(0),
            csts: Csts(0),
            aqa: Aqa(0),
            admin_bases: [0; 2],
            csts_reads: 0,
            sqs: BTreeMap::new(),
            cqs: BTreeMap::new(),
            waiting_events: Vec::new(),
            swallowed: Vec::new(),
            released: Vec::new(),
        }))
    }

    fn read(&mut self, offset: u32, size: u8) -> u64 {
        let Target::Register { register, from: 0 } = Target::decode(u64::from(offset), 0) else { return 0 };
        assert_eq!(u64::from(size), register.bytes(), "{register:?} is read whole");
        match register {
            Register::Capabilities => {
                Cap(0)
                    .with_css_nvm(true)
                    .with_queue_entries_max(self.manners.queue_entries)
                    .with_timeout_500ms(2)
                    .with_dstrd(self.manners.doorbell_stride)
                    .0
            }
            Register::Configuration => u64::from(self.cc.0),
            Register::Status => {
                if self.cc.en() != self.csts.rdy() {
                    self.csts_reads += 1;
                    if self.manners.ready_after.is_some_and(|n| self.csts_reads >= n) {
                        self.csts = self.csts.with_rdy(self.cc.en());
                    }
                }
                u64::from(self.csts.0)
            }
            _ => 0,
        }
    }

    fn write(&mut self, offset: u32, value: u64) {
        match Target::decode(u64::from(offset), self.manners.doorbell_stride) {
            Target::Register { register: Register::Configuration, .. } => self.configure(Cc(value as u32)),
            Target::Register { register: Register::AdminQueueAttributes, .. } => self.aqa = Aqa(value as u32),
            Target::Register { register: Register::AdminSubmissionQueue, .. } => self.admin_bases[0] = value,
            Target::Register { register: Register::AdminCompletionQueue, .. } => self.admin_bases[1] = value,
            Target::Doorbell(doorbell) => {
                self.doorbell_writes += 1;
                let rings = match doorbell.kind {
                    DoorbellKind::SubmissionTail => &mut self.sqs,
                    DoorbellKind::CompletionHead => &mut self.cqs,
                };
                let ring = rings.get_mut(&doorbell.queue).expect("doorbells of queues that exist");
                assert!((value as u16) < ring.entries, "doorbell {doorbell:?} = {value}");
                ring.doorbell = value as u16;
            }
            other => panic!("{other:?} is written"),
        }
    }

    fn configure(&mut self, cc: Cc) {
        if cc.en() != self.cc.en() {
            self.csts_reads = 0;
            self.sqs.clear();
            self.cqs.clear();
            self.waiting_events.clear();
            self.swallowed.clear();
            self.released.clear();
            self.csts = self.csts.with_shutdown(ShutdownStatus::Normal);
            if cc.en() {
                assert_eq!((cc.iosqes(), cc.iocqes(), cc.page_bytes()), (6, 4, 4096));
                let ring = |base, entries| Ring { base, entries, phase: true, ..Ring::default() };
                self.sqs.insert(0, ring(self.admin_bases[0], self.aqa.submission_entries()));
                self.cqs.insert(0, ring(self.admin_bases[1], self.aqa.completion_entries()));
            }
        }
        if cc.shutdown() == Some(ShutdownNotification::Normal) {
            assert_eq!(self.sqs.len(), 1, "I/O queues are deleted before a shutdown");
            self.csts = self.csts.with_shutdown(ShutdownStatus::Complete);
        }
        self.cc = cc;
    }

    /// Carries out all submitted commands; returns the vectors to interrupt, one for each completion queue
    /// that got entries.
    pub(crate) fn work(&mut self) -> Vec<u16> {
        let mut vectors = Vec::new();
        for queue in self.sqs.keys().copied().collect::<Vec<_>>() {
            let Some(sq) = self.sqs.get_mut(&queue) else { continue };
            let mut fetched = Vec::new();
            while sq.index != sq.doorbell {
                let mut bytes = [0; 64];
                self.memory.borrow().read(sq.base + u64::from(sq.index) * 64, &mut bytes).unwrap();
                fetched.push(Sqe::read_from_bytes(&bytes).unwrap());
                sq.index = (sq.index + 1) % sq.entries;
            }
            if self.manners.reverse && queue != 0 {
                fetched.reverse();
            }
            self.most_fetched = self.most_fetched.max(fetched.len());
            for sqe in fetched {
                let answer = if queue == 0 { self.admin(&sqe) } else { self.io(&sqe) };
                let Some((status, result)) = answer else {
                    if queue != 0 {
                        self.swallowed.push((queue, sqe.cid()));
                    }
                    continue;
                };
                let cid = if queue == 0 { sqe.cid() } else { sqe.cid() + self.manners.cid_offset };
                vectors.push(self.complete(queue, cid, status, result));
            }
        }
        while let Some((queue, cid)) = self.released.pop() {
            vectors.push(self.complete(queue, cid, Status::SUCCESS, 0));
        }
        if let Some(event) = self.events.pop()
            && let Some(cid) = self.waiting_events.pop()
        {
            vectors.push(self.complete(0, cid, Status::SUCCESS, event));
        }
        vectors.dedup();
        vectors
    }

    /// Completes the swallowed commands with the next work, and swallows no more.
    pub(crate) fn release_swallowed(&mut self) {
        self.manners.swallow = None;
        self.released.append(&mut self.swallowed);
    }

    fn complete(&mut self, queue: u16, cid: u16, status: Status, result: u32) -> u16 {
        let sq_head = self.sqs.get(&queue).map_or(0, |sq| sq.index);
        let cq = self.cqs.get_mut(&queue).unwrap();
        assert_ne!((cq.index + 1) % cq.entries, cq.doorbell, "completion queue {queue} overflows");
        let cqe = Cqe::new(u64::from(result), sq_head, queue, cid, status, cq.phase);
        self.memory.borrow_mut().write(cq.base + u64::from(cq.index) * 16, cqe.as_bytes()).unwrap();
        cq.index = (cq.index + 1) % cq.entries;
        cq.phase ^= cq.index == 0;
        cq.vector
    }

    fn admin(&mut self, sqe: &Sqe) -> Option<(Status, u32)> {
        let prp1 = sqe.prp1.get();
        let ok = Some((Status::SUCCESS, 0));
        match AdminCommand::decode(sqe).unwrap() {
            AdminCommand::Identify(identify) => {
                let page = self.identify(Cns::from_raw(identify.control.cns()).unwrap());
                self.memory.borrow_mut().write(prp1, &page).unwrap();
                ok
            }
            AdminCommand::SetFeatures(set) => {
                assert_eq!(set.control.feature_id(), FeatureId::NumberOfQueues.raw());
                let asked = NumberOfQueues(set.dword11);
                let granted = (asked.submission() as u16).min(self.manners.queues);
                Some((Status::SUCCESS, NumberOfQueues::of(granted, granted).0))
            }
            AdminCommand::GetFeatures(_) => Some((Status::SUCCESS, 0x42)),
            AdminCommand::CreateIoCq(create) => {
                assert!(create.queue.entries() <= self.manners.queue_entries);
                let entries = create.queue.entries() as u16;
                let vector = create.control.interrupt_vector();
                self.cqs.insert(
                    create.queue.queue_id(),
                    Ring { base: prp1, entries, phase: true, vector, ..Ring::default() },
                );
                ok
            }
            AdminCommand::CreateIoSq(create) => {
                assert!(self.cqs.contains_key(&create.control.completion_queue_id()));
                let entries = create.queue.entries() as u16;
                self.sqs.insert(create.queue.queue_id(), Ring { base: prp1, entries, ..Ring::default() });
                ok
            }
            AdminCommand::DeleteIoSq(id) => self.sqs.remove(&id).and(ok),
            AdminCommand::DeleteIoCq(id) => {
                assert!(!self.sqs.contains_key(&id), "submission queues go first");
                self.cqs.remove(&id).and(ok)
            }
            AdminCommand::GetLogPage(log) => {
                let mut health = HealthLog::new_zeroed();
                health.composite_temperature = 300.into();
                let page = if log.control.log_id() == LogId::Health.raw() {
                    health.as_bytes().to_vec()
                } else {
                    // Each dword has its own offset in the log.
                    (0..log.bytes() / 4)
                        .flat_map(|i| (log.offset as u32 + i as u32 * 4).to_le_bytes())
                        .collect()
                };
                self.memory.borrow_mut().write(prp1, &page[..log.bytes() as usize]).unwrap();
                ok
            }
            AdminCommand::Abort(_) => Some((Status::SUCCESS, 1)),
            AdminCommand::AsyncEventRequest => {
                self.waiting_events.push(sqe.cid());
                None
            }
            AdminCommand::FormatNvm(format) => {
                self.manners.block_log2 = if format.lba_format() == 0 { 9 } else { 12 };
                self.store.clear();
                ok
            }
            _ => Some((Status::INVALID_OPCODE, 0)),
        }
    }

    fn identify(&self, cns: Cns) -> Vec<u8> {
        match cns {
            Cns::Controller => {
                let mut c = IdentifyController::new_zeroed();
                c.mdts = self.manners.mdts;
                c.elpe = 99;
                c.as_bytes().to_vec()
            }
            Cns::ActiveNamespaces => NamespaceList::after(0, [7]).as_bytes().to_vec(),
            Cns::Namespace => {
                let mut n = IdentifyNamespace::new_zeroed();
                n.nsze = BLOCKS.into();
                n.set_formats(&[LbaFormat::of_log2(9), LbaFormat::of_log2(12)]);
                n.flbas = u8::from(self.manners.block_log2 == 12);
                n.as_bytes().to_vec()
            }
            _ => vec![0; IDENTIFY_BYTES],
        }
    }

    fn io(&mut self, sqe: &Sqe) -> Option<(Status, u32)> {
        assert_eq!(sqe.nsid.get(), 7);
        let command = IoCommand::decode(sqe).unwrap();
        let range = match command {
            IoCommand::Read(r) | IoCommand::Write(r) | IoCommand::Compare(r) | IoCommand::WriteZeroes(r) => r,
            _ => BlockRange::new(u64::MAX, 1),
        };
        if self.manners.swallow == Some(range.slba) {
            return None;
        }
        if let Some((slba, status)) = self.manners.fail
            && slba == range.slba
        {
            return Some((status, 0));
        }
        let status = match command {
            IoCommand::Flush => {
                self.flushes += 1;
                Status::SUCCESS
            }
            _ if range.slba != u64::MAX && range.end().is_none_or(|end| end > BLOCKS) => {
                Status::LBA_OUT_OF_RANGE
            }
            IoCommand::Read(r) => self.transfer(sqe, r, false),
            IoCommand::Write(r) => self.transfer(sqe, r, true),
            IoCommand::Compare(r) => self.compare(sqe, r),
            IoCommand::WriteZeroes(r) => {
                self.forget(r.slba, r.blocks());
                Status::SUCCESS
            }
            IoCommand::DatasetManagement(d) => {
                let mut bytes = vec![0; usize::from(d.range_count()) * dsm::RANGE_BYTES];
                self.memory.borrow().read(sqe.prp1.get(), &mut bytes).unwrap();
                for range in dsm::ranges(&bytes) {
                    self.forget(range.slba.get(), range.blocks.get());
                }
                Status::SUCCESS
            }
            _ => Status::INVALID_OPCODE,
        };
        Some((status, 0))
    }

    fn forget(&mut self, slba: u64, blocks: u32) {
        for block in slba..slba + u64::from(blocks) {
            self.store.remove(&block);
        }
    }

    fn segments(&self, sqe: &Sqe, bytes: u64) -> Vec<(u64, usize)> {
        let mut walk = PrpWalk::new(sqe.prp1.get(), sqe.prp2.get(), bytes, PageSize::FOUR_KIB).unwrap();
        let (mut list, mut segments) = (Vec::new(), Vec::new());
        loop {
            match walk.step(&list).unwrap() {
                PrpStep::Segment(s) => segments.push((s.address, s.bytes as usize)),
                PrpStep::NeedList { address, entries } => {
                    list = vec![0; entries as usize * PRP_ENTRY_BYTES];
                    self.memory.borrow().read(address, &mut list).unwrap();
                }
                PrpStep::Done => return segments,
            }
        }
    }

    /// Host bytes per stored byte: in `fingerprint`, blocks are stored as tags.
    fn scale(&self) -> usize {
        if self.content == Content::Fingerprint { 512 } else { 1 }
    }

    fn host_data(&self, sqe: &Sqe, r: BlockRange) -> Vec<u8> {
        let total = u64::from(r.blocks()) << self.manners.block_log2;
        let (mut data, memory) = (Vec::new(), self.memory.borrow());
        for (address, bytes) in self.segments(sqe, total) {
            let mut piece = vec![0; bytes / self.scale()];
            match self.content {
                Content::Full => memory.read(address, &mut piece).unwrap(),
                Content::Fingerprint => memory.read_tags(address, &mut piece).unwrap(),
            }
            data.extend_from_slice(&piece);
        }
        data
    }

    fn stored(&self, r: BlockRange) -> Vec<u8> {
        let block = (1 << self.manners.block_log2) / self.scale();
        let blocks = r.slba..r.slba + u64::from(r.blocks());
        blocks.flat_map(|b| self.store.get(&b).cloned().unwrap_or_else(|| vec![0; block])).collect()
    }

    fn transfer(&mut self, sqe: &Sqe, r: BlockRange, write: bool) -> Status {
        if write {
            let data = self.host_data(sqe, r);
            let block = (1 << self.manners.block_log2) / self.scale();
            for (bytes, lba) in data.chunks(block).zip(r.slba..) {
                self.store.insert(lba, bytes.to_vec());
            }
            return Status::SUCCESS;
        }
        let (data, mut at) = (self.stored(r), 0);
        let total = u64::from(r.blocks()) << self.manners.block_log2;
        for (address, bytes) in self.segments(sqe, total) {
            let piece = &data[at..at + bytes / self.scale()];
            let mut memory = self.memory.borrow_mut();
            let memory: &mut GuestMemory = &mut memory;
            match self.content {
                Content::Full => memory.write(address, piece).unwrap(),
                Content::Fingerprint => memory.write_tags(address, piece).unwrap(),
            }
            at += piece.len();
        }
        Status::SUCCESS
    }

    fn compare(&mut self, sqe: &Sqe, r: BlockRange) -> Status {
        if self.host_data(sqe, r) == self.stored(r) { Status::SUCCESS } else { Status::COMPARE_FAILURE }
    }
}
