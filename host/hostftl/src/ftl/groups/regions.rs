//! Wear between the regions, which are the dies of the channels (H28 to H30): where new data go, and whose
//! hot data move.

use super::accesses::{Accesses, RegionConfig};
use super::{Group, GroupPlace, GroupState, Groups};
use core::cmp::Reverse;

/// Erases of some groups, and how many groups they are.
#[derive(Clone, Copy, Default)]
struct Mean {
    erases: u64,
    groups: u64,
}

impl Mean {
    fn of<'a>(groups: impl Iterator<Item = &'a Group>) -> Mean {
        groups.fold(Mean::default(), |sum, group| Mean {
            erases: sum.erases + u64::from(group.erases),
            groups: sum.groups + 1,
        })
    }
    fn value(self) -> Option<f64> {
        (self.groups > 0).then(|| self.erases as f64 / self.groups as f64)
    }
}

impl Groups {
    /// The same, moving hot data out of a region that wears more than the others.
    #[must_use]
    pub fn with_regions(self, config: Option<RegionConfig>) -> Self {
        Groups { accesses: config.map(Accesses::new), ..self }
    }
    /// The host has read a page of this group, or data that it has written lie there now.
    pub fn accessed(&mut self, at: GroupPlace) {
        let erases = self.get(at).erases;
        let Some(accesses) = &mut self.accesses else { return };
        let oldest = accesses.note(at, erases);
        self.get_mut(at).accesses += 1;
        if let Some((at, erases)) = oldest {
            let group = self.get_mut(at);
            // Those before its erase are forgotten already.
            group.accesses -= u32::from(group.erases == erases);
        }
    }
    /// Whether the host writes elsewhere: the free groups of a die were erased more often in the mean, by
    /// more than `window`, than those of another die (H29).
    pub fn is_worn(&self, channel: u8, die: u8, window: u32) -> bool {
        let free = |n: usize| {
            let of = &self.dies[n];
            Mean { erases: of.free_erases, groups: of.free.len() as u64 }.value()
        };
        let Some(own) = free(self.info.die(channel, die)) else { return false };
        let least = (0..self.dies.len()).filter_map(free).fold(own, f64::min);
        own - least > f64::from(window)
    }
    /// A group whose data are to leave their region, and the region that they go to: the channel and its die.
    /// When a region wears more than all do in the mean by the percentage, as many groups leave it as the
    /// profile says, unless it wears less than the mean by then (H30).
    pub fn leaves_region(&mut self) -> Option<(GroupPlace, (u8, u8))> {
        let Accesses { config, to_move, .. } = *self.accesses.as_ref()?;
        let found = self.hottest(if to_move > 0 { 0.0 } else { config.percent });
        let left = if to_move > 0 { to_move } else { config.groups };
        self.accesses.as_mut()?.to_move = if found.is_some() { left - 1 } else { 0 };
        found
    }
    /// The closed group with the hottest data of the region that wears most, and the region that wears least
    /// of those with a free group, if it has room for them. `None` while no region wears more than the mean
    /// by so many percent.
    fn hottest(&self, percent: f64) -> Option<(GroupPlace, (u8, u8))> {
        let means = || {
            let alive = |group: &&Group| group.alive() > self.parity;
            self.dies.iter().map(move |die| Mean::of(die.groups.iter().filter(alive)))
        };
        let all = means().fold(Mean::default(), |sum, mean| Mean {
            erases: sum.erases + mean.erases,
            groups: sum.groups + mean.groups,
        });
        let limit = all.value()? * (1.0 + percent / 100.0);
        let of_dies = || means().enumerate().filter_map(|(n, mean)| Some((n, mean.value()?)));
        let (worn, most) = of_dies().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let fresh = of_dies().filter(|&(n, _)| !self.dies[n].free.is_empty());
        let (fresh, _) = fresh.min_by(|a, b| a.1.total_cmp(&b.1))?;
        if most <= limit || worn == fresh {
            return None;
        }
        let room = self.room(fresh);
        let is_hot = |group: &Group| {
            let is_closed = group.state == GroupState::Closed && group.is_settled();
            is_closed && group.accesses > 0 && u64::from(group.valid) <= room
        };
        let hot = (0..).zip(self.dies[worn].groups.iter()).filter(|(_, group)| is_hot(group));
        let (group, _) = hot.max_by_key(|&(n, group): &(u16, &Group)| (group.accesses, Reverse(n)))?;
        let dies = usize::from(self.info.dies);
        let place = |n: usize| ((n / dies) as u8, (n % dies) as u8);
        let (channel, die) = place(worn);
        Some((GroupPlace { channel, die, group }, place(fresh)))
    }
    /// The free groups of a die, by its number among all, are others, or were erased.
    pub(super) fn count_free(&mut self, die: usize) {
        let of = &mut self.dies[die];
        of.free_erases = Mean::of(of.free.iter().map(|&n| &of.groups[usize::from(n)])).erases;
    }
}
