//! What several versions of a program have together while they follow each other: stores, sockets, a socket's path. One version has a store at a
//! time, whoever is slow, is killed or comes too early, and an old version never comes back by itself.

use std::collections::HashSet;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tsumugi_testkit::Dice;

use crate::handover::command;
use crate::rig::{Client, PATIENCE, Site, pause};

const APP: &str = r##"
plugin(:store) { KV.open "data/store" }
plugin(:recent) { KV.open "memory:recent" }
get("/add") { store.incr("n").to_s }
get("/slow") { sleep 0.15; store.incr("n").to_s }
get("/n") { store.number("n").to_s }
get("/recent") { recent.incr("n").to_s }
get "/late" do
  begin
    loop { store.incr("late"); sleep 0.05 }
  rescue KV::Locked => error
    error.message
  end
end
get "/flood" do
  stream("application/octet-stream") { |out| loop { out << "x" * 65_536 } }
end
"##;

fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let handover = [
        "--handover",
        "handover.sock",
        "--limit",
        "handover_idle_ms=100",
    ];
    [&handover[..], more].concat()
}

/// A connection whose client asks for something that has no end, and reads nothing of it.
fn flooded(site: &Site) -> Client {
    let mut client = site.connect();
    client.send("GET", "/flood", "", "");
    while !client.has_answer() {
        pause(5);
    }
    client
}

#[test]
fn store_goes_on_while_a_client_of_the_old_version_on_http2_does_not_answer() {
    let arguments = arguments(&["--limit", "handover_store_ms=300000"]);
    let mut old = Site::start_with(APP, &arguments);
    old.check("/add", "1");
    // It says what every client says first, and never again anything.
    let mut silent = TcpStream::connect(old.address).unwrap();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    silent.write_all(preface).unwrap();
    pause(100);
    let new = old.bind_beside(&arguments);
    new.expect_log("serving");
    let (reply, took) = new.timed("/add");
    assert_eq!(reply.text(), "2", "{}", old.log());
    // Long before `handover_store_ms`.
    assert!(took < PATIENCE, "{took:?}");
    assert!(!old.has_ended(), "it waits for a client that may answer");
    old.expect_log("stores on disk were let go");
    drop(silent);
    assert_eq!(old.exit_code(), 0, "{}", old.log());
}

#[test]
fn store_is_let_go_after_its_limit_and_requests_that_run_longer_are_told_why() {
    let arguments = arguments(&[
        "--limit",
        "handover_store_ms=1000",
        "--limit",
        "drain_ms_max=5000",
    ]);
    let mut old = Site::start_with(APP, &arguments);
    old.check("/add", "1");
    let _slow = flooded(&old);
    let mut late = old.connect();
    late.send("GET", "/late", "", "");
    pause(100);
    let new = old.bind_beside(&arguments);
    new.expect_log("serving");
    let (reply, took) = new.timed("/add");
    assert_eq!(reply.text(), "2", "{}", new.log());
    assert!(took < PATIENCE, "{took:?}");
    old.expect_log("(handover_store_ms)");
    let told = late.receive().text();
    assert!(told.contains("took over from this one"), "{told}");
    assert!(told.contains("handover_store_ms"), "{told}");
    new.check("/add", "3");
    // It is not drained in time, which a supervisor is not to mend by starting it again.
    assert_eq!(old.exit_code(), 0, "{}", old.log());
    old.expect_log("not drained in time (drain_ms_max)");
}

#[test]
fn version_that_has_handed_over_exits_with_0_also_when_it_is_ended_at_once() {
    let arguments = arguments(&["--limit", "handover_store_ms=200"]);
    let mut old = Site::start_with(APP, &arguments);
    let _slow = flooded(&old);
    let mut new = old.bind_beside(&arguments);
    new.expect_log("a database was taken over");
    old.signal(Signal::SIGTERM);
    pause(100);
    assert!(!old.has_ended());
    old.signal(Signal::SIGTERM);
    assert_eq!(old.exit_code(), 0, "{}", old.log());
    old.expect_log("ending at once");
    // One that nobody has replaced says that it was ended by force.
    let _slow = flooded(&new);
    new.signal(Signal::SIGTERM);
    pause(100);
    new.signal(Signal::SIGTERM);
    assert_eq!(new.exit_code(), 1, "{}", new.log());
}

