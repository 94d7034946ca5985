//! `tsumugi bench kv --address` as its users meet it: the table, the figures for programs, and what is said when a load cannot be.
//! The server is our own; the original is met by `tsumugi bench kv` where it is installed.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::client::Served;

fn bench(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command.arg("bench").args(words).current_dir(folder);
    command.env_remove("TSUMUGI_LOG").stdin(Stdio::null());
    command
}

/// Loads the server; what it printed.
#[track_caller]
fn load(served: &Served, words: &str) -> String {
    let mut command = bench(served.folder.path(), &["kv", "--address", "unix:kv.sock"]);
    let output = command.args(words.split_whitespace()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the words of a line and expects a code and a piece of what it says on standard error.
#[track_caller]
fn check_refused(folder: &Path, line: &str, code: i32, expected: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output: Output = bench(folder, &words).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {errors}");
    assert!(errors.contains(expected), "{line}: {errors}");
}

/// Records of the first database.
fn count(served: &Served) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command.args(["kv", "inspect", "--address", "unix:kv.sock"]);
    let output = command.current_dir(served.folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("num_records"));
    line.and_then(|line| line.split_whitespace().last())
        .unwrap()
        .to_owned()
}

#[test]
fn table_has_a_row_for_each_number_of_callers_and_leaves_the_database_empty() {
    let served = Served::start();
    let text = load(&served, "--threads 1,2 --iter 40");
    let heads: Vec<&str> = text
        .lines()
        .find(|line| line.starts_with("queries/s"))
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!(
        heads,
        ["queries/s", "Echo", "Set", "Get", "Iterate", "Remove"]
    );
    for row in ["1 thread ", "2 threads, same connection ", "  p99.9, ms "] {
        assert!(text.lines().any(|line| line.starts_with(row)), "{text}");
    }
    assert!(text.contains("every answer checked"), "{text}");
    assert_eq!(count(&served), "0");
}

#[test]
fn every_form_of_calls_answers_rightly_and_counts_its_records() {
    let served = Served::start();
    for (form, label, cells) in [
        ("", "3 threads, same connection", 5),
        ("--separate", "3 threads, separate", 5),
        ("--scattered", "3 threads, same connection", 5),
        ("--stream", "3 threads, same connection, stream", 5),
        (
            "--async --depth 4",
            "3 threads, same connection, 4 in flight",
            5,
        ),
        (
            "--stream --async --depth 4 --separate",
            "3 threads, separate, stream, 4 in flight",
            5,
        ),
        ("--batch 7", "3 threads, same connection, batches of 7", 3),
        (
            "--multi 7 --async --depth 2",
            "3 threads, same connection, batches of 7, 2 in flight",
            3,
        ),
        ("--size 5000", "3 threads, same connection", 5),
    ] {
        let words = format!("--threads 3 --iter 50 --json load.json {form}");
        load(&served, &words);
        let text = std::fs::read_to_string(served.folder.path().join("load.json")).unwrap();
        let figures: Value = serde_json::from_str(&text).unwrap();
        let row = &figures["rows"][0];
        assert_eq!(row["case"], label, "{form}");
        let found = row["cells"].as_array().unwrap();
        assert_eq!(found.len(), cells, "{form}: {text}");
        for cell in found {
            assert_eq!(cell["records"], 150, "{form}: {text}");
            assert!(cell["per_second"].as_f64().unwrap() > 0.0, "{form}");
        }
        assert_eq!(count(&served), "0", "{form}");
    }
}

#[test]
fn load_for_a_time_begins_its_keys_anew_and_removes_each_once() {
    let served = Served::start();
    load(&served, "--only set --iter 30 --batch 1000");
    assert_eq!(count(&served), "30");
    let words = "--seconds 0.3 --records 30 --threads 2 --separate --yes --json load.json";
    load(&served, words);
    let text = std::fs::read_to_string(served.folder.path().join("load.json")).unwrap();
    let figures: Value = serde_json::from_str(&text).unwrap();
    let cells = figures["rows"][0]["cells"].as_array().unwrap();
    let records = |at: usize| cells[at]["records"].as_u64().unwrap();
    assert!(records(0) > 0 && records(2) > 30, "{text}");
    assert_eq!(records(4), 30, "{text}");
    assert_eq!(count(&served), "0");
    // More keys than there is time for: the rest is stored before it is read, and removed in the end.
    load(&served, "--seconds 0.05 --records 50000 --size 100 --async");
    assert_eq!(count(&served), "0");
}

#[test]
fn wrong_usage_is_refused_with_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let here = "kv --address 127.0.0.1:1";
    for (words, expected) in [
        ("--threads 0", "0 is not in 1..=1024"),
        ("--threads 1,1025", "1025 is not in 1..=1024"),
        ("--iter 0", "0 is not in 1..=100000000"),
        ("--iter 100000001", "100000001 is not in 1..=100000000"),
        ("--threads 2 --iter 50000001", "lower --iter or --threads"),
        ("--records 100000001", "100000001 is not in 1..=100000000"),
        ("--async --depth 0", "0 is not in 1..=1024"),
        ("--async --depth 1025", "1025 is not in 1..=1024"),
        ("--depth 4", "--async"),
        ("--batch 1001", "1001 is not in 1..=1000"),
        ("--batch 2 --stream", "cannot be used with"),
        ("--batch 2 --only echo", "Echo has no call for many records"),
        (
            "--batch 1000 --size 1041",
            "--batch 1000 with --size 1041 is 1049000 bytes",
        ),
        ("--size 0", "0 is not in 1..=67108864"),
        ("--size 67108865", "67108865 is not in 1..=67108864"),
        (
            "--size 67108864 --async --depth 17",
            "lower --size, --depth, --batch or --threads",
        ),
        ("--seconds 0", "--seconds is more than 0"),
        (
            "--seconds 86401",
            "--seconds is more than 0, and at most 86400",
        ),
        ("--seconds=-1", "--seconds: cannot convert"),
        ("--seconds 1 --iter 1", "cannot be used with"),
        (
            "--only put",
            "[possible values: echo, set, get, iterate, remove]",
        ),
        ("--quick", "stands alone but for --json"),
        ("http", "stands alone but for --json"),
    ] {
        check_refused(folder.path(), &format!("{here} {words}"), 2, expected);
    }
    for (line, expected) in [
        ("http --address 127.0.0.1:1", "tsumugi bench kv --address"),
        ("--address 127.0.0.1:1", "tsumugi bench kv --address"),
        ("kv --threads 2", "--address <ADDR>"),
        ("kv --index 1", "tsumugi bench kv --address ADDR"),
    ] {
        check_refused(folder.path(), line, 2, expected);
    }
}

