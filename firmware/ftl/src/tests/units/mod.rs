//! Pages of several mapping units.

mod blocks;
pub(super) mod map;
mod sectors;
