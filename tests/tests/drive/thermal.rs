//! Heat (H1, H4): a drive that works gets warm, tells it, and slows itself down until it has cooled.

use aster_device::profile::{
    CellUse, ControllerHeatProfile, ControllerName, CriticalHeatProfile, FIL, OneShotProfile, PowerProfile,
    Profile, ThermalProfile,
};
use aster_device::{Media, Pieces, ThermalStats};
use aster_events::{Event, EventSink, Recorder};
use aster_run_virtual::Machine;
use aster_tests::{as_in_papers, big_loop, config, drive, events_of, job, machine, profile, run, versioned};
use aster_units::{Duration, Instant};
use aster_wire::array::registers;
use aster_wire::nvme::features::{AsyncEvent, AsyncEventType, FeatureId, HealthEvent};
use aster_wire::nvme::log::{CriticalWarning, LogId};
use aster_workload::{Access, Job, Mix};
use std::cell::RefCell;
use std::rc::Rc;

/// Idle it comes to 35 °C. Reading as fast as it can, it would come to more than 100 °C.
const HEAT: ThermalProfile = ThermalProfile {
    ambient_c: 30.0,
    kelvin_per_watt: 5.0,
    time_constant_ms: 20,
    idle_w: 1.0,
    read_uj: 300.0,
    program_uj: 300.0,
    erase_uj: 300.0,
    bus_byte_nj: 0.1,
    link_byte_nj: 0.1,
    sample_ms: 1,
    alarm_c: 60.0,
    cooled_c: 50.0,
    throttle_dies: 1,
    critical: None,
    controller: None,
};

fn hot(mut profile: Profile) -> Profile {
    profile.board.thermal = Some(HEAT);
    profile
}
fn tiny(change: impl FnOnce(&mut Profile)) -> Profile {
    hot(profile("tiny", |p| {
        as_in_papers(p);
        change(p);
    }))
}
fn thermal(m: &Machine) -> ThermalStats {
    m.device().stats().thermal.expect("the board has a sensor")
}
fn fill(m: &Machine) -> Job {
    let requests = drive(m).bytes.div_ceil(128 << 10);
    job("fill", Access::Sequential, Mix::Write, 128 << 10, requests)
}
fn reads(requests: u64) -> Job {
    Job { queue_depth: 32, ..job("read", Access::Random, Mix::Read, 4 << 10, requests) }
}
/// SMART's temperature and whether it warns.
fn smart(m: &Machine) -> (u16, bool) {
    let driver = Rc::clone(m.driver());
    let log = m.block_on("health", async move { driver.health().await }).unwrap().unwrap();
    (log.composite_temperature.get(), CriticalWarning(log.critical_warning).temperature())
}

/// H1, H4: each reading of the sensor is told.
#[test]
fn the_events_tell_what_the_sensor_tells() {
    for profile in [tiny(|_| ()), hot(profile("host-ftl-small", |_| ()))] {
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let before = thermal(&m);
        let told = Rc::new(RefCell::new(vec![(before.kelvins, before.is_throttled)]));
        m.device().listen(Readings(Rc::clone(&told)));
        let mut contents = run(&m, &[fill(&m)], versioned(&m));
        let is_over = |told: &[(u16, bool)]| told.iter().skip_while(|(_, hot)| !hot).any(|(_, hot)| !hot);
        while !is_over(&told.borrow()) {
            contents = run(&m, &[reads(2000)], contents);
            m.idle(Duration::from_millis(100));
        }
        let (told, stats) = (told.borrow(), thermal(&m));
        assert_eq!(told.last(), Some(&(stats.kelvins, stats.is_throttled)));
        assert_eq!(told.iter().map(|&(kelvins, _)| kelvins).max(), Some(stats.highest_kelvins));
        let begins = |of: &[(u16, bool)]| !of[0].1 && of[1].1;
        let begun = told.windows(2).filter(|of| begins(of)).count() as u64;
        assert_eq!(begun, stats.throttlings - before.throttlings);
    }
}

/// Kelvins of each reading, and whether the drive slows itself down.
#[derive(Clone)]
struct Readings(Rc<RefCell<Vec<(u16, bool)>>>);

impl EventSink for Readings {
    fn event(&mut self, _: Instant, event: &Event) {
        if let Event::TemperatureRead { kelvins, throttled } = *event {
            self.0.borrow_mut().push((kelvins, throttled));
        }
    }
}

