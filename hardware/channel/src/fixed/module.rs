//! An operation module: the finite-state machine that carries out a request on one LUN (BABOL's Fig 4).

use super::config::FixedConfig;
use alloc::boxed::Box;
use aster_parties::{PlaneTurn, Segment, SegmentKind};
use aster_ports::channel::{TxnFault, TxnResult};
use aster_ports::flash::{
    FlashError, FlashOp, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Outcomes, Tag, Target,
};
use aster_units::{Duration, Instant, RowAddr};
use aster_wire::onfi::Status;
use aster_wire::onfi::feature::FeatureAddress;

/// Pages of a TLC word line.
const LINE_PAGES: usize = 3;

impl FixedConfig {
    fn typical(&self, kind: SegmentKind, row: RowAddr) -> Duration {
        let page_type = self.cells.page_type(self.geometry.split_row(row).2) as usize;
        match kind {
            SegmentKind::Trigger => self.t_r[page_type],
            SegmentKind::Program => self.t_prog[page_type],
            SegmentKind::ProgramLine => self.t_one_shot,
            SegmentKind::Erase => self.t_bers,
            SegmentKind::Reset => self.t_rst,
            SegmentKind::Load
            | SegmentKind::Transfer
            | SegmentKind::TransferSpare
            | SegmentKind::Status
            | SegmentKind::SetFeatures
            | SegmentKind::GetFeatures => Duration::ZERO,
        }
    }
    fn cycles(&self, wait: Duration) -> Duration {
        self.clock_period * wait.cycles_up(self.clock_period)
    }
}

/// The maximum of tPLPBSY, tPLRBSY and tPLEBSY (ONFI 5.1 §4.21), which vendors specify for a load that waits
/// for others as well.
const T_LOAD: Duration = Duration::from_nanos(1_000);

/// The state of a module between its segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// No request.
    Idle,
    /// A segment that starts the array is in progress.
    Start(SegmentKind),
    /// A status check is in progress, requested at the first instant. The module gives up on the array at
    /// the second.
    Check { asked: Instant, give_up: Instant },
    /// The array was busy at the last check.
    Pause { give_up: Instant },
    /// A transfer out of the page register is in progress.
    Fetch,
    /// The requested status is being read.
    Look,
    /// A feature is being set or read.
    Feature,
    /// A lower page of a word line or a plane that others follow is being addressed and loaded, or the
    /// package is putting it aside.
    Load,
}

/// What a module needs next.
#[derive(Debug)]
pub(super) enum Next {
    /// This segment on the bus, and its result this long after the segment's end.
    Send(Segment, Duration),
    /// Nothing until then.
    Pause(Instant),
    /// The request has ended. Its [results](Module::outcomes) are valid from this instant on.
    Finished(Tag, Instant),
}

/// The state machine of one LUN. It never waits: each call returns what it needs next.
pub(super) struct Module {
    state: State,
    request: Option<(Tag, FlashRequest)>,
    target: usize,
    // The targets are planes of one operation.
    together: bool,
    outcomes: Outcomes,
    // When the stages have finished with all fetched data.
    finished: Instant,
}

impl Module {
    pub(super) fn new() -> Self {
        Module {
            state: State::Idle,
            request: None,
            target: 0,
            together: false,
            outcomes: Outcomes::default(),
            finished: Instant::ZERO,
        }
    }
    pub(super) fn is_idle(&self) -> bool {
        self.request.is_none()
    }
    /// The results of the request that ended last.
    pub(super) fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// Starts a new request. `fault` gets the reason if a target can't be served.
    #[inline]
    pub(super) fn begin(
        &mut self,
        tag: Tag,
        request: FlashRequest,
        config: &FixedConfig,
        now: Instant,
        fault: &mut dyn FnMut(FlashError),
    ) -> Next {
        assert!(self.is_idle(), "an operation module works on one request at a time");
        self.request = Some((tag, request));
        self.target = 0;
        self.together = config.multi_plane && request.targets().len() > 1 && self.is_detached(config);
        self.finished = now;
        self.outcomes = [Outcome::default(); MAX_TARGETS];
        self.next_target(config, now, fault)
    }

