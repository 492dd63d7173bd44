//! The keys that a profile may have, given or not.

use super::Profile;
use super::error::unknown_field;
use serde::Deserialize;
use toml::{Table, Value};

/// A key that no table has.
const NOWHERE: &str = "?";

impl Profile {
    /// Every key that a profile may have, with its tables, and the tables themselves.
    pub fn known_keys() -> Vec<String> {
        let mut keys = Vec::new();
        collect(&mut Vec::new(), &mut keys);
        keys
    }
}

/// The keys of the table at `path`, and of those in it. The schema tells them when it refuses a key.
fn collect(path: &mut Vec<String>, keys: &mut Vec<String>) {
    let mut table = Table::from_iter([(NOWHERE.to_owned(), Value::Boolean(true))]);
    for name in path.iter().rev() {
        table = Table::from_iter([(name.clone(), Value::Table(table))]);
    }
    let Err(error) = Profile::deserialize(Value::Table(table)) else { return };
    // A key that isn't a table is refused for another reason.
    let Some((_, known)) = unknown_field(error.message()).filter(|(key, _)| key == NOWHERE) else { return };
    for name in known {
        path.push(name);
        keys.push(path.join("."));
        collect(path, keys);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_that_no_profile_gives() {
        let keys = Profile::known_keys();
        for key in ["seed", "ftl", "ftl.map_cache_bytes", "target.page_cache_mib", "package.errors.fresh"] {
            assert!(keys.iter().any(|known| known == key), "{key}: {keys:?}");
        }
        assert!(!keys.iter().any(|key| key.contains(NOWHERE)), "{keys:?}");
    }
}
