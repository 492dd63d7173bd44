//! The pages of the book: their commands run as they stand there, one after the other in an empty folder,
//! and print what the book says.
//!
//! A block of `sh` is a script. In a block of `console` each line that begins with `$ ` is a command (the
//! next line goes on if it ends with a backslash), and what follows is its standard output, or its error if
//! it fails. `…` stands for any text within a line; on a line of its own it stands for any lines.
//!
//! A block that can't run here has `<!-- not run: why -->` before it and a line in [`NOT_RUN`]; one that
//! takes minutes has `<!-- long -->` and runs with `ASTER_LONG=1`. `<!-- file: name -->` has the block
//! written to a file before any command runs, and `<!-- run: command -->` runs a command that the reader
//! needn't see.

use std::env;
use std::fmt::Write;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread;

use crate::place::Place;

/// Blocks that no test runs: page and reason, once for each. A new one needs a better reason than haste.
const NOT_RUN: [(&str, &str); 50] = [
    ("break-a-file-system.md", "prepares the reader's shell"),
    ("clusters.md", "builds the Python package"),
    ("clusters.md", "needs Kubernetes"),
    ("clusters.md", "needs Kubernetes"),
    ("clusters.md", "needs Kubernetes"),
    ("clusters.md", "needs SLURM"),
    ("clusters.md", "needs machines to log in to"),
    ("first-hour.md", "boots a guest; tests/tests/guest.rs does"),
    ("first-hour.md", "builds all of Aster"),
    ("first-hour.md", "builds the Python package"),
    ("first-hour.md", "prepares the reader's shell"),
    ("first-hour.md", "serves until it is ended; tests/tests/guest.rs boots guests with such drives"),
    ("fuzzing.md", "fuzzes for ten minutes"),
    ("fuzzing.md", "needs a nightly compiler"),
    ("host-ftl.md", "serves until it is ended; tests/tests/guest.rs boots guests with such drives"),
    ("host-ftl.md", "takes minutes of CPU"),
    ("host-ftl.md", "takes minutes of CPU"),
    ("host-ftl.md", "takes minutes of CPU"),
    ("host-ftl.md", "takes minutes of CPU"),
    ("mappings.md", "builds the tests"),
    ("mappings.md", "takes minutes of CPU"),
    ("observability.md", "draws a picture with a browser"),
    ("observability.md", "shows the events until it is ended; lab/dashboard has its tests"),
    ("open-channel.md", "builds and boots a kernel; make test-all does"),
    ("open-channel.md", "serves until it is ended; tests/tests/guest.rs boots guests with such drives"),
    ("open-channel.md", "takes minutes of CPU"),
    ("own-ftl.md", "builds a crate; lab/tests/own_ftl.rs builds and runs it"),
    ("own-ftl.md", "builds a crate; lab/tests/own_host_ftl.rs builds and runs it"),
    ("own-policy.md", "builds a crate; lab/tests/own_policies.rs builds and runs it"),
    ("own-trace.md", "records a real disk, which takes root and a disk"),
    ("performance.md", "needs valgrind; make test-all runs it"),
    ("pts.md", "takes minutes of CPU; cli/tests/cli/pts.rs runs quick ones"),
    ("python.md", "builds the Python package"),
    (
        "python.md",
        "compares sweeps that the reader has; cli/tests/cli/compare.rs and python/tests/test_compare.py do",
    ),
    ("python.md", "measures a real disk with fio"),
    ("rtl.md", "takes minutes of CPU; cli/tests/cli/channel.rs runs it"),
    ("schedulers.md", "builds a crate; lab/tests/own_pieces.rs builds and runs it"),
    ("serve.md", "boots a guest; tests/tests/guest.rs does"),
    ("serve.md", "boots a guest; tests/tests/guest.rs does"),
    ("serve.md", "needs SPDK"),
    ("serve.md", "serves until it is ended; tests/tests/guest.rs boots guests with such drives"),
    ("serve.md", "serves until it is ended; tests/tests/guest.rs boots guests with such drives"),
    ("serve.md", "serves until it is ended; tests/tests/guest.rs boots guests with such drives"),
    ("softssd.md", "needs valgrind; benches/src/programming_model has its tests"),
    ("softssd.md", "serves until it is ended; tests/tests/guest.rs boots guests with such drives"),
    ("softssd.md", "takes minutes of CPU"),
    ("translations.md", "builds a crate; lab/tests/own_ftl.rs builds and runs it"),
    ("victim-policies.md", "builds a crate; lab/tests/own_policies.rs builds and runs it"),
    ("workloads.md", "records a real disk, which takes root and a disk"),
    ("workloads.md", "records a real disk, which takes root and a disk"),
];

