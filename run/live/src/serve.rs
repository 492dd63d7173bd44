//! The server: one thread, in turns.

use crate::connection::{Connection, ConnectionError};
use crate::obstacles::Obstacle;
use crate::pace::{CLOCK_END, Clock, Pace};
use crate::requests::Session;
use crate::room::Room;
use crate::status::{Lateness, Meter, PERIOD, Status};
use aster_device::{Device, Media};
use aster_units::{Content, Instant};
use aster_wire::nvme::registers::{Cc, Csts, Register, ShutdownNotification, ShutdownStatus};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant as Wall};

/// Steps of the drive between two looks at the doorbells.
const STEPS_A_TURN: u32 = 64;
/// Turns between two looks at the socket while the thread is awake: a look is a system call.
const TURNS_A_MESSAGE: u32 = 32;
/// After this many consecutive looks at a drive without commands, the drive counts as idle.
const QUIET_LOOKS: u32 = 3;
/// At pace `fast`, a drive without commands that has nothing to do for so long rests: no operation takes as
/// long, so it waits for a time.
const REST: aster_units::Duration = aster_units::Duration::from_millis(20);
/// A drive for which something has been due for so long has stood still: the shortest Keep Alive Timeout.
const STOOD_STILL: aster_units::Duration = aster_units::Duration::from_millis(100);
/// Turns between two looks at the wall clock and at what is in the drive.
const TURNS_A_LOOK: u32 = 64;
/// How long nothing must happen before the thread begins to sleep. A host that reacts to a completion at once
/// finds it awake.
const SPIN: Duration = Duration::from_micros(50);
/// The thread spins for this long before a deadline: the system wakes a sleeper tens of microseconds late.
const WAKE_EARLY: Duration = Duration::from_micros(80);
/// First and longest sleep while a client may ring a doorbell in memory, which can't wake the thread. Sleeps
/// grow while nothing happens.
const NAPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));
/// Simulated time that a drive has for its last shutdown.
const SHUT_DOWN_WITHIN: aster_units::Duration = aster_units::Duration::from_millis(60_000);

