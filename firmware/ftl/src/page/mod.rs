//! Pages in their buffers.

pub(crate) mod lost;
