//! How large the tasks are. Each poll of a task walks through nested futures, and a value that is alive over
//! an await is kept, and often copied, in all of them: a local that grows a future costs every command.

use super::bench::{Bench, config};
use aster_units::Content;

/// Bytes of each task on a 64-bit machine, by the compiler of `rust-toolchain.toml`, and a tenth more for
/// those to come.
#[test]
fn tasks_are_no_larger_than_they_were() {
    let sizes = Bench::fresh(config(Content::Full)).task_sizes();
    let were = [
        ("slice worker", 2272),
        ("intake", 1144),
        ("garbage collection", 1696),
        ("log", 832),
        ("checkpoints", 1056),
        ("erasing ahead", 424),
        ("scan", 792),
    ];
    for ((task, bytes), (of, were)) in sizes.into_iter().zip(were) {
        assert_eq!(task, of);
        assert!(bytes <= were + were / 10, "{task}: {bytes} bytes, which were {were}: {sizes:?}");
    }
}
