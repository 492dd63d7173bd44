//! `aster trace`: says what is in a trace, and makes traces of traces.

use crate::args::{TraceCommand, TraceInfoArgs, TraceOutArgs, TraceReadArgs, TraceScaleArgs};
use crate::console;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::{STANDARD_INPUT, create, is_standard_input, keep_apart};
use aster_lab::asked::profiles::{self, Named};
use aster_lab::asked::traces::open;
use aster_lab::namespace::bytes_to_write;
use aster_lab::traces::{
    self, Change, Changed, Scale, Slice, Stretch, ToolError, TraceFile, UNCHANGED, WrittenAs,
};
use aster_lab::words::capacity;
use aster_lab::words::counted;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::Path;

/// Runs a subcommand.
///
/// # Errors
/// When the trace can't be read, or its successor not be written.
pub(crate) fn run(command: &TraceCommand) -> Result<(), Failure> {
    match command {
        TraceCommand::Info(args) => info(args),
        TraceCommand::Slice(args) => {
            if let (Some(from), Some(until)) = (args.from, args.until)
                && until <= from
            {
                let empty = format!("--until {until} is not after --from {from}: nothing is between");
                return Err(Failure::usage(empty));
            }
            let slice = Slice {
                from: args.from,
                until: args.until,
                range: args.range.clone(),
                kinds: args.kind.iter().map(|kind| (*kind).into()).collect(),
                skip: args.skip,
                count: args.count,
            };
            change(&args.trace, &args.read, &args.out, &Change::Slice(slice))
        }
        TraceCommand::Scale(args) => {
            let scale = scale(args)?;
            change(&args.trace, &args.read, &args.out, &Change::Scale(scale))
        }
        TraceCommand::Remap(args) => {
            whole_sectors("--unit", args.unit)?;
            change(&args.trace, &args.read, &args.out, &Change::Remap { unit: args.unit })
        }
    }
}

fn info(args: &TraceInfoArgs) -> Result<(), Failure> {
    let file = open(&args.trace)?;
    let told =
        followed(&args.trace, "reading", |progress| traces::info(&file, &args.read.options(), progress))?;
    if args.json { console::json(&told) } else { console::print(&traces::info_text(&told)) }
}

fn scale(args: &TraceScaleArgs) -> Result<Scale, Failure> {
    let time = match (args.time, args.duration) {
        (Some(factor), _) => Stretch::By(factor),
        (None, Some(duration)) if duration.is_zero() => {
            return Err(Failure::usage(
                "--duration 0 has no room for a trace; --trace-speed fastest of \
                                       `aster run` leaves its times aside",
            ));
        }
        (None, Some(duration)) => Stretch::To(duration),
        (None, None) => Stretch::By(UNCHANGED),
    };
    let addresses = match (args.addresses, args.capacity, &args.fit) {
        (Some(factor), ..) => Stretch::By(factor),
        (None, Some(bytes), _) => Stretch::To(bytes),
        (None, None, Some(profile)) => {
            let Named { profile, .. } = profiles::find(profile, &args.set)?;
            Stretch::To(bytes_to_write(&profile, None)?)
        }
        (None, None, None) => Stretch::By(UNCHANGED),
    };
    if (time, addresses) == (Stretch::By(UNCHANGED), Stretch::By(UNCHANGED)) {
        return Err(Failure::usage(
            "nothing is to be scaled: --time or --duration scale times, --addresses, --capacity or --fit \
             addresses",
        ));
    }
    whole_sectors("--chunk", args.chunk)?;
    Ok(Scale { time, addresses, chunk: args.chunk })
}

fn whole_sectors(option: &str, bytes: u64) -> Result<(), Failure> {
    match bytes > 0 && bytes.is_multiple_of(512) {
        true => Ok(()),
        false => {
            Err(Failure::usage(format!("{option} {bytes}: expected a multiple of 512 bytes, such as 4k")))
        }
    }
}

