//! Sudden losses of power, at any instant: what was flushed is there, everything else is one of its versions.

use super::bench::{Bench, config};
use crate::{
    Boot, Capacity, CareConfig, DriveState, FtlConfig, GcConfig, HostConfig, LineConfig, Refresh,
    WearLevelling,
};
use aster_ports::host::{ByteRange, CommandId, HostOp, HostStatus};
use aster_units::{Content, Duration, Rng};
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

/// What a page may hold: versions in the order of their submission, from the last one that is safe on.
#[derive(Clone, Default)]
struct Page {
    versions: Vec<u64>,
    // How many of them have completed, and how many there were before the first.
    completed: usize,
    gone: usize,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Write { fua: bool },
    Trim,
    Read,
    Flush,
}

/// Random work on whole pages, never two commands on one page at a time, and what must be there afterwards.
pub(super) struct Torture {
    pages: Vec<Page>,
    in_flight: BTreeMap<u16, (Work, u64)>,
    flushes: BTreeMap<u16, Vec<usize>>,
    latest: u64,
    rng: Rng,
    /// Of 40 commands.
    pub(super) trims: u64,
}

impl Torture {
    pub(super) fn new(bench: &Bench, seed: u64) -> Self {
        let zero = Page { versions: vec![0], completed: 1, gone: 0 };
        Torture {
            pages: vec![zero; bench.ftl.logical_pages() as usize],
            in_flight: BTreeMap::new(),
            flushes: BTreeMap::new(),
            latest: 0,
            rng: Rng::new(seed),
            trims: 4,
        }
    }
    fn image(bench: &Bench, version: u64) -> Vec<u8> {
        let page = bench.config.geometry.page_bytes as usize;
        match bench.config.content {
            Content::Full => version.to_le_bytes().repeat(page / 8),
            Content::Fingerprint => version.to_le_bytes().repeat(page / 4096),
        }
    }
    /// The version that a page holds; it must be one.
    fn version(bytes: &[u8]) -> u64 {
        let (words, _) = bytes.as_chunks::<8>();
        assert!(words.iter().all(|word| word == &words[0]), "a page is torn");
        u64::from_le_bytes(words[0])
    }
    fn send(&mut self, bench: &Bench) {
        while !bench.has_slot() {
            self.finish_one(bench);
        }
        let bytes = u64::from(bench.config.geometry.page_bytes);
        let n = self.pages.len() as u64;
        let hot = if self.rng.below(2) == 0 { n.min(40) } else { n };
        let page = self.rng.below(hot);
        let work = match self.rng.below(40) {
            0 => Work::Flush,
            1..4 => Work::Write { fua: true },
            4..6 => Work::Read,
            other if other < 6 + self.trims => Work::Trim,
            _ => Work::Write { fua: false },
        };
        if !matches!(work, Work::Flush)
            && self.in_flight.values().any(|&(of, at)| at == page && !matches!(of, Work::Flush))
        {
            return;
        }
        self.latest += 1;
        let version = self.latest;
        let id: CommandId = match work {
            Work::Flush => bench.send(HostOp::Flush, 0, 0, false, vec![]),
            Work::Read => bench.send(HostOp::Read, page * bytes, bytes, false, Torture::image(bench, 1)),
            Work::Trim => bench.send_deallocate(&[ByteRange { offset: page * bytes, length: bytes }]),
            Work::Write { fua } => {
                let data = Torture::image(bench, version);
                bench.send(HostOp::Write, page * bytes, bytes, fua, data)
            }
        };
        match work {
            Work::Flush => {
                let completed = self.pages.iter().map(|page| page.gone + page.completed).collect();
                self.flushes.insert(id.0, completed);
            }
            Work::Write { .. } => self.pages[page as usize].versions.push(version),
            Work::Trim => self.pages[page as usize].versions.push(0),
            Work::Read => {}
        }
        self.in_flight.insert(id.0, (work, page));
    }
    /// Writes every page once.
    pub(super) fn fill(&mut self, bench: &Bench) {
        let bytes = u64::from(bench.config.geometry.page_bytes);
        for page in 0..self.pages.len() as u64 {
            while !bench.has_slot() {
                self.finish_one(bench);
            }
            self.latest += 1;
            let data = Torture::image(bench, self.latest);
            let id = bench.send(HostOp::Write, page * bytes, bytes, false, data);
            self.pages[page as usize].versions.push(self.latest);
            self.in_flight.insert(id.0, (Work::Write { fua: false }, page));
        }
        self.finish(bench);
    }
    fn finish_one(&mut self, bench: &Bench) {
        let (completion, data) = bench.wait();
        assert_eq!(completion.status, HostStatus::Success);
        let (work, page) = self.in_flight.remove(&completion.id.0).expect("a command in flight ends");
        match work {
            Work::Read => {
                let newest = self.pages[page as usize].versions.last().copied();
                assert_eq!(Some(Torture::version(&data)), newest);
            }
            Work::Write { .. } | Work::Trim => {
                let at = page as usize;
                self.pages[at].completed = self.pages[at].versions.len();
                if let Work::Write { fua: true } = work {
                    self.safe(at, self.pages[at].versions.len());
                }
            }
            Work::Flush => {
                let completed = self.flushes.remove(&completion.id.0).expect("a flush was sent");
                for (at, count) in completed.into_iter().enumerate() {
                    // Counted from the page's first version; those that became safe meanwhile are gone.
                    let gone = self.pages[at].gone;
                    self.safe(at, count.saturating_sub(gone));
                }
            }
        }
    }
    /// The first `count` versions of a page but the last of them can't be met any more.
    fn safe(&mut self, at: usize, count: usize) {
        let page = &mut self.pages[at];
        let drop = count.saturating_sub(1);
        page.versions.drain(..drop);
        page.completed -= drop;
        page.gone += drop;
    }
    pub(super) fn finish(&mut self, bench: &Bench) {
        while !self.in_flight.is_empty() {
            self.finish_one(bench);
        }
    }
    /// Works until `until`, whatever is in flight then.
    pub(super) fn work_until(&mut self, bench: &Bench, until: aster_units::Instant) {
        while bench.exec.now() < until {
            self.send(bench);
            let step = bench.exec.now() + Duration::from_micros(self.rng.below(400));
            while let Some(deadline) = bench.exec.next_deadline().filter(|at| *at <= step.min(until)) {
                bench.exec.advance_to(deadline);
            }
            bench.exec.advance_to(step.min(until));
            while bench.has_completion() {
                self.finish_one(bench);
            }
        }
    }
    /// What the drive holds is what it must hold.
    pub(super) fn take_as_it_is(&mut self, bench: &Bench) {
        let bytes = u64::from(bench.config.geometry.page_bytes);
        for (at, page) in self.pages.iter_mut().enumerate() {
            let (status, data) = bench.run(HostOp::Read, at as u64 * bytes, bytes, Torture::image(bench, 1));
            assert_eq!(status, HostStatus::Success);
            *page = Page { versions: vec![Torture::version(&data)], completed: 1, gone: 0 };
        }
    }
    /// After power-on: each page holds one of its versions, and holds it still.
    pub(super) fn verify(&mut self, bench: &Bench) {
        self.in_flight.clear();
        self.flushes.clear();
        let bytes = u64::from(bench.config.geometry.page_bytes);
        for round in 0..2 {
            for at in 0..self.pages.len() {
                let room = Torture::image(bench, 1);
                let (status, data) = bench.run(HostOp::Read, at as u64 * bytes, bytes, room);
                assert_eq!(status, HostStatus::Success, "page {at}, {:?}", self.pages[at].versions);
                let found = Torture::version(&data);
                let page = &mut self.pages[at];
                assert!(
                    page.versions.contains(&found),
                    "page {at} holds version {found} in round {round}; right would be {:?}",
                    page.versions
                );
                *page = Page { versions: vec![found], completed: 1, gone: 0 };
            }
        }
    }
}

