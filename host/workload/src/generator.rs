use crate::job::BlockSizes;
use crate::placement::{Placement, Slots};
use crate::rate::Schedule;
use crate::{Access, Distribution, Mix, PerDirection, Plan, Request, RequestKind, Source};
use alloc::vec::Vec;
use aster_units::{Duration, Rng};
use core::convert::Infallible;

fn is_write(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::Write | RequestKind::WriteZeroes)
}

/// The state of one direction.
#[derive(Clone, Debug)]
struct Lane {
    sizes: BlockSizes,
    align: u64,
    slots: u64,
    /// Next sequential offset inside the region.
    cursor: u64,
    /// Where the last request began.
    last: u64,
    /// Percentage of a random job's requests that are random.
    random_percent: u8,
    schedule: Schedule,
}

impl Lane {
    fn new<'a>(plan: &'a Plan, align: Option<u64>, of: Direction) -> Self {
        let job = &plan.job;
        let sizes: &'a BlockSizes = of.of(&job.block_sizes);
        let align = align.unwrap_or_else(|| sizes.smallest().into());
        // A slot is a start from which at least the smallest request fits.
        let slots = (plan.bytes.saturating_sub(u64::from(sizes.smallest()))) / align + 1;
        // Each direction and copy draws its own gaps.
        let seed = plan.seed.wrapping_add(of as u64 + 1);
        let (iops, rate) = (*of.of(&job.rate_iops), *of.of(&job.rate));
        let schedule = Schedule::new(iops, rate, job.poisson, sizes.smallest(), seed);
        let random_percent = *of.of(&job.random_percent);
        Lane { sizes: sizes.clone(), align, slots, cursor: 0, last: 0, random_percent, schedule }
    }

    /// When its next request is due, counted from the start.
    fn due(&self) -> Duration {
        self.schedule.due().unwrap_or(Duration::ZERO)
    }

    fn slots(&self) -> Slots {
        Slots { count: self.slots, align: self.align }
    }
}

/// A direction of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Read,
    Write,
    Trim,
}

impl Direction {
    fn of<T>(self, values: &PerDirection<T>) -> &T {
        match self {
            Direction::Read => &values.read,
            Direction::Write => &values.write,
            Direction::Trim => &values.trim,
        }
    }
}

/// Which requests of a mix were reads, one bit per request.
#[derive(Clone, Debug, Default)]
struct Choices {
    words: Vec<u64>,
    length: u64,
}

impl Choices {
    fn push(&mut self, is_read: bool) {
        let bit = self.length % 64;
        if bit == 0 {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(is_read) << bit;
        }
        self.length += 1;
    }

    fn get(&self, index: u64) -> Option<bool> {
        let word = self.words.get(usize::try_from(index / 64).ok()?)?;
        (index < self.length).then(|| word >> (index % 64) & 1 == 1)
    }
}

/// The streams of a job's writes.
#[derive(Clone, Debug)]
struct Streams {
    identifiers: Vec<u16>,
    next: usize,
    /// Draws by itself, so that streams change no other choice; `None` takes one after the other.
    rng: Option<Rng>,
}

impl Streams {
    fn new(identifiers: &[u16], random: bool, seed: u64) -> Self {
        let rng = random.then(|| Rng::new(seed.wrapping_add(STREAMS_SEED)));
        Streams { identifiers: identifiers.to_vec(), next: 0, rng }
    }
    /// The stream of the next write; 0 for a job without streams.
    fn next(&mut self) -> u16 {
        let count = self.identifiers.len();
        if count == 0 {
            return 0;
        }
        let at = match &mut self.rng {
            Some(rng) => rng.below(count as u64) as usize,
            None => {
                let next = (self.next + 1) % count;
                core::mem::replace(&mut self.next, next)
            }
        };
        self.identifiers[at]
    }
}

/// The draws of streams are none of the offsets'.
const STREAMS_SEED: u64 = 0x5354_5245_414d_5300;

/// The direction of a mix's requests where a direction has a rate.
#[derive(Clone, Debug)]
enum Rated {
    /// No direction has a rate: only the percentage counts.
    No,
    /// The direction that is due goes. `kept` records the choices, for reading back.
    Chosen { kept: Option<Choices> },
    /// Repeats recorded choices; `followed` counts the requests so far.
    Again { chosen: Choices, followed: u64 },
}

/// The requests of a [`Plan`], one after the other: a function of the plan and, for a mix with rates, of the
/// times of the calls. It needs constant memory, plus one bit per request for such a mix that is read back.
///
/// A loop ends when its requests add up to the plan's `io_bytes` (both directions together; a trim before a
/// write is not counted), so the last request may go a little beyond. With a random map and several block
/// sizes, starts are not repeated within a pass but lengths may overlap.
#[derive(Clone, Debug)]
pub struct Generator {
    access: Access,
    mix: Mix,
    read_percent: u64,
    start: u64,
    bytes: u64,
    io_bytes: u64,
    seed: u64,
    number_ios: u64,
    loops: u64,
    endless: bool,
    fua: bool,
    write_kind: RequestKind,
    streams: Streams,
    flush_every: u64,
    flush_at_end: bool,
    placement: Placement,
    random_every: u32,
    /// Requests up to the next random one.
    until_random: u32,
    repeats_between: bool,
    gap: i64,
    read: Lane,
    write: Lane,
    trim: Lane,
    rng: Rng,
    loop_bytes: u64,
    loops_done: u64,
    issued: u64,
    writes_since_flush: u64,
    rated: Rated,
    write_after_trim: Option<Request>,
}

