//! A bench: one channel with its packages and its controller, without FTL, NVMe and host. Requests are
//! injected at the controller (B22), so that what is measured is the controller.

mod limits;
mod operations;
mod station;
mod work;

pub use aster_ports::flash::{FlashRequest, FlashStatus, Outcome, Phase, Target};
pub use limits::Limits;
pub use operations::FlashOperation;
pub use work::{Kind, Operation, Pattern, Prepared, Ran, Sample, Work};

use crate::channels::ChannelHardware;
use crate::configure::{self, BuildError, OOB_BYTES};
use crate::control::{AccessCounts, Answer, ControlWord, Filter, StatisticsFilter};
use crate::pieces::Pieces;
use crate::profile::{ControllerName, Profile, RestrictProfile};
use crate::wiring::{Channels, Surroundings};
use aster_channel::ChannelStats;
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_flash::Lun;
use aster_nand::{NandArray, NandInspect};
use aster_ports::channel::BusTap;
use aster_ports::cores::Interrupt;
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::flash::{Feature, FlashPort};
use aster_ports::resource::Bandwidth;
use aster_sched::spawn_workers;
use aster_units::{Content, Duration, Geometry, Instant, LunIndex, RowAddr};
use aster_wire::onfi::command_set::ReadRetry;
use std::cell::RefCell;
use std::rc::Rc;

/// Requests that a bench has in flight at most.
pub const DEPTH_MAX: u16 = 1024;

/// Why a bench can't measure.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The profile doesn't make a bench.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The packages didn't come up.
    #[error("{0}")]
    BringUp(String),
    /// The work can't be done on these packages.
    #[error("{0}")]
    Work(String),
}

/// One channel under test.
pub struct Bench {
    exec: Exec,
    content: Content,
    geometry: Geometry,
    dram: SharedDram,
    depth: u16,
    core: Core,
    channels: Channels,
    inspect: NandInspect,
    requests: Rc<FlashPort>,
    limits: limits::Source,
    recorder: Recorder,
}

impl Bench {
    /// A bench of `profile`'s packages and controller with `luns` LUNs on its one channel, whatever the
    /// profile's own number, and at most `depth` requests in flight. The packages have been brought up.
    /// `content` overrides the profile's.
    ///
    /// # Errors
    /// When the profile doesn't make such a bench.
    pub fn power_on(
        profile: &Profile,
        luns: u8,
        depth: u16,
        content: Option<Content>,
        recorder: &Recorder,
    ) -> Result<Self, BenchError> {
        Bench::power_on_with(ChannelHardware::Timed, profile, luns, depth, content, recorder)
    }

    /// As [`Bench::power_on`], with a reader's own `pieces`; channels alone will do.
    ///
    /// # Errors
    /// Also when such channels can't be those of this bench.
    pub fn power_on_with(
        pieces: impl Into<Pieces>,
        profile: &Profile,
        luns: u8,
        depth: u16,
        content: Option<Content>,
        recorder: &Recorder,
    ) -> Result<Self, BenchError> {
        if !(1..=DEPTH_MAX).contains(&depth) {
            return Err(BenchError::Work(format!(
                "{depth} requests in flight: must be from 1 to {DEPTH_MAX}"
            )));
        }
        let profile = &of_one_channel(profile, luns)?;
        let content = content.unwrap_or(profile.content.into());
        let geometry = profile.array_geometry();
        let exec = Exec::new();
        let mut array =
            NandArray::new(configure::nand(profile, content)?, None, recorder).map_err(BuildError::from)?;
        let dram = Dram::new(content, geometry.sectors_per_page(), OOB_BYTES, u32::from(depth), 1, 0);
        let scratch = dram.borrow().metadata_buffer(0);
        let memory = Bandwidth::new(profile.board.dram_mb_per_s * 1_000_000);
        let core = Core::new(&exec, configure::frequency(profile)?);
        let requests = FlashPort::new(&exec, geometry.total_luns(), depth, Interrupt::default());
        let around = Surroundings {
            exec: &exec,
            profile,
            content,
            geometry,
            dram: &dram,
            scratch,
            buses: &configure::buses(profile, &memory).1,
            completions: None,
            core: &core,
            controllers: &requests,
            recorder,
        };
        let Pieces { hardware, tasks, arbiter, .. } = pieces.into();
        let channels = Channels::build(&around, vec![array.take_packages(0)], &hardware, arbiter.as_ref())?;
        if profile.channel.controller == ControllerName::Software {
            let (tasks, software) =
                (configure::tasks(profile, tasks).into(), channels.software(&core, geometry, recorder));
            spawn_workers(&core, &channels.luns, &requests, &tasks, &channels.gate, recorder, software);
        }
        channels.bring_up(&around);
        if profile.channel.controller == ControllerName::Asynchronous {
            channels.fixed.iter().for_each(|controller| {
                controller.insert_filter(Box::new(StatisticsFilter::default()));
            });
        }
        let bench = Bench {
            content,
            geometry,
            dram,
            depth,
            channels,
            core,
            inspect: array.inspect(),
            requests,
            limits: limits::Source::new(profile)?,
            recorder: recorder.clone(),
            exec,
        };
        while let Some(next) = bench.exec.next_deadline() {
            bench.exec.advance_to(next);
        }
        let fault = bench.channels.fault.borrow_mut().take();
        match fault {
            Some(fault) => Err(BenchError::BringUp(fault)),
            None => Ok(bench),
        }
    }

