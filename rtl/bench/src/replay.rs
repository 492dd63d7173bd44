//! Replays recorded pins to the checker, on Icarus.

use crate::{limits, rtl, sources, tools};
use aster_units::Duration;
use aster_wire::onfi::timing::{InterfaceTiming, Timing};
use std::fmt::Write;
use std::sync::OnceLock;

/// The pins of one phase. Signals with `_n` are low when active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PinState {
    /// CE#.
    pub ce_n: bool,
    /// CLE.
    pub cle: bool,
    /// ALE.
    pub ale: bool,
    /// WE#, or CLK.
    pub we_n: bool,
    /// RE#, or W/R#.
    pub re_n: bool,
    /// DQS, when the controller drives it.
    pub dqs: Option<bool>,
    /// DQ, when the controller drives it.
    pub dq: Option<u8>,
    /// R/B#.
    pub ready: bool,
}

impl PinState {
    /// Nothing selected, nothing driven.
    pub const IDLE: PinState = PinState {
        ce_n: true,
        cle: false,
        ale: false,
        we_n: true,
        re_n: true,
        dqs: None,
        dq: None,
        ready: true,
    };
}

/// The replay, compiled by Icarus once.
fn replay() -> &'static [u8] {
    static REPLAY: OnceLock<Vec<u8>> = OnceLock::new();
    REPLAY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = ["-g2012", "-o", "replay", "-s", "onfi_replay", "-Ponfi_replay.PHASES=1"];
        let mut arguments: Vec<String> = options.map(String::from).to_vec();
        arguments.extend(sources::includes(&rtl()));
        arguments.extend(sources::of_block(&rtl(), "checker").iter().map(|file| file.display().to_string()));
        arguments.push(rtl().join("checker/tb/onfi_replay.sv").display().to_string());
        tools::run(folder.path(), "iverilog", &arguments).expect("Icarus on the replay");
        std::fs::read(folder.path().join("replay")).expect("what Icarus wrote")
    })
}

/// Replays `pins`, one state per `phase`, to the checker with the limits of `timing`. Returns the names
/// of the violated parameters, each once, in the order of their first violation.
///
/// The checker gets one phase per cycle, so that every pin may change in each phase.
///
/// # Panics
/// When Icarus is missing or fails.
pub fn violations(pins: &[PinState], timing: &Timing, phase: Duration) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mode = match timing.interface {
        InterfaceTiming::Sdr(_) => 0,
        InterfaceTiming::NvDdr(_) => 1,
        InterfaceTiming::NvDdr2(_) => 2,
    };
    let mut vector = format!("{mode} ");
    for limit in limits::phases(timing, phase).iter().rev() {
        write!(vector, "{:04x}", u16::try_from(*limit).expect("limits fit 16 bits")).expect("a string");
    }
    let mut lines = String::new();
    for p in pins {
        let bit = u8::from;
        writeln!(
            lines,
            "{} {} {} {} {} {} {} {:02x} {} {}",
            bit(p.ce_n),
            bit(p.cle),
            bit(p.ale),
            bit(p.we_n),
            bit(p.re_n),
            bit(p.dqs.unwrap_or(true)),
            bit(p.dqs.is_some()),
            p.dq.unwrap_or(0),
            bit(p.dq.is_some()),
            bit(p.ready)
        )
        .expect("a string");
    }
    std::fs::write(folder.path().join("limits"), vector).expect("the limits");
    std::fs::write(folder.path().join("pins"), lines).expect("the pins");
    std::fs::write(folder.path().join("replay"), replay()).expect("the replay");
    let output = tools::run(folder.path(), "vvp", &["-n", "replay", "+limits=limits", "+pins=pins"]);
    let text = output.expect("the replay").text;
    assert!(text.contains(&format!("CYCLES {}", pins.len())), "the replay lost cycles:\n{text}");
    let names = limits::parameters();
    let mut found = Vec::new();
    for bits in text.lines().filter_map(|line| line.strip_prefix("VIOLATION ")?.split_once(' ')) {
        for (index, bit) in bits.1.chars().rev().enumerate() {
            let name = limits::onfi_name(names.get(index).copied().unwrap_or_default());
            if bit == '1' && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}
