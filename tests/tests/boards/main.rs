//! What boards have that others don't: Cosmos+'s and SoftSSD's firmware, front ends in software, packets.

mod cosmos;
mod firmware_time;
mod mailbox;
mod packets;
mod register_packets;
mod softssd;
mod software_nvme;
mod stackful;
mod transports;
