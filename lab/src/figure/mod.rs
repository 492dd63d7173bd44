//! Figures of experiments: the same numbers as a picture and as a table.
//!
//! Panels that have an axis in common have it at the same scale, so that they can be compared by eye.

mod data;
pub(crate) mod draw;
mod table;
#[cfg(test)]
mod tests;

pub use data::{Figure, Panel, Series, Source};
pub(crate) use table::quoted;
pub use table::{beside, is_picture};
