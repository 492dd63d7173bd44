//! Requirement ids: recognises citations, and checks that each cited id has a line in
//! `docs/requirements.md`.
//!
//! An id is one of the letters C, S, O, B, H, P, G and a number (`C31`). Source is full of words that look
//! like one (ONFI's feature parameters P1 to P4, address cycles C1 and C2), so it is a citation only at these
//! places, and never between backquotes:
//!
//! 1. In parentheses, at the beginning of a part: `(C31)`, `(C31, P4)`, `(section 7.4; C83 to C85)`,
//!    `(Cosmos+ C32–C41)`, `(C41 read-trigger)`. This holds for comments, strings and pages.
//! 2. At the beginning of a line of a comment, of a line of a page or of a cell of its tables, when nothing
//!    but more ids, a full stop, a comma or a colon follows: `// C31`, `# C55 and C56`, `/// C47: modules
//!    come and go`, `| C61 |`.

use std::collections::BTreeMap;
use std::fmt;

use crate::Violation;
use crate::passages::passages;
use crate::source::SourceFile;

/// The page that holds a line per id.
pub const PAGE: &str = "docs/requirements.md";

/// The letters that ids begin with: one per source.
const LETTERS: &str = "CSOBHPG";

/// Names of sources that may stand before an id.
const SOURCES: [&str; 5] = ["Cosmos+ ", "SoftSSD ", "BABOL ", "Host-FTL ", "as "];

/// What may stand between ids of a list, and whether it makes a range of them.
const CONNECTORS: [(&str, bool); 6] =
    [(" to ", true), ("–", true), (", and ", false), (" and ", false), (", ", false), (" or ", false)];

/// A requirement's id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Id {
    /// Its source.
    pub letter: char,
    /// Its number within the source, from 1.
    pub number: u32,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.letter, self.number)
    }
}

/// An id where it is cited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Citation {
    /// Path from the workspace root.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// What is cited.
    pub id: Id,
}

/// The lines of [`PAGE`]: id and text.
pub type Requirements = BTreeMap<Id, String>;

/// Reads the page's tables: `| C1 | text |`.
///
/// # Errors
/// A violation per line that names an id twice or says nothing of it.
pub fn parse(page: &SourceFile) -> Result<Requirements, Vec<Violation>> {
    let mut requirements = Requirements::new();
    let mut violations = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        let mut cells = line.strip_prefix('|').into_iter().flat_map(|rest| rest.split('|')).map(str::trim);
        let Some((id, "")) = cells.next().and_then(leading_id) else { continue };
        let text = cells.next().unwrap_or_default().to_string();
        let place = || format!("{}:{}", page.path, index + 1);
        if text.is_empty() {
            violations.push(Violation::new(place(), format!("{id} has no text")));
        }
        if requirements.insert(id, text).is_some() {
            violations.push(Violation::new(place(), format!("{id} has a line already")));
        }
    }
    if violations.is_empty() { Ok(requirements) } else { Err(violations) }
}

/// Refuses each citation of an id that has no line in the page.
pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return vec![Violation::new(PAGE, "is missing: comments cite requirements by the ids of its lines")];
    };
    let requirements = match parse(page) {
        Ok(requirements) => requirements,
        Err(violations) => return violations,
    };
    let unknown =
        files.iter().flat_map(citations).filter(|citation| !requirements.contains_key(&citation.id));
    unknown
        .map(|Citation { path, line, id }| {
            let message = format!("{id} has no line in {PAGE}: correct the id, or add its line");
            Violation::new(format!("{path}:{line}"), message)
        })
        .collect()
}

/// What a file cites, in its order.
pub fn citations(file: &SourceFile) -> Vec<Citation> {
    // This crate's own tests contain strings that look like citations.
    if file.path == PAGE || file.path.starts_with("xtask/") {
        return Vec::new();
    }
    let found = match file.path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("rs" | "sv" | "svh" | "v" | "c" | "h" | "js") => in_source(&file.text),
        Some("toml" | "py" | "sh") => in_table(&file.text),
        Some("md") => in_page(&file.text),
        _ => Vec::new(),
    };
    found.into_iter().map(|(line, id)| Citation { path: file.path.clone(), line, id }).collect()
}

/// Lines of prose with their number, for both rules or the first one.
#[derive(Default)]
struct Prose {
    text: String,
    // Where each line of the file begins in `text`, and its number.
    lines: Vec<(usize, usize)>,
    // Where in `text` rule 2 applies.
    openings: Vec<usize>,
}

impl Prose {
    fn push(&mut self, line: usize, text: &str, opens: bool) {
        self.lines.push((self.text.len(), line));
        if opens {
            self.openings.push(self.text.len());
        }
        self.text.push_str(text);
        // A citation may continue on the next line.
        self.text.push('\n');
    }

    fn line_of(&self, at: usize) -> usize {
        let next = self.lines.partition_point(|&(from, _)| from <= at);
        self.lines[next - 1].1
    }

