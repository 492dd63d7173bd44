//! The operation monitor's modules for a drive.

use aster_device::Profile;
use aster_device::profile::{MappingName, TransportName};
use aster_observe::monitor::ShippedModule;

/// All modules of what a drive of this profile has.
pub fn of_drive(profile: &Profile) -> Vec<ShippedModule> {
    ShippedModule::ALL.into_iter().filter(|&module| lack_of(module, profile).is_none()).collect()
}

/// What a drive of this profile would need for a module and doesn't have.
pub fn lack_of(module: ShippedModule, profile: &Profile) -> Option<&'static str> {
    let (has, lack) = match module {
        ShippedModule::Temperature => (profile.board.thermal.is_some(), "temperature sensor (board.thermal)"),
        ShippedModule::Packets => {
            (profile.host.transport == TransportName::Tlp, "packets (host.transport = \"tlp\")")
        }
        ShippedModule::MapCache => {
            let is_paged = profile.ftl.mapping == MappingName::DemandPaged;
            (is_paged, "map on flash (ftl.mapping = \"demand-paged\")")
        }
        _ => return None,
    };
    (!has).then_some(lack)
}
