//! A real server of one worker for one application text, and a client that speaks HTTP/1.1 over a socket, byte by byte.
//! Asserts nothing about the application. Everything it makes lives in a temporary directory and ends with it.

#![allow(dead_code)] // every test file uses a part of it

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;
use tsumugi_ruby::{Mode, Program, Secret, Settings};
use tsumugi_server::{Front, Service};
use tsumugi_worker::{BoundServer, Config, Exit, Handle, ListenAddress, Signals, WorkerLimits};

/// What signs in tests.
pub const SECRET: &str = "a secret of these tests that is long enough";

/// A server that runs until it is dropped.
pub struct Rig {
    pub directory: TempDir,
    address: SocketAddr,
    handle: Handle,
    thread: Option<JoinHandle<tsumugi_worker::Result<Exit>>>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Rig {
    /// Serves `app` in development mode, where a failure shows its text.
    pub fn serve(app: &str) -> Rig {
        Rig::with(app, |_| {})
    }

    pub fn with(app: &str, set: impl FnOnce(&mut Settings)) -> Rig {
        Rig::start(app, set, WorkerLimits::default()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same with limits of the worker.
    pub fn limited(app: &str, limits: WorkerLimits) -> Rig {
        Rig::start(app, |_| {}, limits).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The error of an application that does not start.
    pub fn refused(app: &str, set: impl FnOnce(&mut Settings)) -> String {
        match Rig::start(app, set, WorkerLimits::default()) {
            Ok(_) => panic!("it starts"),
            Err(error) => error,
        }
    }

    fn start(
        app: &str,
        set: impl FnOnce(&mut Settings),
        limits: WorkerLimits,
    ) -> Result<Rig, String> {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("app.rb");
        std::fs::write(&file, app).unwrap();
        let mut settings = Settings {
            app: file,
            data_dir: directory.path().to_owned(),
            mode: Mode::Development,
            secret: Some(Secret::new(SECRET)),
            ..Settings::default()
        };
        set(&mut settings);
        let config = Config {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            workers: NonZeroUsize::MIN,
            signals: Signals::Leave,
            limits,
            ..Config::default()
        };
        let server = BoundServer::bind(config).unwrap();
        let address = server
            .addresses()
            .iter()
            .find_map(|address| match address {
                ListenAddress::Tcp(address) => Some(*address),
                _ => None,
            })
            .unwrap();
        let handle = server.handle();
        let thread = std::thread::spawn(move || {
            server.run(move |worker| {
                let program = Program::new(settings.clone());
                Service::new(worker, settings.http.clone(), program, Front::default())
            })
        });
        let mut rig = Rig {
            directory,
            address,
            handle,
            thread: Some(thread),
        };
        rig.wait_until_loaded()?;
        Ok(rig)
    }

    /// The listener is open before the application is loaded, so the first answer tells.
    fn wait_until_loaded(&mut self) -> Result<(), String> {
        let probe = TcpStream::connect(self.address).and_then(|mut stream| {
            stream.write_all(b"GET /rig/probe HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).map(|_| answer)
        });
        if probe.is_ok_and(|answer| !answer.is_empty()) {
            return Ok(());
        }
        let thread = self.thread.take().unwrap();
        match thread.join().unwrap() {
            Ok(exit) => Err(format!("ended with {}", exit.code())),
            Err(error) => {
                let mut text = error.to_string();
                let mut source = std::error::Error::source(&error);
                while let Some(cause) = source {
                    text = format!("{text}: {cause}");
                    source = cause.source();
                }
                Err(text)
            }
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        let limit = Some(Duration::from_secs(120));
        stream.set_read_timeout(limit).unwrap();
        stream.set_write_timeout(limit).unwrap();
        stream
    }

    /// Sends bytes on a connection of their own and reads until the server closes it.
    pub fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that refuses a body may close before it has all of it.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }

    /// `headers` are whole lines.
    pub fn send(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nhost: example.org\r\nconnection: close\r\n");
        for header in headers {
            request.push_str(header);
            request.push_str("\r\n");
        }
        if !body.is_empty() || method == "POST" {
            request.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        let mut request = request.into_bytes();
        request.extend_from_slice(body);
        self.raw(&request)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, media_type: &str, body: &[u8]) -> Answer {
        self.send(
            "POST",
            path,
            &[&format!("content-type: {media_type}")],
            body,
        )
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.handle.abort();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Answer {
    pub fn parse(bytes: &[u8]) -> Answer {
        let end = bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut body = bytes[end + 4..].to_vec();
        let chunked = headers
            .iter()
            .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        if chunked {
            body = unchunked(&body);
        }
        Answer {
            status: status.parse().unwrap(),
            headers,
            body,
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.all(name).into_iter().next()
    }

    pub fn all(&self, name: &str) -> Vec<&str> {
        let found = self.headers.iter().filter(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).collect()
    }

    /// `name=value` of the cookie of this name.
    pub fn cookie(&self, name: &str) -> Option<String> {
        let cookies = self.all("set-cookie").into_iter();
        let pairs = cookies.filter_map(|cookie| cookie.split(';').next());
        let mut found = pairs.filter(|pair| pair.split('=').next() == Some(name));
        found.next().map(str::to_owned)
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let from = end + 2;
        if size == 0 || from + size > bytes.len() {
            break;
        }
        whole.extend_from_slice(&bytes[from..from + size]);
        bytes = &bytes[(from + size + 2).min(bytes.len())..];
    }
    whole
}
