extern crate std;

#[path = "../../../driver/src/tests/fake.rs"]
mod fake;

use super::*;
use crate::Job;
use crate::trace::{Format, Replay, Trace};
use crate::{Access, BlockSizes, Extent, Mix, Pace, PerDirection, RequestKind};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use aster_driver::{BarRead, Config, GuestMemory, ReadTag, SharedMemory};
use aster_exec::Exec;
use aster_units::Content;
use aster_wire::nvme::Status;
use core::cell::RefCell;
use fake::{Fake, FakeBar, Manners};

/// The device responds after this time.
const LATENCY: Duration = Duration::from_micros(10);

struct Bench {
    exec: Exec,
    fake: Rc<RefCell<Fake>>,
    driver: Rc<Driver<FakeBar>>,
}

#[derive(Default)]
struct Latencies(Vec<(usize, RequestKind, Duration)>, Vec<(Duration, Duration)>, Vec<Duration>);

impl LatencySink for Latencies {
    fn record(&mut self, task: usize, kind: RequestKind, latency: Duration) {
        self.0.push((task, kind, latency));
    }
    fn arrived(&mut self, _: usize, arrived: &Arrived) {
        self.1.push((arrived.at, arrived.late));
    }
    fn record_from_arrival(&mut self, _: usize, _: RequestKind, latency: Duration) {
        self.2.push(latency);
    }
}

type TestRunner = Runner<FakeBar, Latencies>;

impl Bench {
    fn new(config: Config, manners: Manners) -> Self {
        let exec = Exec::new();
        let memory = Rc::new(RefCell::new(config.memory()));
        let fake = Fake::new(&memory, config.content, manners);
        let driver = Driver::new(&exec, FakeBar(Rc::clone(&fake)), &memory, config).unwrap();
        let (to_init, up) = (Rc::clone(&driver), Rc::new(RefCell::new(false)));
        let done = Rc::clone(&up);
        exec.spawn(async move {
            to_init.init().await.unwrap();
            *done.borrow_mut() = true;
        });
        exec.advance_to(exec.now());
        while !*up.borrow() {
            let vectors = fake.borrow_mut().work();
            let next = if vectors.is_empty() { exec.next_deadline().unwrap() } else { exec.now() + LATENCY };
            exec.advance_to(next);
            vectors.into_iter().for_each(|vector| driver.interrupt(vector));
            exec.advance_to(next);
        }
        Bench { exec, fake, driver }
    }

    fn drive(&self) -> Drive {
        drive_of(&self.driver)
    }

    fn runner(&self, tasks: Vec<HostTask>, contents: Contents, on_failure: OnFailure) -> TestRunner {
        Runner::new(&self.driver, tasks, contents, Latencies::default(), on_failure)
    }

    fn jobs(&self, jobs: &[Job], contents: Contents) -> TestRunner {
        self.runner(HostTask::of_jobs(jobs, self.drive(), 1).unwrap(), contents, OnFailure::EndTask)
    }

    /// Runs until done or until `until`, called after each step, returns true.
    fn run(&self, runner: &mut TestRunner, mut until: impl FnMut(&mut TestRunner) -> bool) {
        runner.start();
        self.go_on(runner, &mut until);
    }

    fn go_on(&self, runner: &mut TestRunner, until: &mut dyn FnMut(&mut TestRunner) -> bool) {
        // Completions on their way, oldest first.
        let mut answers: Vec<(Instant, u16)> = Vec::new();
        while !runner.is_done() && !until(runner) {
            let now = self.exec.now();
            answers.extend(self.fake.borrow_mut().work().into_iter().map(|v| (now + LATENCY, v)));
            let answer = answers.first().map(|(at, _)| *at);
            let next = [answer, runner.next_deadline()].into_iter().flatten().min();
            let next = next.expect("a run that is not done waits for something");
            self.exec.advance_to(next);
            if answer == Some(next) {
                let (_, vector) = answers.remove(0);
                runner.on_interrupt(vector);
            } else {
                runner.on_timer();
            }
        }
    }
}

fn write_job(name: &str) -> Job {
    Job { name: name.to_string(), access: Access::Random, mix: Mix::Write, queue_depth: 8, ..Job::default() }
}

