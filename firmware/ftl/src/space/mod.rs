//! The drive's blocks, with one part for each aspect: what they are used for, which are free and which open,
//! which of their units are valid, which should be collected, and how worn they are.
//!
//! Each part owns its state, which only its own methods change. [`crate::blocks::table::Blocks`] has the
//! changes that concern several parts.

pub(crate) mod candidates;
pub(crate) mod evacuation;
pub(crate) mod free;
pub(crate) mod in_flight;
pub(crate) mod in_work;
pub(crate) mod layout;
pub(crate) mod map_blocks;
pub(crate) mod open;
pub(crate) mod refresh;
pub(crate) mod room;
pub(crate) mod states;
pub(crate) mod streams;
pub(crate) mod valid;
pub(crate) mod wear;
