//! Where the firmware's cores spend their time.

use super::module::{MonitorModule, TableEntry};
use super::modules::seconds;
use super::names::ShippedModule;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use aster_events::{Event, Firmware, Function};
use aster_units::{Duration, Instant};

/// The cores' time by function of the firmware.
pub struct FirmwareTime {
    cores: u8,
    /// Cores that have entries of their own: each of several.
    own: Vec<OwnCore>,
    /// The entry of each function; none for functions that the firmware doesn't have.
    places: [Option<usize>; Function::COUNT],
    functions: Vec<Function>,
    /// The time of each function that has passed and that no sample has counted yet, in picoseconds. 128
    /// bits, since several cores together accumulate more time than the clock.
    over: [u128; Function::COUNT],
    /// The time of each function in the samples before.
    before: [u128; Function::COUNT],
    /// The latest pieces of work. A core runs ahead of the clock, so a piece may reach beyond the end of
    /// a sample.
    work: VecDeque<Work>,
}

/// A core with entries of its own.
struct OwnCore {
    core: u8,
    name: String,
    /// Its time that has passed since the last sample, and in the samples before.
    time: [u128; 2],
}

/// A piece of work that no sample has counted yet, or not all of it.
struct Work {
    core: u8,
    function: Function,
    from: Instant,
    until: Instant,
}

/// The most pieces of work that a sample may cut. Pieces older than that ended long before.
const PIECES_MAX: usize = 1024;

impl FirmwareTime {
    /// One entry per function that costs time, and per core where there are several.
    pub fn new(firmware: &Firmware) -> Self {
        let mut places = [None; Function::COUNT];
        for (place, function) in firmware.functions.iter().enumerate() {
            places[usize::from(function.number())] = Some(place);
        }
        let functions = firmware.functions.clone();
        let several = if firmware.cores > 1 { firmware.cores } else { 0 };
        // Those of array controllers come behind the others.
        let mut own: Vec<_> = (0..several)
            .map(|core| OwnCore { core, name: firmware.core_name(core).replace(' ', "_"), time: [0; 2] })
            .collect();
        own.sort_by_key(|of| (1..=firmware.controllers).contains(&of.core));
        FirmwareTime {
            cores: firmware.cores.max(1),
            own,
            places,
            functions,
            over: [0; Function::COUNT],
            before: [0; Function::COUNT],
            work: VecDeque::with_capacity(PIECES_MAX),
        }
    }
    /// A part of a piece of work has passed.
    fn count(&mut self, core: u8, function: Function, took: Duration) {
        let picos = u128::from(took.as_picos());
        self.over[usize::from(function.number())] += picos;
        if let Some(own) = self.own.iter_mut().find(|own| own.core == core) {
            own.time[0] += picos;
        }
    }
}

impl MonitorModule for FirmwareTime {
    fn name(&self) -> &str {
        ShippedModule::FirmwareTime.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        let all = [
            TableEntry::new(
                "core_utilisation",
                "share of the time in which a firmware core works, mean over cores",
            ),
            TableEntry::total("core_busy_seconds", "seconds that firmware cores worked, summed"),
        ];
        let each = self.functions.iter().flat_map(|function| {
            let name = function.name();
            [
                TableEntry::new(format!("firmware_{name}_share"), function.summary()),
                TableEntry::total(&format!("firmware_{name}_seconds"), function.summary()),
            ]
        });
        let own = self.own.iter().flat_map(|OwnCore { name, .. }| {
            [
                TableEntry::new(format!("{name}_utilisation"), "share of the time in which this core works"),
                TableEntry::total(&format!("{name}_busy_seconds"), "seconds that this core worked"),
            ]
        });
        all.into_iter().chain(each).chain(own).collect()
    }
    fn event(&mut self, at: Instant, event: &Event) {
        let Event::FirmwareWorked { core, function, picoseconds, .. } = *event else { return };
        let Some(function) = Function::of_number(function) else { return };
        if self.work.len() == PIECES_MAX
            && let Some(Work { core, function, from, until }) = self.work.pop_front()
        {
            self.count(core, function, until.since(from));
        }
        let until = Instant::from_picos(at.as_picos().saturating_add(picoseconds));
        self.work.push_back(Work { core, function, from: at, until });
    }
    fn sample(&mut self, until: Instant, over: Duration, entries: &mut [f64]) {
        let mut work = core::mem::take(&mut self.work);
        work.retain_mut(|piece| {
            let to = piece.until.min(until);
            if to > piece.from {
                self.count(piece.core, piece.function, to.since(piece.from));
                piece.from = to;
            }
            piece.until > until
        });
        self.work = work;
        let (all, rest) = entries.split_at_mut(2);
        let (each, of_cores) = rest.split_at_mut(2 * self.functions.len());
        let whole = over.as_picos() as f64 * f64::from(self.cores);
        let mut worked = 0.0;
        let functions = core::mem::take(&mut self.over).into_iter().zip(&mut self.before).zip(self.places);
        for ((time, before), place) in functions {
            let share = time as f64 / whole;
            worked += share;
            *before += time;
            if let Some(place) = place {
                each[2 * place] = share;
                each[2 * place + 1] = seconds(*before);
            }
        }
        all[0] = worked;
        all[1] = seconds(self.before.iter().sum());
        for (own, entries) in self.own.iter_mut().zip(of_cores.chunks_exact_mut(2)) {
            let [time, before] = &mut own.time;
            entries[0] = *time as f64 / over.as_picos() as f64;
            *before += core::mem::take(time);
            entries[1] = seconds(*before);
        }
    }
}
