//! A live drive, and hosts that use it correctly or wrongly. No test depends on wall-clock time: each wait
//! ends with an event.

use aster_device::profile::Profile;
use aster_run_live::{Pace, Status as StatusLine};
use aster_tests::live::{Host, MEMORY_AT, Memory, Queue, Ring, Running, transfer};
use aster_tests::{SMALL, cases, profile};
use aster_units::Rng;
use aster_wire::nvme::admin::{AdminCommand, FormatDword10, Identify, IdentifyDword10};
use aster_wire::nvme::io::IoCommand;
use aster_wire::nvme::{Cqe, Status};
use aster_wire::vfio_user::{Command, Header, HeaderFlags, RegionAccess, RegionInfo, SetIrqs};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use zerocopy::{FromBytes, IntoBytes};

const MEMORY: u64 = 8 << 20;
/// Blocks of 512 bytes in two host pages: what one transfer moves.
const BLOCKS: u32 = 16;
const BYTES: usize = 8192;
const DEPTH: usize = 16;

fn tiny(image: Option<&Path>) -> Running {
    Running::start(&profile("tiny", |_| ()), Pace::Fast, image)
}

fn host(drive: &Running, ring: Ring) -> Host {
    let mut host = Host::connect(&drive.socket(), ring, MEMORY);
    host.enable();
    host
}

/// Content that encodes its slot and version.
fn content(slot: u64, version: u64) -> Vec<u8> {
    (0..BYTES as u64 / 16).flat_map(|i| [slot ^ i << 32, version].map(u64::to_le_bytes)).flatten().collect()
}

/// Reads and writes at random with [`DEPTH`] commands in flight; reads must return what was written last.
struct Exerciser {
    queue: Queue,
    buffers: Vec<u64>,
    /// By buffer: command, slot, version written or expected, whether it writes.
    flying: Vec<Option<(u16, u64, u64, bool)>>,
    versions: BTreeMap<u64, u64>,
    random: Rng,
    slots: std::ops::Range<u64>,
}

impl Exerciser {
    fn new(host: &mut Host, queue: Queue, slots: std::ops::Range<u64>) -> Self {
        let buffers = (0..DEPTH).map(|_| host.alloc(BYTES as u64)).collect();
        let random = Rng::new(slots.start + 1);
        Exerciser { queue, buffers, flying: vec![None; DEPTH], versions: BTreeMap::new(), random, slots }
    }
    /// Fills the queue.
    fn submit(&mut self, host: &mut Host) {
        for place in 0..DEPTH {
            if self.flying[place].is_some() {
                continue;
            }
            let slot = self.slots.start + self.random.below(self.slots.end - self.slots.start);
            // Commands have no order among each other, so each slot has one command at a time.
            if self.flying.iter().flatten().any(|&(_, other, ..)| other == slot) {
                continue;
            }
            let write = self.random.below(2) == 0;
            let version = self.versions.get(&slot).copied().unwrap_or(0) + u64::from(write);
            if write {
                host.write(self.buffers[place], &content(slot, version));
            }
            let sqe = transfer(write, slot * u64::from(BLOCKS), BLOCKS, self.buffers[place]);
            let cid = host.push(&mut self.queue, sqe);
            self.flying[place] = Some((cid, slot, version, write));
        }
        host.ring(&self.queue);
    }
    fn completed(&mut self, host: &mut Host, cqe: Cqe) {
        assert!(cqe.status().is_success(), "{}", cqe.status());
        let cid = cqe.cid.get();
        let place = self.flying.iter().position(|f| f.is_some_and(|f| f.0 == cid)).expect("one of ours");
        let (_, slot, version, write) = self.flying[place].take().expect("found there");
        if write {
            self.versions.insert(slot, version);
            return;
        }
        let mut bytes = vec![0; BYTES];
        host.read(self.buffers[place], &mut bytes);
        let wanted = if version == 0 { vec![0; BYTES] } else { content(slot, version) };
        assert!(bytes == wanted, "slot {slot} does not hold its version {version}");
    }
    fn run(&mut self, host: &mut Host, commands: u64) {
        let mut done = 0;
        while done < commands {
            self.submit(host);
            let cqe = host.wait(&mut self.queue);
            self.completed(host, cqe);
            done += 1;
        }
        while self.flying.iter().any(Option::is_some) {
            let cqe = host.wait(&mut self.queue);
            self.completed(host, cqe);
        }
    }
}

