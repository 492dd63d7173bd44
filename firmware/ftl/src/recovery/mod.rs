//! Power-on: the ways to the drive's state, and recovery from a loss of power as a list of named steps.
//!
//! | file | holds |
//! |---|---|
//! | `boot` | the ways to the drive's state, in the order in which they are tried |
//! | `recover` | the steps of a recovery, in their order |
//! | `log_read`, `replay`, `probe`, `take_over`, `versions`, `block_states` | the steps |
//! | `page_read`, `version`, `stale_pages` | what these use |
//! | `rebuild` | what is done if no log is left, and with a drive from the factory |

mod block_states;
pub(crate) mod boot;
mod log_read;
mod page_read;
mod probe;
mod rebuild;
mod recover;
mod replay;
mod stale_pages;
pub(crate) mod state;
mod take_over;
mod version;
mod versions;
