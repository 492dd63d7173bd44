//! The temperature sensor, as the drive's firmware reads it (H1): while the drive works, and when its host
//! turns to it after a pause. An idle drive has nothing to wake up for. A hot drive slows itself down (H4).

use crate::channels::ChannelEngine;
use crate::host_link::HostLink;
use crate::wear::Health;
use aster_board::{SensorConfig, Thermal, Work};
use aster_events::{Event, Recorder};
use aster_exec::{Exec, Handler, HandlerId};
use aster_nand::NandInspect;
use aster_ports::flash::FlashPort;
use aster_units::Duration;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What the sensor has told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThermalStats {
    /// The latest reading, in kelvins.
    pub kelvins: u16,
    /// The highest since power-on.
    pub highest_kelvins: u16,
    /// Whether the drive slows itself down.
    pub is_throttled: bool,
    /// How often it has begun to slow itself down.
    pub throttlings: u64,
    /// How long it did, all together. A drive that was left alone counts until it had cooled.
    pub throttled: Duration,
}

/// Where the drive counts its work.
pub(crate) struct Counters {
    pub(crate) nand: NandInspect,
    pub(crate) channels: Vec<Rc<dyn ChannelEngine>>,
    pub(crate) link: Rc<HostLink>,
}

impl Counters {
    fn work(&self) -> Work {
        let (nand, link) = (self.nand.totals_of_drive(), self.link.stats());
        Work {
            reads: nand.reads,
            programs: nand.programs,
            erases: nand.erases,
            bus_bytes: self.channels.iter().map(|channel| channel.stats().bytes).sum(),
            link_bytes: link.to_host + link.from_host,
        }
    }
}

struct State {
    thermal: Thermal,
    work: Work,
    stats: ThermalStats,
}

/// The sensor of a running drive.
pub(crate) struct Sensor {
    exec: Exec,
    config: SensorConfig,
    counters: Counters,
    health: Rc<Health>,
    /// Where requests to the flash are held back. They are counted by die already.
    flash: Rc<FlashPort>,
    recorder: Recorder,
    handler: Cell<Option<HandlerId>>,
    /// The next reading has its time.
    is_due: Cell<bool>,
    state: RefCell<State>,
}

impl Sensor {
    /// A drive that gets its power now and is as warm as the air. How long it was without, nobody has
    /// measured.
    pub(crate) fn start(
        exec: &Exec,
        config: SensorConfig,
        counters: Counters,
        health: &Rc<Health>,
        flash: Rc<FlashPort>,
        recorder: &Recorder,
    ) -> Rc<Self> {
        let thermal = Thermal::new(config.board, exec.now());
        let kelvins = rounded(thermal.kelvins());
        let none = Duration::from_picos(0);
        let stats = ThermalStats {
            kelvins,
            highest_kelvins: kelvins,
            is_throttled: false,
            throttlings: 0,
            throttled: none,
        };
        let sensor = Rc::new(Sensor {
            exec: exec.clone(),
            config,
            health: Rc::clone(health),
            flash,
            recorder: recorder.clone(),
            handler: Cell::new(None),
            is_due: Cell::new(false),
            state: RefCell::new(State { thermal, work: counters.work(), stats }),
            counters,
        });
        sensor.handler.set(Some(exec.register(sensor.clone())));
        health.set_temperature(kelvins);
        sensor.arm();
        sensor
    }
    /// The host has turned to the drive: there may be work from now on.
    pub(crate) fn host_is_here(&self) {
        if !self.is_due.get() {
            self.look();
            self.arm();
        }
    }
    pub(crate) fn stats(&self) -> ThermalStats {
        self.state.borrow().stats
    }
    fn arm(&self) {
        self.is_due.set(true);
        let handler = self.handler.get().expect("set at the start");
        self.exec.schedule(self.exec.now() + self.config.interval, handler, 0);
    }
    /// Reads the sensor. Returns whether the drive has worked since the reading before.
    fn look(&self) -> bool {
        let (now, work) = (self.exec.now(), self.counters.work());
        let SensorConfig { heat, throttling, .. } = self.config;
        let (kelvins, throttled, worked, changed) = {
            let state = &mut *self.state.borrow_mut();
            let elapsed = now.since(state.thermal.at());
            if elapsed.is_zero() {
                return false;
            }
            let watts = heat.watts(&state.work, &work, elapsed);
            let was_throttled = state.stats.is_throttled;
            if was_throttled {
                let cooled = state.thermal.cooled_after(throttling.cooled, watts).unwrap_or(elapsed);
                state.stats.throttled += cooled.min(elapsed);
            }
            state.thermal.look(now, watts);
            state.stats.is_throttled = throttling.is_on(was_throttled, state.thermal.kelvins());
            state.stats.throttlings += u64::from(state.stats.is_throttled && !was_throttled);
            let worked = std::mem::replace(&mut state.work, work) != work;
            let kelvins = rounded(state.thermal.kelvins());
            state.stats.kelvins = kelvins;
            state.stats.highest_kelvins = state.stats.highest_kelvins.max(kelvins);
            let throttled = state.stats.is_throttled;
            (kelvins, throttled, worked, (throttled != was_throttled).then_some(throttled))
        };
        self.recorder.emit(now, || Event::TemperatureRead { kelvins, throttled });
        if let Some(is_throttled) = changed {
            self.flash.limit_dies(is_throttled.then_some(throttling.dies));
        }
        self.health.set_temperature(kelvins);
        worked
    }
}

impl Handler for Sensor {
    fn fire(&self, _: u64) {
        // Readings end with the work, else they would keep an idle drive awake for ever. The drive may have
        // begun what takes longer than the time between two readings.
        let worked = self.look();
        let is_busy = || self.flash.room() < self.flash.depth();
        match worked || is_busy() {
            true => self.arm(),
            false => self.is_due.set(false),
        }
    }
}

fn rounded(kelvins: f64) -> u16 {
    kelvins.round() as u16
}