/// Why a server can't go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket's path exists and isn't a socket without a server.
    #[error("{path}: {reason}", path = path.display())]
    Socket {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The drive keeps only fingerprints.
    #[error("a live drive keeps every byte that its host sends; this one keeps fingerprints")]
    Fingerprints,
    /// The operating system refuses.
    #[error("{what}: {error}")]
    System {
        /// The attempted operation.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// The drive's firmware has failed.
    #[error("the drive reports: {0}")]
    Drive(String),
}

/// Who looks at a drive that is served.
type Attendant = Box<dyn FnMut(&Device)>;

fn system(what: &'static str) -> impl Fn(Errno) -> ServeError {
    move |errno| ServeError::System { what, error: errno.into() }
}

/// A drive behind a socket.
pub struct Server {
    device: Device,
    listener: UnixListener,
    path: PathBuf,
    connection: Option<Connection>,
    /// The client has sent a message. Programs that only test whether a server is here disconnect without
    /// one.
    introduced: bool,
    session: Session,
    clock: Clock,
    /// The clock of a drive at pace `fast` while it is idle: its background work follows the wall clock.
    idle_clock: Option<Clock>,
    /// Consecutive looks that found no command in the drive, without activity of the host in between.
    quiet_looks: u32,
    meter: Meter,
    /// Looks at the drive between turns.
    attendant: Option<Attendant>,
    room: Room,
    completed: u64,
    /// Completions that haven't been signalled to the client yet: (number, time).
    ended: Vec<(u64, Instant)>,
    /// Since when nothing has happened.
    idle_since: Option<Wall>,
    nap: Duration,
    /// The turn before ended asleep.
    slept: bool,
}

impl Server {
    /// Serves a drive that has just been powered on at a new socket at `path`.
    ///
    /// # Errors
    /// When there can't be a socket, or the drive keeps fingerprints.
    pub fn new(device: Device, path: &Path, pace: Pace) -> Result<Self, ServeError> {
        if device.content() != Content::Full {
            return Err(ServeError::Fingerprints);
        }
        device.offer_doorbell_buffer();
        // A client names region and offset, so there is no address to decode.
        device.decode_outside();
        let listener = listen(path)?;
        let session = Session::new(&device).map_err(system("the doorbell page"))?;
        Ok(Server {
            clock: Clock::start(pace, device.now()),
            idle_clock: None,
            quiet_looks: 0,
            meter: Meter::start(&device),
            attendant: None,
            room: Room::of(&device),
            completed: device.completed(),
            ended: Vec::new(),
            device,
            listener,
            path: path.to_owned(),
            connection: None,
            introduced: false,
            session,
            idle_since: None,
            nap: NAPS.0,
            slept: false,
        })
    }

    /// The drive.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Shows the drive to `attendant` between turns, at least once per second. The drive stands still
    /// meanwhile, so it must not wait for anything.
    pub fn attend(&mut self, attendant: impl FnMut(&Device) + 'static) {
        self.attendant = Some(Box::new(attendant));
    }

    /// Serves one client after the other until `stop` returns true. Calls `tell` once per second, and
    /// `notice` with messages for people: how long recovery took, clients that connect and disconnect, and
    /// why.
    ///
    /// # Errors
    /// When the drive or the system can't go on.
    pub fn run(
        &mut self,
        stop: impl Fn() -> bool,
        mut tell: impl FnMut(&Status),
        mut notice: impl FnMut(&str),
    ) -> Result<(), ServeError> {
        let mut turn = 0u32;
        let mut booting = true;
        while !stop() {
            turn = turn.wrapping_add(1);
            let mut busy = self.look_at_doorbells();
            if !self.room.stands_still() && self.advance() {
                busy = true;
                // The firmware takes a write error of the disk for bad cells: it must not continue and retire
                // all its blocks.
                if let Some(fault) = self.device.image_fault() {
                    return Err(ServeError::Drive(fault));
                }
            }
            self.session.obstacles.take().iter().for_each(|words| notice(words));
            if let Some(said) = self.room.look(&self.device) {
                notice(&said);
                busy = true;
            }
            // After a sleep, a message may have woken the thread.
            if self.slept || turn.is_multiple_of(TURNS_A_MESSAGE) {
                busy |= self.listen_to_client(&mut notice)?;
            }
            if turn.is_multiple_of(TURNS_A_LOOK) || self.slept {
                self.slept = false;
                if booting && !self.device.is_booting() {
                    booting = false;
                    if let Some(recovery) = self.device.recovery() {
                        notice(&recovery);
                    }
                }
                let depth = self.device.commands_in_flight();
                self.meter.look(depth);
                while let Some(trouble) = self.device.take_host_trouble() {
                    self.session.obstacles.meet_trouble(trouble);
                }
                self.note_quiet(self.commands_at_work());
                if let Some(attendant) = &mut self.attendant {
                    attendant(&self.device);
                }
                if self.meter.is_due() {
                    self.look_for_others()?;
                    self.check_drive()?;
                    let mut status = self.meter.status(&self.device, self.connection.is_some());
                    status.paused = self.room.is_short();
                    status.missing_bytes = self.room.missing();
                    tell(&status);
                }
            }
            if busy {
                self.idle_since = None;
                self.nap = NAPS.0;
            } else {
                self.wait()?;
            }
        }
        Ok(())
    }

    /// How late completions were since the server began, when the pace is real.
    pub fn lateness(&mut self) -> Option<Lateness> {
        self.meter.lateness_of_all()
    }

    /// Shuts the drive down as a host's CC.SHN would, removes the power, and returns the media.
    ///
    /// # Errors
    /// When the drive doesn't shut down; its power is removed nevertheless.
    pub fn shut_down(mut self) -> Result<Media, ServeError> {
        self.connection = None;
        self.session.end(&self.device);
        // No host is left that could rely on what the drive reports as durable.
        self.device.hold_nothing_back();
        let shut_down = self.announce_shutdown();
        let Server { device, path, .. } = self;
        let _ = std::fs::remove_file(path);
        let media = device.power_off();
        shut_down.map(|()| media)
    }

    /// Removes the power now.
    pub fn cut_power(self) -> Media {
        let Server { device, path, .. } = self;
        let _ = std::fs::remove_file(path);
        device.power_off()
    }

    fn check_drive(&self) -> Result<(), ServeError> {
        match self.device.fault() {
            Some(fault) => Err(ServeError::Drive(fault)),
            None if self.device.now() > CLOCK_END => {
                Err(ServeError::Drive("its clock has come to the end of its 213 days; serve it again".into()))
            }
            None => Ok(()),
        }
    }

    /// Rings the doorbells that the client has written in memory; returns true when there were some.
    #[inline]
    fn look_at_doorbells(&mut self) -> bool {
        let clock = &self.clock;
        let rung = self.session.doorbells.poll(&self.device, &self.session.memory, || clock.target());
        if rung {
            self.hurry();
        }
        rung
    }

    /// The host has been active.
    fn hurry(&mut self) {
        self.quiet_looks = 0;
        let Some(now) = self.idle_clock.take().and_then(|clock| clock.target()) else { return };
        // A host that looks in often doesn't keep the drive from what it waits for.
        if let Some(at) = self.device.next_deadline().filter(|_| !self.room.stands_still()) {
            self.device.catch_up(now.min(at));
        }
    }
    /// A drive without commands has only background work, such as the endless scan: as fast as the machine
    /// can, that would keep a core busy and age the drive.
    fn note_quiet(&mut self, depth: usize) {
        if depth > 0 || self.clock.is_real() || self.device.is_booting() {
            return self.hurry();
        }
        self.quiet_looks = (self.quiet_looks + 1).min(QUIET_LOOKS);
        if self.quiet_looks == QUIET_LOOKS && self.idle_clock.is_none() {
            self.idle_clock = Some(Clock::start(Pace::Real, self.device.now()));
        }
    }
    /// Whether the drive, at pace `fast`, rests until `at`. From now on its clock then follows the wall
    /// clock: a jump to the end of the Keep Alive Timer would give up a host that has just been there.
    fn rests_until(&mut self, at: Instant) -> bool {
        // Commands that nothing is due for soon wait for the host, too: for room in a completion queue.
        let is_far = at.since(self.device.now()) > REST;
        if !is_far || self.device.is_booting() {
            return false;
        }
        self.quiet_looks = QUIET_LOOKS;
        self.idle_clock = Some(Clock::start(Pace::Real, self.device.now()));
        true
    }
    /// Commands in the drive. Writes that wait for room don't keep the drive from being idle.
    fn commands_at_work(&self) -> usize {
        if self.room.is_short() { 0 } else { self.device.commands_in_flight() }
    }
    fn clock_now(&self) -> &Clock {
        self.idle_clock.as_ref().unwrap_or(&self.clock)
    }

    /// Lets the drive do work that is due, but only so much that doorbells don't wait for long; returns true
    /// when there was some.
    fn advance(&mut self) -> bool {
        self.advance_towards(self.clock_now().target())
    }
    fn advance_towards(&mut self, target: Option<Instant>) -> bool {
        // The server was stopped, or its disk was: what the host has rung meanwhile comes after all that was
        // due by then.
        if let (Some(now), Some(due)) = (target, self.device.next_deadline())
            && now > due + STOOD_STILL
        {
            self.device.excuse_host();
        }
        let mut steps = 0;
        while steps < STEPS_A_TURN
            && let Some(at) = self.device.next_deadline().filter(|&at| target.is_none_or(|now| at <= now))
        {
            if target.is_none() && self.rests_until(at) {
                break;
            }
            self.step(at);
            steps += 1;
            if self.clock.is_real() {
                self.note_completions(at);
            }
        }
        self.deliver();
        // At pace `fast` the clock stands still while there is nothing to do.
        if let Some(now) = target.filter(|_| steps < STEPS_A_TURN && self.clock.is_real()) {
            self.device.catch_up(now);
        }
        steps > 0
    }

    /// Lets a drive in real time do everything that is due by now, and sets its clock.
    fn catch_up(&mut self) {
        let Some(now) = self.clock.target() else { return };
        if self.room.stands_still() {
            return;
        }
        while self.device.next_deadline().is_some_and(|at| at <= now) {
            self.advance_towards(Some(now));
        }
        self.device.catch_up(now);
    }

    fn note_completions(&mut self, at: Instant) {
        let completed = self.device.completed();
        if completed != self.completed {
            self.ended.push((completed - self.completed, at));
            self.completed = completed;
        }
    }
    /// Signals completions to the client and records how late they are.
    fn deliver(&mut self) {
        self.session.interrupts.deliver();
        if !self.ended.is_empty()
            && let Some(wall) = self.clock.target()
        {
            for (count, at) in self.ended.drain(..) {
                self.meter.completed(count, wall.since(at));
            }
        }
    }

    /// Does everything that is due at `at`, with the transfers that it requests.
    #[inline]
    fn step(&mut self, at: Instant) {
        self.session.step(&self.device, at);
    }

    /// Reports that a client waits while another one uses the drive: it gets no answer until that one has
    /// gone.
    fn look_for_others(&self) -> Result<(), ServeError> {
        if self.connection.is_none() {
            return Ok(());
        }
        let mut listener = [PollFd::new(&self.listener, PollFlags::IN)];
        match poll(&mut listener, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(0) => self.session.obstacles.forget(Obstacle::Waiting),
            Ok(_) => self.session.obstacles.meet(Obstacle::Waiting, || {
                "another client waits until the one that is connected has gone: a drive has one at a time"
                    .into()
            }),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(system("looking for clients")(errno)),
        }
        Ok(())
    }

    /// Accepts a waiting client, or receives messages of the current one; returns true when there was
    /// something.
    fn listen_to_client(&mut self, notice: &mut impl FnMut(&str)) -> Result<bool, ServeError> {
        let Some(connection) = &mut self.connection else {
            return self.accept();
        };
        let message = match connection.receive() {
            Ok(None) => return Ok(false),
            Ok(Some(message)) => message,
            Err(error) => {
                self.lose(&error, notice);
                return Ok(true);
            }
        };
        // The message takes effect now, after everything that was due before.
        self.hurry();
        self.catch_up();
        if !core::mem::replace(&mut self.introduced, true) {
            notice("a client has connected");
        }
        let connection = self.connection.as_mut().expect("a message came from it");
        if let Err(error) = self.session.handle(&self.device, connection, message) {
            self.lose(&error, notice);
        }
        Ok(true)
    }

    fn accept(&mut self) -> Result<bool, ServeError> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                let connection = Connection::new(stream)
                    .map_err(|error| ServeError::System { what: "the client's socket", error })?;
                self.connection = Some(connection);
                self.introduced = false;
                Ok(true)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(false)
            }
            // The client disconnected before it was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(false),
            Err(error) => Err(ServeError::System { what: "waiting for clients", error }),
        }
    }

    fn lose(&mut self, error: &ConnectionError, notice: &mut impl FnMut(&str)) {
        if self.introduced || !matches!(error, ConnectionError::Closed) {
            notice(&error.to_string());
        }
        self.connection = None;
        self.session.end(&self.device);
    }

    /// Nothing to do: spins for a while, then sleeps until something comes.
    fn wait(&mut self) -> Result<(), ServeError> {
        let since = *self.idle_since.get_or_insert_with(Wall::now);
        if since.elapsed() < SPIN {
            std::hint::spin_loop();
            return Ok(());
        }
        let mut sleep = PERIOD;
        if self.room.is_short() {
            sleep = sleep.min(self.room.until_retry());
        }
        // In real time the drive may have something to do later.
        if let Some(at) = self.device.next_deadline().filter(|_| !self.room.stands_still()) {
            let due = self.clock_now().until(at);
            if due <= WAKE_EARLY {
                std::hint::spin_loop();
                return Ok(());
            }
            sleep = sleep.min(due - WAKE_EARLY);
        }
        if self.session.doorbells.need_looking_at() {
            sleep = sleep.min(self.nap);
            self.nap = (self.nap * 2).min(NAPS.1);
        }
        self.session.doorbells.ask_for_messages(&mut self.session.memory);
        if self.look_at_doorbells() {
            self.idle_since = None;
            return Ok(());
        }
        let mut events = PollFlags::IN;
        let source = match &self.connection {
            Some(connection) => {
                if connection.is_sending() {
                    events = PollFlags::OUT;
                }
                connection.as_fd()
            }
            None => self.listener.as_fd(),
        };
        let timeout = Timespec { tv_sec: sleep.as_secs() as i64, tv_nsec: i64::from(sleep.subsec_nanos()) };
        self.meter.look(self.device.commands_in_flight());
        let polled = poll(&mut [PollFd::new(&source, events)], Some(&timeout));
        self.slept = true;
        match polled {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(system("waiting for the client")(errno)),
        }
    }

    /// Does what a host does before it removes the power (NVMe 1.4 §7.6.2), whatever state the last host
    /// left.
    fn announce_shutdown(&mut self) -> Result<(), ServeError> {
        self.check_drive()?;
        // Another front end has no shutdown notification. It must keep its promises through any loss of
        // power.
        if !self.device.is_nvme() {
            return Ok(());
        }
        let cc = Cc(self.read(Register::Configuration) as u32);
        let asked = cc.with_shn(ShutdownNotification::Normal.raw());
        self.device.bar_write(0, Register::Configuration.offset() as u32, 4, asked.0.into());
        let until = self.device.now() + SHUT_DOWN_WITHIN;
        loop {
            let csts = Csts(self.read(Register::Status) as u32);
            if csts.shutdown() == Some(ShutdownStatus::Complete) {
                return match csts.cfs() {
                    false => Ok(()),
                    true => Err(ServeError::Drive("its state could not be written".into())),
                };
            }
            match self.device.next_deadline().filter(|&at| at <= until) {
                Some(at) => self.step(at),
                None => return Err(ServeError::Drive("it doesn't shut down".into())),
            }
        }
    }
    fn read(&mut self, register: Register) -> u64 {
        self.session.bar_read(&self.device, 0, register.offset() as u32, register.bytes() as u8)
    }
}

