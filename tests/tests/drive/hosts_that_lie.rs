//! Hosts that withdraw what transfers need, at every moment of a transfer: by resets, by deleting queues
//! in use, by unmapping memory. There are no sockets and threads, so that each moment can be hit exactly. The
//! drive's NVMe is hardware, or firmware over either transport.

use aster_device::Profile;
use aster_device::profile::TransportName;
use aster_tests::cases;
use aster_tests::front_ends::NVME;
use aster_tests::fuzz::{Function, Memory};
use aster_units::{Duration, Instant};
use aster_wire::nvme::Status;
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::io::{BlockRange, IoCommand};

/// Blocks of 512 bytes in two host pages: what one command moves.
const BLOCKS: u32 = 16;
const BYTES: usize = 8192;
/// Concurrent commands, one per slot of [`BYTES`]: the even ones write, the odd ones read.
const SLOTS: u64 = 12;
/// Distance of slots, so that each has a flash page of its own.
const SLOT_BLOCKS: u64 = 64;

/// Content that encodes its slot and version.
fn content(slot: u64, version: u64) -> Vec<u8> {
    (0..BYTES as u64 / 16).flat_map(|i| [slot ^ i << 32, version].map(u64::to_le_bytes)).flatten().collect()
}

fn buffer(slot: u64) -> u64 {
    Function::data() + slot * BYTES as u64
}

fn command(slot: u64, write: bool) -> aster_wire::nvme::Sqe {
    let range = BlockRange::new(slot * SLOT_BLOCKS, BLOCKS);
    let command = if write { IoCommand::Write(range) } else { IoCommand::Read(range) };
    command.to_sqe(1, 0, buffer(slot), buffer(slot) + 4096)
}

/// A drive whose slots hold known versions.
struct Bench {
    function: Function,
    round: u64,
    /// Commands of the load that have not completed.
    flying: u64,
    /// The drive sends packets.
    is_posted: bool,
}

impl Bench {
    fn new(front_end: fn(&mut Profile)) -> Self {
        let mut is_posted = false;
        let function = Function::with(|p| {
            front_end(p);
            is_posted = p.host.transport == TransportName::Tlp;
        });
        let mut bench = Bench { function, round: 0, flying: 0, is_posted };
        bench.begin();
        for slot in (1..SLOTS).step_by(2) {
            bench.write(slot, 0);
        }
        bench
    }
    /// A controller that has just been enabled, with one queue pair.
    fn begin(&mut self) {
        self.function.disable();
        self.function.enable();
        self.function.create_pair(1);
    }
    fn write(&mut self, slot: u64, version: u64) {
        self.function.memory.at(buffer(slot), BYTES).copy_from_slice(&content(slot, version));
        let status = self.function.send(1, command(slot, true)).status();
        assert!(status.is_success(), "{status}");
    }
    /// Sends commands to all slots and runs `steps` events of them.
    fn load(&mut self, steps: u64) {
        self.round += 1;
        for slot in (0..SLOTS).step_by(2) {
            self.write(slot, 2 * self.round);
        }
        for slot in 0..SLOTS {
            let write = slot % 2 == 0;
            let held = if write { content(slot, 2 * self.round + 1) } else { vec![0; BYTES] };
            self.function.memory.at(buffer(slot), BYTES).copy_from_slice(&held);
            self.function.push(1, command(slot, write));
        }
        self.function.ring(1);
        self.flying = SLOTS;
        for _ in 0..steps {
            self.function.step(Instant::ZERO + Duration::from_millis(u64::from(u32::MAX)));
        }
    }
    /// Takes the completions that have come.
    fn reap(&mut self) -> Vec<Status> {
        let found: Vec<_> = std::iter::from_fn(|| self.function.reap(1)).map(|cqe| cqe.status()).collect();
        self.flying -= found.len() as u64;
        found
    }
    /// Waits for all outstanding completions of the load.
    fn reap_all(&mut self) -> Vec<Status> {
        let mut found = Vec::new();
        while self.flying > 0 {
            assert!(self.function.step(self.function.device.now() + Duration::from_millis(1_000)));
            found.extend(self.reap());
        }
        found
    }
    /// Checks that every block of every slot is as before the load or as the load wrote it.
    fn must_be_whole(&mut self) {
        for slot in 0..SLOTS {
            let status = self.function.send(1, command(slot, false)).status();
            assert!(status.is_success(), "{status}");
            let found = self.function.memory.at(buffer(slot), BYTES).to_vec();
            let versions = if slot % 2 == 0 { vec![2 * self.round, 2 * self.round + 1] } else { vec![0] };
            let wanted: Vec<_> = versions.iter().map(|&version| content(slot, version)).collect();
            for (block, bytes) in found.chunks(512).enumerate() {
                let as_wanted = |w: &Vec<u8>| w[512 * block..512 * (block + 1)] == *bytes;
                assert!(wanted.iter().any(as_wanted), "slot {slot} block {block}: {:x?}", &bytes[..16]);
            }
        }
    }
    /// Checks that the drive doesn't access memory from now on.
    fn must_leave_memory_alone(&mut self) {
        let before = self.function.memory.accesses();
        self.function.run_for(Duration::from_millis(20));
        assert_eq!(self.function.memory.accesses(), before, "memory was used by whom it belongs to no more");
    }
}

