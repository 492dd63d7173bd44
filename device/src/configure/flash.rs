//! Flash operations and the order of transactions (`firmware/flash`).

use super::error::BuildError;
use super::onfi::{commands, interface};
use super::ports::layout;
use super::times::{micros, nanos, per_type};
use crate::profile::{MESSAGE_UNIT, PackageProfile, Profile, PseudoSlcProfile, TransactionOrder};
use aster_flash::schedule::TransactionPolicy;
use aster_flash::{FlashConfig, FlashCosts, LunShape, PackageVariant, PollPolicy};
use aster_nand::ArrayTiming;
use aster_ports::package::Interface;
use aster_units::{CellMode, Duration};

/// The package's commands that firmware knows, and their times. A missing command gets the time of the
/// plain one.
pub(super) fn variant(p: &PackageProfile) -> PackageVariant {
    let longest = |times: &[f64]| times.iter().fold(0.0, |a: f64, b| a.max(*b));
    let slc = |of: fn(&PseudoSlcProfile) -> f64, plain: f64| micros(p.slc.as_ref().map_or(plain, of));
    PackageVariant {
        commands: commands(p),
        id: Some(p.id),
        slc_read: slc(|slc| slc.read_us, longest(&p.read_us)),
        slc_program: slc(|slc| slc.program_us, longest(&p.program_us)),
        slc_erase: slc(|slc| slc.erase_us, p.erase_us),
        one_shot_program: micros(p.one_shot.as_ref().map_or(longest(&p.program_us), |o| o.program_us)),
        suspend: p.suspend.as_ref().map_or(Duration::ZERO, |s| micros(s.latency_us)),
    }
}

pub(crate) fn flash(profile: &Profile) -> Result<FlashConfig, BuildError> {
    let p = &profile.package;
    let (_, mode) = interface(profile.channel.data_interface);
    Ok(FlashConfig {
        layout: layout(profile)?,
        shape: LunShape { geometry: profile.array_geometry(), cells: CellMode::from(p.cells) },
        t_r: per_type(&p.read_us),
        t_prog: per_type(&p.program_us),
        t_bers: micros(p.erase_us),
        t_rst: ArrayTiming::COSMOS_MLC.reset,
        variant: variant(p),
        interface: Interface { mode, timing_mode: profile.channel.timing_mode },
        scramble: profile.ecc.scrambler,
        poll: PollPolicy {
            interval: nanos(profile.poll.interval_ns),
            early: nanos(profile.poll.early_ns),
            patience: profile.poll.patience,
            // A NAND array controller waits once for a lane that doesn't answer (G25).
            for_good: profile.host.front_end == MESSAGE_UNIT,
        },
        costs: FlashCosts {
            request: profile.costs.flash_request,
            transaction: profile.costs.transaction,
            poll: profile.costs.poll,
        },
    })
}

/// Which transaction a channel's port takes next.
pub(crate) fn transactions(profile: &Profile) -> TransactionPolicy {
    match profile.scheduler.transactions {
        TransactionOrder::Fifo => TransactionPolicy::Fifo,
        TransactionOrder::RoundRobin => TransactionPolicy::RoundRobin,
        TransactionOrder::ByClass => TransactionPolicy::ByClass,
        TransactionOrder::ShortestFirst => TransactionPolicy::ShortestFirst,
        TransactionOrder::FairShare => TransactionPolicy::FairShare,
    }
}