/// Blocks of so few pages that everything happens often, in a drive that is nearly full.
pub(super) fn small(content: Content, pages_per_word_line: u16, whole_lines: bool) -> FtlConfig {
    let base = config(content);
    FtlConfig {
        geometry: aster_units::Geometry { blocks_per_lun: 24, pages_per_block: 12, ..base.geometry },
        capacity: Capacity::OverProvisioning(25.0),
        lines: LineConfig { pages: pages_per_word_line, whole: whole_lines },
        gc: GcConfig { depth: if whole_lines { 3 } else { base.gc.depth }, ..base.gc },
        // Blocks at rest and blocks that are read move all the time, and the scan never ends.
        care: CareConfig {
            wear_levelling: WearLevelling::Static { spread: 2 },
            refresh: Refresh { reads: 25, ..base.care.refresh },
            retire_uncorrectable: true,
            scan_interval: Duration::from_micros(700),
            ..base.care
        },
        ..base
    }
}

pub(super) fn torture(config: FtlConfig, seed: u64, cuts: u32) {
    std::println!("seed {seed}, word lines of {} pages, whole: {}", config.lines.pages, config.lines.whole);
    let mut bench = Bench::fresh(config);
    let mut torture = Torture::new(&bench, seed);
    let mut rng = Rng::new(!seed);
    if rng.below(3) > 0 {
        torture.fill(&bench);
    }
    for cut in 0..cuts {
        if config.host.auto_completion {
            bench.tell_after(Duration::from_micros(rng.below(2_000)));
        }
        let long = rng.below(4) == 0;
        let micros = rng.below(if long { 400_000 } else { 30_000 });
        torture.work_until(&bench, bench.exec.now() + Duration::from_micros(micros));
        assert_eq!(bench.ftl.stats().grown_bad_blocks, 0, "what a loss of power tears costs no block");
        bench.spoil_copies(&mut rng);
        bench = bench.restart();
        // Recovery may lose its power, too.
        while rng.below(3) == 0 {
            let until = bench.exec.now() + Duration::from_micros(rng.below(12_000));
            while let Some(deadline) = bench.exec.next_deadline().filter(|at| *at <= until) {
                bench.exec.advance_to(deadline);
            }
            bench = bench.restart();
        }
        bench.wait_booted();
        let state = (bench.ftl.state(), bench.ftl.boot_error());
        assert_eq!(state, (DriveState::Ready, None), "cut {cut}");
        torture.verify(&bench);
        assert!(
            matches!(bench.ftl.stats().boot, Boot::Recovered | Boot::Clean | Boot::Fresh),
            "{:?}",
            bench.ftl.stats().boot
        );
    }
    torture.finish(&bench);
    // It goes on writing.
    torture.fill(&bench);
}

