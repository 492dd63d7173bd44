//! The drives whose keys are changed.

use aster_device::profile::{
    COSMOS, CellUse, CommandName, ControllerHeatProfile, ControllerName, CorrectionName, CriticalHeatProfile,
    DetectorName, EmmcProfile, MappingName, NVME_SOFTWARE, OneShotProfile, PowerProfile, Profile,
    PseudoSlcProfile, READS_FIRST, RetryProfile, SlowLunProfile, SuspendProfile, ThermalProfile,
    TransportName,
};
use aster_tests::{as_in_papers, profile};

/// Small enough to be filled and collected by a few hundred requests.
pub fn base() -> Profile {
    profile("tiny", |p| {
        as_in_papers(p);
        p.geometry.luns = 1;
        p.ftl.over_provisioning_percent = 45.0;
    })
}

/// The same work on one LUN with smaller blocks, so that they go through several cycles.
pub fn worn(p: &mut Profile) {
    p.geometry.channels = 1;
    p.geometry.ways = 1;
    p.geometry.pages_per_block = 8;
}

/// Small blocks, some of which soon lag behind in erases.
pub fn stirred(p: &mut Profile) {
    worn(p);
    p.ftl.wear_spread = 1;
}

/// Blocks with an endurance of two cycles.
pub fn frail(p: &mut Profile) {
    worn(p);
    p.package.endurance = 2;
}

/// The map on flash, with rows for a few changes: the least cache that this drive takes.
pub fn paged(p: &mut Profile) {
    p.ftl.mapping = MappingName::DemandPaged;
    p.ftl.slice_workers = 4;
    p.ftl.map_cache_bytes = Some(34_272);
}

/// The same with an eMMC.
pub fn with_emmc(p: &mut Profile) {
    paged(p);
    p.board.emmc = Some(EMMC);
}
pub const EMMC: EmmcProfile = EmmcProfile { read_us: 150.0, write_us: 400.0 };

/// Room for planes that are allocated one by one.
pub fn planar(p: &mut Profile) {
    p.geometry.blocks_per_lun = 64;
    p.ftl.over_provisioning_percent = 90.0;
}

/// Reads correct some bits.
pub fn aged(p: &mut Profile) {
    p.package.errors.fresh = 1e-4;
}

/// The same, with room to move data because of the bits.
pub fn roomy(p: &mut Profile) {
    aged(p);
    p.ftl.refresh_corrected_percent = 10;
    p.ftl.over_provisioning_percent = 150.0;
}

/// Reads fail.
pub fn hopeless(p: &mut Profile) {
    p.package.errors.fresh = 5e-3;
    p.host.media_errors_max = 0;
    p.scheduler.read_retries = 0;
}

/// Groups of the host's FTL.
pub fn grouped(p: &mut Profile) {
    *p = profile("host-ftl-small", |_| ());
}

/// Eight LUNs on one channel, two per chip enable, so that they wait for one another.
pub fn crowded(p: &mut Profile) {
    p.geometry.channels = 1;
    p.geometry.ways = 4;
    p.geometry.luns = 2;
}

/// Reads go first, and the package can suspend what they would wait for.
pub fn suspendable(p: &mut Profile) {
    p.scheduler.policy = READS_FIRST.to_owned();
    p.package.suspend = Some(SUSPEND);
}

/// NVMe in software.
pub fn in_software(p: &mut Profile) {
    p.host.front_end = NVME_SOFTWARE.to_owned();
    (p.host.fetch_ns, p.host.completion_ns, p.host.dma_ns) = (0, 0, 0);
}

/// A board whose registers take time.
pub fn with_registers(p: &mut Profile) {
    let b = &mut p.board.buses;
    (b.processor_mhz, b.central_mhz, b.control_mhz, b.register_cycles) = (333.0, 100.0, 100.0, 5.0);
}

/// NVMe in software that sends packets itself.
pub fn in_packets(p: &mut Profile) {
    in_software(p);
    p.host.transport = TransportName::Tlp;
}

/// The same, and looks at each completion.
pub fn without_offload(p: &mut Profile) {
    in_packets(p);
    p.host.completion_offload = Some(false);
}

/// The same drive under the big loop.
pub fn looped(p: &mut Profile) {
    p.scheduler.policy = COSMOS.to_owned();
    p.channel.controller = ControllerName::Asynchronous;
    with_registers(p);
    p.board.uncached_ns = 100;
    p.costs.loop_pass = 100;
}

/// The same drive under SoftSSD's flash interface layer.
pub fn layered(p: &mut Profile) {
    p.scheduler.policy = "fil".to_owned();
    p.channel.controller = ControllerName::Asynchronous;
}

/// The same over one die, whose planes take pages in turn and have multi-plane operations.
pub fn paired(p: &mut Profile) {
    layered(p);
    planar(p);
    (p.geometry.channels, p.geometry.ways) = (1, 1);
    p.ftl.placement = Some("pcwd".to_owned());
    p.package.commands = vec![CommandName::MultiPlane];
}

/// Channels that only detect wrong bits. Software corrects them, of which there are some on every page.
pub fn on_demand(p: &mut Profile) {
    (p.ecc.correction, p.ecc.scrambler, p.ecc.correct_ns) = (CorrectionName::OnDemand, false, 0);
    p.package.errors.fresh = 1e-4;
    (p.costs.ecc_submit, p.costs.ecc_frame, p.costs.ecc_error) = (400, 4_000, 1_500);
}
pub fn by_crc(p: &mut Profile) {
    on_demand(p);
    p.ecc.detector = DetectorName::Crc;
}