    /// The bench's clock.
    pub fn now(&self) -> Instant {
        self.exec.now()
    }
    /// The executor, for whoever injects requests of their own.
    pub fn exec(&self) -> &Exec {
        &self.exec
    }
    /// Where requests are injected: I3.
    pub fn requests(&self) -> &Rc<FlashPort> {
        &self.requests
    }
    /// The page buffers: as many as requests in flight.
    pub fn dram(&self) -> &Dram {
        &self.dram
    }
    /// The array behind the channel.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    /// How page content is kept.
    pub fn content(&self) -> Content {
        self.content
    }
    /// Looks at the cells, and breaks them on purpose.
    pub fn nand(&self) -> &NandInspect {
        &self.inspect
    }
    /// What the channel has done.
    pub fn stats(&self) -> ChannelStats {
        self.channels.engines[0].stats()
    }
    /// Segments that went down the control path by kind; `None` when the controller has none.
    pub fn access_counts(&self) -> Option<AccessCounts> {
        match self.ask(&ControlWord::Statistics) {
            Answer::Statistics(counts) => Some(counts),
            _ => None,
        }
    }
    /// Sends an administrative control word down the control path (C18). Refused where the controller has
    /// none.
    pub fn ask(&self, word: &ControlWord) -> Answer {
        self.channels.fixed.first().map_or(Answer::Refused, |controller| controller.ask(word))
    }
    /// Puts a filter into the control path, behind those that are there (C16). False when the controller has
    /// none.
    pub fn insert_filter(&self, filter: Box<dyn Filter>) -> bool {
        self.channels.fixed.first().is_some_and(|controller| controller.insert_filter(filter))
    }
    /// Shows the channel's bus activity to `tap` from now on.
    pub fn set_tap(&self, tap: Option<Box<dyn BusTap>>) {
        self.channels.engines[0].set_tap(tap);
    }
    /// Transfers that the data bus makes a second at most.
    pub fn transfers_per_second(&self) -> f64 {
        self.limits.transfers_per_second()
    }
    /// Runs a flash operation of a reader's own on LUN `slot / ways` behind chip enable `slot % ways`, and
    /// gives what it gives. Nothing else must be in flight on that LUN.
    ///
    /// # Panics
    /// When there is no such LUN, or the operation waits for something that never comes.
    pub fn operate<T: 'static, F: Future<Output = T> + 'static>(
        &self,
        slot: usize,
        operation: impl FnOnce(Lun) -> F,
    ) -> T {
        let ways = usize::from(self.geometry.ways);
        assert!(slot < self.geometry.luns_per_channel() as usize, "the channel has no LUN {slot}");
        let flash = &self.channels.flash;
        let lun = Lun::new(&self.core, &self.channels.ports[0], flash, slot % ways, slot / ways)
            .reporting_to(&self.recorder);
        let result = Rc::new(RefCell::new(None));
        let (given, running) = (Rc::clone(&result), operation(lun));
        self.core.spawn(async move {
            let value = running.await;
            *given.borrow_mut() = Some(value);
        });
        while let Some(next) = self.exec.next_deadline() {
            self.exec.advance_to(next);
        }
        let value = result.borrow_mut().take();
        value.expect("the operation has ended, or waits for something that never comes")
    }
    /// Lets hours pass for the charge in the cells; time never goes back.
    pub fn set_age_hours(&self, hours: u32) {
        self.inspect.set_age_hours(hours).expect("a bench has no image that couldn't be written");
    }

