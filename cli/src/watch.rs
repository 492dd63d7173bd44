//! `aster watch`: the events of a run as a picture.

use crate::address::refusal;
use crate::args::WatchArgs;
use crate::console;
use crate::interrupt::Interrupt;
use aster_dashboard::{About, BlockCells, Dashboard, Frame, Recording, RecordingError, hub, play};
use aster_lab::asked::failure::Failure;
use aster_lab::asked::profiles;
use aster_lab::watch::DriveShape;
use aster_units::Instant;
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    about: &'a About,
    frame: &'a Frame,
    blocks: Option<&'a BlockCells>,
}

/// Shows a file of events in a browser until it is asked to stop, or prints one moment of it.
///
/// # Errors
/// When the file can't be read, or the address isn't to be had.
pub(crate) fn run(args: &WatchArgs) -> Result<(), Failure> {
    let named = args.profile.as_deref().map(|profile| profiles::find(profile, &[])).transpose()?;
    let shape = named.map(|named| DriveShape::of(&named.profile));
    let mut recording = Recording::open(&args.events, shape).map_err(refused)?;
    let name = args.events.file_name().unwrap_or(args.events.as_os_str()).to_string_lossy().into_owned();
    let about = About::new(&name, true, recording.shape());
    let at = args.at.map(|at| Instant::ZERO + at);
    if args.json {
        recording.advance(at.unwrap_or(Instant::from_picos(u64::MAX)), u64::MAX);
        if let Some(problem) = recording.problem() {
            return Err(Failure::run(problem));
        }
        let frame = recording.frame(false, 0.0);
        return console::json(&Printed { about: &about, frame: &frame, blocks: frame.blocks.as_deref() });
    }
    let interrupt = Interrupt::listen()?;
    let (source, hub) = hub(about);
    let dashboard = Dashboard::open(args.address, args.token.clone(), hub)
        .map_err(|error| Failure::usage(format!("--address {}: {}", args.address, refusal(&error))))?;
    console::note(&format!("{name} at {}; stop it with Ctrl-C", dashboard.url()));
    play(recording, &source, at, || interrupt.asked());
    Ok(())
}

fn refused(error: RecordingError) -> Failure {
    Failure::usage(error)
}
