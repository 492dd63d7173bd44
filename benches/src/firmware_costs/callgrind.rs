//! Runs this program again under callgrind, and sums up what it counts by step.

use aster_benches::callgrind::Counted;
use std::collections::BTreeMap;

/// What a run prints before its counters.
const MARK: &str = "counters";

/// Where a program's instructions belong.
#[derive(Clone, Copy)]
pub struct Places {
    /// The step that a function of a file belongs to, by the file's path in the project. `None` if it is none
    /// of the firmware's.
    pub step_of: fn(&str, &str) -> Option<&'static str>,
    /// Folders whose functions belong to whoever calls them.
    pub shared: &'static [&'static str],
}

/// The instructions of a run by step, and how often each step was taken.
pub struct Run {
    pub instructions: BTreeMap<&'static str, u64>,
    pub taken: BTreeMap<String, u64>,
}

impl Run {
    /// Of a step.
    pub fn of(&self, step: &str) -> u64 {
        self.instructions.get(step).copied().unwrap_or(0)
    }
}

/// Prints how often each step was taken, for [`counted`] to read.
pub fn tell(steps: &BTreeMap<&'static str, u64>) {
    println!("{MARK}");
    steps.iter().for_each(|(step, count)| println!("{step} {count}"));
}

/// This program's run with these arguments.
pub fn counted(arguments: &[String], places: Places) -> Result<Run, String> {
    let Counted { profile, said } = aster_benches::callgrind::run(arguments)?;
    let taken = said.lines().skip_while(|line| *line != MARK).filter_map(|line| {
        let (step, count) = line.split_once(' ')?;
        Some((step.to_owned(), count.parse().ok()?))
    });
    Ok(Run { instructions: by_step(&profile, places), taken: taken.collect() })
}

/// The functions of a source file by the line that each begins on.
struct Functions(Vec<(u64, String)>);

impl Functions {
    fn of(path: &str) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let begins = text.lines().zip(1..).filter_map(|(line, at)| {
            let (_, rest) = line.split_once("fn ")?;
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            (!line.trim_start().starts_with("//") && !name.is_empty()).then_some((at, name))
        });
        Functions(begins.collect())
    }
    fn at(&self, line: u64) -> &str {
        self.0.iter().rev().find(|(begin, _)| *begin <= line).map_or("", |(_, name)| name)
    }
}

/// The path of a source file in the project.
fn in_project(path: &str) -> String {
    let at = ["firmware/", "base/"].into_iter().find_map(|folder| path.find(folder)).unwrap_or(0);
    path[at..].to_owned()
}

/// Sums callgrind's lines by step (the format is described in Valgrind's manual, "Callgrind Format
/// Specification").
fn by_step(profile: &str, places: Places) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    let mut sources: BTreeMap<String, Functions> = BTreeMap::new();
    // The file of the current line, and our last line in the current function.
    let (mut file, mut ours): (String, Option<&'static str>) = Default::default();
    // The file of a called function, and whether the next line is the call of one.
    let (mut called, mut call): (Option<String>, bool) = Default::default();
    let is_shared = |file: &str| places.shared.iter().any(|folder| file.starts_with(folder));
    for line in profile.lines() {
        if let Some((kind, name)) = line.split_once('=') {
            match kind {
                "fn" => ours = None,
                "fl" | "fi" | "fe" => file = in_project(name),
                "cfl" | "cfi" => called = Some(in_project(name)),
                "calls" => call = true,
                _ => {}
            }
            continue;
        }
        let mut numbers = line.split(' ').map(str::parse::<u64>);
        let (Some(Ok(at)), Some(Ok(cost))) = (numbers.next(), numbers.next()) else { continue };
        let is_call = std::mem::take(&mut call);
        let into = called.take().filter(|_| is_call);
        if is_call && !is_shared(into.as_deref().unwrap_or(&file)) {
            continue;
        }
        let library = is_shared(&file) || file.contains("/library/") || file.contains("/rustc/");
        if file.starts_with("firmware/") || file.starts_with("base/") && !is_shared(&file) {
            let functions = sources.entry(file.clone()).or_insert_with(|| Functions::of(&file));
            let step = (places.step_of)(&file, functions.at(at));
            if step.is_none() && file.starts_with("base/") {
                continue;
            }
            ours = step;
        } else if !library {
            continue;
        }
        if let Some(step) = ours {
            *sums.entry(step).or_insert(0) += cost;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An inlined line of the library, and a call of what is shared, count for the function that has them;
    /// other calls don't, nor does what a function of another place has.
    #[test]
    fn lines_count_for_the_function_that_they_are_in() {
        let places = Places {
            step_of: |file, _| file.ends_with("ours.rs").then_some("step"),
            shared: &["base/wire/"],
        };
        let of = |profile: &str| by_step(profile, places).get("step").copied();
        let begin = "fl=/here/firmware/x/ours.rs\nfn=a\n1 100\n";
        assert_eq!(of(begin), Some(100));
        assert_eq!(of(&format!("{begin}fi=/rustc/1/library/core/vec.rs\n7 10\n")), Some(110));
        assert_eq!(of(&format!("{begin}cfi=/here/base/wire/tlp.rs\ncfn=b\ncalls=2 9\n3 40\n")), Some(140));
        assert_eq!(of(&format!("{begin}cfi=/here/base/exec/ring.rs\ncfn=b\ncalls=2 9\n3 40\n")), Some(100));
        assert_eq!(of(&format!("{begin}cfn=c\ncalls=1 9\n3 40\n4 5\n")), Some(105));
        assert_eq!(of("fl=/here/base/wire/tlp.rs\nfn=b\n9 40\n"), None);
    }
}
