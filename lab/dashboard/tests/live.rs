//! A drive that is served, as somebody who looks sees it.

use aster_dashboard::{About, Dashboard, Live, hub};
use aster_device::{Device, Pieces};
use aster_lab::watch::DriveShape;
use aster_run_live::Pace;
use aster_tests::live::{Here, Host, Ring, transfer};
use aster_tests::profile;
use serde_json::Value;
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::rc::Rc;

/// A drive of which a frame can be had.
struct Served {
    drive: Here,
    dashboard: Dashboard,
}

impl Served {
    fn start() -> Self {
        let profile = profile("tiny", |p| p.host.block_bytes = 4096);
        let mut drive = Here::start(Pieces::default(), &profile, Pace::Fast);
        let shape = DriveShape::of(&profile);
        let (source, hub) = hub(About::new("tiny", false, &shape));
        let dashboard = Dashboard::open("127.0.0.1:0".parse().unwrap(), None, hub).unwrap();
        let mut live = Live::new(drive.device(), shape, source);
        drive.attend(move |device: &Device| live.attend(device));
        Served { drive, dashboard }
    }

    /// A frame for which `wanted` holds, asked for while the drive goes on, and `turn` with it.
    fn frame(&mut self, mut turn: impl FnMut(), wanted: impl Fn(&Value) -> bool) -> Value {
        let url = self.dashboard.url();
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        for _ in 0..1000 {
            let address = address.clone();
            let asked = std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let head = "GET /frame.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
                stream.write_all(head.as_bytes()).unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                serde_json::from_str::<Value>(text.split_once("\r\n\r\n").unwrap().1).unwrap()
            });
            self.drive.serve(|| {
                turn();
                asked.is_finished()
            });
            let told = asked.join().unwrap();
            if wanted(&told) {
                return told;
            }
        }
        panic!("no such frame");
    }
}

#[test]
fn a_frame_has_what_the_drive_counts_and_listening_ends_with_who_looks() {
    let mut served = Served::start();
    let (mut host, mut queue, buffer) = served.drive.meet(|socket| {
        let mut host = Host::connect(socket, Ring::Mapped, 8 << 20);
        host.enable();
        let queue = host.create_silent_queue(1, 16);
        let buffer = host.alloc(4096);
        (host, queue, buffer)
    });
    assert!(!served.drive.device().recorder().is_on(), "nobody looks");
    let (sent, done) = (Rc::new(Cell::new(0u64)), Rc::new(Cell::new(0u64)));
    let total = 300;
    let (sending, doing) = (Rc::clone(&sent), Rc::clone(&done));
    // One after the other, written first and then read.
    let mut turn = move || {
        if let Some(completion) = host.poll(&mut queue) {
            assert!(completion.status().is_success());
            host.ring_head(&queue);
            doing.set(doing.get() + 1);
        }
        if sending.get() == doing.get() && sending.get() < total {
            let n = sending.get();
            host.push(&mut queue, transfer(n < 200, n % 200, 1, buffer));
            host.ring(&queue);
            sending.set(n + 1);
        }
    };
    let ended = Rc::clone(&done);
    let told =
        served.frame(&mut turn, |told| ended.get() == total && told["frame"]["totals"]["reads"] == 100);
    let frame = &told["frame"];
    assert_eq!(
        (&frame["totals"]["writes"], &frame["totals"]["written_bytes"]),
        (&200.into(), &(200 * 4096).into())
    );
    let device = served.drive.device();
    let stats = device.stats();
    let sum = |name: &str| -> u64 {
        frame["dies"].as_array().unwrap().iter().map(|die| die[name].as_u64().unwrap()).sum()
    };
    assert!(sum("programs") <= stats.nand.programs && sum("programs") > 0);
    let heard = frame["heard"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&heard), "{heard}");
    // The blocks come when they have been looked at once, all of them.
    let told = served.frame(&mut turn, |told| !told["blocks"].is_null());
    let rows = told["blocks"]["valid"].as_array().unwrap();
    let valid: u64 =
        rows.iter().flat_map(|row| row.as_array().unwrap()).map(|cell| cell.as_u64().unwrap()).sum();
    let unit = u64::from(DriveShape::of(&profile("tiny", |_| ())).mapping_unit_bytes);
    assert!(valid > 0 && valid <= (200 * 4096u64).div_ceil(unit), "{valid}");
    // Who looked has gone: nothing listens, once the drive has noticed.
    let recorder = served.drive.device().recorder().clone();
    let turns = Cell::new(0);
    served.drive.serve(|| {
        turns.set(turns.get() + 1);
        !recorder.is_on() || turns.get() > 100_000
    });
    assert!(!recorder.is_on(), "nobody looks any more");
    turn();
}
