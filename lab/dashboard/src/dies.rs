//! What each die and each channel does, from events.

use crate::frame::{DieView, Work};
use aster_events::Event;
use aster_units::{Geometry, Instant, LunAddr};

/// A die between events.
#[derive(Clone, Copy, Default)]
struct Die {
    work: Work,
    /// When its array is ready.
    until: Instant,
    suspended: Option<Work>,
    waiting: u32,
    issued: u32,
    /// Operations that have ended: reads, programs, erases, others.
    ended: [u64; 4],
}

impl Die {
    fn array_begins(&mut self, at: Instant, work: Work, until: Instant) {
        let stops = matches!(self.work, Work::Program | Work::Erase) && self.until > at;
        if stops && work == Work::Read {
            self.suspended = Some(self.work);
        } else if self.suspended == Some(work) {
            self.suspended = None;
        }
        (self.work, self.until) = (work, until);
    }
}

/// What an array does, by the number that events have.
fn work_of(kind: u8) -> Work {
    match kind {
        0 => Work::Read,
        1 => Work::Program,
        2 => Work::Erase,
        _ => Work::Other,
    }
}

/// All dies and channels.
#[derive(Clone)]
pub(crate) struct Dies {
    geometry: Geometry,
    dies: Vec<Die>,
    /// By channel: the LUN whose transaction it carries.
    channels: Vec<Option<usize>>,
}

impl Dies {
    pub(crate) fn new(geometry: Geometry) -> Self {
        Dies {
            geometry,
            dies: vec![Die::default(); geometry.total_luns() as usize],
            channels: vec![None; usize::from(geometry.channels)],
        }
    }

    /// Takes an event; those that tell nothing of dies are ignored.
    pub(crate) fn hear(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::ArrayBusy { channel, way, lun, kind, picoseconds } => {
                let place = self.place(channel, way, lun);
                let until = Instant::from_picos(at.as_picos().saturating_add(picoseconds));
                if let Some(die) = place.and_then(|place| self.dies.get_mut(place)) {
                    die.array_begins(at, work_of(kind), until);
                }
            }
            Event::TransactionStarted { channel, slot } => {
                let ways = u16::from(self.geometry.ways);
                let place = self.place(channel, (slot % ways) as u8, (slot / ways) as u8);
                if let Some(carries) = self.channels.get_mut(usize::from(channel)) {
                    *carries = place;
                }
            }
            Event::TransactionEnded { channel, .. } | Event::TransactionFailed { channel, .. } => {
                if let Some(carries) = self.channels.get_mut(usize::from(channel)) {
                    *carries = None;
                }
            }
            Event::FlashQueued { lun, .. } => self.with(lun, |die| die.waiting += 1),
            Event::FlashIssued { lun, .. } => self.with(lun, |die| {
                die.waiting = die.waiting.saturating_sub(1);
                die.issued += 1;
            }),
            Event::FlashFinished { lun, kind, .. } => self.with(lun, |die| {
                // One that was never issued has ended where it waited.
                match die.issued {
                    0 => die.waiting = die.waiting.saturating_sub(1),
                    _ => die.issued -= 1,
                }
                die.ended[usize::from(kind.min(3))] += 1;
                if die.suspended == Some(work_of(kind)) {
                    die.suspended = None;
                }
            }),
            _ => {}
        }
    }

    fn place(&self, channel: u16, way: u8, lun: u8) -> Option<usize> {
        let g = &self.geometry;
        let there = channel < g.channels && way < g.ways && lun < g.luns;
        there.then(|| g.lun_index(LunAddr { channel, way, lun }).index())
    }

    fn with(&mut self, lun: u32, change: impl FnOnce(&mut Die)) {
        if let Some(die) = self.dies.get_mut(lun as usize) {
            change(die);
        }
    }

    /// The dies at a moment.
    pub(crate) fn view(&self, now: Instant) -> Vec<DieView> {
        let moved = |place: usize| self.channels.contains(&Some(place));
        let view = |(place, die): (usize, &Die)| {
            let work = match die.until > now {
                true => die.work,
                false if moved(place) => Work::Transfer,
                false => Work::Idle,
            };
            let [reads, programs, erases, _] = die.ended;
            let suspended = die.suspended;
            DieView { work, suspended, waiting: die.waiting, reads, programs, erases }
        };
        self.dies.iter().enumerate().map(view).collect()
    }

    /// Which channels carry a transaction.
    pub(crate) fn channels(&self) -> Vec<bool> {
        self.channels.iter().map(Option::is_some).collect()
    }
}
