//! `programming-model`: the same read path three times, as tasks on the executor's stack, as tasks on stacks
//! of their own and as a pipeline of stages (S13, S36). Prints what each of them costs: instructions per
//! wait, memory per request, lines of code. docs/softssd.md has the table.
//!
//! Callgrind counts the instructions of a run and of one with twice the requests. The difference is divided
//! by the waits that the second one had more. Ports and executor are the same for all three and are in it.

mod pipeline;
mod ports;
mod tasks;

use crate::pipeline::{Pipeline, Record};
use crate::ports::{Call, Ports, ROWS, Slots};
use crate::tasks::{Waits, Worker};
use aster_device::{StackStats, Stacks};
use aster_exec::{Carrier, Core, Exec};
use aster_units::{Duration, Frequency, Instant};
use std::process::{Command, ExitCode};
use std::rc::Rc;

/// Requests in work at once.
const SLOTS: u32 = 32;
/// Requests of the first run of a pair.
const REQUESTS: u32 = 2_000;
/// As the profiles' default.
const STACK_BYTES: u32 = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Tasks,
    Stackful,
    Pipeline,
}

const FORMS: [(Form, &str); 3] =
    [(Form::Tasks, "async"), (Form::Stackful, "stackful"), (Form::Pipeline, "pipeline")];

struct Served {
    calls: Vec<(Instant, u32, Call)>,
    waits: u64,
    /// Bytes of a task's future.
    future: usize,
    stacks: Option<StackStats>,
}

fn serve(form: Form, requests: u32) -> Served {
    let exec = Exec::new();
    let ports = Ports::new(&exec, requests, SLOTS);
    let (mut future, mut stacks) = (0, None);
    if form == Form::Pipeline {
        let pipeline = Pipeline::new(&ports, SLOTS, ROWS);
        ports.tell(Rc::clone(&pipeline) as Rc<dyn Slots>);
        pipeline.start();
    } else {
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).expect("a clock that runs"));
        if form == Form::Stackful {
            let made = Rc::new(Stacks::new(STACK_BYTES));
            core.carry_by(Rc::clone(&made) as Rc<dyn Carrier>);
            stacks = Some(made);
        }
        let waits = Waits::new(&exec, SLOTS, ROWS);
        ports.tell(Rc::clone(&waits) as Rc<dyn Slots>);
        for slot in 0..SLOTS {
            let worker = Worker { ports: Rc::clone(&ports), waits: Rc::clone(&waits), slot };
            let task = worker.run();
            future = size_of_val(&task);
            core.spawn(task);
        }
    }
    exec.advance_to(Instant::ZERO + Duration::from_secs(10));
    let (calls, waits) = (ports.calls(), ports.waits());
    exec.shut_down();
    Served { calls, waits, future, stacks: stacks.map(|stacks| stacks.stats()) }
}

/// Instructions that this program executes to serve so many requests, and their waits.
fn instructions(form: &str, requests: u32) -> Result<(u64, u64), String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([form, &requests.to_string()])
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    let counted = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    let waits = String::from_utf8_lossy(&run.stdout).trim().parse();
    match (run.status.success(), counted, waits) {
        (true, Some(counted), Ok(waits)) => Ok((counted, waits)),
        _ => Err(format!("valgrind failed:\n{said}")),
    }
}

