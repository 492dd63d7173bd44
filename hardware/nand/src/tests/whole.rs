//! Commands that the package takes at once, against the same latch by latch, which is the slow twin: random
//! transactions at random times, legal or not, on two packages. Answers, errors and states must be equal.

use super::bench::*;
use crate::*;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Event, EventSink, Recorder};
use aster_ports::package::{
    BurstTiming, CommandTimes, DataIn, DataMode, DataOut, Package, PageData, StatusTimes,
};
use aster_txn::Latch;
use aster_units::{BlockAddr, Content, Duration, Instant, PageInBlock, Rng};
use core::cell::RefCell;

type Kept = Rc<RefCell<Vec<(Instant, Event)>>>;

struct Keep(Kept);
impl EventSink for Keep {
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.borrow_mut().push((at, *event));
    }
}

fn package(config: &NandConfig) -> (NandPackage, Kept) {
    let (recorder, kept) = (Recorder::default(), Kept::default());
    recorder.attach(Keep(Rc::clone(&kept)));
    (NandArray::new(config.clone(), None, &recorder).unwrap().take_packages(0).remove(0), kept)
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Cmd(u8),
    Addr(Vec<u8>),
    Out(u32),
    Page(u8),
}
use Step::*;

/// A transaction at a time, with so many nanoseconds between its latches and strobes.
struct Drawn {
    steps: Vec<Step>,
    start: Instant,
    gap: Duration,
}

fn draw(rng: &mut Rng, config: &NandConfig, now: Instant) -> Drawn {
    let g = &config.geometry;
    let of = |rng: &mut Rng, choices: &[u64]| choices[rng.below(choices.len() as u64) as usize];
    // Few blocks, so that what is read has often been programmed; now and then one that isn't there.
    let block = if rng.below(40) == 0 { 200 } else { rng.below(3) };
    let lun = rng.below(u64::from(g.luns)) as u8;
    let row = g.row(lun, BlockAddr(block as u32), PageInBlock(rng.below(8) as u16)).0.to_le_bytes();
    let column = (of(rng, &[0, 0, 0, 4_096, 8_192, 9_000, 20_000]) as u16).to_le_bytes();
    let (long, short) = ([column[0], column[1], row[0], row[1], row[2]], row[..3].to_vec());
    let full = vec![0, 0, row[0], row[1], row[2]];
    let bytes = of(rng, &[1, 1, 16, 4_096, 8_905]) as u32;
    let change = |column: [u8; 2]| vec![Cmd(0x05), Addr(column.to_vec()), Cmd(0xe0), Out(bytes)];
    let steps = match rng.below(20) {
        0..=5 => vec![Cmd(0x70), Out(1)],
        6 => vec![Cmd(0x78), Addr(short), Out(1)],
        7 | 8 => vec![Cmd(0x00), Addr(full), Cmd(0x30)],
        9 => vec![Cmd(0x00), Addr(long.to_vec()), Cmd(0x30)],
        10..=12 => change(column),
        // A transfer, and the next READ behind it.
        13 => [change(column), vec![Cmd(0x00), Addr(full), Cmd(0x30)]].concat(),
        14 => vec![Cmd(0x06), Addr(long.to_vec()), Cmd(0xe0), Out(bytes)],
        15 | 16 => vec![Cmd(0x80), Addr(full), Page(rng.below(200) as u8), Cmd(0x10)],
        17 => vec![Cmd(0x60), Addr(short), Cmd(0xd0)],
        // Prefixes, halves of commands, other confirms, cached and gathered reads, identification.
        18 => vec![Cmd(of(rng, &[0xa2, 0x01, 0x00, 0x31, 0x3f, 0x61, 0xff, 0x90, 0x05]) as u8)],
        _ => vec![Cmd(0x00), Addr(full), Cmd(of(rng, &[0x31, 0x32, 0x35, 0x70]) as u8)],
    };
    // Some come long after the one before, others much too soon.
    let pause = of(rng, &[20, 100, 1_000, 10_000, 60_000, 100_000, 900_000, 5_000_000]);
    let gap = Duration::from_nanos(of(rng, &[10, 30, 100, 100, 400, 400, 400]));
    Drawn { steps, start: now + Duration::from_nanos(pause), gap }
}

/// What a burst has shown.
fn shown(out: &DataOut<'_>) -> String {
    match out {
        DataOut::Bytes(bytes) => format!("{bytes:?}"),
        DataOut::Page { column, page, flips } => {
            format!("{column:?} {:?} {:?} {} {flips:?}", page.data, page.oob, page.seed)
        }
        DataOut::Erased { column, flips } => format!("erased {column:?} {flips:?}"),
    }
}

