//! How a log entry says in few bytes that a logical unit has moved.

use crate::terms::sizes::MOVE_BYTES_MAX;
use aster_units::{Lpn, Upa};

/// Physical units are divided into tracks of one or several LUNs. While a log page is coded, the last move on
/// each track is remembered.
const TRACKS: usize = 256;
/// Distances between places that are below this fit an entry's first byte.
pub(crate) const NEAR: u32 = 0x80;

/// Predicts the next move from those so far. Data is mostly written in sequence, and each LUN is filled page
/// after page. So a move is coded as its difference from the prediction.
pub(crate) struct Context {
    track_units: u32,
    lpn: u32,
    tracks: [Track; TRACKS],
}

/// The last move on a track, and the distance of its logical unit from the one before.
#[derive(Clone, Copy, Default)]
struct Track {
    lpn: u32,
    step: u32,
    at: u32,
}

/// How a move is coded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coding {
    /// To the next place of the track. The logical unit is as far from the track's last one as that was from
    /// the one before.
    Expected { track: u8 },
    /// To a place at a distance below [`NEAR`] from the track's last one; `lpn` is the distance from the
    /// logical unit of the last move.
    Near { track: u8, lpn: u32, at: u8 },
    /// As [`Coding::Near`], at any distance.
    Far { track: u8, lpn: u32, at: u32 },
    /// In full.
    Full,
}

impl Coding {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Coding::Expected { .. } => 2,
            Coding::Near { lpn, .. } => 2 + varint_bytes(lpn),
            Coding::Far { lpn, at, .. } => 2 + varint_bytes(lpn) + varint_bytes(at),
            Coding::Full => MOVE_BYTES_MAX,
        }
    }
}

impl Context {
    /// A context without moves. The drive has `track_units` units in each LUN.
    pub(crate) fn new(track_units: u32) -> Context {
        Context { track_units, lpn: 0, tracks: [Track::default(); TRACKS] }
    }
    pub(crate) fn track_units(&self) -> u32 {
        self.track_units
    }
    fn track(&self, at: Upa) -> usize {
        at.0.checked_div(self.track_units).unwrap_or(0) as usize % TRACKS
    }
    fn note_on(&mut self, track: usize, lpn: Lpn, at: Upa) {
        let last = &mut self.tracks[track];
        *last = Track { lpn: lpn.0, step: lpn.0.wrapping_sub(last.lpn), at: at.0 };
        self.lpn = lpn.0;
    }
    /// Codes a move in as few bytes as possible.
    pub(crate) fn encode(&mut self, lpn: Lpn, at: Upa) -> Coding {
        let on = self.track(at);
        let track = on as u8;
        let (to, from) = (distance(self.lpn, lpn.0), distance(self.tracks[on].at, at.0));
        let coding = if self.expected(track) == (lpn, at) {
            Coding::Expected { track }
        } else if from < NEAR {
            Coding::Near { track, lpn: to, at: from as u8 }
        } else {
            Coding::Far { track, lpn: to, at: from }
        };
        self.note_on(on, lpn, at);
        if coding.bytes() < MOVE_BYTES_MAX { coding } else { Coding::Full }
    }
    fn expected(&self, track: u8) -> (Lpn, Upa) {
        let last = self.tracks[usize::from(track)];
        (Lpn(last.lpn.wrapping_add(last.step)), Upa(last.at.wrapping_add(1)))
    }
    /// The move that was coded as [`Coding::Expected`].
    pub(crate) fn heard_expected(&mut self, track: u8) -> (Lpn, Upa) {
        let (lpn, at) = self.expected(track);
        self.note_on(track.into(), lpn, at);
        (lpn, at)
    }
    /// The move that was coded by these distances.
    pub(crate) fn heard_distances(&mut self, track: u8, lpn: u32, at: u32) -> (Lpn, Upa) {
        let lpn = Lpn(at_distance(self.lpn, lpn));
        let at = Upa(at_distance(self.tracks[usize::from(track)].at, at));
        self.note_on(track.into(), lpn, at);
        (lpn, at)
    }
    /// The move that was coded in full.
    pub(crate) fn heard_full(&mut self, lpn: Lpn, at: Upa) -> (Lpn, Upa) {
        self.note_on(self.track(at), lpn, at);
        (lpn, at)
    }
}

/// The distance between two numbers in either direction, modulo 2^32, coded so that short distances are
/// small.
fn distance(from: u32, to: u32) -> u32 {
    let apart = to.wrapping_sub(from);
    (apart << 1) ^ (apart >> 31).wrapping_neg()
}
fn at_distance(from: u32, distance: u32) -> u32 {
    from.wrapping_add((distance >> 1) ^ (distance & 1).wrapping_neg())
}
fn varint_bytes(value: u32) -> usize {
    (value.checked_ilog2().unwrap_or(0) / 7 + 1) as usize
}