    /// The segment that was sent last has ended.
    #[inline]
    pub(super) fn ended(
        &mut self,
        result: Result<TxnResult, Box<TxnFault>>,
        config: &FixedConfig,
        now: Instant,
        fault: &mut dyn FnMut(FlashError),
    ) -> Next {
        let result = match result {
            Ok(result) => result,
            Err(error) => return self.fail(FlashError::Transaction(error), config, now, fault),
        };
        let status = Status(result.mailbox as u8);
        match self.state {
            State::Start(_) if self.is_detached(config) => self.done(Outcome::default(), config, now, fault),
            State::Start(kind) => {
                let patience = config.typical(kind, self.row()) * u64::from(config.patience);
                self.check(now, now + patience)
            }
            State::Check { .. } if status.ready() => match self.fetches() {
                Some(kind) => {
                    self.state = State::Fetch;
                    self.send(kind, Duration::ZERO)
                }
                None => self.done(of_status(status, self.phase()), config, now, fault),
            },
            State::Check { asked, give_up } if asked > give_up => {
                let (transaction, row) = (self.phase().name(), self.row());
                self.fail(FlashError::NeverReady { transaction, row, at: now }, config, now, fault)
            }
            State::Check { give_up, .. } => {
                self.state = State::Pause { give_up };
                Next::Pause(now + config.cycles(config.poll_interval))
            }
            State::Fetch => {
                self.finished = self.finished.max(result.finished);
                self.done(Outcome::from(result.frame), config, now, fault)
            }
            State::Look => self.done(of_status(status, FlashOp::Status), config, now, fault),
            State::Load => {
                self.target += 1;
                self.next_target(config, now, fault)
            }
            State::Feature => {
                // Setting a feature returns no value.
                let outcome = Outcome { feature: result.mailbox as u32, ..Outcome::default() };
                self.done(outcome, config, now, fault)
            }
            State::Idle | State::Pause { .. } => unreachable!("no segment was sent in {:?}", self.state),
        }
    }

    /// A pause is over.
    pub(super) fn resume(&mut self, now: Instant) -> Next {
        let State::Pause { give_up } = self.state else {
            unreachable!("no pause in {:?}", self.state);
        };
        self.check(now, give_up)
    }

    /// A filter has refused the segment that was to be sent.
    pub(super) fn refused(
        &mut self,
        config: &FixedConfig,
        now: Instant,
        fault: &mut dyn FnMut(FlashError),
    ) -> Next {
        self.fail(self.unsupported(now), config, now, fault)
    }

    fn unsupported(&self, at: Instant) -> FlashError {
        FlashError::Unsupported { operation: self.phase().name(), at }
    }

    fn current(&self) -> (&FlashRequest, &Target) {
        let (_, request) = self.request.as_ref().expect("a module that is asked has a request");
        (request, &request.targets()[self.target])
    }
    fn row(&self) -> RowAddr {
        self.current().1.row
    }
    fn phase(&self) -> FlashOp {
        self.current().0.phase
    }
    /// Whether the request ends when its array has started.
    fn is_detached(&self, config: &FixedConfig) -> bool {
        config.polled && matches!(self.phase(), FlashOp::Trigger | FlashOp::Program | FlashOp::Erase)
    }

    /// The transfer that follows when the array is ready.
    fn fetches(&self) -> Option<SegmentKind> {
        let (request, _) = self.current();
        match (request.phase, request.flags.raw) {
            (FlashOp::Read, false) => Some(SegmentKind::Transfer),
            (FlashOp::Read, true) => Some(SegmentKind::TransferSpare),
            _ => None,
        }
    }

    #[inline]
    fn next_target(&mut self, config: &FixedConfig, now: Instant, fault: &mut dyn FnMut(FlashError)) -> Next {
        let (request, target) = self.current();
        let flags = request.flags;
        let of_interface = request.feature.address == FeatureAddress::TimingMode.raw();
        let start = match request.phase {
            _ if flags.slc => None,
            FlashOp::Program if flags.raw => None,
            FlashOp::Program if flags.one_shot => match self.line_segment(config) {
                Some(SegmentKind::Load) => {
                    self.state = State::Load;
                    return self.send(SegmentKind::Load, config.cycles(T_LOAD));
                }
                last => last,
            },
            FlashOp::Read | FlashOp::Trigger => Some(SegmentKind::Trigger),
            FlashOp::Program => Some(SegmentKind::Program),
            FlashOp::Erase => Some(SegmentKind::Erase),
            FlashOp::Reset => Some(SegmentKind::Reset),
            FlashOp::Transfer => {
                self.state = State::Fetch;
                let kind = if flags.raw { SegmentKind::TransferSpare } else { SegmentKind::Transfer };
                return self.send(kind, Duration::ZERO);
            }
            FlashOp::CopyBack => None,
            FlashOp::SetFeatures | FlashOp::GetFeatures if of_interface => None,
            FlashOp::SetFeatures => {
                self.state = State::Feature;
                return self.send(SegmentKind::SetFeatures, Duration::ZERO);
            }
            FlashOp::GetFeatures => {
                self.state = State::Feature;
                return self.send(SegmentKind::GetFeatures, Duration::ZERO);
            }
            FlashOp::Status => {
                self.state = State::Look;
                return self.send(SegmentKind::Status, Duration::ZERO);
            }
        };
        let Some(kind) = start else {
            return self.fail(self.unsupported(now), config, now, fault);
        };
        if self.plane_turn().goes_on {
            self.state = State::Load;
            return self.send(kind, config.cycles(T_LOAD));
        }
        let first_check = config.typical(kind, target.row).saturating_sub(config.poll_early);
        self.state = State::Start(kind);
        let linger = if self.is_detached(config) { Duration::ZERO } else { config.cycles(first_check) };
        self.send(kind, linger)
    }

