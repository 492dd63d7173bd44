//! What a browser is told of a drive at one moment.

use aster_lab::watch::DriveShape;
use serde::Serialize;
use std::sync::Arc;

/// What stays the same while a drive is watched.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// Name of the drive, or of the file.
    pub name: String,
    /// Whether its time can be stopped and moved: that of a recording can.
    pub replays: bool,
    /// Channels.
    pub channels: u16,
    /// Ways of a channel.
    pub ways: u8,
    /// LUNs of a way.
    pub luns: u8,
    /// Blocks of a LUN.
    pub blocks_per_lun: u32,
    /// Pages of a block.
    pub pages_per_block: u16,
    /// Bytes of a page.
    pub page_bytes: u32,
}

impl About {
    /// Of a drive of that shape.
    pub fn new(name: &str, replays: bool, shape: &DriveShape) -> Self {
        let g = &shape.geometry;
        About {
            name: name.to_owned(),
            replays,
            channels: g.channels,
            ways: g.ways,
            luns: g.luns,
            blocks_per_lun: g.blocks_per_lun,
            pages_per_block: g.pages_per_block,
            page_bytes: g.page_bytes,
        }
    }
}

/// What a die does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Nothing.
    #[default]
    Idle,
    /// Its array reads a page.
    Read,
    /// Its array programs a page.
    Program,
    /// Its array erases a block.
    Erase,
    /// Its array works on something else.
    Other,
    /// Its channel moves data or commands of it.
    Transfer,
}

/// A die.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct DieView {
    /// What it does.
    pub work: Work,
    /// The program or erase that is suspended for what it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended: Option<Work>,
    /// Flash operations that wait for it.
    pub waiting: u32,
    /// Reads that have ended.
    pub reads: u64,
    /// Programs that have ended.
    pub programs: u64,
    /// Erases that have ended.
    pub erases: u64,
}

/// A submission queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct QueueView {
    /// Its identifier; 0 for the admin queue.
    pub id: u16,
    /// Commands that were fetched and have not ended.
    pub outstanding: u64,
    /// Commands that were fetched.
    pub fetched: u64,
    /// Commands that were completed.
    pub completed: u64,
}

/// Entries of the data buffer by what is in them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct BufferView {
    /// Of the first entries, one character each: `.` never used, `c` as on flash, `d` newer than flash, `r`
    /// being read, `p` being programmed.
    pub cells: String,
    /// Entries that were used so far.
    pub used: u64,
    /// Entries that are newer than flash, or being programmed.
    pub dirty: u64,
}

/// What a drive has done.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Totals {
    /// Read and Compare commands that were completed.
    pub reads: u64,
    /// Write commands that were completed.
    pub writes: u64,
    /// Bytes read by the host.
    pub read_bytes: u64,
    /// Bytes written by the host.
    pub written_bytes: u64,
    /// Pages read from flash.
    pub flash_reads: u64,
    /// Pages programmed.
    pub flash_programs: u64,
    /// Blocks erased.
    pub flash_erases: u64,
    /// Bytes programmed.
    pub programmed_bytes: u64,
    /// Blocks that garbage collection chose.
    pub victims: u64,
    /// Slices that found their page in the data buffer.
    pub buffer_hits: u64,
    /// Slices that didn't.
    pub buffer_misses: u64,
    /// Bytes programmed for each byte that the host wrote; none before the first.
    pub waf: Option<f64>,
}

/// Latencies of commands of I/O queues that have ended since the frame before.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct LatencyView {
    /// How many these are of.
    pub commands: u64,
    /// Half took at most this.
    pub p50_us: Option<f64>,
    /// 99 of 100 took at most this.
    pub p99_us: Option<f64>,
    /// The longest.
    pub max_us: Option<f64>,
}

/// A command of the list of slowest ones.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SlowView {
    /// By which its life is asked for.
    pub id: u64,
    /// Its NVMe name.
    pub name: String,
    /// Submission queue.
    pub queue: u16,
    /// First byte in the namespace.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// When it was fetched, from power-on.
    pub began_us: f64,
    /// How long it took.
    pub total_us: f64,
}

/// Where a recording stands.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Position {
    /// Events so far.
    pub events: u64,
    /// Time of the first event.
    pub from_us: f64,
    /// Time of the last event that the file has.
    pub until_us: f64,
    /// Time goes on by itself.
    pub playing: bool,
    /// The file's end is reached. What is written to it later is shown.
    pub at_end: bool,
    /// Microseconds of the drive's time in a second.
    pub us_per_second: f64,
    /// What is wrong with the file; it is shown up to there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// How often the recording has been moved: what was shown before doesn't lead to this frame.
    pub jumps: u64,
}

/// Blocks of each LUN, neighbouring ones in a cell.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct BlockCells {
    /// Blocks that share a cell.
    pub blocks_per_cell: u32,
    /// Mapping units that a cell's blocks hold if all are valid.
    pub units_per_cell: u64,
    /// By LUN and cell: mapping units that are valid.
    pub valid: Vec<Vec<u64>>,
    /// By LUN and cell: P/E cycles, the mean of a cell's blocks.
    pub erases: Vec<Vec<f64>>,
    /// By LUN and cell: bad blocks.
    pub bad: Vec<Vec<u32>>,
}

/// A drive at one moment.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Frame {
    /// The drive's time since power-on.
    pub at_us: f64,
    /// By LUN over the drive.
    pub dies: Vec<DieView>,
    /// By channel: whether it carries a transaction.
    pub channels: Vec<bool>,
    /// Submission queues that were used.
    pub queues: Vec<QueueView>,
    /// Commands in the drive.
    pub outstanding: u64,
    /// The data buffer.
    pub buffer: BufferView,
    /// What the drive has done.
    pub totals: Totals,
    /// How long commands took.
    pub latency: LatencyView,
    /// The slowest commands, slowest first.
    pub slowest: Vec<SlowView>,
    /// Of a recording: where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Of a live drive: share of the time in which its events were heard, lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<f64>,
    /// Blocks; they are sent apart, when they have changed.
    #[serde(skip)]
    pub blocks: Option<Arc<BlockCells>>,
}
