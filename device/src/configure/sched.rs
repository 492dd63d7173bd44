//! The flash schedulers (`firmware/sched`).

use super::times::nanos;
use crate::profile::{ControllerName, Profile, READS_FIRST};
use aster_flash::FlashConfig;
use aster_parties::{TaskScheduler, Tasks};
use aster_sched::cosmos::{LoopConfig, LoopCosts};
use aster_sched::fil::{FilConfig, FilCosts};
use aster_sched::{PackageLimit, Policy, RetryConfig, WorkersConfig};
use aster_units::Duration;

/// The drive's task scheduler: the reader's own, or the one that the profile names.
pub(crate) fn tasks(profile: &Profile, own: Option<Box<dyn TaskScheduler>>) -> Tasks {
    // A scheduler that isn't made of workers leaves nothing to choose below it.
    let policy = if profile.scheduler.policy == READS_FIRST { Policy::ReadsFirst } else { Policy::Fifo };
    let geometry = profile.array_geometry();
    let packages = u32::from(geometry.channels) * u32::from(geometry.ways);
    let ours = || -> Box<dyn TaskScheduler> {
        match profile.scheduler.package_operations_max {
            0 => Box::new(policy),
            operations_max => Box::new(PackageLimit { inner: policy, operations_max }),
        }
    };
    let scheduler = own.unwrap_or_else(ours);
    Tasks::new(scheduler, packages)
}

/// How long a core waits for an access to a register: for each bus there and back.
pub(super) fn register_access(profile: &Profile) -> Duration {
    let b = &profile.board.buses;
    let crossing = |mhz: f64| match b.register_cycles {
        0.0 => Duration::ZERO,
        cycles => Duration::from_nanos_f64(cycles * 1e3 / mhz),
    };
    (crossing(b.processor_mhz) + crossing(b.central_mhz) + crossing(b.control_mhz)) * 2
}

/// What workers do beside carrying out one request after the other.
pub(crate) fn workers(profile: &Profile, flash: &FlashConfig) -> WorkersConfig {
    let retries = RetryConfig {
        times: profile.scheduler.read_retries,
        levels: flash.variant.commands.read_retry,
        geometry: profile.array_geometry(),
    };
    WorkersConfig { retries, suspends: profile.scheduler.suspends }
}

/// The big loop of a profile that has one.
pub(crate) fn big_loop(profile: &Profile, flash: &FlashConfig) -> LoopConfig {
    let c = &profile.costs;
    let longest = |times: [Duration; 3]| times.into_iter().fold(Duration::ZERO, Duration::max);
    let patience = |typical: Duration| typical * u64::from(flash.poll.patience);
    LoopConfig {
        geometry: profile.array_geometry(),
        polled: profile.channel.controller != ControllerName::Software,
        read_retries: profile.scheduler.read_retries,
        read_levels: flash.variant.commands.read_retry,
        auto_completion: profile.host.auto_completion,
        one_shot: profile.scheduler.one_shot,
        costs: LoopCosts {
            pass: c.loop_pass,
            status: c.loop_status,
            compare: c.loop_compare,
            issue: c.loop_issue,
            finish: c.loop_finish,
        },
        register_access: register_access(profile),
        memory_access: nanos(profile.board.uncached_ns),
        give_up: [
            longest(flash.t_r),
            longest(flash.t_prog).max(flash.variant.one_shot_program),
            flash.t_bers,
        ]
        .map(patience),
    }
}

/// The flash interface layer of a profile that has one.
pub(crate) fn interface_layer(profile: &Profile, flash: &FlashConfig) -> FilConfig {
    let c = &profile.costs;
    FilConfig {
        flash: *flash,
        polled: profile.channel.controller != ControllerName::Software,
        multi_plane: profile.scheduler.multi_plane,
        read_retries: profile.scheduler.read_retries,
        pause: nanos(profile.scheduler.poll_ns),
        costs: FilCosts {
            take: c.fil_take,
            dispatch: c.fil_dispatch,
            poll: c.fil_poll,
            finish: c.fil_finish,
        },
    }
}
