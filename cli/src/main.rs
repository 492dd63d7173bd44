//! `aster`: runs drives from the command line.
#![forbid(unsafe_code)]

mod address;
mod again;
mod args;
mod bench_channel;
mod board_words;
mod compare;
mod console;
mod debug_console;
mod demo;
mod drawn;
mod estimate;
mod image;
mod interrupt;
mod lifetime;
mod monitor;
mod numbers;
mod open_channel;
mod operation;
mod package;
mod profiles;
mod progress;
mod pts;
mod pty;
mod reproduce;
mod run;
mod serve;
mod sideband;
mod torture;
mod trace;
mod units;
mod waf;
mod watch;
mod window;

use args::{Cli, Command};
use aster_lab::asked::failure::{Failure, without_number};
use clap::{CommandFactory, FromArgMatches};
use std::process::ExitCode;

#[global_allocator]
static MEMORY: aster_run_memory::LargePages = aster_run_memory::LargePages;

/// Parses the command line such that a negative number is a wrong value and not an unknown option.
fn parse() -> Cli {
    let mut command = with_negative_numbers(Cli::command());
    let arguments: Vec<_> = std::env::args_os().collect();
    let matches = command.try_get_matches_from_mut(&arguments);
    let matches = matches.unwrap_or_else(|error| numbers::in_words(&mut command, &arguments, error).exit());
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command.allow_negative_numbers(true).mut_subcommands(with_negative_numbers)
}

fn main() -> ExitCode {
    let result = match parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => return compare::run(&args).unwrap_or_else(|failure| ended(&failure)),
        Command::Explain(args) => run::explain(&args),
        Command::Image { command } => image::run(&command),
        Command::Trace { command } => trace::run(&command),
        Command::Serve(args) => serve::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::OpenChannel(args) => open_channel::run(&args),
        Command::BenchChannel(args) => bench_channel::run(&args),
        Command::Profiles(args) => profiles::list(&args),
        Command::Check(args) => profiles::check(&args),
        Command::Sweep(args) => return of_package(&package::SWEEP, &args),
        Command::Fit(args) => return of_package(&package::FIT, &args),
        Command::Torture(args) => torture::run(&args),
        Command::Lifetime(args) => lifetime::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Waf(args) => waf::run(&args),
        Command::Pts(args) => pts::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ended(&failure),
    }
}

/// Runs a command of the Python package.
fn of_package(program: &package::Program, args: &args::PackageArgs) -> ExitCode {
    package::run(program, &args.arguments).unwrap_or_else(|failure| ended(&failure))
}

/// Says why a command failed, and returns its exit status.
fn ended(failure: &Failure) -> ExitCode {
    if let Failure::Usage(problem) | Failure::Run(problem) = failure {
        console::note(&format!("error: {}", without_number(problem)));
    }
    if let Failure::InterruptedEarly(what) = failure {
        console::note(what);
    }
    failure.exit_code()
}
