//! Wires a drive from the rooms. Reads a profile, builds NAND, channels, board, firmware and front end
//! around one clock, and gives a run mode the few calls that it needs (design §1, §6).
#![forbid(unsafe_code)]

mod arrivals;
mod assembly;

mod capacity;
mod carried;
mod channels;
mod check;
mod configure;
mod core_role;
mod cores;
mod damage;
mod data_sheet;
mod device;
mod fill;
mod firmware;
mod host_link;
mod identity;
mod media;
mod nvram;
mod on_host;
mod one_channel;
mod parse;
mod pci;
mod pieces;
pub mod profile;
mod registry;
mod stackful;
mod target;
mod thermal;
mod wear;
mod wiring;

pub use aster_board::EmmcCells;
pub use aster_ecc::EccStats;
pub use aster_ftl::STREAMS_MAX;
pub use aster_nand::{BadBlock, DamagedPage};
pub use aster_parties::DamagedRecord;
pub use aster_parties::{
    BARS, Boot, DoorbellBuffer, DriveState, FunctionSpec, History, HostTrouble, Interrupts, QueueDoorbell,
};
pub use aster_ports::emmc::EMMC_BLOCK_BYTES;
pub use aster_ports::medium::{Backlog, MediumError, SharedBacklog};
pub(crate) use capacity::{check_capacity, choose_blocks, guess_blocks};
pub use carried::FreshErrors;
pub use channels::ChannelHardware;
pub use check::{check, check_with, has_blocks, namespace, namespace_with};
pub use configure::{BuildError, host_streams, least_command, nand_image_bytes, nand_records_bytes};
pub use damage::damaged_records;
pub use data_sheet::{Carried, LunPool, carried, lun_pool};
pub use device::{Device, DriveStats, READ_WITHIN};
pub use firmware::StatisticsLog;
pub use host_link::Transport;
pub use identity::media_keys;
pub use media::{EMMC_BYTES, Media, NVRAM_BYTES};
pub use on_host::{capacity_below, page_mapping_on_host, refresh_on_host, victims_on_host};
pub use one_channel::OneChannel;
pub use pieces::{MakeArbiter, Pieces};
pub use profile::{Profile, ProfileError};
pub use registry::{
    CHOICES, Decisions, MakeCommandSet, MakeFrontEnd, MakeMapping, MakeNvme, MakePlacement, MakePlain,
    MakeScheduler, MakeStreamPolicy, MakeTarget, MakeTranslation, MakeVictimPolicy, Registry, WINDOW_PERCENT,
};
pub use stackful::{StackStats, Stacks};
pub use thermal::ThermalStats;

/// Waveforms of a channel's pins.
pub mod wave {
    pub use aster_channel::{Change, Label, Level, MAX_CHANGES, Signal, WaveFilter, WaveTap, Waveform};
}

/// The control path of the asynchronous channel controller. Filters can be inserted into it (C16).
pub mod control {
    pub use aster_channel::fixed::StatisticsFilter;
    pub use aster_parties::{AccessCounts, Answer, ControlWord, Filter, Passage, Segment, SegmentKind};
}

/// What firmware of one big loop reports about itself (C66).
pub mod big_loop {
    pub use aster_sched::cosmos::{LoopPart, LoopStats, OperationKind, PARTS};
}

/// What goes into [`Pieces`], and the building blocks of a reader's own operations.
pub mod plug {
    pub use aster_events::{Event, Function, Recorder};
    pub use aster_exec::{Core, Exec, Handler, HandlerId, Ring, WaitCell, WaitQueue};
    pub use aster_flash::{Controller, FlashConfig, Lun, operations, schedule};
    pub use aster_ftl::{Mapping, MappingFault, MappingPorts, NoMapRoom};
    pub use aster_parties::{
        AdminAnswer, Arbiter, BARS, BarRead, BarSpec, Below, BlockFacts, Boot, BringUpGate, ClosedBlocks,
        CommandSet, CommandSplice, CoreBuses, DamagedRecord, Decoded, DoorbellBuffer, DriveFunction,
        DriveState, EmptiedBlock, FlashCounts, FlashScheduler, FlashTask, FrontEnd, FrontEndFacts,
        FrontEndNeeds, FrontEndPiece, FrontEndPorts, FunctionSpec, History, HostTrouble, HostWrite,
        Interrupts, Issued, ListAt, LunPlace, MediaFacts, MediaHealth, MediaState, Namespace, NvmeView,
        NvramSlice, Operations, PLACEMENT_ROUNDS_MAX, POSTED_WRITES, PciIds, PieceError, Placement,
        PreferredWrites, Promises, QueueDoorbell, ReadTag, Running, SchedulerNeeds, SchedulerPorts,
        SchedulerView, SetEvent, Source, StreamPolicy, TargetMemory, TargetNeeds, TargetPiece, TargetPorts,
        TargetView, TaskScheduler, Tasks, Translation, TranslationNeeds, TranslationPorts, TranslationStats,
        TranslationView, VictimPolicy, WriteHistory, status_of,
    };
    pub use aster_ports::channel::{ChannelPort, TxnFault, TxnResult};
    pub use aster_ports::dram::SharedDram;
    pub use aster_ports::flash::{
        FlashError, FlashOp, FlashPort, FlashRequest, FlashStatus, Outcome, Outcomes, PageCheck, PageOwner,
        Tag, Target,
    };
    pub use aster_ports::host::{
        BlockState, ByteRange, CommandId, CommandPort, Completion, DmaDirection, DmaError, DmaPart,
        DmaRequest, DmaTag, FRONT_KICK, HostCommand, HostOp, HostStatus, ReportKind, VECTOR_MAX,
        VectorAddress, VectorFault, VectorMode,
    };
    pub use aster_ports::link::{
        BadAddress, FRONT_ANSWER, HostMemory, LinkOp, LinkPort, Local, MAX_SEGMENTS, Segment,
    };
    pub use aster_ports::medium::SharedNvram;
    pub use aster_ports::order::{TransactionClass, Waiting};
    pub use aster_ports::tlp::{
        BufferDescriptor, Gathered, Outgoing, TLP_SENT, TlpDescriptor, TlpPort, TlpSettings, TlpStats,
    };
    pub use aster_sched::{
        Backend, PackageLimit, PassThrough, Policy, RetryConfig, Worker, WorkersConfig, spawn_workers,
    };
    pub use aster_txn::{Descriptor, Direction, Txn};
    pub use aster_wire::nvme::registers::Doorbell;
    pub use aster_wire::nvme::{Sqe, Status};
    pub use aster_wire::onfi;
    pub use aster_wire::pcie::{BarKind, ClassCode};
}

pub use aster_units as units;
