//! `firmware-costs [softssd]`: what the steps of a firmware cost, in instructions that callgrind counts on
//! this machine while a drive serves reads and writes. Prints the counted part of costs/cosmos.toml, or that
//! of costs/softssd.toml.
//!
//! Each count is a difference: a drive serves a number of requests and then twice as many. The additional
//! instructions in a step's functions are divided by how many more times the second run took that step.
//! Instructions are attributed by the source line that they were compiled from, so inlining doesn't move
//! them. Instructions of the standard library count for the function into which it was inlined. The
//! executor, ports and hardware stand for what the board has in hardware, and are left out.

mod callgrind;
mod cosmos;
mod decoder;
mod serve;
mod softssd;

use callgrind::{Places, Run, counted};
use std::process::ExitCode;

/// Requests of the first run of a pair, in each direction. Reads come after writes.
const REQUESTS: u64 = 3_000;
/// Frames that a decoder corrects in the first run of a pair.
const FRAMES: u64 = 100;
/// Wrong bits of a frame in two pairs of runs of a decoder.
const FEW: u64 = 2;
const MANY: u64 = 12;

/// Runs `arguments` so often, and then twice as often.
fn pair(arguments: &[&str], often: u64, places: Places) -> Result<(Run, Run), String> {
    let of = |often: u64| {
        let arguments = arguments.iter().map(|&argument| argument.to_owned());
        counted(&arguments.chain([often.to_string()]).collect::<Vec<_>>(), places)
    };
    Ok((of(often)?, of(2 * often)?))
}

/// Instructions of each step that a drive took, per time.
fn per_step(drive: &str, places: Places) -> Result<Vec<(String, u64)>, String> {
    let (once, twice) = pair(&["serve", drive], REQUESTS, places)?;
    let mut all = Vec::new();
    for (step, count) in &twice.taken {
        let steps = count - once.taken.get(step).copied().unwrap_or(0);
        let instructions = twice.of(step).saturating_sub(once.of(step));
        if instructions == 0 || steps == 0 {
            return Err(format!(
                "no instruction of {step} was seen: build with line tables, and run in the project's folder"
            ));
        }
        all.push((step.clone(), (instructions + steps / 2) / steps));
    }
    Ok(all)
}

/// Instructions of syndromes and key equation of a frame, by its wrong bits.
fn of_frame(errors: u64) -> Result<f64, String> {
    let (once, twice) = pair(&["decode", &errors.to_string()], FRAMES, decoder::PLACES)?;
    let instructions = twice.of(decoder::EQUATION).saturating_sub(once.of(decoder::EQUATION));
    Ok(instructions as f64 / FRAMES as f64)
}

fn measure_softssd() -> Result<Vec<(String, u64)>, String> {
    let mut all = per_step("softssd", softssd::PLACES)?;
    let (few, many) = (of_frame(FEW)?, of_frame(MANY)?);
    // What a frame takes without what each of its wrong bits adds.
    let decoder = few - (many - few) / (MANY - FEW) as f64 * FEW as f64;
    let frame = all.iter_mut().find(|(step, _)| step == "ecc_frame");
    frame.ok_or("no frame was corrected")?.1 += decoder.round() as u64;
    Ok(all)
}

/// Carries out what this program asks of itself under callgrind. False if that isn't asked.
fn carried_out(arguments: &[&str]) -> bool {
    let number = |text: &str| text.parse().unwrap_or(0);
    match arguments {
        ["serve", "cosmos", requests] => cosmos::run(number(requests)),
        ["serve", "softssd", requests] => softssd::run(number(requests)),
        ["decode", errors, frames] => decoder::run(number(errors), number(frames)),
        _ => return false,
    }
    true
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if carried_out(&arguments) {
        return ExitCode::SUCCESS;
    }
    let measured = match arguments.as_slice() {
        [] => per_step("cosmos", cosmos::PLACES),
        ["softssd"] => measure_softssd(),
        _ => Err("usage: firmware-costs [softssd]".to_owned()),
    };
    match measured {
        Ok(steps) => {
            for (step, instructions) in steps {
                println!("[[counted]]\nkey = \"costs.{step}\"\ninstructions = {instructions}");
            }
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("firmware-costs: {problem}");
            ExitCode::FAILURE
        }
    }
}
