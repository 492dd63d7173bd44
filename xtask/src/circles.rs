//! Refuses circles: files of a crate that use each other, directly or through other files, are one concept
//! in several files. The same holds of folders, each with all that is in it, and of rooms.
//!
//! `xtask/known-circles.toml` lists the circles that existed when the rules were introduced. Those lists only
//! shrink: the check refuses a circle that isn't part of an entry, and an entry that lists what isn't in a
//! circle any more.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::Violation;
use crate::modules::{self, Use};
use crate::source::SourceFile;
use crate::workspace::{DependencyKind, KNOWN_CIRCLES, Member};

/// The list of known circles.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
struct Known {
    /// Files of each.
    #[serde(default)]
    circles: Vec<BTreeSet<String>>,
    /// Folders, and files beside them, of each.
    #[serde(default)]
    folders: Vec<BTreeSet<String>>,
}

/// Files, or folders with all that is in them, that use each other, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Circle {
    /// Its files or folders. `x.rs` and what is in `x/` are the folder `x`.
    pub files: BTreeSet<String>,
    /// The uses among them.
    pub uses: Vec<Use>,
}

/// The circles among the files of each crate, each as large as possible.
///
/// # Errors
/// A file that isn't Rust.
pub fn find(sources: &[SourceFile]) -> Result<Vec<Circle>, Violation> {
    let uses = modules::uses(sources).map_err(|(path, error)| Violation::new(path, error))?;
    Ok(circles_of(uses.iter().map(|used| (used.from.as_str(), used.to.as_str(), used))))
}

/// The circles among folders, and the files beside them, in each folder of each crate.
///
/// # Errors
/// A file that isn't Rust.
pub fn find_folders(sources: &[SourceFile]) -> Result<Vec<Circle>, Violation> {
    let uses = modules::uses(sources).map_err(|(path, error)| Violation::new(path, error))?;
    let apart = uses.iter().filter_map(|used| Some((used, folders_apart(&used.from, &used.to)?)));
    // Two files beside each other are for `find`: one that is a module with a folder is that folder.
    let circles = circles_of(apart.map(|(used, (from, to))| (from, to, used)));
    let has_folder = |circle: &Circle| {
        let is_within =
            |file: &str, part: &str| file.strip_prefix(part).is_some_and(|rest| rest.starts_with('/'));
        circle.files.iter().any(|part| {
            circle.uses.iter().any(|used| is_within(&used.from, part) || is_within(&used.to, part))
        })
    };
    Ok(circles.into_iter().filter(has_folder).collect())
}

/// Where the paths of two files of a crate part: what each of them is, or is in, there. `None` if one is the
/// other's parent.
fn folders_apart<'a>(from: &'a str, to: &'a str) -> Option<(&'a str, &'a str)> {
    let shared = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
    let folder = from[..shared].rfind('/')? + 1;
    let part = |path: &'a str| {
        let end = path[folder..].find('/').map_or(path.len(), |end| folder + end);
        path[..end].strip_suffix(".rs").unwrap_or(&path[..end])
    };
    let is_parent = |part: &str| ["lib", "main", "mod"].contains(&&part[folder..]);
    let (from, to) = (part(from), part(to));
    (from != to && !is_parent(from) && !is_parent(to)).then_some((from, to))
}

fn circles_of<'a>(edges: impl Iterator<Item = (&'a str, &'a str, &'a Use)>) -> Vec<Circle> {
    let edges: Vec<_> = edges.collect();
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to, _) in &edges {
        next.entry(from).or_default().insert(to);
    }
    let nodes = edges.iter().flat_map(|(from, to, _)| [*from, *to]).collect();
    let whole = strongly_connected(&nodes, &next).into_iter().map(|files| {
        let among = edges.iter().filter(|(from, to, _)| files.contains(from) && files.contains(to));
        let uses = among.map(|(.., used)| (*used).clone()).collect();
        Circle { files: files.into_iter().map(String::from).collect(), uses }
    });
    whole.collect()
}