/// Lines of a file that aren't blank and aren't comments alone.
fn lines_of_code(text: &str) -> usize {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

fn table() -> Result<(), String> {
    println!("| form | instructions per wait | per request | memory per request | lines of code |");
    println!("|---|---|---|---|---|");
    let (of_tasks, of_stages) =
        (lines_of_code(include_str!("tasks.rs")), lines_of_code(include_str!("pipeline.rs")));
    let reference = serve(Form::Tasks, REQUESTS).calls;
    for (form, name) in FORMS {
        let ((few, few_waits), (many, many_waits)) =
            (instructions(name, REQUESTS)?, instructions(name, 2 * REQUESTS)?);
        let more = (many - few) as f64;
        let Served { calls, future, stacks, .. } = serve(form, REQUESTS);
        if calls != reference {
            return Err(format!("{name} calls the ports in another order"));
        }
        let (memory, lines) = match form {
            Form::Tasks => (format!("{future} bytes of future"), of_tasks),
            Form::Stackful => {
                let deepest = stacks.map_or(0, |stacks| stacks.deepest_bytes);
                (format!("the same, and {deepest} bytes of stack"), of_tasks)
            }
            Form::Pipeline => (format!("{} bytes of record", size_of::<Record>()), of_stages),
        };
        let (per_wait, per_request) = (more / (many_waits - few_waits) as f64, more / f64::from(REQUESTS));
        println!("| {name} | {per_wait:.0} | {per_request:.0} | {memory} | {lines} |");
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.as_slice() {
        [] => table(),
        [form, requests] => match (FORMS.iter().find(|(_, name)| name == form), requests.parse()) {
            (Some((form, _)), Ok(requests)) => {
                println!("{}", serve(*form, requests).waits);
                Ok(())
            }
            _ => Err("a form and a number of requests".to_owned()),
        },
        _ => Err("no argument, or a form and a number of requests".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("programming-model: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S36: what tasks do can be expressed as stages, and the other way round.
    #[test]
    fn the_three_forms_call_the_ports_in_the_same_order_at_the_same_times() {
        let [tasks, stackful, pipeline] = FORMS.map(|(form, _)| serve(form, 1_000));
        for (name, other) in [("stackful", &stackful), ("pipeline", &pipeline)] {
            let differs = tasks.calls.iter().zip(&other.calls).position(|(a, b)| a != b);
            if let Some(at) = differs {
                panic!("{name}: call {at} is {:?} and {:?}", tasks.calls[at], other.calls[at]);
            }
            assert_eq!(tasks.calls.len(), other.calls.len(), "{name}");
        }
        // Every way through the path was taken.
        let count = |call: fn(&Call) -> bool| tasks.calls.iter().filter(|(_, _, c)| call(c)).count();
        let (pages, rows) =
            (count(|c| matches!(c, Call::ReadPage(_))), count(|c| matches!(c, Call::ReadRow(_))));
        assert!(pages > 1_200 && (200..900).contains(&rows), "{pages} pages and {rows} rows read");
        assert!(count(|c| *c == Call::Complete(false)) > 5, "some pages can't be read");
        assert_eq!(count(|c| matches!(c, Call::Complete(_))), 1_000);
    }

    #[test]
    fn a_row_that_another_slot_reads_is_waited_for_and_not_read_again() {
        let calls = serve(Form::Tasks, 1_000).calls;
        let mut reading = std::collections::BTreeMap::new();
        for (at, slot, call) in calls {
            match call {
                Call::ReadRow(row) => {
                    let before = reading.insert(slot, row);
                    assert_eq!(before, None);
                    let twice = reading.values().filter(|other| **other == row).count();
                    assert_eq!(twice, 1, "row {row} is read twice at {at:?}");
                }
                _ => drop(reading.remove(&slot)),
            }
        }
    }

    /// What the page says of lines and records is so; instructions need an optimised build and Valgrind.
    #[test]
    fn the_page_has_the_lines_of_code_and_the_records_bytes() {
        let page = include_str!("../../../docs/softssd.md");
        let rows: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("| form |")).take(5).collect();
        let [_, _, tasks, stackful, pipeline] = rows[..] else { panic!("{rows:?}") };
        let of_tasks = format!(" | {} |", lines_of_code(include_str!("tasks.rs")));
        assert!(tasks.ends_with(&of_tasks) && stackful.ends_with(&of_tasks), "{of_tasks}");
        let of_stages = lines_of_code(include_str!("pipeline.rs"));
        let of_stages = format!(" | {} bytes of record | {of_stages} |", size_of::<Record>());
        assert!(pipeline.ends_with(&of_stages), "{of_stages}");
    }

    #[test]
    fn code_is_what_is_neither_blank_nor_a_comment() {
        assert_eq!(lines_of_code("//! x\n\nfn a() {\n    // y\n    b();\n}\n"), 3);
    }
}
