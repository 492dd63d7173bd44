//! The page cache of the host before each target, and the block layer over a plain drive (O16).

use aster_device::profile::{BLOCK, ContentKind, Profile};
use aster_device::{DriveState, Media};
use aster_driver::{Config, Driver, DriverError, QueueId, Range, SecureErase};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::{cases, config, drive, job, profile, run, run_with, versioned};
use aster_units::{Content, Duration};
use aster_workload::{Access, Job, Mix};
use std::cell::Cell;
use std::rc::Rc;

const MIB: u64 = 1 << 20;
const QUEUE: QueueId = QueueId(1);

fn cached(p: &mut Profile, kind: &str) {
    let target = p.target.get_or_insert_default();
    kind.clone_into(&mut target.kind);
    target.page_cache_mib = Some(16);
}
/// Drives several times as large as their cache of 16 MiB.
fn drives() -> Vec<Profile> {
    let large = |p: &mut Profile| p.geometry.blocks_per_lun = 512;
    vec![
        profile("pocket-ocssd", |p| {
            large(p);
            cached(p, "pblk");
        }),
        profile("pocket-ocssd", |p| {
            large(p);
            cached(p, "page-mapping");
        }),
        plain(),
        profile("host-ftl-small", |p| {
            p.content = ContentKind::Full;
            cached(p, "hostftl");
        }),
    ]
}
/// A plain drive under the block layer, of 512-byte blocks.
fn plain() -> Profile {
    profile("tiny", |p| {
        p.geometry.blocks_per_lun = 64;
        cached(p, BLOCK);
    })
}
fn power_on(profile: &Profile, media: Media) -> Machine {
    let config = Config { depth: 31, ..config(profile) };
    let machine =
        Machine::power_on("cached", profile, Some(Content::Full), media, &Recorder::default(), config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}
fn random(mix: Mix, block: u32, requests: u64) -> Job {
    job("random", Access::Random, mix, block, requests)
}
fn sequential(mix: Mix, block: u32, bytes: u64) -> Job {
    job("sequential", Access::Sequential, mix, block, bytes / u64::from(block))
}
fn everything(machine: &Machine) -> Job {
    sequential(Mix::Read, 64 << 10, drive(machine).bytes)
}
/// Sends commands of which each has ended before the next one.
struct Host<'a>(&'a Machine);

impl Host<'_> {
    fn send<T: 'static, F: Future<Output = T> + 'static>(
        &self,
        work: impl FnOnce(Rc<Driver<VirtualBar>>) -> F,
    ) -> T {
        self.0.block_on("a command", work(Rc::clone(self.0.driver()))).unwrap()
    }
    fn write(&self, slba: u64, bytes: Vec<u8>, fua: bool) -> Result<(), DriverError> {
        self.send(move |driver| async move { driver.write(QUEUE, slba, &bytes, fua).await })
    }
    fn read(&self, slba: u64, bytes: usize) -> Result<Vec<u8>, DriverError> {
        let mut into = vec![9; bytes];
        self.send(move |driver| async move { driver.read(QUEUE, slba, &mut into).await.map(|()| into) })
    }
    fn compare(&self, slba: u64, bytes: Vec<u8>) -> Result<(), DriverError> {
        self.send(move |driver| async move { driver.compare(QUEUE, slba, &bytes).await })
    }
    fn flush(&self) -> Result<(), DriverError> {
        self.send(|driver| async move { driver.flush(QUEUE).await })
    }
    fn write_zeroes(&self, slba: u64, blocks: u64, deallocate: bool, fua: bool) -> Result<(), DriverError> {
        self.send(
            move |driver| async move { driver.write_zeroes(QUEUE, slba, blocks, deallocate, fua).await },
        )
    }
    fn deallocate(&self, range: Range) -> Result<(), DriverError> {
        self.send(move |driver| async move { driver.deallocate(QUEUE, &[range]).await })
    }
    fn format(&self) -> Result<(), DriverError> {
        self.send(
            |driver| async move { driver.format(driver.namespace().lba_format, SecureErase::None).await },
        )
    }
}
fn counted(machine: &Machine, name: &str) -> u64 {
    machine.device().translation().counter(name).unwrap_or_else(|| panic!("no counter {name}"))
}

#[test]
fn what_is_written_is_read_back_whatever_the_target() {
    for profile in drives() {
        let machine = power_on(&profile, Media::fresh());
        let bytes = drive(&machine).bytes;
        assert!(bytes > 32 * MIB, "{bytes} bytes");
        let write = random(Mix::Write, 4096, 2 * bytes / 4096);
        let mixed = Job { seed: 5, ..random(Mix::ReadWrite, 48 << 10, 600) };
        let contents = run(&machine, &[write, mixed], versioned(&machine));
        run(&machine, &[everything(&machine)], contents);
        assert!(counted(&machine, "cache_hits") > 0 && counted(&machine, "cache_misses") > 0);
        assert!(counted(&machine, "throttled") > 0, "a fifth of the cache is dirty at most");
        let below = machine.device().stats().ftl;
        assert!(below.host_bytes_written > bytes, "{below:?}");
    }
}

