use crate::job::BlockSizes;
use crate::{Distribution, Drive, Extent, Job, Mix, Pace, Zone};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use aster_units::mix64;
use core::fmt;

/// One copy of a job, laid out on a drive and checked: later code can rely on its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The job it came from.
    pub job: Job,
    /// Which copy, from 0.
    pub copy: u32,
    /// First byte of the region.
    pub start: u64,
    /// Bytes of the region; at least the smallest block size.
    pub bytes: u64,
    /// Bytes that one loop requests, at least 1.
    pub io_bytes: u64,
    /// The seed of this copy.
    pub seed: u64,
}

/// Why nothing can be written to a drive without an FTL, and what helps.
pub const NO_BLOCKS: &str = "the drive has no logical blocks: its host addresses the flash itself. An FTL on \
                             the host gives it some: target.kind = \"pblk\" for an open-channel drive, \
                             \"hostftl\" or \"page-mapping\" for one that takes command frames";

/// A job that does not fit the drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanError {
    /// The job's name.
    pub job: String,
    /// The option at fault, in fio's words.
    pub option: &'static str,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job \"{}\": {}: {}", self.job, self.option, self.problem)
    }
}
impl core::error::Error for PlanError {}

/// What is wrong with the zones of a direction, independently of the region.
fn zones_at_fault(zones: &[Zone]) -> Option<String> {
    let requests: u32 = zones.iter().map(|zone| u32::from(zone.requests_percent)).sum();
    if !zones.is_empty() && requests != 100 {
        return Some(format!("the requests of its zones are {requests} percent together and must be 100"));
    }
    let percents = zones.iter().filter_map(|zone| match zone.size {
        Extent::Percent(percent) => Some(u32::from(percent)),
        Extent::Bytes(_) => None,
    });
    let together: u32 = percents.sum();
    if together > 100 {
        return Some(format!("its zones are {together} percent of the region together"));
    }
    let nothing = |size| matches!(size, Extent::Percent(0) | Extent::Bytes(0));
    let at = zones.iter().position(|zone| zone.requests_percent > 0 && nothing(zone.size))?;
    Some(format!(
        "zone {} has {} percent of the requests, but nothing of the region is left for it: give it a size, \
         and the others less",
        at + 1,
        zones[at].requests_percent
    ))
}

impl Job {
    /// Lays the job's copies out on `drive`. `run_seed` matters to jobs that are not repeatable.
    ///
    /// # Errors
    /// Names the option that the drive cannot satisfy: a block size that isn't a multiple of its logical
    /// block, or a region that ends beyond it.
    pub fn plans(&self, drive: Drive, run_seed: u64) -> Result<Vec<Plan>, PlanError> {
        (0..self.copies).map(|copy| self.plan(copy, drive, run_seed)).collect()
    }

