//! How many instructions each room may take.

use crate::rooms::LIBRARIES;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A room may need so many per cent more than its budget.
const PERCENT: u64 = 5;
/// So many instructions more are never too many: the compiler moves as many.
const LEAST: u64 = 25;

const HEAD: &str = "\
# Instructions by room, counted on x86-64 with the optimised build; `make test-all` fails where a room takes
# over 5 % more. What they are of, and how to change them: docs/performance.md.

";

/// Of one kind of work.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// What they are of.
    pub of: String,
    /// Of all rooms, without libraries.
    pub total: u64,
    /// Of each.
    pub rooms: BTreeMap<String, u64>,
}

/// Of all work, by name.
#[derive(Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Budgets(BTreeMap<String, Budget>);

impl Budget {
    pub fn of(what: &str, mut rooms: BTreeMap<String, u64>) -> Self {
        rooms.retain(|_, instructions| *instructions > 0);
        let own = rooms.iter().filter(|(room, _)| *room != LIBRARIES);
        Budget { of: what.to_owned(), total: own.map(|(_, instructions)| instructions).sum(), rooms }
    }
    /// The rooms, the one with the most instructions first.
    pub fn by_size(&self) -> Vec<(&String, &u64)> {
        let mut rooms: Vec<_> = self.rooms.iter().collect();
        rooms.sort_by_key(|(_, instructions)| std::cmp::Reverse(**instructions));
        rooms
    }
    /// What of `found` is over budget. Libraries have none: the C library, which copies and allocates, is
    /// another one on each machine.
    pub fn broken_by(&self, found: &Budget) -> impl Iterator<Item = String> {
        let own = found.rooms.iter().filter(|(room, _)| *room != LIBRARIES);
        let rooms = own.map(|(room, instructions)| {
            (room.as_str(), *instructions, self.rooms.get(room).copied().unwrap_or(0))
        });
        let all = rooms.chain([("all rooms", found.total, self.total)]);
        all.filter(|(_, found, budget)| *found > budget + (budget * PERCENT / 100).max(LEAST))
            .map(|(room, found, budget)| {
                format!("{room}: {found} instructions, {} more than the budget of {budget}", found - budget)
            })
            .collect::<Vec<_>>()
            .into_iter()
    }
}

impl Budgets {
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = toml::to_string(self).map_err(|e| e.to_string())?;
        std::fs::write(path, format!("{HEAD}{text}")).map_err(|e| format!("{}: {e}", path.display()))
    }
    pub fn of(&self, work: &str) -> Option<&Budget> {
        self.0.get(work)
    }
    pub fn put(&mut self, work: &str, budget: Budget) {
        self.0.insert(work.to_owned(), budget);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(ftl: u64, exec: u64) -> Budget {
        let rooms = [("firmware/ftl", ftl), ("base/exec", exec)];
        Budget::of("reads", rooms.map(|(room, n)| (room.to_owned(), n)).into())
    }

    #[test]
    fn a_room_over_its_budget_is_named() {
        let given = budget(1_000, 100);
        let said = |found: Budget| given.broken_by(&found).collect::<Vec<_>>();
        assert_eq!(said(budget(1_050, 105)), Vec::<String>::new());
        assert_eq!(said(budget(500, 126)), ["base/exec: 126 instructions, 26 more than the budget of 100"]);
        assert_eq!(
            said(budget(1_051, 125)),
            [
                "firmware/ftl: 1051 instructions, 51 more than the budget of 1000",
                "all rooms: 1176 instructions, 76 more than the budget of 1100"
            ]
        );
    }

    #[test]
    fn a_room_that_is_new_has_no_budget() {
        let mut found = budget(1_000, 100);
        found.rooms.insert("lab".to_owned(), 26);
        found.rooms.insert(LIBRARIES.to_owned(), 1_000);
        assert_eq!(
            budget(1_000, 100).broken_by(&found).collect::<Vec<_>>(),
            ["lab: 26 instructions, 26 more than the budget of 0"]
        );
    }

    /// What is shipped has a budget for each kind of work.
    #[test]
    fn each_work_has_a_budget() {
        let shipped = Budgets::read(&crate::root().join(crate::FILE)).unwrap();
        for work in &crate::ALL {
            assert_eq!(shipped.of(work.name).map(|budget| budget.of.as_str()), Some(work.what));
        }
    }
}
