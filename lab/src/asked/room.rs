//! Checks whether a run's content fits into memory, or on the disk of its image.

use super::failure::Failure;
use crate::preconditioning::Preconditioning;
use crate::warning::Warning;
use crate::words::capacity;
use aster_device::profile::Profile;
use aster_units::Content;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The room that a run needs.
pub struct Need {
    /// Bytes that are certainly needed: those that preconditioning writes.
    pub certain: u64,
    /// Bytes that the work writes in addition, as far as known.
    pub written: u64,
    /// Whether the command can keep the drive in an image.
    pub takes_image: bool,
}

/// Bytes that a page takes in memory beside its content: its record, OOB and list of wrong bits.
const RECORD_BYTES: u64 = 48;

impl Need {
    /// Of a run on `profile`'s drive of `exported` bytes.
    pub fn of(
        profile: &Profile,
        exported: u64,
        precondition: Option<&Preconditioning>,
        written: u64,
    ) -> Self {
        let used = profile.used_geometry();
        let flash = used.total_pages() * u64::from(used.page_bytes);
        // A drive in steady state is full to its spare blocks.
        let (filled, overwritten) = match precondition {
            None => (0, 0),
            Some(Preconditioning::Overwritten(percent)) => (exported, exported / 100 * u64::from(*percent)),
            Some(Preconditioning::Steady(_)) => (flash.max(exported), 0),
        };
        let all = filled.saturating_add(overwritten).saturating_add(written);
        // Stale copies stay until their block is erased, but flash holds no more than itself.
        Need { certain: filled, written: all.min(flash).saturating_sub(filled), takes_image: true }
    }

    /// Bytes that `bytes` bytes take as `content`, in pages of `page_bytes`.
    fn kept(bytes: u64, content: Content, page_bytes: u64) -> u64 {
        let pages = bytes.div_ceil(page_bytes.max(1));
        match content {
            Content::Full => pages.saturating_mul(page_bytes + RECORD_BYTES),
            Content::Fingerprint => pages.saturating_mul(RECORD_BYTES),
        }
    }
}

/// Returns a warning for a run that may not fit; none when it fits, or when that isn't known.
///
/// # Errors
/// When it certainly doesn't fit; the message says what to do.
pub fn check(
    need: &Need,
    content: Content,
    page_bytes: u64,
    image: Option<&Path>,
) -> Result<Option<Warning>, Failure> {
    let available = match image {
        Some(image) => on_disk(image),
        None => in_memory(),
    };
    available.map_or(Ok(None), |available| judge(need, content, page_bytes, image, available))
}

fn judge(
    need: &Need,
    content: Content,
    page_bytes: u64,
    image: Option<&Path>,
    available: u64,
) -> Result<Option<Warning>, Failure> {
    let certain = Need::kept(need.certain, content, page_bytes);
    let likely = Need::kept(need.certain.saturating_add(need.written), content, page_bytes);
    if likely <= available {
        return Ok(None);
    }
    let mut ways = Vec::new();
    if content == Content::Full {
        ways.push("--content fingerprint keeps a tag a sector instead of every byte");
    }
    match image {
        None if need.takes_image => ways.push("--image FILE keeps the drive on the disk"),
        None => {}
        Some(_) => ways.push("an --image on another disk"),
    }
    ways.push("--set restrict.blocks_per_lun=N makes the drive smaller");
    let place = match image {
        None => "in memory".to_owned(),
        Some(image) => format!("on the disk of {}", image.display()),
    };
    let ways = ways.join("; ");
    if certain > available {
        return Err(Failure::usage(format!(
            "filling the drive keeps {} {place}, where {} are left: {ways}",
            capacity(certain),
            capacity(available)
        )));
    }
    let message = format!(
        "this run may keep up to {} {place}, where {} are left: {ways}",
        capacity(likely),
        capacity(available)
    );
    let values = [("bytes", likely as f64), ("available_bytes", available as f64)];
    Ok(Some(Warning::new("little-room", message).with(values)))
}

/// Bytes of memory that programs may still take, as Linux estimates it.
fn in_memory() -> Option<u64> {
    of_meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes that an image may take on its disk: what is free, and what it takes already.
fn on_disk(image: &Path) -> Option<u64> {
    let taken = image.metadata().map_or(0, |file| file.blocks() * 512);
    let folder = match image.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let disk = rustix::fs::statvfs(&folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)?.checked_add(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 16 << 10;

    fn tiny() -> Profile {
        aster_device::profile::shipped("tiny").unwrap()
    }

    #[test]
    fn what_is_written_counts_until_flash_is_full() {
        let flash = 48 << 20;
        let need = Need::of(&tiny(), 30 << 20, None, 1 << 20);
        assert_eq!((need.certain, need.written), (0, 1 << 20));
        let need = Need::of(&tiny(), 30 << 20, Some(&Preconditioning::Overwritten(0)), 1 << 20);
        assert_eq!((need.certain, need.written), (30 << 20, 1 << 20));
        let need = Need::of(&tiny(), 30 << 20, Some(&Preconditioning::Overwritten(10_000)), u64::MAX);
        assert_eq!((need.certain, need.certain + need.written), (30 << 20, flash));
    }

    #[test]
    fn what_surely_does_not_fit_is_refused_and_what_may_not_is_told() {
        let need = Need { certain: 1 << 30, written: 1 << 30, takes_image: true };
        let judged = |content, available| judge(&need, content, PAGE, None, available);
        assert!(judged(Content::Full, 3 << 30).unwrap().is_none());
        let may = judged(Content::Full, 3 << 29).unwrap().unwrap().message;
        assert!(may.starts_with("this run may keep up to 2 GiB in memory, where 1.5 GiB are left"), "{may}");
        let refused = judged(Content::Full, 1 << 29).unwrap_err().to_string();
        for way in ["--content fingerprint", "--image FILE", "--set restrict.blocks_per_lun"] {
            assert!(refused.contains(way), "{refused}");
        }
        // Tags take a thousandth.
        assert!(judged(Content::Fingerprint, 1 << 29).unwrap().is_none());
        let tags = judged(Content::Fingerprint, 1 << 20).unwrap_err().to_string();
        assert!(!tags.contains("--content"), "{tags}");
        let disk =
            judge(&need, Content::Full, PAGE, Some(Path::new("d.aster")), 1 << 29).unwrap_err().to_string();
        assert!(disk.contains("on the disk of d.aster") && !disk.contains("--image FILE"), "{disk}");
        let need = Need { takes_image: false, ..need };
        let refused = judge(&need, Content::Full, PAGE, None, 1 << 29).unwrap_err().to_string();
        assert!(!refused.contains("--image"), "{refused}");
    }

    #[test]
    fn this_machine_says_what_it_has() {
        assert_eq!(of_meminfo("MemTotal: 9 kB\nMemAvailable:   12345 kB\n"), Some(12_345 << 10));
        assert_eq!(of_meminfo("MemTotal: 9 kB\n"), None);
        assert!(in_memory().is_some_and(|bytes| bytes > 1 << 20));
        let folder = tempfile::tempdir().unwrap();
        assert!(on_disk(&folder.path().join("d.aster")).is_some());
        assert!(on_disk(&folder.path().join("nowhere/d.aster")).is_none());
    }
}
