extern crate std;

mod fake;

use crate::{
    Bar, BarRead, CompletionMode, Config, DataMut, Driver, DriverError, GuestMemory, Io, IoOp, QueueId,
    ReadTag, SharedMemory,
};
use alloc::rc::Rc;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::Exec;
use aster_units::{Content, Duration, Instant};
use aster_wire::nvme::Status;
use aster_wire::nvme::admin::SecureErase;
use aster_wire::nvme::dsm::Range;
use aster_wire::nvme::features::{AsyncEvent, AsyncEventType, FeatureId, FeatureSelect};
use aster_wire::nvme::log::LogId;
use core::cell::RefCell;
use core::future::Future;
use fake::{Fake, FakeBar, Manners};

/// The device responds after this time.
const LATENCY: Duration = Duration::from_micros(10);
const Q1: QueueId = QueueId(1);

struct Bench {
    exec: Exec,
    fake: Rc<RefCell<Fake>>,
    driver: Rc<Driver<FakeBar>>,
}

impl Bench {
    fn new(config: Config, manners: Manners) -> Self {
        let exec = Exec::new();
        let memory = Rc::new(RefCell::new(config.memory()));
        let fake = Fake::new(&memory, config.content, manners);
        let driver = Driver::new(&exec, FakeBar(Rc::clone(&fake)), &memory, config).unwrap();
        Bench { exec, fake, driver }
    }

    fn up(config: Config, manners: Manners) -> Self {
        let bench = Bench::new(config, manners);
        bench.run(|driver| async move { driver.init().await.unwrap() });
        bench
    }

    /// Runs a task to its end, carrying doorbells and interrupts; returns its output.
    fn run<T: 'static, F: Future<Output = T> + 'static>(
        &self,
        task: impl FnOnce(Rc<Driver<FakeBar>>) -> F,
    ) -> T {
        let output = Rc::new(RefCell::new(None));
        let (future, to) = (task(Rc::clone(&self.driver)), Rc::clone(&output));
        self.exec.spawn(async move {
            let value = future.await;
            *to.borrow_mut() = Some(value);
        });
        loop {
            self.exec.advance_to(self.exec.now());
            if let Some(value) = output.borrow_mut().take() {
                return value;
            }
            let vectors = self.fake.borrow_mut().work();
            let next = match (vectors.is_empty(), self.exec.next_deadline()) {
                (false, _) => self.exec.now() + LATENCY,
                (true, Some(at)) => at,
                (true, None) => panic!("nothing will ever happen"),
            };
            self.exec.advance_to(next);
            vectors.into_iter().for_each(|vector| self.driver.interrupt(vector));
        }
    }
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 + i / 253) as u8).collect()
}

#[test]
fn the_controller_comes_up_with_what_it_grants() {
    let config = Config { queue_pairs: 8, depth: 100, vectors: 4, ..Config::default() };
    let manners = Manners { queues: 5, queue_entries: 32, mdts: 4, doorbell_stride: 2, ..Manners::default() };
    let bench = Bench::up(config, manners);
    let driver = &bench.driver;
    assert_eq!(driver.queues().count(), 5);
    assert_eq!(driver.depth(Q1), 31);
    assert_eq!(driver.blocks_max(IoOp::Read), 16, "MDTS 4 is 64 KiB");
    assert_eq!((driver.namespace().id, driver.namespace().bytes()), (7, fake::BLOCKS * 4096));
    let vectors: Vec<_> = driver.queues().map(|q| driver.vector(q)).collect();
    assert_eq!(vectors, [Some(1), Some(2), Some(3), Some(1), Some(2)]);
    // RDY is read immediately and then every 100 µs.
    assert!(bench.exec.now() >= Instant::ZERO + Duration::from_micros(200));
}

