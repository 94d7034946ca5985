//! What commands print of an application, a database or an address before anything is served: lines, names of variables, and nothing more.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// What a command may take on a busy machine; it waits 5 s for a server that is not there.
const PATIENCE: Duration = Duration::from_secs(60);

fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn tsumugi(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command
        .args(words)
        .current_dir(folder)
        .env_remove("DATABASE_URL")
        .env_remove("TSUMUGI_SECRET")
        .env_remove("TSUMUGI_LOG")
        .stdin(Stdio::null());
    command
}

/// The exit code, and everything that was printed.
fn output(mut command: Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code().unwrap(), text.concat())
}

#[test]
fn commands_that_look_print_statements_only_when_the_log_is_asked_for_them() {
    let app =
        "plugin(:db) { DB.connect }\ndb.execute 'create table t (a integer)'\nget('/') { 'x' }\n";
    let folder = folder_with(&[("app.rb", app)]);
    for (word, expected) in [
        ("check", "ok: 1 route in app.rb\n"),
        ("routes", "GET  /  app.rb:3\n"),
    ] {
        let (code, text) = output(tsumugi(folder.path(), &[word]));
        assert_eq!((code, text.as_str()), (0, expected), "{word}");
        let mut asked = tsumugi(folder.path(), &[word]);
        asked.env("TSUMUGI_LOG", "warn,tsumugi_db=debug");
        let (code, text) = output(asked);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("create table t"), "{text}");
        let times: Vec<&str> = text
            .split_whitespace()
            .filter_map(|field| field.strip_prefix("ms="))
            .collect();
        let decimals = |ms: &&str| ms.split_once('.').map_or(0, |(_, rest)| rest.len());
        assert!(!times.is_empty(), "{text}");
        assert!(times.iter().all(|ms| decimals(ms) <= 3), "{times:?}");
    }
}

#[test]
fn routes_of_blocks_are_listed_at_the_line_of_their_word() {
    let app = "get '/' do\n  1\nend\n\
               post '/users/:id', id: Integer do |id|\n  # a comment\n  id\nend\n\
               put '/long/:id',\n    id: Integer do |id|\n  id\nend\n\
               get('/brace') {\n  2\n}\n\
               scope '/api' do\n  delete '/:id', id: Integer do\n    nil\n  end\nend\n";
    let folder = folder_with(&[("app.rb", app)]);
    let (code, text) = output(tsumugi(folder.path(), &["routes"]));
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    let expected = ["app.rb:1", "app.rb:4", "app.rb:8", "app.rb:12", "app.rb:16"];
    assert_eq!((code, &lines[..]), (0, &expected[..]), "{text}");
}

#[test]
fn word_that_is_refused_is_named_with_its_own_line() {
    let app = "\nget '/a', id: Integer do\n  1\n\n\nend\n";
    let folder = folder_with(&[("app.rb", app)]);
    let (code, text) = output(tsumugi(folder.path(), &["check"]));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("app.rb:2: route /a has no capture"), "{text}");
}

#[test]
fn check_without_the_secret_that_serve_needs_says_so() {
    let signed = "sessions\nget('/') { 'x' }\n";
    let folder = folder_with(&[("app.rb", signed)]);
    let (code, text) = output(tsumugi(folder.path(), &["check"]));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("ok: 1 route in app.rb"), "{text}");
    assert!(
        text.contains("serve does not start here: it needs TSUMUGI_SECRET"),
        "{text}"
    );
    let words = ["serve", "--listen", "127.0.0.1:0", "--workers", "1"];
    let (code, text) = output(tsumugi(folder.path(), &words));
    assert!(
        code == 1 && text.contains("TSUMUGI_SECRET"),
        "{code} {text}"
    );

    let mut with_secret = tsumugi(folder.path(), &["check"]);
    with_secret.env("TSUMUGI_SECRET", "thirty-two bytes and some more..");
    let (code, text) = output(with_secret);
    assert_eq!((code, text.trim()), (0, "ok: 1 route in app.rb"));
    let folder = folder_with(&[("app.rb", "get('/') { 'x' }\n")]);
    let (code, text) = output(tsumugi(folder.path(), &["check"]));
    assert_eq!((code, text.trim()), (0, "ok: 1 route in app.rb"));
}

