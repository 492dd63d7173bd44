//! One drive's life.

use super::levelling::Levelling;
use super::report::{Age, Life, LifetimeError, Plan, Sample};
use aster_device::profile::Profile;
use aster_device::{DriveState, Media};
use aster_driver::{Config, Driver, DriverError, QueueId};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_units::{Content, Rng};
use aster_workload::content::{VERSION_MAX, tag, version_of_tag};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The queue pair that the host uses.
const QUEUE: QueueId = QueueId(1);
/// Logical blocks of 4 KiB per write.
const WRITE_BLOCKS: u64 = 16;
/// Samples over the expected life.
const SAMPLES: f64 = 200.0;
/// SMART's critical warning that the media are read-only (NVMe 1.4 §5.14.1.2, byte 0).
const READ_ONLY: u8 = 1 << 3;

/// What the host knows about each piece of [`WRITE_BLOCKS`] blocks.
struct Known {
    /// The version that each holds.
    versions: Vec<u32>,
    /// The last version that was used.
    latest: u32,
    /// Pieces whose write failed half-way, and the version that they may hold.
    unsure: Vec<(usize, u32)>,
    /// Pieces written since the last flush, and their previous versions, which a loss of power may bring
    /// back.
    older: Vec<(usize, u32)>,
    is_cut: bool,
    blocks: u64,
    rng: Rng,
}

type Shared = Rc<RefCell<Known>>;

/// The status of the write that the drive refused.
struct Refused(String);

impl Known {
    fn piece(&self, piece: usize) -> (u64, u64) {
        let first = piece as u64 * WRITE_BLOCKS;
        (first, WRITE_BLOCKS.min(self.blocks - first))
    }
    fn allows(&self, piece: usize, version: u32) -> bool {
        self.versions[piece] == version
            || self.unsure.contains(&(piece, version))
            || (self.is_cut && self.older.contains(&(piece, version)))
    }
    /// Whether a loss of power may have brought older versions back.
    fn may_be_older(&self, block: u64) -> bool {
        let piece = (block / WRITE_BLOCKS) as usize;
        self.older.iter().chain(&self.unsure).any(|(of, _)| *of == piece)
    }
}

async fn write(known: &Shared, driver: &Driver<VirtualBar>, piece: usize) -> Result<(), DriverError> {
    let (first, version, tags) = {
        let mut known = known.borrow_mut();
        known.latest = known.latest % VERSION_MAX + 1;
        let (version, (first, blocks)) = (known.latest, known.piece(piece));
        let tags: Vec<_> = (first..first + blocks).map(|block| tag(block, version).to_le_bytes()).collect();
        (first, version, tags)
    };
    let written = driver.write_tags(QUEUE, first, &tags, false).await;
    let mut known = known.borrow_mut();
    match &written {
        Ok(()) => {
            let before = std::mem::replace(&mut known.versions[piece], version);
            known.older.push((piece, before));
        }
        Err(_) => known.unsure.push((piece, version)),
    }
    written
}

/// Writes `pieces`, or until the drive refuses.
async fn write_all(
    known: Shared,
    driver: Rc<Driver<VirtualBar>>,
    pieces: Vec<usize>,
) -> Result<(u64, Option<Refused>), DriverError> {
    let mut written = 0;
    for piece in pieces {
        match write(&known, &driver, piece).await {
            Ok(()) => written += known.borrow().piece(piece).1,
            Err(DriverError::Command { status, .. })
                if driver.health().await?.critical_warning & READ_ONLY != 0 =>
            {
                return Ok((written, Some(Refused(status.to_string()))));
            }
            Err(error) => return Err(error),
        }
    }
    // A drive that has just become read-only may be unable to flush. Data written since the last flush may
    // then be lost.
    if driver.flush(QUEUE).await.is_ok() {
        known.borrow_mut().older.clear();
    }
    Ok((written, None))
}

/// Everything that the drive holds, read once.
struct ReadBack {
    blocks: u64,
    /// The blocks that the drive reports as unreadable, ascending.
    lost: Vec<u64>,
}

