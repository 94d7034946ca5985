//! What handlers and the server write to the standard streams, read and unread.
//! Requests come over a UNIX socket, because a server whose streams are not read cannot say its port.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::rig::{Answer, PATIENCE, folder, request, until};

const APP: &str = r##"
get("/") { "answered" }
get("/puts") { 10_000.times { |i| puts "#{i} #{"x" * 512}" }; "put" }
get("/some") { 5_000.times { |i| puts "#{i} #{"x" * 512}" }; "some" }
get("/log") { 10_000.times { |i| log.info "#{i} #{"x" * 512}" }; "logged" }
get("/few") { print "a"; puts "b"; p :c; log.warn "one"; log.error "two"; "few" }
"##;

/// A server whose standard streams are pipes of the test's.
struct Piped {
    child: Child,
    folder: TempDir,
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Piped {
    fn start(options: &[&str]) -> Piped {
        Piped::start_within(options, &[])
    }

    /// With variables of its environment.
    fn start_within(options: &[&str], variables: &[(&str, &str)]) -> Piped {
        let folder = folder(&[("app.rb", APP.as_bytes())]);
        let child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .args(["serve", "--workers", "1", "--listen", "unix:app.sock"])
            .args(options)
            .current_dir(folder.path())
            .env("TSUMUGI_LOG", "info")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let piped = Piped { child, folder };
        let socket = piped.socket();
        until("the server answers", || {
            ask(&socket, "/").is_some_and(|text| text == "answered")
        });
        piped
    }

    fn socket(&self) -> std::path::PathBuf {
        self.folder.path().join("app.sock")
    }

    #[track_caller]
    fn check(&self, path: &str, expected: &str) {
        assert_eq!(ask(&self.socket(), path).as_deref(), Some(expected));
    }

    /// Ends the server as an operator does; answers its exit code.
    fn end(&mut self) -> Option<i32> {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

fn ask(socket: &Path, path: &str) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request("GET", path, "").as_bytes()).ok()?;
    Some(Answer::read(stream).text())
}

fn text(mut stream: impl Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn server_with_unread_streams_answers_and_ends() {
    let mut piped = Piped::start(&["--access-log", "-"]);
    for _ in 0..2 {
        piped.check("/puts", "put");
        piped.check("/log", "logged");
    }
    piped.check("/", "answered");
    assert_eq!(piped.end(), Some(0));
}

#[test]
fn dropped_lines_are_counted_and_reported_when_the_stream_is_read_again() {
    let mut piped = Piped::start(&[]);
    for _ in 0..2 {
        piped.check("/puts", "put");
    }
    let output = piped.child.stdout.take().unwrap();
    let output = std::thread::spawn(|| text(output));
    let mut errors = std::io::BufReader::new(piped.child.stderr.take().unwrap());
    let dropped = loop {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut errors, &mut line).unwrap() > 0);
        if let Some((before, _)) =
            line.split_once(" lines were dropped: standard output is not read")
        {
            break before.rsplit(' ').next().unwrap().parse::<usize>().unwrap();
        }
    };
    assert_eq!(piped.end(), Some(0));
    assert_eq!(output.join().unwrap().lines().count() + dropped, 20_000);
}

#[test]
fn closed_streams_do_not_end_the_server() {
    let mut piped = Piped::start(&["--access-log", "-"]);
    drop(piped.child.stdout.take());
    drop(piped.child.stderr.take());
    for _ in 0..2 {
        piped.check("/few", "few");
        piped.check("/log", "logged");
    }
    assert_eq!(piped.end(), Some(0));
}

#[test]
fn lines_come_in_order_and_none_is_lost_at_the_end() {
    let mut piped = Piped::start(&[]);
    let output = piped.child.stdout.take().unwrap();
    let output = std::thread::spawn(|| text(output));
    let errors = piped.child.stderr.take().unwrap();
    let errors = std::thread::spawn(|| text(errors));
    for _ in 0..50 {
        piped.check("/few", "few");
    }
    piped.check("/some", "some");
    assert_eq!(piped.end(), Some(0));
    let mut expected = "ab\n:c\n".repeat(50);
    for number in 0..5_000 {
        writeln!(expected, "{number} {}", "x".repeat(512)).unwrap();
    }
    assert!(output.join().unwrap() == expected);
    let errors = errors.join().unwrap();
    let words = errors.lines().filter_map(|line| {
        let known = |word: &&str| line.contains(&format!("app: {word} request_id="));
        ["one", "two"].into_iter().find(known)
    });
    assert_eq!(words.collect::<Vec<_>>(), ["one", "two"].repeat(50));
}

#[test]
fn request_is_a_short_line_in_development_and_json_where_the_log_is() {
    for (format, expected) in [("text", "GET /few 200 "), ("json", "{\"time\":")] {
        let mut piped = Piped::start_within(&["--dev"], &[("TSUMUGI_LOG_FORMAT", format)]);
        let output = piped.child.stdout.take().unwrap();
        let errors = piped.child.stderr.take().unwrap();
        let output = std::thread::spawn(move || text(output));
        let errors = std::thread::spawn(move || text(errors));
        piped.check("/few", "few");
        assert_eq!(piped.end(), Some(0));
        let output = output.join().unwrap();
        let line = output.lines().find(|line| line.contains("/few"));
        let line = line.unwrap_or_else(|| panic!("{output}"));
        assert!(line.starts_with(expected), "{line}");
        assert_eq!(line.ends_with(" ms"), format == "text", "{line}");
        errors.join().unwrap();
    }
}
