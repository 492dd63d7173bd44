//! Tests of a package through its bus. The latch sequences are typed by hand from ONFI 5.1 with opcodes
//! as numbers, so that they find a misreading of the standard in the shared constants.

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
mod whole;
