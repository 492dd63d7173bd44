//! The message unit: what a drive whose host has the FTL shows on PCIe instead of an NVMe controller (H1, H9,
//! H11, H12, H13).
//!
//! The host writes the address of a frame of commands into a FIFO (`fifo`). The unit fetches the frame into
//! one of two buffers, scatters its commands to 64 slots (`slots`), and makes a vector of flash addresses of
//! each (`array`), for a translation without a map. Data go to and from the runs of host memory that the
//! command names (`runs`). How commands ended stands in a ring of entries, of which status frames are sent to
//! the host (`status`). `unit` owns one of each and is the only file that knows the ports.
//!
//! Lanes of a channel of the paper are channels of our array: `channel.lanes` consecutive ones belong to one
//! NAND array controller. A command of a group is one vector of the pages of all its lanes.
//!
//! Layouts are in [`aster_wire::array`]. Nothing is allocated after the start.

mod array;
mod fifo;
mod piece;
mod runs;
mod slots;
mod status;
mod unit;

pub use array::{ArrayShape, ShapeError};
pub use piece::MessageUnitPiece;
