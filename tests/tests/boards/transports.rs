//! S8: the calls of a transport (register reads and writes, DMA reads and writes, completions, messages) do
//! the same whatever carries them: operations of the link, packets that firmware builds, or a vfio-user
//! server before either.

use aster_device::profile::{Profile, TransportName};
use aster_run_live::Pace;
use aster_tests::front_ends::{by_operations, registers_for_free};
use aster_tests::fuzz::{Function, Memory};
use aster_tests::live::{Host, Queue, Ring, Running};
use aster_tests::profile;
use aster_units::Duration;
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::registers::{Aqa, Csts, Register};
use aster_wire::nvme::{Cqe, Sqe, Status};

const BLOCK: usize = 512;
const PAGE: u64 = 4096;
/// Pages for data that each host has, one after the other.
const PAGES: u64 = 48;
/// No host has memory there.
const NOWHERE: u64 = 1 << 45;

/// A host and its drive, whatever is between them, with one I/O queue pair that signals vector 1.
trait Side {
    fn register(&mut self, register: Register) -> u64;
    fn set_register(&mut self, register: Register, value: u64);
    /// Where the host's memory for data begins.
    fn base(&self) -> u64;
    fn read(&mut self, at: u64, bytes: usize) -> Vec<u8>;
    fn write(&mut self, at: u64, bytes: &[u8]);
    /// Turns the controller off.
    fn disable(&mut self);
    /// Resets the function, brings the controller up and creates the I/O queue pair.
    fn reset_function(&mut self);
    fn push(&mut self, sqe: Sqe);
    fn ring(&mut self);
    fn wait(&mut self) -> Cqe;
    /// Signals of vector 1 since the last call; waits for the first one.
    fn signals(&mut self) -> u64;
    /// Signals that have come without anybody waiting for them.
    fn further_signals(&mut self) -> u64;
    /// The drive's writes to host memory are posted: nobody tells it that there was no memory (ADR 22).
    fn writes_are_posted(&self) -> bool;
}

/// A drive at whose function the host stands itself.
struct Direct(Function);

impl Direct {
    fn bring_up(&mut self) {
        self.0.enable();
        // After a reset all vectors are masked (PCIe 4.0 §7.7.2.4).
        self.0.device.set_vector_mask(1, false);
        self.0.create_pair(1);
    }
}

impl Side for Direct {
    fn register(&mut self, register: Register) -> u64 {
        self.0.register(register)
    }
    fn set_register(&mut self, register: Register, value: u64) {
        self.0.set_register(register, value);
    }
    fn base(&self) -> u64 {
        Function::data()
    }
    fn read(&mut self, at: u64, bytes: usize) -> Vec<u8> {
        self.0.memory.at(at, bytes).to_vec()
    }
    fn write(&mut self, at: u64, bytes: &[u8]) {
        self.0.memory.at(at, bytes.len()).copy_from_slice(bytes);
    }
    fn disable(&mut self) {
        self.0.disable();
    }
    fn reset_function(&mut self) {
        self.0.reset_function();
        self.0.enable_function();
        let is_off = |f: &mut Function| !Csts(f.register(Register::Status) as u32).rdy();
        self.0.run_until("CSTS.RDY falls", is_off);
        self.bring_up();
    }
    fn push(&mut self, sqe: Sqe) {
        self.0.push(1, sqe);
    }
    fn ring(&mut self) {
        self.0.ring(1);
    }
    fn wait(&mut self) -> Cqe {
        let mut found = None;
        self.0.run_until("a completion", |f| {
            found = f.reap(1);
            found.is_some()
        });
        found.expect("waited for")
    }
    fn signals(&mut self) -> u64 {
        let mut count = 0;
        self.0.run_until("a message", |f| {
            count += f.signals(1);
            count > 0
        });
        count
    }
    fn further_signals(&mut self) -> u64 {
        self.0.run_for(Duration::from_millis(1));
        self.0.signals(1)
    }
    fn writes_are_posted(&self) -> bool {
        self.0.device.stats().packets.is_some()
    }
}

/// A drive behind a vfio-user server.
struct Served {
    host: Host,
    queue: Queue,
    base: u64,
    posted: bool,
    /// By identifier of the client's own: the one that the test has given.
    ids: Vec<(u16, u16)>,
    // It stops when everything else is gone.
    _drive: Running,
}

