//! Set Features and Get Features (NVMe 1.4 §5.13, §5.21). No value survives a reset: none is saveable.
//!
//! Which namespace identifiers are taken (NVMe 1.4 §7.8, §6.1.5):
//!
//! | NSID | Set, of the controller | Get, of the controller | Set, of a namespace | Get, of a namespace |
//! |---|---|---|---|---|
//! | 0 | done | the value | Invalid Namespace or Format | Invalid Namespace or Format |
//! | FFFFFFFFh | done | the value | done, in all namespaces | Invalid Namespace or Format |
//! | 1 | Feature Not Namespace Specific | the value | done | the value |
//! | any other | Invalid Namespace or Format, as everywhere | | | |
//!
//! Reserved bits of a value are ignored: the standard doesn't ask a recipient to check them, and a later
//! revision may define them. They are not stored either, so that Get Features never returns undefined
//! bits.

use super::{Answer, Reply, refuse};
use crate::config::HostIfConfig;
use crate::controller::Controller;
use crate::features::Features;
use crate::nvm::NSID;
use crate::ports::ControllerPorts;
use crate::slots::Permit;
use aster_wire::nvme::admin::{GetFeatures, SetFeatures};
use aster_wire::nvme::features::{
    ErrorRecovery, FeatureCapabilities, FeatureId, FeatureSelect, HostBehavior, InterruptVectorConfiguration,
    NumberOfQueues,
};
use aster_wire::nvme::{NSID_ALL, Sqe, Status};
use zerocopy::{FromBytes, IntoBytes};

/// Checks that a feature exists here. Volatile Write Cache exists only on a drive with a cache (NVMe 1.4
/// §5.21.1.6).
fn supported(config: &HostIfConfig, raw: u8) -> Result<FeatureId, Status> {
    match FeatureId::from_raw(raw) {
        Some(
            feature @ (FeatureId::Arbitration
            | FeatureId::PowerManagement
            | FeatureId::TemperatureThreshold
            | FeatureId::ErrorRecovery
            | FeatureId::NumberOfQueues
            | FeatureId::InterruptCoalescing
            | FeatureId::InterruptVectorConfiguration
            | FeatureId::WriteAtomicityNormal
            | FeatureId::AsyncEventConfiguration
            | FeatureId::KeepAliveTimer
            | FeatureId::HostBehaviorSupport),
        ) => Ok(feature),
        Some(FeatureId::VolatileWriteCache) if config.volatile_write_cache => {
            Ok(FeatureId::VolatileWriteCache)
        }
        _ => refuse(Status::INVALID_FIELD),
    }
}

/// Error recovery belongs to a namespace (NVMe 1.4 §5.21.1.5), everything else to the controller.
fn is_namespace_specific(feature: FeatureId) -> bool {
    feature == FeatureId::ErrorRecovery
}

/// Checks the NSID of Get Features. A feature of a namespace has no value for NSID 0 or for all
/// namespaces.
fn check_asked_nsid(feature: FeatureId, nsid: u32) -> Result<(), Status> {
    match nsid {
        NSID => Ok(()),
        0 | NSID_ALL if !is_namespace_specific(feature) => Ok(()),
        _ => refuse(Status::INVALID_NAMESPACE_OR_FORMAT),
    }
}

impl Controller {
    pub(super) fn get_features(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        sqe: &Sqe,
        command: GetFeatures,
    ) -> Answer {
        let feature = supported(&self.config, command.control.feature_id())?;
        let Some(select) = command.select() else { return refuse(Status::INVALID_FIELD) };
        check_asked_nsid(feature, sqe.nsid.get())?;
        let dword11 = command.dword11;
        let disabled = self.interrupts.coalescing_disabled(InterruptVectorConfiguration(dword11).vector());
        let has_data = feature == FeatureId::HostBehaviorSupport;
        match select {
            FeatureSelect::Current if has_data => {
                Ok(self.tell_behavior(ports, id, self.settings.features().behavior()))
            }
            FeatureSelect::Default | FeatureSelect::Saved if has_data => {
                Ok(self.tell_behavior(ports, id, Features::new(&self.config).behavior()))
            }
            FeatureSelect::Current => {
                Ok(Reply::Done(self.settings.features().value(feature, dword11, disabled)?))
            }
            // A feature that can't be saved returns its default as its saved value (NVMe 1.4 §5.13).
            FeatureSelect::Default | FeatureSelect::Saved => {
                let defaults = Features::new(&self.config);
                Ok(Reply::Done(defaults.value(feature, dword11, disabled.map(|_| false))?))
            }
            FeatureSelect::Capabilities => Ok(Reply::Done(
                FeatureCapabilities(0)
                    .with_namespace_specific(is_namespace_specific(feature))
                    .with_changeable(true)
                    .0,
            )),
        }
    }

