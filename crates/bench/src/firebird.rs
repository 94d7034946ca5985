//! The suite firebird: the catalogue of a Firebird database as JSON, in the six ways of having a connection of a published table, beside
//! node-firebird and the Go driver. The two ways that block are in a program that exists for this suite; the others are the example as it ships.
//! Rule: each way has a process of its own, with one worker, and every answer of all of them has the same bytes.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::bench::{Bench, HttpLoad, ProgramEntry, Run};
use crate::client::{self, ProbeClient};
use crate::firebird_cost;
use crate::limits::WARM_UP_MS;
use crate::load::{self, ConnectionUse, ExpectedBody, LoadPlan, LoadRequest, LoadTransport, Pace};
use crate::process::{Process, free_address};
use crate::programs::find;
use crate::publications;
use crate::report::{Better, GridCell, ReportTable, Row};
use crate::samples::Samples;
use crate::servers::firebird_file;
use crate::stop::StopFlag;

/// Connections of the load, as in the table that this suite is after.
const CONNECTIONS: usize = 5;
/// Workers of ours: the others have one thread for their code, too.
const WORKERS: usize = 1;
/// Pages a second that are asked for while the catalogue is.
const PAGES: f64 = 100.0;
/// Requests whose first byte is waited for in one run.
const FIRST_BYTES: usize = 100;
/// What renders the page without a database.
const PAGE: &str = "/";
/// The program of the ways that block.
const BLOCKING: &str = "firebird-blocking";
/// The folder of a peer, and what it is called in tables.
const NODE: &str = "node-firebird";
/// The program of the other, and what it is called in tables.
const GO_PROGRAM: &str = "firebird-go";
const GO: &str = "firebirdsql (Go)";
/// The published table, and its one column.
const PUBLISHED: u32 = 5;
const COLUMN: &str = "requests/s";
/// A column beside it, of answers that have the size of the published ones.
const PLAIN_COLUMN: &str = "requests/s, without blobs";
/// How the rows of the published table begin that are of ten rows of the catalogue.
const TEN_ROWS: &str = "10 rows";
const TEN_AT_ONCE: &str = "10 rows (about 1 KB), 4 cores for the database: asynchronous";
const TEN_BLOCKING: &str = "10 rows (about 1 KB), 4 cores for the database: synchronous";
/// Bytes of the published answers.
const PUBLISHED_SIZE: &str = "about 19 KB, and about 1 KB of ten rows";

/// What is asked for.
const ALL: CatalogueQuery = CatalogueQuery {
    title: "all rows of the catalogue",
    query: "",
};
const PLAIN: CatalogueQuery = CatalogueQuery {
    title: "all rows, without the columns that are blobs",
    query: "?only=plain",
};
const TEN: CatalogueQuery = CatalogueQuery {
    title: "ten rows of the catalogue",
    query: "?only=ten",
};

/// A part of the catalogue.
struct CatalogueQuery {
    title: &'static str,
    query: &'static str,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CatalogueProgram {
    Ruby,
    Blocking,
    Node,
    Go,
}

impl CatalogueProgram {
    fn is_ours(self) -> bool {
        matches!(self, CatalogueProgram::Ruby | CatalogueProgram::Blocking)
    }

    fn name(self) -> &'static str {
        match self {
            CatalogueProgram::Ruby | CatalogueProgram::Blocking => "tsumugi",
            CatalogueProgram::Node => NODE,
            CatalogueProgram::Go => GO,
        }
    }
}

/// A way of having a connection.
struct Way {
    program: CatalogueProgram,
    path: &'static str,
    /// What it is called in tables that are no grids.
    case: &'static str,
    /// The row of the published table that it is.
    line: &'static str,
}

const fn way(
    program: CatalogueProgram,
    path: &'static str,
    case: &'static str,
    line: &'static str,
) -> Way {
    Way {
        program,
        path,
        case,
        line,
    }
}

/// The rows of the published table.
const CONNECTS: &str = "asynchronous, a connection for each request";
const SHARED: &str = "asynchronous, one connection shared";
const POOL: &str = "asynchronous, pool of 5 connections";
const PREPARED: &str = "asynchronous, pool of 5 prepared statements";

