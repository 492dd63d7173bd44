use super::*;
use std::io::{BufRead, BufReader};

/// The lines that an editor makes of what is typed, `None` for one that was too long, and what the terminal
/// shows meanwhile.
fn typed(bytes: &[u8]) -> (Vec<Option<String>>, String) {
    let (mut editor, mut lines, mut screen) = (Editor::default(), Vec::new(), String::new());
    for &byte in bytes {
        match editor.take(byte) {
            Typed::Ignored => {}
            Typed::Echo(text) => screen.push_str(text),
            Typed::Shown(shown) => screen.push(shown),
            Typed::Line(line) => lines.push(Some(line)),
            Typed::TooLong => lines.push(None),
        }
    }
    (lines, screen)
}

#[test]
fn a_line_ends_as_terminals_and_programs_end_it_and_can_be_corrected() {
    let line = |text: &str| Some(text.to_owned());
    let (lines, screen) = typed(b"map\rgc\nqueues\r\n\rmaq\x7fp\n");
    assert_eq!(lines, [line("map"), line("gc"), line("queues"), line(""), line("map")]);
    assert_eq!(screen, "mapgcqueuesmaq\x08 \x08p");
    // There is nothing to take back in an empty line, and Ctrl-C begins anew.
    assert_eq!(typed(b"\x08\x7fma\x03gc\r").0, [line(""), line("gc")]);
}

#[test]
fn what_a_terminal_would_obey_comes_back_as_question_marks() {
    let (lines, screen) = typed(b"\x1b[2Jm\xffap\0\r");
    assert_eq!(lines, [Some("?[2Jm?ap?".to_owned())]);
    assert!(screen.chars().all(|shown| matches!(shown, ' '..='~')), "{screen:?}");
}

#[test]
fn a_long_line_takes_no_memory_and_the_next_one_is_read() {
    let longest = "x".repeat(LINE_MAX);
    assert_eq!(typed(format!("{longest}\r").as_bytes()).0, [Some(longest.clone())]);
    let (lines, screen) = typed(&[longest.repeat(1000).as_bytes(), b"\rmap\r"].concat());
    assert_eq!(lines, [None, Some("map".to_owned())]);
    assert_eq!(screen.len(), LINE_MAX + 3);
}

#[test]
fn commands_are_words_of_their_own_and_others_are_refused_by_name() {
    for command in Command::ALL {
        assert_eq!(Command::parse(&format!("  {} ", command.name())), Ok(Some(command)));
        assert!(help().contains(&format!("{:<8} {}", command.name(), command.summary())));
        let error = Command::parse(&format!("{} 7", command.name())).unwrap_err();
        assert_eq!(error, format!("{} takes no arguments", command.name()));
    }
    assert_eq!(Command::parse("  "), Ok(None));
    for line in ["repor", "Report", "reportx", "?[A", "rm -rf"] {
        let word = line.split(' ').next().unwrap();
        let error = Command::parse(line).unwrap_err();
        assert_eq!(error, format!("unknown command \"{word}\"; help lists the commands"));
    }
}

/// A drive and its console, whose attendant a test calls.
fn opened(folder: &Path) -> (Device, DebugConsole, Attendant) {
    let profile = aster_device::profile::shipped("tiny").unwrap();
    let recorder = aster_events::Recorder::default();
    let media = aster_device::Media::fresh();
    let device = Device::power_on("tiny", &profile, None, media, &recorder).unwrap();
    let (console, attendant) = DebugConsole::open(&folder.join("uart"), &device).unwrap();
    (device, console, attendant)
}

#[test]
fn a_terminal_has_answers_and_the_drive_never_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (device, console, attendant) = opened(folder.path());
    // Nobody has asked, so there is nothing to do.
    attendant.attend(&device);
    let mut terminal = std::fs::OpenOptions::new().read(true).write(true).open(console.0.link()).unwrap();
    terminal.write_all(b"nonsense\rgc\r").unwrap();
    let mut lines = BufReader::new(terminal.try_clone().unwrap()).lines().map(Result::unwrap);
    let refused = lines.find(|line| line.contains("unknown command")).unwrap();
    assert!(refused.starts_with("unknown command \"nonsense\"; help lists the commands"), "{refused}");
    lines.find(|line| line.starts_with("aster> gc")).unwrap();
    let reader = thread::spawn(move || lines.find(|line| line.starts_with("free blocks")).unwrap());
    while !reader.is_finished() {
        attendant.attend(&device);
        thread::yield_now();
    }
    assert!(reader.join().unwrap().contains(" of "));
    // Typed by somebody who reads nothing: the console stops taking lines, and the drive goes on.
    use std::os::fd::AsFd;
    let flags = rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(terminal.as_fd(), flags).unwrap();
    for _ in 0..10_000 {
        let _ = terminal.write(b"report\r");
        attendant.attend(&device);
    }
    drop(console);
    assert!(folder.path().join("uart").symlink_metadata().is_err(), "the link goes with the console");
    attendant.attend(&device);
}

#[test]
fn a_console_that_nobody_attends_any_more_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (device, console, attendant) = opened(folder.path());
    drop((device, attendant));
    let mut terminal = std::fs::OpenOptions::new().read(true).write(true).open(console.0.link()).unwrap();
    terminal.write_all(b"report\r").unwrap();
    drop(console);
    // With its controller's end closed, the terminal has an end (or an error) instead of waiting for ever.
    let mut rest = Vec::new();
    let _ = terminal.read_to_end(&mut rest);
}
