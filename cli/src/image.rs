//! `aster image`: shows, checks and copies images.

use crate::args::{ImageCheckArgs, ImageCommand};
use crate::console;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use aster_device::profile::{Profile, RaidName, SHIPPED};
use aster_device::{DamagedPage, DamagedRecord};
use aster_image::{
    CheckStage, CloneSerial, ImageCheck, ImageError, ImageInfo, KeptProfile, check_image, check_image_pages,
    clone_image, image_info, kept_profile,
};
use aster_lab::asked::failure::Failure;
use aster_lab::asked::profiles::{self, Named};
use aster_lab::words::counted;
use aster_units::Content;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Runs a subcommand.
///
/// # Errors
/// When the image is missing or wrong.
pub(crate) fn run(command: &ImageCommand) -> Result<(), Failure> {
    match command {
        ImageCommand::Info { image, profile: true, .. } => print_profile(image),
        ImageCommand::Info { image, json, .. } => info(image, *json),
        ImageCommand::Check(args) => check(args),
        ImageCommand::Clone { image, to, keep_serial, check, set } => {
            let serial = if *keep_serial { CloneSerial::Kept } else { CloneSerial::New };
            let interrupt = Interrupt::listen()?;
            if let Some(profile) = check {
                let Named { profile, .. } = profiles::find_or_kept(profile.as_deref(), Some(image), set)?;
                let found = checked(image, &profile, &interrupt)?;
                // These faults harm neither the drive nor a copy.
                let faults = found.faults().into_iter();
                faults.for_each(|fault| console::note(&format!("{}: {fault}", image.display())));
            }
            let mut progress = Progress::new();
            progress.begin("copying");
            let copied = clone_image(image, to, serial, |share| {
                progress.set(share);
                !interrupt.asked()
            });
            match copied {
                Ok(()) => progress.end(),
                Err(_) => drop(progress),
            }
            copied?;
            if check.is_none() { look_at_copy(image, to, &interrupt) } else { Ok(()) }
        }
    }
}

/// Tells what is damaged in the copy `to` of `image`, and thus in both.
fn look_at_copy(image: &Path, to: &Path, interrupt: &Interrupt) -> Result<(), Failure> {
    let Ok(Named { profile, .. }) = profiles::find_or_kept(None, Some(to), &[]) else {
        console::note(
            "blocks and pages were copied as they are: the image keeps no profile by which they could be \
             checked; --check=PROFILE does so before",
        );
        return Ok(());
    };
    let mut progress = Progress::new();
    progress.begin("reading every page of the copy");
    let found = check_image_pages(to, &profile, Some(content_of(to)?), |share| {
        progress.set(share);
        !interrupt.asked()
    });
    match found {
        Ok(()) => progress.end(),
        Err(ImageError::Interrupted) => {
            drop(progress);
            console::note(
                "the copy is complete; whether its blocks and pages are sound wasn't seen to the end",
            );
            return Err(Failure::Interrupted);
        }
        Err(error) => {
            drop(progress);
            let image = image.display();
            console::note(&format!("{image} is damaged, and so is the copy; --check copies nothing then"));
            return Err(error.into());
        }
    }
    Ok(())
}

/// What `aster image info --json` prints.
#[derive(Serialize)]
struct JsonInfo<'a> {
    bytes: u64,
    bytes_when_made: u64,
    cut_short: bool,
    bytes_on_disk: u64,
    in_use: bool,
    serial: &'a str,
    made_with: BTreeMap<&'a str, &'a str>,
    /// Where parity lies, by the profile that it keeps; `null` for a drive without `hostftl`.
    raid: Option<RaidName>,
    /// The profile that it keeps; `null` if it has none yet.
    profile: Option<JsonProfile<'a>>,
}

#[derive(Serialize)]
struct JsonProfile<'a> {
    name: &'a str,
    keys: toml::Table,
}

