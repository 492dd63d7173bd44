//! Markdown pages as the rules see them: what they link to, and the headings that can be linked to.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A link or picture of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Where it leads, as written: `profiles.md#ftl`.
    pub target: String,
    /// Line in the page, from 1.
    pub line: usize,
}

impl Link {
    /// The path and the heading that it names, or `None` for an address elsewhere (`https:`).
    pub fn local(&self) -> Option<(&str, Option<&str>)> {
        let scheme = self.target.split_once(':').map(|(scheme, _)| scheme);
        if scheme.is_some_and(|scheme| scheme.chars().all(|c| c.is_ascii_alphanumeric())) {
            return None;
        }
        Some(match self.target.split_once('#') {
            Some((path, heading)) => (path, Some(heading)),
            None => (&self.target, None),
        })
    }
}

/// What a page links to, and what of it can be linked to.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Page {
    /// Its links and pictures, in its order.
    pub links: Vec<Link>,
    /// The anchors of its headings, as GitHub and mdBook make them.
    pub anchors: Vec<String>,
}

/// Reads a page.
pub fn parse(text: &str) -> Page {
    let mut page = Page::default();
    let mut heading: Option<String> = None;
    let mut seen = BTreeMap::new();
    for (event, Range { start, .. }) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let line = text[..start].matches('\n').count() + 1;
                page.links.push(Link { target: dest_url.to_string(), line });
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                page.anchors.push(anchor(&heading.take().unwrap_or_default(), &mut seen));
            }
            _ => {}
        }
    }
    page
}

/// A heading's anchor. One that an earlier heading has gets a number.
fn anchor(heading: &str, seen: &mut BTreeMap<String, usize>) -> String {
    let kept = |c: char| match c {
        '-' | '_' => Some(c),
        _ if c.is_whitespace() => Some('-'),
        _ => c.is_alphanumeric().then_some(c),
    };
    let name = heading.to_lowercase().chars().filter_map(kept).collect::<String>();
    let times = seen.entry(name.clone()).or_insert(0);
    *times += 1;
    if *times == 1 { name } else { format!("{name}-{}", *times - 1) }
}

/// `path` as a link of the file `from`, from the workspace root as `from` is; `None` if it leaves the tree.
pub fn resolve(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_pictures_are_found_where_they_stand() {
        let text = "# A\n\n[b](b.md#c) and ![d](d.svg)\n\n\
                    | x |\n|---|\n| [e](../e.rs) |\n\n<https://f.g>\n";
        let page = parse(text);
        let found: Vec<_> = page.links.iter().map(|link| (link.target.as_str(), link.line)).collect();
        assert_eq!(found, [("b.md#c", 3), ("d.svg", 3), ("../e.rs", 7), ("https://f.g", 9)]);
        let local: Vec<_> = page.links.iter().filter_map(Link::local).collect();
        assert_eq!(local, [("b.md", Some("c")), ("d.svg", None), ("../e.rs", None)]);
    }

    #[test]
    fn what_stands_in_code_is_no_link() {
        assert_eq!(parse("`[a](b.md)`\n\n```sh\n# no heading\n[c](d.md)\n```\n"), Page::default());
    }

    #[test]
    fn anchors_are_those_of_github() {
        let text = "# A page: `--report FILE`\n## What's it?\n### `[package.slow_lun]`\n## Ä b\n## Ä b\n";
        let expected = ["a-page---report-file", "whats-it", "packageslow_lun", "ä-b", "ä-b-1"];
        assert_eq!(parse(text).anchors, expected);
    }

    #[test]
    fn paths_are_seen_from_the_page() {
        assert_eq!(resolve("docs/a.md", "b.md").as_deref(), Some("docs/b.md"));
        assert_eq!(resolve("docs/adr/a.md", "../b.md").as_deref(), Some("docs/b.md"));
        assert_eq!(resolve("docs/a.md", "../rtl/").as_deref(), Some("rtl"));
        assert_eq!(resolve("docs/a.md", "").as_deref(), Some("docs"));
        assert_eq!(resolve("a.md", "../b.md"), None);
    }
}
