//! An image that is opened for a live drive, whose disk may run full.

use super::disk::Disk;
use super::own_profile::keep_profile;
use super::{ImageError, NAND_AT, folder_of, media, open};
use aster_device::Media;
use aster_device::profile::Profile;
use aster_units::Content;
use rustix::fs::OFlags;
use std::fs::File;
use std::path::Path;

/// As [`super::open_image`], for a live drive: while the disk is full the file is behind
/// ([`aster_ports::medium::Backlog`]), and the drive doesn't end. With `sync` every write waits for the disk,
/// so that data on the drive's flash also survive a crash of the system. An image without a profile stores
/// this one; the returned text reports if there was no room for it.
///
/// # Errors
/// When the file can't be used as this profile's drive.
pub fn open_image_live(
    path: &Path,
    (name, profile): (&str, &Profile),
    content: Option<Content>,
    sync: bool,
) -> Result<(Media, Option<String>), ImageError> {
    let flags = if sync { OFlags::DSYNC } else { OFlags::empty() };
    let (file, nand_bytes) = open(path, profile, content, flags)?;
    if sync {
        // O_DSYNC doesn't cover the file's length and name.
        let kept = file.sync_all().and_then(|()| File::open(folder_of(path))?.sync_all());
        kept.map_err(|error| ImageError::Io { path: path.to_owned(), error })?;
    }
    // Done before the reserve takes up the room.
    let note = keep_profile(path, name, profile)?;
    let disk = Disk::with_backlog(file, folder_of(path), NAND_AT + nand_bytes);
    Ok((media(&disk, path, nand_bytes)?.with_backlog(disk), note))
}
