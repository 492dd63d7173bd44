//! Correction in software (S9–S12, S15–S17) on whole drives: what the host reads is right, and only wrong
//! bits take time.

use aster_device::profile::{ContentKind, ControllerName, CorrectionName, DetectorName, Profile};
use aster_device::{Device, DriveStats, Media};
use aster_driver::{DriverError, QueueId};
use aster_events::{Event, EventSink, Recorder};
use aster_run_virtual::Machine;
use aster_tests::{big_loop, cases, drive, job, machine, profile, run, versioned};
use aster_units::{BlockAddr, Duration, Instant, Lpn, LunIndex, PageInBlock, Ppa};
use aster_wire::nvme::Status;
use aster_workload::runner::Contents;
use aster_workload::{Access, Job, Mix};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
/// Logical blocks of 512 bytes in a page, and bytes of a frame in the page: a block and its code bits.
const PAGE_BLOCKS: u64 = 32;
const FRAME_BYTES: u32 = 532;
/// What the code corrects in a frame.
const T: u32 = 12;

fn on_demand(change: impl FnOnce(&mut Profile)) -> Profile {
    let profile = profile("softssd-small", |p| {
        p.package.errors.fresh = 0.0;
        change(p);
    });
    assert_eq!(profile.ecc.correction, CorrectionName::OnDemand);
    profile
}

fn write_page(m: &Machine, page: u32, fill: u8) {
    let driver = Rc::clone(m.driver());
    let bytes = vec![fill; PAGE_BLOCKS as usize * 512];
    let work = async move {
        driver.write(QUEUE, u64::from(page) * PAGE_BLOCKS, &bytes, true).await.map(|_| ())?;
        driver.flush(QUEUE).await.map(|_| ())
    };
    m.block_on("writing", work).unwrap().unwrap_or_else(|e| panic!("{e}"));
}
/// Reads a page and says how long it took.
fn read_page(m: &Machine, page: u32) -> (Result<Vec<u8>, DriverError>, Duration) {
    let driver = Rc::clone(m.driver());
    let began = m.now();
    let work = async move {
        let mut bytes = vec![0; PAGE_BLOCKS as usize * 512];
        driver.read(QUEUE, u64::from(page) * PAGE_BLOCKS, &mut bytes).await.map(|_| bytes)
    };
    let read = m.block_on("reading", work).unwrap();
    (read, m.now().since(began))
}
/// Other pages take the data buffer.
fn forget(m: &Machine) {
    let others = job("others", Access::Sequential, Mix::Read, 128 << 10, drive(m).bytes.div_ceil(128 << 10));
    run(m, &[Job { verify: false, ..others }], Contents::unversioned(drive(m), 1));
}
fn at(m: &Machine, page: u32) -> (LunIndex, BlockAddr, PageInBlock) {
    let ppa: Ppa = m.device().translation().location_of(Lpn(page)).expect("the page is mapped");
    m.device().geometry().split_ppa(ppa)
}
/// Flips these many bits of a frame of a page that has been written.
fn damage(m: &Machine, page: u32, frame: u32, errors: u32) {
    let (lun, block, of_block) = at(m, page);
    let first = frame * FRAME_BYTES * 8;
    let bits: Vec<u32> = (0..errors).map(|i| first + i * 331).collect();
    assert!(m.device().nand().flip_bits(lun, block, of_block, &bits));
}
fn ecc(m: &Machine) -> aster_device::EccStats {
    let stats: DriveStats = m.device().stats();
    stats.ecc.expect("it corrects in software")
}

