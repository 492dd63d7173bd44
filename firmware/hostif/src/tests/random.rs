//! Random registers, doorbells and entries never panic, and afterwards the controller can be reset and used.

use super::bench::{Bench, DATA, config};
use super::pause::Disk;
use crate::HostIfConfig;
use alloc::rc::Rc;
use alloc::vec;
use aster_units::Duration;
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::{AdminOpcode, IoOpcode, Sqe};
use proptest::prelude::*;
use zerocopy::FromBytes;

#[derive(Clone, Debug)]
enum Act {
    Write {
        offset: u32,
        size: u8,
        value: u64,
    },
    Configure(u32),
    Doorbell {
        index: u32,
        value: u32,
    },
    Command {
        queue: u16,
        bytes: [u8; 32],
        low: bool,
    },
    Ring(u16),
    Reap(u16),
    Pause(bool),
    Hold(bool),
    Run(u64),
    /// There is no room, bytes are owed.
    Disk(bool, bool),
    FunctionReset,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        1 => (0u32..0x1400, 0u8..10, any::<u64>())
            .prop_map(|(offset, size, value)| Act::Write { offset, size, value }),
        1 => prop_oneof![Just(0x0046_0001u32), Just(0x0046_0000), Just(0x0046_4001), any::<u32>()]
            .prop_map(Act::Configure),
        3 => (0u32..14, 0u32..80).prop_map(|(index, value)| Act::Doorbell { index, value }),
        60 => (0u16..3, any::<[u8; 32]>(), any::<bool>())
            .prop_map(|(queue, bytes, low)| Act::Command { queue, bytes, low }),
        30 => (0u16..3).prop_map(Act::Ring),
        20 => (0u16..3).prop_map(Act::Reap),
        4 => any::<bool>().prop_map(Act::Pause),
        4 => any::<bool>().prop_map(Act::Hold),
        20 => (0u64..50).prop_map(Act::Run),
        4 => any::<(bool, bool)>().prop_map(|(full, owes)| Act::Disk(full, owes)),
        1 => Just(Act::FunctionReset),
    ]
}

/// An entry whose fields are mostly in the range where something happens.
fn entry(queue: u16, bytes: [u8; 32], low: bool) -> Sqe {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if !low {
        let mut all = [0; 64];
        all[..32].copy_from_slice(&bytes);
        all[32..].copy_from_slice(&bytes);
        return Sqe::read_from_bytes(&all).unwrap();
    }
    let pick = usize::from(bytes[0]);
    let opcode = if queue == 0 {
        AdminOpcode::ALL[pick % AdminOpcode::ALL.len()].raw()
    } else {
        IoOpcode::ALL[pick % IoOpcode::ALL.len()].raw()
    };
    let address = |raw: u32| DATA + u64::from(raw % 0x40_0000) / 4 * 4;
    Sqe::new(opcode, u32::from(bytes[1] % 3))
        .with_prps(address(word(4)), address(word(8)) & !if bytes[2] & 1 == 0 { 0xfff } else { 0 })
        .with_dword(10, word(12) & 0x003f_ffff)
        .with_dword(11, word(16) & if queue == 0 { 0x0007_0007 } else { 0x7 })
        .with_dword(12, word(20) & 0x0000_0fff)
}

fn perform(bench: &mut Bench, disk: &Disk, act: Act) {
    match act {
        Act::Write { offset, size, value } => {
            let _ = bench.front.mmio_read(offset, size);
            bench.front.mmio_write(offset, size, value);
        }
        Act::Configure(value) => bench.front.mmio_write(0x14, 4, value.into()),
        Act::Doorbell { index, value } => bench.front.mmio_write(0x1000 + 4 * index, 4, value.into()),
        Act::Command { queue, bytes, low } => {
            bench.push(queue, entry(queue, bytes, low));
        }
        Act::Ring(queue) => bench.ring(queue),
        Act::Reap(queue) => {
            bench.reap(queue, true);
        }
        Act::Pause(on) => bench.ftl.paused.set(on),
        Act::Hold(on) => bench.hold_link = on,
        Act::Run(micros) => bench.run_for(Duration::from_micros(micros)),
        Act::Disk(full, owes) => {
            disk.full.set(full);
            disk.owed.set(owes.into());
            bench.front.look_at_room();
        }
        Act::FunctionReset => bench.front.function_reset(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..Default::default() })]
    #[test]
    fn nothing_a_host_does_breaks_the_controller(
        acts in proptest::collection::vec(act(), 0..150),
        fetch in 0u64..3,
        slots in 1u16..12,
        auto_completion: bool,
        lingers in 0u64..20,
    ) {
        let mut bench = Bench::ready(HostIfConfig {
            fetch_latency: Duration::from_micros(fetch),
            completion_latency: Duration::from_micros(2 - fetch),
            slots,
            auto_completion,
            fetch_batch: 3,
            ..config()
        });
        bench.create_pair(2, 8);
        bench.ftl.lingers.set(Duration::from_micros(lingers));
        let disk = Rc::new(Disk::default());
        bench.front.pause_with(Some(disk.clone()));
        acts.into_iter().for_each(|act| perform(&mut bench, &disk, act));
        bench.ftl.paused.set(false);
        perform(&mut bench, &disk, Act::Disk(false, false));
        bench.release_link();
        bench.disable();
        bench.run_for(Duration::from_millis(1));
        prop_assert!(!bench.csts().rdy());
        prop_assert_eq!(bench.front.controller().commands_in_flight(), 0);
        bench.enable();
        bench.create_pair(1, 64);
        let block = IoCommand::Write(BlockRange::new(0, 1)).to_sqe(1, 0, DATA, 0);
        prop_assert!(bench.status(1, block).is_success());
    }
}