fn info(image: &Path, json: bool) -> Result<(), Failure> {
    let info = image_info(image)?;
    let cut_short = info.is_cut_short();
    let ImageInfo { made_with, bytes, bytes_when_made, bytes_on_disk, serial, in_use } = info;
    let whole = if cut_short {
        Err(ImageError::Truncated { path: image.to_owned(), found: bytes, needed: bytes_when_made }.into())
    } else {
        Ok(())
    };
    let (kept, whole) = match kept_profile(image) {
        Ok(kept) => (kept, whole),
        // Reported already.
        Err(ImageError::Truncated { .. }) => (None, whole),
        Err(error) => (None, whole.and(Err(Failure::from(error)))),
    };
    let raid = kept.as_ref().and_then(raid_of);
    if json {
        let profile = kept.as_ref().and_then(|KeptProfile { name, text }| {
            Some(JsonProfile { name, keys: toml::from_str(text).ok()? })
        });
        let made_with = made_with.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let serial = &serial;
        console::json(&JsonInfo {
            bytes,
            bytes_when_made,
            cut_short,
            bytes_on_disk,
            in_use,
            serial,
            made_with,
            raid,
            profile,
        })?;
        return whole;
    }
    console::line(&format!("{bytes} bytes, {bytes_on_disk} of them on the disk"))?;
    if in_use {
        console::line("in use by another process")?;
    }
    console::line(&format!("serial number {serial}"))?;
    console::line("made with")?;
    made_with.iter().try_for_each(|(key, value)| console::line(&format!("  {key} = {value}")))?;
    if let Some(raid) = raid {
        let raid = toml::Value::try_from(raid).expect("a word");
        console::line(&format!("first used with\n  target.raid = {}", raid.as_str().unwrap_or_default()))?;
    }
    match kept {
        Some(kept) => profile_in_words(&kept).iter().try_for_each(|line| console::line(line))?,
        None if whole.is_err() => {}
        None => console::line(
            "keeps no profile: `aster run` and `aster serve` let it keep the one that they are given",
        )?,
    }
    whole
}

/// Where parity lies in a drive under `hostftl` with this profile.
fn raid_of(kept: &KeptProfile) -> Option<RaidName> {
    let profile = Profile::parse(&kept.name, &kept.text).ok()?;
    profile.target.filter(|target| target.kind == "hostftl").map(|target| target.raid.unwrap_or_default())
}

/// Prints the profile that an image keeps, as a file that makes the same drive.
fn print_profile(image: &Path) -> Result<(), Failure> {
    match kept_profile(image)? {
        Some(KeptProfile { text, .. }) => console::print(&text),
        None => Err(Failure::file(image, "keeps no profile yet")),
    }
}

/// The profile that an image keeps: its name, and how it differs from the shipped one of that name.
fn profile_in_words(kept: &KeptProfile) -> Vec<String> {
    let KeptProfile { name, text } = kept;
    let all = "image info --profile prints all of it";
    let shipped = SHIPPED.iter().find(|(shipped, _)| shipped == name);
    let keys_of = |text: &str| {
        let profile = Profile::parse(name, text).ok()?;
        let mut keys = BTreeMap::new();
        collect(&toml::from_str(&profile.to_toml().ok()?).ok()?, "", &mut keys);
        Some(keys)
    };
    let (Some(here), Some(there)) = (keys_of(text), shipped.and_then(|(_, text)| keys_of(text))) else {
        return vec![format!("keeps its profile, {name}; {all}")];
    };
    let other: Vec<_> = here.iter().filter(|(key, value)| there.get(*key) != Some(value)).collect();
    let gone: Vec<_> = there.keys().filter(|key| !here.contains_key(*key)).collect();
    let mut lines = vec![match other.is_empty() && gone.is_empty() {
        true => format!("keeps its profile, {name}, as it is shipped; {all}"),
        false => {
            format!("keeps its profile, {name}, which differs from the shipped one in what follows; {all}")
        }
    }];
    lines.extend(other.into_iter().map(|(key, value)| format!("  {key} = {value}")));
    lines.extend(gone.into_iter().map(|key| format!("  {key} is not given")));
    lines
}

/// The keys of a table and of its subtables, with their full names, and their values.
fn collect(table: &toml::Table, within: &str, keys: &mut BTreeMap<String, toml::Value>) {
    for (key, value) in table {
        let full = if within.is_empty() { key.clone() } else { format!("{within}.{key}") };
        match value {
            toml::Value::Table(inner) => collect(inner, &full, keys),
            value => _ = keys.insert(full, value.clone()),
        }
    }
}