fn identify(host: &mut Host) -> (String, u64) {
    let page = host.alloc(4096);
    let mut read = |cns, nsid| {
        let control = IdentifyDword10(0).with_cns(cns);
        let sqe =
            AdminCommand::Identify(Identify { control, nvm_set: 0, command_set: 0 }).to_sqe(nsid, 0, page, 0);
        assert!(host.admin(sqe).status().is_success());
        let mut bytes = vec![0; 4096];
        host.read(page, &mut bytes);
        bytes
    };
    let (controller, namespace) = (read(1, 0), read(0, 1));
    let model = String::from_utf8_lossy(&controller[24..64]).trim().to_owned();
    (model, u64::from_le_bytes(namespace[..8].try_into().unwrap()))
}

#[test]
fn a_host_finds_a_drive_and_reads_what_it_wrote_however_it_rings() {
    let rings = [Ring::Messages, Ring::Mapped, Ring::Shadow];
    for (name, ring) in SMALL.into_iter().flat_map(|name| rings.map(|ring| (name, ring))) {
        let drive = Running::start(&profile(name, |_| ()), Pace::Fast, None);
        let mut host = host(&drive, ring);
        let (model, blocks) = identify(&mut host);
        assert_eq!(model, "Aster live");
        let slots = blocks / u64::from(BLOCKS);
        let mut exercisers: Vec<_> = (1..=4)
            .map(|id| {
                let queue = host.create_queue(id, 32);
                let share = slots / 4;
                Exerciser::new(&mut host, queue, share * (u64::from(id) - 1)..share * u64::from(id))
            })
            .collect();
        for _ in 0..cases(2, 40) {
            for (vector, exerciser) in (1..).zip(&mut exercisers) {
                exerciser.run(&mut host, 100);
                assert!(host.signals(vector) > 0, "vector {vector} announces its queue's completions");
            }
        }
        drop(host);
        drive.stop().unwrap();
    }
}

#[test]
fn real_time_is_never_shorter_than_the_model_however_a_host_rings_and_lateness_is_told() {
    let mut slow = profile("tiny", |_| ());
    slow.package.read_us = vec![20_000.0, 20_000.0];
    for ring in [Ring::Messages, Ring::Mapped, Ring::Shadow] {
        let drive = Running::start(&slow, Pace::Real, None);
        let mut host = host(&drive, ring);
        let mut queue = host.create_queue(1, 32);
        let at = host.alloc(BYTES as u64);
        // More than the data buffer holds, so that the first slots must be read from their pages.
        for slot in (0..64).chain(1000..1000 + 128) {
            host.write(at, &content(slot, 1));
            let write = transfer(true, slot * u64::from(BLOCKS), BLOCKS, at);
            assert!(host.send(&mut queue, write).status().is_success());
        }
        assert!(host.send(&mut queue, IoCommand::Flush.to_sqe(1, 0, 0, 0)).status().is_success());
        for slot in 0..4 {
            // The server sleeps, and its drive's clock falls behind.
            std::thread::sleep(std::time::Duration::from_millis(100));
            let began = std::time::Instant::now();
            assert!(
                host.send(&mut queue, transfer(false, slot * u64::from(BLOCKS), BLOCKS, at))
                    .status()
                    .is_success()
            );
            assert!(
                began.elapsed() >= std::time::Duration::from_millis(19),
                "tR is 20 ms less the dies' spread: {ring:?}"
            );
        }
        drop(host);
        let lateness = drive.stop().unwrap().expect("commands completed");
        assert!(lateness.p50_us > 0.0 && lateness.p50_us <= lateness.p99_us);
    }
}

