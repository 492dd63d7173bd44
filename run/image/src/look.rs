//! Showing and checking an image, without changing it.

use super::change::failed;
use super::disk::{Disk, FileMedium};
use super::format::KIND;
use super::header::{LENGTH_KEY, SERIAL_KEY, length_of, made_with, serial};
use super::{EMMC_AT, ImageError, NAND_AT, NVRAM_AT, check_file, lock};
use aster_device::profile::Profile;
use aster_device::{DamagedRecord, Device, EMMC_BYTES, Media, NVRAM_BYTES, Pieces, damaged_records};
use aster_events::Recorder;
use aster_ports::medium::{Medium, MediumError, Nvram};
use aster_targets::with_ours;
use aster_units::{BlockAddr, Content, Duration, LunIndex};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

/// The information in an image's header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageInfo {
    /// The keys of the profile that it was made with, and their values.
    pub made_with: Vec<(String, String)>,
    /// Bytes of the file.
    pub bytes: u64,
    /// The length in bytes with which it was made, and that it must have.
    pub bytes_when_made: u64,
    /// Bytes that it takes on the disk: pages that were never written, or were erased, take none.
    pub bytes_on_disk: u64,
    /// The drive's serial number.
    pub serial: String,
    /// Another process uses the drive now.
    pub in_use: bool,
}

pub(super) fn open(path: &Path) -> Result<File, ImageError> {
    let io_error = |error| ImageError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => ImageError::Missing { path: path.to_owned() },
        _ => io_error(error),
    })?;
    // A folder can be opened like a file, but not read.
    match file.metadata().map_err(io_error)?.is_dir() {
        true => Err(io_error(rustix::io::Errno::ISDIR.into())),
        false => Ok(file),
    }
}

/// Whether the file at `path` begins as a drive's image does, of whatever format.
pub fn is_image(path: &Path) -> bool {
    let mut begins = [0; KIND.len()];
    let read = open(path).is_ok_and(|mut file| file.read_exact(&mut begins).is_ok());
    read && begins == *KIND
}

impl ImageInfo {
    /// True when the file is truncated.
    pub fn is_cut_short(&self) -> bool {
        self.bytes < self.bytes_when_made
    }
}

/// Reads the header of the image at `path`; the image may be in use or truncated.
///
/// # Errors
/// When there is no image.
pub fn image_info(path: &Path) -> Result<ImageInfo, ImageError> {
    let io_error = |error| ImageError::Io { path: path.to_owned(), error };
    let file = open(path)?;
    let metadata = file.metadata().map_err(io_error)?;
    let text = made_with(&file, path)?;
    let keys = text.lines().filter_map(|line| line.split_once(" = "));
    let length = length_of(&text);
    Ok(ImageInfo {
        bytes_when_made: length.ok_or_else(|| ImageError::Header { path: path.to_owned() })?,
        serial: serial(&text, path)?.escape_debug().to_string(),
        made_with: keys
            .filter(|(key, _)| ![LENGTH_KEY, SERIAL_KEY].contains(key))
            .map(|(key, value)| (key.to_owned(), value.escape_debug().to_string()))
            .collect(),
        bytes: metadata.len(),
        bytes_on_disk: metadata.blocks() * 512,
        in_use: matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
    })
}

/// Bytes of a page of an [`Overlay`].
const PAGE_BYTES: u64 = 4096;

/// A file whose further changes are kept in memory, so that the file itself doesn't change.
struct Overlay {
    below: FileMedium,
    pages: Rc<RefCell<BTreeMap<u64, Vec<u8>>>>,
}

impl Overlay {
    fn page(&mut self, page: u64) -> Result<Vec<u8>, MediumError> {
        if let Some(bytes) = self.pages.borrow().get(&page) {
            return Ok(bytes.clone());
        }
        let at = page * PAGE_BYTES;
        let mut bytes = vec![0; PAGE_BYTES.min(self.below.size() - at) as usize];
        self.below.read_at(at, &mut bytes)?;
        Ok(bytes)
    }
    /// Calls `each` for the part of a range in each page: page, offset in it, part of the range.
    fn parts(
        &mut self,
        offset: u64,
        length: usize,
        mut each: impl FnMut(&mut Self, u64, usize, std::ops::Range<usize>) -> Result<(), MediumError>,
    ) -> Result<(), MediumError> {
        if offset.checked_add(length as u64).is_none_or(|end| end > self.below.size()) {
            return Err(failed(self.origin().saturating_add(offset), &"beyond the end of the image"));
        }
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            let within = (at % PAGE_BYTES) as usize;
            let bytes = (PAGE_BYTES as usize - within).min(length - done);
            each(self, at / PAGE_BYTES, within, done..done + bytes)?;
            done += bytes;
        }
        Ok(())
    }
}