    fn plan(&self, copy: u32, drive: Drive, run_seed: u64) -> Result<Plan, PlanError> {
        let fail = |option, problem| PlanError { job: self.name.clone(), option, problem };
        let block = drive.block_bytes;
        let smallest = self.smallest_block();
        for bytes in self.used_sizes().flat_map(BlockSizes::units) {
            if bytes == 0 || bytes % block != 0 {
                return Err(fail(
                    "bs",
                    format!("{bytes} is not a multiple of the drive's {block} byte blocks"),
                ));
            }
        }
        if !self.streams.is_empty() && drive.streams == 0 {
            let problem = "the drive has no streams for its host to name: ftl.stream_policy = \"directive\" \
                           and ftl.streams = 2 or more give it some";
            return Err(fail("dataplacement", problem.to_owned()));
        }
        if let Some(align) = &self.block_align {
            for bytes in [align.read, align.write, align.trim] {
                if bytes == 0 || bytes % block != 0 {
                    let problem = format!("{bytes} is not a multiple of the drive's {block} byte blocks");
                    return Err(fail("blockalign", problem));
                }
            }
        }
        if self.gap % i64::from(block) != 0 {
            let problem =
                format!("a gap of {} isn't a multiple of the drive's {block} byte blocks", self.gap);
            return Err(fail("rw", problem));
        }
        let place = |extent: Extent, option| {
            let bytes = extent.resolve(drive.bytes);
            match extent {
                Extent::Percent(_) => Ok(bytes.next_multiple_of(u64::from(smallest))),
                Extent::Bytes(_) if bytes.is_multiple_of(u64::from(block)) => Ok(bytes),
                Extent::Bytes(_) => {
                    Err(fail(option, format!("{bytes} is not a multiple of the drive's {block} byte blocks")))
                }
            }
        };
        let first = place(self.offset, "offset")?;
        let step = place(self.offset_increment, "offset_increment")?;
        let start = step.checked_mul(u64::from(copy)).and_then(|sum| sum.checked_add(first));
        let start = start.filter(|&start| start < drive.bytes);
        let Some(start) = start else {
            if drive.bytes == 0 {
                return Err(fail("size", NO_BLOCKS.to_owned()));
            }
            let problem = format!("copy {copy} begins beyond the drive, which has {} bytes", drive.bytes);
            return Err(fail("offset", problem));
        };
        let rest = drive.bytes - start;
        let bytes = match self.size {
            None => rest,
            Some(size @ Extent::Percent(_)) => size.resolve(drive.bytes).min(rest),
            Some(Extent::Bytes(bytes)) if bytes <= rest => bytes,
            Some(Extent::Bytes(bytes)) => {
                let problem =
                    format!("{bytes} bytes from {start} end beyond the drive, which has {}", drive.bytes);
                return Err(fail("size", problem));
            }
        };
        // A partial block at the end isn't used.
        let bytes = bytes / u64::from(block) * u64::from(block);
        if bytes < u64::from(smallest) {
            return Err(fail("size", format!("{bytes} bytes hold no block of {smallest}")));
        }
        // As in fio, a percentage is of the region.
        let io_bytes = self.io_size.map_or(bytes, |size| size.resolve(bytes));
        if io_bytes == 0 {
            return Err(fail("io_size", String::from("must be above 0")));
        }
        if let Distribution::Zoned(zones) = &self.distribution {
            for zones in [&zones.read, &zones.write, &zones.trim] {
                if let Some(problem) = zones_at_fault(zones) {
                    return Err(fail("random_distribution", problem));
                }
                let sizes = zones.iter().filter_map(|zone| match zone.size {
                    Extent::Bytes(bytes) => Some(bytes),
                    Extent::Percent(_) => None,
                });
                let together = sizes.fold(0, u64::saturating_add);
                if together > bytes {
                    let problem = format!("its zones are {together} bytes together, its region has {bytes}");
                    return Err(fail("random_distribution", problem));
                }
            }
        }
        let base = if self.repeatable { self.seed } else { mix64(self.seed ^ mix64(run_seed)) };
        let seed = mix64(base.wrapping_add(u64::from(copy).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        Ok(Plan { job: self.clone(), copy, start, bytes, io_bytes, seed })
    }

    /// The block sizes of the directions that the mix uses.
    fn used_sizes(&self) -> impl Iterator<Item = &BlockSizes> {
        let sizes = &self.block_sizes;
        let used = match self.mix {
            Mix::Read => [Some(&sizes.read), None],
            // A trim before a write has the write's length.
            Mix::Write | Mix::TrimWrite => [Some(&sizes.write), None],
            Mix::Trim => [Some(&sizes.trim), None],
            Mix::ReadWrite => [Some(&sizes.read), Some(&sizes.write)],
        };
        used.into_iter().flatten()
    }

    /// The largest request that moves data, in bytes; 0 when none does.
    pub fn largest_data_block(&self) -> u32 {
        let sizes = &self.block_sizes;
        let write = if self.write_zeroes { 0 } else { sizes.write.largest() };
        match self.mix {
            Mix::Read => sizes.read.largest(),
            Mix::Write | Mix::TrimWrite => write,
            Mix::Trim => 0,
            Mix::ReadWrite => sizes.read.largest().max(write),
        }
    }

    /// The smallest request that the job can make, in bytes.
    pub fn smallest_block(&self) -> u32 {
        self.used_sizes().map(BlockSizes::smallest).min().unwrap_or(0)
    }
}

impl Plan {
    /// When the job's requests may go.
    pub fn pace(&self) -> Pace {
        Pace {
            queue_depth: self.job.queue_depth,
            think_time: self.job.think_time,
            think_time_blocks: self.job.think_time_blocks,
            think_time_every: self.job.think_time_every,
            rate_ignores_think_time: self.job.rate_ignores_think_time,
            start_delay: self.job.start_delay,
            ramp_time: self.job.ramp_time,
            run_time: self.job.run_time,
            keep_gaps: false,
        }
    }

    /// One past the region's last byte.
    pub const fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, PerDirection};
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn zones_that_can_not_be_drawn_from_are_refused_in_words() {
        let refused = |zones: &[(u8, Extent)]| {
            let zone = |&(requests_percent, size)| Zone { requests_percent, size };
            let zones = zones.iter().map(zone).collect::<Vec<_>>();
            let distribution = Distribution::Zoned(PerDirection { read: zones, write: vec![], trim: vec![] });
            let job = Job { access: Access::Random, distribution, ..Job::default() };
            let drive = Drive { bytes: 1 << 20, block_bytes: 4096, streams: 0 };
            job.plans(drive, 0).map_or_else(|error| error.to_string(), |_| String::new())
        };
        let percent = Extent::Percent;
        let blank = refused(&[(60, percent(100)), (40, percent(0))]);
        assert!(blank.contains("random_distribution: zone 2 has 40 percent of the requests"), "{blank}");
        assert!(refused(&[(100, Extent::Bytes(0))]).contains("zone 1 has"));
        assert!(refused(&[(60, percent(50)), (30, percent(50))]).contains("are 90 percent together"));
        assert!(refused(&[(200, percent(50)), (200, percent(50))]).contains("are 400 percent together"));
        assert!(refused(&[(50, percent(80)), (50, percent(80))]).contains("160 percent of the region"));
        assert_eq!(refused(&[(100, percent(100)), (0, percent(0))]), "");
    }
}
