use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::{Function, Recorder};
use aster_exec::Core;
use aster_ports::channel::{ChannelPort, TxnFault, TxnResult};
use aster_ports::flash::FlashError;
use aster_ports::layout::{Bursts, PageLayout};
use aster_ports::package::Interface;
use aster_txn::Txn;
use aster_units::{CellMode, Duration, Instant, PageType, RowAddr, SectorRange};
use aster_wire::onfi::{CommandSet, Status};
use core::cell::RefMut;
use core::ops::{Deref, DerefMut};

/// Core cycles that flash software costs (design §2, cost files). All zero on an ideal board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCosts {
    /// Taking a request and starting its operation.
    pub request: u64,
    /// Building and enqueueing a transaction.
    pub transaction: u64,
    /// Looking at a status and deciding.
    pub poll: u64,
}

/// How an operation learns that a LUN is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollPolicy {
    /// Between a poll that found the LUN busy and the next.
    pub interval: Duration,
    /// Polls start when the typical time has passed, minus this much.
    pub early: Duration,
    /// Give up after this many times the typical time.
    pub patience: u32,
    /// A LUN that was given up once is not asked again.
    pub for_good: bool,
}

impl Default for PollPolicy {
    fn default() -> Self {
        PollPolicy {
            interval: Duration::from_micros(1),
            early: Duration::ZERO,
            patience: 20,
            for_good: false,
        }
    }
}

/// What flash software knows of its packages: typical array times, shapes, costs.
#[derive(Clone, Copy, Debug)]
pub struct FlashConfig {
    /// Page format.
    pub layout: PageLayout,
    /// Array shape behind a chip enable.
    pub shape: LunShape,
    /// Typical tR by page type.
    pub t_r: [Duration; 3],
    /// Typical tPROG by page type.
    pub t_prog: [Duration; 3],
    /// Typical tBERS.
    pub t_bers: Duration,
    /// Typical reset time.
    pub t_rst: Duration,
    /// The packages' optional and vendor specific commands.
    pub variant: PackageVariant,
    /// The data interface to leave SDR mode 0 for.
    pub interface: Interface,
    /// True when pages pass the scrambler.
    pub scramble: bool,
    /// How to poll.
    pub poll: PollPolicy,
    /// What software costs.
    pub costs: FlashCosts,
}

/// What flash software knows of its packages' optional and vendor specific commands. The default is a plain
/// ONFI package whose identifier boot doesn't check.
#[derive(Clone, Copy, Debug, Default)]
pub struct PackageVariant {
    /// The commands.
    pub commands: CommandSet,
    /// What READ ID answers at 00h; boot refuses another package. `None` accepts any package.
    pub id: Option<[u8; 6]>,
    /// Typical tR of blocks used as SLC.
    pub slc_read: Duration,
    /// Typical tPROG of blocks used as SLC.
    pub slc_program: Duration,
    /// Typical tBERS of blocks that will be used as SLC.
    pub slc_erase: Duration,
    /// Typical time of programming a word line in one shot.
    pub one_shot_program: Duration,
    /// Typical time from a suspend command until the LUN takes others.
    pub suspend: Duration,
}

/// The row address layout and cell use behind a chip enable.
#[derive(Clone, Copy, Debug)]
pub struct LunShape {
    /// The drive's geometry.
    pub geometry: aster_units::Geometry,
    /// How cells are used.
    pub cells: CellMode,
}

impl LunShape {
    /// The page type of a row.
    #[inline]
    pub fn page_type(&self, row: RowAddr) -> PageType {
        self.cells.page_type(self.geometry.split_row(row).2)
    }
}

/// One LUN as flash software sees it: its channel's port, its chip enable and its slot.
pub struct Lun {
    core: Core,
    port: Rc<ChannelPort>,
    config: Rc<FlashConfig>,
    recorder: Recorder,
    slot: usize,
    way: usize,
    /// The bursts of a whole page, which most transfers are.
    whole: Bursts,
}

/// A transaction under construction, built in place in the slot from which the engine takes it. Issuing
/// consumes the draft, so that none is held across an await.
pub struct Draft<'a>(RefMut<'a, Box<Txn>>);