fn is_long() -> bool {
    std::env::var("ASTER_LONG").is_ok_and(|long| long == "1")
}
/// Another series: ASTER_SEED=100000.
fn first_seed() -> u64 {
    std::env::var("ASTER_SEED").map_or(0, |seed| seed.parse().expect("ASTER_SEED is a number"))
}

#[test]
fn nothing_flushed_is_lost_and_nothing_else_torn_wherever_the_power_goes() {
    let lines = [(2, false), (1, false), (3, false), (2, false), (3, true), (2, true)];
    for (n, (pages_per_word_line, whole_lines)) in lines.into_iter().enumerate() {
        let content = if n % 2 == 0 { Content::Full } else { Content::Fingerprint };
        let (base, seeds) = (first_seed(), if is_long() { 200 } else { 2 });
        for seed in base..base + seeds {
            torture(small(content, pages_per_word_line, whole_lines), seed * 10 + n as u64, 12);
        }
    }
}

/// As above, the host ahead of the FTL.
#[test]
fn nothing_flushed_is_lost_when_commands_are_completed_with_their_last_byte() {
    let (base, seeds) = if is_long() { (first_seed(), 200) } else { (first_seed() + 300, 3) };
    for seed in base..base + seeds {
        let lines = [(2, false), (1, false), (3, true)][seed as usize % 3];
        let config = FtlConfig {
            host: HostConfig { auto_completion: true, ..small(Content::Full, lines.0, lines.1).host },
            ..small(Content::Full, lines.0, lines.1)
        };
        torture(config, seed, 12);
    }
}

/// As above, with several blocks of a LUN open for the host.
#[test]
fn nothing_flushed_is_lost_of_several_streams() {
    let (base, seeds) = if is_long() { (first_seed(), 200) } else { (first_seed() + 400, 3) };
    for seed in base..base + seeds {
        let (lines, streams) = [((2, false), 3), ((1, false), 2), ((3, true), 4)][seed as usize % 3];
        let config = FtlConfig {
            streams,
            capacity: Capacity::OverProvisioning(60.0),
            ..small(Content::Full, lines.0, lines.1)
        };
        torture(config, seed, 12);
    }
}

/// Blocks of a stream that no longer is are collected like any other.
#[test]
fn a_drive_goes_on_with_fewer_streams() {
    for is_clean in [true, false] {
        let capacity = Capacity::OverProvisioning(60.0);
        let config = Bench::fit(FtlConfig { streams: 4, capacity, ..small(Content::Full, 2, false) });
        let mut bench = Bench::fresh(config);
        let mut torture = Torture::new(&bench, 7);
        torture.fill(&bench);
        torture.work_until(&bench, bench.exec.now() + Duration::from_micros(40_000));
        if is_clean {
            torture.finish(&bench);
            assert_eq!(bench.shut_down(), HostStatus::Success);
        }
        bench = bench.restart_as(FtlConfig { streams: 1, ..config });
        bench.wait_booted();
        assert_eq!((bench.ftl.state(), bench.ftl.boot_error()), (DriveState::Ready, None));
        torture.verify(&bench);
        torture.fill(&bench);
    }
}

/// Many LUNs of few small blocks, none of which has any to spare: storing the map erases blocks as well as
/// garbage collection, which finds no room just then.
#[test]
fn many_luns_of_small_blocks_never_run_out_of_room() {
    let base = small(Content::Full, 2, false);
    let geometry = aster_units::Geometry {
        channels: 4,
        ways: 4,
        luns: 1,
        blocks_per_lun: 16,
        pages_per_block: 8,
        page_bytes: 4096,
        ..base.geometry
    };
    let config = FtlConfig {
        geometry,
        care: CareConfig {
            wear_levelling: WearLevelling::Static { spread: 20 },
            refresh: Refresh { reads: 0, ..base.care.refresh },
            scan_interval: Duration::ZERO,
            ..base.care
        },
        capacity: Capacity::OverProvisioning(32.0),
        ..base
    };
    let config = Bench::fit(config);
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(config.areas().blocks_needed_per_lun(), 15);
    let (base, seeds) = if is_long() { (first_seed(), 200) } else { (first_seed() + 220, 2) };
    for seed in base..base + seeds {
        torture(config, seed, 12);
    }
}
