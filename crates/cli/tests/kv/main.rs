//! `tsumugi kv` as its users meet it: the real binary, its options, its log, and a client of another implementation of gRPC.

mod client;
mod engine;
mod load;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use tempfile::TempDir;

struct Served {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command
        .arg("kv")
        .args(arguments)
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .env_remove("TSUMUGI_LOG")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn serve(folder: &TempDir, arguments: &[&str]) -> Served {
    spawned(&mut command(folder, arguments))
}

fn spawned(command: &mut Command) -> Served {
    let mut child = command.spawn().unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    Served { child, log }
}

fn refused(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let Output { status, stderr, .. } = command(&folder, arguments).output().unwrap();
    assert!(!status.success(), "{arguments:?}");
    String::from_utf8(stderr).unwrap()
}

impl Served {
    /// The rest of the next log line that has `piece`, up to a space.
    fn word_after(&mut self, piece: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let read = self.log.read_line(&mut line).unwrap();
            assert!(read > 0, "no {piece:?} in:\n{all}");
            if let Some((_, rest)) = line.split_once(piece) {
                let word = rest.split_whitespace().next();
                return word.unwrap_or_default().to_owned();
            }
            all.push_str(&line);
        }
    }
}

/// A Python with grpcio and grpcio-tools, from the folder that scripts/setup makes.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = std::env::var_os("TSUMUGI_PYTHON").map(PathBuf::from);
    let python = python.unwrap_or_else(|| root.join("target/python/bin/python"));
    let found = Command::new(&python)
        .args(["-c", "import grpc, grpc_tools"])
        .stderr(Stdio::null())
        .status();
    if found.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "no Python with grpcio at {}: run scripts/setup test",
        python.display()
    );
    eprintln!(
        "NOT TESTED: no Python with grpcio at {}: run scripts/setup test",
        python.display()
    );
    None
}

#[test]
fn a_client_of_another_implementation_passes_every_call() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--listen",
        "unix:kv.sock",
        "--workers",
        "2",
        "",
        "casket.tkt",
    ];
    let mut served = serve(&folder, &arguments);
    let address = served.word_after("listening on tkrzw://");
    served.word_after("listening on tkrzw+unix:");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for target in [address, "unix:kv.sock".to_owned()] {
        let output = Command::new(&python)
            .arg(root.join("tests/kv/conformance.py"))
            .arg(root.join("../rpc/proto"))
            .arg(folder.path().join("generated"))
            .args([&target, "2"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{target}:\n{printed}\n{errors}");
        assert!(
            printed
                .lines()
                .filter(|line| line.starts_with("ok "))
                .count()
                >= 100,
            "{printed}"
        );
    }
}

/// The blocks of the page on the service that are in this language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/kv.md");
    let text = std::fs::read_to_string(page).unwrap();
    let fence = format!("```{language}\n");
    let pieces = text.split(&fence).skip(1);
    let blocks = pieces.filter_map(|piece| piece.split_once("\n```"));
    blocks.map(|(block, _)| block.to_owned()).collect()
}

#[test]
fn the_python_of_the_page_runs() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut served = serve(&folder, &["--listen", "127.0.0.1:0"]);
    let address = served.word_after("listening on tkrzw://");
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rpc/proto");
    let run = |arguments: &[&str]| {
        let output = Command::new(&python)
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {errors}");
    };
    let include = format!("-I{}", proto.display());
    run(&[
        "-m",
        "grpc_tools.protoc",
        &include,
        "--python_out=.",
        "--grpc_python_out=.",
        "tkrzw_rpc.proto",
    ]);
    let blocks = blocks("python");
    assert!(blocks.len() >= 2);
    for block in blocks {
        run(&["-c", &block.replace("localhost:1978", &address)]);
    }
}

