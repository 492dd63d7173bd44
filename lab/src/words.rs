//! Numbers in words.

/// A number with a noun whose plural takes an s: "1 request", "3 requests".
pub fn counted(n: impl Into<u64>, what: &str) -> String {
    match n.into() {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_one() {
        assert_eq!([0u64, 1, 2].map(|n| counted(n, "request")), ["0 requests", "1 request", "2 requests"]);
    }
}
