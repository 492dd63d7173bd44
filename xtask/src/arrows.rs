//! Who may use whom (design §1). Anything absent from the table below is forbidden.

use crate::Violation;
use crate::workspace::{DependencyKind, Member};

/// One row of the table: the crates in `from` may use the crates in `to`.
///
/// A name is a folder (`base/units`), a whole room (`base/*`) or `*`, any crate.
struct Arrow {
    from: &'static str,
    to: &'static [&'static str],
}

/// Any crate of the workspace.
const EVERYTHING: &str = "*";

/// The first row whose `from` matches decides, so single crates stand before their room.
const ARROWS: &[Arrow] = &[
    Arrow { from: "base/units", to: &[] },
    Arrow { from: "base/ports", to: &["base/units", "base/txn", "base/exec"] },
    Arrow {
        from: "base/parties",
        to: &["base/units", "base/exec", "base/events", "base/ports", "base/wire"],
    },
    Arrow { from: "base/*", to: &["base/units"] },
    Arrow { from: "hardware/*", to: &["base/*"] },
    Arrow { from: "firmware/*", to: &["base/*", "firmware/flash"] },
    Arrow { from: "host/pblk", to: &["base/*", "host/driver", "host/openchannel"] },
    Arrow { from: "host/translation", to: &["base/*", "host/driver", "host/openchannel", "host/hostftl"] },
    Arrow { from: "host/*", to: &["base/*", "host/driver"] },
    Arrow { from: "device", to: &["firmware/*", "hardware/*", "base/*"] },
    Arrow { from: "rtl/bench", to: &["base/*"] },
    Arrow { from: "rtl/cosim", to: &["base/*"] },
    Arrow { from: "run/bench", to: &["device", "firmware/*", "hardware/*", "base/*"] },
    Arrow { from: "run/memory", to: &[] },
    Arrow { from: "run/image", to: &["device", "base/*", "run/targets"] },
    Arrow { from: "run/live", to: &["device", "base/*", "run/memory"] },
    Arrow { from: "run/targets", to: &["device", "host/*"] },
    Arrow { from: "run/*", to: &["device", "host/*", "base/*", "run/targets"] },
    Arrow {
        from: "lab",
        to: &["run/*", "device", "host/*", "base/units", "base/events", "lab/observe", "lab/theory"],
    },
    Arrow {
        from: "lab/dashboard",
        to: &["lab", "lab/observe", "device", "host/driver", "base/units", "base/events"],
    },
    Arrow { from: "lab/observe", to: &["base/units", "base/events"] },
    Arrow { from: "lab/theory", to: &["base/units"] },
    Arrow {
        from: "cli",
        to: &[
            "lab",
            "lab/dashboard",
            "lab/observe",
            "run/*",
            "device",
            "host/driver",
            "host/openchannel",
            "host/workload",
            "rtl/cosim",
            "base/units",
            "base/events",
        ],
    },
    Arrow { from: "python", to: &["lab", "device", "host/workload", "base/units"] },
    Arrow { from: "tests", to: &[EVERYTHING] },
    Arrow { from: "benches", to: &[EVERYTHING] },
    Arrow { from: "xtask", to: &[EVERYTHING] },
];

/// Does `folder` (`base/exec`) lie under `name` (`base/exec`, `base/*`, `*`)?
fn matches(name: &str, folder: &str) -> bool {
    match name.strip_suffix("/*") {
        Some(room) => folder.strip_prefix(room).is_some_and(|rest| rest.starts_with('/')),
        None => name == EVERYTHING || name == folder,
    }
}

/// Checks every normal and build dependency between members; tests (dev-dependencies) may use everything.
pub fn check(members: &[Member]) -> Vec<Violation> {
    members.iter().flat_map(check_member).collect()
}

/// Checks that every room in the table exists. A row for a future room would permit any crate of that
/// name.
pub fn check_rooms(members: &[Member]) -> Vec<Violation> {
    let exists = |name: &str| members.iter().any(|member| matches(name, &member.folder));
    let names = ARROWS.iter().flat_map(|arrow| [arrow.from].into_iter().chain(arrow.to.iter().copied()));
    let mut absent: Vec<&str> = names.filter(|name| !exists(name)).collect();
    absent.sort_unstable();
    absent.dedup();
    absent
        .into_iter()
        .map(|name| {
            Violation::new(
                "xtask/src/arrows.rs",
                format!("`{name}` is no room of the house: remove it from the table"),
            )
        })
        .collect()
}