impl Generator {
    /// The requests of `plan`.
    pub fn new(plan: &Plan) -> Self {
        let job = &plan.job;
        let smallest = u64::from(job.smallest_block());
        // One map serves both directions of a mix, so both count in its unit. With an alignment other than
        // the block size no slot covers some blocks, so a map would be meaningless.
        let map = job.random_map && job.distribution == Distribution::Uniform && job.block_align.is_none();
        let lane = |of: Direction| {
            let own = job.block_align.map(|aligns| u64::from(*of.of(&aligns)));
            Lane::new(plan, own.or(map.then_some(smallest)), of)
        };
        let (read, write, trim) = (lane(Direction::Read), lane(Direction::Write), lane(Direction::Trim));
        let slots = match job.mix {
            Mix::Read => read.slots,
            Mix::Write | Mix::TrimWrite => write.slots,
            Mix::Trim => trim.slots,
            Mix::ReadWrite => read.slots.max(write.slots),
        };
        let of = PerDirection { read: read.slots(), write: write.slots(), trim: trim.slots() };
        let placement = Placement::new(&job.distribution, job.center, map, slots, plan.bytes, &of, plan.seed);
        let both = job.mix == Mix::ReadWrite && (1..100).contains(&job.read_percent);
        let rated = match both && (read.schedule.is_limited() || write.schedule.is_limited()) {
            false => Rated::No,
            true => Rated::Chosen { kept: (job.verify && job.read_back).then(Choices::default) },
        };
        Generator {
            rated,
            access: job.access,
            mix: job.mix,
            read_percent: u64::from(job.read_percent),
            start: plan.start,
            bytes: plan.bytes,
            io_bytes: plan.io_bytes,
            seed: plan.seed,
            number_ios: job.number_ios.unwrap_or(u64::MAX),
            loops: u64::from(job.loops),
            endless: job.time_based,
            fua: job.fua,
            write_kind: if job.write_zeroes { RequestKind::WriteZeroes } else { RequestKind::Write },
            streams: Streams::new(&job.streams, job.random_streams, plan.seed),
            flush_every: job.flush_every,
            flush_at_end: job.flush_at_end,
            placement,
            random_every: job.random_every.max(1),
            until_random: job.random_every.max(1),
            repeats_between: job.repeats_between,
            gap: job.gap,
            read,
            write,
            trim,
            rng: Rng::new(plan.seed),
            loop_bytes: 0,
            loops_done: 0,
            issued: 0,
            writes_since_flush: 0,
            write_after_trim: None,
        }
    }

    /// Data requests returned so far; flushes don't count.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Which direction of a mix goes at `elapsed`. Each keeps to its own rate, as in fio. If the direction
    /// chosen by percentage isn't due, the other one goes if it is due. If neither is due, the one with
    /// the earlier due time goes.
    fn reads_next(&mut self, elapsed: Duration) -> bool {
        let drawn = self.rng.below(100) < self.read_percent;
        let kept = match &mut self.rated {
            Rated::No => return drawn,
            Rated::Again { chosen, followed } => {
                *followed += 1;
                return chosen.get(*followed - 1).unwrap_or(drawn);
            }
            Rated::Chosen { kept } => kept,
        };
        let (read, write) = (self.read.due(), self.write.due());
        let (own, other) = if drawn { (read, write) } else { (write, read) };
        let stays = own <= elapsed || (other > elapsed && own <= other);
        let reads = stays == drawn;
        if let Some(kept) = kept {
            kept.push(reads);
        }
        reads
    }

    /// The next data request as of `elapsed`; `None` when the job's amount is done.
    #[inline]
    fn next_data(&mut self, elapsed: Duration) -> Option<Request> {
        if self.issued == self.number_ios {
            return None;
        }
        if let Some(write) = self.write_after_trim.take() {
            self.issued += 1;
            return Some(write);
        }
        if self.loop_bytes >= self.io_bytes {
            self.loops_done += 1;
            if !self.endless && self.loops_done >= self.loops {
                // Further calls return `None`, too.
                self.number_ios = self.issued;
                return None;
            }
            self.loop_bytes = 0;
            for lane in [&mut self.read, &mut self.write, &mut self.trim] {
                (lane.cursor, lane.last) = (0, 0);
            }
        }
        let reads = match self.mix {
            Mix::ReadWrite => self.reads_next(elapsed),
            mix => mix == Mix::Read,
        };
        let kind = match self.mix {
            Mix::Trim => RequestKind::Trim,
            _ if reads => RequestKind::Read,
            _ => self.write_kind,
        };
        let request = self.place(kind);
        self.loop_bytes += u64::from(request.length);
        self.issued += 1;
        if self.mix == Mix::TrimWrite {
            self.write_after_trim = Some(request);
            return Some(Request { kind: RequestKind::Trim, fua: false, ..request });
        }
        Some(request)
    }