#[test]
fn what_was_flushed_survives_a_loss_of_power() {
    for profile in drives() {
        let mut machine = power_on(&profile, Media::fresh());
        let mut contents = versioned(&machine);
        for round in 0..cases(4, 20) {
            let write = Job { seed: round, ..random(Mix::Write, 8192, 900) };
            let flush = Job { flush_every: 1, seed: round, ..random(Mix::Write, 4096, 2) };
            contents = run(&machine, &[write, flush], contents);
            let media = if round % 2 == 0 { machine.shut_down().unwrap() } else { machine.cut_power() };
            machine = power_on(&profile, media);
            assert_eq!(machine.device().stats().ftl.state, DriveState::Ready, "round {round}");
            contents = run(&machine, &[everything(&machine)], contents);
        }
    }
}

#[test]
fn a_write_ends_in_the_cache_and_is_written_back_in_runs() {
    let machine = power_on(&drives()[0], Media::fresh());
    let begun = machine.now();
    run(&machine, &[sequential(Mix::Write, 4096, MIB)], versioned(&machine));
    let took = machine.now().since(begun);
    // 256 programs of 480 µs at least, of eight planes at once, take 15 ms.
    assert!(took < Duration::from_millis(1), "{took}");
    assert_eq!(counted(&machine, "written_back"), 0);
    assert_eq!(counted(&machine, "dirty"), 256);
    Host(&machine).flush().unwrap();
    assert_eq!(counted(&machine, "written_back"), 256);
    assert_eq!(counted(&machine, "write_backs"), 8, "of 128 KiB");
    assert_eq!(counted(&machine, "dirty"), 0);
}

#[test]
fn dirty_pages_are_written_back_when_they_are_thirty_seconds_old() {
    let machine = power_on(&plain(), Media::fresh());
    run(&machine, &[sequential(Mix::Write, 4096, MIB)], versioned(&machine));
    machine.idle(Duration::from_secs(29));
    assert_eq!(counted(&machine, "dirty"), 256);
    machine.idle(Duration::from_secs(7));
    assert_eq!(counted(&machine, "dirty"), 0);
}

#[test]
fn a_sequential_reader_finds_its_blocks_in_the_cache_and_a_random_one_does_not() {
    let machine = power_on(&drives()[0], Media::fresh());
    let contents =
        run(&machine, &[sequential(Mix::Write, 64 << 10, drive(&machine).bytes)], versioned(&machine));
    let misses = |job: &Job, contents| {
        let before = counted(&machine, "cache_misses");
        let contents = run(&machine, std::slice::from_ref(job), contents);
        (counted(&machine, "cache_misses") - before, contents)
    };
    let one = |job: Job| Job { queue_depth: 1, ..job };
    let before = counted(&machine, "read_ahead");
    let (missed, contents) = misses(&one(sequential(Mix::Read, 4096, 8 * MIB)), contents);
    let ahead = counted(&machine, "read_ahead") - before;
    // One for each half of a window: the blocks are on their way then.
    assert!(missed < 160, "{missed} of 2048");
    assert!((1900..=2080).contains(&ahead), "{ahead}");
    let (missed, _) = misses(&one(Job { seed: 3, ..random(Mix::Read, 4096, 500) }), contents);
    assert!(missed > 250, "{missed} of 500");
    assert!(counted(&machine, "read_ahead") - before - ahead < 160, "hardly anything is read ahead of it");
}

