use super::*;
use crate::fixtures::{SHAPE, us};
use alloc::format;
use alloc::rc::Rc;
use alloc::string::ToString;
use alloc::vec;
use aster_events::{Counter, DriveCounters, Firmware, Function};
use core::cell::RefCell;

type Row = (Instant, Instant, Vec<(String, f64)>);

/// The samples of 10 µs that result from events at these microseconds.
fn samples(modules: Vec<Box<dyn MonitorModule>>, events: &[(u64, Event)], end: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    let each = |entries: &[TableEntry], sample: Sample<'_>| {
        let named = entries.iter().map(|entry| entry.name.clone()).zip(sample.values.iter().copied());
        rows.push((sample.from, sample.until, named.collect()));
    };
    let mut monitor = OperationMonitor::new(Duration::from_micros(10), Instant::ZERO, each);
    modules.into_iter().for_each(|module| monitor.insert(Instant::ZERO, module).unwrap());
    for (at, event) in events {
        monitor.event(us(*at), event);
    }
    monitor.sample_now(us(end));
    drop(monitor);
    rows
}
fn value(row: &Row, name: &str) -> f64 {
    row.2.iter().find(|(entry, _)| entry == name).unwrap_or_else(|| panic!("no entry {name}")).1
}
fn all() -> Vec<Box<dyn MonitorModule>> {
    let counters = DriveCounters { packets: Some(Rc::new(|| [0; 2])), map: Some(Rc::new(|| [0; 2])) };
    ShippedModule::ALL.map(|module| module.build_with(&SHAPE, &firmware(), &counters, true)).into()
}

fn firmware() -> Firmware {
    Firmware { cores: 2, controllers: 0, functions: vec![Function::StatusChecker, Function::Issuer] }
}

#[test]
fn each_module_has_a_name_and_entries_of_its_own() {
    // A duplicate name would be refused.
    let rows = samples(all(), &[], 1);
    assert_eq!(rows[0].2.len(), 6 + 3 + 3 + 7 + 11 + 15 + 5 + 10 + 2 + 4 + 3);
    for (module, shipped) in all().iter().zip(ShippedModule::ALL) {
        assert_eq!(module.name(), shipped.name());
    }
}

#[test]
fn the_latest_reading_of_the_temperature_counts_until_the_next_one() {
    let read = |kelvins, throttled| Event::TemperatureRead { kelvins, throttled };
    let modules = vec![ShippedModule::Temperature.build(&SHAPE, &firmware(), false)];
    let rows = samples(modules, &[(13, read(308, false)), (21, read(343, true)), (47, read(272, false))], 50);
    let told: Vec<_> =
        rows.iter().map(|row| (value(row, "temperature_celsius"), value(row, "throttled"))).collect();
    assert!(told[0].0.is_nan() && told[0].1.is_nan(), "nothing was read");
    assert_eq!(told[1..], [(35.0, 0.0), (70.0, 1.0), (70.0, 1.0), (-1.0, 0.0)]);
}

#[test]
fn a_sample_ends_with_its_interval_and_what_is_idle_is_one_sample() {
    let fetched = Event::CommandFetched { command: 0, queue: 1, opcode: 2, host_id: 0 };
    let rows = samples(all(), &[(3, fetched), (57, Event::CommandCompleted { command: 0, status: 0 })], 63);
    let spans: Vec<_> = rows.iter().map(|(from, until, _)| (*from, *until)).collect();
    assert_eq!(spans, [(us(0), us(10)), (us(10), us(50)), (us(50), us(60)), (us(60), us(63))]);
    let outstanding: Vec<_> = rows.iter().map(|row| value(row, "outstanding_commands")).collect();
    assert_eq!(outstanding, [0.7, 1.0, 0.7, 0.0]);
    let most: Vec<_> = rows.iter().map(|row| value(row, "outstanding_commands_max")).collect();
    assert_eq!(most, [1.0, 1.0, 1.0, 0.0]);
    assert_eq!(value(&rows[2], "commands_per_second"), 100_000.0);
}

