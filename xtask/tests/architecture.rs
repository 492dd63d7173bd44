//! Checks that this tree keeps its own rules.

use aster_xtask::workspace::Workspace;

#[test]
fn this_tree_breaks_no_rule() {
    let workspace = Workspace::read().expect("the workspace can be read");
    let report = aster_xtask::check(&workspace);
    let broken: Vec<String> = report.violations.iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn the_reader_sees_the_crates_their_arrows_and_their_sources() {
    let workspace = Workspace::read().expect("the workspace can be read");
    let ports = workspace.members.iter().find(|member| member.folder == "base/ports").expect("base/ports");
    assert_eq!(ports.name, "aster-ports");
    assert_eq!(ports.license.as_deref(), Some("Apache-2.0"));
    assert!(ports.dependencies.iter().any(|dependency| dependency.folder == "base/units"));
    assert!(workspace.sources.iter().any(|file| file.path == "base/units/src/lib.rs"));
    assert!(workspace.sources.iter().all(|file| !file.path.starts_with("target/")));
    assert_eq!(workspace.clippy_files.len(), 4);
}
