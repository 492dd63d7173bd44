//! What the profile's free numbers were fitted to (costs/cosmos.toml).

use super::{CosmosError, Plan};
use serde::Deserialize;
use toml::{Table, Value};

const FILE: &str = "costs/cosmos.toml";
const TEXT: &str = include_str!("../../../costs/cosmos.toml");

/// A number, and the one cell of the paper that it was fitted to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fitted {
    pub(super) key: String,
    pub(super) value: f64,
    pub(super) cell: String,
}

/// A number that was chosen and fitted to nothing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stated {
    pub(super) key: String,
    pub(super) value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Source {
    Paper,
}

/// The cost file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Costs {
    #[serde(rename = "source")]
    _source: Source,
    pub(super) fitted: Vec<Fitted>,
    pub(super) stated: Vec<Stated>,
}

impl Costs {
    pub(super) fn shipped() -> Result<Self, CosmosError> {
        toml::from_str(TEXT).map_err(|error| CosmosError::File(format!("{FILE}: {error}")))
    }
    /// Checks that the plan's profile has these numbers.
    ///
    /// # Errors
    /// Names the first that differs.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), CosmosError> {
        let profile: Table =
            toml::from_str(plan.profile_text()?).map_err(|error| CosmosError::File(error.to_string()))?;
        let fitted = self.fitted.iter().map(|entry| (&entry.key, entry.value));
        for (key, value) in fitted.chain(self.stated.iter().map(|entry| (&entry.key, entry.value))) {
            let found = key
                .split('.')
                .try_fold(&Value::Table(profile.clone()), |at, part| at.get(part))
                .and_then(|found| found.as_float().or_else(|| found.as_integer().map(|whole| whole as f64)));
            if found != Some(value) {
                let reason = format!("{FILE}: {key} is {value}, but the profile has {found:?}");
                return Err(CosmosError::File(reason));
            }
        }
        Ok(())
    }
}
