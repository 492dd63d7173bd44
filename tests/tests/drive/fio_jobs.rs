//! fio's options whose effect only shows when jobs run: which jobs end with others, steady states, rates and
//! their floors.

use aster_device::Media;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{drive, machine, profile};
use aster_units::{Content, Duration};
use aster_workload::runner::{Contents, Failure, HostTask, OnFailure, Runner, Statistics};
use aster_workload::{RequestKind, fio};

fn ideal() -> Machine {
    machine(&profile("ideal", |_| {}), Some(Content::Fingerprint), Media::fresh(), &Recorder::default())
}

fn run(machine: &Machine, text: &str) -> Vec<Statistics> {
    let jobs = fio::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let tasks = HostTask::of_jobs(&jobs, drive(machine), 1).unwrap_or_else(|e| panic!("{e}"));
    let contents = Contents::unversioned(drive(machine), 1);
    let mut runner = Runner::new(machine.driver(), tasks, contents, (), OnFailure::EndTask);
    machine.run(&mut runner, |_| true).unwrap_or_else(|e| panic!("{e}"));
    runner.finish().0
}

fn lasted(of: &Statistics) -> Duration {
    of.ended.expect("it has ended").since(of.started.expect("it has begun"))
}

/// A job that ends soon, one that runs for 20 ms, and one after both.
fn three(first: &str, second: &str) -> Vec<Statistics> {
    let long = "rw=randread\ntime_based\nruntime=20ms\niodepth=4\nsize=1m";
    run(
        &ideal(),
        &format!(
            "[short]\nrw=randread\nnumber_ios=100\nsize=1m\n{first}\n[long]\n{long}\n{second}\n[next]\n\
             stonewall\n{long}\nend_fsync=1\n"
        ),
    )
}

#[test]
fn with_exitall_the_jobs_of_a_group_end_with_the_first() {
    let ms = Duration::from_millis;
    let plain = three("", "");
    assert!(lasted(&plain[1]) >= ms(20) && plain.iter().all(|s| !s.ended_by_another));
    // The option of one job applies to all.
    for (first, second) in [("exitall", ""), ("", "exitall"), ("exitall\nexit_what=stonewall", "")] {
        let all = three(first, second);
        assert!(all[1].ended_by_another && lasted(&all[1]) < ms(2), "{:?}", lasted(&all[1]));
        assert!(all[1].failures == 0 && all[1].requests() > 0);
        assert!(!all[2].ended_by_another && lasted(&all[2]) >= ms(20), "the next group runs");
        assert_eq!(all[2].of(RequestKind::Flush).requests, 1);
    }
    let all = three("exitall\nexit_what=all", "");
    assert!(all[1].ended_by_another && all[2].ended_by_another && all[2].started.is_none());
}

#[test]
fn with_exitall_on_error_only_a_failure_takes_the_others_along() {
    let slow = "[slow]\nrw=read\nthinktime=100ms\nthinktime_blocks=1\nruntime=4\ntime_based\n\
                rate_iops_min=50\nsize=1m\n";
    let calm = "[calm]\nrw=read\nthinktime=50ms\nruntime=5\ntime_based\nsize=1m\n";
    let plain = run(&ideal(), &format!("{slow}{calm}"));
    let Some(Failure::TooSlow(missed)) = &plain[0].first_failure else { panic!("{:?}", plain[0]) };
    assert_eq!((missed.option, missed.least), ("rate_iops_min", 50));
    // First two seconds to settle, then the first cycle.
    assert!(lasted(&plain[0]) < Duration::from_secs(4) && lasted(&plain[0]) >= Duration::from_secs(3));
    assert!(lasted(&plain[1]) >= Duration::from_secs(5) && plain[1].failures == 0);
    let both = run(&ideal(), &format!("{slow}{calm}exitall_on_error\n"));
    assert!(both[1].ended_by_another && lasted(&both[1]) < Duration::from_secs(4));
    let none = run(&ideal(), &format!("[a]\nrw=read\nnumber_ios=10\nexitall_on_error\nsize=1m\n{calm}"));
    assert!(!none[1].ended_by_another, "nothing failed");
}

#[test]
fn a_job_ends_when_it_is_steady_and_says_when_it_was() {
    let job = "[j]\nrw=randread\niodepth=8\ntime_based\nruntime=2\nsize=1m\nss_dur=10ms\nss_interval=1ms\n";
    let all = run(&ideal(), &format!("{job}ss=iops:2%\nss_ramp=5ms\n"));
    let outcome = all[0].steady_state.expect("it was asked for");
    let at = outcome.attained.expect("reads of nothing are steady at once");
    assert_eq!(at, Duration::from_millis(15), "ramp and window");
    assert!(lasted(&all[0]) < Duration::from_millis(16) && outcome.value.is_some_and(|v| v < 2.0));
    // A drive that is being filled and begins to collect garbage is not in a steady state.
    let all = run(
        &ideal(),
        "[j]\nrw=randread\nthinktime=3ms\nruntime=100ms\ntime_based\nsize=1m\nss_dur=10ms\nss_interval=1ms\n\
         ss=iops:2%\n",
    );
    let outcome = all[0].steady_state.expect("it was asked for");
    assert!(outcome.attained.is_none() && outcome.value.is_some_and(|v| v > 2.0), "{outcome:?}");
    assert!(lasted(&all[0]) >= Duration::from_millis(100));
    assert_eq!(run(&ideal(), "[j]\nrw=read\nnumber_ios=3\n")[0].steady_state, None);
}

#[test]
fn a_rate_in_bytes_is_kept_evenly_and_at_random() {
    for process in ["linear", "poisson"] {
        let text = format!(
            "[j]\nrw=randrw\nbs=4k,16k\nrate=40m,80m\nrate_process={process}\niodepth=32\ntime_based\n\
             runtime=500ms\nsize=8m\n"
        );
        let all = run(&ideal(), &text);
        let seconds = lasted(&all[0]).as_secs_f64();
        let read = all[0].of(RequestKind::Read).bytes as f64 / f64::from(1 << 20) / seconds;
        let written = all[0].of(RequestKind::Write).bytes as f64 / f64::from(1 << 20) / seconds;
        // Each direction runs at its own rate, whatever the mix.
        assert!((38.0..42.5).contains(&read), "{process}: {read} MiB/s read");
        assert!((76.0..85.0).contains(&written), "{process}: {written} MiB/s written");
    }
}