impl Deref for Draft<'_> {
    type Target = Txn;
    #[inline]
    fn deref(&self) -> &Txn {
        &self.0
    }
}
impl DerefMut for Draft<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Txn {
        &mut self.0
    }
}

/// An issued transaction. This future only waits: it doesn't hold the transaction across the await.
#[must_use = "a transaction's result tells whether it happened"]
pub struct Issued<'a>(&'a Lun);

impl<'a> Issued<'a> {
    /// Waits for the end of the transaction.
    #[inline]
    pub fn finished(self) -> impl Future<Output = Result<TxnResult, Box<TxnFault>>> + 'a {
        self.0.port.finished(self.0.slot)
    }
}

impl Lun {
    /// The LUN `lun` behind chip enable `way` of `port`'s channel, driven by `core`.
    pub fn new(
        core: &Core,
        port: &Rc<ChannelPort>,
        config: &Rc<FlashConfig>,
        way: usize,
        lun: usize,
    ) -> Self {
        let ways = usize::from(config.shape.geometry.ways);
        let slot = lun * ways + way;
        let (core, port, config) = (core.clone(), Rc::clone(port), Rc::clone(config));
        let whole = config.layout.bursts(SectorRange::whole(config.layout.sectors()));
        Lun { core, port, config, recorder: Recorder::default(), slot, way, whole }
    }
    /// Reports the software's cost to `recorder`.
    #[must_use]
    pub fn reporting_to(self, recorder: &Recorder) -> Self {
        Lun { recorder: recorder.clone(), ..self }
    }

    /// Spends `cycles` of the core on `function`.
    #[inline]
    pub fn spend(&self, function: Function, cycles: u64) {
        self.recorder.account(function, || self.core.stands(), || self.core.charge(cycles));
    }

    /// The core that runs this LUN's operations.
    pub fn core(&self) -> &Core {
        &self.core
    }
    /// What is known of the package.
    pub fn config(&self) -> &FlashConfig {
        &self.config
    }
    /// The channel's port.
    pub fn port(&self) -> &ChannelPort {
        &self.port
    }
    /// Whether it has been given up for good ([`PollPolicy::for_good`]).
    pub fn is_dead(&self) -> bool {
        self.port.is_given_up(self.slot)
    }
    /// It has been busy for longer than the policy's patience.
    pub(crate) fn never_ready(&self) {
        if self.config.poll.for_good {
            self.port.give_up(self.slot);
        }
    }
    /// Gives up all LUNs behind the chip enable.
    pub fn give_up_package(&self) {
        let g = &self.config.shape.geometry;
        (0..usize::from(g.luns)).for_each(|lun| self.port.give_up(lun * usize::from(g.ways) + self.way));
    }
    /// The bursts that transfer these sectors of a page.
    #[inline]
    pub(crate) fn bursts(&self, sectors: SectorRange) -> Bursts {
        let layout = &self.config.layout;
        if sectors == SectorRange::whole(layout.sectors()) { self.whole } else { layout.bursts(sectors) }
    }
    /// The chip enable.
    pub fn way(&self) -> usize {
        self.way
    }
    /// True when other LUNs share the chip enable, so that status and column commands must name the LUN.
    pub fn shares_chip_enable(&self) -> bool {
        self.config.shape.geometry.luns > 1
    }

