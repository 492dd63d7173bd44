use aster_units::edit_distance;
use serde_path_to_error::{Path, Segment};
use std::fmt::{self, Write};

/// What is wrong with a profile, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileError {
    /// The file, or the name of a shipped profile.
    pub file: String,
    /// Line from 1, when it is known.
    pub line: Option<usize>,
    /// The key, with its table: `ftl.buffer_entries`.
    pub key: Option<String>,
    /// What is wrong, and what to write instead.
    pub reason: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.reason)
    }
}
impl std::error::Error for ProfileError {}

impl ProfileError {
    /// `text` isn't valid TOML.
    pub(crate) fn of_syntax(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().trim();
        let line = error.span().map(|span| line_of(text, span.start));
        let number = message.strip_prefix("invalid type: integer `").and_then(|rest| rest.split_once('`'));
        let reason = match number {
            Some((number, _)) => {
                format!("whole numbers are from {} to {}, but this is {number}", i64::MIN, i64::MAX)
            }
            None => {
                let found = line.and_then(|l| text.lines().nth(l - 1)).map_or("", str::trim);
                let shown: String = found.chars().take(SHOWN_CHARS_MAX).collect();
                let cut = if shown.len() < found.len() { "..." } else { "" };
                match found.is_empty() {
                    true => in_words(message).to_owned(),
                    false => format!("{}: {shown}{cut}", in_words(message)),
                }
            }
        };
        let key = line.and_then(|l| key_at(text, l)).filter(|key| !key.is_empty());
        ProfileError { file: file.to_owned(), line, key, reason }
    }

    /// A key is unknown, missing, or has a value that it doesn't take. `unfit` says what the value must
    /// be, and `choices` what a key that is missing may be, if that is one of several names. `path` is where
    /// serde was in the merged text of profile and package.
    pub(crate) fn of_serde(
        file: &str,
        text: &str,
        (path, error): (&Path, &toml::de::Error),
        unfit: impl FnOnce(&str) -> String,
        choices: impl FnOnce(&str) -> Option<String>,
    ) -> Self {
        let (message, key) = (error.message().trim(), key_of(path));
        let line = error.span().map(|span| line_of(text, span.start));
        if let Some(missing) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'))
        {
            // Without a header there is no line to name.
            let header = |l: &usize| text.lines().nth(l - 1).is_some_and(|line| header_of(line).is_some());
            let key = (!key.is_empty()).then_some(key);
            let line = line.filter(header).or_else(|| find_key(text, key.as_deref()?));
            let is_table = key.is_none() && missing != "description";
            let what = if is_table { format!("table [{missing}]") } else { format!("key '{missing}'") };
            let full = key.as_ref().map_or(missing.to_owned(), |table| format!("{table}.{missing}"));
            let choices = choices(&full).map_or(String::new(), |choices| format!(": {choices}"));
            let reason = format!("lacks the {what}{choices}");
            return ProfileError { file: file.to_owned(), line, key, reason };
        }
        let Some((unknown, known)) = unknown_field(message) else {
            let line = find_key(text, &key).or(line);
            return ProfileError { file: file.to_owned(), line, key: Some(key), reason: unfit(message) };
        };
        // A merged profile has no line numbers, so look for the key in the profile's text.
        let line = line.or_else(|| {
            (1..=text.lines().count()).find(|&l| {
                let named = key_at(text, l);
                named.is_some_and(|full| full.rsplit('.').next() == Some(unknown.as_str()))
                    || table_at(text, l).is_some_and(|table| table.split('.').any(|part| part == unknown))
            })
        });
        let full = line.map_or(unknown.clone(), |l| full_key(text, l, &unknown));
        let meant =
            nearest(&unknown, &known).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        let stop = if meant.is_empty() { "." } else { "" };
        let reason = format!("unknown key{meant}{stop} Known here: {}", known.join(", "));
        ProfileError { file: file.to_owned(), line, key: Some(full), reason }
    }

    pub(crate) fn of_value(file: &str, text: &str, key: &str, reason: String) -> Self {
        ProfileError { file: file.to_owned(), line: find_key(text, key), key: Some(key.to_owned()), reason }
    }
}

/// Most characters of a line that an error repeats.
const SHOWN_CHARS_MAX: usize = 60;