    /// Whether a random offset is due, of a random job.
    fn random_is_due(&mut self) -> bool {
        self.until_random -= 1;
        let is_due = self.until_random == 0;
        if is_due {
            self.until_random = self.random_every;
        }
        is_due
    }

    #[inline]
    fn place(&mut self, kind: RequestKind) -> Request {
        let is_due = self.random_is_due();
        let (lane, of) = match kind {
            RequestKind::Read => (&mut self.read, Direction::Read),
            RequestKind::Trim => (&mut self.trim, Direction::Trim),
            RequestKind::Write | RequestKind::WriteZeroes | RequestKind::Flush => {
                (&mut self.write, Direction::Write)
            }
        };
        let length = u64::from(lane.sizes.pick(&mut self.rng));
        let goes_on = self.access == Access::Sequential
            || !is_due
            || (lane.random_percent < 100 && self.rng.below(100) >= u64::from(lane.random_percent));
        let inside = if !is_due && self.repeats_between {
            lane.last
        } else if goes_on {
            let next = next_in_order(lane.cursor, self.gap, self.start, self.bytes);
            if next >= self.bytes { 0 } else { next }
        } else {
            let slot = self.placement.slot(lane.slots, |zones| of.of(zones), self.seed, &mut self.rng);
            // Directions of a mix share one range of slots: fold the slots in which this direction's block
            // doesn't fit.
            slot % lane.slots * lane.align
        };
        let length = length.min(self.bytes - inside);
        (lane.cursor, lane.last) = (inside + length, inside);
        // The length came from a u32 and only shrank.
        let length = length as u32;
        let at = lane.schedule.next(length);
        let fua = self.fua && is_write(kind);
        let stream = if kind == RequestKind::Write { self.streams.next() } else { 0 };
        Request { kind, offset: self.start + inside, length, fua, stream, at }
    }
}

/// Where a request behind `cursor` begins inside of its region, as in fio: beyond the region's end one begins
/// at its beginning, and before its beginning at its end. Backwards, the first one of a region that begins at
/// the drive's beginning is there.
fn next_in_order(cursor: u64, gap: i64, start: u64, bytes: u64) -> u64 {
    let rewinds = gap < 0 && cursor == 0 && start > 0;
    let cursor = if rewinds { bytes } else { cursor };
    if gap == 0 || cursor == 0 {
        return cursor;
    }
    cursor.checked_add_signed(gap).or_else(|| bytes.checked_add_signed(gap)).unwrap_or(0)
}

impl Source for Generator {
    type Error = Infallible;

    /// Uses the time at which the earlier direction is due, which gives the requests for a drive that
    /// keeps up.
    fn next_request(&mut self) -> Result<Option<Request>, Infallible> {
        self.next_request_at(self.read.due().min(self.write.due()))
    }

    #[inline]
    fn next_request_at(&mut self, elapsed: Duration) -> Result<Option<Request>, Infallible> {
        if self.flush_every > 0 && self.writes_since_flush == self.flush_every {
            self.writes_since_flush = 0;
            return Ok(Some(Request::FLUSH));
        }
        let request = self.next_data(elapsed);
        if request.is_some_and(|r| is_write(r.kind)) {
            self.writes_since_flush += 1;
        }
        Ok(request)
    }

    fn closing_request(&mut self) -> Option<Request> {
        self.flush_at_end.then_some(Request::FLUSH)
    }
}

/// Reads back what a generator wrote: the same offsets in the same order, as reads, as fast as the queue
/// takes them.
#[derive(Clone, Debug)]
pub struct WrittenBlocks {
    again: Generator,
    until: u64,
}

impl WrittenBlocks {
    /// The writes among the data requests that `generator`, made from `plan`, has returned so far.
    pub fn new(plan: &Plan, generator: &Generator) -> Self {
        let mut again = Generator::new(plan);
        if let Rated::Chosen { kept: Some(chosen) } = &generator.rated {
            again.rated = Rated::Again { chosen: chosen.clone(), followed: 0 };
        }
        WrittenBlocks { again, until: generator.issued }
    }
}

impl Source for WrittenBlocks {
    type Error = Infallible;

    fn next_request(&mut self) -> Result<Option<Request>, Infallible> {
        while self.again.issued < self.until {
            match self.again.next_data(Duration::ZERO) {
                Some(request) if is_write(request.kind) => {
                    return Ok(Some(Request { kind: RequestKind::Read, fua: false, at: None, ..request }));
                }
                Some(_) => {}
                None => break,
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
#[path = "generator_tests.rs"]
mod tests;
