//! Proofs: `rtl/<block>/formal/<name>.sv` is a module of that name whose assertions must hold, whatever its
//! inputs do within its assumptions. Its head says how that is shown, in lines of `// Key: value`.
//!
//! | key | value |
//! |---|---|
//! | `Proof` | what is proved |
//! | `Method` | `induction k` (yosys-smtbmc with cvc5: the step of k cycles, and a base case of some more), `sat-induction k` (the same by yosys-abc), `reachability` (yosys-abc's property-directed reachability: an inductive invariant is found and checked, for any depth), or `bounded n` (yosys-abc: the first n cycles from reset) |
//! | `Long` | likewise, with `ASTER_LONG=1`; a proof that has no `Method` is only done then |
//! | `Clocks` | `any`: the module's clocks are inputs like others, and change when they like; a cycle of the proof is then a change of them. Without it there is one clock |
//! | `Sources` | the blocks whose files it needs |
//! | `Instead` | modules of those that the proof's file gives in its own way, as the environment of the rest |
//! | `Assumes` | what the environment keeps to |

use crate::{sources, tools};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a proof is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// By k-induction, with an SMT solver.
    Induction(u32),
    /// By k-induction, with a SAT solver.
    SatInduction(u32),
    /// By an inductive invariant that the solver finds.
    Reachability,
    /// For the first cycles only.
    Bounded(u32),
}

impl Method {
    fn parse(text: &str) -> Self {
        let (name, depth) = text.split_once(' ').unwrap_or((text, ""));
        let depth = || depth.parse().unwrap_or_else(|_| panic!("`{text}` needs a depth"));
        match name {
            "induction" => Method::Induction(depth()),
            "sat-induction" => Method::SatInduction(depth()),
            "reachability" => Method::Reachability,
            "bounded" => Method::Bounded(depth()),
            _ => panic!("`{text}` is no method: induction k, sat-induction k, reachability or bounded n"),
        }
    }
}

/// Cycles that the base case of an induction checks beyond those it needs. An error that shows there
/// comes with a trace from reset, and not only with a step that fails.
const BASE_MARGIN: u32 = 4;

/// As `BASE_MARGIN`, for a SAT solver, which is faster. A proof with arbitrary clocks needs two cycles
/// for an edge of one clock.
const SAT_BASE_MARGIN: u32 = 20;

/// A proof and what its head says.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The block that it belongs to.
    pub block: String,
    /// The module.
    pub name: String,
    /// The normal method, if the proof is quick enough to be done every time.
    pub method: Option<Method>,
    /// The method with `ASTER_LONG=1`; by default, the same.
    pub long: Method,
    any_clocks: bool,
    blocks: Vec<String>,
    instead: Vec<String>,
    file: PathBuf,
}

/// The result of a proof.
#[derive(Debug)]
pub enum Outcome {
    /// The assertions hold.
    Proved(Duration),
    /// An assertion doesn't hold, or the solver can't prove it. With the solver's output.
    Failed(String),
}

/// All proofs of `rtl`, by block and name.
pub fn all(rtl: &Path) -> Vec<Proof> {
    let of_block = |block: &String| {
        let files = sources::files(rtl, block, "formal", ".sv");
        files.into_iter().map(|file| Proof::read(block, file)).collect::<Vec<_>>()
    };
    sources::blocks(rtl).iter().flat_map(of_block).collect()
}