/// Sets of at least two nodes that reach each other.
fn strongly_connected<'a>(
    nodes: &BTreeSet<&'a str>,
    next: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> Vec<BTreeSet<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        nodes.iter().map(|node| (*node, reach(node, next))).collect();
    let mut circles: Vec<BTreeSet<&str>> = Vec::new();
    for (&node, ahead) in &reached {
        if ahead.contains(node) && !circles.iter().any(|circle| circle.contains(node)) {
            circles.push(ahead.iter().copied().filter(|other| reached[other].contains(node)).collect());
        }
    }
    circles
}

fn reach<'a>(from: &'a str, next: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        let unseen = next.get(node).into_iter().flatten().copied().filter(|node| found.insert(*node));
        open.extend(unseen);
    }
    found
}

/// Refuses circles of files and of folders that `known` doesn't list, and entries of `known` that are no
/// circles any more.
pub fn check(sources: &[SourceFile], known: &str) -> Vec<Violation> {
    let known: Known = match toml::from_str(known) {
        Ok(known) => known,
        Err(error) => return vec![Violation::new(KNOWN_CIRCLES, error.to_string())],
    };
    match (find(sources), find_folders(sources)) {
        (Ok(files), Ok(folders)) => {
            let mut violations = check_of("files", &files, &known.circles);
            violations.extend(check_of("folders", &folders, &known.folders));
            violations
        }
        (Err(violation), _) | (_, Err(violation)) => vec![violation],
    }
}

