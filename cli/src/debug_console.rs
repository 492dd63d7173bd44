//! The debug console of a drive that is served, over its UART (S27).
//!
//! Its thread reads the terminal and asks the drive's thread for one answer at a time, so whatever comes in,
//! the drive neither waits for it nor takes much time for it.

use crate::pty::{Pty, make_raw};
use aster_device::Device;
use aster_lab::asked::failure::Failure;
use aster_lab::audit::Audit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Characters of a line that is typed.
const LINE_MAX: usize = 64;
/// How long a full terminal may stay full before the rest of an answer is dropped.
const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
/// Pause behind an answer: commands in a flood must not keep the drive from its work.
const PAUSE: Duration = Duration::from_millis(100);

const PROMPT: &str = "aster> ";

/// What can be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Command {
    Report,
    Queues,
    Map,
    Gc,
    Help,
}

impl Command {
    const ALL: [Command; 5] = [Command::Report, Command::Queues, Command::Map, Command::Gc, Command::Help];

    const fn name(self) -> &'static str {
        match self {
            Command::Report => "report",
            Command::Queues => "queues",
            Command::Map => "map",
            Command::Gc => "gc",
            Command::Help => "help",
        }
    }
    const fn summary(self) -> &'static str {
        match self {
            Command::Report => "counts and latencies by phase since power-on",
            Command::Queues => "submission queues, and what is under way",
            Command::Map => "mapped units, the map's cache",
            Command::Gc => "free blocks, garbage collection, wear",
            Command::Help => "these lines",
        }
    }
    /// What a line asks for; nothing if it is empty.
    ///
    /// # Errors
    /// A line for people if it isn't a command.
    fn parse(line: &str) -> Result<Option<Command>, String> {
        let mut words = line.split_whitespace();
        let Some(word) = words.next() else { return Ok(None) };
        let found = Command::ALL.into_iter().find(|command| command.name() == word);
        match (found, words.next()) {
            (Some(command), None) => Ok(Some(command)),
            (Some(command), Some(_)) => Err(format!("{} takes no arguments", command.name())),
            (None, _) => Err(format!("unknown command \"{word}\"; help lists the commands")),
        }
    }
    fn answer(self, audit: &Audit, device: &Device) -> String {
        match self {
            Command::Report => audit.report(device),
            Command::Queues => audit.queues(device),
            Command::Map => audit.map(device),
            Command::Gc => audit.gc(device),
            Command::Help => help(),
        }
    }
}

fn help() -> String {
    Command::ALL.map(|command| format!("{:<8} {}\n", command.name(), command.summary())).concat()
}

