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

use crate::pieces::Pieces;

pub use board::{EmmcProfile, PowerProfile, ThermalProfile};
pub use capacity::NamedCapacity;
pub(crate) use check::geometry_key;
pub use cores::{CoresProfile, TasksName};
pub use costs::CostsProfile;
pub use ecc::{CorrectionName, DetectorName, EccProfile, PlacementName};
pub use error::ProfileError;
pub(crate) use error::not_one_of;
pub use ftl::{CollectionName, FirstAccessName, MappingName, TableBlocksName};
pub use host::{ArbitrationName, HostProfile, NVME_SOFTWARE, TransportName};
pub use package::{
    CellUse, CommandName, ErrorsProfile, FactoryMarksName, OneShotProfile, PACKAGES, PackageProfile,
    PseudoSlcProfile, RetryProfile, SlowLunProfile, SuspendProfile,
};
pub use scheduler::{SchedulerProfile, TransactionOrder};
pub use schema::{
    AssignerName, BoardProfile, COSMOS, ChannelProfile, ContentKind, ControllerName, D_CHOICES, DataModeName,
    FIL, FtlProfile, GeometryProfile, LevellingName, LinkProfile, MESSAGE_UNIT, OPEN_CHANNEL_12,
    OPEN_CHANNEL_20, PAGE_MAPPING, PollProfile, Profile, READS_FIRST, RestrictProfile, VECTORS,
    WINDOWED_GREEDY,
};
pub(crate) use schema::{DEVICE, VENDOR};
pub use shipped::{SHIPPED, shipped};
pub(crate) use target::TARGETS;
pub use target::{BLOCK, NO_TARGET, RaidName, TargetProfile};
pub use words::read;

impl Profile {
    /// Parses a profile. `name` stands for the file in errors.
    ///
    /// # Errors
    /// Names file, line and key, and says what is allowed.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        Profile::parse_with(&Pieces::default(), name, text)
    }

    /// As [`Profile::parse`], for a profile that may also name a reader's own `pieces`.
    ///
    /// # Errors
    /// As [`Profile::parse`].
    pub fn parse_with(pieces: &Pieces, name: &str, text: &str) -> Result<Self, ProfileError> {
        let syntax = |error: toml::de::Error| ProfileError::of_syntax(name, text, &error);
        let table: toml::Table = toml::from_str(text).map_err(syntax)?;
        let merged = package::with_part(name, text, &table)?;
        let read = match &merged {
            None => serde_path_to_error::deserialize(toml::Deserializer::parse(text).map_err(syntax)?),
            Some(merged) => serde_path_to_error::deserialize(toml::Value::Table(merged.clone())),
        };
        let mut profile: Profile = read.map_err(|error| {
            let table = merged.as_ref().unwrap_or(&table);
            let unfit = |message: &str| words::reason(table, error.path(), message);
            let choices = |missing: &str| (missing == "target.kind").then(|| target::KINDS.to_owned());
            ProfileError::of_serde(name, text, (error.path(), error.inner()), unfit, choices)
        })?;
        let fail = |key: &str, reason| ProfileError::of_value(name, text, key, reason);
        if let Some(none) = profile.target.take_if(|target| target.kind == NO_TARGET)
            && let Some(key) = none.given().first()
        {
            let reason = format!(
                "must be absent with target.kind = \"{NO_TARGET}\": without a target nobody reads it, so \
                 leave kind alone in [target]"
            );
            return Err(fail(&format!("target.{key}"), reason));
        }
        let keys = merged.as_ref().unwrap_or(&table);
        let chooses_blocks = profile.geometry.capacity.is_some() && profile.geometry.blocks_per_lun == 0;
        if chooses_blocks {
            crate::guess_blocks(&mut profile);
        }
        let by_capacity = |key| match key {
            "geometry.blocks_per_lun" if chooses_blocks => "geometry.capacity",
            key => key,
        };
        check::check_placed_once(keys)
            .and_then(|()| profile.check())
            .map_err(|(key, reason)| fail(by_capacity(key), reason))?;
        if chooses_blocks {
            crate::choose_blocks(&mut profile).map_err(|reason| fail("geometry.capacity", reason))?;
            profile.check().map_err(|(key, reason)| fail(by_capacity(key), reason))?;
        }
        crate::check_capacity(&profile).map_err(|reason| fail("geometry.capacity", reason))?;
        // Some errors show only when the parts are put together.
        crate::check_with(pieces, &profile, None).map_err(|error| {
            let (key, reason) = error.blame();
            fail(&key, reason)
        })?;
        let fresh = crate::FreshErrors::of(&profile).map_err(|error| {
            let (key, reason) = error.blame();
            fail(&key, reason)
        })?;
        if fresh.lost > UNREADABLE {
            let crate::FreshErrors { bits, corrected, expected, .. } = fresh;
            return Err(fail(
                "package.errors.fresh",
                format!(
                    "must leave new pages readable: {expected:.1} of the {bits} bits of a chunk and its \
                     parity are wrong on average in the worst, and {corrected} are corrected; lower it, or \
                     raise ecc.corrected and ecc.designed"
                ),
            ));
        }
        Ok(profile)
    }
}

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

/// A profile is refused if this share of the chunks in new pages can't be read.
const UNREADABLE: f64 = 0.5;

#[cfg(test)]
mod keys;
#[cfg(test)]
mod tests;
