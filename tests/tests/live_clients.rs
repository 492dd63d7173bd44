//! Clients other than virtual machines: how SPDK's initiator works, and what a client that makes a mistake
//! is told.

use aster_run_live::Pace;
use aster_tests::live::{Host, MEMORY_AT, Memory, Queue, Ring, Running, transfer};
use aster_tests::{cases, profile};
use aster_units::Rng;
use aster_wire::nvme::Status;
use aster_wire::nvme::admin::{AdminCommand, SetFeatures, SetFeaturesDword10};
use aster_wire::nvme::features::{FeatureId, NumberOfQueues};
use aster_wire::nvme::registers::{Aqa, Cc, Csts, Register};
use aster_wire::vfio_user::{Command, DmaMap, DmaMapFlags, Header};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// Also a multiple of huge pages of 2 MiB.
const MEMORY: u64 = 8 << 20;
const BLOCKS: u32 = 8;
const BYTES: u64 = 4096;
/// The bus address of a second file.
const OTHER_AT: u64 = 0x10_0000_0000;

fn tiny() -> Running {
    Running::start(&profile("tiny", |_| ()), Pace::Fast, None)
}

fn content(slot: u64, round: u64) -> Vec<u8> {
    (0..BYTES / 16).flat_map(|i| [slot ^ i << 32, round].map(u64::to_le_bytes)).flatten().collect()
}

/// Writes and reads back with 16 commands in flight, polled.
fn exercise(host: &mut Host, queue: &mut Queue, rounds: u64) {
    const DEPTH: u64 = 16;
    let buffers: Vec<u64> = (0..DEPTH).map(|_| host.alloc(BYTES)).collect();
    let mut random = Rng::new(3);
    for round in 0..rounds {
        let first = random.below(2000);
        for write in [true, false] {
            for (slot, &at) in (first..).zip(&buffers) {
                host.write(at, &if write { content(slot, round) } else { vec![0xee; BYTES as usize] });
                host.push(queue, transfer(write, slot * u64::from(BLOCKS), BLOCKS, at));
            }
            host.ring(queue);
            for _ in 0..DEPTH {
                let status = host.wait(queue).status();
                assert!(status.is_success(), "{status}");
            }
        }
        for (slot, &at) in (first..).zip(&buffers) {
            let mut back = vec![0; BYTES as usize];
            host.read(at, &mut back);
            assert!(back == content(slot, round), "slot {slot} in round {round}");
        }
    }
}

/// Waits until a message for people contains `wanted`, and checks that there is only one.
fn told(drive: &Running, wanted: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while !drive.notices().iter().any(|text| text.contains(wanted)) {
        assert!(Instant::now() < until, "nobody is told of {wanted:?}: {:?}", drive.notices());
        std::thread::sleep(Duration::from_millis(5));
    }
    let times = drive.notices().iter().filter(|text| text.contains(wanted)).count();
    assert_eq!(times, 1, "once is enough: {:?}", drive.notices());
}

#[test]
fn what_spdk_does_works_in_whatever_memory_it_shares() {
    for memory in [Memory::Unsealable, Memory::Huge, Memory::Unsealed, Memory::Sealed] {
        let drive = tiny();
        let Some(mut host) = Host::connect_as_spdk(&drive.socket(), MEMORY, memory) else {
            println!("{memory:?}: this machine has too few huge pages to spare (/proc/sys/vm/nr_hugepages)");
            continue;
        };
        let mut command = [0; 2];
        host.read_config(0x04, &mut command);
        assert_eq!(u16::from_le_bytes(command) & 0b111, 0b100, "bus master, and no Memory Space");
        assert_ne!(host.register(Register::Version), u64::from(u32::MAX), "BAR0 answers all the same");
        host.enable();
        let mut queue = host.create_silent_queue(1, 64);
        exercise(&mut host, &mut queue, cases(10, 500));
        println!("{memory:?}: served");
        // The client just disconnects.
        drop(host);
        let about_memory: Vec<_> = drive.notices().into_iter().filter(|text| text.contains("0x")).collect();
        assert!(about_memory.is_empty(), "{about_memory:?}");
        drive.stop().unwrap();
    }
}

#[test]
fn a_version_without_a_word_of_capabilities_is_enough() {
    let drive = tiny();
    let mut stream = UnixStream::connect(drive.socket()).unwrap();
    let header = Header::command(0, Command::Version, 4);
    stream.write_all(&[header.as_bytes(), &[0, 0, 0, 0]].concat()).unwrap();
    let mut back = [0; 20];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(back[8..12], [1, 0, 0, 0], "a reply without an error");
    drop(stream);
    drive.stop().unwrap();
}