#[test]
fn outstanding_commands_end_by_whatever_ends_them_and_event_requests_are_none() {
    let fetched = |command, queue, opcode| Event::CommandFetched { command, queue, opcode, host_id: 0 };
    let completed = |command| Event::CommandCompleted { command, status: 0 };
    let rows = samples(
        all(),
        &[
            (0, fetched(7, 0, 0x0c)),
            (0, fetched(0, 1, 0x0c)),
            (0, fetched(1, 1, 2)),
            (0, completed(9)),
            (1, Event::CommandParked { command: 1 }),
            (1, Event::CommandResumed { command: 1, queue: 1, opcode: 2, host_id: 0 }),
            (5, Event::CommandDropped { command: 1 }),
            (10, completed(7)),
            (10, Event::CommandDropped { command: 0 }),
        ],
        20,
    );
    let row =
        |n: usize| (value(&rows[n], "outstanding_commands"), value(&rows[n], "outstanding_commands_max"));
    assert_eq!((row(0), row(1)), ((1.5, 2.0), (0.0, 1.0)));
}

#[test]
fn bandwidth_and_amplification_are_of_host_data() {
    let transfer = |task, from_host, bytes, compare| Event::TransferQueued {
        task,
        from_host,
        bytes,
        buffer: 0,
        compare,
    };
    let queued = |task, from_host, bytes| transfer(task, from_host, bytes, false);
    let ended = |task| Event::TransferEnded { task, failed: false };
    let finished = Event::FlashFinished { lun: 0, kind: 1, row: 0, status: 0, corrected: 0 };
    let rows = samples(
        all(),
        &[
            (1, queued(4, true, 8192)),
            (2, queued(5, false, 4096)),
            (3, ended(4)),
            (4, ended(5)),
            (5, ended(5)),
            // Compared data aren't written, and data of a failed transfer aren't moved.
            (5, transfer(6, true, 4096, true)),
            (5, ended(6)),
            (5, queued(7, true, 4096)),
            (5, queued(8, false, 4096)),
            (5, Event::TransferEnded { task: 7, failed: true }),
            (5, Event::TransferEnded { task: 8, failed: true }),
            (6, finished),
            (12, finished),
        ],
        20,
    );
    assert_eq!(value(&rows[0], "write_bytes_per_second"), 8192.0 * 100_000.0);
    assert_eq!(value(&rows[0], "read_bytes_per_second"), 4096.0 * 100_000.0);
    assert_eq!((value(&rows[0], "waf"), value(&rows[0], "waf_in_all")), (2.0, 2.0));
    assert!(value(&rows[1], "waf").is_nan(), "nothing was written");
    assert_eq!(value(&rows[1], "waf_in_all"), 4.0);
}

#[test]
fn channels_and_ways_are_busy_by_their_own_time() {
    let rows = samples(
        all(),
        &[
            (0, Event::TransactionStarted { channel: 1, slot: 0 }),
            (5, Event::TransactionEnded { channel: 1, slot: 0, bytes: 9 }),
            (5, Event::ArrayBusy { channel: 0, way: 1, lun: 0, kind: 1, picoseconds: 10_000_000 }),
            (6, Event::ArrayBusy { channel: 9, way: 0, lun: 0, kind: 1, picoseconds: 10_000_000 }),
            (6, Event::ArrayBusy { channel: 0, way: 9, lun: 0, kind: 1, picoseconds: 10_000_000 }),
            (18, Event::TransactionStarted { channel: 0, slot: 0 }),
        ],
        20,
    );
    let row = |n: usize, name| value(&rows[n], name);
    assert_eq!((row(0, "channel_1_utilisation"), row(0, "channel_0_utilisation")), (0.5, 0.0));
    assert_eq!((row(0, "channel_utilisation"), row(0, "active_channels")), (0.25, 0.5));
    assert_eq!((row(1, "channel_0_utilisation"), row(1, "channel_1_utilisation")), (0.2, 0.0));
    assert_eq!((row(0, "channel_0_way_1_utilisation"), row(1, "channel_0_way_1_utilisation")), (0.5, 0.5));
    assert_eq!(
        (row(0, "active_ways"), row(0, "way_utilisation"), row(0, "channel_1_way_0_utilisation")),
        (0.5, 0.125, 0.0)
    );
}

