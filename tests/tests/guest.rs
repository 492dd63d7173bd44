//! A stock Linux guest on a live drive. `scripts/setup.sh --guest` brings QEMU, a kernel and tools; `make test` sees to it.

use aster_device::profile::Profile;
use aster_run_live::Pace;
use aster_tests::live::Running;
use aster_tests::{cases, profile};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A drive of some 700 MB, large enough for every file system.
fn roomy() -> Profile {
    profile("tiny", |p| {
        p.geometry.blocks_per_lun = 128;
        p.geometry.pages_per_block = 64;
        p.host.queue_pairs = 4;
    })
}

/// Boots a guest that runs `script` of `tests/guest`, after `preamble`, on `drive`. Panics with the console when the script
/// fails; gives the console.
fn boot(drive: &Running, preamble: &str, script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(root().join("tests/guest").join(script)).unwrap();
    let path = folder.path().join("run.sh");
    std::fs::write(&path, format!("{preamble}\n{text}")).unwrap();
    let socket = drive.socket();
    let device = format!(
        r#"{{"driver":"vfio-user-pci","socket":{{"type":"unix","path":"{}"}},"addr":"04.0"}}"#,
        socket.display()
    );
    let output = Command::new(root().join("scripts/guest.sh"))
        .arg("boot")
        .arg(&path)
        .args(["-device", &device])
        .output()
        .expect("scripts/guest.sh runs");
    let console = String::from_utf8_lossy(&output.stdout).into_owned();
    let finished = console.contains("GUEST-RC 0");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && finished, "{script}: {}\n{console}\n{errors}", output.status);
    console
}

#[test]
fn a_stock_linux_finds_the_drive_and_does_all_that_hosts_do() {
    let drive = Running::start(&roomy(), Pace::Fast, None);
    let console = boot(&drive, "", "short.sh");
    assert!(console.contains("Aster live"), "{console}");
    assert!(console.contains("/dev/nvme0n1"), "{console}");
    assert!(console.contains("err= 0"), "{console}");
    if cases(1, 2) == 2 {
        // Another guest on the same drive.
        boot(&drive, "", "long.sh");
    }
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
            boot(&drive, &preamble, script);
            drive.stop().unwrap();
        }
    }
}
