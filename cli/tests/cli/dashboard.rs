//! `aster watch` and `aster serve --dashboard`, as a browser shows them.

use crate::devtools::{Tab, browser};
use crate::place::Place;
use aster_tests::live::{Host, Ring, transfer};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const JOB: &str = "[fill]\nrw=write\nbs=64k\nsize=60%\n\
    [mixed]\nstonewall\nrw=randrw\nbs=4k\nsize=60%\niodepth=16\nnumber_ios=3000\n";

/// A command that goes on until it is told to stop, and the page that it has announced.
struct Shown {
    child: Child,
    url: String,
}

impl Shown {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut before = Vec::new();
        let url = loop {
            let Some(line) = lines.next() else { panic!("it has ended: {before:?}") };
            let line = line.unwrap();
            if let Some(at) = line.find("http://") {
                break line[at..].split([';', ' ']).next().unwrap().to_owned();
            }
            before.push(line);
        };
        // Somebody has to read what it says.
        std::thread::spawn(move || lines.for_each(drop));
        Shown { child, url }
    }
    /// Ends it as Ctrl-C does; it has to end by itself.
    fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The events of a run by name, and the run's report.
fn recorded(place: &Place) -> (Vec<Value>, Value) {
    place.write("j.fio", JOB);
    let run = ["run", "tiny", "--job", "j.fio", "--seed", "3", "--json", "--events", "run.events"];
    let report = place.report(&run);
    let text = place.read("run.events");
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), report)
}

fn count(events: &[Value], is: impl Fn(&Value) -> bool) -> f64 {
    events.iter().filter(|event| is(event)).count() as f64
}

#[test]
fn what_a_recording_shows_at_its_end_is_what_its_events_count() {
    let place = Place::new();
    let (events, report) = recorded(&place);
    let told = place.report(&["watch", "run.events", "--json"]);
    let frame = &told["frame"];
    let finished = |kind: u64| count(&events, |e| e["event"] == "FlashFinished" && e["kind"] == kind);
    let totals = &frame["totals"];
    for (figure, wanted) in [("flash_reads", 0), ("flash_programs", 1), ("flash_erases", 2)] {
        assert_eq!(totals[figure].as_f64().unwrap(), finished(wanted), "{figure}");
    }
    assert_eq!(frame["position"]["events"].as_f64().unwrap(), events.len() as f64 - 1.0);
    let completed = count(&events, |e| e["event"] == "CommandCompleted");
    let queues = frame["queues"].as_array().unwrap();
    let sum = |name: &str| queues.iter().map(|queue| queue[name].as_f64().unwrap()).sum::<f64>();
    assert_eq!(sum("completed"), completed);
    assert_eq!(sum("outstanding"), frame["outstanding"].as_f64().unwrap());
    let moved = |kind: &str, name: &str| {
        let kinds = report["total"]["kinds"].as_array().unwrap();
        kinds.iter().find(|of| of["kind"] == kind).unwrap()[name].as_f64().unwrap()
    };
    assert_eq!(totals["read_bytes"].as_f64().unwrap(), moved("read", "bytes"));
    assert_eq!(totals["written_bytes"].as_f64().unwrap(), moved("write", "bytes"));
    // What is valid is what is mapped, page by page.
    let mut mapped = std::collections::BTreeMap::new();
    for event in events.iter().filter(|event| event["event"] == "MapUpdated") {
        mapped.insert(event["lpn"].as_u64().unwrap(), event["ppa"].as_u64().unwrap());
    }
    let valid = mapped.values().filter(|&&ppa| ppa != u64::from(u32::MAX)).count() as f64;
    let rows = told["blocks"]["valid"].as_array().unwrap();
    let cells = rows.iter().flat_map(|row| row.as_array().unwrap());
    assert_eq!(cells.map(|cell| cell.as_f64().unwrap()).sum::<f64>(), valid);
    // Its power has gone in the middle of its own work.
    let of = |name: &str| count(&events, |e| e["event"] == name);
    let dies = frame["dies"].as_array().unwrap().iter();
    let waiting = dies.map(|die| die["waiting"].as_f64().unwrap()).sum::<f64>();
    assert_eq!(waiting, of("FlashQueued") - of("FlashIssued"), "{frame}");
    // Half way, the same of half of the events.
    let then = place.report(&["watch", "run.events", "--json", "--at", "20ms"]);
    let until = |event: &Value| event["at_ps"].as_u64().unwrap() <= 20_000_000_000;
    let programs = count(&events, |e| e["event"] == "FlashFinished" && e["kind"] == 1 && until(e));
    assert_eq!(then["frame"]["totals"]["flash_programs"].as_f64().unwrap(), programs);
    assert_eq!(then["frame"]["at_us"], 20_000.0);
}

