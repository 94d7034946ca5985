//! A new version of the program takes the place of the old one: nobody who asks is refused or left without an answer, and what goes wrong
//! with the new one is none of the old one's business.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tsumugi_testkit::Dice;

use crate::rig::{Client, PATIENCE, Site, pause};

const APP: &str = r##"
every(0.05) { log.info "tick VERSION." }
get("/version") { "VERSION" }
get "/events" do
  events { |out| 2000.times { |i| out.event({ i: i }); sleep 0.01 } }
end
"##;

/// A client whose thread gets no turn for a while on a busy machine is not idle.
const HANDOVER: [&str; 4] = [
    "--handover",
    "handover.sock",
    "--limit",
    "handover_idle_ms=2000",
];

fn version(number: usize) -> String {
    APP.replace("VERSION", &number.to_string())
}

fn ask_over_unix(socket: &Path, path: &str) -> std::io::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Clients that go on until they are told to end, and what they saw.
#[derive(Default)]
struct Load {
    over: AtomicBool,
    answers: AtomicUsize,
    lost: Mutex<Vec<String>>,
}

impl Load {
    fn goes_on(&self) -> bool {
        !self.over.load(Relaxed) && self.lost.lock().unwrap().is_empty()
    }

    fn lose(&self, what: impl Into<String>) {
        self.lost.lock().unwrap().push(what.into());
    }

    /// Waits until so many further requests are answered.
    #[track_caller]
    fn answered_more(&self, count: usize) {
        let seen = self.answers.load(Relaxed);
        let since = Instant::now();
        while self.answers.load(Relaxed) < seen + count {
            assert!(since.elapsed() < PATIENCE, "no answers come any more");
            assert!(self.goes_on(), "{:?}", self.lost.lock().unwrap());
            pause(5);
        }
    }

    /// Asks on one connection as long as the server keeps it.
    fn keep_alive(&self, address: SocketAddr, path: &str) {
        let mut kept: Option<Client> = None;
        while self.goes_on() {
            let client = kept.get_or_insert_with(|| Client::new(address));
            client.send("GET", path, "", "");
            match client.try_receive() {
                Some(reply) if reply.status == 200 => {
                    self.answers.fetch_add(1, Relaxed);
                    if reply.header("connection") == Some("close") {
                        kept = None;
                    }
                }
                Some(reply) => self.lose(format!("{path}: {} {}", reply.status, reply.text())),
                None => self.lose(format!("{path}: no answer on a connection that was kept")),
            }
        }
    }

    /// Asks on a new connection each time.
    fn connect_anew(&self, address: SocketAddr, path: &str) {
        while self.goes_on() {
            let mut client = Client::new(address);
            client.send("GET", path, "connection: close\r\n", "");
            match client.try_receive() {
                Some(reply) if reply.status == 200 => {
                    self.answers.fetch_add(1, Relaxed);
                }
                other => self.lose(format!("{path}: {other:?} on a new connection")),
            }
        }
    }

    fn over_unix(&self, socket: &Path, path: &str) {
        while self.goes_on() {
            match ask_over_unix(socket, path) {
                Ok(answer) if answer.starts_with("HTTP/1.1 200") => {
                    self.answers.fetch_add(1, Relaxed);
                }
                other => self.lose(format!("{path}: {other:?} over a UNIX socket")),
            }
        }
    }

    /// Asks on one connection of HTTP/2 until it is told to go to another one.
    fn http2(&self, address: SocketAddr, path: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        while self.goes_on() {
            let asked = runtime.block_on(self.http2_connection(address, path));
            if let Err(error) = asked {
                self.lose(format!("{path}: {error} on HTTP/2"));
            }
        }
    }

    async fn http2_connection(
        &self,
        address: SocketAddr,
        path: &str,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let stream = tokio::net::TcpStream::connect(address).await?;
        let (mut sender, connection) = h2::client::handshake(stream).await?;
        let connection = tokio::spawn(connection);
        while self.goes_on() {
            // What was not sent is sent on another connection.
            let Ok(ready) = sender.ready().await else {
                break;
            };
            sender = ready;
            let request = http::Request::get(format!("http://{address}{path}")).body(())?;
            let Ok((response, _)) = sender.send_request(request, true) else {
                break;
            };
            let response = match response.await {
                // The server says that it has not begun with it.
                Err(error) if error.is_go_away() => break,
                response => response?,
            };
            if response.status() != 200 {
                return Err(format!("status {}", response.status()).into());
            }
            let mut body = response.into_body();
            while let Some(piece) = body.data().await {
                let length = piece?.len();
                body.flow_control().release_capacity(length)?;
            }
            self.answers.fetch_add(1, Relaxed);
        }
        connection.abort();
        Ok(())
    }

