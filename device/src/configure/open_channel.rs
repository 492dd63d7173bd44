//! Open-channel drives: the translation without a map (`firmware/vectors`), and what the command set tells
//! of the array.

use super::error::{BuildError, value};
use super::times::micros;
use crate::profile::{
    COSMOS, CommandName, ControllerName, FIL, MESSAGE_UNIT, OPEN_CHANNEL_20, Profile, TableBlocksName,
};
use aster_hostif::OpenChannelFacts;
use aster_hostif::message::McuCosts;
use aster_parties::MediaFacts;
use aster_units::{CellMode, Duration, PageInBlock, PageType};
use aster_vectors::{TableBlocks, VectorCosts, VectorsConfig, raw_spare_of_sector};
use aster_wire::ocssd::{ADDRESSES_MAX, SECTOR_BYTES};

/// The configuration of a translation without a map.
pub(crate) fn vectors(profile: &Profile, facts: &MediaFacts) -> VectorsConfig {
    let (f, c) = (&profile.ftl, &profile.costs);
    let has_frames = profile.host.front_end == MESSAGE_UNIT;
    VectorsConfig {
        geometry: profile.addressed_geometry(),
        restriction: facts.restriction,
        buffers: f.buffer_entries,
        partial_reads: f.partial_reads,
        table_blocks: match f.table_blocks {
            TableBlocksName::Off => TableBlocks::Off,
            TableBlocksName::Fail => TableBlocks::Fail,
            TableBlocksName::Hide => TableBlocks::Hide,
        },
        chunks: profile.is_of_chunks(),
        copies: profile.is_of_chunks() || has_frames,
        copy_back: has_frames && copies_in_packages(profile),
        open_chunks_max: f.open_chunks_max,
        endurance: profile.package.endurance,
        multi_plane: f.mp_native,
        lanes: profile.channel.lanes.unwrap_or(0),
        marginal: super::refresh(profile, facts.correctable).corrected,
        // Of a drive with frames these are the MCU's, which moves commands and statuses.
        costs: if has_frames {
            VectorCosts::default()
        } else {
            VectorCosts { command: c.command, slice: c.slice, dma: c.dma, complete: c.complete }
        },
    }
}

/// What the steps of the MCU behind a message unit cost.
pub(crate) fn mcu(profile: &Profile) -> McuCosts {
    let c = &profile.costs;
    McuCosts {
        pass: c.loop_pass,
        command: c.command,
        host_address: c.slice,
        status: c.complete,
        frame: c.dma,
    }
}

/// Whether packages have COPYBACK, and scheduler and channels pass it on.
fn copies_in_packages(profile: &Profile) -> bool {
    let has = profile.package.commands.contains(&CommandName::Copyback);
    let is_software = profile.channel.controller == ControllerName::Software;
    has && is_software && ![COSMOS, FIL].contains(&profile.scheduler.policy.as_str())
}

/// What the geometry of an open-channel drive of 2.0 tells.
///
/// # Errors
/// When the drive can't be one.
pub(crate) fn open_channel_20(profile: &Profile) -> Result<OpenChannelFacts, BuildError> {
    let facts = open_channel(profile)?;
    let (vector_bytes, most) = (ADDRESSES_MAX as u32 * SECTOR_BYTES, profile.host.transfer_bytes_max);
    if most != vector_bytes {
        let reason = format!(
            "must be {vector_bytes}, the data of a vector of 64, with \"{OPEN_CHANNEL_20}\": a read or write \
             of NVMe is a vector there. But it is {most}"
        );
        return Err(value("host.transfer_bytes_max", reason));
    }
    Ok(facts)
}

/// What an open-channel drive's Identify tells.
///
/// # Errors
/// When the drive can't be one.
pub(crate) fn open_channel(profile: &Profile) -> Result<OpenChannelFacts, BuildError> {
    let vector_bytes = ADDRESSES_MAX as u32 * SECTOR_BYTES;
    if profile.host.transfer_bytes_max < vector_bytes {
        let most = profile.host.transfer_bytes_max;
        let reason = format!("must be at least {vector_bytes}, the data of a vector of 64, but is {most}");
        return Err(value("host.transfer_bytes_max", reason));
    }
    let p = &profile.package;
    let cells = CellMode::from(p.cells);
    let deviation = micros(p.die_deviation_us + p.page_deviation_us);
    // The types of the pages that the host can address.
    let step = profile.restriction().page_step;
    let used = (0..u16::from(cells.bits())).step_by(usize::from(step).max(1)).map(|page| {
        match cells.page_type(PageInBlock(page)) {
            PageType::Lsb => 0,
            PageType::Csb => 1,
            PageType::Msb => usize::from(cells.bits()) - 1,
        }
    });
    let times = |all: &[f64]| {
        let of_type = |n: usize| micros(all.get(n).copied().unwrap_or_default());
        let longest = used.clone().map(of_type).max().unwrap_or(Duration::ZERO);
        (of_type(0), longest + deviation)
    };
    let facts = OpenChannelFacts {
        open_chunks_max: profile.ftl.open_chunks_max,
        raw_spare_bytes: match profile.ftl.raw_vectors {
            true => raw_spare_of_sector(&profile.addressed_geometry()) as u16,
            false => 0,
        },
        geometry: profile.addressed_geometry(),
        cells: if profile.restrict.lsb_pages { CellMode::Slc } else { cells },
        read: times(&p.read_us),
        program: times(&p.program_us),
        erase: (micros(p.erase_us), micros(p.erase_us) + deviation),
        id: p.id,
    };
    facts.check().map_err(|(key, must)| value(key, format!("must be {must}, for an open-channel drive")))?;
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cost_of_the_mcu_has_its_key() {
        let mut profile = crate::profile::shipped("host-ftl").expect("a shipped profile");
        let c = &mut profile.costs;
        (c.loop_pass, c.command, c.slice, c.complete, c.dma) = (1, 2, 3, 4, 5);
        let costs = McuCosts { pass: 1, command: 2, host_address: 3, status: 4, frame: 5 };
        assert_eq!(mcu(&profile), costs);
    }
}
