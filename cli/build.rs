//! Tells the program which commit it is built from, if that is known. It never fails a build, and no build
//! depends on the time of day.

use std::path::Path;
use std::process::Command;

/// Sources of the program. Changes elsewhere, for example in docs, don't count.
const SOURCES: [&str; 16] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "base",
    "cli",
    "costs",
    "device",
    "experiments",
    "firmware",
    "hardware",
    "host",
    "lab",
    "profiles",
    "rtl",
    "run",
    "rust-toolchain.toml",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let commit = commit(&root).unwrap_or_default();
    println!("cargo:rustc-env=ASTER_COMMIT={commit}");
    let built_from = if commit.is_empty() { String::new() } else { format!(" ({commit})") };
    println!("cargo:rustc-env=ASTER_VERSION={}{built_from}", env!("CARGO_PKG_VERSION"));
}

/// The commit, with `-dirty` after it when these sources have changes; `None` outside of a repository of
/// Aster's own.
fn commit(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .arg("-C")
            .arg(root)
            .args(arguments)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // Sources inside of another project's repository must not report that repository's commit.
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        watch(root, &[]);
        return None;
    }
    let folder = git(&["rev-parse", "--absolute-git-dir"])?;
    let common = git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).unwrap_or(folder.clone());
    let head = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let of_head = head.map(|name| format!("{common}/{name}"));
    watch(root, &[format!("{folder}/HEAD"), of_head.unwrap_or_default(), format!("{common}/packed-refs")]);
    let commit = git(&["describe", "--always", "--abbrev=12", "--exclude=*"])?;
    // Only watched files count: a mark for any other file would stay after its change is undone.
    let is_clean = git(&[&["diff", "--quiet", "HEAD", "--"][..], &SOURCES].concat()).is_some();
    Some(if is_clean { commit } else { format!("{commit}-dirty") })
}

/// Watches what the result depends on: the commit, and every source of the program.
fn watch(root: &Path, of_git: &[String]) {
    println!("cargo:rerun-if-changed=build.rs");
    for path in of_git.iter().map(Path::new).filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    for path in SOURCES.iter().map(|source| root.join(source)).filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}