    /// Has the reads that follow use row `level` of the packages' level table: READ RETRY (B31). SET FEATURES
    /// goes to each chip enable through the controller, and GET FEATURES reads it back. Nothing may be in
    /// flight.
    ///
    /// # Errors
    /// When the packages have no such level, or a request fails.
    pub fn set_read_level(&self, level: u8) -> Result<(), BenchError> {
        let table = self.channels.flash.variant.commands.read_retry;
        let Some(ReadRetry { feature: address, .. }) = table.filter(|table| level < table.levels) else {
            let rows = table.map_or(0, |table| table.levels);
            return Err(BenchError::Work(format!(
                "read level {level}: the level table of this package has {rows} rows"
            )));
        };
        let feature = Feature { address, value: u32::from(level) };
        for lun in (0..u32::from(self.geometry.ways)).map(LunIndex) {
            self.request(FlashRequest::of_feature(Phase::SetFeatures, lun, RowAddr(0), feature))?;
            let asked = FlashRequest::of_feature(Phase::GetFeatures, lun, RowAddr(0), feature);
            let found = self.request(asked)?.feature;
            if found != feature.value {
                return Err(BenchError::Work(format!("read level {level}: the package kept level {found}")));
            }
        }
        Ok(())
    }

    /// Sends one request of one target, waits until everything has come to rest, and gives what became of it.
    /// Nothing else may be in flight.
    ///
    /// # Errors
    /// When the controller could not carry it out.
    pub fn request(&self, request: FlashRequest) -> Result<Outcome, BenchError> {
        let tag = self.requests.submit(request).expect("nothing is in flight");
        while let Some(next) = self.exec.next_deadline() {
            self.exec.advance_to(next);
        }
        let [outcome, ..] = self.requests.try_take(tag).expect("the controller has answered");
        if outcome.status == FlashStatus::Error {
            let fault = self.requests.take_fault(request.lun);
            let why = fault.map_or("it was not carried out".to_owned(), |fault| fault.to_string());
            return Err(BenchError::Work(format!("{}: {why}", request.phase.name())));
        }
        Ok(outcome)
    }
    /// What bounds `work` on this bench, whatever the controller.
    pub fn limits(&self, work: &Work) -> Limits {
        self.limits.of(work, self.depth)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

/// Has `profile` drive its data bus at `mt_s` million transfers a second: slower than its timing mode allows
/// if need be, or in the slowest mode of its interface that is fast enough.
///
/// # Errors
/// When no mode is.
pub fn set_rate(profile: &mut Profile, mt_s: u32) -> Result<(), BenchError> {
    let mut tried = profile.clone();
    tried.channel.rate_mt_s = Some(mt_s.max(1));
    let allowed = Duration::of_transfer(2, u64::from(mt_s.max(1)) * 1_000_000);
    let own = profile.channel.timing_mode;
    for mode in [own].into_iter().chain(0..=MODE_MAX) {
        tried.channel.timing_mode = mode;
        if configure::bus_timing(&tried).is_ok_and(|bus| bus.t_pair_out.max(bus.t_pair_in) <= allowed) {
            *profile = tried;
            return Ok(());
        }
    }
    Err(BenchError::Work(format!("{mt_s} MT/s: no timing mode of the profile's data interface is so fast")))
}

/// The highest timing mode number of any data interface (ONFI 5.1 §4).
const MODE_MAX: u8 = 10;

/// The profile with one channel of `luns` LUNs, and nothing restricted.
fn of_one_channel(profile: &Profile, luns: u8) -> Result<Profile, BenchError> {
    let mut profile = profile.clone();
    profile.restrict = RestrictProfile::default();
    let g = &mut profile.geometry;
    if luns == 0 || !luns.is_multiple_of(g.luns) {
        return Err(BenchError::Work(format!(
            "{luns} LUNs on the channel: must be a multiple of {}, as many as a chip enable has",
            g.luns
        )));
    }
    g.channels = 1;
    g.ways = luns / g.luns;
    profile.array_geometry().validate().map_err(|error| BenchError::Work(format!("{luns} LUNs: {error}")))?;
    Ok(profile)
}