#[test]
fn a_controller_that_never_becomes_ready_is_given_up_after_cap_to() {
    let bench = Bench::new(Config::default(), Manners { ready_after: None, ..Manners::default() });
    let outcome = bench.run(|driver| async move { driver.init().await });
    assert_eq!(outcome, Err(DriverError::NotReady { wanted: 1, waited: Duration::from_secs(1) }));
}

#[test]
fn bytes_of_any_length_come_back_whatever_the_buffers_offset() {
    for (offset, block_log2, reverse) in [(0, 12, false), (4092, 12, true), (1000, 9, false)] {
        let config =
            Config { buffer_offset: offset, depth: 3, transfer_bytes_max: 24 << 10, ..Config::default() };
        let bench = Bench::up(config, Manners { block_log2, reverse, ..Manners::default() });
        bench.run(move |driver| async move {
            let data = pattern(200 << 10);
            driver.write(Q1, 5, &data, false).await.unwrap();
            driver.compare(Q1, 5, &data).await.unwrap();
            let mut back = vec![0; data.len()];
            driver.read(Q1, 5, &mut back).await.unwrap();
            assert!(back == data);
            let error = driver.compare(Q1, 6, &data).await.unwrap_err();
            assert!(
                matches!(error, DriverError::Command { status, .. } if status.is(Status::COMPARE_FAILURE))
            );
        });
    }
}

#[test]
fn a_batch_of_commands_costs_one_doorbell_each_way() {
    let bench = Bench::up(Config { depth: 8, ..Config::default() }, Manners::default());
    let before = bench.fake.borrow().doorbell_writes;
    let driver = &bench.driver;
    for i in 0..8 {
        let slot = driver.take_slot(Q1).unwrap();
        driver.submit(Q1, slot, &Io { op: IoOp::Read, slba: i, blocks: 1, fua: false, stream: 0 });
    }
    assert_eq!(driver.take_slot(Q1), None, "eight slots are the queue's depth");
    driver.ring(Q1);
    let vectors = bench.fake.borrow_mut().work();
    assert_eq!(vectors, [1]);
    let mut seen = 0;
    while let Some(completion) = driver.next_completion(Q1) {
        assert!(completion.status.is_success());
        driver.release_slot(Q1, completion.slot);
        seen += 1;
    }
    driver.ring(Q1);
    assert_eq!((seen, bench.fake.borrow().doorbell_writes - before), (8, 2));
    driver.ring(Q1);
    assert_eq!(bench.fake.borrow().doorbell_writes - before, 2, "nothing new, nothing rung");
}

#[test]
fn queues_wrap_for_as_long_as_one_likes() {
    let bench = Bench::up(Config { depth: 3, ..Config::default() }, Manners::default());
    bench.run(|driver| async move {
        for round in 0..50u8 {
            let data = vec![round; 4096];
            driver.write(Q1, u64::from(round), &data, round % 2 == 0).await.unwrap();
            let mut back = vec![0; 4096];
            driver.read(Q1, u64::from(round), &mut back).await.unwrap();
            assert_eq!(back, data);
        }
    });
}

#[test]
fn fingerprints_travel_as_tags() {
    let config =
        Config { content: Content::Fingerprint, transfer_bytes_max: 2 << 20, depth: 4, ..Config::default() };
    let bench = Bench::up(config, Manners::default());
    bench.run(|driver| async move {
        let tags: Vec<[u8; 8]> = (1..1400u64).map(u64::to_le_bytes).collect();
        driver.write_tags(Q1, 100, &tags, false).await.unwrap();
        let mut back = vec![[0; 8]; tags.len() + 1];
        driver.read_tags(Q1, 100, &mut back).await.unwrap();
        assert_eq!((&back[..tags.len()], back[tags.len()]), (&tags[..], [0; 8]));
        let error = driver.read(Q1, 0, &mut [0; 4096]).await.unwrap_err();
        assert!(matches!(error, DriverError::Argument(_)));
    });
}