#[test]
fn flash_latencies_and_bit_errors_are_of_the_operations_that_ended() {
    let issued = |row| Event::FlashIssued { lun: 2, kind: 0, row };
    let finished = |row, status, corrected| Event::FlashFinished { lun: 2, kind: 0, row, status, corrected };
    let rows = samples(
        all(),
        &[
            (0, issued(1)),
            (2, issued(2)),
            (4, finished(1, 0, 3)),
            (8, finished(2, 2, 9)),
            (15, finished(7, 0, 0)),
        ],
        20,
    );
    let row = |n: usize, name| value(&rows[n], name);
    assert_eq!((row(0, "flash_read_mean_us"), row(0, "flash_read_max_us")), (5.0, 6.0));
    assert_eq!(row(0, "flash_reads_per_second"), 200_000.0);
    assert!(row(0, "flash_program_mean_us").is_nan());
    assert_eq!((row(0, "corrected_bits_per_read"), row(0, "corrected_bits_max")), (6.0, 9.0));
    assert_eq!((row(0, "uncorrectable_reads"), row(1, "uncorrectable_reads")), (1.0, 0.0));
    assert_eq!(row(1, "flash_reads_per_second"), 0.0, "its beginning was not seen");
}

/// A reader who looks seldom misses samples, but nothing of what they counted.
#[test]
fn totals_count_over_all_samples_and_never_go_down() {
    let finished = |kind, status, corrected| Event::FlashFinished { lun: 0, kind, row: 0, status, corrected };
    let queued =
        |from_host, bytes| Event::TransferQueued { task: 1, from_host, bytes, buffer: 0, compare: false };
    let ended = Event::TransferEnded { task: 1, failed: false };
    let completed = Event::CommandCompleted { command: 0, status: 0 };
    let rows = samples(
        all(),
        &[
            (1, queued(true, 8192)),
            (2, ended),
            (2, finished(0, 2, 30)),
            (3, finished(1, 0, 0)),
            (4, completed),
            (12, queued(true, 4096)),
            (13, ended),
            (13, finished(0, 0, 5)),
            (14, queued(false, 512)),
            (15, ended),
            (15, finished(2, 1, 0)),
            (15, finished(1, 0, 0)),
            (16, completed),
            (16, completed),
        ],
        25,
    );
    let total = |name: &str| -> Vec<f64> { rows.iter().map(|row| value(row, name)).collect() };
    for (name, right) in [
        ("write_bytes_total", [8192.0, 12_288.0, 12_288.0]),
        ("read_bytes_total", [0.0, 512.0, 512.0]),
        ("commands_total", [1.0, 3.0, 3.0]),
        ("programmed_bytes_total", [16_384.0, 32_768.0, 32_768.0]),
        ("flash_reads_total", [1.0, 2.0, 2.0]),
        ("flash_programs_total", [1.0, 2.0, 2.0]),
        ("flash_erases_total", [0.0, 1.0, 1.0]),
        ("corrected_bits_total", [30.0, 35.0, 35.0]),
        ("uncorrectable_reads_total", [1.0, 1.0, 1.0]),
    ] {
        assert_eq!(total(name), right, "{name}");
    }
    for module in all() {
        for entry in module.entries() {
            assert_eq!(entry.name.ends_with("_total"), entry.kind == EntryKind::Counter, "{entry:?}");
        }
    }
}

