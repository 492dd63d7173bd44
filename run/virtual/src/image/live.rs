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

/// As [`super::open_image`], for a drive that serves others: while the disk is full it is behind
/// ([`aster_ports::medium::Backlog`]) instead of at its end. With `sync` every write waits for the disk: what
/// the drive says is on its flash is there after a crash of the system as well. An image that keeps no
/// profile keeps this one from now on; the text says so where there was no room for it.
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
        // Its length and its name are no data.
        let kept = file.sync_all().and_then(|()| File::open(folder_of(path))?.sync_all());
        kept.map_err(|error| ImageError::Io { path: path.to_owned(), error })?;
    }
    // Before a reserve takes what room there is.
    let note = keep_profile(path, name, profile)?;
    let disk = Disk::with_backlog(file, folder_of(path), NAND_AT + nand_bytes);
    Ok((media(&disk, path, nand_bytes)?.with_backlog(disk), note))
}