#[test]
fn an_idle_drive_does_its_own_work_no_faster_than_the_wall_goes() {
    let busy = profile("tiny", |p| p.ftl.scan_us = 200);
    let drive = Running::start(&busy, Pace::Fast, None);
    let mut host = host(&drive, Ring::Mapped);
    let mut queue = host.create_queue(1, 32);
    let at = host.alloc(BYTES as u64);
    for slot in 0..200 {
        assert!(
            host.send(&mut queue, transfer(true, slot * u64::from(BLOCKS), BLOCKS, at)).status().is_success()
        );
    }
    assert!(host.send(&mut queue, IoCommand::Flush.to_sqe(1, 0, 0, 0)).status().is_success());
    let before = drive.statuses().len();
    while drive.statuses().len() < before + 3 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let lines = drive.statuses();
    let [.., from, to] = lines.as_slice() else { panic!("three lines at least") };
    let (simulated, wall) = (to.simulated.since(from.simulated).as_secs_f64(), to.seconds - from.seconds);
    assert!(simulated > 0.0, "it looks through its pages by itself");
    assert!(simulated < 1.1 * wall, "{simulated} s in {wall} s of the wall clock");
    drop(host);
    drive.stop().unwrap();
}

#[test]
fn the_status_line_counts_what_the_host_did() {
    let drive = tiny(None);
    let mut host = host(&drive, Ring::Mapped);
    let (_, blocks) = identify(&mut host);
    let mut queue = host.create_queue(1, 64);
    let at = host.alloc(BYTES as u64);
    let slots = blocks / u64::from(BLOCKS);
    // Waiting for an event that never comes must not use the CPU.
    host.push_admin(AdminCommand::AsyncEventRequest.to_sqe(0, 0, 0, 0));
    // Writes the whole drive and then every third page again, so that garbage collection must copy pages.
    let written: Vec<u64> = (0..slots).chain((0..slots).step_by(3)).collect();
    let read = 500;
    let commands = written.iter().map(|&slot| (true, slot)).chain((0..read).map(|slot| (false, slot)));
    let mut in_flight = 0;
    for (write, slot) in commands {
        if in_flight == 32 {
            assert!(host.wait(&mut queue).status().is_success());
            in_flight -= 1;
        }
        host.push(&mut queue, transfer(write, slot * u64::from(BLOCKS), BLOCKS, at));
        host.ring(&queue);
        in_flight += 1;
    }
    for _ in 0..in_flight {
        assert!(host.wait(&mut queue).status().is_success());
    }
    // Two more status lines: one with the rest of the work, and one of the idle drive.
    let before = drive.statuses().len();
    while drive.statuses().len() < before + 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let lines = drive.statuses();
    let total = |value: fn(&StatusLine) -> f64| {
        let mut from = 0.0;
        lines
            .iter()
            .map(|line| value(line) * (line.seconds - std::mem::replace(&mut from, line.seconds)))
            .sum::<f64>()
    };
    let is = |found: f64, wanted: usize| (found - wanted as f64).abs() < 0.01 * wanted as f64;
    assert!(is(total(|line| line.write_iops), written.len()), "{lines:?}");
    assert!(is(total(|line| line.write_bytes_per_second), written.len() * BYTES), "{lines:?}");
    assert!(is(total(|line| line.read_iops), read as usize), "{lines:?}");
    assert!(is(total(|line| line.read_bytes_per_second), read as usize * BYTES), "{lines:?}");
    assert!(lines.iter().map(|line| line.gc_runs).sum::<u64>() > 0, "{lines:?}");
    assert!(lines.iter().any(|line| line.write_amplification.is_some_and(|waf| waf > 1.0)), "{lines:?}");
    assert!(lines.iter().any(|line| line.queue_depth > 0.0), "{lines:?}");
    let last = lines.last().expect("two at least");
    assert_eq!((last.queue_depth, last.write_iops, last.connected), (0.0, 0.0, true));
    assert!(lines.iter().all(|line| line.lateness.is_none()), "this drive has no wall clock to be late by");
    drop(host);
    drive.stop().unwrap();
}

