//! `room-costs [--write]`: instructions of a drive's work by room, against the budgets in costs/rooms.toml.
//! Fails if a room, or all of them together, needs over 5 % more than its budget. With `--write`, what was
//! counted becomes the budget.
//!
//! Callgrind counts a run and one with twice the requests; the difference has no start, no fill and no
//! preconditioning. The same build gives the same counts each time. They are of x86-64: elsewhere nothing
//! is compared.

mod budget;
mod rooms;
mod work;

use budget::{Budget, Budgets};
use rooms::by_room;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use work::{ALL, Work};

/// The file of budgets, from the project's folder.
const FILE: &str = "costs/rooms.toml";
/// What a run prints before the number that its instructions are divided by.
const MARK: &str = "divided by ";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The instructions of a run by room, and what they are divided by.
fn counted(work: &Work, requests: u64) -> Result<(BTreeMap<String, u64>, u64), String> {
    let counted = aster_benches::callgrind::run(&[work.name.to_owned(), requests.to_string()])?;
    let root = root().canonicalize().map_err(|e| e.to_string())?;
    let number = counted.said.lines().find_map(|line| line.strip_prefix(MARK)?.parse().ok());
    let number = number.ok_or_else(|| format!("{}: {}", work.name, counted.said))?;
    Ok((by_room(&counted.profile, &root.to_string_lossy()), number))
}

/// Instructions of each room for one of what the work is divided by.
fn measured(work: &Work) -> Result<Budget, String> {
    let (once, by_once) = counted(work, work.requests)?;
    let (twice, by_twice) = counted(work, 2 * work.requests)?;
    let more = by_twice.checked_sub(by_once).filter(|more| *more > 0).ok_or("no more work")?;
    let of = |counts: &BTreeMap<String, u64>, room: &str| counts.get(room).copied().unwrap_or(0);
    let rooms = twice.keys().map(|room| {
        let instructions = of(&twice, room).saturating_sub(of(&once, room));
        (room.clone(), (instructions + more / 2) / more)
    });
    Ok(Budget::of(work.what, rooms.collect()))
}

fn measure(is_write: bool) -> Result<(), String> {
    let path = root().join(FILE);
    let budgets = match is_write {
        true => Budgets::default(),
        false => Budgets::read(&path)?,
    };
    let (mut all, mut over) = (Budgets::default(), Vec::new());
    for work in &ALL {
        let found = measured(work)?;
        println!("{}: {} instructions", work.what, found.total);
        let budget = budgets.of(work.name);
        for (room, instructions) in found.by_size() {
            let allowed = budget.and_then(|budget| budget.rooms.get(room));
            let change = allowed.map_or_else(String::new, |allowed| {
                format!("{:>+8.1} %", 100.0 * (*instructions as f64 / (*allowed).max(1) as f64 - 1.0))
            });
            println!("  {room:<20}{instructions:>8}{change}");
        }
        match budget {
            Some(budget) => {
                over.extend(budget.broken_by(&found).map(|said| format!("{}: {said}", work.name)))
            }
            None if is_write => {}
            None => over.push(format!("{}: has no budget in {FILE}: write one by --write", work.name)),
        }
        all.put(work.name, found);
    }
    if is_write {
        return all.write(&path);
    }
    if over.is_empty() { Ok(()) } else { Err(over.join("\n")) }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        [] if cfg!(not(target_arch = "x86_64")) => {
            println!("The budgets are of x86-64: nothing is compared here.");
            Ok(())
        }
        [] => measure(false),
        ["--write"] => measure(true),
        [name, requests] if ALL.iter().any(|work| work.name == *name) => {
            let work = ALL.iter().find(|work| work.name == *name).expect("it is there");
            match requests.parse() {
                Ok(requests) => {
                    println!("{MARK}{}", work.run(requests));
                    Ok(())
                }
                Err(_) => Err(format!("'{requests}' is no number of requests")),
            }
        }
        _ => Err("usage: room-costs [--write]".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("room-costs: {problem}");
            ExitCode::FAILURE
        }
    }
}
