//! Whole drives: what a host reads, what is counted and told, and what outlasts losses of power.

mod composition;
mod decisions;
mod demand_paged;
mod determinism;
mod endless;
mod factory_marks;
mod fading;
mod fio_jobs;
mod fuzz;
mod hosts_that_lie;
mod identity;
mod images;
mod least_cost;
mod mapping_units;
mod mappings;
mod media;
mod monitor;
mod power;
mod queue_pairs;
mod restriction;
mod secure_erase;
mod thermal;
mod told;
mod wear;
mod whole_device;