/// A file of huge pages of a size of which none are free; `None` if this machine has no such size.
fn empty_pool() -> Option<(OwnedFd, u64)> {
    let sizes = [(2u64 << 20, MemfdFlags::HUGE_2MB), (1 << 30, MemfdFlags::HUGE_1GB)];
    sizes.into_iter().find_map(|(bytes, size)| {
        let pool = format!("/sys/kernel/mm/hugepages/hugepages-{}kB/free_hugepages", bytes >> 10);
        let free = std::fs::read_to_string(pool).ok()?;
        let file = memfd_create("holes", MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | size).ok()?;
        ftruncate(&file, bytes).ok()?;
        (free.trim() == "0").then_some((file, bytes))
    })
}

#[test]
fn a_hole_for_which_no_huge_page_is_left_fails_its_command_and_nothing_else() {
    let Some((file, bytes)) = empty_pool() else {
        return println!(
            "every pool of huge pages here has some free, or there is none: see run/memory's tests"
        );
    };
    println!("a hole of {bytes} bytes");
    let drive = tiny();
    let mut host = Host::connect_as_spdk(&drive.socket(), MEMORY, Memory::Unsealable).expect("memory");
    host.map_file(OTHER_AT, &file, bytes);
    host.enable();
    let mut queue = host.create_silent_queue(1, 64);
    for write in [true, false, true] {
        let status = host.send(&mut queue, transfer(write, 0, BLOCKS, OTHER_AT + 4096)).status();
        assert!(status.is(Status::DATA_TRANSFER_ERROR), "{status}");
    }
    told(&drive, "a hole for which no huge page is left");
    exercise(&mut host, &mut queue, 2);
    drop(host);
    drive.stop().unwrap();
}

// S8: the third of the transports that firmware's calls go over.
#[test]
fn a_client_is_served_by_firmware_that_sends_packets() {
    for offload in [true, false] {
        let small = profile("softssd-small", |p| p.host.completion_offload = Some(offload));
        let drive = Running::start(&small, Pace::Fast, None);
        let mut host = Host::connect_as_spdk(&drive.socket(), MEMORY, Memory::Unsealable).expect("memory");
        host.enable();
        let mut queue = host.create_silent_queue(1, 64);
        exercise(&mut host, &mut queue, cases(10, 100));
        drop(host);
        drive.stop().unwrap();
    }
}

#[test]
fn unsealed_memory_that_is_cut_off_in_use_is_said_and_harms_nobody_else() {
    for memory in [Memory::Unsealed, Memory::Unsealable] {
        let drive = tiny();
        let mut host = Host::connect_as_spdk(&drive.socket(), MEMORY, memory).expect("memory");
        let other = memory.file(MEMORY).expect("more of it");
        host.map_file(OTHER_AT, &other, MEMORY);
        host.enable();
        let mut queue = host.create_silent_queue(1, 64);
        for round in 0..cases(4, 100) {
            ftruncate(&other, MEMORY).unwrap();
            for i in 0..32 {
                let at = OTHER_AT + i * BYTES;
                host.push(&mut queue, transfer(i % 2 == 0, i * u64::from(BLOCKS), BLOCKS, at));
            }
            host.ring(&queue);
            ftruncate(&other, round % 2 * 16 * BYTES).unwrap();
            for _ in 0..32 {
                let status = host.wait(&mut queue).status();
                assert!(status.is_success() || status.is(Status::DATA_TRANSFER_ERROR), "{status}");
            }
            let late = host.send(&mut queue, transfer(false, 0, BLOCKS, OTHER_AT + 20 * BYTES)).status();
            assert!(late.is(Status::DATA_TRANSFER_ERROR), "{late}");
        }
        told(&drive, "in a file that the client has cut short");
        exercise(&mut host, &mut queue, 2);
        drop(host);
        drive.stop().unwrap();
    }
}

#[test]
fn a_client_that_forgets_bus_master_is_told_and_may_make_up_for_it() {
    let drive = tiny();
    let mut host = Host::connect_as_spdk(&drive.socket(), MEMORY, Memory::Unsealable).expect("memory");
    host.write_config(0x04, 0);
    // This controller's admin queue is in memory that the drive may not access.
    host.set_register(Register::AdminQueueAttributes, Aqa::of(16, 16).0.into());
    host.set_register(Register::AdminSubmissionQueue, MEMORY_AT);
    host.set_register(Register::AdminCompletionQueue, MEMORY_AT + 4096);
    host.set_register(Register::Configuration, Cc(0).with_en(true).with_iosqes(6).with_iocqes(4).0.into());
    host.wait_ready(true);
    host.ring_admin(1);
    told(&drive, "Bus Master Enable");
    while !Csts(host.register(Register::Status) as u32).cfs() {
        std::thread::yield_now();
    }
    host.write_config(0x04, 0x0404);
    host.disable();
    host.enable();
    let mut queue = host.create_silent_queue(1, 64);
    exercise(&mut host, &mut queue, 2);
    drop(host);
    drive.stop().unwrap();
}

#[test]
fn a_function_that_sleeps_says_why_it_is_silent() {
    let drive = tiny();
    let mut host = Host::connect_as_spdk(&drive.socket(), MEMORY, Memory::Unsealable).expect("memory");
    let mut control = [0; 2];
    host.read_config(0x44, &mut control);
    host.write_config(0x44, u16::from_le_bytes(control) | 3);
    assert_eq!(host.register(Register::Version), u64::from(u32::MAX));
    told(&drive, "D3hot");
    drop(host);
    drive.stop().unwrap();
}

