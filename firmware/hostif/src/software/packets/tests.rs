//! The transaction layer against a board and a host that the tests play: what a real host never does, too.

use super::super::asker::Ended;
use super::super::time::CoreTime;
use super::layer::DRIVE;
use super::reads::Free;
use super::*;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::{Core, Exec, Handler};
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::host::DmaDirection;
use aster_ports::link::{FRONT_ANSWER, LinkOp, LinkPort, Local, MAX_SEGMENTS, Segment};
use aster_ports::tlp::{BufferDescriptor, Outgoing, TLP_SENT, TlpPort, TlpSettings};
use aster_units::{BufferId, Content, Duration, Frequency, Instant};
use aster_wire::pcie::tlp::{
    Completion, CompletionStatus, Completions, FunctionId, TLP_HEADER_MAX, Tag, Tlp, TlpHeader,
};
use core::cell::RefCell;

/// Firmware's interrupt handler.
struct Interrupts(RefCell<Option<Rc<Packets>>>);
impl Handler for Interrupts {
    fn fire(&self, token: u64) {
        let packets = self.0.borrow();
        let packets = packets.as_ref().expect("it is set when the bench is made");
        match token {
            TLP_SENT => packets.take_sent(),
            OVERDUE => packets.watch(),
            FRONT_ANSWER => {}
            token => unreachable!("{token}"),
        }
    }
}
/// A board that does nothing by itself.
struct Still;
impl Handler for Still {
    fn fire(&self, _: u64) {}
}

const OVERDUE: u64 = 7;
const BUFFER: BufferId = BufferId(1);
const SETTINGS: TlpSettings = TlpSettings { max_payload: 256, max_read_request: 512, extended_tags: true };

struct Bench {
    exec: Exec,
    core: Core,
    port: Rc<TlpPort>,
    memory: SharedDram,
    packets: Rc<Packets>,
}

/// A read as it left the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Asked {
    tag: u16,
    address: u64,
    bytes: u32,
}

fn bench_of(offload: bool, content: Content) -> Bench {
    let exec = Exec::new();
    let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
    let host = LinkPort::new(&exec, 8);
    let port = TlpPort::new(&exec, &host, SETTINGS);
    let memory = Dram::new(content, 4, 0, 2, 0, 0x1000);
    let config = PacketConfig { offload, registers: false, costs: PacketCosts::default() };
    let time = CoreTime::new(&core, &Recorder::default());
    let packets = Rc::new(Packets::new(&exec, time, (&port, &memory), config, 200, 8));
    let interrupts = Rc::new(Interrupts(RefCell::new(Some(Rc::clone(&packets)))));
    packets.attach(exec.register(interrupts), OVERDUE);
    port.attach_board(exec.register(Rc::new(Still)));
    core.spawn(receiver(Rc::clone(&packets)));
    if offload {
        core.spawn(notices(Rc::clone(&packets)));
    }
    Bench { exec, core, port, memory, packets }
}
fn bench(offload: bool) -> Bench {
    bench_of(offload, Content::Full)
}

/// The byte of host memory at an address.
fn byte(address: u64) -> u8 {
    (address * 7 + address / 251) as u8
}