/// The TOML parser's message in plain words. The original names parts of the grammar and single letters.
fn in_words(message: &str) -> &str {
    const WORDS: [(&str, &str); 9] = [
        (
            "string values must be quoted",
            "not a number, true or false, a text in quotes or a list such as [58, 90]",
        ),
        ("invalid boolean", "not a number, true or false, a text in quotes or a list such as [58, 90]"),
        ("integer number overflowed", "not a number"),
        ("invalid basic string", "the text has no closing \""),
        ("invalid multi-line basic string", "the text has no closing \"\"\""),
        ("invalid literal string", "the text has no closing '"),
        ("unquoted keys cannot be empty", "a key or a table without a name"),
        ("unclosed array", "the list has no closing ], or no comma between two values"),
        ("key with no value", "a key without = and a value"),
    ];
    let known = WORDS.iter().find(|(begins, _)| message.starts_with(begins));
    known.map_or(message, |(_, words)| words)
}

/// The key that serde was at, without indexes into lists.
pub(super) fn key_of(path: &Path) -> String {
    let mut key = String::new();
    for part in path {
        if let Segment::Map { key: name } = part {
            let _ = write!(key, "{}{name}", if key.is_empty() { "" } else { "." });
        }
    }
    key
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

/// The table of a header, whatever comment follows it.
fn header_of(line: &str) -> Option<&str> {
    let (table, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with('#')).then_some(table.trim())
}

/// The table whose header precedes `line`.
fn table_at(text: &str, line: usize) -> Option<String> {
    text.lines().take(line).filter_map(header_of).last().map(str::to_owned)
}

/// An unknown `key` found on `line`, with its table. A key from a header is a table itself.
fn full_key(text: &str, line: usize, key: &str) -> String {
    let Some(table) = table_at(text, line) else { return key.to_owned() };
    let is_header = text.lines().nth(line - 1).is_some_and(|l| header_of(l).is_some());
    let mut parts: Vec<&str> = table.split('.').map(str::trim).collect();
    match parts.iter().position(|part| *part == key) {
        Some(at) if is_header => parts.truncate(at + 1),
        _ => parts.push(key),
    }
    parts.join(".")
}

/// The key assigned on `line`, with its table.
fn key_at(text: &str, line: usize) -> Option<String> {
    let (key, _) = text.lines().nth(line - 1)?.split_once('=')?;
    let key = key.trim();
    Some(match table_at(text, line) {
        Some(table) => format!("{table}.{key}"),
        None => key.to_owned(),
    })
}

/// The line on which `table.key` is assigned. If the key has its default or is a table, it is the line of
/// the table's header.
fn find_key(text: &str, key: &str) -> Option<usize> {
    let header = |table: &str| text.lines().position(|line| header_of(line) == Some(table)).map(|at| at + 1);
    (1..=text.lines().count())
        .find(|&l| key_at(text, l).as_deref() == Some(key))
        .or_else(|| header(key))
        .or_else(|| header(key.rsplit_once('.')?.0))
}

/// Parses serde's "unknown field `x`, expected one of `a`, `b`".
pub(super) fn unknown_field(message: &str) -> Option<(String, Vec<String>)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (key, rest) = rest.split_once('`')?;
    let known = rest.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some((key.to_owned(), known))
}

/// The known key closest to `key`, if it takes only a few edits.
pub(super) fn nearest<'a>(key: &str, known: &'a [String]) -> Option<&'a str> {
    known
        .iter()
        .map(|k| (edit_distance(key, k), k))
        .min_by_key(|(d, _)| *d)
        .filter(|(d, k)| *d <= (k.len().max(key.len()) / 2).max(2))
        .map(|(_, k)| k.as_str())
}

/// Says that `name` isn't one of `names`, and which of them was probably meant.
pub(crate) fn not_one_of(names: &[&str], name: &str) -> String {
    let known: Vec<_> = names.iter().map(|&known| known.to_owned()).collect();
    let quoted: Vec<_> = names.iter().map(|known| format!("\"{known}\"")).collect();
    let meant = nearest(name, &known).map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
    format!("must be one of {}, but is \"{name}\"{meant}", quoted.join(", "))
}
