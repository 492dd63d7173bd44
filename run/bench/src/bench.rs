//! The bench.

use crate::error::BenchError;
use crate::limits::{Limits, Source};
use crate::sample::Sample;
use crate::work::BenchWork;
use aster_channel::ChannelStats;
use aster_device::control::{AccessCounts, Answer, ControlWord, Filter};
use aster_device::profile::{Profile, RestrictProfile};
use aster_device::{ChannelHardware, OneChannel, Pieces};
use aster_events::Recorder;
use aster_exec::Exec;
use aster_flash::Lun;
use aster_nand::NandInspect;
use aster_ports::channel::BusTap;
use aster_ports::dram::Dram;
use aster_ports::flash::{Feature, FlashOp, FlashPort, FlashRequest, FlashStatus, Outcome};
use aster_units::{Content, Duration, Geometry, Instant, LunIndex, RowAddr};
use aster_wire::onfi::command_set::ReadRetry;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The most requests in flight of a bench.
pub const DEPTH_MAX: u16 = 1024;

/// One channel under test.
pub struct Bench {
    channel: OneChannel,
    depth: u16,
    limits: Source,
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

    /// As [`Bench::power_on`], with a reader's own `pieces`. A `ChannelHardware` alone is enough.
    ///
    /// # Errors
    /// As [`Bench::power_on`], and when this bench can't have such channels.
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
        let channel = OneChannel::power_on(pieces, profile, depth, content, recorder)?;
        let limits = Source::new(channel.flash(), channel.bus());
        let bench = Bench { channel, depth, limits };
        bench.come_to_rest();
        match bench.channel.take_fault() {
            Some(fault) => Err(BenchError::BringUp(fault)),
            None => Ok(bench),
        }
    }

    /// The bench's clock.
    pub fn now(&self) -> Instant {
        self.channel.exec().now()
    }
    /// The executor, for callers that inject their own requests.
    pub fn exec(&self) -> &Exec {
        self.channel.exec()
    }
    /// The port at I3 where requests are injected.
    pub fn requests(&self) -> &Rc<FlashPort> {
        self.channel.requests()
    }
    /// The page buffers: as many as requests in flight.
    pub fn dram(&self) -> &Dram {
        self.channel.dram()
    }
    /// The array behind the channel.
    pub fn geometry(&self) -> &Geometry {
        self.channel.geometry()
    }
    /// How the bench stores page content.
    pub fn content(&self) -> Content {
        self.channel.content()
    }
    /// Inspects the cells, and damages them on purpose.
    pub fn nand(&self) -> &NandInspect {
        self.channel.nand()
    }
    /// The channel's statistics.
    pub fn stats(&self) -> ChannelStats {
        self.channel.stats()
    }
    /// Segments sent down the control path, by kind; `None` if the controller has none.
    pub fn access_counts(&self) -> Option<AccessCounts> {
        match self.ask(&ControlWord::Statistics) {
            Answer::Statistics(counts) => Some(counts),
            _ => None,
        }
    }
    /// Sends an administrative control word down the control path (C18). It is refused if the controller has
    /// none.
    pub fn ask(&self, word: &ControlWord) -> Answer {
        self.channel.ask(word)
    }
    /// Inserts a filter into the control path, after the existing ones (C16). Returns false when the
    /// controller has no control path.
    pub fn insert_filter(&self, filter: Box<dyn Filter>) -> bool {
        self.channel.insert_filter(filter)
    }
    /// Shows the channel's bus activity to `tap` from now on.
    pub fn set_tap(&self, tap: Option<Box<dyn BusTap>>) {
        self.channel.set_tap(tap);
    }
    /// The most transfers per second on the data bus.
    pub fn transfers_per_second(&self) -> f64 {
        self.limits.transfers_per_second()
    }
    /// Runs a flash operation of a reader's own on LUN `slot / ways` behind chip enable `slot % ways`, and
    /// returns its result. Nothing else may be in flight on that LUN.
    ///
    /// # Panics
    /// When there is no such LUN, or the operation waits for something that never comes.
    pub fn operate<T: 'static, F: Future<Output = T> + 'static>(
        &self,
        slot: usize,
        operation: impl FnOnce(Lun) -> F,
    ) -> T {
        let lun = self.channel.lun(slot);
        let result = Rc::new(RefCell::new(None));
        let (given, running) = (Rc::clone(&result), operation(lun));
        self.channel.core().spawn(async move {
            let value = running.await;
            *given.borrow_mut() = Some(value);
        });
        self.come_to_rest();
        let value = result.borrow_mut().take();
        value.expect("the operation has ended, or waits for something that never comes")
    }
    /// Sets the age of the cells in hours; it can't be reduced.
    pub fn set_age_hours(&self, hours: u32) {
        self.nand().set_age_hours(hours).expect("a bench has no image that couldn't be written");
    }

    /// Makes later reads use row `level` of the packages' level table: READ RETRY (B31). SET FEATURES goes to
    /// each chip enable through the controller, and GET FEATURES reads it back. Nothing may be in flight.
    ///
    /// # Errors
    /// When the packages have no such level, or a request fails.
    pub fn set_read_level(&self, level: u8) -> Result<(), BenchError> {
        let table = self.channel.flash().variant.commands.read_retry;
        let Some(ReadRetry { feature: address, .. }) = table.filter(|table| level < table.levels) else {
            let rows = table.map_or(0, |table| table.levels);
            return Err(BenchError::Work(format!(
                "read level {level}: the level table of this package has {rows} rows"
            )));
        };
        let feature = Feature { address, value: u32::from(level) };
        for lun in (0..u32::from(self.geometry().ways)).map(LunIndex) {
            self.request(FlashRequest::of_feature(FlashOp::SetFeatures, lun, RowAddr(0), feature))?;
            let asked = FlashRequest::of_feature(FlashOp::GetFeatures, lun, RowAddr(0), feature);
            let found = self.request(asked)?.feature;
            if found != feature.value {
                return Err(BenchError::Work(format!("read level {level}: the package kept level {found}")));
            }
        }
        Ok(())
    }

    /// Sends one request of one target, waits until nothing is in flight, and returns the outcome. Nothing
    /// else may be in flight.
    ///
    /// # Errors
    /// When the controller could not carry it out.
    pub fn request(&self, request: FlashRequest) -> Result<Outcome, BenchError> {
        let tag = self.requests().submit(request).expect("nothing is in flight");
        self.come_to_rest();
        let [outcome, ..] = self.requests().try_take(tag).expect("the controller has answered");
        if outcome.status == FlashStatus::Error {
            let fault = self.requests().take_fault(request.lun);
            let why = fault.map_or("it was not carried out".to_owned(), |fault| fault.to_string());
            return Err(BenchError::Work(format!("{}: {why}", request.phase.name())));
        }
        Ok(outcome)
    }
    /// The number of page buffers, which is the most requests in flight.
    pub(crate) fn depth(&self) -> u16 {
        self.depth
    }
    /// The channel under test.
    pub(crate) fn channel(&self) -> &OneChannel {
        &self.channel
    }

    /// Lets time pass until everything has come to rest.
    fn come_to_rest(&self) {
        while let Some(next) = self.exec().next_deadline() {
            self.exec().advance_to(next);
        }
    }
    /// Lets time pass until nothing is in flight. Calls `each` with every sample; if it returns `false`,
    /// `stop` is set.
    pub(crate) fn rest(
        &self,
        samples: &RefCell<Vec<Sample>>,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(&Sample) -> bool,
    ) {
        while let Some(next) = self.exec().next_deadline() {
            self.exec().advance_to(next);
            for sample in samples.borrow_mut().drain(..) {
                if !each(&sample) {
                    stop.set(true);
                }
            }
        }
    }
    /// The bounds of `work` on this bench, with any controller.
    pub fn limits(&self, work: &BenchWork) -> Limits {
        self.limits.of(work, self.depth)
    }
}

