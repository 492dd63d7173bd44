//! The host of a tortured drive: tasks that send seeded commands, and read everything back.

use super::durability::{Change, Durability};
use aster_device::plug::Promises;
use aster_driver::{Driver, DriverError, QueueId, Range, SecureErase, Status};
use aster_run_virtual::VirtualBar;
use aster_units::{Content, Duration, Rng, mix64};
use aster_workload::content::{Identity, fill, tag, version_of, version_of_tag};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// The queue pair that the host uses.
const QUEUE: QueueId = QueueId(1);
/// Bytes of one command when everything is written or read back.
pub(super) const CHUNK_BYTES: u64 = 128 << 10;

/// Chunks outside of the window that are read at each loss of power.
const OUTSIDE_CHUNKS: u64 = 32;

/// Time between two checks of what other tasks do.
const MOMENT: Duration = Duration::from_micros(1);

/// What a command does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HostCommandKind {
    Write { forced: bool },
    Zero { forced: bool },
    Trim,
    Read,
    Flush,
}

/// How a round's commands are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    /// How many of a thousand commands are of each kind; the rest are writes.
    flushes: u64,
    forced: u64,
    trims: u64,
    zeroes: u64,
    reads: u64,
    /// The blocks that half of the commands go to: where they begin, and how many.
    hot: (u64, u64),
    /// Most blocks of a command.
    blocks_max: u64,
    /// Longest pause before a command.
    pause: Duration,
}

impl Mix {
    /// Draws a mix for a drive of `blocks` blocks.
    pub(super) fn draw(rng: &mut Rng, blocks: u64, block_bytes: u64) -> Mix {
        let hot = (blocks / [1, 4, 16, 64][rng.below(4) as usize]).max(1);
        let most = (CHUNK_BYTES / block_bytes).min(blocks);
        Mix {
            flushes: [0, 5, 30, 150][rng.below(4) as usize],
            forced: [0, 20, 100, 400][rng.below(4) as usize],
            trims: [0, 20, 100][rng.below(3) as usize],
            zeroes: [0, 20][rng.below(2) as usize],
            reads: [0, 100][rng.below(2) as usize],
            hot: (rng.below(blocks - hot + 1), hot),
            blocks_max: [1, 8, 32, most][rng.below(4) as usize].min(most),
            pause: Duration::from_micros([0, 0, 50, 500][rng.below(4) as usize]),
        }
    }
}

/// What the tasks of a host share.
pub(super) struct Host {
    pub(super) durability: Durability,
    /// Commands sent, flushes and forced writes that completed.
    pub(super) commands: u64,
    pub(super) durable: u64,
    /// The first violation: wrong content, or an error that must not occur.
    pub(super) wrong: Option<String>,
    seed: u64,
    /// The namespace's blocks, and the first of those that are written and read, which `durability` counts
    /// from 0.
    namespace: u64,
    window: u64,
    block_bytes: u64,
    content: Content,
    /// What the blocks outside of the window hold.
    held: u32,
    /// Blocks of commands in flight: the first block, and the one after the last.
    busy: BTreeMap<u64, u64>,
    /// Tasks that send commands, and whether they must stop.
    workers: u32,
    stopping: bool,
    /// A format is under way: nothing else may be sent.
    formatting: bool,
    /// A write was refused, or left undone by a shutdown, since the drive takes no more of them.
    pub(super) refused: bool,
    /// The drive said that its shutdown is complete.
    pub(super) shut_down: bool,
}

pub(super) type SharedHost = Rc<RefCell<Host>>;

/// A command, drawn and noted.
struct Command {
    kind: HostCommandKind,
    first: u64,
    blocks: u64,
    change: Option<Change>,
}