#[test]
fn commands_other_than_reads_and_writes_are_seen_by_cache_and_target() {
    for profile in drives() {
        let machine = power_on(&profile, Media::fresh());
        let host = Host(&machine);
        let block = u64::from(machine.driver().namespace().block_bytes);
        let at = |sector: u64| sector * 4096 / block;
        let sector = |value: u8| vec![value; 4096];
        let read = |from: u64| host.read(at(from), 4096).unwrap();
        for n in 0..8 {
            host.write(at(n), sector(n as u8 + 1), false).unwrap();
        }
        // Zeroes over what is dirty, and over what is clean.
        host.write_zeroes(at(1), 2 * 4096 / block, false, false).unwrap();
        assert_eq!((read(0), read(1), read(2), read(3)), (sector(1), sector(0), sector(0), sector(4)));
        host.flush().unwrap();
        host.write_zeroes(at(3), 4096 / block, true, true).unwrap();
        assert_eq!((read(3), read(4)), (sector(0), sector(5)));
        // Compares.
        host.compare(at(4), sector(5)).unwrap();
        assert!(host.compare(at(4), sector(6)).is_err());
        // Deallocation of dirty and of clean blocks.
        host.write(at(5), sector(77), false).unwrap();
        let gone = Range::new(at(5), (2 * 4096 / block) as u32);
        host.deallocate(gone).unwrap();
        assert_eq!((read(5), read(6), read(7)), (sector(0), sector(0), sector(8)));
        // A write with force unit access is on flash.
        host.write(at(6), sector(42), true).unwrap();
        assert_eq!(counted(&machine, "dirty"), 0);
        // Part of a block, on drives that have such.
        if block < 4096 {
            host.write(at(20) + 1, vec![7; block as usize], false).unwrap();
            let mut expected = sector(0);
            expected[block as usize..2 * block as usize].fill(7);
            assert_eq!(read(20), expected);
            host.write_zeroes(at(20) + 1, 1, false, false).unwrap();
            assert_eq!(read(20), sector(0));
            // A deallocation of part of a dirty block, which must not come back when it is written back.
            host.write(at(20), sector(8), false).unwrap();
            host.deallocate(Range::new(at(20) + 1, 2)).unwrap();
            let mut expected = sector(8);
            expected[block as usize..3 * block as usize].fill(0);
            assert_eq!(read(20), expected);
            host.flush().unwrap();
            assert_eq!(read(20), expected);
        }
        host.write(at(9), sector(3), false).unwrap();
        host.format().unwrap();
        assert_eq!((read(0), read(6), read(9)), (sector(0), sector(0), sector(0)));

        let machine = power_on(&profile, machine.cut_power());
        assert_eq!(Host(&machine).read(at(6), 4096).unwrap(), sector(0));
    }
}

#[test]
fn what_could_not_be_written_back_stays_in_the_cache_and_fails_the_flush() {
    let profile = profile("pocket-ocssd", |p| {
        p.geometry.blocks_per_lun = 256;
        p.package.program_failures_per_million = 900_000;
        cached(p, "pblk");
    });
    let machine = power_on(&profile, Media::fresh());
    let host = Host(&machine);
    host.write(0, vec![5; 4096], false).unwrap();
    let (mut failed, mut newest) = (false, vec![5; 4096]);
    for n in 1..4000 {
        let written = host.write(n % 64, vec![n as u8; 4096], false);
        if n % 64 == 0 && written.is_ok() {
            newest = vec![n as u8; 4096];
        }
        let flushed = host.flush();
        if written.is_err() || flushed.is_err() {
            failed = true;
            break;
        }
    }
    assert!(failed, "no chunk is left");
    assert_eq!(host.read(0, 4096).unwrap(), newest, "what was written last is in the cache");
    assert!(host.write(1, vec![1; 4096], true).is_err());
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    let refused = |profile: &Profile| {
        let config = config(profile);
        let made = Machine::power_on(
            "no",
            profile,
            Some(Content::Full),
            Media::fresh(),
            &Recorder::default(),
            config,
        );
        made.err().expect("it is refused").to_string()
    };
    let vectors = profile("pocket-ocssd", |p| cached(p, BLOCK));
    assert!(refused(&vectors).contains("host.command_set: must be \"nvm\""), "{}", refused(&vectors));
    let frames = profile("host-ftl-small", |p| cached(p, BLOCK));
    assert!(refused(&frames).contains("host.front_end: must be \"nvme\""), "{}", refused(&frames));
}

#[test]
fn an_image_of_the_block_layer_is_one_of_the_drive() {
    let cached = plain();
    let bare = Profile { target: None, ..cached.clone() };
    let machine = power_on(&cached, Media::fresh());
    let contents = run(&machine, &[random(Mix::Write, 4096, 500)], versioned(&machine));
    let machine = power_on(&bare, machine.shut_down().unwrap());
    run(&machine, &[everything(&machine)], contents);
}

/// A flush waits for what was dirty when it came, and not for what a writer makes dirty behind it.
#[test]
fn a_flush_ends_beside_a_sequential_writer() {
    let machine = power_on(&drives()[0], Media::fresh());
    let bytes = drive(&machine).bytes;
    let host = Host(&machine);
    let (driver, exec) = (Rc::clone(machine.driver()), machine.host().clone());
    let written = Rc::new(Cell::new(0));
    let seen = Rc::clone(&written);
    exec.spawn(async move {
        for at in (MIB..bytes).step_by(128 << 10) {
            driver.write(QUEUE, at / 4096, &vec![2; 128 << 10], false).await.unwrap();
            seen.set(at);
        }
    });
    while written.get() < 16 * MIB {
        assert!(machine.step());
    }
    // Write-back is far behind the block that the flush waits for, and the writer goes on to the drive's end.
    host.write(0, vec![1; 4096], false).unwrap();
    host.flush().unwrap();
    assert!(written.get() < 32 * MIB, "the writer was at {} of {bytes} when the flush ended", written.get());
}

