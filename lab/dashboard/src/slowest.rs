//! The list of the slowest commands.

use crate::commands::Completed;
use crate::frame::SlowView;
use aster_driver::{CommandName, QueueId};
use aster_lab::explain::Explanation;
use aster_units::Instant;

/// Commands of the list.
const MOST: usize = 12;

/// A command's name for people.
pub(crate) fn name_of(completed: &Completed) -> String {
    CommandName { queue: QueueId(completed.queue), opcode: completed.opcode }.to_string()
}

/// The slowest commands of those that it was told of, slowest first.
#[derive(Clone, Default)]
pub(crate) struct Slowest(Vec<Completed>);

impl Slowest {
    /// Takes a command that has ended. Of equals the first stays in front.
    pub(crate) fn hear(&mut self, completed: &Completed) {
        let place = self.0.partition_point(|other| other.took >= completed.took);
        if place < MOST {
            self.0.insert(place, *completed);
            self.0.truncate(MOST);
        }
    }

    /// The command of that number.
    pub(crate) fn of_number(&self, number: u64) -> Option<&Completed> {
        self.0.iter().find(|completed| completed.number == number)
    }

    /// The list of commands whose lives are known.
    pub(crate) fn of_lives<'a>(lives: impl Iterator<Item = &'a Explanation>) -> Vec<SlowView> {
        let mut lives: Vec<&Explanation> = lives.collect();
        lives.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
        lives.truncate(MOST);
        let view = |life: &Explanation| SlowView {
            id: life.command,
            name: life.name.clone(),
            queue: life.queue,
            offset: life.offset,
            length: life.length,
            began_us: life.began_since_power_on_us,
            total_us: life.total_us,
        };
        lives.into_iter().map(view).collect()
    }

    pub(crate) fn view(&self) -> Vec<SlowView> {
        let view = |completed: &Completed| SlowView {
            id: completed.number,
            name: name_of(completed),
            queue: completed.queue,
            offset: completed.offset,
            length: completed.length,
            began_us: completed.began.since(Instant::ZERO).as_micros_f64(),
            total_us: completed.took.as_micros_f64(),
        };
        self.0.iter().map(view).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Duration;

    #[test]
    fn the_slowest_come_first_and_of_equals_the_first() {
        let mut slowest = Slowest::default();
        for number in 0..100u64 {
            let took = Duration::from_picos(number / 2 * 1_000_000);
            let began = Instant::ZERO;
            let completed = Completed { number, queue: 1, opcode: 2, offset: 0, length: 0, began, took };
            slowest.hear(&completed);
        }
        let ids: Vec<u64> = slowest.view().iter().map(|slow| slow.id).collect();
        assert_eq!((ids.len(), &ids[..4]), (MOST, &[98, 99, 96, 97][..]));
        assert_eq!((slowest.view()[0].total_us, slowest.view()[0].name.as_str()), (49.0, "Read"));
        assert!(slowest.of_number(98).is_some() && slowest.of_number(0).is_none());
    }
}
