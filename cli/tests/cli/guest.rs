//! kill -9 of a server under a guest that writes to a mounted file system.

use crate::place::Place;
use aster_tests::guest::{Guest, Kernel};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

/// A drive that has room for the guest's files.
const DRIVE: [&str; 6] =
    ["tiny", "--set", "geometry.blocks_per_lun=128", "--set", "geometry.pages_per_block=64", "--image"];

fn serve(place: &Place) -> Child {
    // Whoever is killed can't remove its socket.
    let _ = std::fs::remove_file(place.path("s"));
    let arguments = [&["serve"][..], &DRIVE, &["d.aster", "--vfio-user", "s", "--pace", "fast"]].concat();
    let mut server = place.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The socket is there before anybody listens at it.
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
    for synced in 1..1 + aster_tests::cases(0, 3) {
        let place = Place::new();
        let server = serve(&place);
        let mut guest = Guest::boot(Kernel::Cloud, &[place.path("s")], "", "killed-write.sh");
        guest.wait_for(&format!("SYNCED {synced}"));
        kill(server);
        drop(guest);
        let server = serve(&place);
        let preamble = format!("synced={synced}");
        Guest::boot(Kernel::Cloud, &[place.path("s")], &preamble, "killed-check.sh").finish();
        kill(server);
    }
}