impl Host {
    /// For a drive of `namespace` blocks, of which those of `window`, a first block and a number of them,
    /// are written and read. All of them hold version `held`.
    pub(super) fn new(
        seed: u64,
        (namespace, window): (u64, (u64, u64)),
        block_bytes: u64,
        content: Content,
        held: u32,
        promises: Promises,
    ) -> SharedHost {
        Rc::new(RefCell::new(Host {
            durability: Durability::new(window.1, held, promises),
            held,
            commands: 0,
            durable: 0,
            wrong: None,
            seed,
            namespace,
            window: window.0,
            block_bytes,
            content,
            busy: BTreeMap::new(),
            workers: 0,
            stopping: false,
            formatting: false,
            refused: false,
            shut_down: false,
        }))
    }
    /// The power was cut: nothing is in flight any more.
    pub(super) fn power_lost(&mut self) {
        self.busy.clear();
        (self.workers, self.stopping, self.formatting) = (0, false, false);
    }
    /// The drive is up again.
    pub(super) fn comes_back(&mut self) {
        (self.refused, self.shut_down) = (false, false);
    }
    /// Blocks of one command when everything is written or read back.
    pub(super) fn chunk_blocks(&self) -> u64 {
        CHUNK_BYTES / self.block_bytes
    }
    /// The logical block of the namespace that a block of the window is. Those behind the window are all
    /// others.
    fn lba(&self, block: u64) -> u64 {
        (self.window + block) % self.namespace
    }
    /// Chunks that lie outside of the window, drawn anew each time: the first block, and how many.
    fn outside(&self) -> Vec<(u64, u64)> {
        let (window, step) = (self.durability.blocks(), self.chunk_blocks());
        let mut rng = Rng::new(mix64(self.seed ^ self.commands));
        let mut draw = || {
            let first = window + rng.below(self.namespace - window);
            let end = self.namespace - self.lba(first);
            (first, step.min(end).min(self.namespace - first))
        };
        (0..if window < self.namespace { OUTSIDE_CHUNKS } else { 0 }).map(|_| draw()).collect()
    }
    fn is_busy(&self, first: u64, blocks: u64) -> bool {
        self.busy.range(..first + blocks).next_back().is_some_and(|(_, &end)| end > first)
    }
    /// `None` when another command names one of the blocks.
    fn draw(&mut self, mix: &Mix, rng: &mut Rng) -> Option<Command> {
        let mut left = rng.below(1000);
        let mut is = |share: u64| match left.checked_sub(share) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        };
        let kind = match () {
            () if is(mix.flushes) => HostCommandKind::Flush,
            () if is(mix.forced) => HostCommandKind::Write { forced: true },
            () if is(mix.trims) => HostCommandKind::Trim,
            () if is(mix.zeroes) => HostCommandKind::Zero { forced: rng.below(4) == 0 },
            () if is(mix.reads) => HostCommandKind::Read,
            () => HostCommandKind::Write { forced: false },
        };
        if kind == HostCommandKind::Flush {
            return Some(Command { kind, first: 0, blocks: 0, change: None });
        }
        let all = self.durability.blocks();
        let (from, among) = if rng.below(2) == 0 { mix.hot } else { (0, all) };
        let first = from + rng.below(among);
        // Deallocated ranges reach over many pages, as file systems send them.
        let most = if kind == HostCommandKind::Trim { 4 * mix.blocks_max } else { mix.blocks_max };
        let blocks = (1 + rng.below(most)).min(all - first);
        if self.is_busy(first, blocks) {
            return None;
        }
        Some(self.begin(kind, first, blocks))
    }
    fn begin(&mut self, kind: HostCommandKind, first: u64, blocks: u64) -> Command {
        self.busy.insert(first, first + blocks);
        let version = match kind {
            HostCommandKind::Write { .. } => self.durability.next_version(),
            HostCommandKind::Zero { .. }
            | HostCommandKind::Trim
            | HostCommandKind::Read
            | HostCommandKind::Flush => 0,
        };
        let changes = !matches!(kind, HostCommandKind::Read | HostCommandKind::Flush);
        let change = changes.then(|| match kind {
            HostCommandKind::Trim => self.durability.send_trim(first, blocks),
            _ => self.durability.send(first, blocks, version),
        });
        Command { kind, first, blocks, change }
    }
    fn end(&mut self, command: &Command) {
        self.busy.remove(&command.first);
        let forced = matches!(
            command.kind,
            HostCommandKind::Write { forced: true } | HostCommandKind::Zero { forced: true }
        );
        self.durable += u64::from(forced);
        if let Some(change) = command.change {
            self.durability.complete(change, forced);
        }
    }
    fn blame(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }
    /// Records that a command was answered with an error. Its blocks may hold their old content or the
    /// command's.
    fn failed(&mut self, what: impl Debug, error: &DriverError) {
        match error {
            DriverError::Command { status, .. } if status.is(Status::WRITE_TO_READ_ONLY_RANGE) => {
                self.refused = true;
            }
            error => self.blame(format!("{what:?} failed: {error}")),
        }
    }
    fn bytes_of(&self, command: &Command) -> Vec<u8> {
        let version = command.change.map_or(0, |change| change.version);
        let mut bytes = vec![0; (command.blocks * self.block_bytes) as usize];
        let blocks = bytes.chunks_exact_mut(self.block_bytes as usize);
        for (block, into) in (self.lba(command.first)..).zip(blocks) {
            fill(into, Identity { block, version, seed: self.seed });
        }
        bytes
    }
    fn tags_of(&self, command: &Command) -> Vec<[u8; 8]> {
        let version = command.change.map_or(0, |change| change.version);
        let first = self.lba(command.first);
        let tag_of = |block| tag(block, version).to_le_bytes();
        (first..first + command.blocks).map(tag_of).collect()
    }
}