/// A deallocation waits for what is being read, and not for a moment in which nothing is.
#[test]
fn a_deallocation_of_everything_ends_beside_readers() {
    const READERS: u64 = 8;
    const READS: u64 = 16_000;
    let machine = power_on(&drives()[0], Media::fresh());
    let blocks = drive(&machine).bytes / 4096;
    run(&machine, &[sequential(Mix::Write, 128 << 10, blocks * 4096)], versioned(&machine));
    let done = Rc::new(Cell::new(0));
    for reader in 0..READERS {
        let (driver, done) = (Rc::clone(machine.driver()), Rc::clone(&done));
        machine.host().spawn(async move {
            for n in 0..READS / READERS {
                let block = (n * 7919 + reader * 104_729) % blocks;
                driver.read(QUEUE, block, &mut [0; 4096]).await.unwrap();
                done.set(done.get() + 1);
            }
        });
    }
    while done.get() < 100 {
        assert!(machine.step());
    }
    Host(&machine).deallocate(Range::new(0, blocks as u32)).unwrap();
    assert!(done.get() < READS / 2, "{} of {READS} reads had ended", done.get());
    assert_eq!(Host(&machine).read(blocks / 2, 4096).unwrap(), [0; 4096]);
}

#[test]
fn reads_that_fail_leave_nobody_waiting() {
    let profile = profile("tiny", |p| {
        p.geometry.blocks_per_lun = 64;
        cached(p, BLOCK);
        p.package.errors.fresh = 1.5e-3;
    });
    let machine = power_on(&profile, Media::fresh());
    let fill = Job { verify: false, ..sequential(Mix::Write, 128 << 10, drive(&machine).bytes) };
    let contents = run(&machine, &[fill], versioned(&machine));
    let small = Job { verify: false, ..random(Mix::Read, 4096, 3_000) };
    let large = Job { seed: 8, verify: false, after_previous: false, ..random(Mix::Read, 128 << 10, 600) };
    let (statistics, _) = run_with(&machine, &[small, large], contents, ());
    let failures: u64 = statistics.iter().map(|s| s.failures).sum();
    assert!(failures > 20, "{failures} failures");
    let first = statistics.iter().find_map(|s| s.first_failure.clone()).unwrap().to_string();
    assert!(first.contains("Unrecovered Read Error"), "{first}");
}

/// What a command zeroes or deallocates stays so beside one that writes a single logical block of the same
/// block of the cache.
#[test]
fn zeroes_are_not_lost_beside_a_write_of_part_of_a_block() {
    const ROUNDS: u64 = 80;
    let machine = power_on(&plain(), Media::fresh());
    let host = Host(&machine);
    let sector = |value: u8| vec![value; 4096];
    for n in 0..ROUNDS * 8 {
        host.write(n * 8, sector(7), false).unwrap();
    }
    // The cache is empty then.
    let machine = power_on(&plain(), machine.shut_down().unwrap());
    let host = Host(&machine);
    for round in 0..ROUNDS {
        let first = round * 64;
        let ended = Rc::new(Cell::new(0));
        let count = |ended: &Rc<Cell<u32>>| ended.set(ended.get() + 1);
        let (driver, done) = (Rc::clone(machine.driver()), Rc::clone(&ended));
        machine.host().spawn(async move {
            match round % 2 {
                0 => driver.write_zeroes(QUEUE, first + 1, 29, false, false).await.unwrap(),
                _ => driver.deallocate(QUEUE, &[Range::new(first + 1, 29)]).await.unwrap(),
            }
            count(&done);
        });
        let (driver, done) = (Rc::clone(machine.driver()), Rc::clone(&ended));
        let exec = machine.host().clone();
        machine.host().spawn(async move {
            exec.sleep(Duration::from_nanos(1000 * (round / 2))).await;
            for at in [first, first + 9, first + 30] {
                driver.write(QUEUE, at, &[9; 512], false).await.unwrap();
            }
            count(&done);
        });
        while ended.get() < 2 {
            assert!(machine.step());
        }
        host.flush().unwrap();
        let found = host.read(first, 4 * 4096).unwrap();
        // The tenth block is written by both, and may hold either.
        let expected = |n| match n {
            31 => 7,
            9 if found[9 * 512] == 9 => 9,
            0 | 30 => 9,
            _ => 0,
        };
        let wrong = found.chunks(512).zip(0..).position(|(found, n)| found != [expected(n); 512]);
        assert_eq!(wrong, None, "round {round}");
    }
}
