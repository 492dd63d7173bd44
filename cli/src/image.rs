//! `aster image`: looks at images, checks them, copies them.

use crate::args::{ImageCheckArgs, ImageCommand};
use crate::console;
use crate::failure::Failure;
use crate::profiles::{self, Named};
use aster_run_virtual::{ImageInfo, check_image, clone_image, image_info};
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
        ImageCommand::Clone { image, to } => clone_image(image, to).map_err(Failure::from),
    }
}

/// What `aster image info --json` prints.
#[derive(Serialize)]
struct JsonInfo<'a> {
    bytes: u64,
    bytes_on_disk: u64,
    in_use: bool,
    made_with: BTreeMap<&'a str, &'a str>,
}

fn info(image: &Path, json: bool) -> Result<(), Failure> {
    let ImageInfo { made_with, bytes, bytes_on_disk, in_use } = image_info(image)?;
    if json {
        let made_with = made_with.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        return console::json(&JsonInfo { bytes, bytes_on_disk, in_use, made_with });
    }
    console::line(&format!("{bytes} bytes, {bytes_on_disk} of them on the disk"))?;
    if in_use {
        console::line("in use by another process")?;
    }
    console::line("made with")?;
    made_with.iter().try_for_each(|(key, value)| console::line(&format!("  {key} = {value}")))
}

fn check(args: &ImageCheckArgs) -> Result<(), Failure> {
    let Named { profile, .. } = profiles::find(&args.profile, &args.set)?;
    // The image says how it keeps content; everything else must be the profile's.
    let info = image_info(&args.image)?;
    let kept = info.made_with.iter().find(|(key, _)| key == "content").map(|(_, value)| value.as_str());
    let content = match kept {
        Some("fingerprint") => Content::Fingerprint,
        _ => Content::Full,
    };
    let found = check_image(&args.image, &profile, Some(content))?;
    if let Some(recovery) = &found.recovery {
        console::line(recovery)?;
    }
    console::line(&format!(
        "sound: {} blocks, {} program/erase cycles; the drive comes up",
        found.blocks, found.erases
    ))
}
