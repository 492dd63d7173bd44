//! From flash requests down: schedulers, channel and array controllers, packages, and what they do about
//! errors.

mod array;
mod array_controllers;
mod controllers;
mod ecc_on_demand;
mod flash_schedulers;
mod lun_without_answer;
mod packages;
mod plane_orders;
mod read_retry;
mod suspends;
