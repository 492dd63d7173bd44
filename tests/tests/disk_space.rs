//! An image takes less room on the disk after its host has given data up.

use aster_device::profile::Profile;
use aster_run_live::Pace;
use aster_tests::live::{Host, Queue, Ring, Running, transfer};
use aster_tests::{profile, small};
use aster_wire::nvme::Sqe;
use aster_wire::nvme::admin::{AdminCommand, FormatDword10};
use aster_wire::nvme::io::{DatasetManagement, IoCommand};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Blocks of 512 bytes in a transfer of two host pages, and how many transfers are written.
const BLOCKS: u32 = 16;
const WRITES: u64 = 1200;
/// No wait may take longer.
const PATIENCE: Duration = Duration::from_secs(60);

fn bytes_on_disk(image: &Path) -> u64 {
    std::fs::metadata(image).unwrap().blocks() * 512
}

/// The host sends nothing more, and the drive gets all the time that it needs.
fn falls_below(image: &Path, most: u64) -> bool {
    let until = Instant::now() + PATIENCE;
    while bytes_on_disk(image) >= most {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

fn deallocate(host: &mut Host, slba: u64, blocks: u32) -> Sqe {
    let page = host.alloc(4096);
    let range = [0u32.to_le_bytes(), blocks.to_le_bytes()].concat();
    host.write(page, &[&range[..], &slba.to_le_bytes()].concat());
    IoCommand::DatasetManagement(DatasetManagement::deallocate(1)).to_sqe(1, 0, page, 0)
}

/// Fills an image, lets its host give the data up by `give_up`, and compares the image's room on the disk
/// before and after.
fn comes_back(profile: &Profile, pace: Pace, give_up: impl FnOnce(&mut Host, &mut Queue)) {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("drive.aster");
    let drive = Running::start(profile, pace, Some(&image));
    let mut host = Host::connect(&drive.socket(), Ring::Messages, 1 << 20);
    host.enable();
    let mut queue = host.create_queue(1, 32);
    let empty = bytes_on_disk(&image);
    let buffer = host.alloc(8192);
    host.write(buffer, &[0xA5; 8192]);
    for nth in 0..WRITES {
        let write = transfer(true, nth * u64::from(BLOCKS), BLOCKS, buffer);
        assert!(host.send(&mut queue, write).status().is_success());
    }
    assert!(host.send(&mut queue, IoCommand::Flush.to_sqe(1, 0, 0, 0)).status().is_success());
    let full = bytes_on_disk(&image);
    let written = WRITES * u64::from(BLOCKS) * 512;
    assert!(full > empty + written, "{empty}, then {full} bytes for {written} written");
    give_up(&mut host, &mut queue);
    // Open blocks remain: one per LUN, of sixteen pages of 16 KiB and their parity. The log and the map
    // remain, too.
    let most = empty + written / 2;
    assert!(falls_below(&image, most), "{} bytes, {full} before", bytes_on_disk(&image));
    drop(host);
    drive.stop().unwrap();
}

#[test]
fn a_discard_gives_its_room_back_without_another_write() {
    for (name, profile) in small(|_| {}) {
        println!("{name}");
        comes_back(&profile, Pace::Fast, |host, queue| {
            let discard = deallocate(host, 0, (WRITES * u64::from(BLOCKS)) as u32);
            assert!(host.send(queue, discard).status().is_success());
        });
    }
}

#[test]
fn so_does_a_format_at_a_real_pace() {
    comes_back(&profile("tiny", |_| {}), Pace::Real, |host, _| {
        let format = AdminCommand::FormatNvm(FormatDword10(0).with_lba_format(0));
        assert!(host.admin(format.to_sqe(1, 0, 0, 0)).status().is_success());
    });
}
