//! Where the firmware's cores spend their time.

use super::module::{MonitorModule, TableEntry};
use super::modules::seconds;
use super::names::ShippedModule;
use crate::{Event, Firmware, Function};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use aster_units::{Duration, Instant};

/// The cores' time by function of the firmware.
pub struct FirmwareTime {
    cores: u8,
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
    work: VecDeque<(Function, Instant, Instant)>,
}

/// The most pieces of work that a sample may cut. Pieces older than that ended long before.
const PIECES_MAX: usize = 1024;

impl FirmwareTime {
    /// One entry per function that costs time.
    pub fn new(firmware: &Firmware) -> Self {
        let mut places = [None; Function::COUNT];
        for (place, function) in firmware.functions.iter().enumerate() {
            places[usize::from(function.number())] = Some(place);
        }
        let functions = firmware.functions.clone();
        FirmwareTime {
            cores: firmware.cores.max(1),
            places,
            functions,
            over: [0; Function::COUNT],
            before: [0; Function::COUNT],
            work: VecDeque::with_capacity(PIECES_MAX),
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
        all.into_iter().chain(each).collect()
    }
    fn event(&mut self, at: Instant, event: &Event) {
        let Event::FirmwareWorked { function, picoseconds, .. } = *event else { return };
        let Some(function) = Function::of_number(function) else { return };
        if self.work.len() == PIECES_MAX
            && let Some((function, from, until)) = self.work.pop_front()
        {
            self.over[usize::from(function.number())] += u128::from(until.since(from).as_picos());
        }
        let until = Instant::from_picos(at.as_picos().saturating_add(picoseconds));
        self.work.push_back((function, at, until));
    }
    fn sample(&mut self, until: Instant, over: Duration, entries: &mut [f64]) {
        let spent = &mut self.over;
        self.work.retain_mut(|(function, from, end)| {
            let to = (*end).min(until);
            if to > *from {
                spent[usize::from(function.number())] += u128::from(to.since(*from).as_picos());
                *from = to;
            }
            *end > until
        });
        let (all, each) = entries.split_at_mut(2);
        let whole = over.as_picos() as f64 * f64::from(self.cores);
        let mut worked = 0.0;
        let functions = core::mem::take(spent).into_iter().zip(&mut self.before).zip(self.places);
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
    }
}