    /// Reads events, and comes back whenever they end.
    fn events(&self, address: SocketAddr, came_back: &AtomicUsize) {
        while self.goes_on() {
            let mut client = Client::new(address);
            client.send("GET", "/events", "", "");
            let Some(reply) = client.try_receive() else {
                self.lose("a stream of events was broken off");
                return;
            };
            let text = reply.text();
            let events: Vec<&str> = text.split_terminator("\n\n").collect();
            let mut numbered = events
                .iter()
                .enumerate()
                .take(events.len().saturating_sub(1));
            let is_next =
                |(number, event): (usize, &&str)| *event == format!("data: {{\"i\":{number}}}");
            let is_whole = numbered.all(is_next);
            let hint = events
                .last()
                .is_some_and(|last| last.starts_with("retry: "));
            if !is_whole || !hint {
                self.lose(format!("events ended with {:?}", events.last()));
            }
            came_back.fetch_add(1, Relaxed);
        }
    }
}

#[test]
fn requests_are_all_answered_while_versions_follow_each_other() {
    let arguments = [
        &HANDOVER[..],
        &["--listen", "unix:app.sock", "--workers", "2"],
    ]
    .concat();
    let mut old = Site::start_with(&version(0), &arguments);
    let (address, folder) = (old.address, old.folder().to_owned());
    let socket = folder.join("app.sock");
    let load = Load::default();
    let came_back = AtomicUsize::new(0);
    thread::scope(|scope| {
        let mut asking = Vec::new();
        for _ in 0..3 {
            asking.push(scope.spawn(|| load.keep_alive(address, "/version")));
            scope.spawn(|| load.events(address, &came_back));
        }
        asking.push(scope.spawn(|| load.connect_anew(address, "/version")));
        asking.push(scope.spawn(|| load.http2(address, "/version")));
        asking.push(scope.spawn(|| load.over_unix(&socket, "/version")));
        load.answered_more(200);
        for number in 1..=3 {
            old.write("app.rb", &version(number));
            let new = old.bind_beside(&arguments);
            new.expect_log("serving");
            assert_eq!(old.exit_code(), 0, "{}", old.log());
            new.until("/version", &number.to_string());
            load.answered_more(200);
            old.expect_log("drained");
            let after = old.log();
            let after = after.split("draining").nth(1).unwrap().to_owned();
            // Some may have been due before each worker had heard of it; two seconds of timers are eighty.
            assert!(after.matches("tick").count() <= 20, "timers go on: {after}");
            let before = new.log();
            let before = before.split("serving").next().unwrap();
            assert!(!before.contains("tick"), "a timer of the new one: {before}");
            new.expect_log(&format!("tick {number}."));
            old = new;
        }
        load.over.store(true, Relaxed);
        // Nobody takes the place of the last one: who connects while it closes its listeners may be refused.
        for client in asking {
            client.join().unwrap();
        }
        // Ends the streams of events, too.
        old.signal(Signal::SIGTERM);
        assert_eq!(old.exit_code(), 0, "{}", old.log());
    });
    assert_eq!(*load.lost.lock().unwrap(), Vec::<String>::new());
    assert!(came_back.load(Relaxed) >= 3 * 3);
    for file in ["app.sock", "handover.sock"] {
        assert!(!folder.join(file).exists(), "{file} stays behind");
    }
}

#[test]
fn dashboard_answers_all_through_a_handover_and_is_that_of_the_new_version_then() {
    let arguments = [&HANDOVER[..], &["--admin", "unix:admin.sock"]].concat();
    let mut old = Site::start_with(&version(0), &arguments);
    let socket = old.folder().join("admin.sock");
    let page = "/dashboard/api/server";
    let load = Load::default();
    let new = thread::scope(|scope| {
        scope.spawn(|| load.over_unix(&socket, page));
        load.answered_more(20);
        let new = old.bind_beside(&arguments);
        new.expect_log("serving");
        assert_eq!(old.exit_code(), 0, "{}", old.log());
        load.answered_more(20);
        load.over.store(true, Relaxed);
        new
    });
    assert_eq!(*load.lost.lock().unwrap(), Vec::<String>::new());
    let answer = ask_over_unix(&socket, page).unwrap();
    let process = format!("\"process\":{}", new.process());
    assert!(answer.contains(&process), "{process} in {answer}");
}

