//! A profile describes one SSD. It is a TOML file in which every key has an effect (design §5).
//!
//! `[package]` may name a shipped package by its key `part` (profiles/packages). The profile's own keys
//! then override those of the package's file, in `[geometry]` as well.
//!
//! Parsing is strict. An unknown key, a value of the wrong type or out of range is an error that names the
//! key, the line and, for a misspelt key, the nearest known one.

mod board;
mod board_limits;
mod capacity;
mod check;
mod cores;
mod costs;
mod ecc;
mod error;
mod ftl;
mod host;
mod known;
mod lanes;
mod package;
mod scheduler;
mod schema;
mod shipped;
mod softssd;
mod target;
mod unread;
mod words;

pub use board::{ControllerHeatProfile, CriticalHeatProfile, EmmcProfile, PowerProfile, ThermalProfile};
pub use capacity::NamedCapacity;
pub(crate) use check::{check_placed_once, geometry_key};
pub use cores::{CoresProfile, TasksName};
pub use costs::CostsProfile;
pub use ecc::{CorrectionName, DetectorName, EccProfile, PlacementName};
pub use error::ProfileError;
pub(crate) use error::not_one_of;
pub use ftl::{CollectionName, FirstAccessName, MappingName, TableBlocksName};
pub use host::{ArbitrationName, HostProfile, NVME_SOFTWARE, TransportName};
pub(crate) use package::with_part;
pub use package::{
    CellUse, CommandName, ErrorsProfile, FactoryMarksName, OneShotProfile, PACKAGES, PackageProfile,
    PseudoSlcProfile, RetryProfile, SlowLunProfile, SuspendProfile,
};
pub use scheduler::{SchedulerProfile, TransactionOrder};
pub use schema::{
    AssignerName, BoardProfile, COSMOS, ChannelProfile, ContentKind, ControllerName, D_CHOICES, DIRECTIVE,
    DataModeName, FIL, FtlProfile, GeometryProfile, LevellingName, LinkProfile, MESSAGE_UNIT, ONE_STREAM,
    OPEN_CHANNEL_12, OPEN_CHANNEL_20, PAGE_MAPPING, PollProfile, Profile, READS_FIRST, RestrictProfile,
    STRIPED, UPDATE_DISTANCE, VECTORS, WINDOWED_GREEDY,
};
pub(crate) use schema::{DEVICE, VENDOR};
pub use shipped::{SHIPPED, shipped};
pub use target::{BLOCK, NO_TARGET, RaidName, TargetProfile};
pub(crate) use target::{KINDS, TARGETS};
pub use words::read;
pub(crate) use words::reason;

impl Profile {
    /// The whole profile as text, with all defaults filled in. [`Profile::parse`] reads the same profile
    /// from it.
    ///
    /// # Errors
    /// When a number is too large for TOML.
    pub fn to_toml(&self) -> Result<String, ProfileError> {
        let written = match (&self.ftl.placement, self.ftl.assigner) {
            // A placement replaces the assigner, and a profile must not give both.
            (Some(_), AssignerName::ChannelFirst) => toml::Table::try_from(self).and_then(|mut keys| {
                let ftl = keys.get_mut("ftl").and_then(toml::Value::as_table_mut);
                ftl.expect("a profile has this table").remove("assigner");
                toml::to_string(&keys)
            }),
            _ => toml::to_string(self),
        };
        written.map_err(|error| ProfileError {
            file: "profile".to_owned(),
            line: None,
            key: None,
            reason: error.to_string(),
        })
    }
}

#[cfg(test)]
mod keys;
#[cfg(test)]
mod tests;
