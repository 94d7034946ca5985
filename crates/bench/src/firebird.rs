//! The suite firebird: the catalogue of a Firebird database as JSON, in six ways of having a connection, beside node-firebird.
//! The two ways that block are in a program that exists for this suite; the others are the example as it ships.
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
use crate::report::{Better, PublishedFigure, ReportTable, Row};
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
/// The folder of the peer, and what it is called in tables.
const NODE: &str = "node-firebird";
/// Whose figures stand beside ours.
const SOURCE: &str = "a driver for Firebird";

/// What is asked for.
const QUERIES: [(&str, &str, &str); 3] = [
    ("all", "all rows of the catalogue", ""),
    ("ten", "ten rows of the catalogue", "?only=ten"),
    (
        "plain",
        "all rows, without the columns that are blobs",
        "?only=plain",
    ),
];

/// How many of them the quick form asks.
const QUERIES_QUICK: usize = 2;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contestant {
    Ruby,
    Blocking,
    Node,
}

/// A way of having a connection.
struct Way {
    case: &'static str,
    maker: Contestant,
    path: &'static str,
    published: Option<f64>,
}

const fn way(
    maker: Contestant,
    path: &'static str,
    case: &'static str,
    published: Option<f64>,
) -> Way {
    Way {
        case,
        maker,
        path,
        published,
    }
}

/// In the order of the published table; the peer last.
const WAYS: [Way; 8] = [
    way(
        Contestant::Blocking,
        "/connect",
        "blocking, connects for each request",
        Some(52.0),
    ),
    way(
        Contestant::Ruby,
        "/connect",
        "connects for each request",
        Some(129.0),
    ),
    way(
        Contestant::Blocking,
        "/single",
        "blocking, one connection",
        Some(160.0),
    ),
    way(
        Contestant::Ruby,
        "/single",
        "one connection with a queue",
        Some(130.0),
    ),
    way(Contestant::Ruby, "/pool", "pool of 5", Some(188.0)),
    way(
        Contestant::Ruby,
        "/prepared",
        "pool of 5, prepared",
        Some(214.0),
    ),
    way(Contestant::Node, "/pool", "node-firebird, pool of 5", None),
    way(
        Contestant::Node,
        "/prepared",
        "node-firebird, pool of 5, prepared",
        None,
    ),
];

/// A way with its process.
struct Server {
    way: &'static Way,
    process: Process,
}

impl Server {
    fn row(&self) -> Row {
        let published = self.way.published;
        Row {
            case: self.way.case.to_owned(),
            program: self.name().to_owned(),
            ours: self.way.maker != Contestant::Node,
            published: published.map(|figure| PublishedFigure::exactly(figure, SOURCE)),
            ..Row::default()
        }
    }

    fn name(&self) -> &'static str {
        if self.way.maker == Contestant::Node {
            NODE
        } else {
            "tsumugi"
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
    let shown = if bench.length.is_quick() {
        QUERIES_QUICK
    } else {
        QUERIES.len()
    };
    let (queries, left_out) = QUERIES.split_at(shown);
    for (_, title, _) in left_out {
        bench.miss(title, "the quick form has no time for it");
    }
    for &(name, title, query) in queries {
        let expected = same(bench, &servers, title, query)?;
        rates(bench, &servers, name, title, query, &expected)?;
    }
    let expected = same(bench, &servers, QUERIES[0].1, "")?;
    first_bytes(bench, &servers, &expected)?;
    pages(bench, &servers, &expected)?;
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
    let mut servers = Vec::new();
    for way in &WAYS {
        let process = match (way.maker, &node) {
            (Contestant::Ruby, _) => {
                let variables = [("DATABASE_URL", url)];
                bench.ours().serve(&file, &folder, WORKERS, &variables)?
            }
            (Contestant::Blocking, _) if blocking.is_file() => {
                let folder = &tempfile::tempdir_in(&folder)?.keep();
                let address = free_address()?;
                let mut command = Command::new(&blocking);
                command.args(["serve", "--listen", &address.to_string()]);
                command.args(["--workers", &WORKERS.to_string(), "--data"]);
                command.arg(folder.join("data")).env("DATABASE_URL", url);
                Process::start(BLOCKING, command, address, folder)?
            }
            (Contestant::Node, Some(node)) if peer.join("node_modules").is_dir() => {
                let folder = &tempfile::tempdir_in(&folder)?.keep();
                let address = free_address()?;
                let mut command = Command::new(node);
                command.arg(peer.join("server.js"));
                command.args([&address.to_string(), url]);
                command.env("NODE_ENV", "production");
                Process::start(NODE, command, address, folder)?
            }
            _ => continue,
        };
        servers.push(Server { way, process });
    }
    Ok(servers)
}

/// What all of them answer; its length is checked.
fn same(bench: &mut Bench, servers: &[Server], title: &str, query: &str) -> Result<Vec<u8>> {
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
fn place(servers: &[Server], maker: Contestant, path: &str) -> Option<usize> {
    let is_it = |server: &Server| server.way.maker == maker && server.way.path == path;
    servers.iter().position(is_it)
}

/// Requests a second.
fn rates(
    bench: &mut Bench,
    servers: &[Server],
    name: &str,
    title: &str,
    query: &str,
    expected: &[u8],
) -> Result<()> {
    let others = [
        place(servers, Contestant::Blocking, "/connect"),
        place(servers, Contestant::Node, "/pool"),
        place(servers, Contestant::Node, "/prepared"),
    ];
    let paths: Vec<String> = servers
        .iter()
        .map(|server| format!("{}{query}", server.way.path))
        .collect();
    let mut entries = Vec::new();
    for (server, path) in servers.iter().zip(&paths) {
        let asked = HttpLoad {
            connections: CONNECTIONS,
            ..HttpLoad::fast(&server.process, path, ExpectedBody::Same(expected.to_vec()))
        };
        let mut row = server.row();
        if !query.is_empty() {
            row.published = None;
        }
        let compared = server.way.path == "/prepared" && server.way.maker == Contestant::Ruby;
        let over = others.into_iter().flatten().filter(|_| compared);
        entries.push(bench.http(row, asked).over(over));
    }
    let table = ReportTable {
        name: name.to_owned(),
        title: title.to_owned(),
        unit: "req/s".to_owned(),
        notes: vec![format!(
            "{CONNECTIONS} requests at once; published with ab -n 10000 -c 5, of its own catalogue"
        )],
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}

/// How long the first byte of an answer takes without other requests.
fn first_bytes(bench: &mut Bench, servers: &[Server], expected: &[u8]) -> Result<()> {
    let entries = servers.iter().map(|server| {
        let stop = bench.stop.clone();
        let row = Row {
            published: None,
            ..server.row()
        };
        ProgramEntry::new(row, move |_| {
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
fn pages(bench: &mut Bench, servers: &[Server], expected: &[u8]) -> Result<()> {
    let catalogue = ExpectedBody::Same(expected.to_vec());
    let mut entries = Vec::new();
    if let Some(at) = place(servers, Contestant::Ruby, "/prepared") {
        let server = &servers[at];
        let row = Row {
            case: "nothing else is asked for".to_owned(),
            published: None,
            ..server.row()
        };
        entries.push(bench.http(row, page(server)));
    }
    for server in servers {
        let (stop, catalogue) = (bench.stop.clone(), &catalogue);
        let row = Row {
            published: None,
            ..server.row()
        };
        entries.push(ProgramEntry::new(row, move |length| {
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
            published: None,
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