    fn tell_behavior(&self, ports: &mut ControllerPorts, id: u16, behavior: HostBehavior) -> Reply {
        self.scratch(ports, id)[..HostBehavior::BYTES].copy_from_slice(behavior.as_bytes());
        Reply::Data(HostBehavior::BYTES)
    }
    /// The data of Set Features have arrived in scratch memory.
    pub(crate) fn feature_fetched(&mut self, ports: &mut ControllerPorts, permit: Permit) {
        if self.slots[permit.id()].is_aborted() {
            return self.finish(ports, permit, Status::ABORT_REQUESTED, 0);
        }
        let at = self.dma.layout().scratch(permit.id());
        let bytes = &ports.sram[at..at + HostBehavior::BYTES];
        let behavior = HostBehavior::ref_from_bytes(bytes).expect("512 bytes");
        let status = match self.settings.features_mut().set_behavior(behavior) {
            Ok(()) => Status::SUCCESS,
            Err(status) => status,
        };
        self.finish(ports, permit, status, 0);
    }

    pub(super) fn set_features(
        &mut self,
        ports: &mut ControllerPorts,
        sqe: &Sqe,
        command: SetFeatures,
    ) -> Answer {
        let feature = supported(&self.config, command.control.feature_id())?;
        if command.control.save() {
            return refuse(Status::FEATURE_NOT_SAVEABLE);
        }
        let nsid = sqe.nsid.get();
        if is_namespace_specific(feature) {
            if !matches!(nsid, NSID | NSID_ALL) {
                return refuse(Status::INVALID_NAMESPACE_OR_FORMAT);
            }
        } else if nsid == NSID {
            return refuse(Status::FEATURE_NOT_NAMESPACE_SPECIFIC);
        } else if !matches!(nsid, 0 | NSID_ALL) {
            return refuse(Status::INVALID_NAMESPACE_OR_FORMAT);
        }
        self.set_feature(ports, feature, command.dword11)
    }

    fn set_feature(&mut self, ports: &mut ControllerPorts, feature: FeatureId, value: u32) -> Answer {
        let features = self.settings.features_mut();
        match feature {
            FeatureId::HostBehaviorSupport => return Ok(Reply::Fetches(HostBehavior::BYTES)),
            FeatureId::NumberOfQueues => return self.set_number_of_queues(NumberOfQueues(value)),
            FeatureId::InterruptVectorConfiguration => {
                let vector = InterruptVectorConfiguration(value);
                if !self.interrupts.disable_coalescing(vector.vector(), vector.coalescing_disabled()) {
                    return refuse(Status::INVALID_FIELD);
                }
            }
            FeatureId::ErrorRecovery
                if ErrorRecovery(value).deallocated_error() && !self.set.tells_unwritten() =>
            {
                return refuse(Status::INVALID_FIELD); // NSFEAT: deallocated blocks read as zeroes
            }
            FeatureId::TemperatureThreshold => {
                features.set(feature, value)?;
                self.check_health(ports);
            }
            FeatureId::AsyncEventConfiguration => {
                let before = features.warnings_wanted();
                features.set(feature, value)?;
                let added = features.warnings_wanted() & !before;
                self.reports.health_mut().report_again(added);
                self.check_health(ports);
            }
            FeatureId::KeepAliveTimer => {
                features.set(feature, value)?;
                self.lifecycle.keep_alive().set(features.keep_alive_ms());
                self.begin_interval(ports);
            }
            _ => features.set(feature, value)?,
        }
        Ok(Reply::Done(0))
    }

    /// Number of Queues (NVMe 1.4 §5.21.1.7): the host gets as many as it asks for, up to the number that
    /// exist.
    fn set_number_of_queues(&mut self, asked: NumberOfQueues) -> Answer {
        if self.queues.has_io_queues() {
            return refuse(Status::COMMAND_SEQUENCE_ERROR);
        }
        if asked.submission() > u16::MAX.into() || asked.completion() > u16::MAX.into() {
            return refuse(Status::INVALID_FIELD);
        }
        self.check_queues_wanted(asked.submission().max(asked.completion()));
        let grant = |asked: u32| asked.min(self.config.queue_pairs.into()) as u16;
        let queues = NumberOfQueues::of(grant(asked.submission()), grant(asked.completion()));
        self.settings.features_mut().set_queues(queues);
        Ok(Reply::Done(queues.0))
    }
}