pub fn looped_and_worn(p: &mut Profile) {
    looped(p);
    p.package.errors.fresh = 1.25e-3;
}

/// Word lines of TLC under the big loop, each programmed page by page or in one shot.
pub fn by_pages(p: &mut Profile) {
    looped(p);
    triple_level(p);
    p.geometry.blocks_per_lun = 48;
    p.ftl.gc_depth = 3;
    p.package.one_shot = Some(ONE_SHOT);
}
pub fn in_one_shot(p: &mut Profile) {
    by_pages(p);
    p.scheduler.one_shot = true;
}
pub const ONE_SHOT: OneShotProfile =
    OneShotProfile { prefixes: [1, 2, 3], load_confirm: 0x1A, program_us: 1_600.0 };

/// Cells that lift each other strongly, although blocks are erased only a few times.
pub fn with_coupling(p: &mut Profile) {
    p.package.errors.fresh = 1e-4;
    p.package.errors.level_width_mv = 1.0;
    p.package.errors.coupling_mv = 400.0;
    p.package.errors.lifted = vec![1.0, 0.5, 0.5, 0.0];
}

/// A package with the vendor's commands, on one channel.
pub fn with_vendor_commands(p: &mut Profile) {
    p.geometry.channels = 1;
    p.package.errors.fresh = 1e-4;
    p.package.slc = Some(SLC);
    p.package.suspend = Some(SUSPEND);
}
pub const SLC: PseudoSlcProfile =
    PseudoSlcProfile { prefix: 0xDA, read_us: 30.0, program_us: 350.0, erase_us: 3_000.0 };
pub const SUSPEND: SuspendProfile =
    SuspendProfile { erase: 0x61, erase_resume: 0xD2, program: 0x84, program_resume: 0x13, latency_us: 30.0 };

pub fn with_power(p: &mut Profile) {
    p.board.power = Some(POWER);
}
pub const POWER: PowerProfile = PowerProfile { d0_w: 9.1, d3hot_w: 0.5 };

/// A board that one run warms: each kind of work by some kelvins.
pub fn with_heat(p: &mut Profile) {
    p.board.thermal = Some(HEAT);
}
pub const HEAT: ThermalProfile = ThermalProfile {
    ambient_c: 40.0,
    kelvin_per_watt: 5.0,
    time_constant_ms: 2_000,
    idle_w: 1.0,
    read_uj: 2_000.0,
    program_uj: 2_000.0,
    erase_uj: 20_000.0,
    bus_byte_nj: 100.0,
    link_byte_nj: 100.0,
    sample_ms: 10,
    alarm_c: 900.0,
    cooled_c: 400.0,
    throttle_dies: 1,
    critical: None,
    controller: None,
};
/// The same, and the drive gets hot and cools again.
pub fn with_throttling(p: &mut Profile) {
    with_heat(p);
    heat(p, |t| (t.alarm_c, t.cooled_c, t.time_constant_ms) = (130.0, 120.0, 50));
}
/// The same, and it gets as hot as to reach a second threshold.
pub fn with_two_thresholds(p: &mut Profile) {
    with_throttling(p);
    heat(p, |t| {
        (t.throttle_dies, t.critical) = (3, Some(CriticalHeatProfile { from_c: 131.0, dies: 1 }));
    });
}
/// A board whose controller is warmer than it.
pub fn with_controller(p: &mut Profile) {
    with_heat(p);
    heat(p, |t| t.controller = Some(CONTROLLER));
}
pub const CONTROLLER: ControllerHeatProfile =
    ControllerHeatProfile { kelvin_per_watt: 3.0, time_constant_ms: 20, idle_w: 1.0, cycle_nj: 1.0 };
pub fn critical(p: &mut Profile, change: fn(&mut CriticalHeatProfile)) {
    let heat = p.board.thermal.as_mut().expect("the drive has a sensor");
    change(heat.critical.as_mut().expect("it has two thresholds"));
}
pub fn controller(p: &mut Profile, change: fn(&mut ControllerHeatProfile)) {
    let heat = p.board.thermal.as_mut().expect("the drive has a sensor");
    change(heat.controller.as_mut().expect("its controller has one, too"));
}
pub fn heat(p: &mut Profile, change: fn(&mut ThermalProfile)) {
    change(p.board.thermal.as_mut().expect("the drive has a sensor"));
}

pub fn with_slow_lun(p: &mut Profile) {
    p.package.slow_lun = Some(SLOW);
}
pub const SLOW: SlowLunProfile = SlowLunProfile { lun: 1, one_in: 4, times: 10 };

/// Under the big loop, with a wrong first read level and better ones after it.
pub fn mislevelled(p: &mut Profile) {
    looped(p);
    p.package.errors.fresh = 2e-4;
    p.package.errors.level_width_mv = 20.0;
    p.package.retry = Some(RetryProfile { feature: 0x89, levels_mv: vec![60, 20] });
}

pub fn triple_level(p: &mut Profile) {
    p.package.cells = CellUse::Tlc;
    p.package.read_us = vec![58.0, 90.0, 110.0];
    p.package.program_us = vec![481.0, 1_500.0, 2_295.0];
    p.geometry.pages_per_block = 18;
}