/// What `aster image check --json` prints. Values that aren't known for a damaged image are null.
#[derive(Serialize, Default)]
struct JsonCheck {
    sound: bool,
    blocks: Option<u64>,
    program_erase_cycles: Option<u64>,
    pages: Option<u64>,
    /// How the drive comes back, if its power was lost.
    recovery: Option<String>,
    /// What is wrong, and where.
    reason: Option<String>,
    damaged_pages: Vec<JsonDamage>,
    /// Damaged records that the drive doesn't need, for example because of a second copy.
    damaged_records: Vec<JsonRecord>,
    /// Bytes of the file behind the image's end.
    bytes_beyond: Option<u64>,
}

#[derive(Serialize)]
struct JsonRecord {
    /// In the file.
    byte: u64,
    what: &'static str,
    instead: &'static str,
}

#[derive(Serialize)]
struct JsonDamage {
    /// In the file.
    byte: u64,
    lun: u32,
    block: u32,
    page: u16,
}

impl JsonCheck {
    fn damaged(error: &ImageError) -> Self {
        let pages = match error {
            ImageError::DamagedPages { pages, .. } => &pages[..],
            _ => &[],
        };
        let damage =
            |p: &DamagedPage| JsonDamage { byte: p.offset, lun: p.lun.0, block: p.block.0, page: p.page.0 };
        JsonCheck {
            reason: Some(error.to_string()),
            damaged_pages: pages.iter().map(damage).collect(),
            ..JsonCheck::default()
        }
    }
}

/// How an image keeps content.
pub(crate) fn content_of(image: &Path) -> Result<Content, ImageError> {
    let info = image_info(image)?;
    let kept = info.made_with.iter().find(|(key, _)| key == "content").map(|(_, value)| value.as_str());
    Ok(match kept {
        Some("fingerprint") => Content::Fingerprint,
        _ => Content::Full,
    })
}

/// Checks an image as the drive of `profile`.
fn checked(image: &Path, profile: &Profile, interrupt: &Interrupt) -> Result<ImageCheck, ImageError> {
    // The image decides how it keeps content; everything else must match the profile.
    let content = content_of(image)?;
    let mut progress = Progress::new();
    let mut at = None;
    let found = check_image(image, profile, Some(content), |stage, share| {
        if at != Some(stage) {
            at = Some(stage);
            progress.begin(match stage {
                CheckStage::Pages => "reading every page",
                CheckStage::Boot => "booting the drive",
            });
        }
        progress.set(share);
        !interrupt.asked()
    });
    match found {
        Ok(_) => progress.end(),
        Err(_) => drop(progress),
    }
    found
}

fn check(args: &ImageCheckArgs) -> Result<(), Failure> {
    let Named { profile, .. } =
        profiles::find_or_kept(args.profile.as_deref(), Some(&args.image), &args.set)?;
    let interrupt = Interrupt::listen()?;
    let found = match checked(&args.image, &profile, &interrupt) {
        Ok(found) => found,
        Err(error) => {
            if args.json && !matches!(error, ImageError::Interrupted) {
                console::json(&JsonCheck::damaged(&error))?;
            }
            return Err(error.into());
        }
    };
    let mut faults = found.faults();
    // Whether it was needed or not.
    if let Err(ImageError::Kept { what, .. }) = kept_profile(&args.image) {
        faults.push(what);
    }
    let verdict = match &faults[..] {
        [] => Ok(()),
        faults => Err(Failure::run(format!("{}: {}", args.image.display(), faults.join("; ")))),
    };
    if args.json {
        let record = |r: &DamagedRecord| JsonRecord {
            byte: ImageCheck::place_of(r),
            what: r.what,
            instead: r.instead,
        };
        console::json(&JsonCheck {
            sound: faults.is_empty(),
            reason: (!faults.is_empty()).then(|| faults.join("; ")),
            damaged_records: found.damaged_records.iter().map(record).collect(),
            bytes_beyond: Some(found.bytes_beyond),
            blocks: Some(found.blocks),
            program_erase_cycles: Some(found.erases),
            pages: Some(found.pages),
            recovery: found.recovery,
            ..JsonCheck::default()
        })?;
        return verdict;
    }
    if let Some(recovery) = &found.recovery {
        console::line(recovery)?;
    }
    let held = [(found.blocks, "block"), (found.erases, "program/erase cycle"), (found.pages, "page")];
    let held = held.map(|(n, thing)| counted(n, thing)).join(", ");
    let sound = if faults.is_empty() { "sound" } else { "blocks and pages are sound" };
    console::line(&format!("{sound}: {held}; the drive comes up"))?;
    verdict
}