#[test]
fn third_version_waits_until_the_second_has_got_the_store_of_the_first() {
    let arguments = arguments(&["--limit", "handover_store_ms=1500"]);
    let mut first = Site::start_with(APP, &arguments);
    first.check("/add", "1");
    let slow = flooded(&first);
    let mut second = first.bind_beside(&arguments);
    second.expect_log("serving");
    let third = second.bind_beside(&arguments);
    third.expect_log("serving");
    third.check("/add", "2");
    second.expect_log("a database was taken over");
    third.expect_log("a database was taken over");
    assert_eq!(second.exit_code(), 0, "{}", second.log());
    assert!(!first.has_ended(), "its client is slow still");
    drop(slow);
    assert_eq!(first.exit_code(), 0, "{}", first.log());
    third.check("/add", "3");
}

#[test]
fn third_version_is_refused_when_the_store_of_the_first_does_not_come() {
    let arguments = arguments(&["--limit", "handover_store_ms=20000"]);
    let mut first = Site::start_with(APP, &arguments);
    let slow = flooded(&first);
    let second = first.bind_beside(&arguments);
    second.expect_log("serving");
    let mut third = second.bind_beside_refused(&arguments);
    assert_eq!(third.exit_code(), 1);
    third.expect_log("has not got the stores of the process before it yet");
    drop(slow);
    assert_eq!(first.exit_code(), 0, "{}", first.log());
    second.check("/add", "1");
}

#[test]
fn version_that_comes_after_a_killed_one_waits_for_the_store_of_the_one_before_that() {
    let arguments = arguments(&["--limit", "handover_store_ms=2000"]);
    let mut first = Site::start_with(APP, &arguments);
    first.check("/add", "1");
    let slow = flooded(&first);
    let second = first.bind_beside(&arguments);
    second.expect_log("serving");
    first.expect_log("draining");
    // It had not got the store yet.
    drop(second);
    let third = first.bind_beside(&arguments);
    third.expect_log("another process has a database, which is waited for");
    third.expect_log("serving");
    third.check("/add", "2");
    assert!(!first.has_ended(), "its client is slow still");
    drop(slow);
    assert_eq!(first.exit_code(), 0, "{}", first.log());
}

#[test]
fn store_that_the_old_version_opens_now_and_then_is_its_own_until_it_is_replaced() {
    let app = "get('/add') { KV.open('data/store').incr('n').to_s }\n\
               get('/collect') { GC.start; 'collected' }\n";
    let arguments = arguments(&[]);
    let old = Site::start_with(app, &arguments);
    old.check("/add", "1");
    old.write(
        "app.rb",
        "plugin(:store) { KV.open 'data/store' }\nsleep 60\n",
    );
    let new = old.bind_beside(&arguments);
    for number in 2..40 {
        old.check("/collect", "collected");
        pause(10);
        old.check("/add", &number.to_string());
    }
    drop(new);
    old.expect_log("has gone before it served");
    old.check("/add", "40");
}

#[test]
fn store_in_memory_that_is_served_to_clients_stays_the_old_versions_until_the_new_one_serves() {
    let app = |rest: &str| {
        format!(
            "plugin(:recent) {{ KV.open 'memory:recent' }}\n\
             get('/n') {{ recent.number('n').to_s }}\n{rest}\n"
        )
    };
    let arguments = arguments(&[
        "--kv-listen",
        "unix:kv.sock",
        "--kv-database",
        "memory:recent#durability=memory",
    ]);
    let mut old = Site::start_with(&app(""), &arguments);
    let add = || {
        let words = ["kv", "increment", "n", "--address", "unix:kv.sock"];
        let (code, text) = command(&old, &words, "");
        assert_eq!(code, 0, "{text}");
    };
    old.write("app.rb", &app("sleep 1.5\nraise 'not today'"));
    let mut new = old.bind_beside(&arguments);
    let mut count = 0;
    while !new.has_ended() {
        add();
        count += 1;
    }
    new.expect_log("not today");
    assert!(count > 3, "{count}");
    old.check("/n", &count.to_string());
    old.write("app.rb", &app(""));
    let new = old.bind_beside(&arguments);
    new.expect_log("serving");
    assert_eq!(old.exit_code(), 0, "{}", old.log());
    let words = ["kv", "increment", "n", "--address", "unix:kv.sock"];
    let (code, text) = command(&new, &words, "");
    assert_eq!((code, text.trim()), (0, "1"));
    new.check("/n", "1");
}

