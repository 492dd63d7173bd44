//! `aster demo`: the main job, step by step.

use crate::args::DemoArgs;
use crate::console;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::run::verdict;
use aster_lab::asked::failure::Failure;
use aster_lab::demo::{self, CopyReport, DemoError, DemoFtl, DemoReport, EXPORTED_BYTES, PROFILE};
use aster_lab::report::table;
use aster_lab::watch::WaveFile;
use aster_lab::words::capacity;
use aster_lab::words::counted;
use std::cell::RefCell;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the demo and reports it.
///
/// # Errors
/// When a file can't be read or written, data didn't come back unchanged, or a request failed.
pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let began = Instant::now();
    let say = |text: &str| if args.json { Ok(()) } else { console::line(text) };
    let interrupt = Interrupt::listen()?;
    say(&format!("{PROFILE}, restricted to {}.", capacity(EXPORTED_BYTES)))?;
    let copy = copy(args, &interrupt, &say)?;
    say(&said(&copy))?;
    if let Some(path) = &args.wave {
        draw(path, &interrupt, &say)?;
    }

    say("Measuring two drives of this board, which keep a tag a sector, in steady state: as if random \
         writes had gone on for ever (--precondition steady).")?;
    let mut drives = Vec::new();
    for ftl in DemoFtl::ALL {
        let progress = RefCell::new(Progress::new());
        let stage = |stage: &str| progress.borrow_mut().begin(stage);
        let measured = demo::measure_workloads(ftl, stage, &mut |share| {
            progress.borrow_mut().set(share);
            !interrupt.asked()
        })?;
        progress.borrow_mut().end();
        say(&format!("\n{}\n{}", ftl.name(), table(&measured.runs)))?;
        drives.push(measured);
    }
    let report = DemoReport { profile: PROFILE.to_owned(), copy, drives };
    match args.json {
        true => console::json(&report)?,
        false => console::line(&format!("All of it took {:.0} s.", began.elapsed().as_secs_f64()))?,
    }
    if !report.copy.is_identical() {
        return Err(Failure::run("the tree that was read back differs from the one that was written"));
    }
    report.drives.iter().try_for_each(|drive| verdict(&drive.runs))
}

/// Copies the tree, on the image that the user named or on a temporary one.
fn copy(
    args: &DemoArgs,
    interrupt: &Interrupt,
    say: &impl Fn(&str) -> Result<(), Failure>,
) -> Result<CopyReport, Failure> {
    // The file never has a name, so nothing stays behind however the process ends.
    let mut temporary = None;
    let (image, called): (PathBuf, _) = match &args.image {
        Some(image) => (image.clone(), image.display().to_string()),
        None => {
            let file = tempfile::tempfile();
            let file = file.map_err(|error| Failure::run(format!("temporary image: {error}")))?;
            demo::make_image(&file)?;
            let path = format!("/proc/self/fd/{}", temporary.insert(file).as_raw_fd());
            (path.into(), "a temporary file".to_owned())
        }
    };
    say(&format!(
        "Copying {} as a tar stream through NVMe writes to a drive in {}, shutting it down, rebuilding it \
         from that \
         image alone, and reading everything back:",
        args.tree.display(),
        called
    ))?;
    let mut progress = Progress::new();
    progress.begin("write the tree");
    let mut reading = false;
    let result = demo::copy_tree(&args.tree, &image, &mut |share| {
        // The first half of the copy writes, the second reads.
        if share >= 0.5 && !reading {
            reading = true;
            progress.begin("rebuild the drive, read the tree");
        }
        progress.set(if reading { share * 2.0 - 1.0 } else { share * 2.0 });
        !interrupt.asked()
    });
    let copy = result.map_err(|error| match error {
        DemoError::Run(error) => Failure::on_image(args.image.as_deref(), error),
        error => error.into(),
    })?;
    progress.end();
    Ok(copy)
}

/// Draws the first READ, PROGRAM and ERASE of one LUN of the same kind.
fn draw(
    path: &Path,
    interrupt: &Interrupt,
    say: &impl Fn(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let wave = WaveFile::create(path)?;
    demo::run_for_wave(
        |machine| wave.attach(machine),
        || wave.drop_taps_when_complete() || interrupt.asked(),
    )?;
    if interrupt.asked() {
        return Err(DemoError::Stopped.into());
    }
    if let Some(note) = wave.finish()? {
        console::note(&note);
    }
    say(&format!("The ONFI waveform of a LUN's first READ, PROGRAM and ERASE is in {}.", path.display()))
}

/// The copy's result as text.
fn said(copy: &CopyReport) -> String {
    let result = if copy.is_identical() { "came back identical" } else { "came back DIFFERENT" };
    let mut text = format!(
        "Copy: {}, {:.1} MB, {result}; {:.2} s to write and {:.2} s to read, simulated.\n  SHA-256 in   {}",
        counted(copy.files as u64, "file"),
        copy.bytes as f64 / 1e6,
        copy.write_simulated_s,
        copy.read_simulated_s,
        copy.written_sha256,
    );
    text.push_str("\n  SHA-256 out  ");
    text.push_str(&copy.read_sha256);
    text
}
