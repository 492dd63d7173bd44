//! Table II: lines of code of an operation.

use super::plan::{Lines, PaperLines, Plan};
use crate::experiment::ExperimentError;
use serde::Serialize;

/// The folder of the operations in software.
const SOURCES: [&str; 4] = [
    include_str!("../../../firmware/flash/src/operations.rs"),
    include_str!("../../../firmware/flash/src/operations/read.rs"),
    include_str!("../../../firmware/flash/src/operations/program.rs"),
    include_str!("../../../firmware/flash/src/operations/erase.rs"),
];
/// The polling loop, which operations share.
const SHARED: [(&str, &str); 6] = [
    (include_str!("../../../firmware/flash/src/lun.rs"), "until_ready"),
    (include_str!("../../../firmware/flash/src/lun.rs"), "until_ready_within"),
    (include_str!("../../../firmware/flash/src/operations/polling.rs"), "poll_ready"),
    (include_str!("../../../firmware/flash/src/operations/polling.rs"), "poll"),
    (include_str!("../../../firmware/flash/src/operations/polling.rs"), "polled"),
    (include_str!("../../../firmware/flash/src/operations/polling.rs"), "poll_on"),
];

/// An operation's lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinesReport {
    /// Its name.
    pub operation: String,
    /// Lines of its functions.
    pub ours: usize,
    /// Lines of the polling loop, which all operations share.
    pub shared: usize,
    /// The paper's.
    pub paper: PaperLines,
}

/// Counts the plan's operations.
pub(super) fn count(plan: &Plan) -> Result<Vec<LinesReport>, ExperimentError> {
    let missing =
        |name: &str| ExperimentError::File(format!("lines.functions: no function is called \"{name}\""));
    let lines_of = |(source, name)| function(source, name).ok_or_else(|| missing(name));
    let shared = SHARED.into_iter().map(lines_of).sum::<Result<usize, _>>()?;
    let report = |wanted: &Lines| {
        let of = |name: &String| {
            SOURCES.iter().find_map(|source| function(source, name)).ok_or_else(|| missing(name))
        };
        let ours = wanted.functions.iter().map(of).sum::<Result<usize, _>>()?;
        Ok(LinesReport { operation: wanted.operation.clone(), ours, shared, paper: wanted.paper })
    };
    plan.lines.iter().map(report).collect()
}

/// Code lines of the function `name`, from its signature to its closing brace. Blank lines and comments don't
/// count.
fn function(source: &str, name: &str) -> Option<usize> {
    let code = without_comments(source);
    let mut lines = code.lines().skip_while(|line| !begins(line, name)).peekable();
    lines.peek()?;
    let (mut depth, mut opened, mut count) = (0i32, false, 0);
    for line in lines {
        count += usize::from(!line.trim().is_empty());
        for c in line.chars() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            opened |= c == '{';
        }
        if opened && depth == 0 {
            return Some(count);
        }
    }
    None
}

/// Whether `line` begins the function `name`.
fn begins(line: &str, name: &str) -> bool {
    line.split_once("fn ").is_some_and(|(before, after)| {
        let words = before.split_whitespace();
        let qualified = |word: &str| word == "async" || word == "const" || word.starts_with("pub");
        words.clone().all(|word| qualified(word) || word.ends_with(')'))
            && after.strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', '<']))
    })
}

/// The source without comments and the content of literals, with its lines kept.
fn without_comments(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if c == '"' {
            out.push('"');
            literal(rest)
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.extend(rest[..skipped].chars().filter(|&c| c == '\n'));
        rest = &rest[skipped..];
    }
    out
}

/// Bytes of the string that `rest` begins with.
fn literal(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::function;

    const SOURCE: &str = r#"
/// fn told() { is no function
pub(crate) async fn told(
    n: u32, // how many
) -> u32 {

    /* a brace { that
       isn't one */
    let text = "} \" }"; // }
    if n > 0 { 1 } else { 2 }
}
fn told_too() {}
"#;

    #[test]
    fn code_lines_are_counted_and_comments_and_literals_are_not_code() {
        assert_eq!(function(SOURCE, "told"), Some(6));
        assert_eq!(function(SOURCE, "told_too"), Some(1));
        assert_eq!(function(SOURCE, "tol"), None);
    }
}