#[test]
fn what_cannot_be_watched_is_refused_in_words() {
    let place = Place::new();
    let refused = |arguments: &[&str]| place.refused(2, arguments);
    assert!(refused(&["watch", "none"]).contains("none: there is no such file"));
    place.write("j.fio", JOB);
    assert!(refused(&["watch", "j.fio"]).contains("j.fio: line 1 is no event"));
    place.write("empty", "");
    assert!(refused(&["watch", "empty", "--json"]).contains("empty: has no events yet"));
    let line = "{\"at_ps\":1,\"event\":\"InterruptSent\",\"vector\":1}\n";
    place.write("old", line);
    assert!(refused(&["watch", "old", "--json"]).contains("--profile"));
    assert_eq!(place.report(&["watch", "old", "--profile", "tiny", "--json"])["frame"]["at_us"], 1e-6);
    place.write("bad", format!("{line}{line}{}", &line[..20]));
    let told = place.report(&["watch", "bad", "--profile", "tiny", "--json"]);
    assert_eq!(told["frame"]["position"]["events"], 2, "its last line may still be written");
    place.write("bad", format!("{line}{}\n{line}", &line[..20]));
    let told = place.refused(1, &["watch", "bad", "--profile", "tiny", "--json"]);
    assert!(told.contains("bad: line 2 is no event"), "{told}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for command in [
        &["watch", "old", "--profile", "tiny", "--address", &address][..],
        &["serve", "tiny", "--vfio-user", "s", "--dashboard", &address],
    ] {
        assert!(refused(command).contains("another program listens there; name another port"));
    }
    for token in ["short", "with blanks in it", "ünïcödé-tökén"] {
        let error = refused(&["watch", "old", "--token", token]);
        assert!(error.contains("a token has 12 to 128 letters, digits, - or _"), "{error}");
    }
    assert!(
        refused(&["serve", "tiny", "--vfio-user", "s", "--dashboard-token", "a-long-enough-one"])
            .contains("--dashboard")
    );
    assert!(refused(&["watch", "old", "--address", "8080"]).contains("expected an address and a port"));
}

#[test]
fn a_browser_shows_a_recording_and_moves_in_it() {
    let place = Place::new();
    let (events, _) = recorded(&place);
    let shown =
        Shown::start(place.command(&["watch", "run.events", "--address", "127.0.0.1:0", "--at", "1us"]));
    let Some(program) = browser() else {
        println!("no browser: the page was not looked at");
        return;
    };
    let mut tab = Tab::open(&program, &place.path("browser"), &shown.url);
    let last = events.last().unwrap()["at_ps"].as_f64().unwrap() / 1e6;
    let middle = (last / 2.0).floor();
    for moment in [middle, last + 1.0, middle / 2.0] {
        tab.until(&format!(
            "(() => {{ const bar = document.getElementById('seek'); if (Number(bar.max) < 2) return false; \
             if (document.body.dataset.drawn !== '{moment}' && !bar.dataset.asked) {{ bar.max = 1e9; \
             bar.value = '{moment}'; bar.dispatchEvent(new Event('change')); bar.dataset.asked = 1; }} \
             return true; }})()"
        ));
        let shown_at = moment.min(last);
        tab.until(&format!("Math.abs(Number(document.body.dataset.drawn) - {shown_at}) < 1e-3"));
        tab.evaluate("delete document.getElementById('seek').dataset.asked");
        let figures = tab.figures();
        let until = |event: &Value| event["at_ps"].as_f64().unwrap() / 1e6 <= moment;
        let of = |name: &str, kind: Option<u64>| {
            count(&events, |e| e["event"] == name && until(e) && kind.is_none_or(|kind| e["kind"] == kind))
        };
        let exact = |name: &str| figures[name].0;
        assert_eq!(exact("flash-reads"), of("FlashFinished", Some(0)), "at {moment}");
        assert_eq!(exact("flash-programs"), of("FlashFinished", Some(1)), "at {moment}");
        assert_eq!(exact("flash-erases"), of("FlashFinished", Some(2)), "at {moment}");
        assert_eq!(exact("victims"), of("VictimChosen", None), "at {moment}");
        let fetched = of("CommandFetched", None);
        let queues = |part: &str| -> f64 {
            let of_queues =
                figures.iter().filter(|(name, _)| name.starts_with("queues.") && name.ends_with(part));
            of_queues.map(|(_, figure)| figure.0).sum()
        };
        assert_eq!(queues("fetched"), fetched, "at {moment}");
        assert_eq!(exact("outstanding"), fetched - of("CommandCompleted", None), "at {moment}");
        // What is shown says what it is of.
        assert_eq!(
            figures["flash-programs"].1.replace(',', "").parse::<f64>().unwrap(),
            exact("flash-programs")
        );
    }
    // Each die's own operations, as its cell has them.
    let cells = tab.evaluate(
        "JSON.stringify([...document.querySelectorAll('#dies .die')].map((cell) => \
         [cell.id, cell.dataset.operations]))",
    );
    let cells: Vec<(String, String)> = serde_json::from_str(cells.as_str().unwrap()).unwrap();
    assert!(!cells.is_empty());
    let moment = middle / 2.0;
    for (id, operations) in cells {
        let lun: u64 = id.strip_prefix("die-").unwrap().parse().unwrap();
        let of = |kind: u64| {
            let is = |e: &Value| e["event"] == "FlashFinished" && e["lun"] == lun && e["kind"] == kind;
            count(&events, |e| is(e) && e["at_ps"].as_f64().unwrap() / 1e6 <= moment)
        };
        assert_eq!(operations, format!("{}/{}/{}", of(0), of(1), of(2)), "{id}");
    }
    // A step, and the life of the slowest command.
    let before = tab.figures()["events"].0;
    tab.evaluate("document.getElementById('step-event').click()");
    tab.until(&format!("Number(document.getElementById('events').dataset.value) === {}", before + 1.0));
    tab.evaluate("document.querySelector('#slowest tr').click()");
    tab.until("document.querySelectorAll('#life .step').length > 3");
    let life = tab.evaluate("document.getElementById('life').textContent");
    let took = tab.figures()["slowest.0.total_us"].1.clone();
    assert!(life.as_str().unwrap().contains(&took), "{took}: {life}");
    // Curves are drawn once time goes on.
    tab.evaluate("document.getElementById('play').click()");
    tab.until("rates.points.length > 3");
    assert_eq!(tab.evaluate("document.querySelectorAll('.uplot').length"), 4);
    assert_eq!(tab.evaluate("document.getElementById('problem').textContent"), "");
    drop(tab);
    shown.stop();
}