/// What a range of blocks holds: a version each.
struct Held {
    first: u64,
    versions: Vec<Result<u32, String>>,
}

async fn read(
    host: &SharedHost,
    driver: &Driver<VirtualBar>,
    first: u64,
    blocks: u64,
) -> Result<Held, DriverError> {
    let (content, block_bytes, seed, lba) = {
        let host = host.borrow();
        (host.content, host.block_bytes as usize, host.seed, host.lba(first))
    };
    let versions = match content {
        Content::Full => {
            let mut bytes = vec![0xE7; blocks as usize * block_bytes];
            driver.read(QUEUE, lba, &mut bytes).await?;
            let chunks = bytes.chunks_exact(block_bytes);
            (lba..).zip(chunks).map(|(b, held)| version_of(held, b, seed)).collect::<Vec<_>>()
        }
        Content::Fingerprint => {
            let mut tags = vec![[0xE7; 8]; blocks as usize];
            driver.read_tags(QUEUE, lba, &mut tags).await?;
            (lba..).zip(&tags).map(|(b, held)| version_of_tag(u64::from_le_bytes(*held), b)).collect()
        }
    };
    let versions = versions.into_iter().map(|held| held.map_err(|wrong| wrong.to_string())).collect();
    Ok(Held { first, versions })
}

