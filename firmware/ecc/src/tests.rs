//! The engine between a requester and a controller that the tests play.

use crate::{EccCosts, Engine, EngineConfig, EnginePorts, FrameCode};
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_codec::{Bch, Detector, FrameBch};
use aster_events::{Event, EventSink, Recorder};
use aster_exec::{Core, Exec};
use aster_ports::cores::Interrupt;
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::flash::{
    FlashOp, FlashPort, FlashRequest, FlashStatus, Outcome, PageCheck, PageOwner, Tag, Target,
};
use aster_ports::layout::{PageLayout, Placement};
use aster_units::{BufferId, Content, Duration, Frequency, Instant, LunIndex, RowAddr, SectorRange};
use core::cell::{Cell, RefCell};
use std::vec;
use std::vec::Vec;

const T: usize = 12;
const BUFFER: BufferId = BufferId(0);

/// Table 2's page: frames of 512 + 20 bytes.
fn layout() -> PageLayout {
    PageLayout::new(4, 16_384 + 1_872, 512, 20, 16, Placement::Interleaved).unwrap()
}
fn frame_code() -> FrameCode {
    FrameCode::new(Detector::Syndromes, 13, T, T, &layout()).unwrap()
}
/// The same page with a CRC behind each parity.
fn checked_code() -> FrameCode {
    let layout = PageLayout::new(4, 16_384 + 1_872, 512, 24, 16, Placement::Interleaved).unwrap();
    FrameCode::new(Detector::Crc, 13, T, T, &layout).unwrap()
}
fn memory(content: Content) -> SharedDram {
    Dram::with_codes(content, 4, 16, (2, 0), 0, frame_code().codes().bytes())
}

/// Puts a page into the buffer as a detector leaves it: frame `frame` with wrong bits at these positions of
/// its data and parity.
fn damage(dram: &SharedDram, frame: u16, wrong: &[usize]) {
    let code = frame_code();
    let codes = *code.codes();
    let mut memory = dram.borrow_mut();
    let content = memory.content_of(BUFFER);
    let (page, oob, area) = memory.page_oob_and_codes_mut(BUFFER);
    codes.flag(area, frame);
    let flip = |bytes: &mut [u8], bit: usize| bytes[bit / 8] ^= 0x80 >> (bit % 8);
    if frame == codes.oob_frame() {
        let mut record = [0u8; 20];
        record[..4].copy_from_slice(codes.seed(area));
        record[4..].copy_from_slice(oob);
        let bch = Bch::with_limit(13, T, T, record.len()).unwrap();
        bch.encode(&record, codes.code_mut(area, frame));
        for &bit in wrong {
            match bit.checked_sub(record.len() * 8) {
                None => flip(&mut record, bit),
                Some(in_parity) => flip(codes.code_mut(area, frame), in_parity),
            }
        }
        codes.seed_mut(area).copy_from_slice(&record[..4]);
        oob.copy_from_slice(&record[4..]);
        return;
    }
    if content == Content::Fingerprint {
        codes.code_mut(area, frame)[0] = wrong.len() as u8;
        return;
    }
    let data = &mut page[usize::from(frame) * 512..][..512];
    let bch = Bch::with_limit(13, T, T, 512).unwrap();
    bch.encode(data, codes.code_mut(area, frame));
    for &bit in wrong {
        match bit.checked_sub(512 * 8) {
            None => flip(data, bit),
            Some(in_parity) => flip(codes.code_mut(area, frame), in_parity),
        }
    }
}

/// Bits spread over a frame of `bits` bits, first and last included.
fn spread(errors: usize, bits: usize) -> Vec<usize> {
    (0..errors).map(|i| if i == 0 { bits - 1 } else { (i - 1) * (bits / T.max(errors)) }).collect()
}

fn fill(dram: &SharedDram) -> (Vec<u8>, Vec<u8>) {
    let mut memory = dram.borrow_mut();
    let (page, oob, area) = memory.page_oob_and_codes_mut(BUFFER);
    page.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 37 % 251) as u8);
    oob.iter_mut().enumerate().for_each(|(i, byte)| *byte = 0xA0 + i as u8);
    area.fill(0);
    frame_code().codes().seed_mut(area).copy_from_slice(&[0; 4]);
    (page.to_vec(), oob.to_vec())
}

