//! Translation: what turns the host's commands (I5) into flash requests (I3).

use crate::operations::Operations;
use crate::piece::PieceError;
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
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_units::{Content, Geometry, Lpn, Ppa, Restriction};

/// What a translation must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TranslationNeeds {
    /// Page buffers that keep content as the drive does, numbered from 0.
    pub data_buffers: u32,
    /// Page buffers that hold every byte, numbered behind the data buffers.
    pub metadata_buffers: u32,
    /// Bytes of its part of the NVRAM.
    pub nvram_bytes: usize,
    /// Flash requests in flight at most.
    pub flash_requests: u16,
}

/// What a maker of translations may know of the media, beside the profile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MediaFacts {
    /// The array that the firmware uses.
    pub geometry: Geometry,
    /// Where its pages lie in the packages: flash requests name rows there (C31).
    pub restriction: Restriction,
    /// How page content is kept: a sector is 4096 bytes or 8.
    pub content: Content,
    /// Pages, one after the other in a block, that a program takes along with it when the power goes in its
    /// midst; 1 for itself alone.
    pub lost_together: u16,
    /// Programs must come a whole word line at a time, in the order of its pages (C83).
    pub whole_lines: bool,
    /// Wrong bits of a code word that can be corrected.
    pub correctable: u8,
}

/// What a translation works with: its side of each port, and memory that is nobody else's.
pub struct TranslationPorts {
    /// What its tasks run on, and what it charges its time to.
    pub core: Core,
    /// I5, its back side.
    pub commands: Rc<CommandPort>,
    /// Command identifiers are below this.
    pub command_slots: u16,
    /// The front end tells the host that a read, or a write without force unit access, is done as soon as its
    /// last byte has been moved (P13): a flush that comes afterwards must find it.
    pub completes_early: bool,
    /// I3, its requesting side.
    pub flash: Rc<FlashPort>,
    /// Page buffers, each with room for a page's OOB. Whose memory they are in stays open.
    pub buffers: SharedDram,
    /// Its part of the NVRAM: [`TranslationNeeds::nvram_bytes`] bytes. Without `board.nvram_kept` in the
    /// profile a loss of power leaves only what was [saved](NvramSlice::save), and not written since.
    pub nvram: NvramSlice,
    /// Where events go.
    pub recorder: Recorder,
}

/// A translation before it runs: a description of what it needs, then its start.
///
/// # Who calls, in what order
/// [`needs`](Translation::needs) and [`capacity_bytes`](Translation::capacity_bytes) first and as often as
/// anybody likes; both are constant. Memories and ports of those sizes are built, then
/// [`start`](Translation::start) is called once. It spawns tasks and doesn't wait. All memory is taken in it;
/// only boot and recovery may allocate later.
///
/// From then on the front end pushes commands, which wait in the ring until they are taken, while the drive
/// boots, too. Of a read or a write each byte is moved once (`submit_dma`, `dma_finished`); each command is
/// completed once. Flash requests of a LUN are carried out in the order of submission but for reads, and a
/// program's page must follow the last one that was programmed in its block: nothing may be awaited between
/// the choice of a page and the submission of its program.
///
/// # What is bounded
/// Commands by `command_slots`. DMA requests by the port: `submit_dma` says `None` beyond. Flash requests by
/// [`TranslationNeeds::flash_requests`]: `submit` says `None` beyond.
///
/// # What survives a power cut
/// A cut takes buffers, ports and tasks at any event. NAND keeps what was programmed; a program or an erase
/// in flight is torn, and takes [`MediaFacts::lost_together`] pages along. Its part of the NVRAM keeps
/// what was saved there and not written since; with `board.nvram_kept`, every byte that was written. What a
/// completed flush, a write with force unit access or a shutdown has promised must be found again by the next
/// `start`; the success of a plain write promises nothing. A translation that promises less says so in
/// [`TranslationView::promises`].
pub trait Translation {
    /// What it must be given.
    fn needs(&self) -> TranslationNeeds;
    /// Which operations it carries out; the others it completes with
    /// [`HostStatus::Refused`](aster_ports::host::HostStatus::Refused). Flush and shutdown are carried out by
    /// all.
    fn offers(&self) -> Operations {
        Operations::BLOCKS
    }
    /// Bytes of the namespace: whole pages of the array.
    fn capacity_bytes(&self) -> u64;
    /// Which of its records in `nvram`, its part, are damaged while the drive would do without them; those
    /// that were never written are not. Changes nothing.
    fn damaged_records(&self, _nvram: &NvramSlice) -> Vec<DamagedRecord> {
        Vec::new()
    }
    /// Starts it.
    ///
    /// # Errors
    /// When what it was given will not do. What is found on the media comes later, by
    /// [`TranslationView::boot_error`].
    fn start(self: Box<Self>, ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError>;
}

/// A running translation, as the rest of the drive sees it. Asked a few times per status or report, never per
/// request; each answer is as of now and changes nothing.
pub trait TranslationView {
    /// What the drive can do.
    fn state(&self) -> DriveState;
    /// Why it can't serve, once [`state`](TranslationView::state) is [`DriveState::Failed`].
    fn boot_error(&self) -> Option<String>;
    /// What it has done since power-on.
    fn stats(&self) -> TranslationStats;
    /// What only this translation counts, by name.
    fn counters(&self, _each: &mut dyn FnMut(&'static str, u64)) {}
    /// What it promises for a sudden loss of power: what whoever tortures the drive holds it to.
    fn promises(&self) -> Promises {
        Promises::ALL
    }
    /// Calls `watcher` whenever a block goes bad or is about to, the drive becomes read-only, or many blocks
    /// more have been erased. There is one watcher, the last.
    fn watch_media(&self, watcher: Box<dyn Fn(MediaState)>);
    /// Where a logical page is; `None` when it is nowhere, beyond the capacity, or could only be told by
    /// waiting.
    fn location_of(&self, page: Lpn) -> Option<Ppa>;
    /// The functions of the firmware that it charges its core for.
    fn functions(&self) -> Vec<Function>;
}

impl dyn TranslationView + '_ {
    /// One of its [`counters`](TranslationView::counters); `None` when it has none of that name.
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