#[test]
fn a_function_level_reset_under_load_leaves_host_memory_alone_and_a_drive_that_works() {
    for name in SMALL {
        let drive = Running::start(&profile(name, |_| ()), Pace::Fast, None);
        for (round, ring) in
            (0..cases(6, 60)).zip([Ring::Messages, Ring::Mapped, Ring::Shadow].into_iter().cycle())
        {
            let mut host = host(&drive, ring);
            let queue = host.create_queue(1, 64);
            let mut exerciser = Exerciser::new(&mut host, queue, 0..40);
            exerciser.run_written_first(&mut host);
            exerciser.submit(&mut host);
            if round % 2 == 0 {
                host.reset_function()
            } else {
                host.reset_device()
            }
            // The drive must finish its remaining work without this memory.
            let mark = vec![0xa5; MEMORY as usize];
            host.write(MEMORY_AT, &mark);
            host.enable_function();
            host.wait_ready(false);
            let mut after = vec![0; MEMORY as usize];
            host.read(MEMORY_AT, &mut after);
            assert!(after == mark, "host memory was written after the reset");
            host.free_all();
            host.enable();
            let queue = host.create_queue(1, 64);
            Exerciser::new(&mut host, queue, 1000..1100).run_written_first(&mut host);
        }
        drive.stop().unwrap();
    }
}

impl Exerciser {
    /// Treats the drive's content as unknown: every slot is written before it is read.
    fn run_written_first(&mut self, host: &mut Host) {
        for slot in self.slots.clone() {
            let version = 1;
            host.write(self.buffers[0], &content(slot, version));
            let write = transfer(true, slot * u64::from(BLOCKS), BLOCKS, self.buffers[0]);
            assert!(host.send(&mut self.queue, write).status().is_success());
            self.versions.insert(slot, version);
        }
        self.run(host, 64);
    }
}

/// S20: a client maps the doorbells of queues up to 511; those behind are rung by messages, or in the host's
/// own memory.
#[test]
fn queues_whose_doorbells_are_behind_the_page_work() {
    let drive = Running::start(&profile("tiny", |p| p.host.queue_pairs = 600), Pace::Fast, None);
    for ring in [Ring::Messages, Ring::Mapped, Ring::Shadow] {
        let mut host = host(&drive, ring);
        for (id, slots) in [(511, 0..40), (512, 100..140), (600, 200..240)] {
            let queue = host.create_silent_queue(id, 64);
            Exerciser::new(&mut host, queue, slots).run_written_first(&mut host);
        }
    }
    drive.stop().unwrap();
}

#[test]
fn a_controller_reset_under_load_takes_shadow_doorbells_away() {
    for name in SMALL {
        let drive = Running::start(&profile(name, |_| ()), Pace::Fast, None);
        let mut host = host(&drive, Ring::Shadow);
        for _ in 0..cases(4, 40) {
            let queue = host.create_queue(1, 64);
            let mut exerciser = Exerciser::new(&mut host, queue, 0..200);
            exerciser.submit(&mut host);
            // After the reset the shadow page is ordinary memory, and the next controller must not take
            // doorbell values from it.
            host.disable();
            host.write(MEMORY_AT, &vec![0x11; MEMORY as usize]);
            host.free_all();
            host.enable();
            let queue = host.create_queue(2, 32);
            Exerciser::new(&mut host, queue, 1000..1032).run_written_first(&mut host);
            host.disable();
            host.free_all();
            host.enable();
        }
        drop(host);
        drive.stop().unwrap();
    }
}

#[test]
fn a_queue_that_is_deleted_in_use_answers_no_more_and_its_number_can_be_used_again() {
    for name in SMALL {
        let drive = Running::start(&profile(name, |_| ()), Pace::Fast, None);
        for ring in [Ring::Messages, Ring::Mapped, Ring::Shadow] {
            let mut host = host(&drive, ring);
            for round in 0..cases(5, 50) {
                let queue = host.create_queue(3, 64);
                let mut exerciser = Exerciser::new(&mut host, queue, 0..100);
                exerciser.submit(&mut host);
                for delete in [AdminCommand::DeleteIoSq(3), AdminCommand::DeleteIoCq(3)] {
                    assert!(
                        host.admin(delete.encode(0)).status().is_success(),
                        "round {round} with {ring:?}"
                    );
                }
                // Discards the completions that came before the queue was deleted.
                while host.poll(&mut exerciser.queue).is_some() {}
                let queue = host.create_queue(3, 64);
                Exerciser::new(&mut host, queue, 1000..1016).run_written_first(&mut host);
                for delete in [AdminCommand::DeleteIoSq(3), AdminCommand::DeleteIoCq(3)] {
                    assert!(host.admin(delete.encode(0)).status().is_success());
                }
                host.disable();
                host.free_all();
                host.enable();
            }
        }
        drive.stop().unwrap();
    }
}