#[test]
fn test_prints_its_own_lines_and_no_sql() {
    let app = "plugin(:db) { DB.connect \"sqlite:#{Tsumugi.data_dir}/a.db\", log: true }\n\
               db.create(:users) { increments :id }\nget('/') { db[:users].count.to_s }\n";
    let tests = "test('a count') { assert_equal '0', get('/').body }\n";
    let folder = folder_with(&[("app.rb", app), ("test/app_test.rb", tests)]);
    let (code, text) = output(tsumugi(folder.path(), &["test"]));
    assert_eq!(code, 0, "{text}");
    assert!(
        !text.contains("DEBUG") && !text.contains("select"),
        "{text}"
    );
    let mut shown = tsumugi(folder.path(), &["test"]);
    shown.env("TSUMUGI_LOG", "tsumugi_db=debug");
    let (_, text) = output(shown);
    assert!(text.contains("select"), "{text}");
}

#[test]
fn start_that_is_stopped_while_the_application_loads_says_so_and_drains_nothing() {
    let folder = folder_with(&[("app.rb", "log.warn 'loading'\nsleep 600\n")]);
    let words = ["serve", "--workers", "2", "--listen", "127.0.0.1:0"];
    let mut server = Server::start(folder.path(), &words);
    server.log_with("loading");
    let process = Pid::from_raw(server.child.id().try_into().unwrap());
    kill(process, Signal::SIGTERM).unwrap();
    let ended = server.child.wait().unwrap();
    let log = server.log_with("stopped before the application was loaded");
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(
        log.contains("stopped before the application was loaded"),
        "{log}"
    );
    assert!(!log.contains("drain"), "{log}");
}

#[test]
fn start_that_fails_logs_no_drain() {
    let folder = folder_with(&[("app.rb", "raise 'not today'\n")]);
    let words = ["serve", "--workers", "2", "--listen", "127.0.0.1:0"];
    let mut command = tsumugi(folder.path(), &words);
    command.env("TSUMUGI_LOG", "info");
    let (code, text) = output(command);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("not today"), "{text}");
    assert!(!text.contains("drain"), "{text}");
}

#[test]
fn word_of_kv_that_is_almost_a_command_starts_no_server_and_makes_no_folder() {
    let folder = folder_with(&[]);
    for (words, expected) in [
        (&["kv", "gett", "a"][..], "did you mean `get`?"),
        (&["kv", "lst"], "did you mean `list`?"),
    ] {
        let (code, text) = output(tsumugi(folder.path(), words));
        assert_eq!(code, 2, "{words:?}: {text}");
        assert!(text.contains(expected), "{words:?}: {text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn migrate_without_a_server_ends_like_check() {
    let migration = "up { db.create(:users) { increments :id } }\n";
    let app = "plugin(:db) { DB.connect }\ndb.query 'select 1'\n";
    let files = [
        ("app.rb", app),
        ("migrations/20260101120000_users.rb", migration),
    ];
    let folder = folder_with(&files);
    for url in [
        "postgres://nobody:geheim@127.0.0.1:1/none",
        "firebird://nobody:geheim@127.0.0.1:1/none",
    ] {
        let commands: [&[&str]; 4] = [
            &["check"],
            &["migrate", "up"],
            &["migrate", "status"],
            &["migrate", "down"],
        ];
        for words in commands {
            let began = Instant::now();
            let mut command = tsumugi(folder.path(), words);
            command.env("DATABASE_URL", url);
            let (code, text) = output(command);
            assert_eq!(code, 1, "{words:?}: {text}");
            assert!(
                text.contains("cannot connect to 127.0.0.1:1"),
                "{words:?}: {text}"
            );
            // Not in silence, and not once for each try.
            let notice = |line: &&str| line.contains("; trying again (");
            let notices: Vec<&str> = text.lines().filter(notice).collect();
            assert_eq!(notices.len(), 1, "{words:?}: {text}");
            for part in ["nobody@127.0.0.1:1/", "refused", "DATABASE_URL"] {
                assert!(notices[0].contains(part), "{words:?}: {text}");
            }
            assert!(text.contains("acquire_timeout_ms"), "{words:?}: {text}");
            assert!(!text.contains("DEBUG"), "{words:?}: {text}");
            assert!(!text.contains("geheim"), "{words:?}: {text}");
            let took = began.elapsed();
            assert!(took < PATIENCE, "{words:?}: {took:?}");
        }
    }
}

/// A server that logs into a file, until it is dropped.
struct Server<'f> {
    child: Child,
    folder: &'f Path,
}

impl Server<'_> {
    fn start<'f>(folder: &'f Path, words: &[&str]) -> Server<'f> {
        let log = File::create(folder.join("log")).unwrap();
        let child = tsumugi(folder, words).stderr(log).spawn().unwrap();
        Server { child, folder }
    }

    /// Its log, once there is this text in it, or after too long a time.
    fn log_with(&self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap();
            if log.contains(text) || Instant::now() > end {
                return log;
            }
            tsumugi_testkit::pause();
        }
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn request_that_cannot_be_read_has_its_reason_in_the_log() {
    let folder = folder_with(&[("app.rb", "get('/') { 'x' }\n")]);
    let words = ["serve", "--workers", "1", "--listen", "127.0.0.1:0"];
    let server = Server::start(folder.path(), &words);
    let log = server.log_with("serving");
    let (_, address) = log.split_once("listening on http://").unwrap();
    let address = address.split_whitespace().next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = b"GET /?a=<b> HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    drop(stream);
    let log = server.log_with("could not be read");
    let reason = log.lines().find(|line| line.contains("could not be read"));
    let reason = reason.unwrap_or_else(|| panic!("no reason in {log}"));
    assert!(
        reason.contains("invalid URI") && reason.contains("400"),
        "{reason}"
    );
    assert!(!reason.contains('<'), "{reason}");
}