#[test]
fn what_was_written_is_read_back_and_checked_in_both_contents() {
    for content in [Content::Full, Content::Fingerprint] {
        let config =
            Config { content, queue_pairs: 2, depth: 6, transfer_bytes_max: 32 << 10, ..Config::default() };
        let bench = Bench::new(config, Manners { reverse: true, ..Manners::default() });
        let sizes = BlockSizes::Range { min: 4096, max: 64 << 10 };
        let jobs = [
            Job { verify: true, block_sizes: PerDirection::all(sizes), loops: 2, ..write_job("first") },
            Job {
                verify: true,
                fua: true,
                copies: 2,
                size: Some(Extent::Percent(20)),
                ..write_job("second")
            },
            Job { verify: true, mix: Mix::ReadWrite, after_previous: true, ..write_job("mixed") },
        ];
        let mut runner = bench.jobs(&jobs, Contents::versioned(bench.drive(), 5));
        bench.run(&mut runner, |_| false);
        let (statistics, contents, _) = runner.finish();
        for task in &statistics {
            assert_eq!((task.failures, &task.first_failure), (0, &None), "{}", task.name);
            assert!(task.checked_blocks > 0, "{}", task.name);
        }
        let names: Vec<_> = statistics.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["first", "second.0", "second.1", "mixed"]);
        assert_eq!(statistics[0].of(RequestKind::Write).bytes / (2 * bench.drive().bytes), 1);
        // Lengths vary, so a few blocks are left out. They must read as zero.
        assert!((7000..fake::BLOCKS as usize).contains(&bench.fake.borrow().store.len()));
        // The next run gets the knowledge of this one's writes.
        let reads = Job { verify: true, queue_depth: 4, ..Job::default() };
        let mut runner = bench.jobs(&[reads], contents);
        bench.run(&mut runner, |_| false);
        let checked = runner.statistics().next().unwrap();
        assert_eq!((checked.failures, checked.checked_blocks), (0, fake::BLOCKS));
    }
}

#[test]
fn a_block_in_the_wrong_place_is_named() {
    let bench = Bench::new(Config::default(), Manners::default());
    let fill = Job { access: Access::Sequential, ..write_job("fill") };
    let mut runner = bench.jobs(&[fill], Contents::unversioned(bench.drive(), 5));
    bench.run(&mut runner, |_| false);
    let (_, contents, _) = runner.finish();
    let stray = bench.fake.borrow().store[&100].clone();
    bench.fake.borrow_mut().store.insert(300, stray);
    let mut runner = bench.jobs(&[Job { verify: true, ..Job::default() }], contents);
    bench.run(&mut runner, |_| false);
    let statistics = runner.statistics().next().unwrap();
    assert_eq!(statistics.failures, 1);
    assert_eq!(statistics.requests(), 300, "the task ended there");
    let failure = statistics.first_failure.as_ref().unwrap().to_string();
    assert!(failure.contains("block 300") && failure.contains("holds block 100"), "{failure}");
}

#[test]
fn a_block_that_went_back_to_an_older_version_is_found() {
    let bench = Bench::new(Config { content: Content::Fingerprint, ..Config::default() }, Manners::default());
    let mut runner = bench.jobs(&[write_job("one")], Contents::versioned(bench.drive(), 5));
    bench.run(&mut runner, |_| false);
    let (_, contents, _) = runner.finish();
    let old = bench.fake.borrow().store[&77].clone();
    let mut runner = bench.jobs(&[write_job("two")], contents);
    bench.run(&mut runner, |_| false);
    let (_, contents, _) = runner.finish();
    bench.fake.borrow_mut().store.insert(77, old);
    let mut runner = bench.jobs(&[Job { verify: true, ..Job::default() }], contents);
    bench.run(&mut runner, |_| false);
    let statistics = runner.statistics().next().unwrap();
    let failure = statistics.first_failure.clone();
    assert!(matches!(failure, Some(Failure::Version(unexpected)) if unexpected.block == 77));
}

#[test]
fn a_failed_request_ends_its_task_or_is_counted() {
    for on_failure in [OnFailure::EndTask, OnFailure::Continue] {
        let fail = Some((50, Status::WRITE_FAULT));
        let config = Config { queue_pairs: 2, ..Config::default() };
        let bench = Bench::new(config, Manners { fail, ..Manners::default() });
        let near =
            Job { access: Access::Sequential, size: Some(Extent::Bytes(1 << 20)), ..write_job("near") };
        let far = Job { offset: Extent::Bytes(1 << 20), ..near.clone() };
        let tasks = HostTask::of_jobs(&[near, far], bench.drive(), 1).unwrap();
        let mut runner = bench.runner(tasks, Contents::versioned(bench.drive(), 5), on_failure);
        bench.run(&mut runner, |_| false);
        let all: Vec<_> = runner.statistics().collect();
        let (near, far) = (all[0], all[1]);
        assert_eq!((near.failures, far.failures, far.requests()), (1, 0, 256));
        assert_eq!(
            near.first_failure.as_ref().unwrap().to_string(),
            "Write of 1 blocks at LBA 50 failed: Write Fault (type 2h, code 80h)"
        );
        let expected = if on_failure == OnFailure::Continue { 255..=255 } else { 50..=60 };
        assert!(expected.contains(&near.requests()), "{}", near.requests());
    }
}

