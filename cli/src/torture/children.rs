//! Runs each drive in its own process: an assertion of the firmware ends the process if panics abort, and
//! then is reported and reduced like any other failure.

use crate::console;
use crate::interrupt::Interrupt;
use aster_lab::asked::failure::Failure;
use aster_lab::torture::{Broken, Case, End, Lives, Seen};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time between two checks whether the user asked to stop.
const LOOK: Duration = Duration::from_millis(100);

/// A child's messages, one line each.
#[derive(Serialize, Deserialize)]
enum Said {
    /// The power was cut, this many picoseconds after power-on, and what was seen by then.
    Cut(u64, Box<Seen>),
    /// The life is over.
    Over { seen: Seen, broken: Option<Broken> },
}

/// Runs a case, and reports the result to the parent.
///
/// # Errors
/// When the parent has gone.
pub(crate) fn be_one(case: &Case, lives: &mut dyn Lives) -> Result<(), Failure> {
    let say = |said: &Said| console::json_line(said);
    let mut seen = Seen::default();
    let lived = lives.live(case, &mut seen, &mut |at, seen| match say(&Said::Cut(at, Box::new(*seen))) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    });
    let broken = match lived {
        Ok(()) => None,
        Err(End::Broken(broken)) => Some(broken),
        Err(End::Stopped) => return Ok(()),
        Err(End::Unable(why) | End::Ended(why)) => return Err(Failure::run(why)),
    };
    say(&Said::Over { seen, broken })
}

/// Runs each drive in a child process.
pub(crate) struct Children<'a> {
    /// The arguments that say which drive it is.
    victim: Vec<String>,
    interrupt: &'a Interrupt,
}

impl<'a> Children<'a> {
    pub(crate) fn new(victim: Vec<String>, interrupt: &'a Interrupt) -> Self {
        Children { victim, interrupt }
    }
    fn begin(&self, case: &Case) -> std::io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("torture").args(&self.victim).args(case.arguments()).arg("--child");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }
}

impl Lives for Children<'_> {
    fn live(
        &mut self,
        case: &Case,
        seen: &mut Seen,
        tick: &mut dyn FnMut(u64, &Seen) -> ControlFlow<()>,
    ) -> Result<(), End> {
        let unable = |error: std::io::Error| End::Unable(format!("a life in a process of its own: {error}"));
        let mut child = self.begin(case).map_err(unable)?;
        let (said, complaints) = (child.stdout.take(), child.stderr.take());
        let (Some(said), Some(mut complaints)) = (said, complaints) else {
            return Err(End::Unable("a child without output".to_owned()));
        };
        let complaints = thread::spawn(move || {
            let mut bytes = Vec::new();
            complaints.read_to_end(&mut bytes).map(|_| String::from_utf8_lossy(&bytes).into_owned())
        });
        // A round of a large drive takes minutes, and a user who asks to stop shouldn't wait for its end.
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || BufReader::new(said).lines().try_for_each(|line| sender.send(line)));
        // What a life that ends early had told by then.
        let (mut told, mut cut_at_ps, mut over) = (Seen::default(), 0, None);
        loop {
            let line = match lines.recv_timeout(LOOK) {
                Ok(line) => line.map_err(unable)?,
                Err(RecvTimeoutError::Timeout) if self.interrupt.asked() => {
                    child.kill().map_err(unable)?;
                    child.wait().map_err(unable)?;
                    *seen += told;
                    return Err(End::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match serde_json::from_str(&line) {
                Ok(Said::Cut(at, seen_by_then)) => {
                    (told, cut_at_ps) = (*seen_by_then, at);
                    if tick(at, &told).is_break() {
                        child.kill().map_err(unable)?;
                        child.wait().map_err(unable)?;
                        *seen += told;
                        return Err(End::Stopped);
                    }
                }
                Ok(Said::Over { seen: all, broken }) => over = Some((all, broken)),
                Err(error) => return Err(End::Unable(format!("a child said what it must not: {error}"))),
            }
        }
        let status = child.wait().map_err(unable)?;
        let complaints = complaints.join().map_or_else(|_| Ok(String::new()), |read| read.map_err(unable))?;
        match over {
            Some((all, broken)) => {
                *seen += all;
                broken.map_or(Ok(()), |broken| Err(End::Broken(broken)))
            }
            // An interrupt of the terminal goes to the child as well.
            None if was_killed(status) && self.interrupt.asked() => {
                *seen += told;
                Err(End::Stopped)
            }
            None if was_killed(status) => {
                *seen += told;
                let how = format!("somebody else ended a life in a process of its own: {status}");
                Err(End::Ended(how))
            }
            None if status.signal().is_some() => {
                *seen += told;
                let rounds = (told.cuts as usize + 1).min(case.rounds.len());
                Err(End::Broken(Broken { rounds, cut_at_ps, what: assertion(&complaints, status) }))
            }
            None => Err(End::Unable(complaints.trim().to_owned())),
        }
    }
}

/// Whether another process, or the system for lack of memory, ended a process: that isn't a drive's failure.
fn was_killed(status: ExitStatus) -> bool {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
    status.signal().is_some_and(|signal| [SIGHUP, SIGINT, SIGKILL, SIGTERM].contains(&signal))
}

/// The firmware's assertion, from the last output of the process.
fn assertion(complaints: &str, status: ExitStatus) -> String {
    const PANICKED: &str = "panicked at ";
    let said = complaints.split_once(PANICKED).map(|(_, said)| said.split("\nnote: ").next().unwrap_or(said));
    match said {
        Some(said) => {
            format!("the firmware asserts: {}", said.split_whitespace().collect::<Vec<_>>().join(" "))
        }
        None => format!("the process ended: {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::assertion;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn an_assertion_is_told_without_the_words_around_it() {
        let aborted = ExitStatus::from_raw(6);
        let said = "\nthread 'main' (77) panicked at firmware/ftl/src/log.rs:3:4:\nno room\nleft\nnote: run \
                    with `RUST_BACKTRACE=1`\n";
        assert_eq!(
            assertion(said, aborted),
            "the firmware asserts: firmware/ftl/src/log.rs:3:4: no room left"
        );
        assert!(assertion("", aborted).starts_with("the process ended: signal: 6"));
    }
}