#[test]
fn blocks_are_zeroed_deallocated_and_flushed() {
    let bench = Bench::up(Config::default(), Manners::default());
    let reads_zero = bench.run(|driver| async move {
        driver.write(Q1, 0, &pattern(16 * 4096), false).await.unwrap();
        driver.write_zeroes(Q1, 0, 2, true, false).await.unwrap();
        driver.deallocate(Q1, &[Range::new(4, 1), Range::new(6, 2)]).await.unwrap();
        driver.flush(Q1).await.unwrap();
        let mut back = vec![0; 16 * 4096];
        driver.read(Q1, 0, &mut back).await.unwrap();
        back.chunks(4096).map(|block| block.iter().all(|b| *b == 0)).collect::<Vec<_>>()
    });
    let zeroes: Vec<_> = (0..16).filter(|i| reads_zero[*i]).collect();
    assert_eq!(zeroes, [0, 1, 4, 6, 7]);
    assert_eq!(bench.fake.borrow().flushes, 1);
    assert!(matches!(
        bench.run(|driver| async move { driver.deallocate(Q1, &[]).await }),
        Err(DriverError::Argument(_))
    ));
}

#[test]
fn a_failed_command_is_named_with_its_place_and_the_standards_words() {
    let fail = Some((40, Status::UNRECOVERED_READ_ERROR));
    let bench = Bench::up(Config { depth: 2, ..Config::default() }, Manners { fail, ..Manners::default() });
    bench.run(|driver| async move {
        let mut into = vec![0; 4096];
        let error = driver.read(Q1, 40, &mut into).await.unwrap_err();
        assert_eq!(error.to_string(), "Read at LBA 40 failed: Unrecovered Read Error (type 2h, code 81h)");
        // All slots are free again.
        let mut into = vec![0; 1 << 20];
        driver.read(Q1, 41, &mut into).await.unwrap();
        let beyond = driver.read(Q1, fake::BLOCKS, &mut into).await.unwrap_err();
        assert!(matches!(beyond, DriverError::Command { status, .. } if status.is(Status::LBA_OUT_OF_RANGE)));
    });
}

#[test]
fn a_command_that_never_completes_is_reported_by_slot_opcode_and_lba() {
    let config = Config { command_timeout: Duration::from_secs(5), depth: 4, ..Config::default() };
    let bench = Bench::up(config, Manners { swallow: Some(77), ..Manners::default() });
    let error = bench.run(|driver| async move {
        driver.exec().sleep(Duration::from_secs(2)).await;
        driver.read(Q1, 70, &mut vec![0; 4096]).await.unwrap();
        driver.read(Q1, 77, &mut vec![0; 4096]).await.unwrap_err()
    });
    assert_eq!(error.to_string(), "Read in slot 0 of queue 1 at LBA 77 has not completed in 5 s");
    // `overdue` also finds a command without a task.
    let slot = bench.driver.take_slot(Q1).unwrap();
    bench.driver.submit(Q1, slot, &Io { op: IoOp::Write, slba: 77, blocks: 1, fua: false, stream: 0 });
    bench.driver.ring(Q1);
    assert_eq!(bench.driver.overdue(bench.exec.now() + Duration::from_secs(4)), None);
    let overdue = bench.driver.overdue(bench.exec.now() + Duration::from_secs(6)).unwrap();
    assert_eq!((overdue.slot, overdue.slba), (slot, Some(77)));
    // A reset frees everything, and the drive works again.
    bench.fake.borrow_mut().manners.swallow = None;
    bench.run(|driver| async move {
        driver.init().await.unwrap();
        driver.write(Q1, 70, &pattern(64 * 4096), false).await.unwrap();
    });
    assert_eq!((0..5).filter(|_| bench.driver.take_slot(Q1).is_some()).count(), 4);
}

