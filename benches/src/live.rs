//! A live drive on its socket: a polled client, doorbells in mapped memory, 4 KiB random reads at queue depth
//! 32. The whole drive beside the same server and front end with a null backend, which completes every
//! command at once and moves no data.
//!
//! First, client and server take turns on one core, so that other work on the machine matters little. The
//! result is in requests per second of one core's time, including the client's share. Then the client has
//! a core of its own, as it would outside of a bench. That result is in requests per second of wall-clock
//! time, and is lower on a machine with fewer free cores.

use crate::clock::cpu_seconds;
use aster_dashboard::{About, Dashboard, Live, hub};
use aster_device::plug::{
    Completion, DriveState, Function, HostStatus, MediaFacts, MediaState, PieceError, Translation,
    TranslationNeeds, TranslationPorts, TranslationStats, TranslationView,
};
use aster_device::{Pieces, Profile};
use aster_lab::watch::DriveShape;
use aster_run_live::Pace;
use aster_tests::live::{Here, Host, Memory, Queue, Ring, Running, transfer};
use aster_tests::profile;
use aster_units::{Lpn, Ppa, Rng};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

const DEPTH: usize = 32;
const ENTRIES: u32 = 128;
const MEMORY: u64 = 8 << 20;
/// Blocks of 4 KiB that are written first and read from then on: 64 MiB, many times the data buffer.
const BLOCKS: u64 = 16_384;
const BLOCK_BYTES: u64 = 4096;
const READS: u64 = 400_000;
/// Blocks that are written before a client on another core reads.
const PREPARED: u64 = 2_000;
const MEASURED: Duration = Duration::from_secs(3);

/// A host that never waits: in each turn it submits what fits and takes the completions that have come.
struct Polled {
    host: Host,
    queue: Queue,
    buffers: Vec<u64>,
    random: Rng,
    /// How many blocks, from the first on, have been written.
    written: u64,
    sent: u64,
    done: u64,
}

impl Polled {
    fn connect(socket: &Path) -> Self {
        Polled::with(Host::connect(socket, Ring::Mapped, MEMORY))
    }
    /// Connects as SPDK would, with this kind of memory; `None` if the machine has none.
    fn connect_in(socket: &Path, memory: Memory) -> Option<Self> {
        Host::connect_as_spdk(socket, MEMORY, memory).map(Polled::with)
    }
    fn with(mut host: Host) -> Self {
        host.enable();
        let queue = host.create_silent_queue(1, ENTRIES);
        let buffers = (0..DEPTH).map(|_| host.alloc(BLOCK_BYTES)).collect();
        Polled { host, queue, buffers, random: Rng::new(1), written: 0, sent: 0, done: 0 }
    }
    /// One turn; true when `requests` have been done since the beginning.
    fn turn(&mut self, write: bool, requests: u64) -> bool {
        let before = self.sent;
        while self.sent < requests && self.sent - self.done < DEPTH as u64 {
            let block = if write { self.sent % BLOCKS } else { self.random.below(self.written) };
            let at = self.buffers[self.sent as usize % DEPTH];
            self.host.push(&mut self.queue, transfer(write, block, 1, at));
            self.written = if write { self.written.max(block + 1) } else { self.written };
            self.sent += 1;
        }
        if self.sent > before {
            self.host.ring(&self.queue);
        }
        let before = self.done;
        while let Some(completion) = self.host.poll(&mut self.queue) {
            assert!(completion.status().is_success(), "{}", completion.status());
            self.done += 1;
        }
        if self.done > before {
            self.host.ring_head(&self.queue);
        }
        self.done == requests
    }
}

/// `ideal` with this translation.
fn ideal(kind: &str) -> Profile {
    profile("ideal", |p| {
        p.host.block_bytes = BLOCK_BYTES as u32;
        p.ftl.kind = kind.to_owned();
    })
}

/// A translation that completes every command at once and touches neither data nor flash.
struct Null {
    capacity_bytes: u64,
}

