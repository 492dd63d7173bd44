//! The order in which a drive's tasks are spawned and its handlers registered. It is behaviour: what is
//! due at the same instant runs in this order, and events number tasks by it. A change of how drives are
//! assembled must keep it.

use super::*;
use crate::profile::{COSMOS, ControllerName, shipped};

type Order = Vec<(usize, String)>;

/// The last two words of each type, with how many of it follow each other.
fn in_short(names: &[&'static str]) -> Order {
    let mut order = Order::new();
    for name in names {
        let mut name = name.trim_end_matches("::{{closure}}").to_owned();
        if let (Some(from), Some(to)) = (name.find('<'), name.rfind('>')) {
            name.replace_range(from..=to, "");
        }
        let name = name.rmatch_indices("::").nth(1).map_or(&*name, |(at, _)| &name[at + 2..]);
        match order.last_mut() {
            Some((times, last)) if last == name => *times += 1,
            _ => order.push((1, name.to_owned())),
        }
    }
    order
}

/// Tasks and handlers of a drive at power-on.
fn order(name: &str, change: impl FnOnce(&mut Profile)) -> (Order, Order) {
    let mut profile = shipped(name).unwrap();
    change(&mut profile);
    let device = Device::power_on(name, &profile, None, Media::fresh(), &Recorder::default()).unwrap();
    let roster = device.face.exec.roster();
    (in_short(&roster.tasks), in_short(&roster.handlers))
}

/// Packages of cosmos-plus, which has one LUN in each.
const LUNS: usize = 64;
const CHANNELS: usize = 8;

fn ftl_tasks() -> Order {
    vec![
        (1, "boot::start".to_owned()),
        (1, "intake::run".to_owned()),
        (1, "log::run".to_owned()),
        (1, "store::run_checkpoints".to_owned()),
        (1, "scan::run".to_owned()),
        (1, "idle_erase::run".to_owned()),
        (256, "worker::run".to_owned()),
        (LUNS, "gc::run".to_owned()),
    ]
}

fn board_handlers() -> Order {
    vec![(1, "link::Link".to_owned()), (1, "frontend::NvmeFrontEnd".to_owned())]
}

fn engines_in_hardware() -> Order {
    vec![vec![(1, "engine::Engine".to_owned()), (1, "controller::FixedController".to_owned())]; CHANNELS]
        .concat()
}

#[test]
fn a_drive_of_coroutines_keeps_its_order() {
    let (tasks, handlers) = order("cosmos-plus", |_| ());
    let workers = vec![(LUNS, "Worker::run".to_owned()), (1, "wiring::bring_up".to_owned())];
    assert_eq!(tasks, [workers.clone(), ftl_tasks()].concat());
    let arrivals = || vec![(1, "arrivals::Arrivals".to_owned())];
    let engines = vec![(CHANNELS, "engine::Engine".to_owned())];
    assert_eq!(handlers, [engines, board_handlers(), arrivals()].concat());

    // Controllers in hardware have the same workers above them.
    let (tasks, handlers) = order("cosmos-plus", |p| p.channel.controller = ControllerName::Synchronous);
    assert_eq!(tasks, [workers, ftl_tasks()].concat());
    assert_eq!(handlers, [engines_in_hardware(), board_handlers(), arrivals()].concat());
}

#[test]
fn a_drive_of_one_big_loop_keeps_its_order() {
    let (tasks, handlers) = order("cosmos-board", |_| ());
    let big_loop = vec![(1, "BigLoop::run".to_owned())];
    assert_eq!(tasks, [vec![(1, "wiring::bring_up".to_owned())], ftl_tasks(), big_loop.clone()].concat());
    let bell = vec![(1, "bell::Bell".to_owned()), (1, "arrivals::Arrivals".to_owned())];
    assert_eq!(handlers, [engines_in_hardware(), board_handlers(), bell.clone()].concat());

    // A controller in software has workers of its own below the loop.
    let (tasks, handlers) = order("cosmos-plus", |p| p.scheduler.policy = COSMOS.to_owned());
    let workers = vec![(LUNS, "Worker::run".to_owned()), (1, "wiring::bring_up".to_owned())];
    assert_eq!(tasks, [workers, ftl_tasks(), big_loop].concat());
    assert_eq!(handlers, [vec![(CHANNELS, "engine::Engine".to_owned())], board_handlers(), bell].concat());
}

/// G24: each array controller brings up the packages of its own lanes.
#[test]
fn each_array_controller_has_a_task_that_brings_its_packages_up() {
    let (tasks, _) = order("cosmos-plus", |p| {
        p.cores.flash_core = true;
        p.channel.lanes = Some(2);
    });
    let controllers = vec![(LUNS, "Worker::run".to_owned()), (CHANNELS / 2, "wiring::bring_up".to_owned())];
    assert_eq!(tasks, [controllers, ftl_tasks()].concat());
}