/// The longest path of a socket: the room in `sockaddr_un` without the terminating zero.
const SOCKET_PATH_MAX: usize = 107;

/// A socket at `path`; replaces one without a server.
fn listen(path: &Path) -> Result<UnixListener, ServeError> {
    let refuse = |reason: String| ServeError::Socket { path: path.to_owned(), reason };
    let bytes = path.as_os_str().len();
    if bytes > SOCKET_PATH_MAX {
        return Err(refuse(format!(
            "a socket's path has {SOCKET_PATH_MAX} bytes at most and this one {bytes}: name a shorter one, \
             or go to its \
             folder and name it from there"
        )));
    }
    if let Ok(metadata) = std::fs::symlink_metadata(path) {
        use std::os::unix::fs::FileTypeExt;
        if !metadata.file_type().is_socket() {
            if metadata.is_dir() {
                let inside = path.join("cntrl");
                return Err(refuse(format!(
                    "it is a folder; name a socket in it ({}, where SPDK looks when it is given this folder)",
                    inside.display()
                )));
            }
            return Err(refuse("there is a file that is no socket; name another path".into()));
        }
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(refuse("another process serves there; name another path".into()));
        }
        std::fs::remove_file(path).map_err(|error| refuse(error.to_string()))?;
    }
    let listener = UnixListener::bind(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => refuse("its folder is not there".into()),
        io::ErrorKind::PermissionDenied => refuse("you may not make a file in its folder".into()),
        _ => refuse(error.to_string()),
    })?;
    listener.set_nonblocking(true).map_err(|error| refuse(error.to_string()))?;
    Ok(listener)
}
