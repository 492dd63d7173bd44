//! `aster serve`'s side bands.

use crate::killed::{BLOCK_BYTES, BLOCKS, Session, serve_with};
use crate::place::Place;
use aster_tests::live::transfer;
use aster_wire::nvme::admin::{AdminCommand, GetLogPage};
use aster_wire::nvme::io::IoCommand;
use aster_wire::nvme::log::{LogId, STATISTICS_BYTES};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long a server may take to print or show something.
const PATIENCE: Duration = Duration::from_secs(60);

fn metrics(address: &str) -> String {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_start_that_fails_leaves_no_image_and_says_what_to_do() {
    let place = Place::new();
    place.write("file", "");
    let long = "x".repeat(120);
    let refused = |socket: &str, more: &[&str], words: &str| {
        let serve = ["serve", "pocket", "--image", "d.aster", "--vfio-user", socket];
        let error = place.refused(2, &[&serve[..], more].concat());
        assert!(error.contains(words), "{words}: {error}");
        assert!(!error.contains("os error"), "{error}");
        assert!(!place.path("d.aster").exists(), "{words}: an image is left behind");
    };
    refused(&long, &[], "107 bytes at most and this one 120");
    refused("nowhere/s", &[], "its folder is not there");
    refused("file", &[], "no socket; name another path");
    std::fs::create_dir(place.path("folder")).unwrap();
    refused("folder", &[], "it is a folder; name a socket in it (folder/cntrl, where SPDK looks");
    refused("s", &["--monitor-pty", "file"], "file: there is a file of that name already");
    refused("s", &["--debug-pty", "file"], "file: there is a file of that name already");
    refused("s", &["--debug-pty", "nowhere/console"], "nowhere/console: its folder is not there");
    refused("s", &["--prometheus", "localhost"], "expected an address and a port, such as 127.0.0.1:9464");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refused("s", &["--prometheus", &address], "another program listens there");

    // One that was there before stays.
    place.write("write.fio", "[fill]\nrw=write\nbs=16k\nsize=64k\n");
    let run = ["run", "pocket", "--job", "write.fio", "--image", "d.aster", "--content", "full"];
    assert_eq!(place.aster(&run).code, 0);
    place.refused(2, &["serve", "pocket", "--image", "d.aster", "--vfio-user", "file"]);
    assert!(place.path("d.aster").exists());
}

#[test]
fn a_second_server_at_a_socket_is_refused_and_the_first_one_has_seen_no_client() {
    let place = Place::new();
    let mut command = place.command(&["serve", "pocket", "--vfio-user", "s"]);
    let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    said.find(|line| line.contains("stop it with Ctrl-C")).unwrap();
    for _ in 0..3 {
        let error = place.refused(2, &["serve", "pocket", "--vfio-user", "s"]);
        assert!(error.contains("s: another process serves there; name another path"), "{error}");
    }
    // The server takes one client after the other: when it has accepted a fourth, the three have gone.
    let mut client = std::os::unix::net::UnixStream::connect(place.path("s")).unwrap();
    client.write_all(&[0; 16]).unwrap();
    let before: Vec<_> = said.by_ref().take_while(|line| !line.contains("a message of 0 bytes")).collect();
    assert!(before.iter().all(|line| !line.contains("client")), "{before:?}");
    let stop = format!("kill -TERM {}", server.id());
    assert!(std::process::Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    assert!(server.wait().unwrap().success());
}

/// A problem that keeps a client from using the drive is reported at once, as a line for people and an object
/// for programs.
#[test]
fn a_client_that_is_refused_is_told_of_to_persons_and_programs() {
    let place = Place::new();
    let mut command = place.command(&["serve", "pocket", "--vfio-user", "s", "--json"]);
    let mut server = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut shown = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    said.find(|line| line.contains("stop it with Ctrl-C")).unwrap();
    let mut client = std::os::unix::net::UnixStream::connect(place.path("s")).unwrap();
    // VFIO_USER_VERSION: number 1 of 21 bytes, for version 9.0, with an empty string.
    let version = [1, 0, 1, 0, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0];
    client.write_all(&version).unwrap();
    let wanted = "VFIO_USER_VERSION was refused";
    said.find(|line| line.contains(wanted)).expect("a person is told");
    let notice = shown.by_ref().find(|line| line.contains(wanted)).expect("a program is told");
    let notice: Value = serde_json::from_str(&notice).unwrap();
    assert!(notice["notice"].as_str().unwrap().contains(wanted), "{notice}");
    assert!(notice["seconds"].is_number(), "{notice}");
    let stop = format!("kill -TERM {}", server.id());
    assert!(std::process::Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    assert!(server.wait().unwrap().success());
    for line in shown {
        let object: Value = serde_json::from_str(&line).unwrap();
        assert!(object["notice"].is_string() || object["connected"].is_boolean(), "{object}");
    }
}

#[test]
fn a_drive_that_is_served_tells_its_samples_to_prometheus_and_out_of_a_terminal() {
    let place = Place::new();
    let side = ["--prometheus", "127.0.0.1:0", "--monitor-pty", "uart"];
    let mut command = place.command(&[&["serve", "pocket", "--vfio-user", "s"][..], &side].concat());
    let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = said.find(|line| line.contains("/metrics")).unwrap();
    let (_, address) = line.split_once("http://").unwrap();
    let address = address.trim_end_matches("/metrics").to_owned();

    let since = Instant::now();
    let page = loop {
        let page = metrics(&address);
        if page.contains("aster_active_channels ") {
            break page;
        }
        assert!(since.elapsed() < PATIENCE, "{page}");
        std::thread::sleep(Duration::from_millis(100));
    };
    for words in [
        "# TYPE aster_waf gauge",
        "aster_connected 0",
        "aster_outstanding_commands 0",
        "aster_core_utilisation ",
        "aster_firmware_nvme_manager_share ",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let uart = std::fs::File::open(place.path("uart")).unwrap();
    let line = BufReader::new(uart).lines().next().unwrap().unwrap();
    let sample: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(sample["read_bytes_per_second"], 0.0, "{sample}");
    assert!(sample["firmware_polling_share"].is_number(), "{sample}");

    let signalled =
        std::process::Command::new("kill").args(["-INT", &server.id().to_string()]).status().unwrap();
    assert!(signalled.success() && server.wait().unwrap().success());
    assert!(place.path("uart").read_link().is_err(), "the link goes with the drive");
}

/// S27: the drive tells what it has done to whoever types at its UART, and goes on whatever is typed.
#[test]
fn a_debug_console_answers_over_a_terminal_while_the_drive_works() {
    let place = Place::new();
    let mut session = serve_with(&place, &["--debug-pty", "console", "--monitor-pty", "uart"]);
    let mut typed = std::fs::OpenOptions::new().write(true).open(place.path("console")).unwrap();
    let shown = BufReader::new(std::fs::File::open(place.path("console")).unwrap()).lines();
    let mut shown = shown.map(|line| line.unwrap().trim_end_matches('\r').to_owned());
    let mut wait_for = |what: &str| {
        let is_it = |line: &String| line.trim_start_matches("aster> ").starts_with(what);
        shown.find(is_it).expect("the terminal stays while the drive is there")
    };
    wait_for("debug console; help lists the commands");
    // Nonsense of any length and any bytes.
    typed.write_all(&[&[0xff; 5000][..], b"\r\x1b[2J\rreport now\r"].concat()).unwrap();
    wait_for("a line has 64 characters at most");
    wait_for("unknown command \"?[2J\"; help lists the commands");
    wait_for("report takes no arguments");

    for slot in 0..32 {
        session.push_write(0, slot, slot + 1);
        session.host.ring(&session.queue);
        assert!(session.host.wait(&mut session.queue).status().is_success());
    }
    typed.write_all(b"help\rreport\rqueues\rmap\rgc\r").unwrap();
    for command in ["report ", "queues ", "map ", "gc ", "help "] {
        wait_for(command);
    }
    assert_eq!(wait_for("  Write ").split_whitespace().nth(1), Some("32"));
    wait_for("submission queue ");
    let queue = wait_for("1 ");
    assert_eq!(queue.split_whitespace().collect::<Vec<_>>(), ["1", "32", "32", "0", "-"]);
    wait_for("units on flash that count ");
    wait_for("free blocks ");

    let stop = format!("kill -TERM {}", session.server.id());
    assert!(std::process::Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    assert!(session.server.wait().unwrap().success());
    for left in ["console", "uart", "s"] {
        assert!(std::fs::symlink_metadata(place.path(left)).is_err(), "{left} is left behind");
    }
}

/// The latest sample as the host fetches it; nothing before the first.
fn fetched(session: &mut Session, page: u64) -> Option<Value> {
    let log = GetLogPage::new(LogId::Statistics.raw(), STATISTICS_BYTES as u64 / 4);
    let command = AdminCommand::GetLogPage(log).to_sqe(u32::MAX, 0, page, 0);
    if !session.host.admin(command).status().is_success() {
        return None;
    }
    let mut bytes = vec![0; STATISTICS_BYTES];
    session.host.read(page, &mut bytes);
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    Some(serde_json::from_slice(line).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&bytes))))
}

/// A metric of the page and its type.
fn metric<'a>(page: &'a str, name: &str) -> Option<(f64, &'a str)> {
    let after = |head: String| page.lines().find_map(|line| line.strip_prefix(&head));
    let value = after(format!("{name} "))?.parse().expect("a number");
    Some((value, after(format!("# TYPE {name} ")).expect("a metric has a type")))
}

/// C4, C46: the host's activity is counted, and kept until it is read: on the line, over HTTP, and by the
/// host itself.
#[test]
fn a_drive_under_load_counts_what_the_host_did_on_every_side_band() {
    let place = Place::new();
    let side = ["--prometheus", "127.0.0.1:0", "--monitor-pty", "uart", "--monitor-log"];
    let chosen = ["--monitor-modules", "bandwidth,flash_latency,bit_errors"];
    let mut session = serve_with(&place, &[&side[..], &chosen].concat());
    let mut said = BufReader::new(session.server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = said.find(|line| line.contains("/metrics")).unwrap();
    let address = line.split_once("http://").unwrap().1.trim_end_matches("/metrics").to_owned();
    let uart = std::fs::File::open(place.path("uart")).unwrap();
    let (send, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(uart).lines().map_while(Result::ok) {
            // A line that was cut short is followed by a whole one.
            let sample = serde_json::from_str::<Value>(&line).ok();
            if sample.is_some_and(|sample| send.send(sample).is_err()) {
                break;
            }
        }
    });

    let (writes, reads) = (64, 24);
    for slot in 0..writes {
        session.push_write(0, slot, slot + 1);
        session.host.ring(&session.queue);
        assert!(session.host.wait(&mut session.queue).status().is_success());
    }
    let flush = IoCommand::Flush.to_sqe(1, 0, 0, 0);
    assert!(session.host.send(&mut session.queue, flush).status().is_success());
    for slot in 0..reads {
        let read = transfer(false, slot * u64::from(BLOCKS), BLOCKS, session.buffers[0]);
        assert!(session.host.send(&mut session.queue, read).status().is_success());
    }

    let bytes = |commands: u64| (commands * u64::from(BLOCKS) * BLOCK_BYTES as u64) as f64;
    let right = [("write_bytes_total", bytes(writes)), ("read_bytes_total", bytes(reads))];
    let page_at = session.host.alloc(STATISTICS_BYTES as u64);
    let (mut log, mut page, mut serial) = (Value::Null, String::new(), Value::Null);
    let since = Instant::now();
    let is_there = |log: &Value, page: &str, serial: &Value| {
        right.iter().all(|(name, right)| {
            let told = metric(page, &format!("aster_{name}")).map(|(value, _)| value);
            log[name] == *right && serial[name] == *right && told == Some(*right)
        })
    };
    while !is_there(&log, &page, &serial) {
        assert!(since.elapsed() < PATIENCE, "{log}\n{serial}\n{page}");
        std::thread::sleep(Duration::from_millis(50));
        log = fetched(&mut session, page_at).unwrap_or_default();
        page = metrics(&address);
        serial = lines.try_iter().last().unwrap_or(serial);
    }
    for name in
        ["commands_total", "flash_programs_total", "corrected_bits_total", "uncorrectable_reads_total"]
    {
        let (value, kind) = metric(&page, &format!("aster_{name}")).unwrap();
        assert_eq!(kind, "counter", "{name}");
        let least = match name {
            "commands_total" => writes + reads + 1,
            "flash_programs_total" => 1,
            _ => 0,
        } as f64;
        assert!(value >= least && log[name].as_f64().unwrap() >= least, "{name}: {value}, {log}");
    }
    // The modules that were chosen and no others.
    assert!(log["uncorrectable_reads"].is_number() && log.get("active_channels").is_none(), "{log}");
    assert!(!page.contains("aster_active_channels"), "{page}");

    let stop = format!("kill -TERM {}", session.server.id());
    assert!(std::process::Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    assert!(session.server.wait().unwrap().success());
    for left in ["uart", "s"] {
        assert!(std::fs::symlink_metadata(place.path(left)).is_err(), "{left} is left behind");
    }
}

#[test]
fn an_address_that_is_taken_is_refused_by_name() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = place.refused(2, &["serve", "pocket", "--vfio-user", "s", "--prometheus", &address]);
    assert!(error.contains(&format!("--prometheus {address}: ")), "{error}");
}
