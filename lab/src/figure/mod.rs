//! Figures of experiments: the same numbers as pictures, SVG and PNG, and as a table.
//!
//! A figure is data, and is drawn by this module alone, so that all figures of all papers look alike: panels
//! have one size, and panels that have an axis in common have it at the same scale.

mod canvas;
mod data;
mod draw;
mod scale;
mod table;
#[cfg(test)]
mod tests;
mod timeline;

pub use data::{Figure, Lane, Panel, Scale, Series, Source, Span, Timeline};
pub(crate) use table::quoted;
pub use table::{beside, is_picture};