/// What a block is for.
const LANGUAGES: [&str; 9] = ["sh", "console", "text", "toml", "ini", "json", "rust", "python", "yaml"];

/// A fenced block of a page.
struct Block {
    language: String,
    /// Line of its first line, from 1.
    line: usize,
    lines: Vec<String>,
    /// What the comment before it says.
    mark: Option<String>,
}

impl Block {
    /// The file that the block is to be written to before any command runs.
    fn file(&self) -> Option<&str> {
        self.mark.as_deref()?.strip_prefix("file: ")
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// The pages, but for the decision records, which tell of what was.
fn pages() -> Vec<String> {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let links = summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    links.filter(|page| !page.starts_with("adr/")).map(str::to_owned).collect()
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut mark = None;
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if let Some(comment) = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->")) {
            mark = Some(comment.to_owned());
            if comment.starts_with("run: ") {
                let line = comment.trim_start_matches("run: ").to_owned();
                blocks.push(Block { language: "sh".to_owned(), line: at + 1, lines: vec![line], mark: None });
                mark = None;
            }
        } else if let Some(language) = line.strip_prefix("```") {
            let inner = lines.by_ref().map(|(_, line)| line.to_owned()).take_while(|line| line != "```");
            let language = language.to_owned();
            blocks.push(Block { language, line: at + 2, lines: inner.collect(), mark: mark.take() });
        } else if !line.trim().is_empty() {
            mark = None;
        }
    }
    blocks
}

/// A command with the line that it stands in, and what it prints, if the book says so.
struct Step {
    line: usize,
    script: String,
    prints: Option<Vec<String>>,
}

fn steps(block: &Block) -> Vec<Step> {
    if block.language == "sh" {
        return vec![Step { line: block.line, script: block.lines.join("\n"), prints: None }];
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for (index, line) in block.lines.iter().enumerate() {
        if goes_on {
            let step = steps.last_mut().unwrap();
            write!(step.script, "\n{line}").unwrap();
        } else if let Some(command) = line.strip_prefix("$ ") {
            let script = command.to_owned();
            steps.push(Step { line: block.line + index, script, prints: Some(Vec::new()) });
        } else {
            let step = steps.last_mut().expect("a block of console begins with a command");
            step.prints.as_mut().unwrap().push(line.clone());
            continue;
        }
        goes_on = line.ends_with('\\');
    }
    steps
}

/// Is `line` what the book says, where `…`, with the spaces before it, is anything? A column that is aligned
/// to the right begins further left when its number has more digits.
fn is_like(said: &str, line: &str) -> bool {
    let (said, line) = (said.trim_end(), line.trim_end());
    let Some((between, last)) = said.rsplit_once('…') else { return said == line };
    let mut between = between.split('…').map(str::trim_end);
    let Some(mut rest) = line.strip_prefix(between.next().unwrap()) else { return false };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The first line of `said` that `printed` doesn't have, with the printed line in its place.
fn first_difference(said: &[String], printed: &str) -> Option<String> {
    let mut printed = printed.lines();
    let mut skips = false;
    for said in said {
        if said == "…" {
            skips = true;
            continue;
        }
        let mut next = printed.next();
        while skips && next.is_some_and(|line| !is_like(said, line)) {
            next = printed.next();
        }
        match next {
            Some(line) if is_like(said, line) => skips = false,
            Some(line) => return Some(format!("the book has\n{said}\nthe command prints\n{line}")),
            None => return Some(format!("the command doesn't print\n{said}")),
        }
    }
    let more = printed.next().filter(|_| !skips)?;
    Some(format!("the book lacks\n{more}"))
}

fn run(script: &str, folder: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_aster")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-eu", "-o", "pipefail", "-c", script])
        .current_dir(folder)
        .env("PATH", path)
        .env("ASTER", docs().join(".."));
    bash.stdin(std::process::Stdio::null()).output().unwrap()
}

