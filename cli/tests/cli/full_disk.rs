//! `aster serve` on a disk that runs full: it pauses, and continues when there is room.

use crate::killed::{BLOCK_BYTES, BLOCKS, Session, serve_by};
use crate::place::Place;
use aster_tests::live::{Host, Queue, transfer};
use aster_wire::nvme::admin::{AbortDword10, AdminCommand, GetLogPage};
use aster_wire::nvme::features::{AsyncEvent, AsyncEventType, ErrorEvent};
use aster_wire::nvme::io::{DatasetManagement, IoCommand};
use aster_wire::nvme::log::{ErrorEntry, LogId, NO_COMMAND};
use aster_wire::nvme::{Cqe, Status};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use zerocopy::FromBytes;

/// Nothing should take this long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Slots of one transfer each that are written on `tiny`.
const SLOTS: u64 = 4000;

/// A process's lines, as they come.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn of(from: impl Read + Send + 'static) -> Self {
        let lines = Lines::default();
        let into = lines.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                into.0.lock().unwrap().push(line);
            }
        });
        lines
    }
    fn have(&self, words: &str) -> bool {
        self.0.lock().unwrap().iter().any(|line| line.contains(words))
    }
    fn wait_for(&self, words: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.have(words) {
            assert!(Instant::now() < until, "no {words:?} in {:?}", self.0.lock().unwrap());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A drive whose disk is going to run full, and its host.
struct Drive {
    session: Session,
    said: Lines,
    status: Lines,
    /// For commands other than writes.
    other: Queue,
    flushes: Queue,
    page: u64,
    written: u64,
    flushed: u64,
    /// A flush that was sent before the pause hasn't completed yet.
    flushes_on: bool,
    /// The asynchronous event of the pause.
    event: Option<Cqe>,
}

fn content(slot: u64) -> Vec<u8> {
    (slot + 1).to_le_bytes().repeat(BLOCKS as usize * BLOCK_BYTES / 8)
}

fn write_of(host: &mut Host, buffer: u64, slot: u64) -> aster_wire::nvme::Sqe {
    host.write(buffer, &content(slot));
    transfer(true, slot * u64::from(BLOCKS), BLOCKS, buffer)
}

impl Drive {
    fn serve(place: &Place, command: &mut Command) -> Self {
        let mut session = serve_by(place, command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let said = Lines::of(session.server.stderr.take().unwrap());
        let status = Lines::of(session.server.stdout.take().unwrap());
        let other = session.host.create_queue(2, 8);
        let flushes = session.host.create_queue(3, 8);
        let page = session.host.alloc(4096);
        Drive {
            session,
            said,
            status,
            other,
            flushes,
            page,
            written: 0,
            flushed: 0,
            flushes_on: false,
            event: None,
        }
    }

    fn flush(&mut self) -> bool {
        if core::mem::take(&mut self.flushes_on) {
            return self.session.host.wait(&mut self.flushes).status().is_success();
        }
        let flush = IoCommand::Flush.to_sqe(1, 0, 0, 0);
        self.session.host.send(&mut self.flushes, flush).status().is_success()
    }

    /// Writes, and flushes now and then, until the drive reports that it is paused. One write waits then.
    fn fill_up(&mut self) {
        self.session.host.push_admin(AdminCommand::AsyncEventRequest.to_sqe(0, 0, 0, 0));
        while !self.said.have("paused, since") {
            assert!(self.written < SLOTS, "the disk is not full: {:?}", self.said.0.lock().unwrap());
            if self.written % 50 == 49 && self.flushed < self.written {
                let flush = IoCommand::Flush.to_sqe(1, 0, 0, 0);
                self.session.host.push(&mut self.flushes, flush);
                self.session.host.ring(&self.flushes);
                // A write for which the disk has no room waits, too.
                let answered = loop {
                    match self.session.host.poll(&mut self.flushes) {
                        Some(cqe) => break cqe.status().is_success(),
                        None if self.said.have("paused, since") => break false,
                        None => std::thread::yield_now(),
                    }
                };
                self.flushes_on = !answered;
                if answered {
                    self.session.host.ring_head(&self.flushes);
                    self.flushed = self.written;
                }
            }
            let cid = self.push_write();
            let answer = loop {
                match self.session.host.poll(&mut self.session.queue) {
                    None if self.said.have("paused, since") => break None,
                    None => std::thread::yield_now(),
                    answer => break answer,
                }
            };
            let answer = answer.unwrap_or_else(|| self.abort(cid));
            self.session.host.ring_head(&self.session.queue);
            self.written += u64::from(answer.status().is_success());
        }
        // The event was raised before the server's message. Aborts may have completed it already.
        if self.event.is_none() {
            self.event = Some(self.session.host.wait_admin());
        }
        self.push_write();
        self.status.wait_for("\"paused\":true");
        assert!(!self.status.have("\"paused\":true,\"missing_bytes\":null"));
    }
    fn push_write(&mut self) -> u16 {
        let (host, buffer) = (&mut self.session.host, self.session.buffers[0]);
        let write = write_of(host, buffer, self.written);
        let cid = host.push(&mut self.session.queue, write);
        host.ring(&self.session.queue);
        cid
    }
    /// Waits for a completion without telling the drive that it was taken.
    fn next_of_writes(&mut self) -> Cqe {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(cqe) = self.session.host.poll(&mut self.session.queue) {
                return cqe;
            }
            assert!(Instant::now() < until, "an aborted write ends");
            std::thread::yield_now();
        }
    }
    /// A write that was in flight when the pause began either waits and is aborted, or succeeds.
    fn abort(&mut self, cid: u16) -> Cqe {
        self.event = Some(self.session.host.wait_admin());
        loop {
            let abort = AbortDword10(0).with_sq_id(1).with_cid(cid);
            let aborted = self.session.host.admin(AdminCommand::Abort(abort).to_sqe(0, 0, 0, 0));
            let waited = aborted.result.get() == 0;
            match self.session.host.poll(&mut self.session.queue) {
                Some(cqe) if cqe.status().is_success() => return cqe,
                None if !waited => std::thread::yield_now(),
                answer => {
                    let cqe = answer.unwrap_or_else(|| self.next_of_writes());
                    assert_eq!(cqe.status(), Status::ABORT_REQUESTED);
                    return cqe;
                }
            }
        }
    }

    /// The host got the event, and all its commands except writes have completed.
    fn is_told_and_answered(&mut self) {
        let host = &mut self.session.host;
        let event = self.event.take().unwrap();
        assert!(event.status().is_success());
        let expected = AsyncEvent::of(
            AsyncEventType::Error,
            ErrorEvent::TransientInternalError.raw(),
            LogId::ErrorInformation.raw(),
        );
        assert_eq!(event.result_64() as u32, expected.0);
        let log = AdminCommand::GetLogPage(GetLogPage::new(LogId::ErrorInformation.raw(), 32));
        assert!(host.admin(log.to_sqe(u32::MAX, 0, self.page, 0)).status().is_success());
        let mut bytes = [0; 128];
        host.read(self.page, &mut bytes);
        // The later one may be of a write that was aborted.
        let entries = [0, 64].map(|at| ErrorEntry::read_from_bytes(&bytes[at..at + 64]).unwrap());
        let tells = |entry: &ErrorEntry| entry.sq_id.get() == NO_COMMAND && entry.error_count.get() > 0;
        assert!(entries.iter().any(tells), "{entries:?}");
        self.verify(self.written.saturating_sub(20)..self.written);
        assert!(self.session.host.poll(&mut self.session.queue).is_none(), "a write waits");
    }

    fn verify(&mut self, slots: std::ops::Range<u64>) {
        let buffer = self.session.buffers[1];
        let mut found = vec![0; BLOCKS as usize * BLOCK_BYTES];
        for slot in slots {
            let read = transfer(false, slot * u64::from(BLOCKS), BLOCKS, buffer);
            assert!(self.session.host.send(&mut self.other, read).status().is_success(), "slot {slot}");
            self.session.host.read(buffer, &mut found);
            assert!(found == content(slot), "slot {slot}");
        }
    }

    /// The write that waited succeeds, and there is no second pause.
    fn goes_on(&mut self) {
        self.said.wait_for("there is room again");
        assert!(self.session.host.wait(&mut self.session.queue).status().is_success());
        self.written += 1;
        let buffer = self.session.buffers[0];
        for _ in 0..20 {
            let write = write_of(&mut self.session.host, buffer, self.written);
            assert!(self.session.host.send(&mut self.session.queue, write).status().is_success());
            self.written += 1;
        }
        self.status.wait_for("\"paused\":false");
        self.status.wait_for("\"notice\":\"there is room again");
    }

    /// Asks the server to end; returns its exit status and its last output.
    fn stop(mut self) -> (i32, Lines) {
        let stop = format!("kill -TERM {}", self.session.server.id());
        assert!(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
        let code = self.session.server.wait().unwrap().code().expect("no signal ended it");
        (code, self.said.clone())
    }
}

const SERVE: [&str; 9] =
    ["serve", "tiny", "--image", "d.aster", "--vfio-user", "s", "--pace", "fast", "--json"];

// ---- a limit on the size of files: any user can set and lift one ----

/// A server that can't write to its image beyond a given byte, as with a quota or a full disk.
fn limited(place: &Place) -> Drive {
    // Half of the last of eight LUNs lies beyond it.
    Drive::serve(place, &mut limited_command(place, 15, &SERVE))
}

/// A command that may write so many sixteenths of its image.
fn limited_command(place: &Place, sixteenths: u64, arguments: &[&str]) -> Command {
    // An image that is there: a new one would be longer than the limit allows.
    place.write("one.fio", "[one]\nrw=write\nbs=4k\nsize=4k\n");
    let run = ["run", "tiny", "--job", "one.fio", "--image", "d.aster", "--content", "full"];
    assert_eq!(place.aster(&run).code, 0);
    let limit = std::fs::metadata(place.path("d.aster")).unwrap().len() / 16 * sixteenths;
    let program = place.command(&[]).get_program().to_owned();
    let mut command = Command::new("prlimit");
    command.arg(format!("--fsize={limit}:")).arg(program).args(arguments);
    command.current_dir(place.path("")).stdin(Stdio::null());
    command
}

#[test]
fn a_drive_that_may_not_write_pauses_and_goes_on_by_itself_with_every_byte() {
    let place = Place::new();
    let mut drive = limited(&place);
    drive.fill_up();
    assert!(drive.said.have("outgrow what the system's limits allow"), "{:?}", drive.said.0);
    drive.is_told_and_answered();
    let lift = format!("prlimit --pid {} --fsize=unlimited:", drive.session.server.id());
    assert!(Command::new("sh").args(["-c", &lift]).status().unwrap().success());
    drive.goes_on();
    let written = drive.written;
    drive.verify(0..written);
    let (code, said) = drive.stop();
    assert_eq!(code, 0);
    said.wait_for("shut down; d.aster has everything");
    assert_eq!(place.aster(&["image", "check", "d.aster", "tiny"]).code, 0);
    let mut drive = Drive::serve(&place, &mut place.command(&SERVE));
    drive.verify(0..written);
}

#[test]
fn a_run_whose_image_can_not_grow_says_so_before_what_failed_for_it() {
    let place = Place::new();
    place.write("all.fio", "[all]\nrw=write\nbs=64k\niodepth=4\n");
    let mut command = limited_command(&place, 10, &["run", "tiny", "--job", "all.fio", "--image", "d.aster"]);
    let ended = command.args(["--content", "full"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let at = |what: &str| said.find(what).unwrap_or_else(|| panic!("no {what}: {said}"));
    assert!(
        at("the drive reports: its image can't be used any more") < at("Attempted Write to Read Only Range")
    );
}

#[test]
fn one_that_is_stopped_meanwhile_has_lost_its_power_and_what_was_flushed_is_there() {
    for signal in ["TERM", "KILL"] {
        let place = Place::new();
        let mut drive = limited(&place);
        drive.fill_up();
        let (flushed, written) = (drive.flushed, drive.written);
        assert!(flushed > 0);
        if signal == "TERM" {
            let (code, said) = drive.stop();
            assert_eq!(code, 1);
            said.wait_for(
                "it is as after a loss of power when that happened: everything that was flushed is there",
            );
        } else {
            drive.session.kill();
        }
        let checked = place.aster(&["image", "check", "d.aster", "tiny"]);
        assert_eq!(checked.code, 0, "{signal}: {}{}", checked.out, checked.err);
        assert!(checked.out.contains("the power was lost: recovered in"), "{signal}: {}", checked.out);
        let mut drive = Drive::serve(&place, &mut place.command(&SERVE));
        drive.verify(0..flushed);
        assert!(flushed < written, "what was not flushed need not be there");
    }
}

// ---- a small disk ----

/// A disk of 64 MiB that is nearly full, in namespaces of its own: no other process sees it, and it needs no
/// privileges if the system allows user namespaces.
struct SmallDisk {
    holder: Child,
    folder: PathBuf,
}

impl SmallDisk {
    fn mount(place: &Place, room: &str) -> Option<Self> {
        std::fs::create_dir(place.path("disk")).unwrap();
        let script = format!(
            "mount -t tmpfs -o size=64m tmpfs disk && head -c $((67108864 - {room})) /dev/zero > disk/filler \
             && echo there && exec cat"
        );
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .current_dir(place.path(""));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = command.spawn().ok()?;
        let mut there = String::new();
        BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut there).unwrap();
        if there.trim() != "there" {
            holder.wait().unwrap();
            return None;
        }
        let folder = PathBuf::from(format!("/proc/{}/root{}", holder.id(), place.path("disk").display()));
        Some(SmallDisk { holder, folder })
    }
    /// A command in the disk's name spaces.
    fn command(&self, place: &Place, arguments: &[&str]) -> Command {
        let program = place.command(&[]).get_program().to_owned();
        let mut command = Command::new("nsenter");
        command.args([
            "--user",
            "--mount",
            "--preserve-credentials",
            "--target",
            &self.holder.id().to_string(),
        ]);
        command.arg(format!("--wd={}", place.path("").display())).arg(program).args(arguments);
        command.stdin(Stdio::null());
        command
    }
    fn serve(&self, place: &Place) -> Drive {
        // An absolute path: the command's working directory isn't in the disk's namespace.
        let image = place.path("disk/d.aster");
        let mut arguments = SERVE;
        arguments[3] = image.to_str().unwrap();
        Drive::serve(place, &mut self.command(place, &arguments))
    }
    fn holds_soundly(&self, place: &Place) {
        let image = place.path("disk/d.aster");
        let check = ["image", "check", image.to_str().unwrap(), "tiny"];
        let checked = self.command(place, &check).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// Does `work` on a disk with room for a part of the writes. If the system doesn't allow such disks, only the
/// tests above run.
fn on_a_small_disk(work: impl FnOnce(&Place, &SmallDisk)) {
    let place = Place::new();
    match SmallDisk::mount(&place, "12582912") {
        Some(disk) => work(&place, &disk),
        None => {
            let _ = writeln!(
                std::io::stderr(),
                "no user name spaces with a tmpfs here: tried with a limit alone"
            );
        }
    }
}

#[test]
fn a_full_disk_pauses_the_drive_until_somebody_makes_room() {
    on_a_small_disk(|place, disk| {
        let mut drive = disk.serve(place);
        drive.fill_up();
        assert!(drive.said.have("no space left on the disk"), "{:?}", drive.said.0);
        drive.is_told_and_answered();
        assert!(drive.flush(), "there is room left for what is in work");
        std::fs::remove_file(disk.folder.join("filler")).unwrap();
        drive.goes_on();
        let written = drive.written;
        drive.verify(0..written);
        assert_eq!(drive.stop().0, 0);
        disk.holds_soundly(place);
        disk.serve(place).verify(0..written);
    });
}

#[test]
fn a_trim_makes_room_by_itself() {
    on_a_small_disk(|place, disk| {
        let mut drive = disk.serve(place);
        drive.fill_up();
        let kept = drive.written - 100;
        let host = &mut drive.session.host;
        let range = [0u32.to_le_bytes(), ((kept as u32) * BLOCKS).to_le_bytes()].concat();
        host.write(drive.page, &[&range[..], &0u64.to_le_bytes()].concat());
        let trim = IoCommand::DatasetManagement(DatasetManagement::deallocate(1)).to_sqe(1, 0, drive.page, 0);
        assert!(host.send(&mut drive.other, trim).status().is_success());
        drive.goes_on();
        let written = drive.written;
        drive.verify(kept..written);
        assert_eq!(drive.stop().0, 0);
        disk.holds_soundly(place);
    });
}

#[test]
fn one_that_is_stopped_while_its_disk_is_full_still_shuts_down_with_everything() {
    on_a_small_disk(|place, disk| {
        let mut drive = disk.serve(place);
        drive.fill_up();
        let written = drive.written;
        let (code, said) = drive.stop();
        assert_eq!(code, 0, "{:?}", said.0);
        said.wait_for("disk/d.aster has everything");
        disk.holds_soundly(place);
        std::fs::remove_file(disk.folder.join("filler")).unwrap();
        disk.serve(place).verify(0..written);
    });
}

#[test]
fn a_run_whose_image_finds_no_room_gives_the_figures_that_it_had() {
    on_a_small_disk(|place, disk| {
        place.write("fill.fio", "[fill]\nrw=randwrite\nbs=16k\nsize=24m\niodepth=8\n");
        let image = place.path("disk/d.aster");
        let run = [
            "run",
            "tiny",
            "--job",
            "fill.fio",
            "--json",
            "--content",
            "full",
            "--image",
            image.to_str().unwrap(),
        ];
        let mut command = disk.command(place, &run);
        command.current_dir(place.path(""));
        let ran = command.output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{said}");
        assert!(said.contains("d.aster: ") && said.contains("o space left"), "{said}");
        let report: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert!(report["total"]["all"]["requests"].as_u64().is_some_and(|n| n > 100), "{said}");
        assert!(
            report["error"].as_str().is_some_and(|error| error.contains("space left")),
            "{}",
            report["error"]
        );
        // The point at which it failed can't be reproduced.
        place.write("r.json", &ran.stdout);
        let error = place.refused(2, &["run", "--again", "r.json"]);
        assert!(error.contains("its run was broken off"), "{error}");
    });
}

#[test]
fn an_image_that_keeps_no_profile_is_served_without_room_for_one() {
    let place = Place::new();
    place.write("one.fio", "[one]\nrw=write\nbs=4k\nsize=4k\n");
    let run = ["run", "tiny", "--job", "one.fio", "--image", "d.aster", "--content", "full"];
    assert_eq!(place.aster(&run).code, 0);
    let keeps = || place.aster(&["image", "info", "d.aster", "--json"]).out.contains("\"name\":");
    assert!(keeps());
    // The layout of an earlier version: nothing between NVRAM and NAND.
    const KEPT_AT: u64 = 128 << 10;
    let file = std::fs::OpenOptions::new().write(true).open(place.path("d.aster")).unwrap();
    file.write_all_at(&[0; 64 << 10], KEPT_AT).unwrap();
    assert!(!keeps());
    let program = place.command(&[]).get_program().to_owned();
    let mut command = Command::new("prlimit");
    command.arg(format!("--fsize={KEPT_AT}:")).arg(program).args(SERVE);
    command.current_dir(place.path("")).stdin(Stdio::null());
    let drive = Drive::serve(&place, &mut command);
    drive.said.wait_for("d.aster: no room to keep the profile in it");
    drive.status.wait_for("\"notice\":\"d.aster: no room to keep the profile in it");
    drive.session.kill();
    assert!(!keeps());
    let drive = Drive::serve(&place, &mut place.command(&SERVE));
    assert!(keeps() && !drive.said.have("no room to keep"));
    drive.session.kill();
}