/// However seldom a reader looks, busy times and latencies cover all the time.
#[test]
fn busy_times_and_latencies_are_summed_over_all_samples() {
    let issued = |kind| Event::FlashIssued { lun: 0, kind, row: 1 };
    let finished = |kind| Event::FlashFinished { lun: 0, kind, row: 1, status: 0, corrected: 0 };
    let busy = |channel, way, us: u64| Event::ArrayBusy {
        channel,
        way,
        lun: 0,
        kind: 1,
        picoseconds: us * 1_000_000,
    };
    let function = Function::Issuer.number();
    let worked = Event::FirmwareWorked { core: 0, function, task: 0, picoseconds: 6_000_000 };
    let rows = samples(
        all(),
        &[
            (0, Event::CommandFetched { command: 0, queue: 1, opcode: 2, host_id: 0 }),
            (1, Event::TransactionStarted { channel: 1, slot: 0 }),
            (4, Event::TransactionEnded { channel: 1, slot: 0, bytes: 9 }),
            (4, issued(0)),
            (5, busy(0, 1, 8)),
            (6, busy(1, 0, 2)),
            (7, worked),
            (7, issued(1)),
            (8, Event::TransactionStarted { channel: 0, slot: 0 }),
            (9, finished(0)),
            (12, Event::TransactionEnded { channel: 0, slot: 0, bytes: 9 }),
            (12, issued(0)),
            (14, finished(0)),
            (15, finished(1)),
            (16, issued(2)),
            (17, Event::CommandCompleted { command: 0, status: 0 }),
            (19, finished(2)),
        ],
        20,
    );
    // In microseconds, at the end of each sample.
    for (name, right) in [
        ("outstanding_command_seconds_total", [10.0, 17.0]),
        ("channel_busy_seconds_total", [5.0, 7.0]),
        ("channel_0_busy_seconds_total", [2.0, 4.0]),
        ("channel_1_busy_seconds_total", [3.0, 3.0]),
        ("way_busy_seconds_total", [7.0, 10.0]),
        ("channel_0_way_1_busy_seconds_total", [5.0, 8.0]),
        ("channel_1_way_0_busy_seconds_total", [2.0, 2.0]),
        ("channel_1_way_1_busy_seconds_total", [0.0, 0.0]),
        ("flash_read_seconds_total", [5.0, 7.0]),
        ("flash_program_seconds_total", [0.0, 8.0]),
        ("flash_erase_seconds_total", [0.0, 3.0]),
        ("core_busy_seconds_total", [3.0, 6.0]),
        ("firmware_issuer_seconds_total", [3.0, 6.0]),
        ("firmware_status_checker_seconds_total", [0.0, 0.0]),
    ] {
        for (row, right) in rows.iter().zip(right) {
            let found = value(row, name);
            assert!((found * 1e6 - right).abs() < 1e-6, "{name}: {found} at {:?}", row.1);
        }
    }
    assert_eq!(rows.len(), 2);
}

/// The page on observability has a row for each module, with the entries' names. A numbered entry stands
/// for all of its kind.
#[test]
fn the_page_tells_of_every_module_and_entry() {
    let page = include_str!("../../../../docs/observability.md");
    for module in all() {
        let head = format!("| `{}` | ", module.name());
        let row =
            page.lines().find(|line| line.starts_with(&head)).unwrap_or_else(|| panic!("no row {head}"));
        for TableEntry { name, .. } in module.entries() {
            let is_first = !name.contains(|c: char| c.is_ascii_digit() && c != '0');
            let told = is_first && !name.starts_with("firmware_");
            assert!(!told || row.contains(&format!("`{name}`")), "{name}: {row}");
        }
    }
}

/// A module of a reader's own.
struct Interrupts {
    name: &'static str,
    entries: &'static [&'static str],
    sent: u32,
}

impl MonitorModule for Interrupts {
    fn name(&self) -> &str {
        self.name
    }
    fn entries(&self) -> Vec<TableEntry> {
        self.entries.iter().map(|name| TableEntry::new(*name, "MSI-X messages a second")).collect()
    }
    fn event(&mut self, _: Instant, event: &Event) {
        self.sent += u32::from(matches!(event, Event::InterruptSent { .. }));
    }
    fn sample(&mut self, _: Instant, over: Duration, entries: &mut [f64]) {
        entries.fill(f64::from(core::mem::take(&mut self.sent)) * 1e12 / over.as_picos() as f64);
    }
}
fn interrupts(name: &'static str, entries: &'static [&'static str]) -> Box<dyn MonitorModule> {
    Box::new(Interrupts { name, entries, sent: 0 })
}

/// C47: modules are inserted and removed while the drive runs, and the others keep what they have
/// counted.
#[test]
fn modules_are_inserted_and_removed_at_any_time() {
    let rows = RefCell::new(Vec::new());
    let each = |entries: &[TableEntry], sample: Sample<'_>| {
        let names: Vec<_> = entries.iter().map(|entry| entry.name.clone()).collect();
        rows.borrow_mut().push((names.join(" "), sample.values.to_vec()));
    };
    let mut monitor = OperationMonitor::new(Duration::from_micros(10), Instant::ZERO, each);
    let sent = Event::InterruptSent { vector: 1 };
    monitor.insert(us(0), ShippedModule::OutstandingCommands.build(&SHAPE, &firmware(), false)).unwrap();
    monitor.insert(us(0), interrupts("first", &["a"])).unwrap();
    monitor.event(us(1), &sent);
    // Half of the sample is over. The second module has not heard what happened in that half.
    monitor.insert(us(5), interrupts("second", &["b", "c"])).unwrap();
    monitor.event(us(6), &sent);
    let fetched = Event::CommandFetched { command: 0, queue: 1, opcode: 2, host_id: 0 };
    monitor.event(us(10), &fetched);
    // The sample that is due has the modules from before.
    assert!(monitor.remove("nobody").is_none());
    assert_eq!(monitor.remove("first").unwrap().name(), "first");
    monitor.insert(us(20), interrupts("first", &["a"])).unwrap();
    monitor.event(us(22), &sent);
    monitor.event(us(30), &sent);
    let outstanding = "outstanding_commands outstanding_commands_max outstanding_command_seconds_total";
    assert_eq!(
        *rows.borrow(),
        [
            (format!("{outstanding} a b c"), vec![0.0, 0.0, 0.0, 200_000.0, 200_000.0, 200_000.0]),
            (format!("{outstanding} b c"), vec![1.0, 1.0, 0.000_01, 0.0, 0.0]),
            (format!("{outstanding} b c a"), vec![1.0, 1.0, 0.000_02, 100_000.0, 100_000.0, 100_000.0]),
        ]
    );
}