/// What is wrong with a step, for its reader.
fn problem(step: &Step, folder: &Path) -> Option<String> {
    let ran = run(&step.script, folder);
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    let fails = step.prints.iter().flatten().any(|line| line.starts_with("error: "));
    let wrong = if ran.status.success() == fails {
        Some(format!("it ends with {}", ran.status))
    } else {
        let last = err.lines().last().unwrap_or_default();
        step.prints.as_ref().and_then(|said| first_difference(said, if fails { last } else { &out }))
    };
    wrong.map(|wrong| format!("{}\n{wrong}\n--- all of its output\n{out}{err}", step.script))
}

/// Runs a page until a command isn't as the page says. Returns the blocks that it marks as not run.
///
/// # Errors
/// With what is wrong with the command.
fn read(page: &str, long: bool) -> Result<Vec<(String, String)>, String> {
    let place = Place::new();
    let mut left_out = Vec::new();
    let (files, blocks): (Vec<_>, Vec<_>) =
        blocks(&fs::read_to_string(docs().join(page)).unwrap()).into_iter().partition(|b| b.file().is_some());
    for file in &files {
        fs::write(place.path(file.file().unwrap()), file.lines.join("\n") + "\n").unwrap();
    }
    for block in blocks {
        let at = format!("docs/{page}:{}", block.line);
        assert!(LANGUAGES.contains(&&*block.language), "{at}: a block says its language: {LANGUAGES:?}");
        let runs = matches!(&*block.language, "sh" | "console");
        match block.mark.as_deref() {
            Some("long") if runs && !long => continue,
            Some("long") | None => {}
            Some(mark) => {
                let reason =
                    mark.strip_prefix("not run: ").expect("a mark is `long`, `file: name` or `not run: why`");
                left_out.push((page.to_owned(), reason.to_owned()));
                continue;
            }
        }
        for step in if runs { steps(&block) } else { Vec::new() } {
            if let Some(problem) = problem(&step, &place.path("")) {
                return Err(format!("docs/{page}:{}: {problem}", step.line));
            }
        }
    }
    Ok(left_out)
}

#[test]
fn the_commands_of_every_page_run_and_print_what_it_says() {
    let long = env::var("ASTER_LONG").is_ok_and(|long| long == "1");
    // A page is one thread's, and there are no more of them than cores: some drives are large.
    let waiting = Mutex::new(pages().into_iter());
    let next = || waiting.lock().unwrap().next();
    let read_on = || iter::from_fn(next).map(|page| read(&page, long)).collect::<Vec<_>>();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let pages: Vec<_> = thread::scope(|scope| {
        let readers: Vec<_> = (0..cores).map(|_| scope.spawn(read_on)).collect();
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect()
    });
    let problems: Vec<_> = pages.iter().filter_map(|page| page.as_ref().err()).cloned().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    let mut left_out: Vec<_> = pages.into_iter().flatten().flatten().collect();
    left_out.sort();
    let mut expected = NOT_RUN.map(|(page, reason)| (page.to_owned(), reason.to_owned())).to_vec();
    expected.sort();
    assert_eq!(left_out, expected, "the blocks that don't run are those of NOT_RUN");
}

#[test]
fn output_is_compared_line_by_line() {
    let said = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(first_difference(&said("a\n…\nd … f"), "a\nb\nc\nd e f\n"), None);
    assert_eq!(first_difference(&said("a\n…"), "a\nb\n"), None);
    assert_eq!(first_difference(&said("s      … x"), "s  13.97 x"), None);
    for (text, printed) in [("a", "a\nb"), ("a\n…\nc", "a\nb"), ("a …c", "a bd"), ("a", "b"), ("a\nb", "a")]
    {
        assert!(first_difference(&said(text), printed).is_some(), "{text:?} {printed:?}");
    }
}

#[test]
fn blocks_have_the_mark_before_them() {
    let text = "x\n\n<!-- not run: y -->\n```sh\na\n```\n\n<!-- long -->\n\n```console\n$ b \\\n  c\nd\n```\n\
                z\n```sh\n```\n";
    let found = blocks(text);
    let marks: Vec<_> = found.iter().map(|block| (block.mark.as_deref(), block.line)).collect();
    assert_eq!(marks, [(Some("not run: y"), 5), (Some("long"), 11), (None, 17)]);
    let steps = steps(&found[1]);
    assert_eq!((steps[0].script.as_str(), steps[0].line), ("b \\\n  c", 11));
    assert_eq!(steps[0].prints.as_deref(), Some(["d".to_owned()].as_slice()));
}