/// Commands that it has completed.
#[derive(Default)]
struct NullView {
    commands: Cell<u64>,
}

impl Translation for Null {
    fn needs(&self) -> TranslationNeeds {
        TranslationNeeds::default()
    }
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }
    fn start(self: Box<Self>, ports: TranslationPorts) -> Result<Rc<dyn TranslationView>, PieceError> {
        let view = Rc::new(NullView::default());
        let (counted, commands) = (Rc::clone(&view), ports.commands);
        ports.core.spawn(async move {
            loop {
                let id = commands.next_command().await.id;
                counted.commands.set(counted.commands.get() + 1);
                commands.complete(Completion::new(id, HostStatus::Success));
            }
        });
        Ok(view)
    }
}

impl TranslationView for NullView {
    fn state(&self) -> DriveState {
        DriveState::Ready
    }
    fn boot_error(&self) -> Option<String> {
        None
    }
    fn stats(&self) -> TranslationStats {
        let commands = self.commands.get();
        TranslationStats { state: DriveState::Ready, commands, ..TranslationStats::default() }
    }
    fn watch_media(&self, _: Box<dyn Fn(MediaState)>) {}
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}

/// The name under which [`Null`] is chosen.
const NULL: &str = "null";
/// The name of our own FTL.
const WHOLE: &str = "page-mapping";

/// Ours, and [`Null`].
fn pieces() -> Pieces {
    Pieces::default().translation(NULL, |_, facts: &MediaFacts| {
        let pages = facts.geometry.total_pages();
        Ok(Box::new(Null { capacity_bytes: pages * u64::from(facts.geometry.page_bytes) }))
    })
}

fn in_turns(kind: &str) -> f64 {
    let mut drive = Here::start(pieces(), &ideal(kind), Pace::Fast);
    let mut host = drive.meet(Polled::connect);
    drive.serve(|| host.turn(true, BLOCKS));
    let began = cpu_seconds();
    drive.serve(|| host.turn(false, BLOCKS + READS));
    READS as f64 / (cpu_seconds() - began)
}

/// As [`in_turns`], by the kind of the client's memory.
fn in_memory(memory: Memory) -> Option<f64> {
    let mut drive = Here::start(Pieces::default(), &ideal(WHOLE), Pace::Fast);
    let mut host = drive.meet(move |socket| Polled::connect_in(socket, memory))?;
    drive.serve(|| host.turn(true, BLOCKS));
    let began = cpu_seconds();
    drive.serve(|| host.turn(false, BLOCKS + READS));
    Some(READS as f64 / (cpu_seconds() - began))
}

fn on_two_cores(kind: &str) -> f64 {
    let drive = Running::start_with(pieces, &ideal(kind), Pace::Fast, None);
    let mut host = Polled::connect(&drive.socket());
    // A side without work yields the core, since there may be one core for both.
    let mut turn = |write, requests| {
        let before = host.done;
        let over = host.turn(write, requests);
        if host.done == before {
            std::thread::yield_now();
        }
        (over, host.done)
    };
    while !turn(true, PREPARED).0 {}
    let (began, mut done) = (Instant::now(), PREPARED);
    while began.elapsed() < MEASURED {
        done = turn(false, u64::MAX).1;
    }
    let rate = (done - PREPARED) as f64 / began.elapsed().as_secs_f64();
    drop(host);
    drive.stop().unwrap_or_else(|error| panic!("{error}"));
    rate
}

/// Prints requests per second by the kind of memory that the client shares. The ratios should be 1.
fn measure_memory() {
    let sealed = in_memory(Memory::Sealed).expect("a memfd");
    println!("  memory sealed          {sealed:>9.0} requests/CPU s, client and server on one core");
    for (what, memory) in [("nobody can seal", Memory::Unsealable), ("huge pages", Memory::Huge)] {
        match in_memory(memory) {
            Some(rate) => println!("  memory {what:<15} {rate:>9.0}, {:.2} of sealed", rate / sealed),
            None => println!("  memory {what:<15} not to be had here"),
        }
    }
}

