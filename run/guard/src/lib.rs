//! Memory that another process shares and may take away: an access to what is gone is an error.
//!
//! A page of a mapped file can be missing when it is touched: its owner has cut the file short, or it is a
//! hole in a file of huge pages and the pool of huge pages is empty. The system then sends SIGBUS, which ends
//! a process. A [`Shared`] mapping survives: the handler puts a page of zeroes in the place of the missing
//! one, notes that in the mapping's `watch::Watch`, and the access goes on. When it has ended, the mapping
//! finds the note, maps the file anew there for the next access, and reports [`Gone`].
//!
//! So an access that finds its memory costs one look at a flag beside the copy. System calls that answer with
//! an error instead (`pread`, `process_vm_writev`) cost some ten times the copy of 64 bytes, whatever they
//! find (docs/adr/0013).
//!
//! A SIGBUS for any other address, and one that a process sent, goes to the handler that was there before.

mod handler;
mod shared;
mod watch;

pub use shared::{Gone, Shared};
