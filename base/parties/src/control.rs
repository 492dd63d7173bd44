//! Filters of the control path that a channel controller in hardware has, and what passes them: control words
//! of segments (C14–C18).

use aster_ports::flash::{Feature, Target};
use aster_units::{Instant, LunIndex};

/// The commands of a fixed controller (P18: 00h–30h, 05h–E0h, 80h–10h, 60h–D0h, 70h, EFh, EEh, FFh), and
/// those of a package that it was reconfigured for: of TLC (C83, P19), or with multi-plane operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentKind {
    /// READ: array to page register.
    Trigger,
    /// CHANGE READ COLUMN and the sectors' bursts, through the stages.
    Transfer,
    /// CHANGE READ COLUMN and the first spare bytes, as they are.
    TransferSpare,
    /// PROGRAM with the page's burst, through the stages.
    Program,
    /// PROGRAM of a lower page of a TLC word line, after the vendor's prefix. The page waits in the
    /// package for the others (C83).
    Load,
    /// PROGRAM of the word line's last page, after its prefix: the array programs all three in one shot.
    ProgramLine,
    /// BLOCK ERASE.
    Erase,
    /// READ STATUS.
    Status,
    /// RESET.
    Reset,
    /// SET FEATURES with its four bytes, and the time that it takes.
    SetFeatures,
    /// GET FEATURES, the time that it takes, and its four bytes.
    GetFeatures,
}

/// Kinds of segments.
pub const SEGMENT_KINDS: usize = 11;

impl SegmentKind {
    /// Every kind, in the order of its index.
    pub const ALL: [SegmentKind; SEGMENT_KINDS] = [
        SegmentKind::Trigger,
        SegmentKind::Transfer,
        SegmentKind::TransferSpare,
        SegmentKind::Program,
        SegmentKind::Load,
        SegmentKind::ProgramLine,
        SegmentKind::Erase,
        SegmentKind::Status,
        SegmentKind::Reset,
        SegmentKind::SetFeatures,
        SegmentKind::GetFeatures,
    ];
    /// True for short segments that start an array. They overtake segments that move data or read a
    /// status, since it is more important to keep the dies busy than the bus.
    pub const fn starts_array(self) -> bool {
        matches!(self, SegmentKind::Trigger | SegmentKind::Erase | SegmentKind::Reset)
    }
    /// Its name in waveforms and errors: the same as the software-defined controller's.
    pub const fn name(self) -> &'static str {
        match self {
            SegmentKind::Trigger => "read",
            SegmentKind::Transfer => "read transfer",
            SegmentKind::TransferSpare => "read raw",
            SegmentKind::Program => "program",
            SegmentKind::Load => "load word line",
            SegmentKind::ProgramLine => "program word line",
            SegmentKind::Erase => "erase",
            SegmentKind::Status => "read status",
            SegmentKind::Reset => "reset",
            SegmentKind::SetFeatures => "set features",
            SegmentKind::GetFeatures => "get features",
        }
    }
}

/// One segment to one LUN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// What it does.
    pub kind: SegmentKind,
    /// The page, and where its data are.
    pub target: Target,
    /// The feature, if it is about one.
    pub feature: Feature,
    /// Its place among the segments of other planes.
    pub planes: PlaneTurn,
}

/// A segment's place in a multi-plane operation (ONFI 5.1 §5.11, §5.14, §5.20). The default is that of a
/// segment by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlaneTurn {
    /// Another plane's segment came before it.
    pub follows: bool,
    /// Another plane's segment comes after it. The last one starts the array.
    pub goes_on: bool,
}

/// A flash control word (C15).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlWord {
    /// Data access or status request: goes to the flash driver.
    Access {
        /// The LUN.
        lun: LunIndex,
        /// What the driver is to do.
        segment: Segment,
    },
    /// Asks the statistics filter for its statistics.
    Statistics,
    /// Asks how many words the dispatcher's queues hold (P14).
    QueueCounts,
}

/// An answer that goes back up the control path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No part answers such a word, or a filter doesn't let it pass.
    Refused,
    /// Words by kind of segment.
    Statistics(AccessCounts),
    /// Words in the dispatcher's queues.
    QueueCounts {
        /// Of high priority.
        high: usize,
        /// Of normal priority.
        normal: usize,
    },
}

/// Accesses by kind of segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccessCounts([u64; SEGMENT_KINDS]);

impl AccessCounts {
    /// The number of accesses of `kind`.
    pub fn of(&self, kind: SegmentKind) -> u64 {
        self.0[kind as usize]
    }
    /// One more of `kind`.
    pub fn count(&mut self, kind: SegmentKind) {
        self.0[kind as usize] += 1;
    }
}

/// What a filter does with a control word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage {
    /// Lets it pass, on to the next filter or the dispatcher.
    Down,
    /// Answers it upstream; it goes no further.
    Up(Answer),
}

/// A filter in the control path (C16), which sees each word before the dispatcher does. If it answers an
/// access instead of letting it pass, the access's request ends in an error.
///
/// # Who calls, in what order
/// The controller, for each word, through the filters in the order in which they were inserted. A filter
/// answers at once.
///
/// # What survives a power cut
/// Nothing.
pub trait Filter {
    /// Decides on a word that reaches the filter at `at`.
    fn pass(&mut self, at: Instant, word: &ControlWord) -> Passage;
}