async fn carry_out(
    host: &SharedHost,
    driver: &Driver<VirtualBar>,
    command: &Command,
) -> Result<(), DriverError> {
    let Command { kind, first, blocks, .. } = *command;
    let (content, lba) = (host.borrow().content, host.borrow().lba(first));
    match kind {
        HostCommandKind::Write { forced } => match content {
            Content::Full => {
                let bytes = host.borrow().bytes_of(command);
                driver.write(QUEUE, lba, &bytes, forced).await?;
            }
            Content::Fingerprint => {
                let tags = host.borrow().tags_of(command);
                driver.write_tags(QUEUE, lba, &tags, forced).await?;
            }
        },
        HostCommandKind::Zero { forced } => driver.write_zeroes(QUEUE, lba, blocks, false, forced).await?,
        HostCommandKind::Trim => driver.deallocate(QUEUE, &[Range::new(lba, blocks as u32)]).await?,
        HostCommandKind::Read => {
            let held = read(host, driver, first, blocks).await?;
            let mut host = host.borrow_mut();
            for (block, version) in (held.first..).zip(held.versions) {
                let right = version.and_then(|v| host.durability.read(block, v).map_err(|w| w.to_string()));
                if let Err(wrong) = right {
                    host.blame(format!("while it served: {wrong}"));
                }
            }
        }
        HostCommandKind::Flush => {
            let mark = host.borrow().durability.send_flush();
            driver.flush(QUEUE).await?;
            let mut host = host.borrow_mut();
            host.durability.complete_flush(mark);
            host.durable += 1;
        }
    }
    if kind != HostCommandKind::Flush {
        host.borrow_mut().end(command);
    }
    Ok(())
}

/// Sends one command after the other, drawn from `mix`, until something goes wrong or the power is cut.
pub(super) async fn work(host: SharedHost, driver: Rc<Driver<VirtualBar>>, mix: Mix, mut rng: Rng) {
    host.borrow_mut().workers += 1;
    loop {
        if !mix.pause.is_zero() {
            let pause = Duration::from_nanos(rng.below(mix.pause.as_nanos() + 1));
            driver.exec().sleep(pause).await;
        }
        let (stops, waits) = {
            let host = host.borrow();
            (host.stopping || host.refused, host.formatting)
        };
        if stops {
            break;
        }
        let command = if waits { None } else { host.borrow_mut().draw(&mix, &mut rng) };
        let Some(command) = command else {
            // Another command uses some of these blocks. Give it time to complete.
            driver.exec().sleep(MOMENT).await;
            continue;
        };
        host.borrow_mut().commands += 1;
        if let Err(error) = carry_out(&host, &driver, &command).await {
            host.borrow_mut().failed(command.kind, &error);
            break;
        }
    }
    host.borrow_mut().workers -= 1;
}

/// Formats the drive with its current format.
pub(super) async fn format(host: SharedHost, driver: Rc<Driver<VirtualBar>>) {
    let change = {
        let mut host = host.borrow_mut();
        host.formatting = true;
        host.commands += 1;
        let all = host.durability.blocks();
        host.durability.send(0, all, 0)
    };
    let formatted = driver.format(driver.namespace().lba_format, SecureErase::None).await;
    let mut host = host.borrow_mut();
    match formatted {
        // No loss of power may bring back data that a format has removed.
        Ok(()) => {
            host.durability.complete_format(change);
            (host.formatting, host.durable) = (false, host.durable + 1);
        }
        Err(error) => host.failed("formatting", &error),
    }
}

/// Waits until all commands in flight have ended, and shuts the drive down.
pub(super) async fn shut_down(host: SharedHost, driver: Rc<Driver<VirtualBar>>) {
    host.borrow_mut().stopping = true;
    while host.borrow().workers > 0 {
        driver.exec().sleep(MOMENT).await;
    }
    let mark = host.borrow().durability.send_flush();
    let ended = driver.shut_down().await;
    let is_fatal = ended.is_ok() && driver.is_fatal().await;
    let mut host = host.borrow_mut();
    match ended {
        // A read-only drive may be unable to write its cached data, and then reports a fatal status.
        Ok(()) if is_fatal => host.refused = true,
        Ok(()) => {
            host.durability.complete_shutdown(mark);
            (host.shut_down, host.durable) = (true, host.durable + 1);
        }
        Err(error) => host.failed("shutting down", &error),
    }
}

