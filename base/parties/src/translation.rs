//! Translation: what turns the host's commands (I5) into flash requests (I3).

use crate::operations::Operations;
use crate::piece::PieceError;
use crate::prefill::Prefill;
use crate::saved::{DamagedRecord, NvramSlice};
use crate::state::{DriveState, MediaState, Promises};
use crate::stats::TranslationStats;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use aster_events::{Function, Recorder};
use aster_exec::Core;
use aster_ports::dram::SharedDram;
use aster_ports::emmc::EmmcPort;
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_units::{Content, Geometry, Lpn, Ppa, Restriction};

/// What a translation must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TranslationNeeds {
    /// Page buffers that keep content as the drive does, numbered from 0.
    pub data_buffers: u32,
    /// Page buffers that hold every byte, numbered after the data buffers.
    pub metadata_buffers: u32,
    /// Bytes of its part of the NVRAM.
    pub nvram_bytes: usize,
    /// Bytes of the board's eMMC that it uses, if there is one.
    pub emmc_bytes: usize,
    /// The most flash requests in flight.
    pub flash_requests: u16,
}

/// The writes that suit a translation best.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreferredWrites {
    /// Bytes of which writes and deallocations should cover whole multiples, aligned to them: others make it
    /// read, or keep, the rest.
    pub granularity_bytes: u32,
    /// Bytes of a write, or a multiple of them, that costs the least per byte; a multiple of the granularity.
    pub optimal_bytes: u32,
}

/// What the constructor of a translation gets to know of the media, besides the profile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MediaFacts {
    /// The array that the firmware uses.
    pub geometry: Geometry,
    /// Where the pages of that array lie in the packages. Flash requests use the packages' row addresses
    /// (C31).
    pub restriction: Restriction,
    /// How page content is kept: a sector is 4096 bytes or 8.
    pub content: Content,
    /// How many consecutive pages of a block a program destroys when it is cut off by a loss of power; 1
    /// if it is only its own page.
    pub lost_together: u16,
    /// Programs must come a whole word line at a time, in the order of its pages (C83).
    pub whole_lines: bool,
    /// Wrong bits per code word that can be corrected.
    pub correctable: u8,
}

/// What a translation works with: its side of each port, and memory of its own.
pub struct TranslationPorts {
    /// The core that its tasks run on and that it charges its time to.
    pub core: Core,
    /// I5, its back side.
    pub commands: Rc<CommandPort>,
    /// Command identifiers are below this.
    pub command_slots: u16,
    /// The front end completes a read, or a write without force unit access, as soon as its last byte has
    /// been moved (P13). A flush that comes afterwards must cover that write.
    pub completes_early: bool,
    /// I3, its requesting side.
    pub flash: Rc<FlashPort>,
    /// Page buffers, each with room for a page's OOB. They may be in any of the drive's memories.
    pub buffers: SharedDram,
    /// Its part of the NVRAM: [`TranslationNeeds::nvram_bytes`] bytes. Without `board.nvram_kept` in the
    /// profile, a loss of power leaves only what was [saved](NvramSlice::save), if nothing was written
    /// since.
    pub nvram: NvramSlice,
    /// The board's eMMC, if it has one. It keeps its content without power; a block that is being written
    /// then is torn.
    pub emmc: Option<Rc<EmmcPort>>,
    /// What the drive holds when it has booted for the first time. Only for a translation that
    /// [can be filled](Translation::can_be_filled).
    pub prefill: Option<Prefill>,
    /// Where events go.
    pub recorder: Recorder,
}

