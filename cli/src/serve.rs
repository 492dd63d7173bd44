//! `aster serve`: a drive to which others attach.

use crate::address::refusal;
use crate::args::ServeArgs;
use crate::console;
use crate::debug_console::DebugConsole;
use crate::interrupt::Interrupt;
use crate::sideband::{SideBand, Wanted};
use aster_dashboard::{About, Dashboard, Live, hub};
use aster_device::profile::{MESSAGE_UNIT, NO_TARGET, Profile, TargetProfile};
use aster_device::{Backlog, Device, FreshErrors, Media, Pieces};
use aster_events::Recorder;
use aster_image::open_image_live;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::keep_apart;
use aster_lab::asked::profiles::{self, Named};
use aster_lab::report::rate_text;
use aster_lab::watch::DriveShape;
use aster_lab::words::counted;
use aster_run_live::{Lateness, ServeError, Server, Status};
use aster_targets::with_ours;
use aster_units::Content;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

/// Serves a drive until it is asked to stop.
///
/// # Errors
/// When the drive can't be built or fails.
pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let Named { name, mut profile } =
        profiles::find_or_kept(args.profile.as_deref(), args.image.as_deref(), &args.set)?;
    let through = choose_target(&mut profile, args.target.as_deref());
    keep_apart(
        &[args.profile.as_deref()],
        &[
            args.image.as_deref(),
            Some(&args.vfio_user),
            args.monitor_pty.as_deref(),
            args.debug_pty.as_deref(),
        ],
    )?;
    let modules = args.monitor_modules.chosen(&profile, false)?;
    // A host sends bytes, which a drive of tags would lose.
    let content = Some(Content::Full);
    let doubt = profiles::doubt(&FreshErrors::of(&profile)?).map(|warning| warning.message);
    let interrupt = Interrupt::listen()?;
    let new_image = args.image.as_deref().filter(|path| !path.exists());
    let (media, not_kept) = match &args.image {
        Some(path) => open_image_live(path, (&name, &profile), content, args.sync)?,
        None => match &args.serial {
            Some(serial) => (Media::fresh().with_serial(serial.clone()), None),
            None => (Media::fresh(), None),
        },
    };
    let start = || {
        let pieces = with_ours(Pieces::default());
        let device = Device::power_on_with(pieces, &name, &profile, content, media, &Recorder::default())?;
        let wanted =
            Wanted { pty: args.monitor_pty.as_deref(), prometheus: args.prometheus, log: args.monitor_log };
        let side_band = SideBand::open(wanted, &modules, &device)?;
        let open = |link| DebugConsole::open(link, &device);
        let (debug_console, attendant) = args.debug_pty.as_deref().map(open).transpose()?.unzip();
        let mut server = Server::new(device, &args.vfio_user, args.pace.into()).map_err(failure)?;
        let shown = args.dashboard.map(|address| in_browser(address, args, &name, &profile, server.device()));
        let (dashboard, mut live) = shown.transpose()?.unzip();
        if attendant.is_some() || live.is_some() {
            server.attend(move |device| {
                if let Some(attendant) = &attendant {
                    attendant.attend(device);
                }
                if let Some(live) = &mut live {
                    live.attend(device);
                }
            });
        }
        Ok((server, side_band, debug_console, dashboard))
    };
    let (mut server, side_band, debug_console, dashboard) = start().inspect_err(|_: &Failure| {
        // Remove a new image that was never served.
        if let Some(path) = new_image {
            let _ = std::fs::remove_file(path);
        }
    })?;
    let line = Line::new(args.json);
    for text in [doubt, not_kept, through].into_iter().flatten() {
        line.note(&text);
    }
    line.note(&format!("{name} at {}; stop it with Ctrl-C", args.vfio_user.display()));
    if let Some((_, notes)) = &side_band {
        notes.iter().for_each(|text| line.note(text));
    }
    if let Some(debug_console) = &debug_console {
        line.note(&debug_console.note());
    }
    if let Some(dashboard) = &dashboard {
        line.note(&format!("dashboard at {}", dashboard.url()));
    }
    let show = |status: &Status| {
        line.show(status);
        if let Some((side_band, _)) = &side_band {
            side_band.show(status);
        }
    };
    let served = server.run(|| interrupt.asked(), show, |text| line.note(text));
    let lateness = server.lateness();
    line.end();
    // Their terminals and links end with the service.
    drop((side_band, debug_console, dashboard));
    if let Some(lateness) = lateness {
        console::note(&format!("completions were late by {}", late(&lateness)));
    }
    if let Err(error) = served {
        drop(server.cut_power());
        return Err(on_image(args, error));
    }
    // Without an image the drive won't be used again, so it needs no shutdown.
    match &args.image {
        Some(image) => {
            let backlog = server.device().backlog().cloned();
            server.shut_down().map(drop).map_err(|error| on_image(args, error))?;
            // The unwritten changes are lost with the drive, so this is the last chance to write them.
            if let Some(backlog) = backlog {
                backlog.retry();
                check_all_written(image, &*backlog)?;
            }
            console::note(&format!("shut down; {} has everything", image.display()));
        }
        None => drop(server.cut_power()),
    }
    Ok(())
}

