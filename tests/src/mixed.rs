//! Work that tests of NVMe in software share.

use crate::{cases, drive, job, machine, run, versioned};
use aster_device::Media;
use aster_device::profile::Profile;
use aster_events::Recorder;
use aster_workload::{Access, BlockSizes, Job, Mix, PerDirection};

/// Reads and writes of all sizes, with flushes between.
pub fn mixed(requests: u64, seed: u64) -> Job {
    Job {
        block_sizes: PerDirection::all(BlockSizes::Range { min: 512, max: 200 << 10 }),
        read_percent: 40,
        seed,
        flush_every: 61,
        queue_depth: 32,
        ..job("mixed", Access::Random, Mix::ReadWrite, 4096, requests)
    }
}

/// Writes, trims and loses power, over and over, and compares all that the drive holds each time.
pub fn keeps_every_byte_over_losses_of_power(profile: &Profile) {
    let (mut media, mut kept) = (Media::fresh(), None);
    for round in 0..cases(3, 40) {
        let m = machine(profile, None, media, &Recorder::default());
        let contents = kept.take().unwrap_or_else(|| versioned(&m));
        let blocks = drive(&m).bytes.div_ceil(64 << 10);
        let read = job("read back", Access::Sequential, Mix::Read, 64 << 10, blocks);
        let trim = Job { seed: round, ..job("trim", Access::Random, Mix::Trim, 32 << 10, 20) };
        // The last command is a flush.
        let flush = Job { flush_every: 1, ..job("flush", Access::Random, Mix::Write, 4096, 1) };
        kept = Some(run(&m, &[read, mixed(400, round), trim, flush], contents));
        media = m.cut_power();
    }
}