impl Proof {
    fn read(block: &str, file: PathBuf) -> Self {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let value = |key: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(&format!("// {key}: ")));
            value.map(str::trim)
        };
        let need = |key: &str| value(key).unwrap_or_else(|| panic!("{} says no `{key}`", file.display()));
        need("Proof");
        need("Assumes");
        let method = value("Method").map(Method::parse);
        let long = value("Long").map_or_else(|| Method::parse(need("Method")), Method::parse);
        let words = |text: &str| text.split_whitespace().map(String::from).collect();
        let any_clocks = value("Clocks").is_some_and(|clocks| {
            assert_eq!(clocks, "any", "{} has clocks that are no kind", file.display());
            true
        });
        let blocks = words(need("Sources"));
        let instead = words(value("Instead").unwrap_or_default());
        Proof {
            block: block.to_string(),
            name: sources::module(&file),
            method,
            long,
            any_clocks,
            blocks,
            instead,
            file,
        }
    }

    /// Runs the proof on the sources in `rtl`, which may be a mutated copy.
    ///
    /// # Panics
    /// If a tool is missing or can't read the sources.
    pub fn run(&self, rtl: &Path, method: Method) -> Outcome {
        let folder = tempfile::tempdir().expect("a temporary folder");
        match method {
            Method::Induction(depth) => self.induction(rtl, folder.path(), depth),
            Method::SatInduction(depth) => {
                self.model(rtl, folder.path());
                let base = self.bounded(folder.path(), depth + SAT_BASE_MARGIN);
                let Outcome::Proved(base_took) = base else { return base };
                match self.solve(folder.path(), &format!("orpos; ind -F {depth}"), "Networks are equivalent")
                {
                    Outcome::Proved(took) => Outcome::Proved(base_took + took),
                    failed @ Outcome::Failed(_) => failed,
                }
            }
            Method::Reachability => {
                self.model(rtl, folder.path());
                self.solve(folder.path(), "scorr; dc2; pdr", "Property proved")
            }
            Method::Bounded(depth) => {
                self.model(rtl, folder.path());
                self.bounded(folder.path(), depth)
            }
        }
    }

    /// The common part: one flat module with one clock, which samples the module's own clocks if there
    /// are several. Undriven bits inside a process stand for values that don't matter; lint ensures that
    /// there are no other undriven bits.
    fn elaborate(&self, rtl: &Path) -> String {
        let mut files = Vec::new();
        for block in &self.blocks {
            for file in sources::of_block(rtl, block) {
                if !files.contains(&file) && !self.instead.contains(&sources::module(&file)) {
                    files.push(file);
                }
            }
        }
        files.push(self.file.clone());
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        format!(
            "read_verilog -sv -formal {} {}; hierarchy -check -top {}; proc; flatten; memory -nordff; {}; \
             setundef -undriven -zero; setundef -zero; opt -fast; opt_clean",
            sources::includes(rtl).join(" "),
            files.join(" "),
            self.name,
            if self.any_clocks { "clk2fflogic" } else { "async2sync" }
        )
    }

    fn yosys(&self, rtl: &Path, folder: &Path, rest: &str) {
        let script = format!("{}; {rest}", self.elaborate(rtl));
        tools::run(folder, "yosys", &["-q", "-p", &script]).expect(&format!("yosys on {}", self.name));
    }

    fn bounded(&self, folder: &Path, depth: u32) -> Outcome {
        self.solve(folder, &format!("bmc3 -F {depth}"), &format!("No output asserted in {depth} frames"))
    }

    /// The and-inverter graph that yosys-abc reads.
    fn model(&self, rtl: &Path, folder: &Path) {
        self.yosys(
            rtl,
            folder,
            "techmap; opt -fast; setundef -undriven -zero; dffunmap; simplemap; abc -g AND -fast; opt_clean; \
             write_aiger -I -B -zinit model.aig",
        );
    }

    fn solve(&self, folder: &Path, engine: &str, proved: &str) -> Outcome {
        let command = format!("read_aiger model.aig; fold; strash; {engine}");
        let output = tools::run(folder, "yosys-abc", &["-c", &command]);
        if output.good && output.text.contains(proved) && !output.text.contains("was asserted in frame") {
            Outcome::Proved(output.took)
        } else {
            Outcome::Failed(output.text)
        }
    }

    fn induction(&self, rtl: &Path, folder: &Path, depth: u32) -> Outcome {
        self.yosys(rtl, folder, "opt -full; dffunmap; write_smt2 -stbv -wires model.smt2");
        let smtbmc = |options: &[&str]| {
            let options = [&["-s", "cvc5"], options, &["model.smt2"]].concat();
            tools::run(folder, "yosys-smtbmc", &options)
        };
        let base = smtbmc(&["-t", &(depth + BASE_MARGIN).to_string()]);
        if !base.good {
            return Outcome::Failed(base.text);
        }
        let step = smtbmc(&["-i", "-t", &depth.to_string()]);
        if step.good && step.text.contains("Status: PASSED") {
            Outcome::Proved(base.took + step.took)
        } else {
            Outcome::Failed(step.text)
        }
    }

    /// The method for this run, if the proof is part of it.
    pub fn due(&self) -> Option<Method> {
        if crate::long() { Some(self.long) } else { self.method }
    }
}
