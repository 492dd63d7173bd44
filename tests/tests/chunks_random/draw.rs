//! What the host does next: legal commands, and ones that must be refused.

use crate::model::Stamp;
use crate::{BLOCKS, Host, Kind, OUTSIDE, QUEUE, SECTOR, Sent};
use aster_driver::{Moved, Vector, VectorEnd};
use aster_tests::nowhere::Nowhere;
use aster_wire::nvme::{IoOpcode, Status};
use aster_wire::ocssd::io;
use aster_wire::ocssd::v2::{COPY, ChunkFlags, status};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A deallocation of these blocks, as its dwords 10 and 11 and its list of ranges.
pub fn deallocation(ranges: &[(u64, u32)]) -> (u64, Vec<u8>) {
    let bytes = |(first, blocks): &(u64, u32)| {
        [vec![0; 4], blocks.to_le_bytes().to_vec(), first.to_le_bytes().to_vec()].concat()
    };
    // AD stands in dword 11.
    ((ranges.len() as u64 - 1) | 4 << 32, ranges.iter().flat_map(bytes).collect())
}

impl Host {
    /// A command that is legal, and whose chunks none of `taken` names.
    pub fn draw(&mut self, taken: &mut BTreeSet<usize>) -> Option<Rc<Sent>> {
        let before = taken.clone();
        let (kind, mut opcode, blocks) = match self.below(9) {
            0..4 => (Kind::Write, io::WRITE, self.draw_write(taken)),
            4 => (Kind::Reset, io::ERASE, self.draw_reset(taken)),
            5 => (Kind::Copy, COPY, self.draw_write(taken)),
            _ => (Kind::Read, io::READ, self.draw_read(taken)),
        };
        if blocks.is_empty() {
            return None;
        }
        let sources = match kind {
            Kind::Copy => self.draw_sources(blocks.len(), before, taken),
            Kind::Write | Kind::Reset | Kind::Read => Vec::new(),
        };
        if kind == Kind::Reset && self.below(2) == 0 {
            opcode = IoOpcode::DatasetManagement.raw();
        }
        // A write or read of NVMe is a vector of one block.
        if blocks.len() == 1 && self.below(2) == 0 {
            opcode = match kind {
                Kind::Write => IoOpcode::Write.raw(),
                Kind::Read => IoOpcode::Read.raw(),
                Kind::Reset | Kind::Copy => opcode,
            };
        }
        self.version += 1;
        let stamps = blocks.iter().map(|block| Stamp { block: *block, version: self.version }).collect();
        let nowhere = if self.below(8) == 0 { self.draw_nowhere(opcode, blocks.len()) } else { None };
        Some(Rc::new(Sent { kind, opcode, blocks, sources, stamps, nowhere, end: RefCell::new(None) }))
    }
    /// A pointer that names no memory, if the command has any.
    fn draw_nowhere(&mut self, opcode: u8, count: usize) -> Option<Nowhere> {
        let of = match opcode {
            io::ERASE if count > 1 => vec![Nowhere::Addresses, Nowhere::Metadata],
            io::ERASE => vec![Nowhere::Metadata],
            COPY if count > 1 => vec![Nowhere::Addresses, Nowhere::Destinations],
            COPY => Vec::new(),
            _ if opcode == IoOpcode::DatasetManagement.raw() => vec![Nowhere::Data],
            _ => Nowhere::of_transfer(count),
        };
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }
    /// Whether one more chunk may be opened, with those that are open and those that this round opens.
    fn may_open(&self, taken: &BTreeSet<usize>) -> bool {
        let counts = |(n, chunk): &(usize, &crate::Chunk)| {
            chunk.state == ChunkFlags::Open || chunk.state == ChunkFlags::Free && taken.contains(n)
        };
        let most = self.profile.ftl.open_chunks_max as usize;
        most == 0 || self.chunks.iter().enumerate().filter(counts).count() < most
    }
    fn draw_write(&mut self, taken: &mut BTreeSet<usize>) -> Vec<u64> {
        let mut blocks = Vec::new();
        for _ in 0..1 + self.below(5) {
            let n = self.below(self.chunks.len());
            let may = self.chunks[n].state == ChunkFlags::Open || self.may_open(taken);
            if may && self.chunks[n].is_writable() && taken.insert(n) {
                let left = self.chunks[n].blocks.len() - self.chunks[n].written;
                let count = 1 + self.below(left.min(12));
                let next = self.chunks[n].first + self.chunks[n].written as u64;
                blocks.extend(next..next + count as u64);
            }
        }
        blocks
    }
    /// The sources of a copy: what no other command of this round changes. Few of them hold nothing.
    fn draw_sources(
        &mut self,
        count: usize,
        before: BTreeSet<usize>,
        taken: &mut BTreeSet<usize>,
    ) -> Vec<u64> {
        let is_known = |n: &usize| !before.contains(n) && self.chunks[*n].state != ChunkFlags::Offline;
        // At least the chunks that are written to.
        let known: Vec<usize> = (0..self.chunks.len()).filter(is_known).collect();
        let mut sources = Vec::new();
        while sources.len() < count {
            let n = known[self.below(known.len())];
            let written = self.chunks[n].written;
            if written > 0 || self.below(400) == 0 {
                let bound = if self.below(100) == 0 { self.chunks[n].blocks.len() } else { written.max(1) };
                sources.push(self.chunks[n].first + self.below(bound) as u64);
                taken.insert(n);
            }
        }
        sources
    }
    fn draw_reset(&mut self, taken: &mut BTreeSet<usize>) -> Vec<u64> {
        let mut blocks = Vec::new();
        for _ in 0..1 + self.below(4) {
            let n = self.below(self.chunks.len());
            if self.chunks[n].is_resettable() && taken.insert(n) {
                // Any block of a chunk names it.
                blocks.push(self.chunks[n].first + self.below(self.chunks[n].blocks.len()) as u64);
            }
        }
        blocks
    }
    fn draw_read(&mut self, taken: &mut BTreeSet<usize>) -> Vec<u64> {
        let (mut blocks, mut named) = (Vec::new(), BTreeSet::new());
        for _ in 0..1 + self.below(64) {
            let n = self.below(self.chunks.len());
            if !taken.contains(&n) && self.chunks[n].state != ChunkFlags::Offline {
                blocks.push(self.chunks[n].first + self.below(self.chunks[n].blocks.len()) as u64);
                named.insert(n);
            }
        }
        // What is written in the same round could overtake the read.
        taken.extend(named);
        blocks
    }

