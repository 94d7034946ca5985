//! A part of the suite threads: the tables that allographer's author published of HTTP servers in Nim, as grids. A string and 500 finds by
//! workers, collector and allocator, and servers beside each other. Rule: every figure is of a server that was started for its run, since
//! the connections of all of them together are more than a database takes.

use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::bench::{Bench, HttpLoad, ProgramEntry, Run};
use crate::client::{self, ProbeResponse};
use crate::load::ExpectedBody;
use crate::native;
use crate::process::{Process, free_address};
use crate::publications::{self, PublishedTable};
use crate::report::{GridCell, Length, ReportTable, Row, SessionScope};
use crate::samples::{Samples, thousands};
use crate::servers::{SYSTEM_ALLOCATOR, StartMode, application_file};
use crate::stop::StopFlag;
use crate::world;

/// What the author's wrk did.
const CONNECTIONS: usize = 4;
const THREADS: usize = 4;
/// Seconds of his figures.
const SECONDS: f64 = 10.0;
/// Connections of each worker to the database, as he had them…
const POOL: usize = 20;
/// … and of all together, at most.
const POOLS_MAX: usize = 80;
/// Reads of one request.
const FINDS: usize = 500;

/// Columns of his tables.
const STRING: &str = "return string";
const FOUND: &str = "DB access";
const HTML: &str = "HTML";
const READS: &str = "500 reads per request";

const PAGE: &[u8] = b"<!DOCTYPE html>\n<html>\n<head><title>Hello</title></head>\n<body><h1>Hello, World!</h1></body>\n</html>\n";
const HELLO: &[u8] = b"hello\n";

/// Memory managements of Nim.
const MANAGEMENTS: [&str; 3] = ["refc", "arc", "orc"];

/// A server that is started for each of its runs.
#[derive(Clone)]
struct GridServer {
    /// Its row.
    row: String,
    program: &'static str,
    ours: bool,
    workers: usize,
    start: Rc<dyn Fn() -> Result<Process>>,
    /// Where it has what a column asks for.
    paths: Vec<(&'static str, &'static str)>,
}

/// Both tables.
pub fn run(bench: &mut Bench) -> Result<()> {
    let url = bench.database()?;
    let nim = nim(bench, url.as_deref())?;
    beside(bench, url.as_deref(), &nim)?;
    threads(bench, url.as_deref(), &nim)
}

/// How long each figure is measured: there are many of them.
fn length(bench: &Bench) -> Length {
    match bench.length.is_quick() {
        true => Length {
            rounds: 2,
            seconds: 1,
        },
        false => Length {
            rounds: 4,
            seconds: 5,
        },
    }
}

/// Numbers of workers: one and its doubles below the number of cores, that number, and twice as many.
fn counts() -> Vec<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = (0..=10).map(|power| 1 << power).collect();
    counts.retain(|count| *count < cores);
    counts.extend([cores, 2 * cores]);
    counts
}

fn workers(count: usize) -> String {
    match count {
        1 => "1 worker".to_owned(),
        count => format!("{count} workers"),
    }
}

/// Connections of each worker.
fn pool(workers: usize) -> usize {
    (POOLS_MAX / workers).clamp(1, POOL)
}

/// The author's first table: one program, everything that can be said of its threads.
fn threads(bench: &mut Bench, url: Option<&str>, nim: &[GridServer]) -> Result<()> {
    let mut servers: Vec<GridServer> = nim.to_vec();
    for (allocator, program) in allocators(bench) {
        for (collector, word) in [("incremental", ""), ("generational", "generational")] {
            for count in counts() {
                let row = format!("Ruby, {collector}, {allocator}, {}", workers(count));
                let variables = vec![("WORKERS_COLLECTOR", word.to_owned())];
                servers.push(ruby(bench, row, program.clone(), count, url, variables)?);
            }
        }
    }
    for (program, allocator) in native::builds(bench) {
        for count in counts() {
            let row = format!("Rust, {allocator}, {}", workers(count));
            servers.push(rust(bench, row, program.clone(), count, url));
        }
    }
    let published = publications::table(1)?;
    let columns = columns(published, url);
    let table = ReportTable {
        notes: notes(bench, published),
        ..published.report("workers")
    };
    let mut entries = Vec::new();
    for server in &servers {
        for column in &columns {
            entries.extend(entry(bench, server, column));
        }
    }
    let length = length(bench);
    bench
        .contest_and_conclude(length, table, entries, |table| conclusions(table, &servers))
        .map(drop)
}

