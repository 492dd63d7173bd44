//! A client's socket: whole messages with their file descriptors, never blocking.

use aster_wire::vfio_user::{HEADER_BYTES, Header, Request};
use rustix::cmsg_space;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use zerocopy::IntoBytes;

/// The most file descriptors with a message.
pub(crate) const MESSAGE_FILES_MAX: usize = 16;
/// The most bytes of a region access.
pub(crate) const TRANSFER_BYTES_MAX: usize = 64 << 10;
/// The most bytes of a message: one that announces more is invalid.
pub const MESSAGE_BYTES_MAX: usize = TRANSFER_BYTES_MAX + 4096;

/// Why a connection is over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    /// The client has closed it.
    #[error("the client has closed the connection")]
    Closed,
    /// The system reported an error.
    #[error("the connection has failed: {0}")]
    Failed(#[from] Errno),
    /// The received bytes aren't valid messages.
    #[error("a message of {0} bytes; messages have {HEADER_BYTES} to {MESSAGE_BYTES_MAX}")]
    Size(u32),
}

/// A client's message.
pub(crate) struct Message {
    pub(crate) header: Header,
    pub(crate) payload: Vec<u8>,
    pub(crate) files: Vec<OwnedFd>,
    /// Files were lost: it came with more than a message may have, or than this process has free descriptors
    /// for.
    pub(crate) lost_files: bool,
}

struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    file: Option<OwnedFd>,
}

