//! A running server, a client that speaks HTTP/1.1 over a plain socket, and the server's log. Not a test.
//! A server is ended by its process id when its `Site` is dropped, whatever became of the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// After this a test that waits gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What stderr said so far, and whether that was all.
#[derive(Default)]
struct Log {
    text: Mutex<(String, bool)>,
    grown: Condvar,
}

/// A server with its application.
pub struct Site {
    child: Child,
    pub address: SocketAddr,
    log: Arc<Log>,
    folder: Arc<TempDir>,
}

impl Site {
    /// Serves `app` on one worker.
    pub fn start(app: &str) -> Site {
        Site::start_with(app, &[])
    }

    /// Serves `app` with further arguments and waits until it is loaded.
    pub fn start_with(app: &str, arguments: &[&str]) -> Site {
        let site = Site::bind(app, arguments);
        site.expect_log("serving");
        site
    }

    /// Starts the server, on one worker by default, and waits until it listens; the application may still be loading.
    pub fn bind(app: &str, arguments: &[&str]) -> Site {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("app.rb"), app).unwrap();
        Site::run(Arc::new(folder), "127.0.0.1:0", arguments, &[]).listening()
    }

    /// Another server in the same folder, on the same address; the application may still be loading.
    pub fn bind_beside(&self, arguments: &[&str]) -> Site {
        self.bind_beside_refused(arguments).listening()
    }

    /// The same for one that may not come to listen.
    pub fn bind_beside_refused(&self, arguments: &[&str]) -> Site {
        let address = self.address.to_string();
        let mut site = Site::run(Arc::clone(&self.folder), &address, arguments, &[]);
        site.address = self.address;
        site
    }

    /// Waits until it serves, or says that it has ended.
    pub fn serves_or_ends(&mut self) -> bool {
        loop {
            if self.log().contains("serving") {
                return true;
            }
            if self.has_ended() {
                return false;
            }
            pause(5);
        }
    }

    /// Whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// The number of the process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// One with variables of its environment.
    pub fn bind_within(app: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Site {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("app.rb"), app).unwrap();
        Site::run(Arc::new(folder), "127.0.0.1:0", arguments, variables).listening()
    }

    /// Serves what is in the folder; it may not come to listen.
    pub fn run_in(folder: Arc<TempDir>, arguments: &[&str]) -> Site {
        Site::run(folder, "127.0.0.1:0", arguments, &[])
    }

    fn run(
        folder: Arc<TempDir>,
        listen: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Site {
        let workers: &[&str] = match arguments.contains(&"--workers") {
            true => &[],
            false => &["--workers", "1"],
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        command
            .args(["serve", "app.rb", "--listen", listen])
            .args(workers)
            .args(arguments)
            .envs(variables.iter().copied());
        Site::launch(folder, command)
    }

    /// Runs a program in a folder that serves as `tsumugi` does; it may not listen yet.
    pub fn launch(folder: Arc<TempDir>, mut command: Command) -> Site {
        let mut child = command
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Log::default());
        let reader = BufReader::new(child.stderr.take().unwrap());
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                let mut text = kept.text.lock().unwrap();
                text.0.push_str(&line);
                text.0.push('\n');
                kept.grown.notify_all();
            }
            kept.text.lock().unwrap().1 = true;
            kept.grown.notify_all();
        });
        Site {
            child,
            address: ([127, 0, 0, 1], 0).into(),
            log,
            folder,
        }
    }

    /// Waits until it listens.
    pub fn listening(mut self) -> Site {
        let line = self.expect_log("127.0.0.1:");
        let port = line.split("127.0.0.1:").nth(1).unwrap();
        let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
        self.address.set_port(digits.parse().unwrap());
        self
    }

    /// Where the application file is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn log(&self) -> String {
        self.log.text.lock().unwrap().0.clone()
    }

    /// The first line of the log that contains `text`; waits for it.
    pub fn expect_log(&self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut log = self.log.text.lock().unwrap();
        loop {
            if let Some(line) = log.0.lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !log.1,
                "not in the log: {text}\n{}",
                log.0
            );
            log = self.log.grown.wait_timeout(log, left).unwrap().0;
        }
    }

    pub fn connect(&self) -> Client {
        Client::new(self.address)
    }

    /// GET on a connection of its own.
    pub fn get(&self, path: &str) -> Reply {
        self.connect().get(path)
    }

    /// GET that takes its time.
    pub fn timed(&self, path: &str) -> (Reply, Duration) {
        let start = Instant::now();
        let reply = self.get(path);
        (reply, start.elapsed())
    }

    /// GETs at the same time, a connection each.
    pub fn together(&self, paths: &[&str]) -> Vec<Reply> {
        let mut clients: Vec<Client> = paths.iter().map(|_| self.connect()).collect();
        for (client, path) in clients.iter_mut().zip(paths) {
            client.send("GET", path, "", "");
        }
        clients.iter_mut().map(Client::receive).collect()
    }

    /// Asserts the body of a GET that succeeds.
    #[track_caller]
    pub fn check(&self, path: &str, expected: &str) {
        let reply = self.get(path);
        let found = (reply.status, reply.text());
        assert_eq!(found, (200, expected.to_owned()), "{path}\n{}", self.log());
    }

    /// Asserts the status of a GET.
    #[track_caller]
    pub fn check_status(&self, path: &str, expected: u16) -> Reply {
        let reply = self.get(path);
        assert_eq!(
            reply.status,
            expected,
            "{path}: {}\n{}",
            reply.text(),
            self.log()
        );
        reply
    }

    /// Asks again until the answer is `expected`.
    #[track_caller]
    pub fn until(&self, path: &str, expected: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.get(path).text();
            if found == expected {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{path}: {found}, not {expected}\n{}",
                self.log()
            );
            pause(20);
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Waits for the end of the process.
    pub fn exit_code(&mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().expect("ended by a signal");
            }
            assert!(
                Instant::now() < deadline,
                "the server did not end\n{}",
                self.log()
            );
            pause(5);
        }
    }

    /// CPU time that the server has used: what a bound is for where others use the machine, too.
    pub fn cpu_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        let ticks = fields.skip(11).take(2);
        let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        // Of USER_HZ, which is 100 on every system that this runs on.
        Duration::from_millis(ticks * 10)
    }

    /// Resident memory of the server, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Rests a test that polls.
