//! Every key of a profile has an effect: a drive with only that key changed differs from the original
//! drive.

mod drives;

use aster_device::Media;
use aster_device::plug::operations::{
    erase_with_read, resume_program, slc_erase, slc_program, slc_read, start_program, suspend_program,
};
use aster_device::profile::{
    ArbitrationName, AssignerName, CellUse, CollectionName, CommandName, ContentKind, ControllerName,
    DataModeName, EmmcProfile, FactoryMarksName, FirstAccessName, LevellingName, MappingName, OneShotProfile,
    PlacementName, PowerProfile, Profile, PseudoSlcProfile, READS_FIRST, RetryProfile, SlowLunProfile,
    SuspendProfile, TasksName, TransactionOrder,
};
use aster_device::wave::{Change, Level, WaveFilter, WaveTap};
use aster_events::{Event, EventSink, Recorder};
use aster_ports::flash::Target;
use aster_run_bench::Bench;
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, run_with};
use aster_units::{
    BlockAddr, BufferId, ChannelId, Content, Duration, Instant, LunIndex, PageInBlock, SectorRange,
};
use aster_workload::runner::Contents;
use aster_workload::{Access, Job, Mix};
use drives::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;

/// Where a key's effect shows.
#[derive(Clone, Copy, Debug)]
enum Shows {
    /// In the events of a run and their times, or in the counters.
    Run,
    /// In what the host can read: configuration space, capabilities, Identify, health, namespace.
    Told,
    /// In the bytes on a channel's bus.
    Bus,
    /// In the memory that the cells' content takes.
    Memory,
    /// In vendor commands on a bench, which no FTL sends: their bus cycles, results and times.
    Vendor,
    /// In how the drive recovers after a loss of power.
    Recovery,
}

#[derive(Clone, Default)]
struct Digest(Rc<RefCell<DefaultHasher>>);

impl Digest {
    fn value(&self) -> u64 {
        self.0.borrow().finish()
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.borrow_mut().write(text.as_bytes());
        Ok(())
    }
}

impl EventSink for Digest {
    fn event(&mut self, at: Instant, event: &Event) {
        write!(self, "{} {event:?}", at.as_picos()).unwrap();
    }
}

/// Watches the first channel's pins.
fn watch(m: &Machine) -> WaveTap {
    let tap = WaveTap::new(ChannelId(0), 2, WaveFilter::Everything);
    m.device().set_tap(0, Some(Box::new(tap.clone())));
    tap
}

/// The bytes that a tap has seen, without their times.
fn bytes_of(tap: &WaveTap) -> Vec<u8> {
    let level = |change: &Change| match change.level {
        Level::Byte(byte) => byte,
        _ => None,
    };
    tap.waveform().changes().iter().filter_map(level).collect()
}

struct Observed {
    run: u64,
    told: String,
    bus: Vec<u8>,
    memory: u64,
}

/// Fills the drive, rewrites a part at random with flushes, trims, lets 100 hours pass and reads. With
/// `stuck` a LUN then stays busy. With `watched` the bus is recorded while the drive boots and while it
/// writes a little more.
fn observe(profile: &Profile, stuck: bool, watched: bool) -> Observed {
    let (mut events, recorder) = (Digest::default(), Recorder::default());
    recorder.attach(events.clone());
    let m = Machine::power_on("test", profile, None, Media::fresh(), &recorder, config(profile))
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    let tap = watched.then(|| watch(&m));
    m.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    m.device().set_tap(0, None);
    let mut bus = tap.map_or(Vec::new(), |tap| bytes_of(&tap));

    // The content is unversioned, since a request that fails is an observation and must not end the run.
    let contents = Contents::unversioned(drive(&m), 1);
    let work = |name, access, mix, block, requests| Job {
        verify: false,
        flush_every: 50,
        ..job(name, access, mix, block, requests)
    };
    let fill = work("fill", Access::Sequential, Mix::Write, 128 << 10, drive(&m).bytes.div_ceil(128 << 10));
    let rewrite = Job {
        read_percent: 25,
        queue_depth: 32,
        ..work("rewrite", Access::Random, Mix::ReadWrite, 32 << 10, 300)
    };
    let trim = work("trim", Access::Random, Mix::Trim, 64 << 10, 10);
    let (statistics, contents) = run_with(&m, &[fill, rewrite, trim], contents, ());
    write!(events, "{statistics:?}").unwrap();
    m.device().nand().set_age_hours(100).unwrap_or_else(|e| panic!("{e}"));
    m.device().nand().force_busy(LunIndex(0), stuck);
    let read = work("read", Access::Random, Mix::Read, 4 << 10, 60);
    let (statistics, contents) = run_with(&m, &[read], contents, ());
    write!(events, "{statistics:?}").unwrap();
    if watched {
        let tap = watch(&m);
        let [written, read] = [(Mix::Write, 20), (Mix::Read, 4)]
            .map(|(mix, n)| work("seen", Access::Sequential, mix, 64 << 10, n));
        run_with(&m, &[written, read], contents, ());
        bus.extend(bytes_of(&tap));
    }
    write!(events, "{:?} {:?}", m.device().stats(), m.now()).unwrap();
    recorder.detach();

    let driver = Rc::clone(m.driver());
    let health = m.block_on("health", async move { driver.health().await }).unwrap().unwrap();
    let configuration: Vec<u32> = (0..256).map(|dword| m.device().config_read(4 * dword, 4)).collect();
    // What the data register shows at each value of Data_Select (PCIe 4.0 §7.5.2.2).
    let power: Vec<u32> = (0..8)
        .map(|selector| {
            m.device().config_write(0x44, 2, selector << 9);
            m.device().config_read(0x44, 4)
        })
        .collect();
    let told = format!(
        "{configuration:x?} {power:x?} {:x} {:?} {:?} {:?}",
        m.device().bar_read(0, 0, 8),
        m.driver().identity().map(|i| (i.vid, i.ssvid, i.mn, i.mdts)),
        m.driver().namespace(),
        (
            health.percentage_used,
            health.available_spare_threshold,
            health.critical_warning,
            health.composite_temperature.get(),
        ),
    );
    Observed { run: events.value(), told, bus, memory: m.device().nand().memory_bytes() }
}

