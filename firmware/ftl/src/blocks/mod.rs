//! The blocks as the rooms above see them: what happens to them, who waits for it, and the decisions that are
//! pieces of a drive.

pub(crate) mod ages;
pub(crate) mod assigner;
pub(crate) mod buffer_pool;
pub(crate) mod collection;
mod pace;
pub(crate) mod pacing;
pub(crate) mod plane_order;
pub(crate) mod pool;
mod pool_luns;
pub(crate) mod programmed;
pub(crate) mod room_queues;
pub(crate) mod sequence;
pub(crate) mod streams;
mod striping;
pub(crate) mod table;
pub(crate) mod turns;
pub(crate) mod victims;
