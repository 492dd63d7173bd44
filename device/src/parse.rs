//! A profile's text as a profile of a drive that can be built.

use crate::pieces::Pieces;
use crate::profile::{KINDS, NO_TARGET, Profile, ProfileError, check_placed_once, reason, with_part};

/// A profile is refused if this share of the chunks in new pages can't be read.
const UNREADABLE: f64 = 0.5;

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
        let merged = with_part(name, text, &table)?;
        let read = match &merged {
            None => serde_path_to_error::deserialize(toml::Deserializer::parse(text).map_err(syntax)?),
            Some(merged) => serde_path_to_error::deserialize(toml::Value::Table(merged.clone())),
        };
        let mut profile: Profile = read.map_err(|error| {
            let table = merged.as_ref().unwrap_or(&table);
            let unfit = |message: &str| reason(table, error.path(), message);
            let choices = |missing: &str| (missing == "target.kind").then(|| KINDS.to_owned());
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
        check_placed_once(keys)
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
