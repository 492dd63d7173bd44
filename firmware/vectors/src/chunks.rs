//! Chunks of Open-Channel SSD 2.0: a block in each plane of a LUN, written as one (P29).
//!
//! A chunk's state isn't stored. It follows from how far its blocks are written, which is found by reading at
//! power-on, and from what the bad-block table says of them.

use crate::plan::Run;
use crate::shape::Shape;
use crate::table::{Block, BlockTable};
use crate::wear;
use aster_ports::host::VectorFault;
use aster_units::{BlockAddr, LunIndex, SectorRange};
use aster_wire::ocssd::v2::{ChunkDescriptor, ChunkFlags};

/// A chunk as its host sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chunk {
    pub state: ChunkFlags,
    /// Pages that are written, or being written, in all of its planes.
    pub written: u32,
}

impl Chunk {
    /// The chunk of these blocks, one of each plane, with `pages` pages each. Pages are written in turns of
    /// the planes. Blocks of which that isn't true are what a reset has left that was cut off by a loss of
    /// power: the chunk counts as written, so that it must be reset again. If a program has failed, they are
    /// what a write has left behind that failure, and the chunk ends there.
    pub fn of(planes: &[Block], pages: u16) -> Self {
        if !planes.iter().all(Block::is_usable) {
            return Chunk { state: ChunkFlags::Offline, written: 0 };
        }
        let count = planes.len() as u32;
        let all = count * u32::from(pages);
        let of = |block: &Block| u32::from(block.written().unwrap_or(pages));
        let written: u32 = planes.iter().map(of).sum();
        let in_turns = |(block, plane)| of(block) == (written + count - 1 - plane) / count;
        let is_regular = planes.iter().zip(0..).all(in_turns);
        let has_failed = planes.iter().any(|block| block.failures > 0);
        if planes.iter().any(|block| block.closed) || !is_regular && has_failed {
            // Up to the last page that was programmed well.
            let end = |(block, plane): (&Block, u32)| match of(block).saturating_sub(block.failures.into()) {
                0 => 0,
                good => (good - 1) * count + plane + 1,
            };
            let written = planes.iter().zip(0..).map(end).max().unwrap_or(0);
            return Chunk { state: ChunkFlags::Closed, written };
        }
        if !is_regular {
            return Chunk { state: ChunkFlags::Closed, written: all };
        }
        let state = match written {
            0 => ChunkFlags::Free,
            _ if written == all => ChunkFlags::Closed,
            _ => ChunkFlags::Open,
        };
        Chunk { state, written }
    }
    fn is_writable(self) -> bool {
        matches!(self.state, ChunkFlags::Free | ChunkFlags::Open)
    }
}

/// Checks that each run of a write is a whole page, and the next one of its chunk.
pub(crate) fn check_write(runs: &[Run], table: &BlockTable, shape: &Shape) -> Result<(), VectorFault> {
    let whole = SectorRange::whole(shape.geometry.sectors_per_page());
    let planes = u32::from(shape.geometry.planes);
    for (n, run) in runs.iter().enumerate() {
        let chunk = chunk_of(run.lun, run.block, table, shape);
        let same = |other: &&Run| (other.lun, other.block.0 / planes) == (run.lun, run.block.0 / planes);
        let before = runs[..n].iter().filter(same).count() as u32;
        let place = u32::from(run.page.0) * planes + run.block.0 % planes;
        if !chunk.is_writable() || run.sectors != whole || place != chunk.written + before {
            return Err(VectorFault::OutOfOrder);
        }
    }
    Ok(())
}

/// Checks that `most` chunks at most would be open after a write (P29, MAXOC); 0 for no bound.
pub(crate) fn check_open(
    runs: &[Run],
    table: &BlockTable,
    shape: &Shape,
    most: u32,
) -> Result<(), VectorFault> {
    let planes = u32::from(shape.geometry.planes);
    let of = |run: &Run| (run.lun, run.block.0 / planes);
    let opens = |(n, run): &(usize, &Run)| {
        let is_free = chunk_of(run.lun, run.block, table, shape).state == ChunkFlags::Free;
        is_free && runs[..*n].iter().all(|before| of(before) != of(run))
    };
    if most == 0 {
        return Ok(());
    }
    let opened = runs.iter().enumerate().filter(opens).count();
    if opened == 0 {
        return Ok(());
    }
    // A chunk is opened so seldom that all may be looked at.
    let luns = (0..shape.geometry.total_luns()).map(LunIndex);
    let blocks = luns.flat_map(|lun| table.of_lun(lun).chunks(planes as usize));
    let pages = shape.geometry.pages_per_block;
    let open = blocks.filter(|of| Chunk::of(of, pages).state == ChunkFlags::Open);
    if open.count() + opened > most as usize { Err(VectorFault::OutOfOrder) } else { Ok(()) }
}

