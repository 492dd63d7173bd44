use crate::{Access, BlockSizes, Extent, Job, Mix, PerDirection};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// How a drive is preconditioned for a measurement: by real writes, as for a physical drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Precondition {
    /// Bytes from the drive's start that are filled; `None` is the whole drive.
    pub bytes: Option<u64>,
    /// Length of the sequential writes of the fill.
    pub fill_block: u32,
    /// Length of the random writes that follow.
    pub overwrite_block: u32,
    /// How much is overwritten at random after the fill, in percent of what was filled. 0 leaves it
    /// sequential.
    pub overwrite_percent: u32,
    /// Requests in flight.
    pub queue_depth: u32,
    /// The seed of the random order.
    pub seed: u64,
}

/// The jobs that precondition a drive of `drive_bytes`: a sequential fill, then random overwrites that
/// visit each block once per pass. Put them before the jobs to measure, and let the first of those wait
/// for previous jobs.
pub fn precondition(drive_bytes: u64, how: &Precondition) -> Vec<Job> {
    let bytes = how.bytes.unwrap_or(drive_bytes).min(drive_bytes);
    let write = |name: &str, access, block| Job {
        name: String::from(name),
        access,
        mix: Mix::Write,
        block_sizes: PerDirection::all(BlockSizes::Fixed(block)),
        size: Some(Extent::Bytes(bytes)),
        queue_depth: how.queue_depth,
        seed: how.seed,
        after_previous: true,
        ..Job::default()
    };
    let fill = write("fill", Access::Sequential, how.fill_block);
    if how.overwrite_percent == 0 {
        return vec![fill];
    }
    let amount = u128::from(bytes) * u128::from(how.overwrite_percent) / 100;
    let amount = u64::try_from(amount).unwrap_or(u64::MAX).max(u64::from(how.overwrite_block));
    let overwrite = write("overwrite", Access::Random, how.overwrite_block);
    vec![fill, Job { io_size: Some(Extent::Bytes(amount)), ..overwrite }]
}