/// The Keep Alive Timer counts the time of a drive that rests, also of one whose clock jumps from event to
/// event while it works.
#[test]
fn a_host_that_falls_silent_is_given_up_after_the_time_that_it_has_set() {
    const TIMEOUT: Duration = Duration::from_secs(2);
    for pace in [Pace::Fast, Pace::Real] {
        let drive = Running::start(&profile("tiny", |_| ()), pace, None);
        let mut host = Host::connect(&drive.socket(), Ring::Mapped, MEMORY);
        host.enable();
        let mut queue = host.create_silent_queue(1, 64);
        exercise(&mut host, &mut queue, 2);
        let control = SetFeaturesDword10(0).with_feature_id(FeatureId::KeepAliveTimer.raw());
        let set = SetFeatures { control, dword11: TIMEOUT.as_millis() as u32 };
        let status = host.admin(AdminCommand::SetFeatures(set).to_sqe(0, 0, 0, 0)).status();
        assert!(status.is_success(), "{status}");
        for _ in 0..3 {
            let last = Instant::now();
            exercise(&mut host, &mut queue, 2);
            std::thread::sleep(TIMEOUT / 10);
            let fatal = Csts(host.register(Register::Status) as u32).cfs();
            assert!(!fatal || last.elapsed() >= TIMEOUT, "{pace:?}: after {:?}", last.elapsed());
        }
        let last = Instant::now();
        assert!(host.admin(AdminCommand::KeepAlive.to_sqe(0, 0, 0, 0)).status().is_success());
        while !Csts(host.register(Register::Status) as u32).cfs() {
            assert!(last.elapsed() < Duration::from_secs(60), "{pace:?}: it is never given up");
            std::thread::sleep(Duration::from_millis(50));
        }
        // At pace `fast` each look of the host lets the drive do background work ahead of the wall clock.
        let least = if pace == Pace::Real { TIMEOUT * 9 / 10 } else { TIMEOUT / 2 };
        assert!(last.elapsed() >= least, "{pace:?}: after {:?}", last.elapsed());
        told(&drive, "the Keep Alive Timeout that it has set");
        drop(host);
        drive.stop().unwrap();
    }
}

/// SPDK asks for 1,024 queues, and says "could not allocate io qpair" when it has used those that it got.
#[test]
fn a_client_that_asks_for_more_queues_than_there_are_is_told_of_the_key() {
    let drive = tiny();
    let mut host = Host::connect(&drive.socket(), Ring::Mapped, MEMORY);
    host.enable();
    let mut ask = |pairs| {
        let control = SetFeaturesDword10(0).with_feature_id(FeatureId::NumberOfQueues.raw());
        let set = SetFeatures { control, dword11: NumberOfQueues::of(pairs, pairs).0 };
        let reply = host.admin(AdminCommand::SetFeatures(set).to_sqe(0, 0, 0, 0));
        assert!(reply.status().is_success());
        reply.result.get()
    };
    assert_eq!(ask(4), NumberOfQueues::of(4, 4).0);
    assert_eq!(ask(1_024), NumberOfQueues::of(4, 4).0);
    told(&drive, "asks for 1024 I/O queues, and this drive has 4");
    ask(1_024);
    told(&drive, "--set host.queue_pairs=1024");
    drop(host);
    drive.stop().unwrap();
}

#[test]
fn refused_messages_and_clients_that_wait_are_said() {
    let drive = tiny();
    let send = |command: Command, payload: &[u8]| {
        let mut stream = UnixStream::connect(drive.socket()).unwrap();
        let header = Header::command(1, command, payload.len());
        stream.write_all(&[header.as_bytes(), payload].concat()).unwrap();
        let mut back = [0; 16];
        stream.read_exact(&mut back).unwrap();
    };
    send(Command::Version, &[9, 0, 1, 0, 0]);
    told(&drive, "VFIO_USER_VERSION was refused");
    let flags = DmaMapFlags(0).with_readable(true).0;
    let map = DmaMap {
        argsz: 32.into(),
        flags: flags.into(),
        offset: 0.into(),
        address: 0x800.into(),
        size: 4096.into(),
    };
    send(Command::DmaMap, map.as_bytes());
    told(&drive, "VFIO_USER_DMA_MAP was refused");
    // An invalid request, which any client may try, must not keep the next client out.
    send(Command::DmaRead, &[0; 16]);

    let mut host = Host::connect(&drive.socket(), Ring::Mapped, MEMORY);
    let second = UnixStream::connect(drive.socket()).unwrap();
    host.register(Register::Version);
    told(&drive, "another client waits");
    assert!(!drive.notices().iter().any(|text| text.contains("DMA_READ")), "{:?}", drive.notices());
    drop((host, second));
    drive.stop().unwrap();
}
