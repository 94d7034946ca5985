//! The suite fibre: what a fibre costs beside a direct call and beside Rust, what requests that sleep do to each other, and what thousands of
//! sleeping ones take. The programs it is compared with exist for this suite alone; what ships is measured as it ships.

use anyhow::{Result, ensure};

use crate::ab::{self, AB};
use crate::bench::{Bench, HttpLoad, ProgramEntry, Run};
use crate::client;
use crate::http::{HELLO, PATH, hello};
use crate::ngx_mruby;
use crate::parked;
use crate::process::Process;
use crate::programs::find;
use crate::publications;
use crate::report::{GridCell, ReportTable, Row};
use crate::servers::{PeerProgram, WORKERS};
use crate::sleeping;

/// The published table of a one-line handler, and its one column.
const PUBLISHED: u32 = 7;
const COLUMN: &str = "requests/s";
/// Its rows.
const DIRECT: &str = "v1, handler called directly";
const FIBRE: &str = "v2, handler as a Proc in a Fiber";
const OURS: &str = "tsumugi";

/// A server that answers by a handler of some kind.
struct Handler {
    /// The kind.
    case: &'static str,
    /// The same in the words of the published table, where it has one of it.
    line: &'static str,
    program: &'static str,
    path: &'static str,
    process: Process,
}

/// Runs the suite.
pub fn run(bench: &mut Bench) -> Result<()> {
    let module = ngx_mruby::module(bench);
    let mut handlers = ours(bench)?;
    let folder = bench.folder().to_owned();
    let fibre = |program, process| Handler {
        case: "fibre",
        line: FIBRE,
        program,
        path: PATH,
        process,
    };
    if bench.has_peer(PeerProgram::H2o) {
        let process = PeerProgram::H2o.start(&folder, WORKERS)?;
        handlers.push(fibre(PeerProgram::H2o.name(), process));
    }
    if let Some(module) = &module {
        let process = ngx_mruby::start(module, &folder, WORKERS)?;
        handlers.push(fibre(ngx_mruby::NAME, process));
    }
    for handler in &handlers {
        let answer = client::fetch(handler.process.address, handler.path)?;
        let is_right = answer.status == 200 && answer.body == HELLO;
        ensure!(is_right, "{} answers {answer:?}", handler.program);
    }
    tax(bench, &handlers)?;
    as_published(bench, &handlers)?;
    drop(handlers);
    sleeping::run(bench, module.as_deref())?;
    parked::run(bench)
}

/// Ours, in four ways.
fn ours(bench: &mut Bench) -> Result<Vec<Handler>> {
    let (ours, folder) = (bench.ours(), bench.folder().to_owned());
    let handler = |case, line, path, process| Handler {
        case,
        line,
        program: OURS,
        path,
        process,
    };
    let mut handlers = Vec::new();
    if ours.tax.is_file() {
        let mut start = |kind, case, line| -> Result<()> {
            let process = ours.start_case(kind, &folder, WORKERS)?;
            handlers.push(handler(case, line, PATH, process));
            Ok(())
        };
        start("direct", "direct call", DIRECT)?;
        start("native", "no Ruby", "no Ruby")?;
    } else {
        bench.miss(
            "direct call and no Ruby",
            "`cargo build --release --package tsumugi-ruby --example tax` builds their server",
        );
    }
    let process = ours.start("hello.rb", &folder)?;
    handlers.push(handler("fibre", FIBRE, PATH, process));
    let waits = "fibre that waits once";
    let process = ours.start("hello.rb", &folder)?;
    handlers.push(handler(waits, waits, "/wait", process));
    Ok(handlers)
}

/// By our own load.
fn tax(bench: &mut Bench, handlers: &[Handler]) -> Result<()> {
    let published = publications::table(PUBLISHED)?;
    let mut entries = Vec::new();
    for (at, handler) in handlers.iter().enumerate() {
        let row = Row {
            case: handler.case.to_owned(),
            program: handler.program.to_owned(),
            ours: handler.program == OURS,
            published: match handler.program {
                OURS => published
                    .cells()
                    .find(|(cell, _)| cell.row == handler.line)
                    .map(|(_, figure)| figure),
                _ => None,
            },
            ..Row::default()
        };
        let entry = bench.http(row, HttpLoad::fast(&handler.process, handler.path, hello()));
        entries.push(entry.over(compared(handlers, at)));
    }
    let table = ReportTable {
        name: "tax".to_owned(),
        title: "what a fibre costs".to_owned(),
        unit: "req/s".to_owned(),
        notes: vec![published.note()],
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}

/// By ab, as in the published table.
fn as_published(bench: &mut Bench, handlers: &[Handler]) -> Result<()> {
    if find(AB).is_none() {
        bench.miss("the load of ab", "install the Debian package apache2-utils");
        return Ok(());
    }
    let mut entries = Vec::new();
    for (at, handler) in handlers.iter().enumerate() {
        let stop = bench.stop.clone();
        let row = Row {
            ours: handler.program == OURS,
            ..Row::in_cell(GridCell::new(handler.line, COLUMN), handler.program)
        };
        let entry = ProgramEntry::new(row, move |_| {
            let before = handler.process.processor_us()?;
            let figure = ab::run(handler.process.address, handler.path, &stop)?;
            let spent = handler.process.processor_us()? - before;
            Ok(Run {
                figure,
                server_us: Some(spent / ab::REQUESTS as f64),
                resident_bytes: Some(handler.process.resident_bytes()?),
                ..Run::default()
            })
        });
        entries.push(entry.over(compared(handlers, at)));
    }
    let table = publications::table(PUBLISHED)?.report("ab");
    bench.contest(table, entries).map(drop)
}

/// What a handler is compared with: ours with our first one, and our fibre with those of others.
fn compared(handlers: &[Handler], at: usize) -> Vec<usize> {
    let handler = &handlers[at];
    if handler.program != OURS {
        return Vec::new();
    }
    let others = (0..handlers.len())
        .filter(|other| handler.line == FIBRE && handlers[*other].program != OURS);
    (at > 0).then_some(0).into_iter().chain(others).collect()
}
