//! The suites world and db: the example `world` on PostgreSQL beside a server in Rust, and its four ways of asking 500 times in a request.
//! Beside them, in `world` only, servers in other scripting languages. The database server shares the machine, and what it uses is in no
//! program's cost.
//! World is measured in own sessions and in one, all servers at once, so that both conditions have the same drift. PostgreSQL gives each of
//! its backends a session of its own in either.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::bench::{Bench, CONNECTIONS, HttpLoad, ProgramEntry};
use crate::client;
use crate::load::Pace;
use crate::process::{Process, free_address};
use crate::programs::Programs;
use crate::report::{Better, ReportTable, Row, SessionScope};
use crate::samples::thousands;
use crate::scripting;
use crate::servers::{StartMode, WORKERS, world_file};
use crate::worlds::ExpectedAnswer;

/// The server beside ours, a program of `bench-peers`.
const PEER: &str = "world-axum";
/// What it is called in tables: what it is made of.
pub const PEER_NAME: &str = "axum + tokio-postgres";

/// What is measured, and what it must answer.
pub const PATHS: [(&str, ExpectedAnswer); 5] = [
    ("/db", ExpectedAnswer::World),
    ("/queries?q=20", ExpectedAnswer::Worlds(20)),
    ("/queries?q=500", ExpectedAnswer::Worlds(500)),
    ("/fortunes", ExpectedAnswer::Fortunes),
    ("/updates?q=20", ExpectedAnswer::Changed(20)),
];

/// The ways of `/pool`; the first is what the others are compared with.
const WAYS: [(&str, &str); 4] = [
    ("one connection, prepared", "/pool?way=single_prepared"),
    ("pool, not prepared", "/pool?way=pool_unprepared"),
    ("pool, prepared", "/pool?way=pool_prepared"),
    ("prepared, pipelined", "/pool?way=pipelined"),
];
/// Reads of one request of `/pool`.
const READS: usize = 500;
/// Connections of the load on `/pool`, where one request keeps the database busy.
const POOL_CONNECTIONS: usize = 4;

/// What is measured at a steady rate too, where values of `--scheduling` are compared.
const STEADY_PATHS: [&str; 2] = ["/db", "/queries?q=20"];
/// That rate, over what the slowest of them can do.
const STEADY: f64 = 0.5;
/// The note in the report on both conditions.
const BOTH: &str = "every program in a session of its own; \"one session\": servers and load in one, PostgreSQL's backends in theirs as always";

/// A server of the endpoints.
pub struct EndpointServer {
    /// What it is called in tables.
    pub name: &'static str,
    /// Whether it is one of ours.
    pub ours: bool,
    /// It.
    pub process: Process,
}

/// What is asked of one.
#[derive(Clone, Copy)]
pub struct EndpointLoad<'a> {
    /// What it is called in tables.
    pub case: &'a str,
    /// What is asked for.
    pub path: &'a str,
    /// What must be answered.
    pub expected: ExpectedAnswer,
    /// By how many.
    pub connections: usize,
    /// When.
    pub pace: Pace,
}

impl<'a> EndpointLoad<'a> {
    /// As fast as [`CONNECTIONS`] get answers.
    pub fn fast(path: &'a str, expected: ExpectedAnswer) -> EndpointLoad<'a> {
        EndpointLoad {
            case: path,
            path,
            expected,
            connections: CONNECTIONS,
            pace: Pace::Closed,
        }
    }
}

impl EndpointServer {
    /// One of ours, started in this way.
    pub fn ours(mode: StartMode, process: Process) -> EndpointServer {
        EndpointServer {
            name: mode.name(),
            ours: true,
            process,
        }
    }

    /// A load of it, once its answer was looked at.
    pub fn load<'a>(&'a self, load: EndpointLoad<'a>) -> Result<HttpLoad<'a>> {
        let path = load.path;
        let answer = client::fetch(self.process.address, path)
            .with_context(|| format!("{} does not answer {path}", self.name))?;
        let text = String::from_utf8_lossy(&answer.body);
        let context = || {
            let shown: String = text.chars().take(200).collect();
            format!(
                "{} answers {path} with {} {shown}",
                self.name, answer.status
            )
        };
        ensure!(answer.status == 200, context());
        load.expected.look(&text).with_context(context)?;
        Ok(HttpLoad {
            connections: load.connections,
            pace: load.pace,
            ..HttpLoad::fast(&self.process, path, load.expected.under_load(&answer.body))
        })
    }

    /// A row of it.
    pub fn row(&self, case: &str) -> Row {
        Row {
            case: case.to_owned(),
            program: self.name.to_owned(),
            ours: self.ours,
            ..Row::default()
        }
    }

