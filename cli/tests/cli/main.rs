//! The `aster` binary, from the outside.

mod again;
mod channel;
mod follow;
mod full_disk;
mod grouped;
mod guest;
mod images;
mod kept;
mod killed;
mod larger;
mod lifetime;
mod on_host;
mod open_channel;
mod operations;
mod place;
mod pts;
mod replayed;
mod running;
mod served;
mod spdk;
mod tortured;
mod traced;
mod traces;
mod waf;
mod windows;
mod words;
