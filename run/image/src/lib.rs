//! A drive's image in a file: NVRAM, eMMC and NAND, sparse, written through.
//!
//! An image is opened for a run in virtual time ([`open_image`]) or for a live drive, whose disk may run full
//! ([`open_image_live`]). It is cloned, checked and described without a drive.
#![forbid(unsafe_code)]

mod backlog;
mod change;
mod disk;
mod error;
mod format;
mod header;
mod live;
mod look;
mod own_profile;
mod replica;
mod reserve;
mod state;

pub use error::ImageError;
pub use header::is_serial;
pub use live::open_image_live;
pub use look::{
    CheckStage, ImageCheck, ImageInfo, check_image, check_image_pages, check_image_with, image_info, is_image,
};
pub use own_profile::{KeptProfile, keep_profile, kept_profile};
pub use replica::{CloneSerial, clone_image};
pub use state::image_state;

use aster_device::profile::Profile;
use aster_device::{EMMC_BYTES, Media, NVRAM_BYTES, media_keys};
use aster_ports::medium::Nvram;
use aster_units::Content;
use disk::{Disk, FileMedium};
use format::{EMMC_AT, NAND_AT, NVRAM_AT};
use header::{differences, length_of, made_with, serial, write_new};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// Opens the image at `path`, or makes it if it doesn't exist. It stays locked as long as the drive uses
/// it.
///
/// # Errors
/// When the file can't be used as this profile's drive.
pub fn open_image(path: &Path, profile: &Profile, content: Option<Content>) -> Result<Media, ImageError> {
    let (file, nand_bytes) = open(path, profile, content, OFlags::empty())?;
    media(&Disk::written_through(Rc::new(file)), path, nand_bytes)
}
/// The folder that a file lies in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The drive's media in the image's file.
fn media(disk: &Rc<Disk>, path: &Path, nand_bytes: u64) -> Result<Media, ImageError> {
    let window = |base, size| Box::new(FileMedium { disk: Rc::clone(disk), base, size });
    let nvram = Nvram::on_medium(window(NVRAM_AT, NVRAM_BYTES as u64), 0, NVRAM_BYTES)
        .map_err(|error| ImageError::Medium { path: path.to_owned(), error })?;
    let serial = serial(&made_with(disk.file(), path)?, path)?;
    let emmc = window(EMMC_AT, EMMC_BYTES);
    Ok(Media::on_image(window(NAND_AT, nand_bytes), nvram).with_emmc(emmc).with_serial(serial))
}

/// The image's file, which is made if it doesn't exist, and how many bytes of it are NAND.
fn open(
    path: &Path,
    profile: &Profile,
    content: Option<Content>,
    flags: OFlags,
) -> Result<(File, u64), ImageError> {
    let mut how = OpenOptions::new();
    how.read(true).write(true).custom_flags(flags.bits() as i32);
    let io_error = |error| ImageError::Io { path: path.to_owned(), error };
    // First, so that an invalid profile makes no file.
    let nand_bytes = aster_device::nand_image_bytes(profile, content)?;
    let needed = NAND_AT + nand_bytes;
    let made = how.clone().create_new(true).open(path);
    let file = match made {
        Ok(file) => {
            lock(&file, path)?;
            write_new(&file, needed, media_keys(profile, content)).map_err(|error| {
                // An incomplete image would be refused the next time.
                let _ = std::fs::remove_file(path);
                io_error(error)
            })?;
            file
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let file = how.open(path).map_err(io_error)?;
            lock(&file, path)?;
            check_file(&file, path, profile, content)?;
            file
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ImageError::NoFolder { path: path.to_owned() });
        }
        Err(error) => return Err(io_error(error)),
    };
    Ok((file, nand_bytes))
}

/// Makes the empty `file` the image of a new drive of this profile, so that [`open_image`] can open it.
/// Messages have no name for the file.
///
/// # Errors
/// When the profile doesn't describe a working drive, or the file can't be written.
pub fn make_image(file: &File, profile: &Profile, content: Option<Content>) -> Result<(), ImageError> {
    let bytes = NAND_AT + aster_device::nand_image_bytes(profile, content)?;
    write_new(file, bytes, media_keys(profile, content))
        .map_err(|error| ImageError::Io { path: "a temporary file".into(), error })
}

