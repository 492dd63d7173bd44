//! The waveform file: the first READ, PROGRAM and ERASE on one channel, as a logic analyser would show them.

use super::error::{WatchError, create};
use crate::figure::{beside, is_picture};
use crate::wave::{write_csv, write_svg, write_vcd};
use aster_device::Device;
use aster_device::wave::{WaveFilter, WaveTap, Waveform};
use aster_events::{Event, EventSink};
use aster_run_virtual::Machine;
use aster_units::{ChannelId, Instant};
use std::cell::RefCell;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};

/// Listens to every channel until one of them has shown everything, then keeps that one.
pub struct WaveFile {
    path: PathBuf,
    into: BufWriter<File>,
    /// The file for a picture's numbers.
    numbers: Option<BufWriter<File>>,
    listening: RefCell<Option<Listening>>,
}

struct Listening {
    /// Weak, so that the drive's owner can cut its power.
    device: Weak<Device>,
    taps: Vec<WaveTap>,
}

/// Notifies the taps when arrays begin and end, and passes all events to the previous listener.
pub struct Tell {
    before: Option<Box<dyn EventSink>>,
    taps: Vec<WaveTap>,
}

impl Tell {
    /// Notifies the tap of a bench's channel.
    pub fn only(tap: &WaveTap) -> Self {
        Tell { before: None, taps: vec![tap.clone()] }
    }
}

impl EventSink for Tell {
    fn event(&mut self, at: Instant, event: &Event) {
        if let Some(before) = &mut self.before {
            before.event(at, event);
        }
        if let Event::ArrayBusy { channel, .. } = event
            && let Some(tap) = self.taps.get_mut(usize::from(*channel))
        {
            tap.event(at, event);
        }
    }
}

impl WaveFile {
    /// Makes the file at `path`.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn create(path: &Path) -> Result<Self, WatchError> {
        let extension = path.extension().unwrap_or_default();
        if !["vcd", "svg"].iter().any(|known| extension.eq_ignore_ascii_case(known)) {
            return Err(WatchError::file(
                path,
                "a waveform is written as .vcd, for a viewer, or .svg, a picture: name it so",
            ));
        }
        let into = create(path)?;
        let numbers = is_picture(path).then(|| create(&beside(path))).transpose()?;
        Ok(WaveFile { path: path.to_owned(), into, numbers, listening: RefCell::new(None) })
    }

    /// Listens to `machine`'s drive from now on.
    pub fn attach(&self, machine: &Machine) {
        let device = machine.device();
        let geometry = device.geometry();
        let taps: Vec<WaveTap> = (0..geometry.channels)
            .map(|channel| WaveTap::new(ChannelId(channel), geometry.ways, WaveFilter::first_of_each()))
            .collect();
        for (channel, tap) in taps.iter().enumerate() {
            device.set_tap(channel, Some(Box::new(tap.clone())));
        }
        let before = device.recorder().detach();
        device.recorder().attach(Tell { before, taps: taps.clone() });
        *self.listening.borrow_mut() = Some(Listening { device: Rc::downgrade(device), taps });
    }

    /// Removes the taps once one channel has shown everything, since drawing takes time. Returns true from
    /// then on.
    pub fn drop_taps_when_complete(&self) -> bool {
        let listening = self.listening.borrow();
        let Some(Listening { device, taps }) = &*listening else { return true };
        let complete = taps.iter().any(WaveTap::is_complete);
        if complete && let Some(device) = device.upgrade() {
            (0..taps.len()).for_each(|channel| device.set_tap(channel, None));
        }
        complete
    }

    /// Writes the waveform of the channel that has shown most. Returns a note about it.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn finish(self) -> Result<Option<String>, WatchError> {
        let taps = self.listening.take().map_or_else(Vec::new, |listening| listening.taps);
        match best(&taps) {
            Some(best) => self.write(&best),
            None => Ok(None),
        }
    }

    /// Writes the waveform of a bench's channel. Returns a note about it.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn finish_with(self, tap: &WaveTap) -> Result<Option<String>, WatchError> {
        self.write(&tap.waveform())
    }

    fn write(self, wave: &Waveform) -> Result<Option<String>, WatchError> {
        let WaveFile { path, into, numbers, .. } = self;
        let empty = || format!("{}: empty, no page was read or programmed, no block erased", path.display());
        let note = wave.changes().is_empty().then(empty);
        let failed = |error| WatchError::write(&path, error);
        let Some(numbers) = numbers else {
            return write_vcd(into, wave).map(|()| note).map_err(failed);
        };
        write_svg(into, wave).map_err(failed)?;
        write_csv(numbers, wave).map(|()| note).map_err(|error| WatchError::write(&beside(&path), error))
    }
}

/// The waveform that was complete first; if none was, the one with most changes.
fn best(taps: &[WaveTap]) -> Option<Waveform> {
    let last_change = |wave: &Waveform| wave.changes().last().map(|change| change.at);
    let complete = taps.iter().filter(|tap| tap.is_complete()).map(WaveTap::waveform).min_by_key(last_change);
    complete.or_else(|| taps.iter().map(WaveTap::waveform).max_by_key(|wave| wave.changes().len()))
}
