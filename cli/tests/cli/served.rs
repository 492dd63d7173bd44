//! `aster serve`'s side bands.

use crate::place::Place;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What a server should have said or shown by then.
const PATIENCE: Duration = Duration::from_secs(60);

fn metrics(address: &str) -> String {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
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

#[test]
fn an_address_that_is_taken_is_refused_by_name() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = place.refused(2, &["serve", "pocket", "--vfio-user", "s", "--prometheus", &address]);
    assert!(error.contains(&format!("--prometheus {address}: ")), "{error}");
}