impl Medium for Overlay {
    fn size(&self) -> u64 {
        self.below.size()
    }
    fn origin(&self) -> u64 {
        self.below.origin()
    }
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), MediumError> {
        self.below.read_at(offset, into)?;
        self.parts(offset, into.len(), |overlay, page, within, part| {
            if let Some(bytes) = overlay.pages.borrow().get(&page) {
                let length = part.len();
                into[part].copy_from_slice(&bytes[within..within + length]);
            }
            Ok(())
        })
    }
    fn write_at(&mut self, offset: u64, from: &[u8]) -> Result<(), MediumError> {
        self.parts(offset, from.len(), |overlay, page, within, part| {
            let mut bytes = overlay.page(page)?;
            bytes[within..within + part.len()].copy_from_slice(&from[part]);
            overlay.pages.borrow_mut().insert(page, bytes);
            Ok(())
        })
    }
    fn discard(&mut self, offset: u64, length: u64) -> Result<(), MediumError> {
        self.write_at(offset, &vec![0; length as usize])
    }
}

/// Blocks whose pages are read, and steps of a booting drive, between two progress calls.
const BLOCKS_A_WORD: u32 = 16;
const STEPS_A_WORD: u32 = 4096;
/// The most simulated time for a drive to boot.
const BOOT_WITHIN: Duration = Duration::from_millis(600_000);

/// The stage of [`check_image`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckStage {
    /// Every programmed page is read and compared with its checksums.
    Pages,
    /// A drive boots from it.
    Boot,
}

/// The results of [`check_image`] for a valid image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageCheck {
    /// Block entries, each with a correct checksum.
    pub blocks: u64,
    /// Program/erase cycles of all of them.
    pub erases: u64,
    /// Programmed pages whose bytes lie in slots of the image, each with correct checksums. A drive of tags
    /// has these in its page records, whose checksums are checked with the blocks.
    pub pages: u64,
    /// A description of the recovery, if the drive had lost power suddenly.
    pub recovery: Option<String>,
    /// Damaged records that the drive doesn't need.
    pub damaged_records: Vec<DamagedRecord>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Extra bytes after the image's end.
    pub bytes_beyond: u64,
}

impl ImageCheck {
    /// Where a record begins in the file.
    pub fn place_of(record: &DamagedRecord) -> u64 {
        NVRAM_AT + record.at as u64
    }

    /// Messages about damage that doesn't affect the drive, and what to do.
    pub fn faults(&self) -> Vec<String> {
        let records = self.damaged_records.iter().map(|record| {
            let DamagedRecord { what, instead, .. } = record;
            let at = ImageCheck::place_of(record);
            format!(
                "byte {at}: {what} is damaged; {instead}. A drive that is used and shut down writes it anew"
            )
        });
        let beyond = (self.bytes_beyond > 0).then(|| {
            format!(
                "{} bytes behind its end, which its drive doesn't have: `truncate -s {}` takes them away",
                self.bytes_beyond,
                self.bytes - self.bytes_beyond
            )
        });
        records.chain(beyond).collect()
    }
}

/// Checks the image at `path` as the drive of `profile`: file, header, every block entry, page record and
/// page, and then whether a drive boots from it, which reads its root record and its whole map. Nothing is
/// written. Calls `tell` now and then with the share of a stage that is done, and stops if it returns
/// `false`. The length of the boot isn't known in advance.
///
/// # Errors
/// What is wrong, and where.
pub fn check_image(
    path: &Path,
    profile: &Profile,
    content: Option<Content>,
    tell: impl FnMut(CheckStage, f64) -> bool,
) -> Result<ImageCheck, ImageError> {
    check_image_with(Pieces::default(), path, profile, content, tell)
}

/// As [`check_image`], of a drive with a reader's own `pieces`.
///
/// # Errors
/// As [`check_image`].
pub fn check_image_with(
    pieces: Pieces,
    path: &Path,
    profile: &Profile,
    content: Option<Content>,
    mut tell: impl FnMut(CheckStage, f64) -> bool,
) -> Result<ImageCheck, ImageError> {
    let read = read_whole(pieces, path, profile, content, |share| tell(CheckStage::Pages, share))?;
    boot(read, path, || tell(CheckStage::Boot, 0.0))
}

/// The first half of [`check_image`]: file, header, every block entry, page record and page. No drive boots.
///
/// # Errors
/// As [`check_image`].
pub fn check_image_pages(
    path: &Path,
    profile: &Profile,
    content: Option<Content>,
    tell: impl FnMut(f64) -> bool,
) -> Result<(), ImageError> {
    read_whole(Pieces::default(), path, profile, content, tell).map(drop)
}