/// The author's fourth table: servers beside each other.
fn beside(bench: &mut Bench, url: Option<&str>, nim: &[GridServer]) -> Result<()> {
    let mut servers = Vec::new();
    for count in counts() {
        let shipped = bench.programs.server.clone();
        let named = |name: &str| format!("{name}, {}", workers(count));
        servers.push(ruby(
            bench,
            named("tsumugi, Ruby"),
            shipped,
            count,
            url,
            Vec::new(),
        )?);
        if let Some((program, _)) = native::builds(bench).into_iter().next() {
            servers.push(rust(bench, named("tsumugi, Rust"), program, count, url));
        }
        servers.extend(others(bench, count, url));
    }
    let mut places: Vec<(usize, bool, &str)> = Vec::new();
    let published = publications::table(4)?;
    let columns = columns(published, url);
    let mut all: Vec<GridServer> = servers;
    let its = nim.iter().filter(|one| !one.row.starts_with("refc"));
    all.extend(its.map(|one| GridServer {
        row: beside_row(&one.row),
        ..one.clone()
    }));
    let mut entries: Vec<ProgramEntry<'static>> = Vec::new();
    for column in &columns {
        for server in &all {
            if let Some(entry) = entry(bench, server, column) {
                places.push((server.workers, server.ours, column));
                entries.push(entry);
            }
        }
    }
    // Ours is beside each of the others with as many workers.
    let entries = entries.into_iter().enumerate().map(|(at, entry)| {
        let (workers, ours, column) = places[at];
        let rivals = (0..places.len()).filter(|other| places[*other] == (workers, false, column));
        entry.over(rivals.filter(|_| ours).collect::<Vec<_>>())
    });
    let mut notes = notes(bench, published);
    notes.push("httpbeast is no Debian package: its figures are its author's alone".to_owned());
    notes.push(format!(
        "{READS}: ours in Rust has up to {POOL} connections a worker, as said above, and in Ruby one of them for each request; {} has one a worker, on which \
         it pipelines",
        world::PEER_NAME
    ));
    let table = ReportTable {
        notes,
        ..published.report("servers")
    };
    let length = length(bench);
    bench
        .contest_for(length, table, entries.collect())
        .map(drop)
}

/// A row of the author's first table as his fourth calls it.
fn beside_row(row: &str) -> String {
    let row = row.replacen("orc", "ORC", 1).replacen("arc", "ARC", 1);
    format!("asynchttpserver, {row}")
}

/// The columns of a table that can be measured.
fn columns(published: &PublishedTable, url: Option<&str>) -> Vec<&'static str> {
    let all = [FOUND, STRING, HTML, READS];
    let needs_database = |column: &str| [FOUND, READS].contains(&column);
    let is_its = |column: &&str| published.columns.iter().any(|one| one == column);
    let fits = |column: &&str| url.is_some() || !needs_database(column);
    all.into_iter().filter(is_its).filter(fits).collect()
}

fn notes(bench: &Bench, published: &PublishedTable) -> Vec<String> {
    let Length { rounds, seconds } = length(bench);
    let per_worker = |count: usize| format!("{} with {}", pool(count), workers(count));
    let pools: Vec<String> = counts().into_iter().map(per_worker).collect();
    vec![
        published.note(),
        format!(
            "ours: {CONNECTIONS} connections, {rounds} runs of {seconds} s, each of a server that was started for it, times 10 / {seconds}; connections of a \
             worker to the database: {}",
            pools.join(", ")
        ),
        format!(
            "{FOUND} and Rust's {READS}: {FINDS} finds by the query builder awaited together; Ruby's {READS}: as many queries of the builder in one pipeline, \
             which is what axum's connection makes of its own"
        ),
        format!(
            "asynchttpserver's {FOUND} and {READS}, measured here: a program of ours that sends a prepared statement by libpq, not allographer"
        ),
    ]
}

