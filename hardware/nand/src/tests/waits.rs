//! Violates each wait by a nanosecond, and keeps it to the nanosecond. SDR mode 0 (ONFI 5.1, chapter 4):
//! tADL 400 ns, tRHW 200 ns, tWB 200 ns, tWHR 120 ns, tRR 40 ns, tCEH 20 ns; tCCS 300 ns comes from the
//! configuration.

use super::bench::*;
use aster_ports::package::{BurstTiming, DataIn, DataMode, Package, ProtocolError};
use aster_txn::Latch;
use aster_units::{Content, Duration, Instant};

const ZERO: Duration = Duration::ZERO;

/// `prepare` leaves the bus right before the tested edge; `edge` tries that edge at a time after the last
/// one.
fn boundary(
    parameter: &'static str,
    nanos: u64,
    prepare: impl Fn(&mut Bus),
    edge: impl Fn(&mut Bus) -> Result<(), ProtocolError>,
) {
    let needed = Duration::from_nanos(nanos);
    for (short, legal) in [(1, false), (0, true)] {
        let (mut bus, _) = one(config(Content::Full));
        prepare(&mut bus);
        let found = Duration::from_nanos(nanos - short);
        bus.gap = ZERO;
        bus.wait(found);
        let got = edge(&mut bus);
        if legal {
            assert_eq!(got, Ok(()), "{parameter} of {nanos} ns is enough");
        } else {
            assert_eq!(got, Err(ProtocolError::Wait { parameter, needed, found }));
        }
    }
}

fn prepare_register(bus: &mut Bus) {
    bus.start_read(0, 0).until_ready();
}

#[test]
fn t_wb_from_the_confirm_to_the_next_latch() {
    boundary(
        "tWB",
        200,
        |bus| {
            bus.start_read(0, 0);
        },
        |bus| bus.try_cmd(0x70),
    );
    boundary(
        "tWB",
        200,
        |bus| {
            bus.cmd(0xff);
        },
        |bus| bus.try_cmd(0x70),
    );
    boundary(
        "tWB",
        200,
        |bus| {
            bus.cmd(0xef).addr(&[0x10]).bytes_in(&[2, 0, 0, 0]);
        },
        |bus| bus.try_cmd(0x70),
    );
}

#[test]
fn t_whr_from_a_latch_to_data_out() {
    boundary(
        "tWHR",
        120,
        |bus| {
            bus.cmd(0x70);
        },
        |bus| bus.try_out(1).map(drop),
    );
    boundary(
        "tWHR",
        120,
        |bus| {
            bus.cmd(0x90).addr(&[0x20]);
        },
        |bus| bus.try_out(4).map(drop),
    );
    boundary(
        "tWHR",
        120,
        |bus| {
            prepare_register(bus);
            bus.cmd(0x00);
        },
        |bus| bus.try_out(16).map(drop),
    );
}

#[test]
fn t_ccs_from_a_column_change_to_data() {
    boundary(
        "tCCS",
        300,
        |bus| {
            prepare_register(bus);
            bus.cmd(0x05).addr(&[0, 0]).cmd(0xe0);
        },
        |bus| bus.try_out(16).map(drop),
    );
    boundary(
        "tCCS",
        300,
        |bus| {
            bus.cmd(0x80).addr(&[0; 5]).bytes_in(&[1]).cmd(0x85).addr(&[5, 0]);
        },
        |bus| bus.try_bytes_in(&[1]),
    );
}

#[test]
fn t_ccs_does_not_hold_up_a_status_read() {
    let (mut bus, _) = one(config(Content::Full));
    prepare_register(&mut bus);
    bus.cmd(0x00).cmd(0x05).addr(&[0, 0]).cmd(0xe0);
    bus.gap = Duration::from_nanos(120);
    assert_eq!(bus.status(), 0xe0, "240 ns after E0h");
}

