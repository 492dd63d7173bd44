//! The drive's blocks, a part for each thing that there is to know of them: what they are used for, which are
//! free and which open, which of their units are valid, what should be collected, how worn they are.
//!
//! Each part has its own state and changes it by methods of its own. [`crate::blocks::table::Blocks`] has
//! what concerns several parts at once.

pub(crate) mod candidates;
pub(crate) mod evacuation;
pub(crate) mod free;
pub(crate) mod in_flight;
pub(crate) mod layout;
pub(crate) mod map_blocks;
pub(crate) mod open;
pub(crate) mod refresh;
pub(crate) mod room;
pub(crate) mod states;
pub(crate) mod valid;
pub(crate) mod wear;