impl Bench {
    /// Begins a transfer of the controller, with `token`, between the buffer and host memory.
    fn begin(&self, direction: DmaDirection, token: u32, offset: u32, segments: &[(u64, u32)]) {
        let mut all = [Segment::default(); MAX_SEGMENTS];
        for (one, &(address, length)) in all.iter_mut().zip(segments) {
            *one = Segment { address, length };
        }
        let local = Local::Buffer { buffer: BUFFER, offset };
        let op =
            LinkOp::Dma { direction, local, segments: all, count: segments.len() as u8, token, epoch: 0 };
        let packets = Rc::clone(&self.packets);
        self.core.spawn(async move { packets.begin(op).await });
        self.run();
    }
    fn read(&self, token: u32, address: u64, bytes: u32) {
        self.begin(DmaDirection::FromHost, token, 0, &[(address, bytes)]);
    }
    fn run(&self) {
        self.run_for(Duration::from_micros(1));
    }
    fn run_for(&self, duration: Duration) {
        let end = self.exec.now() + duration;
        while self.exec.next_deadline().is_some_and(|at| at <= end) {
            self.exec.advance_to(self.exec.next_deadline().unwrap_or(Instant::ZERO));
        }
        self.exec.advance_to(end);
    }
    /// The requests that have been handed to the DMA controller since the last call, and whether they write.
    fn sent(&self) -> Vec<(bool, Asked)> {
        let mut all = Vec::new();
        while let Some(packet) = self.port.next_outgoing() {
            let Outgoing::Request(descriptor) = packet else { panic!("{packet:?}") };
            let (header, bytes) = TlpHeader::parse(&descriptor.header).unwrap();
            assert_eq!(bytes, usize::from(descriptor.header_bytes));
            let TlpHeader::Memory(request) = header else { panic!("{header:?}") };
            let (address, bytes) = request.span();
            descriptor.notice.into_iter().for_each(|notice| self.port.note_sent(notice));
            all.push((request.write, Asked { tag: request.tag.number(), address, bytes }));
            self.run();
        }
        all
    }
    fn asked(&self) -> Vec<Asked> {
        self.sent()
            .into_iter()
            .map(|(write, asked)| {
                assert!(!write);
                asked
            })
            .collect()
    }
    /// The completions that answer a read in full.
    fn answer(&self, Asked { tag, address, bytes }: Asked) -> Vec<(Completion, Vec<u8>)> {
        let parts = Completions::new(address, bytes, 64, SETTINGS.max_payload);
        parts
            .map(|part| {
                let plain =
                    Completion::without_data(FunctionId(0), CompletionStatus::Success, DRIVE, Tag::new(tag));
                let completion = Completion {
                    byte_count: part.byte_count,
                    lower_address: part.lower_address,
                    dwords: part.dwords,
                    ..plain
                };
                let first = (address + u64::from(part.offset)) / 4 * 4;
                let data = (first..first + u64::from(part.dwords) * 4).map(byte).collect();
                (completion, data)
            })
            .collect()
    }
    /// A completion arrives, as the board deals with it, and firmware has time for it.
    fn arrive(&self, packet: &(Completion, Vec<u8>)) {
        self.arrive_unseen(packet);
        self.run();
    }
    fn arrive_unseen(&self, (completion, data): &(Completion, Vec<u8>)) {
        let tag = completion.tag.number();
        let moves = |d: &BufferDescriptor| {
            completion.status == CompletionStatus::Success
                && !completion.attributes.poisoned
                && u32::from(completion.byte_count) == d.bytes - d.offset
        };
        match self.port.descriptor(tag).filter(moves) {
            Some(descriptor) => {
                let (skip, bytes) = (usize::from(completion.lower_address & 3), completion.bytes());
                let place = descriptor.base.plus(descriptor.offset);
                self.memory.borrow_mut().write(place, &data[skip..skip + bytes as usize]);
                self.port.note_moved(tag, bytes);
            }
            None => {
                let mut header = [0; TLP_HEADER_MAX];
                let length = TlpHeader::Completion(*completion).encode(&mut header);
                assert!(Tlp::parse(&[&header[..length], data].concat()).is_ok());
                self.port.receive(&header[..length], data);
            }
        }
    }
    fn fail(&self, asked: Asked, status: CompletionStatus) {
        let none = Completion::without_data(FunctionId(0), status, DRIVE, Tag::new(asked.tag));
        self.arrive(&(none, Vec::new()));
    }
    /// What has ended since the last call: tokens, and whether well.
    fn ended(&self) -> Vec<(u32, bool)> {
        let mut all = Vec::new();
        while let Some(Ended { op, result }) = self.packets.next_ended() {
            let LinkOp::Dma { token, .. } = op else { panic!("{op:?}") };
            all.push((token, result.is_ok()));
        }
        all
    }
    fn page(&self, bytes: usize) -> Vec<u8> {
        self.memory.borrow().page(BUFFER)[..bytes].to_vec()
    }
    /// A read of one packet works, and all tags and places are free behind it.
    fn is_well(&self) {
        self.read(999, 0x8_0000, 512);
        let asked = self.asked();
        assert_eq!(asked.len(), 1);
        self.answer(asked[0]).iter().for_each(|one| self.arrive(one));
        assert_eq!(self.ended(), [(999, true)]);
        assert_eq!(self.page(512), (0x8_0000..0x8_0200).map(byte).collect::<Vec<_>>());
        let reads = self.packets.reads.borrow();
        assert_eq!(reads.free(64, aster_ports::tlp::RECEIVE_PLACES), Free::Tag(0), "everything is free");
    }
}
impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