/// Runs a package's vendor commands: programs and reads a page in a block used as SLC, and suspends a
/// program and an erase.
fn vendor(profile: &Profile) -> Observed {
    let bench = Bench::power_on(profile, 1, 16, Some(Content::Full), &Recorder::default())
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    let tap = WaveTap::new(ChannelId(0), 2, WaveFilter::Everything);
    bench.set_tap(Some(Box::new(tap.clone())));
    let (geometry, sectors) = (*bench.geometry(), bench.geometry().sectors_per_page());
    let row = move |block, page| geometry.row(0, BlockAddr(block), PageInBlock(page));
    let whole = SectorRange::whole(sectors);
    let said = bench.operate(0, move |lun| async move {
        let erased = slc_erase(&lun, row(2, 0)).await.unwrap();
        let programmed = slc_program(&lun, row(2, 0), BufferId(0)).await.unwrap();
        let read = slc_read(&lun, row(2, 0), whole, BufferId(1)).await.unwrap();
        let since = start_program(&lun, row(4, 0), BufferId(0)).await.unwrap();
        let program = suspend_program(&lun, row(4, 0), since).await.unwrap();
        let resumed = resume_program(&lun, row(4, 0), program.worked).await.unwrap();
        let progress = Duration::from_micros(500);
        let from = Target { row: row(4, 0), sectors: whole, buffer: BufferId(2) };
        let erase = erase_with_read(&lun, row(6, 0), progress, &from).await.unwrap();
        format!("{erased:?} {programmed:?} {read:?} {program:?} {resumed:?} {erase:?}")
    });
    let (mut run, bus) = (Digest::default(), bytes_of(&tap));
    write!(run, "{said} {:?} {bus:?}", bench.now()).unwrap();
    bench.exec().shut_down();
    Observed { run: run.value(), told: String::new(), bus, memory: 0 }
}

/// Writes, loses its power, and recovers.
fn recover(profile: &Profile) -> Observed {
    let power_on = |media| {
        let recorder = Recorder::default();
        let m = Machine::power_on("test", profile, None, media, &recorder, config(profile))
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        m.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        m
    };
    let m = power_on(Media::fresh());
    let contents = Contents::unversioned(drive(&m), 1);
    let write = job("write", Access::Random, Mix::Write, 16 << 10, 300);
    run_with(&m, &[Job { verify: false, flush_every: 100, ..write }], contents, ());
    let m = power_on(m.cut_power());
    let mut run = Digest::default();
    write!(run, "{:?} {:?}", m.device().stats(), m.now()).unwrap();
    Observed { run: run.value(), told: String::new(), bus: Vec::new(), memory: 0 }
}

type Edit = fn(&mut Profile);

struct Case {
    key: &'static str,
    shows: Shows,
    /// The kind of drive on which the key matters.
    base: Option<Edit>,
    change: Edit,
}

macro_rules! cases {
    ($($key:literal $shows:ident $(on $base:expr;)? => $change:expr),* $(,)?) => {
        [$(Case { key: $key, shows: Shows::$shows, base: cases!(@ $($base)?), change: $change }),*]
    };
    (@) => { None };
    (@ $base:expr) => { Some($base) };
}