/// Checks circles of `what` against those that are known.
fn check_of(what: &str, circles: &[Circle], known: &[BTreeSet<String>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for circle in circles {
        if !known.iter().any(|entry| circle.files.is_subset(entry)) {
            violations.push(refusal(what, circle, known));
        }
    }
    let in_circles: BTreeSet<&String> = circles.iter().flat_map(|circle| &circle.files).collect();
    for file in known.iter().flatten().filter(|file| !in_circles.contains(file)) {
        let message = format!("{file} is in no circle any more: remove it here");
        violations.push(Violation::new(KNOWN_CIRCLES, message));
    }
    violations
}

fn refusal(what: &str, circle: &Circle, known: &[BTreeSet<String>]) -> Violation {
    let grown = known.iter().find(|entry| !entry.is_disjoint(&circle.files));
    let what = match grown {
        Some(entry) => {
            let new: Vec<&str> = circle.files.difference(entry).map(String::as_str).collect();
            format!("a known circle of {what} has grown by {}", new.join(", "))
        }
        None => format!("a circle of {} {what}", circle.files.len()),
    };
    let mut message = format!("{what}: move what both need to a file below them");
    for used in &circle.uses {
        message.push_str(&format!("\n    {}:{} uses {} ({})", used.from, used.line, used.to, used.path));
    }
    let place = circle.files.first().cloned().unwrap_or_default();
    Violation::new(place, message)
}

/// Refuses rooms (top-level folders) whose crates use each other in a circle. Cargo refuses such crates.
pub fn check_rooms(members: &[Member]) -> Vec<Violation> {
    let room = |folder: &str| folder.split('/').next().unwrap_or_default().to_string();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for member in members {
        let others = member.dependencies.iter().filter(|used| used.kind != DependencyKind::Dev);
        let others = others.map(|used| room(&used.folder)).filter(|other| *other != room(&member.folder));
        uses.entry(room(&member.folder)).or_default().extend(others);
    }
    let next: BTreeMap<&str, BTreeSet<&str>> =
        uses.iter().map(|(from, to)| (from.as_str(), to.iter().map(String::as_str).collect())).collect();
    let nodes = next.keys().copied().collect();
    let circles = strongly_connected(&nodes, &next);
    circles
        .into_iter()
        .map(|rooms| {
            let rooms: Vec<&str> = rooms.into_iter().collect();
            Violation::new(rooms[0], format!("these rooms use each other in a circle: {}", rooms.join(", ")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn sources(files: &[(&str, &str)]) -> Vec<SourceFile> {
        files
            .iter()
            .map(|(path, text)| SourceFile { path: format!("room/x/src/{path}"), text: (*text).into() })
            .collect()
    }

    /// The circles, each as its files' names and the paths of its uses.
    fn found(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let short = |path: &String| path.strip_prefix("room/x/src/").unwrap_or(path).to_string();
        let circles = find(&sources(files)).unwrap();
        circles
            .iter()
            .map(|circle| {
                let names: Vec<String> = circle.files.iter().map(short).collect();
                let paths: Vec<&str> = circle.uses.iter().map(|used| used.path.as_str()).collect();
                (names.join(" "), paths.join(" "))
            })
            .collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f(a: &super::a::A) {}"),
        ];
        assert_eq!(found(&files), [("a.rs b.rs".into(), "crate::b::B super::a::A".into())]);
    }

    #[test]
    fn a_circle_by_way_of_others_is_found_whole() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::{b::{self, B}, d::D};"),
            ("b.rs", "fn f() { crate::c::g(); }"),
            ("c.rs", "fn g() { assert!(matches!(x, crate::a::A::X(_))); }"),
            ("d.rs", "pub struct D;"),
        ];
        assert_eq!(found(&files).len(), 1);
        assert_eq!(found(&files)[0].0, "a.rs b.rs c.rs");
    }

    #[test]
    fn uses_of_one_direction_are_none() {
        for files in [
            &[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "pub struct B;")][..],
            // A `mod.rs` names what its modules define, and they use each other's names through it.
            &[
                ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
                ("a.rs", "use crate::B;"),
                ("b.rs", "pub struct B;"),
            ],
            &[("lib.rs", "mod a; pub use a::A;"), ("a.rs", "use crate::A as Other; use super::A;")],
            // Tests may use everything.
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::B;"),
                (
                    "b.rs",
                    "#[cfg(test)] mod tests { use crate::a::A; }\n#[cfg(all(test, unix))] use crate::a::A;",
                ),
            ],
            // A visibility such as `pub(in path)` is not a use.
            &[
                ("lib.rs", "mod a; fn f() { a::g() }"),
                ("a.rs", "pub(crate) fn g() {} pub(super) struct A { pub(in crate) x: u8 }"),
            ],
            // A single word in a macro's arguments is not a path.
            &[
                ("lib.rs", "mod a; pub use a::A; pub struct Own; declare! { A = 4 }"),
                ("a.rs", "use super::Own; pub struct A;"),
            ],
            // Names of other crates, and words in comments and strings.
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::B;"),
                ("b.rs", "// crate::a::A\nuse other::a::A; const X: &str = \"crate::a::A\";"),
            ],
            // Modules within a file are that file.
            &[("lib.rs", "mod a { use super::b::B; } mod b { use super::a::A; }")],
        ] {
            assert_eq!(found(files), [], "{files:?}");
        }
    }

    #[test]
    fn a_parent_that_uses_what_it_shows_depends_on_it() {
        let files = [
            ("lib.rs", "mod a; pub use a::A; pub struct Own(A);"),
            ("a.rs", "use super::Own; pub struct A;"),
        ];
        assert_eq!(found(&files), [("a.rs lib.rs".into(), "super::Own A".into())]);
        let by_path = [("lib.rs", "mod a; fn f() { a::g() } pub struct Own;"), ("a.rs", "use crate::Own;")];
        assert_eq!(found(&by_path).len(), 1);
    }

    #[test]
    fn modules_in_folders_and_by_path_are_found() {
        let files = [
            ("lib.rs", "mod a; #[path = \"elsewhere.rs\"] mod b;"),
            ("a/mod.rs", "mod inner;"),
            ("a/inner.rs", "mod deep; use crate::b::B;"),
            ("a/inner/deep.rs", "pub struct Deep;"),
            ("elsewhere.rs", "fn f(d: crate::a::inner::deep::Deep, i: crate::a::inner::I) {}"),
        ];
        assert_eq!(found(&files)[0].0, "a/inner.rs elsewhere.rs");
    }

    #[test]
    fn re_exports_of_re_exports_lead_to_the_definition() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use b::C;"),
            ("a.rs", "use crate::C; pub struct A;"),
            ("b.rs", "mod c; pub use c::C; use crate::a::A; struct B(A);"),
            ("b/c.rs", "pub struct C;"),
        ];
        assert_eq!(found(&files), [], "`a` uses `b/c.rs`, not `b.rs`");
    }

    const CIRCLE: [(&str, &str); 3] =
        [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")];

    #[test]
    fn a_new_circle_is_refused_with_its_uses() {
        let violations = check(&sources(&CIRCLE), "");
        assert_eq!(
            violations.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["room/x/src/a.rs: a circle of 2 files: move what both need to a file below them\
              \n    room/x/src/a.rs:1 uses room/x/src/b.rs (crate::b::B)\
              \n    room/x/src/b.rs:1 uses room/x/src/a.rs (crate::a::A)"]
        );
    }

    #[test]
    fn known_circles_pass_but_may_only_shrink() {
        let known = "circles = [[\"room/x/src/a.rs\", \"room/x/src/b.rs\"]]";
        assert_eq!(check(&sources(&CIRCLE), known), []);
        let broken = check(
            &sources(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "")]),
            known,
        );
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(broken[0].message.contains("no circle any more"), "{}", broken[0]);
        let grown = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::a::A;"),
        ];
        let violations = check(&sources(&grown), known);
        assert_eq!(violations.len(), 1);
        assert!(violations[0].message.starts_with("a known circle of files has grown by room/x/src/c.rs"));
        assert_eq!(check(&[], "circle = 1")[0].place, KNOWN_CIRCLES);
    }

    /// Folders that use each other by files that don't.
    const FOLDERS: [(&str, &str); 6] = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod x;"),
        ("a/x.rs", "use crate::b::y::Y;"),
        ("b/mod.rs", "pub mod y; mod z;"),
        ("b/y.rs", "pub struct Y;"),
        ("b/z.rs", "use crate::a::A;"),
    ];

    #[test]
    fn folders_that_use_each_other_are_refused() {
        let with = |change: &[(&'static str, &'static str)]| {
            let of = |path| change.iter().find(|(other, _)| *other == path);
            let files = FOLDERS.map(|file| *of(file.0).unwrap_or(&file));
            let said = check(&sources(&files), "");
            said.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let circle = with(&[("a.rs", "mod x; pub struct A;")]);
        assert_eq!(
            circle,
            ["room/x/src/a: a circle of 2 folders: move what both need to a file below them\
              \n    room/x/src/a/x.rs:1 uses room/x/src/b/y.rs (crate::b::y::Y)\
              \n    room/x/src/b/z.rs:1 uses room/x/src/a.rs (crate::a::A)"]
        );
        assert_eq!(with(&[("a.rs", "mod x; pub struct A;"), ("b/z.rs", "")]), Vec::<String>::new());
        // A parent that uses its folder, and what is within one folder.
        let within = [("a.rs", "mod x; fn f() { x::g() }"), ("b/z.rs", "use super::y::Y;")];
        assert_eq!(with(&within), Vec::<String>::new());
    }

    #[test]
    fn known_circles_of_folders_pass_but_may_only_shrink() {
        let mut files = FOLDERS;
        files[1].1 = "mod x; pub struct A;";
        let known = "folders = [[\"room/x/src/a\", \"room/x/src/b\"]]";
        assert_eq!(check(&sources(&files), known), []);
        files[5].1 = "";
        let said = check(&sources(&files), known);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].message.contains("no circle any more"), "{}", said[0]);
    }

    #[test]
    fn a_file_that_is_no_rust_is_told() {
        let found = check(&sources(&[("lib.rs", "mod")]), "");
        assert_eq!(found[0].place, "room/x/src/lib.rs");
    }

    #[test]
    fn rooms_in_a_circle_are_refused() {
        let member = |folder: &str, to: &str, kind| Member {
            dependencies: vec![Dependency { folder: to.into(), kind }],
            ..Member::well_kept(folder)
        };
        let circle = [
            member("base/a", "host/b", DependencyKind::Normal),
            member("host/b", "run/c", DependencyKind::Normal),
            member("run/d", "base/e", DependencyKind::Normal),
        ];
        assert_eq!(
            check_rooms(&circle)[0].message,
            "these rooms use each other in a circle: base, host, run"
        );
        let tested = [
            member("base/a", "host/b", DependencyKind::Dev),
            member("host/b", "base/a", DependencyKind::Normal),
        ];
        assert_eq!(check_rooms(&tested), []);
    }
}
