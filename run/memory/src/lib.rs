//! Memory of which the system has a say: what another process shares and may take away, and large pages.
//! It is the one crate of `run` with `unsafe` code.
//!
//! # Shared memory
//! An access to missing memory is an error. A page of a mapped file can be missing when it is accessed: its
//! owner has truncated the file, or it is a hole in a file of huge pages and the pool of huge pages is empty.
//! The system then sends SIGBUS, which by default ends the process. A [`Shared`] mapping survives: the
//! handler maps a page of zeroes in place of the missing one, notes that in the mapping's `watch::Watch`, and
//! the access continues. After the access the mapping finds the note, maps the file there again for the next
//! access, and reports [`Gone`].
//!
//! So an access whose memory is present costs one test of a flag beside the copy. System calls that return an
//! error instead (`pread`, `process_vm_writev`) always cost about ten times as much as copying 64 bytes
//! (docs/adr/0013).
//!
//! A SIGBUS for any other address, or one that a process sent, goes to the previous handler.
//!
//! # Large pages
//! Programs make [`LargePages`] their allocator.

mod handler;
mod large_pages;
mod shared;
mod watch;

pub use large_pages::LargePages;
pub use shared::{Gone, Shared};
