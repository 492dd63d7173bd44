//! A run as a timeline: a trace in the JSON format of Chrome's trace events, which <https://ui.perfetto.dev>
//! opens.
//!
//! Every queue, firmware task, core, LUN, array, channel and direction of the link is a track; arrows lead
//! from a command to what was done for it.

use crate::explain::described;
use aster_events::Firmware;
use aster_observe::{Activity, Piece, Stage};
use aster_units::{Geometry, Instant};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The groups of tracks, from the host to the page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Commands = 1,
    Slices,
    Cores,
    Waiting,
    Station,
    Flash,
    Channels,
    Arrays,
    Link,
}

impl Group {
    const fn name(self) -> &'static str {
        match self {
            Group::Commands => "NVMe commands",
            Group::Slices => "FTL: slices by firmware task",
            Group::Cores => "firmware cores: functions",
            Group::Waiting => "flash operations that wait for their LUN",
            Group::Station => "big loop: dependency checker and reservation station",
            Group::Flash => "flash operations by LUN",
            Group::Channels => "channels: transactions",
            Group::Arrays => "arrays by LUN",
            Group::Link => "PCIe link",
        }
    }
}

/// Tracks of a queue: commands of a queue overlap, but bars on one track must not.
const LANES: u32 = 1 << 16;

/// Writes pieces as trace events, until the first error.
pub struct PerfettoTrace<W: Write> {
    into: W,
    geometry: Geometry,
    firmware: Firmware,
    started: bool,
    /// The zero of its times.
    work_began: Instant,
    named: BTreeSet<(Group, u32)>,
    /// When the last piece on each lane ended: for each queue's commands, and for waiting operations.
    lanes: BTreeMap<(Group, u16), Vec<Instant>>,
    /// When the last operation of each LUN, and the last transfer of each direction, ended.
    flash_until: Vec<Instant>,
    link_until: [Instant; 2],
    error: Option<io::Error>,
}

impl<W: Write> PerfettoTrace<W> {
    /// A trace of a drive of this shape and firmware.
    pub fn new(into: W, geometry: Geometry, firmware: Firmware) -> Self {
        PerfettoTrace {
            into,
            geometry,
            firmware,
            started: false,
            work_began: Instant::ZERO,
            named: BTreeSet::new(),
            lanes: BTreeMap::new(),
            flash_until: vec![Instant::ZERO; geometry.total_luns() as usize],
            link_until: [Instant::ZERO; 2],
            error: None,
        }
    }

    /// The work begins at `now`, from which times count. What began before is drawn from then on.
    pub fn begin(&mut self, now: Instant) {
        self.work_began = now;
    }

    /// Microseconds, the unit of trace events, after the work's beginning.
    fn micros(&self, at: Instant) -> f64 {
        let signed = i128::from(at.as_picos()) - i128::from(self.work_began.as_picos());
        signed as f64 / 1e6
    }