impl Served {
    fn start(profile: &Profile) -> Self {
        let drive = Running::start(profile, Pace::Fast, None);
        let mut host = Host::connect(&drive.socket(), Ring::Messages, 4 << 20);
        let base = host.alloc(PAGES * PAGE);
        host.enable();
        let queue = host.create_queue(1, 16);
        let posted = profile.host.transport == TransportName::Tlp;
        Served { host, queue, base, posted, ids: Vec::new(), _drive: drive }
    }
    fn bring_up(&mut self) {
        self.host.enable();
        self.queue = self.host.create_queue(1, 16);
        self.ids.clear();
    }
}

impl Side for Served {
    fn register(&mut self, register: Register) -> u64 {
        self.host.register(register)
    }
    fn set_register(&mut self, register: Register, value: u64) {
        self.host.set_register(register, value);
    }
    fn base(&self) -> u64 {
        self.base
    }
    fn read(&mut self, at: u64, bytes: usize) -> Vec<u8> {
        let mut into = vec![0; bytes];
        self.host.read(at, &mut into);
        into
    }
    fn write(&mut self, at: u64, bytes: &[u8]) {
        self.host.write(at, bytes);
    }
    fn disable(&mut self) {
        self.host.disable();
    }
    fn reset_function(&mut self) {
        self.host.reset_function();
        self.host.enable_function();
        self.host.wait_ready(false);
        self.bring_up();
    }
    fn push(&mut self, sqe: Sqe) {
        let theirs = self.host.push(&mut self.queue, sqe);
        self.ids.push((theirs, sqe.cid()));
    }
    fn ring(&mut self) {
        self.host.ring(&self.queue);
    }
    fn wait(&mut self) -> Cqe {
        let mut cqe = self.host.wait(&mut self.queue);
        let place = self.ids.iter().position(|(theirs, _)| *theirs == cqe.cid.get());
        let (_, given) = self.ids.swap_remove(place.expect("one of ours, once"));
        cqe.cid = given.into();
        cqe
    }
    fn signals(&mut self) -> u64 {
        loop {
            match self.host.signals(1) {
                0 => std::thread::yield_now(),
                count => return count,
            }
        }
    }
    fn further_signals(&mut self) -> u64 {
        self.host.signals(1)
    }
    fn writes_are_posted(&self) -> bool {
        self.posted
    }
}

/// SoftSSD in small, whose firmware sends packets and takes the host's accesses to registers as such.
fn packets(offload: bool) -> Profile {
    profile("softssd-small", |p| {
        assert!(p.host.transport == TransportName::Tlp && p.host.register_packets);
        p.host.completion_offload = Some(offload);
    })
}

/// The same drive over operations of the link.
fn operations() -> Profile {
    profile("softssd-small", by_operations)
}

/// The same drive, whose registers are reached by calls.
fn with_calls(mut profile: Profile) -> Profile {
    registers_for_free(&mut profile);
    profile
}

/// The same, whose firmware spends time on each register access.
fn with_registers(profile: Profile) -> Profile {
    let mut profile = with_calls(profile);
    profile.costs.nvme_register = 1_000;
    profile
}

fn direct(profile: Profile) -> Box<dyn Side> {
    let mut side = Direct(Function::of(profile));
    side.bring_up();
    Box::new(side)
}

type Way = (&'static str, fn() -> Box<dyn Side>);

const WAYS: [Way; 10] = [
    ("NVMe in hardware", || direct(profile("tiny", |_| ()))),
    ("operations of the link", || direct(operations())),
    ("packets that the board moves", || direct(packets(true))),
    ("packets that firmware copies", || direct(packets(false))),
    ("the server before operations", || Box::new(Served::start(&operations()))),
    ("the server before packets", || Box::new(Served::start(&packets(true)))),
    ("packets, and calls for registers", || direct(with_calls(packets(true)))),
    ("the server before packets, and calls for registers", || {
        Box::new(Served::start(&with_calls(packets(true))))
    }),
    ("registers in firmware", || direct(with_registers(operations()))),
    ("the server before registers in firmware", || Box::new(Served::start(&with_registers(packets(true))))),
];

/// Runs a test over all of them.
fn over_all(test: fn(&mut dyn Side)) {
    for (name, start) in WAYS {
        // Shown where the test fails.
        println!("over {name}");
        test(&mut *start());
    }
}

/// The byte of a content at a place.
fn byte(content: u8, at: usize) -> u8 {
    (at as u8).wrapping_mul(7) ^ (at / 251) as u8 ^ content
}
fn content(of: u8, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| byte(of, at)).collect()
}