#[expect(
    clippy::disallowed_methods,
    reason = "a test's own thread serves no request"
)]
pub fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// One connection, kept alive between requests.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Client {
        Client::buffered(address, 4096)
    }

    /// Whether something of an answer has come.
    pub fn has_answer(&self) -> bool {
        let stream = self.stream.get_ref();
        stream.set_nonblocking(true).unwrap();
        let has_answer = stream.peek(&mut [0]).is_ok();
        stream.set_nonblocking(false).unwrap();
        has_answer
    }

    /// One of very many.
    pub fn small(address: SocketAddr) -> Client {
        Client::buffered(address, 256)
    }

    /// One to a server that may not be there.
    pub fn try_new(address: SocketAddr) -> Option<Client> {
        let stream = TcpStream::connect(address).ok()?;
        Some(Client::of(stream, 4096))
    }

    fn buffered(address: SocketAddr, bytes: usize) -> Client {
        Client::of(TcpStream::connect(address).unwrap(), bytes)
    }

    fn of(stream: TcpStream, bytes: usize) -> Client {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            stream: BufReader::with_capacity(bytes, stream),
        }
    }

    /// Asks a server that may go for something; nothing when it cannot be asked any more.
    pub fn try_ask(&mut self, path: &str) -> Option<()> {
        self.try_send("GET", path, "")
    }

    /// The same with another method. `headers` are lines that end in CRLF.
    pub fn try_send(&mut self, method: &str, path: &str, headers: &str) -> Option<()> {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n{headers}\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).ok()
    }

    /// Gives up an answer after another time than [`PATIENCE`].
    pub fn waiting(self, patience: Duration) -> Client {
        let stream = self.stream.get_ref();
        stream.set_read_timeout(Some(patience)).unwrap();
        self
    }

    /// GET of a server that may go; nothing when there is no answer.
    pub fn try_get(&mut self, path: &str) -> Option<Reply> {
        self.try_ask(path)?;
        self.try_receive()
    }

    /// Sends a request. `headers` are lines that end in CRLF.
    pub fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("content-length: {}\r\n", body.len())
        };
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: test\r\n{headers}{length}\r\n{body}");
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
    }

    pub fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, "", "");
        self.receive()
    }

    /// The next response, to its end.
    pub fn receive(&mut self) -> Reply {
        self.try_receive()
            .expect("the server closed the connection without an answer")
    }

    /// The next response; `None` when the connection ends before or within it.
    pub fn try_receive(&mut self) -> Option<Reply> {
        let head = self.line()?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Reply {
            status,
            headers,
            body: Vec::new(),
        };
        if reply.header("transfer-encoding") == Some("chunked") {
            while let size @ 1.. = usize::from_str_radix(&self.line()?, 16).ok()? {
                self.take(size, &mut reply.body)?;
                self.line()?;
            }
            self.line()?;
        } else if let Some(length) = reply.header("content-length") {
            let length = length.parse().ok()?;
            self.take(length, &mut reply.body)?;
        }
        Some(reply)
    }

    fn take(&mut self, count: usize, body: &mut Vec<u8>) -> Option<()> {
        let start = body.len();
        body.resize(start + count, 0);
        self.stream.read_exact(&mut body[start..]).ok()
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).ok()?;
        (read > 0 && line.ends_with('\n')).then(|| line.trim_end().to_owned())
    }
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }
}

/// An application whose routes `/0`, `/1`, … have these bodies, after `before`.
pub fn routes<'a>(before: &str, bodies: impl IntoIterator<Item = &'a str>) -> String {
    let mut app = format!("{before}\n");
    for (i, body) in bodies.into_iter().enumerate() {
        app.push_str(&format!("get(\"/{i}\") do\n{body}\nend\n"));
    }
    app
}
