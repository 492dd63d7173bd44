//! What the operation monitor gets from a drive: the firmware functions that its cores spend time in
//! (C45), and the log from which hosts fetch samples (C46).

use crate::core_role::CoreRole;
use crate::profile::{ControllerName, Profile};
use aster_events::{Firmware, Function};
use aster_parties::FrontEnd;
use aster_wire::nvme::log::STATISTICS_BYTES;
use std::rc::Rc;

/// The log page of the operation monitor: vendor specific, C0h.
pub struct StatisticsLog(pub(crate) Rc<dyn FrontEnd>);

impl StatisticsLog {
    /// Sets the latest sample, of at most [`StatisticsLog::BYTES`]. Get Log Page returns it until the next
    /// one. Without effect on a front end other than NVMe, which has no such log.
    pub fn put(&self, sample: &[u8]) {
        if let Some(nvme) = self.0.nvme() {
            nvme.set_statistics(sample);
        }
    }
    /// Bytes of the log.
    pub const BYTES: usize = STATISTICS_BYTES;
}

/// The firmware of `profile`'s drive. Its parties charge the cores for the functions in `of_parties`.
pub(crate) fn firmware(profile: &Profile, of_parties: &[Function]) -> Firmware {
    let c = &profile.costs;
    let of_controllers = [
        (Function::FlashRequest, c.flash_request),
        (Function::Transaction, c.transaction),
        (Function::Polling, c.poll),
    ];
    let software = profile.channel.controller == ControllerName::Software;
    let works = |function: &Function| {
        let charged = |(of, cycles): &(Function, u64)| of == function && *cycles > 0;
        of_parties.contains(function) || software && of_controllers.iter().any(charged)
    };
    let functions = Function::ALL.iter().copied().filter(works).collect();
    // A single core isn't named after its controller.
    let controllers = profile.array_controllers().map_or(0, |_| profile.flash_cores() as u8);
    Firmware { cores: CoreRole::of(profile).count() as u8, controllers, functions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::shipped;
    use crate::{Device, Media};
    use aster_events::Recorder;
    use std::collections::BTreeSet;
    use toml::Table;

    #[test]
    fn every_cost_of_a_profile_is_charged_for_one_function() {
        let keys = Table::try_from(&shipped("ideal").unwrap().costs).expect("costs are a table of numbers");
        let charged: BTreeSet<_> = Function::ALL.iter().flat_map(|f| f.costs().iter().copied()).collect();
        assert_eq!(charged, keys.keys().map(String::as_str).collect());
    }

    #[test]
    fn a_drive_has_the_functions_that_cost_it_time() {
        let of = |name: &str| {
            let profile = shipped(name).unwrap();
            let media = Media::fresh();
            Device::power_on(name, &profile, None, media, &Recorder::default()).unwrap().firmware().clone()
        };
        assert_eq!(of("ideal"), Firmware { cores: 1, controllers: 0, functions: Vec::new() });
        let (looped, tasks) = (of("cosmos-board").functions, of("cosmos-plus").functions);
        for function in [Function::StatusChecker, Function::Issuer, Function::ReadRetry] {
            assert!(looped.contains(&function) && !tasks.contains(&function), "{function:?}");
        }
        for function in [Function::FlashRequest, Function::Transaction, Function::Polling] {
            assert!(tasks.contains(&function) && !looped.contains(&function), "{function:?}");
        }
        for function in [Function::NvmeManager, Function::AddressTranslator, Function::GarbageCollector] {
            assert!(looped.contains(&function) && tasks.contains(&function), "{function:?}");
        }
    }
}