/// Carries a transaction out. Returns what it has shown, its error if it had one, and its end.
fn carried_out(
    package: &mut NandPackage,
    drawn: &Drawn,
    at_once: bool,
    taken: &mut u32,
) -> (Vec<String>, Instant) {
    let (mut now, mut said) = (drawn.start, Vec::new());
    let mode = DataMode::Sdr;
    let gap = drawn.gap;
    // Data come a wait after the last latch.
    let burst_at = |last: Instant| BurstTiming { first: last + gap * 3, last: last + gap * 4, mode };
    if at_once && drawn.steps == [Cmd(0x70), Out(1)] {
        let burst = burst_at(now + gap);
        let released = burst.last + gap * 2;
        let at = StatusTimes { selected: now, command: now + gap, burst, released };
        if let Some(status) = package.read_status(&at) {
            *taken += 1;
            return (vec![shown(&DataOut::Bytes(&[status]))], released);
        }
    }
    let mut result = package.select(now, true).map_err(|e| e.to_string());
    let mut next = 0;
    while result.is_ok()
        && let Some(step) = drawn.steps.get(next)
    {
        if at_once && let [Cmd(first), Addr(addresses), Cmd(second), ..] = &drawn.steps[next..] {
            let last = now + gap * (2 + addresses.len() as u64);
            let at = CommandTimes { first: now + gap, addresses: now + gap * 2, cycle: gap, second: last };
            if package.command(&at, *first, addresses, *second) {
                *taken += 1;
                (now, next) = (last, next + 3);
                continue;
            }
        }
        next += 1;
        result = match step {
            Cmd(value) => {
                now += gap;
                package.latch(now, Latch::Command(*value)).map_err(|e| e.to_string())
            }
            Addr(values) => values.iter().try_for_each(|&value| {
                now += gap;
                package.latch(now, Latch::Address(value)).map_err(|e| e.to_string())
            }),
            Out(length) => {
                let timing = burst_at(now);
                now = timing.last + gap;
                package.data_out(timing, *length, |out| said.push(shown(out))).map_err(|e| e.to_string())
            }
            Page(fill) => {
                let content = package.config.content;
                let (data, oob) = page_of(content, *fill);
                let page = PageData { content, data: &data, oob: &oob, seed: 7 };
                let timing = burst_at(now);
                now = timing.last + gap;
                package.data_in(timing, 8_905, DataIn::Page(page)).map_err(|e| e.to_string())
            }
        };
    }
    said.extend(result.err());
    now += gap;
    let _ = package.select(now, false);
    (said, now)
}

/// Everything that later calls depend on, but the LUNs, whose states the answers show.
fn state(package: &NandPackage, now: Instant) -> String {
    let p = package;
    let luns: Vec<_> =
        p.luns.iter().map(|lun| (lun.ready_from(now), lun.has_data(), lun.collects())).collect();
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:02x} {} {:?} {:?} {:?} {:?} {luns:?}",
        p.phase,
        p.view,
        p.source,
        p.prefix,
        p.mode,
        p.command,
        p.addressed,
        p.selected,
        (&p.answer, p.answer_at),
        (p.enabled, p.last_seen),
        p.waits
    )
}

#[test]
fn commands_at_once_are_their_latches_one_by_one() {
    let two_luns = || {
        let mut c = rich(Content::Fingerprint);
        c.geometry.luns = 2;
        c
    };
    let configs = [config(Content::Full), rich(Content::Fingerprint), two_luns()];
    for (which, config) in configs.iter().enumerate() {
        let mut taken = 0;
        for seed in 0..60 {
            let mut rng = Rng::new(1_000 * which as u64 + seed);
            let ((mut fast, of_fast), (mut slow, of_slow)) = (package(config), package(config));
            let mut now = Instant::ZERO;
            for number in 0..150 {
                let drawn = draw(&mut rng, config, now);
                let (said, end) = carried_out(&mut fast, &drawn, true, &mut taken);
                let by_latches = carried_out(&mut slow, &drawn, false, &mut 0);
                let place = || format!("configuration {which}, seed {seed}, {number}: {:?}", drawn.steps);
                assert_eq!((said, end), by_latches, "{}", place());
                assert_eq!(state(&fast, end), state(&slow, end), "{}", place());
                now = end;
            }
            assert_eq!(of_fast, of_slow, "configuration {which}, seed {seed}: events");
        }
        // Of 9,000 transactions, most of those that could be.
        assert!(taken > 1_500, "configuration {which}: {taken} were taken at once");
    }
}
