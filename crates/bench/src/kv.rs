//! The suite kv: the key-value service under clients in a process of their own, over the source's matrix, and what else it can do.
//! Beside each figure is what the original was measured at on another day and machine of two cores, so a ratio here says less than elsewhere;
//! processor time for each call, of server and clients, does not depend on who else uses the machine.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::bench::{Bench, ProgramEntry, Run};
use crate::driver::children_us;
use crate::process::{Process, free_address};
use crate::report::{Length, PublishedFigure, ReportTable, Row};
use crate::samples::{Samples, thousands};
use crate::servers::WORKERS;
use crate::stop::StopFlag;
use crate::store;

/// Records in the database.
const RECORDS: u64 = 1_000_000;
/// With `--quick`.
const RECORDS_QUICK: u64 = 100_000;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Echo,
    Set,
    Get,
    /// A Jump and a Get each.
    Iterate,
    Remove,
}

const OPERATIONS: [Operation; 5] = [
    Operation::Echo,
    Operation::Set,
    Operation::Get,
    Operation::Iterate,
    Operation::Remove,
];

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Echo => "echo",
            Operation::Set => "set",
            Operation::Get => "get",
            Operation::Iterate => "iterate",
            Operation::Remove => "remove",
        }
    }

    /// Calls a second of the original, one client on a UNIX socket: the middle of what was published.
    fn original(self) -> f64 {
        match self {
            Operation::Echo => 18_500.0,
            Operation::Set => 16_000.0,
            Operation::Get => 17_000.0,
            Operation::Iterate => 15_000.0,
            Operation::Remove => 17_500.0,
        }
    }
}

/// What four clients got of the original over what one got, of Echo (29 thousand). Nothing was published of the other calls, of two clients
/// or of IP: a supposition that they gain as much.
const ORIGINAL_FOUR: f64 = 29_000.0 / 18_500.0;
/// Calls a second of its stream, one client: the middle.
const ORIGINAL_STREAM: f64 = 28_500.0;
/// Records a second of its calls with ten records: the middle.
const ORIGINAL_MULTI: f64 = 145_000.0;

/// One line: the client, the call, and the figure of the original.
struct Case {
    operation: Operation,
    kind: &'static str,
    connections: u32,
    depth: u32,
    original: f64,
    label: String,
}

impl Case {
    /// Whether the original's figure is one of those published, and not reckoned from them.
    fn is_published(&self, target: &Target) -> bool {
        let is_four = self.operation == Operation::Echo && self.connections == 4;
        let is_unix = target.name == "UNIX";
        self.kind != "unary" || is_unix && (self.connections * self.depth == 1 || is_four)
    }
}

/// Where the server listens.
struct Target {
    name: &'static str,
    url: String,
}

/// Runs of each case at most: there are many.
const ROUNDS_MAX: usize = 3;
/// Whose figures stand beside ours.
const SOURCE: &str = "Tkrzw-RPC on 2 cores, UNIX socket";

/// A server and the program that loads it.
struct Contest {
    calls: PathBuf,
    server: Process,
    records: u64,
    stop: StopFlag,
}

/// The whole matrix, then calls in flight, streams and batches; stores in process at the end.
pub fn run(bench: &mut Bench) -> Result<()> {
    let calls = bench.programs.tool("calls");
    if calls.is_file() {
        service(bench, calls)?;
    } else {
        bench.miss(
            "the service",
            "`cargo build --release --package tsumugi-rpc --example calls` builds its clients",
        );
    }
    store::run(bench)
}

fn service(bench: &mut Bench, calls: PathBuf) -> Result<()> {
    let (server, targets) = start(bench)?;
    let is_quick = bench.length.is_quick();
    let contest = Contest {
        calls,
        server,
        records: if is_quick { RECORDS_QUICK } else { RECORDS },
        stop: bench.stop.clone(),
    };
    contest.call(&targets[0].url, ["fill", "multi"], 1, 1, bench.length)?;
    bench.note(format!(
        "the service: {} records of 8 and 8 bytes in memory, every answer checked",
        thousands(contest.records as f64)
    ));
    let (mut ratios, mut published) = (Samples::default(), Samples::default());
    for target in &targets {
        let cases: Vec<Case> = OPERATIONS.into_iter().flat_map(matrix).collect();
        let name = format!("unary {}", target.name);
        let title = format!("one call at a time, {}", target.name);
        let table = contest.table(bench, target, &cases, &name, &title)?;
        for row in table.rows {
            let Some(original) = &row.published else {
                continue;
            };
            let ratio = row.median() / original.middle();
            ratios.push(ratio);
            if !original.is_reckoned {
                published.push(ratio);
            }
        }
    }
    bench.note(format!(
        "one call at a time, the middle of all: {:.2} times the original; of those that were published: {:.2} times",
        ratios.median(),
        published.median()
    ));
    let title = "calls in flight, streams, batches of ten records";
    let table = contest.table(bench, &targets[0], &flights(), "flights", title)?;
    let mut ratios = Samples::default();
    for row in table.rows.iter().filter(|row| row.case.contains("stream")) {
        let original = row.published.as_ref().map(PublishedFigure::middle);
        ratios.push(row.median() / original.unwrap_or(f64::NAN));
    }
    bench.note(format!(
        "streams with 64 in flight, the middle: {:.2} times the original",
        ratios.median()
    ));
    Ok(())
}

