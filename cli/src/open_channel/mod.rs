//! `aster open-channel`: single commands for a drive that shows its host the flash.

mod address;
mod answer;
mod chunks;

use crate::args::{OpenChannelArgs, VectorCommand};
use crate::console;
use crate::image::content_of;
use crate::interrupt::Interrupt;
use address::{Addresses, Unit};
use answer::{Done, Identified, Sector, Table, Vector, refused_by};
use aster_device::Media;
use aster_device::profile::{OPEN_CHANNEL_12, OPEN_CHANNEL_20, Profile, TargetProfile};
use aster_driver::{Config, QueueId};
use aster_events::Recorder;
use aster_image::{ImageError, keep_profile, open_image};
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::{is_standard_input, keep_apart};
use aster_lab::asked::profiles::{self, Named};
use aster_lab::words::counted;
use aster_openchannel::{BlockFlags, Drive, Format, Identity, METADATA_BYTES, Moved, Place};
use aster_run_virtual::{Machine, RunError, VirtualBar};
use aster_units::Content;
use chunks::{Geometry, Report};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::rc::Rc;

/// The command sets of such a drive.
const OPEN_CHANNEL: [&str; 2] = [OPEN_CHANNEL_12, OPEN_CHANNEL_20];
const QUEUE: QueueId = QueueId(1);
/// The data of 64 sectors.
const TRANSFER_BYTES: u32 = 256 << 10;
const OOB: usize = METADATA_BYTES as usize;

/// Sends one command and prints what the drive answers.
///
/// # Errors
/// When the drive can't be had, or the command is wrong or fails.
pub(crate) fn run(args: &OpenChannelArgs) -> Result<(), Failure> {
    let Named { name, mut profile } = profiles::find(&args.profile, &args.set)?;
    if profile.host.front_end != "nvme" || !OPEN_CHANNEL.contains(&profile.host.command_set.as_str()) {
        let [old, new] = OPEN_CHANNEL;
        let problem = format!(
            "host.command_set is \"{}\", but only an NVMe drive with \"{old}\" or \"{new}\" takes these \
             commands",
            profile.host.command_set
        );
        return Err(Failure::file(&args.profile, problem));
    }
    // The commands are for the drive, not for what an FTL makes of it.
    let target = profile.target.take();
    let (read, written) = files(&args.command);
    keep_apart(
        &[&[Some(&*args.profile)], &read[..]].concat(),
        &[&[args.image.as_deref()], &written[..]].concat(),
    )?;
    let image = args.image.as_deref();
    // A new image keeps bytes, whatever the profile measures with.
    let content = match image.filter(|path| path.is_file()) {
        Some(path) => content_of(path)?,
        None => Content::Full,
    };
    let interrupt = Interrupt::listen()?;
    let media = match image {
        Some(path) => {
            let target = target.filter(|_| only_reads(&args.command));
            let media = open_any_image(path, &profile, target, content)?;
            if let Some(note) = keep_profile(path, &name, &profile)? {
                console::note(&note);
            }
            media
        }
        None => Media::fresh(),
    };
    let config = Config {
        queue_pairs: 1,
        depth: 1,
        transfer_bytes_max: TRANSFER_BYTES.min(profile.host.transfer_bytes_max),
        ..Config::default()
    };
    let powered = Machine::power_on(&name, &profile, Some(content), media, &Recorder::default(), config);
    let machine = powered.map_err(|error| Failure::on_image(image, error))?;
    machine.boot_while(&mut || !interrupt.asked()).map_err(|error| Failure::on_image(image, error))?;
    let driver = Rc::clone(machine.driver());
    let opened = machine.block_on("identifying the drive", async move { Drive::open(&driver).await })?;
    let host = Host { machine, drive: Rc::new(opened.map_err(Failure::run)?), content };
    let carried_out = host.carry_out(args);
    // The image is then as the drive left it, also after a command that failed.
    let Host { machine, drive, .. } = host;
    drop(drive);
    let ended = machine.shut_down().map_err(|error| Failure::on_image(image, error));
    carried_out?;
    ended.map(drop)
}

/// Opens an image of the drive, or one of the drive under this FTL of the host, if given.
fn open_any_image(
    path: &Path,
    profile: &Profile,
    target: Option<TargetProfile>,
    content: Content,
) -> Result<Media, Failure> {
    match open_image(path, profile, Some(content)) {
        Err(ImageError::OtherDrive { .. }) if let Some(target) = target => {
            let under = Profile { target: Some(target), ..profile.clone() };
            Ok(open_image(path, &under, Some(content))?)
        }
        opened => Ok(opened?),
    }
}

/// Whether a command leaves the flash as it is.
fn only_reads(command: &VectorCommand) -> bool {
    use VectorCommand::{Erase, Id, Mark, Read, Report, Table, Write};
    match command {
        Id | Table { .. } | Report { .. } | Read { .. } => true,
        Write { .. } | Erase { .. } | Mark { .. } => false,
    }
}

