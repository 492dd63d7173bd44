//! Files of the tree that the book's pages link to. mdBook leaves such links as they are, so the files are
//! put beside the book as they lie beside `docs/`; of pages it writes `.html`, so pages become HTML.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};

use crate::pages::{Link, parse, resolve};
use crate::workspace::Workspace;

/// The folder whose pages mdBook renders.
const BOOK: &str = "docs/";

/// What a browser shows first.
const FRONT: &str = "<!doctype html>\n<meta http-equiv=\"refresh\" content=\"0; url=docs/index.html\">\n\
                     <a href=\"docs/index.html\">The book</a>\n";

/// Files to write, by their path from the book's folder, and where their content comes from.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Beside {
    /// Pages as HTML, and the front page.
    pub pages: BTreeMap<String, String>,
    /// Files that are copied as they are.
    pub copies: BTreeSet<String>,
}

impl Beside {
    /// All that the pages of the book lead to outside of it, and what those pages lead to in turn.
    pub fn of(workspace: &Workspace) -> Self {
        let texts: BTreeMap<&str, &str> =
            workspace.documents.iter().map(|file| (&*file.path, &*file.text)).collect();
        let mut beside = Self::default();
        beside.pages.insert("index.html".into(), FRONT.into());
        let mut open: Vec<&str> =
            texts.keys().copied().filter(|path| path.starts_with(BOOK) && path.ends_with(".md")).collect();
        while let Some(path) = open.pop() {
            let Some(text) = texts.get(path) else { continue };
            for target in parse(text).links.iter().filter_map(|link| outside(path, link)) {
                let below = format!("{target}/");
                for file in workspace.paths.iter().filter(|file| **file == target || file.starts_with(&below))
                {
                    let Some(text) = texts.get(file.as_str()).filter(|_| file.ends_with(".md")) else {
                        beside.copies.insert(file.clone());
                        continue;
                    };
                    if beside.pages.insert(rendered_name(file), render(file, text)).is_none() {
                        open.push(file);
                    }
                }
            }
        }
        beside
    }

    /// Writes them into `folder`, from the tree at `root`.
    ///
    /// # Errors
    /// When a file can't be read or written.
    pub fn write(&self, root: &Path, folder: &Path) -> io::Result<()> {
        let place = |path: &str| -> io::Result<_> {
            let path = folder.join(path);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            Ok(path)
        };
        for (path, text) in &self.pages {
            std::fs::write(place(path)?, text)?;
        }
        for path in &self.copies {
            std::fs::copy(root.join(path), place(path)?)?;
        }
        Ok(())
    }
}

/// Where a link of the page `from` leads, unless that is in the book or on the net.
fn outside(from: &str, link: &Link) -> Option<String> {
    let (target, _) = link.local().filter(|(target, _)| !target.is_empty())?;
    resolve(from, target).filter(|target| !format!("{target}/").starts_with(BOOK))
}

/// The name that a page has as HTML. mdBook makes an index of a README.
fn rendered_name(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) if path.starts_with(BOOK) => format!("{folder}index.html"),
        _ => path.strip_suffix(".md").map_or_else(|| path.to_owned(), |stem| format!("{stem}.html")),
    }
}

/// A page as plain HTML.
fn render(path: &str, text: &str) -> String {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).map(|event| match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = rendered_link(path, &dest_url);
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        other => other,
    });
    let mut body = String::new();
    html::push_html(&mut body, events);
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{path}</title>\n<style>\n\
         body {{ max-width: 60em; margin: 2em auto; padding: 0 1em; font-family: sans-serif; }}\n\
         pre {{ overflow-x: auto; }}\n\
         td, th {{ text-align: left; vertical-align: top; padding: 0.1em 0.8em; }}\n\
         </style>\n{body}"
    )
}

/// A link of the page `from`, to HTML where it leads to a page.
fn rendered_link(from: &str, target: &str) -> CowStr<'static> {
    let link = Link { target: target.to_owned(), line: 0 };
    let page = link.local().filter(|(path, _)| path.ends_with(".md"));
    let Some((path, heading)) = page else { return target.to_owned().into() };
    // Only whether a README is the book's depends on where the link leads; its way there stays.
    let full = resolve(from, path).unwrap_or_default();
    let name = rendered_name(&full);
    let file = name.rsplit('/').next().unwrap_or_default();
    let folder = path.rfind('/').map_or("", |at| &path[..=at]);
    format!("{folder}{file}{}", heading.map_or(String::new(), |heading| format!("#{heading}"))).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;

    fn workspace(files: &[(&str, &str)]) -> Workspace {
        let documents =
            files.iter().map(|(path, text)| SourceFile { path: (*path).into(), text: (*text).into() });
        Workspace {
            root: Path::new("/nowhere").into(),
            members: Vec::new(),
            sources: Vec::new(),
            documents: documents.collect(),
            paths: files.iter().map(|(path, _)| (*path).into()).collect(),
            known_circles: String::new(),
            clippy_files: Vec::new(),
            lock_files: Vec::new(),
        }
    }

    #[test]
    fn what_pages_lead_to_stands_beside_the_book() {
        let beside = Beside::of(&workspace(&[
            ("docs/a.md", "[b](b.md) [h](../HOUSE.md#x) [s](../rtl/x.sv) [f](../base)"),
            ("docs/b.md", "![p](p.svg) [n](https://x.y)"),
            ("HOUSE.md", "[a](docs/a.md#t) [d](docs/adr/README.md) [r](rtl/README.md) [a](#x)"),
            ("rtl/README.md", "[house](../HOUSE.md)"),
            ("rtl/x.sv", ""),
            ("rtl/y.sv", ""),
            ("base/one/lib.rs", ""),
        ]));
        assert_eq!(beside.pages.keys().collect::<Vec<_>>(), ["HOUSE.html", "index.html", "rtl/README.html"]);
        assert_eq!(beside.copies.iter().collect::<Vec<_>>(), ["base/one/lib.rs", "rtl/x.sv"]);
        let house = &beside.pages["HOUSE.html"];
        for link in ["docs/a.html#t", "docs/adr/index.html", "rtl/README.html", "#x"] {
            assert!(house.contains(&format!("href=\"{link}\"")), "{link} is missing:\n{house}");
        }
    }
}
