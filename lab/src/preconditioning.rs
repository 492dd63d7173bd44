//! What was written to a drive before its work begins: by real writes, or put there at once.

use aster_device::plug::WriteHistory;
use aster_device::profile::Profile;
use aster_units::Content;
use aster_workload::content::{self, Identity, VERSION_MAX};
use aster_workload::{Drive, Extent, Generator, Job, Plan, PlanError, Source, fio};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The fewest bytes of a write of a drive in steady state.
const WRITE_BYTES_MIN: u32 = 4096;
/// Bytes of each random write of a preconditioning by writes.
pub(crate) const OVERWRITE_BYTES: u32 = 16 << 10;

/// The version of what the host has written last, and of what it has overwritten. A run counts versions from
/// 1, so that it doesn't write these for a while.
pub(crate) const CURRENT: u32 = VERSION_MAX;
const STALE: u32 = VERSION_MAX - 1;

/// How a drive is preconditioned.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preconditioning {
    /// It is filled by writes, and then this percentage of it is overwritten at random.
    Overwritten(u32),
    /// It is made as if it had been overwritten for ever.
    Steady(Steady),
}

/// The writes of a drive that has been overwritten for ever, at random: each of a mapping unit, but of 4 KiB
/// at least.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Steady {
    /// How their offsets are distributed, in the words of fio's `random_distribution`; `None` is evenly.
    pub distribution: Option<String>,
}

/// The most percent that a drive is overwritten by writes.
const PERCENT_MAX: u32 = 10_000;

impl FromStr for Preconditioning {
    type Err = String;

    /// A percentage; or `steady`, with a distribution behind a colon where the writes aren't spread evenly.
    fn from_str(text: &str) -> Result<Self, String> {
        let steady = text.strip_prefix("steady").map(|rest| (rest.is_empty(), rest.strip_prefix(':')));
        match (steady, text.parse()) {
            (Some((true, _)), _) => Ok(Preconditioning::Steady(Steady::default())),
            (Some((_, Some(distribution))), _) => {
                let steady = Steady { distribution: Some(distribution.to_owned()) };
                steady.job(WRITE_BYTES_MIN)?;
                Ok(Preconditioning::Steady(steady))
            }
            (_, Ok(percent)) if percent <= PERCENT_MAX => Ok(Preconditioning::Overwritten(percent)),
            _ => Err(format!(
                "must be a percentage from 0 to {PERCENT_MAX}, \"steady\", or \"steady:\" with a value of \
                 fio's random_distribution, as in steady:zipf:1.1"
            )),
        }
    }
}

impl fmt::Display for Preconditioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preconditioning::Overwritten(percent) => write!(f, "{percent}"),
            Preconditioning::Steady(Steady { distribution: None }) => f.write_str("steady"),
            Preconditioning::Steady(Steady { distribution: Some(of) }) => write!(f, "steady:{of}"),
        }
    }
}

impl Steady {
    /// The writes as a job that never ends.
    fn job(&self, bytes: u32) -> Result<Job, String> {
        let text = format!(
            "[steady]\nrw=randwrite\nbs={bytes}\nnorandommap\nrandom_distribution={}\n",
            self.distribution.as_deref().unwrap_or("random")
        );
        let jobs = fio::parse(&text).map_err(|error| error.to_string())?;
        let job = jobs.into_iter().next().ok_or("the distribution makes no job")?;
        Ok(Job { io_size: Some(Extent::Bytes(u64::MAX / 2)), loops: 1, ..job })
    }
    /// What they leave on `drive`, whose content is kept as `kept`. The run's `seed` decides where the writes
    /// go, and stands in the content.
    ///
    /// # Errors
    /// When such writes don't fit the drive.
    pub fn history(
        &self,
        profile: &Profile,
        drive: Drive,
        kept: Content,
        seed: u64,
    ) -> Result<Box<dyn WriteHistory>, PlanError> {
        let wrong = |problem| PlanError { job: "steady".to_owned(), option: "random_distribution", problem };
        let job = Job { seed, ..self.job(write_bytes(profile)).map_err(wrong)? };
        let plan = job.plans(drive, seed)?.into_iter().next();
        let plan: Plan = plan.ok_or_else(|| wrong("has no copy of the job".to_owned()))?;
        Ok(Box::new(History { writes: Generator::new(&plan), drive, kept, seed }))
    }
}

/// Bytes of a write.
fn write_bytes(profile: &Profile) -> u32 {
    let page = profile.used_geometry().page_bytes;
    let unit = match profile.ftl.mapping_unit_bytes {
        0 => page,
        bytes => bytes.min(page),
    };
    unit.max(WRITE_BYTES_MIN)
}

/// The writes of a job, and what they leave.
struct History {
    writes: Generator,
    drive: Drive,
    kept: Content,
    seed: u64,
}

impl WriteHistory for History {
    fn next_write(&mut self) -> (u64, u32) {
        let Ok(request) = self.writes.next_request();
        request.map_or((0, self.drive.block_bytes), |write| (write.offset, write.length))
    }
    fn content(&mut self, at: u64, current: bool, into: &mut [u8]) {
        let version = if current { CURRENT } else { STALE };
        let blocks = at / u64::from(self.drive.block_bytes)..;
        match self.kept {
            Content::Fingerprint => {
                for (tag, block) in into.chunks_exact_mut(8).zip(blocks) {
                    tag.copy_from_slice(&content::tag(block, version).to_le_bytes());
                }
            }
            Content::Full => {
                for (bytes, block) in into.chunks_exact_mut(self.drive.block_bytes as usize).zip(blocks) {
                    content::fill(bytes, Identity { block, version, seed: self.seed });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
