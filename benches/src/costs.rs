//! `costs`: what flash software costs, in instructions that callgrind counts on this machine. Prints a
//! cost file.
//!
//! Each number is a difference: a step is carried out a number of times and then twice as often, and the
//! additional instructions are divided by the additional steps. So neither start-up nor the code around
//! the loop counts, and the same binary gives the same numbers on every run. The hardware answers at once;
//! its instructions are left out.

use aster_exec::{Core, Exec, Handler};
use aster_flash::{Controller, FlashConfig, FlashCosts, Lun, LunShape, PollPolicy};
use aster_ports::channel::{ChannelPort, FrameReport, TxnResult};
use aster_ports::flash::{FlashOp, FlashRequest, FlashStatus, Target};
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::package::{DataMode, Interface};
use aster_txn::Descriptor;
use aster_units::*;
use std::cell::Cell;
use std::process::{Command, ExitCode};
use std::rc::Rc;

/// Times that a step is carried out in the first run of a pair.
const STEPS: u64 = 2_000;
/// RDY and ARDY (ONFI 5.1 §5.13).
const READY: u64 = 0xe0;
const BUSY: u64 = 0x80;

/// What is measured.
const MEASURED: [&str; 4] = ["enqueue", "status", "two-statuses", "busy-poll"];

/// A channel that carries out each transaction at once. It reports busy a fixed number of times after each
/// erase.
struct Instantly {
    port: Rc<ChannelPort>,
    busy_polls: u64,
    left: Cell<u64>,
}

impl Handler for Instantly {
    fn fire(&self, _token: u64) {
        answer(self);
    }
}

/// The hardware's part, in a function of its own so that callgrind can leave it out by name.
#[inline(never)]
fn answer(channel: &Instantly) {
    let port = &channel.port;
    port.listen(true);
    while let Some(slot) = port.next_pending(port.exec().now()) {
        let mailbox = match port.in_flight(slot).name() {
            "read status" if channel.left.get() > 0 => {
                channel.left.set(channel.left.get() - 1);
                BUSY
            }
            "read status" => READY,
            _ => {
                channel.left.set(channel.busy_polls);
                0
            }
        };
        let finished = port.exec().now();
        port.complete(
            slot,
            Ok(TxnResult { over: finished, finished, mailbox, frame: FrameReport::default() }),
            finished,
        );
    }
}

fn config() -> FlashConfig {
    let geometry = Geometry {
        channels: 1,
        ways: 8,
        luns: 1,
        planes: 1,
        blocks_per_lun: 64,
        pages_per_block: 256,
        page_bytes: 16_384,
        spare_bytes: 1_664,
    };
    let us = Duration::from_micros;
    FlashConfig {
        layout: PageLayout::new(4, geometry.raw_page_bytes(), 256, 21, 16, Placement::Spare)
            .expect("it fits"),
        shape: LunShape { geometry, cells: CellMode::Slc },
        t_r: [us(100); 3],
        t_prog: [us(500); 3],
        t_bers: us(5_000),
        t_rst: us(5),
        variant: Default::default(),
        interface: Interface { mode: DataMode::NvDdr2, timing_mode: 4 },
        scramble: true,
        // As Algorithm 2: from the command on, without a pause.
        poll: PollPolicy {
            interval: Duration::from_nanos(1),
            early: us(5_000),
            patience: 20,
            for_good: false,
        },
        costs: FlashCosts::default(),
    }
}

/// Carries `step` out `times` times.
fn carry_out(step: &str, times: u64) {
    let exec = Exec::new();
    let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).expect("not zero"));
    let port = ChannelPort::new(&exec, ChannelId(0), 8, 8);
    let channel = Instantly {
        port: Rc::clone(&port),
        busy_polls: if step == "busy-poll" { times } else { 0 },
        left: Cell::new(0),
    };
    port.attach(exec.register(Rc::new(channel)));
    port.listen(true);
    let lun = Lun::new(&core, &port, &Rc::new(config()), 0, 0);
    if step == "enqueue" {
        for _ in 0..times {
            let mut txn = lun.txn("read status");
            txn.cmd(aster_wire::onfi::command::READ_STATUS);
            txn.describe(Descriptor::mailbox_out()).data_read(1);
            // No task waits for it, so there is no task switch.
            drop(lun.issue(txn));
            exec.advance_to(exec.now());
        }
        return;
    }
    let target = Target { row: RowAddr(0), sectors: SectorRange::whole(4), buffer: BufferId(0) };
    let (phase, targets, requests): (_, &[Target], _) = match step {
        "status" => (FlashOp::Status, &[target], times),
        "two-statuses" => (FlashOp::Status, &[target; 2], times),
        "busy-poll" => (FlashOp::Erase, &[target], 1),
        _ => panic!("no step is called {step}: those are {}", MEASURED.join(", ")),
    };
    let request = FlashRequest::vector(phase, LunIndex(0), targets).expect("one target or two");
    let controller = Controller::new(lun);
    let done = Rc::new(Cell::new(0));
    let counted = Rc::clone(&done);
    core.spawn(async move {
        for _ in 0..requests {
            let outcomes = controller.execute(&request, |error| panic!("{error}")).await;
            assert_eq!(outcomes[0].status, FlashStatus::Done);
            counted.set(counted.get() + 1);
        }
    });
    while let Some(next) = exec.next_deadline() {
        exec.advance_to(next);
    }
    assert_eq!(done.get(), requests);
}

/// Instructions that this program executes for `step`, `times` times, the hardware's left out.
fn instructions(step: &str, times: u64) -> Result<u64, String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        // The order matters: the first option switches collecting off.
        .args(["--toggle-collect=*costs*answer*", "--collect-atstart=yes"])
        .arg(this)
        .args([step, &times.to_string()])
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    let said = String::from_utf8_lossy(&run.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    match collected {
        Some(collected) if run.status.success() => Ok(collected),
        _ => Err(format!("valgrind failed: {said}")),
    }
}

/// Instructions per step, rounded to the nearest.
fn each(step: &str) -> Result<u64, String> {
    let (once, twice) = (instructions(step, STEPS)?, instructions(step, 2 * STEPS)?);
    Ok((twice - once + STEPS / 2) / STEPS)
}

fn measure() -> Result<(), String> {
    let enqueue = each("enqueue")?;
    let status = each("status")?;
    // The second target's status, without a request of its own.
    let transaction = each("two-statuses")? - status;
    let busy_poll = each("busy-poll")?;
    println!(
        "# Instructions of flash operations as coroutines, counted by callgrind on an x86-64 host: no \
         board's cycles."
    );
    println!("# Repeat it: cargo run --release --package aster-benches --bin costs");
    println!("source = \"measured\"");
    println!("cycles_per_instruction = 1.0    # stated, not measured");
    println!();
    println!("[instructions]");
    println!(
        "request = {}    # taking a request, starting its operation, answering it",
        status - transaction
    );
    println!("enqueue = {enqueue}    # building a transaction and enqueueing it");
    println!("switch = {}    # from a task that waits to one that goes on", transaction - enqueue);
    println!(
        "poll = {}    # looking at a status that says busy, and waiting to ask again",
        busy_poll - transaction
    );
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if let (Some(step), Some(times)) = (arguments.next(), arguments.next().and_then(|n| n.parse().ok())) {
        carry_out(&step, times);
        return ExitCode::SUCCESS;
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("costs: {problem}");
            ExitCode::FAILURE
        }
    }
}