/// Makes `profile` drive its data bus at `mt_s` million transfers per second: slower than its timing mode
/// allows if necessary, or in the slowest mode of its interface that is fast enough.
///
/// # Errors
/// When no mode is fast enough.
pub fn set_rate(profile: &mut Profile, mt_s: u32) -> Result<(), BenchError> {
    let mut tried = profile.clone();
    tried.channel.rate_mt_s = Some(mt_s.max(1));
    let allowed = Duration::of_transfer(2, u64::from(mt_s.max(1)) * 1_000_000);
    let own = profile.channel.timing_mode;
    for mode in [own].into_iter().chain(0..=MODE_MAX) {
        tried.channel.timing_mode = mode;
        if OneChannel::bus_timing(&tried).is_ok_and(|bus| bus.t_pair_out.max(bus.t_pair_in) <= allowed) {
            *profile = tried;
            return Ok(());
        }
    }
    Err(BenchError::Work(format!("{mt_s} MT/s: no timing mode of the profile's data interface is so fast")))
}

/// The highest timing mode number of any data interface (ONFI 5.1 §4).
const MODE_MAX: u8 = 10;

/// The profile with one channel of `luns` LUNs and no restriction.
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
    profile.channel.lanes = None;
    profile.array_geometry().validate().map_err(|error| BenchError::Work(format!("{luns} LUNs: {error}")))?;
    Ok(profile)
}
