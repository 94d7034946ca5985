//! The suites world-native and threads: applications in Rust, beside a server made of other crates and beside hyper alone; one worker and
//! several, two allocators. Rule: the programs are the examples as they ship, and every answer is looked at.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::bench::{Bench, HttpLoad};
use crate::client;
use crate::http::PATH;
use crate::load::ExpectedBody;
use crate::process::{Process, free_address};
use crate::report::{ReportTable, Row};
use crate::servers::{StartMode, WORKERS};
use crate::world::{self, EndpointServer};

/// The endpoints of World and Fortune in Rust.
const WORLD: &str = "world-native";
/// Hyper without us, a thread with a listener for each core.
const BARE: &str = "hello";
/// The builds of the example `threads`, and what their allocator is called.
const BUILDS: [(&str, &str); 2] = [
    ("threads", "mimalloc"),
    ("threads-system", "system allocator"),
];
/// What both one-line handlers answer.
const HELLO: &[u8] = b"hello";
/// The scenarios of the example `threads`.
const SCENARIOS: [(&str, &str, &str); 2] = [
    ("rows", "20 rows of a database", ROWS_PATH),
    ("strings", "1,000 strings made and dropped", "/strings"),
];
const ROWS_PATH: &str = "/rows";
/// Rows of one answer.
const ROWS: usize = 20;
/// Strings of one answer.
const STRINGS: usize = 1_000;

/// Starts an example that serves by itself.
pub fn serve(
    mode: StartMode,
    program: &Path,
    folder: &Path,
    workers: usize,
    variables: &[(&str, &str)],
) -> Result<Process> {
    let folder = &tempfile::tempdir_in(folder)?.keep();
    let address = free_address()?;
    let mut command = Command::new(program);
    command.args(["serve", "--listen", &address.to_string()]);
    command.args(["--workers", &workers.to_string(), "--data"]);
    command.arg(folder.join("data"));
    command.args(mode.options());
    command.envs(variables.iter().copied());
    Process::start_in(mode.sessions, "tsumugi", command, address, folder)
}

/// An example, unless it is not built.
fn example(bench: &mut Bench, name: &str, package: &str) -> Option<PathBuf> {
    let program = bench.programs.tool(name);
    if program.is_file() {
        return Some(program);
    }
    let remedy = format!("`cargo build --release --package {package} --example {name}` builds it");
    bench.miss(name, &remedy);
    None
}

/// World and Fortune in Rust beside axum, and a one-line handler beside hyper alone.
pub fn world(bench: &mut Bench) -> Result<()> {
    let Some(program) = example(bench, WORLD, "tsumugi") else {
        return Ok(());
    };
    let Some(url) = bench.database()? else {
        return Ok(());
    };
    let folder = bench.folder().to_owned();
    let variables = [("DATABASE_URL", url.as_str())];
    let serve = |_: &Bench, mode| serve(mode, &program, &folder, WORKERS, &variables);
    let servers = world::start_in_both(bench, &url, serve, |_, _| Ok(Vec::new()))?;
    world::contests(bench, &servers)?;
    bare(bench, &servers[0])
}

