//! The parties of a drive: parts that have alternatives, and the interfaces that each must implement
//! (docs/adr/0012).
//!
//! | party | between | here |
//! |---|---|---|
//! | front end | the host's PCIe and I5 | [`FrontEndPiece`], [`FrontEnd`] |
//! | command set | an NVMe controller's queues and I5 | [`CommandSet`] |
//! | translation | I5 and I3 | [`Translation`], [`TranslationView`] |
//! | flash scheduler | I3 and I3 | [`FlashScheduler`], [`SchedulerView`] |
//! | target | I5 and the PCIe function of a drive below | [`TargetPiece`], [`TargetView`] |
//!
//! A party has two interfaces: a *piece*, which says what the party needs and then starts it, and a
//! *view*, through which others query the party while it runs. Commands and data go from one party to
//! another through the ports of `aster_ports`.
//!
//! Two decisions of a page-mapping translation can be replaced on their own: the [`VictimPolicy`] of
//! garbage collection, and the [`Placement`] of logical pages. So can the [`TaskScheduler`] of a drive
//! whose scheduler is made of workers, and two of a channel: its [`Arbiter`] under a controller in
//! software, and each [`Filter`] under the asynchronous one in hardware.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arbiter;
mod bar_read;
mod bring_up;
mod command_data;
mod command_set;
mod control;
mod flash_scheduler;
mod front_end;
mod function;
mod nvme;
mod operations;
mod piece;
mod placement;
mod prefill;
mod refresh;
mod saved;
mod state;
mod stats;
mod streams;
mod target;
mod target_memory;
mod tasks;
mod told;
mod translation;
mod victims;

pub use arbiter::Arbiter;
pub use bar_read::{BarRead, ReadTag};
pub use bring_up::BringUpGate;
pub use command_data::{DataMover, DataPart, data_parts};
pub use command_set::{
    AdminAnswer, CommandSet, Decoded, Issued, ListAt, Namespace, SetEvent, Source, status_of,
};
pub use control::{
    AccessCounts, Answer, ControlWord, Filter, Passage, PlaneTurn, SEGMENT_KINDS, Segment, SegmentKind,
};
pub use flash_scheduler::{
    Below, CommandSplice, CoreBuses, FlashScheduler, LunPlace, SchedulerNeeds, SchedulerPorts, SchedulerView,
};
pub use front_end::{
    FrontEnd, FrontEndFacts, FrontEndNeeds, FrontEndPiece, FrontEndPorts, NvmeView, POSTED_WRITES,
};
pub use function::{BARS, BarSpec, FunctionSpec, Interrupts, PciIds, PowerReport, PowerValue};
pub use nvme::{DoorbellBuffer, History, HostTrouble, QueueDoorbell};
pub use operations::Operations;
pub use piece::PieceError;
pub use placement::{PLACEMENT_ROUNDS_MAX, Placement};
pub use prefill::{CellWriter, Prefill, WriteHistory};
pub use refresh::Refresh;
pub use saved::{DamagedRecord, NvramSlice};
pub use state::{Boot, DriveState, MediaHealth, MediaState, Promises};
pub use stats::{FlashCounts, TranslationStats};
pub use streams::{EmptiedBlock, HostWrite, StreamPolicy};
pub use target::{DriveFunction, TargetNeeds, TargetPiece, TargetPorts, TargetView};
pub use target_memory::TargetMemory;
pub use tasks::{FlashTask, Running, TaskScheduler, Tasks};
pub use told::{tell_began, tell_ended};
pub use translation::{
    MediaFacts, PreferredWrites, Translation, TranslationNeeds, TranslationPorts, TranslationView,
};
pub use victims::{BlockFacts, ClosedBlocks, VictimPolicy};