#[test]
fn service_of_a_store_is_found_by_others_after_a_handover() {
    let arguments = arguments(&["--kv-listen", "unix:kv.sock", "--kv-database", "data/store"]);
    let mut old = Site::start_with(APP, &arguments);
    old.check("/add", "1");
    for _ in 0..2 {
        let new = old.bind_beside(&arguments);
        new.expect_log("a database was taken over");
        assert_eq!(old.exit_code(), 0, "{}", old.log());
        let (code, text) = command(&new, &["console"], "store.number('n')\n");
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("=> 1\n"), "{text}");
        old = new;
    }
    old.signal(Signal::SIGTERM);
    assert_eq!(old.exit_code(), 0, "{}", old.log());
    assert!(!old.folder().join("data/store/service").exists());
}

/// A server that is started with a socket as its descriptor 3, and its log in a file.
fn activated(folder: &Path, listener: &TcpListener) -> Child {
    let script = "export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=web; \
                  exec \"$0\" serve app.rb --listen fd:web --workers 2 --handover handover.sock \
                  --limit handover_idle_ms=100 3<&0 0</dev/null";
    let socket = OwnedFd::from(listener.try_clone().unwrap());
    Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tsumugi")])
        .current_dir(folder)
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How many descriptors of this process are what `name` links to.
fn descriptors(process: u32, name: &Path) -> usize {
    let folder = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let links = folder.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| link == name).count()
}

#[test]
fn sockets_that_systemd_passes_by_name_go_along_and_do_not_become_more() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let link = format!("/proc/self/fd/{}", listener.as_raw_fd());
    let name = std::fs::read_link(link).unwrap();
    let mut before: Option<Child> = None;
    let mut counts = Vec::new();
    for version in 0..4 {
        let app = format!("get('/version') {{ '{version}' }}\n");
        std::fs::write(folder.path().join("app.rb"), app).unwrap();
        let child = activated(folder.path(), &listener);
        let since = Instant::now();
        while Client::new(address).get("/version").text() != version.to_string() {
            assert!(since.elapsed() < PATIENCE, "version {version}");
            pause(10);
        }
        if let Some(mut before) = before.replace(child) {
            assert!(before.wait().unwrap().success());
        }
        let process = before.as_ref().map_or(0, Child::id);
        counts.push(descriptors(process, &name));
    }
    let last = before.as_mut().unwrap();
    last.kill().unwrap();
    last.wait().unwrap();
    assert!(counts[0] > 0);
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

/// What `tsumugi serve` says that is started by a line of the shell, with further words as its arguments.
fn said_by_shell(folder: &Path, line: &str, words: &[&str]) -> String {
    let output = Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_tsumugi")])
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn more_sockets_than_systemd_may_pass_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.rb"), APP).unwrap();
    let said = |count: usize| {
        let line = format!(
            "export LISTEN_PID=$$ LISTEN_FDS={count}; exec \"$0\" serve app.rb --listen fd:web"
        );
        said_by_shell(folder.path(), &line, &[])
    };
    // As many as there may be are looked for.
    assert!(
        said(1_024).contains("as number 0 of LISTEN_FDS"),
        "{}",
        said(1_024)
    );
    assert!(
        said(1_025).contains("at most 1024 sockets (passed_sockets_max)"),
        "{}",
        said(1_025)
    );
}

#[test]
fn sockets_beyond_the_soft_limit_of_open_files_are_taken() {
    let before = arguments(&["--listen", "127.0.0.1:0", "--workers", "24"]);
    let mut old = Site::start_with("get('/') { 'old' }\n", &before);
    let folder = old.folder().to_owned();
    old.write("app.rb", "raise 'it has the sockets'\n");
    let address = old.address.to_string();
    let words = [
        &[
            "serve",
            "app.rb",
            "--workers",
            "1",
            "--listen",
            address.as_str(),
        ][..],
        &arguments(&[]),
    ]
    .concat();
    let said = said_by_shell(&folder, "ulimit -Sn 40; exec \"$0\" \"$@\"", &words);
    assert!(said.contains("it has the sockets"), "{said}");
    old.check("/", "old");
    old.signal(Signal::SIGTERM);
    assert_eq!(old.exit_code(), 0, "{}", old.log());
}

