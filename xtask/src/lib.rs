//! What holds the house together: the rules that the compiler can't see, as functions on parsed data.
//!
//! - [`arrows`]: which room may use which (design §1).
//! - [`beside`]: what stands beside the book, for its links.
//! - [`book`]: every page has its place in the book, and links lead somewhere; [`pages`] reads Markdown.
//! - [`columns`]: how wide a line may be.
//! - [`circles`]: files that use each other; [`modules`] reads who uses whom.
//! - [`interface`]: the generated halves of `rtl/interface.toml`.
//! - [`lockfiles`]: lock files outside of the workspace have what our crates use.
//! - [`reexports`]: no room hands another one on as a whole.
//! - [`requirements`]: ids that are cited have a line in `docs/requirements.md`.
//! - [`manifest`]: what every `Cargo.toml` must say.
//! - [`source`]: what source files must hold and must not name.
//!
//! [`workspace`] reads the tree into that data, [`check`] runs every rule over it. The rules touch no file
//! themselves, so their tests seed a violation of each.
#![forbid(unsafe_code)]

pub mod arrows;
pub mod beside;
pub mod book;
pub mod circles;
pub mod code;
pub mod columns;
pub mod interface;
pub mod lockfiles;
pub mod manifest;
pub mod modules;
pub mod pages;
pub mod passages;
pub mod reexports;
pub mod requirements;
pub mod source;
mod violation;
pub mod workspace;

pub use violation::Violation;

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
    violations.extend(arrows::check_used(&workspace.members));
    violations.extend(circles::check(&workspace.sources, &workspace.known_circles));
    violations.extend(circles::check_rooms(&workspace.members));
    violations.extend(manifest::check(&workspace.members));
    violations.extend(lockfiles::check(&workspace.members, &workspace.lock_files));
    violations.extend(source::check(&workspace.sources));
    violations.extend(reexports::check(&workspace.sources));
    violations.extend(columns::check(&workspace.files()));
    violations.extend(source::check_clippy_files(&workspace.clippy_files));
    violations.extend(requirements::check(&workspace.files()));
    violations.extend(book::check(&workspace.files(), &workspace.paths));
    violations.sort();
    let mut warnings = source::long_files(&workspace.sources);
    warnings.sort();
    Report { violations, warnings }
}