/// A one-line handler beside hyper alone.
fn bare(bench: &mut Bench, ours: &EndpointServer) -> Result<()> {
    let Some(program) = example(bench, BARE, "tsumugi-http") else {
        return Ok(());
    };
    let address = free_address()?;
    let mut command = Command::new(program);
    command.args([&address.to_string(), &WORKERS.to_string(), "bare"]);
    let folder = bench.folder().to_owned();
    let other = Process::start(BARE, command, address, &folder)?;
    let mut entries = Vec::new();
    for (at, (name, process)) in [("tsumugi", &ours.process), ("hyper", &other)]
        .into_iter()
        .enumerate()
    {
        let answer = client::fetch(process.address, PATH).context(name)?;
        ensure!(answer.body == HELLO, "{name} answers {answer:?}");
        let row = Row {
            case: PATH.to_owned(),
            program: name.to_owned(),
            ours: at == 0,
            ..Row::default()
        };
        let entry = bench.http(
            row,
            HttpLoad::fast(process, PATH, ExpectedBody::Same(HELLO.to_vec())),
        );
        entries.push(entry.over((at == 0).then_some(1)));
    }
    let table = ReportTable {
        name: "hello".to_owned(),
        title: "a one-line handler beside hyper alone".to_owned(),
        unit: "req/s".to_owned(),
        reason: Some(
            "hyper alone finds no route, bounds nothing, counts nothing and has no times"
                .to_owned(),
        ),
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}

/// Those builds of the example `threads` that are there, and their allocators.
pub fn builds(bench: &Bench) -> Vec<(PathBuf, &'static str)> {
    let builds = BUILDS.into_iter();
    let built = builds.map(|(name, allocator)| (bench.programs.tool(name), allocator));
    built.filter(|(program, _)| program.is_file()).collect()
}

/// One worker and several, with two allocators, for two scenarios.
pub fn threads(bench: &mut Bench) -> Result<()> {
    let url = bench.database()?;
    let folder = bench.folder().to_owned();
    let database = url.as_deref().map(|url| ("DATABASE_URL", url));
    let mut servers = Vec::new();
    for (name, _) in BUILDS {
        example(bench, name, "tsumugi");
    }
    for (program, allocator) in builds(bench) {
        for workers in [1, WORKERS] {
            let (mode, variables) = (
                StartMode::default(),
                database.into_iter().collect::<Vec<_>>(),
            );
            let process = serve(mode, &program, &folder, workers, &variables)?;
            servers.push((allocator, workers, process));
        }
    }
    if servers.is_empty() {
        return Ok(());
    }
    for (name, title, path) in SCENARIOS {
        let expected = answers(path);
        let mut entries = Vec::new();
        for (at, (allocator, workers, process)) in servers.iter().enumerate() {
            let answer = client::fetch(process.address, path)?;
            let is_right = answer.status == 200 && expected.holds(&answer.body);
            ensure!(is_right, "{path}: {answer:?}");
            let plural = if *workers == 1 { "" } else { "s" };
            let row = Row {
                case: format!("{allocator}, {workers} worker{plural}"),
                program: "tsumugi".to_owned(),
                ours: true,
                ..Row::default()
            };
            let entry = bench.http(row, HttpLoad::fast(process, path, expected.clone()));
            // Several workers are beside one worker of the same build.
            entries.push(entry.over((*workers > 1).then(|| at - 1)));
        }
        let table = ReportTable {
            name: name.to_owned(),
            title: title.to_owned(),
            unit: "req/s".to_owned(),
            ..ReportTable::default()
        };
        bench.contest(table, entries)?;
    }
    Ok(())
}

/// What a scenario answers.
fn answers(path: &str) -> ExpectedBody {
    if path == ROWS_PATH {
        return ExpectedBody::Fits(|body| fruits(body) == Some(ROWS));
    }
    let lines = (0..STRINGS).rev().map(|line| format!("line {line}\n"));
    ExpectedBody::Same(lines.collect::<String>().into_bytes())
}

/// How many rows an array of `{"id":N,"name":"fruit N"}` has, by rising numbers; `None` when it is none. Quick: it sees every answer.
fn fruits(body: &[u8]) -> Option<usize> {
    let mut rest = body.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let (mut count, mut last) = (0, 0);
    loop {
        rest = rest.strip_prefix(b"{\"id\":")?;
        let digits;
        (digits, rest) =
            rest.split_at(rest.iter().take_while(|byte| byte.is_ascii_digit()).count());
        let id: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        rest = rest.strip_prefix(b",\"name\":\"fruit ")?;
        rest = rest.strip_prefix(digits)?.strip_prefix(b"\"}")?;
        if id <= last {
            return None;
        }
        (count, last) = (count + 1, id);
        if rest.is_empty() {
            return Some(count);
        }
        rest = rest.strip_prefix(b",")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Option<usize>) {
        assert_eq!(fruits(body.as_bytes()), expected, "{body}");
    }

    #[test]
    fn fruits_are_counted_by_their_bytes() {
        let first = r#"{"id":9,"name":"fruit 9"}"#;
        let second = r#"{"id":10,"name":"fruit 10"}"#;
        check(&format!("[{first}]"), Some(1));
        check(&format!("[{first},{second}]"), Some(2));
        for wrong in [
            "",
            "[]",
            first,
            &format!("[{second},{first}]"),
            &format!("[{first},{first}]"),
            &format!("[{first},]"),
            &format!("[{first}{second}]"),
            r#"[{"id":1,"name":"fruit 2"}]"#,
            r#"[{"id":,"name":"fruit "}]"#,
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn strings_are_all_of_them_backwards() {
        let expected = answers("/strings");
        let ExpectedBody::Same(text) = &expected else {
            panic!("its answers are all the same");
        };
        assert!(text.starts_with(b"line 999\nline 998\n") && text.ends_with(b"\nline 0\n"));
        assert!(!expected.holds(b"line 999\n"));
    }
}
