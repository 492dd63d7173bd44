use crate::Machine;
use aster_device::Media;
use aster_device::profile::shipped;
use aster_driver::Config;
use aster_events::{Event, EventSink, Recorder};
use aster_units::Instant;
use aster_workload::runner::{Contents, HostTask, OnFailure, Runner};
use aster_workload::{Access, Drive, Job, Mix};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<(Instant, Event)>>>);
impl EventSink for Log {
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.borrow_mut().push((at, *event));
    }
}

/// All events of a job, the end of it, and how often the caller was asked whether to go on. With `in_place`
/// the drive goes on while the run mode carries DMA out.
fn life(name: &str, in_place: bool) -> (Vec<(Instant, Event)>, Instant, u32) {
    let profile = shipped(name).expect("it is shipped");
    let (log, recorder) = (Log::default(), Recorder::default());
    recorder.attach(log.clone());
    let m = Machine::power_on(name, &profile, None, Media::fresh(), &recorder, Config::default())
        .unwrap_or_else(|e| panic!("{e}"));
    m.boot().unwrap_or_else(|e| panic!("{e}"));
    let namespace = m.driver().namespace();
    let drive = Drive {
        bytes: namespace.blocks * u64::from(namespace.block_bytes),
        block_bytes: namespace.block_bytes,
        streams: m.driver().streams(),
    };
    let job = Job {
        access: Access::Random,
        mix: Mix::ReadWrite,
        queue_depth: 8,
        number_ios: Some(3_000),
        ..Job::default()
    };
    let tasks = HostTask::of_jobs(&[job], drive, 1).unwrap_or_else(|e| panic!("{e}"));
    let contents = Contents::unversioned(drive, 1);
    let mut runner = Runner::new(m.driver(), tasks, contents, (), OnFailure::EndTask);
    let ticks = Cell::new(0);
    let tick = |_: &Runner<_, ()>| {
        ticks.set(ticks.get() + 1);
        true
    };
    let advance = |host, most| m.device().advance_until_out(host, most);
    if in_place { m.run(&mut runner, tick) } else { m.run_by(advance, &mut runner, tick) }
        .unwrap_or_else(|e| panic!("{e}"));
    let end = m.now();
    recorder.detach();
    (log.0.take(), end, ticks.get())
}

#[test]
fn dma_that_is_carried_in_place_changes_no_event() {
    for name in ["tiny", "babol"] {
        let (fast, slow) = (life(name, true), life(name, false));
        assert!(fast.0.len() > 20_000 && fast.2 > 0, "{name}: {} events, {} ticks", fast.0.len(), fast.2);
        assert_eq!(fast.0.len(), slow.0.len(), "{name}");
        for (i, (fast, slow)) in fast.0.iter().zip(&slow.0).enumerate() {
            assert_eq!(fast, slow, "{name}: event {i}");
        }
        assert_eq!((fast.1, fast.2), (slow.1, slow.2), "{name}");
    }
}