#[test]
fn a_request_larger_than_all_slots_together_is_one_request() {
    let config = Config { depth: 3, transfer_bytes_max: 8192, ..Config::default() };
    let bench = Bench::new(config, Manners::default());
    let job = Job {
        block_sizes: PerDirection::all(BlockSizes::Fixed(1 << 20)),
        queue_depth: 4,
        verify: true,
        flush_at_end: true,
        ..write_job("large")
    };
    let mut runner = bench.jobs(&[job], Contents::versioned(bench.drive(), 1));
    bench.run(&mut runner, |runner| {
        assert!(runner.in_flight() <= 4);
        false
    });
    let (statistics, _, latencies) = runner.finish();
    assert_eq!(statistics[0].of(RequestKind::Write).requests, 32);
    assert_eq!(statistics[0].of(RequestKind::Flush).requests, 1);
    assert_eq!((statistics[0].failures, statistics[0].checked_blocks), (0, fake::BLOCKS));
    assert_eq!((latencies.0.len(), bench.fake.borrow().flushes), (33, 1));
}

#[test]
fn one_doorbell_serves_a_batch() {
    let bench = Bench::new(Config::default(), Manners::default());
    let before = bench.fake.borrow().doorbell_writes;
    let job = Job { queue_depth: 64, number_ios: Some(6400), ..Job::default() };
    let mut runner = bench.jobs(&[job], Contents::unversioned(bench.drive(), 1));
    bench.run(&mut runner, |_| false);
    assert_eq!(bench.fake.borrow().doorbell_writes - before, 200, "100 batches, two doorbells each");
    let statistics = runner.statistics().next().unwrap();
    assert_eq!((statistics.requests(), statistics.measured()), (6400, LATENCY * 100));
    assert_eq!(statistics.of(RequestKind::Read).latency_max, LATENCY);
}

#[test]
fn a_stonewalled_job_begins_when_the_others_have_ended() {
    let bench = Bench::new(Config::default(), Manners::default());
    let jobs = [
        Job { number_ios: Some(3), ..write_job("a") },
        Job { number_ios: Some(500), ..write_job("b") },
        Job { number_ios: Some(10), after_previous: true, ..write_job("c") },
    ];
    let mut runner = bench.jobs(&jobs, Contents::unversioned(bench.drive(), 1));
    let mut last = 0;
    bench.run(&mut runner, |runner| {
        let (done, total) = runner.progress();
        assert!(last <= done && total == 3 * WHOLE_TASK);
        last = done;
        false
    });
    assert_eq!(runner.progress(), (3 * WHOLE_TASK, 3 * WHOLE_TASK));
    let all: Vec<_> = runner.statistics().collect();
    assert_eq!(all[0].started, all[1].started);
    assert!(all[0].ended < all[1].ended);
    assert_eq!(all[2].started, all[1].ended);
    assert_eq!(all[2].requests(), 10);
}

#[test]
fn rates_and_run_time_hold_in_simulated_time() {
    let bench = Bench::new(Config::default(), Manners::default());
    let job = Job {
        rate_iops: PerDirection::all(Some(1000)),
        time_based: true,
        ramp_time: Duration::from_millis(20),
        run_time: Some(Duration::from_millis(100)),
        ..Job::default()
    };
    let mut runner = bench.jobs(&[job], Contents::unversioned(bench.drive(), 1));
    bench.run(&mut runner, |_| false);
    let statistics = runner.statistics().next().unwrap();
    assert_eq!(statistics.requests(), 100);
    assert_eq!(statistics.measured(), Duration::from_millis(99) + LATENCY);
}

const LOG: &str = "fio version 3 iolog
0 /dev/a add
0 /dev/a open
100 /dev/a write 0 8192
250 /dev/a read 4096 4096
1250 /dev/a trim 0 4096
";

fn trace(bench: &Bench, text: &'static str) -> HostTask {
    let lines = text.lines().map(String::from);
    let trace = Trace::new(lines, Format::Iolog, bench.drive(), Replay::default());
    HostTask::of_trace("log".to_string(), Box::new(trace), Pace::unlimited(4), true)
}