/// Calls `each` with a load at every moment of it, from its doorbell to its last completion, over each front
/// end. Firmware has more moments: of those it is each fifth, but for long runs.
fn at_every_moment(mut each: impl FnMut(&mut Bench)) {
    for (nth, (name, front_end)) in NVME.into_iter().enumerate() {
        let step = if nth == 0 { 1 } else { cases(5, 1) };
        let mut bench = Bench::new(front_end);
        for moments in (0..).step_by(step as usize) {
            bench.begin();
            bench.load(moments);
            let completed = bench.reap();
            assert!(completed.iter().all(|status| status.is_success()));
            let over = bench.flying == 0;
            each(&mut bench);
            if over {
                assert!(moments > 100, "{name}: {moments} moments are no load");
                break;
            }
        }
    }
}

#[test]
fn a_function_level_reset_ends_every_transfer() {
    at_every_moment(|bench| {
        bench.function.reset_function();
        // The drive may access memory again at once, but transfers for the previous host must not arrive
        // late.
        bench.function.enable_function();
        bench.must_leave_memory_alone();
        bench.function.must_work_after_a_reset();
        bench.must_be_whole();
    });
}

#[test]
fn a_controller_reset_ends_every_transfer_before_it_says_so() {
    at_every_moment(|bench| {
        bench.function.disable();
        bench.must_leave_memory_alone();
        bench.begin();
        bench.must_be_whole();
    });
}

#[test]
fn a_queue_that_was_deleted_uses_no_memory_any_more() {
    at_every_moment(|bench| {
        for delete in [AdminCommand::DeleteIoSq(1), AdminCommand::DeleteIoCq(1)] {
            bench.function.admin(delete.encode(0));
        }
        bench.must_leave_memory_alone();
        bench.function.create_pair(1);
        bench.must_be_whole();
    });
}

#[test]
fn memory_that_goes_under_a_transfer_fails_that_command_and_nothing_else() {
    at_every_moment(|bench| {
        let before = bench.function.memory.at(Function::data(), BYTES * SLOTS as usize).to_vec();
        bench.function.memory.take_away(Function::data());
        for status in bench.reap_all() {
            assert!(status.is_success() || status.is(Status::DATA_TRANSFER_ERROR), "{status}");
        }
        let late = bench.function.send(1, command(1, false)).status();
        // Packets with data for the host are posted: nobody tells the drive that there is no memory.
        let is_told = if bench.is_posted { late.is_success() } else { late.is(Status::DATA_TRANSFER_ERROR) };
        assert!(is_told, "{late}");
        bench.function.memory.give_back();
        let after = bench.function.memory.at(Function::data(), BYTES * SLOTS as usize);
        assert!(before == after, "memory was written where there was none");
        bench.must_be_whole();
    });
}

#[test]
fn completion_queues_that_go_are_fatal_until_a_reset() {
    at_every_moment(|bench| {
        bench.function.memory.take_away(Memory::AT);
        bench.function.run_for(Duration::from_millis(20));
        bench.function.must_work_after_a_reset();
        bench.must_be_whole();
    });
}
