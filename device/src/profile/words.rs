//! Error messages for values that a key doesn't take, in TOML's terms.
//!
//! serde's messages name Rust's types. The key's real range is in `check.rs` and depends on other keys.
//! This module finds it by checking the profile with both ends of the type's range as the value.

use super::Profile;
use super::error::{key_of, nearest, unknown_field};
use serde::{Deserialize, Deserializer};
use serde_path_to_error::{Path, Segment};
use std::fmt::Write;
use toml::{Table, Value};

/// Units by the ending of a key's name, the longest ending first.
pub(super) const UNITS: [(&str, &str); 19] = [
    ("_per_million", "in a million"),
    ("_per_mille", "in a thousand"),
    ("_mb_per_s", "MB/s"),
    ("_bytes_max", "bytes"),
    ("_percent", "%"),
    ("_cycles", "cycles"),
    ("_bytes", "bytes"),
    ("_mt_s", "MT/s"),
    ("_payload", "bytes"),
    ("_overhead", "bytes"),
    ("_mhz", "MHz"),
    ("_us", "µs"),
    ("_ns", "ns"),
    ("_mv", "mV"),
    ("_ms", "ms"),
    ("_uj", "µJ"),
    ("_nj", "nJ"),
    ("_w", "W"),
    ("_c", "°C"),
];

/// The unit of `key`, with a space before it; empty if it has none.
pub(super) fn unit_of(key: &str) -> String {
    let by_name = UNITS.iter().find(|(ending, _)| key.ends_with(ending)).map(|(_, unit)| *unit);
    match by_name.or_else(|| key.starts_with("costs.").then_some("cycles")) {
        Some(unit) => format!(" {unit}"),
        None => String::new(),
    }
}

/// Says what is wrong with the value at `path` of `table`, where serde gave `message`.
pub(crate) fn reason(table: &Table, path: &Path, message: &str) -> String {
    let Some(found) = value_at(table, path) else { return message.to_owned() };
    let is_entry = path.iter().any(|part| matches!(part, Segment::Seq { .. }));
    let (must, is) = if is_entry { ("each must", "one is") } else { ("must", "is") };
    let key = key_of(path);
    let Some(wanted) = Wanted::of(message).or_else(|| names_of(table, &key).map(Wanted::Name)) else {
        // A type of ours that is read from text says itself what it takes.
        return match message.lines().next().and_then(|line| line.strip_prefix("must ")) {
            Some(rest) => format!("{must} {rest}"),
            None => format!("{must} be of another kind, but {is} {found}"),
        };
    };
    let mut text = match &wanted {
        Wanted::Whole { low, high } => {
            // The nearer end first, since the message may depend on the side.
            let is_below = found.as_integer().is_some_and(|number| number < *low);
            let probes = if is_below { [*low, *high] } else { [*high, *low] }.map(Value::Integer);
            let range = (!is_entry).then(|| range_of(table, &key, probes)).flatten();
            let range = range.unwrap_or_else(|| format!("be from {low} to {high}{}", unit_of(&key)));
            // The error about a number names only its range; for another type it also says that a number
            // is needed.
            match range.strip_prefix("be from") {
                Some(rest) if found.as_integer().is_none() => format!("{must} be a whole number from{rest}"),
                _ if found.as_integer().is_none() => format!("{must} be a whole number and {range}"),
                _ => format!("{must} {range}"),
            }
        }
        Wanted::Number => {
            let probes = [Value::Float(f64::MAX), Value::Float(f64::MIN)];
            let range = (!is_entry).then(|| range_of(table, &key, probes)).flatten();
            match range.as_deref().and_then(|range| range.strip_prefix("be from")) {
                Some(rest) => format!("{must} be a number from{rest}"),
                None => format!("{must} be a number{}", unit_of(&key)),
            }
        }
        kind => format!("{must} be {}", kind.in_words()),
    };
    let _ = match (&wanted, &found) {
        (Wanted::List(Some(_)), Value::Array(list)) => write!(text, ", but has {}", list.len()),
        _ => write!(text, ", but {is} {found}"),
    };
    if let (Wanted::Name(names), Some(name)) = (&wanted, found.as_str())
        && let Some(near) = nearest(name, names)
    {
        let _ = write!(text, "; did you mean \"{near}\"?");
    }
    if let (Wanted::Whole { .. }, Some(bytes)) = (&wanted, found.as_str().and_then(written_out)) {
        let _ = write!(text, "; written out it is {bytes}");
    }
    text
}

