//! A drive that is served, as frames.
//!
//! Hearing all events costs more than showing them does. So events are heard only while somebody looks, and
//! only so many in each period: a drive that has little to do is heard all the time, a busy one in a part of
//! it. What the drive counts by itself is shown as it counts it.

use crate::frame::Frame;
use crate::hub::{Ask, Source};
use crate::picture::Picture;
use crate::scan::BlockScan;
use crate::slowest::Slowest;
use aster_device::Device;
use aster_events::{Event, EventSink, Recorder};
use aster_lab::explain::{Collector, Explanation, Which};
use aster_lab::watch::DriveShape;
use aster_observe::{Lives, Piece};
use aster_units::{Duration, Geometry, Instant, LunIndex};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{self, Instant as Wall};

/// Between two frames.
const PERIOD: time::Duration = time::Duration::from_millis(50);
/// Events that are heard in a period.
const EVENTS_MAX: u64 = 2_000;
/// Command slots that are followed: those that a profile may have, and those for admin commands.
const SLOTS: u16 = 8192;
/// Slow commands of each harvest whose lives are kept.
const KEPT: usize = 6;
/// Periods after which slow commands are harvested while all events are heard; else it is done at the end of
/// each stretch of listening.
const HARVEST: u32 = 10;
/// Harvests that are shown.
const HARVESTS: usize = 60;
/// Periods over which the share of time is told in which events were heard.
const SHARES: usize = 20;

/// Takes a piece of a command's life.
type Hear = Box<dyn FnMut(&Piece)>;

/// Follows commands through all they do.
struct Follower {
    lives: Lives<Hear>,
    collector: Rc<RefCell<Collector>>,
}

/// Keeps the slowest commands of those that begin at `from` or later.
fn collector(from: Instant) -> Collector {
    let mut collector = Collector::new(Which::SlowestOf(KEPT));
    collector.begin(0, Instant::ZERO, Some((from, Instant::from_picos(u64::MAX))));
    collector
}

impl Follower {
    fn new(shape: &DriveShape, from: Instant) -> Self {
        let collector = Rc::new(RefCell::new(collector(from)));
        let into = Rc::clone(&collector);
        let hear: Hear = Box::new(move |piece| into.borrow_mut().hear(piece));
        Follower { lives: Lives::new(shape.geometry, SLOTS, hear), collector }
    }

    /// The slowest commands since the last harvest.
    fn harvest(&mut self, geometry: &Geometry, on_host: bool, now: Instant) -> Vec<Explanation> {
        self.collector.replace(collector(now)).explanations(geometry, on_host)
    }
}

/// What hears the drive's events.
struct Ear {
    open: bool,
    /// Events that it may still hear in this period.
    left: u64,
    picture: Picture,
    follower: Follower,
    /// When it was opened, and until when it has heard.
    since: Instant,
    until: Instant,
}

impl EventSink for Ear {
    #[inline]
    fn event(&mut self, at: Instant, event: &Event) {
        if !self.open {
            return;
        }
        self.picture.hear(at, event);
        self.follower.lives.event(at, event);
        self.until = self.until.max(at);
        self.left -= 1;
        self.open = self.left > 0;
    }
}

/// Shows a drive that is served.
pub struct Live {
    source: Source,
    shape: DriveShape,
    ear: Rc<RefCell<Ear>>,
    /// The ear is attached to the drive.
    listens: bool,
    /// Nobody else listens, so that it can be taken off.
    alone: bool,
    recorders: [Recorder; 2],
    scan: BlockScan,
    last: Wall,
    shown: Instant,
    /// Time heard and time passed, of the last periods.
    shares: VecDeque<(Duration, Duration)>,
    /// Lives of slow commands by harvest.
    lives: VecDeque<Vec<Explanation>>,
    /// Commands that were heard of before the present stretch.
    fetched: u64,
    periods: u32,
}

impl Live {
    /// Shows `device` to who looks at `source`.
    pub fn new(device: &Device, shape: DriveShape, source: Source) -> Self {
        let now = device.now();
        let ear = Ear {
            open: false,
            left: 0,
            picture: Picture::new(shape, false),
            follower: Follower::new(&shape, now),
            since: now,
            until: now,
        };
        Live {
            source,
            shape,
            ear: Rc::new(RefCell::new(ear)),
            listens: false,
            alone: false,
            recorders: [device.recorder().clone(), device.command_recorder().clone()],
            scan: BlockScan::new(device, shape),
            last: Wall::now(),
            shown: now,
            shares: VecDeque::new(),
            lives: VecDeque::new(),
            fetched: 0,
            periods: 0,
        }
    }

    /// To be called often, between what the drive does.
    pub fn attend(&mut self, device: &Device) {
        if self.source.viewers() == 0 {
            self.stop();
            return;
        }
        // Until the next period begins nothing can be heard any more.
        if self.listens && !self.ear.borrow().open {
            self.take_off();
        }
        if self.last.elapsed() < PERIOD {
            return;
        }
        self.last = Wall::now();
        self.answer();
        self.scan.go_on(device);
        let frame = self.frame(device);
        self.source.show(frame);
        self.listen(device);
    }