#[test]
fn a_module_whose_names_are_taken_or_cannot_be_written_is_refused_and_changes_nothing() {
    let mut monitor =
        OperationMonitor::new(Duration::from_micros(10), Instant::ZERO, |_: &[TableEntry], _: Sample<'_>| {});
    monitor.insert(us(0), interrupts("first", &["a"])).unwrap();
    let refused = [
        (interrupts("first", &["b"]), InsertError::Module("first".into())),
        (interrupts("second", &["b", "a"]), InsertError::Entry("a".into())),
        (interrupts("second", &["b", "b"]), InsertError::Entry("b".into())),
        (interrupts("second", &["b,c"]), InsertError::Name("b,c".into())),
        (interrupts("second", &[""]), InsertError::Name(String::new())),
        (interrupts("My Module", &["b"]), InsertError::Name("My Module".into())),
    ];
    for (module, error) in refused {
        assert_eq!(monitor.insert(us(0), module), Err(error));
        assert_eq!(monitor.entries(), [TableEntry::new("a", "MSI-X messages a second")]);
    }
    assert!(InsertError::Module("first".into()).to_string().contains("first is inserted already"));
    monitor.insert(us(0), interrupts("second", &["b"])).unwrap();
}

#[test]
fn the_cores_time_goes_to_the_functions_that_took_it_and_to_the_sample_in_which_it_passed() {
    let worked = |function: Function, us: u64| Event::FirmwareWorked {
        core: 0,
        function: function.number(),
        task: 0,
        picoseconds: us * 1_000_000,
    };
    let rows = samples(
        all(),
        &[
            (1, worked(Function::Issuer, 4)),
            (6, worked(Function::StatusChecker, 2)),
            (8, worked(Function::Issuer, 6)),
            (14, worked(Function::Recovery, 1)),
        ],
        20,
    );
    let row = |n: usize, name| value(&rows[n], name);
    assert_eq!((row(0, "firmware_issuer_share"), row(0, "firmware_status_checker_share")), (0.3, 0.1));
    assert_eq!((row(1, "firmware_issuer_share"), row(1, "firmware_status_checker_share")), (0.2, 0.0));
    assert_eq!((row(0, "core_utilisation"), row(1, "core_utilisation")), (0.4, 0.25), "of two cores");
}

#[test]
fn what_the_drive_counts_is_told_since_the_last_sample_and_since_the_module_was_made() {
    let now = Rc::new(core::cell::Cell::new([100, 7]));
    let read = Rc::clone(&now);
    let counter: Counter = Rc::new(move || read.get());
    let counters = DriveCounters { packets: Some(Rc::clone(&counter)), map: Some(counter) };
    let mut packets = Packets::new(&counters);
    let mut map = MapCache::new(&counters);
    let mut sample = || {
        let (mut of_packets, mut of_map) = ([f64::NAN; 4], [f64::NAN; 3]);
        packets.sample(us(0), Duration::from_micros(10), &mut of_packets);
        map.sample(us(0), Duration::from_micros(10), &mut of_map);
        (of_packets.map(f64::round), of_map)
    };
    now.set([106, 9]);
    assert_eq!(sample(), ([600_000.0, 6.0, 200_000.0, 2.0], [0.75, 6.0, 2.0]));
    now.set([107, 9]);
    assert_eq!(sample(), ([100_000.0, 7.0, 0.0, 2.0], [1.0, 7.0, 2.0]));
    let (idle, of_map) = sample();
    assert_eq!((idle, of_map[1..].to_vec()), ([0.0, 7.0, 0.0, 2.0], vec![7.0, 2.0]));
    assert!(of_map[0].is_nan(), "no look-up");
    let without = DriveCounters::default();
    assert!(Packets::new(&without).entries().is_empty() && MapCache::new(&without).entries().is_empty());
}

/// G24, S2: each of several cores has entries of its own, those of array controllers by that name.
#[test]
fn each_of_several_cores_has_its_share() {
    let firmware = Firmware { cores: 4, controllers: 2, ..firmware() };
    let mut module = FirmwareTime::new(&firmware);
    let names: Vec<_> = module.entries().iter().map(|entry| entry.name.clone()).collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("controller_")).count(), 4, "{names:?}");
    let worked = |core, us: u64| Event::FirmwareWorked {
        core,
        function: Function::Issuer.number(),
        task: 0,
        picoseconds: us * 1_000_000,
    };
    for (core, us) in [(0, 1), (1, 2), (2, 4), (3, 8)] {
        module.event(Instant::ZERO, &worked(core, us));
    }
    let mut entries = vec![f64::NAN; names.len()];
    module.sample(us(5), Duration::from_micros(5), &mut entries);
    assert_eq!(entries[names.len() - 8..], [0.2, 1e-6, 1.0, 5e-6, 0.4, 2e-6, 0.8, 4e-6]);
    let own: Vec<_> = names[names.len() - 8..].iter().step_by(2).map(String::as_str).collect();
    let expected = ["core_0", "core_3", "controller_0", "controller_1"].map(|of| format!("{of}_utilisation"));
    assert_eq!(own, expected);
    let alone = FirmwareTime::new(&Firmware { cores: 1, controllers: 0, ..firmware.clone() });
    assert!(!alone.entries().iter().any(|entry| entry.name.starts_with("core_0")), "it is all there is");
    assert_eq!(entries[0], 0.6, "12 of the 20 microseconds of four cores");
    let called: Vec<_> = (0..4).map(|core| firmware.core_name(core)).collect();
    assert_eq!(called, ["core 0", "controller 0", "controller 1", "core 3"]);
}

