//! Shipped profiles with other values at some of their keys.

use super::error::ExperimentError;
use super::plan::wrong;
use aster_device::profile::{Profile, SHIPPED};
use toml::{Table, Value};

/// Values that take the place of a profile's, by dotted keys.
pub type Changes = Vec<(String, Value)>;

/// A shipped profile's file, whose values an experiment varies.
#[derive(Clone, Debug)]
pub(crate) struct ProfileFile {
    /// Its name in errors.
    name: String,
    table: Table,
}

impl ProfileFile {
    /// The shipped profile `name`, which the experiment file `plan` asks for.
    ///
    /// # Errors
    /// When there is no profile of that name. The error lists those that exist.
    pub(crate) fn shipped(plan: &str, name: &str) -> Result<Self, ExperimentError> {
        let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) else {
            let names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
            let reason = format!("no shipped profile is \"{name}\": those are {}", names.join(", "));
            return Err(wrong(plan, reason));
        };
        let name = format!("profiles/{name}.toml");
        let table = toml::from_str(text).map_err(|error| wrong(&name, error))?;
        Ok(ProfileFile { name, table })
    }

    /// Sets the value of a dotted key. Creates missing tables on the way.
    ///
    /// # Errors
    /// When a part of the key before the last one isn't a table in the file.
    pub(crate) fn put(&mut self, key: &str, value: Value) -> Result<(), ExperimentError> {
        let (tables, last) = key.rsplit_once('.').map_or((None, key), |(tables, last)| (Some(tables), last));
        let mut at = &mut self.table;
        for part in tables.into_iter().flat_map(|tables| tables.split('.')) {
            let below = at.entry(part.to_owned()).or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(below) = below else {
                return Err(wrong(&self.name, format!("{key}: '{part}' is a value and has no keys")));
            };
            at = below;
        }
        at.insert(last.to_owned(), value);
        Ok(())
    }

    /// The number at a dotted key, or each of the list there; none where there is no number, or the list's
    /// differ.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        let mut parts = key.split('.');
        let first = self.table.get(parts.next()?)?;
        let found = parts.try_fold(first, |at, part| at.get(part))?;
        let all = found.as_array().map_or(std::slice::from_ref(found), Vec::as_slice);
        let mut numbers = all.iter().map(|one| one.as_float().or_else(|| Some(one.as_integer()? as f64)));
        let first = numbers.next()?;
        numbers.all(|other| other == first).then_some(first)?
    }

    /// The profile that the file describes.
    ///
    /// # Errors
    /// When a value is invalid; the error names its key.
    pub(crate) fn profile(&self) -> Result<Profile, ExperimentError> {
        let text = toml::to_string(&self.table).map_err(|error| wrong(&self.name, error))?;
        Ok(Profile::parse(&self.name, &text)?)
    }
}

/// A number as profiles write it: an integer if it is whole.
pub(crate) fn value_of(number: f64) -> Value {
    if number.fract() == 0.0 { Value::Integer(number as i64) } else { Value::Float(number) }
}

#[cfg(test)]
mod tests {
    use super::{ProfileFile, value_of};

    fn tiny() -> ProfileFile {
        ProfileFile::shipped("mine.toml", "tiny").unwrap()
    }

    #[test]
    fn a_value_stands_at_its_dotted_key_and_others_as_they_were() {
        let mut file = tiny();
        file.put("ftl.buffer_entries", 48.into()).unwrap();
        file.put("package.errors.fresh", value_of(3e-6)).unwrap();
        assert_eq!(file.number("ftl.buffer_entries"), Some(48.0));
        let (shipped, changed) = (tiny().profile().unwrap(), file.profile().unwrap());
        assert_eq!((changed.ftl.buffer_entries, changed.package.errors.fresh), (48, 3e-6));
        assert_ne!(shipped.ftl.buffer_entries, 48);
        assert_eq!(shipped.geometry, changed.geometry);
        assert_eq!(file.number("ftl.nothing"), None);
        assert_eq!(file.number("ftl"), None);
        for (list, number) in [(vec![2.5, 2.5], Some(2.5)), (vec![2.5, 3.5], None), (vec![], None)] {
            file.put("own.list", list.into()).unwrap();
            assert_eq!(file.number("own.list"), number);
        }
        file.put("own.deep.key", value_of(7.0)).unwrap();
        assert_eq!(file.number("own.deep.key"), Some(7.0), "tables on the way are made");
    }

    #[test]
    fn a_profile_or_a_key_that_there_is_not_is_named() {
        let unknown = ProfileFile::shipped("mine.toml", "huge").unwrap_err().to_string();
        assert!(unknown.starts_with("mine.toml: no shipped profile is \"huge\": those are "), "{unknown}");
        assert!(unknown.contains("tiny"), "{unknown}");
        let below = tiny().put("ftl.buffer_entries.more", 1.into()).unwrap_err().to_string();
        assert!(below.contains("profiles/tiny.toml: ftl.buffer_entries.more: 'buffer_entries'"), "{below}");
        let mut file = tiny();
        file.put("ftl.bufer_entries", 1.into()).unwrap();
        assert!(file.profile().unwrap_err().to_string().contains("bufer_entries"));
    }
}
