//! A live drive on the caller's thread, which takes turns with its host. The cost of both is one thread's
//! CPU time, independent of other work on the machine.

use aster_device::profile::Profile;
use aster_device::{Device, Media, Pieces};
use aster_events::Recorder;
use aster_run_live::{Pace, Server, Status};
use aster_units::Content;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A drive that is served while its owner calls its methods.
pub struct Here {
    folder: TempDir,
    server: Server,
    notices: Vec<String>,
    status: Option<Status>,
}

impl Here {
    /// A fresh drive of `profile`. Panics when it doesn't come up.
    pub fn start(pieces: Pieces, profile: &Profile, pace: Pace) -> Self {
        Here::start_on(Media::fresh(), pieces, profile, pace)
    }
    /// As [`Here::start`], of a drive with `media`.
    pub fn start_on(media: Media, pieces: Pieces, profile: &Profile, pace: Pace) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let (content, recorder) = (Some(Content::Full), Recorder::default());
        let device = Device::power_on_with(pieces, "live", profile, content, media, &recorder)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        let server =
            Server::new(device, &socket(folder.path()), pace).unwrap_or_else(|e| panic!("the socket: {e}"));
        Here { folder, server, notices: Vec::new(), status: None }
    }
    /// Where clients connect.
    pub fn socket(&self) -> PathBuf {
        socket(self.folder.path())
    }
    /// The drive.
    pub fn device(&self) -> &Device {
        self.server.device()
    }
    /// Shows the drive to `attendant` between turns.
    pub fn attend(&mut self, attendant: impl FnMut(&Device) + 'static) {
        self.server.attend(attendant);
    }
    /// The messages for people.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
    /// The last status.
    pub fn status(&self) -> Option<&Status> {
        self.status.as_ref()
    }
    /// Shuts the drive down and cuts its power.
    ///
    /// # Errors
    /// When it doesn't shut down.
    pub fn stop(self) -> Result<(), String> {
        self.server.shut_down().map(drop).map_err(|error| error.to_string())
    }
    /// Serves while `meet` connects on a thread of its own, waiting for answers as clients do. Returns its
    /// result.
    pub fn meet<T: Send + 'static>(&mut self, meet: impl FnOnce(&Path) -> T + Send + 'static) -> T {
        let socket = self.socket();
        let client = std::thread::spawn(move || meet(&socket));
        self.serve(|| client.is_finished());
        client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
    /// Serves, and calls `turn` after each turn of the server until it returns true.
    pub fn serve(&mut self, turn: impl FnMut() -> bool) {
        let turn = RefCell::new(turn);
        let told = |status: &Status| self.status = Some(*status);
        let served =
            self.server.run(|| (turn.borrow_mut())(), told, |text| self.notices.push(text.to_owned()));
        served.unwrap_or_else(|e| panic!("serving: {e}"));
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("s")
}