    /// The first blocks of as many free chunks as are one too many to be open, if there are so many.
    fn too_many(&self) -> Option<Vec<u64>> {
        let most = self.profile.ftl.open_chunks_max as usize;
        let of = |state| self.chunks.iter().filter(move |chunk| chunk.state == state);
        let count = (most + 1).checked_sub(of(ChunkFlags::Open).count())?;
        let free: Vec<u64> = of(ChunkFlags::Free).map(|chunk| chunk.first).take(count).collect();
        (most > 0 && free.len() == count).then_some(free)
    }

    /// Sends a command that must be refused, and checks that nothing was done.
    pub fn illegal(&mut self) {
        let n = self.below(self.chunks.len());
        let (state, first) = (self.chunks[n].state, self.chunks[n].first);
        let next = first + self.chunks[n].written as u64;
        let before = self.totals();
        let is_writable = self.chunks[n].is_writable();
        let deallocate = IoOpcode::DatasetManagement.raw();
        let open = self.chunks.iter().find(|chunk| chunk.state == ChunkFlags::Open);
        let open_at = open.map(|chunk| chunk.first + chunk.written as u64);
        let mut sources = None;
        let (opcode, blocks, expected): (u8, Vec<u64>, Status) = match self.below(16) {
            0 | 1 if is_writable && next + 1 < first + BLOCKS => {
                (io::WRITE, vec![next + 1], status::OUT_OF_ORDER)
            }
            0 | 1 => (io::WRITE, vec![first], status::OUT_OF_ORDER),
            2 | 3 if state == ChunkFlags::Offline => (io::ERASE, vec![first], status::OFFLINE),
            2 | 3 if state == ChunkFlags::Free => (io::ERASE, vec![first + 3], status::INVALID_RESET),
            4 if state == ChunkFlags::Offline => (io::READ, vec![first + 1], status::OFFLINE),
            5 => (io::ERASE, vec![first, OUTSIDE], status::OUT_OF_RANGE),
            6 => (IoOpcode::Compare.raw(), vec![first], Status::INVALID_OPCODE.with_dnr(true)),
            7 => (io::WRITE, vec![first; 64], status::OUT_OF_ORDER),
            8 if state == ChunkFlags::Offline && open_at.is_some() => {
                sources = Some(vec![first]);
                (COPY, open_at.into_iter().collect(), status::OFFLINE)
            }
            // A chunk is written from its beginning once.
            8 if !is_writable || next > first => (COPY, vec![first; 4], status::OUT_OF_ORDER),
            9 if state == ChunkFlags::Offline => (deallocate, vec![first], status::OFFLINE),
            9 if state == ChunkFlags::Free => (deallocate, vec![first], status::INVALID_RESET),
            10 => (deallocate, vec![first + 1], status::OUT_OF_RANGE),
            11 => (COPY, vec![first, OUTSIDE], status::OUT_OF_RANGE),
            12 => (deallocate, vec![first; 65], Status::INVALID_FIELD.with_dnr(true)),
            13.. => match self.too_many() {
                Some(free) => ([io::WRITE, COPY][self.below(2)], free, status::OUT_OF_ORDER),
                None => return,
            },
            _ => return,
        };
        let end = self.machine.block_on("an illegal command", {
            let driver = Rc::clone(self.machine.driver());
            async move {
                if opcode == COPY {
                    return driver
                        .send_copy(QUEUE, COPY, sources.as_ref().unwrap_or(&blocks), &blocks)
                        .await
                        .unwrap();
                }
                let ranges: Vec<_> = blocks.iter().map(|block| (*block, BLOCKS as u32)).collect();
                let (dwords, list) = deallocation(&ranges);
                let data = vec![0x55; blocks.len().min(64) * SECTOR];
                let (addresses, data) = match opcode {
                    io::ERASE => (&blocks[..], Moved::Nothing),
                    _ if opcode == deallocate => (&[dwords][..], Moved::ToDrive(&list)),
                    _ => (&blocks[..], Moved::ToDrive(&data)),
                };
                let vector = Vector { opcode, control: 0, addresses, data, metadata: Moved::Nothing };
                driver.send_vector(QUEUE, vector).await.unwrap()
            }
        });
        let end = end.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(end, VectorEnd { status: expected, failed: 0 }, "{opcode:x}h {first:x}h {state:?}");
        self.seen.insert(end.status.raw());
        assert_eq!(self.totals(), before, "a refused command does nothing");
        self.check_report();
    }
}
