//! The suite http: a one-line handler beside other servers, with fewer workers, with other settings, and how long it takes at a steady rate.
//! Servers run all the time and are loaded in turn; every answer of all of them must be the same.

use anyhow::{Context as _, Result};

use crate::bench::{Bench, HttpLoad, ProgramEntry};
use crate::load::{ExpectedBody, Pace};
use crate::process::Process;
use crate::report::{Better, ReportTable, Row};
use crate::servers::{PeerProgram, SYSTEM_ALLOCATOR, WORKERS};

/// What is asked.
pub const PATH: &str = "/hello";
/// What every server answers.
pub const HELLO: &[u8] = b"hello\n";
/// The rate at which latencies are compared, over what the slowest server can do.
const STEADY: f64 = 0.5;

/// A server that runs.
struct Server {
    name: &'static str,
    workers: usize,
    process: Process,
}

/// What every server must answer.
pub fn hello() -> ExpectedBody {
    ExpectedBody::Same(HELLO.to_vec())
}

/// Runs the suite.
pub fn run(bench: &mut Bench) -> Result<()> {
    let peers = bench.present_peers();
    let rates = string(bench, &peers)?;
    steady(bench, &peers, rates)?;
    workers(bench, &peers)?;
    settings(bench)
}

/// Ours first, then the peers.
fn start(bench: &Bench, peers: &[PeerProgram], workers: usize) -> Result<Vec<Server>> {
    let folder = bench.folder();
    let ours = bench
        .ours()
        .start_on("hello.rb", folder, workers)
        .context("tsumugi")?;
    let mut servers = vec![Server {
        name: "tsumugi",
        workers,
        process: ours,
    }];
    for peer in peers {
        servers.push(Server {
            name: peer.name(),
            workers,
            process: peer.start(folder, workers).context(peer.name())?,
        });
    }
    Ok(servers)
}

fn row(server: &Server, case: &str) -> Row {
    Row {
        case: case.to_owned(),
        program: server.name.to_owned(),
        ours: server.name == "tsumugi",
        ..Row::default()
    }
}

fn entries<'a>(
    bench: &Bench,
    servers: &'a [Server],
    case: &str,
    pace: Pace,
) -> Vec<ProgramEntry<'a>> {
    let mut entries = Vec::new();
    for (at, server) in servers.iter().enumerate() {
        let asked = HttpLoad {
            pace,
            ..HttpLoad::fast(&server.process, PATH, hello())
        };
        let entry = bench.http(row(server, case), asked);
        // Ours is beside each of the others.
        let others = if at == 0 { 1..servers.len() } else { 0..0 };
        entries.push(entry.over(others));
    }
    entries
}

/// As many requests as they can answer; returns that, in their order.
fn string(bench: &mut Bench, peers: &[PeerProgram]) -> Result<Vec<f64>> {
    let servers = start(bench, peers, WORKERS)?;
    let case = format!("{WORKERS} workers");
    let entries = entries(bench, &servers, &case, Pace::Closed);
    let table = ReportTable {
        name: "string".to_owned(),
        title: "string response".to_owned(),
        unit: "req/s".to_owned(),
        ..ReportTable::default()
    };
    let table = bench.contest(table, entries)?;
    Ok(table.rows.iter().map(Row::median).collect())
}

/// How long answers take when requests come evenly, at a rate that all of them can do.
fn steady(bench: &mut Bench, peers: &[PeerProgram], rates: Vec<f64>) -> Result<()> {
    let Some(slowest) = rates.into_iter().reduce(f64::min) else {
        return Ok(());
    };
    let rate = (slowest * STEADY / 1_000.0).round().max(1.0) * 1_000.0;
    let servers = start(bench, peers, WORKERS)?;
    let entries = entries(bench, &servers, "p99", Pace::Open(rate));
    let note = format!(
        "{rate:.0} requests a second, evenly: half of what the slowest can do; times begin when a request is due, not when it is sent"
    );
    let table = ReportTable {
        name: "steady".to_owned(),
        title: "time to answer at a steady rate".to_owned(),
        unit: "ms".to_owned(),
        better: Better::Less,
        notes: vec![note],
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}

/// What more workers bring. The load takes its share of the cores.
fn workers(bench: &mut Bench, peers: &[PeerProgram]) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = (0..=10).map(|power| 1 << power).collect();
    counts.retain(|count| *count < cores.max(WORKERS));
    counts.push(cores.max(WORKERS));
    let mut servers = Vec::new();
    for &count in &counts {
        servers.extend(start(bench, peers, count)?);
    }
    let mut all = Vec::new();
    for server in &servers {
        let case = if server.workers == 1 {
            "1 worker".to_owned()
        } else {
            format!("{} workers", server.workers)
        };
        let row = Row {
            x: Some(server.workers as f64),
            ..row(server, &case)
        };
        let entry = bench.http(row, HttpLoad::fast(&server.process, PATH, hello()));
        // Each is beside itself with one worker.
        let alone = all.len() % (peers.len() + 1);
        let others = if server.workers == 1 {
            None
        } else {
            Some(alone)
        };
        all.push(entry.over(others));
    }
    let table = ReportTable {
        name: "workers".to_owned(),
        title: "by number of workers".to_owned(),
        unit: "req/s".to_owned(),
        axis: Some("workers".to_owned()),
        notes: vec![format!(
            "{cores} cores, of which the load takes its share: with as many workers as cores, they are in each other's way"
        )],
        ..ReportTable::default()
    };
    bench.contest(table, all).map(drop)
}

/// The same server set up otherwise.
fn settings(bench: &mut Bench) -> Result<()> {
    let (ours, folder) = (bench.ours(), bench.folder().to_owned());
    let mut servers = vec![
        ("as shipped", ours.start("hello.rb", &folder)?),
        (
            "generational collector",
            ours.start("hello_generational.rb", &folder)?,
        ),
    ];
    let built = bench.programs.tool(SYSTEM_ALLOCATOR);
    if built.is_file() {
        let mut other = ours.clone();
        other.tsumugi = built;
        servers.push(("allocator of the system", other.start("hello.rb", &folder)?));
    } else {
        bench.miss(
            "the server with the allocator of the system",
            "`make bench-allocator` builds it",
        );
    }
    let mut entries = Vec::new();
    for (at, (case, process)) in servers.iter().enumerate() {
        let row = Row {
            case: (*case).to_owned(),
            program: "tsumugi".to_owned(),
            ours: true,
            ..Row::default()
        };
        let entry = bench.http(row, HttpLoad::fast(process, PATH, hello()));
        entries.push(entry.over((at > 0).then_some(0)));
    }
    let table = ReportTable {
        name: "settings".to_owned(),
        title: "allocator and collector".to_owned(),
        unit: "req/s".to_owned(),
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}
