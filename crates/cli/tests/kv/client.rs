//! `tsumugi kv` as a client, as a user meets it: output, exit codes and statements, with a real server beside it.
//! A server is ended by its process id when its `Served` is dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// A server of one database on disk and one in memory.
pub struct Served {
    child: Child,
    log: BufReader<ChildStderr>,
    /// Where it was started; its socket is `kv.sock` there.
    pub folder: TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    pub fn start() -> Served {
        Served::with(&[])
    }

    fn with(options: &[&str]) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .args(["kv", "--workers", "1", "--listen", "unix:kv.sock"])
            .args(options)
            .args(["casket.tkt", "#value_max=1k"])
            .current_dir(folder.path())
            .env("NO_COLOR", "1")
            .env_remove("TSUMUGI_LOG")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut served = Served { child, log, folder };
        served.line_with("listening on tkrzw+unix:");
        served
    }

    fn line_with(&mut self, piece: &str) -> String {
        let mut all = String::new();
        loop {
            let begin = all.len();
            let read = self.log.read_line(&mut all).unwrap();
            assert!(read > 0, "no {piece:?} in:\n{all}");
            if all[begin..].contains(piece) {
                return all[begin..].to_owned();
            }
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        command
            .args(["kv", words[0], "--address", "unix:kv.sock"])
            .args(&words[1..])
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    fn output(&self, words: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(words);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that does not read its input may have ended.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    /// Runs a word and expects its output as it is, or a piece of its error.
    fn check(&self, words: &[&str], code: i32, expected: &str) {
        let Output {
            status,
            stdout,
            stderr,
        } = self.output(words, b"");
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(status.code(), Some(code), "{words:?}: {stderr}");
        if code == 0 {
            assert_eq!(stdout, expected, "{words:?}: {stderr}");
        } else {
            assert_eq!(stdout, "", "{words:?}");
            assert!(stderr.contains(expected), "{words:?}: {stderr}");
        }
    }
}

#[test]
fn a_record_is_set_printed_changed_and_removed() {
    let served = Served::start();
    served.check(&["get", "紡"], 1, "there is no record with the key \"紡\"");
    served.check(&["set", "紡", "糸"], 0, "");
    served.check(&["get", "紡"], 0, "糸\n");
    served.check(&["get", "紡", "--raw"], 0, "糸");
    served.check(&["append", "紡", "車", "--delimiter", "と"], 0, "");
    served.check(&["get", "紡"], 0, "糸と車\n");
    served.check(
        &["set", "紡", "x", "--if-absent"],
        1,
        "a record with the key",
    );
    served.check(&["remove", "紡"], 0, "");
    served.check(&["remove", "紡"], 1, "there is no record");
    served.check(&["increment", "n"], 0, "1\n");
    served.check(&["increment", "n", "-3", "--initial", "9"], 0, "-2\n");
    served.check(
        &["get", "n", "-e"],
        0,
        "\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\n",
    );
    served.check(&["set", "-e", "a\\x00\\t", "\\n"], 0, "");
    served.check(&["get", "-e", "a\\0\\x09"], 0, "\\n\n");
    served.check(&["get", "a", "--index", "1"], 1, "there is no record");
    let set = served.output(&["set", "b", "--file", "-"], b"\xff\0\n");
    assert!(set.status.success());
    assert_eq!(
        served.output(&["get", "b", "--raw"], b"").stdout,
        b"\xff\0\n"
    );
}

#[test]
fn wrong_usage_and_absent_server_have_their_own_exit_codes() {
    let served = Served::start();
    served.check(&["get"], 2, "<KEY>");
    served.check(&["set", "a"], 2, "<VALUE");
    served.check(&["get", "a", "--index", "-1"], 2, "-1");
    served.check(&["clear"], 2, "pass --yes");
    served.check(&["set", "-e", "a\\q", "v"], 1, "backslash");
    served.check(&["get", "a", "--index", "2"], 1, "InvalidArgument");
    served.check(&["search", "nearly", "a"], 1, "INVALID_ARGUMENT");
    served.check(
        &["get", "a", "--tls-ca", "ca.pem"],
        1,
        "--tls-ca is for TLS",
    );
    served.check(&["get", "a", "--token-file", "none"], 1, "token file none");
    served.check(&["set", "a", &"v".repeat(1025), "--index", "1"], 1, "1024");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    let words = ["kv", "get", "a", "--address", "tkrzw+unix:/nowhere/kv.sock"];
    let output = command.args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("cannot connect to tkrzw+unix:/nowhere/kv.sock"),
        "{text}"
    );
}

#[test]
fn records_are_listed_in_order_within_bounds() {
    let served = Served::start();
    let lines: String = (0..600).map(|n| format!("k{n:03}\t{n}\n")).collect();
    let input = format!("a\t1\n{lines}z\\t\t\\xff\n");
    let output = served.output(&["import"], input.as_bytes());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "imported 602 records\n"
    );
    served.check(&["list"], 0, &input);
    served.check(&["list", "--prefix", "k"], 0, &lines);
    let backward: String = input
        .lines()
        .rev()
        .map(|line| format!("{line}\n"))
        .collect();
    served.check(&["list", "--backward"], 0, &backward);
    served.check(&["list", "--limit", "2", "--keys"], 0, "a\nk000\n");
    served.check(
        &["list", "--from", "k598"],
        0,
        "k598\t598\nk599\t599\nz\\t\t\\xff\n",
    );
    served.check(
        &["list", "--from", "b", "--to", "k002"],
        0,
        "k000\t0\nk001\t1\n",
    );
    served.check(
        &["list", "--prefix", "k", "--backward", "--limit", "1"],
        0,
        "k599\t599\n",
    );
    served.check(&["list", "-e", "--from", "z\\x09", "--keys"], 0, "z\\t\n");
    served.check(&["list", "--prefix", "q"], 0, "");
    served.check(&["list", "--index", "1"], 0, "");
    served.check(&["search", "begin", "k59", "--limit", "1"], 0, "k590\n");
    served.check(&["search", "regex", "^[az]"], 0, "a\nz\\t\n");
    let inspect = served.output(&["inspect"], b"").stdout;
    assert!(
        String::from_utf8(inspect)
            .unwrap()
            .contains("num_records\t602\n")
    );
    let inspect = served.output(&["inspect", "--server"], b"").stdout;
    assert!(
        String::from_utf8(inspect)
            .unwrap()
            .contains("num_dbms\t2\n")
    );
}

