//! Sources that a page shows without their comments.

/// A source's code alone, without empty lines.
pub fn without_comments(source: &str) -> String {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    source.lines().filter(is_code).map(|line| format!("{line}\n")).collect()
}
