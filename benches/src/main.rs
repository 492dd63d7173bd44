//! `make bench`: what the simulator itself costs. CPU time of this process, so other work on the machine
//! matters little; compare ratios of one run.
//!
//! `bench [NAME ...]` runs only the measurements whose name contains one of the words.

mod array;
mod channel;
mod clock;
mod drive;
mod executor;
mod guest;
mod live;

use std::process::ExitCode;

#[global_allocator]
static MEMORY: aster_run_memory::LargePages = aster_run_memory::LargePages;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let run = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str()));
    if run("executor") {
        executor::measure();
    }
    if run("array") {
        array::measure();
    }
    if run("channel") {
        channel::measure();
    }
    if run("drive") {
        drive::measure();
    }
    if run("live") {
        live::measure();
    }
    if run("dashboard") {
        live::measure_dashboard();
    }
    if run("board") {
        drive::measure_boards();
    }
    if run("guest")
        && let Err(reason) = guest::measure()
    {
        eprintln!("{reason}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