#[test]
fn a_browser_shows_what_a_live_drive_counts() {
    let place = Place::new();
    let drive = ["serve", "tiny", "--set", "host.block_bytes=4096", "--vfio-user", "s", "--pace", "fast"];
    let arguments = [&drive[..], &["--dashboard", "127.0.0.1:0"]].concat();
    let shown = Shown::start(place.command(&arguments));
    let (writes, reads) = (40u64, 25u64);
    let mut host = Host::connect(&place.path("s"), Ring::Mapped, 8 << 20);
    host.enable();
    let mut queue = host.create_silent_queue(1, 16);
    let buffer = host.alloc(4096);
    let mut io = |write: bool, count: u64| {
        for n in 0..count {
            host.push(&mut queue, transfer(write, n, 1, buffer));
            host.ring(&queue);
            let completion = loop {
                if let Some(completion) = host.poll(&mut queue) {
                    break completion;
                }
            };
            assert!(completion.status().is_success());
            host.ring_head(&queue);
        }
    };
    io(true, writes);
    let Some(program) = browser() else {
        println!("no browser: the page was not looked at");
        return;
    };
    let mut tab = Tab::open(&program, &place.path("browser"), &shown.url);
    let value =
        |id: &str, wanted: u64| format!("Number(document.getElementById('{id}').dataset.value) === {wanted}");
    tab.until(&value("writes", writes));
    io(false, reads);
    tab.until(&value("reads", reads));
    tab.until(&value("written-bytes", writes * 4096));
    tab.until(&value("read-bytes", reads * 4096));
    tab.until("document.querySelectorAll('#slowest tr').length > 3");
    tab.evaluate("document.querySelector('#slowest tr').click()");
    tab.until("document.querySelectorAll('#life .step').length > 3");
    // Somebody looks, and the drive is heard.
    tab.until("document.getElementById('events').textContent.startsWith('events heard')");
    // Its time is not the page's: the view is frozen, and the drive goes on.
    tab.evaluate("document.getElementById('play').click()");
    tab.until("document.body.classList.contains('frozen')");
    io(true, 3);
    tab.until(&format!("kept[kept.length - 1].totals.writes === {}", writes + 3));
    assert_eq!(tab.evaluate(&value("writes", writes)), json!(true));
    tab.evaluate("document.getElementById('back').click()");
    tab.evaluate("document.getElementById('play').click()");
    tab.until(&value("writes", writes + 3));
    let asked = tab.evaluate("send({ ask: 'pause' }), true");
    assert_eq!(asked, json!(true));
    tab.until("document.getElementById('problem').textContent.includes('its host')");
    drop(tab);
    drop(host);
    shown.stop();
}
