use super::draw::Pen;
use super::filter::{Follow, Seen};
use super::{Change, Label, Level, MAX_CHANGES, Signal, WaveFilter, Waveform};
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, EventSink};
use aster_ports::channel::BusTap;
use aster_ports::package::BurstTiming;
use aster_txn::Latch;
use aster_units::{ChannelId, Duration, Instant};
use core::cell::RefCell;

/// Draws a channel's waveforms while the channel works. Clones share one capture: pass one to
/// [`Engine::set_tap`](crate::Engine::set_tap) and keep one to read it.
///
/// As a [`BusTap`] it sees R/B# only when a transaction ends. If it is also attached to the drive's
/// recorder, [`Event::ArrayBusy`] tells it when each array starts and ends, and it draws R/B# at those
/// times.
#[derive(Clone)]
pub struct WaveTap(Rc<RefCell<Capture>>);

/// The work of an array behind a way, as far as it is known.
#[derive(Clone, Copy)]
struct Busy {
    from: Instant,
    until: Option<Instant>,
    drawn: bool,
}

struct Capture {
    channel: ChannelId,
    follow: Follow,
    pen: Pen,
    seen: Option<Seen>,
    /// Chips that are drawn as selected.
    selected: u32,
    end: Instant,
    busy: Vec<Option<Busy>>,
    kept: Vec<Change>,
    truncated: bool,
}

impl WaveTap {
    /// A capture of `channel` with `ways` chip enables, 32 at most.
    pub fn new(channel: ChannelId, ways: u8, filter: WaveFilter) -> Self {
        assert!(ways <= 32, "a transaction's chip bitmap has 32 bits");
        WaveTap(Rc::new(RefCell::new(Capture {
            channel,
            follow: Follow::new(filter),
            pen: Pen::default(),
            seen: None,
            selected: 0,
            end: Instant::ZERO,
            busy: alloc::vec![None; usize::from(ways)],
            kept: Vec::new(),
            truncated: false,
        })))
    }

    /// True when the capture has everything that the filter asks for, or is full. To be called between
    /// transactions.
    pub fn is_complete(&self) -> bool {
        let mut capture = self.0.borrow_mut();
        capture.close();
        capture.done()
    }

    /// What has been drawn so far, sorted by time.
    pub fn waveform(&self) -> Waveform {
        let mut capture = self.0.borrow_mut();
        capture.close();
        let mut changes = capture.kept.clone();
        // If an array still works when the capture ends, R/B# rises at the announced time.
        for (way, busy) in capture.busy.iter().enumerate() {
            if let Some(Busy { until: Some(at), drawn: true, .. }) = *busy {
                changes.push(Change { at, signal: Signal::Ready(way as u8), level: Level::High });
            }
        }
        changes.sort_by_key(|change| change.at);
        Waveform {
            channel: capture.channel,
            ways: capture.busy.len() as u8,
            changes,
            truncated: capture.truncated,
        }
    }
}

impl Capture {
    fn done(&self) -> bool {
        self.truncated || self.follow.complete()
    }

    /// Ends the open transaction: keeps or discards it.
    fn close(&mut self) {
        let Some(seen) = self.seen.take() else { return };
        // A transaction that failed never reported that its chips were released.
        let end = self.end;
        self.select(end, 0);
        self.pen.let_go(end);
        self.pen.name(end, Label::Idle);
        // Checked before and after `keeps`, since both the operation's first transaction and its last are
        // part of it.
        let watched = self.watched();
        if self.follow.keeps(&seen) && !self.truncated {
            if self.kept.len() + self.pen.changes().len() > MAX_CHANGES {
                self.truncated = true;
            } else {
                self.kept.extend_from_slice(self.pen.changes());
            }
        }
        self.draw_ready(watched | self.watched());
        self.pen.clear();
    }

    fn watched(&self) -> u32 {
        (0..self.busy.len()).filter(|&way| self.follow.watches(way)).fold(0, |ways, way| ways | 1 << way)
    }

