//! Reads the tree into plain data for the rules.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use serde::Deserialize;

use crate::source::{DETERMINISTIC_ROOMS, SourceFile};

/// Where the known circles of files stand.
pub const KNOWN_CIRCLES: &str = "xtask/known-circles.toml";

/// The workspace as the rules see it.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Absolute path of the workspace root.
    pub root: PathBuf,
    /// Every member crate.
    pub members: Vec<Member>,
    /// Every source file of the project's own.
    pub sources: Vec<SourceFile>,
    /// What people read beside source: pages, profiles and other tables, generated headers.
    pub documents: Vec<SourceFile>,
    /// The path of every file, for links to lead to.
    pub paths: Vec<String>,
    /// The text of the list of known circles.
    pub known_circles: String,
    /// (room, text) of each deterministic room's `clippy.toml`.
    pub clippy_files: Vec<(String, String)>,
    /// The lock files of crates that aren't workspace members.
    pub lock_files: Vec<SourceFile>,
}

/// One crate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Package name (`aster-units`).
    pub name: String,
    /// Folder from the workspace root (`base/units`).
    pub folder: String,
    /// SPDX licence.
    pub license: Option<String>,
    /// Oldest Rust that builds it.
    pub rust_version: Option<String>,
    /// Could `cargo publish` send it off?
    pub publishable: bool,
    /// Does it take the workspace's lints?
    pub workspace_lints: bool,
    /// The members that it uses.
    pub dependencies: Vec<Dependency>,
    /// All packages that it always uses, but for tests.
    pub packages: Vec<String>,
}

impl Member {
    /// A crate that breaks no rule, for tests to break one.
    #[cfg(test)]
    pub(crate) fn well_kept(folder: &str) -> Self {
        Self {
            name: format!("aster-{}", folder.replace('/', "-")),
            folder: folder.to_string(),
            license: Some(crate::manifest::LICENSE.to_string()),
            rust_version: Some("1.95".to_string()),
            publishable: false,
            workspace_lints: true,
            dependencies: Vec::new(),
            packages: Vec::new(),
        }
    }
}

/// A dependency on another crate of this tree; crates from a registry are no arrow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// Folder of the crate that is used.
    pub folder: String,
    /// What it is used for.
    pub kind: DependencyKind,
}

/// The three kinds of dependency that Cargo knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DependencyKind {
    /// `[dependencies]`
    Normal,
    /// `[build-dependencies]`
    Build,
    /// `[dev-dependencies]`
    Dev,
}

/// The part of `cargo metadata` (format version 1) that the rules need.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    license: Option<String>,
    rust_version: Option<String>,
    /// `None`: any registry; empty: none.
    publish: Option<Vec<String>>,
    dependencies: Vec<PackageDependency>,
}

#[derive(Deserialize)]
struct PackageDependency {
    name: String,
    kind: Option<String>,
    optional: bool,
    path: Option<PathBuf>,
}

impl Workspace {
    /// Reads the workspace that this crate belongs to.
    ///
    /// # Errors
    /// When `cargo metadata` fails or a file of the tree can't be read.
    pub fn read() -> io::Result<Self> {
        let metadata = cargo_metadata()?;
        let root = metadata.workspace_root;
        let members = metadata
            .packages
            .into_iter()
            .map(|package| read_member(&root, package))
            .collect::<io::Result<_>>()?;
        let paths = list_files(&root)?;
        let sources = read_files(&root, &paths, &SOURCE_EXTENSIONS)?;
        let documents = read_files(&root, &paths, &DOCUMENT_EXTENSIONS)?;
        let known_circles = fs::read_to_string(root.join(KNOWN_CIRCLES))?;
        let mut clippy_files = Vec::new();
        for room in DETERMINISTIC_ROOMS {
            let path = root.join(room).join("clippy.toml");
            if path.is_file() {
                clippy_files.push((room.to_string(), fs::read_to_string(path)?));
            }
        }
        let lock_files = read_lock_files(&root)?;
        Ok(Self { root, members, sources, documents, paths, known_circles, clippy_files, lock_files })
    }

    /// Sources and documents together.
    pub fn files(&self) -> Vec<SourceFile> {
        self.sources.iter().chain(&self.documents).cloned().collect()
    }
}

/// The `cargo` that runs this program, or the one on the path.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn cargo_metadata() -> io::Result<Metadata> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )));
    }
    serde_json::from_slice(&output.stdout).map_err(io::Error::other)
}

/// Path below `root`, with `/` on every system.
fn relative(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Lock files of `fuzz` and of each example.
fn read_lock_files(root: &Path) -> io::Result<Vec<SourceFile>> {
    let mut folders = vec![root.join("fuzz")];
    for example in fs::read_dir(root.join("examples"))? {
        folders.push(example?.path());
    }
    folders.sort();
    let paths = folders.into_iter().map(|folder| folder.join("Cargo.lock")).filter(|path| path.is_file());
    paths
        .map(|path| Ok(SourceFile { text: fs::read_to_string(&path)?, path: relative(root, &path) }))
        .collect()
}

fn read_member(root: &Path, package: Package) -> io::Result<Member> {
    let folder = package.manifest_path.parent().unwrap_or(root);
    let manifest: toml::Table =
        fs::read_to_string(&package.manifest_path)?.parse().map_err(io::Error::other)?;
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    let always = |of: &&PackageDependency| of.kind.as_deref() != Some("dev") && !of.optional;
    let packages = package.dependencies.iter().filter(always).map(|of| of.name.clone()).collect();
    let dependencies = package.dependencies.into_iter().filter_map(|dependency| {
        let kind = match dependency.kind.as_deref() {
            Some("dev") => DependencyKind::Dev,
            Some("build") => DependencyKind::Build,
            _ => DependencyKind::Normal,
        };
        Some(Dependency { folder: relative(root, &dependency.path?), kind })
    });
    Ok(Member {
        name: package.name,
        folder: relative(root, folder),
        license: package.license,
        rust_version: package.rust_version,
        publishable: package.publish.is_none_or(|registries| !registries.is_empty()),
        workspace_lints: lints.and_then(toml::Value::as_bool) == Some(true),
        dependencies: dependencies.collect(),
        packages,
    })
}

/// Extensions of source files, which should stay short.
const SOURCE_EXTENSIONS: [&str; 8] = ["rs", "sv", "v", "c", "h", "py", "sh", "js"];

/// Extensions of documents that people read beside source.
const DOCUMENT_EXTENSIONS: [&str; 3] = ["md", "toml", "svh"];

/// Directories that hold no source of ours. What Cargo builds lies beside a manifest; another folder may well
/// be called `target`.
fn is_foreign(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_built = || path.with_file_name("Cargo.toml").is_file();
    name.starts_with('.') || name == "node_modules" || (name == "target" && is_built())
}

/// The files of the tree that have one of `extensions`, read.
fn read_files(root: &Path, paths: &[String], extensions: &[&str]) -> io::Result<Vec<SourceFile>> {
    let has_one = |path: &&String| {
        Path::new(path)
            .extension()
            .is_some_and(|extension| extensions.iter().any(|other| extension == *other))
    };
    let read =
        |path: &String| Ok(SourceFile { path: path.clone(), text: fs::read_to_string(root.join(path))? });
    paths.iter().filter(has_one).map(read).collect()
}

/// Every file below `root` that isn't foreign.
fn list_files(root: &Path) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && !is_foreign(&entry.path()) {
                folders.push(entry.path());
            } else if kind.is_file() {
                paths.push(relative(root, &entry.path()));
            }
        }
    }
    paths.sort();
    Ok(paths)
}
