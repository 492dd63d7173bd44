//! Reading of experiment and cost files.

use super::error::ExperimentError;
use aster_device::profile::read;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use toml::{Table, Value};

/// Reads `text` as a plan or a cost file; `name` stands for the file in errors.
///
/// # Errors
/// When it isn't TOML, or a key is unknown, missing or has an invalid value. The error names the key.
pub(crate) fn parse<P: DeserializeOwned>(name: &str, text: &str) -> Result<P, ExperimentError> {
    let file: Table = toml::from_str(text).map_err(|error| wrong(name, error))?;
    read(Value::Table(file)).map_err(|error| wrong(name, error))
}

/// The error that `what` is wrong in the file `name`.
pub(crate) fn wrong(name: &str, what: impl Display) -> ExperimentError {
    ExperimentError::File(format!("{name}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Small {
        _requests: u64,
    }

    #[test]
    fn a_mistake_is_named_by_file_and_key() {
        let refused = |text: &str| parse::<Small>("mine.toml", text).unwrap_err().to_string();
        assert!(parse::<Small>("mine.toml", "_requests = 3").is_ok());
        let error = refused("_requests = \"3\"");
        assert!(error.starts_with("mine.toml: _requests: must be a whole number"), "{error}");
        assert!(refused("_requests = 3\n_more = 1").starts_with("mine.toml: _more: unknown key"));
        assert!(refused("_requests = ").starts_with("mine.toml: "));
    }
}
