//! How wide a line may be.
//!
//! rustfmt leaves comments alone, and gives up on code around a string that is too long. This rule covers
//! both, and the languages that have no formatter here. Prose in Markdown is left to its authors.

use crate::Violation;
use crate::source::SourceFile;

/// Columns of a line, as `rustfmt.toml` has them. A column is a character, whatever its bytes.
pub const COLUMNS_MAX: usize = 110;

/// Files whose lines may be wider, each with the reason.
const EXEMPT_FILES: [&str; 3] = [
    // As their authors built them.
    "lab/src/page/uplot.iife.min.js",
    "lab/src/page/uplot.min.css",
    // Its checksum names the folder of the unpacked guest: any change of the file downloads the guest again.
    "scripts/guest.sh",
];

/// Wide lines of `files`.
pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let checked = |file: &&SourceFile| !file.path.ends_with(".md") && !EXEMPT_FILES.contains(&&*file.path);
    files.iter().filter(checked).flat_map(wide_lines).collect()
}

fn wide_lines(file: &SourceFile) -> impl Iterator<Item = Violation> {
    let toml = file.path.ends_with(".toml");
    file.text.lines().enumerate().filter_map(move |(index, line)| {
        let columns = line.chars().count();
        let whole = is_table_row(line) || is_one_word(line) || toml && is_one_value(line);
        (columns > COLUMNS_MAX && !whole).then(|| {
            let message = format!("{columns} columns, more than {COLUMNS_MAX}: break the line");
            Violation::new(format!("{}:{}", file.path, index + 1), message)
        })
    })
}

/// The text of a comment's line.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("//").or_else(|| line.strip_prefix('#'))?;
    Some(text.trim_start_matches(['/', '!']).trim_start())
}

/// Whether this is a row of a table in a comment: Markdown has it on one line.
fn is_table_row(line: &str) -> bool {
    comment(line).is_some_and(|text| text.starts_with('|'))
}

/// Whether this is one word, such as an address, alone on its line of a comment.
fn is_one_word(line: &str) -> bool {
    comment(line).is_some_and(|text| !text.trim_end().contains(' '))
}

/// Whether this line of TOML is an inline table or a string, with or without its key: neither can be broken.
fn is_one_value(line: &str) -> bool {
    let line = line.trim_start();
    let value = match line.split_once(" = ") {
        Some((key, value)) if !key.starts_with(['#', '{']) => value,
        _ => line,
    };
    value.starts_with(['{', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, text: &str) -> Vec<String> {
        let found = check(&[SourceFile { path: path.into(), text: text.into() }]);
        found.into_iter().map(|violation| violation.place).collect()
    }

    #[test]
    fn columns_are_characters_and_the_last_one_may_be_used() {
        let text = |columns| format!("\n    /// ü {}\n", "ü".repeat(columns - 10));
        assert_eq!(places("lab/src/x.rs", &text(COLUMNS_MAX)), [""; 0]);
        assert_eq!(places("lab/src/x.rs", &text(COLUMNS_MAX + 1)), ["lab/src/x.rs:2"]);
    }

    #[test]
    fn code_strings_and_comments_of_every_language_are_looked_at() {
        let long = "to be ".repeat(20);
        for text in [
            format!("let x = \"{long}\";"),
            format!("let x = r#\"{long}\"#;"),
            format!("f({});", "x, ".repeat(40)),
            format!("// {long}"),
        ] {
            for path in ["lab/src/x.rs", "rtl/checker/rtl/x.sv", "rtl/checker/rtl/x.svh"] {
                assert_eq!(places(path, &text), [format!("{path}:1")], "{text}");
            }
        }
        assert_eq!(places("scripts/x.sh", &format!("# {long}")), ["scripts/x.sh:1"]);
        assert_eq!(places("profiles/x.toml", &format!("# {long}")), ["profiles/x.toml:1"]);
        let listed = format!("names = [{}]", "\"x\", ".repeat(40));
        assert_eq!(places("profiles/x.toml", &listed), ["profiles/x.toml:1"]);
    }

    #[test]
    fn what_cannot_be_broken_passes() {
        let long = "to be ".repeat(20);
        let address = format!("https://example.org/{}", "x".repeat(COLUMNS_MAX));
        for comment in [format!("//! | {long} |"), format!("    /// {address}"), format!("// <{address}>")] {
            assert_eq!(places("lab/src/x.rs", &comment), [""; 0], "{comment}");
        }
        for value in [
            format!("x = {{ doc = \"{long}\" }}"),
            format!("x = \"{long}\""),
            format!("    {{ doc = \"{long}\" }},"),
        ] {
            assert_eq!(places("profiles/x.toml", &value), [""; 0], "{value}");
        }
        assert_eq!(places("docs/x.md", &long), [""; 0]);
        assert_eq!(places("scripts/guest.sh", &long), [""; 0]);
    }

    #[test]
    fn an_address_behind_words_is_moved_to_a_line_of_its_own() {
        let text = format!("// see https://example.org/{}", "x".repeat(COLUMNS_MAX));
        assert_eq!(places("lab/src/x.rs", &text), ["lab/src/x.rs:1"]);
        let violation = &check(&[SourceFile { path: "lab/src/x.rs".into(), text }])[0];
        assert_eq!(violation.message, "137 columns, more than 110: break the line");
    }
}
