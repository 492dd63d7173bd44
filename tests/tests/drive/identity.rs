//! A drive's identity, by which hosts tell drives apart.

use aster_device::Media;
use aster_device::profile::Profile;
use aster_image::{CloneSerial, clone_image, image_info};
use aster_run_live::Pace;
use aster_tests::live::{Host, Ring, Running};
use aster_tests::{SMALL, profile};
use aster_wire::nvme::admin::{AdminCommand, Identify, IdentifyDword10};
use aster_wire::nvme::identify::{Cns, IDENTIFY_BYTES};
use std::collections::BTreeSet;
use std::path::Path;

/// Serial number, subsystem name and namespace descriptors (the UUID), as a host finds them.
type Identity = (String, Vec<u8>, Vec<u8>);

fn drives() -> [Profile; 2] {
    SMALL.map(|name| profile(name, |p| (p.geometry.channels, p.geometry.ways) = (1, 1)))
}

/// Reads the drive's identity, and shuts it down.
fn ask(drive: Running) -> Identity {
    let mut host = Host::connect(&drive.socket(), Ring::Messages, 4 << 20);
    host.enable();
    let buffer = host.alloc(IDENTIFY_BYTES as u64);
    let mut page = |cns: Cns, nsid| {
        let control = IdentifyDword10(0).with_cns(cns.raw());
        let identify = Identify { control, nvm_set: 0, command_set: 0 };
        let sqe = AdminCommand::Identify(identify).to_sqe(nsid, 0, buffer, 0);
        assert!(host.admin(sqe).status().is_success());
        let mut bytes = vec![0; IDENTIFY_BYTES];
        host.read(buffer, &mut bytes);
        bytes
    };
    let controller = page(Cns::Controller, 0);
    let descriptors = page(Cns::NamespaceDescriptors, 1);
    drop(host);
    drive.stop().expect("it shuts down");
    // SN is in bytes 4 to 23, SUBNQN from 768 on (NVMe 1.4 §5.15.2.2).
    let serial = String::from_utf8(controller[4..24].to_vec()).expect("ASCII");
    (serial.trim_end().to_owned(), controller[768..1024].to_vec(), descriptors)
}

#[test]
fn images_of_one_profile_are_drives_of_their_own_and_stay_who_they_are() {
    drives().iter().for_each(stay_who_they_are);
}

fn stay_who_they_are(profile: &Profile) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let on_image = |path: &Path| ask(Running::start(profile, Pace::Fast, Some(path)));
    let (a, b) = (on_image(&path("a")), on_image(&path("b")));
    clone_image(&path("a"), &path("clone"), CloneSerial::New, |_| true).expect("a clone");
    clone_image(&path("a"), &path("stand-in"), CloneSerial::Kept, |_| true).expect("a clone");
    let clone = on_image(&path("clone"));
    assert_eq!(image_info(&path("a")).expect("an image").serial, a.0);
    let serials: BTreeSet<_> = [&a, &b, &clone].map(|drive| &drive.0).into();
    let names: BTreeSet<_> = [&a, &b, &clone].map(|drive| &drive.1).into();
    let uuids: BTreeSet<_> = [&a, &b, &clone].map(|drive| &drive.2).into();
    assert_eq!((serials.len(), names.len(), uuids.len()), (3, 3, 3), "{a:?} {b:?} {clone:?}");
    assert_eq!(on_image(&path("a")), a, "after a restart");
    assert_eq!(on_image(&path("clone")), clone, "after a restart");
    assert_eq!(on_image(&path("stand-in")), a, "it takes the drive's place");
}

#[test]
fn a_drive_in_memory_is_the_same_each_time_unless_it_is_told_who_it_is() {
    for profile in drives() {
        let in_memory = |media: fn() -> Media| ask(Running::start_on(&profile, Pace::Fast, media));
        let first = in_memory(Media::fresh);
        assert_eq!(in_memory(Media::fresh), first);
        let named = in_memory(|| Media::fresh().with_serial("SPARE WHEEL".into()));
        assert_eq!(named.0, "SPARE WHEEL");
        assert!(named.1 != first.1 && named.2 != first.2);
    }
}