/// S4 to S6: a read of odd bytes over a page boundary, answered packet by packet.
#[test]
fn a_read_is_cut_into_requests_and_its_data_come_to_their_place_either_way() {
    for offload in [false, true] {
        let b = bench(offload);
        b.begin(DmaDirection::FromHost, 1, 100, &[(0x1e03, 700), (0x7000, 65)]);
        let asked = b.asked();
        let cut: Vec<_> = asked.iter().map(|a| (a.address, a.bytes)).collect();
        assert_eq!(cut, [(0x1e03, 509), (0x2000, 191), (0x7000, 65)]);
        assert_eq!(b.ended(), []);
        // Different reads may be answered in any order.
        for one in asked.iter().rev() {
            b.answer(*one).iter().for_each(|one| b.arrive(one));
        }
        assert_eq!(b.ended(), [(1, true)]);
        let expected = (0x1e03..0x1e03 + 700).chain(0x7000..0x7041).map(byte);
        assert_eq!(b.page(865)[100..], expected.collect::<Vec<_>>());
        let stats = b.port.stats();
        let by = if offload { (765, 0, 0) } else { (0, 765, stats.received) };
        assert_eq!((stats.moved_bytes, stats.copied_bytes, stats.copies), by);
        assert_eq!((stats.sent, stats.touched()), (3, 3 + stats.copies));
        b.is_well();
    }
}

/// S4: a write is posted, and ends when its last packet has left.
#[test]
fn a_write_is_cut_at_the_largest_payload_and_ends_when_it_has_been_sent() {
    let b = bench(true);
    b.begin(DmaDirection::ToHost, 4, 0, &[(0x1f80, 300), (0x9000, 256)]);
    assert_eq!(b.ended(), []);
    let cut: Vec<_> = b.sent().iter().map(|(write, a)| (*write, a.address, a.bytes)).collect();
    let packets = [(true, 0x1f80, 128), (true, 0x2000, 172), (true, 0x9000, 256)];
    assert_eq!(cut, packets);
    assert_eq!(b.ended(), [(4, true)]);
    // The host may allow less from now on.
    b.port.set(TlpSettings { max_payload: 128, ..SETTINGS });
    b.begin(DmaDirection::ToHost, 5, 0, &[(0x9000, 256)]);
    assert_eq!(b.sent().len(), 2);
}

/// 64 tags, or 32 without Extended Tag Enable; who waits gets the tag that becomes free.
#[test]
fn no_more_reads_are_outstanding_than_there_are_tags() {
    for (extended_tags, tags) in [(true, 64), (false, 32)] {
        for offload in [false, true] {
            let b = bench(offload);
            b.port.set(TlpSettings { extended_tags, ..SETTINGS });
            for n in 0..5 {
                b.begin(DmaDirection::FromHost, n, 0, &[(0x10_0000, 16 << 10)]);
            }
            let mut waiting = b.asked();
            assert_eq!(waiting.len(), tags);
            let mut most = 0;
            let mut answered = 0;
            while !waiting.is_empty() {
                let mut open: Vec<_> = waiting.iter().map(|a| a.tag).collect();
                open.sort_unstable();
                open.dedup();
                assert_eq!(open.len(), waiting.len(), "a tag is one read's");
                most = most.max(open.len());
                // Not in the order in which they were asked for.
                let next = waiting.swap_remove(answered * 5 % waiting.len());
                b.answer(next).iter().for_each(|one| b.arrive(one));
                answered += 1;
                waiting.extend(b.asked());
            }
            assert_eq!((answered, most), (5 * 32, tags));
            assert_eq!(b.ended().len(), 5);
            b.is_well();
        }
    }
}

/// Who came first asks first, however many tags become free at a time.
#[test]
fn transfers_get_tags_in_the_order_in_which_they_come() {
    for offload in [false, true] {
        let b = bench(offload);
        for n in 0..6 {
            b.begin(DmaDirection::FromHost, n, 0, &[(u64::from(n) << 20, 12 << 10)]);
        }
        let mut order = Vec::new();
        let mut waiting = b.asked();
        while !waiting.is_empty() {
            order.extend(waiting.iter().map(|asked| asked.address >> 20));
            // All that are outstanding are answered at once.
            for one in core::mem::take(&mut waiting) {
                b.answer(one).iter().for_each(|one| b.arrive_unseen(one));
            }
            b.run();
            waiting = b.asked();
        }
        assert_eq!(order.len(), 6 * 24);
        assert!(order.is_sorted(), "offload {offload}: {order:?}");
    }
}