/// A connection to a client.
pub(crate) struct Connection {
    stream: UnixStream,
    incoming: Vec<u8>,
    files: Vec<OwnedFd>,
    lost_files: bool,
    outgoing: VecDeque<Outgoing>,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Connection {
    pub(crate) fn new(stream: UnixStream) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Connection {
            stream,
            incoming: Vec::new(),
            files: Vec::new(),
            lost_files: false,
            outgoing: VecDeque::new(),
        })
    }

    /// Replies wait for the client to take them.
    pub(crate) fn is_sending(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// The next message, if it has arrived completely. While replies wait there is none: the server doesn't
    /// read from a client that doesn't read.
    pub(crate) fn receive(&mut self) -> Result<Option<Message>, ConnectionError> {
        self.flush()?;
        if self.is_sending() {
            return Ok(None);
        }
        loop {
            // Never read past a message's end: file descriptors belong to the message that they came with.
            let wanted = match Request::header(&self.incoming) {
                None => HEADER_BYTES,
                Some(header) => {
                    let size = header.size.get() as usize;
                    if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&size) {
                        return Err(ConnectionError::Size(header.size.get()));
                    }
                    if self.incoming.len() == size {
                        let payload = self.incoming.split_off(HEADER_BYTES);
                        self.incoming.clear();
                        let files = std::mem::take(&mut self.files);
                        let lost_files = std::mem::take(&mut self.lost_files);
                        return Ok(Some(Message { header, payload, files, lost_files }));
                    }
                    size
                }
            };
            if !self.fill(wanted)? {
                return Ok(None);
            }
        }
    }

    /// Receives until there are `wanted` bytes; returns false when nothing has arrived.
    fn fill(&mut self, wanted: usize) -> Result<bool, ConnectionError> {
        let begin = self.incoming.len();
        self.incoming.resize(wanted, 0);
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MESSAGE_FILES_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut self.incoming[begin..])];
        let received =
            recvmsg(&self.stream, &mut parts, &mut ancillary, RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC);
        let bytes = received.as_ref().map_or(0, |r| r.bytes);
        self.incoming.truncate(begin + bytes);
        match received {
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
            Ok(_) if bytes == 0 => return Err(ConnectionError::Closed),
            // The system dropped what it could not hand over.
            Ok(received) => self.lost_files |= received.flags.contains(ReturnFlags::CTRUNC),
        }
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                // Header and payload may each bring files; those beyond a message's limit are closed.
                for file in files {
                    if self.files.len() < MESSAGE_FILES_MAX {
                        self.files.push(file);
                    } else {
                        self.lost_files = true;
                    }
                }
            }
        }
        Ok(true)
    }

    /// Sends a message: as much as the client takes now, the rest during [`Connection::receive`].
    pub(crate) fn send(
        &mut self,
        header: &Header,
        parts: &[&[u8]],
        file: Option<OwnedFd>,
    ) -> Result<(), ConnectionError> {
        let mut bytes = Vec::from(header.as_bytes());
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        debug_assert_eq!(bytes.len(), header.size.get() as usize);
        self.outgoing.push_back(Outgoing { bytes, sent: 0, file });
        self.flush()
    }

    fn flush(&mut self) -> Result<(), ConnectionError> {
        while let Some(message) = self.outgoing.front_mut() {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            let file = message.file.as_ref().map(|file| [file.as_fd()]);
            if let Some(file) = &file {
                ancillary.push(SendAncillaryMessage::ScmRights(file));
            }
            let rest = [IoSlice::new(&message.bytes[message.sent..])];
            let sent =
                sendmsg(&self.stream, &rest, &mut ancillary, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            match sent {
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(ConnectionError::Closed),
                Err(error) => return Err(error.into()),
                Ok(bytes) => {
                    // It goes with the first byte.
                    message.file = None;
                    message.sent += bytes;
                }
            }
            if message.sent == message.bytes.len() {
                self.outgoing.pop_front();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_wire::vfio_user::Command;
    use std::io::{Read, Write};

    fn pair() -> (Connection, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Connection::new(ours).unwrap(), theirs)
    }

    #[test]
    fn messages_come_whole_however_their_bytes_come() {
        let (mut connection, mut client) = pair();
        let header = Header::command(7, Command::RegionWrite, 3);
        let reset = Header::command(8, Command::DeviceReset, 0);
        let bytes: Vec<u8> = [header.as_bytes(), &[1, 2, 3], reset.as_bytes()].concat();
        let mut ids = Vec::new();
        for byte in bytes {
            client.write_all(&[byte]).unwrap();
            while let Some(message) = connection.receive().unwrap() {
                ids.push((message.header.id.get(), message.payload));
            }
        }
        assert_eq!(ids, [(7, vec![1, 2, 3]), (8, vec![])]);
        drop(client);
        assert!(matches!(connection.receive(), Err(ConnectionError::Closed)));
    }

    #[test]
    fn files_stay_with_the_message_that_they_came_with() {
        let (mut connection, mut client) = pair();
        let plain = Header::command(1, Command::DeviceReset, 0);
        client.write_all(plain.as_bytes()).unwrap();
        send_files(&client, 1);
        client.write_all(plain.as_bytes()).unwrap();
        send_files(&client, MESSAGE_FILES_MAX + 1);
        client.write_all(plain.as_bytes()).unwrap();
        let found: Vec<_> = std::iter::from_fn(|| connection.receive().unwrap())
            .map(|message| (message.files.len(), message.lost_files))
            .collect();
        assert_eq!(found, [(0, false), (1, false), (0, false), (MESSAGE_FILES_MAX, true), (0, false)]);
    }

    /// Sends a message without a payload, with `count` files.
    fn send_files(client: &UnixStream, count: usize) {
        let header = Header::command(2, Command::DmaMap, 0);
        let file = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2 * MESSAGE_FILES_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files = vec![file.as_fd(); count];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
        sendmsg(client, &[IoSlice::new(header.as_bytes())], &mut ancillary, SendFlags::empty()).unwrap();
    }

    #[test]
    fn a_message_of_impossible_size_ends_the_connection() {
        for size in [0, 15, MESSAGE_BYTES_MAX as u32 + 1, u32::MAX] {
            let (mut connection, mut client) = pair();
            let header = Header { size: size.into(), ..Header::command(1, Command::RegionWrite, 0) };
            client.write_all(header.as_bytes()).unwrap();
            assert!(matches!(connection.receive(), Err(ConnectionError::Size(found)) if found == size));
        }
    }

    #[test]
    fn a_client_that_does_not_read_is_not_listened_to_until_it_does() {
        let (mut connection, mut client) = pair();
        let header = Header::command(1, Command::RegionRead, TRANSFER_BYTES_MAX);
        let data = vec![5; TRANSFER_BYTES_MAX];
        let mut sent = 0;
        while !connection.is_sending() {
            connection.send(&header, &[&data], None).unwrap();
            sent += header.size.get() as usize;
        }
        client.write_all(Header::command(2, Command::DeviceReset, 0).as_bytes()).unwrap();
        assert!(connection.receive().unwrap().is_none());
        client.set_nonblocking(true).unwrap();
        let (mut taken, mut buffer, mut message) = (0, vec![0; 1 << 16], None);
        while taken < sent {
            taken += client.read(&mut buffer).unwrap_or(0);
            message = message.or(connection.receive().unwrap());
        }
        let message = message.or(connection.receive().unwrap()).expect("now it is");
        assert_eq!(message.header.id.get(), 2);
    }
}
