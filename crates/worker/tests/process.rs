//! A whole server process: signals, exit codes, and a shortage of file descriptors. The process is this program again, as the example
//! `echo`, so that what is tested is what was just built.

#[path = "../examples/echo.rs"]
#[allow(dead_code)] // its `main`
mod echo;
mod support;

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use support::{Client, PATIENCE, until};

struct Echo {
    child: Child,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Echo {
    /// Starts the example through a shell that runs `before` first.
    fn start(before: &str, more: &[&str]) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", &format!("{before} exec \"$@\""), "sh"])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "process_serves_until_a_signal_ends_it",
                "--nocapture",
            ])
            .env(LISTEN, [&["127.0.0.1:0"][..], more].concat().join(" "))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        // What comes before is of the frame that runs tests.
        let mut lines = output.by_ref().lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()));
        let address = address.expect("the server did not start").parse().unwrap();
        let mut echo = Self {
            child,
            output,
            address,
        };
        echo.expect("loaded on worker 0");
        echo
    }

    fn expect(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "the server ended before: {text}"
            );
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    fn connect(&self) -> Client {
        Client::tcp(self.address).unwrap()
    }

    fn exit_code(&mut self) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().expect("ended by a signal");
            }
            assert!(start.elapsed() < PATIENCE, "the server did not end");
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }

    /// CPU time that the process has used, in clock ticks of 10 ms.
    fn cpu_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        fields
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<u64>().unwrap())
            .sum()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the process listens that a test starts.
const LISTEN: &str = "TSUMUGI_TEST_LISTEN";

#[test]
fn process_serves_until_a_signal_ends_it() {
    // In the process that the other tests start.
    if let Ok(addresses) = std::env::var(LISTEN) {
        let code = echo::serve(addresses.split(' ').map(str::to_owned)).unwrap();
        std::process::exit(code.into());
    }
    let mut echo = Echo::start("", &[]);
    let mut client = echo.connect();
    client.send("line");
    assert_eq!(client.line().unwrap(), "line");
    echo.signal(Signal::SIGTERM);
    assert_eq!(echo.exit_code(), 0);
}

#[test]
fn sigterm_that_the_parent_blocks_ends_the_process_all_the_same() {
    // A child begins with what the thread blocks that starts it.
    let start = || {
        SigSet::from(Signal::SIGTERM).thread_block().unwrap();
        Echo::start("", &[])
    };
    let mut echo = std::thread::spawn(start).join().unwrap();
    echo.signal(Signal::SIGTERM);
    assert_eq!(echo.exit_code(), 0);
}

#[test]
fn the_first_sigterm_lets_requests_finish_and_exits_with_0() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("echo.sock");
    let mut echo = Echo::start("", &[&format!("unix:{}", socket.display())]);
    let mut client = echo.connect();
    client.send("sleep 400");
    std::thread::park_timeout(Duration::from_millis(200));
    echo.signal(Signal::SIGTERM);
    until(|| Client::tcp(echo.address).is_err());
    assert_eq!(client.line().unwrap(), "sleep 400");
    assert_eq!(echo.exit_code(), 0);
    assert!(!socket.exists());
}

#[test]
fn the_second_signal_ends_at_once_with_1() {
    for (first, second) in [
        (Signal::SIGTERM, Signal::SIGTERM),
        (Signal::SIGINT, Signal::SIGTERM),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("echo.sock");
        let mut echo = Echo::start("", &[&format!("unix:{}", socket.display())]);
        let mut client = echo.connect();
        client.send("sleep 60000");
        std::thread::park_timeout(Duration::from_millis(200));
        echo.signal(first);
        until(|| Client::tcp(echo.address).is_err());
        assert!(echo.child.try_wait().unwrap().is_none());
        echo.signal(second);
        assert_eq!(echo.exit_code(), 1);
        assert!(!socket.exists());
    }
}

#[test]
fn sighup_reloads_and_open_connections_go_on() {
    let mut echo = Echo::start("", &[]);
    let mut client = echo.connect();
    client.send("before");
    assert_eq!(client.line().unwrap(), "before");
    echo.signal(Signal::SIGHUP);
    echo.expect("loaded on worker 0");
    client.send("after");
    assert_eq!(client.line().unwrap(), "after");
    echo.signal(Signal::SIGTERM);
    assert_eq!(echo.exit_code(), 0);
}

#[test]
fn a_shortage_of_file_descriptors_neither_spins_nor_ends_the_server() {
    let echo = Echo::start("ulimit -n 48;", &[]);
    let mut first = echo.connect();
    first.send("first");
    assert_eq!(first.line().unwrap(), "first");
    let mut clients: Vec<_> = (0..64).map(|_| echo.connect()).collect();
    first.send("still");
    assert_eq!(first.line().unwrap(), "still");
    let before = echo.cpu_ticks();
    std::thread::park_timeout(Duration::from_secs(1));
    assert!(echo.cpu_ticks() - before < 50, "it spins");
    let mut last = clients.pop().unwrap();
    drop((first, clients));
    last.send("last");
    assert_eq!(last.line().unwrap(), "last");
}
