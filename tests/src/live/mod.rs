//! A live drive in a thread, and its host: a polled NVMe driver on rust-vmm's vfio-user client, an
//! independent implementation.

mod here;
mod host;

pub use here::Here;
pub use host::{Host, MEMORY_AT, Memory, Queue, Ring, transfer};

use aster_device::profile::Profile;
use aster_device::{Device, Media, Pieces};
use aster_events::Recorder;
use aster_image::open_image;
use aster_run_live::{Lateness, Pace, Server, Status};
use aster_targets::with_ours;
use aster_units::Content;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tempfile::TempDir;

/// A drive that is being served.
pub struct Running {
    folder: TempDir,
    stop: Arc<AtomicBool>,
    statuses: Arc<Mutex<Vec<Status>>>,
    notices: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<Result<Option<Lateness>, String>>>,
}

impl Running {
    /// Serves a drive of `profile`, in memory or on `image`. Panics when it doesn't come up.
    pub fn start(profile: &Profile, pace: Pace, image: Option<&Path>) -> Self {
        Running::start_with(Pieces::default, profile, pace, image)
    }
    /// As [`Running::start`], of a drive with the pieces that `make` makes.
    pub fn start_with(
        make: impl FnOnce() -> Pieces + Send + 'static,
        profile: &Profile,
        pace: Pace,
        image: Option<&Path>,
    ) -> Self {
        let image = image.map(PathBuf::from);
        let opened = profile.clone();
        let media = move || match &image {
            Some(path) => open_image(path, &opened, Some(Content::Full)).map_err(|e| e.to_string()),
            None => Ok(Media::fresh()),
        };
        Running::start_of(make, profile, pace, media)
    }
    /// As [`Running::start`], of a drive with the media that `media` makes.
    pub fn start_on(profile: &Profile, pace: Pace, media: impl FnOnce() -> Media + Send + 'static) -> Self {
        Running::start_of(Pieces::default, profile, pace, || Ok(media()))
    }
    fn start_of(
        make: impl FnOnce() -> Pieces + Send + 'static,
        profile: &Profile,
        pace: Pace,
        media: impl FnOnce() -> Result<Media, String> + Send + 'static,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let (socket, stop) = (folder.path().join("s"), Arc::new(AtomicBool::new(false)));
        let (told, ready) = std::sync::mpsc::channel();
        let statuses = Arc::<Mutex<Vec<Status>>>::default();
        let seen = Arc::clone(&statuses);
        let notices = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&notices);
        let (profile, stopped) = (profile.clone(), Arc::clone(&stop));
        // A drive stays on one thread from power-on to power-off.
        let thread = std::thread::spawn(move || {
            let content = Some(Content::Full);
            let media = media()?;
            let device = Device::power_on_with(
                with_ours(make()),
                "live",
                &profile,
                content,
                media,
                &Recorder::default(),
            )
            .map_err(|e| e.to_string())?;
            let mut server = Server::new(device, &socket, pace).map_err(|e| e.to_string())?;
            told.send(()).map_err(|e| e.to_string())?;
            let tell = |status: &Status| seen.lock().expect("nobody panics with it").push(*status);
            let hear = |text: &str| heard.lock().expect("nobody panics with it").push(text.to_owned());
            let served = server.run(|| stopped.load(Ordering::Relaxed), tell, hear);
            let lateness = server.lateness();
            let shut_down = server.shut_down().map(drop);
            served.and(shut_down).map(|()| lateness).map_err(|e| e.to_string())
        });
        let running = Running { folder, stop, statuses, notices, thread: Some(thread) };
        if ready.recv().is_err() {
            panic!("the drive does not come up: {:?}", running.stop());
        }
        running
    }
    /// Where clients connect.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }
    /// The status lines so far, one per second.
    pub fn statuses(&self) -> Vec<Status> {
        self.statuses.lock().expect("nobody panics with it").clone()
    }
    /// The messages for people so far.
    pub fn notices(&self) -> Vec<String> {
        self.notices.lock().expect("nobody panics with it").clone()
    }
    /// Stops the server and shuts the drive down. Returns how late completions were.
    ///
    /// # Errors
    /// The error with which the server ended.
    pub fn stop(mut self) -> Result<Option<Lateness>, String> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("stopped once");
        thread.join().map_err(|_| "the server panicked".to_owned())?
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has printed its message; the test ends here with its own.
            let _ = thread.join();
        }
    }
}
