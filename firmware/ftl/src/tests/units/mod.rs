//! Pages of several mapping units.

mod blocks;
mod map;
mod sectors;