#[test]
fn a_queue_that_is_replaced_at_once_hears_its_first_ring() {
    for pace in [Pace::Fast, Pace::Real] {
        let drive = Running::start(&profile("tiny", |_| ()), pace, None);
        let mut host = host(&drive, Ring::Mapped);
        let buffer = host.alloc(BYTES as u64);
        let mut queue = host.create_queue(3, 64);
        for _ in 0..cases(20, 200) {
            // The first doorbell value of each queue equals the last one of the previous queue.
            assert!(host.send(&mut queue, transfer(false, 0, BLOCKS, buffer)).status().is_success());
            queue = host.replace_queue(3, 64);
        }
        drop(host);
        drive.stop().unwrap();
    }
}

#[test]
fn who_comes_after_a_lost_host_finds_what_was_written() {
    for name in SMALL {
        let drive = Running::start(&profile(name, |_| ()), Pace::Fast, None);
        let mut versions = BTreeMap::new();
        for round in 0..cases(4, 40) {
            let ring = [Ring::Messages, Ring::Mapped][round as usize % 2];
            let mut host = host(&drive, ring);
            let queue = host.create_queue(1, 64);
            let mut exerciser = Exerciser::new(&mut host, queue, 0..300);
            exerciser.versions = versions;
            exerciser.run(&mut host, 100);
            // Commands without a waiting host may have been carried out or not, so their slots count as
            // unknown.
            exerciser.submit(&mut host);
            versions = exerciser.versions;
            for (_, slot, _, write) in exerciser.flying.into_iter().flatten() {
                if write {
                    versions.insert(slot, u64::MAX);
                }
            }
            drop(host);
            // The next host begins by writing those slots.
            let unknown: Vec<_> =
                versions.iter().filter(|(_, v)| **v == u64::MAX).map(|(slot, _)| *slot).collect();
            let mut host = self::host(&drive, ring);
            let mut queue = host.create_queue(1, 64);
            let at = host.alloc(BYTES as u64);
            for slot in unknown {
                host.write(at, &content(slot, 7000 + round));
                assert!(
                    host.send(&mut queue, transfer(true, slot * u64::from(BLOCKS), BLOCKS, at))
                        .status()
                        .is_success()
                );
                versions.insert(slot, 7000 + round);
            }
        }
        drive.stop().unwrap();
    }
}

#[test]
fn an_image_that_was_shut_down_comes_back_and_has_one_user() {
    SMALL.into_iter().for_each(|name| comes_back(&profile(name, |_| ())));
}

fn comes_back(profile: &Profile) {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("drive.aster");
    let mut versions = BTreeMap::new();
    for _ in 0..3 {
        let drive = Running::start(profile, Pace::Fast, Some(&image));
        let second = aster_image::open_image(&image, profile, None);
        assert!(matches!(second, Err(aster_image::ImageError::InUse { .. })));
        let mut host = host(&drive, Ring::Mapped);
        let queue = host.create_queue(1, 64);
        let mut exerciser = Exerciser::new(&mut host, queue, 0..300);
        exerciser.versions = versions;
        exerciser.run(&mut host, 200);
        versions = exerciser.versions;
        // The host disconnects without a shutdown. The server shuts the drive down.
        drop(host);
        drive.stop().unwrap();
    }
}

#[test]
fn memory_that_is_not_there_fails_the_command_and_nothing_else() {
    let drive = tiny(None);
    let mut host = host(&drive, Ring::Messages);
    let mut queue = host.create_queue(1, 64);
    let at = host.alloc(BYTES as u64);
    for address in [0x1000, MEMORY_AT + MEMORY, !0xfff, MEMORY_AT - 4096] {
        for write in [false, true] {
            let status = host.send(&mut queue, transfer(write, 0, 8, address)).status();
            assert!(status.is(Status::DATA_TRANSFER_ERROR), "{address:x}: {status}");
        }
    }
    assert!(host.send(&mut queue, transfer(true, 0, BLOCKS, at)).status().is_success());
    drop(host);
    drive.stop().unwrap();
}