/// What a key's type accepts.
enum Wanted {
    Whole { low: i64, high: i64 },
    Number,
    Flag,
    Text,
    List(Option<usize>),
    Table,
    Name(Vec<String>),
}

impl Wanted {
    fn of(message: &str) -> Option<Self> {
        let (start, expected) = message.rsplit_once(", expected ")?;
        if start.starts_with("unknown variant") {
            return Some(Wanted::Name(expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()));
        }
        Some(match expected {
            "u8" => Wanted::Whole { low: 0, high: u8::MAX.into() },
            "u16" => Wanted::Whole { low: 0, high: u16::MAX.into() },
            "u32" => Wanted::Whole { low: 0, high: u32::MAX.into() },
            // The largest integer of TOML.
            "u64" | "usize" => Wanted::Whole { low: 0, high: i64::MAX },
            "i16" => Wanted::Whole { low: i16::MIN.into(), high: i16::MAX.into() },
            "f64" => Wanted::Number,
            "a boolean" => Wanted::Flag,
            "a string" | "path string" => Wanted::Text,
            "a sequence" => Wanted::List(None),
            _ if expected.starts_with("struct ") => Wanted::Table,
            _ => Wanted::List(Some(expected.strip_prefix("an array of length ")?.parse().ok()?)),
        })
    }

    fn in_words(&self) -> String {
        match self {
            Wanted::Whole { low: 0, high: i64::MAX } => "a whole number that is not negative".to_owned(),
            Wanted::Whole { low, high } => format!("a whole number from {low} to {high}"),
            Wanted::Number => "a number".to_owned(),
            Wanted::Flag => "true or false".to_owned(),
            Wanted::Text => "a text in quotes".to_owned(),
            Wanted::List(None) => "a list, such as [1, 2]".to_owned(),
            Wanted::List(Some(length)) => format!("a list of {length}"),
            Wanted::Table => "a table with keys of its own".to_owned(),
            Wanted::Name(names) => alternatives(names),
        }
    }
}

/// Reads any value by serde: from a report, or from a file that isn't a profile.
///
/// # Errors
/// Names the key, and says what it must be and is.
pub fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, String> {
    serde_path_to_error::deserialize(from).map_err(|error| {
        let (key, message) = (error.path().to_string(), error.inner().to_string());
        let problem = plain(message.lines().next().unwrap_or_default().trim());
        if key == "." { problem } else { format!("{key}: {problem}") }
    })
}

/// serde's `message` in plain words, for cases without a better one.
fn plain(message: &str) -> String {
    if let Some(missing) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return format!("lacks the key '{missing}'");
    }
    if let Some((unknown, known)) = unknown_field(message) {
        let meant =
            nearest(&unknown, &known).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        return format!("unknown key '{unknown}'{meant}");
    }
    let found = message.rsplit_once(", expected ").and_then(|(start, _)| found_in(start));
    match (Wanted::of(message), found) {
        (Some(wanted), Some(found)) => format!("must be {}, but is {found}", wanted.in_words()),
        _ => message.to_owned(),
    }
}

/// The value that a message such as "invalid type: string \"x\"" names.
fn found_in(start: &str) -> Option<String> {
    if let Some(name) = start.strip_prefix("unknown variant `") {
        return Some(format!("\"{}\"", name.trim_end_matches('`')));
    }
    if let Some(length) = start.strip_prefix("invalid length ") {
        return Some(format!("a list of {length}"));
    }
    let (_, found) = start.split_once(": ")?;
    Some(match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        "unit value" => "null".to_owned(),
        _ => match found.split_once('`') {
            Some((_, value)) if !found.starts_with("string ") => value.trim_end_matches('`').to_owned(),
            _ => found.strip_prefix("string ").unwrap_or(found).to_owned(),
        },
    })
}

/// The value at `path`.
fn value_at(table: &Table, path: &Path) -> Option<Value> {
    let mut parts = path.iter();
    let Segment::Map { key } = parts.next()? else { return None };
    let mut at = table.get(key)?;
    for part in parts {
        at = match part {
            Segment::Map { key } => at.get(key)?,
            Segment::Seq { index } => at.get(*index)?,
            Segment::Enum { .. } | Segment::Unknown => return Some(at.clone()),
        };
    }
    Some(at.clone())
}

