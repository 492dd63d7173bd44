//! What is asked for at I3.

use crate::outcome::MAX_TARGETS;
use crate::page_check::PageOwner;
use crate::source::FlashSource;
use aster_units::{BufferId, LunIndex, RowAddr, SectorRange};

/// The operation that a request asks for. Compound operations run to their end; the others are the steps that
/// a scheduler interleaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FlashOp {
    /// Array to page register, without transfer (C41 read-trigger).
    Trigger,
    /// Page register to buffer (C41 read-transfer).
    Transfer,
    /// Trigger, wait, transfer.
    Read,
    /// Transfer to the page register, program, wait, check.
    Program,
    /// Erase the blocks of the targets, wait, check.
    Erase,
    /// Copy the first target's page to the second one's within a plane, without transfer
    /// ([`FlashRequest::copy_back`]).
    CopyBack,
    /// Ready and fail bits. A LUN that isn't ready gives
    /// [`FlashStatus::Busy`](crate::outcome::FlashStatus::Busy).
    Status,
    /// Reset the LUN's package and wait.
    Reset,
    /// Set a feature of the package behind the LUN's chip enable (ONFI 5.1 §5.30). READ RETRY chooses its
    /// level this way.
    SetFeatures,
    /// Read a feature of the package back (ONFI 5.1 §5.31).
    GetFeatures,
}

impl FlashOp {
    /// The number that events use: 0 for reads, 1 for programs and copies, 2 for erases, 3 for anything else.
    pub const fn class(self) -> u8 {
        match self {
            FlashOp::Read | FlashOp::Trigger | FlashOp::Transfer => 0,
            FlashOp::Program | FlashOp::CopyBack => 1,
            FlashOp::Erase => 2,
            FlashOp::Status | FlashOp::Reset | FlashOp::SetFeatures | FlashOp::GetFeatures => 3,
        }
    }
    /// The name that errors use.
    pub const fn name(self) -> &'static str {
        match self {
            FlashOp::Trigger => "read trigger",
            FlashOp::Transfer => "read transfer",
            FlashOp::Read => "read",
            FlashOp::Program => "program",
            FlashOp::Erase => "erase",
            FlashOp::CopyBack => "copyback",
            FlashOp::Status => "read status",
            FlashOp::Reset => "reset",
            FlashOp::SetFeatures => "set features",
            FlashOp::GetFeatures => "get features",
        }
    }
}

/// One page (or block) of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The row address behind the LUN's chip enable, as the package counts rows. A restricted drive
    /// numbers its pages differently (C31).
    pub row: RowAddr,
    /// The sectors to transfer.
    pub sectors: SectorRange,
    /// The sectors' buffer. The OOB bytes that belong to the buffer are transferred with it.
    pub buffer: BufferId,
}

/// Modifiers of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    /// Transfer raw bytes: no ECC, no scrambler. A read with one target delivers the first spare bytes after
    /// the page data; for whole pages there is [`FlashRequest::raw_page`].
    pub raw: bool,
    /// Use the block's cells as SLC.
    pub slc: bool,
    /// The targets of a program are the three pages of one TLC word line, LSB first, and go to the array in
    /// one shot (C83).
    pub one_shot: bool,
}

/// A feature of a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Feature {
    /// Its address. Requests may not set the data interface's address, which is set when packages are
    /// brought up.
    pub address: u8,
    /// P1 to P4, P1 lowest.
    pub value: u32,
}

/// A flash request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlashRequest {
    /// What to do.
    pub phase: FlashOp,
    /// To which LUN.
    pub lun: LunIndex,
    /// Modifiers.
    pub flags: Flags,
    /// Who asks.
    pub source: FlashSource,
    /// The feature that [`FlashOp::SetFeatures`] sets or [`FlashOp::GetFeatures`] gets.
    pub feature: Feature,
    targets: [Target; MAX_TARGETS],
    count: u8,
    pub(crate) expects: PageOwner,
}

// Requests are copied on their way through the ports.
const _: () = assert!(size_of::<Option<FlashRequest>>() <= 72, "a flash request has grown");