#[test]
fn a_read_that_is_refused_or_brings_bad_data_fails_and_its_tag_is_free_again() {
    for offload in [false, true] {
        let b = bench(offload);
        for (n, status) in
            (0..).zip([CompletionStatus::Unsupported, CompletionStatus::Abort, CompletionStatus::Retry])
        {
            // The first of two requests is refused, and the second answered: the transfer waits for both.
            b.read(n, 0x4000, 1024);
            let asked = b.asked();
            b.fail(asked[0], status);
            assert_eq!(b.ended(), []);
            b.answer(asked[1]).iter().for_each(|one| b.arrive(one));
            assert_eq!(b.ended(), [(n, false)], "{status:?}");
        }
        assert_eq!(b.port.stats().failed, 3);
        // In the middle of an answer, too.
        b.read(5, 0x4000, 512);
        let asked = b.asked()[0];
        b.arrive(&b.answer(asked)[0]);
        b.fail(asked, CompletionStatus::Abort);
        assert_eq!(b.ended(), [(5, false)]);
        // Poisoned data are not used, and the read ends with its last packet.
        for poisoned in 0..2 {
            b.memory.borrow_mut().page_mut(BUFFER).fill(0xee);
            b.read(6, 0x4000, 512);
            let asked = b.asked()[0];
            for (nth, (completion, data)) in b.answer(asked).into_iter().enumerate() {
                assert_eq!(b.ended(), []);
                let mut completion = completion;
                completion.attributes.poisoned = nth == poisoned;
                b.arrive(&(completion, data));
            }
            assert_eq!(b.ended(), [(6, false)]);
            let page = b.page(512);
            let untouched = page[poisoned * 256..][..256].iter().all(|byte| *byte == 0xee);
            assert!(untouched, "offload {offload}, packet {poisoned}");
        }
        assert_eq!(b.port.stats().failed, 6);
        b.is_well();
    }
}

/// PCIe 4.0 §2.8. The tag stays taken until the answer comes after all, since the next read with it would
/// take that for its own.
#[test]
fn a_read_without_an_answer_is_given_up_and_a_late_answer_is_nobodys() {
    for offload in [false, true] {
        let b = bench(offload);
        b.memory.borrow_mut().page_mut(BUFFER).fill(0xee);
        b.read(1, 0x4000, 512);
        let lost = b.asked()[0];
        b.run_for(Duration::from_millis(30));
        // One part comes in time.
        b.arrive(&b.answer(lost)[0]);
        b.run_for(Duration::from_millis(15));
        assert_eq!(b.ended(), []);
        b.run_for(Duration::from_millis(10));
        assert_eq!((b.ended(), b.port.stats().timed_out), (vec![(1, false)], 1));
        b.read(2, 0x8000, 512);
        let next = b.asked()[0];
        assert_ne!(next.tag, lost.tag);
        b.arrive(&b.answer(lost)[1]);
        assert_eq!(b.page(512)[256..], [0xee; 256], "its data are not wanted any more");
        b.answer(next).iter().for_each(|one| b.arrive(one));
        assert_eq!(b.ended(), [(2, true)]);
        b.is_well();
    }
}

#[test]
fn when_no_read_is_answered_any_more_the_next_ones_fail_instead_of_waiting_for_ever() {
    for offload in [false, true] {
        let b = bench(offload);
        for n in 0..3 {
            b.read(n, 0x10_0000, 16 << 10);
        }
        let lost = b.asked();
        assert_eq!(lost.len(), 64);
        b.run_for(Duration::from_millis(51));
        assert_eq!(b.ended(), [(0, false), (1, false), (2, false)]);
        b.read(4, 0x10_0000, 512);
        assert_eq!((b.asked(), b.ended()), (vec![], vec![(4, false)]));
        // The host is back.
        for one in lost {
            b.fail(one, CompletionStatus::Abort);
        }
        assert_eq!(b.port.stats().failed, 0, "they had failed before");
        b.is_well();
    }
}

