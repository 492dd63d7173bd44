//! Reports side by side: what differs in the runs, in how they were made and in their figures, with
//! confidence where runs differ by their seeds alone.

mod sides;
mod text;

pub use sides::{Comparison, Difference, FigureRow, Read, Runs, Sampled, SetupRow, compare};
pub use text::compare_text;
