//! kill -9 of a server is a power cut: the drive comes back from its image alone.

use crate::place::Place;
use aster_tests::live::{Host, Queue, Ring, transfer};
use aster_units::Rng;
use aster_wire::nvme::admin::{AdminCommand, FormatDword10, GetLogPage};
use aster_wire::nvme::io::IoCommand;
use aster_wire::nvme::log::{HealthLog, LogId};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use zerocopy::FromBytes;

const MEMORY: u64 = 4 << 20;
/// Blocks of 512 bytes per slot.
pub const BLOCKS: u32 = 16;
pub const BLOCK_BYTES: usize = 512;
const SLOTS: u64 = 600;
/// Writes in flight when the server is killed, and between two flushes.
const IN_FLIGHT: u64 = 12;

/// A block with its address and the version of its write.
fn block(slot: u64, nth: u64, version: u64) -> Vec<u8> {
    [slot ^ nth << 32, version].map(u64::to_le_bytes).concat().repeat(BLOCK_BYTES / 16)
}

/// Versions of a block that may be found: from the last flushed one to the last one sent.
#[derive(Clone, Copy, Default)]
struct Held {
    flushed: u64,
    sent: u64,
}

/// By slot, then by block in it.
type Slots = BTreeMap<u64, [Held; BLOCKS as usize]>;

pub struct Session {
    pub server: Child,
    pub host: Host,
    pub queue: Queue,
    pub buffers: Vec<u64>,
}

