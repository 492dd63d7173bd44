//! `aster._aster`: what the Python package `aster` is made of, in Rust. The package's own modules, in
//! `package/aster`, give it the form that users see; the types are described in `_aster.pyi`.

mod answers;
mod arbiter;
mod asking;
mod columns;
mod compare;
mod errors;
mod own;
mod placement;
mod profile;
mod replay;
mod reproduce;
mod run;
mod torture;
mod victims;
mod workload;

use pyo3::prelude::*;

/// The drive in Rust.
#[pymodule]
mod _aster {
    use super::*;

    #[pymodule_export]
    use super::arbiter::Transaction;
    #[pymodule_export]
    use super::columns::Columns;
    #[pymodule_export]
    use super::compare::{beyond_chance, sampled};
    #[pymodule_export]
    use super::errors::{AsterError, RunError, UsageError};
    #[pymodule_export]
    use super::placement::Geometry;
    #[pymodule_export]
    use super::profile::{Profile, profiles};
    #[pymodule_export]
    use super::reproduce::reproduce;
    #[pymodule_export]
    use super::run::{Outcome, run};
    #[pymodule_export]
    use super::torture::{smaller_drive, torture_drives};
    #[pymodule_export]
    use super::victims::Block;
    #[pymodule_export]
    use super::workload::{Completion, Wait};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("WAIT", super::workload::Wait)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