#[test]
fn admin_pages_listen_on_a_name_as_servers_do() {
    let folder = folder_with(&[("app.rb", "get('/') { 'x' }\n")]);
    let servers: [&[&str]; 2] = [
        &[
            "serve",
            "--workers",
            "1",
            "--listen",
            "localhost:0",
            "--admin",
            "localhost:0",
        ],
        &[
            "kv",
            "--workers",
            "1",
            "--listen",
            "localhost:0",
            "--admin",
            "localhost:0",
        ],
    ];
    for words in servers {
        let log = Server::start(folder.path(), words).log_with("serving");
        assert!(
            log.contains("admin pages on http://127.0.0.1:"),
            "{words:?}: {log}"
        );
    }
}

#[test]
fn settings_of_a_store_without_a_meaning_are_named_without_their_values() {
    let folder = folder_with(&[]);
    let words = [
        "kv",
        "--listen",
        "127.0.0.1:0",
        "a.tkh#num_buckets=77123,update_mode=in-place",
    ];
    let lines = Server::start(folder.path(), &words).log_with("serving");
    assert!(
        lines.contains("num_buckets") && lines.contains("update_mode"),
        "{lines}"
    );
    assert!(
        !lines.contains("77123") && !lines.contains("in-place"),
        "{lines}"
    );

    let words = ["kv", "--listen", "127.0.0.1:0", "a.tkh#durability=77123"];
    let (code, text) = output(tsumugi(folder.path(), &words));
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("durability is none of") && !text.contains("77123"),
        "{text}"
    );
}

#[test]
fn acme_option_without_what_it_needs_is_wrong_usage() {
    let folder = folder_with(&[("app.rb", "get('/') { 'x' }\n")]);
    let plain = ["--listen", "127.0.0.1:1,redirect"];
    for (options, expected) in [
        (&["--acme", "example.org"][..], "--acme needs --acme-cache"),
        (&["--acme-email", "a@example.org"], "need --acme with"),
        (
            &["--acme", "example.org", "--acme-cache", "c"],
            "--acme needs an address of TLS",
        ),
    ] {
        let words = [&["serve"][..], &plain, options].concat();
        let (code, text) = output(tsumugi(folder.path(), &words));
        assert_eq!(code, 2, "{options:?}: {text}");
        assert!(text.contains(expected), "{options:?}: {text}");
        assert!(text.contains("try '--help'"), "{options:?}: {text}");
    }
}

#[test]
fn folder_of_a_killed_check_is_removed_by_the_next() {
    let folder = folder_with(&[("app.rb", "sleep 600 if ENV['SLEEP']\nget('/') { 'x' }\n")]);
    let temporary = tempfile::tempdir().unwrap();
    let check = || {
        let mut command = tsumugi(folder.path(), &["check"]);
        command.env("TMPDIR", temporary.path());
        command
    };
    let left = || std::fs::read_dir(temporary.path()).unwrap().count();
    let mut killed = check().env("SLEEP", "1").spawn().unwrap();
    let end = Instant::now() + PATIENCE;
    // Made behind the mark by which it is known.
    let is_made = || {
        let folders = std::fs::read_dir(temporary.path()).unwrap();
        folders
            .map(|entry| entry.unwrap().path().join("data"))
            .any(|data| data.is_dir())
    };
    while !is_made() && Instant::now() < end {
        tsumugi_testkit::pause();
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(left(), 1);
    let (code, text) = output(check());
    assert_eq!((code, left()), (0, 0), "{text}");
}
