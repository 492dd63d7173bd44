//! A drive on an image may be larger than the machine's memory.

use crate::killed::{BLOCK_BYTES, BLOCKS, Session, serve_with};
use crate::place::Place;
use aster_tests::live::transfer;
use aster_wire::nvme::io::IoCommand;

/// The amount of data written, and the limit of the server's peak memory.
const WRITTEN: u64 = 192 << 20;
const MEMORY_MAX: u64 = 48 << 20;

/// The server's peak memory so far, without cached file pages.
fn peak(session: &Session) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", session.server.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn an_image_takes_more_than_its_server_has_memory() {
    let place = Place::new();
    let mut session = serve_with(&place, &["--set", "geometry.blocks_per_lun=200"]);
    let bytes = u64::from(BLOCKS) * BLOCK_BYTES as u64;
    let slots = WRITTEN / bytes;
    let count = session.buffers.len() as u64;
    for first in (0..slots).step_by(count as usize) {
        for nth in 0..count {
            session.push_write(nth as usize, first + nth, first + nth + 1);
        }
        session.host.ring(&session.queue);
        session.wait_for_writes();
    }
    let flush = IoCommand::Flush.to_sqe(1, 0, 0, 0);
    assert!(session.host.send(&mut session.queue, flush).status().is_success());
    for slot in (0..slots).step_by(997) {
        let read = transfer(false, slot * u64::from(BLOCKS), BLOCKS, session.buffers[0]);
        assert!(session.host.send(&mut session.queue, read).status().is_success());
        let mut found = [0; 16];
        session.host.read(session.buffers[0], &mut found);
        assert_eq!(found, *[slot, slot + 1].map(u64::to_le_bytes).concat());
    }
    let peak = peak(&session);
    assert!(peak < MEMORY_MAX, "the server of {} MiB has taken {} MiB", WRITTEN >> 20, peak >> 20);
    session.kill();
}