    /// Draws R/B# up to the end of the transaction: of the ways in `watched`, and of other ways where it
    /// must rise again.
    fn draw_ready(&mut self, watched: u32) {
        for (way, slot) in self.busy.iter_mut().enumerate() {
            let Some(busy) = slot else { continue };
            let signal = Signal::Ready(way as u8);
            if watched >> way & 1 == 1 && !busy.drawn && !self.truncated {
                busy.drawn = true;
                self.kept.push(Change { at: busy.from, signal, level: Level::Low });
            }
            let Some(at) = busy.until.filter(|&until| until <= self.end) else { continue };
            if busy.drawn {
                self.kept.push(Change { at, signal, level: Level::High });
            }
            *slot = None;
        }
    }

    fn select(&mut self, at: Instant, chips: u32) {
        let before = core::mem::replace(&mut self.selected, chips);
        if before & !chips != 0 {
            self.pen.let_go(at);
        }
        for way in 0..self.busy.len() {
            let (was, is) = (before >> way & 1, chips >> way & 1);
            if was != is {
                self.pen.chip(at, way as u8, is == 1);
            }
        }
    }

    fn array_busy(&mut self, at: Instant, way: usize, takes: Duration) {
        let until = at + takes;
        let Some(slot) = self.busy.get_mut(way) else { return };
        match slot {
            // Another LUN behind the same R/B#, which is low until the last LUN is ready.
            Some(busy) if busy.until.is_none_or(|b| at < b) => {
                busy.until = Some(busy.until.map_or(until, |b| b.max(until)));
            }
            _ => {
                if let Some(Busy { until: Some(rise), drawn: true, .. }) = *slot {
                    let signal = Signal::Ready(way as u8);
                    self.kept.push(Change { at: rise, signal, level: Level::High });
                }
                *slot = Some(Busy { from: at, until: Some(until), drawn: false });
            }
        }
    }
}

impl BusTap for WaveTap {
    fn transaction(&mut self, start: Instant, end: Instant, name: &'static str) {
        let capture = &mut *self.0.borrow_mut();
        capture.close();
        if capture.done() {
            return;
        }
        capture.seen = Some(Seen::new(name));
        capture.end = end;
        capture.pen.name(start, Label::Name(name));
    }

    fn chips(&mut self, at: Instant, chips: u32) {
        let capture = &mut *self.0.borrow_mut();
        let Some(seen) = &mut capture.seen else { return };
        seen.chips |= chips;
        capture.select(at, chips);
    }

    fn latch(&mut self, from: Instant, edge: Instant, latch: Latch) {
        let capture = &mut *self.0.borrow_mut();
        let Some(seen) = &mut capture.seen else { return };
        seen.latch(latch);
        capture.pen.latch(from, edge, latch);
    }

    fn burst(&mut self, timing: BurstTiming, out: bool, bytes: &[u8]) {
        let capture = &mut *self.0.borrow_mut();
        let Some(seen) = &mut capture.seen else { return };
        seen.burst(timing, out, bytes);
        capture.pen.burst(timing, out, bytes);
    }

    fn ready(&mut self, at: Instant, way: usize, ready: bool) {
        let capture = &mut *self.0.borrow_mut();
        if capture.seen.is_none() && capture.done() {
            return;
        }
        let Some(slot) = capture.busy.get_mut(way) else { return };
        match (slot, ready) {
            (Some(busy), true) => busy.until = Some(busy.until.map_or(at, |until| until.min(at))),
            // It takes longer than announced: R/B# itself will show the end.
            (Some(busy), false) => busy.until = busy.until.filter(|&until| until > at),
            (slot @ None, false) => *slot = Some(Busy { from: at, until: None, drawn: false }),
            (None, true) => {}
        }
    }
}

impl EventSink for WaveTap {
    fn event(&mut self, at: Instant, event: &Event) {
        if let Event::ArrayBusy { channel, way, picoseconds, .. } = *event {
            let capture = &mut *self.0.borrow_mut();
            if channel == capture.channel.0 && !(capture.seen.is_none() && capture.done()) {
                capture.array_busy(at, usize::from(way), Duration::from_picos(picoseconds));
            }
        }
    }
}
