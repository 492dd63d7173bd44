//! A drive whose image lies on a full disk: writes wait, and continue when there is room again.

use aster_device::Device;
use aster_ports::medium::SharedBacklog;
use std::time::{Duration, Instant as Wall};

/// How often the server checks whether a full disk has room again.
const RETRY: Duration = Duration::from_millis(100);
/// The most memory for unwritten changes before the drive stops. Commands in progress when the disk runs full
/// need less. More is needed when the host goes on to trim or format and no reserve is left to store that.
const MEMORY_MAX: u64 = 256 << 20;

/// The state of the room for a drive's image.
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
    /// The drive must stop: any further change would have to be kept in memory.
    #[inline]
    pub(crate) fn stands_still(&self) -> bool {
        self.is_short() && self.backlog.as_ref().is_some_and(|backlog| backlog.memory() > MEMORY_MAX)
    }
    /// Bytes of room that are missing, while it is short.
    pub(crate) fn missing(&self) -> Option<u64> {
        let backlog = self.backlog.as_ref().filter(|_| self.is_short())?;
        Some(backlog.missing())
    }
    /// Wall time until the next check.
    pub(crate) fn until_retry(&self) -> Duration {
        RETRY.saturating_sub(self.tried.elapsed())
    }
    /// Checks whether the disk has run full, or has room again. Returns a message for people.
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
            let needed = megabytes(backlog.needed());
            return Some(format!(
                "paused, since there is no room for the image{why}. Writes wait; it goes on by itself when \
                 {needed} are free: make room, or trim in the guest. A guest that runs Linux fails writes \
                 that wait for three minutes, unless its nvme_core.io_timeout says otherwise"
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

/// A number of bytes, rounded up, for people.
fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes.div_ceil(100_000) / 10, bytes.div_ceil(100_000) % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_never_told_as_less() {
        for (bytes, told) in
            [(0, "0.0"), (1, "0.1"), (100_000, "0.1"), (100_001, "0.2"), (67_108_864, "67.2")]
        {
            assert_eq!(megabytes(bytes), format!("{told} MB"));
        }
    }
}
