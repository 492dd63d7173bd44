//! Figures of experiments: the same numbers as a picture and as a table.
//!
//! Panels with the same axis have the same scale, so that they can be compared by eye.

mod data;
pub(crate) mod draw;
mod table;
#[cfg(test)]
mod tests;

pub use data::{Figure, Panel, Series, Source};
pub(crate) use table::quoted;
pub use table::{beside, is_picture};