/// An image of which everything has been read, and the drive on it, which hasn't begun to boot.
struct ReadImage {
    device: Device,
    pages: u64,
    damaged_records: Vec<DamagedRecord>,
    bytes: u64,
    bytes_beyond: u64,
}

fn read_whole(
    pieces: Pieces,
    path: &Path,
    profile: &Profile,
    content: Option<Content>,
    tell: impl FnMut(f64) -> bool,
) -> Result<ReadImage, ImageError> {
    let pieces = with_ours(pieces);
    let file = open(path)?;
    lock(&file, path)?;
    let nand_bytes = check_file(&file, path, profile, content)?;
    let bytes = file.metadata().map_err(|error| ImageError::Io { path: path.to_owned(), error })?.len();
    let disk = Disk::written_through(Rc::new(file));
    let window = |base, size| Overlay {
        below: FileMedium { disk: Rc::clone(&disk), base, size },
        pages: Rc::default(),
    };
    let nvram = Nvram::on_medium(Box::new(window(NVRAM_AT, NVRAM_BYTES as u64)), 0, NVRAM_BYTES)
        .map_err(|error| ImageError::Medium { path: path.to_owned(), error })?;
    let damaged_records = damaged_records(&pieces, profile, content, &nvram)?;
    let emmc = Box::new(window(EMMC_AT, EMMC_BYTES));
    let media = Media::on_image(Box::new(window(NAND_AT, nand_bytes)), nvram).with_emmc(emmc);
    let device = Device::power_on_with(pieces, "check", profile, content, media, &Recorder::default())
        .map_err(|error| ImageError::Damaged { path: path.to_owned(), reason: error.to_string() })?;
    let pages = check_pages(&device, path, tell)?;
    let bytes_beyond = bytes.saturating_sub(NAND_AT + nand_bytes);
    Ok(ReadImage { device, pages, damaged_records, bytes, bytes_beyond })
}

/// Boots the drive; calls `tell` now and then, and stops if it returns `false`.
fn boot(read: ReadImage, path: &Path, mut tell: impl FnMut() -> bool) -> Result<ImageCheck, ImageError> {
    let ReadImage { device, pages, damaged_records, bytes, bytes_beyond } = read;
    let damaged = |reason: String| ImageError::Damaged { path: path.to_owned(), reason };
    let until = device.now() + BOOT_WITHIN;
    let mut steps = 0u32;
    while device.is_booting() && device.fault().is_none() {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS_A_WORD) && !tell() {
            return Err(ImageError::Interrupted);
        }
        match device.next_deadline().filter(|&at| at <= until) {
            Some(at) => device.advance_to(at),
            None => return Err(damaged("the drive does not come up".into())),
        }
    }
    if let Some(fault) = device.fault() {
        return Err(damaged(format!("the drive reports: {fault}")));
    }
    let g = *device.geometry();
    let erases = device.stats().erases;
    let blocks = u64::from(g.total_luns()) * u64::from(g.blocks_per_lun);
    let erases = (erases.mean * blocks as f64).round() as u64;
    Ok(ImageCheck {
        blocks,
        erases,
        pages,
        recovery: device.recovery(),
        damaged_records,
        bytes,
        bytes_beyond,
    })
}

