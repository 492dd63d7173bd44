//! A package behind one chip enable: data bursts and the [`Package`] port. The latches are in
//! [`crate::command`].

use crate::bus::Waits;
use crate::config::NandConfig;
use crate::features::Features;
use crate::identify;
use crate::lun::{LunModel, Refusal, Started};
use crate::phase::{BusPhase, Loading, Prefix, Target, View};
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Recorder};
use aster_ports::package::{
    BurstTiming, CommandTimes, DataIn, DataOut, Package, ProtocolError, Shown, StatusTimes,
};
use aster_txn::Latch;
use aster_units::{Duration, Instant, LunAddr, RowFormat};
use aster_wire::onfi::command;
use core::cell::Cell;

/// What data out reads, unless a status command has come in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// Nothing has been requested.
    Nothing,
    /// The page register of the selected LUN.
    Page,
    /// The target's answer: identification, parameters, features.
    Answer,
}

/// The most status bytes that one burst may fetch: READ STATUS repeats its byte as long as the host
/// strobes (ONFI 5.1 §5.13).
const STATUS_BYTES_MAX: usize = 64;

/// One NAND package: the LUNs behind a chip enable with their command decoder.
pub struct NandPackage {
    pub(crate) config: Rc<NandConfig>,
    pub(crate) place: LunAddr,
    pub(crate) luns: Vec<LunModel>,
    pub(crate) rows: RowFormat,
    pub(crate) waits: Waits,
    pub(crate) features: Features,
    pub(crate) phase: BusPhase,
    pub(crate) view: View,
    pub(crate) source: Source,
    /// The prefix that waits for the first cycle after it, and the prefix of the command in progress.
    pub(crate) prefix: Prefix,
    pub(crate) mode: Prefix,
    /// The first cycle latched last, for errors.
    pub(crate) command: u8,
    /// The LUN that was addressed last, for which READ STATUS answers.
    pub(crate) addressed: u8,
    /// The LUN whose register drives data out; `None` after another LUN was addressed.
    pub(crate) selected: Option<u8>,
    pub(crate) answer: Vec<u8>,
    pub(crate) answer_at: usize,
    /// The answer is register data (identification or a feature), not a parameter page.
    pub(crate) answer_twice: bool,
    status: [u8; STATUS_BYTES_MAX],
    recorder: Recorder,
    pub(crate) enabled: bool,
    pub(crate) last_seen: Instant,
    power: Rc<Power>,
}

/// What the packages of an array share: how many exist, and when they lost power.
#[derive(Debug, Default)]
pub(crate) struct Power {
    pub packages: Cell<u32>,
    pub off_at: Cell<Option<Instant>>,
}

impl NandPackage {
    pub(crate) fn new(
        config: &Rc<NandConfig>,
        place: LunAddr,
        luns: Vec<LunModel>,
        recorder: &Recorder,
        power: &Rc<Power>,
    ) -> Self {
        power.packages.set(power.packages.get() + 1);
        NandPackage {
            config: config.clone(),
            place,
            rows: config.geometry.row_format(),
            selected: (luns.len() == 1).then_some(0),
            luns,
            waits: Waits::new(&config.bus.power_on()),
            features: Features::power_on(config),
            phase: BusPhase::Idle,
            view: View::Data,
            source: Source::Nothing,
            prefix: Prefix::Plain,
            mode: Prefix::Plain,
            command: command::RESET,
            addressed: 0,
            answer: Vec::with_capacity(1024),
            answer_at: 0,
            answer_twice: false,
            status: [0; STATUS_BYTES_MAX],
            recorder: recorder.clone(),
            enabled: false,
            last_seen: Instant::ZERO,
            power: power.clone(),
        }
    }

    /// Reports that a LUN's array has started to work.
    #[inline]
    pub(crate) fn report(&self, at: Instant, lun: u8, (work, takes): Started) {
        self.recorder.emit(at, || Event::ArrayBusy {
            channel: self.place.channel,
            way: self.place.way,
            lun,
            kind: work.kind(),
            picoseconds: takes.as_picos(),
        });
    }

