//! docs/profiles.md lists every key. Its tables are generated from the schema, and this test compares the
//! two.

use super::words::UNITS;
use super::*;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use toml::{Table, Value};

const SCHEMA: &str = concat!(
    include_str!("schema.rs"),
    include_str!("costs.rs"),
    include_str!("cores.rs"),
    include_str!("host.rs"),
    include_str!("scheduler.rs"),
    include_str!("target.rs"),
    include_str!("ftl.rs"),
    include_str!("ecc.rs"),
    include_str!("package.rs"),
    include_str!("board.rs")
);
const DOCUMENT: &str = include_str!("../../../docs/profiles.md");
const BEGIN: &str = "<!-- keys: made from device/src/profile, a test compares -->\n";
const END: &str = "<!-- end of keys -->";

/// The keys of `[package.errors]` that are rates.
const RATES: [&str; 5] = ["fresh", "cycle", "cycle_squared", "retention", "read"];

struct Field {
    name: String,
    kind: String,
    doc: String,
}

/// The schema's structs with their fields, and its enums with the names of their values.
#[derive(Default)]
struct Schema {
    structs: BTreeMap<String, Vec<Field>>,
    enums: BTreeMap<String, Vec<String>>,
}

impl Schema {
    fn read() -> Self {
        let (mut schema, mut doc) = (Schema::default(), String::new());
        let (mut of_struct, mut of_enum) = (None, None);
        for line in SCHEMA.lines() {
            let text = line.trim();
            if let Some(more) = text.strip_prefix("///") {
                doc = format!("{doc} {}", more.trim()).trim().to_owned();
                continue;
            }
            if text.starts_with("#[") {
                continue;
            }
            let named = |keyword| line.strip_prefix(keyword).and_then(|rest: &str| rest.strip_suffix(" {"));
            if let Some(name) = named("pub struct ") {
                of_struct = Some(name.to_owned());
            } else if let Some(name) = named("pub enum ") {
                of_enum = Some(name.to_owned());
            } else if line == "}" {
                (of_struct, of_enum) = (None, None);
            } else if let (Some(name), Some(field)) = (&of_struct, line.strip_prefix("    pub ")) {
                let (key, kind) = field.trim_end_matches(',').split_once(": ").unwrap();
                let field = Field { name: key.to_owned(), kind: kind.to_owned(), doc: doc.clone() };
                schema.structs.entry(name.clone()).or_default().push(field);
            } else if let (Some(name), Some(value)) = (&of_enum, text.strip_suffix(','))
                // What carries a value is not one of ours.
                && !value.contains('(')
            {
                schema.enums.entry(name.clone()).or_default().push(kebab(value));
            }
            doc.clear();
        }
        schema
    }
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// A profile with only the required keys, and the same profile with all defaults filled in.
fn least() -> (Table, Table) {
    let mut least: Table =
        toml::from_str(shipped::SHIPPED.iter().find(|(n, _)| *n == "tiny").unwrap().1).unwrap();
    prune(&mut least.clone(), &mut Vec::new(), &mut least);
    let profile = Profile::deserialize(Value::Table(least.clone())).unwrap();
    (least, Table::try_from(&profile).unwrap())
}

/// Removes from `whole` every optional key of `table`, which is at `path` in it.
fn prune(table: &mut Table, path: &mut Vec<String>, whole: &mut Table) {
    for (key, value) in table.iter_mut() {
        path.push(key.clone());
        let mut without = whole.clone();
        take(&mut without, path);
        if Profile::deserialize(Value::Table(without.clone())).is_ok() {
            *whole = without;
        } else if let Value::Table(inner) = value {
            prune(inner, path, whole);
        }
        path.pop();
    }
}

fn take(table: &mut Table, path: &[String]) {
    match path {
        [last] => drop(table.remove(last)),
        [first, rest @ ..] => take(table.get_mut(first).and_then(Value::as_table_mut).unwrap(), rest),
        [] => {}
    }
}

fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = table.get(first)?;
    rest.map_or(Some(value), |rest| at(value.as_table()?, rest))
}

/// The tables as docs/profiles.md has them.
fn written() -> String {
    let (least, full) = least();
    let mut out = String::new();
    write_table(&mut out, &Schema::read(), "Profile", "", "", (&least, &full));
    out
}

fn write_table(
    out: &mut String,
    schema: &Schema,
    name: &str,
    path: &str,
    doc: &str,
    values @ (least, full): (&Table, &Table),
) {
    let fields = &schema.structs[name];
    match path {
        "" => writeln!(out, "### Before the first table\n").unwrap(),
        _ => writeln!(out, "### `[{path}]`\n\n{doc}\n").unwrap(),
    }
    out.push_str("| key | meaning | unit | default |\n|---|---|---|---|\n");
    let inner = |field: &Field| {
        let kind =
            field.kind.strip_prefix("Option<").and_then(|k| k.strip_suffix('>')).unwrap_or(&field.kind);
        schema.structs.contains_key(kind).then(|| kind.to_owned())
    };
    let full_name = |field: &Field| match path {
        "" => field.name.clone(),
        _ => format!("{path}.{}", field.name),
    };
    for field in fields.iter().filter(|field| inner(field).is_none()) {
        let key = full_name(field);
        let values: Vec<_> =
            schema.enums.iter().filter(|(kind, _)| field.kind.contains(kind.as_str())).collect();
        let mut meaning = field.doc.replace('|', "\\|");
        for (_, names) in values {
            let names: Vec<_> = names.iter().map(|name| format!("`\"{name}\"`")).collect();
            write!(meaning, " {}", names.join(", ")).unwrap();
        }
        let ending = UNITS.iter().find(|(ending, _)| field.name.ends_with(ending));
        let unit = match ending {
            Some((_, unit)) => unit,
            None if path == "costs" => "cycles",
            None if RATES.contains(&field.name.as_str()) && path == "package.errors" => "errors per bit",
            None => "",
        };
        let default = match at(full, &key) {
            _ if at(least, &key).is_some() => "required".to_owned(),
            Some(value) => format!("`{value}`"),
            None if field.kind.starts_with("Option<") => "absent".to_owned(),
            // Required within a table that may be absent.
            None => "required".to_owned(),
        };
        writeln!(out, "| `{}` | {meaning} | {unit} | {default} |", field.name).unwrap();
    }
    out.push('\n');
    for field in fields {
        if let Some(kind) = inner(field) {
            write_table(out, schema, &kind, &full_name(field), &field.doc, values);
        }
    }
}

#[test]
fn the_document_lists_every_key_as_the_schema_has_it() {
    let written = written();
    let listed =
        DOCUMENT.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(listed, _)| listed);
    assert!(
        listed == Some(written.as_str()),
        "docs/profiles.md is not what the schema says; between its two comments must stand:\n\n{written}"
    );
}

#[test]
fn every_key_has_a_meaning() {
    for (name, fields) in Schema::read().structs {
        assert!(fields.iter().all(|field| !field.doc.is_empty()), "{name}");
    }
}