/// A transfer of `bytes` bytes between blocks from `slba` on and host memory from `at` on. A list of pages
/// goes to the first page of the memory for data.
fn transfer(side: &mut dyn Side, write: bool, slba: u64, at: u64, bytes: usize) -> Sqe {
    let range = BlockRange::new(slba, (bytes / BLOCK) as u32);
    let command = if write { IoCommand::Write(range) } else { IoCommand::Read(range) };
    let next = (at / PAGE + 1) * PAGE;
    let further: Vec<u64> = (next..at + bytes as u64).step_by(PAGE as usize).collect();
    let second = match further[..] {
        [] => 0,
        [only] => only,
        _ => {
            let list: Vec<u8> = further.iter().flat_map(|page| page.to_le_bytes()).collect();
            side.write(side.base(), &list);
            side.base()
        }
    };
    command.to_sqe(1, 0, at, second)
}
fn send(side: &mut dyn Side, sqe: Sqe) -> Status {
    side.push(sqe);
    side.ring();
    side.wait().status()
}
fn carry(side: &mut dyn Side, write: bool, slba: u64, at: u64, bytes: usize) -> Status {
    let sqe = transfer(side, write, slba, at, bytes);
    send(side, sqe)
}

#[test]
fn registers_are_read_and_written_in_order() {
    over_all(|side| {
        assert_eq!(side.register(Register::Version), 0x0001_0400, "NVMe 1.4");
        assert_eq!(side.register(Register::Capabilities) >> 37 & 1, 1, "the NVM command set");
        assert!(Csts(side.register(Register::Status) as u32).rdy());
        side.disable();
        assert!(!Csts(side.register(Register::Status) as u32).rdy());
        // A posted write has come before the read behind it.
        for entries in [2, 16, 9] {
            let attributes = u64::from(Aqa::of(entries, entries).0);
            side.set_register(Register::AdminQueueAttributes, attributes);
            assert_eq!(side.register(Register::AdminQueueAttributes), attributes);
        }
        let base = 0x1234_5000;
        side.set_register(Register::AdminSubmissionQueue, base);
        assert_eq!(side.register(Register::AdminSubmissionQueue), base);
    });
}

/// Every length at every place in a page, in both directions; what is beside the data stays as it was.
#[test]
fn data_come_whole_from_any_place_and_to_any_place() {
    over_all(|side| {
        let base = side.base() + PAGE;
        let area = 12 * PAGE as usize;
        let mut slba = 0;
        for bytes in [BLOCK, 4096, 4096 + BLOCK, 8192, 16 << 10, 40 << 10] {
            for offset in [0, 4, 60, 64, 252, 508, 1024, 4092] {
                let of = (bytes / BLOCK) as u8 ^ offset as u8;
                let (from, wanted) = (base + offset, content(of, bytes));
                side.write(base, &vec![0xee; area]);
                side.write(from, &wanted);
                assert!(carry(side, true, slba, from, bytes).is_success(), "{bytes} from {offset}");
                // To a place that is another one in its page.
                let to = base + (offset + 1500) / 4 * 4 % 4096;
                let mut expected = vec![0xee; area];
                expected[(to - base) as usize..][..bytes].copy_from_slice(&wanted);
                side.write(base, &vec![0xee; area]);
                assert!(carry(side, false, slba, to, bytes).is_success(), "{bytes} to {to:#x}");
                assert!(side.read(base, area) == expected, "{bytes} bytes from {offset} to {to:#x}");
                slba = (slba + 97) % 1024;
            }
        }
    });
}

