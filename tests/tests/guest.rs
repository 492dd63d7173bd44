//! A stock Linux guest on a live drive. `scripts/setup.sh --guest`, which `make test` runs, installs QEMU,
//! kernels and tools.

use aster_device::profile::{ContentKind, Profile, TargetProfile};
use aster_run_live::Pace;
use aster_tests::guest::{Guest, Kernel};
use aster_tests::live::Running;
use aster_tests::{cases, profile};
use std::os::unix::fs::MetadataExt;

/// A drive of some 700 MB, large enough for every file system.
fn roomy() -> Profile {
    profile("tiny", |p| {
        p.geometry.blocks_per_lun = 128;
        p.geometry.pages_per_block = 64;
        p.host.queue_pairs = 4;
    })
}

/// The part that runs only with `ASTER_LONG=1`.
fn long() -> bool {
    cases(1, 2) == 2
}

/// Boots a guest that runs `script` on `drives`. Returns the console's output.
fn boot(drives: &[&Running], preamble: &str, script: &str) -> String {
    let sockets: Vec<_> = drives.iter().map(|drive| drive.socket()).collect();
    Guest::boot(Kernel::Cloud, &sockets, preamble, script).finish()
}

#[test]
fn a_stock_linux_finds_two_drives_of_one_profile_and_does_what_every_host_does() {
    let folder = tempfile::tempdir().unwrap();
    let start = |name: &str| Running::start(&roomy(), Pace::Fast, Some(&folder.path().join(name)));
    let drives = [start("a.aster"), start("b.aster")];
    let console = boot(&[&drives[0], &drives[1]], "", "short.sh");
    for expected in ["Aster live", "/dev/nvme0n1", "/dev/nvme1n1", "err= 0"] {
        assert!(console.contains(expected), "{expected}: {console}");
    }
    for drive in drives {
        drive.stop().unwrap();
    }
}

/// SoftSSD's drive, whose firmware sends packets, and the drives whose FTL is on the host: under a stock
/// Linux they are drives like any other. In long runs those of the papers' size as well.
#[test]
fn a_stock_linux_uses_a_drive_of_each_paper() {
    let large = ["softssd", "host-ftl"].into_iter().filter(|_| long());
    for name in ["softssd-small", "host-ftl-small", "pocket-ocssd"].into_iter().chain(large) {
        let paper = profile(name, |p| {
            p.content = ContentKind::Full;
            if name == "pocket-ocssd" {
                p.target = Some(TargetProfile { kind: "pblk".to_owned(), ..TargetProfile::default() });
            }
        });
        let drive = Running::start(&paper, Pace::Fast, None);
        let console = boot(&[&drive], "", "short.sh");
        for expected in ["Aster live", "err= 0"] {
            assert!(console.contains(expected), "{name}: {expected}: {console}");
        }
        drive.stop().unwrap();
    }
}

/// O1, P22 to P29: Linux's LightNVM and pblk are hosts of an open-channel drive of either version, and what
/// pblk has written is there after the drive was restarted, too. Runs with `ASTER_LIGHTNVM=1`, after
/// `scripts/setup.sh --lightnvm`.
#[test]
fn a_stock_lightnvm_host_uses_an_open_channel_drive() {
    if std::env::var_os("ASTER_LIGHTNVM").is_none() {
        println!("left out: set ASTER_LIGHTNVM=1, after scripts/setup.sh --lightnvm");
        return;
    }
    for name in ["cosmos-ocssd", "cosmos-ocssd-2"] {
        // pblk wants ten lines at least, and looks at every block when it attaches: 64 lines of 8 MiB.
        let array = profile(name, |p| {
            (p.geometry.channels, p.geometry.ways) = (1, 4);
            (p.geometry.blocks_per_lun, p.geometry.pages_per_block) = (128, 64);
            p.ecc.solver_channels = 1;
            p.content = ContentKind::Full;
            p.target = None;
        });
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("drive.aster");
        for script in ["lightnvm.sh", "lightnvm-again.sh"] {
            let drive = Running::start(&array, Pace::Fast, Some(&image));
            let console = Guest::boot(Kernel::LightNvm, &[drive.socket()], "", script).finish();
            assert!(console.contains("nvm: registered nvme0n1 [4/8/64/4/1]"), "{name}: {console}");
            drive.stop().unwrap();
        }
    }
}

#[test]
fn a_guest_does_all_that_hosts_do_and_finds_it_again() {
    if !long() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("drive.aster");
    for script in ["long.sh", "restarted.sh"] {
        let drive = Running::start(&roomy(), Pace::Fast, Some(&image));
        boot(&[&drive], "", script);
        drive.stop().unwrap();
        // 12 MiB of the guest's data remain; a block of 1 MiB and its parity may be open in each of 8 LUNs
        // for host and garbage collection. The guest has discarded or formatted away the rest.
        let bytes = std::fs::metadata(&image).unwrap().blocks() * 512;
        assert!(bytes < 48 << 20, "{} MiB after {script}", bytes >> 20);
    }
}

#[test]
fn a_guest_uses_a_drive_that_takes_its_time() {
    if !long() {
        return;
    }
    let drive = Running::start(&roomy(), Pace::Real, None);
    let console = boot(&[&drive], "", "short.sh");
    assert!(console.contains("err= 0"), "{console}");
    drive.stop().unwrap();
}

#[test]
fn the_driver_of_a_guest_is_unloaded_and_loaded_again() {
    if !long() {
        return;
    }
    let drive = Running::start(&roomy(), Pace::Fast, None);
    Guest::boot(Kernel::Modular, &[drive.socket()], "", "modules.sh").finish();
    drive.stop().unwrap();
}

#[test]
fn file_systems_outlive_a_restart_of_the_drive() {
    for kind in ["ext4", "xfs", "btrfs"].into_iter().take(cases(1, 3) as usize) {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("drive.aster");
        let preamble = format!("echo {kind} >/kind");
        for script in ["filesystem-make.sh", "filesystem-check.sh"] {
            let drive = Running::start(&roomy(), Pace::Fast, Some(&image));
            boot(&[&drive], &preamble, script);
            drive.stop().unwrap();
        }
    }
}