    /// Starts a transaction on this LUN's chip enable; `name` shows in waveforms and errors.
    #[inline]
    pub fn txn(&self, name: &'static str) -> Draft<'_> {
        self.spend(Function::Transaction, self.config.costs.transaction);
        let mut txn = self.port.txn(self.slot);
        txn.begin(name, 1 << self.way);
        Draft(txn)
    }

    /// Closes and issues the transaction, now in the core's local time.
    #[inline]
    pub fn issue<'a>(&'a self, txn: Draft<'a>) -> Issued<'a> {
        self.issue_and_linger(txn, Duration::ZERO)
    }

    /// As [`Lun::issue`], but delivers the result `linger` after the end: for operations that know how long
    /// the array takes.
    #[inline]
    pub fn issue_and_linger<'a>(&'a self, mut txn: Draft<'a>, linger: Duration) -> Issued<'a> {
        txn.end();
        drop(txn);
        self.port.issue(self.slot, self.core.now(), linger);
        Issued(self)
    }

    /// Starts a transaction on this LUN's chip enable and those of `others`: Chip Control takes a bitmap
    /// (B7). It is issued from this LUN's slot. No other transaction on those LUNs may be in flight, and only
    /// this LUN's package may be read from.
    pub fn gang_txn(&self, name: &'static str, others: &[&Lun]) -> Draft<'_> {
        self.spend(Function::Transaction, self.config.costs.transaction);
        let mut txn = self.port.txn(self.slot);
        txn.begin(name, others.iter().fold(1 << self.way, |chips, lun| chips | 1 << lun.way));
        Draft(txn)
    }

    /// Starts this lane's part of a transaction of several lanes, which is paid for once.
    pub(crate) fn lane_txn(&self, name: &'static str) -> Draft<'_> {
        let mut txn = self.port.txn(self.slot);
        txn.begin(name, 1 << self.way);
        Draft(txn)
    }
    /// Closes and issues the transaction as of `at`; [`Lun::issued`] waits for it.
    pub(crate) fn issue_at(&self, mut txn: Draft<'_>, at: Instant) {
        txn.end();
        drop(txn);
        self.port.issue(self.slot, at, Duration::ZERO);
    }
    /// The transaction that was issued last.
    pub(crate) fn issued(&self) -> Issued<'_> {
        Issued(self)
    }

    /// The package's optional commands.
    pub fn commands(&self) -> &CommandSet {
        &self.config.variant.commands
    }
    /// The error of an operation that the package has no command for.
    pub(crate) fn unsupported(&self, operation: &'static str) -> FlashError {
        FlashError::Unsupported { operation, at: self.core.exec().now() }
    }
    /// Returns an error unless the package has the operation's commands.
    pub(crate) fn need(&self, has: bool, operation: &'static str) -> Result<(), FlashError> {
        if has { Ok(()) } else { Err(self.unsupported(operation)) }
    }

    /// Issues a transaction that makes the LUN busy for about `typical`, then polls until it is ready.
    ///
    /// # Errors
    /// When a transaction fails or the LUN stays busy for longer than the policy's patience.
    #[inline]
    pub fn until_ready<'a>(
        &'a self,
        txn: Draft<'a>,
        row: RowAddr,
        typical: Duration,
    ) -> impl Future<Output = Result<Status, FlashError>> + 'a {
        // Returns the inner future without wrapping it: most operations wait here, and a wrapper costs time.
        self.until_ready_within(txn, row, typical, typical)
    }

    /// As [`Lun::until_ready`], but polls from `soonest` on: for commands that wait for an array operation
    /// that is already running.
    ///
    /// # Errors
    /// As [`Lun::until_ready`].
    pub async fn until_ready_within(
        &self,
        txn: Draft<'_>,
        row: RowAddr,
        soonest: Duration,
        typical: Duration,
    ) -> Result<Status, FlashError> {
        let name = txn.name();
        let first_poll = soonest.saturating_sub(self.config.poll.early);
        self.issue_and_linger(txn, first_poll).finished().await.map_err(FlashError::Transaction)?;
        let asked = self.core.exec().now();
        let status = self.polled(self.poll(row).finished().await)?;
        if status.ready() {
            return Ok(status);
        }
        Ok(self.poll_on(name, row, typical, asked).await?.0)
    }

    /// Polls until RDY. `transaction` cleared RDY for at most about `typical`, and it should be set again at
    /// about `expected`. Returns the status and the best estimate of when RDY was set: `expected` if no poll
    /// found the LUN busy, else the time of the last poll that did.
    ///
    /// # Errors
    /// As [`Lun::until_ready`].
    pub async fn ready_about(
        &self,
        transaction: &'static str,
        row: RowAddr,
        expected: Instant,
        typical: Duration,
    ) -> Result<(Status, Instant), FlashError> {
        let exec = self.core.exec();
        let wait = expected.since(exec.now()).saturating_sub(self.config.poll.early);
        if wait > Duration::ZERO {
            exec.sleep(wait).await;
        }
        let (status, busy) = self.poll_ready(transaction, row, typical).await?;
        Ok((status, busy.unwrap_or(expected.min(exec.now()))))
    }
}