#[test]
fn a_request_that_waits_for_room_is_late_unless_gaps_are_kept() {
    const CROWDED: &str =
        "fio version 3 iolog\n0 /dev/a read 0 4096\n3 /dev/a read 4096 4096\n40 /dev/a read 0 4096\n";
    let micros = |all: &[Duration]| all.iter().map(|d| d.as_nanos() / 1000).collect::<Vec<_>>();
    let replayed = |keep_gaps| {
        let bench = Bench::new(Config::default(), Manners::default());
        let lines = CROWDED.lines().map(String::from);
        let source = Trace::new(lines, Format::Iolog, bench.drive(), Replay::default());
        let pace = Pace { keep_gaps, ..Pace::unlimited(1) };
        let task = HostTask::of_trace("log".to_string(), Box::new(source), pace, false).expecting(3);
        let contents = Contents::unversioned(bench.drive(), 1);
        let mut runner = bench.runner(std::vec![task], contents, OnFailure::EndTask);
        let mut half = 0;
        bench.run(&mut runner, |runner| {
            half = half.max(runner.progress().0 % WHOLE_TASK);
            false
        });
        assert!(half > 0, "a trace that was counted shows its progress");
        let (statistics, _, sink) = runner.finish();
        assert!(sink.0.iter().all(|(.., latency)| *latency == LATENCY));
        let late: Vec<_> = sink.1.iter().map(|(_, late)| *late).collect();
        (micros(&late), micros(&sink.2), statistics[0].slipped.as_nanos() / 1000)
    };
    assert_eq!(replayed(false), (std::vec![0, 7, 0], std::vec![10, 17, 10], 0));
    assert_eq!(replayed(true), (std::vec![], std::vec![], 20));
}

#[test]
fn a_trace_keeps_its_times() {
    let bench = Bench::new(Config::default(), Manners::default());
    let contents = Contents::versioned(bench.drive(), 1);
    let mut runner = bench.runner(std::vec![trace(&bench, LOG)], contents, OnFailure::EndTask);
    bench.run(&mut runner, |_| false);
    let (statistics, contents, latencies) = runner.finish();
    assert_eq!((statistics[0].failures, statistics[0].requests()), (0, 3));
    assert_eq!(statistics[0].measured(), Duration::from_micros(1150) + LATENCY);
    let kinds: Vec<_> = latencies.0.iter().map(|(_, kind, _)| *kind).collect();
    assert_eq!(kinds, [RequestKind::Write, RequestKind::Read, RequestKind::Trim]);
    let oracle = contents.oracle().unwrap();
    assert_eq!((oracle.acceptable(0), oracle.acceptable(1)), (std::vec![0], std::vec![1]));
}

#[test]
fn a_trace_that_breaks_off_ends_its_task_with_the_line() {
    let bench = Bench::new(Config::default(), Manners::default());
    let text = "fio version 3 iolog\n0 /dev/a write 0 4096\n5 /dev/a dance 0 4096\n";
    let contents = Contents::unversioned(bench.drive(), 1);
    let mut runner = bench.runner(std::vec![trace(&bench, text)], contents, OnFailure::EndTask);
    bench.run(&mut runner, |_| false);
    let statistics = runner.statistics().next().unwrap();
    assert_eq!(statistics.requests(), 1, "what was in flight still counts");
    assert!(matches!(statistics.first_failure, Some(Failure::Trace(_))));
}

#[test]
fn a_run_can_be_stopped_at_any_time() {
    for steps in [0, 1, 7, 50] {
        let config = Config { depth: 2, transfer_bytes_max: 4096, ..Config::default() };
        let bench = Bench::new(config, Manners::default());
        let jobs = [
            Job {
                block_sizes: PerDirection::all(BlockSizes::Fixed(64 << 10)),
                verify: true,
                ..write_job("a")
            },
            Job { after_previous: true, ..write_job("b") },
        ];
        let mut runner = bench.jobs(&jobs, Contents::versioned(bench.drive(), 1));
        let mut left = steps;
        bench.run(&mut runner, |_| {
            left -= 1;
            left < 0
        });
        runner.stop();
        bench.go_on(&mut runner, &mut |_| false);
        assert_eq!((runner.in_flight(), runner.fault()), (0, None));
        let (statistics, contents, _) = runner.finish();
        assert!(statistics[0].requests() < 512 && statistics[1].requests() == 0);
        // Everything written is still known.
        let mut runner = bench.jobs(&[Job { verify: true, ..Job::default() }], contents);
        bench.run(&mut runner, |_| false);
        assert_eq!(runner.statistics().next().unwrap().first_failure, None);
    }
}

