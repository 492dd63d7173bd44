//! What the holder of a data buffer entry did while others waited for it.

use super::names::rank;
use aster_observe::{Activity, Holder, Piece};
use aster_units::Instant;
use std::collections::{BTreeMap, VecDeque};

/// Pieces that are kept per firmware task: more than any slice consists of.
const PIECES_MAX: usize = 256;

/// How far holders that wait for other holders are followed: a write waits for one that waits for the one
/// that programs.
const DEPTH_MAX: u8 = 8;

/// What a slice's holder did.
#[derive(Clone, Copy)]
pub(super) struct Followed {
    /// The task that waited for it.
    pub waiter: Option<u32>,
    /// What it did while the task waited.
    pub piece: Piece,
    /// How many holders wait for holders before it.
    pub depth: u8,
}

/// What each firmware task has done recently.
#[derive(Default)]
pub(super) struct Histories(BTreeMap<u32, VecDeque<Piece>>);

impl Histories {
    pub fn hear(&mut self, piece: &Piece) {
        let Some(task) = piece.task.filter(|_| rank(&piece.activity).is_some()) else { return };
        let history = self.0.entry(task).or_default();
        if history.len() == PIECES_MAX {
            history.pop_front();
        }
        history.push_back(*piece);
    }

    /// What was done during the wait that `piece` describes.
    pub fn follow(&self, piece: &Piece) -> Vec<Followed> {
        let (mut found, waiter) = (Vec::new(), piece.task);
        if let Activity::Waiting { holder: Some(holder), .. } = piece.activity {
            let mut add = |piece, depth| found.push(Followed { waiter, piece, depth });
            self.add(holder, (piece.from, piece.to), 0, &mut add);
        }
        found
    }
    fn add(
        &self,
        holder: Holder,
        (from, to): (Instant, Instant),
        depth: u8,
        found: &mut impl FnMut(Piece, u8),
    ) {
        let from = from.max(holder.since);
        if from >= to || depth == DEPTH_MAX {
            return;
        }
        // If the holder does nothing else, it waits for its core.
        if let Some((lpn, write)) = holder.slice {
            let activity = Activity::Slice { lpn, write };
            found(Piece { activity, command: None, task: Some(holder.task), from, to }, depth);
        }
        let history = self.0.get(&holder.task).into_iter().flatten();
        for piece in history.filter(|piece| piece.from < to && piece.to > from) {
            let part = Piece { from: piece.from.max(from), to: piece.to.min(to), ..*piece };
            found(part, depth);
            if let Activity::Waiting { holder: Some(next), .. } = part.activity {
                self.add(next, (part.from, part.to), depth + 1, found);
            }
        }
    }
}