    fn citations(self) -> Vec<(usize, Id)> {
        let text = without_code(&self.text);
        let mut found = in_parentheses(&text);
        for &at in &self.openings {
            let line = text[at..].split('\n').next().unwrap_or_default();
            let (ids, rest) = list(line);
            if rest.is_empty() || rest.starts_with([':', '.', ',']) {
                found.extend(ids.into_iter().map(|id| (at, id)));
            }
        }
        found.sort();
        found.dedup();
        found.into_iter().map(|(at, id)| (self.line_of(at), id)).collect()
    }
}

fn in_source(text: &str) -> Vec<(usize, Id)> {
    let mut found = Vec::new();
    let mut comment = Prose::default();
    let mut last = 0;
    for passage in passages(text) {
        if !passage.comment {
            let mut string = Prose::default();
            string.push(passage.line, passage.text, false);
            found.extend(string.citations());
            continue;
        }
        // Comments on neighbouring lines are one text.
        if passage.line != last + 1 {
            found.extend(std::mem::take(&mut comment).citations());
        }
        for (index, line) in passage.text.lines().enumerate() {
            let line = line.trim_start_matches([' ', '/', '*', '!']).trim_end_matches(['/', '*', ' ']);
            last = passage.line + index;
            comment.push(last, line, true);
        }
    }
    found.extend(comment.citations());
    found.sort_by_key(|&(line, _)| line);
    found
}

fn in_table(text: &str) -> Vec<(usize, Id)> {
    let mut found = Vec::new();
    let mut comment = Prose::default();
    for (index, line) in text.lines().enumerate() {
        let (value, note) = line.split_once("# ").unwrap_or((line, ""));
        if !value.trim().is_empty() {
            found.extend(std::mem::take(&mut comment).citations());
            let mut prose = Prose::default();
            prose.push(index + 1, value, false);
            found.extend(prose.citations());
        }
        comment.push(index + 1, note.trim(), true);
    }
    found.extend(comment.citations());
    found.sort_by_key(|&(line, _)| line);
    found
}

fn in_page(text: &str) -> Vec<(usize, Id)> {
    let mut prose = Prose::default();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with('|') {
            line.split('|').for_each(|cell| prose.push(index + 1, cell.trim(), true));
        } else if !fenced {
            prose.push(index + 1, line.trim_start_matches([' ', '-', '*', '>', '#']), true);
        }
    }
    prose.citations()
}

/// The text with blanks for what stands between backquotes, each byte at its place.
fn without_code(text: &str) -> String {
    let mut inside = false;
    text.chars()
        .flat_map(|c| {
            // An odd backquote ends with its paragraph at the latest.
            inside = inside && c != '\n';
            let hidden = inside || c == '`';
            inside ^= c == '`';
            let (shown, copies) = if hidden { (' ', c.len_utf8()) } else { (c, 1) };
            std::iter::repeat_n(shown, copies)
        })
        .collect()
}

/// Rule 1, with the offset of each part.
fn in_parentheses(text: &str) -> Vec<(usize, Id)> {
    let mut found = Vec::new();
    for (open, _) in text.match_indices('(') {
        let inner = &text[open + 1..];
        let inner = &inner[..inner.find([')', '(']).unwrap_or(0)];
        let mut at = open + 1;
        for part in inner.split_inclusive([',', ';']) {
            let trimmed = part.trim_start();
            let named = SOURCES.iter().find_map(|name| trimmed.strip_prefix(name)).unwrap_or(trimmed);
            let begins = at + part.len() - named.len();
            found.extend(list(named).0.into_iter().map(|id| (begins, id)));
            at += part.len();
        }
    }
    found
}

/// The ids of the list that `text` begins with, ranges filled in, and what follows it.
fn list(text: &str) -> (Vec<Id>, &str) {
    let Some((first, mut rest)) = leading_id(text) else { return (Vec::new(), text) };
    let mut ids = vec![first];
    let next = |rest| {
        CONNECTORS.iter().find_map(|&(connector, ranges)| {
            let (id, rest) = leading_id(str::strip_prefix(rest, connector)?)?;
            Some((id, ranges, rest))
        })
    };
    while let Some((id, ranges, after)) = next(rest) {
        let from = ids.last().copied().unwrap_or(id);
        if ranges && from.letter == id.letter {
            ids.extend((from.number + 1..id.number).map(|number| Id { number, ..from }));
        }
        ids.push(id);
        rest = after;
    }
    (ids, rest)
}

/// The id that `text` begins with as a whole word, and what follows it.
fn leading_id(text: &str) -> Option<(Id, &str)> {
    let letter = text.chars().next().filter(|&c| LETTERS.contains(c))?;
    let digits = text[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - 1);
    let (number, rest) = text[1..].split_at(digits);
    let whole = (1..=3).contains(&number.len())
        && !number.starts_with('0')
        && !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '\''));
    Some((Id { letter, number: number.parse().ok().filter(|_| whole)? }, rest))
}

