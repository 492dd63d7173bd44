//! The MCU's loop: what its steps cost, and what it holds back.

use super::*;

/// The costs of the paper's loop (H14), and round ones beside it.
const COSTS: McuCosts = McuCosts { pass: 112, command: 120, host_address: 12, status: 60, frame: 36 };
/// A cycle of 120 MHz in picoseconds, rounded up.
const CYCLE: u64 = 8_334;

const fn nop(id: u16, channel: u8) -> Command {
    Command::new(Opcode::Nop, id, channel, 0, Blocks::One { lane: 0, block: 0 })
}

/// H14: a command waits for the check that finds it, and is moved. The next pass finds its status, and the
/// check for enough of them, which is the last but one, asks for the frame.
#[test]
fn a_command_alone_takes_two_passes_of_the_mcu_but_a_check_and_the_wait_for_the_first() {
    let mut bench = Bench::with_costs(COSTS);
    let mut random = Rng::new(3);
    // Two controllers make seven checks.
    let before_frame = COSTS.pass / 7 * 6;
    let (passes, moved) = (COSTS.pass + before_frame, COSTS.command + COSTS.status + COSTS.frame);
    let mut waits = Vec::new();
    for id in 0..200 {
        let begun = bench.exec.now();
        bench.send(&[nop(id, 0)]);
        bench.run();
        let cycles = bench.told.since(begun).as_picos() / CYCLE;
        // The bus that scatters takes 51 ns.
        let (least, most) = (passes + moved, passes + moved + COSTS.pass + 8);
        assert!((least..=most).contains(&cycles), "{cycles} cycles, beside {least} to {most}");
        waits.push(cycles - least);
        assert_eq!(bench.statuses().len(), 1);
        let pause = Duration::from_nanos(random.below(5_000));
        bench.exec.advance_to(bench.exec.now() + pause);
    }
    // Commands come at any place of a pass.
    let spread = waits.iter().max().unwrap() - waits.iter().min().unwrap();
    assert!((COSTS.pass * 9 / 10..=COSTS.pass).contains(&spread), "{spread} cycles");
}

/// H15: each host address costs, and each command a pass.
#[test]
fn commands_cost_what_they_touch() {
    let took = |commands: &[Command]| {
        let mut bench = Bench::with_costs(COSTS);
        let begun = bench.exec.now();
        commands.chunks(4).for_each(|commands| bench.send(commands));
        bench.run();
        assert_eq!(bench.statuses().len(), commands.len());
        bench.told.since(begun).as_picos() / CYCLE
    };
    let with_runs = |runs: u64| -> Vec<Command> {
        let read = |id| {
            let mut read = Command::new(Opcode::Read, id, 0, 0, Blocks::One { lane: 0, block: 0 });
            let bytes = SECTOR / runs as u32;
            for run in 0..runs {
                read = read.with_host(HostAddress::of(DATA + run * u64::from(bytes), bytes));
            }
            read
        };
        (0..48).map(read).collect()
    };
    let (one, eight) = (took(&with_runs(1)), took(&with_runs(8)));
    let (least, most) = (48 * 7 * COSTS.host_address, 48 * 7 * COSTS.host_address + 4 * COSTS.pass);
    assert!((least..=most).contains(&(eight - one)), "{} more cycles", eight - one);
    let each = one / 48;
    let least = COSTS.pass + COSTS.command + COSTS.host_address + COSTS.status;
    assert!((least..=least + COSTS.frame).contains(&each), "{each} cycles a command");
}

