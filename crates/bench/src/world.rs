//! The suites world and db: the example `world` on PostgreSQL beside a server in Rust, and its four ways of asking 500 times in a request.
//! The database server shares the machine, and what it uses is in no program's cost.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::bench::{Bench, CONNECTIONS, HttpLoad, ProgramEntry};
use crate::client;
use crate::process::{Process, free_address};
use crate::report::{ReportTable, Row};
use crate::samples::thousands;
use crate::servers::{WORKERS, world_file};
use crate::worlds::ExpectedAnswer;

/// The server beside ours, a program of `bench-peers`.
const PEER: &str = "world-axum";
/// What it is called in tables: what it is made of.
const PEER_NAME: &str = "axum + tokio-postgres";

/// What is measured, and what it must answer.
const PATHS: [(&str, ExpectedAnswer); 5] = [
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

/// A server of the endpoints.
pub struct EndpointServer {
    /// What it is called in tables.
    pub name: &'static str,
    /// It.
    pub process: Process,
}

impl EndpointServer {
    /// An entry for a path, once its answer was looked at.
    fn entry<'a>(
        &'a self,
        bench: &Bench,
        case: &str,
        path: &'a str,
        expected: ExpectedAnswer,
        connections: usize,
    ) -> Result<ProgramEntry<'a>> {
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
        expected.look(&text).with_context(context)?;
        let row = Row {
            case: case.to_owned(),
            program: self.name.to_owned(),
            ours: self.name == "tsumugi",
            ..Row::default()
        };
        let asked = HttpLoad {
            connections,
            ..HttpLoad::fast(&self.process, path, expected.under_load(&answer.body))
        };
        Ok(bench.http(row, asked))
    }
}

/// Ours, and the peer when it is built. `None` without a database.
fn start(bench: &mut Bench) -> Result<Option<Vec<EndpointServer>>> {
    let Some(url) = bench.database()? else {
        return Ok(None);
    };
    let folder = bench.folder().to_owned();
    let file = world_file(&folder)?;
    let ours = bench
        .ours()
        .serve(&file, &folder, WORKERS, &[("DATABASE_URL", &url)])?;
    let mut servers = vec![EndpointServer {
        name: "tsumugi",
        process: ours,
    }];
    servers.extend(peer(bench, &url)?);
    Ok(Some(servers))
}

/// The peer, when it is built.
pub fn peer(bench: &mut Bench, url: &str) -> Result<Option<EndpointServer>> {
    let program = bench.programs.peers().join(PEER);
    if !program.is_file() {
        bench.miss(PEER_NAME, "`make bench-peers` builds it");
        return Ok(None);
    }
    let address = free_address()?;
    let mut command = Command::new(program);
    command.args([&address.to_string(), url, &WORKERS.to_string()]);
    Ok(Some(EndpointServer {
        name: PEER_NAME,
        process: Process::start(PEER, command, address, bench.folder())?,
    }))
}

/// Ours beside the peer, path by path.
pub fn world(bench: &mut Bench) -> Result<()> {
    match start(bench)? {
        Some(servers) => contests(bench, &servers),
        None => Ok(()),
    }
}

/// The servers beside each other, path by path.
pub fn contests(bench: &mut Bench, servers: &[EndpointServer]) -> Result<()> {
    for (path, expected) in PATHS {
        let mut entries = Vec::new();
        for (at, server) in servers.iter().enumerate() {
            let entry = server.entry(bench, path, path, expected, CONNECTIONS)?;
            let others = if at == 0 { 1..servers.len() } else { 0..0 };
            entries.push(entry.over(others));
        }
        let table = ReportTable {
            name: path.trim_start_matches('/').to_owned(),
            title: path.to_owned(),
            unit: "req/s".to_owned(),
            ..ReportTable::default()
        };
        bench.contest(table, entries)?;
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
        let entry = servers[0].entry(bench, way, path, expected, POOL_CONNECTIONS)?;
        let entry = entry.over((at > 0).then_some(0));
        // The last is what the peer does, whose entry follows.
        let peer = (at + 1 == WAYS.len() && servers.len() > 1).then_some(WAYS.len());
        entries.push(entry.over(peer));
    }
    for peer in &servers[1..] {
        let (case, path) = (WAYS[WAYS.len() - 1].0, "/queries?q=500");
        entries.push(peer.entry(bench, case, path, expected, POOL_CONNECTIONS)?);
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
