//! Stream policies.

use alloc::vec;
use alloc::vec::Vec;
use aster_parties::{EmptiedBlock, HostWrite, StreamPolicy};

/// All that the host writes is one stream.
#[derive(Clone, Copy, Debug)]
pub struct OneStream;

impl StreamPolicy for OneStream {
    fn prepare(&mut self, _: u8, _: u32) {}
    fn choose(&mut self, _: &HostWrite) -> u8 {
        0
    }
}

/// As the host says: what it names no stream for is the first stream's.
#[derive(Clone, Copy, Debug)]
pub struct HostDirective;

impl StreamPolicy for HostDirective {
    fn prepare(&mut self, _: u8, _: u32) {}
    fn choose(&mut self, write: &HostWrite) -> u8 {
        write.named
    }
}

/// By update distance: how much the host has written since the page was written last. A page that was
/// written again soon is likely to be written again soon once more.
///
/// As SepBIT does (Wang et al., FAST 2022), the distance is compared with the time for which blocks of the
/// first stream live, the mean of the last 16 of them. A shorter distance makes the page one of the
/// first stream. Each further stream has four times the bound of the one before, and the last has no
/// bound: pages that are written for the first time belong there.
#[derive(Clone, Debug, Default)]
pub struct UpdateDistance {
    streams: u8,
    // For each page the number of the write that wrote it last, counted from 1; 0 for none. It counts modulo
    // 2^32.
    written: Vec<u32>,
    // The mean life of the first stream's blocks; `None` before it is known.
    life: Option<u64>,
    // Lives that the next mean is made of: their sum and number.
    lives: (u64, u32),
}

/// The number of lives that a mean is made of.
const LIVES: u32 = 16;
/// How many times as long the bound of a stream is as that of the one before.
const FACTOR: u64 = 4;

impl StreamPolicy for UpdateDistance {
    fn prepare(&mut self, streams: u8, pages: u32) {
        *self = UpdateDistance { streams, written: vec![0; pages as usize], ..UpdateDistance::default() };
    }
    fn choose(&mut self, write: &HostWrite) -> u8 {
        let last = self.streams.saturating_sub(1);
        let now = write.writes as u32;
        let Some(written) = self.written.get_mut(write.page.0 as usize) else { return last };
        let before = core::mem::replace(written, now.wrapping_add(1).max(1));
        if before == 0 {
            return last;
        }
        let distance = u64::from(now.wrapping_sub(before.wrapping_sub(1)));
        // Until the first blocks have been emptied, all that is written again belongs to the first stream.
        let Some(mut bound) = self.life else { return 0 };
        for stream in 0..last {
            if distance < bound {
                return stream;
            }
            bound = bound.saturating_mul(FACTOR);
        }
        last
    }
    fn emptied(&mut self, block: &EmptiedBlock) {
        if block.stream != 0 {
            return;
        }
        let (sum, count) = &mut self.lives;
        (*sum, *count) = (sum.saturating_add(block.lived), *count + 1);
        if *count == LIVES {
            self.life = Some(*sum / u64::from(LIVES));
            self.lives = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Lpn;

    fn by_distance(streams: u8, life: u64) -> UpdateDistance {
        let mut policy = UpdateDistance::default();
        policy.prepare(streams, 10);
        for _ in 0..LIVES {
            policy.emptied(&EmptiedBlock { stream: 0, lived: life });
        }
        policy
    }
    /// The stream of a page that was written `distance` writes ago.
    fn of(policy: &mut UpdateDistance, first: u64, distance: u64) -> u8 {
        policy.choose(&HostWrite { page: Lpn(3), writes: first, named: 0 });
        policy.choose(&HostWrite { page: Lpn(3), writes: first + distance, named: 0 })
    }

    #[test]
    fn pages_that_are_written_again_soon_are_kept_apart() {
        let mut two = by_distance(2, 100);
        assert_eq!(
            two.choose(&HostWrite { page: Lpn(1), writes: 0, named: 0 }),
            1,
            "written for the first time"
        );
        assert_eq!([1, 99, 100, 5000].map(|distance| of(&mut two, 1000, distance)), [0, 0, 1, 1]);
        let mut four = by_distance(4, 100);
        let distances = [99, 100, 399, 400, 1599, 1600, 9_999];
        assert_eq!(distances.map(|distance| of(&mut four, 1000, distance)), [0, 1, 1, 2, 2, 3, 3]);
        let wraps = u64::from(u32::MAX) - 40;
        assert_eq!([80, 120].map(|distance| of(&mut two, wraps, distance)), [0, 1], "past 2^32 writes");
        assert_eq!(
            two.choose(&HostWrite { page: Lpn(10), writes: 7, named: 0 }),
            1,
            "beyond the drive's pages"
        );
    }

    #[test]
    fn the_bound_is_the_mean_life_of_the_first_stream_s_last_blocks() {
        let mut policy = UpdateDistance::default();
        policy.prepare(2, 10);
        assert_eq!(of(&mut policy, 1, 1_000_000), 0, "nothing is known yet");
        for lived in 0..u64::from(LIVES) {
            assert_eq!(policy.life, None);
            policy.emptied(&EmptiedBlock { stream: 1, lived: 9_999 });
            policy.emptied(&EmptiedBlock { stream: 0, lived: 10 * lived });
        }
        assert_eq!(policy.life, Some(75));
        (0..LIVES).for_each(|_| policy.emptied(&EmptiedBlock { stream: 0, lived: 20 }));
        assert_eq!(policy.life, Some(20), "the last ones alone");
    }
}
