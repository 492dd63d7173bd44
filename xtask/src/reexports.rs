//! Refuses `pub use` of a whole room by another one: whoever uses the second would reach the first around
//! the table of [`arrows`](crate::arrows). Single names are that room's own interface.

use crate::Violation;
use crate::source::SourceFile;

/// The vocabulary of all rooms, which pieces of a user's own get with `aster_device`.
const VOCABULARY: &str = "aster_units";

/// Checks every public `use` of `sources`. Files that aren't Rust are refused by
/// [`circles`](crate::circles).
pub fn check(sources: &[SourceFile]) -> Vec<Violation> {
    let rust = sources.iter().filter(|file| file.path.ends_with(".rs"));
    rust.filter_map(|file| syn::parse_file(&file.text).ok().map(|parsed| (file, parsed.items)))
        .flat_map(|(file, items)| {
            whole(&items).into_iter().map(|room| {
                let message = format!("`pub use` of all of {room}: whoever needs it depends on it");
                Violation::new(&*file.path, message)
            })
        })
        .collect()
}

/// The members that items re-export as a whole.
fn whole(items: &[syn::Item]) -> Vec<String> {
    let mut found = Vec::new();
    for item in items {
        match item {
            syn::Item::Use(item) if matches!(item.vis, syn::Visibility::Public(_)) => {
                whole_in(&item.tree, &mut found);
            }
            syn::Item::ExternCrate(item) if matches!(item.vis, syn::Visibility::Public(_)) => {
                found.push(item.ident.to_string());
            }
            syn::Item::Mod(module) => {
                found.extend(module.content.iter().flat_map(|(_, items)| whole(items)));
            }
            _ => {}
        }
    }
    found.retain(|room| room.starts_with("aster_") && room != VOCABULARY);
    found
}

fn whole_in(tree: &syn::UseTree, found: &mut Vec<String>) {
    match tree {
        syn::UseTree::Name(name) => found.push(name.ident.to_string()),
        syn::UseTree::Rename(rename) => found.push(rename.ident.to_string()),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| whole_in(tree, found)),
        syn::UseTree::Path(path) if is_whole(&path.tree) => found.push(path.ident.to_string()),
        syn::UseTree::Path(_) | syn::UseTree::Glob(_) => {}
    }
}

/// Whether what stands behind a room's name is the room itself.
fn is_whole(tree: &syn::UseTree) -> bool {
    match tree {
        syn::UseTree::Glob(_) => true,
        syn::UseTree::Name(name) => name.ident == "self",
        syn::UseTree::Rename(rename) => rename.ident == "self",
        syn::UseTree::Group(group) => group.items.iter().any(is_whole),
        syn::UseTree::Path(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Vec<String> {
        let file = SourceFile { path: "lab/src/lib.rs".to_owned(), text: text.to_owned() };
        check(&[file]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_room_that_is_handed_on_is_refused() {
        for text in [
            "pub use aster_device;",
            "pub use aster_device as device;",
            "pub use aster_device::*;",
            "pub extern crate aster_device as device;",
            "pub use aster_device::{self, Profile};",
            "pub use aster_device::{self as device};",
            "pub use {aster_device as device, aster_units as units};",
            "pub mod parts { pub use aster_device as device; }",
        ] {
            let found = refused(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains("pub use` of all of aster_device"), "{}", found[0]);
        }
    }

    #[test]
    fn names_of_a_room_may_be_handed_on() {
        for text in [
            "pub use aster_device::{Profile, plug::Pieces};",
            "pub use aster_device::profile;",
            "use aster_device as device;",
            "pub(crate) use aster_device as device;",
            "pub use aster_units as units;",
            "pub use crate::words;",
        ] {
            assert_eq!(refused(text), Vec::<String>::new(), "{text}");
        }
    }
}