/// Reads every page of a drive that is powered but has not begun to boot. Returns their number.
fn check_pages(device: &Device, path: &Path, mut tell: impl FnMut(f64) -> bool) -> Result<u64, ImageError> {
    let nand = device.nand();
    let g = nand.config().geometry;
    let blocks = g.total_luns() * g.blocks_per_lun;
    let (mut pages, mut damaged) = (0, Vec::new());
    for index in 0..blocks {
        let (lun, block) = (LunIndex(index / g.blocks_per_lun), BlockAddr(index % g.blocks_per_lun));
        pages += nand
            .verify(lun, block, &mut damaged)
            .map_err(|error| ImageError::Medium { path: path.to_owned(), error })?;
        if index.is_multiple_of(BLOCKS_A_WORD) && !tell(f64::from(index) / f64::from(blocks)) {
            return Err(ImageError::Interrupted);
        }
    }
    if damaged.is_empty() {
        Ok(pages)
    } else {
        Err(ImageError::DamagedPages { path: path.to_owned(), pages: damaged })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::booted;
    use super::*;
    use crate::open_image;
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;

    #[test]
    fn an_image_says_what_it_was_made_with_and_how_little_it_takes() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        let info = image_info(&path).unwrap();
        assert!(info.made_with.contains(&("geometry.channels".into(), "2".into())), "{info:?}");
        assert!(info.bytes_on_disk < info.bytes / 2, "{info:?}");
        assert!(!info.in_use);
        let _media = open_image(&path, &profile, None).unwrap();
        assert!(image_info(&path).unwrap().in_use);
        assert!(matches!(check_image(&path, &profile, None, |_, _| true), Err(ImageError::InUse { .. })));
    }

    #[test]
    fn a_check_finds_damage_by_its_place_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        let before = std::fs::read(&path).unwrap();
        // The drive was never shut down: a new drive without a map boots, too.
        check_image(&path, &profile, None, |_, _| true)
            .map(drop)
            .unwrap_or_else(|e| assert!(e.to_string().contains("shut down"), "{e}"));
        assert!(std::fs::read(&path).unwrap() == before, "the check wrote to the image");
        let spoil = |at: u64| {
            let mut bytes = before.clone();
            bytes[at as usize] ^= 1;
            let spoilt = folder.path().join("spoilt");
            std::fs::write(&spoilt, &bytes).unwrap();
            check_image(&spoilt, &profile, None, |_, _| true).unwrap_err().to_string()
        };
        // The error names the place in the file.
        let text = spoil(NAND_AT + 9);
        assert!(text.contains("spoilt") && text.contains(&format!("byte {NAND_AT}:")), "{text}");
        // The first block's entry, after the header's page.
        let entry = NAND_AT + 4096;
        let text = spoil(entry + 3);
        assert!(text.contains(&format!("byte {entry}: a block entry's checksum is wrong")), "{text}");
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(NAND_AT + 100).unwrap();
        assert!(matches!(check_image(&path, &profile, None, |_, _| true), Err(ImageError::Truncated { .. })));
        let info = image_info(&path).unwrap();
        assert!(info.is_cut_short() && info.bytes_when_made == before.len() as u64, "{info:?}");
    }

    #[test]
    fn a_check_tells_records_that_the_drive_does_without_and_what_lies_behind_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        let check = || check_image(&path, &profile, None, |_, _| true).unwrap();
        let sound = check();
        assert_eq!((sound.faults(), sound.bytes_beyond), (vec![], 0));
        let whole = std::fs::read(&path).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let life = NVRAM_AT + NVRAM_BYTES as u64 - 128;
        let copies = [NVRAM_AT, NVRAM_AT + (24 << 10)];
        for (at, says) in [
            (copies[0], "copy 1 of 2 of the root record is damaged; the other is used"),
            (copies[1], "copy 2 of 2 of the root record is damaged; the other is used"),
            (life, "the record of the drive's life is damaged; SMART's counters begin anew"),
        ] {
            file.write_all_at(&[!whole[at as usize + 60]], at + 60).unwrap();
            let [fault] = &check().faults()[..] else { panic!("{at}: {:?}", check().faults()) };
            assert!(fault.starts_with(&format!("byte {at}: {says}")), "{fault}");
            file.write_all_at(&[whole[at as usize + 60]], at + 60).unwrap();
        }
        for at in copies {
            file.write_all_at(&[!whole[at as usize + 60]], at + 60).unwrap();
        }
        assert!(check().faults().iter().all(|fault| fault.contains("recovers from its NAND alone")));
        file.write_all_at(&whole, 0).unwrap();
        file.set_len(whole.len() as u64 + 9).unwrap();
        let [fault] = &check().faults()[..] else { panic!("{:?}", check().faults()) };
        assert!(
            fault.starts_with("9 bytes behind") && fault.contains(&format!("-s {}`", whole.len())),
            "{fault}"
        );
    }

    #[test]
    fn an_overlay_reads_what_was_written_to_it_and_the_file_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        std::fs::write(&path, vec![3; 10_000]).unwrap();
        let file = Rc::new(File::open(&path).unwrap());
        let mut overlay = Overlay {
            below: FileMedium { disk: Disk::written_through(file), base: 0, size: 10_000 },
            pages: Rc::default(),
        };
        overlay.write_at(4090, &[7; 20]).unwrap();
        overlay.discard(9_990, 10).unwrap();
        let mut back = vec![0; 10_000];
        overlay.read_at(0, &mut back).unwrap();
        assert!(back[..4090].iter().chain(&back[4110..9_990]).all(|&b| b == 3));
        assert!(back[4090..4110].iter().all(|&b| b == 7) && back[9_990..].iter().all(|&b| b == 0));
        assert!(overlay.write_at(9_999, &[0; 2]).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), vec![3; 10_000]);
    }
}