/// Attempts to get a lock that another process has, and the time between two: a process that only tests
/// whether an image is in use holds its lock for a moment.
const LOCK_LOOKS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Locks the file for as long as it is open.
fn lock(file: &File, path: &Path) -> Result<(), ImageError> {
    for _ in 0..LOCK_LOOKS {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(ImageError::Io { path: path.to_owned(), error }),
        }
    }
    Err(ImageError::InUse { path: path.to_owned() })
}

/// Checks that a file is a complete image of this profile's drive; returns how many of its bytes are NAND.
fn check_file(
    file: &File,
    path: &Path,
    profile: &Profile,
    content: Option<Content>,
) -> Result<u64, ImageError> {
    let io_error = |error| ImageError::Io { path: path.to_owned(), error };
    let nand_bytes = aster_device::nand_image_bytes(profile, content)?;
    let text = made_with(file, path)?;
    let differences = differences(&text, &media_keys(profile, content));
    if !differences.is_empty() {
        return Err(ImageError::OtherDrive { path: path.to_owned(), differences: differences.join(", ") });
    }
    let (found, needed) = (file.metadata().map_err(io_error)?.len(), NAND_AT + nand_bytes);
    // The length that the header has is the image's own. Another one is no damage.
    let recorded = length_of(&text).ok_or_else(|| ImageError::Header { path: path.to_owned() })?;
    if found < recorded {
        return Err(ImageError::Truncated { path: path.to_owned(), found, needed: recorded });
    }
    if recorded != needed {
        return Err(ImageError::Layout { path: path.to_owned(), recorded, needed });
    }
    Ok(nand_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_device::Device;
    use aster_events::Recorder;
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;

    /// An image of the profile "tiny" whose drive has booted and lost power.
    pub(super) fn booted(folder: &Path) -> (PathBuf, Profile) {
        let path = folder.join("d.aster");
        let profile = aster_device::profile::shipped("tiny").unwrap();
        let media = open_image(&path, &profile, None).unwrap();
        let device = Device::power_on("made", &profile, None, media, &Recorder::default()).unwrap();
        while device.is_booting() {
            device.advance_to(device.next_deadline().unwrap());
        }
        drop(device.power_off());
        (path, profile)
    }

    #[test]
    fn each_write_of_an_image_that_is_opened_so_waits_for_the_disk_whether_it_was_there_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let (path, profile) = (dir.path().join("d"), aster_device::profile::shipped("tiny").unwrap());
        let waits = |flags| {
            let (file, _) = open(&path, &profile, None, flags).unwrap();
            rustix::fs::fcntl_getfl(&file).unwrap().contains(OFlags::DSYNC)
        };
        assert!(waits(OFlags::DSYNC) && waits(OFlags::DSYNC) && !waits(OFlags::empty()));
        drop(open_image_live(&path, ("tiny", &profile), None, true).unwrap());
    }

    #[test]
    fn a_file_of_another_kind_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("letter.txt");
        std::fs::write(&path, "Dear Aster,").unwrap();
        let profile = aster_device::profile::shipped("tiny").unwrap();
        assert!(matches!(open_image(&path, &profile, None), Err(ImageError::Foreign { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "Dear Aster,");
    }

    /// Whole images of formats before, whose checksum covers their magic.
    #[test]
    fn an_image_of_an_older_format_is_refused_by_its_name_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (path, profile) = booted(dir.path());
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut header = [0; NVRAM_AT as usize];
        file.read_exact_at(&mut header, 0).unwrap();
        assert!(header.starts_with(b"ASTER DRIVE V7\n\0"));
        let covered = header.len() - 4;
        for format in ["V2", "V5", "V6"] {
            header[12..14].copy_from_slice(format.as_bytes());
            let checksum = aster_codec::checksum::crc32c(&header[..covered]);
            header[covered..].copy_from_slice(&checksum.to_le_bytes());
            file.write_all_at(&header, 0).unwrap();
            let old = std::fs::read(&path).unwrap();
            let told = format!("d.aster: this image has format {format}, and this Aster reads V7: use the");
            for error in [
                open_image(&path, &profile, None).err().unwrap(),
                image_info(&path).unwrap_err(),
                check_image(&path, &profile, None, |_, _| true).unwrap_err(),
                kept_profile(&path).unwrap_err(),
                clone_image(&path, &dir.path().join("copy"), CloneSerial::New, |_| true).unwrap_err(),
            ] {
                assert!(error.to_string().contains(&told), "{error}");
            }
            assert!(std::fs::read(&path).unwrap() == old && !dir.path().join("copy").exists());
        }
    }

    #[test]
    fn a_serial_number_that_no_drive_may_have_is_told_as_the_headers() {
        assert!(is_serial("A 1") && !is_serial("") && !is_serial("µ") && !is_serial(&"x".repeat(21)));
        let dir = tempfile::tempdir().unwrap();
        let (path, profile) = booted(dir.path());
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let text = made_with(&file, &path).unwrap();
        let serial = serial(&text, &path).unwrap();
        header::write_header(&file, &text.replace(&serial, "\u{e9}t\u{e9}")).unwrap();
        let Err(error) = open_image(&path, &profile, None) else { panic!("it was opened") };
        let text = error.to_string();
        assert!(text.contains("d.aster: its header's serial number, \"été\", is no 1 to 20"), "{text}");
    }

    #[test]
    fn an_image_cut_anywhere_is_told_as_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let (path, profile) = booted(dir.path());
        let whole = path.metadata().unwrap().len();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for (cut, needed) in [
            (NAND_AT + 100, whole),
            (NAND_AT, whole),
            (5000, whole),
            (4095, whole),
            (30, NAND_AT),
            (7, NAND_AT),
        ] {
            file.set_len(cut).unwrap();
            let Err(error) = open_image(&path, &profile, None) else { panic!("cut at {cut}") };
            assert!(!error.to_string().contains("remove"), "it may be the only one: {error}");
            let ImageError::Truncated { found, needed: told, .. } = error else { panic!("{cut}: {error}") };
            assert_eq!((found, told), (cut, needed));
            assert!(matches!(
                check_image(&path, &profile, None, |_, _| true),
                Err(ImageError::Truncated { .. })
            ));
            assert!(matches!(kept_profile(&path), Err(ImageError::Truncated { .. })), "{cut}");
        }
    }

    #[test]
    fn an_image_that_another_version_laid_out_is_not_told_as_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let (path, profile) = booted(dir.path());
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let (text, whole) = (made_with(&file, &path).unwrap(), path.metadata().unwrap().len());
        for other in [whole - 4096, whole + 4096] {
            header::write_header(&file, &text.replace(&whole.to_string(), &other.to_string())).unwrap();
            file.set_len(other).unwrap();
            for error in [
                open_image(&path, &profile, None).err().unwrap(),
                check_image(&path, &profile, None, |_, _| true).unwrap_err(),
            ] {
                let told = format!("a complete drive of {other} bytes, where this version has {whole}");
                assert!(error.to_string().contains(&told), "{error}");
            }
            // One of another version that is cut short is so by its own length.
            file.set_len(other - 1).unwrap();
            let Err(ImageError::Truncated { needed, .. }) = open_image(&path, &profile, None) else {
                panic!("{other} less one")
            };
            assert_eq!(needed, other);
        }
    }

    #[test]
    fn an_empty_file_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d.aster");
        std::fs::write(&path, "").unwrap();
        let profile = aster_device::profile::shipped("tiny").unwrap();
        let Err(error) = open_image(&path, &profile, None) else { panic!("it was opened") };
        assert!(matches!(error, ImageError::Empty { .. }), "{error}");
        assert_eq!(path.metadata().unwrap().len(), 0);
    }

    #[test]
    fn a_damaged_header_is_not_taken_for_another_profiles() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d.aster");
        let profile = aster_device::profile::shipped("tiny").unwrap();
        drop(open_image(&path, &profile, None).unwrap());
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut whole = [0; 16];
        // In the magic, in the keys, after them, and in the checksum.
        for at in [0, 100, 3_000, NVRAM_AT - 16] {
            file.read_exact_at(&mut whole, at).unwrap();
            file.write_all_at(&whole.map(|byte| !byte), at).unwrap();
            let Err(error) = open_image(&path, &profile, None) else { panic!("it was opened") };
            assert!(matches!(error, ImageError::Header { .. }), "{error}");
            file.write_all_at(&whole, at).unwrap();
        }
        drop(open_image(&path, &profile, None).unwrap());
    }

    #[test]
    fn an_image_of_another_profile_or_content_is_refused_by_what_differs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d.aster");
        let profile = aster_device::profile::shipped("tiny").unwrap();
        drop(open_image(&path, &profile, None).unwrap());
        let refused = |profile: &Profile, content| {
            let Err(error) = open_image(&path, profile, content) else { panic!("it was opened") };
            assert!(matches!(error, ImageError::OtherDrive { .. }), "{error}");
            let text = error.to_string();
            assert!(text.starts_with(&format!("{}: made with another profile", path.display())), "{text}");
            text
        };
        // One value is larger and one smaller than the original.
        for blocks in [12, 48] {
            let mut other = profile.clone();
            other.geometry.blocks_per_lun = blocks;
            let text = refused(&other, None);
            assert!(
                text.contains(&format!("geometry.blocks_per_lun is 24 there and {blocks} here")),
                "{text}"
            );
        }
        let text = refused(&profile, Some(Content::Fingerprint));
        assert!(text.contains("content is full there and fingerprint here; "), "{text}");
        let mut other = profile.clone();
        other.ftl.over_provisioning_percent = 40.0;
        let text = refused(&other, None);
        assert!(text.contains("ftl.over_provisioning_percent is 32 there and 40 here; "), "{text}");
        // Keys on which the media don't depend may change.
        let mut other = profile.clone();
        other.ftl.buffer_entries = 64;
        drop(open_image(&path, &other, None).unwrap());

        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(NAND_AT).unwrap();
        let Err(error) = open_image(&path, &profile, None) else { panic!("it was opened") };
        assert!(matches!(error, ImageError::Truncated { .. }));
        assert!(error.to_string().contains("use a copy that is whole, or name another file"), "{error}");
        // The keys are compared before the length, since another profile's drive may be longer or shorter.
        let pocket = aster_device::profile::shipped("pocket").unwrap();
        assert!(matches!(open_image(&path, &pocket, None), Err(ImageError::OtherDrive { .. })));
    }

    /// One translation or front end can't interpret what another has written: it would take it for damage
    /// or overwrite it.
    #[test]
    fn an_image_is_that_of_its_translation_and_front_end_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (path, profile) = booted(dir.path());
        let (mut kind, mut front_end) = (profile.clone(), profile.clone());
        kind.ftl.kind = "own-log".to_owned();
        front_end.host.front_end = "mailbox".to_owned();
        let refused = |path: &Path, profile: &Profile, what: &str| {
            let before = std::fs::read(path).unwrap();
            let opened = open_image(path, profile, None).map(drop);
            let checked = check_image(path, profile, None, |_, _| true).map(drop);
            for refused in [opened, checked] {
                let text = refused.expect_err("it is another's").to_string();
                assert!(text.contains(what) && text.contains("; use what it was made with"), "{text}");
            }
            assert!(before == std::fs::read(path).unwrap(), "nothing was written");
        };
        let of_kind = "ftl.kind is page-mapping there and own-log here";
        let of_front_end = "host.front_end is nvme there and mailbox here";
        refused(&path, &kind, of_kind);
        refused(&path, &front_end, of_front_end);
        // The same in the other direction.
        let own = dir.path().join("own.aster");
        drop(open_image(&own, &kind, None).unwrap());
        refused(&own, &profile, "ftl.kind is own-log there and page-mapping here");
        drop(open_image(&own, &kind, None).unwrap());
    }

    #[test]
    fn a_profile_that_makes_no_drive_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d.aster");
        let mut profile = aster_device::profile::shipped("tiny").unwrap();
        profile.package.model = "a model whose name is much too long".to_owned();
        assert!(matches!(open_image(&path, &profile, None), Err(ImageError::Build(_))));
        assert!(!path.exists());
    }

    #[test]
    fn a_second_user_is_kept_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d.aster");
        let profile = aster_device::profile::shipped("tiny").unwrap();
        let _media = open_image(&path, &profile, None).unwrap();
        assert!(matches!(open_image(&path, &profile, None), Err(ImageError::InUse { .. })));
    }
}