/// Shows the drive in a browser at `address`.
fn in_browser(
    address: SocketAddr,
    args: &ServeArgs,
    name: &str,
    profile: &Profile,
    device: &Device,
) -> Result<(Dashboard, Live), Failure> {
    let shape = DriveShape::of(profile);
    let (source, hub) = hub(About::new(name, false, &shape));
    let dashboard = Dashboard::open(address, args.dashboard_token.clone(), hub)
        .map_err(|error| Failure::usage(format!("--dashboard {address}: {}", refusal(&error))))?;
    Ok((dashboard, Live::new(device, shape, source)))
}

/// Chooses what is served: what `wanted`, or else the profile's own target, makes of the drive, or the drive
/// itself. Returns what there is to say of it.
///
/// A virtual machine may well bring the FTL of an open-channel drive itself, so that is shown as it is. No
/// system has a driver for command frames.
fn choose_target(profile: &mut Profile, wanted: Option<&str>) -> Option<String> {
    let own = profile.target.take();
    let takes_frames = profile.host.front_end == MESSAGE_UNIT;
    match (wanted, own) {
        (Some(NO_TARGET), _) | (None, None) => None,
        (Some(kind), own) => {
            let own = own.filter(|target| target.kind == kind);
            let fresh = || TargetProfile { kind: kind.to_owned(), ..TargetProfile::default() };
            profile.target = Some(own.unwrap_or_else(fresh));
            None
        }
        (None, Some(own)) if takes_frames => {
            let told = format!(
                "shows what {} makes of the drive; --target {NO_TARGET} shows the drive itself, which takes \
                 command frames",
                own.kind
            );
            profile.target = Some(own);
            Some(told)
        }
        (None, Some(own)) => Some(format!(
            "shows the drive itself, which its host must know; --target {0} shows what {0} makes of it",
            own.kind
        )),
    }
}

/// If the disk is still full, the image is as after a loss of power at the moment when the disk ran full,
/// whatever the drive did since.
fn check_all_written(image: &Path, backlog: &dyn Backlog) -> Result<(), Failure> {
    let (reason, what_to_do) = match (backlog.fault(), backlog.no_room()) {
        (Some(fault), _) => (fault, "look after the disk before it is served again"),
        (None, Some(no_room)) if backlog.owed() > 0 => (no_room, "make room, and serve it again"),
        _ => return Ok(()),
    };
    Err(Failure::run(format!(
        "{}: {reason}: it is as after a loss of power when that happened: everything that was flushed is \
         there, \
         {} that the drive had not promised to keep {} not; {what_to_do}",
        image.display(),
        counted(backlog.owed(), "byte"),
        if backlog.owed() == 1 { "is" } else { "are" }
    )))
}

fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::Socket { .. } | ServeError::Fingerprints => Failure::usage(error),
        ServeError::System { .. } | ServeError::Drive(_) => Failure::run(error),
    }
}

fn on_image(args: &ServeArgs, error: ServeError) -> Failure {
    match (&args.image, error) {
        (Some(image), error @ ServeError::Drive(_)) => Failure::run(format!("{}: {error}", image.display())),
        (_, error) => failure(error),
    }
}

/// Where the status goes: a line that changes on a terminal, lines elsewhere, JSON lines for programs.
struct Line {
    bar: Option<ProgressBar>,
    json: bool,
    began: Instant,
}

impl Line {
    fn new(json: bool) -> Self {
        let bar = (io::stderr().is_terminal() && !json).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(2));
            bar.with_style(ProgressStyle::with_template("  {msg}").expect("the template is a constant"))
        });
        Line { bar, json, began: Instant::now() }
    }
    /// A message for people, and for programs that read the status.
    fn note(&self, text: &str) {
        if self.json {
            let notice = JsonNotice { seconds: self.began.elapsed().as_secs_f64(), notice: text };
            let _ = console::json_line(&notice);
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| console::note(text)),
            None => console::note(text),
        }
    }
    fn show(&self, status: &Status) {
        if self.json {
            // The drive keeps serving its host even if the reader of the status has gone.
            let _ = console::json_line(&JsonStatus::from(status));
        } else if let Some(bar) = &self.bar {
            bar.set_message(text(status));
            bar.tick();
        } else if status.read_iops + status.write_iops > 0.0 || status.gc_runs > 0 || status.paused {
            console::note(&text(status));
        }
    }
    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn late(lateness: &Lateness) -> String {
    format!("{} (p50), {} (p99)", duration(lateness.p50_us), duration(lateness.p99_us))
}

/// A time in a readable unit.
fn duration(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.1} µs"),
        us if us < 1e6 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

