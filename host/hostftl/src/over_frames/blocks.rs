//! Which blocks are bad, as the drive reports it.

use super::places::{Layout, Places};
use crate::driver::ArrayDriver;
use alloc::boxed::Box;
use alloc::vec;
use aster_parties::TargetMemory;
use aster_units::LunIndex;
use aster_wire::array::{HostAddress, Opcode, StatusCode};
use aster_wire::ocssd::{BlockFlags, TableHeader};
use core::cell::RefCell;

/// The blocks that nobody may use.
pub(super) struct BadBlocks {
    bad: Box<[bool]>,
    per_lun: usize,
}

impl BadBlocks {
    /// Asks the drive for the states of all blocks, LUN by LUN. `None` if it doesn't tell.
    pub async fn ask(
        driver: &ArrayDriver,
        memory: &RefCell<TargetMemory>,
        places: &Places,
        layout: &Layout,
    ) -> Option<Self> {
        let (g, (at, bytes)) = (places.geometry, layout.report());
        let per_lun = g.blocks_per_lun as usize;
        let mut bad = vec![false; g.total_luns() as usize * per_lun].into_boxed_slice();
        for lun in (0..g.total_luns()).map(LunIndex) {
            let command = places.command(Opcode::Report, lun, 0);
            let ended = driver.send(command.with_host(HostAddress::of(at, bytes as u32))).await.ok()?;
            if ended.code != StatusCode::Done {
                return None;
            }
            let memory = memory.borrow();
            let states = memory.bytes(at, bytes).ok()?.get(size_of::<TableHeader>()..)?;
            for (bad, &state) in bad[lun.index() * per_lun..][..per_lun].iter_mut().zip(states) {
                let state = BlockFlags::from_raw(state);
                *bad = !matches!(state, Some(BlockFlags::Free | BlockFlags::Host));
            }
        }
        Some(BadBlocks { bad, per_lun })
    }
    /// Whether a block may not be used.
    pub fn is_bad(&self, lun: LunIndex, block: u32) -> bool {
        self.bad[lun.index() * self.per_lun + block as usize]
    }
}
