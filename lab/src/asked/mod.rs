//! What a user asks for: profiles and what overrides them, files, work, and what is wrong with any of them.
//! The command line and the Python package say the same of it in the same words.

pub mod drives;
pub mod failure;
pub mod files;
pub mod monitor;
pub mod profiles;
pub mod room;
pub mod set;
pub mod traces;
pub mod work;