#[test]
fn a_reset_tells_the_tasks_whose_commands_were_in_flight() {
    let bench = Bench::up(Config::default(), Manners { swallow: Some(9), ..Manners::default() });
    let lost = Rc::new(RefCell::new(None));
    let (driver, to) = (Rc::clone(&bench.driver), Rc::clone(&lost));
    bench.exec.spawn(async move {
        let outcome = driver.read(Q1, 9, &mut vec![0; 4096]).await;
        *to.borrow_mut() = Some(outcome);
    });
    bench.run(|driver| async move {
        driver.exec().sleep(Duration::from_millis(1)).await;
        driver.init().await.unwrap();
    });
    assert_eq!(lost.borrow_mut().take(), Some(Err(DriverError::Reset)));
}

#[test]
fn a_completion_for_no_command_is_a_violation_not_a_panic() {
    let bench =
        Bench::up(Config { depth: 4, ..Config::default() }, Manners { cid_offset: 3, ..Manners::default() });
    let error = bench.run(|driver| async move { driver.flush(Q1).await.unwrap_err() });
    assert_eq!(error.to_string(), "protocol violation: queue 1 completed command 3, which is not in flight");
    assert!(bench.driver.violation().is_some());
}

#[test]
fn polled_queues_need_no_interrupt() {
    let period = Duration::from_micros(25);
    let config = Config { completion: CompletionMode::Polled { period }, depth: 2, ..Config::default() };
    let bench = Bench::up(config, Manners::default());
    assert_eq!(bench.driver.vector(Q1), None);
    bench.run(|driver| async move {
        let data = pattern(1 << 20);
        driver.write(Q1, 0, &data, false).await.unwrap();
        let mut back = vec![0; 1 << 20];
        driver.read(Q1, 0, &mut back).await.unwrap();
        assert!(back == data);
    });
    // With nothing in flight there is no polling, only the watchdog.
    bench.exec.advance_to(bench.exec.now() + period);
    let next = bench.exec.next_deadline().unwrap();
    assert!(next > bench.exec.now() + Duration::from_secs(1));
}

#[test]
fn admin_commands_answer() {
    let bench = Bench::up(Config::default(), Manners::default());
    bench.run(|driver| async move {
        assert_eq!(driver.health().await.unwrap().composite_temperature.get(), 300);
        assert_eq!(driver.error_log().await.unwrap().len(), 100);
        let log = driver.log_page(LogId::CommandsSupported, 0, 9000).await.unwrap();
        assert!(log.chunks(4).zip(0u32..).all(|(dword, i)| *dword == (i * 4).to_le_bytes()));
        let select = FeatureSelect::Current;
        assert_eq!(driver.get_feature(FeatureId::VolatileWriteCache, select, 0).await, Ok(0x42));
        assert_eq!(driver.abort(Q1, crate::SlotId(0)).await, Ok(false));
        driver.format(0, SecureErase::None).await.unwrap();
        assert_eq!(driver.namespace().block_bytes, 512);
        assert_eq!(driver.blocks_max(IoOp::Write), 256);
    });
}

#[test]
fn an_event_is_awaited_for_as_long_as_it_takes() {
    let bench = Bench::up(Config::default(), Manners::default());
    let driver = Rc::clone(&bench.driver);
    let seen = Rc::new(RefCell::new(None));
    let to = Rc::clone(&seen);
    bench.exec.spawn(async move {
        let event = driver.async_event().await;
        *to.borrow_mut() = Some(event);
    });
    bench.run(|driver| async move { driver.exec().sleep(Duration::from_secs(100)).await });
    assert!(seen.borrow().is_none());
    let event = AsyncEvent::of(AsyncEventType::Health, 1, 2);
    bench.fake.borrow_mut().events.push(event.0);
    bench.run(|driver| async move { driver.health().await.unwrap() });
    assert_eq!(seen.borrow_mut().take(), Some(Ok(event)));
}