#[rustfmt::skip]
const CASES: &[Case] = &cases! {
    "content" Memory on |p| p.host.block_bytes = 4096; => |p| p.content = ContentKind::Fingerprint,
    "seed" Run => |p| p.seed += 1,
    "geometry.channels" Run => |p| p.geometry.channels = 1,
    "geometry.ways" Run => |p| p.geometry.ways = 1,
    "geometry.luns" Run => |p| p.geometry.luns = 2,
    "geometry.planes" Bus => |p| p.geometry.planes = 1,
    "geometry.capacity" Told => |p| p.geometry.capacity = "12 MiB".to_owned().try_into().ok(),
    "geometry.blocks_per_lun" Told => |p| p.geometry.blocks_per_lun = 28,
    "geometry.pages_per_block" Told => |p| p.geometry.pages_per_block = 32,
    "geometry.page_bytes" Run => |p| p.geometry.page_bytes = 8192,
    "geometry.spare_bytes" Bus => |p| p.geometry.spare_bytes = 2048,
    "restrict.channels" Told => |p| p.restrict.channels = Some(1),
    "restrict.ways" Told => |p| p.restrict.ways = Some(1),
    "restrict.planes" Told => |p| p.restrict.planes = Some(1),
    "restrict.blocks_per_lun" Told => |p| p.restrict.blocks_per_lun = Some(22),
    "restrict.pages_per_block" Told => |p| p.restrict.pages_per_block = Some(14),
    "restrict.lsb_pages" Told => |p| p.restrict.lsb_pages = true,
    "package.manufacturer" Bus => |p| p.package.manufacturer = "OTHER".into(),
    "package.model" Bus => |p| p.package.model = "OTHER".into(),
    "package.cells" Run => |p| {
        // The times depend on the kind of cells: one per page type.
        p.package.cells = CellUse::Slc;
        p.package.read_us.truncate(1);
        p.package.program_us.truncate(1);
    },
    "package.read_us" Run => |p| p.package.read_us[1] = 100.0,
    "package.program_us" Run => |p| p.package.program_us[1] = 2_000.0,
    "package.erase_us" Run => |p| p.package.erase_us = 4_000.0,
    "package.die_deviation_us" Run => |p| p.package.die_deviation_us = 6.0,
    "package.page_deviation_us" Run => |p| p.package.page_deviation_us = 20.0,
    "package.column_change_ns" Run => |p| p.package.column_change_ns = 600,
    "package.pair_loss" Run => |p| p.package.pair_loss = true,
    "package.endurance" Bus => |p| p.package.endurance = 2,
    "package.factory_bad_per_mille" Run => |p| p.package.factory_bad_per_mille = 60,
    "package.factory_marks" Run on |p| p.package.factory_bad_per_mille = 60;
        => |p| p.package.factory_marks = FactoryMarksName::LastPage,
    "package.program_failures_per_million" Run => |p| p.package.program_failures_per_million = 2_000,
    "package.erase_failures_per_million" Run => |p| p.package.erase_failures_per_million = 50_000,
    "package.wear_out_percent" Run on frail; => |p| p.package.wear_out_percent = 100,
    "package.failure_growth" Run on |p| { worn(p); p.package.program_failures_per_million = 2_000; };
        => |p| p.package.failure_growth = 1_000.0,
    "package.errors.fresh" Run => |p| p.package.errors.fresh = 5e-5,
    "package.errors.cycle" Run => |p| p.package.errors.cycle = 0.1,
    "package.errors.cycle_squared" Run on worn; => |p| p.package.errors.cycle_squared = 0.5,
    "package.errors.retention" Run => |p| p.package.errors.retention = 1e-5,
    "package.errors.read" Run => |p| p.package.errors.read = 1e-5,
    "package.errors.csb_factor" Run on triple_level; => |p| p.package.errors.csb_factor = 8.0,
    "package.errors.msb_factor" Run => |p| p.package.errors.msb_factor = 8.0,
    "package.errors.retention_shift_mv" Run on |p| p.package.errors.level_width_mv = 20.0;
        => |p| { p.package.errors.level_width_mv = 20.0; p.package.errors.retention_shift_mv = 10.0; },
    "package.errors.level_width_mv" Run on |p| p.package.errors.retention_shift_mv = 10.0;
        => |p| { p.package.errors.level_width_mv = 20.0; p.package.errors.retention_shift_mv = 10.0; },
    "package.errors.read_noise_mv" Run on |p| p.package.errors.level_width_mv = 20.0;
        => |p| p.package.errors.read_noise_mv = 5.0,
    "package.retry.feature" Bus on mislevelled;
        => |p| p.package.retry = Some(RetryProfile { feature: 0x8A, levels_mv: vec![60, 20] }),
    "package.retry.levels_mv" Run on mislevelled;
        => |p| p.package.retry = Some(RetryProfile { feature: 0x89, levels_mv: vec![60, -20] }),
    "package.slow_lun.lun" Run on with_slow_lun;
        => |p| p.package.slow_lun = Some(SlowLunProfile { lun: 2, ..SLOW }),
    "package.slow_lun.one_in" Run on with_slow_lun;
        => |p| p.package.slow_lun = Some(SlowLunProfile { one_in: 1, ..SLOW }),
    "package.slow_lun.times" Run on with_slow_lun;
        => |p| p.package.slow_lun = Some(SlowLunProfile { times: 20, ..SLOW }),
    "package.errors.slc_factor" Vendor on with_vendor_commands; => |p| p.package.errors.slc_factor = 8.0,
    "package.slc.prefix" Vendor on with_vendor_commands;
        => |p| p.package.slc = Some(PseudoSlcProfile { prefix: 0xDB, ..SLC }),
    "package.slc.read_us" Vendor on with_vendor_commands;
        => |p| p.package.slc = Some(PseudoSlcProfile { read_us: 40.0, ..SLC }),
    "package.slc.program_us" Vendor on with_vendor_commands;
        => |p| p.package.slc = Some(PseudoSlcProfile { program_us: 450.0, ..SLC }),
    "package.slc.erase_us" Vendor on with_vendor_commands;
        => |p| p.package.slc = Some(PseudoSlcProfile { erase_us: 4_000.0, ..SLC }),
    "package.suspend.erase" Vendor on with_vendor_commands;
        => |p| p.package.suspend = Some(SuspendProfile { erase: 0x62, ..SUSPEND }),
    "package.suspend.erase_resume" Vendor on with_vendor_commands;
        => |p| p.package.suspend = Some(SuspendProfile { erase_resume: 0xD3, ..SUSPEND }),
    "package.suspend.program" Vendor on with_vendor_commands;
        => |p| p.package.suspend = Some(SuspendProfile { program: 0x86, ..SUSPEND }),
    "package.suspend.program_resume" Vendor on with_vendor_commands;
        => |p| p.package.suspend = Some(SuspendProfile { program_resume: 0x14, ..SUSPEND }),
    "package.suspend.latency_us" Vendor on with_vendor_commands;
        => |p| p.package.suspend = Some(SuspendProfile { latency_us: 60.0, ..SUSPEND }),
    "package.one_shot.prefixes" Bus on in_one_shot;
        => |p| p.package.one_shot = Some(OneShotProfile { prefixes: [1, 2, 4], ..ONE_SHOT }),
    "package.one_shot.load_confirm" Bus on in_one_shot;
        => |p| p.package.one_shot = Some(OneShotProfile { load_confirm: 0x1B, ..ONE_SHOT }),
    "package.one_shot.program_us" Run on in_one_shot;
        => |p| p.package.one_shot = Some(OneShotProfile { program_us: 1_700.0, ..ONE_SHOT }),
    "scheduler.one_shot" Run on by_pages; => |p| p.scheduler.one_shot = true,
    "package.errors.coupling_mv" Run on with_coupling; => |p| p.package.errors.coupling_mv = 900.0,
    "package.errors.lifted" Run on with_coupling; => |p| p.package.errors.lifted = vec![1.0; 4],
    "package.errors.neighbour" Run => |p| p.package.errors.neighbour = 2.0,
    "package.nv_ddr2_mode_max" Bus => |p| p.package.nv_ddr2_mode_max = 5,
    "package.commands" Bus => |p| p.package.commands = vec![CommandName::ReadCache],
    "package.id" Bus => |p| p.package.id[5] = 1,
    "channel.data_interface" Run => |p| p.channel.data_interface = DataModeName::NvDdr,
    "channel.controller" Run => |p| p.channel.controller = ControllerName::Synchronous,
    "channel.rate_mt_s" Run => |p| p.channel.rate_mt_s = Some(100),
    "channel.timing_mode" Run => |p| p.channel.timing_mode = 2,
    "channel.clock_ns" Run => |p| p.channel.clock_ns = 12.0,
    "channel.fifo_cycles" Run => |p| p.channel.fifo_cycles = 5,
    "channel.gap_cycles" Run => |p| p.channel.gap_cycles = 20,
    "ecc.field" Run => |p| p.ecc.field = 13,
    "ecc.designed" Run => |p| p.ecc.designed = 15,
    "ecc.corrected" Run on |p| p.package.errors.fresh = 1e-3; => |p| p.ecc.corrected = 4,
    "ecc.chunk_bytes" Run on |p| p.ecc.field = 13; => |p| p.ecc.chunk_bytes = 512,
    "ecc.placement" Run => |p| p.ecc.placement = PlacementName::Spare,
    "ecc.scrambler" Bus => |p| p.ecc.scrambler = false,
    "ecc.detect_ns" Run => |p| p.ecc.detect_ns = 6_000,
    "ecc.correct_ns" Run => |p| p.ecc.correct_ns = 3_000,
    "ecc.solver_channels" Run on |p| p.ecc.solver_ns = 1_000; => |p| p.ecc.solver_channels = 2,
    "ecc.solver_ns" Run on |p| p.ecc.solver_channels = 2; => |p| p.ecc.solver_ns = 2_000,
    "board.dram_mb_per_s" Run => |p| p.board.dram_mb_per_s = 200,
    "board.nvram_kept" Recovery on |_| (); => |p| p.board.nvram_kept = true,
    "costs.replay" Recovery on |_| (); => |p| p.costs.replay += 400,
    "board.power.d0_w" Told on with_power;
        => |p| p.board.power = Some(PowerProfile { d0_w: 9.2, ..POWER }),
    "board.power.d3hot_w" Told on with_power;
        => |p| p.board.power = Some(PowerProfile { d3hot_w: 0.6, ..POWER }),
    "board.emmc.read_us" Run on with_emmc;
        => |p| p.board.emmc = Some(EmmcProfile { read_us: 160.0, ..EMMC }),
    "board.emmc.write_us" Run on with_emmc;
        => |p| p.board.emmc = Some(EmmcProfile { write_us: 410.0, ..EMMC }),
    "board.thermal.ambient_c" Told on with_heat; => |p| heat(p, |t| t.ambient_c = 50.0),
    "board.thermal.kelvin_per_watt" Told on with_heat; => |p| heat(p, |t| t.kelvin_per_watt = 10.0),
    "board.thermal.time_constant_ms" Told on with_heat; => |p| heat(p, |t| t.time_constant_ms = 200),
    "board.thermal.idle_w" Told on with_heat; => |p| heat(p, |t| t.idle_w = 50.0),
    "board.thermal.read_uj" Told on with_heat; => |p| heat(p, |t| t.read_uj = 8_000.0),
    "board.thermal.program_uj" Told on with_heat; => |p| heat(p, |t| t.program_uj = 8_000.0),
    "board.thermal.erase_uj" Told on with_heat; => |p| heat(p, |t| t.erase_uj = 80_000.0),
    "board.thermal.bus_byte_nj" Told on with_heat; => |p| heat(p, |t| t.bus_byte_nj = 400.0),
    "board.thermal.link_byte_nj" Told on with_heat; => |p| heat(p, |t| t.link_byte_nj = 400.0),
    "board.thermal.alarm_c" Run on with_throttling; => |p| heat(p, |t| t.alarm_c = 140.0),
    "board.thermal.cooled_c" Run on with_throttling; => |p| heat(p, |t| t.cooled_c = 100.0),
    "board.thermal.throttle_dies" Run on with_throttling; => |p| heat(p, |t| t.throttle_dies = 2),
    "board.thermal.critical.from_c" Run on with_two_thresholds; => |p| critical(p, |c| c.from_c = 500.0),
    "board.thermal.critical.dies" Run on with_two_thresholds; => |p| critical(p, |c| c.dies = 2),
    "board.thermal.controller.kelvin_per_watt" Told on with_controller;
        => |p| controller(p, |c| c.kelvin_per_watt = 9.0),
    "board.thermal.controller.time_constant_ms" Told on with_controller;
        => |p| controller(p, |c| c.time_constant_ms = 10_000),
    "board.thermal.controller.idle_w" Told on with_controller; => |p| controller(p, |c| c.idle_w = 0.0),
    "board.thermal.controller.cycle_nj" Told on with_controller; => |p| controller(p, |c| c.cycle_nj = 900.0),
    "board.thermal.sample_ms" Run on with_heat; => |p| heat(p, |t| t.sample_ms = 100),
    "link.generation" Run => |p| p.link.generation = 1,
    "link.lanes" Run => |p| p.link.lanes = 1,
    "link.unlimited" Run => |p| p.link.unlimited = true,
    "link.latency_ns" Run => |p| p.link.latency_ns = 600,
    "link.packet_payload" Run => |p| p.link.packet_payload = 128,
    "link.packet_overhead" Run => |p| p.link.packet_overhead = 52,
    "link.vendor_id" Told => |p| p.link.vendor_id = 0x1234,
    "link.device_id" Told => |p| p.link.device_id = 0x1234,
    "cores.frequency_mhz" Run => |p| p.cores.frequency_mhz = 500.0,
    "channel.lanes" Run => |p| p.channel.lanes = Some(1),
    "channel.lanes" Run on grouped; => |p| p.channel.lanes = Some(4),
    "cores.flash_mhz" Run => |p| p.cores.flash_mhz = Some(500.0),
    "cores.flash_core" Run on |p| p.cores.interrupt_ns = 0; => |p| p.cores.flash_core = false,
    "cores.interrupt_ns" Run => |p| p.cores.interrupt_ns = 400,
    "costs.command" Run => |p| p.costs.command += 400,
    "costs.slice" Run => |p| p.costs.slice += 400,
    "costs.translate" Run => |p| p.costs.translate += 400,
    "costs.buffer" Run => |p| p.costs.buffer += 400,
    "costs.dma" Run => |p| p.costs.dma += 400,
    "costs.complete" Run => |p| p.costs.complete += 400,
    "costs.move_page" Run => |p| p.costs.move_page += 400,
    "costs.flash_request" Run => |p| p.costs.flash_request += 400,
    "costs.transaction" Run => |p| p.costs.transaction += 400,
    "costs.poll" Run => |p| p.costs.poll += 400,
    "costs.loop_pass" Run on looped; => |p| p.costs.loop_pass += 400,
    "costs.loop_status" Run on looped; => |p| p.costs.loop_status += 400,
    "costs.loop_compare" Run on looped; => |p| p.costs.loop_compare += 400,
    "costs.loop_issue" Run on looped; => |p| p.costs.loop_issue += 400,
    "costs.loop_finish" Run on looped; => |p| p.costs.loop_finish += 400,
    "costs.nvme_fetch" Run on in_software; => |p| p.costs.nvme_fetch += 400,
    "costs.nvme_parse" Run on in_software; => |p| p.costs.nvme_parse += 400,
    "costs.nvme_transfer" Run on in_software; => |p| p.costs.nvme_transfer += 400,
    "costs.nvme_complete" Run on in_software; => |p| p.costs.nvme_complete += 400,
    "costs.nvme_interrupt" Run on in_software; => |p| p.costs.nvme_interrupt += 400,
    "costs.nvme_register" Run on in_software; => |p| p.costs.nvme_register += 400,
    "host.transport" Run on in_software; => in_packets,
    "host.completion_offload" Run on |p| { in_packets(p); p.costs.tlp_receive = 400; };
        => |p| p.host.completion_offload = Some(false),
    "host.register_packets" Run on in_packets; => |p| p.host.register_packets = true,
    "costs.tlp_build" Run on in_packets; => |p| p.costs.tlp_build += 400,
    "costs.tlp_receive" Run on without_offload; => |p| p.costs.tlp_receive += 400,
    "costs.tlp_copy_kib" Run on without_offload; => |p| p.costs.tlp_copy_kib += 400,
    "costs.tlp_describe" Run on in_packets; => |p| p.costs.tlp_describe += 400,
    "costs.tlp_notice" Run on in_packets; => |p| p.costs.tlp_notice += 400,
    "host.command_fifo" Run on with_registers; => |p| p.host.command_fifo = true,
    "host.workers_per_queue" Run on in_software; => |p| p.host.workers_per_queue = Some(1),
    "costs.fil_take" Run on layered; => |p| p.costs.fil_take += 400,
    "costs.fil_dispatch" Run on layered; => |p| p.costs.fil_dispatch += 400,
    "costs.fil_poll" Run on layered; => |p| p.costs.fil_poll += 400,
    "costs.fil_finish" Run on layered; => |p| p.costs.fil_finish += 400,
    "ecc.correction" Run on |p| p.ecc.scrambler = false; => on_demand,
    "cores.ecc_core" Run on on_demand; => |p| p.cores.ecc_core = true,
    "cores.ecc_mhz" Run on |p| { on_demand(p); p.cores.ecc_core = true; };
        => |p| p.cores.ecc_mhz = Some(100.0),
    "cores.tasks" Run => |p| p.cores.tasks = TasksName::Stackful,
    "cores.stack_bytes" Run on |p| p.cores.tasks = TasksName::Stackful;
        => |p| p.cores.stack_bytes = Some(128 << 10),
    "costs.ecc_submit" Run on on_demand; => |p| p.costs.ecc_submit += 400,
    "costs.ecc_frame" Run on on_demand; => |p| p.costs.ecc_frame += 400,
    "costs.ecc_error" Run on on_demand; => |p| p.costs.ecc_error += 400,
    "ecc.detector" Run on on_demand; => by_crc,
    "costs.ecc_encode" Run on by_crc; => |p| p.costs.ecc_encode += 400,
    "board.buses.memory_mb_per_s" Run => |p| p.board.buses.memory_mb_per_s = 300,
    "board.buses.host_mb_per_s" Run => |p| p.board.buses.host_mb_per_s = 300,
    "board.buses.channels_mb_per_s" Run => |p| p.board.buses.channels_mb_per_s = 300,
    "board.buses.channel_mb_per_s" Run => |p| p.board.buses.channel_mb_per_s = 150,
    "board.buses.channel_read_mb_per_s" Run => |p| p.board.buses.channel_read_mb_per_s = 150.0,
    "board.buses.channel_write_mb_per_s" Run => |p| p.board.buses.channel_write_mb_per_s = 150.0,
    "board.buses.processor_memory_mb_per_s" Run on looped; => |p| p.board.buses.processor_memory_mb_per_s = 1,
    "board.buses.central_memory_mb_per_s" Run on looped; => |p| p.board.buses.central_memory_mb_per_s = 1,
    "board.uncached_ns" Run on looped; => |p| p.board.uncached_ns += 400,
    "board.buses.processor_mhz" Run on looped; => |p| p.board.buses.processor_mhz = 100.0,
    "board.buses.central_mhz" Run on looped; => |p| p.board.buses.central_mhz = 50.0,
    "board.buses.control_mhz" Run on looped; => |p| p.board.buses.control_mhz = 50.0,
    "board.buses.register_cycles" Run on looped; => |p| p.board.buses.register_cycles = 20.0,
    "scheduler.read_retries" Run on looped_and_worn; => |p| p.scheduler.read_retries = 0,
    "scheduler.suspends" Run on suspendable; => |p| p.scheduler.suspends = 4,
    "scheduler.package_operations_max" Run on crowded; => |p| p.scheduler.package_operations_max = 1,
    "scheduler.transactions" Run on crowded; => |p| p.scheduler.transactions = TransactionOrder::ByClass,
    "scheduler.poll_ns" Run on layered; => |p| p.scheduler.poll_ns = 0,
    "scheduler.multi_plane" Run on paired; => |p| p.scheduler.multi_plane = true,
    "scheduler.policy" Run => |p| p.scheduler.policy = READS_FIRST.to_owned(),
    "poll.interval_ns" Run => |p| p.poll.interval_ns = 5_000,
    "poll.early_ns" Run => |p| p.poll.early_ns = 10_000,
    "ftl.over_provisioning_percent" Told => |p| p.ftl.over_provisioning_percent = 60.0,
    "ftl.buffer_entries" Run => |p| p.ftl.buffer_entries = 64,
    "ftl.slice_workers" Run => |p| p.ftl.slice_workers = 2,
    "ftl.mapping_unit_bytes" Run => |p| p.ftl.mapping_unit_bytes = 4096,
    "ftl.mapping" Run => |p| p.ftl.mapping = MappingName::DemandPaged,
    "ftl.map_cache_bytes" Run on paged; => |p| p.ftl.map_cache_bytes = Some(1 << 20),
    "ftl.partial_reads" Run => |p| p.ftl.partial_reads = false,
    "ftl.assigner" Run => |p| p.ftl.assigner = AssignerName::WayFirst,
    "ftl.placement" Run => |p| p.ftl.placement = Some("way-first".to_owned()),
    "ftl.placement" Run => |p| p.ftl.placement = Some("striped".to_owned()),
    "ftl.placement" Run on planar; => |p| p.ftl.placement = Some("cpwd".to_owned()),
    "ftl.first_access" Run => |p| p.ftl.first_access = FirstAccessName::Assigns,
    "ftl.victims" Run => |p| p.ftl.victims = "cost-benefit".to_owned(),
    "ftl.victim_choices" Run on |p| p.ftl.victims = "d-choices".to_owned(); =>
        |p| p.ftl.victim_choices = Some(1),
    "ftl.victim_window_percent" Run on |p| p.ftl.victims = "windowed-greedy".to_owned(); =>
        |p| p.ftl.victim_window_percent = Some(10),
    "ftl.streams" Run => |p| { p.ftl.streams = 2; p.ftl.stream_policy = "update-distance".to_owned(); },
    "ftl.stream_policy" Run => |p| { p.ftl.streams = 2; p.ftl.stream_policy = "update-distance".to_owned(); },
    "ftl.gc_free_blocks" Run => |p| p.ftl.gc_free_blocks = 4,
    "ftl.collection" Run => |p| p.ftl.collection = CollectionName::Paced,
    "ftl.gc_depth" Run => |p| p.ftl.gc_depth = 1,
    "ftl.checkpoint_pages" Run => |p| p.ftl.checkpoint_pages = 100,
    "ftl.wear_levelling" Run on stirred; => |p| p.ftl.wear_levelling = LevellingName::Dynamic,
    "ftl.wear_spread" Run on stirred; => |p| p.ftl.wear_spread = 3,
    "ftl.refresh_corrected_percent" Run on aged; => |p| p.ftl.refresh_corrected_percent = 10,
    "ftl.refresh_corrected_percent" Run on |p| { grouped(p); aged(p); };
        => |p| p.ftl.refresh_corrected_percent = 10,
    "ftl.refresh_reads" Run on worn; => |p| p.ftl.refresh_reads = 4,
    "ftl.refresh_reads" Run on grouped; => |p| p.ftl.refresh_reads = 1,
    "ftl.retire_uncorrectable" Run on hopeless; => |p| p.ftl.retire_uncorrectable = true,
    "ftl.scan_us" Run => |p| p.ftl.scan_us = 100,
    "ftl.background_gap_us" Run on roomy; => |p| p.ftl.background_gap_us = 0,
    "host.spare_threshold_percent" Told => |p| p.host.spare_threshold_percent = 20,
    "host.media_errors_max" Told on hopeless; => |p| p.host.media_errors_max = 5,
    "host.queue_pairs" Told => |p| p.host.queue_pairs = 8,
    "host.queue_entries" Told => |p| p.host.queue_entries = 128,
    "host.command_slots" Run => |p| p.host.command_slots = 4,
    "host.transfer_bytes_max" Told => |p| p.host.transfer_bytes_max = 128 << 10,
    "host.fetch_batch" Run => |p| p.host.fetch_batch = 1,
    "host.block_bytes" Told => |p| p.host.block_bytes = 4096,
    "host.arbitration" Told => |p| p.host.arbitration = ArbitrationName::Weighted,
    "host.fetch_ns" Run => |p| p.host.fetch_ns = 400,
    "host.completion_ns" Run => |p| p.host.completion_ns = 400,
    "host.auto_completion" Run => |p| p.host.auto_completion = true,
    "host.dma_requests" Run => |p| p.host.dma_requests = Some(8),
    "host.dma_ns" Run => |p| p.host.dma_ns = 4_000,
};