impl FlashRequest {
    /// A request with one target.
    #[inline]
    pub const fn single(phase: FlashOp, lun: LunIndex, target: Target) -> Self {
        FlashRequest {
            phase,
            lun,
            flags: Flags { raw: false, slc: false, one_shot: false },
            source: FlashSource::User,
            feature: Feature { address: 0, value: 0 },
            targets: [target; MAX_TARGETS],
            count: 1,
            expects: PageOwner::NONE,
        }
    }
    /// A request for a page as it is in the array, without ECC and scrambler. A read brings the `sectors` to
    /// their places in `data`, a program writes the whole data area from there. The spare area is the first
    /// bytes of `spare`'s page.
    pub const fn raw_page(
        phase: FlashOp,
        lun: LunIndex,
        row: RowAddr,
        sectors: SectorRange,
        data: BufferId,
        spare: BufferId,
    ) -> Self {
        let mut request = Self::single(phase, lun, Target { row, sectors, buffer: data });
        request.targets[1] = Target { row, sectors: SectorRange::whole(0), buffer: spare };
        request.count = 2;
        request.flags.raw = true;
        request
    }
    /// A request that copies a page to another one of its plane, in the package: nothing is transferred or
    /// corrected, and OOB and scrambler seed go along. It has one result, the first.
    pub const fn copy_back(lun: LunIndex, from: RowAddr, to: RowAddr) -> Self {
        let none = SectorRange::whole(0);
        let mut request =
            Self::single(FlashOp::CopyBack, lun, Target { row: from, sectors: none, buffer: BufferId(0) });
        request.targets[1] = Target { row: to, sectors: none, buffer: BufferId(0) };
        request.count = 2;
        request
    }
    /// Whether this is of a [page as it is](FlashRequest::raw_page).
    #[inline]
    pub const fn is_raw_page(&self) -> bool {
        self.flags.raw && self.count == 2
    }
    /// A request that sets or gets a feature of `lun`'s package. `row` addresses the LUN behind its chip
    /// enable.
    pub const fn of_feature(phase: FlashOp, lun: LunIndex, row: RowAddr, feature: Feature) -> Self {
        let none = Target { row, sectors: SectorRange::whole(0), buffer: BufferId(0) };
        FlashRequest { feature, ..Self::single(phase, lun, none) }
    }
    /// A request with several targets: one per plane or, with [`Flags::one_shot`], the pages of a word
    /// line. `None` if there are none or too many.
    pub fn vector(phase: FlashOp, lun: LunIndex, targets: &[Target]) -> Option<Self> {
        let first = *targets.first()?;
        let mut request = Self::single(phase, lun, first);
        request.targets.get_mut(..targets.len())?.copy_from_slice(targets);
        request.count = targets.len() as u8;
        Some(request)
    }
    /// The same read, which expects a page that belongs to `owner`:
    /// [`Outcome::page`](crate::outcome::Outcome::page) says whether it does.
    #[inline]
    pub const fn expecting(self, owner: PageOwner) -> Self {
        FlashRequest { expects: owner, ..self }
    }
    /// The same request, asked for by `source`.
    #[inline]
    pub const fn asked_by(self, source: FlashSource) -> Self {
        FlashRequest { source, ..self }
    }
    /// Whether this reads one page through the stages. A LUN can start such a read in its array while the
    /// page before is still being transferred.
    #[inline]
    pub fn is_page_read(&self) -> bool {
        let Flags { raw, slc, .. } = self.flags;
        self.phase == FlashOp::Read && self.count == 1 && !raw && !slc
    }
    /// Whether this programs one page through the stages.
    #[inline]
    pub fn is_page_program(&self) -> bool {
        self.phase == FlashOp::Program && self.count == 1 && self.flags == Flags::default()
    }
    /// Whether this erases one block.
    #[inline]
    pub fn is_block_erase(&self) -> bool {
        self.phase == FlashOp::Erase && self.count == 1 && self.flags == Flags::default()
    }
    /// The targets.
    #[inline]
    pub fn targets(&self) -> &[Target] {
        &self.targets[..usize::from(self.count)]
    }
    /// The targets, to change.
    #[inline]
    pub fn targets_mut(&mut self) -> &mut [Target] {
        &mut self.targets[..usize::from(self.count)]
    }
}