/// Carries out all of `works` side by side, and gives the first error.
async fn side_by_side<E>(works: Vec<impl Future<Output = Result<(), E>>>) -> Result<(), E> {
    let mut works: Vec<_> = works.into_iter().map(|work| Some(Box::pin(work))).collect();
    let mut first = Ok(());
    poll_fn(move |context| {
        for slot in &mut works {
            let Some(work) = slot else { continue };
            if let Poll::Ready(ended) = work.as_mut().poll(context) {
                *slot = None;
                first = core::mem::replace(&mut first, Ok(())).and(ended);
            }
        }
        match works.iter().all(Option::is_none) {
            true => Poll::Ready(core::mem::replace(&mut first, Ok(()))),
            false => Poll::Pending,
        }
    })
    .await
}

/// Writes every block once, in order, with `depth` commands in flight.
pub(super) async fn fill_drive(host: SharedHost, driver: Rc<Driver<VirtualBar>>, depth: u16) {
    let step = host.borrow().chunk_blocks();
    let next = Cell::new(0);
    let writer = || async {
        loop {
            let command = {
                let mut host = host.borrow_mut();
                let (first, all) = (next.get(), host.durability.blocks());
                if first >= all || host.refused || host.wrong.is_some() {
                    return Ok::<(), Infallible>(());
                }
                next.set(first + step);
                host.commands += 1;
                host.begin(HostCommandKind::Write { forced: false }, first, step.min(all - first))
            };
            if let Err(error) = carry_out(&host, &driver, &command).await {
                host.borrow_mut().failed("filling the drive", &error);
            }
        }
    };
    let Ok(()) = side_by_side((0..depth).map(|_| writer()).collect()).await;
}

/// Reads chunks of the window from `first` blocks on, `depth` at a time.
async fn verify_chunks(
    host: &SharedHost,
    driver: &Driver<VirtualBar>,
    (chunks, depth): (&[u64], u16),
    when: &str,
) -> Result<(), String> {
    let next = Cell::new(0);
    let reader = || async {
        while let Some(&first) = chunks.get(next.replace(next.get() + 1)) {
            let blocks = {
                let host = host.borrow();
                host.chunk_blocks().min(host.durability.blocks() - first)
            };
            let held = read(host, driver, first, blocks).await;
            let held = held.map_err(|error| format!("{when}: reading at block {first} failed: {error}"))?;
            let mut host = host.borrow_mut();
            for (block, version) in (held.first..).zip(held.versions) {
                let version = version.map_err(|wrong| format!("{when}: {wrong}"))?;
                host.durability.found(block, version).map_err(|wrong| format!("{when}: {wrong}"))?;
            }
        }
        Ok(())
    };
    side_by_side((0..depth).map(|_| reader()).collect()).await
}

/// Reads everything, and reads blocks whose version the loss of power left open a second time.
///
/// # Errors
/// What is wrong with a block whose content is not allowed.
pub(super) async fn verify(
    host: SharedHost,
    driver: Rc<Driver<VirtualBar>>,
    depth: u16,
) -> Result<(), String> {
    let (all, step, undecided) = {
        let host = host.borrow();
        (host.durability.blocks(), host.chunk_blocks(), host.durability.undecided())
    };
    let chunks: Vec<u64> = (0..all).step_by(step as usize).collect();
    verify_chunks(&host, &driver, (&chunks, depth), "after the loss of power").await?;
    let mut again: Vec<u64> = undecided.iter().map(|block| block / step * step).collect();
    again.dedup();
    verify_chunks(&host, &driver, (&again, depth), "read again").await?;
    let outside = host.borrow().outside();
    for (first, blocks) in outside {
        let held = read(&host, &driver, first, blocks).await;
        let held = held.map_err(|error| format!("outside of the window: reading failed: {error}"))?;
        let (first, expected) = (host.borrow().lba(first), host.borrow().held);
        for (block, version) in (first..).zip(held.versions) {
            match version {
                Ok(version) if version == expected => {}
                Ok(version) => {
                    return Err(format!("logical block {block}, never written, holds version {version}"));
                }
                Err(wrong) => return Err(format!("logical block {block}, never written: {wrong}")),
            }
        }
    }
    Ok(())
}