#[test]
fn the_command_lines_of_the_page_are_understood() {
    let lines = blocks("sh").join("\n");
    let lines = lines
        .lines()
        .flat_map(|line| line.split(" && "))
        .filter_map(|command| command.strip_prefix("tsumugi "));
    let lines: Vec<&str> = lines.collect();
    assert!(lines.len() >= 6, "{lines:?}");
    for line in lines {
        let words = line
            .split(" #")
            .next()
            .unwrap_or(line)
            .split_whitespace()
            .map(|word| word.trim_matches('\''));
        let output = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .args(words)
            .arg("--help")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn unservable_store_is_reported_before_anything_is_served() {
    for (arguments, expected) in [
        (&["--listen", "0.0.0.0:0"][..], "--insecure"),
        (&["--listen", "[::]:0"], "--tls-cert"),
        (
            &["--token-file", "nothing"],
            "cannot use the token file nothing",
        ),
        (&["--limit", "speed=1"], "there is no limit"),
        (
            &["a.tkt#durability=eternal"],
            "cannot open the database a.tkt: ",
        ),
        (
            &["/dev/null/casket.tkt"],
            "cannot open the database /dev/null/casket.tkt",
        ),
    ] {
        let printed = refused(arguments);
        assert!(printed.contains(expected), "{arguments:?}: {printed}");
    }
}

#[test]
fn settings_without_a_meaning_are_named_and_the_database_opens() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = serve(
        &folder,
        &["--listen", "unix:kv.sock", "casket.tkh#num_buckets=2m"],
    );
    let mut warning = String::new();
    served.log.read_line(&mut warning).unwrap();
    assert!(
        warning.contains("num_buckets") && warning.contains("casket.tkh"),
        "{warning}"
    );
    served.word_after("listening on tkrzw+unix:kv.sock");
}

#[test]
fn a_setting_that_is_refused_does_not_show_its_value() {
    for settings in [
        "record_comp_mode=aes,cipher_key=s3cret",
        "cipher_key=s3cret",
        "durability=disk,key=s3cret",
        "s3cret",
    ] {
        let text = refused(&[
            "--listen",
            "unix:kv.sock",
            &format!("casket.tkt#{settings}"),
        ]);
        assert!(text.contains("casket.tkt"), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn the_log_and_the_number_of_the_process_are_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("kv.log"), "of before\n").unwrap();
    let arguments = [
        "--listen",
        "localhost:0",
        "--listen",
        "unix:kv.sock",
        "--pid_file",
        "kv.pid",
        "--log_file",
        "kv.log",
    ];
    let mut served = serve(&folder, &arguments);
    let log = || std::fs::read_to_string(path("kv.log")).unwrap();
    while !log().contains("tkrzw+unix:kv.sock") {
        assert!(served.child.try_wait().unwrap().is_none(), "{}", log());
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    assert!(log().starts_with("of before\n") && log().contains("tkrzw://127.0.0.1:"));
    assert!(!log().contains('\u{1b}'));
    let pid = std::fs::read_to_string(path("kv.pid")).unwrap();
    assert_eq!(pid, format!("{}\n", served.child.id()));
    let killed = Command::new("kill").args(["-TERM", pid.trim()]).status();
    assert!(killed.unwrap().success());
    assert!(served.child.wait().unwrap().success());
    assert!(!path("kv.pid").exists());
    let mut errors = String::new();
    served.log.read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
}

#[cfg(target_os = "linux")]
#[test]
fn large_pages_are_off_unless_the_environment_decides() {
    for (setting, expected) in [(None, "0"), (Some("1"), "1")] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command(&folder, &["--listen", "unix:kv.sock"]);
        command.env_remove("MIMALLOC_ALLOW_THP");
        command.envs(setting.map(|setting| ("MIMALLOC_ALLOW_THP", setting)));
        let mut served = spawned(&mut command);
        served.word_after("listening on ");
        let status = std::fs::read_to_string(format!("/proc/{}/status", served.child.id()));
        let status = status.unwrap();
        let enabled = status
            .lines()
            .find_map(|line| line.strip_prefix("THP_enabled:"));
        assert_eq!(enabled.map(str::trim), Some(expected), "{setting:?}");
    }
}

#[test]
fn a_server_that_is_read_only_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--listen", "unix:kv.sock", "--read_only", "casket.tkt"];
    let text = String::from_utf8(command(&folder, &arguments).output().unwrap().stderr).unwrap();
    assert!(text.contains("none is made"), "{text}");
    let word = |words: &[&str]| {
        let words = [words, &["--address", "unix:kv.sock"]].concat();
        command(&folder, &words).output().unwrap()
    };
    let mut served = serve(&folder, &["--listen", "unix:kv.sock", "casket.tkt"]);
    served.word_after("listening on tkrzw+unix:");
    assert!(word(&["set", "a", "1"]).status.success());
    drop(served);
    let mut served = serve(&folder, &arguments);
    served.word_after("listening on tkrzw+unix:");
    assert!(word(&["get", "a"]).status.success());
    let refused = word(&["set", "a", "2"]);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && text.contains("read-only"),
        "{text}"
    );
    let get = ["get", "a", "--address", "unix:kv.sock"];
    let there = command(&folder, &get).stdout(Stdio::piped()).output();
    let there = there.unwrap();
    assert!(there.status.success());
    assert_eq!(String::from_utf8(there.stdout).unwrap().trim_end(), "1");
}

#[test]
fn a_signal_drains_and_figures_are_shown_apart() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut served = serve(&folder, &arguments);
    let admin = served.word_after("admin pages on http://");
    let page = |path: &str| {
        let mut stream = TcpStream::connect(&admin).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    while !page("/ready").starts_with("HTTP/1.1 200") {}
    let metrics = page("/metrics");
    for name in [
        "tsumugi_rpc_calls_active",
        "tsumugi_kv_records{database=\"0\"} 0",
        "tsumugi_connections_open",
    ] {
        assert!(metrics.contains(name), "{name} in\n{metrics}");
    }
    let pid = served.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert!(served.child.wait().unwrap().success());
}

#[test]
fn kv_help_names_a_sample_database_tls_and_signals() {
    let output = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .args(["kv", "--help"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for piece in [
        "casket.tkt#durability=disk",
        "--tls-client-ca",
        "--insecure",
        "SIGHUP",
    ] {
        assert!(text.contains(piece), "{piece}");
    }
}
