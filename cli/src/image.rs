//! `aster image`: looks at images, checks them, copies them.

use crate::args::{ImageCheckArgs, ImageCommand};
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::profiles::{self, Named};
use crate::progress::Progress;
use aster_device::DamagedPage;
use aster_device::profile::Profile;
use aster_run_virtual::{
    CloneSerial, ImageCheck, ImageError, ImageInfo, KeptProfile, Stage, check_image, clone_image, image_info,
    kept_profile,
};
use aster_units::Content;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Does what is asked of an image.
///
/// # Errors
/// When there is none, or it isn't what it should be.
pub(crate) fn run(command: &ImageCommand) -> Result<(), Failure> {
    match command {
        ImageCommand::Info { image, json } => info(image, *json),
        ImageCommand::Check(args) => check(args),
        ImageCommand::Clone { image, to, keep_serial, check, set } => {
            let serial = if *keep_serial { CloneSerial::Kept } else { CloneSerial::New };
            let interrupt = Interrupt::listen()?;
            match check {
                Some(profile) => {
                    let Named { profile, .. } = profiles::find_or_kept(profile.as_deref(), Some(image), set)?;
                    checked(image, &profile, &interrupt)?;
                }
                None => console::note(
                    "blocks and pages are copied as they are; --check looks before whether they are sound",
                ),
            }
            let mut progress = Progress::new();
            progress.begin("copying");
            let copied = clone_image(image, to, serial, |share| {
                progress.set(share);
                !interrupt.asked()
            });
            copied.map_err(Failure::from)?;
            progress.end();
            Ok(())
        }
    }
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
    /// The profile that it keeps; `null` of an image that was made before they did.
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
    let kept = kept_profile(image).unwrap_or_else(|error| {
        console::note(&error.to_string());
        None
    });
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
    match kept {
        Some(KeptProfile { name, text }) => {
            console::line(&format!("profile {name}, which it keeps, with every default in its place"))?;
            let lines = text.lines().skip(1).filter(|line| !line.is_empty());
            lines.map(|line| format!("  {line}")).try_for_each(|line| console::line(&line))?;
        }
        None => console::line(
            "keeps no profile: `aster run` and `aster serve` let it keep the one that they are given",
        )?,
    }
    whole
}

/// What `aster image check --json` prints. What isn't known of a damaged image is null.
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
    // The image says how it keeps content; everything else must be the profile's.
    let content = content_of(image)?;
    let mut progress = Progress::new();
    let mut at = None;
    let found = check_image(image, profile, Some(content), |stage, share| {
        if at != Some(stage) {
            at = Some(stage);
            progress.begin(match stage {
                Stage::Pages => "reading every page",
                Stage::Boot => "booting the drive",
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
    if args.json {
        return console::json(&JsonCheck {
            sound: true,
            blocks: Some(found.blocks),
            program_erase_cycles: Some(found.erases),
            pages: Some(found.pages),
            recovery: found.recovery,
            ..JsonCheck::default()
        });
    }
    if let Some(recovery) = &found.recovery {
        console::line(recovery)?;
    }
    console::line(&format!(
        "sound: {} blocks, {} program/erase cycles, {} pages; the drive comes up",
        found.blocks, found.erases, found.pages
    ))
}