/// Prints requests per second.
pub fn measure() {
    println!("live: a polled client on the vfio-user socket, 4 KiB random reads, QD {DEPTH}");
    for (what, kind) in [("null backend", NULL), ("whole drive", WHOLE)] {
        let (core, wall) = (in_turns(kind), on_two_cores(kind));
        println!(
            "  {what:<13} {core:>9.0} requests/CPU s, client and server on one core   {wall:>9.0} requests/s \
             on two"
        );
    }
    measure_memory();
}

/// Rounds with and without somebody who looks, in turns.
const ROUNDS: usize = 7;

/// What the drive's and the client's thread took for the reads, in seconds.
#[derive(Clone, Copy)]
struct Took {
    cpu: f64,
    wall: f64,
}

/// What the reads take while a browser looks at the drive or none.
fn looked_at(looked: bool) -> Took {
    let profile = ideal(WHOLE);
    let mut drive = Here::start(Pieces::default(), &profile, Pace::Fast);
    let mut host = drive.meet(Polled::connect);
    drive.serve(|| host.turn(true, BLOCKS));
    let shape = DriveShape::of(&profile);
    let (source, hub) = hub(About::new("ideal", false, &shape));
    let address = "127.0.0.1:0".parse().expect("a constant");
    let dashboard = Dashboard::open(address, None, hub).unwrap_or_else(|error| panic!("{error}"));
    let mut live = Live::new(drive.device(), shape, source);
    drive.attend(move |device| live.attend(device));
    let viewer = looked.then(|| look(&dashboard));
    let (began, began_wall) = (cpu_seconds(), Instant::now());
    drive.serve(|| host.turn(false, BLOCKS + READS));
    let took = Took { cpu: cpu_seconds() - began, wall: began_wall.elapsed().as_secs_f64() };
    if let Some(viewer) = viewer {
        drop(dashboard);
        let bytes = viewer.join().expect("it only reads");
        assert!(bytes > 1000, "a frame has been seen");
    }
    took
}

/// A browser that takes whatever it gets until the server ends. Returns how many bytes that were.
fn look(dashboard: &Dashboard) -> std::thread::JoinHandle<usize> {
    let url = dashboard.url();
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut stream = TcpStream::connect(&address).unwrap_or_else(|error| panic!("{error}"));
    let head = format!(
        "GET /live HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    // The drive begins with somebody who looks.
    let mut first = [0; 64];
    stream.read_exact(&mut first).unwrap_or_else(|error| panic!("{error}"));
    std::thread::spawn(move || {
        let (mut bytes, mut part) = (0, [0; 1 << 16]);
        while let Ok(read @ 1..) = stream.read(&mut part) {
            bytes += read;
        }
        bytes
    })
}

/// Prints what a browser that looks costs the drive's thread.
pub fn measure_dashboard() {
    println!("dashboard: the whole drive as above, with a browser that looks and without");
    let mut rounds = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (looked, rounds) in [false, true].into_iter().zip(&mut rounds) {
            rounds.push(looked_at(looked));
        }
    }
    for rounds in &mut rounds {
        rounds.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    }
    let [alone, looked] = rounds.map(|rounds| rounds[ROUNDS / 2]);
    let rate = |took: Took| READS as f64 / took.cpu;
    println!(
        "  nobody looks  {:>9.0} requests/CPU s, client and server on one core, the median of {ROUNDS}",
        rate(alone)
    );
    println!("  a browser     {:>9.0}, {:.3} of that", rate(looked), rate(looked) / rate(alone));
    // Frames and events heard are so many a second of the wall's clock, so their cost is, too.
    let share = (looked.cpu - alone.cpu) / looked.wall;
    println!("  the browser costs the drive's thread {:.1} % of a core", share * 100.0);
}