#[test]
fn maps_that_go_or_shrink_under_transfers_fail_them_and_nothing_else() {
    let drive = tiny(None);
    const DATA_AT: u64 = 0x10_0000_0000;
    for round in 0..cases(8, 80) {
        // The memory is unsealed, so that it can shrink. The data is in its second half, which is mapped a
        // second time elsewhere.
        let mut host = Host::connect_with(&drive.socket(), Ring::Messages, MEMORY, Memory::Unsealed);
        host.map(DATA_AT, MEMORY / 2, MEMORY / 2);
        host.enable();
        let mut queue = host.create_queue(1, 64);
        for i in 0..32 {
            host.push(
                &mut queue,
                transfer(i % 2 == 0, i * u64::from(BLOCKS), BLOCKS, DATA_AT + i * BYTES as u64),
            );
        }
        host.ring(&queue);
        let gone = round % 2 == 0;
        if gone {
            host.unmap(DATA_AT, MEMORY / 2);
        } else {
            host.shrink(MEMORY / 2).unwrap();
        }
        for _ in 0..32 {
            let status = host.wait(&mut queue).status();
            assert!(status.is_success() || status.is(Status::DATA_TRANSFER_ERROR), "{status}");
        }
        let late = host.send(&mut queue, transfer(false, 0, BLOCKS, DATA_AT)).status();
        assert!(late.is(Status::DATA_TRANSFER_ERROR), "{late}");
    }
    drive.stop().unwrap();
}

#[test]
fn queues_in_memory_that_went_away_are_fatal_until_a_reset() {
    let drive = tiny(None);
    let mut host = host(&drive, Ring::Messages);
    let queue = host.create_queue(1, 64);
    let mut exerciser = Exerciser::new(&mut host, queue, 0..100);
    exerciser.submit(&mut host);
    host.unmap(MEMORY_AT, MEMORY);
    host.ring(&exerciser.queue);
    use aster_wire::nvme::registers::{Csts, Register};
    while !Csts(host.register(Register::Status) as u32).cfs() {
        exerciser.queue = host.ring_once_more(exerciser.queue);
    }
    host.map(MEMORY_AT, 0, MEMORY);
    host.disable();
    host.free_all();
    host.enable();
    let queue = host.create_queue(1, 64);
    Exerciser::new(&mut host, queue, 1000..1016).run_written_first(&mut host);
    drop(host);
    drive.stop().unwrap();
}

#[test]
fn a_format_by_the_host_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("drive.aster");
    let drive = tiny(Some(&image));
    let mut host = host(&drive, Ring::Mapped);
    let (_, before) = identify(&mut host);
    // Format 1 has blocks of 4 KiB.
    let format = AdminCommand::FormatNvm(FormatDword10(0).with_lba_format(1));
    assert!(host.admin(format.to_sqe(1, 0, 0, 0)).status().is_success());
    assert_eq!(identify(&mut host).1, before / 8);
    drop(host);
    drive.stop().unwrap();
    let drive = tiny(Some(&image));
    let mut host = self::host(&drive, Ring::Mapped);
    assert_eq!(identify(&mut host).1, before / 8);
    drop(host);
    drive.stop().unwrap();
}

/// Sends bytes without following the protocol. Returns all bytes that arrive until the connection closes.
fn rude(socket: &Path, bytes: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(socket).unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut back = Vec::new();
    let _ = stream.read_to_end(&mut back);
    back
}

fn message(command: Command, payload: &[u8]) -> Vec<u8> {
    [Header::command(1, command, payload.len()).as_bytes(), payload].concat()
}

