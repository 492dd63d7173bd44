//! A client that follows a script and ignores the server's replies.

use crate::live::Here;
use crate::profile;
use aster_device::Pieces;
use aster_run_live::Pace;
use aster_wire::vfio_user::{Command, Header};
use rustix::cmsg_space;
use rustix::io::IoSlice;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::Read;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use zerocopy::IntoBytes;

/// A step of a client.
pub(super) enum Act {
    /// Sends bytes, with files.
    Send(Vec<u8>, Vec<OwnedFd>),
    /// Changes memory that it shares.
    Do(Box<dyn FnOnce() + Send>),
    /// Waits.
    Wait(Duration),
}

/// The most files that a script sends with a message: more than a server accepts.
pub(super) const FILES_MAX: usize = 20;

/// A message.
pub(super) fn message(command: Command, parts: &[&[u8]], file: Option<&OwnedFd>) -> Act {
    message_with(command, parts, file.as_slice())
}

/// A message with files, at most [`FILES_MAX`].
pub(super) fn message_with(command: Command, parts: &[&[u8]], files: &[&OwnedFd]) -> Act {
    let payload = parts.concat();
    let mut bytes = Vec::from(Header::command(1, command, payload.len()).as_bytes());
    bytes.extend_from_slice(&payload);
    Act::Send(bytes, files.iter().map(|file| file.try_clone().expect("another descriptor")).collect())
}

/// A drive for scripts.
pub(super) fn drive() -> Here {
    let profile = profile("tiny", |p| (p.geometry.channels, p.geometry.ways) = (1, 1));
    Here::start(Pieces::default(), &profile, Pace::Fast)
}

/// Sends bytes, with files. Returns false if the server accepts no more.
fn send(stream: &UnixStream, mut bytes: &[u8], files: &[OwnedFd]) -> bool {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files: Vec<_> = files.iter().map(OwnedFd::as_fd).collect();
    if !files.is_empty() {
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)), "there is room for them");
    }
    while !bytes.is_empty() {
        match sendmsg(stream, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(_) => return false,
        }
        ancillary.clear();
    }
    true
}

/// Plays a script to its end. Returns everything that the server has sent.
pub(super) fn play(drive: &mut Here, acts: Vec<Act>) -> Vec<u8> {
    let socket = drive.socket();
    let over = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&over);
    let client = std::thread::spawn(move || {
        let stream = UnixStream::connect(&socket).expect("the server listens");
        // A thread reads the replies. A client that only sends could wait for a server that waits for the
        // client to read.
        let mut answering = stream.try_clone().expect("another descriptor");
        let reader = std::thread::spawn(move || {
            let mut answers = Vec::new();
            // The server may end the connection in any way.
            let _ = answering.read_to_end(&mut answers);
            answers
        });
        for act in acts {
            match act {
                Act::Send(bytes, files) => {
                    if !send(&stream, &bytes, &files) {
                        break;
                    }
                }
                Act::Do(act) => act(),
                Act::Wait(time) => std::thread::sleep(time),
            }
        }
        // The server may have closed its end already.
        let _ = stream.shutdown(Shutdown::Write);
        let answers = reader.join().expect("reading does not panic");
        tell.store(true, Ordering::Relaxed);
        // Wake the sleeping server, so that it sees this.
        let _ = UnixStream::connect(&socket);
        answers
    });
    drive.serve(|| over.load(Ordering::Relaxed));
    client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The next client must be served, whatever the last one did: it reads the version register.
pub(super) fn must_serve_the_next(drive: &mut Here) {
    use aster_wire::nvme::registers::Register;
    use aster_wire::vfio_user::{RegionAccess, Version};
    let version = Version { major: 0.into(), minor: 1.into() };
    let region = |region: u32, offset: u64, count: u32| RegionAccess {
        offset: offset.into(),
        region: region.into(),
        count: count.into(),
    };
    let answers = play(
        drive,
        vec![
            message(Command::Version, &[version.as_bytes(), b"{}\0"], None),
            message(Command::RegionWrite, &[region(7, 4, 2).as_bytes(), &[6, 0]], None),
            message(Command::RegionRead, &[region(0, Register::Version.offset(), 4).as_bytes()], None),
        ],
    );
    let found = answers.last_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    assert_eq!(found, Some(0x0001_0400), "NVMe 1.4");
    assert_eq!(drive.device().fault(), None);
}