fn serve(place: &Place) -> Session {
    serve_with(place, &[])
}
pub fn serve_with(place: &Place, more: &[&str]) -> Session {
    let arguments = ["serve", "tiny", "--image", "d.aster", "--vfio-user", "s", "--pace", "fast"];
    let mut command = place.command(&[&arguments[..], more].concat());
    serve_by(place, command.stdout(Stdio::null()).stderr(Stdio::piped()))
}
/// As [`serve_with`], by a command that serves at the socket `s`.
pub fn serve_by(place: &Place, command: &mut Command) -> Session {
    // A killed server can't remove its socket.
    let _ = std::fs::remove_file(place.path("s"));
    let mut server = command.spawn().unwrap();
    // The socket exists before the server listens.
    while UnixStream::connect(place.path("s")).is_err() {
        if let Some(status) = server.try_wait().unwrap() {
            let mut said = String::new();
            server.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("the server ended with {status}: {said}");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut host = Host::connect(&place.path("s"), Ring::Messages, MEMORY);
    host.enable();
    let queue = host.create_queue(1, 32);
    let buffers = (0..IN_FLIGHT).map(|_| host.alloc(u64::from(BLOCKS) * BLOCK_BYTES as u64)).collect();
    Session { server, host, queue, buffers }
}

impl Session {
    /// Flushed data are there, and every other block holds one of its versions, whole.
    fn verify(&mut self, held: &mut Slots) {
        let mut bytes = vec![0; BLOCKS as usize * BLOCK_BYTES];
        for (&slot, blocks) in held.iter_mut() {
            let read = transfer(false, slot * u64::from(BLOCKS), BLOCKS, self.buffers[0]);
            assert!(self.host.send(&mut self.queue, read).status().is_success(), "slot {slot}");
            self.host.read(self.buffers[0], &mut bytes);
            let found = (0..).zip(bytes.chunks_exact(BLOCK_BYTES));
            for ((nth, found), held) in found.zip(blocks) {
                let version = u64::from_le_bytes(found[8..16].try_into().unwrap());
                let whole = if version == 0 { vec![0; BLOCK_BYTES] } else { block(slot, nth, version) };
                assert!(found == whole, "block {nth} of slot {slot} is torn");
                assert!(
                    (held.flushed..=held.sent).contains(&version),
                    "block {nth} of slot {slot} holds version {version}, not {} to {}",
                    held.flushed,
                    held.sent
                );
                // Later reads must return the same version.
                *held = Held { flushed: version, sent: version };
            }
        }
    }
    pub fn push_write(&mut self, buffer: usize, slot: u64, version: u64) {
        let content: Vec<u8> = (0..u64::from(BLOCKS)).flat_map(|nth| block(slot, nth, version)).collect();
        self.host.write(self.buffers[buffer], &content);
        let write = transfer(true, slot * u64::from(BLOCKS), BLOCKS, self.buffers[buffer]);
        self.host.push(&mut self.queue, write);
    }
    /// Writes a round of different slots at once.
    fn write_some(&mut self, held: &mut Slots, rng: &mut Rng, version: &mut u64) {
        let mut slots = Vec::new();
        while slots.len() < IN_FLIGHT as usize {
            let slot = rng.below(SLOTS);
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        for (buffer, &slot) in slots.iter().enumerate() {
            *version += 1;
            held.entry(slot).or_default().iter_mut().for_each(|held| held.sent = *version);
            self.push_write(buffer, slot, *version);
        }
        self.host.ring(&self.queue);
    }
    pub fn wait_for_writes(&mut self) {
        for _ in 0..IN_FLIGHT {
            assert!(self.host.wait(&mut self.queue).status().is_success());
        }
    }
    fn flush(&mut self, held: &mut Slots) {
        let flush = IoCommand::Flush.to_sqe(1, 0, 0, 0);
        assert!(self.host.send(&mut self.queue, flush).status().is_success());
        held.values_mut().flatten().for_each(|held| held.flushed = held.sent);
    }
    fn smart(&mut self) -> HealthLog {
        let page = self.buffers[0];
        let log = AdminCommand::GetLogPage(GetLogPage::new(LogId::Health.raw(), 128));
        assert!(self.host.admin(log.to_sqe(u32::MAX, 0, page, 0)).status().is_success());
        let mut bytes = [0; 512];
        self.host.read(page, &mut bytes);
        HealthLog::read_from_bytes(&bytes).unwrap()
    }
    pub fn kill(mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

/// No server stays behind when a test ends or fails.
impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn what_was_flushed_is_there_each_time_the_server_was_killed() {
    let place = Place::new();
    let (mut held, mut version) = (Slots::new(), 0);
    for seed in 0..aster_tests::cases(4, 40) {
        let mut session = serve(&place);
        session.verify(&mut held);
        let mut rng = Rng::new(seed);
        for _ in 0..1 + rng.below(12) {
            session.write_some(&mut held, &mut rng, &mut version);
            session.wait_for_writes();
            if rng.below(3) == 0 {
                session.flush(&mut held);
            }
        }
        session.write_some(&mut held, &mut rng, &mut version);
        session.kill();
    }
    let checked = place.aster(&["image", "check", "d.aster", "tiny"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(checked.out.contains("the power was lost: recovered in"), "{}", checked.out);
}

#[test]
fn a_format_is_not_undone_when_the_server_is_killed() {
    let place = Place::new();
    let (mut held, mut version) = (Slots::new(), 0);
    let mut session = serve(&place);
    let mut rng = Rng::new(1);
    for _ in 0..12 {
        session.write_some(&mut held, &mut rng, &mut version);
        session.wait_for_writes();
    }
    session.flush(&mut held);
    // Format 0 has the blocks of 512 bytes that there were before.
    let format = AdminCommand::FormatNvm(FormatDword10(0).with_lba_format(0));
    assert!(session.host.admin(format.to_sqe(1, 0, 0, 0)).status().is_success());
    session.kill();
    held.values_mut().flatten().for_each(|held| *held = Held::default());
    serve(&place).verify(&mut held);
}

#[test]
fn smart_counts_the_kill_and_keeps_all_but_the_last_second() {
    let place = Place::new();
    let (mut held, mut version) = (Slots::new(), 0);
    // A slow package: little to compute takes seconds of the drive's time.
    let slow = ["--set", "package.program_us=[20000, 20000]"];
    let mut rng = Rng::new(1);
    for kills in 0..2 {
        let mut session = serve_with(&place, &slow);
        let before = session.smart();
        assert_eq!((before.power_cycles.get(), before.unsafe_shutdowns.get()), (kills + 1, kills));
        assert_eq!(before.host_write_commands.get() > 1_000, kills > 0, "{}", before.host_write_commands);
        for _ in 0..150 {
            session.write_some(&mut held, &mut rng, &mut version);
            session.wait_for_writes();
        }
        session.kill();
    }
}

/// O_DSYNC as /proc shows it.
const DSYNC: u32 = 0o10000;

#[test]
fn an_image_is_written_through_to_the_disk_where_that_is_asked_for() {
    for (more, waits) in [(&["--sync"][..], true), (&[], false)] {
        let place = Place::new();
        let mut session = serve_with(&place, more);
        let (mut held, mut rng) = (Slots::new(), Rng::new(1));
        session.write_some(&mut held, &mut rng, &mut 0);
        session.wait_for_writes();
        session.flush(&mut held);
        session.verify(&mut held);
        let process = format!("/proc/{}", session.server.id());
        let is_image = |file: &std::fs::DirEntry| {
            std::fs::read_link(file.path()).is_ok_and(|path| path.ends_with("d.aster"))
        };
        let open = std::fs::read_dir(format!("{process}/fd")).unwrap().map(Result::unwrap);
        let file = open.into_iter().find(is_image).unwrap().file_name();
        let said = std::fs::read_to_string(format!("{process}/fdinfo/{}", file.display())).unwrap();
        let flags = said.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim().to_owned();
        assert_eq!(u32::from_str_radix(&flags, 8).unwrap() & DSYNC != 0, waits, "{flags}");
        session.kill();
    }
}
