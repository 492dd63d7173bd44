//! An image on a disk that fills up under a live drive.

use aster_device::profile::Profile;
use aster_device::{Device, Media, NVRAM_BYTES};
use aster_events::Recorder;
use aster_ports::medium::Nvram;
use aster_run_live::{Pace, Server};
use aster_tests::live::{Host, Ring, transfer};
use aster_tests::{SmallDisk, small};
use aster_units::Content;
use aster_wire::nvme::Cqe;
use aster_wire::nvme::io::IoCommand;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const MEMORY: u64 = 1 << 20;
/// 512-byte blocks per write.
const BLOCKS: u32 = 16;

fn power_on(profile: &Profile, media: Media) -> Device {
    Device::power_on("live", profile, Some(Content::Full), media, &Recorder::default())
        .unwrap_or_else(|e| panic!("power-on: {e}"))
}

/// What a host has learned before its drive disappeared.
#[derive(Default)]
struct Found {
    written: u64,
    flushed: u64,
    failed: Option<Cqe>,
}

/// Writes slot after slot, and flushes after each tenth, until the drive disappears.
fn write_until_it_is_gone(socket: &Path, gone: &AtomicBool) -> Found {
    let mut host = Host::connect(socket, Ring::Mapped, MEMORY);
    host.enable();
    let mut queue = host.create_queue(1, 32);
    let at = host.alloc(u64::from(BLOCKS) * 512);
    let mut found = Found::default();
    loop {
        let slot = found.written;
        let flushes = slot % 10 == 9 && found.flushed < slot;
        host.write(at, &slot.to_le_bytes().repeat(BLOCKS as usize * 512 / 8));
        let sqe = match flushes {
            true => IoCommand::Flush.to_sqe(1, 0, 0, 0),
            false => transfer(true, slot * u64::from(BLOCKS), BLOCKS, at),
        };
        host.push(&mut queue, sqe);
        host.ring(&queue);
        let answer = loop {
            match host.poll(&mut queue) {
                Some(cqe) => break Some(cqe),
                None if gone.load(Ordering::Relaxed) => break None,
                None => std::thread::yield_now(),
            }
        };
        match answer {
            Some(cqe) if cqe.status().is_success() => {
                host.ring_head(&queue);
                if flushes { found.flushed = slot } else { found.written += 1 }
            }
            failed => {
                found.failed = failed;
                return found;
            }
        }
    }
}

#[test]
fn a_full_disk_stops_the_server_before_the_host_or_the_firmware_take_it_for_bad_cells() {
    for (name, profile) in small(|_| {}) {
        println!("{name}");
        fills_up(&profile);
    }
}

fn fills_up(profile: &Profile) {
    let size = aster_device::nand_image_bytes(profile, Some(Content::Full)).unwrap_or_else(|e| panic!("{e}"));
    let room = Rc::new(Cell::new(4 << 20));
    let disk = SmallDisk::new(size, Rc::clone(&room));
    let open = || Media::on_image(Box::new(disk.clone()), Nvram::volatile(NVRAM_BYTES));
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let mut server = Server::new(power_on(profile, open()), &socket, Pace::Fast).unwrap();
    let gone = Arc::new(AtomicBool::new(false));
    let client = std::thread::spawn({
        let (socket, gone) = (socket.clone(), Arc::clone(&gone));
        move || write_until_it_is_gone(&socket, &gone)
    });
    let words =
        server.run(|| client.is_finished(), |_| (), |_| ()).expect_err("the disk is full").to_string();
    assert!(words.contains("no space left") && words.contains("at byte 10995"), "{words}");
    drop(server.cut_power());
    gone.store(true, Ordering::Relaxed);
    let found = client.join().unwrap();
    assert!(found.failed.is_none(), "the host was told {:?}", found.failed);
    assert!(found.flushed > 100, "the disk had room at first");

    // When the disk has room again all data is there, and no block has gone bad.
    room.set(usize::MAX);
    let mut server = Server::new(power_on(profile, open()), &socket, Pace::Fast).unwrap();
    let flushed = found.flushed;
    let client = std::thread::spawn(move || {
        let mut host = Host::connect(&socket, Ring::Mapped, MEMORY);
        host.enable();
        let mut queue = host.create_queue(1, 32);
        let bytes = BLOCKS as usize * 512;
        let at = host.alloc(bytes as u64);
        for slot in 0..flushed {
            let read = transfer(false, slot * u64::from(BLOCKS), BLOCKS, at);
            assert!(host.send(&mut queue, read).status().is_success());
            let mut page = vec![0; bytes];
            host.read(at, &mut page);
            assert!(page == slot.to_le_bytes().repeat(bytes / 8), "slot {slot}");
        }
    });
    server.run(|| client.is_finished(), |_| (), |_| ()).unwrap();
    client.join().unwrap();
    let recovery = server.device().recovery().expect("it lost its power");
    assert!(recovery.contains("recovered in"), "its log is whole: {recovery}");
    assert_eq!(server.device().translation().stats().grown_bad_blocks, 0);
}