#[test]
fn every_frame_comes_right_with_as_many_wrong_bits_as_the_code_corrects() {
    for content in [Content::Full, Content::Fingerprint] {
        let dram = memory(content);
        let mut code = frame_code();
        let oob_frame = code.codes().oob_frame();
        for frame in 0..=oob_frame {
            let bits = if frame == oob_frame { 20 * 8 + 156 } else { 512 * 8 + 156 };
            for errors in 1..=T {
                let (page, oob) = fill(&dram);
                damage(&dram, frame, &spread(errors, bits));
                let mut memory = dram.borrow_mut();
                assert_eq!(code.correct(&mut memory, BUFFER, frame), Some(errors), "{content:?} {frame}");
                assert!(memory.page(BUFFER) == page && memory.oob(BUFFER) == oob, "{frame} {errors}");
            }
        }
    }
}

#[test]
fn one_wrong_bit_more_stays_as_it_was_read() {
    for content in [Content::Full, Content::Fingerprint] {
        for frame in [0, 31, 32] {
            let dram = memory(content);
            fill(&dram);
            let bits = if frame == 32 { 20 * 8 + 156 } else { 512 * 8 + 156 };
            damage(&dram, frame, &spread(T + 1, bits));
            let mut memory = dram.borrow_mut();
            let (page, oob) = (memory.page(BUFFER).to_vec(), memory.oob(BUFFER).to_vec());
            assert_eq!(frame_code().correct(&mut memory, BUFFER, frame), None, "{content:?} {frame}");
            assert!(memory.page(BUFFER) == page && memory.oob(BUFFER) == oob);
        }
    }
}

/// A port with an engine, all cores at 1 GHz: a cycle takes 1 ns.
struct Bench {
    exec: Exec,
    port: Rc<FlashPort>,
    dram: SharedDram,
    engine: Rc<Engine>,
    recorder: Recorder,
}

const COSTS: EccCosts = EccCosts { submit: 100, frame: 1_000, error: 50, encode: 20 };
const LATENCY: Duration = Duration::from_nanos(200);

