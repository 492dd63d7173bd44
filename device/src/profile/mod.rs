//! A profile describes one SSD: a TOML file whose every key has an effect (design §5).
//!
//! Parsing is strict. An unknown key, a value of the wrong type or out of range is an error that names the key, the line
//! and, for a misspelt key, the nearest known one.

mod error;
mod schema;
mod shipped;

pub use error::ProfileError;
pub(crate) use schema::geometry_key;
pub use schema::{
    ArbitrationName, AssignerName, BoardProfile, CellUse, ChannelProfile, ContentKind, ControllerName,
    CoresProfile, CostsProfile, DataModeName, EccProfile, ErrorsProfile, FtlProfile, GeometryProfile,
    HostProfile, LinkProfile, PackageProfile, PlacementName, PollProfile, Profile, RestrictProfile,
    SchedulerPolicy, SchedulerProfile, TransactionOrder,
};
pub use shipped::{SHIPPED, shipped};

impl Profile {
    /// Parses a profile. `name` stands for the file in errors.
    ///
    /// # Errors
    /// Names file, line and key, and says what is allowed.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        let profile: Profile = toml::from_str(text).map_err(|e| ProfileError::of_toml(name, text, &e))?;
        let fail = |key: &str, reason| ProfileError::of_value(name, text, key, reason);
        profile.check().map_err(|(key, reason)| fail(key, reason))?;
        // What only shows when parts meet.
        crate::check(&profile, None).map_err(|error| {
            let (key, reason) = error.blame();
            fail(&key, reason)
        })?;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests;