#[test]
fn exported_records_are_imported_in_both_formats() {
    let served = Served::start();
    let input = b"a\t\nb\\t\t\\xff\\x00\n\t2\n";
    assert!(served.output(&["import", "-"], input).status.success());
    for format in ["tsv", "flat"] {
        let file = format!("casket.{format}");
        served.check(&["export", "--format", format, &file], 0, "");
        served.check(&["export", &file], 1, "exists");
        served.check(&["clear", "--yes", "--index", "1"], 0, "");
        served.check(
            &["import", "--format", format, &file, "--index", "1"],
            0,
            "",
        );
        served.check(&["list", "--index", "1"], 0, "\t2\na\t\nb\\t\t\\xff\\x00\n");
    }
    let parts = std::fs::read_dir(served.folder.path()).unwrap();
    let parts =
        parts.filter(|file| file.as_ref().unwrap().path().extension() == Some("part".as_ref()));
    assert_eq!(parts.count(), 0);
    served.check(
        &["import", "--format", "flat", "casket.tsv"],
        1,
        "another format",
    );
}

#[test]
fn an_import_that_stops_says_how_far_it_got() {
    let served = Served::start();
    let check = |words: &[&str], input: &str, expected: &str| {
        let output = served.output(words, input.as_bytes());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(expected), "{words:?}: {text}");
    };
    check(
        &["import"],
        "a\t1\nb\t2\nc\n",
        "the first 2 records are done (2 stored), 0 more may be",
    );
    check(
        &["import"],
        "a\t1\nc\n",
        "cannot read record 2: the line has no tab",
    );
    let long = format!("a\t1\nlong\t{}\nb\t2\n", "v".repeat(1025));
    check(&["import", "--index", "1"], &long, "refused record 2 with");
    check(
        &["import", "--keep"],
        "a\t9\nd\t4\n",
        "imported 1 records, left 1 as they were",
    );
    served.check(&["list"], 0, "a\t1\nb\t2\nd\t4\n");
}