/// Checks that somebody uses each arrow: what nobody needs is a way around the house for whoever comes next.
/// Rows to everything are for tests and tools.
pub fn check_used(members: &[Member]) -> Vec<Violation> {
    let row = |folder: &str| ARROWS.iter().position(|arrow| matches(arrow.from, folder));
    let is_used = |at: usize, name: &str| {
        let of_row = members.iter().filter(|member| row(&member.folder) == Some(at));
        of_row
            .flat_map(|member| &member.dependencies)
            .any(|dependency| dependency.kind != DependencyKind::Dev && matches(name, &dependency.folder))
    };
    let arrows = ARROWS
        .iter()
        .enumerate()
        .flat_map(|(at, arrow)| arrow.to.iter().map(move |to| (at, arrow.from, *to)));
    arrows
        .filter(|&(at, _, to)| to != EVERYTHING && !is_used(at, to))
        .map(|(_, from, to)| {
            Violation::new(
                "xtask/src/arrows.rs",
                format!("nothing in `{from}` uses `{to}`: take it out of the row"),
            )
        })
        .collect()
}

fn check_member(member: &Member) -> Vec<Violation> {
    let place = format!("{}/Cargo.toml", member.folder);
    let Some(arrow) = ARROWS.iter().find(|arrow| matches(arrow.from, &member.folder)) else {
        let message = format!(
            "`{}` is no room of the house: give it a row in xtask/src/arrows.rs and ARCHITECTURE.md",
            member.folder
        );
        return vec![Violation::new(place, message)];
    };
    let forbidden = member.dependencies.iter().filter(|dependency| {
        dependency.kind != DependencyKind::Dev
            && dependency.folder != member.folder
            && !arrow.to.iter().any(|name| matches(name, &dependency.folder))
    });
    forbidden
        .map(|dependency| {
            let allowed = if arrow.to.is_empty() { "nothing".to_string() } else { arrow.to.join(", ") };
            Violation::new(
                &*place,
                format!("{} must not use {}; it may use {allowed}", member.folder, dependency.folder),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn member(folder: &str, dependencies: &[(&str, DependencyKind)]) -> Member {
        let dependencies = dependencies
            .iter()
            .map(|&(folder, kind)| Dependency { folder: folder.to_string(), kind })
            .collect();
        Member { dependencies, ..Member::well_kept(folder) }
    }

    fn uses(from: &str, to: &str) -> bool {
        check(&[member(from, &[(to, DependencyKind::Normal)])]).is_empty()
    }

    #[test]
    fn arrows_of_the_design_are_allowed() {
        for (from, to) in [
            ("base/codec", "base/units"),
            ("base/exec", "base/units"),
            ("base/ports", "base/exec"),
            ("base/ports", "base/txn"),
            ("base/parties", "base/ports"),
            ("base/parties", "base/wire"),
            ("hardware/channel", "base/wire"),
            ("firmware/sched", "firmware/flash"),
            ("firmware/hostif", "base/wire"),
            ("host/workload", "host/driver"),
            ("host/translation", "host/openchannel"),
            ("device", "hardware/board"),
            ("device", "firmware/hostif"),
            ("run/image", "device"),
            ("run/live", "device"),
            ("run/live", "run/memory"),
            ("run/bench", "device"),
            ("run/bench", "hardware/nand"),
            ("lab", "run/bench"),
            ("cli", "rtl/cosim"),
            ("lab", "run/virtual"),
            ("lab", "lab/observe"),
            ("lab", "lab/theory"),
            ("lab/observe", "base/events"),
            ("lab/dashboard", "lab"),
            ("cli", "lab/dashboard"),
            ("cli", "lab/observe"),
            ("cli", "lab"),
            ("python", "lab"),
            ("tests", "cli"),
            ("benches", "firmware/sched"),
        ] {
            assert!(uses(from, to), "{from} -> {to} is in the design");
        }
    }

    #[test]
    fn arrows_absent_from_the_design_are_refused() {
        for (from, to) in [
            ("base/units", "base/exec"),
            ("base/exec", "base/txn"),
            ("base/wire", "base/ports"),
            ("base/ports", "base/wire"),
            ("base/ports", "base/parties"),
            ("base/parties", "firmware/ftl"),
            ("base/codec", "hardware/nand"),
            ("hardware/nand", "firmware/flash"),
            ("hardware/nand", "hardware/channel"),
            ("hardware/channel", "hardware/nand"),
            ("host/hostftl", "firmware/ftl"),
            ("firmware/ftl", "hardware/nand"),
            ("firmware/ftl", "firmware/sched"),
            ("firmware/flash", "host/driver"),
            ("host/driver", "device"),
            ("host/driver", "firmware/hostif"),
            ("device", "host/driver"),
            ("host/pblk", "firmware/ftl"),
            ("host/translation", "firmware/ftl"),
            ("host/openchannel", "host/pblk"),
            ("device", "run/virtual"),
            ("device", "run/bench"),
            ("run/bench", "host/driver"),
            ("run/image", "run/virtual"),
            ("run/image", "host/driver"),
            ("run/virtual", "run/image"),
            ("run/virtual", "hardware/nand"),
            ("run/virtual", "firmware/ftl"),
            ("run/virtual", "rtl/cosim"),
            ("lab", "rtl/cosim"),
            ("rtl/cosim", "device"),
            ("run/virtual", "run/memory"),
            ("run/memory", "base/units"),
            ("lab", "hardware/nand"),
            ("lab", "base/wire"),
            ("lab/theory", "firmware/ftl"),
            ("lab/observe", "device"),
            ("device", "lab/observe"),
            ("run/live", "lab/observe"),
            ("run/live", "lab/dashboard"),
            ("lab", "lab/dashboard"),
            ("cli", "host/hostftl"),
            ("python", "cli"),
            ("lab", "python"),
            ("cli", "tests"),
            ("device", "xtask"),
        ] {
            assert!(!uses(from, to), "{from} -> {to} is not in the design");
        }
    }

    #[test]
    fn a_row_for_a_room_that_does_not_exist_is_refused() {
        let house = crate::workspace::Workspace::read().unwrap().members;
        assert_eq!(check_rooms(&house), []);
        let without: Vec<_> = house.into_iter().filter(|member| member.folder != "base/exec").collect();
        let found = check_rooms(&without);
        assert_eq!(found.len(), 1, "named in rows of others, and said once");
        assert!(found[0].message.contains("`base/exec`"), "{}", found[0]);
    }

    #[test]
    fn an_arrow_that_nobody_uses_is_refused() {
        let mut house = crate::workspace::Workspace::read().unwrap().members;
        assert_eq!(check_used(&house), []);
        let pblk = house.iter_mut().find(|member| member.folder == "host/pblk").expect("it is there");
        pblk.dependencies.retain(|dependency| dependency.folder != "host/openchannel");
        let said: Vec<String> = check_used(&house).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["xtask/src/arrows.rs: nothing in `host/pblk` uses `host/openchannel`: take it out of the row"]
        );
    }

    #[test]
    fn build_dependencies_obey_and_dev_dependencies_may_use_everything() {
        let build = member("hardware/nand", &[("firmware/flash", DependencyKind::Build)]);
        let dev = member("hardware/nand", &[("firmware/flash", DependencyKind::Dev)]);
        assert_eq!(check(&[build]).len(), 1);
        assert_eq!(check(&[dev]), []);
    }

    #[test]
    fn a_crate_outside_every_room_is_refused() {
        let found = check(&[member("attic/box", &[])]);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("no room"), "{}", found[0]);
    }

    #[test]
    fn a_room_name_is_no_prefix_of_a_longer_one() {
        assert!(!matches("run/*", "runner/x"));
        assert!(!matches("run/*", "run"));
        assert!(matches("run/*", "run/virtual"));
    }

    #[test]
    fn the_message_names_both_ends_and_what_is_allowed() {
        let found = check(&[member("firmware/ftl", &[("hardware/nand", DependencyKind::Normal)])]);
        let said = found[0].to_string();
        assert_eq!(
            said,
            "firmware/ftl/Cargo.toml: firmware/ftl must not use hardware/nand; it may use base/*, \
             firmware/flash"
        );
    }
}
