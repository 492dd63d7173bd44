//! What a drive has for the operation monitor: the functions of the firmware that its cores spend time in (C45), and the log that hosts fetch
//! samples from (C46).

use crate::profile::{ControllerName, Profile, SchedulerPolicy};
use aster_events::{Firmware, Function};
use aster_hostif::FrontEnd;
use aster_wire::nvme::log::STATISTICS_BYTES;
use std::rc::Rc;
use toml::{Table, Value};

/// The log page of the operation monitor: vendor specific, C0h.
pub struct StatisticsLog(pub(crate) Rc<FrontEnd>);

impl StatisticsLog {
    /// The latest sample, of at most [`StatisticsLog::BYTES`]: what Get Log Page gives until the next.
    pub fn put(&self, sample: &[u8]) {
        self.0.set_statistics(sample);
    }
    /// Bytes of the log.
    pub const BYTES: usize = STATISTICS_BYTES;
}

/// Costs of translations: which of them are charged, a translation says itself.
const TRANSLATION: [&str; 8] =
    ["command", "slice", "translate", "buffer", "dma", "complete", "move_page", "replay"];
/// Costs of the big loop.
const LOOP: &str = "loop_";
/// Costs of channel controllers in software.
const SOFTWARE: [&str; 3] = ["flash_request", "transaction", "poll"];

/// The profile's `[costs]` by key.
fn costs(profile: &Profile) -> Table {
    Table::try_from(&profile.costs).expect("costs are a table of numbers")
}

/// The firmware of `profile`'s drive, whose translation charges its core for such functions.
pub(crate) fn firmware(profile: &Profile, of_translation: &[Function]) -> Firmware {
    let costs = costs(profile);
    let looped = profile.scheduler.policy == SchedulerPolicy::Cosmos;
    let software = profile.channel.controller == ControllerName::Software;
    let is_charged = |key: &str| {
        let applies = (looped || !key.starts_with(LOOP))
            && (software || !SOFTWARE.contains(&key))
            && !TRANSLATION.contains(&key);
        applies && costs.get(key).and_then(Value::as_integer).is_some_and(|cycles| cycles > 0)
    };
    // Register accesses stall the loop.
    let registers = looped && profile.board.buses.register_cycles > 0.0;
    let works = |function: Function| match function {
        Function::NvmeManager | Function::StatusChecker | Function::Issuer if registers => true,
        Function::ReadRetry => {
            looped && profile.scheduler.read_retries > 0 && (registers || is_charged("loop_issue"))
        }
        _ => of_translation.contains(&function) || function.costs().iter().any(|key| is_charged(key)),
    };
    let functions = Function::ALL.iter().copied().filter(|function| works(*function)).collect();
    Firmware { cores: 1 + u8::from(profile.cores.flash_core), functions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::shipped;
    use crate::{Device, Media};
    use aster_events::Recorder;
    use std::collections::BTreeSet;

    #[test]
    fn every_cost_of_a_profile_is_charged_for_one_function() {
        let keys = costs(&shipped("ideal").unwrap());
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
        assert_eq!(of("ideal"), Firmware { cores: 1, functions: Vec::new() });
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