#[test]
fn a_hot_drive_is_slower_cools_and_is_fast_again() {
    let m = machine(&tiny(|_| ()), None, Media::fresh(), &Recorder::default());
    let mut contents = run(&m, &[fill(&m)], versioned(&m));
    let mut time = |requests| {
        let begun = m.now();
        contents = run(&m, &[reads(requests)], std::mem::replace(&mut contents, versioned(&m)));
        m.now().since(begun)
    };
    m.idle(Duration::from_millis(400));
    let cold = time(100);
    assert!(!thermal(&m).is_throttled);
    let mut tries = 0;
    while !thermal(&m).is_throttled {
        time(100);
        tries += 1;
        assert!(tries < 200, "{:?}", thermal(&m));
    }
    let hot = time(50);
    assert!(thermal(&m).is_throttled, "{:?}", thermal(&m));
    assert!(hot > cold, "half of the reads take {hot}, all of them took {cold}");
    m.idle(Duration::from_millis(400));
    let again = time(100);
    // What the data buffer has is another.
    assert!(again.as_picos() < cold.as_picos() / 10 * 11, "{again} as {cold}");
    let told = thermal(&m);
    assert!((333..=345).contains(&told.highest_kelvins), "{told:?}");
    // It cools while it works, within two or three time constants, and faster while it doesn't.
    let (least, most) = (Duration::from_millis(1), Duration::from_millis(60 * told.throttlings));
    assert!(told.throttled > least && told.throttled < most, "{told:?}");
}

/// A read takes 50 readings of the sensor. Its heat is counted at its end, so the last reading finds all of
/// it. One reading over the whole read would find 313 K.
#[test]
fn a_cool_drive_reads_its_sensor_until_its_work_is_over() {
    let heat =
        ThermalProfile { time_constant_ms: 2, read_uj: 50_000.0, alarm_c: 900.0, cooled_c: 800.0, ..HEAT };
    let slow = profile("tiny", |p| {
        p.package.read_us = vec![50_000.0];
        p.board.thermal = Some(heat);
    });
    let m = machine(&slow, None, Media::fresh(), &Recorder::default());
    let contents = run(&m, &[fill(&m)], versioned(&m));
    m.idle(Duration::from_millis(400));
    run(&m, &[Job { queue_depth: 1, ..reads(1) }], contents);
    assert_eq!(thermal(&m).kelvins, 308, "it has cooled meanwhile");
    m.idle(Duration::from_millis(1));
    let told = thermal(&m);
    assert!(told.kelvins > 390 && told.throttlings == 0, "{told:?}");
    // An idle drive has no events.
    m.idle(Duration::from_millis(2));
    assert_eq!(m.device().next_deadline(), None);
}

/// Whatever the scheduler is, a hot drive goes on with its work, slower, and no data are lost.
#[test]
fn every_scheduler_can_be_throttled() {
    let one_lun = |p: &mut Profile| {
        big_loop(p);
        p.geometry.luns = 1;
    };
    let one_shot = |p: &mut Profile| {
        one_lun(p);
        p.package.cells = CellUse::Tlc;
        (p.package.read_us, p.package.program_us) = (vec![58.0, 90.0, 110.0], vec![481.0, 1_500.0, 2_295.0]);
        (p.geometry.pages_per_block, p.geometry.blocks_per_lun, p.ftl.gc_depth) = (18, 48, 3);
        p.ftl.over_provisioning_percent = 45.0;
        let load = OneShotProfile { prefixes: [1, 2, 3], load_confirm: 0x1A, program_us: 1_600.0 };
        p.package.one_shot = Some(load);
        p.scheduler.one_shot = true;
    };
    let layered = |p: &mut Profile| {
        p.scheduler.policy = FIL.to_owned();
        p.channel.controller = ControllerName::Asynchronous;
    };
    let at = |alarm_c, cooled_c, mut profile: Profile| {
        profile.board.thermal = Some(ThermalProfile { alarm_c, cooled_c, ..HEAT });
        profile
    };
    let kinds: [(&str, Profile); 5] = [
        ("workers", tiny(|_| ())),
        ("big loop", tiny(one_lun)),
        ("one shot", tiny(one_shot)),
        ("interface layer", tiny(layered)),
        ("pass-through", tiny(|p| p.scheduler.policy = "pass-through".to_owned())),
    ];
    let time = |profile: &Profile| {
        let m = machine(profile, None, Media::fresh(), &Recorder::default());
        let mixed = Job {
            queue_depth: 32,
            read_percent: 50,
            ..job("mixed", Access::Random, Mix::ReadWrite, 16 << 10, 3_000)
        };
        let begun = m.now();
        run(&m, &[fill(&m), mixed], versioned(&m));
        (m.now().since(begun).as_secs_f64(), thermal(&m))
    };
    for (name, profile) in kinds {
        // Any work makes it hot, and nothing does.
        let (hot, told) = time(&at(36.5, 36.0, profile.clone()));
        let (cool, never) = time(&at(900.0, 800.0, profile));
        assert!(told.throttlings > 0 && never.throttlings == 0, "{name}: {told:?} {never:?}");
        // 3.5 to 5.4 times as long.
        assert!(hot > 3.0 * cool, "{name}: {hot} s instead of {cool} s");
    }
}