fn differs(shows: Shows, without: &Observed, with: &Observed) -> bool {
    match shows {
        Shows::Run | Shows::Vendor | Shows::Recovery => without.run != with.run,
        Shows::Told => without.told != with.told,
        Shows::Bus => without.bus != with.bus,
        Shows::Memory => without.memory != with.memory,
    }
}

#[test]
fn each_key_changes_what_it_says() {
    let plain = [false, true].map(|watched| observe(&base(), false, watched));
    let again = [false, true].map(|watched| observe(&base(), false, watched));
    for (one, other) in plain.iter().zip(&again) {
        for shows in [Shows::Run, Shows::Told, Shows::Bus, Shows::Memory] {
            assert!(!differs(shows, one, other), "the same drive twice differs in {shows:?}");
        }
    }
    let mut idle = Vec::new();
    for case in CASES {
        let watched = matches!(case.shows, Shows::Bus);
        let seen = |profile: &Profile| match case.shows {
            Shows::Vendor => vendor(profile),
            Shows::Recovery => recover(profile),
            _ => observe(profile, false, watched),
        };
        let mut profile = base();
        let special = case.base.map(|edit| {
            edit(&mut profile);
            seen(&profile)
        });
        (case.change)(&mut profile);
        let changed = seen(&profile);
        if !differs(case.shows, special.as_ref().unwrap_or(&plain[usize::from(watched)]), &changed) {
            idle.push((case.key, case.shows));
        }
    }
    assert!(idle.is_empty(), "keys without effect: {idle:?}");
}

