//! The channel in RTL, with the packages of `hardware/nand` at its pins.

mod algorithms;
mod bench;
mod drive;
mod equality;
mod stream;
mod wave;
mod words;