fn text(status: &Status) -> String {
    let mut text = format!(
        "read {:>8} IOPS {:>7} MB/s, write {:>8} IOPS {:>7} MB/s, QD {:.1}",
        rate_text(status.read_iops, 0),
        rate_text(status.read_bytes_per_second / 1e6, 1),
        rate_text(status.write_iops, 0),
        rate_text(status.write_bytes_per_second / 1e6, 1),
        status.queue_depth
    );
    if let Some(waf) = status.write_amplification {
        text += &format!(", WAF {waf:.2}");
    }
    text += &format!(", GC {}", counted(status.gc_runs, "block"));
    if let Some(lateness) = &status.lateness {
        text += &format!(", late by {}", late(lateness));
    }
    if status.paused {
        text += ", paused: no room for the image";
        if let Some(missing) = status.missing_bytes {
            text += &format!(", {:.1} MB are missing", (missing as f64 / 1e5).ceil() / 10.0);
        }
    }
    if !status.connected {
        text += ", no client";
    }
    text
}

/// A line of `--json` that says what happened, as soon as it has.
#[derive(Serialize)]
struct JsonNotice<'a> {
    seconds: f64,
    notice: &'a str,
}

/// A line of `--json` once a second.
#[derive(Serialize)]
struct JsonStatus {
    seconds: f64,
    connected: bool,
    paused: bool,
    missing_bytes: Option<u64>,
    read_iops: f64,
    write_iops: f64,
    read_bytes_per_second: f64,
    write_bytes_per_second: f64,
    queue_depth: f64,
    write_amplification: Option<f64>,
    gc_runs: u64,
    late_p50_us: Option<f64>,
    late_p99_us: Option<f64>,
}

impl From<&Status> for JsonStatus {
    fn from(status: &Status) -> Self {
        JsonStatus {
            seconds: status.seconds,
            connected: status.connected,
            paused: status.paused,
            missing_bytes: status.missing_bytes,
            read_iops: status.read_iops,
            write_iops: status.write_iops,
            read_bytes_per_second: status.read_bytes_per_second,
            write_bytes_per_second: status.write_bytes_per_second,
            queue_depth: status.queue_depth,
            write_amplification: status.write_amplification,
            gc_runs: status.gc_runs,
            late_p50_us: status.lateness.map(|lateness| lateness.p50_us),
            late_p99_us: status.lateness.map(|lateness| lateness.p99_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_device::MediumError;

    /// A disk with no room, or a broken one.
    struct Owes(bool);

    impl Backlog for Owes {
        fn is_full(&self) -> bool {
            true
        }
        fn owed(&self) -> u64 {
            4096
        }
        fn memory(&self) -> u64 {
            4096
        }
        fn needed(&self) -> u64 {
            4096
        }
        fn missing(&self) -> u64 {
            4096
        }
        fn no_room(&self) -> Option<MediumError> {
            Some(MediumError { offset: 1, reason: "no space left on the disk".into() })
        }
        fn fault(&self) -> Option<MediumError> {
            self.0.then(|| MediumError { offset: 2, reason: "the disk failed".into() })
        }
        fn retry(&self) {}
    }

    #[test]
    fn whoever_loses_bytes_at_the_end_is_told_why_and_what_to_do() {
        for (broken, reason, advice) in [
            (false, "no space left on the disk", "not; make room, and serve it again"),
            (true, "the disk failed", "not; look after the disk before it is served again"),
        ] {
            let failure = check_all_written(Path::new("d.aster"), &Owes(broken)).unwrap_err().to_string();
            assert!(failure.contains(reason) && failure.contains("4096 bytes"), "{failure}");
            assert!(failure.ends_with(advice) && !failure.contains("  "), "{failure}");
        }
    }

    #[test]
    fn a_pause_is_told_with_the_room_that_is_missing() {
        let mut status = Status {
            seconds: 1.0,
            simulated: aster_units::Instant::ZERO,
            connected: true,
            paused: true,
            missing_bytes: Some(4_200_001),
            read_iops: 0.0,
            write_iops: 0.0,
            read_bytes_per_second: 0.0,
            write_bytes_per_second: 0.0,
            write_amplification: None,
            gc_runs: 0,
            queue_depth: 40.0,
            lateness: None,
        };
        assert!(
            text(&status).ends_with(", paused: no room for the image, 4.3 MB are missing"),
            "{}",
            text(&status)
        );
        let json = serde_json::to_value(JsonStatus::from(&status)).unwrap();
        assert_eq!((&json["paused"], &json["missing_bytes"]), (&true.into(), &4_200_001.into()));
        (status.paused, status.missing_bytes) = (false, None);
        assert!(!text(&status).contains("paused"));
        let json = serde_json::to_value(JsonStatus::from(&status)).unwrap();
        assert_eq!((&json["paused"], json["missing_bytes"].is_null()), (&false.into(), true));
    }

    #[test]
    fn lateness_is_told_in_the_unit_in_which_it_is_read() {
        let told = |p50_us, p99_us| late(&Lateness { p50_us, p99_us });
        assert_eq!(told(12.34, 999.9), "12.3 µs (p50), 999.9 µs (p99)");
        assert_eq!(told(1_500.0, 2_500_000.0), "1.5 ms (p50), 2.5 s (p99)");
    }
}
