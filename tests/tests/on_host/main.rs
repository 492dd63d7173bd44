//! Open-channel drives, and FTLs and targets on the host.

mod full_table;
mod lists;
mod ocssd_attach;
mod page_cache;
mod page_mapping_on_host;
mod pblk;
mod raw_vectors;
mod table_blocks;
mod targets;
mod translations;
mod vectors;
