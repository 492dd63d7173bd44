//! The table of events in docs/observability.md is made from the declaration.

extern crate std;
use crate::EventKind;
use alloc::string::String;
use std::format;

const BEGIN: &str = "<!-- events: made from base/events, a test compares -->\n";
const END: &str = "<!-- end of events -->";

fn table() -> String {
    let mut table = String::from("| event | when | fields |\n|---|---|---|\n");
    for kind in EventKind::ALL {
        let fields = kind.fields().iter().zip(kind.field_summaries());
        let fields: std::vec::Vec<_> =
            fields.map(|(name, words)| format!("`{name}`: {}", words.trim().trim_end_matches('.'))).collect();
        table += &format!("| `{}` | {} | {} |\n", kind.name(), kind.summary(), fields.join("; "));
    }
    table
}

#[test]
fn the_documented_events_and_fields_are_the_declared_ones() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observability.md");
    let document = std::fs::read_to_string(path).expect("docs/observability.md is there");
    let (_, rest) = document.split_once(BEGIN).expect("the mark before the table");
    let (written, _) = rest.split_once(END).expect("the mark after the table");
    assert!(written.trim() == table().trim(), "docs/observability.md should say:\n\n{}", table());
}