/// In the order of the published table; the peers last.
const WAYS: [Way; 12] = [
    way(
        CatalogueProgram::Blocking,
        "/connect",
        "blocking, connects for each request",
        "synchronous, a connection for each request",
    ),
    way(
        CatalogueProgram::Ruby,
        "/connect",
        "connects for each request",
        CONNECTS,
    ),
    way(
        CatalogueProgram::Blocking,
        "/single",
        "blocking, one connection",
        "synchronous, one connection shared",
    ),
    way(
        CatalogueProgram::Ruby,
        "/single",
        "one connection with a queue",
        SHARED,
    ),
    way(CatalogueProgram::Ruby, "/pool", "pool of 5", POOL),
    way(
        CatalogueProgram::Ruby,
        "/prepared",
        "pool of 5, prepared",
        PREPARED,
    ),
    way(
        CatalogueProgram::Node,
        "/pool",
        "node-firebird, pool of 5",
        POOL,
    ),
    way(
        CatalogueProgram::Node,
        "/prepared",
        "node-firebird, pool of 5, prepared",
        PREPARED,
    ),
    way(
        CatalogueProgram::Go,
        "/connect",
        "Go, connects for each request",
        CONNECTS,
    ),
    way(
        CatalogueProgram::Go,
        "/single",
        "Go, one connection with a queue",
        SHARED,
    ),
    way(CatalogueProgram::Go, "/pool", "Go, pool of 5", POOL),
    way(
        CatalogueProgram::Go,
        "/prepared",
        "Go, pool of 5, prepared",
        PREPARED,
    ),
];

/// A way with its process.
struct Server {
    way: &'static Way,
    process: Process,
}

impl Server {
    fn row(&self) -> Row {
        Row {
            case: self.way.case.to_owned(),
            program: self.way.program.name().to_owned(),
            ours: self.way.program.is_ours(),
            ..Row::default()
        }
    }

    fn cell(&self, line: &str, column: &str) -> Row {
        Row {
            ours: self.way.program.is_ours(),
            ..Row::in_cell(GridCell::new(line, column), self.way.program.name())
        }
    }

    /// The row of the published table for ten rows of the catalogue, which says less of connections.
    fn line_of_ten(&self) -> &'static str {
        match (self.way.program, self.way.path) {
            (CatalogueProgram::Blocking, "/single") => TEN_BLOCKING,
            (_, "/pool") => TEN_AT_ONCE,
            _ => self.way.line,
        }
    }

    fn fetch(&self, query: &str) -> Result<Vec<u8>> {
        let path = format!("{}{query}", self.way.path);
        let answer = client::fetch(self.process.address, &path);
        let answer = answer.with_context(|| format!("{}: {path}", self.way.case))?;
        let shown = || {
            let text = String::from_utf8_lossy(&answer.body);
            text.chars().take(300).collect::<String>()
        };
        ensure!(
            answer.status == 200,
            "{}: {path} answers {} {}",
            self.way.case,
            answer.status,
            shown()
        );
        Ok(answer.body)
    }
}

/// Runs the suite.
pub fn run(bench: &mut Bench) -> Result<()> {
    let Some(url) = bench.firebird()? else {
        return Ok(());
    };
    let servers = start(bench, &url)?;
    let expected = same(bench, &servers, &ALL)?;
    let plain = same(bench, &servers, &PLAIN)?;
    bench.note(format!(
        "published answers had {PUBLISHED_SIZE}; the catalogue of this version carries blobs: {} bytes with them, {} without",
        expected.len(),
        plain.len()
    ));
    catalogue(bench, &servers, &expected, &plain)?;
    let ten = same(bench, &servers, &TEN)?;
    ten_rows(bench, &servers, &ten)?;
    // What a driver does to others on its thread it does in each of these ways.
    let is_shown = |server: &&Server| {
        server.way.program != CatalogueProgram::Go || server.way.line == PREPARED
    };
    let shown: Vec<&Server> = servers.iter().filter(is_shown).collect();
    first_bytes(bench, &shown, &expected)?;
    pages(bench, &shown, &expected)?;
    peaks(bench, &servers)?;
    firebird_cost::compare(bench, &url)
}

