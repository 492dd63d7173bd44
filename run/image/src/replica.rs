//! Copying an image.

use super::header::{SERIAL_KEY, made_with, new_serial, write_header};
use super::look::{ImageInfo, image_info, open};
use super::{ImageError, NVRAM_AT, lock};
use rustix::fs::{SeekFrom, ioctl_ficlone, seek};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The serial number of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloneSerial {
    /// A new one, so that the copy and the original can be in the same host.
    New,
    /// The original's, which the copy replaces.
    Kept,
}

/// Copies the image `from`, which must not be in use, to `to`, which must not exist: by reference on file
/// systems that can, else without the holes. Calls `tell` with the share done, and stops if it returns
/// `false`.
///
/// # Errors
/// When `from` isn't an image, is in use, or can't be copied. No partial copy stays. If the process ends
/// during the copy, the part that is left isn't a valid image.
pub fn clone_image(
    from: &Path,
    to: &Path,
    serial: CloneSerial,
    tell: impl FnMut(f64) -> bool,
) -> Result<(), ImageError> {
    let source = open(from)?;
    lock(&source, from)?;
    // A damaged image isn't copied: later it wouldn't be clear which of the two was damaged first.
    let ImageInfo { bytes, bytes_when_made: needed, .. } = image_info(from)?;
    if bytes < needed {
        return Err(ImageError::Truncated { path: from.to_owned(), found: bytes, needed });
    }
    let wrong = |path: &Path| {
        let path: PathBuf = path.to_owned();
        move |error: io::Error| ImageError::Io { path: path.clone(), error }
    };
    let mut text = made_with(&source, from)?;
    if serial == CloneSerial::New {
        let line = format!("{SERIAL_KEY} = {}", new_serial().map_err(wrong(to))?);
        let is_serial = |old: &str| old.starts_with(SERIAL_KEY) && old[SERIAL_KEY.len()..].starts_with(" = ");
        text = text.lines().map(|old| if is_serial(old) { &line } else { old }.to_owned() + "\n").collect();
    }
    let made = OpenOptions::new().write(true).create_new(true).open(to);
    let target = made.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => ImageError::Exists { path: to.to_owned() },
        ErrorKind::NotFound => ImageError::NoFolder { path: to.to_owned() },
        _ => wrong(to)(error),
    })?;
    let copied = match ioctl_ficlone(&target, &source) {
        // The copy is complete at once, but until its header is written it has the original's serial number.
        Ok(()) => Ok(()),
        Err(_) => copy_content(&source, &target, bytes, tell),
    };
    let finished = copied.and_then(|()| finish(&target, &text));
    finished.map_err(|error| {
        // Remove an incomplete copy.
        let _ = std::fs::remove_file(to);
        match error.kind() {
            ErrorKind::Interrupted => ImageError::Interrupted,
            _ => wrong(to)(error),
        }
    })
}

/// Completes a copy to an image. Its header is written last, after everything else is on the disk, so that an
/// incomplete copy isn't valid even if it was never removed.
fn finish(target: &File, text: &str) -> io::Result<()> {
    sync(target)?;
    write_header(target, text)?;
    sync(target)
}

fn sync(target: &File) -> io::Result<()> {
    match target.sync_all() {
        Err(error) if error.kind() != ErrorKind::InvalidInput => Err(error),
        _ => Ok(()),
    }
}

/// Bytes that are copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// Copies everything after the header.
fn copy_content(
    source: &File,
    target: &File,
    bytes: u64,
    mut tell: impl FnMut(f64) -> bool,
) -> io::Result<()> {
    target.set_len(bytes)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut at = NVRAM_AT;
    while at < bytes {
        at = match seek(source, SeekFrom::Data(at)) {
            Ok(data) => data,
            // The rest is a hole.
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = seek(source, SeekFrom::Hole(at))?;
        while at < end {
            let part = &mut buffer[..COPY_BYTES.min((end - at) as usize)];
            source.read_exact_at(part, at)?;
            target.write_all_at(part, at)?;
            at += part.len() as u64;
            if !tell(at as f64 / bytes as f64) {
                return Err(ErrorKind::Interrupted.into());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::booted;
    use super::*;
    use crate::open_image;

    #[test]
    fn a_clone_holds_the_same_and_takes_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _) = booted(folder.path());
        let clone = folder.path().join("clone.aster");
        clone_image(&path, &clone, CloneSerial::Kept, |_| true).unwrap();
        assert!(std::fs::read(&path).unwrap() == std::fs::read(&clone).unwrap());
        let (a, b) = (image_info(&path).unwrap(), image_info(&clone).unwrap());
        assert!(b.bytes_on_disk <= a.bytes_on_disk + (1 << 20), "{a:?} {b:?}");
        // An existing file isn't overwritten.
        let error = clone_image(&path, &clone, CloneSerial::Kept, |_| true).unwrap_err();
        assert!(error.to_string().ends_with("not overwritten: name another, or remove it"), "{error}");
        // A copy that is stopped leaves nothing, unless it was made by reference at once.
        let stopped = folder.path().join("stopped.aster");
        match clone_image(&path, &stopped, CloneSerial::New, |_| false) {
            Err(error) => assert!(matches!(error, ImageError::Interrupted) && !stopped.exists(), "{error}"),
            Ok(()) => assert_eq!(image_info(&stopped).unwrap().bytes, a.bytes),
        }
    }

    #[test]
    fn a_clone_has_a_serial_number_of_its_own_and_is_otherwise_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        let clone = folder.path().join("clone.aster");
        clone_image(&path, &clone, CloneSerial::New, |_| true).unwrap();
        let (a, b) = (image_info(&path).unwrap(), image_info(&clone).unwrap());
        assert_ne!(a.serial, b.serial);
        assert_eq!((a.bytes, a.made_with), (b.bytes, b.made_with));
        let content = |path| std::fs::read(path).unwrap().split_off(NVRAM_AT as usize);
        assert!(content(&path) == content(&clone));
        drop(open_image(&clone, &profile, None).unwrap());
    }

    #[test]
    fn a_copy_whose_maker_was_killed_is_no_image() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        let source = File::open(&path).unwrap();
        let bytes = source.metadata().unwrap().len();
        // Incomplete copies: a part, and everything except the last step.
        for steps in [0, 1, u32::MAX] {
            let half = folder.path().join(format!("half-{steps}"));
            let mut left = steps;
            let target = File::create_new(&half).unwrap();
            let copied = copy_content(&source, &target, bytes, |_| {
                left = left.saturating_sub(1);
                left > 0
            });
            assert_eq!(copied.is_ok(), steps == u32::MAX);
            let Err(error) = open_image(&half, &profile, None) else { panic!("it was opened") };
            assert!(matches!(error, ImageError::Foreign { .. }), "{error}");
            let error = image_info(&half).unwrap_err();
            assert!(matches!(error, ImageError::Foreign { .. }), "{error}");
        }
    }

    #[test]
    fn what_is_in_use_or_cut_short_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        let to = folder.path().join("c");
        let media = open_image(&path, &profile, None).unwrap();
        let refused = clone_image(&path, &to, CloneSerial::New, |_| true);
        assert!(matches!(refused, Err(ImageError::InUse { .. })));
        drop(media);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(super::super::NAND_AT + 100).unwrap();
        let refused = clone_image(&path, &to, CloneSerial::New, |_| true);
        assert!(matches!(refused, Err(ImageError::Truncated { .. })) && !to.exists());
    }
}
