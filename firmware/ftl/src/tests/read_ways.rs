//! Most reads take a short way. The general way, which all others take, does the same at the same times.

use super::bench::{Bench, config};
use super::checked_host::CheckedHost;
use crate::{Collection, FtlConfig, GcConfig, HostConfig};
use aster_events::{Event, EventSink};
use aster_units::{Content, Instant};
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

struct Keep(Rc<RefCell<Vec<(Instant, Event)>>>);

impl EventSink for Keep {
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.borrow_mut().push((at, *event));
    }
}

/// The events of random work, and the end of it.
fn life(config: FtlConfig, seed: u64, in_steps: bool) -> (Vec<(Instant, Event)>, Instant) {
    let bench = Bench::fresh(config);
    if in_steps {
        bench.read_in_steps();
    }
    let mut host = CheckedHost::new(&bench);
    let kept = Rc::new(RefCell::new(Vec::new()));
    bench.recorder.attach(Keep(kept.clone()));
    host.work(&bench, 3_000, seed);
    bench.recorder.detach();
    (kept.take(), bench.exec.now())
}

#[test]
fn the_short_way_of_a_read_is_the_general_one() {
    let base = config(Content::Full);
    let with = |collection, mapping_unit_bytes, costs_cycles: u64| {
        let gc = GcConfig { collection, ..base.gc };
        let mut config = FtlConfig { gc, mapping_unit_bytes, ..base };
        (config.costs.buffer, config.costs.translate, config.costs.dma) =
            (costs_cycles, 2 * costs_cycles, 3 * costs_cycles);
        config
    };
    let configs = [
        with(Collection::OnDemand, 0, 0),
        with(Collection::OnDemand, 4096, 700),
        with(Collection::Paced, 0, 700),
        with(Collection::Paced, 4096, 0),
        FtlConfig { host: HostConfig { partial_reads: false, ..base.host }, ..base },
        config(Content::Fingerprint),
    ];
    for (n, config) in configs.into_iter().enumerate() {
        let (short, general) = (life(config, n as u64, false), life(config, n as u64, true));
        assert!(short.0.len() > 10_000, "case {n}: {} events", short.0.len());
        for (i, (short, general)) in short.0.iter().zip(&general.0).enumerate() {
            assert_eq!(short, general, "case {n}: event {i}");
        }
        assert_eq!((short.0.len(), short.1), (general.0.len(), general.1), "case {n}");
    }
}