/// What a character that is typed leads to.
#[derive(PartialEq, Eq, Debug)]
enum Typed {
    /// Nothing.
    Ignored,
    /// The terminal shows this.
    Echo(&'static str),
    /// The terminal shows the character.
    Shown(char),
    /// A line has ended.
    Line(String),
    /// One has ended that was too long.
    TooLong,
}

/// The line that is being typed.
#[derive(Default)]
struct Editor {
    line: String,
    too_long: bool,
    /// The last character was a carriage return: a line feed behind it ends no other line.
    returned: bool,
}

impl Editor {
    fn take(&mut self, byte: u8) -> Typed {
        let returned = std::mem::replace(&mut self.returned, byte == b'\r');
        match byte {
            b'\n' if returned => Typed::Ignored,
            b'\r' | b'\n' => {
                let line = std::mem::take(&mut self.line);
                if std::mem::take(&mut self.too_long) { Typed::TooLong } else { Typed::Line(line) }
            }
            // Backspace and Delete.
            0x08 | 0x7f => match self.line.pop() {
                Some(_) => Typed::Echo("\x08 \x08"),
                None => Typed::Ignored,
            },
            // Ctrl-C and Ctrl-U.
            0x03 | 0x15 => {
                (self.line, self.too_long) = (String::new(), false);
                Typed::Line(String::new())
            }
            _ if self.line.len() == LINE_MAX => {
                self.too_long = true;
                Typed::Ignored
            }
            // What isn't printable makes no command, and a terminal must not obey it.
            _ => {
                let shown = char::from(byte);
                let shown = if matches!(shown, ' '..='~') { shown } else { '?' };
                self.line.push(shown);
                Typed::Shown(shown)
            }
        }
    }
}

/// The drive's side: answers what is asked.
pub(crate) struct Attendant {
    audit: Audit,
    asked: Receiver<Command>,
    answers: Sender<String>,
}

impl Attendant {
    /// Answers the next command, if there is one.
    pub(crate) fn attend(&self, device: &Device) {
        if let Ok(command) = self.asked.try_recv() {
            // The console may be gone.
            let _ = self.answers.send(command.answer(&self.audit, device));
        }
    }
}

/// A debug console. When it is dropped, its terminal and the link to it go.
pub(crate) struct DebugConsole(Pty);

impl DebugConsole {
    /// Opens one for `device` at a terminal, with a link to it at `link`. Its commands are answered by the
    /// attendant.
    ///
    /// # Errors
    /// When there can't be a terminal.
    pub(crate) fn open(link: &Path, device: &Device) -> Result<(Self, Attendant), Failure> {
        let refuse = |error| Failure::file(link, error);
        let pty = Pty::open(link).map_err(refuse)?;
        let line = pty.controller().try_clone().map_err(refuse)?;
        let (ask, asked) = sync_channel(1);
        let (answers, answered) = channel();
        let session = Session { line, ask, answered };
        let thread = thread::Builder::new().name("debug console".into());
        thread.spawn(move || session.run()).map_err(refuse)?;
        Ok((DebugConsole(pty), Attendant { audit: Audit::listen(device), asked, answers }))
    }
    /// A message for people.
    pub(crate) fn note(&self) -> String {
        format!("debug console at {}", self.0.link().display())
    }
}

/// The console's thread. It ends with the terminal, or with the drive.
struct Session {
    line: File,
    ask: SyncSender<Command>,
    answered: Receiver<String>,
}

impl Session {
    /// Errors end it: the terminal is gone then.
    fn run(mut self) {
        let _ = self.talk();
    }
    fn talk(&mut self) -> io::Result<()> {
        let (mut editor, mut part) = (Editor::default(), [0; 256]);
        self.send(&format!("debug console; help lists the commands\n{PROMPT}"))?;
        loop {
            let count = match self.line.read(&mut part) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(&self.line, PollFlags::IN)], None)?;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for &byte in &part[..count] {
                match editor.take(byte) {
                    Typed::Ignored => {}
                    Typed::Echo(text) => self.send(text)?,
                    Typed::Shown(shown) => self.send(shown.encode_utf8(&mut [0; 4]))?,
                    Typed::TooLong => self.say(&format!("\na line has {LINE_MAX} characters at most\n"))?,
                    Typed::Line(line) => {
                        self.send("\n")?;
                        match self.ask(&line) {
                            Some(text) => self.say(&text)?,
                            None => return Ok(()),
                        }
                    }
                }
            }
        }
    }
    /// Answers a line; `None` when the drive is gone.
    fn ask(&self, line: &str) -> Option<String> {
        match Command::parse(line) {
            Ok(None) => Some(String::new()),
            Ok(Some(command)) => {
                self.ask.send(command).ok()?;
                self.answered.recv().ok()
            }
            Err(words) => Some(format!("{words}\n")),
        }
    }
    /// Says `text`, and asks for the next line.
    fn say(&mut self, text: &str) -> io::Result<()> {
        // A terminal that echoes what comes out of the console would have it answer itself.
        make_raw(&self.line)?;
        self.send(&format!("{text}{PROMPT}"))?;
        thread::sleep(PAUSE);
        Ok(())
    }
    /// Sends lines. What nobody reads is dropped when the terminal stays full.
    fn send(&mut self, lines: &str) -> io::Result<()> {
        let text = lines.replace('\n', "\r\n");
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match self.line.write(rest) {
                Ok(sent) => rest = &rest[sent..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let there = poll(&mut [PollFd::new(&self.line, PollFlags::OUT)], Some(&PATIENCE))?;
                    if there == 0 {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