/// Files that a command reads, and that it writes.
fn files(command: &VectorCommand) -> (Vec<Option<&Path>>, Vec<Option<&Path>>) {
    match command {
        VectorCommand::Read { data, metadata, .. } => (vec![], vec![data.as_deref(), metadata.as_deref()]),
        VectorCommand::Write { data, metadata, .. } => {
            let data = Some(&**data).filter(|path| !is_standard_input(path));
            (vec![data, metadata.as_deref()], vec![])
        }
        _ => (vec![], vec![]),
    }
}

struct Host {
    machine: Machine,
    drive: Rc<Drive<VirtualBar>>,
    content: Content,
}

impl Host {
    fn carry_out(&self, args: &OpenChannelArgs) -> Result<(), Failure> {
        match &args.command {
            VectorCommand::Id => match self.drive.identity() {
                Identity::V12(identity) => Identified::of(identity).print(args.json),
                Identity::V20(geometry) => Geometry::of(geometry).print(args.json),
            },
            VectorCommand::Table { .. } | VectorCommand::Mark { .. } if self.has_chunks() => {
                Err(Failure::usage(
                    "a drive of 2.0 has no bad-block table; report tells which chunks are offline",
                ))
            }
            VectorCommand::Report { .. } if !self.has_chunks() => {
                Err(Failure::usage("a drive of 1.2 has no chunks; table tells the states of its blocks"))
            }
            VectorCommand::Report { luns } => self.report(luns, args.json),
            VectorCommand::Table { luns } => self.table(luns, args.json),
            VectorCommand::Read { addresses, data, metadata, raw } => {
                self.read(addresses, [data.as_deref(), metadata.as_deref()], *raw, args.json)
            }
            VectorCommand::Write { addresses, data, metadata, raw } => {
                self.write(addresses, data, metadata.as_deref(), *raw, args.json)
            }
            VectorCommand::Erase { addresses } => self.erase(addresses, args.json),
            VectorCommand::Mark { state, addresses } => self.mark(addresses, (*state).into(), args.json),
        }
    }
    fn places(&self, texts: &[String], unit: Unit) -> Result<Vec<Place>, Failure> {
        let addresses = Addresses { geometry: self.drive.geometry(), format: self.drive.format() };
        addresses.places(texts, unit).map_err(Failure::usage)
    }
    /// Runs a command, and returns what it gave and the simulated microseconds that it took.
    fn send<T: 'static>(
        &self,
        what: &'static str,
        work: impl AsyncFnOnce(Rc<Drive<VirtualBar>>) -> T + 'static,
    ) -> Result<(T, f64), RunError> {
        let drive = Rc::clone(&self.drive);
        let began = self.machine.now();
        let ended = self.machine.block_on(what, async move { work(drive).await })?;
        Ok((ended, self.machine.now().since(began).as_nanos() as f64 / 1e3))
    }

    fn has_chunks(&self) -> bool {
        matches!(self.drive.format(), Format::Logical(_))
    }
    /// The LUNs that are named, or all.
    fn luns(&self, luns: &[String]) -> Result<Vec<Place>, Failure> {
        let geometry = self.drive.geometry();
        let (of_channel, channels) = (geometry.luns_per_channel() as u16, geometry.channels);
        let all = (0..channels)
            .flat_map(|channel| (0..of_channel).map(move |lun| Place { channel, lun, ..Place::default() }));
        if luns.is_empty() { Ok(all.collect()) } else { self.places(luns, Unit::Lun) }
    }

    fn report(&self, luns: &[String], json: bool) -> Result<(), Failure> {
        let luns = self.luns(luns)?;
        let (reports, _) = self.send("reading the chunk report", async move |drive| {
            let mut reports = Vec::new();
            for place in luns {
                reports.push(Report::of(place, &drive.chunks(place.channel, place.lun).await?));
            }
            Ok::<_, aster_openchannel::OpenError>(reports)
        })?;
        Report::print_all(&reports.map_err(Failure::run)?, json)
    }

    fn table(&self, luns: &[String], json: bool) -> Result<(), Failure> {
        let luns = self.luns(luns)?;
        let (tables, _) = self.send("reading bad-block tables", async move |drive| {
            let mut tables = Vec::new();
            for place in luns {
                let states = drive.table(place.channel, place.lun).await?;
                tables.push(Table::of(drive.geometry(), place, &states));
            }
            Ok::<_, aster_openchannel::OpenError>(tables)
        })?;
        Table::print_all(&tables.map_err(Failure::run)?, json)
    }

    /// Bytes beside each sector: metadata, or in a raw vector a share of the spare area.
    fn beside(&self, raw: bool) -> Result<usize, Failure> {
        let none =
            || Failure::usage("the drive has no raw vectors; --set ftl.raw_vectors=true gives it some");
        if raw { self.drive.raw_spare_bytes().ok_or_else(none) } else { Ok(OOB) }
    }

    fn read(
        &self,
        addresses: &[String],
        into: [Option<&Path>; 2],
        raw: bool,
        json: bool,
    ) -> Result<(), Failure> {
        let places = self.places(addresses, Unit::Sector)?;
        let beside = self.beside(raw)?;
        let (wanted, content) = (places.clone(), self.content);
        let ((ended, data, metadata), us) = self.send("reading", async move |drive| {
            let mut data = vec![0; wanted.len() * content.sector_len()];
            let mut metadata = vec![0; wanted.len() * beside];
            let moved = match content {
                Content::Full => Moved::FromDrive(&mut data),
                Content::Fingerprint => Moved::TagsFromDrive(data.as_chunks_mut().0),
            };
            let ended = match raw {
                true => drive.read_raw(QUEUE, &wanted, moved, &mut metadata).await,
                false => drive.read(QUEUE, &wanted, moved, &mut metadata).await,
            };
            (ended, data, metadata)
        })?;
        let vector =
            Vector::of(Done { verb: "read", thing: "sector" }, self.drive.format(), &places, &ended, us)?;
        let sectors = Sector::of(&vector, &data, &metadata, self.content.sector_len(), beside);
        // What can't be read is told, and no file looks as if it could.
        let is_whole = vector.has_all_data();
        for (path, bytes) in into.into_iter().zip([&data, &metadata]) {
            if let Some(path) = path.filter(|_| is_whole) {
                std::fs::write(path, bytes).map_err(|error| Failure::file(path, error))?;
            }
        }
        vector.print(Some(&sectors), json)
    }

    fn write(
        &self,
        addresses: &[String],
        data: &Path,
        metadata: Option<&Path>,
        raw: bool,
        json: bool,
    ) -> Result<(), Failure> {
        let places = self.places(addresses, Unit::Sector)?;
        let beside = self.beside(raw)?;
        let bytes = places.len() * self.content.sector_len();
        let data = filled(data, "the data to write", bytes, places.len())?;
        let metadata = match metadata {
            Some(path) => filled(path, "the metadata to write", places.len() * beside, places.len())?,
            None => vec![0; places.len() * beside],
        };
        let (wanted, content) = (places.clone(), self.content);
        let (ended, us) = self.send("writing", async move |drive| {
            let moved = match content {
                Content::Full => Moved::ToDrive(&data),
                Content::Fingerprint => Moved::TagsToDrive(data.as_chunks().0),
            };
            match raw {
                true => drive.write_raw(QUEUE, &wanted, moved, &metadata).await,
                false => drive.write(QUEUE, &wanted, moved, &metadata).await,
            }
        })?;
        Vector::of(Done { verb: "written", thing: "sector" }, self.drive.format(), &places, &ended, us)?
            .print(None, json)
    }

    fn erase(&self, addresses: &[String], json: bool) -> Result<(), Failure> {
        let places = self.places(addresses, Unit::Block)?;
        let wanted = places.clone();
        let (ended, us) =
            self.send("erasing", async move |drive| drive.erase_blocks(QUEUE, &wanted).await)?;
        let done = match self.has_chunks() {
            true => Done { verb: "reset", thing: "chunk" },
            false => Done { verb: "erased", thing: "block" },
        };
        Vector::of(done, self.drive.format(), &places, &ended, us)?.print(None, json)
    }

    fn mark(&self, addresses: &[String], state: BlockFlags, json: bool) -> Result<(), Failure> {
        let places = self.places(addresses, Unit::Block)?;
        let wanted = places.clone();
        let (ended, us) = self.send("marking", async move |drive| drive.set_table(&wanted, state).await)?;
        let ended = ended.map_err(|error| refused_by(&places, error));
        Vector::of(Done { verb: "marked", thing: "block" }, self.drive.format(), &places, &ended, us)?
            .print(None, json)
    }
}

/// The bytes of a file with `what`, or of standard input, followed by zeroes up to `bytes`.
fn filled(path: &Path, what: &str, bytes: usize, sectors: usize) -> Result<Vec<u8>, Failure> {
    let fail = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Failure::file(path, format!("no such file; {what} are expected here")),
        _ => Failure::file(path, error),
    };
    let most = bytes as u64 + 1;
    let mut read = Vec::new();
    match is_standard_input(path) {
        true => std::io::stdin().take(most).read_to_end(&mut read),
        false => File::open(path).and_then(|file| file.take(most).read_to_end(&mut read)),
    }
    .map_err(fail)?;
    if read.len() > bytes {
        let sectors = counted(sectors as u64, "sector");
        let problem = format!("has more than the {bytes} bytes of {sectors}; name more addresses");
        return Err(Failure::file(path, problem));
    }
    read.resize(bytes, 0);
    Ok(read)
}
