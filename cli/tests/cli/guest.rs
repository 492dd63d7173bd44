//! `aster serve` under a stock Linux: kill -9 of a server under a guest that writes to a mounted file system,
//! and what the guest fetches.

use crate::place::Place;
use aster_tests::guest::{Guest, Kernel};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

/// Drives that have room for the guest's files: one with its FTL inside, and an open-channel drive with pblk
/// on the host.
const DRIVES: [&[&str]; 2] = [
    &["tiny", "--set", "geometry.blocks_per_lun=128", "--set", "geometry.pages_per_block=64"],
    &[
        "pocket-ocssd",
        "--target",
        "pblk",
        "--set",
        "geometry.blocks_per_lun=512",
        "--set",
        "geometry.pages_per_block=128",
    ],
];

fn serve(place: &Place, drive: &[&str]) -> Child {
    // A killed server can't remove its socket.
    let _ = std::fs::remove_file(place.path("s"));
    let rest = ["--image", "d.aster", "--vfio-user", "s", "--pace", "fast"];
    let arguments = [&["serve"][..], drive, &rest].concat();
    let mut server = place.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The socket exists before the server listens.
    while UnixStream::connect(place.path("s")).is_err() {
        assert_eq!(server.try_wait().unwrap(), None, "the server ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    server
}

fn kill(mut server: Child) {
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_mounted_file_system_is_whole_after_the_server_was_killed() {
    // How many generations of files are on the drive by then.
    let cases = (1..1 + aster_tests::cases(0, 3)).flat_map(|synced| DRIVES.map(|drive| (synced, drive)));
    for (synced, drive) in cases {
        let place = Place::new();
        let server = serve(&place, drive);
        let mut guest = Guest::boot(Kernel::Cloud, &[place.path("s")], "", "killed-write.sh");
        guest.wait_for(&format!("SYNCED {synced}"));
        kill(server);
        drop(guest);
        let server = serve(&place, drive);
        let preamble = format!("synced={synced}");
        Guest::boot(Kernel::Cloud, &[place.path("s")], &preamble, "killed-check.sh").finish();
        kill(server);
    }
}

/// nvme-cli of a stock Linux reads the latest sample (C4).
#[test]
fn a_guest_fetches_the_latest_sample_by_get_log_page() {
    let place = Place::new();
    let mut command = place.command(&["serve", "pocket", "--vfio-user", "s", "--monitor-log"]);
    let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    said.find(|line| line.contains("nvme get-log")).unwrap();
    std::thread::spawn(move || said.for_each(drop));
    let console = Guest::boot(Kernel::Cloud, &[place.path("s")], "", "monitor.sh").finish();
    let line =
        console.lines().find_map(|line| line.split_once("SAMPLE ")).unwrap_or_else(|| panic!("{console}")).1;
    let sample: Value = serde_json::from_str(line.trim()).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(sample["write_bytes_total"], f64::from(256 << 10), "{sample}");
    assert!(sample["channel_busy_seconds_total"].as_f64() > Some(0.0), "{sample}");
    let stop = format!("kill -TERM {}", server.id());
    assert!(std::process::Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    assert!(server.wait().unwrap().success());
}