#[test]
fn limit_itself_is_allowed() {
    let served = Served::start();
    load(&served, "--threads 1024 --iter 1 --only echo");
    load(&served, "--async --depth 1024 --iter 1 --only echo");
    load(&served, "--batch 1000 --iter 1000");
    load(&served, "--batch 1000 --size 1040 --iter 1000");
}

#[test]
fn figures_of_batches_are_in_records() {
    let served = Served::start();
    let text = load(&served, "--batch 10 --iter 40 --json load.json");
    assert!(text.contains("\nrecords/s "), "{text}");
    assert!(text.contains("\n  p50 of a call, ms "), "{text}");
    let text = std::fs::read_to_string(served.folder.path().join("load.json")).unwrap();
    let figures: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(figures["unit"], "records/s");
    assert_eq!(figures["call_records"], 10);
}

/// Runs a load of 100 connections with these limits of open files, as `ulimit` takes them.
fn limited(served: &Served, limits: &str) -> Output {
    let load = "kv --address unix:kv.sock --threads 100 --separate --iter 1 --only echo";
    let script = format!("{limits} && exec \"$0\" bench {load}");
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_tsumugi")])
        .current_dir(served.folder.path())
        .env_remove("TSUMUGI_LOG")
        .output()
        .unwrap()
}

#[test]
fn load_raises_its_limit_of_open_files_or_says_what_it_needs() {
    let served = Served::start();
    let output = limited(&served, "ulimit -Sn 64");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let output = limited(&served, "ulimit -n 664");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let output = limited(&served, "ulimit -n 663");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("100 connections do not fit"), "{errors}");
    assert!(errors.contains("664 open files"), "{errors}");
}

#[test]
fn load_without_a_server_of_its_kind_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let check = |address: &str, expected: &str| {
        let line = format!("kv --address {address} --iter 1");
        check_refused(folder.path(), &line, 1, expected);
    };
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = free.local_addr().unwrap().to_string();
    drop(free);
    check(&nobody, "start one: `tsumugi kv --listen");
    check("unix:/nowhere/kv.sock", "start one: `tsumugi kv --listen");
    check("tkrzw://a?b", "write tkrzw://host:port");
    check("localhost:none", "the port is a number");
    check(
        &answering(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        "no server of Tkrzw-RPC",
    );
    // A record of TLS that is an alert.
    check(&answering(&[21, 3, 3, 0, 2, 2, 70]), "--tls-ca");
}

