//! Target: what makes blocks of a drive that has none of its own, on the host's side of the link.
//!
//! A target is to its drive what a driver and an FTL on the host are: it reaches the drive by its PCIe
//! function alone. To everybody else, target and drive together are a drive with an NVMe controller, whose
//! commands (I5) the target carries out.

use crate::bar_read::{BarRead, ReadTag};
use crate::function::FunctionSpec;
use crate::piece::PieceError;
use crate::saved::{DamagedRecord, NvramSlice};
use crate::translation::{PreferredWrites, TranslationView};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::Core;
use aster_ports::dram::SharedDram;
use aster_ports::host::CommandPort;
use aster_ports::link::HostMemory;
use core::cell::RefCell;

/// What a target must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TargetNeeds {
    /// Page buffers that keep content as the drive does, numbered from 0.
    pub data_buffers: u32,
    /// Page buffers that hold every byte, numbered after the data buffers.
    pub metadata_buffers: u32,
    /// Bytes of OOB that each buffer has beside its page.
    pub oob_bytes: u8,
    /// Bytes of its part of the NVRAM.
    pub nvram_bytes: usize,
}

/// The drive's PCIe function, as the target's driver accesses it. Accesses happen at the present time of
/// the target's clock.
pub trait DriveFunction {
    /// The function: ids, BARs, interrupts.
    fn spec(&self) -> FunctionSpec;
    /// Reads `size` bytes (1, 2 or 4) of configuration space.
    fn config_read(&self, offset: u16, size: u8) -> u32;
    /// Writes `size` bytes (1, 2 or 4) of configuration space.
    fn config_write(&self, offset: u16, size: u8, value: u32);
    /// Reads `size` bytes (1, 2, 4 or 8) of a BAR; all ones if it doesn't exist or doesn't answer. For
    /// functions that answer at once: others work until they have, without their host.
    fn bar_read(&self, bar: u8, offset: u32, size: u8) -> u64;
    /// Begins such a read, which the function may answer later.
    fn begin_bar_read(&self, bar: u8, offset: u32, size: u8) -> BarRead {
        BarRead::Now(self.bar_read(bar, offset, size))
    }
    /// Takes the answer of a read that has begun; `None` while there is none.
    fn take_bar_read(&self, _tag: ReadTag) -> Option<u64> {
        Some(u64::MAX)
    }
    /// Sends a posted write of `size` bytes (1, 2, 4 or 8) to a BAR.
    fn bar_write(&self, bar: u8, offset: u32, size: u8, value: u64);
    /// Why the drive can't serve, if it can't.
    fn fault(&self) -> Option<alloc::string::String>;
}

/// What a target works with.
pub struct TargetPorts {
    /// The core that its tasks run on, with a clock of 1 GHz: a cycle is a nanosecond. Its executor is the
    /// host's, not the drive's.
    pub core: Core,
    /// I5, its back side.
    pub commands: Rc<CommandPort>,
    /// Command identifiers are below this.
    pub command_slots: u16,
    /// Cycles that the target charges its core for each command (`target.command_ns`).
    pub command_cycles: u64,
    /// Page buffers, each with [`TargetNeeds::oob_bytes`]. The data of commands are moved to and from
    /// them.
    pub buffers: SharedDram,
    /// Its part of the NVRAM. Every byte that was written survives a loss of power of drive and host.
    pub nvram: NvramSlice,
    /// The drive.
    pub function: Rc<dyn DriveFunction>,
    /// Where its events go, and those of the controller before it. The drive's own go elsewhere: their
    /// command slots, tasks and buffers are others.
    pub recorder: Recorder,
}

/// A target before it runs: it describes what it needs, and then starts.
///
/// # Who calls, in what order
/// As with a [`Translation`](crate::Translation): `needs` and `capacity_bytes` come first and are constant.
/// [`start`](TargetPiece::start) comes once, spawns tasks on the core and doesn't wait. The drive may still
/// be booting then, or may have served another host before: its function has been reset. The target
/// enumerates the function and brings the drive up in a task. It is
/// [`Booting`](crate::DriveState::Booting) until it can serve commands, which wait in the ring meanwhile.
///
/// The drive's DMA is carried out in [`TargetView::memory`], at the instant at which it crosses the link,
/// and its interrupts come as [`TargetView::interrupt`].
///
/// # What survives
/// Power may be cut off the host alone or off both, at any event. What a completed flush, a write with force
/// unit access or a shutdown has promised must be found again by the next `start`, but for what
/// [`TranslationView::promises`] leaves out. It may also be cut off the drive alone, which a target
/// [outlives](TargetView::outlives_drive) or not.
pub trait TargetPiece {
    /// What it must be given.
    fn needs(&self) -> TargetNeeds;
    /// Bytes of the namespace: whole pages of the array.
    fn capacity_bytes(&self) -> u64;
    /// The writes that suit it best, for the host to know; `None` if there is nothing to tell.
    fn preferred_writes(&self) -> Option<PreferredWrites> {
        None
    }
    /// The damaged records in `nvram`, its part of the NVRAM, that it can do without. A record that was
    /// never written is not damaged. Changes nothing.
    fn damaged_records(&self, _nvram: &NvramSlice) -> Vec<DamagedRecord> {
        Vec::new()
    }
    /// Starts it.
    ///
    /// # Errors
    /// If it can't work with what it was given. Problems with the drive are found later and reported by
    /// [`TranslationView::boot_error`].
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError>;
}

/// A running target.
pub trait TargetView: TranslationView {
    /// The drive's MSI or MSI-X message: `data` is written to `address`. The target may access the drive's
    /// function meanwhile.
    fn interrupt(&self, address: u64, data: u32);
    /// The drive has lost its power and has it again. It is as after a reset: what was in flight is lost, and
    /// was carried out in whole, in part, or not at all. Comes between two events of the executor.
    fn drive_restarted(&self) {}
    /// Whether it would go on if that happened now. For a target that doesn't, commands in flight never end.
    fn outlives_drive(&self) -> bool {
        false
    }
    /// Whether the FTL is its own, and not that of the drive below it, whose statistics count then.
    fn has_ftl(&self) -> bool {
        true
    }
    /// Calls `watcher` with the drive's temperature in kelvins whenever the target has read it, and at once
    /// if it has. A new watcher replaces the one before. A target that can't read it calls nobody.
    fn watch_temperature(&self, _watcher: Box<dyn Fn(u16)>) {}
    /// Reads the temperature now, since somebody may ask for it, if the target can. It may be booting, or the
    /// drive may be.
    fn read_temperature(&self) {}
    /// The memory that the drive's DMA reaches. It must not be borrowed while the target accesses the
    /// drive's function or waits.
    fn memory(&self) -> &RefCell<dyn HostMemory>;
}