/// Each command has one completion with its own identifier, and a message behind completions.
#[test]
fn commands_at_once_complete_once_each_and_are_announced() {
    over_all(|side| {
        let base = side.base() + PAGE;
        // The creation of the queue signalled another vector.
        assert_eq!(side.further_signals(), 0);
        let mut signals = 0;
        for round in 0..8u16 {
            let ids: Vec<u16> = (0..12).map(|n| 100 * round + n).collect();
            for (n, &id) in (0..).zip(&ids) {
                let at = base + n * 2 * PAGE;
                side.write(at, &content(id as u8, 8192));
                let sqe = transfer(side, round % 2 == 0, n * 16, at, 8192).with_cid(id);
                side.push(sqe);
            }
            side.ring();
            let mut ended: Vec<u16> = (0..ids.len())
                .map(|_| {
                    let cqe = side.wait();
                    assert!(cqe.status().is_success() && cqe.sq_id.get() == 1, "{cqe:?}");
                    cqe.cid.get()
                })
                .collect();
            ended.sort_unstable();
            assert_eq!(ended, ids);
            signals += side.signals();
        }
        signals += side.further_signals();
        assert!(signals <= 8 * 12, "{signals} messages");
        // Odd rounds have read what the even one before has written.
        for n in 0..12 {
            let written = content((600 + n) as u8, 8192);
            assert!(side.read(base + n * 2 * PAGE, 8192) == written, "the data of command {n}");
        }
    });
}

#[test]
fn memory_that_is_not_there_fails_its_command_and_no_other() {
    over_all(|side| {
        let base = side.base() + PAGE;
        side.write(base, &content(1, 8192));
        assert!(carry(side, true, 0, base, 8192).is_success());
        for (first, second) in [(NOWHERE, base), (base, NOWHERE), (NOWHERE, NOWHERE + PAGE)] {
            for write in [true, false] {
                let range = BlockRange::new(64, 16);
                let command = if write { IoCommand::Write(range) } else { IoCommand::Read(range) };
                let status = send(side, command.to_sqe(1, 0, first, second));
                // A read writes to the host.
                let expected = match !write && side.writes_are_posted() {
                    true => Status::SUCCESS,
                    false => Status::DATA_TRANSFER_ERROR,
                };
                assert!(status.is(expected), "{write} {first:#x} {second:#x}: {status}");
            }
        }
        side.write(base, &[0; 8192]);
        assert!(carry(side, false, 0, base, 8192).is_success());
        assert!(side.read(base, 8192) == content(1, 8192));
    });
}

/// A function-level reset takes the host's memory from the drive: what was on its way doesn't come any more.
#[test]
fn a_reset_ends_what_is_on_its_way() {
    over_all(|side| {
        let base = side.base() + PAGE;
        side.write(base, &content(9, 16 << 10));
        assert!(carry(side, true, 0, base, 16 << 10).is_success());
        for round in 0..6 {
            for n in 0..8 {
                let sqe = transfer(side, n % 2 == 0, n * 32, base + (n % 4) * 4 * PAGE, 8192);
                side.push(sqe.with_cid(n as u16));
            }
            side.ring();
            // In later rounds some have ended before.
            for _ in 0..round {
                assert!(side.wait().status().is_success());
            }
            side.reset_function();
            let untouched = vec![0x77; 16 * PAGE as usize];
            side.write(base, &untouched);
            let at = base + 20 * PAGE;
            side.write(at, &content(round, 8192));
            assert!(carry(side, true, 512, at, 8192).is_success());
            side.write(at, &[0; 8192]);
            assert!(carry(side, false, 512, at, 8192).is_success());
            assert!(side.read(at, 8192) == content(round, 8192));
            assert!(side.read(base, untouched.len()) == untouched, "round {round}");
        }
    });
}

/// The ways are the ways that they are called.
#[test]
fn packets_are_sent_where_firmware_sends_them_alone() {
    for (profile, sends) in [(operations(), false), (packets(true), true), (packets(false), true)] {
        let mut side = Direct(Function::of(profile));
        side.bring_up();
        assert!(carry(&mut side, false, 0, Function::data() + PAGE, 8192).is_success());
        let stats = side.0.device.stats().packets;
        assert_eq!(stats.is_some_and(|stats| stats.sent > 0), sends, "{stats:?}");
    }
    const { assert!(PAGES * PAGE + 6 * PAGE <= Memory::BYTES) };
}
