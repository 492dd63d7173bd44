//! What every crate's `Cargo.toml` must say, so that licence, edition and lints are set in one place.

use crate::Violation;
use crate::workspace::Member;

/// The licence of every crate, as SPDX writes it.
pub const LICENSE: &str = "Apache-2.0";

/// Checks the licence, the Rust version and the lints, and that no crate can be published by accident.
pub fn check(members: &[Member]) -> Vec<Violation> {
    members.iter().flat_map(check_member).collect()
}

fn check_member(member: &Member) -> Vec<Violation> {
    let rules = [
        (
            member.license.as_deref() == Some(LICENSE),
            "`license.workspace = true` is missing: every crate is Apache-2.0",
        ),
        (member.rust_version.is_some(), "`rust-version.workspace = true` is missing"),
        (!member.publishable, "`publish = false` is missing: crates are not published one by one"),
        (member.workspace_lints, "`[lints] workspace = true` is missing"),
    ];
    let broken = rules.into_iter().filter(|(kept, _)| !kept);
    broken.map(|(_, message)| Violation::new(format!("{}/Cargo.toml", member.folder), message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_well_kept_manifest_passes() {
        assert_eq!(check(&[Member::well_kept("base/units")]), []);
    }

    #[test]
    fn each_missing_field_is_reported() {
        let kept = || Member::well_kept("base/units");
        for (member, word) in [
            (Member { license: None, ..kept() }, "license"),
            (Member { license: Some("MIT".into()), ..kept() }, "license"),
            (Member { rust_version: None, ..kept() }, "rust-version"),
            (Member { publishable: true, ..kept() }, "publish"),
            (Member { workspace_lints: false, ..kept() }, "lints"),
        ] {
            let found = check(&[member]);
            assert_eq!(found.len(), 1, "{word}");
            assert!(found[0].message.contains(word), "{}", found[0]);
        }
    }
}