#[test]
fn a_command_that_never_completes_ends_the_run_with_its_place() {
    let config = Config { command_timeout: Duration::from_secs(2), ..Config::default() };
    let bench = Bench::new(config, Manners { swallow: Some(9), ..Manners::default() });
    let job = Job { queue_depth: 4, number_ios: Some(20), ..Job::default() };
    let mut runner = bench.jobs(&[job], Contents::unversioned(bench.drive(), 1));
    bench.run(&mut runner, |_| false);
    let Some(Fault::Overdue(overdue)) = runner.fault() else { panic!("{:?}", runner.fault()) };
    assert_eq!(overdue.slba, Some(9));
    assert!(overdue.age >= Duration::from_secs(2) && overdue.age < Duration::from_secs(3));
    assert_eq!(runner.statistics().next().unwrap().requests(), 19);
}

#[test]
fn polled_queues_are_looked_at() {
    let period = Duration::from_micros(7);
    let completion = CompletionMode::Polled { period };
    let bench = Bench::new(Config { completion, ..Config::default() }, Manners::default());
    let job = Job { queue_depth: 4, number_ios: Some(20), ..Job::default() };
    let mut runner = bench.jobs(&[job], Contents::unversioned(bench.drive(), 1));
    bench.run(&mut runner, |_| false);
    let statistics = runner.statistics().next().unwrap();
    assert_eq!((statistics.requests(), statistics.measured()), (20, period * 5));
}

#[test]
fn preconditioning_fills_and_overwrites_what_it_is_told_to() {
    let config = Config { content: Content::Fingerprint, ..Config::default() };
    let bench = Bench::new(config, Manners::default());
    let how = Precondition {
        bytes: Some(8 << 20),
        fill_block: 128 << 10,
        overwrite_block: 4096,
        overwrite_percent: 150,
        queue_depth: 16,
        seed: 3,
    };
    let jobs = precondition(bench.drive().bytes, &how);
    let mut runner = bench.jobs(&jobs, Contents::unversioned(bench.drive(), 1));
    bench.run(&mut runner, |_| false);
    let written: Vec<_> = runner.statistics().map(|task| task.of(RequestKind::Write).bytes).collect();
    assert_eq!(written, [8 << 20, 12 << 20]);
    assert_eq!(bench.fake.borrow().store.len(), 2048);
}

#[test]
fn a_command_that_an_earlier_run_gave_up_does_not_disturb_the_next() {
    let config = Config { command_timeout: Duration::from_secs(2), depth: 4, ..Config::default() };
    let bench = Bench::new(config, Manners { swallow: Some(9), ..Manners::default() });
    let job = Job { queue_depth: 4, number_ios: Some(20), ..Job::default() };
    let mut runner = bench.jobs(std::slice::from_ref(&job), Contents::versioned(bench.drive(), 1));
    bench.run(&mut runner, |_| false);
    assert!(runner.fault().is_some());
    let (_, mut contents, _) = runner.finish();
    contents.abandon_all();
    bench.fake.borrow_mut().release_swallowed();
    let mut runner = bench.jobs(&[Job { number_ios: Some(200), ..job }], contents);
    bench.run(&mut runner, |_| false);
    assert_eq!((runner.fault(), runner.statistics().next().unwrap().requests()), (None, 200));
    assert_eq!((0..5).filter(|_| bench.driver.take_slot(QueueId(1)).is_some()).count(), 4);
}

#[test]
fn a_failed_read_leaves_the_versions_as_they_were() {
    let fail = Some((20, Status::UNRECOVERED_READ_ERROR));
    let bench = Bench::new(Config::default(), Manners::default());
    let mut runner = bench.jobs(&[write_job("fill")], Contents::versioned(bench.drive(), 1));
    bench.run(&mut runner, |_| false);
    let (_, contents, _) = runner.finish();
    bench.fake.borrow_mut().manners.fail = fail;
    let reads = HostTask::of_jobs(&[Job { verify: true, ..Job::default() }], bench.drive(), 1).unwrap();
    let mut runner = bench.runner(reads, contents, OnFailure::Continue);
    bench.run(&mut runner, |_| false);
    let (statistics, contents, _) = runner.finish();
    assert_eq!((statistics[0].failures, statistics[0].checked_blocks), (1, fake::BLOCKS - 1));
    bench.fake.borrow_mut().manners.fail = None;
    let mut runner = bench.jobs(&[Job { verify: true, ..Job::default() }], contents);
    bench.run(&mut runner, |_| false);
    assert_eq!(runner.statistics().next().unwrap().failures, 0);
}
