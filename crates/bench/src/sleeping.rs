//! A part of the suite fibre: requests at once whose handlers sleep, on one worker, as ngx_mruby's author showed them with three curls: handlers
//! that block, handlers that let others run. Rule: times are those of each client from its connection to the end of its answer, in rising order.

use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::bench::Bench;
use crate::client;
use crate::ngx_mruby;
use crate::process::Process;
use crate::publications;
use crate::report::{Better, GridCell, Row};
use crate::servers::ngx_mruby_file;

/// The published tables.
const PUBLISHED: u32 = 7;
/// The author had one worker.
const WORKERS: usize = 1;
/// Repetitions of each, and of the quick form.
const ROUNDS: usize = 3;
const ROUNDS_QUICK: usize = 1;
/// Rows of the published tables.
const BLOCKING: &str = "blocking";
const ASLEEP: &str = "Nginx::Async.sleep";
const OURS: &str = "tsumugi";

/// A published table, and what is asked for it.
struct SleepTable {
    name: &'static str,
    /// Its part among the published ones.
    part: &'static str,
    /// The rows, and what is asked for them.
    lines: &'static [(&'static str, &'static str)],
    body: &'static str,
}

const TABLES: [SleepTable; 2] = [
    SleepTable {
        name: "sleep",
        part: "three requests that sleep",
        lines: &[(BLOCKING, "/blocking"), (ASLEEP, "/sleep")],
        body: "body",
    },
    SleepTable {
        name: "sleep in a loop",
        part: "two requests that sleep in a loop",
        lines: &[(ASLEEP, "/loop")],
        body: "01234",
    },
];

/// A server with the author's handlers.
struct Server {
    program: &'static str,
    process: Process,
    /// What it has of them, and where.
    has: fn(&str) -> Option<&str>,
}

/// Runs this part of the suite, with ngx_mruby where its module is.
pub fn run(bench: &mut Bench, module: Option<&Path>) -> Result<()> {
    let servers = start(bench, module)?;
    for server in &servers {
        let Some(path) = (server.has)("/hoge") else {
            continue;
        };
        let answer = client::fetch(server.process.address, path)?;
        ensure!(
            answer.status == 200 && answer.body == b"hoge",
            "{} does not return: {answer:?}",
            server.program
        );
    }
    for asked in &TABLES {
        table(bench, &servers, asked)?;
    }
    Ok(())
}

fn start(bench: &mut Bench, module: Option<&Path>) -> Result<Vec<Server>> {
    let (ours, folder) = (bench.ours(), bench.folder().to_owned());
    let mut servers = Vec::new();
    if ours.tax.is_file() {
        servers.push(Server {
            program: OURS,
            process: ours.start_case("blocking", &folder, WORKERS)?,
            has: |path| (path == "/blocking").then_some("/sleep"),
        });
    }
    let file = ngx_mruby_file(&folder)?;
    servers.push(Server {
        program: OURS,
        process: ours.serve(&file, &folder, WORKERS, &[])?,
        has: |path| (path != "/blocking").then_some(path),
    });
    if let Some(module) = module {
        servers.push(Server {
            program: ngx_mruby::NAME,
            process: ngx_mruby::start(module, &folder, WORKERS)?,
            has: |path| Some(path),
        });
    }
    Ok(servers)
}

/// One published table.
fn table(bench: &mut Bench, servers: &[Server], asked: &SleepTable) -> Result<()> {
    let published = publications::part(PUBLISHED, asked.part)?;
    let mut table = published.report(asked.name);
    let rounds = if bench.length.is_quick() {
        ROUNDS_QUICK
    } else {
        ROUNDS
    };
    let mut measured = Vec::new();
    for (line, path) in asked.lines {
        for server in servers {
            let Some(path) = (server.has)(path) else {
                continue;
            };
            let row = |column: &String| Row {
                ours: server.program == OURS,
                ..Row::in_cell(GridCell::new(line, column), server.program)
            };
            let mut rows: Vec<Row> = published.columns.iter().map(row).collect();
            for _ in 0..rounds {
                bench.stop.check()?;
                let times = at_once(server.process.address, path, asked.body, rows.len());
                let times = times.with_context(|| format!("{}: {path}", server.program))?;
                for (row, time) in rows.iter_mut().zip(times) {
                    row.runs.push(time);
                }
            }
            measured.append(&mut rows);
        }
    }
    table.rows = crate::bench::merge_published(table.rows, measured);
    table.better = Better::Less;
    let blocks = asked.lines.iter().any(|(line, _)| *line == BLOCKING);
    table.notes.push("here: one worker".to_owned());
    table.notes.extend(blocks.then(|| format!(
        "\"{BLOCKING}\" of ours is a handler in Rust that sleeps on its worker's thread, as none should: the application in Ruby cannot"
    )));
    bench.table(table);
    Ok(())
}

/// The seconds that each of so many requests takes, all sent at once, in rising order.
fn at_once(address: SocketAddr, path: &str, body: &str, requests: usize) -> Result<Vec<f64>> {
    let ask = || -> Result<f64> {
        let began = Instant::now();
        let answer = client::fetch(address, path)?;
        let is_right = answer.status == 200 && answer.body == body.as_bytes();
        ensure!(is_right, "it answers {answer:?}");
        Ok(began.elapsed().as_secs_f64())
    };
    let mut times = thread::scope(|scope| -> Result<Vec<f64>> {
        let clients: Vec<_> = (0..requests).map(|_| scope.spawn(ask)).collect();
        let joined = clients.into_iter().map(|client| {
            let time = client.join();
            time.map_err(|_| anyhow!("a client panicked"))?
        });
        joined.collect()
    })?;
    times.sort_by(f64::total_cmp);
    Ok(times)
}
