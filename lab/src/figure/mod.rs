//! Figures of experiments: the same numbers as pictures, SVG and PNG, and as a table.
//!
//! A figure is data, and only this module draws it, so that all figures look alike: panels have one size,
//! and panels that share an axis have the same scale on it.

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