#[test]
fn ctrl_c_says_how_far_it_got() {
    let served = Served::start();
    let mut command = served.command(&["import"]);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"a\t1\nb\t2\n").unwrap();
    // The rest of the file never comes.
    while served.output(&["get", "b"], b"").status.code() != Some(0) {}
    let expected = "interrupted: the first 2 records are done (2 stored), 0 more may be";
    check_interrupted(child, expected);
}

/// Interrupts a client and expects a piece of what it says on standard error.
#[track_caller]
fn check_interrupted(child: Child, expected: &str) {
    let process = Pid::from_raw(child.id().try_into().unwrap());
    kill(process, Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains(expected), "{text}");
}

#[test]
fn interrupt_before_the_first_record_prints_the_statement() {
    // It takes the connection and never answers. A client that connects watches for signals already.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command.args(["kv", "import", "--address", &address]);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // No record comes, and no end either.
    let _input = child.stdin.take();
    let _connection = listener.accept().unwrap();
    let expected = "interrupted: the first 0 records are done (0 stored), 0 more may be";
    check_interrupted(child, expected);
}

#[test]
fn list_whose_reader_leaves_ends_well() {
    let served = Served::start();
    let lines: String = (0..20_000)
        .map(|n| format!("k{n:05}\t{n:0100}\n"))
        .collect();
    assert!(
        served
            .output(&["import"], lines.as_bytes())
            .status
            .success()
    );
    let mut command = served.command(&["list"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut first).unwrap();
    drop(output);
    let mut text = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!((child.wait().unwrap().code(), text.as_str()), (Some(0), ""));
    assert!(first.starts_with("k00000\t"));
}

#[test]
fn second_backup_replaces_the_first_and_opens_as_a_database() {
    let served = Served::start();
    served.check(&["set", "a", "1"], 0, "");
    served.check(&["backup", "daily"], 0, "");
    served.check(&["set", "a", "2"], 0, "");
    served.check(&["backup", "daily"], 0, "");
    served.check(&["backup", "--index", "1"], 1, "PRECONDITION");
    let copy = served.folder.path().join("casket.tkt.backup.daily");
    assert!(copy.is_dir());
    served.check(&["remove", "a"], 0, "");
    let copy = copy.to_str().unwrap();
    let other = Served::with(&["--", copy]);
    other.check(&["list"], 0, "a\t2\n");
}

#[test]
fn client_with_certificate_and_token_is_served_and_others_are_refused() {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let keys = tempfile::tempdir().unwrap();
    let path = |name: &str| keys.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("cert"), key.cert.pem()).unwrap();
    std::fs::write(path("key"), key.signing_key.serialize_pem()).unwrap();
    std::fs::write(path("tokens"), "# of tests\n0123456789abcdef\n").unwrap();
    let mut served = Served::with(&[
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        &path("cert"),
        "--tls-key",
        &path("key"),
        "--token-file",
        &path("tokens"),
    ]);
    let localhost = |line: &str| {
        let (_, port) = line.split_once("127.0.0.1:").unwrap();
        format!("localhost:{}", port.split_whitespace().next().unwrap())
    };
    let address = localhost(&served.line_with("tkrzw+tls://127.0.0.1:"));
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        let output = command.args(["kv", "increment", "a", "--address", &address]);
        let output = output.args(words).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let (ca, tokens) = (path("cert"), path("tokens"));
    let token = ["--tls-ca", ca.as_str(), "--token-file", tokens.as_str()];
    assert_eq!(run(&token), (Some(0), "1\n".to_owned()));
    let (code, text) = run(&token[..2]);
    assert_eq!(code, Some(1));
    assert!(text.contains("Unauthenticated"), "{text}");
    let (code, text) = run(&[]);
    assert_eq!(code, Some(1), "{text}");
    for hint in ["speaks TLS", "tkrzw+tls://HOST:PORT", "--tls-ca"] {
        assert!(text.contains(hint), "no {hint:?} in: {text}");
    }
    let mut plain = Served::with(&["--listen", "127.0.0.1:0"]);
    let address = localhost(&plain.line_with("tkrzw://127.0.0.1:"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command.args(["kv", "get", "a", "--tls-ca", &ca, "--address", &address]);
    let text = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(
        text.contains("the server speaks no TLS: reach it by tkrzw://HOST:PORT"),
        "{text}"
    );
}
