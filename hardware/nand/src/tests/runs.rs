//! Address latches in one call have the same effect as one call for each.

use super::bench::*;
use alloc::vec::Vec;
use aster_ports::package::{Package, ProtocolError};
use aster_txn::Latch;
use aster_units::{Content, Duration, Instant};
use proptest::prelude::*;

/// The default of [`Package::addresses`]: one call of `latch` for each.
fn one_by_one(
    package: &mut impl Package,
    first: Instant,
    cycle: Duration,
    values: &[u8],
) -> Result<(), (usize, ProtocolError)> {
    values.iter().enumerate().try_for_each(|(i, &value)| {
        package.latch(first + cycle * i as u64, Latch::Address(value)).map_err(|error| (i, error))
    })
}

#[derive(Clone, Debug)]
enum Step {
    Command(u8),
    Addresses(Vec<u8>),
    Status,
}

fn step() -> impl Strategy<Value = Step> {
    let known =
        [0x00, 0x30, 0x05, 0xe0, 0x06, 0x80, 0x85, 0x10, 0x60, 0xd0, 0x70, 0x78, 0x90, 0xec, 0xef, 0xff];
    prop_oneof![
        4 => proptest::sample::select(known.to_vec()).prop_map(Step::Command),
        4 => proptest::collection::vec(prop_oneof![3 => 0u8..8, 1 => any::<u8>()],
            1..7).prop_map(Step::Addresses),
        1 => Just(Step::Status),
    ]
}

proptest! {
    #[test]
    fn a_run_of_addresses_is_so_many_latches(
        steps in proptest::collection::vec((step(), prop_oneof![Just(20u64), Just(120), Just(3_000_000)]),
            1..60),
    ) {
        let (mut runs, _) = one(config(Content::Fingerprint));
        let (mut latches, _) = one(config(Content::Fingerprint));
        let cycle = Duration::from_nanos(100);
        let mut now = Instant::ZERO + Duration::from_micros(10);
        for (step, gap) in steps {
            now += Duration::from_nanos(gap);
            match step {
                Step::Command(value) => {
                    let by_run = runs.package.latch(now, Latch::Command(value));
                    prop_assert_eq!(by_run, latches.package.latch(now, Latch::Command(value)));
                }
                Step::Addresses(values) => {
                    let by_run = runs.package.addresses(now, cycle, &values);
                    prop_assert_eq!(by_run, one_by_one(&mut latches.package, now, cycle, &values));
                    now += cycle * (values.len() as u64 - 1);
                }
                Step::Status => {
                    (runs.now, latches.now) = (now, now);
                    prop_assert_eq!(runs.try_out(2), latches.try_out(2));
                    now = runs.now;
                }
            }
        }
    }
}
