//! Pages in their buffers.

pub(crate) mod buffers;
pub(crate) mod lost;
