//! A headless Chromium, driven over its debugging pipe: pages are opened, looked into and photographed.
//! Not a test. Messages are JSON ended by a zero byte (Chrome DevTools Protocol); nothing listens on a port.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// The program, when there is one.
pub fn installed() -> Option<&'static str> {
    let answers = |name: &&&str| {
        let mut command = Command::new(name);
        command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    NAMES.iter().find(answers).copied()
}

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    number: u64,
    /// What the page asked for, in order.
    pub requests: Vec<String>,
    /// What the page complained of.
    pub complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts the program in a profile of its own. `language` is what pages are asked for in.
    pub fn start(program: &str, language: &str) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
        ];
        // The program reads commands from descriptor 3 and answers on descriptor 4.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null",
                "sh",
                program,
            ])
            .args(options)
            .arg(format!("--accept-lang={language}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let mut pipe = BufReader::new(child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while pipe.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).unwrap();
                message.clear();
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            to,
            from,
            session: None,
            number: 0,
            requests: Vec::new(),
            complaints: Vec::new(),
            _profile: profile,
        };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let target = self.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.ask("Target.attachToTarget", target);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.ask(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Sends a command and waits for its answer.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let message = match self.from.recv_timeout(until - Instant::now()) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => panic!("{method} was not answered"),
                Err(RecvTimeoutError::Disconnected) => panic!("the browser has gone at {method}"),
            };
            if message["id"] == json!(self.number) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            "Runtime.exceptionThrown" => self
                .complaints
                .push(parameters["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                self.complaints.push(parameters["args"].to_string());
            }
            "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                self.complaints.push(parameters["entry"].to_string());
            }
            _ => {}
        }
    }

    /// Opens a page and waits until it is complete.
    pub fn open(&mut self, url: &str) {
        self.ask("Page.navigate", json!({ "url": url }));
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// What an expression of the page is now.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.ask("Runtime.evaluate", parameters);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Waits until an expression of the page is true. A page that is just being replaced is asked again.
    #[expect(clippy::disallowed_methods, reason = "this thread serves no request")]
    pub fn until(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.evaluate(expression) != json!(true) {
            if Instant::now() > until {
                let page = self.evaluate("document.body.innerText");
                panic!(
                    "never true: {expression}\n{}",
                    page.as_str().unwrap_or_default()
                );
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Gives the page a size and colours: `light` or `dark`.
    pub fn dress(&mut self, width: u32, height: u32, colours: &str) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": colours }] });
        self.ask("Emulation.setEmulatedMedia", feature);
    }

    /// Writes what the page looks like to a PNG file; answers its size in bytes.
    pub fn photograph(&mut self, file: &Path) -> usize {
        let picture = self.ask("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        std::fs::write(file, &bytes).unwrap();
        bytes.len()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