/// Ours by allocator, as far as they are built.
fn allocators(bench: &mut Bench) -> Vec<(&'static str, PathBuf)> {
    let mut found = vec![("mimalloc", bench.programs.server.clone())];
    let system = bench.programs.tool(SYSTEM_ALLOCATOR);
    match system.is_file() {
        true => found.push(("system allocator", system)),
        false => bench.miss(
            "the server with the allocator of the system",
            "`make bench-allocator` builds it",
        ),
    }
    found
}

fn ruby(
    bench: &Bench,
    row: String,
    program: PathBuf,
    count: usize,
    url: Option<&str>,
    mut variables: Vec<(&'static str, String)>,
) -> Result<GridServer> {
    let folder = bench.folder().to_owned();
    let file = application_file("workers.rb", &folder)?;
    let mut ours = bench.ours();
    ours.tsumugi = program;
    variables.extend(url.map(|url| ("DATABASE_URL", url.to_owned())));
    variables.push(("POOL", pool(count).to_string()));
    let start = move || {
        let variables = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        ours.serve(&file, &folder, count, &variables.collect::<Vec<_>>())
    };
    Ok(GridServer {
        row,
        program: "tsumugi",
        ours: true,
        workers: count,
        start: Rc::new(start),
        paths: vec![
            (FOUND, "/finds"),
            (STRING, "/show"),
            (HTML, "/html"),
            (READS, "/reads"),
        ],
    })
}

fn rust(
    bench: &Bench,
    row: String,
    program: PathBuf,
    count: usize,
    url: Option<&str>,
) -> GridServer {
    let (folder, url) = (bench.folder().to_owned(), url.map(str::to_owned));
    let start = move || {
        let pool = pool(count).to_string();
        let database = url.as_deref().map(|url| ("DATABASE_URL", url));
        let variables: Vec<_> = database
            .into_iter()
            .chain([("POOL", pool.as_str())])
            .collect();
        native::serve(StartMode::default(), &program, &folder, count, &variables)
    };
    GridServer {
        row,
        program: "tsumugi",
        ours: true,
        workers: count,
        start: Rc::new(start),
        paths: vec![
            (FOUND, "/finds"),
            (STRING, "/show"),
            (HTML, "/html"),
            (READS, "/finds"),
        ],
    }
}

/// Servers of others with so many workers.
fn others(bench: &mut Bench, count: usize, url: Option<&str>) -> Vec<GridServer> {
    let folder = bench.folder().to_owned();
    let mut found = Vec::new();
    for peer in bench.present_peers() {
        let folder = folder.clone();
        found.push(GridServer {
            row: format!("{}, {}", peer.name(), workers(count)),
            program: peer.name(),
            ours: false,
            workers: count,
            start: Rc::new(move || peer.start(&folder, count)),
            paths: vec![(HTML, "/html")],
        });
    }
    if let Some(url) = url {
        let (programs, url) = (bench.programs.clone(), url.to_owned());
        if world::peer_program(&programs).is_file() {
            let start =
                move || world::start_peer(&programs, SessionScope::Own, &folder, &url, count);
            found.push(GridServer {
                row: format!("{}, {}", world::PEER_NAME, workers(count)),
                program: world::PEER_NAME,
                ours: false,
                workers: count,
                start: Rc::new(start),
                paths: vec![(HTML, "/html"), (READS, "/finds")],
            });
        }
    }
    found
}

/// The author's server in each memory management, with threads and without, as far as it is built.
fn nim(bench: &mut Bench, url: Option<&str>) -> Result<Vec<GridServer>> {
    let Some(url) = url else {
        return Ok(Vec::new());
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found = Vec::new();
    for management in MANAGEMENTS {
        for (threads, workers) in [("on", cores), ("off", 1)] {
            let name = format!("nim-{management}-{threads}");
            let program = bench.programs.peers().join(&name);
            if !program.is_file() {
                continue;
            }
            let (folder, url) = (bench.folder().to_owned(), url.to_owned());
            let start = move || {
                let address = free_address()?;
                let mut command = Command::new(&program);
                command.args([&address.to_string(), &url, &pool(workers).to_string()]);
                let folder = &tempfile::tempdir_in(&folder)?.keep();
                Process::start(&name, command, address, folder)
            };
            found.push(GridServer {
                row: format!("{management}, threads {threads}"),
                program: "asynchttpserver",
                ours: false,
                workers,
                start: Rc::new(start),
                paths: vec![
                    (FOUND, "/"),
                    (STRING, "/show"),
                    (HTML, "/html"),
                    (READS, "/"),
                ],
            });
        }
    }
    if found.is_empty() {
        let remedy = match crate::programs::find("nim") {
            Some(_) => "`make bench-peers` builds it",
            None => "install the Debian package nim, then `make bench-peers` builds it",
        };
        bench.miss("asynchttpserver", remedy);
    }
    Ok(found)
}

/// A server in a column, if it has what that asks for.
fn entry(
    bench: &Bench,
    server: &GridServer,
    column: &'static str,
) -> Option<ProgramEntry<'static>> {
    let path = server.paths.iter().find(|(name, _)| *name == column)?.1;
    let row = Row {
        ours: server.ours,
        x: Some(server.workers as f64),
        ..Row::in_cell(GridCell::new(&server.row, column), server.program)
    };
    let (start, stop) = (Rc::clone(&server.start), bench.stop.clone());
    let entry = ProgramEntry::new(row, move |length| {
        let mut process = start()?;
        measure(&process, column, path, length, &stop).or_else(|error| {
            stop.check()?;
            match process.crash()? {
                Some(crash) => Err(crash.into()),
                None => Err(error),
            }
        })
    });
    // That others crash is a result.
    Some(match server.ours {
        true => entry,
        false => entry.showing_crashes(),
    })
}

fn measure(
    process: &Process,
    column: &str,
    path: &str,
    length: Length,
    stop: &StopFlag,
) -> Result<Run> {
    let answer = client::fetch(process.address, path)?;
    let expected =
        expected(column, &answer).with_context(|| format!("{path} answers {}", answer.status))?;
    let asked = HttpLoad {
        connections: CONNECTIONS,
        threads: THREADS,
        ..HttpLoad::fast(process, path, expected)
    };
    let mut run = asked.run(length, stop)?;
    run.figure *= SECONDS;
    Ok(run)
}

/// What a column's answers must be, when the first one is as it must be.
fn expected(column: &str, answer: &ProbeResponse) -> Result<ExpectedBody> {
    ensure!(answer.status == 200, "it is refused");
    match column {
        STRING => ensure!(answer.body == HELLO, "it is another string"),
        HTML => ensure!(answer.body == PAGE, "it is another page"),
        _ => {
            let rows: Vec<Value> = serde_json::from_slice(&answer.body)?;
            let ids = rows.iter().map(|row| row["id"].as_u64());
            let is_right = ids.eq((1..=FINDS as u64).map(Some));
            ensure!(is_right, "these are not the rows that were to be found");
            let numbers = rows.iter().all(|row| row["randomnumber"].is_u64());
            ensure!(numbers, "the rows have no number");
        }
    }
    Ok(ExpectedBody::Same(answer.body.clone()))
}

/// The author's question, answered for each program from what was measured: one thread, and as many as there are cores.
fn conclusions(table: &ReportTable, servers: &[GridServer]) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let question = "Why is one thread faster? Each line has one thread and as many as there are cores, the processor time of a request, and how many \
         cores that keeps busy. Where one thread keeps less than one core busy, it waits for the database and the load, which share the cores with it, and another one has \
         nothing to add. Where the time of a request rises with the threads, they pay for what they share.";
    let mut found = Vec::new();
    let row = |server: &GridServer, column: &str| {
        let mut rows = table.rows.iter();
        let cell = GridCell::new(&server.row, column);
        rows.find(|row| row.cell.as_ref() == Some(&cell) && !row.runs.is_empty())
    };
    for several in servers
        .iter()
        .filter(|one| one.workers == cores && cores > 1)
    {
        let is_same = |one: &&GridServer| one.workers == 1 && subject(one) == subject(several);
        let Some(alone) = servers.iter().find(is_same) else {
            continue;
        };
        for column in [FOUND, STRING] {
            if let (Some(one), Some(all)) = (row(alone, column), row(several, column)) {
                found.push(format!(
                    "{}, {column}: {} by one, {} by {cores} ({:.2} x); {} and {}",
                    subject(several),
                    thousands(one.median()),
                    thousands(all.median()),
                    all.median() / one.median(),
                    spent(one),
                    spent(all),
                ));
            }
        }
    }
    if !found.is_empty() {
        found.insert(0, question.to_owned());
    }
    found
}

