//! Runs work on a bench: first prepares it, then injects the work.

use crate::bench::Bench;
use crate::content::READ_BLOCKS;
use crate::error::BenchError;
use crate::sample::{Ran, Sample};
use crate::station::{Station, Turns};
use crate::stations;
use crate::stream::{self, Stream};
use crate::work::{BenchOperation, BenchWork, Pattern};
use aster_channel::ChannelStats;
use aster_units::Instant;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A bench that is ready for its work.
pub struct Prepared(Ready);

enum Ready {
    Requests(Stream),
    Operations(BenchWork, Vec<Station>),
}

impl Bench {
    /// Prepares the bench, whose cells must be new, for `work`: programs the pages for reads. Calls
    /// `progress` with shares from 0 to 1; if it returns `false`, nothing more is done, neither now nor in
    /// the run.
    ///
    /// # Errors
    /// When the packages have too few good blocks, or they or the controller don't have the operation.
    pub fn prepare(
        &self,
        work: &BenchWork,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Prepared, BenchError> {
        if let BenchOperation::Flash(operation) = work.operation {
            let mut stopped = false;
            let stations = stations::fill(self, stations::of(self, operation, work)?, &mut |share| {
                stopped |= !progress(share);
                !stopped
            });
            let work = BenchWork { requests: if stopped { 0 } else { work.requests }, ..*work };
            return Ok(Prepared(Ready::Operations(work, stations)));
        }
        let mut stream = Stream::new(self, *work)?;
        let mut stopped = false;
        if matches!(work.operation, BenchOperation::Read | BenchOperation::Mixed) {
            let pages = READ_BLOCKS as u64 * u64::from(self.geometry().pages_per_block);
            let total = pages * stream.luns();
            stream = stream.with(BenchWork {
                operation: BenchOperation::Program,
                pattern: Pattern::Sequential,
                requests: total,
                time: None,
                ..*work
            });
            let mut done = 0;
            stream = stream::inject(self, stream, &mut |_| {
                done += 1;
                stopped |= !progress(done as f64 / total as f64);
                !stopped
            });
        }
        let work = BenchWork { requests: if stopped { 0 } else { work.requests }, ..*work };
        Ok(Prepared(Ready::Requests(stream.with(work))))
    }

    /// Injects the work that the bench was prepared for, and calls `each` for every request that has ended;
    /// if it returns `false`, no further request is sent.
    pub fn run(&self, prepared: Prepared, each: &mut dyn FnMut(&Sample) -> bool) -> Ran {
        let (started, before) = (self.exec().now(), self.stats());
        let mut ended = started;
        let each: &mut dyn FnMut(&Sample) -> bool = &mut |sample| {
            ended = self.exec().now();
            each(sample)
        };
        match prepared.0 {
            Ready::Requests(stream) => drop(stream::inject(self, stream, each)),
            Ready::Operations(work, stations) => {
                let turns = Turns {
                    left: Cell::new(work.requests),
                    until: work.time.map_or(Instant::MAX, |time| started + time),
                    stop: Cell::new(false),
                    samples: RefCell::default(),
                };
                stations::work(self, stations, Rc::new(turns), false, each);
            }
        }
        let after = self.stats();
        Ran {
            simulated: ended.since(started),
            channel: ChannelStats {
                transactions: after.transactions - before.transactions,
                failed: after.failed - before.failed,
                bytes: after.bytes - before.bytes,
                busy: after.busy.saturating_sub(before.busy),
            },
        }
    }
}
