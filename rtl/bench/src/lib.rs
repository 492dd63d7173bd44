//! Runs the checks in `rtl/`: benches on Icarus and Verilator, lint by all three tools, proofs by yosys
//! with an SMT solver or yosys' ABC, and the same proofs on mutated sources, where they must fail.
//!
//! Nothing is skipped: a missing tool fails the test that needs it.
#![forbid(unsafe_code)]

pub mod bench;
pub mod limits;
pub mod mutation;
pub mod proof;
pub mod replay;
pub mod sources;
pub mod tools;

use std::path::{Path, PathBuf};

/// The folder `rtl`.
pub fn rtl() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in rtl/bench").to_path_buf()
}

/// Whether the long tests run, too (`ASTER_LONG=1`, `make test-all`).
pub fn long() -> bool {
    std::env::var("ASTER_LONG").as_deref() == Ok("1")
}
