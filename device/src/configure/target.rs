//! What a profile with a target says of the drive below, of the controller before the target, and of times.

use crate::profile::{DEVICE, Profile, TargetProfile, TransportName, VENDOR};
use aster_units::Duration;

/// One way between the host's NVMe controller and its target. It can't be nothing: a host that sends
/// commands for a given time would never end.
pub(crate) const TARGET_LATENCY: Duration = Duration::from_nanos(1);

/// The target of a profile, which has one.
pub(crate) fn target(profile: &Profile) -> &TargetProfile {
    profile.target.as_ref().expect("the profile has a target")
}

/// The profile of the drive below a target.
pub(crate) fn below_target(profile: &Profile) -> Profile {
    Profile { target: None, ..profile.clone() }
}

/// The profile as the NVMe controller before a target sees it: queues, slots and sizes of commands are
/// those of `[host]`, but it is ours, has the NVM command set and costs no time.
pub(crate) fn before_target(profile: &Profile) -> Profile {
    let mut face = profile.clone();
    face.target = None;
    (face.link.vendor_id, face.link.device_id) = (VENDOR, DEVICE);
    let host = &mut face.host;
    host.front_end = "nvme".to_owned();
    // The FIFO is the drive's below.
    host.command_fifo = false;
    host.command_set = "nvm".to_owned();
    host.transport = TransportName::Link;
    host.register_packets = false;
    (host.fetch_ns, host.completion_ns, host.dma_ns) = (0, 0, 0);
    host.auto_completion = false;
    face
}

/// The least time that a command to a target takes.
pub(super) fn least_target_command(target: &TargetProfile) -> Duration {
    TARGET_LATENCY * 4 + Duration::from_nanos(target_command_ns(target))
}

/// The cycles that a target's core spends on a command.
pub(crate) fn target_command_ns(target: &TargetProfile) -> u64 {
    target.command_ns.unwrap_or(0).into()
}