/// S10: none, some and as many wrong bits as the code corrects in any frame of a page. The time grows with
/// the flagged frames and their bits, and with nothing else.
#[test]
fn a_host_reads_what_it_wrote_and_waits_only_for_frames_with_wrong_bits() {
    let profile = on_demand(|p| p.package.page_deviation_us = 0.0);
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    write_page(&m, 0, 0x5A);
    // In the data buffer of a drive that has just been powered on is nothing.
    let m = machine(&profile, None, m.cut_power(), &Recorder::default());
    let cycle = Duration::from_nanos(2);
    let of =
        |frames: u64, bits: u64| cycle * (frames * profile.costs.ecc_frame + bits * profile.costs.ecc_error);
    let mut clean = None;
    let (mut media, mut flipped) = (Some(m), Vec::<(u32, u32)>::new());
    for (frame, errors) in [(0, 0), (0, 1), (7, 3), (31, T), (0, T - 1)] {
        let m = media.take().expect("a machine");
        if errors > 0 {
            damage_further(&m, frame, errors, &flipped);
            flipped.push((frame, errors));
        }
        let before = ecc(&m);
        let (read, took) = read_page(&m, 0);
        assert!(read.unwrap().iter().all(|byte| *byte == 0x5A), "{flipped:?}");
        let now = ecc(&m);
        let frames = flipped.iter().map(|(frame, _)| frame).collect::<BTreeSet<_>>().len() as u64;
        let bits: u64 = flipped.iter().map(|(_, errors)| u64::from(*errors)).sum();
        assert_eq!((now.frames - before.frames, now.corrected - before.corrected), (frames, bits));
        let clean = *clean.get_or_insert(took);
        if frames > 0 {
            let more = took.saturating_sub(clean);
            // Entering the first frame, interrupts both ways, rounding to cycles.
            let rest = more.saturating_sub(of(frames, bits));
            assert!(more >= of(frames, bits) && rest < Duration::from_nanos(1_500), "{flipped:?}: {more}");
        }
        media = Some(machine(&profile, None, m.cut_power(), &Recorder::default()));
    }
}
/// Flips more bits of a frame, at other places than before.
fn damage_further(m: &Machine, frame: u32, errors: u32, before: &[(u32, u32)]) {
    let used: u32 = before.iter().filter(|(of, _)| *of == frame).map(|(_, errors)| errors).sum();
    let (lun, block, of_block) = at(m, 0);
    let first = frame * FRAME_BYTES * 8;
    let bits: Vec<u32> = (used..used + errors).map(|i| first + i * 331).collect();
    assert!(m.device().nand().flip_bits(lun, block, of_block, &bits));
}

