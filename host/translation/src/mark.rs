//! The marks of a factory, and which requests can be carried to a drive at all.

use alloc::boxed::Box;
use alloc::vec;
use aster_exec::Exec;
use aster_ports::dram::SharedDram;
use aster_ports::flash::{FlashError, FlashOp, FlashPort, FlashRequest, FlashStatus, Outcome, Outcomes, Tag};
use aster_units::{Geometry, LunIndex};
use aster_wire::ocssd::BlockFlags;

/// What a factory's mark reads as, and what other spare bytes do.
const MARKED: u8 = 0x00;
pub(crate) const UNMARKED: u8 = 0xff;

/// The blocks that nobody may use.
pub(crate) struct BadBlocks {
    geometry: Geometry,
    bad: Box<[bool]>,
}

impl BadBlocks {
    /// None, in an array of this geometry.
    pub fn none(geometry: Geometry) -> Self {
        let blocks = geometry.total_luns() as usize * geometry.blocks_per_lun as usize;
        BadBlocks { geometry, bad: vec![false; blocks].into_boxed_slice() }
    }
    /// Notes what a drive reports of a LUN's blocks. `None` stands for a state that isn't known.
    pub fn note(&mut self, lun: LunIndex, states: impl Iterator<Item = Option<BlockFlags>>) {
        let per_lun = self.geometry.blocks_per_lun as usize;
        for (bad, state) in self.bad[lun.index() * per_lun..][..per_lun].iter_mut().zip(states) {
            *bad = !matches!(state, Some(BlockFlags::Free | BlockFlags::Host));
        }
    }
    fn is_bad(&self, lun: LunIndex, block: u32) -> bool {
        self.bad[lun.index() * self.geometry.blocks_per_lun as usize + block as usize]
    }

    /// Answers what no drive without a map can be asked for: a factory's mark, and what isn't supported.
    /// Returns whether it did.
    pub fn answer(
        &self,
        exec: &Exec,
        port: &FlashPort,
        buffers: &SharedDram,
        tag: Tag,
        request: &FlashRequest,
    ) -> bool {
        let whole = matches!(request.phase, FlashOp::Read | FlashOp::Program | FlashOp::Erase);
        let plain = !request.flags.slc && !request.flags.one_shot;
        let mark = request.flags.raw && request.phase == FlashOp::Read;
        let mut outcomes = Outcomes::default();
        if mark && plain {
            for target in request.targets() {
                let bad = self.is_bad(request.lun, self.geometry.split_row(target.row).1.0);
                buffers.borrow_mut().oob_mut(target.buffer).fill(if bad { MARKED } else { UNMARKED });
            }
        } else if whole && plain && !request.flags.raw {
            return false;
        } else {
            outcomes.fill(unsupported(exec, port, request.lun, request.phase));
        }
        port.complete(tag, outcomes);
        true
    }
}

/// The outcome of an operation that the drive can't do, of which the port is told.
pub(crate) fn unsupported(exec: &Exec, port: &FlashPort, lun: LunIndex, phase: FlashOp) -> Outcome {
    let (operation, at) = (phase.name(), exec.now());
    port.note_fault(lun, FlashError::Unsupported { operation, at });
    Outcome { status: FlashStatus::Error, ..Outcome::default() }
}
