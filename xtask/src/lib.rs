//! What holds the house together: the rules that the compiler can't see, as functions on parsed data.
//!
//! - [`arrows`]: which room may use which (design §1).
//! - [`interface`]: the generated halves of `rtl/interface.toml`.
//! - [`requirements`]: ids that are cited have a line in `docs/requirements.md`.
//! - [`manifest`]: what every `Cargo.toml` must say.
//! - [`source`]: what source files must hold and must not name.
//!
//! [`workspace`] reads the tree into that data, [`check`] runs every rule over it. The rules touch no file themselves, so their
//! tests seed a violation of each.
#![forbid(unsafe_code)]

pub mod arrows;
pub mod interface;
pub mod lexer;
pub mod manifest;
pub mod requirements;
pub mod source;
pub mod workspace;

use std::fmt;

/// One broken rule: where, and what to do about it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Violation {
    /// Path from the workspace root, with a line where there is one (`base/exec/src/lib.rs:12`).
    pub place: String,
    /// The rule that is broken, in a sentence for the person who broke it.
    pub message: String,
}

impl Violation {
    /// A violation at `place`.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// What [`check`] found.
#[derive(Clone, Default, Debug)]
pub struct Report {
    /// Rules broken: any of them fails the check. Sorted by place.
    pub violations: Vec<Violation>,
    /// Files that have grown long, but not yet too long. Sorted by place.
    pub warnings: Vec<Violation>,
}

/// Runs every rule over a workspace.
pub fn check(workspace: &workspace::Workspace) -> Report {
    let mut violations = arrows::check(&workspace.members);
    violations.extend(arrows::check_rooms(&workspace.members));
    violations.extend(manifest::check(&workspace.members));
    violations.extend(source::check(&workspace.sources));
    violations.extend(source::check_clippy_files(&workspace.clippy_files));
    violations.extend(requirements::check(&workspace.files()));
    violations.sort();
    let mut warnings = source::long_files(&workspace.sources);
    warnings.sort();
    Report { violations, warnings }
}
