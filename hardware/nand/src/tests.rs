//! The package from its bus: latch sequences typed by hand from ONFI 5.1, opcodes as numbers, so that a
//! misreading of the standard in the shared constants can't hide.

extern crate std;

mod bench;

pub(crate) use bench::{TestMedium, config};

mod cached;
mod commands;
mod coupling;
mod multi_lun;
mod noise;
mod power;
mod rules;
mod runs;
mod vendor;
mod waits;