/// S12: what can't be corrected fails for its blocks alone.
#[test]
fn a_frame_with_more_wrong_bits_than_the_code_corrects_loses_its_block() {
    for controller in [ControllerName::Software, ControllerName::Synchronous, ControllerName::Asynchronous] {
        for policy in ["fifo", "fil"] {
            let profile = on_demand(|p| {
                p.channel.controller = controller;
                p.scheduler.policy = policy.to_owned();
            });
            let m = machine(&profile, None, Media::fresh(), &Recorder::default());
            write_page(&m, 3, 0x77);
            damage(&m, 3, 9, T + 1);
            damage(&m, 3, 10, T);
            forget(&m);
            let driver = Rc::clone(m.driver());
            let work = async move {
                let mut lost = Vec::new();
                for block in 0..PAGE_BLOCKS {
                    let mut bytes = [0; 512];
                    match driver.read(QUEUE, 3 * PAGE_BLOCKS + block, &mut bytes).await {
                        Ok(_) => assert_eq!(bytes, [0x77; 512], "block {block}"),
                        Err(DriverError::Command { status, .. }) => {
                            assert!(status.is(Status::UNRECOVERED_READ_ERROR));
                            lost.push(block);
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
                lost
            };
            assert_eq!(m.block_on("reading", work).unwrap(), [9], "{controller:?} {policy}");
            assert!(ecc(&m).uncorrectable > 0);
        }
    }
}

/// S11: a CRC behind each chunk's parity finds wrong bits, on drives that keep every byte and on those that
/// keep fingerprints. Wrong bits of the CRC itself cost a frame's time, and nothing else.
#[test]
fn a_crc_finds_what_the_engine_corrects() {
    // A chunk, its parity and its CRC.
    const WITH_CRC: u32 = 536;
    for content in [ContentKind::Full, ContentKind::Fingerprint] {
        let profile = on_demand(|p| {
            p.ecc.detector = DetectorName::Crc;
            (p.content, p.host.block_bytes) = (content, 4096);
        });
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let fill = |m: &Machine, mix| {
            let each = drive(m).bytes.div_ceil(128 << 10);
            let all = job("all", Access::Sequential, mix, 128 << 10, each);
            run(m, &[Job { verify: true, ..all }], Contents::unversioned(drive(m), 1));
        };
        fill(&m, Mix::Write);
        assert!(ecc(&m).encoded > 0);
        let m = machine(&profile, None, m.cut_power(), &Recorder::default());
        let (lun, block, of_block) = at(&m, 0);
        let in_data: Vec<u32> = (0..T).map(|i| 3 * WITH_CRC * 8 + i * 331).collect();
        let in_crc = [(7 * WITH_CRC + 533) * 8, (7 * WITH_CRC + 534) * 8];
        assert!(m.device().nand().flip_bits(lun, block, of_block, &in_data));
        assert!(m.device().nand().flip_bits(lun, block, of_block, &in_crc));
        let before = ecc(&m);
        fill(&m, Mix::Read);
        let now = ecc(&m);
        let reads = now.reads - before.reads;
        assert!(reads > 0, "{content:?}");
        let frames = (now.frames - before.frames, now.sound - before.sound);
        let corrected = now.corrected - before.corrected;
        assert_eq!((frames, corrected), ((2 * reads, reads), u64::from(T) * reads), "{content:?}");
    }
}

/// The checksums take room, and a profile without it is refused with numbers.
#[test]
fn a_page_without_room_for_checksums_is_refused() {
    let of = |spare| {
        let profile = on_demand(|p| {
            p.ecc.detector = DetectorName::Crc;
            p.geometry.spare_bytes = spare;
        });
        Device::power_on("test", &profile, None, Media::fresh(), &Recorder::default()).map(|_| ())
    };
    // 33 codes of 20 + 4 bytes, seed and OOB.
    let needed = 33 * 24 + 4 + 16;
    assert!(of(needed).is_ok());
    let error = of(needed - 1).expect_err("no room").to_string();
    assert!(error.contains(&format!("take {} bytes", 16_384 + needed)), "{error}");
}

/// The big loop sends a page to the host as soon as it has been read.
#[test]
fn the_big_loop_needs_correction_in_hardware() {
    let mut looped = profile("tiny", big_loop);
    looped.geometry.luns = 1;
    looped.ecc.correction = CorrectionName::OnDemand;
    (looped.ecc.scrambler, looped.ecc.correct_ns) = (false, 0);
    let error = Device::power_on("test", &looped, None, Media::fresh(), &Recorder::default());
    let error = error.err().expect("refused").to_string();
    assert!(error.starts_with("ecc.correction: must be \"hardware\" with"), "{error}");
}

#[derive(Default)]
struct Log(Vec<(Instant, Event)>);

impl EventSink for Log {
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.push((at, *event));
    }
}

/// A life with wrong bits on every page, garbage collection and losses of power, over each scheduler. The
/// same seed gives the same events.
#[test]
fn every_byte_is_kept_on_pages_that_always_have_wrong_bits() {
    for (policy, detector) in
        [("fifo", DetectorName::Syndromes), ("fil", DetectorName::Syndromes), ("fil", DetectorName::Crc)]
    {
        let profile = on_demand(|p| {
            p.package.errors.fresh = 1e-4;
            p.scheduler.policy = policy.to_owned();
            p.ecc.detector = detector;
            (p.costs.ecc_frame, p.costs.ecc_error) = (2_000, 500);
            p.costs.ecc_encode = if detector == DetectorName::Crc { 100 } else { 0 };
        });
        let life = || {
            let (log, recorder) = (Rc::new(RefCell::new(Log::default())), Recorder::default());
            recorder.attach(Rc::clone(&log));
            let (mut media, mut kept, mut corrected) = (Media::fresh(), None, 0);
            for round in 0..cases(3, 20) {
                let m = machine(&profile, None, media, &recorder);
                let contents = kept.take().unwrap_or_else(|| versioned(&m));
                let read = drive(&m).bytes.div_ceil(64 << 10);
                let read = job("read back", Access::Sequential, Mix::Read, 64 << 10, read);
                let mixed = Job {
                    read_percent: 40,
                    seed: round,
                    queue_depth: 32,
                    flush_every: 61,
                    ..job("mixed", Access::Random, Mix::ReadWrite, 16 << 10, 700)
                };
                let flush = Job { flush_every: 1, ..job("flush", Access::Random, Mix::Write, 4096, 1) };
                kept = Some(run(&m, &[read, mixed, flush], contents));
                corrected += ecc(&m).corrected;
                media = m.cut_power();
            }
            recorder.detach();
            assert!(corrected > 10_000, "{corrected}");
            Rc::try_unwrap(log).ok().expect("detached").into_inner().0
        };
        let (once, twice) = (life(), life());
        assert!(once == twice, "{policy} {detector:?}");
        let of_engine = once.iter().filter(|(_, event)| matches!(event, Event::PageCorrected { .. })).count();
        assert!(of_engine > 1_000, "{of_engine}");
    }
}