#[test]
fn patience_decides_when_a_stuck_lun_is_given_up() {
    let mut profile = base();
    let patient = observe(&profile, true, false);
    profile.poll.patience = 4;
    assert!(differs(Shows::Run, &patient, &observe(&profile, true, false)));
}

/// The keys that docs/profiles.md lists. The schema's own test checks that they match the schema.
fn listed() -> BTreeSet<String> {
    let document = include_str!("../../../docs/profiles.md");
    let (_, tables) = document.split_once("<!-- keys:").expect("the tables are marked");
    let (tables, _) = tables.split_once("<!-- end of keys -->").expect("their end, too");
    let (mut keys, mut path) = (BTreeSet::new(), String::new());
    for line in tables.lines() {
        if let Some(table) = line.strip_prefix("### ") {
            let named = table.strip_prefix("`[").and_then(|name| name.strip_suffix("]`"));
            path = named.map_or(String::new(), |name| format!("{name}."));
        } else if let Some((key, _)) = line.strip_prefix("| `").and_then(|row| row.split_once('`')) {
            keys.insert(format!("{path}{key}"));
        }
    }
    keys
}

/// A key that is added to the schema needs a case here.
#[test]
fn no_key_is_left_out() {
    // The description is for people who list profiles and doesn't affect the drive. Patience has its own
    // test. Which translations can be chosen depends on the program, and their own keys depend on the
    // translation (translations.rs). Table blocks, multi-plane operations and the bound of open chunks are
    // those of an open-channel drive (table_blocks.rs, vectors.rs, chunks.rs). A target has tests of its own
    // (targets.rs, pblk.rs, host_ftl.rs,
    // host_ftl_raid.rs, page_cache.rs).
    let elsewhere = [
        "description",
        "poll.patience",
        "ftl.kind",
        "ftl.table_blocks",
        "ftl.mp_native",
        "ftl.raw_vectors",
        "ftl.open_chunks_max",
        "host.front_end",
        "host.command_set",
        "own",
        "target.kind",
        "target.command_ns",
        "target.sectors_per_write",
        "target.one_write_per_lun",
        "target.page_cache_mib",
        "target.map_mib",
        "target.gather_pages",
        "target.composite_bytes",
        "target.hot_writes",
        "target.raid",
        "target.wear_window",
        "target.region_percent",
        "target.region_groups",
        "target.region_accesses",
        "target.status_entries",
        "target.status_us",
    ];
    let tested: BTreeSet<String> = CASES.iter().map(|c| c.key).chain(elsewhere).map(str::to_owned).collect();
    let keys = listed();
    let (without_case, unknown): (Vec<_>, Vec<_>) =
        (keys.difference(&tested).collect(), tested.difference(&keys).collect());
    assert!(without_case.is_empty() && unknown.is_empty(), "no case: {without_case:?}, no key: {unknown:?}");
}