/// Every way that can be had here.
fn start(bench: &mut Bench, url: &str) -> Result<Vec<Server>> {
    let folder = bench.folder().to_owned();
    let file = firebird_file(&folder)?;
    let blocking = bench.programs.tool(BLOCKING);
    if !blocking.is_file() {
        bench.miss(
            "the ways that block",
            "`cargo build --release --package tsumugi --example firebird-blocking` builds them",
        );
    }
    let peer = bench.programs.peers().join(NODE);
    let node = find("node");
    if node.is_none() {
        bench.miss(NODE, "install the Debian packages nodejs npm");
    } else if !peer.join("node_modules").is_dir() {
        bench.miss(NODE, "`make bench-peers` fetches it, with npm");
    }
    let go = bench.programs.peers().join(GO_PROGRAM);
    if !go.is_file() {
        bench.miss(
            GO,
            "install Go (https://go.dev/dl), `make bench-peers` builds it then",
        );
    }
    let mut servers = Vec::new();
    for way in &WAYS {
        let process = match (way.program, &node) {
            (CatalogueProgram::Ruby, _) => {
                let variables = [("DATABASE_URL", url)];
                bench.ours().serve(&file, &folder, WORKERS, &variables)?
            }
            (CatalogueProgram::Blocking, _) if blocking.is_file() => {
                let folder = &tempfile::tempdir_in(&folder)?.keep();
                let address = free_address()?;
                let mut command = Command::new(&blocking);
                command.args(["serve", "--listen", &address.to_string()]);
                command.args(["--workers", &WORKERS.to_string(), "--data"]);
                command.arg(folder.join("data")).env("DATABASE_URL", url);
                Process::start(BLOCKING, command, address, folder)?
            }
            (CatalogueProgram::Node, Some(node)) if peer.join("node_modules").is_dir() => {
                let folder = &tempfile::tempdir_in(&folder)?.keep();
                let address = free_address()?;
                let mut command = Command::new(node);
                command.arg(peer.join("server.js"));
                command.args([&address.to_string(), url]);
                command.env("NODE_ENV", "production");
                Process::start(NODE, command, address, folder)?
            }
            (CatalogueProgram::Go, _) if go.is_file() => {
                let folder = &tempfile::tempdir_in(&folder)?.keep();
                let address = free_address()?;
                let mut command = Command::new(&go);
                command.args([&address.to_string(), url]);
                Process::start(GO_PROGRAM, command, address, folder)?
            }
            _ => continue,
        };
        servers.push(Server { way, process });
    }
    Ok(servers)
}

/// What all of them answer; its length is checked.
fn same(bench: &mut Bench, servers: &[Server], asked: &CatalogueQuery) -> Result<Vec<u8>> {
    let CatalogueQuery { title, query } = asked;
    let mut expected: Option<Vec<u8>> = None;
    for server in servers {
        let body = match server.fetch(query) {
            // It may have lost its connection, and makes another.
            Err(_) if bench.firebird_ended_since(0)? => server.fetch(query)?,
            fetched => fetched?,
        };
        let first = expected.get_or_insert_with(|| body.clone());
        if *first != body {
            let at = first.iter().zip(&body).take_while(|(a, b)| a == b).count();
            let part = |bytes: &[u8]| {
                let part = &bytes[at.saturating_sub(40)..bytes.len().min(at + 40)];
                String::from_utf8_lossy(part).into_owned()
            };
            bail!(
                "{} answers something else than {}, from byte {at}: {:?} and {:?}",
                server.way.case,
                servers[0].way.case,
                part(&body),
                part(first)
            );
        }
    }
    let body = expected.context("no program answers")?;
    let value: Value = serde_json::from_slice(&body).context("this is no JSON")?;
    let rows = value.as_array().context("this is no array")?;
    let columns = rows.first().and_then(Value::as_object);
    bench.note(format!(
        "{title}: {} rows of {} columns, {} bytes",
        rows.len(),
        columns.map_or(0, serde_json::Map::len),
        body.len()
    ));
    Ok(body)
}

/// Where a way stands among those that can be had here.
fn place<'a>(
    servers: impl IntoIterator<Item = &'a Server>,
    program: CatalogueProgram,
    path: &str,
) -> Option<usize> {
    let is_it = |server: &Server| server.way.program == program && server.way.path == path;
    servers.into_iter().position(is_it)
}

