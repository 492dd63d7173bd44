use aster_units::Duration;

/// What a request does; each has its NVMe command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum RequestKind {
    /// Read (NVMe 1.4 §6.9).
    Read,
    /// Write (NVMe 1.4 §6.15).
    Write,
    /// Flush (NVMe 1.4 §6.8). Offset and length are 0.
    Flush,
    /// Dataset Management with the Deallocate attribute (NVMe 1.4 §6.7).
    Trim,
    /// Write Zeroes (NVMe 1.4 §6.17).
    WriteZeroes,
}

/// One request of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// What to do.
    pub kind: RequestKind,
    /// First byte on the drive; a multiple of the logical block.
    pub offset: u64,
    /// Bytes; a multiple of the logical block, 0 only for a flush. It may exceed what one command can carry:
    /// splitting it is the driver's work.
    pub length: u32,
    /// Force unit access: the write is on non-volatile media before it completes.
    pub fua: bool,
    /// The stream that a write belongs to (NVMe 1.4 §9.3); 0 for none.
    pub stream: u16,
    /// The earliest time to issue it, counted from the start of the work; `None` means as soon as there is
    /// room.
    pub at: Option<Duration>,
}

impl Request {
    /// A flush of everything written before.
    pub const FLUSH: Request =
        Request { kind: RequestKind::Flush, offset: 0, length: 0, fua: false, stream: 0, at: None };
}

/// The drive that a workload is laid out on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drive {
    /// Capacity in bytes that the host sees.
    pub bytes: u64,
    /// Bytes of a logical block: 512 or 4096.
    pub block_bytes: u32,
    /// Streams that its host may have open; 0 for a drive without streams (NVMe 1.4 §9.3).
    pub streams: u16,
}

/// The longest time that a job or a trace may name: 50 days. A start delay, a ramp and a run of that length
/// together fit the range of simulated time.
pub const TIME_MAX: Duration = Duration::from_secs(50 * 86_400);

/// A request of a source that has completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// Which of the source's requests it was, from 1.
    pub number: u64,
    /// The request.
    pub request: Request,
    /// When it completed, counted from the start of the work.
    pub at: Duration,
    /// How long that was after its issue.
    pub latency: Duration,
    /// A command of it failed, or returned wrong content.
    pub failed: bool,
}

/// Gives requests one after the other, the same ones in every run.
pub trait Source {
    /// Why a source can fail: a malformed trace line, or never.
    type Error;

    /// The next request, or `None` when the work is done.
    ///
    /// # Errors
    /// A source that reads text fails on the first invalid line and gives nothing afterwards.
    fn next_request(&mut self) -> Result<Option<Request>, Self::Error>;

    /// The next request at `elapsed`, which counts like [`Request::at`]: it may depend on which of the
    /// source's requests are due. Times never go back between calls.
    ///
    /// # Errors
    /// Those of [`Source::next_request`].
    fn next_request_at(&mut self, _elapsed: Duration) -> Result<Option<Request>, Self::Error> {
        self.next_request()
    }

    /// Whether a `None` of [`Source::next_request_at`] is the end. A source that waits until one of its
    /// requests has completed says `false`; it is asked again then. With nothing in flight there is nothing
    /// to wait for, and `None` is the end whatever it says.
    fn is_over(&self) -> bool {
        true
    }

    /// One of its requests has completed: for a source whose next requests depend on that.
    fn completed(&mut self, _done: &Done) {}

    /// The request that closes the work. It is requested once, when no more are issued because the source has
    /// ended or time has run out.
    fn closing_request(&mut self) -> Option<Request> {
        None
    }
}