#[test]
fn version_with_other_options_and_another_application_takes_over_what_it_has_in_common() {
    let before = arguments(&["--listen", "unix:before.sock", "--workers", "3"]);
    let after = arguments(&["--listen", "unix:after.sock", "--workers", "1"]);
    let mut old = Site::start_with(APP, &before);
    old.check("/add", "1");
    let folder = old.folder().to_owned();
    old.write("app.rb", "get('/') { 'another one' }\n");
    let mut new = old.bind_beside(&after);
    new.expect_log("nothing listens on unix:before.sock any more");
    new.expect_log("serving");
    assert_eq!(old.exit_code(), 0, "{}", old.log());
    for _ in 0..20 {
        new.check("/", "another one");
    }
    assert!(UnixStream::connect(folder.join("after.sock")).is_ok());
    assert!(!folder.join("before.sock").exists(), "it stays behind");
    // Back again.
    old.write("app.rb", APP);
    let last = new.bind_beside(&before);
    last.expect_log("serving");
    assert_eq!(new.exit_code(), 0, "{}", new.log());
    last.check("/add", "2");
    assert!(!folder.join("after.sock").exists(), "it stays behind");
}

#[test]
fn path_that_a_killed_process_has_left_is_taken_and_anything_else_there_is_not() {
    let arguments = arguments(&[]);
    let mut old = Site::start_with(APP, &arguments);
    let path = old.folder().join("handover.sock");
    old.signal(Signal::SIGKILL);
    while !old.has_ended() {
        pause(5);
    }
    assert!(path.exists());
    let new = old.bind_beside(&arguments);
    new.expect_log("serving");
    new.check("/add", "1");
    drop(new);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "the only copy of something").unwrap();
    let mut refused = old.bind_beside_refused(&arguments);
    assert_eq!(refused.exit_code(), 1, "{}", refused.log());
    refused.expect_log("handover.sock");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "the only copy of something");
}

/// Clients that try again when there is no answer, and what they were told.
#[derive(Default)]
struct PatientClients {
    is_over: AtomicBool,
    /// Additions that may or may not have taken place.
    uncertain: AtomicU64,
    /// Numbers that additions were answered with.
    numbers: Mutex<Vec<u64>>,
    errors: Mutex<Vec<String>>,
}

impl PatientClients {
    fn answered(&self) -> usize {
        self.numbers.lock().unwrap().len()
    }

    /// Asks until the end, on connections that are kept or on new ones.
    fn ask(&self, address: SocketAddr, path: &str, keeps: bool) {
        let mut kept: Option<Client> = None;
        while !self.is_over.load(Relaxed) {
            let Some(mut client) = kept.take().or_else(|| Client::try_new(address)) else {
                // Nobody listens.
                pause(5);
                continue;
            };
            let Some(reply) = client.try_get(path) else {
                self.uncertain.fetch_add(1, Relaxed);
                continue;
            };
            match (reply.status, reply.text().parse()) {
                (200, Ok(number)) if path != "/recent" => {
                    self.numbers.lock().unwrap().push(number);
                }
                (200, Ok(_)) => {}
                (status, _) => {
                    let error = format!("{path}: {status} {}", reply.text());
                    self.errors.lock().unwrap().push(error);
                }
            }
            if keeps && reply.header("connection") != Some("close") {
                kept = Some(client);
            }
        }
    }
}

/// Ends the clients, also where the test fails.
struct EndGuard<'a>(&'a AtomicBool);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Versions of a program in one folder, the youngest last.
struct Versions<'a> {
    arguments: &'a [&'a str],
    alive: Vec<Site>,
    /// For the folder and the address.
    gone: Vec<Site>,
    history: Vec<String>,
}

