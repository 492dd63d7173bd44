//! The files of a block, from `rtl/<block>/<block>.f`.

use std::fs;
use std::path::{Path, PathBuf};

/// The blocks of `rtl` that have a file list, in alphabetical order.
///
/// # Panics
/// When `rtl` can't be read.
pub fn blocks(rtl: &Path) -> Vec<String> {
    let mut blocks: Vec<String> = fs::read_dir(rtl)
        .expect("the folder rtl")
        .map(|entry| entry.expect("an entry of rtl").file_name().to_string_lossy().into_owned())
        .filter(|name| list(rtl, name).is_file())
        .collect();
    blocks.sort();
    blocks
}

fn list(rtl: &Path, block: &str) -> PathBuf {
    rtl.join(block).join(format!("{block}.f"))
}

/// The files of `block`, each once, after those of the blocks that it names (`-f`). Paths are relative to
/// `rtl`.
///
/// # Panics
/// When a list can't be read, or names a file that isn't there.
pub fn of_block(rtl: &Path, block: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(rtl, &list(rtl, block), &mut files);
    files
}

fn collect(rtl: &Path, list: &Path, files: &mut Vec<PathBuf>) {
    let text = fs::read_to_string(list).unwrap_or_else(|e| panic!("{}: {e}", list.display()));
    let mut words =
        text.lines().map(|l| l.split("//").next().unwrap_or_default()).flat_map(str::split_whitespace);
    while let Some(word) = words.next() {
        if word == "-f" {
            collect(rtl, &rtl.join(words.next().expect("-f names a list")), files);
        } else if !word.starts_with(['+', '-']) {
            let file = rtl.join(word);
            assert!(file.is_file(), "{} names {word}, which isn't in rtl", list.display());
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
}

/// Options for the folders where `include finds its files, those of all `.svh` (`-I` followed by the
/// folder).
pub fn includes(rtl: &Path) -> Vec<String> {
    ["include", "checker/rtl"].map(|folder| format!("-I{}", rtl.join(folder).display())).to_vec()
}

/// The files in `rtl/<block>/<folder>` whose names end in `suffix`, in alphabetical order; none when there is
/// no such folder.
///
/// # Panics
/// When the folder can't be read.
pub fn files(rtl: &Path, block: &str, folder: &str, suffix: &str) -> Vec<PathBuf> {
    let folder = rtl.join(block).join(folder);
    if !folder.is_dir() {
        return Vec::new();
    }
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(suffix));
    files.sort();
    files
}

/// The name of a file without its folder and ending: that of its module.
///
/// # Panics
/// When the file has no name.
pub fn module(file: &Path) -> String {
    file.file_stem().expect("a file has a name").to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_files_once_and_those_it_rests_on_first() {
        let folder = tempfile::tempdir().unwrap();
        let rtl = folder.path();
        for block in ["low", "high"] {
            fs::create_dir_all(rtl.join(block).join("rtl")).unwrap();
            fs::write(rtl.join(format!("{block}/rtl/{block}.sv")), "").unwrap();
        }
        fs::write(rtl.join("low/low.f"), "+incdir+include // headers\nlow/rtl/low.sv\n").unwrap();
        fs::write(rtl.join("high/high.f"), "-f low/low.f\nlow/rtl/low.sv\nhigh/rtl/high.sv").unwrap();
        assert_eq!(blocks(rtl), ["high", "low"]);
        assert_eq!(of_block(rtl, "high"), [rtl.join("low/rtl/low.sv"), rtl.join("high/rtl/high.sv")]);
    }

    #[test]
    #[should_panic(expected = "names low/rtl/gone.sv")]
    fn a_list_that_names_a_missing_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("low")).unwrap();
        fs::write(folder.path().join("low/low.f"), "low/rtl/gone.sv").unwrap();
        of_block(folder.path(), "low");
    }
}
