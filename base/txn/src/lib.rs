//! The µFSM instruction set and the transaction: an atomic, fixed-capacity list of instructions that owns the
//! channel until it ends (B1–B11).
//!
//! A transaction is plain data in 64-bit words (G17), the same words that the RTL's instruction queue takes,
//! beside the Packetizer descriptors that say where its data comes from or goes to (B2).
#![no_std]
#![forbid(unsafe_code)]

mod descriptor;
mod field;
mod instruction;
pub mod interface;
mod shape;
mod transaction;

pub use descriptor::{Descriptor, Direction, Path};
pub use field::Field;
pub use instruction::{Instruction, Instructions, Latch, Latches, WordError};
pub use interface::opcode;
pub use shape::{Form, Shape};
pub use transaction::{AddressRun, Fault, MAX_ADDRESS_RUN, MAX_DESCRIPTORS, MAX_OPS, MAX_WORDS, Op, Txn};

#[cfg(test)]
mod tests;
