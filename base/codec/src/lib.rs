//! Codes in the data path between DRAM and flash, and golden models of their RTL.
//!
//! - [`Bch`]: binary BCH for any field, strength and chunk size (C21, C23, G6).
//! - [`FrameBch`]: a BCH code with the code that detects wrong bits for it (S11).
//! - [`Scrambler`]: byte-wise XOR with an 8-bit LFSR seeded by the row (C20, G7).
//! - [`checksum`]: CRC-32C and CRC-64 for metadata, CRC-16 of the ONFI parameter page.
//! - [`xor_into`]: parity over pages (RAID, H33).
//!
//! On the write path the ECC encodes first and the scrambler follows; reads go the other way (C19).
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]
#![deny(clippy::undocumented_unsafe_blocks)]
extern crate alloc;

mod bch;
pub mod checksum;
mod frame;
mod parity;
mod scrambler;

pub use bch::{
    Backend, Bch, BchError, BchScratch, FIELD_DEGREE_MAX, FIELD_DEGREE_MIN, Field, PARITY_WORDS_MAX,
    Uncorrectable,
};
pub use frame::{Detector, FrameBch};
pub use parity::xor_into;
pub use scrambler::{SCRAMBLER_PERIOD, Scrambler, seed_of_row};