/// Completions for tags that are free, of the wrong place, and each one twice.
#[test]
fn completions_that_nobody_waits_for_are_counted_and_dropped() {
    for offload in [false, true] {
        let b = bench(offload);
        b.fail(Asked { tag: 9, address: 0, bytes: 4 }, CompletionStatus::Abort);
        b.fail(Asked { tag: 900, address: 0, bytes: 4 }, CompletionStatus::Unsupported);
        b.read(1, 0x4000, 512);
        let asked = b.asked()[0];
        let all = b.answer(asked);
        b.arrive(&all[1]);
        b.arrive(&all[0]);
        b.arrive(&all[0]);
        let mut elsewhere = all[1].clone();
        elsewhere.0.lower_address ^= 64;
        if !offload {
            // The mover goes by the byte count alone.
            b.arrive(&elsewhere);
        }
        b.arrive(&all[1]);
        b.arrive(&all[1]);
        assert_eq!(b.ended(), [(1, true)]);
        assert_eq!(b.page(512), (0x4000..0x4200).map(byte).collect::<Vec<_>>());
        assert_eq!(b.port.stats().unexpected, if offload { 5 } else { 6 });
        // What isn't a completion at all.
        b.port.receive(&[0x40, 0, 0, 1, 0, 0, 0, 0xf, 0, 0, 0x10, 0], &[1, 2, 3, 4]);
        b.port.receive(&[0xff; 12], &[]);
        b.run();
        assert_eq!(b.port.stats().unexpected, if offload { 7 } else { 8 });
        b.is_well();
    }
}

/// A reset takes the host's memory away: what comes later is not written anywhere, and nothing succeeds.
#[test]
fn a_reset_drops_the_data_of_reads_that_are_outstanding() {
    for offload in [false, true] {
        let b = bench(offload);
        b.memory.borrow_mut().page_mut(BUFFER).fill(0xee);
        // Two reads that are outstanding, one that waits for tags, and a write that waits to be sent.
        b.read(1, 0x4000, 512);
        let asked = b.asked()[0];
        b.begin(DmaDirection::FromHost, 2, 4096, &[(0x10_0000, 12 << 10)]);
        b.begin(DmaDirection::FromHost, 3, 4096, &[(0x10_0000, 12 << 10)]);
        b.begin(DmaDirection::FromHost, 4, 4096, &[(0x10_0000, 12 << 10)]);
        let more = b.asked();
        assert_eq!(more.len(), 63);
        b.begin(DmaDirection::ToHost, 5, 0, &[(0x4000, 64)]);
        b.arrive(&b.answer(asked)[0]);
        b.packets.forget_host();
        b.arrive(&b.answer(asked)[1]);
        assert_eq!(b.ended(), [(1, false)]);
        assert_eq!(b.page(512)[256..], [0xee; 256], "offload {offload}");
        b.sent();
        for one in more {
            b.answer(one).iter().for_each(|one| b.arrive(one));
            // The one that waited for tags asks for nothing of that host.
            assert_eq!(b.sent(), []);
        }
        let mut ended = b.ended();
        ended.sort_unstable();
        assert_eq!(ended, [(2, false), (3, false), (4, false), (5, false)]);
        assert!(b.memory.borrow().page(BUFFER)[4096..].iter().all(|byte| *byte == 0xee));
        b.is_well();
    }
}

/// Of a sector of which only the fingerprint is kept, the packet with its end carries that.
#[test]
fn fingerprints_move_with_the_last_packet_of_their_sector() {
    for offload in [false, true] {
        let b = bench_of(offload, Content::Fingerprint);
        b.begin(DmaDirection::FromHost, 1, 4096, &[(0x1_2000, 4096), (0x2_0000, 4096)]);
        let asked = b.asked();
        assert_eq!(asked.len(), 16);
        for one in &asked {
            b.answer(*one).iter().for_each(|one| b.arrive(one));
        }
        assert_eq!(b.ended(), [(1, true)]);
        let tags = (0x1_2ff8..0x1_3000u64).chain(0x2_0ff8..0x2_1000).map(byte);
        assert_eq!(b.memory.borrow().page(BUFFER)[8..24], tags.collect::<Vec<_>>());
        // A part of a sector has none.
        for (offset, address, bytes) in [(0, 0x1_2000, 2048), (0, 0x1_2200, 4096), (512, 0x1_2000, 4096)] {
            b.begin(DmaDirection::FromHost, 2, offset, &[(address, bytes)]);
            assert_eq!((b.asked(), b.ended()), (vec![], vec![(2, false)]));
        }
    }
}