#[test]
fn messages_without_sense_are_answered_with_errors_and_the_next_client_is_served() {
    let drive = tiny(None);
    let access = |region: u32, offset: u64, count: u32| {
        let access = RegionAccess { offset: offset.into(), region: region.into(), count: count.into() };
        Vec::from(access.as_bytes())
    };
    let irqs = |flags: u32, index: u32, start: u32, count: u32| {
        let set = SetIrqs {
            argsz: 20.into(),
            flags: flags.into(),
            index: index.into(),
            start: start.into(),
            count: count.into(),
        };
        Vec::from(set.as_bytes())
    };
    let region = |index: u32| {
        let mut info = RegionInfo::read_from_bytes(&[0; 32]).unwrap();
        info.argsz.set(32);
        info.index.set(index);
        Vec::from(info.as_bytes())
    };
    for (what, bytes) in [
        ("a version without its structure", message(Command::Version, &[])),
        ("a version without its zero byte", message(Command::Version, &[0, 0, 1, 0, b'{'])),
        ("another major version", message(Command::Version, &[9, 0, 1, 0, 0])),
        ("a read of 4 GiB", message(Command::RegionRead, &access(0, 0, u32::MAX))),
        ("a read at the end of addresses", message(Command::RegionRead, &access(7, u64::MAX, 4))),
        ("a read of a region that isn't", message(Command::RegionRead, &access(77, 0, 4))),
        ("a write without its bytes", message(Command::RegionWrite, &access(0, 0, 64))),
        ("a region that isn't", message(Command::DeviceGetRegionInfo, &region(9))),
        (
            "vectors that aren't",
            message(Command::DeviceSetIrqs, &irqs(1 << 2 | 1 << 5, 2, 4_000_000_000, 400_000_000)),
        ),
        ("two kinds of data", message(Command::DeviceSetIrqs, &irqs(0b11 | 1 << 5, 2, 0, 1))),
        ("bytes that are missing", message(Command::DeviceSetIrqs, &irqs(0b10 | 1 << 5, 2, 0, 5))),
        ("a map without its structure", message(Command::DmaMap, &[1; 31])),
        ("an unmap of nothing", message(Command::DmaUnmap, &[0; 24])),
        ("a command for a client", message(Command::DmaRead, &[0; 16])),
    ] {
        let back = rude(&drive.socket(), &bytes);
        let header =
            Header::read_from_bytes(&back[..]).unwrap_or_else(|_| panic!("{what}: {} bytes", back.len()));
        assert!(header.flags().error() && header.error.get() > 0, "{what}: {header:?}");
    }
    // Bytes that can't be split into messages end the connection without a reply.
    for bytes in [vec![0; 16], vec![0xff; 4096], vec![1; 7]] {
        assert!(rude(&drive.socket(), &bytes).is_empty());
    }
    // A message that requests no reply gets none.
    let mut silent = Header::command(1, Command::DmaUnmap, 24);
    silent.flags.set(HeaderFlags(0).with_no_reply(true).0);
    assert!(rude(&drive.socket(), &[silent.as_bytes(), &[0; 24]].concat()).is_empty());
    let mut random = Rng::new(5);
    for _ in 0..cases(200, 20_000) {
        let mut payload: Vec<u8> =
            (0..random.below(80)).map(|_| random.next_u64() as u8 >> random.below(8)).collect();
        payload.extend([0; 8]);
        let mut bytes = message(Command::DeviceReset, &payload);
        bytes[2] = random.below(17) as u8;
        rude(&drive.socket(), &bytes);
    }
    let mut host = host(&drive, Ring::Mapped);
    assert_eq!(identify(&mut host).0, "Aster live");
    drop(host);
    drive.stop().unwrap();
}

#[test]
fn register_accesses_of_every_kind_leave_a_drive_that_works() {
    let drive = tiny(None);
    let mut random = Rng::new(6);
    for _ in 0..cases(10, 500) {
        let mut bytes = Vec::new();
        for _ in 0..50 {
            let region = [0, 7][random.below(2) as usize];
            let (offset, count) = (random.below(0x3400), 1 << random.below(5));
            let access =
                RegionAccess { offset: offset.into(), region: u32::into(region), count: u32::into(count) };
            let data: Vec<u8> = (0..count).map(|_| random.next_u64() as u8).collect();
            bytes.extend(message(Command::RegionWrite, &[access.as_bytes(), &data].concat()));
            bytes.extend(message(Command::RegionRead, access.as_bytes()));
        }
        rude(&drive.socket(), &bytes);
    }
    let mut host = host(&drive, Ring::Mapped);
    let queue = host.create_queue(1, 64);
    Exerciser::new(&mut host, queue, 0..50).run_written_first(&mut host);
    drop(host);
    drive.stop().unwrap();
}
