//! The message unit: what a drive whose host has the FTL shows on PCIe instead of an NVMe controller (H1, H9,
//! H11, H12, H13).
//!
//! The host writes the address of a frame of commands into a FIFO (`fifo`). The unit fetches the frame into
//! one of two buffers and scatters its commands to 64 slots (`slots`). The firmware of the MCU (`mcu`) finds
//! them there by the FIFOs of the NAND array controllers (`nacs`). A vector of flash addresses is made of
//! each command (`array`), for a translation without a map. Data go to and from the runs of host memory that
//! the command names (`runs`). How commands ended is in the controllers' FIFOs again. The MCU collects that
//! in a ring of entries, of which it has status frames sent to the host (`status`). `unit` owns one of each
//! but the MCU and is the only file that knows the ports.
//!
//! Lanes of a channel of the paper are channels of our array: `channel.lanes` consecutive ones belong to one
//! NAND array controller. A command of a group is one vector of the pages of all its lanes.
//!
//! Layouts are in [`aster_wire::array`]. Nothing is allocated after the start.

mod alarm;
mod array;
mod fifo;
mod mcu;
mod nacs;
mod piece;
mod runs;
mod slots;
mod status;
mod unit;

pub use array::{ArrayShape, ShapeError};
pub use mcu::McuCosts;
pub use piece::MessageUnitPiece;
