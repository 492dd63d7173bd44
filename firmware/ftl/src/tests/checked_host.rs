//! What a drive must hold, granule by granule, and random work that is checked against it.

use super::bench::Bench;
use aster_ports::host::{ByteRange, HostOp, HostStatus};
use aster_units::{Content, Rng, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

/// What a host command asks for, in granules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Read,
    Write { fua: bool },
    Compare { wrong: bool },
    Zeroes { fua: bool },
    Trim,
    Flush,
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub op: Op,
    pub first: u64,
    pub count: u64,
}

/// The version that each granule holds; 0 is zeroes.
pub struct CheckedHost {
    pub versions: Vec<u64>,
    latest: u64,
    content: Content,
    in_flight: BTreeMap<u16, (Request, u64)>,
    /// Granules that may fail with an unrecovered read.
    pub damaged: Vec<bool>,
    pub unrecovered: u64,
}

impl CheckedHost {
    pub fn new(bench: &Bench) -> Self {
        let content = bench.config.content;
        let granules = (bench.capacity() / granule_bytes(content)) as usize;
        CheckedHost {
            versions: vec![0; granules],
            latest: 0,
            content,
            in_flight: BTreeMap::new(),
            damaged: vec![false; granules],
            unrecovered: 0,
        }
    }
    pub fn granules(&self) -> u64 {
        self.versions.len() as u64
    }
    fn image(&self, granule: u64, version: u64) -> Vec<u8> {
        if version == 0 {
            return vec![0; scaled(self.content)];
        }
        match self.content {
            Content::Fingerprint => version.to_le_bytes().to_vec(),
            Content::Full => {
                let mut rng = Rng::new(granule << 32 ^ version);
                (0..64).flat_map(|_| rng.next_u64().to_le_bytes()).collect()
            }
        }
    }
    fn images(&self, first: u64, versions: impl Iterator<Item = u64>) -> Vec<u8> {
        (first..).zip(versions).flat_map(|(g, v)| self.image(g, v)).collect()
    }
    fn conflicts(&self, request: &Request) -> bool {
        let changes = |op| matches!(op, Op::Write { .. } | Op::Zeroes { .. } | Op::Trim);
        self.in_flight.values().any(|(other, _)| {
            (changes(other.op) || changes(request.op))
                && other.first < request.first + request.count
                && request.first < other.first + other.count
        })
    }

    /// Sends a request, after those it overlaps with have ended.
    pub fn send(&mut self, bench: &Bench, request: Request) {
        while !bench.has_slot() || self.conflicts(&request) {
            self.finish_one(bench);
        }
        let bytes = granule_bytes(self.content);
        let (offset, length) = (request.first * bytes, request.count * bytes);
        self.latest += 1;
        let version = self.latest;
        let range = request.first as usize..(request.first + request.count) as usize;
        let held = |o: &Self| o.images(request.first, o.versions[range.clone()].iter().copied());
        let id = match request.op {
            Op::Read => bench.send(HostOp::Read, offset, length, false, vec![0xEE; held(self).len()]),
            Op::Write { fua } => {
                let data = self.images(request.first, (0..request.count).map(|_| version));
                bench.send(HostOp::Write, offset, length, fua, data)
            }
            Op::Compare { wrong } => {
                let mut data = held(self);
                if wrong {
                    let last = data.len() - 1;
                    data[last] ^= 1;
                }
                bench.send(HostOp::Compare, offset, length, false, data)
            }
            Op::Zeroes { fua } => {
                bench.send(HostOp::WriteZeroes { deallocate: false }, offset, length, fua, Vec::new())
            }
            Op::Trim => bench.send_deallocate(&[ByteRange { offset, length }]),
            Op::Flush => bench.send(HostOp::Flush, 0, 0, false, Vec::new()),
        };
        self.in_flight.insert(id.0, (request, version));
    }
    /// Waits for a command and checks it.
    pub fn finish_one(&mut self, bench: &Bench) {
        let (completion, data) = bench.wait();
        let (request, version) = self.in_flight.remove(&completion.id.0).expect("a command in flight ends");
        let range = request.first as usize..(request.first + request.count) as usize;
        if completion.status == HostStatus::UnrecoveredRead {
            assert!(matches!(request.op, Op::Read | Op::Compare { .. }), "{request:?}: {completion:?}");
            assert!(
                self.damaged[range].iter().any(|&d| d),
                "{request:?} failed although nothing there is damaged"
            );
            self.unrecovered += 1;
            return;
        }
        let expected = match request.op {
            Op::Compare { wrong: true } => HostStatus::CompareFailure,
            _ => HostStatus::Success,
        };
        assert_eq!(completion.status, expected, "{request:?}: {}", bench.dump());
        match request.op {
            Op::Read => {
                let wanted = self.images(request.first, self.versions[range].iter().copied());
                assert!(
                    data == wanted,
                    "{request:?} at {} read other data than was written",
                    bench.exec.now()
                );
            }
            Op::Write { .. } => self.versions[range].fill(version),
            Op::Zeroes { .. } | Op::Trim => self.versions[range].fill(0),
            Op::Compare { .. } | Op::Flush => {}
        }
    }
    pub fn finish(&mut self, bench: &Bench) {
        while !self.in_flight.is_empty() {
            self.finish_one(bench);
        }
    }
    /// Reads everything back.
    pub fn verify(&mut self, bench: &Bench) {
        let step = 21;
        for first in (0..self.granules()).step_by(step) {
            let count = (self.granules() - first).min(step as u64);
            self.send(bench, Request { op: Op::Read, first, count });
        }
        self.finish(bench);
    }
    /// Writes everything once, page by page.
    pub fn fill(&mut self, bench: &Bench) {
        let count = self.granules_per_page(bench);
        for first in (0..self.granules()).step_by(count as usize) {
            self.send(bench, Request { op: Op::Write { fua: false }, first, count });
        }
    }
    pub fn granules_per_page(&self, bench: &Bench) -> u64 {
        u64::from(bench.config.geometry.page_bytes) / granule_bytes(self.content)
    }
    /// A random request.
    pub fn draw(&self, rng: &mut Rng) -> Request {
        let op = match rng.below(20) {
            0..6 => Op::Read,
            6..13 => Op::Write { fua: false },
            13 => Op::Write { fua: true },
            14 => Op::Compare { wrong: rng.below(3) == 0 },
            15 => Op::Zeroes { fua: rng.below(2) == 0 },
            16..18 => Op::Trim,
            18 => Op::Read,
            _ => Op::Flush,
        };
        if op == Op::Flush {
            return Request { op, first: 0, count: 0 };
        }
        let length_max = if op == Op::Trim && rng.below(4) == 0 { 600 } else { 40 };
        let count = 1 + rng.below(length_max.min(self.granules()));
        // Half of the work on a small part of the drive, for buffer hits and slices that meet on one page.
        let reach = if rng.below(2) == 0 { self.granules().min(256).max(count) } else { self.granules() };
        Request { op, first: rng.below(reach - count + 1), count }
    }
    pub fn work(&mut self, bench: &Bench, requests: u64, seed: u64) {
        let mut rng = Rng::new(seed);
        for _ in 0..requests {
            let request = self.draw(&mut rng);
            self.send(bench, request);
        }
        self.finish(bench);
    }
}

pub fn granule_bytes(content: Content) -> u64 {
    match content {
        Content::Full => 512,
        Content::Fingerprint => SECTOR_BYTES as u64,
    }
}

fn scaled(content: Content) -> usize {
    match content {
        Content::Full => 512,
        Content::Fingerprint => 8,
    }
}
