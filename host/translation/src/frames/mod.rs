//! A flash port served by a drive's command frames (H6 to H9).

mod blocks;
mod carrier;
mod flash;
mod places;

pub use carrier::connect;
