//! A drive whose image lies on a disk that is full: writes wait, and go on by themselves when there is room.

use aster_device::Device;
use aster_ports::medium::SharedBacklog;
use std::time::{Duration, Instant as Wall};

/// How often a full disk is asked whether there is room again.
const RETRY: Duration = Duration::from_millis(100);
/// Bytes that a drive may owe its disk before it stands still altogether. What it has in work when the disk runs full is
/// less; more comes when its host goes on to trim or format, and there is nothing left to write that down.
const OWED_MAX: u64 = 256 << 20;

/// What is known of the room under a drive.
pub(crate) struct Room {
    backlog: Option<SharedBacklog>,
    /// Since when there is none.
    since: Option<Wall>,
    tried: Wall,
}

impl Room {
    pub(crate) fn of(device: &Device) -> Self {
        Room { backlog: device.backlog().cloned(), since: None, tried: Wall::now() }
    }
    /// Room is short: writes wait.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.since.is_some()
    }
    /// The drive must do nothing at all: it would have to be remembered.
    #[inline]
    pub(crate) fn stands_still(&self) -> bool {
        self.is_short() && self.backlog.as_ref().is_some_and(|backlog| backlog.owed() > OWED_MAX)
    }
    /// Wall time until the disk is asked again.
    pub(crate) fn until_retry(&self) -> Duration {
        RETRY.saturating_sub(self.tried.elapsed())
    }
    /// Looks whether the disk has run full, or has room again. What a person should know of it.
    #[inline]
    pub(crate) fn look(&mut self, device: &Device) -> Option<String> {
        let full = self.backlog.as_ref()?.is_full();
        if full || self.is_short() { self.look_closely(device) } else { None }
    }
    #[cold]
    fn look_closely(&mut self, device: &Device) -> Option<String> {
        let backlog = self.backlog.as_ref()?;
        if self.since.is_none() {
            (self.since, self.tried) = (Some(Wall::now()), Wall::now());
            device.look_at_room();
            let why = backlog.no_room().map_or_else(String::new, |error| format!(": {error}"));
            return Some(format!(
                "paused, since there is no room for the image{why}. Writes wait; make room, or trim in the guest, and it \
                 goes on by itself. A guest that runs Linux fails writes that wait for three minutes, unless its \
                 nvme_core.io_timeout says otherwise"
            ));
        }
        if self.tried.elapsed() < RETRY {
            return None;
        }
        self.tried = Wall::now();
        backlog.retry();
        device.look_at_room();
        if backlog.is_full() {
            return None;
        }
        let paused = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        Some(format!("there is room again: goes on after a pause of {:.1} s", paused.as_secs_f64()))
    }
}
