//! Numbers with what they count.

/// `n` of a thing whose plural has an s: "1 request", "2 requests".
pub(crate) fn count(n: u64, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|n| count(n, "page")), ["0 pages", "1 page", "2 pages"]);
    }
}
