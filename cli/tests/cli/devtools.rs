//! A browser, asked by its DevTools protocol.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Debian's Chromium, which `make test` installs, or another that ASTER_BROWSER names.
pub fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("ASTER_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// A page that is open in a browser of its own.
pub struct Tab {
    browser: Child,
    socket: WebSocket<TcpStream>,
    session: String,
    asked: u64,
}

impl Tab {
    /// Has `program` open `url`, with its own files in `profile`.
    pub fn open(program: &Path, profile: &Path, url: &str) -> Self {
        let fixed = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-port=0",
            "--window-size=1400,2400",
            "about:blank",
        ];
        let profile = format!("--user-data-dir={}", profile.display());
        let mut browser = Command::new(program)
            .arg(profile)
            .args(fixed)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(browser.stderr.take().unwrap()).lines().map_while(Result::ok);
        let endpoint = lines
            .find_map(|line| line.strip_prefix("DevTools listening on ").map(str::to_owned))
            .expect("the browser says where it is");
        std::thread::spawn(move || lines.for_each(drop));
        let request = endpoint.as_str().into_client_request().unwrap();
        let address = request.uri().authority().unwrap().to_string();
        let stream = TcpStream::connect(address).unwrap();
        let (socket, _) = tungstenite::client(request, stream).unwrap();
        let mut tab = Tab { browser, socket, session: String::new(), asked: 0 };
        let target = tab.call("Target.createTarget", json!({ "url": url }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = tab.call("Target.attachToTarget", attach);
        tab.session = session["sessionId"].as_str().unwrap().to_owned();
        tab
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        let mut call = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            call["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::Text(call.to_string().into())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let mut told: Value = serde_json::from_str(&text).unwrap();
            if told["id"] == id {
                assert!(told.get("error").is_none(), "{method}: {told}");
                return told["result"].take();
            }
        }
    }

    /// The value of an expression on the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let mut told = self.call("Runtime.evaluate", parameters);
        assert!(told.get("exceptionDetails").is_none(), "{expression}: {told}");
        told["result"]["value"].take()
    }

    /// Waits until an expression on the page is true.
    pub fn until(&mut self, expression: &str) {
        // As long as it takes on a machine with other work; who waits for ever is ended by his tests' owner.
        for _ in 0..6000 {
            let guarded = format!("(() => {{ try {{ return {expression}; }} catch {{ return false; }} }})()");
            if self.evaluate(&guarded) == json!(true) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let said = self.evaluate("document.body.innerText");
        panic!("{expression}: never true; the page says {said}");
    }

    /// What stands in elements with a `data-figure`: the exact value, and the text that is shown.
    pub fn figures(&mut self) -> BTreeMap<String, (f64, String)> {
        let told = self.evaluate(
            "JSON.stringify([...document.querySelectorAll('[data-figure]')].map((of) => \
             [of.dataset.figure, of.dataset.value, of.textContent]))",
        );
        let figures: Vec<(String, String, String)> = serde_json::from_str(told.as_str().unwrap()).unwrap();
        let number = |text: &str| text.parse().unwrap_or(f64::NAN);
        figures.into_iter().map(|(name, value, text)| (name, (number(&value), text))).collect()
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
