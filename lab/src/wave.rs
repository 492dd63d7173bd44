//! Waveforms as VCD (IEEE 1364 §18), which GTKWave and every other viewer opens, and as pictures.
//!
//! The two decoded signals are strings, an extension of the format that GTKWave and Surfer know; blanks,
//! which the format has no room for, become underscores.

mod picture;
mod table;

pub use picture::write_svg;
pub use table::write_csv;

use aster_device::wave::{Level, Signal, Waveform};
use aster_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::io::{self, Write};
use vcd::{IdCode, SimulationCommand, TimescaleUnit, Value, VarType};

/// Idle time that is shown before the first change.
const LEAD_IN: Duration = Duration::from_nanos(100);

/// A pin's or decoded signal's name in the file: datasheet names, `_n` for active low, the way as a number.
fn name_of(signal: Signal) -> String {
    match signal {
        Signal::ChipEnable(way) => format!("CE{way}_n"),
        Signal::CommandLatchEnable => "CLE".into(),
        Signal::AddressLatchEnable => "ALE".into(),
        Signal::WriteEnable => "WE_n".into(),
        Signal::ReadEnable => "RE_n".into(),
        Signal::Data => "DQ".into(),
        Signal::Strobe => "DQS".into(),
        Signal::Ready(way) => format!("RB{way}_n"),
        Signal::Transaction => "transaction".into(),
        Signal::Cycle => "cycle".into(),
    }
}

/// Writes `wave` as a VCD file with a timescale of 1 ps. Give it something buffered.
///
/// # Errors
/// Those of `out`.
pub fn write_vcd(out: impl Write, wave: &Waveform) -> io::Result<()> {
    let mut vcd = vcd::Writer::new(out);
    vcd.version("Aster")?;
    if wave.truncated() {
        vcd.comment("more happened than a capture keeps: the last transactions are missing")?;
    }
    vcd.timescale(1, TimescaleUnit::PS)?;
    vcd.add_module(&format!("channel{}", wave.channel()))?;
    let mut variables = BTreeMap::new();
    for (signal, level) in wave.signals() {
        let (kind, width) = match level {
            Level::Low | Level::High => (VarType::Wire, 1),
            Level::Byte(_) => (VarType::Wire, 8),
            Level::Text(_) => (VarType::String, 1),
        };
        let index = (width > 1).then_some(vcd::ReferenceIndex::Range(width as i32 - 1, 0));
        variables.insert(signal, (vcd.add_var(kind, width, &name_of(signal), index)?, level));
    }
    vcd.upscope()?;
    vcd.enddefinitions()?;

    let start = wave.changes().first().map_or(Instant::ZERO, |change| change.at - LEAD_IN);
    vcd.timestamp(start.as_picos())?;
    vcd.begin(SimulationCommand::Dumpvars)?;
    for &(variable, level) in variables.values() {
        write_level(&mut vcd, variable, level)?;
    }
    vcd.end()?;
    for together in wave.changes().chunk_by(|a, b| a.at == b.at) {
        let mut stamped = false;
        for (i, change) in together.iter().enumerate() {
            // Of several levels at one instant only the last counts.
            if together[i + 1..].iter().any(|later| later.signal == change.signal) {
                continue;
            }
            let Some((variable, current)) = variables.get_mut(&change.signal) else { continue };
            // Two equal cycles in a row are two changes; a pin that stays isn't a change.
            if *current == change.level && !matches!(change.level, Level::Text(_)) {
                continue;
            }
            if !std::mem::replace(&mut stamped, true) {
                vcd.timestamp(change.at.as_picos())?;
            }
            *current = change.level;
            write_level(&mut vcd, *variable, change.level)?;
        }
    }
    vcd.flush()
}

fn write_level(vcd: &mut vcd::Writer<impl Write>, variable: IdCode, level: Level) -> io::Result<()> {
    match level {
        Level::Low => vcd.change_scalar(variable, Value::V0),
        Level::High => vcd.change_scalar(variable, Value::V1),
        Level::Byte(None) => vcd.change_vector(variable, [Value::Z; 8]),
        Level::Byte(Some(byte)) => {
            vcd.change_vector(variable, (0..8).rev().map(|bit| Value::from(byte >> bit & 1 == 1)))
        }
        Level::Text(label) => {
            let text: String =
                label.to_string().chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
            vcd.change_string(variable, &text)
        }
    }
}

#[cfg(test)]
mod tests;
