//! The channels (`hardware/channel`).

use super::error::{BuildError, value};
use super::onfi::interface;
use super::ports::layout;
use super::times::nanos;
use crate::profile::{CorrectionName, Profile};
use aster_channel::{
    BusTiming, ClockTooFast, Correction, CycleTable, Ecc, EngineClock, EngineConfig, KeySolver, MemoryWays,
    SharedSolver, StageConfig,
};
use aster_ports::package::Interface;
use aster_ports::resource::{Bandwidth, SharedBandwidth};
use aster_units::Duration;
use aster_wire::onfi::{DataInterface, Timing};

pub(crate) fn clock(profile: &Profile) -> EngineClock {
    EngineClock {
        period: Duration::from_nanos_f64(profile.channel.clock_ns),
        fifo_latency: profile.channel.fifo_cycles,
        gap: profile.channel.gap_cycles,
    }
}

fn timing_of(profile: &Profile, interface: DataInterface, mode: u8) -> Result<BusTiming, BuildError> {
    let timing = Timing::of(interface, mode).map_err(|e| value("channel.timing_mode", e))?;
    let bus = BusTiming::of_onfi(&timing, nanos(profile.package.column_change_ns));
    Ok(match profile.channel.rate_mt_s {
        Some(rate) => bus.at_most(u64::from(rate) * 1_000_000),
        None => bus,
    })
}

/// The bus after bring-up.
pub(crate) fn bus_timing(profile: &Profile) -> Result<BusTiming, BuildError> {
    let (fast, _) = interface(profile.channel.data_interface);
    timing_of(profile, fast, profile.channel.timing_mode)
}

/// The key that makes an entry of a cycle table too large. If the profile sets that time itself, it is the
/// time's own key.
fn too_long(profile: &Profile, error: &ClockTooFast) -> BuildError {
    let chosen = match error.entry {
        "t_ccs" => Some("package.column_change_ns"),
        "gap" => Some("channel.gap_cycles"),
        "byte_phases_out" | "byte_phases_in" => profile.channel.rate_mt_s.map(|_| "channel.rate_mt_s"),
        _ => None,
    };
    match chosen {
        Some(key) => {
            let clock = profile.channel.clock_ns;
            let entry = error.entry;
            value(
                key,
                format!(
                    "takes more cycles of channel.clock_ns, {clock} ns, than the controller's register \
                     '{entry}' can count"
                ),
            )
        }
        None => value("channel.clock_ns", error),
    }
}

pub(crate) fn engine(
    profile: &Profile,
    memory: &SharedBandwidth,
    solver: Option<SharedSolver>,
) -> Result<EngineConfig, BuildError> {
    let layout = layout(profile)?;
    let clock = clock(profile);
    let table = |bus: &BusTiming| CycleTable::new(bus, &clock).map_err(|e| too_long(profile, &e));
    let mut tables = vec![table(&bus_timing(profile)?)?];
    if tables[0].interface != Interface::POWER_ON {
        tables.push(table(&timing_of(profile, DataInterface::Sdr, 0)?)?);
    }
    let e = &profile.ecc;
    let way = |mb_per_s: f64| match (mb_per_s * 1e6) as u64 {
        0 => SharedBandwidth::clone(memory),
        limited => Bandwidth::behind(limited, memory),
    };
    Ok(EngineConfig {
        clock,
        tables,
        stages: StageConfig {
            layout,
            ecc: Ecc::detected_by(e.detector.into(), e.field, e.designed, e.corrected, &layout)
                .map_err(|e| value("ecc", e))?,
            correction: match e.correction {
                CorrectionName::Hardware => Correction::InHardware,
                CorrectionName::OnDemand => Correction::OnDemand,
            },
            detect_latency: nanos(e.detect_ns),
            correct_latency: nanos(e.correct_ns),
            solver,
        },
        longest_burst: profile.array_geometry().raw_page_bytes(),
        memory: MemoryWays {
            read: way(profile.board.buses.channel_read_mb_per_s),
            write: way(profile.board.buses.channel_write_mb_per_s),
        },
    })
}

/// The key equation solver of each channel: neighbours share one, or none does (C22).
pub(crate) fn solvers(profile: &Profile) -> Vec<Option<SharedSolver>> {
    let (e, channels) = (&profile.ecc, usize::from(profile.array_geometry().channels));
    let shared = usize::from(e.solver_channels);
    if shared == 0 {
        return vec![None; channels];
    }
    let solvers: Vec<_> =
        (0..channels.div_ceil(shared)).map(|_| KeySolver::new(nanos(e.solver_ns))).collect();
    (0..channels).map(|channel| Some(SharedSolver::clone(&solvers[channel / shared]))).collect()
}
