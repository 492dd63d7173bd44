//! Which blocks are bad, as the drive reports it.

use super::places::{Layout, Places};
use crate::mark::BadBlocks;
use aster_hostftl::driver::ArrayDriver;
use aster_parties::TargetMemory;
use aster_units::LunIndex;
use aster_wire::array::{HostAddress, Opcode, StatusCode};
use aster_wire::ocssd::{BlockFlags, TableHeader};
use core::cell::RefCell;

/// Asks the drive for the states of all blocks, LUN by LUN. `None` if it doesn't tell.
pub(super) async fn ask(
    driver: &ArrayDriver,
    memory: &RefCell<TargetMemory>,
    places: &Places,
    layout: &Layout,
) -> Option<BadBlocks> {
    let mut bad = BadBlocks::none(places.geometry);
    let (at, bytes) = layout.report();
    for lun in (0..places.geometry.total_luns()).map(LunIndex) {
        let command = places.command(Opcode::Report, lun, 0);
        let ended = driver.send(command.with_host(HostAddress::of(at, bytes as u32))).await.ok()?;
        if ended.code != StatusCode::Done {
            return None;
        }
        let memory = memory.borrow();
        let states = memory.bytes(at, bytes).ok()?.get(size_of::<TableHeader>()..)?;
        bad.note(lun, states.iter().map(|&state| BlockFlags::from_raw(state)));
    }
    Some(bad)
}