/// H1: nothing but the readings of the temperature differs, event by event.
#[test]
fn a_drive_that_stays_cool_is_as_fast_as_one_without_a_sensor() {
    let work = Job { read_percent: 30, ..job("mixed", Access::Random, Mix::ReadWrite, 16 << 10, 400) };
    for name in ["tiny", "host-ftl-small"] {
        let without = profile(name, |_| ());
        let mut with = without.clone();
        with.board.thermal = Some(ThermalProfile { alarm_c: 900.0, ..HEAT });
        with.board.power = Some(PowerProfile { d0_w: 9.0, d3hot_w: 1.0 });
        let (without, mut with) = (events_of(&without, &work), events_of(&with, &work));
        let all = with.len();
        with.retain(|(_, event)| !matches!(event, Event::TemperatureRead { .. }));
        assert!(with.len() < all && without == with, "{name}");
    }
}

#[test]
fn smart_tells_the_temperature_of_now_and_warns_while_the_drive_is_hot() {
    let profile = tiny(|_| ());
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    let health = || smart(&m);
    m.idle(Duration::from_millis(400));
    assert_eq!(health(), (308, false), "1 W keeps it at 35 °C");
    let mut contents = run(&m, &[fill(&m)], versioned(&m));
    while !thermal(&m).is_throttled {
        contents = run(&m, &[reads(100)], contents);
    }
    let (kelvins, warned) = health();
    assert!(kelvins >= 333 && warned, "{kelvins} {warned}");
    // One time constant on: 35 °C and e⁻¹ of what was above. Nobody has looked meanwhile.
    m.idle(Duration::from_millis(20));
    let expected = 308.15 + (f64::from(kelvins) - 308.15) / std::f64::consts::E;
    let (kelvins, warned) = health();
    assert!((f64::from(kelvins) - expected).abs() <= 1.5 && !warned, "{kelvins} instead of {expected}");
    // A drive that gets its power is as warm as the air.
    let media = m.cut_power();
    let m = Machine::power_on("test", &profile, None, media, &Recorder::default(), config(&profile));
    assert_eq!(thermal(&m.unwrap_or_else(|e| panic!("{e}"))).kelvins, 303);
}

/// H4: the message unit's registers, and its threshold as the profile has it.
#[test]
fn a_message_unit_tells_the_temperature_and_its_threshold() {
    let profile = hot(profile("host-ftl-small", |_| ()));
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    let read = |register| {
        let below = m.device().below().expect("a drive under the host's FTL");
        below.catch_up(m.now());
        below.bar_read(0, register, 4) as u16
    };
    assert_eq!(read(registers::ALARM), 333);
    let work = job("write", Access::Random, Mix::Write, 128 << 10, 1_000);
    run(&m, &[work], versioned(&m));
    let told = thermal(&m);
    assert!(told.throttlings > 0, "{told:?}");
    m.idle(Duration::from_millis(400));
    assert_eq!(read(registers::TEMPERATURE), 308);
}