/// A requirement, and who cites it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its id.
    pub id: Id,
    /// Its line.
    pub text: String,
    /// The places that cite it, `path:line`.
    pub places: Vec<String>,
}

/// Each requirement with the places that cite it.
///
/// # Errors
/// When the page is missing, or wrong as [`parse`] says.
pub fn listing(files: &[SourceFile]) -> Result<Vec<Entry>, Vec<Violation>> {
    let missing = || vec![Violation::new(PAGE, "is missing")];
    let requirements = parse(files.iter().find(|file| file.path == PAGE).ok_or_else(missing)?)?;
    let mut places: BTreeMap<Id, Vec<String>> = BTreeMap::new();
    for Citation { path, line, id } in files.iter().flat_map(citations) {
        places.entry(id).or_default().push(format!("{path}:{line}"));
    }
    let entry = |(id, text)| Entry { id, text, places: places.remove(&id).unwrap_or_default() };
    Ok(requirements.into_iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    fn cited(path: &str, text: &str) -> Vec<String> {
        citations(&file(path, text)).iter().map(|c| format!("{}:{}", c.line, c.id)).collect()
    }

    #[test]
    fn citations_of_comments_are_found() {
        for (text, wanted) in [
            ("// C31", vec!["1:C31"]),
            ("/// The scrambler (C20, G7).", vec!["1:C20", "1:G7"]),
            ("/// Three loops (Cosmos+ C32 to C34)", vec!["1:C32", "1:C33", "1:C34"]),
            ("//! Ends (design §3, S9).", vec!["1:S9"]),
            ("// (C41 read-trigger)", vec!["1:C41"]),
            ("// (section 7.4; C83–C84)", vec!["1:C83", "1:C84"]),
            ("/// C31 and C83: a program.", vec!["1:C31", "1:C83"]),
            ("/// C82, its three statements.", vec!["1:C82"]),
            ("/// One core\n/// (C26 and\n/// C27).", vec!["2:C26"]),
            ("/// One core (as so\n/// often, C27).", vec!["2:C27"]),
            ("let x = 1; // B7", vec!["1:B7"]),
            ("/* Doc\n * C9 */", vec!["2:C9"]),
            ("assert!(x, \"free of cost (C48)\");", vec!["1:C48"]),
        ] {
            assert_eq!(cited("a.rs", text), wanted, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for text in [
            "// P1 to P4, P1 lowest.",
            "// P1 of the timing mode feature, 01h.",
            "// 06h C1 C2 R1 R2 R3 E0h (ONFI 5.1, CHANGE READ COLUMN ENHANCED).",
            "// (`C99`) and `(C98)`",
            "// 0xC32 (BCH12, P99th, C07, C1000, H0, O3-like, Z3)",
            "let C31 = (C32, 1);",
            "let s = \"C31\";",
            "// the byte C31 of it",
        ] {
            assert_eq!(cited("a.rs", text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn pages_profiles_and_rtl_cite_too() {
        assert_eq!(
            cited("docs/a.md", "# x\n\n| C61 | reads |\n```\n(C99)\n```\nso (B3)."),
            ["3:C61", "7:B3"]
        );
        assert_eq!(
            cited("p/a.toml", "a = 5  # P2\n# Table 6\n# (C55)\nb = \"(G5)\""),
            ["1:P2", "3:C55", "4:G5"]
        );
        assert_eq!(cited("a.sv", "assign a = 8'hC1; // one bit (B7)\n"), ["1:B7"]);
        assert_eq!(cited(PAGE, "| C1 | x |"), Vec::<String>::new());
    }

    #[test]
    fn an_id_without_a_line_is_refused_where_it_is_cited() {
        let page = file(PAGE, "| id | what |\n|---|---|\n| C1 | one |\n| C2 | two |");
        let found = check(&[page.clone(), file("a/b.rs", "// C1\n\n// (C1 to C3)")]);
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["a/b.rs:3: C3 has no line in docs/requirements.md: correct the id, or add its line"]
        );
        assert_eq!(check(&[page, file("a/b.rs", "// (C1 to C2)")]), []);
    }

    #[test]
    fn a_page_that_is_missing_or_says_an_id_twice_or_nothing_of_it_is_refused() {
        assert_eq!(check(&[])[0].place, PAGE);
        let twice = check(&[file(PAGE, "| C1 | one |\n| C1 | two |\n| C2 | |")]);
        let places: Vec<_> = twice.iter().map(|violation| violation.place.as_str()).collect();
        assert_eq!(places, ["docs/requirements.md:2", "docs/requirements.md:3"]);
    }

    #[test]
    fn the_listing_has_each_id_with_its_places() {
        let page = file(PAGE, "| C2 | two |\n| C10 | ten |");
        let found = listing(&[page, file("a.rs", "// C10"), file("b.rs", "\n// (C10)")]).unwrap();
        let first = Entry { id: Id { letter: 'C', number: 2 }, text: "two".into(), places: vec![] };
        assert_eq!(found[0], first);
        assert_eq!(found[1].places, ["a.rs:1", "b.rs:2"]);
    }
}
