//! The temperature sensor, as the drive's firmware reads it (H1): while the drive works, and when its host
//! turns to it after a pause. An idle drive has nothing to wake up for. A hot drive slows itself down (H4).

use crate::channels::ChannelEngine;
use crate::host_link::HostLink;
use crate::wear::Health;
use aster_board::{SensorConfig, Slowness, Temperatures, Thermal, Work};
use aster_events::{Event, Recorder};
use aster_exec::{Core, Exec, Handler, HandlerId};
use aster_nand::NandInspect;
use aster_ports::flash::FlashPort;
use aster_units::Duration;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What the sensor has told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThermalStats {
    /// The latest reading, in kelvins: of the hottest part.
    pub kelvins: u16,
    /// The highest since power-on.
    pub highest_kelvins: u16,
    /// The highest reading of the controller's junction since power-on, if that has a sensor.
    pub highest_junction_kelvins: Option<u16>,
    /// Whether the drive slows itself down.
    pub is_throttled: bool,
    /// How often it has begun to slow itself down.
    pub throttlings: u64,
    /// How long it did, all together. A drive that was left alone counts until it had cooled.
    pub throttled: Duration,
    /// How long it worked as from the critical temperature on, by the readings.
    pub critical: Duration,
}

/// Where the drive counts its work.
pub(crate) struct Counters {
    pub(crate) nand: NandInspect,
    pub(crate) channels: Vec<Rc<dyn ChannelEngine>>,
    pub(crate) link: Rc<HostLink>,
    /// The cores that give off heat.
    pub(crate) cores: Vec<Core>,
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
            cycles: self.cores.iter().map(|core| core.stats().cycles).sum(),
        }
    }
}

struct State {
    thermal: Thermal,
    work: Work,
    slowness: Slowness,
    /// How long it was at the warning threshold or above it, and at the critical one, by the readings.
    hot: [Duration; 2],
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
        let sensors = shown(thermal.now());
        let stats = ThermalStats {
            kelvins: sensors[0],
            highest_kelvins: sensors[0],
            highest_junction_kelvins: config.board.junction.map(|_| sensors[1]),
            is_throttled: false,
            throttlings: 0,
            throttled: Duration::ZERO,
            critical: Duration::ZERO,
        };
        let (slowness, hot) = (Slowness::None, [Duration::ZERO; 2]);
        let sensor = Rc::new(Sensor {
            exec: exec.clone(),
            config,
            health: Rc::clone(health),
            flash,
            recorder: recorder.clone(),
            handler: Cell::new(None),
            is_due: Cell::new(false),
            state: RefCell::new(State { thermal, work: counters.work(), slowness, hot, stats }),
            counters,
        });
        sensor.handler.set(Some(exec.register(sensor.clone())));
        health.set_reading(sensors, [0; 2]);
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
        let (kelvins, sensors, minutes, worked, changed) = {
            let state = &mut *self.state.borrow_mut();
            let elapsed = now.since(state.thermal.at());
            if elapsed.is_zero() {
                return false;
            }
            let power = heat.power(&state.work, &work, elapsed);
            let (before, was) = (state.slowness, state.thermal.now().hottest());
            let until = |kelvins| state.thermal.cooled_within(kelvins, power, elapsed).unwrap_or(elapsed);
            if before != Slowness::None {
                state.stats.throttled += until(throttling.cooled);
            }
            if before == Slowness::Heavy {
                state.stats.critical += until(throttling.alarm);
            }
            let critical = throttling.critical.map_or(f64::INFINITY, |critical| critical.kelvins);
            for (hot, threshold) in state.hot.iter_mut().zip([throttling.alarm, critical]) {
                if was >= threshold {
                    *hot += until(threshold);
                }
            }
            state.thermal.look(now, power);
            state.slowness = throttling.at(before, state.thermal.now().hottest());
            state.stats.is_throttled = state.slowness != Slowness::None;
            let begins = state.stats.is_throttled && before == Slowness::None;
            state.stats.throttlings += u64::from(begins);
            let worked = work.goes_beyond(&state.work);
            state.work = work;
            let sensors = shown(state.thermal.now());
            let kelvins = sensors[0].max(sensors[1]);
            state.stats.kelvins = kelvins;
            state.stats.highest_kelvins = state.stats.highest_kelvins.max(kelvins);
            if let Some(highest) = &mut state.stats.highest_junction_kelvins {
                *highest = sensors[1].max(*highest);
            }
            let minutes = state.hot.map(|hot| (hot.as_picos() / PICOS_PER_MINUTE) as u32);
            (kelvins, sensors, minutes, worked, (state.slowness != before).then_some(state.slowness))
        };
        let throttled = self.stats().is_throttled;
        self.recorder.emit(now, || Event::TemperatureRead { kelvins, throttled });
        if let Some(slowness) = changed {
            self.flash.limit_dies(throttling.dies(slowness));
        }
        self.health.set_reading(sensors, minutes);
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

const PICOS_PER_MINUTE: u64 = 60 * 1_000_000_000_000;

/// What the sensors show: the board's, and the controller's, or 0 if it has none.
fn shown(now: Temperatures) -> [u16; 2] {
    [now.board.round() as u16, now.junction.map_or(0, |junction| junction.round() as u16)]
}
