//! A running server in a folder of its own, and a client that asks one thing a connection. Not a test.
//! A server is ended by its process id when its `Served` is dropped, whatever became of the test.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running server in a folder of its own.
pub struct Served {
    pub child: Child,
    pub log: BufReader<ChildStderr>,
    pub folder: TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

pub fn serve(folder: TempDir, options: &[&str]) -> Served {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .args(["serve", "app.rb", "--workers", "1"])
        .args(options)
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .env("TSUMUGI_LOG", "info")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    Served { child, log, folder }
}

impl Served {
    /// The rest of the next log line that has `piece`, up to a space.
    pub fn word_after(&mut self, piece: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            assert!(
                self.log.read_line(&mut line).unwrap() > 0,
                "no {piece:?} in:\n{all}"
            );
            if let Some((_, rest)) = line.split_once(piece) {
                return rest
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
            }
            all.push_str(&line);
        }
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }
}

/// A server on a port of its own, with `app.rb` and other files.
pub fn start(app: &str, files: &[(&str, &[u8])], options: &[&str]) -> (Served, String) {
    let all = [&[("app.rb", app.as_bytes())], files].concat();
    let options = [&["--listen", "127.0.0.1:0"], options].concat();
    let mut served = serve(folder(&all), &options);
    let address = served.word_after("listening on http://");
    (served, address)
}

/// An answer: status line, head and body.
#[derive(Debug)]
pub struct Answer {
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn read(mut stream: impl Read) -> Answer {
        let mut bytes = Vec::new();
        // A peer that closes TLS without saying so is an end as well.
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no head in {:?}", String::from_utf8_lossy(&bytes)));
        let body = bytes.split_off(end + 4);
        let head = String::from_utf8(bytes).unwrap();
        let body = match head.contains("\r\ntransfer-encoding: chunked\r\n") {
            true => unchunk(&body),
            false => body,
        };
        Answer { head, body }
    }

    pub fn status(&self) -> u16 {
        self.head[9..12].parse().unwrap()
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = std::str::from_utf8(&bytes[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[end + 4 + length..];
    }
}

pub fn request(method: &str, path: &str, fields: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{fields}\r\n")
}

pub fn ask(address: &str, method: &str, path: &str, fields: &str) -> Answer {
    let until = Instant::now() + PATIENCE;
    let mut stream = loop {
        match TcpStream::connect(address) {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(request(method, path, fields).as_bytes())
        .unwrap();
    Answer::read(stream)
}

pub fn get(address: &str, path: &str) -> Answer {
    ask(address, "GET", path, "")
}

pub fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