#[test]
fn new_version_that_goes_before_it_serves_changes_nothing() {
    let mut old = Site::start_with(&version(0), &HANDOVER);
    let gone = "has gone before it served";
    let gone_times = |site: &Site| site.log().matches(gone).count();
    // It does not load.
    old.write("app.rb", "raise 'not today'\n");
    let mut new = old.bind_beside(&HANDOVER);
    assert_eq!(new.exit_code(), 1);
    new.expect_log("not today");
    old.expect_log(gone);
    old.check("/version", "0");
    // It is killed while it loads.
    old.write("app.rb", "sleep 60\n");
    let new = old.bind_beside(&HANDOVER);
    let mut late = old.bind_beside_refused(&HANDOVER);
    assert_eq!(late.exit_code(), 1, "there is one at a time");
    late.expect_log("another process is taking over already");
    drop(new);
    let since = Instant::now();
    while gone_times(&old) < 2 {
        assert!(since.elapsed() < PATIENCE, "{}", old.log());
        pause(10);
    }
    old.check("/version", "0");
    // It goes at any step of the conversation.
    let path = old.folder().join("handover.sock");
    let ask = b"TH\x01\x01\x00\x00";
    for sent in 0..=ask.len() {
        while !is_heard(&path, &ask[..sent]) {
            pause(5);
        }
        old.check("/version", "0");
    }
    // And one comes that serves.
    old.write("app.rb", &version(1));
    let new = until_taken_over(&mut old, &HANDOVER);
    new.check("/version", "1");
}

/// Says this to a server and goes; whether it was heard. It is not while the one before is still to be noticed to have gone.
fn is_heard(path: &Path, said: &[u8]) -> bool {
    let mut stream = UnixStream::connect(path).unwrap();
    let sent = stream.write_all(said);
    // It may have closed already.
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    sent.is_ok() && !String::from_utf8_lossy(&answer).contains("already")
}

/// A new version, as soon as the old one has noticed that those before it have gone.
fn until_taken_over(old: &mut Site, arguments: &[&str]) -> Site {
    let since = Instant::now();
    loop {
        let mut new = old.bind_beside_refused(arguments);
        if new.serves_or_ends() {
            assert_eq!(old.exit_code(), 0, "{}", old.log());
            return new;
        }
        assert!(since.elapsed() < PATIENCE, "{}", new.log());
    }
}

#[test]
fn nonsense_is_refused_byte_by_byte_and_the_server_goes_on() {
    let mut old = Site::start_with(&version(0), &HANDOVER);
    let path = old.folder().join("handover.sock");
    let ask = b"TH\x01\x01\x00\x00";
    let say = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(&path).unwrap();
        // It may have been refused at its first byte.
        let _ = bytes.iter().try_for_each(|byte| stream.write_all(&[*byte]));
    };
    for place in 0..ask.len() {
        for byte in [0, 1, 2, 6, 32, 127, 255] {
            let mut other = ask.to_vec();
            other[place] = byte;
            say(&other);
        }
    }
    let dice = Dice::new(7);
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..dice.below(40)).map(|_| dice.byte()).collect();
        say(&bytes);
    }
    say("GET / HTTP/1.1\r\n\r\n".as_bytes());
    old.check("/version", "0");
    old.write("app.rb", &version(1));
    let new = until_taken_over(&mut old, &HANDOVER);
    new.check("/version", "1");
}

const STORE: &str = r##"
plugin(:store) { KV.open "data/store" }
get("/add") { store.incr("n").to_s }
get("/n") { store.number("n").to_s }
get("/slow") { sleep 0.4; store["slow"] = "done"; "done" }
"##;

#[test]
fn store_on_disk_goes_to_the_new_version_with_all_that_was_acknowledged() {
    let mut old = Site::start_with(STORE, &HANDOVER);
    let address = old.address;
    let load = Load::default();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| load.keep_alive(address, "/add"));
        }
        scope.spawn(|| load.connect_anew(address, "/add"));
        load.answered_more(50);
        for _ in 0..3 {
            let mut slow = old.connect();
            slow.send("GET", "/slow", "", "");
            pause(50);
            let new = old.bind_beside(&HANDOVER);
            new.expect_log("a database was taken over");
            assert_eq!(slow.receive().text(), "done");
            assert_eq!(old.exit_code(), 0, "{}", old.log());
            load.answered_more(50);
            old = new;
        }
        load.over.store(true, Relaxed);
    });
    assert_eq!(*load.lost.lock().unwrap(), Vec::<String>::new());
    let answers = load.answers.load(Relaxed).to_string();
    old.check("/n", &answers);
}