/// What a server is but for its number of threads.
fn subject(server: &GridServer) -> String {
    let row = server
        .row
        .rsplit_once(", ")
        .map_or("", |(before, _)| before);
    match server.ours {
        true => row.to_owned(),
        false => format!("{}, {row}", server.program),
    }
}

/// The processor time of a request, and the cores that all of them keep busy.
fn spent(row: &Row) -> String {
    let us = row.cost.as_ref().map_or(&[][..], |cost| &cost.server_us);
    let us = Samples::from(us).median();
    let busy = us * row.median() / SECONDS / 1e6;
    format!("{} us a request, {busy:.2} cores", thousands(us))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    fn answer(body: &str) -> ProbeResponse {
        ProbeResponse {
            status: 200,
            head: String::new(),
            body: body.as_bytes().to_vec(),
            closes: false,
        }
    }

    #[test]
    fn rows_of_asynchttpserver_are_those_of_its_author() {
        for threads in ["on", "off"] {
            for management in MANAGEMENTS {
                let row = format!("{management}, threads {threads}");
                for column in [FOUND, STRING] {
                    publications::table(1).unwrap().cell(&row, column).unwrap();
                }
            }
            for management in ["arc", "orc"] {
                let row = beside_row(&format!("{management}, threads {threads}"));
                for column in [HTML, READS] {
                    publications::table(4).unwrap().cell(&row, column).unwrap();
                }
            }
        }
    }

    #[test]
    fn rows_that_were_not_all_found_in_order_are_refused() {
        let rows = |ids: &[usize]| {
            let rows = ids
                .iter()
                .map(|id| format!("{{\"id\":{id},\"randomnumber\":1}}"));
            format!("[{}]", rows.collect::<Vec<_>>().join(","))
        };
        let all: Vec<usize> = (1..=FINDS).collect();
        assert!(expected(FOUND, &answer(&rows(&all))).is_ok());
        assert!(expected(FOUND, &answer(&rows(&all[1..]))).is_err());
        let mut swapped = all.clone();
        swapped.swap(3, 4);
        assert!(expected(READS, &answer(&rows(&swapped))).is_err());
        assert!(expected(STRING, &answer("hullo\n")).is_err());
    }

    #[test]
    fn numbers_of_workers_end_with_the_cores_and_twice_as_many() {
        let counts = counts();
        assert!(counts.is_sorted() && counts.len() >= 2);
        let last = counts[counts.len() - 2..].to_vec();
        assert_eq!(last[1], 2 * last[0]);
        assert!(
            counts
                .iter()
                .all(|count| count * pool(*count) <= POOLS_MAX.max(*count))
        );
    }

    /// A server's two figures, and what is said of them.
    fn said(one: (f64, f64), all: (f64, f64)) -> Vec<String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let server = |row: &str, workers| GridServer {
            row: format!("Rust, {row}"),
            program: "tsumugi",
            ours: true,
            workers,
            start: Rc::new(|| bail!("it is not started")),
            paths: Vec::new(),
        };
        let servers = [server("one", 1), server("all", cores)];
        let row = |server: &GridServer, (figure, us): (f64, f64)| Row {
            runs: vec![figure],
            cost: Some(crate::report::Cost {
                server_us: vec![us],
                ..Default::default()
            }),
            ..Row::in_cell(GridCell::new(&server.row, FOUND), "tsumugi")
        };
        let table = ReportTable {
            rows: vec![row(&servers[0], one), row(&servers[1], all)],
            ..ReportTable::default()
        };
        conclusions(&table, &servers)
    }

    #[test]
    fn question_is_answered_by_the_time_of_a_request_and_the_cores_in_use() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if cores < 2 {
            return;
        }
        let said = said((2_000.0, 4_000.0), (1_000.0, 9_000.0));
        let expected = format!(
            "Rust, DB access: 2 000 by one, 1 000 by {cores} (0.50 x); 4 000 us a request, 0.80 cores and 9 000 us a request, 0.90 cores"
        );
        assert_eq!(said[1], expected);
    }

    #[test]
    fn question_without_a_measured_line_is_not_said() {
        assert!(conclusions(&ReportTable::default(), &[]).is_empty());
    }
}