/// One call at a time by each of 1, 2 and 4 callers, each with a connection, or all on one. Clients of ours share a connection within a
/// thread.
fn matrix(operation: Operation) -> Vec<Case> {
    let mut cases = Vec::new();
    for callers in [1, 2, 4] {
        let original =
            operation.original() * (1.0 + (ORIGINAL_FOUR - 1.0) * f64::from(callers - 1) / 3.0);
        let mut add = |connections, depth, how: &str| {
            let kind = "unary";
            let label = format!("{callers} {how}");
            cases.push(Case {
                operation,
                kind,
                connections,
                depth,
                original,
                label,
            });
        };
        add(callers, 1, if callers == 1 { "alone" } else { "own" });
        if callers > 1 {
            add(1, callers, "shared");
        }
    }
    cases
}

/// Calls in flight on one connection.
fn flights() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |operation, kind, depth, original, label: String| {
        cases.push(Case {
            operation,
            kind,
            connections: 1,
            depth,
            original,
            label,
        });
    };
    for operation in [Operation::Echo, Operation::Set, Operation::Get] {
        for depth in [1, 16, 64] {
            let label = format!("{depth} in flight");
            add(operation, "unary", depth, operation.original(), label);
        }
    }
    for operation in OPERATIONS {
        add(
            operation,
            "stream",
            64,
            ORIGINAL_STREAM,
            "stream, 64 in flight".to_owned(),
        );
    }
    for operation in [Operation::Set, Operation::Get, Operation::Remove] {
        add(
            operation,
            "multi",
            1,
            ORIGINAL_MULTI,
            "records in batches of ten".to_owned(),
        );
    }
    cases
}

/// The shipped binary on a UNIX socket, IPv4 and IPv6, with its default limits and figures.
fn start(bench: &mut Bench) -> Result<(Process, Vec<Target>)> {
    let folder = bench.folder().to_owned();
    let (admin, four) = (free_address()?, free_address()?);
    let socket: PathBuf = folder.join("kv.sock");
    let mut command = Command::new(&bench.programs.server);
    command.args([
        "kv",
        "--workers",
        &WORKERS.to_string(),
        "--admin",
        &admin.to_string(),
    ]);
    let unix = format!("unix:{}", socket.display());
    command.args(["--listen", &unix, "--listen", &four.to_string()]);
    let mut targets = vec![
        Target {
            name: "UNIX",
            url: format!("tkrzw+{unix}"),
        },
        Target {
            name: "IPv4",
            url: format!("tkrzw://{four}"),
        },
    ];
    match TcpListener::bind("[::1]:0").and_then(|listener| listener.local_addr()) {
        Ok(six) => {
            command.args(["--listen", &six.to_string()]);
            targets.push(Target {
                name: "IPv6",
                url: format!("tkrzw://{six}"),
            });
        }
        Err(error) => bench.miss("IPv6", &format!("this machine has none ({error})")),
    }
    Ok((Process::start("kv", command, admin, &folder)?, targets))
}

impl Contest {
    /// Measures cases at one address.
    fn table(
        &self,
        bench: &mut Bench,
        target: &Target,
        cases: &[Case],
        name: &str,
        title: &str,
    ) -> Result<ReportTable> {
        let mut entries = Vec::new();
        for case in cases {
            let words = [case.operation.name(), case.kind];
            let original = PublishedFigure {
                is_reckoned: !case.is_published(target),
                ..PublishedFigure::exactly(case.original, SOURCE)
            };
            let row = Row {
                case: format!("{}, {}", words[0], case.label),
                program: "tsumugi".to_owned(),
                ours: true,
                published: Some(original),
                ..Row::default()
            };
            entries.push(ProgramEntry::new(row, move |length| {
                self.call(&target.url, words, case.connections, case.depth, length)
            }));
        }
        let table = ReportTable {
            name: name.to_owned(),
            title: title.to_owned(),
            unit: "calls/s".to_owned(),
            ..ReportTable::default()
        };
        let length = Length {
            rounds: bench.length.rounds.min(ROUNDS_MAX),
            ..bench.length
        };
        bench.contest_for(length, table, entries)
    }

    fn call(
        &self,
        url: &str,
        words: [&str; 2],
        connections: u32,
        depth: u32,
        length: Length,
    ) -> Result<Run> {
        // A case of the matrix is short: there are many.
        let seconds = if length.is_quick() { 0.3 } else { 1.5 };
        let mut command = Command::new(&self.calls);
        command.arg(url).args(words);
        command.args([connections, depth].map(|number| number.to_string()));
        command.args([seconds.to_string(), self.records.to_string()]);
        let (server, clients) = (self.server.processor_us()?, children_us()?);
        let output = self.stop.run(&mut command)?;
        let server = self.server.processor_us()? - server;
        let clients = children_us()? - clients;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("{printed}{}", String::from_utf8_lossy(&output.stderr));
        }
        let (calls, seconds) = figures(&printed)
            .with_context(|| format!("the clients printed what they should not: {printed}"))?;
        Ok(Run {
            figure: calls / seconds,
            server_us: Some(server / calls),
            client_us: Some(clients / calls),
            ..Run::default()
        })
    }
}

/// `calls=N seconds=S`.
fn figures(line: &str) -> Option<(f64, f64)> {
    let (calls, seconds) = line.trim().split_once(' ')?;
    let calls = calls.strip_prefix("calls=")?.parse().ok()?;
    Some((calls, seconds.strip_prefix("seconds=")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_print_their_figures() {
        assert_eq!(figures("calls=100 seconds=0.5\n"), Some((100.0, 0.5)));
        assert_eq!(figures("calls=100\n"), None);
        assert_eq!(figures(""), None);
    }

    #[test]
    fn more_callers_are_compared_with_more() {
        let cases = matrix(Operation::Echo);
        let originals: Vec<f64> = cases.iter().map(|case| case.original.round()).collect();
        assert_eq!(
            originals,
            [18_500.0, 22_000.0, 22_000.0, 29_000.0, 29_000.0]
        );
    }
}
