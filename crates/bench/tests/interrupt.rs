//! A bench that a signal ends: it leaves no program behind, and until then each is in a session of its own. The server under load is a shell
//! that starts another program; this test answers in its place, on the port that it was given.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Its arguments are `serve FILE --listen ADDRESS …`. It says where it should listen, and who it and its child are.
const SERVER: &str = "#!/bin/sh
sleep 600 &
echo \"$$ $! $4\" >>\"${0%/*}/servers\"
wait
";

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello\n";
/// Requests after which the load is under way.
const UNDER_LOAD: usize = 1_000;
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Number, parent and session of every process that runs.
fn processes() -> Vec<(u32, u32, u32)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let found = numbers.filter_map(|number| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let is_gone = matches!(fields[0], "Z" | "X");
        (!is_gone).then(|| {
            (
                number,
                fields[1].parse().unwrap(),
                fields[3].parse().unwrap(),
            )
        })
    });
    found.collect()
}

fn children(parent: u32) -> Vec<u32> {
    let all = processes().into_iter();
    let of_it = all.filter(|(_, other, _)| *other == parent);
    of_it.map(|(number, ..)| number).collect()
}

fn session(number: u32) -> u32 {
    let all = processes();
    let found = all.iter().find(|(other, ..)| *other == number);
    found.unwrap_or_else(|| panic!("{number} has ended")).2
}

fn family(number: u32, members: &mut BTreeSet<u32>) {
    members.insert(number);
    children(number)
        .into_iter()
        .for_each(|child| family(child, members));
}

/// Waits for something.
fn wait<T>(what: &str, mut happened: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = happened() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain for {what}");
        thread::park_timeout(Duration::from_millis(20));
    }
}

/// Answers whatever is asked, on each connection, and counts.
fn answer(mut stream: TcpStream, answered: &AtomicUsize) {
    let mut room = [0; 4096];
    let mut asked = Vec::new();
    while let Ok(read @ 1..) = stream.read(&mut room) {
        asked.extend_from_slice(&room[..read]);
        while let Some(end) = asked.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            asked.drain(..end + 4);
            if stream.write_all(ANSWER).is_err() {
                return;
            }
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Listens at the addresses that the shells recorded.
fn serve(folder: &Path, answered: &Arc<AtomicUsize>) {
    let servers = folder.join("servers");
    let mut served = 0;
    while folder.is_dir() {
        let lines = fs::read_to_string(&servers).unwrap_or_default();
        for line in lines.lines().skip(served) {
            let address = line.rsplit_once(' ').unwrap().1;
            let listener = TcpListener::bind(address).unwrap();
            let answered = Arc::clone(answered);
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let answered = Arc::clone(&answered);
                    thread::spawn(move || answer(stream, &answered));
                }
            });
            served += 1;
        }
        thread::park_timeout(Duration::from_millis(20));
    }
}

fn check(signal: Signal) {
    let folder = tempfile::tempdir().unwrap();
    let server = folder.path().join("server");
    fs::write(&server, SERVER).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let answered = Arc::new(AtomicUsize::new(0));
    let (path, count) = (folder.path().to_owned(), Arc::clone(&answered));
    thread::spawn(move || serve(&path, &count));
    let mut bench = Command::new(env!("CARGO_BIN_EXE_tsumugi-bench"));
    bench.args(["http", "--quick", "--server"]).arg(&server);
    let mut bench = bench
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait("the load", || {
        (answered.load(Ordering::Relaxed) >= UNDER_LOAD).then_some(())
    });

    assert_eq!(session(bench.id()), session(std::process::id()));
    let [load] = children(bench.id())[..] else {
        panic!("the bench makes the load in one program of its own");
    };
    assert_eq!(session(load), load);
    let programs = children(load);
    assert!(!programs.is_empty());
    for program in &programs {
        assert_eq!(session(*program), *program);
    }
    let mut started = BTreeSet::new();
    family(load, &mut started);
    assert!(started.len() > 1 + programs.len(), "each shell has a child");

    kill(Pid::from_raw(bench.id().try_into().unwrap()), signal).unwrap();
    let status = wait("the end of the bench", || bench.try_wait().unwrap());
    assert_eq!(status.code(), Some(130), "{signal}");
    wait("the end of what it started", || {
        let left = processes().into_iter();
        let mut left = left.filter(|(number, ..)| started.contains(number));
        left.next().is_none().then_some(())
    });
}

#[test]
fn interrupted_bench_leaves_no_program_behind() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        check(signal);
    }
}
