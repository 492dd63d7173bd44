//! The gate (design §4): the same seeded stream of legal operations on the timed model and on RTL gives the
//! same bus cycles, bytes, status and durations to the clock cycle.
//!
//! `ASTER_LONG=1` runs 10⁵ operations instead of hundreds. A failure prints the setting, with its seed, and
//! where the two buses begin to differ.

use crate::bench::{Bench, Hardware, Order, Seen, Setting};
use crate::stream::{self, Outcome};
use aster_ports::layout::Placement;
use aster_units::{Duration, Rng};
use aster_wire::onfi::DataInterface;

/// Operations per LUN in one run. A long test has more per run, or it would spend most of its time on
/// bringing packages up.
const OPERATIONS: u32 = 6;
const OPERATIONS_OF_LONG_RUN: u32 = 60;
/// All operations of a long test.
const LONG_OPERATIONS: u64 = 100_000;

struct Run {
    bus: Vec<Seen>,
    outcomes: Vec<Outcome>,
    checksum: u64,
    stats: aster_channel::ChannelStats,
}

fn run(hardware: Hardware, setting: &Setting) -> Run {
    let bench = Bench::new(hardware, setting);
    bench.bring_up();
    let operations = if is_long() { OPERATIONS_OF_LONG_RUN } else { OPERATIONS };
    let outcomes = stream::run(&bench, setting.seed, operations);
    let bus = bench.log.take();
    Run { bus, outcomes, checksum: bench.checksum(), stats: bench.stats() }
}

/// Runs the stream on both channels and compares them. Returns the number of operations.
fn compare(setting: &Setting) -> u64 {
    let (timed, rtl) = (run(Hardware::Timed, setting), run(Hardware::Rtl, setting));
    if let Some(at) = first_difference(&timed.bus, &rtl.bus) {
        let around = |bus: &[Seen]| -> String {
            let lines = bus.iter().enumerate().skip(at.saturating_sub(12)).take(18);
            lines.map(|(i, seen)| format!("{} {seen}\n", if i == at { '>' } else { ' ' })).collect()
        };
        panic!(
            "{setting:?}\nthe buses differ\ntimed model:\n{}RTL:\n{}",
            around(&timed.bus),
            around(&rtl.bus)
        );
    }
    for (timed, rtl) in timed.outcomes.iter().zip(&rtl.outcomes) {
        assert_eq!(timed, rtl, "timed model, then RTL, in {setting:?}");
    }
    assert_eq!(timed.outcomes.len(), rtl.outcomes.len(), "{setting:?}");
    // Operations must succeed: a stream that fails on both in the same way would compare little.
    for outcome in &timed.outcomes {
        assert!(!outcome.answer.contains("Err("), "a legal operation failed: {outcome:?} in {setting:?}");
    }
    assert_eq!(timed.checksum, rtl.checksum, "the buffers differ in {setting:?}");
    assert_eq!(timed.stats, rtl.stats, "{setting:?}");
    timed.outcomes.len() as u64
}

fn first_difference(timed: &[Seen], rtl: &[Seen]) -> Option<usize> {
    let common = timed.iter().zip(rtl).position(|(a, b)| a != b);
    common.or_else(|| (timed.len() != rtl.len()).then_some(timed.len().min(rtl.len())))
}

/// All interfaces with all their timing modes.
fn modes() -> impl Iterator<Item = (DataInterface, u8)> {
    [(DataInterface::Sdr, 6), (DataInterface::NvDdr, 6), (DataInterface::NvDdr2, 8)]
        .into_iter()
        .flat_map(|(interface, modes)| (0..modes).map(move |mode| (interface, mode)))
}

fn setting(interface: DataInterface, mode: u8, seed: u64) -> Setting {
    let mut rng = Rng::new(seed);
    let mut setting = Setting { seed, ..Setting::of(interface, mode) };
    // From slower than any bus to faster than all of them.
    let rates = [0, 5_000_000, 40_000_000, 150_000_000, 600_000_000, 3_000_000_000];
    setting.memory = rates[rng.below(rates.len() as u64) as usize];
    // The clock that the RTL is designed for, a slower one, a faster one, and one that doesn't divide evenly.
    let periods = [10_000, 10_000, 7_500, 20_000, 8_333];
    setting.clock.period = Duration::from_picos(periods[rng.below(periods.len() as u64) as usize]);
    if rng.below(2) == 0 {
        setting.placement = Placement::Spare;
    }
    if rng.below(2) == 0 {
        setting.errors.fresh = 2e-4;
    }
    // Cores whose software takes no time, less than a cycle of the channel, or more.
    setting.costs.transaction = [0, 3, 47, 400][rng.below(4) as usize];
    setting.order = Order::ALL[rng.below(Order::ALL.len() as u64) as usize];
    setting
}

fn is_long() -> bool {
    std::env::var("ASTER_LONG").as_deref() == Ok("1")
}

fn gate(interface: DataInterface) {
    let ours: Vec<_> = modes().filter(|mode| mode.0 == interface).collect();
    let wanted = if is_long() { LONG_OPERATIONS } else { 1 };
    let wanted = (wanted * ours.len() as u64).div_ceil(modes().count() as u64);
    let (mut done, mut round) = (0, 0);
    while round == 0 || done < wanted {
        for &(interface, mode) in &ours {
            done += compare(&setting(interface, mode, 1000 * round + u64::from(mode) + 1));
        }
        round += 1;
    }
}

#[test]
fn sdr_is_the_same_on_both() {
    gate(DataInterface::Sdr);
}

#[test]
fn nv_ddr_is_the_same_on_both() {
    gate(DataInterface::NvDdr);
}

#[test]
fn nv_ddr2_is_the_same_on_both() {
    gate(DataInterface::NvDdr2);
}
