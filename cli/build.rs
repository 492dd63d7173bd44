//! Tells the program which commit it is built from, where that is known. No build fails over it, and none depends on the time of day.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    println!("cargo:rustc-env=ASTER_COMMIT={}", commit(&root).unwrap_or_default());
}

/// The commit, with `-dirty` behind it when what is built has changes; `None` outside of a repository of Aster's own.
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
    // Sources that lie within somebody else's repository are no commit of it.
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
    git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
}

/// What the answer depends on: the commit, and every source that goes into the program.
fn watch(root: &Path, of_git: &[String]) {
    println!("cargo:rerun-if-changed=build.rs");
    for path in of_git.iter().map(Path::new).filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let rooms =
        ["base", "cli", "costs", "device", "firmware", "hardware", "host", "lab", "profiles", "rtl", "run"];
    for path in rooms.iter().map(|room| root.join(room)).filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}
