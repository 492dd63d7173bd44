//! Lock files of the crates that stand outside of the workspace: `examples/*` and `fuzz`.
//!
//! Cargo leaves them alone until somebody builds there, so that a new dependency of ours isn't in them. A
//! reader who then builds an example with `--locked`, as our tests do, is refused.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Violation;
use crate::source::SourceFile;
use crate::workspace::Member;

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    /// Names, some with a version behind them.
    #[serde(default)]
    dependencies: Vec<String>,
}

/// Checks that each of our crates in a lock file has all that its `Cargo.toml` asks for.
pub fn check(members: &[Member], files: &[SourceFile]) -> Vec<Violation> {
    files.iter().flat_map(|file| check_file(members, file)).collect()
}

fn check_file(members: &[Member], file: &SourceFile) -> Vec<Violation> {
    let lock: Lock = match toml::from_str(&file.text) {
        Ok(lock) => lock,
        Err(error) => return vec![Violation::new(&*file.path, format!("can't be read: {error}"))],
    };
    let locked: BTreeMap<&str, &Package> =
        lock.package.iter().map(|package| (package.name.as_str(), package)).collect();
    let mut violations = Vec::new();
    for member in members {
        let Some(package) = locked.get(member.name.as_str()) else { continue };
        let has =
            |wanted: &str| package.dependencies.iter().any(|name| name.split(' ').next() == Some(wanted));
        for wanted in member.packages.iter().filter(|wanted| !has(wanted)) {
            let folder = file.path.trim_end_matches("/Cargo.lock");
            violations.push(Violation::new(
                &*file.path,
                format!(
                    "{} uses {wanted}, which is missing: run `cargo update --workspace` in {folder}",
                    member.name
                ),
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Violation> {
        let member = Member {
            name: "aster-units".into(),
            packages: vec!["serde".into(), "toml".into()],
            ..Member::well_kept("base/units")
        };
        check(&[member], &[SourceFile { path: "examples/own/Cargo.lock".into(), text: text.into() }])
    }

    #[test]
    fn a_lock_file_with_all_dependencies_passes() {
        let text = "[[package]]\nname = \"aster-units\"\nversion = \"0.1.0\"\n\
            dependencies = [\"serde\", \"toml 0.9.1\"]";
        assert_eq!(found(text), []);
        assert_eq!(found("[[package]]\nname = \"another\"\nversion = \"1.0.0\""), []);
    }

    #[test]
    fn a_dependency_that_is_missing_is_named_with_the_way_to_mend_it() {
        let text = "[[package]]\nname = \"aster-units\"\nversion = \"0.1.0\"\n\
            dependencies = [\"serde_json\", \"toml\"]";
        let found = found(text);
        assert_eq!(found.len(), 1);
        let said = found[0].to_string();
        assert!(said.contains("examples/own/Cargo.lock: aster-units uses serde,"), "{said}");
        assert!(said.contains("`cargo update --workspace` in examples/own"), "{said}");
    }

    #[test]
    fn a_damaged_lock_file_is_told() {
        assert!(
            found("[[package]]\nversion = 1").iter().any(|found| found.message.contains("can't be read"))
        );
    }
}
