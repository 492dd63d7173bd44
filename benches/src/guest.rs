//! A stock Linux guest: 4 KiB random reads at queue depth 32 on our whole drive, and in the same guest and
//! run on QEMU's own NVMe device, which a file backs. Both share the machine with the guest's own work, so
//! the ratio is more meaningful than the numbers.

use aster_run_live::Pace;
use aster_tests::live::Running;
use aster_tests::profile;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Bytes of the file behind QEMU's device.
const PEER_BYTES: u64 = 256 << 20;

/// Prints IOPS of both and their ratio.
///
/// # Errors
/// Why there are none.
pub fn measure() -> Result<(), String> {
    guest().map(|console| print(&console)).map_err(|reason| format!("guest: not measured: {reason}"))
}

fn guest() -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir().map_err(|e| format!("a folder for the peer's file: {e}"))?;
    let peer = folder.path().join("peer");
    File::create(&peer)
        .and_then(|file| file.set_len(PEER_BYTES))
        .map_err(|e| format!("the peer's file: {e}"))?;
    let drive = Running::start(&profile("ideal", |_| ()), Pace::Fast, None);
    let ours = format!(
        "{{\"driver\":\"vfio-user-pci\",\"socket\":{{\"type\":\"unix\",\"path\":\"{}\"}}}}",
        drive.socket().display()
    );
    let output = Command::new(root.join("scripts/guest.sh"))
        .arg("boot")
        .arg(root.join("tests/guest/speed.sh"))
        .args(["-device", &ours])
        .arg("-drive")
        .arg(format!("file={},if=none,id=peer,format=raw", peer.display()))
        .args(["-device", "nvme,drive=peer,serial=peer"])
        .output()
        .map_err(|e| format!("scripts/guest.sh: {e}"))?;
    drive.stop()?;
    let console = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || !console.contains("GUEST-RC 0") {
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.lines().chain(console.lines()).last().unwrap_or("no word").to_owned();
        return Err(format!("the guest ended with {} and: {last}", output.status));
    }
    Ok(console)
}

fn print(console: &str) {
    // "SPEED model;IOPS", the model with blanks behind it.
    let results: Vec<(&str, f64)> = console
        .lines()
        .filter_map(|line| line.trim().strip_prefix("SPEED ")?.split_once(';'))
        .filter_map(|(model, iops)| Some((model.trim(), iops.parse().ok()?)))
        .collect();
    let median = |ours: bool| {
        let mut rates: Vec<f64> =
            results.iter().filter(|(model, _)| model.starts_with("Aster") == ours).map(|r| r.1).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let (ours, peer) = (median(true), median(false));
    println!("guest: 4 KiB random reads, QD 32, in a Linux guest under QEMU, medians of rounds in turns");
    println!(
        "  whole drive over vfio-user {ours:>9.0} IOPS   QEMU's NVMe device {peer:>9.0} IOPS   ratio {:.2}",
        ours / peer
    );
}