    /// Nobody looks.
    fn stop(&mut self) {
        if self.listens {
            self.ear.borrow_mut().open = false;
            self.take_off();
        }
        self.shares.clear();
        self.lives.clear();
    }

    /// Takes the ear off the drive, if nobody else's listening would end with it.
    fn take_off(&mut self) {
        if self.alone {
            self.recorders.iter().for_each(|recorder| drop(recorder.detach()));
            self.listens = false;
        }
    }

    /// Begins to listen, or goes on with it.
    fn listen(&mut self, device: &Device) {
        let now = device.now();
        {
            let mut ear = self.ear.borrow_mut();
            ear.left = EVENTS_MAX;
            if !ear.open {
                // What happened in between wasn't heard: a new picture.
                ear.picture = Picture::new(self.shape, false);
                self.fetched += ear.follower.lives.fetched();
                ear.follower = Follower::new(&self.shape, now);
                (ear.since, ear.until) = (now, now);
                ear.open = true;
            }
        }
        if !self.listens {
            self.alone = self.recorders.iter().all(|recorder| !recorder.is_on());
            device.listen(Rc::clone(&self.ear));
            self.listens = true;
        }
    }

    fn answer(&mut self) {
        while let Some(ask) = self.source.asked() {
            let Ask::Explain(id, answer) = ask else { continue };
            let found = self.lives.iter().flatten().find(|life| life.command == id).cloned();
            let found = found.ok_or_else(|| "this command is no longer among the slowest".to_owned());
            // Who asked may have gone.
            let _ = answer.send(found);
        }
    }

    fn frame(&mut self, device: &Device) -> Frame {
        let now = device.now();
        let mut ear = self.ear.borrow_mut();
        // Of a stretch that has ended, what was so at its end.
        let seen = if ear.open { now } else { ear.until };
        let heard = seen.since(ear.since.max(self.shown).min(seen));
        let mut frame = ear.picture.frame(seen);
        self.periods = self.periods.wrapping_add(1);
        if !ear.open || self.periods.is_multiple_of(HARVEST) {
            let on_host = device.below().is_some();
            let mut lives = ear.follower.harvest(&self.shape.geometry, on_host, now);
            lives.iter_mut().for_each(|life| life.command += self.fetched);
            if !lives.is_empty() {
                self.lives.push_back(lives);
            }
            if self.lives.len() > HARVESTS {
                self.lives.pop_front();
            }
        }
        drop(ear);
        self.shares.push_back((heard, now.since(self.shown.min(now))));
        if self.shares.len() > SHARES {
            self.shares.pop_front();
        }
        let (heard, passed) = self.shares.iter().fold((0.0, 0.0), |(heard, passed), share| {
            (heard + share.0.as_micros_f64(), passed + share.1.as_micros_f64())
        });
        self.shown = now;
        frame.at_us = now.since(Instant::ZERO).as_micros_f64();
        frame.heard = Some(if passed > 0.0 { (heard / passed).min(1.0) } else { 1.0 });
        frame.slowest = Slowest::of_lives(self.lives.iter().flatten());
        frame.blocks = self.scan.cells();
        count(device, &mut frame);
        frame
    }
}

/// What the drive counts by itself, in place of what was heard of it.
fn count(device: &Device, frame: &mut Frame) {
    let below = device.below();
    let nand = below.as_deref().unwrap_or(device).nand();
    for (lun, die) in frame.dies.iter_mut().enumerate() {
        let totals = nand.totals(LunIndex(lun as u32));
        (die.reads, die.programs, die.erases) = (totals.reads, totals.programs, totals.erases);
    }
    let (stats, history) = (device.translation().stats(), device.history());
    let small = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
    let totals = &mut frame.totals;
    (totals.reads, totals.writes) = (history.read_commands, history.write_commands);
    (totals.read_bytes, totals.written_bytes) = (small(history.bytes_read), small(history.bytes_written));
    totals.flash_reads = frame.dies.iter().map(|die| die.reads).sum();
    totals.flash_programs = frame.dies.iter().map(|die| die.programs).sum();
    totals.flash_erases = frame.dies.iter().map(|die| die.erases).sum();
    totals.programmed_bytes = stats.flash_bytes_written;
    totals.victims = stats.gc_runs;
    (totals.buffer_hits, totals.buffer_misses) = (stats.buffer_hits, stats.buffer_misses);
    totals.waf = (stats.host_bytes_written > 0).then(|| stats.waf());
    frame.outstanding = device.commands_in_flight() as u64;
}

/// The ear goes with its owner.
impl Drop for Live {
    fn drop(&mut self) {
        self.stop();
    }
}