/// The NVMe controller of a host that has the FTL tells what the drive's register does, and its event comes
/// without an admin command: the drive sends message 1.
#[test]
fn smart_of_the_hosts_ftl_is_the_drives() {
    let profile = hot(profile("host-ftl-small", |_| ()));
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    assert_eq!(m.driver().identity().expect("it is up").wctemp.get(), 333);
    m.idle(Duration::from_millis(400));
    assert_eq!(smart(&m), (308, false), "1 W keeps it at 35 °C");

    let (driver, heard) = (Rc::clone(m.driver()), Rc::new(RefCell::new(Vec::new())));
    let wanted = u32::from(CriticalWarning(0).with_temperature(true).0);
    let set = async move { driver.set_feature(FeatureId::AsyncEventConfiguration, wanted, false, 0).await };
    m.block_on("events", set).unwrap().unwrap();
    let (driver, events) = (Rc::clone(m.driver()), Rc::clone(&heard));
    m.host().spawn(async move {
        let event = driver.async_event().await.expect("an event");
        events.borrow_mut().push(event);
    });
    let mut contents = run(&m, &[fill(&m)], versioned(&m));
    let mut tries = 0;
    while thermal(&m).throttlings == 0 {
        assert!(heard.borrow().is_empty(), "{:?}", thermal(&m));
        contents = run(&m, &[reads(100)], contents);
        tries += 1;
        assert!(tries < 200, "{:?}", thermal(&m));
    }
    let event =
        AsyncEvent::of(AsyncEventType::Health, HealthEvent::TemperatureThreshold.raw(), LogId::Health.raw());
    assert_eq!(*heard.borrow(), [event]);

    // SMART is of now: three time constants later the drive is cool, and nobody has looked meanwhile.
    while smart(&m).0 < 333 {
        contents = run(&m, &[reads(20)], contents);
    }
    let (kelvins, warned) = smart(&m);
    assert!(kelvins == thermal(&m).kelvins && warned, "{kelvins} {warned}");
    m.idle(Duration::from_millis(60));
    let expected = 308.15 + (f64::from(kelvins) - 308.15) * (-3f64).exp();
    let (kelvins, warned) = smart(&m);
    assert!((f64::from(kelvins) - expected).abs() <= 1.5 && !warned, "{kelvins} instead of {expected}");
    // A drive that has lost its power alone is as warm as the air.
    m.restart_drive(Pieces::default(), "test", &profile).unwrap_or_else(|e| panic!("power-on: {e}"));
    run(&m, &[reads(1)], contents);
    let (kelvins, warned) = smart(&m);
    assert!(kelvins == thermal(&m).kelvins && kelvins < 308 && !warned, "{kelvins} {warned}");
}

/// The controller's junction is warmer than the board. SMART shows both sensors, and the composite
/// temperature is the hotter one's. At the second threshold the drive is slower still, and counts the time.
#[test]
fn a_controller_has_a_sensor_of_its_own_and_a_second_threshold_slows_the_drive_more() {
    let of = |critical: Option<CriticalHeatProfile>| {
        let m = machine(
            &profile("tiny", |p| {
                p.board.thermal = Some(ThermalProfile {
                    throttle_dies: 2,
                    critical,
                    controller: Some(ControllerHeatProfile {
                        kelvin_per_watt: 4.0,
                        time_constant_ms: 2,
                        idle_w: 0.5,
                        cycle_nj: 2.0,
                    }),
                    ..HEAT
                });
            }),
            None,
            Media::fresh(),
            &Recorder::default(),
        );
        let mut contents = run(&m, &[fill(&m)], versioned(&m));
        let driver = Rc::clone(m.driver());
        let before = m.now();
        for _ in 0..20 {
            contents = run(&m, &[reads(200)], contents);
        }
        let took = m.now().since(before);
        let log = m.block_on("health", async move { driver.health().await }).unwrap().unwrap();
        let sensors = [log.temperature_sensors[0].get(), log.temperature_sensors[1].get()];
        assert_eq!(log.composite_temperature.get(), sensors[0].max(sensors[1]));
        assert!(sensors[1] > sensors[0], "{sensors:?}");
        (took, thermal(&m))
    };
    let (light, without) = of(None);
    let (heavy, with) = of(Some(CriticalHeatProfile { from_c: 62.0, dies: 1 }));
    assert!(without.critical.is_zero() && without.throttlings > 0, "{without:?}");
    assert!(!with.critical.is_zero() && with.critical <= with.throttled, "{with:?}");
    assert!(heavy > light, "{heavy} {light}");
    assert!(with.highest_junction_kelvins > Some(330), "{with:?}");
}
