//! How large the tasks are. Each poll of a task walks through nested futures, and a value that is alive over
//! an await is kept, and often copied, in all of them: a local that grows a future costs every command.

use super::bench::{Bench, config};
use crate::checkpoint::store;
use crate::collector::{gc, idle_erase, scan};
use crate::host::{intake, worker};
use crate::journal::log;
use aster_units::{Content, LunIndex};
use std::rc::Rc;

/// Bytes of each task on a 64-bit machine, by the compiler of `rust-toolchain.toml`, and a tenth more for
/// those to come.
#[test]
fn tasks_are_no_larger_than_they_were() {
    let bench = Bench::fresh(config(Content::Full));
    let parts = bench.ftl.parts();
    let sizes = [
        ("slice worker", size_of_val(&worker::run(Rc::clone(&parts.host), 0)), 2016),
        ("intake", size_of_val(&intake::run(Rc::clone(&parts.host))), 1144),
        ("garbage collection", size_of_val(&gc::run(Rc::clone(&parts.collector), LunIndex(0))), 1440),
        ("log", size_of_val(&log::run(Rc::clone(&parts.journal.log_writer))), 832),
        ("checkpoints", size_of_val(&store::run_checkpoints(Rc::clone(&parts.checkpoint))), 1056),
        ("erasing ahead", size_of_val(&idle_erase::run(Rc::clone(&parts.collector))), 424),
        ("scan", size_of_val(&scan::run(Rc::clone(&parts.collector))), 792),
    ];
    for (task, bytes, were) in sizes {
        assert!(bytes <= were + were / 10, "{task}: {bytes} bytes, which were {were}: {sizes:?}");
    }
}
