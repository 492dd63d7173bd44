//! A drive made small enough that all of it is written, and read back at each loss of power.

use aster_device::profile::Profile;
use aster_device::{Media, Pieces};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_units::Content;

/// Over-provisioning that is tried where a small drive has no room with its own: percent.
const MORE_ROOM: [f64; 6] = [15.0, 20.0, 25.0, 30.0, 40.0, 60.0];
/// A drive of this much flash is small enough: bytes.
const SMALL_ENOUGH: u64 = 8 << 30;
/// Ways and blocks per LUN of a small drive. It has all its channels.
const SMALL_WAYS: u8 = 2;
const SMALL_BLOCKS: u32 = 32;

/// Keys of a profile, as `--set` takes them, that make its drive small enough to be tortured as a whole:
/// fewer ways and blocks per LUN, and more over-provisioning where those are too few for the FTL. None if
/// its flash is small enough, if the profile says itself how many blocks are used, or if no smaller drive
/// comes up.
pub fn smaller_drive(
    pieces: &dyn Fn() -> Pieces,
    name: &str,
    profile: &Profile,
    content: Option<Content>,
) -> Vec<String> {
    let used = profile.used_geometry();
    let flash = used.total_pages() * u64::from(used.page_bytes);
    if flash <= SMALL_ENOUGH || profile.restrict.blocks_per_lun.is_some() {
        return Vec::new();
    }
    let comes_up = |profile: &Profile| {
        let config = Config {
            queue_pairs: 1,
            depth: Config::default().depth.min(profile.host.queue_entries - 1),
            vectors: 2,
            ..Config::default()
        };
        let recorder = Recorder::default();
        Machine::power_on_with(pieces(), name, profile, content, Media::fresh(), &recorder, config)
            .is_ok_and(|machine| machine.boot().is_ok())
    };
    let mut tried = profile.clone();
    let mut keys = Vec::new();
    if used.ways > SMALL_WAYS {
        tried.restrict.ways = Some(SMALL_WAYS);
        keys.push(format!("restrict.ways={SMALL_WAYS}"));
    }
    let planes = u32::from(used.planes.max(1));
    let mut blocks = SMALL_BLOCKS.next_multiple_of(planes);
    while blocks < used.blocks_per_lun {
        tried.restrict.blocks_per_lun = Some(blocks);
        keys.push(format!("restrict.blocks_per_lun={blocks}"));
        let own = profile.ftl.over_provisioning_percent;
        for percent in [own].into_iter().chain(MORE_ROOM.into_iter().filter(|&more| more > own)) {
            tried.ftl.over_provisioning_percent = percent;
            if comes_up(&tried) {
                if percent > own {
                    keys.push(format!("ftl.over_provisioning_percent={percent}"));
                }
                return keys;
            }
        }
        keys.pop();
        blocks *= 2;
    }
    Vec::new()
}
