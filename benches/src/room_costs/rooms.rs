//! Instructions by room.

use std::collections::BTreeMap;

/// What functions of the standard library have that no room has inlined, and what other libraries have.
pub const LIBRARIES: &str = "libraries";

/// Sums up callgrind's lines by the room of the source file that they were compiled from (the format is
/// described in Valgrind's manual, "Callgrind Format Specification"). `root` is the project's folder.
/// Lines of the standard library count for the room whose function has inlined them.
pub fn by_room(profile: &str, root: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    let library = || LIBRARIES.to_owned();
    // Of the current line, of the last function's file, and the last of our rooms within the function.
    let (mut room, mut of_file, mut of_function) = (library(), None::<String>, None::<String>);
    let mut is_call = false;
    for line in profile.lines() {
        if let Some((kind, name)) = line.split_once('=') {
            match kind {
                "fl" => of_file = room_of(name, root),
                "fi" | "fe" => {
                    let own = room_of(name, root);
                    if own.is_some() {
                        of_function.clone_from(&own);
                    }
                    // Another library's line isn't its caller's, as one of the standard library is.
                    let inlined = is_of_std(name).then(|| of_function.clone()).flatten();
                    room = own.or(inlined).unwrap_or_else(library);
                }
                "fn" => {
                    of_function.clone_from(&of_file);
                    room = of_file.clone().unwrap_or_else(library);
                }
                "calls" => is_call = true,
                _ => {}
            }
            continue;
        }
        let mut numbers = line.split(' ').map(str::parse::<u64>);
        let (Some(Ok(_)), Some(Ok(cost))) = (numbers.next(), numbers.next()) else { continue };
        // The line of a call has what the called function cost, which has lines of its own.
        if !std::mem::take(&mut is_call) {
            *sums.entry(room.clone()).or_insert(0) += cost;
        }
    }
    sums
}

/// The room of a source file: the folder of its crate.
fn room_of(path: &str, root: &str) -> Option<String> {
    let path = path.strip_prefix(root).map_or(path, |rest| rest.trim_start_matches('/'));
    let (room, _) = path.split_once("/src/").filter(|_| !path.starts_with('/'))?;
    Some(room.to_owned())
}

fn is_of_std(path: &str) -> bool {
    path.contains("/rustc/") || path.contains("/library/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(profile: &str) -> Vec<(String, u64)> {
        by_room(profile, "/here").into_iter().collect()
    }

    #[test]
    fn a_line_counts_for_the_room_that_it_was_written_in() {
        let ftl = "fl=/here/firmware/ftl/src/host.rs\nfn=a\n1 100\n";
        let expected = |ftl: u64, more: Option<(&str, u64)>| -> Vec<(String, u64)> {
            let ftl = ("firmware/ftl".to_owned(), ftl);
            let mut all: Vec<_> =
                more.map(|(room, n)| (room.to_owned(), n)).into_iter().chain([ftl]).collect();
            all.sort();
            all
        };
        assert_eq!(of(ftl), expected(100, None));
        // Inlined from another room, and back.
        let inlined =
            format!("{ftl}fi=/here/base/exec/src/sync.rs\n7 30\nfe=/here/firmware/ftl/src/host.rs\n2 5\n");
        assert_eq!(of(&inlined), expected(105, Some(("base/exec", 30))));
        // From the standard library: for who has inlined it.
        let library = format!("{ftl}fi=/rustc/1/library/core/src/cell.rs\n7 30\n");
        assert_eq!(of(&library), expected(130, None));
        // A function of the standard library, and a file that nobody knows.
        let own = format!("{ftl}fl=/rustc/1/library/core/src/cell.rs\nfn=b\n7 30\nfl=???\nfn=memcpy\n0 2\n");
        assert_eq!(of(&own), expected(100, Some(("libraries", 32))));
        // Of a call, what was called has its own lines.
        let call = format!("{ftl}cfi=/here/base/exec/src/sync.rs\ncfn=c\ncalls=3 9\n4 400\n5 1\n");
        assert_eq!(of(&call), expected(101, None));
    }

    #[test]
    fn a_crate_of_one_folder_is_a_room_too() {
        assert_eq!(room_of("/here/device/src/plug/mod.rs", "/here").as_deref(), Some("device"));
        assert_eq!(room_of("device/src/lib.rs", "/here").as_deref(), Some("device"));
        assert_eq!(room_of("/there/registry/src/x/a.rs", "/here"), None);
    }
}
