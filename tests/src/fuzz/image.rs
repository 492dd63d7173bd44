//! Images: one of a drive that was shut down, with bytes changed or its end cut off.

use super::input::Input;
use crate::{config, job, profile, versioned};
use aster_device::Profile;
use aster_driver::Config;
use aster_events::Recorder;
use aster_image::{check_image, image_info, open_image};
use aster_run_virtual::Machine;
use aster_units::Content;
use aster_workload::{Access, Mix};
use rustix::fs::{SeekFrom, seek};
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use tempfile::TempDir;

fn small() -> Profile {
    profile("tiny", |p| (p.geometry.channels, p.geometry.ways) = (1, 1))
}

/// The image that every input changes. It is restored afterwards.
struct Image {
    _folder: TempDir,
    path: PathBuf,
    file: File,
    /// The ranges that contain data; the rest are holes.
    written: Vec<Range<u64>>,
    bytes: u64,
}

impl Image {
    fn make() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("drive.aster");
        let profile = small();
        let media = open_image(&path, &profile, Some(Content::Full)).unwrap_or_else(|e| panic!("{e}"));
        let config: Config = config(&profile);
        let (content, recorder) = (Some(Content::Full), Recorder::default());
        let machine = Machine::power_on("fuzz", &profile, content, media, &recorder, config)
            .unwrap_or_else(|e| panic!("{e}"));
        machine.boot().unwrap_or_else(|e| panic!("{e}"));
        crate::run(&machine, &[job("fill", Access::Random, Mix::Write, 4096, 200)], versioned(&machine));
        machine.shut_down().map(drop).unwrap_or_else(|e| panic!("{e}"));
        let file = OpenOptions::new().read(true).write(true).open(&path).expect("the image");
        let bytes = file.metadata().expect("its size").len();
        let (mut written, mut at) = (Vec::new(), 0);
        while let Ok(data) = seek(&file, SeekFrom::Data(at)) {
            at = seek(&file, SeekFrom::Hole(data)).expect("the end is a hole");
            written.push(data..at);
        }
        Image { _folder: folder, path, file, written, bytes }
    }
    /// An offset, in most cases of existing data.
    fn place(&self, input: &mut Input) -> u64 {
        let piece = match input.below(4) {
            0 => 0..4096,
            1 => 0..self.bytes,
            _ => self.written[input.below(self.written.len() as u32) as usize].clone(),
        };
        piece.start + input.u64() % (piece.end - piece.start)
    }
    fn at(&self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length.min((self.bytes - at) as usize)];
        self.file.read_exact_at(&mut bytes, at).expect("in the image");
        bytes
    }
}

pub(super) fn run(bytes: &[u8]) {
    static IMAGE: OnceLock<Mutex<Image>> = OnceLock::new();
    let image = IMAGE.get_or_init(|| Mutex::new(Image::make()));
    // One that was left changed by a panic says so itself, by failing again.
    let image = image.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut input, mut undo) = (Input::new(bytes), Vec::new());
    let whole = input.u8() % 16 > 0;
    while !input.is_empty() {
        let at = image.place(&mut input);
        let new = match input.below(3) {
            0 => vec![input.u8()],
            1 => input.bytes::<8>().to_vec(),
            _ => vec![input.u8(); usize::from(input.u8()) * 16],
        };
        let old = image.at(at, new.len());
        image.file.write_all_at(&new[..old.len()], at).expect("in the image");
        undo.push((at, old));
    }
    if !whole {
        let end = undo.first().map_or(0, |(at, _)| *at);
        for piece in image.written.iter().filter(|piece| piece.end > end) {
            let start = piece.start.max(end);
            undo.push((start, image.at(start, (piece.end - start) as usize)));
        }
        image.file.set_len(end).expect("shorter");
    }
    // Whatever is said of it: it is said, and in words. An image that was not changed is a good one.
    let said = check_image(&image.path, &small(), Some(Content::Full), |_, _| true);
    let _ = image_info(&image.path);
    if let Err(error) = &said {
        assert!(!error.to_string().is_empty());
        assert!(!undo.is_empty() || !whole, "a sound image: {error}");
    }
    image.file.set_len(image.bytes).expect("its old size");
    for (at, old) in undo.iter().rev() {
        image.file.write_all_at(old, *at).expect("in the image");
    }
}
