//! A drive as a picture in a browser, live or from a file of its events.
//!
//! [`Picture`] is the state that events make, [`Frame`] what of it is shown, [`Recording`] a file of events
//! that can be moved in.
#![forbid(unsafe_code)]

mod access;
mod blocks;
mod buffer;
mod commands;
mod dies;
mod frame;
mod hub;
mod live;
mod messages;
mod picture;
mod player;
mod recording;
mod scan;
mod server;
mod serving;
mod slowest;
mod text_page;

pub use access::check_token;
pub use commands::Completed;
pub use frame::{
    About, BlockCells, BufferView, DieView, Frame, LatencyView, Position, QueueView, SlowView, Totals, Work,
};
pub use hub::{Ask, Explained, Hub, Source, hub};
pub use live::Live;
pub use picture::Picture;
pub use player::play;
pub use recording::{Reached, Recording, RecordingError};
pub use server::Dashboard;
pub use text_page::TextPage;
