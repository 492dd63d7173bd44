//! A pseudo-terminal in the role of the board's UART.

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Its controller's end, and a link to its other end for readers.
pub(crate) struct Pty {
    controller: File,
    /// Kept open as long as the drive: otherwise the controller's end would fail after the last reader has
    /// closed.
    _terminal: File,
    link: PathBuf,
}

impl Pty {
    /// Makes one, with a link to it at `link`.
    pub(crate) fn open(link: &Path) -> io::Result<Self> {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let name = ptsname(&controller, Vec::new())?;
        let name = Path::new(std::ffi::OsStr::new(
            name.to_str().map_err(|_| io::Error::other("the terminal's name is not text"))?,
        ))
        .to_owned();
        let terminal = OpenOptions::new().read(true).write(true).open(&name)?;
        make_raw(&terminal)?;
        // The drive doesn't wait for readers (C48).
        fcntl_setfl(&controller, OFlags::NONBLOCK)?;
        match std::fs::read_link(link) {
            // A link left by an earlier server that was killed.
            Ok(old) if old.starts_with("/dev/pts") => std::fs::remove_file(link)?,
            _ => {}
        }
        std::os::unix::fs::symlink(&name, link).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                io::Error::other("there is a file of that name already; name another, or remove it")
            }
            io::ErrorKind::NotFound => io::Error::other("its folder is not there"),
            _ => error,
        })?;
        Ok(Pty { controller: controller.into(), _terminal: terminal, link: link.to_owned() })
    }

    /// The controller's end, which doesn't block.
    pub(crate) fn controller(&self) -> &File {
        &self.controller
    }
    /// The link to the other end.
    pub(crate) fn link(&self) -> &Path {
        &self.link
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // The link is dangling now. If it can't be removed, the next drive that wants it reports that.
        let _ = std::fs::remove_file(&self.link);
    }
}

/// Makes the terminal a serial line, by either of its ends: no echo, nothing translated.
pub(crate) fn make_raw(end: impl AsFd) -> io::Result<()> {
    let mut settings = tcgetattr(&end)?;
    settings.make_raw();
    Ok(tcsetattr(&end, OptionalActions::Now, &settings)?)
}