/// Checks that chunks may be reset. A free one may not: resets wear, and this drive counts on the host to
/// look before it resets.
pub(crate) fn check_reset(
    mut blocks: impl Iterator<Item = (LunIndex, BlockAddr)>,
    table: &BlockTable,
    shape: &Shape,
) -> Result<(), VectorFault> {
    blocks.try_for_each(|(lun, block)| match chunk_of(lun, block, table, shape).state {
        ChunkFlags::Offline => Err(VectorFault::Offline),
        ChunkFlags::Free => Err(VectorFault::NotResettable),
        ChunkFlags::Open | ChunkFlags::Closed => Ok(()),
    })
}

/// The chunk that a block is of.
pub(crate) fn chunk_of(lun: LunIndex, block: BlockAddr, table: &BlockTable, shape: &Shape) -> Chunk {
    let planes = usize::from(shape.geometry.planes);
    let first = block.0 as usize / planes * planes;
    Chunk::of(&table.of_lun(lun)[first..first + planes], shape.geometry.pages_per_block)
}

/// The descriptor of the chunk with this number among all of the drive's, whose blocks are made for so many
/// erases.
pub(crate) fn descriptor(index: u32, table: &BlockTable, shape: &Shape, endurance: u32) -> ChunkDescriptor {
    let chunks = &shape.chunks;
    let place = chunks.chunk_at(index).expect("the report ends with the last chunk");
    let block = BlockAddr(place.block * u32::from(shape.geometry.planes));
    let lun = shape.lun(place.channel, place.lun);
    let chunk = chunk_of(lun, block, table, shape);
    let wear = wear::index_of(lun, block, table, shape, endurance);
    let written = chunk.written * chunks.page_blocks();
    ChunkDescriptor::sequential(chunk.state, wear, chunks.encode(place), chunks.chunk_blocks(), written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::host::BlockState;
    use aster_units::Geometry;

    const GEOMETRY: Geometry = Geometry {
        channels: 1,
        ways: 1,
        luns: 1,
        planes: 2,
        blocks_per_lun: 4,
        pages_per_block: 4,
        page_bytes: 16_384,
        spare_bytes: 0,
    };

    /// A chunk whose blocks have this many pages written.
    fn blocks(written: [u16; 2]) -> [Block; 2] {
        let mut table = BlockTable::new(&GEOMETRY);
        for (block, written) in (0..).map(BlockAddr).zip(written) {
            table.found(LunIndex(0), block, written);
        }
        [0, 1].map(|block| *table.get(LunIndex(0), BlockAddr(block)))
    }
    fn chunk(written: [u16; 2]) -> (ChunkFlags, u32) {
        let Chunk { state, written } = Chunk::of(&blocks(written), 4);
        (state, written)
    }

    #[test]
    fn the_state_of_a_chunk_is_how_far_its_blocks_are_written() {
        assert_eq!(chunk([0, 0]), (ChunkFlags::Free, 0));
        assert_eq!(chunk([1, 0]), (ChunkFlags::Open, 1));
        assert_eq!(chunk([1, 1]), (ChunkFlags::Open, 2));
        assert_eq!(chunk([4, 3]), (ChunkFlags::Open, 7));
        assert_eq!(chunk([4, 4]), (ChunkFlags::Closed, 8));
    }

    #[test]
    fn what_a_reset_has_left_that_was_cut_off_must_be_reset_again() {
        for written in [[0, 4], [4, 0], [0, 1], [2, 0], [3, 1], [1, 2]] {
            assert_eq!(chunk(written), (ChunkFlags::Closed, 8), "{written:?}");
        }
    }

    /// The second plane's first page failed. The first plane went on until the power went.
    #[test]
    fn what_a_write_has_left_behind_a_failed_page_ends_its_chunk() {
        let mut of = blocks([3, 1]);
        of[1].failures = 1;
        assert_eq!(Chunk::of(&of, 4), Chunk { state: ChunkFlags::Closed, written: 5 });
    }

    #[test]
    fn a_chunk_with_a_bad_block_is_offline_and_one_closed_early_keeps_its_end() {
        let mut of = blocks([2, 1]);
        of[1].closed = true;
        assert_eq!(Chunk::of(&of, 4), Chunk { state: ChunkFlags::Closed, written: 3 });
        // The last page of the first plane, and then both of the second one, failed.
        of[0].failures = 1;
        assert_eq!(Chunk::of(&of, 4), Chunk { state: ChunkFlags::Closed, written: 2 });
        of[1].failures = 1;
        assert_eq!(Chunk::of(&of, 4), Chunk { state: ChunkFlags::Closed, written: 1 });
        of[1].state = BlockState::GrownBad;
        assert_eq!(Chunk::of(&of, 4), Chunk { state: ChunkFlags::Offline, written: 0 });
    }
}