/// Requests a second of the whole catalogue, in the published ways, with blobs and without.
fn catalogue(bench: &mut Bench, servers: &[Server], all: &[u8], plain: &[u8]) -> Result<()> {
    let mut table = publications::table(PUBLISHED)?.report("all");
    let of_ten = |row: &Row| row.case.starts_with(TEN_ROWS);
    table.rows.retain(|row| !of_ten(row));
    // The published answers had about the size of ours without blobs.
    for cell in table.rows.iter_mut().filter_map(|row| row.cell.as_mut()) {
        PLAIN_COLUMN.clone_into(&mut cell.column);
    }
    table.notes.push(format!(
        "published answers had {PUBLISHED_SIZE}: their figures stand beside ours without blobs, of {} bytes; with blobs an answer has {}",
        plain.len(),
        all.len()
    ));
    table.notes.push(asked_here());
    let paths = [&ALL, &PLAIN].map(|asked| paths(servers, asked));
    let mut entries = Vec::new();
    for (paths, (column, expected)) in paths.iter().zip([(COLUMN, all), (PLAIN_COLUMN, plain)]) {
        let first = entries.len();
        for (server, path) in servers.iter().zip(paths) {
            let row = server.cell(server.way.line, column);
            let entry = bench.http(row, load(server, path, expected));
            let others = rivals(servers, server).map(|other| first + other);
            entries.push(entry.over(others));
        }
    }
    bench.contest(table, entries).map(drop)
}

/// The same of ten rows.
fn ten_rows(bench: &mut Bench, servers: &[Server], expected: &[u8]) -> Result<()> {
    let mut table = publications::table(PUBLISHED)?.report("ten");
    TEN.title.clone_into(&mut table.title);
    table.rows.retain(|row| row.case.starts_with(TEN_ROWS));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    table.notes.push(format!(
        "\"4 cores for the database\" is said of the published figures: this machine has {cores} for the load, the program and the database together"
    ));
    table.notes.push(asked_here());
    let paths = paths(servers, &TEN);
    let mut entries = Vec::new();
    for (server, path) in servers.iter().zip(&paths) {
        let row = server.cell(server.line_of_ten(), COLUMN);
        let entry = bench.http(row, load(server, path, expected));
        entries.push(entry.over(rivals(servers, server)));
    }
    bench.contest(table, entries).map(drop)
}

fn asked_here() -> String {
    format!("here: {CONNECTIONS} requests at once, by this program's load, for as long as a run is")
}

fn paths(servers: &[Server], asked: &CatalogueQuery) -> Vec<String> {
    let path = |server: &Server| format!("{}{}", server.way.path, asked.query);
    servers.iter().map(path).collect()
}

fn load<'a>(server: &'a Server, path: &'a str, expected: &[u8]) -> HttpLoad<'a> {
    HttpLoad {
        connections: CONNECTIONS,
        ..HttpLoad::fast(&server.process, path, ExpectedBody::Same(expected.to_vec()))
    }
}

/// What a way is compared with: our best one with those of the others and with the one that blocks.
fn rivals(servers: &[Server], server: &Server) -> impl Iterator<Item = usize> {
    let others = [
        place(servers, CatalogueProgram::Blocking, "/connect"),
        place(servers, CatalogueProgram::Node, "/pool"),
        place(servers, CatalogueProgram::Node, "/prepared"),
        place(servers, CatalogueProgram::Go, "/pool"),
        place(servers, CatalogueProgram::Go, "/prepared"),
    ];
    let compared = server.way.path == "/prepared" && server.way.program == CatalogueProgram::Ruby;
    others.into_iter().flatten().filter(move |_| compared)
}

/// How long the first byte of an answer takes without other requests.
fn first_bytes(bench: &mut Bench, servers: &[&Server], expected: &[u8]) -> Result<()> {
    let entries = servers.iter().map(|server| {
        let stop = bench.stop.clone();
        ProgramEntry::new(server.row(), move |_| {
            let mut client = ProbeClient::connect(server.process.address)?;
            let mut times = Vec::with_capacity(FIRST_BYTES);
            for _ in 0..FIRST_BYTES {
                stop.check()?;
                let began = Instant::now();
                client.send(server.way.path)?;
                client.await_byte()?;
                times.push(began.elapsed().as_secs_f64() * 1e3);
                let answer = client.answer()?;
                let right = answer.status == 200 && answer.body == expected;
                ensure!(right, "a wrong answer, with status {}", answer.status);
            }
            Ok(Run {
                figure: Samples::from(times.as_slice()).median(),
                ..Run::default()
            })
        })
    });
    let table = ReportTable {
        name: "first".to_owned(),
        title: "time to the first byte of the answer".to_owned(),
        unit: "ms".to_owned(),
        better: Better::Less,
        notes: vec![format!(
            "the median of {FIRST_BYTES} requests, one after the other; who streams has sent it before the last row was read"
        )],
        ..ReportTable::default()
    };
    let entries = entries.collect();
    bench.contest(table, entries).map(drop)
}