    /// The port's error for a cycle that a LUN has refused.
    #[cold]
    pub(crate) fn refused(&self, why: Refusal, Target { lun, at }: Target, command: u8) -> ProtocolError {
        match why {
            Refusal::Busy => ProtocolError::Busy { lun, command },
            Refusal::Unexpected => ProtocolError::UnexpectedCommand { command },
            Refusal::Planes => {
                ProtocolError::Planes { row: self.config.geometry.row(lun, at.block, at.page) }
            }
        }
    }

    #[inline]
    fn check_mode(&self, timing: &BurstTiming) -> Result<(), ProtocolError> {
        if !self.enabled {
            return Err(ProtocolError::NotSelected);
        }
        if timing.mode == self.waits.mode() { Ok(()) } else { Err(ProtocolError::DataMode) }
    }

    /// The LUN that drives data out, and since when it has been ready. It must be ready and have data.
    #[inline]
    fn source_lun(&mut self, at: Instant) -> Result<(u8, Instant), ProtocolError> {
        let lun = self.selected.ok_or(ProtocolError::UnexpectedData)?;
        let since = self.need_ready(at, lun, self.command)?;
        if self.luns[usize::from(lun)].has_data() {
            Ok((lun, since))
        } else {
            Err(ProtocolError::UnexpectedData)
        }
    }