    /// The segment for a page of a one-shot program: the last page of a word line starts the array.
    /// `None` if the targets aren't word lines or the controller isn't built for that.
    fn line_segment(&self, config: &FixedConfig) -> Option<SegmentKind> {
        let targets = self.current().0.targets();
        let first = targets[0].row;
        let (_, _, page) = config.geometry.split_row(first);
        let in_turn = (first.0..).zip(targets).all(|(row, target)| target.row.0 == row);
        let begins_line = page.index().is_multiple_of(LINE_PAGES) && targets.len() == LINE_PAGES;
        let is_line = config.one_shot.is_some() && begins_line && in_turn;
        let kind = if self.target + 1 < LINE_PAGES { SegmentKind::Load } else { SegmentKind::ProgramLine };
        is_line.then_some(kind)
    }
    fn send(&self, kind: SegmentKind, linger: Duration) -> Next {
        let (request, target) = self.current();
        let segment = Segment { kind, target: *target, feature: request.feature, planes: self.plane_turn() };
        Next::Send(segment, linger)
    }
    fn plane_turn(&self) -> PlaneTurn {
        let last = self.current().0.targets().len() - 1;
        let (follows, goes_on) = (self.target > 0, self.target < last);
        PlaneTurn { follows: self.together && follows, goes_on: self.together && goes_on }
    }
    fn check(&mut self, asked: Instant, give_up: Instant) -> Next {
        self.state = State::Check { asked, give_up };
        self.send(SegmentKind::Status, Duration::ZERO)
    }

    fn fail(
        &mut self,
        error: FlashError,
        config: &FixedConfig,
        now: Instant,
        fault: &mut dyn FnMut(FlashError),
    ) -> Next {
        fault(error);
        self.done(Outcome { status: FlashStatus::Error, ..Outcome::default() }, config, now, fault)
    }

    /// The target has ended: continues with the next one, or ends the request.
    #[inline]
    fn done(
        &mut self,
        outcome: Outcome,
        config: &FixedConfig,
        now: Instant,
        fault: &mut dyn FnMut(FlashError),
    ) -> Next {
        self.outcomes[self.target] = outcome;
        self.target += 1;
        let (tag, request) = self.request.as_ref().expect("a target of a request has ended");
        let (tag, targets) = (*tag, request.targets().len());
        let one_shot = request.phase == FlashOp::Program && request.flags.one_shot;
        // The ready bit is the LUN's, and not a plane's.
        let busy = outcome.status == FlashStatus::Busy;
        if one_shot || self.together || busy {
            // All targets have the same result: that of the array, or of what prevented it from starting.
            self.outcomes = [outcome; MAX_TARGETS];
            self.target = targets;
        }
        if self.target < targets {
            return self.next_target(config, now, fault);
        }
        self.request = None;
        self.state = State::Idle;
        Next::Finished(tag, self.finished.max(now))
    }
}

/// If the LUN is ready, FAIL is valid after a program, an erase or a reset, and when the status was
/// requested. For a read, the stages judge the data.
fn of_status(status: Status, phase: FlashOp) -> Outcome {
    let failed = status.fail() && phase != FlashOp::Trigger;
    let status = match (status.ready(), failed) {
        (false, _) => FlashStatus::Busy,
        (true, true) => FlashStatus::Failed,
        (true, false) => FlashStatus::Done,
    };
    Outcome { status, ..Outcome::default() }
}