/// Makes a trace of a trace.
fn change(trace: &Path, read: &TraceReadArgs, out: &TraceOutArgs, change: &Change) -> Result<(), Failure> {
    let is_named = |path: &&Path| !is_standard_input(path);
    keep_apart(&[Some(trace).filter(is_named)], &[Some(out.out.as_path()).filter(is_named)])?;
    if let Some(other @ ("zst" | "xz" | "bz2")) = out.out.extension().and_then(|ending| ending.to_str()) {
        return Err(Failure::file(
            &out.out,
            format!("is packed by gzip alone (.gz); --out - | … > FILE.{other} packs by another program"),
        ));
    }
    let file = open(trace)?;
    let made = Made { file: &file, trace, read, change, written_as: out.written_as.into() };
    let changed = if is_standard_input(&out.out) {
        made.write(io::stdout().lock(), |_| Ok(()))
    } else {
        let written = write_to(&made, &out.out);
        if written.is_err() && out.out.is_file() {
            // A trace that is not whole would be taken for one.
            let _ = std::fs::remove_file(&out.out);
        }
        written
    }?;
    say(&out.out, read_through(&changed), &changed);
    Ok(())
}

fn write_to(made: &Made<'_>, path: &Path) -> Result<Changed, Failure> {
    let into = create(path)?;
    match path.extension().is_some_and(|ending| ending == "gz") {
        true => made.write(GzEncoder::new(into, Compression::default()), |packed| packed.finish()?.flush()),
        false => made.write(into, |mut into| into.flush()),
    }
    .map_err(|failure| match failure {
        Failure::Run(problem) => Failure::run(format!("{}: {problem}", path.display())),
        failure => failure,
    })
}

/// A trace in the making.
struct Made<'a> {
    file: &'a TraceFile,
    trace: &'a Path,
    read: &'a TraceReadArgs,
    change: &'a Change,
    written_as: WrittenAs,
}

impl Made<'_> {
    fn write<W: Write>(&self, into: W, finish: impl FnOnce(W) -> io::Result<()>) -> Result<Changed, Failure> {
        let (into, changed) = followed(self.trace, "writing", |progress| {
            traces::change(self.file, &self.read.options(), self.change, self.written_as, into, progress)
        })?;
        finish(into).map_err(Failure::run)?;
        Ok(changed)
    }
}

/// Does work on a trace with its progress shown, until it is done or the user stops it.
fn followed<T>(
    trace: &Path,
    stage: &str,
    work: impl FnOnce(&mut dyn FnMut(f64) -> bool) -> Result<T, ToolError>,
) -> Result<T, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new();
    progress.begin(stage);
    let done = work(&mut |share| {
        progress.set(share);
        !interrupt.asked()
    });
    match done {
        Ok(_) => progress.end(),
        Err(_) => drop(progress),
    }
    let name = if is_standard_input(trace) { Path::new(STANDARD_INPUT) } else { trace };
    done.map_err(|error| match error {
        ToolError::Trace(problem) => Failure::file(name, problem),
        ToolError::Closed => Failure::Closed,
        ToolError::Output(problem) => Failure::run(problem),
        ToolError::Stopped => Failure::stopped(),
    })
}

fn read_through(changed: &Changed) -> String {
    match changed.read == changed.wrote.requests {
        true => String::new(),
        false => format!(" of {}", changed.read),
    }
}

/// Says what has been made.
fn say(out: &Path, of: String, changed: &Changed) {
    let Changed { wrote, duration, end, .. } = changed;
    let name = if is_standard_input(out) { "standard output".into() } else { out.display().to_string() };
    console::note(&format!(
        "{name}: {}{of}, {:.6} s, addresses to {}",
        counted(wrote.requests, "request"),
        duration.as_secs_f64(),
        capacity(*end)
    ));
    if wrote.fua_lost > 0 {
        console::note(&format!(
            "{} for force unit access, which an iolog can't say: --as blktrace keeps it",
            match wrote.fua_lost {
                1 => "1 write asks".to_owned(),
                n => format!("{n} writes ask"),
            }
        ));
    }
}
