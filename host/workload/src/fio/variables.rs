//! Environment variables in job files: `bs=${BS}`.

use alloc::string::{String, ToString};

/// The text with each `${NAME}` of an option's value replaced by what `value_of` has for it. One that it
/// doesn't have stays, and so does one that would break the line; [`super::parse`] refuses them by name.
pub fn expanded(text: &str, value_of: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let Some(equals) = line.find('=') else {
            out.push_str(line);
            continue;
        };
        let (name, mut rest) = line.split_at(equals);
        out.push_str(name);
        while let Some((before, variable, after)) = first(rest) {
            out.push_str(before);
            let value = value_of(variable).filter(|value| !value.contains(['\n', '\r']));
            match value {
                Some(value) => out.push_str(&value),
                None => out.push_str(&rest[before.len()..rest.len() - after.len()]),
            }
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

/// The first `${NAME}`: what is before it, its name, and what follows.
fn first(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// The variable of which a value still has the name.
pub(super) fn left_over(value: &str) -> Option<String> {
    first(value).map(|(_, name, _)| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_what_the_environment_has() {
        let value_of = |name: &str| match name {
            "BS" => Some("16k".to_string()),
            "MIX" => Some("rand".to_string()),
            "TWO" => Some("1\n[b]".to_string()),
            _ => None,
        };
        let text = "[${BS}]\nbs=${BS}\nrw=${MIX}${RW}\nsize=${TWO}\n";
        assert_eq!(expanded(text, value_of), "[${BS}]\nbs=16k\nrw=rand${RW}\nsize=${TWO}\n");
        for odd in ["a=${", "a=$BS}", "=", "a=${}", "${BS}", ""] {
            assert_eq!(expanded(odd, value_of), odd);
        }
    }
}
