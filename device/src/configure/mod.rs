//! From a profile to the configurations of the rooms.
//!
//! Each room that a profile configures has a file of its name here. These files share `error.rs` and
//! `times.rs`.

mod board;
mod channel;
mod ecc;
mod error;
mod flash;
mod ftl;
mod hostif;
mod nand;
mod onfi;
mod open_channel;
mod parties;
mod ports;
mod sched;
mod target;
mod times;

pub use board::least_command;
pub(crate) use board::{
    ControlBuses, alarm_kelvins, buses, control_buses, die_groups, emmc, frequency, link, packet_link,
    pci_ids, pci_link, power_report, sensor,
};
pub(crate) use channel::{bus_timing, clock, engine, solvers};
pub(crate) use ecc::{code_bytes, ecc_engine};
pub use error::BuildError;
pub(crate) use error::value;
pub(crate) use flash::{flash, transactions};
pub(crate) use ftl::{ftl, refresh};
pub use hostif::host_streams;
pub(crate) use hostif::{command_fifo, host, nvm, nvme_software};
pub(crate) use nand::nand;
pub use nand::{nand_image_bytes, nand_records_bytes};
pub(crate) use open_channel::{mcu, open_channel, open_channel_20, vectors};
pub(crate) use parties::media_facts;
pub(crate) use ports::oob_bytes;
pub(crate) use sched::{big_loop, interface_layer, tasks, workers};
pub(crate) use target::{TARGET_LATENCY, before_target, below_target, target, target_command_ns};
