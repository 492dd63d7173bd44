//! NAND packages: LUN state machines, page registers, cells, wear and errors, behind the port that a channel
//! drives (I1).
//!
//! A [`NandArray`] is all packages of a drive. Each channel takes its [`NandPackage`]s. A [`NandInspect`]
//! inspects the cells without using the bus, and injects faults. [`NandCells`] survive power-off.
//!
//! - `command` decodes latches with the states of `phase`, `confirm` handles a command's last cycle,
//!   `package` handles bursts, `lun` is a LUN's state, `work` lists what its array can do, `register` has
//!   its page registers;
//! - `variant` describes how packages differ: optional and vendor specific commands, read levels;
//! - `bus` holds the data interface and checks the waits that ONFI requires of the controller, `features`
//!   and `identify` answer the target's commands;
//! - `store` keeps pages and blocks, in memory or through to an image;
//! - `fill` puts pages into the cells without commands;
//! - `timing` gives busy times, `errors` with `coupling` gives bit errors, and `faults` gives failures.
//!
//! A package has no clock. Every call carries the times of its bus cycles, and the effects of the array
//! are applied when the LUN is next accessed.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod array;
mod bus;
mod command;
mod config;
mod confirm;
mod coupling;
mod damage;
mod errors;
mod faults;
mod features;
mod fill;
mod identify;
mod identity;
mod inspect;
mod lun;
mod package;
mod phase;
mod register;
mod store;
mod timing;
mod variant;
mod whole;
mod work;

pub use array::{NandArray, NandCells};
pub use bus::BusConfig;
pub use config::{NandConfig, NandError};
pub use damage::DamagedPage;
pub use errors::{ErrorModel, LEVELS_MAX, Sensing, Stress};
pub use faults::{FactoryMarks, FailureModel};
pub use fill::CellFiller;
pub use identity::Identity;
pub use inspect::{BadBlock, BlockInfo, EraseSpread, NandInspect};
pub use package::NandPackage;
pub use store::Totals;
pub use timing::{ArrayTiming, PerType, SlowLun, page_type};
pub use variant::{Variant, slc_pages};

#[cfg(test)]
mod tests;