/// H16, H18: a host that takes no status frame gets 16 of them. 128 entries wait in the drive, the rest in
/// the controllers' FIFOs and in the slots, and nothing is lost.
#[test]
fn a_host_that_takes_no_status_frame_stops_the_drive_and_loses_nothing() {
    for costs in [McuCosts::default(), COSTS] {
        let mut bench = Bench::with_costs(costs);
        let config = StatusConfig(0).with_entries(1).with_timeout_us(0);
        bench.unit.write(0, registers::STATUS_CONFIG, 4, config.0.into());
        // A frame in the FIFO at a time, so that it doesn't overflow.
        let mut sent = 0u16;
        while sent < 384 {
            let commands: Vec<Command> = (sent..sent + 16).map(|id| nop(id, (id % 2) as u8)).collect();
            bench.send(&commands);
            sent += 16;
            bench.run();
        }
        assert_eq!(bench.register(registers::STATUS_TAIL, 4), 16);
        assert_eq!(bench.unit.commands_in_flight(), 64, "all slots are taken");
        // 16 frames of one entry at least, 128 in the ring, and what is left waits in slots and frames.
        let completed = bench.unit.completed();
        assert!((144..=384 - 64).contains(&completed), "{completed}");
        let mut ids = Vec::new();
        while ids.len() < usize::from(sent) {
            let more = bench.statuses();
            assert!(!more.is_empty(), "{} of {sent} statuses", ids.len());
            ids.extend(more.iter().map(|entry| entry.id.get()));
            bench.run();
        }
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..sent));
        assert_eq!((bench.unit.commands_in_flight(), bench.unit.completed()), (0, u64::from(sent)));
    }
}

/// H17: at the threshold, or at the time-out; and never earlier.
#[test]
fn a_status_frame_waits_for_its_threshold_or_its_time_by_the_mcu_as_well() {
    let mut bench = Bench::with_costs(COSTS);
    let timeout = Duration::from_micros(300);
    let config = StatusConfig(0).with_entries(4).with_timeout_us(300);
    bench.unit.write(0, registers::STATUS_CONFIG, 4, config.0.into());
    let before = bench.messages.len();
    let begun = bench.exec.now();
    bench.send(&[nop(1, 0), nop(2, 1), nop(3, 0), nop(4, 1), nop(5, 0)]);
    bench.exec.advance_to(begun + Duration::from_micros(1));
    bench.run();
    assert_eq!(bench.messages.len() - before, 2);
    let took = bench.told.since(begun);
    assert!(took >= timeout && took < timeout + Duration::from_micros(30), "{took:?}");
    assert_eq!(bench.statuses().len(), 5);
}

/// H12, H16 to H18: whatever threshold, time-out, burst and speed of the host, each command has one status, a
/// controller's come in their order, and the host has 16 frames that it hasn't taken at most.
#[test]
fn statuses_come_once_and_in_order_at_any_pace() {
    let (mut random, mut gathered) = (Rng::new(16), 0);
    for costs in [McuCosts::default(), COSTS] {
        let mut bench = Bench::with_costs(costs);
        bench.sectors.lingers.set(Duration::from_micros(20));
        let (mut sent, mut next, mut seen) = (0u16, [0u16, 1], 0u32);
        for _ in 0..400 {
            let config = StatusConfig(0)
                .with_entries(random.below(20) as u8)
                .with_timeout_us(random.below(200) as u16);
            bench.unit.write(0, registers::STATUS_CONFIG, 4, config.0.into());
            // Even numbers go to one controller, odd ones to the other.
            for _ in 0..random.below(5) {
                let count = 2 * (1 + random.below(8)) as u16;
                let commands: Vec<Command> = (sent..sent + count).map(|id| nop(id, (id % 2) as u8)).collect();
                bench.send(&commands);
                sent += count;
            }
            bench.run();
            let head_and_tail = bench.register(registers::STATUS_HEAD, 8);
            let (head, tail) = (head_and_tail as u32, (head_and_tail >> 32) as u32);
            assert!(tail.wrapping_sub(head) <= STATUS_FRAMES as u32);
            // A slow host looks every few rounds.
            if random.below(4) == 0 {
                let entries = bench.statuses();
                gathered = gathered.max(entries.len());
                for entry in entries {
                    let id = entry.id.get();
                    let of = &mut next[usize::from(id % 2)];
                    assert_eq!((id, entry.channel), (*of, (id % 2) as u8));
                    (*of, seen) = (*of + 2, seen + 1);
                }
            }
        }
        while seen < sent.into() {
            let entries = bench.statuses();
            assert!(!entries.is_empty(), "{seen} of {sent} statuses");
            seen += entries.len() as u32;
            bench.run();
        }
        assert_eq!((seen, bench.unit.commands_in_flight()), (sent.into(), 0));
    }
    assert!(gathered > 128, "{gathered} entries at once");
}