/// `table` with another value of `key`.
fn with(table: &Table, key: &str, value: Value) -> Option<Table> {
    let mut whole = table.clone();
    let (tables, last) = key.rsplit_once('.').map_or((None, key), |(tables, last)| (Some(tables), last));
    let mut at = &mut whole;
    for name in tables.into_iter().flat_map(|tables| tables.split('.')) {
        at = at.get_mut(name)?.as_table_mut()?;
    }
    at.insert(last.to_owned(), value);
    Some(whole)
}

/// The requirement in the error for the first of `probes` that `key` refuses: "be from 4 to 16".
fn range_of(table: &Table, key: &str, probes: [Value; 2]) -> Option<String> {
    probes.into_iter().find_map(|probe| {
        let profile = Profile::deserialize(Value::Table(with(table, key, probe)?)).ok()?;
        let (refused, reason) = profile.check().err()?;
        let must = reason.strip_prefix("must ").filter(|_| refused == key)?;
        Some(must.split_once(", but is").map_or(must, |(must, _)| must).to_owned())
    })
}

/// The names that `key` takes, where it takes names.
fn names_of(table: &Table, key: &str) -> Option<Vec<String>> {
    let none = |list| if list { Value::from(vec![String::new()]) } else { Value::String(String::new()) };
    [false, true].into_iter().find_map(|list| {
        let error = Profile::deserialize(Value::Table(with(table, key, none(list))?)).err()?;
        match Wanted::of(error.message())? {
            Wanted::Name(names) => Some(names),
            _ => None,
        }
    })
}

/// "\"a\", \"b\" or \"c\"".
fn alternatives(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// A size such as "64k" or "8 GiB" as a number; a profile has no such endings.
fn written_out(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
    let ending = size[digits.len()..].trim().to_ascii_lowercase();
    let log2 = match ending.strip_suffix("ib").or(ending.strip_suffix('b')).unwrap_or(&ending) {
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(1 << log2)
}

#[cfg(test)]
mod tests {
    use super::read;
    use serde::Deserialize;
    use toml::Value;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Whole {
        part: Part,
        list: [u8; 2],
    }
    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields, rename_all = "snake_case")]
    #[expect(dead_code, reason = "only read")]
    struct Part {
        seed: u64,
        ways: u8,
        on: bool,
        name: String,
        kind: Kind,
    }
    #[derive(Deserialize, Debug)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Full,
        Fingerprint,
    }

    #[test]
    fn a_value_that_its_key_does_not_take_is_told_by_key_and_in_words() {
        let good = "list = [1, 2]\npart = { seed = 1, ways = 2, on = true, name = \"n\", kind = \"full\" }";
        let parse = |text: &str| read::<Whole, _>(toml::from_str::<Value>(text).unwrap());
        assert!(matches!(parse(good).unwrap().part.kind, Kind::Full));
        for (from, to, error) in [
            (
                "seed = 1",
                "seed = \"x\"",
                "part.seed: must be a whole number that is not negative, but is \"x\"",
            ),
            ("ways = 2", "ways = 300", "part.ways: must be a whole number from 0 to 255, but is 300"),
            ("ways = 2", "ways = [2]", "part.ways: must be a whole number from 0 to 255, but is a list"),
            ("on = true", "on = 1.5", "part.on: must be true or false, but is 1.5"),
            ("name = \"n\"", "name = {}", "part.name: must be a text in quotes, but is a table"),
            ("\"full\"", "\"none\"", "part.kind: must be \"full\" or \"fingerprint\", but is \"none\""),
            ("[1, 2]", "[1, false]", "list[1]: must be a whole number from 0 to 255, but is false"),
            ("seed = 1, ", "", "part: lacks the key 'seed'"),
            ("seed = 1", "sed = 1", "part.sed: unknown key 'sed'; did you mean 'seed'?"),
        ] {
            assert!(good.contains(from), "{from}");
            assert_eq!(parse(&good.replace(from, to)).unwrap_err(), error);
        }
        let error = read::<Part, _>(Value::Array(Vec::new())).unwrap_err();
        assert_eq!(error, "must be a table with keys of its own, but is a list of 0");
    }
}
