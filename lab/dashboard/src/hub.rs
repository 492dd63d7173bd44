//! What stands between a drive's thread and the browsers' thread: frames one way, what people ask the other.
//! The drive's side never waits.

use crate::frame::{About, Frame};
use aster_lab::explain::Explanation;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Questions that wait for the drive's side; more are refused.
const ASKS_MAX: usize = 64;

/// Takes a command's life, or why there is none.
pub type Explained = oneshot::Sender<Result<Explanation, String>>;

/// What somebody at a browser asks for.
#[derive(Debug)]
pub enum Ask {
    /// Time goes on by itself, or stands.
    Play(bool),
    /// So many microseconds of the drive's time in a second.
    Speed(f64),
    /// To go to this moment, in microseconds since power-on.
    Seek(f64),
    /// To go on by one event.
    StepEvent,
    /// To go on until a command is completed.
    StepCommand,
    /// A slow command's life.
    Explain(u64, Explained),
}

/// The drive's side.
pub struct Source {
    frames: watch::Sender<Arc<Frame>>,
    asks: Receiver<Ask>,
    viewers: Arc<AtomicUsize>,
}

/// The browsers' side.
#[derive(Clone)]
pub struct Hub {
    pub(crate) about: Arc<About>,
    pub(crate) frames: watch::Receiver<Arc<Frame>>,
    asks: SyncSender<Ask>,
    viewers: Arc<AtomicUsize>,
}

/// Both sides.
pub fn hub(about: About) -> (Source, Hub) {
    let (publish, frames) = watch::channel(Arc::default());
    let (ask, asks) = sync_channel(ASKS_MAX);
    let viewers: Arc<AtomicUsize> = Arc::default();
    let source = Source { frames: publish, asks, viewers: Arc::clone(&viewers) };
    (source, Hub { about: Arc::new(about), frames, asks: ask, viewers })
}

impl Source {
    /// How many look.
    pub fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }
    /// Shows a frame in place of the one before, whether that was seen or not.
    pub fn show(&self, frame: Frame) {
        self.frames.send_replace(Arc::new(frame));
    }
    /// The next question, if there is one.
    pub fn asked(&self) -> Option<Ask> {
        self.asks.try_recv().ok()
    }
    /// The next question, waiting for one for so long.
    pub fn asked_within(&self, patience: Duration) -> Option<Ask> {
        match self.asks.recv_timeout(patience) {
            Ok(ask) => Some(ask),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                None
            }
        }
    }
}

/// Somebody who looks, until it is dropped.
pub(crate) struct Viewer(Arc<AtomicUsize>);

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Hub {
    /// Somebody looks; `None` if too many do already.
    pub(crate) fn enter(&self, most: usize) -> Option<Viewer> {
        if self.viewers.fetch_add(1, Ordering::Relaxed) >= most {
            self.viewers.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Viewer(Arc::clone(&self.viewers)))
    }
    /// Passes a question on; false if too many wait, or nobody is there to answer.
    pub(crate) fn ask(&self, ask: Ask) -> bool {
        self.asks.try_send(ask).is_ok()
    }
}
