//! The page and its WebSocket, as programs meet them.

use aster_dashboard::{About, Dashboard, Recording, Source, hub, play};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Reads of 16 KiB one behind the other, the n-th n µs long, and each on its die.
fn events(reads: u64) -> String {
    let mut text = concat!(
        r#"{"at_ps":0,"event":"DriveShape","channels":2,"ways":2,"luns":1,"planes":1,"blocks_per_lun":8,"#,
        r#""pages_per_block":4,"page_bytes":16384,"spare_bytes":1024,"array_planes":1,"#,
        r#""array_blocks_per_lun":8,"array_pages_per_block":4,"mapping_unit_bytes":16384}"#,
        "\n"
    )
    .to_owned();
    for n in 1..=reads {
        let slot = n % 8;
        let lines = [
            (0, format!(r#""CommandFetched","command":{slot},"queue":1,"opcode":2,"host_id":{slot}"#)),
            (0, format!(r#""CommandStarted","command":{slot},"offset":{},"length":16384"#, n * 16384)),
            (
                0,
                format!(
                    r#""ArrayBusy","channel":1,"way":0,"lun":0,"kind":0,"picoseconds":{}"#,
                    n * 1_000_000
                ),
            ),
            (n, r#""FlashFinished","lun":1,"kind":0,"row":0,"status":0,"corrected":0"#.to_owned()),
            (n, format!(r#""CommandFinished","command":{slot}"#)),
            (n, format!(r#""CommandCompleted","command":{slot},"status":0"#)),
        ];
        for (us, event) in lines {
            text += &format!("{{\"at_ps\":{},\"event\":{event}}}\n", (n * 1000 + us) * 1_000_000);
        }
    }
    text
}

/// A recording that is played, and its page.
struct Played {
    url: String,
    stop: Arc<AtomicBool>,
    player: Option<JoinHandle<()>>,
    _dashboard: Dashboard,
    _folder: TempDir,
}

impl Played {
    fn start(reads: u64, token: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("run.events");
        std::fs::write(&path, events(reads)).unwrap();
        let recording = Recording::open(&path, None).unwrap();
        let (source, hub) = hub(About::new("run.events", true, recording.shape()));
        let address = "127.0.0.1:0".parse().unwrap();
        let dashboard = Dashboard::open(address, token.map(str::to_owned), hub).unwrap();
        let stop: Arc<AtomicBool> = Arc::default();
        let stopped = Arc::clone(&stop);
        let player = std::thread::spawn(move || {
            let source: Source = source;
            // A drive's state stays on one thread.
            let recording = Recording::open(&path, None).unwrap();
            play(recording, &source, Some(aster_units::Instant::ZERO), || stopped.load(Ordering::Relaxed));
        });
        let url = dashboard.url();
        Played { url, stop, player: Some(player), _dashboard: dashboard, _folder: folder }
    }
    fn address(&self) -> SocketAddr {
        let rest = self.url.strip_prefix("http://").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }
    fn socket(&self) -> Browser {
        Browser::connect(self.address(), "/live", &[]).unwrap()
    }
    /// The answer to a request: its first line, its headers, and its body.
    fn get(&self, head: &str) -> (String, String, String) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(head.replace('\n', "\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let (first, headers) = head.split_once("\r\n").unwrap_or((head, ""));
        (first.to_owned(), headers.to_lowercase(), body.to_owned())
    }
    fn page(&self, path: &str) -> (String, String, String) {
        self.get(&format!("GET {path} HTTP/1.1\nHost: localhost\nConnection: close\n\n"))
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(player) = self.player.take() {
            player.join().unwrap();
        }
    }
}

/// The other end of a WebSocket.
struct Browser(WebSocket<TcpStream>);

impl Browser {
    fn connect(address: SocketAddr, path: &str, headers: &[(&'static str, &str)]) -> Result<Self, String> {
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        tungstenite::client(request, stream).map(|(socket, _)| Browser(socket)).map_err(|e| e.to_string())
    }
    fn ask(&mut self, question: Value) {
        self.0.send(Message::Text(question.to_string().into())).unwrap();
    }
    /// The next message of that kind that `wanted` accepts.
    fn until(&mut self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Message::Text(text) = self.0.read().unwrap() else { continue };
            let told: Value = serde_json::from_str(&text).unwrap();
            if told.get(kind).is_some_and(&wanted) {
                return told[kind].clone();
            }
        }
    }
    /// The frame at a moment.
    fn seek(&mut self, at_us: f64) -> Value {
        self.ask(json!({ "ask": "seek", "at_us": at_us }));
        self.until("frame", |frame| frame["at_us"] == at_us)
    }
}

#[test]
fn a_browser_moves_in_a_recording_and_sees_what_its_events_say() {
    let played = Played::start(200, None);
    let mut browser = played.socket();
    let about = browser.until("about", |_| true);
    assert_eq!(
        (&about["name"], &about["channels"], &about["replays"]),
        (&json!("run.events"), &json!(2), &json!(true))
    );
    // 50 reads have ended, and the 51st is at work on channel 1 for 51 µs.
    let frame = browser.seek(51_030.0);
    assert_eq!((&frame["totals"]["reads"], &frame["outstanding"]), (&json!(50), &json!(1)));
    assert_eq!((&frame["dies"][1]["work"], &frame["dies"][0]["work"]), (&json!("read"), &json!("idle")));
    assert_eq!(frame["dies"][1]["reads"], 50);
    assert_eq!((&frame["slowest"][0]["total_us"], &frame["slowest"][0]["id"]), (&json!(50.0), &json!(49)));
    // Back, and on by single steps.
    let frame = browser.seek(10_005.0);
    assert_eq!(frame["totals"]["reads"], 9);
    browser.ask(json!({ "ask": "step_command" }));
    let frame = browser.until("frame", |frame| frame["totals"]["reads"] == 10);
    assert_eq!((&frame["at_us"], &frame["position"]["playing"]), (&json!(10_010.0), &json!(false)));
    browser.ask(json!({ "ask": "step_event" }));
    browser.until("frame", |frame| frame["at_us"] == 11_000.0 && frame["outstanding"] == 1);
    // The life of a command.
    browser.ask(json!({ "ask": "explain", "id": 9 }));
    let told = browser.until("explanation", |_| true);
    assert_eq!(
        (&told["id"], &told["life"]["total_us"], &told["life"]["name"]),
        (&json!(9), &json!(10.0), &json!("Read"))
    );
    // It plays to its end by itself.
    browser.ask(json!({ "ask": "speed", "us_per_second": 1e8 }));
    browser.ask(json!({ "ask": "play" }));
    let frame = browser.until("frame", |frame| frame["position"]["at_end"] == true);
    assert_eq!((&frame["totals"]["reads"], &frame["position"]["events"]), (&json!(200), &json!(1200)));
}

#[test]
fn absurd_messages_are_answered_in_words_and_end_nothing() {
    let played = Played::start(20, None);
    let mut browser = played.socket();
    browser.until("frame", |_| true);
    for question in
        [json!({}), json!("x"), json!({ "ask": "seek", "at_us": -1 }), json!({ "ask": "explain", "id": 77 })]
    {
        browser.ask(question.clone());
        let words = browser.until("error", |_| true);
        assert!(words.as_str().is_some_and(|words| words.len() > 10), "{question}: {words}");
    }
    browser.0.send(Message::Binary(vec![0; 100].into())).unwrap();
    assert_eq!(browser.until("error", |_| true), "questions are text");
    // One that is longer than any question ends its conversation, and no other.
    let mut other = played.socket();
    browser.0.send(Message::Text("x".repeat(10_000).into())).unwrap();
    while browser.0.read().is_ok() {}
    assert_eq!(other.seek(5_003.0)["totals"]["reads"], 4);
    // A browser that is gone without a word.
    drop(other.0.get_ref().shutdown(std::net::Shutdown::Both));
    drop(other);
    assert_eq!(played.socket().seek(6_003.0)["totals"]["reads"], 5);
}

#[test]
fn only_so_many_browsers_look_at_a_time() {
    let played = Played::start(20, None);
    let mut browsers: Vec<Browser> = (0..16).map(|_| played.socket()).collect();
    browsers.iter_mut().for_each(|browser| drop(browser.until("frame", |_| true)));
    let refused = Browser::connect(played.address(), "/live", &[]).err().unwrap();
    assert!(refused.contains("503"), "{refused}");
    drop(browsers.pop());
    // The server notices in its own time that one has gone.
    while Browser::connect(played.address(), "/live", &[]).is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_page_is_there_and_nothing_else_is() {
    let played = Played::start(20, None);
    for (path, kind, has) in [
        ("/", "text/html", "id=\"dies\""),
        ("/dashboard.js", "text/javascript", "new WebSocket"),
        ("/dashboard.css", "text/css", ".die.read"),
        ("/uplot.js", "text/javascript", "uPlot"),
    ] {
        let (status, headers, body) = played.page(path);
        assert!(status.contains("200") && headers.contains(kind) && body.contains(has), "{path}: {status}");
        assert!(headers.contains("content-security-policy") && headers.contains("no-store"), "{headers}");
        assert!(!body.contains("https://") || path == "/uplot.js", "{path} needs no network");
    }
    let (_, _, body) = played.page("/frame.json");
    let told: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&told["about"]["ways"], told["frame"]["dies"].as_array().unwrap().len()), (&json!(2), 4));
    assert!(played.page("/etc/passwd").0.contains("404"));
    let post = "POST / HTTP/1.1\nHost: localhost\nConnection: close\nContent-Length: 0\n\n";
    assert!(played.get(post).0.contains("405"));
    assert!(played.page("/live").0.contains("400"), "no upgrade");
    // Somebody else's name that leads here, and what is no HTTP.
    let foreign = "GET /frame.json HTTP/1.1\nHost: evil.example\nConnection: close\n\n";
    let (status, _, words) = played.get(foreign);
    assert!(status.contains("403") && words.contains("localhost"), "{status} {words}");
    assert!(played.get("\0\0\0\0nonsense\n\n").0.contains("400"));
    let refused = Browser::connect(played.address(), "/live", &[("origin", "http://evil.example")]).err();
    assert!(refused.unwrap().contains("403"));
    assert!(played.page("/").0.contains("200"));
}

#[test]
fn who_has_no_token_sees_nothing() {
    let token = "a-token-of-this-test";
    let played = Played::start(20, Some(token));
    assert!(played.url.ends_with(&format!("/?token={token}")));
    for path in ["/", "/frame.json", "/live", "/frame.json?token=a-token-of-this-tes", "/?token"] {
        let (status, _, words) = played.page(path);
        assert!(status.contains("403") && words.contains("token"), "{path}: {status}");
    }
    assert!(Browser::connect(played.address(), "/live", &[]).err().unwrap().contains("403"));
    assert!(played.page(&format!("/?token={token}")).0.contains("200"));
    let mut browser = Browser::connect(played.address(), &format!("/live?token={token}"), &[]).unwrap();
    assert_eq!(browser.seek(5_003.0)["totals"]["reads"], 4);
}

#[test]
fn an_address_that_is_taken_is_told() {
    let played = Played::start(1, None);
    let (_, hub) = hub(About::new(
        "x",
        true,
        Recording::open(&played._folder.path().join("run.events"), None).unwrap().shape(),
    ));
    let error = Dashboard::open(played.address(), None, hub).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}

/// `make` needs no Node: the built script is in the tree, and says what sources it was built from.
#[test]
fn the_script_is_built_from_its_sources() {
    use sha2::{Digest, Sha256};
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(here.join(name)).unwrap();
    let config: Value = serde_json::from_str(&read("page/tsconfig.json")).unwrap();
    let files = config["files"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let mut digest = Sha256::new();
    for name in ["tsconfig.json", "package.json"].into_iter().chain(files) {
        digest.update(format!("{name}\n"));
        digest.update(read(&format!("page/{name}")));
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let built = read("src/page/dashboard.js");
    let again = "run `npm ci && npm run build` in lab/dashboard/page";
    assert!(built.lines().nth(1).unwrap().ends_with(&format!("Sources: {hex}")), "{again}");
    // Where the compiler is installed, it has to make the same.
    if !here.join("page/node_modules/typescript").is_dir() {
        println!("no TypeScript in lab/dashboard/page: it was not built again");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("dashboard.js");
    let node =
        std::process::Command::new("node").arg(here.join("page/build.mjs")).arg(&into).status().unwrap();
    assert!(node.success());
    assert_eq!(std::fs::read_to_string(into).unwrap(), built, "{again}");
}