    fn status_out<R>(
        &mut self,
        timing: BurstTiming,
        (lun, plane): (u8, Option<u8>),
        length: u32,
        take: impl FnOnce(&DataOut<'_>) -> R,
    ) -> Result<R, ProtocolError> {
        self.waits.before_data_out(timing.first, None)?;
        if length as usize > STATUS_BYTES_MAX {
            return Err(ProtocolError::Length { available: STATUS_BYTES_MAX as u32, requested: length });
        }
        let status = self.luns[usize::from(lun)].status(timing.first, plane).0;
        self.waits.data_out(timing.last);
        let out = &mut self.status[..length as usize];
        out.fill(status);
        Ok(take(&DataOut::Bytes(out)))
    }

    fn answer_out<R>(
        &mut self,
        timing: BurstTiming,
        length: u32,
        take: impl FnOnce(&DataOut<'_>) -> R,
    ) -> Result<R, ProtocolError> {
        let ready = self.need_ready(timing.first, 0, self.command)?;
        for lun in 1..self.luns.len() as u8 {
            self.need_ready(timing.first, lun, self.command)?;
        }
        self.waits.before_data_out(timing.first, Some(ready))?;
        let available = (self.answer.len() - self.answer_at) as u32;
        if length > available {
            return Err(ProtocolError::Length { available, requested: length });
        }
        self.waits.data_out(timing.last);
        let from = self.answer_at;
        self.answer_at += length as usize;
        Ok(take(&DataOut::Bytes(&self.answer[from..self.answer_at])))
    }

    #[inline]
    fn page_out<R>(
        &mut self,
        timing: BurstTiming,
        length: u32,
        take: impl FnOnce(&DataOut<'_>) -> R,
    ) -> Result<R, ProtocolError> {
        let (lun, ready) = self.source_lun(timing.first)?;
        self.waits.before_data_out(timing.first, Some(ready))?;
        let shown = self.luns[usize::from(lun)].data_out(length, &self.config, take)?;
        self.waits.data_out(timing.last);
        Ok(shown)
    }

    fn page_in(&mut self, loading: Loading, length: u32, data: DataIn<'_>) -> Result<(), ProtocolError> {
        self.luns[usize::from(loading.target.lun)].data_in(&loading, length, data, &self.config)
    }

    fn feature_in(
        &mut self,
        timing: BurstTiming,
        address: u8,
        length: u32,
        data: DataIn<'_>,
    ) -> Result<(), ProtocolError> {
        let DataIn::Bytes(bytes) = data else { return Err(ProtocolError::UnexpectedData) };
        let Ok(value) = bytes.try_into() else {
            return Err(ProtocolError::Length { available: 4, requested: length });
        };
        self.phase = BusPhase::Idle;
        let switched = self.features.set(&self.config, address, value);
        let level_mv = self.config.variant.level_mv(self.features.read_level());
        self.luns.iter_mut().for_each(|lun| lun.set_read_level(level_mv));
        self.waits.confirmed(timing.last);
        self.all_busy(timing.last, self.config.timing.features);
        if let Some(mode) = switched {
            self.waits.switch(&mode, timing.last);
        }
        Ok(())
    }

    /// ODT CONFIGURE: M0, M1, Rtt1, Rtt2 of a LUN (ONFI 5.1 §5.25).
    fn odt_in(
        &mut self,
        timing: BurstTiming,
        lun: u8,
        length: u32,
        data: DataIn<'_>,
    ) -> Result<(), ProtocolError> {
        let DataIn::Bytes(bytes) = data else { return Err(ProtocolError::UnexpectedData) };
        let Ok(value) = bytes.try_into() else {
            return Err(ProtocolError::Length { available: 4, requested: length });
        };
        self.phase = BusPhase::Idle;
        self.features.set_termination(lun, value);
        self.waits.confirmed(timing.last);
        Ok(())
    }

    /// What ODT CONFIGURE has set for a LUN: M0, M1, Rtt1, Rtt2; zeroes after power-on. `None` if there
    /// is no such LUN.
    pub fn termination(&self, lun: u8) -> Option<[u8; 4]> {
        self.features.termination(lun)
    }

    /// Makes every LUN busy, for a command to the target.
    pub(crate) fn all_busy(&mut self, at: Instant, takes: Duration) {
        for lun in 0..self.luns.len() {
            let started = self.luns[lun].start_other(at, takes);
            self.report(at, lun as u8, started);
        }
    }

    pub(crate) fn unique_id(&mut self) {
        identify::read_unique_id(&self.config, self.place, &mut self.answer);
    }
}

impl Package for NandPackage {
    #[inline]
    fn select(&mut self, at: Instant, on: bool) -> Result<(), ProtocolError> {
        if on == self.enabled {
            return Ok(());
        }
        if on {
            self.waits.before_select(at)?;
        } else {
            self.waits.released(at);
        }
        self.enabled = on;
        self.last_seen = self.last_seen.max(at);
        Ok(())
    }

    #[inline]
    fn latch(&mut self, at: Instant, latch: Latch) -> Result<(), ProtocolError> {
        if !self.enabled {
            return Err(ProtocolError::NotSelected);
        }
        self.last_seen = at;
        let done = match self.waits.before_latch(at) {
            Ok(()) => match latch {
                Latch::Command(value) => self.on_command(at, value),
                Latch::Address(value) => self.on_address(at, value),
            },
            Err(error) => Err(error),
        };
        if done.is_err() {
            // Discards what has been latched of a command so far. The next first cycle starts over.
            self.phase = BusPhase::Idle;
        }
        done
    }

    #[inline]
    fn addresses(
        &mut self,
        first: Instant,
        cycle: Duration,
        values: &[u8],
    ) -> Result<(), (usize, ProtocolError)> {
        // Nothing happens between the cycles of one address. If the package takes all of them, only the
        // last latch matters.
        if self.enabled && self.waits.before_latch(first).is_ok() && self.takes_addresses(values.len()) {
            let last = first + cycle * (values.len() as u64 - 1);
            self.last_seen = last;
            return self.on_addresses(last, values).map_err(|error| {
                self.phase = BusPhase::Idle;
                (values.len() - 1, error)
            });
        }
        for (i, &value) in values.iter().enumerate() {
            self.latch(first + cycle * i as u64, Latch::Address(value)).map_err(|error| (i, error))?;
        }
        Ok(())
    }

    #[inline]
    fn command(&mut self, at: &CommandTimes, first: u8, addresses: &[u8], second: u8) -> bool {
        let taken = self.enabled && self.command_at_once(at, first, addresses, second);
        if taken {
            self.last_seen = at.second;
        }
        taken
    }

    #[inline]
    fn read_status(&mut self, at: &StatusTimes) -> Option<u8> {
        if self.enabled {
            return None;
        }
        let status = self.status_at_once(at)?;
        self.status[0] = status;
        self.last_seen = at.burst.last.max(at.released);
        Some(status)
    }

    #[inline]
    fn data_out<R>(
        &mut self,
        timing: BurstTiming,
        length: u32,
        take: impl FnOnce(&DataOut<'_>) -> R,
    ) -> Result<R, ProtocolError> {
        self.check_mode(&timing)?;
        self.last_seen = timing.last;
        // Data end the wait for an address after 00h. In the middle of a command, they discard the
        // command.
        let between = matches!(self.phase, BusPhase::Idle | BusPhase::Returning);
        self.phase = BusPhase::Idle;
        if !between {
            return Err(ProtocolError::UnexpectedData);
        }
        match (self.view, self.source) {
            (View::Status(lun, plane), _) => self.status_out(timing, (lun, plane), length, take),
            (View::Data, Source::Page) => self.page_out(timing, length, take),
            (View::Data, Source::Answer) => self.answer_out(timing, length, take),
            (View::Data, Source::Nothing) => Err(ProtocolError::UnexpectedData),
        }
    }

    fn shows(&mut self, at: Instant) -> Option<Shown<'_>> {
        if !self.enabled || !matches!(self.phase, BusPhase::Idle | BusPhase::Returning) {
            return None;
        }
        match (self.view, self.source) {
            (View::Status(lun, plane), _) => {
                self.status.fill(self.luns[usize::from(lun)].status(at, plane).0);
                Some(Shown { data: DataOut::Bytes(&self.status), twice: true })
            }
            (View::Data, Source::Page) => {
                let (lun, _) = self.source_lun(at).ok()?;
                Some(Shown { data: self.luns[usize::from(lun)].shown(&self.config), twice: false })
            }
            (View::Data, Source::Answer) => {
                let left = self.answer.get(self.answer_at..)?;
                Some(Shown { data: DataOut::Bytes(left), twice: self.answer_twice })
            }
            (View::Data, Source::Nothing) => None,
        }
    }

    fn takes_twice(&self) -> bool {
        matches!(self.phase, BusPhase::FeatureData { .. } | BusPhase::OdtData { .. })
    }

    #[inline]
    fn data_in(&mut self, timing: BurstTiming, length: u32, data: DataIn<'_>) -> Result<(), ProtocolError> {
        self.check_mode(&timing)?;
        self.last_seen = timing.last;
        let done = match (self.waits.before_data_in(timing.first), self.phase) {
            (Err(error), _) => Err(error),
            (Ok(()), BusPhase::Loading(loading)) => self.page_in(loading, length, data),
            (Ok(()), BusPhase::OdtData { lun }) => self.odt_in(timing, lun, length, data),
            (Ok(()), BusPhase::FeatureData { address }) => self.feature_in(timing, address, length, data),
            _ => Err(ProtocolError::UnexpectedData),
        };
        if done.is_err() {
            // Discards the command that the data belonged to.
            self.phase = BusPhase::Idle;
        }
        done
    }

    fn ready(&self, at: Instant) -> bool {
        self.luns.iter().all(|lun| lun.ready_from(at) == at)
    }
    fn ready_from(&self, at: Instant) -> Instant {
        self.luns.iter().map(|lun| lun.ready_from(at)).fold(at, Instant::max)
    }
}

impl Drop for NandPackage {
    /// The package loses power: at the time set in [`crate::NandCells::power_off`], else at the last call
    /// on the bus.
    fn drop(&mut self) {
        let at = self.power.off_at.get().unwrap_or(self.last_seen);
        self.luns.iter_mut().for_each(|lun| lun.cut(at));
        self.power.packages.set(self.power.packages.get() - 1);
    }
}
