//! In which order a drive's tasks are spawned, and in which its handlers are registered. What is due at one instant is done in these
//! orders, and events number tasks by the first, so that both are behaviour: another way of putting a drive together keeps them.

use super::*;
use crate::profile::{ControllerName, SchedulerPolicy, shipped};

type Order = Vec<(usize, &'static str)>;

/// The last two words of the types, each with how many of it come one after the other.
fn in_short(names: &[&'static str]) -> Order {
    let mut order = Order::new();
    for name in names {
        let name = name.trim_end_matches("::{{closure}}");
        let name = name.split('<').next().unwrap_or(name);
        let name = name.rmatch_indices("::").nth(1).map_or(name, |(at, _)| &name[at + 2..]);
        match order.last_mut() {
            Some((times, last)) if *last == name => *times += 1,
            _ => order.push((1, name)),
        }
    }
    order
}

/// Tasks and handlers of a drive at power-on.
fn order(name: &str, change: impl FnOnce(&mut Profile)) -> (Order, Order) {
    let mut profile = shipped(name).unwrap();
    change(&mut profile);
    let device = Device::power_on(name, &profile, None, Media::fresh(), &Recorder::default()).unwrap();
    let roster = device.exec.roster();
    (in_short(&roster.tasks), in_short(&roster.handlers))
}

/// Packages of cosmos-plus, which has one LUN in each.
const LUNS: usize = 64;
const CHANNELS: usize = 8;

fn ftl_tasks() -> Order {
    vec![
        (1, "boot::start"),
        (1, "intake::run"),
        (1, "log::run"),
        (1, "log::run_checkpoints"),
        (1, "scan::run"),
        (1, "idle_erase::run"),
        (256, "slice::run"),
        (LUNS, "gc::run"),
    ]
}

fn board_handlers() -> Order {
    vec![(1, "link::Link"), (1, "frontend::FrontEnd")]
}

fn engines_in_hardware() -> Order {
    [(1, "engine::Engine"), (1, "controller::FixedController")].repeat(CHANNELS)
}

#[test]
fn a_drive_of_coroutines_keeps_its_order() {
    let (tasks, handlers) = order("cosmos-plus", |_| ());
    let workers = vec![(LUNS, "Worker::run"), (1, "wiring::bring_up")];
    assert_eq!(tasks, [workers.clone(), ftl_tasks()].concat());
    let arrivals = || vec![(1, "arrivals::Arrivals")];
    let engines = vec![(CHANNELS, "engine::Engine")];
    assert_eq!(handlers, [engines, board_handlers(), arrivals()].concat());

    // Above controllers in hardware there are the same workers.
    let (tasks, handlers) = order("cosmos-plus", |p| p.channel.controller = ControllerName::Synchronous);
    assert_eq!(tasks, [workers, ftl_tasks()].concat());
    assert_eq!(handlers, [engines_in_hardware(), board_handlers(), arrivals()].concat());
}

#[test]
fn a_drive_of_one_big_loop_keeps_its_order() {
    let (tasks, handlers) = order("cosmos-board", |_| ());
    let big_loop = vec![(1, "BigLoop::run")];
    assert_eq!(tasks, [vec![(1, "wiring::bring_up")], ftl_tasks(), big_loop.clone()].concat());
    let bell = vec![(1, "big_loop::Bell"), (1, "arrivals::Arrivals")];
    assert_eq!(handlers, [engines_in_hardware(), board_handlers(), bell.clone()].concat());

    // A controller in software has workers of its own below the loop.
    let (tasks, handlers) = order("cosmos-plus", |p| p.scheduler.policy = SchedulerPolicy::Cosmos);
    let workers = vec![(LUNS, "Worker::run"), (1, "wiring::bring_up")];
    assert_eq!(tasks, [workers, ftl_tasks(), big_loop].concat());
    assert_eq!(handlers, [vec![(CHANNELS, "engine::Engine")], board_handlers(), bell].concat());
}