/// A server that says one thing to all who connect.
fn answering(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 24];
            let _ = stream.read_exact(&mut asked);
            let _ = stream.write_all(answer);
        }
    });
    address.to_string()
}

#[test]
fn load_that_would_harm_or_cannot_be_right_says_so() {
    let served = Served::start();
    let check = |words: &str, expected: &str| {
        let line = format!("kv --address unix:kv.sock {words}");
        check_refused(served.folder.path(), &line, 1, expected);
    };
    check("--index 9 --iter 1", "--index names a database");
    check("--only get --iter 1", "there is no record 00000000");
    check("--only iterate --iter 1", "--only set");
    check("--only remove --iter 1", "there is no record 00000000");
    check(
        "--only get --stream --iter 1",
        "there is no record 00000000",
    );
    check(
        "--only get --batch 2 --iter 2",
        "there is no record 00000000",
    );
    // The second database takes values of 1 KiB.
    check("--index 1 --size 1025 --only set --iter 1", "value_max");
    load(&served, "--only set --iter 3");
    check("--iter 3", "database 0 holds 3 records");
    check(
        "--only get --size 9 --iter 3",
        "is not the one that --only set stores",
    );
    load(&served, "--only echo,get,iterate --iter 3");
    assert_eq!(count(&served), "3");
    load(&served, "--yes --iter 3");
    assert_eq!(count(&served), "0");
}

#[test]
fn load_that_is_interrupted_prints_what_there_is() {
    let served = Served::start();
    let mut command = bench(
        served.folder.path(),
        &["kv", "--address", "unix:kv.sock", "--threads", "1,2"],
    );
    command.args(["--seconds", "30", "--only", "echo"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Its first line says that the load has begun.
    let mut begun = [0];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut begun)
        .unwrap();
    check_interrupted(child);
}

/// Interrupts a load and expects that it says so.
#[track_caller]
fn check_interrupted(child: Child) {
    kill(
        Pid::from_raw(child.id().try_into().unwrap()),
        Signal::SIGINT,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("# interrupted"), "{text}");
}

#[test]
fn load_that_is_interrupted_before_the_server_answers_ends() {
    let folder = tempfile::tempdir().unwrap();
    // It takes the connection and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut command = bench(folder.path(), &["kv", "--address", &address]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let begun = Instant::now();
    let child = command.spawn().unwrap();
    let _connection = listener.accept().unwrap();
    check_interrupted(child);
    // Calls wait longer for their answers.
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn samples_of_the_page_and_of_the_help_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/bench.md")).unwrap();
    let help = bench(&root, &["--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let begins = |line: &&str| line.starts_with("tsumugi bench kv --address ");
    for (of, samples_min) in [(page, 6), (help, 4)] {
        let samples: Vec<&str> = of.lines().map(str::trim_start).filter(begins).collect();
        assert!(samples.len() >= samples_min, "{samples:?}");
        for sample in samples {
            // A database for each, at an address of this test; fewer calls, and certificates and tokens are another test's.
            let served = Served::start();
            let sample = sample.split(" # ").next().unwrap();
            let (_, options) = sample
                .split_once("--address ")
                .and_then(|(_, rest)| rest.split_once(' ').or(Some((rest, ""))))
                .unwrap();
            let words: Vec<&str> = options.split_whitespace().collect();
            let mut words = words.iter().copied();
            let mut kept = vec!["--yes".to_owned()];
            while let Some(word) = words.next() {
                match word {
                    "--iter" => drop(words.next()),
                    "--records" => {
                        words.next();
                        kept.extend(["--records", "1000"].map(str::to_owned));
                    }
                    "--seconds" => {
                        words.next();
                        kept.extend(["--seconds", "0.1"].map(str::to_owned));
                    }
                    "--tls-ca" | "--token-file" => drop(words.next()),
                    word => kept.push(word.to_owned()),
                }
            }
            if !kept.iter().any(|word| word == "--seconds") {
                kept.extend(["--iter", "20"].map(str::to_owned));
            }
            load(&served, &kept.join(" "));
        }
    }
}
