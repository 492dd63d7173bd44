//! The language of packages and channels (`base/wire`): data interface and optional commands.

use crate::profile::{CommandName, DataModeName, PackageProfile};
use aster_ports::package::DataMode;
use aster_wire::onfi::command_set::{OneShot, ReadRetry, Suspend};
use aster_wire::onfi::{CommandSet, DataInterface};

pub(super) fn interface(name: DataModeName) -> (DataInterface, DataMode) {
    match name {
        DataModeName::Sdr => (DataInterface::Sdr, DataMode::Sdr),
        DataModeName::NvDdr => (DataInterface::NvDdr, DataMode::NvDdr),
        DataModeName::NvDdr2 => (DataInterface::NvDdr2, DataMode::NvDdr2),
    }
}

/// The optional and vendor specific commands of a package.
pub(super) fn commands(p: &PackageProfile) -> CommandSet {
    let has = |command| p.commands.contains(&command);
    CommandSet {
        read_cache: has(CommandName::ReadCache),
        program_cache: has(CommandName::ProgramCache),
        multi_plane: has(CommandName::MultiPlane),
        copyback: has(CommandName::Copyback),
        reset_lun: has(CommandName::ResetLun),
        odt_configure: has(CommandName::OdtConfigure),
        zq_calibration: has(CommandName::ZqCalibration),
        pseudo_slc: p.slc.as_ref().map(|slc| slc.prefix),
        one_shot: p.one_shot.as_ref().map(|o| OneShot { pages: o.prefixes, load_confirm: o.load_confirm }),
        suspend: p.suspend.as_ref().map(|s| Suspend {
            erase: s.erase,
            erase_resume: s.erase_resume,
            program: s.program,
            program_resume: s.program_resume,
        }),
        read_retry: p
            .retry
            .as_ref()
            .map(|retry| ReadRetry { feature: retry.feature, levels: retry.levels_mv.len() as u8 }),
    }
}
