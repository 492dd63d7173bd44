//! All LUNs as one pool.

mod blocks;
mod lun_gone;
mod pages;
