//! Fig 11: how many cycles the MCU takes to move a command, by a loop and by a table of unrolled copies, from
//! instructions written out in a cost file.

use crate::experiment::{ExperimentError, parse};
use serde::{Deserialize, Serialize};

const FILE: &str = "costs/host-ftl.toml";
const TEXT: &str = include_str!("../../../costs/host-ftl.toml");

/// Places for host addresses in a command (H15).
pub(super) const PLACES: u32 = 14;
/// Words of the register part, and of a host address (H15).
const REGISTER_WORDS: u32 = 16;
const ADDRESS_WORDS: u32 = 2;

/// Cycles of an instruction, or instructions of a piece of code, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Classes {
    /// Arithmetic, moves and comparisons.
    alu: f64,
    /// Loads of a word.
    load: f64,
    /// Stores of a word.
    store: f64,
    /// Loads and stores of several words, without what each word takes.
    multiple: f64,
    /// Words of these.
    word: f64,
    /// Branches that are taken.
    taken: f64,
    /// Branches that aren't.
    not_taken: f64,
    /// Accesses of a register behind the bus.
    register: f64,
}

impl Classes {
    fn cycles(&self, of: &Classes) -> f64 {
        let pairs = [
            (self.alu, of.alu),
            (self.load, of.load),
            (self.store, of.store),
            (self.multiple, of.multiple),
            (self.word, of.word),
            (self.taken, of.taken),
            (self.not_taken, of.not_taken),
            (self.register, of.register),
        ];
        pairs.into_iter().map(|(count, cycles)| count * cycles).sum()
    }
}

/// A way to copy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyCode {
    /// Once for each command.
    once: Classes,
    /// For each place of a host address, used or not.
    place: Classes,
    /// For each host address.
    address: Classes,
    /// For each word that is copied.
    copied: Classes,
}

/// The cost file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyCosts {
    cycles: Classes,
    dispatch: Classes,
    looped: CopyCode,
    table: CopyCode,
    status: Classes,
    frame: Classes,
}

/// How a command is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CopyWay {
    /// In a loop.
    Looped,
    /// By a table.
    Table,
}

/// What a command with this many host addresses takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CopyPoint {
    /// Host addresses.
    pub addresses: u32,
    /// Cycles of the copy of the host addresses, in a loop and by a table.
    pub looped: f64,
    /// By a table.
    pub table: f64,
    /// Cycles of the whole move, with the register part and the hand-over.
    pub move_looped: f64,
    /// By a table.
    pub move_table: f64,
}

impl CopyPoint {
    /// How many times as fast the copy itself is by a table.
    pub fn copy_times(&self) -> f64 {
        self.looped / self.table
    }
    /// How much faster the whole move is, in percent.
    pub fn move_gain_percent(&self) -> f64 {
        (self.move_looped / self.move_table - 1.0) * 100.0
    }
}

impl CopyCosts {
    /// The shipped cost file.
    ///
    /// # Errors
    /// When it is wrong, for example when a key is unknown.
    pub fn shipped() -> Result<Self, ExperimentError> {
        parse(FILE, TEXT)
    }
    fn code(&self, way: CopyWay) -> &CopyCode {
        match way {
            CopyWay::Looped => &self.looped,
            CopyWay::Table => &self.table,
        }
    }
    /// Cycles of a command's move without its host addresses.
    pub(super) fn of_command(&self, way: CopyWay) -> f64 {
        let CopyCode { once, place, copied, .. } = self.code(way);
        let register_part = f64::from(REGISTER_WORDS) * copied.cycles(&self.cycles);
        let places = f64::from(PLACES) * place.cycles(&self.cycles);
        self.dispatch.cycles(&self.cycles) + once.cycles(&self.cycles) + register_part + places
    }
    /// Cycles of a host address.
    pub(super) fn of_address(&self, way: CopyWay) -> f64 {
        let CopyCode { address, copied, .. } = self.code(way);
        address.cycles(&self.cycles) + f64::from(ADDRESS_WORDS) * copied.cycles(&self.cycles)
    }
    /// Cycles of a status entry.
    pub(super) fn of_status(&self) -> f64 {
        self.status.cycles(&self.cycles)
    }
    /// Cycles of a status frame.
    pub(super) fn of_frame(&self) -> f64 {
        self.frame.cycles(&self.cycles)
    }
    /// Fig 11.
    pub(super) fn points(&self) -> Vec<CopyPoint> {
        let point = |addresses: u32| {
            let copied = |way| {
                let CopyCode { place, .. } = self.code(way);
                let looked_at = f64::from(PLACES) * place.cycles(&self.cycles);
                looked_at + f64::from(addresses) * self.of_address(way)
            };
            let moved = |way| self.of_command(way) + f64::from(addresses) * self.of_address(way);
            CopyPoint {
                addresses,
                looped: copied(CopyWay::Looped),
                table: copied(CopyWay::Table),
                move_looped: moved(CopyWay::Looped),
                move_table: moved(CopyWay::Table),
            }
        };
        (1..=PLACES).map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H14: nine checks of a register, each with a comparison and a branch that isn't taken, are the idle
    /// loop's 112 cycles.
    #[test]
    fn a_register_costs_what_the_idle_loop_says() {
        let costs = CopyCosts::shipped().unwrap();
        let check = Classes { alu: 1.0, not_taken: 1.0, register: 1.0, ..Classes::default() };
        let idle = 9.0 * check.cycles(&costs.cycles);
        assert!((idle - 112.0).abs() < 0.5, "{idle}");
    }

    /// H15: the table gains more, the more host addresses there are, and a command has at most 14 of them.
    #[test]
    fn a_table_gains_with_each_host_address() {
        let points = CopyCosts::shipped().unwrap().points();
        assert_eq!(points.len(), 14);
        assert!(points.is_sorted_by(|a, b| a.move_gain_percent() < b.move_gain_percent()));
        assert!(points.is_sorted_by(|a, b| a.move_table < b.move_table));
        for point in points {
            assert!(point.looped > 5.0 * point.table, "{point:?}");
            assert!(point.move_table > point.table && point.move_looped > point.looped);
        }
    }
}
