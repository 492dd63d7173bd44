//! Comments and strings of source, where people write. Rust's own tokens ([`crate::code`]) have no comments,
//! and not all source is Rust.

/// Text for people: one comment, or one string literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage<'a> {
    /// The characters as written, with `//` or quotes.
    pub text: &'a str,
    /// Line in the file where it begins, from 1.
    pub line: usize,
    /// True for a comment, false for a string.
    pub comment: bool,
}

/// The comments and strings of Rust source, or of another language with its comments (SystemVerilog, C).
pub fn passages(source: &str) -> Vec<Passage<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = match skipped(rest) {
            Some(length) => {
                let text = &rest[..length];
                let comment = text.starts_with("//") || text.starts_with("/*");
                if comment || text.ends_with(['"', '#']) {
                    found.push(Passage { text, line, comment });
                }
                length
            }
            None => word(rest).max(first.len_utf8()),
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Bytes of the word that `rest` begins with, 0 if none.
fn word(rest: &str) -> usize {
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

/// Bytes of the comment, literal or lifetime that `rest` begins with.
fn skipped(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if rest.starts_with('\'') {
        return Some(character_or_lifetime(rest));
    }
    let prefix = word(rest);
    let (name, literal) = rest.split_at(prefix);
    match name {
        "" | "b" | "c" if literal.starts_with('"') => Some(prefix + string(literal)),
        "b" if literal.starts_with('\'') => Some(prefix + character_or_lifetime(literal)),
        "r" | "br" | "cr" => raw_string(literal).map(|length| prefix + length),
        _ => None,
    }
}

/// Block comments nest in Rust.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `"…"` or `#"…"#` after the `r`; `None` for a raw identifier such as `r#type`.
fn raw_string(literal: &str) -> Option<usize> {
    let hashes = literal.len() - literal.trim_start_matches('#').len();
    let body = literal[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(literal.len(), |at| hashes + 1 + at + end.len()))
}

/// `'x'`, `'\n'`, `'\u{41}'` to their closing quote; a lifetime `'a` to the end of its name.
fn character_or_lifetime(rest: &str) -> usize {
    let body = &rest[1..];
    let first = body.chars().next().map_or(0, char::len_utf8);
    if body.starts_with('\\') {
        // The character after the backslash may itself be a quote.
        return body[2.min(body.len())..].find('\'').map_or(rest.len(), |at| 1 + 2 + at + 1);
    }
    if body[first..].starts_with('\'') { 1 + first + 1 } else { 1 + word(body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        passages(source).into_iter().map(|passage| passage.text).collect()
    }

    #[test]
    fn comments_nest() {
        assert_eq!(texts("a // x\nb /* x /* y */ z */ c"), ["// x", "/* x /* y */ z */"]);
    }

    #[test]
    fn strings_of_every_kind_are_found() {
        assert_eq!(
            texts(r####"a "x\"y" b r#"q" z"# c br"z" d b"y" e c"w" f"####),
            [r#""x\"y""#, r##"r#"q" z"#"##, r#"br"z""#, r#"b"y""#, r#"c"w""#]
        );
    }

    #[test]
    fn characters_and_lifetimes_begin_no_string() {
        assert_eq!(texts(r#"a '\'' '"' &'static '\\' 'é' '\u{41}' "g" r#type"#), [r#""g""#]);
    }

    #[test]
    fn passages_are_the_comments_and_the_strings() {
        let found = passages("let a = \"(C1)\"; // C2\n'x' /* C3\n */ r#\"C4\"#");
        let texts: Vec<_> = found.iter().map(|p| (p.text, p.line, p.comment)).collect();
        assert_eq!(
            texts,
            [("\"(C1)\"", 1, false), ("// C2", 1, true), ("/* C3\n */", 2, true), ("r#\"C4\"#", 3, false)]
        );
    }

    #[test]
    fn source_cut_short_inside_a_literal_ends_there() {
        for source in ["\"abc", "r#\"abc", "'\\", "'", "b'"] {
            assert!(texts(source).is_empty(), "{source:?}");
        }
        assert_eq!(texts("/* abc"), ["/* abc"]);
    }
}
