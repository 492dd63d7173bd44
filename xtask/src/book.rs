//! The book (`book.toml`, `docs/SUMMARY.md`): every page has its place in it, and every link of a page leads
//! somewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::Violation;
use crate::pages::{Page, parse, resolve};
use crate::source::SourceFile;

/// The book's table of contents.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// The folder of the book's pages.
const FOLDER: &str = "docs/";

/// Checks contents and links. `files` are sources and documents, `paths` all files of the tree.
pub fn check(files: &[SourceFile], paths: &[String]) -> Vec<Violation> {
    let pages: BTreeMap<&str, Page> = files
        .iter()
        .filter(|file| is_page(&file.path))
        .map(|file| (&*file.path, parse(&file.text)))
        .collect();
    let mut violations = contents(&pages);
    let places = places(paths);
    for (path, page) in &pages {
        violations.extend(links(path, page, &pages, &places));
    }
    violations.extend(files.iter().flat_map(|file| citations(file, &pages)));
    violations
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md")
}

/// Every file, and every folder that has one.
fn places(paths: &[String]) -> BTreeSet<&str> {
    let with_folders = |path: &'_ String| -> Vec<usize> {
        path.match_indices('/').map(|(at, _)| at).chain([path.len()]).collect()
    };
    paths.iter().flat_map(|path| with_folders(path).into_iter().map(|end| &path[..end])).collect()
}

/// Each page of the folder stands in the table of contents, and stands there once.
fn contents(pages: &BTreeMap<&str, Page>) -> Vec<Violation> {
    let Some(summary) = pages.get(SUMMARY) else {
        return vec![Violation::new(SUMMARY, "is missing: the book has no table of contents")];
    };
    let mut violations = Vec::new();
    let mut listed = BTreeSet::new();
    for link in &summary.links {
        let place = format!("{SUMMARY}:{}", link.line);
        let target = link.local().filter(|(path, _)| !path.is_empty());
        let Some(page) = target.and_then(|(path, _)| resolve(SUMMARY, path)) else {
            violations.push(Violation::new(place, "a chapter is a page of docs/"));
            continue;
        };
        if !page.starts_with(FOLDER) || !is_page(&page) {
            violations
                .push(Violation::new(place, format!("{page} is no page of docs/: mdBook has those alone")));
        } else if !listed.insert(page.clone()) {
            violations.push(Violation::new(place, format!("{page} stands here for the second time")));
        }
    }
    let unlisted =
        pages.keys().filter(|path| path.starts_with(FOLDER) && **path != SUMMARY && !listed.contains(**path));
    violations.extend(
        unlisted.map(|path| {
            Violation::new(*path, format!("has no place in the book: give it a line in {SUMMARY}"))
        }),
    );
    violations
}

/// Each link leads to a file or folder of the tree, and to a heading that is there.
fn links(path: &str, page: &Page, pages: &BTreeMap<&str, Page>, places: &BTreeSet<&str>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for link in &page.links {
        let Some((target, heading)) = link.local() else { continue };
        let place = format!("{path}:{}", link.line);
        let target = if target.is_empty() { Some(path.to_owned()) } else { resolve(path, target) };
        let Some(target) = target.filter(|target| places.contains(&**target)) else {
            violations.push(Violation::new(place, format!("{} leads nowhere", link.target)));
            continue;
        };
        let there = pages.get(&*target).map(|page| &page.anchors);
        if let (Some(heading), Some(anchors)) = (heading, there)
            && !anchors.iter().any(|anchor| anchor == heading)
        {
            violations.push(Violation::new(place, format!("{target} has no heading #{heading}")));
        }
    }
    violations
}

/// Pages that source names by their path (`docs/wear.md`) are there.
fn citations(file: &SourceFile, pages: &BTreeMap<&str, Page>) -> Vec<Violation> {
    // This crate's own tests name pages that nobody has.
    if is_page(&file.path) || file.path.starts_with("xtask/") {
        return Vec::new();
    }
    let of_path = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let mut violations = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for (at, _) in line.match_indices(FOLDER) {
            let rest = &line[at..];
            let end = rest.find(|c| !of_path(c)).unwrap_or(rest.len());
            let named = rest[..end].trim_end_matches('.');
            let is_whole = !line[..at].ends_with(of_path);
            if is_whole && is_page(named) && !pages.contains_key(named) {
                violations.push(Violation::new(
                    format!("{}:{}", file.path, index + 1),
                    format!("there is no {named}"),
                ));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENTS: &str = "# Contents\n\n- [A](a.md)\n  - [B](adr/b.md)\n";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = [("docs/a.md", "# A\n"), ("docs/adr/b.md", "# B\n## B b\n")]
            .iter()
            .chain(files)
            .map(|(path, text)| SourceFile { path: (*path).into(), text: (*text).into() })
            .collect();
        let paths: Vec<_> = files.iter().map(|file| file.path.clone()).chain(["rtl/x.sv".into()]).collect();
        check(&files, &paths).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_book_whose_links_lead_somewhere_passes() {
        let page =
            "[1](docs/a.md) [2](docs/adr/b.md#b-b) [3](rtl) [4](rtl/x.sv) [5](https://x.y/z) [6](#x)\n# X";
        let source = "// docs/adr/b.md, docs/adr/b, https://x.y/docs/z.md\n";
        assert_eq!(found(&[(SUMMARY, CONTENTS), ("README.md", page), ("lab/src/x.rs", source)]), [""; 0]);
    }

    #[test]
    fn a_page_without_a_place_is_refused() {
        let expected = "docs/adr/b.md: has no place in the book: give it a line in docs/SUMMARY.md";
        assert_eq!(found(&[(SUMMARY, "- [A](a.md)\n")]), [expected]);
        assert_eq!(found(&[]), ["docs/SUMMARY.md: is missing: the book has no table of contents"]);
    }

    #[test]
    fn contents_have_pages_of_the_folder_once() {
        let text = format!("{CONTENTS}- [A](a.md)\n- [R](../README.md)\n- [D]()\n");
        let expected = [
            "docs/SUMMARY.md:5: docs/a.md stands here for the second time",
            "docs/SUMMARY.md:6: README.md is no page of docs/: mdBook has those alone",
            "docs/SUMMARY.md:7: a chapter is a page of docs/",
        ];
        assert_eq!(found(&[(SUMMARY, &text), ("README.md", "")]), expected);
    }

    #[test]
    fn links_that_lead_nowhere_are_refused() {
        let page = "[1](docs/c.md)\n[2](docs/a.md#b)\n![3](x.svg)\n[4](../x)\n[5](#y)\n";
        let expected = [
            "README.md:1: docs/c.md leads nowhere",
            "README.md:2: docs/a.md has no heading #b",
            "README.md:3: x.svg leads nowhere",
            "README.md:4: ../x leads nowhere",
            "README.md:5: README.md has no heading #y",
        ];
        assert_eq!(found(&[(SUMMARY, CONTENTS), ("README.md", page)]), expected);
    }

    #[test]
    fn source_names_pages_that_are_there() {
        let source = "//! As docs/a.md says.\n// docs/c.md, and docs/adr/d.md.\n";
        let expected = ["lab/x.rs:2: there is no docs/c.md", "lab/x.rs:2: there is no docs/adr/d.md"];
        assert_eq!(found(&[(SUMMARY, CONTENTS), ("lab/x.rs", source)]), expected);
    }
}