#[test]
fn a_shutdown_deletes_the_queues_and_init_brings_them_back() {
    let bench = Bench::up(Config { queue_pairs: 3, ..Config::default() }, Manners::default());
    bench.run(|driver| async move {
        driver.write(Q1, 3, &pattern(4096), true).await.unwrap();
        driver.shut_down().await.unwrap();
        assert!(matches!(driver.flush(Q1).await, Err(DriverError::Argument(_))));
        driver.init().await.unwrap();
        let mut back = vec![0; 4096];
        driver.read(QueueId(3), 3, &mut back).await.unwrap();
        assert_eq!(back, pattern(4096));
    });
}

#[test]
fn a_bad_configuration_is_refused_by_name() {
    for (config, field) in [
        (Config { queue_pairs: 0, ..Config::default() }, "queue_pairs"),
        (Config { depth: 0, ..Config::default() }, "depth"),
        (Config { transfer_bytes_max: 5000, ..Config::default() }, "transfer_bytes_max"),
        (Config { buffer_offset: 2, ..Config::default() }, "buffer_offset"),
        (Config { buffer_offset: 8, content: Content::Fingerprint, ..Config::default() }, "buffer_offset"),
        (Config { vectors: 0, ..Config::default() }, "vectors"),
        (
            Config { completion: CompletionMode::Polled { period: Duration::ZERO }, ..Config::default() },
            "completion",
        ),
        (Config { command_timeout: Duration::ZERO, ..Config::default() }, "command_timeout"),
    ] {
        assert_eq!(config.validate().unwrap_err().field, field);
    }
}

#[test]
fn data_is_reached_only_through_its_own_slot() {
    let bench =
        Bench::up(Config { depth: 2, transfer_bytes_max: 8192, ..Config::default() }, Manners::default());
    let driver = &bench.driver;
    let (a, b) = (driver.take_slot(Q1).unwrap(), driver.take_slot(Q1).unwrap());
    for (slot, value) in [(a, 1), (b, 2)] {
        driver.data_mut(Q1, slot, 8192, |into| match into {
            DataMut::Bytes(bytes) => bytes.fill(value),
            DataMut::Tags(_) => panic!("bytes were asked for"),
        });
        driver.submit(
            Q1,
            slot,
            &Io { op: IoOp::Write, slba: u64::from(value) * 2, blocks: 2, fua: false, stream: 0 },
        );
    }
    driver.ring(Q1);
    bench.fake.borrow_mut().work();
    let fake = bench.fake.borrow();
    assert!(
        (2..4).all(|lba| fake.store[&lba] == [1; 4096]) && (4..6).all(|lba| fake.store[&lba] == [2; 4096])
    );
}

#[test]
fn a_late_completion_frees_the_slot_of_a_task_that_gave_up() {
    let config = Config { command_timeout: Duration::from_secs(5), depth: 1, ..Config::default() };
    let bench = Bench::up(config, Manners { swallow: Some(77), ..Manners::default() });
    let error = bench.run(|driver| async move { driver.read(Q1, 77, &mut vec![0; 4096]).await.unwrap_err() });
    assert!(matches!(error, DriverError::TimedOut(_)));
    assert_eq!(bench.driver.take_slot(Q1), None);
    bench.fake.borrow_mut().release_swallowed();
    bench.run(|driver| async move { driver.read(Q1, 78, &mut vec![0; 4096]).await.unwrap() });
}

#[test]
fn a_namespace_that_is_not_active_and_memory_that_is_too_small_are_refused() {
    let bench = Bench::new(Config { namespace: Some(9), ..Config::default() }, Manners::default());
    assert_eq!(bench.run(|driver| async move { driver.init().await }), Err(DriverError::NoNamespace(9)));
    let (exec, config) = (Exec::new(), Config::default());
    let small = Rc::new(RefCell::new(GuestMemory::new(1 << 20, 0)));
    let fake = Fake::new(&small, Content::Full, Manners::default());
    let refused = Driver::new(&exec, FakeBar(fake), &small, config).err();
    assert!(matches!(refused, Some(DriverError::OutOfMemory(_))));
}