#[test]
fn t_adl_from_the_address_to_data_in() {
    boundary(
        "tADL",
        400,
        |bus| {
            bus.cmd(0x80).addr(&[0; 5]);
        },
        |bus| bus.try_bytes_in(&[1]),
    );
    // B11: also in SET FEATURES.
    boundary(
        "tADL",
        400,
        |bus| {
            bus.cmd(0xef).addr(&[0x10]);
        },
        |bus| bus.try_bytes_in(&[2, 0, 0, 0]),
    );
}

#[test]
fn t_rhw_from_data_out_to_the_next_latch() {
    boundary(
        "tRHW",
        200,
        |bus| {
            bus.cmd(0x70).out(1);
        },
        |bus| bus.try_cmd(0x00),
    );
}

#[test]
fn t_rr_from_ready_to_data_out() {
    let read_at = Instant::from_picos(10_000_000);
    for (nanos, legal) in [(39, false), (40, true)] {
        let (mut bus, _) = one(config(Content::Full));
        bus.cmd(0x00).addr(&[0; 5]);
        bus.package.latch(read_at, Latch::Command(0x30)).unwrap();
        // tR of an LSB page is 58 µs. The controller watches R/B#.
        let first = read_at + Duration::from_micros(58) + Duration::from_nanos(nanos);
        let got = bus.package.data_out(BurstTiming { first, last: first, mode: DataMode::Sdr }, 16, |_| ());
        let wait = ProtocolError::Wait {
            parameter: "tRR",
            needed: Duration::from_nanos(40),
            found: Duration::from_nanos(nanos),
        };
        assert_eq!(got, if legal { Ok(()) } else { Err(wait) });
    }
}

#[test]
fn t_ceh_between_two_selections() {
    boundary(
        "tCEH",
        20,
        |bus| {
            let at = bus.now;
            bus.package.select(at, false).unwrap();
        },
        |bus| {
            let at = bus.now;
            bus.package.select(at, true)
        },
    );
}

#[test]
fn t_itc_from_a_mode_change_to_the_next_burst() {
    let switch = |bus: &mut Bus| {
        bus.cmd(0xef).addr(&[0x01]).bytes_in(&[0x20, 0, 0, 0]);
        bus.mode = DataMode::NvDdr2;
        bus.gap = Duration::from_nanos(300);
        bus.cmd(0x70);
    };
    let (mut bus, _) = one(config(Content::Full));
    switch(&mut bus);
    let needed = Duration::from_micros(1);
    let wait = ProtocolError::Wait { parameter: "tITC", needed, found: Duration::from_nanos(600) };
    assert_eq!(bus.try_out(1), Err(wait));
    bus.wait(needed);
    assert_eq!(bus.status(), 0xe0);
}

#[test]
fn waits_are_those_of_the_mode_in_force() {
    // SDR mode 5: tWHR 80 ns.
    let (mut bus, _) = one(config(Content::Full));
    bus.cmd(0xef).addr(&[0x01]).bytes_in(&[0x05, 0, 0, 0]).wait(Duration::from_micros(2));
    bus.cmd(0x70);
    bus.gap = Duration::from_nanos(80);
    assert_eq!(bus.out(1).bytes(), [0xe0]);
    bus.gap = Duration::from_micros(1);
    bus.cmd(0x70);
    bus.gap = Duration::from_nanos(79);
    assert!(matches!(bus.try_out(1), Err(ProtocolError::Wait { parameter: "tWHR", .. })));
}

#[test]
fn a_burst_in_another_mode_is_an_error_both_ways() {
    let (mut bus, _) = one(config(Content::Full));
    bus.mode = DataMode::NvDdr2;
    bus.cmd(0x70);
    assert_eq!(bus.try_out(1), Err(ProtocolError::DataMode));
    bus.cmd(0x80).addr(&[0; 5]);
    let timing = bus.timing();
    assert_eq!(bus.package.data_in(timing, 1, DataIn::Bytes(&[0])), Err(ProtocolError::DataMode));
}