/// How long a page takes that needs no database, while the catalogue is asked for as fast as it comes.
fn pages(bench: &mut Bench, servers: &[&Server], expected: &[u8]) -> Result<()> {
    let catalogue = ExpectedBody::Same(expected.to_vec());
    let mut entries = Vec::new();
    if let Some(at) = place(servers.iter().copied(), CatalogueProgram::Ruby, "/prepared") {
        let server = servers[at];
        let row = Row {
            case: "nothing else is asked for".to_owned(),
            ..server.row()
        };
        entries.push(bench.http(row, page(server)));
    }
    for server in servers {
        let (stop, catalogue) = (bench.stop.clone(), &catalogue);
        entries.push(ProgramEntry::new(server.row(), move |length| {
            let plan = LoadPlan {
                address: server.process.address,
                requests: &[LoadRequest::get(server.way.path, catalogue.clone())],
                connection_use: ConnectionUse::default(),
                connections: CONNECTIONS,
                threads: 1,
                pace: Pace::Closed,
                transport: LoadTransport::default(),
                warm_up: Duration::from_millis(WARM_UP_MS),
                length: Duration::from_secs(length.seconds),
            };
            let words = || server.process.last_words();
            under_load(&plan, &stop, || page(server).run(length, &stop), words)
        }));
    }
    let table = ReportTable {
        name: "page".to_owned(),
        title: "99 of 100 pages without a database, while the catalogue is asked for".to_owned(),
        unit: "ms".to_owned(),
        better: Better::Less,
        notes: vec![format!(
            "{PAGES} pages a second are due, beside {CONNECTIONS} requests at once for the catalogue of the same process"
        )],
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}

fn page(server: &Server) -> HttpLoad<'_> {
    let expected = ExpectedBody::Fits(|body| body.ends_with(b"</html>\n"));
    HttpLoad {
        threads: 1,
        pace: Pace::Open(PAGES),
        ..HttpLoad::fast(&server.process, PAGE, expected)
    }
}

/// Measures while a load goes on, all of whose answers must be right too.
fn under_load(
    plan: &LoadPlan<'_>,
    stop: &StopFlag,
    measure: impl FnOnce() -> Result<Run>,
    last_words: impl FnOnce() -> String,
) -> Result<Run> {
    thread::scope(|scope| {
        let load = scope.spawn(|| load::run(plan, stop, || Ok(0.0)));
        let run = measure();
        let load = load
            .join()
            .map_err(|_| anyhow::anyhow!("the load beside it panicked"))??;
        let first = load.tally.first.unwrap_or_default();
        ensure!(
            load.tally.errors == 0,
            "{} requests for the catalogue failed, the first with: {first}\n{}",
            load.tally.errors,
            last_words()
        );
        run
    })
}

/// The most memory that each process ever held.
fn peaks(bench: &mut Bench, servers: &[Server]) -> Result<()> {
    let mut rows = Vec::new();
    for server in servers {
        let bytes = server.process.peak_bytes()?;
        rows.push(Row {
            runs: vec![bytes as f64 / f64::from(1 << 20)],
            ..server.row()
        });
    }
    bench.table(ReportTable {
        name: "memory".to_owned(),
        title: "the most memory that was held".to_owned(),
        unit: "MiB".to_owned(),
        better: Better::Less,
        notes: vec!["of each process, through all of the above".to_owned()],
        rows,
        ..ReportTable::default()
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_row_is_one_of_our_ways() {
        let cells = publications::table(PUBLISHED).unwrap().cells();
        let published: Vec<String> = cells.map(|(cell, _)| cell.row).collect();
        let ours = WAYS.iter().filter(|way| way.program.is_ours());
        let mut lines: Vec<&str> = ours.map(|way| way.line).collect();
        lines.extend([TEN_AT_ONCE, TEN_BLOCKING]);
        assert_eq!(published, lines);
    }
}