impl Versions<'_> {
    /// Starts one more.
    fn start(&mut self) {
        let known = self.alive.last().or(self.gone.last()).unwrap();
        let next = known.bind_beside_refused(self.arguments);
        self.note("start", next.process());
        self.alive.push(next);
    }

    fn signal(&mut self, place: usize, signal: Signal) {
        let site = &mut self.alive[place];
        if !site.has_ended() {
            site.signal(signal);
        }
        let process = site.process();
        self.note(signal.as_str(), process);
    }

    fn note(&mut self, what: &str, process: u32) {
        self.history.push(format!("{what} {process}"));
    }

    /// Counts those that have ended among the gone, and has one there in any case, as a supervisor does.
    fn settle(&mut self) {
        let mut place = 0;
        while place < self.alive.len() {
            if self.alive[place].has_ended() {
                let ended = self.alive.remove(place);
                self.note("ended", ended.process());
                self.gone.push(ended);
            } else {
                place += 1;
            }
        }
        if self.alive.is_empty() {
            self.start();
        }
    }

    fn step(&mut self, dice: &Dice) {
        self.settle();
        let place = dice.place(self.alive.len());
        match dice.below(12) {
            0..=4 if self.alive.len() < 4 => self.start(),
            5 => self.signal(place, Signal::SIGKILL),
            6 => self.signal(place, Signal::SIGTERM),
            7 => self.signal(place, Signal::SIGHUP),
            _ => pause(dice.below(400)),
        }
        pause(dice.below(60));
    }

    /// Waits until there is one that goes on answering; whether there comes one.
    fn come_to_rest(&mut self, clients: &PatientClients) -> bool {
        let since = Instant::now();
        let mut seen = (0, 0);
        while since.elapsed() < Duration::from_secs(60) {
            self.settle();
            let last = self.alive.last().unwrap();
            let now = (last.process(), clients.answered());
            if self.alive.len() > 1 || now.0 != seen.0 {
                seen = now;
            }
            if now.1 >= seen.1 + 20 {
                return true;
            }
            pause(20);
        }
        false
    }

    /// What all of them said, for a test that fails.
    fn told(&self) -> String {
        let sites = self.gone.iter().chain(&self.alive);
        let logs = sites.map(|site| format!("--- {}\n{}", site.process(), site.log()));
        let logs: Vec<String> = logs.collect();
        format!("{}\n{}", self.history.join(", "), logs.join("\n"))
    }
}

/// Whatever becomes of the versions, a store on disk is one process's at a time and holds what was acknowledged.
fn check_succession(seed: u64) {
    let dice = Dice::new(seed);
    let arguments = arguments(&[
        "--limit",
        "handover_store_ms=2000",
        "--limit",
        "drain_ms_max=4000",
        "--workers",
        "2",
    ]);
    let first = Site::start_with(APP, &arguments);
    let address = first.address;
    let clients = PatientClients::default();
    let mut versions = Versions {
        arguments: &arguments,
        alive: vec![first],
        gone: Vec::new(),
        history: Vec::new(),
    };
    thread::scope(|scope| {
        scope.spawn(|| clients.ask(address, "/add", true));
        scope.spawn(|| clients.ask(address, "/add", false));
        scope.spawn(|| clients.ask(address, "/slow", true));
        scope.spawn(|| clients.ask(address, "/slow", false));
        scope.spawn(|| clients.ask(address, "/recent", true));
        let _guard = EndGuard(&clients.is_over);
        let mut slow = Vec::new();
        for _ in 0..25 {
            if dice.one_in(5)
                && let Some(mut client) = Client::try_new(address)
                && client.try_ask("/flood").is_some()
            {
                // It reads nothing of what it has asked for.
                slow.push(client);
            }
            versions.step(&dice);
        }
        // From here on nobody does anything.
        if !versions.come_to_rest(&clients) {
            panic!("seed {seed}: they do not settle: {}", versions.told());
        }
    });
    let numbers = clients.numbers.into_inner().unwrap();
    let errors = clients.errors.into_inner().unwrap();
    assert_eq!(
        errors,
        Vec::<String>::new(),
        "seed {seed}: {}",
        versions.told()
    );
    let distinct: HashSet<u64> = numbers.iter().copied().collect();
    assert_eq!(
        distinct.len(),
        numbers.len(),
        "seed {seed}: two had the store: {}",
        versions.told()
    );
    let count: u64 = versions.alive[0].get("/n").text().parse().unwrap();
    let least = numbers.len() as u64;
    let most = least + clients.uncertain.load(Relaxed);
    assert!(
        (least..=most).contains(&count),
        "seed {seed}: {count} of {least} to {most}: {}",
        versions.told()
    );
}

#[test]
fn versions_that_start_end_and_are_killed_at_any_time_lose_nothing() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.parse().unwrap())
    };
    let first = number("SUCCESSION_SEED", 1);
    for seed in first..first + number("SUCCESSION_ROUNDS", 3) {
        check_succession(seed);
    }
}