impl Bench {
    fn new(ring_entries: u16) -> Self {
        Bench::of(frame_code(), ring_entries)
    }
    fn of(code: FrameCode, ring_entries: u16) -> Self {
        let (exec, recorder) = (Exec::new(), Recorder::default());
        let core = || Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let port = FlashPort::new(&exec, 1, 4, Interrupt { latency: LATENCY });
        let dram = Dram::with_codes(Content::Full, 4, 16, (2, 0), 0, code.codes().bytes());
        let ports = EnginePorts {
            requests: Rc::clone(&port),
            buffers: dram.clone(),
            client: core(),
            core: core(),
            interrupt: Interrupt { latency: LATENCY },
            recorder: recorder.clone(),
        };
        let engine = Engine::start(EngineConfig { code, costs: COSTS, ring_entries }, ports);
        fill(&dram);
        Bench { exec, port, dram, engine, recorder }
    }
    /// Asks for a page, and says when and how the read has ended.
    fn ask(&self, buffer: BufferId, owner: PageOwner) -> Rc<Cell<Option<(Instant, Outcome)>>> {
        let ended = Rc::new(Cell::new(None));
        let (port, seen) = (Rc::clone(&self.port), Rc::clone(&ended));
        self.exec.spawn(async move {
            let target = Target { row: RowAddr(5), sectors: SectorRange::whole(4), buffer };
            let read = FlashRequest::single(FlashOp::Read, LunIndex(0), target).expecting(owner);
            let outcomes = port.call(read).await;
            seen.set(Some((port.exec().now(), outcomes[0])));
        });
        self.exec.advance_to(self.exec.now());
        ended
    }
    fn next(&self) -> Tag {
        self.port.try_next(LunIndex(0), |_| 0).expect("a read").0
    }
    fn answer(&self, tag: Tag, flagged: bool) {
        self.port.complete(tag, [Outcome { flagged, ..Outcome::default() }; 4]);
    }
    fn run(&self) {
        self.exec.advance_to(Instant::from_picos(1_000_000_000));
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

/// S10: latency grows with the flagged frames, and a clean page behind a flagged one doesn't wait for it.
#[test]
fn only_flagged_frames_take_time() {
    let bench = Bench::new(8);
    damage(&bench.dram, 0, &[3]);
    damage(&bench.dram, 9, &[0, 4_000, 4_100]);
    let flagged = bench.ask(BUFFER, PageOwner::NONE);
    let clean = bench.ask(BufferId(1), PageOwner::NONE);
    let (first, second) = (bench.next(), bench.next());
    bench.answer(first, true);
    bench.answer(second, false);
    bench.run();
    let (at, outcome) = clean.get().expect("the clean page");
    assert_eq!((at.since(Instant::ZERO), outcome.corrected), (LATENCY, 0));
    let (at, outcome) = flagged.get().expect("the flagged page");
    // To the translation's core, a frame into the ring, 1 + 1 frames and 1 + 3 bits, and back. The second
    // frame enters the ring while the first is corrected.
    let engine = 2 * COSTS.frame + 4 * COSTS.error;
    assert_eq!(at.since(Instant::ZERO), LATENCY * 2 + Duration::from_nanos(COSTS.submit + engine));
    assert_eq!((outcome.status, outcome.corrected, outcome.worst_chunk), (FlashStatus::Done, 4, 3));
    assert!(!outcome.flagged);
    let stats = bench.engine.stats();
    assert_eq!((stats.reads, stats.frames, stats.corrected, stats.uncorrectable), (1, 2, 4, 0));
}

#[test]
fn what_cannot_be_corrected_names_its_sector_and_its_part() {
    let bench = Bench::new(8);
    damage(&bench.dram, 10, &spread(T + 1, 512 * 8));
    damage(&bench.dram, 11, &[7]);
    damage(&bench.dram, 32, &spread(T + 1, 20 * 8));
    let ended = bench.ask(BUFFER, PageOwner::NONE);
    bench.answer(bench.next(), true);
    bench.run();
    let (_, outcome) = ended.get().expect("an answer");
    assert_eq!(outcome.status, FlashStatus::Uncorrectable);
    // Frame 10 is the third eighth of sector 1.
    assert_eq!((outcome.failed_sectors, outcome.failed_parts[1], outcome.corrected), (0b10, 0b100, 1));
    assert!(outcome.oob_failed);
    assert_eq!(bench.engine.stats().uncorrectable, 2);
}

/// A page whose OOB had wrong bits is the expected one once they have been corrected.
#[test]
fn the_owner_of_a_page_is_checked_after_its_correction() {
    let bench = Bench::new(8);
    bench.port.check_pages(&bench.dram, Box::new(|owner, oob| u32::from(oob[0]) == owner.0));
    damage(&bench.dram, 32, &[4 * 8]);
    assert_ne!(bench.dram.borrow().oob(BUFFER)[0], 0xA0);
    let ended = bench.ask(BUFFER, PageOwner(0xA0));
    bench.answer(bench.next(), true);
    bench.run();
    assert_eq!(ended.get().expect("an answer").1.page, PageCheck::Expected);
}

#[derive(Default)]
struct Corrected(Vec<(u32, u16, u16, u16)>);

impl EventSink for Corrected {
    fn event(&mut self, _: Instant, event: &Event) {
        if let Event::PageCorrected { row, frames, failed, corrected, .. } = *event {
            self.0.push((row, frames, failed, corrected));
        }
    }
}

/// Of two pages that are read together, each is told by what it had itself, and a clean one not at all.
#[test]
fn pages_of_one_request_are_told_apart() {
    let bench = Bench::new(8);
    let heard = Rc::new(RefCell::new(Corrected::default()));
    bench.recorder.attach(Rc::clone(&heard));
    damage(&bench.dram, 2, &[5]);
    damage(&bench.dram, 3, &spread(T + 1, 512 * 8));
    let target = |row, buffer| Target { row: RowAddr(row), sectors: SectorRange::whole(4), buffer };
    let targets = [target(7, BUFFER), target(8, BufferId(1))];
    let request = FlashRequest::vector(FlashOp::Read, LunIndex(0), &targets).unwrap();
    let (port, answers) = (Rc::clone(&bench.port), Rc::new(Cell::new(None)));
    let seen = Rc::clone(&answers);
    bench.exec.spawn(async move { seen.set(Some(port.call(request).await)) });
    bench.exec.advance_to(bench.exec.now());
    let mut outcomes = [Outcome::default(); 4];
    outcomes[0].flagged = true;
    bench.port.complete(bench.next(), outcomes);
    bench.run();
    let answers = answers.get().expect("an answer");
    assert_eq!((answers[0].status, answers[0].corrected), (FlashStatus::Uncorrectable, 1));
    assert_eq!(answers[1], Outcome::default());
    assert_eq!(heard.borrow().0, [(7, 2, 1, 1)]);
}

/// A ring of one entry holds the translation's core up, but loses nothing.
#[test]
fn a_full_ring_waits() {
    let bench = Bench::new(1);
    for frame in 0..=32 {
        damage(&bench.dram, frame, &[1, 2]);
    }
    let ended = bench.ask(BUFFER, PageOwner::NONE);
    bench.answer(bench.next(), true);
    bench.run();
    assert_eq!(ended.get().expect("an answer").1.corrected, 66);
    assert_eq!(bench.engine.stats().ring_highest, 1);
}

/// S11: with a CRC, a program reaches its LUN once the engine has computed the code bits of its pages, and
/// programs stay in their order. What has code bits already waits for nothing but its turn.
#[test]
fn programs_are_encoded_in_their_order() {
    let bench = Bench::of(checked_code(), 8);
    let target = |row| Target { row: RowAddr(row), sectors: SectorRange::whole(4), buffer: BUFFER };
    let program = |rows: &[u32]| {
        let targets: Vec<_> = rows.iter().map(|&row| target(row)).collect();
        FlashRequest::vector(FlashOp::Program, LunIndex(0), &targets).unwrap()
    };
    let mut raw = program(&[9]);
    raw.flags.raw = true;
    for request in [program(&[7, 8]), raw, program(&[10])] {
        bench.port.submit(request).expect("a slot");
    }
    let read = FlashRequest::single(FlashOp::Read, LunIndex(0), target(1));
    bench.port.submit(read).expect("a slot");
    let next = || bench.port.try_next(LunIndex(0), |_| 0).map(|(_, request)| request.targets()[0].row.0);
    // 33 frames a page, 20 ns each; a read isn't encoded.
    let page = 33 * 20;
    for (nanoseconds, rows) in
        [(0, vec![1]), (2 * page - 1, vec![]), (2 * page, vec![7, 9]), (3 * page, vec![10])]
    {
        bench.exec.advance_to(Instant::from_picos(nanoseconds * 1_000));
        assert_eq!(core::iter::from_fn(next).collect::<Vec<_>>(), rows, "{nanoseconds} ns");
    }
    assert_eq!(bench.engine.stats().encoded, 3 * 33);
}

/// Channels that encode leave programs alone.
#[test]
fn syndromes_need_no_encoder() {
    let bench = Bench::new(8);
    let target = Target { row: RowAddr(5), sectors: SectorRange::whole(4), buffer: BUFFER };
    bench.port.submit(FlashRequest::single(FlashOp::Program, LunIndex(0), target)).expect("a slot");
    assert!(bench.port.try_next(LunIndex(0), |_| 0).is_some());
    assert_eq!(bench.engine.stats().encoded, 0);
}

/// S11: a frame whose checksum alone is wrong comes back as it is, for the price of a frame.
#[test]
fn a_wrong_checksum_alone_costs_a_frame_and_corrects_nothing() {
    let bench = Bench::of(checked_code(), 8);
    let (code, page) = (checked_code(), bench.dram.borrow().page(BUFFER).to_vec());
    {
        let mut memory = bench.dram.borrow_mut();
        let (data, _, area) = memory.page_oob_and_codes_mut(BUFFER);
        let bch = FrameBch::new(Bch::new(13, T, 512).unwrap(), Detector::Crc);
        for frame in [2, 5] {
            let bits = code.codes().code_mut(area, frame);
            bch.encode(&data[usize::from(frame) * 512..][..512], bits);
            bits[23] ^= 0x10;
            code.codes().flag(area, frame);
        }
        data[5 * 512 + 9] ^= 0x81;
    }
    let ended = bench.ask(BUFFER, PageOwner::NONE);
    bench.answer(bench.next(), true);
    bench.run();
    let (at, outcome) = ended.get().expect("an answer");
    assert_eq!((outcome.status, outcome.corrected), (FlashStatus::Done, 2));
    assert!(bench.dram.borrow().page(BUFFER) == page);
    let stats = bench.engine.stats();
    assert_eq!((stats.frames, stats.sound, stats.corrected), (2, 1, 2));
    // Into the ring, two frames, two bits, and the interrupts both ways.
    assert_eq!(at.since(Instant::ZERO), LATENCY * 2 + Duration::from_nanos(100 + 2 * 1_000 + 2 * 50));
}