#[test]
fn application_that_uses_its_store_while_it_loads_is_not_handed_over() {
    let old = Site::start_with(STORE, &HANDOVER);
    old.check("/add", "1");
    old.write("app.rb", &format!("{STORE}\nstore.number('n')\n"));
    let mut new = old.bind_beside(&HANDOVER);
    assert_eq!(new.exit_code(), 1);
    new.expect_log("an application that uses its store while it loads is restarted instead");
    old.check("/add", "2");
}

/// A command beside a server in the same folder.
pub fn command(site: &Site, words: &[&str], input: &str) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .args(words)
        .current_dir(site.folder())
        .env_remove("TSUMUGI_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that reads nothing may have ended.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    let text = String::from_utf8([stdout, stderr].concat()).unwrap();
    (status.code().unwrap(), text)
}

#[test]
fn commands_beside_a_running_server_leave_its_store_alone_or_use_it_through_the_server() {
    let served = ["--kv-listen", "unix:kv.sock", "--kv-database", "data/store"];
    for arguments in [&[][..], &served[..]] {
        let site = Site::start_with(STORE, arguments);
        site.check("/add", "1");
        std::fs::create_dir(site.folder().join("test")).unwrap();
        let test = "test('adds') { assert_equal '1', get('/add').body; assert_equal '2', get('/add').body }\n\
                    test('adds anew') { assert_equal '1', get('/add').body }\n";
        site.write("test/app_test.rb", test);
        for (words, expected) in [
            (&["check"][..], "ok: 3 routes"),
            (&["routes"], "/add"),
            (&["test"], "2 passed, 0 failed"),
        ] {
            let (code, text) = command(&site, words, "");
            assert_eq!(code, 0, "{words:?}: {text}");
            assert!(text.contains(expected), "{words:?}: {text}");
        }
        let line = "store.number('n')\nget('/add').status\n1 + 1\n";
        let (code, text) = command(&site, &["console"], line);
        // A line that raised makes it fail.
        assert_eq!(code, i32::from(arguments.is_empty()), "{text}");
        assert!(text.contains("=> 2"), "{text}");
        match arguments.is_empty() {
            true => assert!(text.contains("KV::Locked"), "{text}"),
            false => assert!(text.contains("=> 1\n=> 200\n"), "{text}"),
        }
        let expected = if arguments.is_empty() { "2" } else { "3" };
        site.check("/add", expected);
    }
}

#[test]
fn command_that_looks_neither_makes_a_database_nor_migrates_one_that_is_there() {
    let app = "plugin(:db) { DB.connect(\"sqlite:notes.db\").tap { |db| db.migrate } }\n\
               get('/notes') { db[:notes].count.to_s }\n";
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("app.rb", app);
    let first = "up { db.create(:notes) { increments :id } }\n";
    write("migrations/1_notes.rb", first);
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        let output = command.args(words).current_dir(folder.path()).output();
        let Output { stdout, stderr, .. } = output.unwrap();
        String::from_utf8([stdout, stderr].concat()).unwrap()
    };
    let database = folder.path().join("notes.db");
    assert!(run(&["check"]).contains("ok: 1 route"));
    assert!(!database.exists(), "check has made a database");
    let migrated = run(&["migrate", "up", "--database", "sqlite:notes.db"]);
    assert!(migrated.contains("1 migration applied"), "{migrated}");
    write(
        "migrations/2_more.rb",
        "up { db.create(:more) { increments :id } }\n",
    );
    for words in [&["check"][..], &["routes"], &["console"]] {
        run(words);
        let status = run(&["migrate", "status", "--database", "sqlite:notes.db"]);
        assert!(status.contains("pending"), "{words:?}: {status}");
    }
}

/// A server that is started with a socket as its descriptor 3, and further options. It writes its log to `log` in its folder.
fn activated(folder: &Path, listener: &TcpListener, pid: &str, options: &str) -> Child {
    let script = format!(
        "export LISTEN_PID={pid} LISTEN_FDS=1 LISTEN_FDNAMES=web; \
         exec \"$0\" serve app.rb --listen fd:web --workers 2 {options} 3<&0 0</dev/null 2>>log"
    );
    let socket = OwnedFd::from(listener.try_clone().unwrap());
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_tsumugi")])
        .current_dir(folder)
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn sockets_that_a_supervisor_passes_outlive_the_server() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.rb"), version(0)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for _ in 0..2 {
        // Connected before anybody accepts.
        let mut early = Client::new(address);
        early.send("GET", "/version", "", "");
        let mut child = activated(folder.path(), &listener, "$$", "");
        assert_eq!(early.receive().text(), "0");
        let process = nix::unistd::Pid::from_raw(child.id() as i32);
        nix::sys::signal::kill(process, Signal::SIGTERM).unwrap();
        assert!(child.wait().unwrap().success());
    }
    TcpStream::connect(address).unwrap();
    // What is meant for another process is not taken.
    let mut child = activated(folder.path(), &listener, "1", "");
    assert!(!child.wait().unwrap().success());
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(text.contains("no socket of the name `web`"), "{text}");
}