#[test]
fn work_without_a_sample_takes_no_more_memory_and_is_counted() {
    let mut module = FirmwareTime::new(&firmware());
    let worked =
        Event::FirmwareWorked { core: 0, function: Function::Issuer.number(), task: 0, picoseconds: 250_000 };
    (0..100_000).for_each(|n| module.event(us(n), &worked));
    let mut entries = [f64::NAN; 6];
    module.sample(us(100_000), Duration::from_millis(100), &mut entries);
    assert_eq!(entries, [0.125, 0.025, 0.0, 0.0, 0.125, 0.025]);
}

/// In 3.3 days, 64 busy LUNs accumulate more picoseconds than 64 bits hold. Here two LUNs do so in 115
/// days.
#[test]
fn what_many_luns_and_cores_took_together_may_be_more_than_the_clock_holds() {
    const LONG: u64 = 10_000_000_000_000;
    let issued = |lun| Event::FlashIssued { lun, kind: 0, row: 0 };
    let ended = |lun| Event::FlashFinished { lun, kind: 0, row: 0, status: 0, corrected: 0 };
    let worked = |core| Event::FirmwareWorked {
        task: 0,
        core,
        function: Function::Issuer.number(),
        picoseconds: LONG * 1_000_000,
    };
    let begin = [(0, issued(0)), (0, issued(1)), (0, worked(0)), (0, worked(1))];
    for apart in [0, 15] {
        let end = [(LONG, ended(0)), (LONG + apart, ended(1))];
        let rows = samples(all(), &[&begin[..], &end[..]].concat(), LONG + 20);
        let last = rows.last().unwrap();
        for entry in ["flash_read_seconds_total", "firmware_issuer_seconds_total", "core_busy_seconds_total"]
        {
            let seconds = value(last, entry);
            assert!((seconds - 2e7).abs() < 1e-3, "{entry}: {seconds}");
        }
    }
}