/// Reads everything and returns the lost blocks. Any other failure is an error.
async fn read_all(known: Shared, driver: Rc<Driver<VirtualBar>>) -> Result<ReadBack, LifetimeError> {
    let (pieces, mut read) = (known.borrow().versions.len(), ReadBack { blocks: 0, lost: Vec::new() });
    for piece in 0..pieces {
        let (first, blocks) = known.borrow().piece(piece);
        let mut tags = vec![[0xE7; 8]; blocks as usize];
        read.blocks += blocks;
        match driver.read_tags(QUEUE, first, &mut tags).await {
            Ok(()) => check(&known, piece, first, &tags)?,
            Err(error) if !error.is_unrecovered_read() => return Err(error.into()),
            // Blocks are read one by one, since the neighbours of a lost block are readable.
            Err(_) => {
                for block in first..first + blocks {
                    let mut one = [[0xE7; 8]];
                    match driver.read_tags(QUEUE, block, &mut one).await {
                        Ok(()) => check(&known, piece, block, &one)?,
                        Err(error) if error.is_unrecovered_read() => read.lost.push(block),
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }
    Ok(read)
}
fn check(known: &Shared, piece: usize, first: u64, tags: &[[u8; 8]]) -> Result<(), LifetimeError> {
    for (block, tag) in (first..).zip(tags) {
        let version = version_of_tag(u64::from_le_bytes(*tag), block);
        let version = version.map_err(|wrong| LifetimeError::Wrong(wrong.to_string()))?;
        if !known.borrow().allows(piece, version) {
            let right = known.borrow().versions[piece];
            return Err(LifetimeError::Wrong(format!(
                "block {block} holds version {version}, but must hold {right}"
            )));
        }
    }
    Ok(())
}

fn sample(machine: &Machine, written: u64) -> Result<Sample, LifetimeError> {
    let driver = Rc::clone(machine.driver());
    let blocks = driver.namespace().blocks;
    let health = machine.block_on("reading SMART", async move { driver.health().await })??;
    let stats = machine.device().stats();
    Ok(Sample {
        drive_writes: written as f64 / blocks as f64,
        erases_min: stats.erases.min,
        erases_mean: stats.erases.mean,
        erases_max: stats.erases.max,
        available_spare: health.available_spare,
        percentage_used: health.percentage_used,
        grown_bad_blocks: stats.ftl.grown_bad_blocks,
    })
}

fn power_on(plan: &Plan, profile: &Profile, media: Media) -> Result<Machine, LifetimeError> {
    let config = Config { depth: 4, ..Config::default() };
    let content = Some(Content::Fingerprint);
    let machine = Machine::power_on(&plan.name, profile, content, media, &Recorder::default(), config)?;
    machine.boot()?;
    Ok(machine)
}

/// Runs a life of a drive whose blocks last for about `cycles` cycles.
pub(super) fn live(
    (plan, levelling): (&Plan, Levelling),
    profile: &Profile,
    cycles: u64,
    follow: &mut dyn FnMut(&Age) -> ControlFlow<()>,
) -> Result<Life, LifetimeError> {
    let machine = power_on(plan, profile, Media::fresh())?;
    let blocks = machine.driver().namespace().blocks;
    let pieces = blocks.div_ceil(WRITE_BLOCKS) as usize;
    let known = Known {
        versions: vec![0; pieces],
        latest: 0,
        unsure: Vec::new(),
        older: Vec::new(),
        is_cut: false,
        blocks,
        rng: Rng::new(plan.seed),
    };
    let known = Rc::new(RefCell::new(known));
    let hot = (pieces as u64 * u64::from(plan.hot_percent) / 100).max(1);
    let stretch = (pieces as f64 * cycles as f64 / SAMPLES).max(1.0) as usize;
    let (mut written, mut samples, mut refused) = (0, Vec::new(), None);
    let mut next: Vec<usize> = (0..pieces).collect();
    while refused.is_none() {
        let (known, driver) = (Rc::clone(&known), Rc::clone(machine.driver()));
        let work = write_all(Rc::clone(&known), driver, next);
        let (more, end) = machine.block_on("writing", work)??;
        (written, refused) = (written + more, end);
        let now = sample(&machine, written)?;
        samples.push(now);
        let age = Age { now, cycles, drive_writes_max: plan.drive_writes_max };
        if follow(&age).is_break() {
            return Err(LifetimeError::Stopped);
        }
        if plan.drive_writes_max.is_some_and(|most| now.drive_writes >= most) {
            break;
        }
        let rng = &mut known.borrow_mut().rng;
        next = (0..stretch).map(|_| rng.below(hot) as usize).collect();
    }
    let read = |machine: &Machine| -> Result<ReadBack, LifetimeError> {
        machine.block_on("reading", read_all(Rc::clone(&known), Rc::clone(machine.driver())))?
    };
    let before = read(&machine)?;
    let stats = machine.device().stats().ftl;
    let driver = Rc::clone(machine.driver());
    let health = machine.block_on("reading SMART", async move { driver.health().await })??;
    let state = if refused.is_some() { DriveState::ReadOnly } else { DriveState::Ready };
    let machine = power_on_as(state, plan, profile, machine.cut_power())?;
    known.borrow_mut().is_cut = true;
    let after = read(&machine)?;
    // Cells that reads disturb, or whose charge is near a read level, may be lost in one read and not in
    // another.
    let errors = &profile.package.errors;
    if (errors.read, errors.read_noise_mv) == (0.0, 0.0) {
        same_lost(&before.lost, &after.lost, &|block| known.borrow().may_be_older(block))?;
    }
    Ok(Life {
        wear_levelling: levelling,
        drive_writes: written as f64 / blocks as f64,
        waf: stats.waf(),
        levelled_blocks: stats.levelled,
        refreshed_blocks: stats.refreshed,
        read_only: refused.is_some(),
        refused_with: refused.map(|Refused(status)| status),
        critical_warning: health.critical_warning,
        checked_blocks: before.blocks,
        lost_blocks: before.lost.len() as u64,
        lost_after_power_loss: after.lost.len() as u64,
        samples,
    })
}

/// A loss of power must neither lose a flushed block nor bring an older version back.
fn same_lost(before: &[u64], after: &[u64], is_unsure: &dyn Fn(u64) -> bool) -> Result<(), LifetimeError> {
    let only_in = |some: &[u64], others: &[u64]| {
        some.iter().copied().find(|block| !others.contains(block) && !is_unsure(*block))
    };
    let wrong = match (only_in(after, before), only_in(before, after)) {
        (Some(block), _) => format!("block {block} was flushed, and is lost after a loss of power"),
        (None, Some(block)) => format!("block {block} was lost, and is there again after a loss of power"),
        (None, None) => return Ok(()),
    };
    Err(LifetimeError::Wrong(wrong))
}

/// The drive after a loss of power. One that accepted writes must go on to do so. One that didn't may do so
/// again: it lacked a block to copy to, and the loss of power freed those of a map that was being stored.
fn power_on_as(
    state: DriveState,
    plan: &Plan,
    profile: &Profile,
    media: Media,
) -> Result<Machine, LifetimeError> {
    let machine = power_on(plan, profile, media)?;
    let found = machine.device().stats().ftl.state;
    if found == state || (state, found) == (DriveState::ReadOnly, DriveState::Ready) {
        return Ok(machine);
    }
    let wrong = format!("a drive that was {state:?} came back {found:?} after a loss of power");
    Err(LifetimeError::Wrong(wrong))
}

#[cfg(test)]
mod tests {
    use super::same_lost;

    #[test]
    fn a_block_that_only_one_of_two_readings_misses_is_told() {
        let sure = |_| false;
        assert!(same_lost(&[3, 9], &[3, 9], &sure).is_ok() && same_lost(&[], &[], &sure).is_ok());
        let wrong = |before: &[u64], after: &[u64]| same_lost(before, after, &sure).unwrap_err().to_string();
        assert_eq!(wrong(&[3], &[3, 9]), "block 9 was flushed, and is lost after a loss of power");
        assert_eq!(wrong(&[3, 9], &[9]), "block 3 was lost, and is there again after a loss of power");
        assert!(same_lost(&[3], &[9], &|block| block == 3 || block == 9).is_ok());
    }
}