    /// Draws a piece that has ended.
    pub fn hear(&mut self, piece: &Piece) {
        if self.error.is_none() {
            self.error = self.draw(piece).err();
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The first error since its beginning.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.into.write_all(if self.started { b"\n]}\n" } else { b"{\"traceEvents\":[]}\n" })?;
        self.into.flush()?;
        Ok(self.into)
    }

    fn write(&mut self, event: &Value) -> io::Result<()> {
        let before: &[u8] =
            if self.started { b",\n" } else { b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" };
        self.started = true;
        self.into.write_all(before)?;
        serde_json::to_writer(&mut self.into, event).map_err(io::Error::from)
    }

    fn name(&mut self, group: Group, track: u32, name: &str) -> io::Result<()> {
        if !self.named.insert((group, track)) {
            return Ok(());
        }
        let pid = group as u32;
        if self.named.range((group, 0)..=(group, u32::MAX)).count() == 1 {
            self.write(
                &json!({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": group.name()}}),
            )?;
            self.write(
                &json!({"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}),
            )?;
        }
        self.write(
            &json!({"ph": "M", "pid": pid, "tid": track, "name": "thread_name", "args": {"name": name}}),
        )?;
        self.write(&json!({
            "ph": "M", "pid": pid, "tid": track, "name": "thread_sort_index",
            "args": {"sort_index": track},
        }))
    }

    /// A bar on a track, and an arrow to it from what the command did before.
    fn bar(
        &mut self,
        (group, track): (Group, u32),
        (from, to): (Instant, Instant),
        piece: &Piece,
    ) -> io::Result<()> {
        let (_, name) = described(&piece.activity, &self.geometry);
        let (pid, ts) = (group as u32, self.micros(from));
        let mut args = json!({});
        if let Some(command) = piece.command {
            args["command"] = command.into();
        }
        if from != piece.from {
            args["began_us"] = self.micros(piece.from).into();
        }
        match piece.activity {
            Activity::Command(span) => {
                args["host_id"] = span.host_id.into();
                args["offset"] = span.offset.into();
                args["length"] = span.length.into();
                args["status"] = span.status.into();
            }
            // LUN and row, by which work for one page is found on every track.
            Activity::Queued { lun, row, .. }
            | Activity::Flash { lun, row, .. }
            | Activity::Corrected { lun, row, .. } => {
                args["lun"] = lun.0.into();
                args["row"] = row.into();
            }
            Activity::Transaction { lun, .. } | Activity::Array { lun, .. } => args["lun"] = lun.0.into(),
            _ => {}
        }
        self.write(&json!({
            "ph": "X", "pid": pid, "tid": track, "ts": ts, "dur": self.micros(to) - ts, "name": name,
            "args": args,
        }))?;
        let Some(id) = piece.command else { return Ok(()) };
        // A command's bar is written when it has ended; viewers order events by time.
        let ph = if group == Group::Commands { "s" } else { "t" };
        self.write(&json!({
            "ph": ph, "pid": pid, "tid": track, "ts": ts, "bp": "e", "id": id, "cat": "command",
            "name": "command",
        }))
    }

    fn draw(&mut self, piece: &Piece) -> io::Result<()> {
        let (mut from, to) = (piece.from.max(self.work_began), piece.to.max(self.work_began));
        let place = match piece.activity {
            Activity::Command(span) => {
                let lane = self.lane((Group::Commands, span.queue), from, to);
                let place = (Group::Commands, u32::from(span.queue) * LANES + lane);
                self.name(place.0, place.1, &format!("queue {} lane {lane}", span.queue))?;
                self.bar(place, (from, to), piece)?;
                return self.stages(place, piece);
            }
            Activity::Slice { .. }
            | Activity::Transfer { .. }
            | Activity::Waiting { .. }
            | Activity::MapRead { .. } => (Group::Slices, piece.task.unwrap_or_default()),
            Activity::Firmware { core, .. } => (Group::Cores, u32::from(core)),
            Activity::Queued { .. } => (Group::Waiting, self.lane((Group::Waiting, 0), from, to)),
            Activity::Dependent { .. } | Activity::Reserved { .. } => {
                (Group::Station, self.lane((Group::Station, 0), from, to))
            }
            Activity::Corrected { .. } => (Group::Waiting, self.lane((Group::Waiting, 0), from, to)),
            Activity::Flash { lun, .. } => {
                // A read that was begun during another is drawn from the other's end.
                let until = &mut self.flash_until[lun.index()];
                from = from.max(*until);
                *until = to.max(*until);
                (Group::Flash, lun.0)
            }
            Activity::Transaction { channel, .. } => (Group::Channels, u32::from(channel)),
            Activity::Array { lun, .. } => (Group::Arrays, lun.0),
            // The wait isn't drawn: the link's track shows the transfers before it.
            Activity::LinkQueued { .. } => return Ok(()),
            Activity::Link { from_host, .. } => {
                // The link carries one transfer after the other.
                let until = &mut self.link_until[usize::from(from_host)];
                from = from.max(*until);
                *until = to.max(*until);
                (Group::Link, u32::from(from_host))
            }
        };
        let at = |lun: u32| {
            let at = self.geometry.lun_addr(aster_units::LunIndex(lun));
            format!("channel {} way {} LUN {}", at.channel, at.way, at.lun)
        };
        let name = match place.0 {
            Group::Flash | Group::Arrays => at(place.1),
            Group::Channels => format!("channel {}", place.1),
            Group::Cores => self.firmware.core_name(place.1 as u8),
            Group::Link if place.1 == 0 => "to the host".to_owned(),
            Group::Link => "from the host".to_owned(),
            Group::Waiting | Group::Station => format!("lane {}", place.1),
            Group::Commands | Group::Slices => format!("task {}", place.1),
        };
        self.name(place.0, place.1, &name)?;
        self.bar(place, (from, to), piece)
    }

    /// The stages of a command within its bar.
    fn stages(&mut self, (group, track): (Group, u32), piece: &Piece) -> io::Result<()> {
        let Activity::Command(span) = piece.activity else { return Ok(()) };
        let mut before = None;
        for stage in Stage::ALL {
            let Some(to) = span.at(stage) else { continue };
            if let Some(from) = before.replace(to) {
                let (ts, to) = (self.micros(from), self.micros(to));
                self.write(&json!({
                    "ph": "X", "pid": group as u32, "tid": track, "ts": ts, "dur": (to - ts).max(0.0),
                    "name": format!("until {}", stage.name()), "args": {},
                }))?;
            }
        }
        Ok(())
    }

    /// The first lane that is free at that time.
    fn lane(&mut self, (group, queue): (Group, u16), from: Instant, to: Instant) -> u32 {
        let lanes = self.lanes.entry((group, queue)).or_default();
        let free = lanes.iter().position(|until| *until <= from).unwrap_or_else(|| {
            lanes.push(Instant::ZERO);
            lanes.len() - 1
        });
        lanes[free] = to;
        free as u32
    }
}

#[cfg(test)]
mod tests;