    /// An entry for a load, once its answer was looked at.
    fn entry<'a>(&'a self, bench: &Bench, load: EndpointLoad<'a>) -> Result<ProgramEntry<'a>> {
        Ok(bench.http(self.row(load.case), self.load(load)?))
    }
}

/// Ours in their sessions with their defaults, and the peer when it is built. `None` without a database.
pub fn start(bench: &mut Bench) -> Result<Option<Vec<EndpointServer>>> {
    let Some(url) = bench.database()? else {
        return Ok(None);
    };
    let folder = bench.folder().to_owned();
    let mode = StartMode::default();
    let ours = serve(bench, mode, &folder, &url)?;
    let mut servers = vec![EndpointServer::ours(mode, ours)];
    servers.extend(peer(bench, mode.sessions, &url)?);
    Ok(Some(servers))
}

fn serve(bench: &Bench, mode: StartMode, folder: &Path, url: &str) -> Result<Process> {
    let (file, variables) = (world_file(folder)?, [("DATABASE_URL", url)]);
    bench
        .ours()
        .serve_as(mode, &file, folder, WORKERS, &variables)
}

/// In own sessions and in one: ours in each way that is asked for, the peer when it is built, and `others`.
pub fn start_in_both(
    bench: &mut Bench,
    url: &str,
    serve: impl Fn(&Bench, StartMode) -> Result<Process>,
    others: impl Fn(&mut Bench, SessionScope) -> Result<Vec<EndpointServer>>,
) -> Result<Vec<EndpointServer>> {
    bench.note(BOTH);
    let mut servers = Vec::new();
    for sessions in SessionScope::ALL {
        let several = bench.scheduling.iter().copied().map(Some);
        let scheduling: Vec<_> = match bench.scheduling.is_empty() {
            true => vec![None],
            false => several.collect(),
        };
        for scheduling in scheduling {
            let mode = StartMode {
                sessions,
                scheduling,
            };
            servers.push(EndpointServer::ours(mode, serve(bench, mode)?));
        }
        servers.extend(peer(bench, sessions, url)?);
        servers.extend(others(bench, sessions)?);
    }
    Ok(servers)
}

/// The peer, when it is built.
fn peer(bench: &mut Bench, sessions: SessionScope, url: &str) -> Result<Option<EndpointServer>> {
    if !peer_program(&bench.programs).is_file() {
        if sessions == SessionScope::Own {
            bench.miss(PEER_NAME, "`make bench-peers` builds it");
        }
        return Ok(None);
    }
    Ok(Some(EndpointServer {
        name: PEER_NAME,
        ours: false,
        process: start_peer(&bench.programs, sessions, bench.folder(), url, WORKERS)?,
    }))
}

/// Where the peer is when it is built.
pub fn peer_program(programs: &Programs) -> PathBuf {
    programs.peers().join(PEER)
}

/// Starts the peer with so many workers.
pub fn start_peer(
    programs: &Programs,
    sessions: SessionScope,
    folder: &Path,
    url: &str,
    workers: usize,
) -> Result<Process> {
    let address = free_address()?;
    let mut command = Command::new(peer_program(programs));
    command.args([&address.to_string(), url, &workers.to_string()]);
    // Two of them have a log each.
    let folder = &tempfile::tempdir_in(folder)?.keep();
    Process::start_in(sessions, PEER, command, address, folder)
}

/// Ours beside the peer, path by path.
pub fn world(bench: &mut Bench) -> Result<()> {
    let Some(url) = bench.database()? else {
        return Ok(());
    };
    let folder = bench.folder().to_owned();
    let serve = |bench: &Bench, mode| serve(bench, mode, &folder, &url);
    let scripted = |bench: &mut Bench, sessions| -> Result<Vec<EndpointServer>> {
        let found = scripting::start(bench, sessions, &url)?.into_iter();
        let server = |(name, process)| EndpointServer {
            name,
            ours: false,
            process,
        };
        Ok(found.map(server).collect())
    };
    bench.note(scripting::NOTE);
    let servers = start_in_both(bench, &url, serve, scripted)?;
    contests(bench, &servers)
}

/// The servers beside each other, path by path; those of the same sessions are compared.
pub fn contests(bench: &mut Bench, servers: &[EndpointServer]) -> Result<()> {
    let all: Vec<&EndpointServer> = servers.iter().collect();
    for (path, expected) in PATHS {
        let load = EndpointLoad::fast(path, expected);
        let table = ReportTable {
            name: path.trim_start_matches('/').to_owned(),
            title: path.to_owned(),
            unit: "req/s".to_owned(),
            ..ReportTable::default()
        };
        let table = beside(bench, table, &all, load)?;
        if STEADY_PATHS.contains(&path) && bench.scheduling.len() > 1 {
            steady(bench, servers, &table, load)?;
        }
    }
    Ok(())
}

/// One load of the servers, in turn.
fn beside(
    bench: &mut Bench,
    table: ReportTable,
    servers: &[&EndpointServer],
    load: EndpointLoad<'_>,
) -> Result<ReportTable> {
    let places: Vec<(SessionScope, bool)> = servers
        .iter()
        .map(|server| (server.process.sessions(), server.ours))
        .collect();
    let mut entries = Vec::new();
    for (at, server) in servers.iter().enumerate() {
        entries.push(server.entry(bench, load)?.over(rivals(&places, at)));
    }
    bench.contest(table, entries)
}

/// The programs that a server is compared with, of those in its sessions: ours with the peers, and with those of ours that come before.
fn rivals(places: &[(SessionScope, bool)], at: usize) -> Vec<usize> {
    let (sessions, ours) = places[at];
    let is_rival = |other: &usize| {
        let (others, is_ours) = places[*other];
        ours && others == sessions && (!is_ours || *other < at)
    };
    (0..places.len()).filter(is_rival).collect()
}

/// How long answers take at half of what the slowest can do, a table for each condition.
fn steady(
    bench: &mut Bench,
    servers: &[EndpointServer],
    rates: &ReportTable,
    load: EndpointLoad<'_>,
) -> Result<()> {
    for sessions in SessionScope::ALL {
        let rows = rates.rows.iter().filter(|row| row.sessions == sessions);
        let slowest = rows.map(Row::median).fold(f64::INFINITY, f64::min);
        let rate = (slowest * STEADY / 100.0).round().max(1.0) * 100.0;
        let pace = Pace::Open(rate);
        let load = EndpointLoad { pace, ..load };
        let suffix = match sessions {
            SessionScope::Own => "steady",
            SessionScope::One => "steady in one session",
        };
        let table = ReportTable {
            name: format!("{} {suffix}", rates.name),
            title: format!("{}, time to answer at a steady rate", rates.title),
            unit: "ms".to_owned(),
            better: Better::Less,
            notes: vec![format!(
                "p99 at {rate:.0} requests a second, evenly: half of what the slowest can do"
            )],
            ..ReportTable::default()
        };
        let fitting = |server: &&EndpointServer| server.process.sessions() == sessions;
        let fitting: Vec<&EndpointServer> = servers.iter().filter(fitting).collect();
        beside(bench, table, &fitting, load)?;
    }
    Ok(())
}

/// The four ways, and the peer's own.
pub fn db(bench: &mut Bench) -> Result<()> {
    let Some(servers) = start(bench)? else {
        return Ok(());
    };
    let expected = ExpectedAnswer::Worlds(READS);
    let mut entries = Vec::new();
    for (at, (way, path)) in WAYS.iter().enumerate() {
        let load = EndpointLoad {
            case: way,
            connections: POOL_CONNECTIONS,
            ..EndpointLoad::fast(path, expected)
        };
        let entry = servers[0].entry(bench, load)?;
        let entry = entry.over((at > 0).then_some(0));
        // The last is what the peer does, whose entry follows.
        let peer = (at + 1 == WAYS.len() && servers.len() > 1).then_some(WAYS.len());
        entries.push(entry.over(peer));
    }
    for peer in &servers[1..] {
        let load = EndpointLoad {
            case: WAYS[WAYS.len() - 1].0,
            connections: POOL_CONNECTIONS,
            ..EndpointLoad::fast("/queries?q=500", expected)
        };
        entries.push(peer.entry(bench, load)?);
    }
    let table = ReportTable {
        name: "reads".to_owned(),
        title: format!("{READS} reads by primary key in one request"),
        unit: "req/s".to_owned(),
        notes: vec![format!(
            "{POOL_CONNECTIONS} requests at once; reads a second are {READS} times the figures"
        )],
        ..ReportTable::default()
    };
    let table = bench.contest(table, entries)?;
    let best = table.rows.iter().filter(|row| row.ours).map(Row::median);
    let best = best.fold(0.0, f64::max) * READS as f64;
    bench.note(format!("at best {} reads a second", thousands(best)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_compared_in_their_sessions_only() {
        let (own, one) = (SessionScope::Own, SessionScope::One);
        let places = [(own, true), (own, false), (one, true), (one, false)];
        let found: Vec<_> = (0..4).map(|at| rivals(&places, at)).collect();
        assert_eq!(found, [vec![1], vec![], vec![3], vec![]]);
    }

    #[test]
    fn ours_with_another_option_is_compared_with_ours_before_it() {
        let places = [true, true, false].map(|ours| (SessionScope::Own, ours));
        let found: Vec<_> = (0..3).map(|at| rivals(&places, at)).collect();
        assert_eq!(found, [vec![2], vec![0, 2], vec![]]);
    }
}