/// A translation before it runs: it describes what it needs, and then starts.
///
/// # Who calls, in what order
/// The drive first calls [`needs`](Translation::needs) and
/// [`capacity_bytes`](Translation::capacity_bytes), any number of times; both are constant. It builds
/// memories and ports of those sizes, and then calls [`start`](Translation::start) once. `start` spawns
/// tasks and doesn't wait. It allocates all memory; only boot and recovery may allocate later.
///
/// From then on the front end pushes commands, even while the drive boots. They wait in the ring until
/// the translation takes them. The translation moves each byte of a read or a write once (`submit_dma`,
/// `dma_finished`) and completes each command once. The flash requests of a LUN are carried out in the
/// order of submission, except for reads. A program's page must follow the last one that was programmed
/// in its block. The translation must therefore not await anything between choosing a page and submitting
/// its program.
///
/// # What is bounded
/// `command_slots` bounds the commands. The port bounds the DMA requests: `submit_dma` returns `None`
/// when it is full. [`TranslationNeeds::flash_requests`] bounds the flash requests: `submit` returns
/// `None` beyond that.
///
/// # What survives a power cut
/// A power cut can come at any event and destroys buffers, ports and tasks. NAND keeps what was
/// programmed. A program or an erase in flight is torn, and a program destroys
/// [`MediaFacts::lost_together`] pages. The translation's part of the NVRAM keeps what was saved if
/// nothing was written since; with `board.nvram_kept`, it keeps every byte that was written. The next
/// `start` must find everything that a completed flush, a write with force unit access or a shutdown has
/// promised. The success of a plain write promises nothing. A translation that promises less says so in
/// [`TranslationView::promises`].
pub trait Translation {
    /// What it must be given.
    fn needs(&self) -> TranslationNeeds;
    /// The operations that it carries out. It completes others with
    /// [`HostStatus::Refused`](aster_ports::host::HostStatus::Refused). Every translation carries out
    /// flush and shutdown.
    fn offers(&self) -> Operations {
        Operations::BLOCKS
    }
    /// Bytes of the namespace: whole pages of the array.
    fn capacity_bytes(&self) -> u64;
    /// The writes that suit it best, for the host to know; `None` if there is nothing to tell.
    fn preferred_writes(&self) -> Option<PreferredWrites> {
        None
    }
    /// Whether its first boot can leave a drive that [has been written](crate::WriteHistory).
    ///
    /// # Errors
    /// Why not: a key of the profile, or that it never can.
    fn can_be_filled(&self) -> Result<(), PieceError> {
        Err(PieceError::new("ftl.kind", "names a translation that can't be filled at once"))
    }
    /// The damaged records in `nvram`, its part of the NVRAM, that the drive can do without. A record
    /// that was never written is not damaged. Changes nothing.
    fn damaged_records(&self, _nvram: &NvramSlice) -> Vec<DamagedRecord> {
        Vec::new()
    }
    /// Starts it.
    ///
    /// # Errors
    /// If it can't work with what it was given. Problems with the media are found later and reported by
    /// [`TranslationView::boot_error`].
    fn start(self: Box<Self>, ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError>;
}

/// A running translation, as the rest of the drive sees it. The drive calls these a few times per status
/// or report, never per request. Each answer describes the present state and changes nothing.
pub trait TranslationView {
    /// What the drive can do.
    fn state(&self) -> DriveState;
    /// Why it can't serve, once [`state`](TranslationView::state) is [`DriveState::Failed`].
    fn boot_error(&self) -> Option<String>;
    /// What a person should know of this power-on, though the drive serves: with what could not be read, and
    /// what was taken instead. `None` while it boots.
    fn boot_note(&self) -> Option<String> {
        None
    }
    /// The share that is done of filling the drive ([`WriteHistory`](crate::WriteHistory)), from 0 to 1.
    /// `None` when that isn't under way.
    fn filled_share(&self) -> Option<f64> {
        None
    }
    /// What it has done since power-on.
    fn stats(&self) -> TranslationStats;
    /// Counters that only this translation has, by name.
    fn counters(&self, _each: &mut dyn FnMut(&'static str, u64)) {}
    /// What holds data that has been written and isn't on flash yet, for messages: with the profile's key for
    /// its size, if there is one.
    fn write_buffer(&self) -> &'static str {
        "the drive's data buffer (ftl.buffer_entries)"
    }
    /// What it promises for a sudden loss of power. The torture test checks these promises.
    fn promises(&self) -> Promises {
        Promises::ALL
    }
    /// Calls `watcher` whenever a block goes bad or is about to, the drive becomes read-only, or many
    /// more blocks have been erased. A new watcher replaces the one before.
    fn watch_media(&self, watcher: Box<dyn Fn(MediaState)>);
    /// Where a logical page is, or a block of 4 KiB of an FTL on the host that maps those. `None` if it is
    /// unmapped, is beyond the capacity, or can't be looked up without waiting.
    fn location_of(&self, page: Lpn) -> Option<Ppa>;
    /// The functions of the firmware for which it charges its core.
    fn functions(&self) -> Vec<Function>;
}

impl dyn TranslationView + '_ {
    /// One of its [`counters`](TranslationView::counters); `None` if it has none of that name.
    pub fn counter(&self, name: &str) -> Option<u64> {
        let mut found = None;
        self.counters(&mut |counted, value| {
            if counted == name {
                found = Some(value);
            }
        });
        found
    }
}