#[test]
fn activated_versions_follow_each_other_and_the_supervisors_socket_outlives_them() {
    let folder = tempfile::tempdir().unwrap();
    let write = |number| std::fs::write(folder.path().join("app.rb"), version(number)).unwrap();
    write(0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handover = HANDOVER.join(" ");
    let load = Load::default();
    thread::scope(|scope| {
        let mut old = activated(folder.path(), &listener, "$$", &handover);
        let asking = [
            scope.spawn(|| load.keep_alive(address, "/version")),
            scope.spawn(|| load.connect_anew(address, "/version")),
        ];
        load.answered_more(20);
        for number in 1..=3 {
            write(number);
            let new = activated(folder.path(), &listener, "$$", &handover);
            assert!(old.wait().unwrap().success(), "{number}");
            load.answered_more(20);
            assert_eq!(
                Client::new(address).get("/version").text(),
                number.to_string()
            );
            old = new;
        }
        load.over.store(true, Relaxed);
        asking.into_iter().for_each(|client| client.join().unwrap());
        // The last one ends, and the socket is the supervisor's still: who connects waits for the next one.
        let process = nix::unistd::Pid::from_raw(old.id() as i32);
        nix::sys::signal::kill(process, Signal::SIGTERM).unwrap();
        assert!(old.wait().unwrap().success());
        let mut early = Client::new(address);
        early.send("GET", "/version", "", "");
        let mut next = activated(folder.path(), &listener, "$$", &handover);
        assert_eq!(early.receive().text(), "3");
        let process = nix::unistd::Pid::from_raw(next.id() as i32);
        nix::sys::signal::kill(process, Signal::SIGTERM).unwrap();
        assert!(next.wait().unwrap().success());
    });
    assert_eq!(*load.lost.lock().unwrap(), Vec::<String>::new());
    assert!(!folder.path().join("handover.sock").exists());
}

#[test]
fn supervisor_is_told_what_the_server_does() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("notify");
    let told = UnixDatagram::bind(&path).unwrap();
    told.set_read_timeout(Some(PATIENCE)).unwrap();
    let expect = |expected: &str| {
        let mut text = [0; 256];
        let length = told.recv(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text[..length]).into_owned();
        assert!(text.starts_with(expected), "{text}, not {expected}");
    };
    let name = path.to_str().unwrap();
    let mut site = Site::bind_within(&version(0), &[], &[("NOTIFY_SOCKET", name)]);
    expect("READY=1");
    site.signal(Signal::SIGHUP);
    expect("RELOADING=1\nMONOTONIC_USEC=");
    expect("READY=1");
    site.signal(Signal::SIGTERM);
    expect("STOPPING=1");
    assert_eq!(site.exit_code(), 0);
}

#[test]
fn server_says_that_it_is_not_ready_before_it_closes_its_listeners() {
    let arguments = ["--drain-delay", "5", "--admin", "127.0.0.1:0"];
    let mut site = Site::start_with(&version(0), &arguments);
    let line = site.expect_log("admin pages on http://");
    let admin: SocketAddr = line
        .split("http://")
        .nth(1)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let ready = || Client::new(admin).get("/ready").status;
    assert_eq!(ready(), 200);
    let mut kept = site.connect();
    assert_eq!(kept.get("/version").header("connection"), None);
    site.signal(Signal::SIGTERM);
    let since = Instant::now();
    while ready() != 503 {
        assert!(since.elapsed() < Duration::from_millis(4_800));
        pause(5);
    }
    // Whoever still comes is served, and sent elsewhere for the next request.
    let reply = kept.get("/version");
    assert_eq!(
        (reply.status, reply.header("connection")),
        (200, Some("close"))
    );
    site.check("/version", "0");
    assert_eq!(site.exit_code(), 0, "{}", site.log());
    assert!(since.elapsed() >= Duration::from_millis(4_900));
}

#[test]
fn tick_that_runs_when_the_server_drains_runs_to_its_end() {
    let app = "every(0.05, workers: :one) { log.info 'begun'; sleep 4; log.info 'done' }\nget('/') { 'x' }\n";
    let mut site = Site::start(app);
    site.expect_log("begun");
    site.signal(Signal::SIGTERM);
    assert_eq!(site.exit_code(), 0, "{}", site.log());
    site.expect_log("done");
    assert_eq!(site.log().matches("begun").count(), 1);
}
