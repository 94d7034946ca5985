//! The suite async: 10,000 reads awaited together, as fibres in Ruby, as futures in Rust, and as blocking calls on a bounded pool of threads;
//! on SQLite and on PostgreSQL. Each program tells how long its reads took, so that neither HTTP nor a start is in the figure.
//! Rule: all of them must have read the same.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::bench::{Bench, ProgramEntry, Run};
use crate::client;
use crate::driver;
use crate::process::Process;
use crate::publications;
use crate::report::{Better, GridCell, ReportTable, Row};
use crate::servers::application_file;
use crate::stop::StopFlag;

/// Reads that are awaited together.
const READS: u64 = 10_000;
/// The tool that reads from Rust, and makes the table.
pub const TOOL: &str = "together";

/// The readers: the name of each in tables, and what it is.
const READERS: [(&str, ReaderKind); 4] = [
    (
        "fibres in Ruby, incremental collector",
        ReaderKind::Ruby("incremental"),
    ),
    (
        "fibres in Ruby, generational collector",
        ReaderKind::Ruby("generational"),
    ),
    ("futures in Rust", ReaderKind::Tool("futures")),
    ("8 threads that block", ReaderKind::Tool("threads")),
];

/// What reads.
#[derive(Clone, Copy)]
enum ReaderKind {
    /// The server, with this collector.
    Ruby(&'static str),
    /// The tool, as this word says.
    Tool(&'static str),
}

/// The author's column.
const SECONDS: &str = "seconds";

/// Runs the suite.
pub fn run(bench: &mut Bench) -> Result<()> {
    let tool = bench.programs.tool(TOOL);
    if !tool.is_file() {
        bench.miss(
            "10,000 reads at once",
            "`cargo build --release --package tsumugi-db --example together` builds what reads from Rust",
        );
        return Ok(());
    }
    let file = bench.folder().join("reads.db");
    let url = format!("sqlite:{}", file.display());
    fill(&bench.stop, &tool, &url)?;
    contest(bench, &tool, "SQLite", &url)?;
    match bench.database()? {
        Some(url) => contest(bench, &tool, "PostgreSQL", &url),
        None => Ok(()),
    }
}

/// Makes the table `world` in an empty database.
pub fn fill(stop: &StopFlag, tool: &Path, url: &str) -> Result<()> {
    output_of(stop, Command::new(tool).args(["fill", url])).map(drop)
}

/// What a program printed; an error when it failed.
pub fn output_of(stop: &StopFlag, command: &mut Command) -> Result<String> {
    let output = stop.run(command)?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(printed)
}

fn contest(bench: &mut Bench, tool: &Path, database: &str, url: &str) -> Result<()> {
    let folder = bench.folder().to_owned();
    let file = application_file("async.rb", &folder)?;
    let (stop, sum) = (bench.stop.clone(), Cell::new(None));
    let mut servers = Vec::new();
    for (_, kind) in READERS {
        servers.push(match kind {
            ReaderKind::Tool(_) => None,
            ReaderKind::Ruby(collector) => {
                let variables = [("READS_URL", url), ("READS_COLLECTOR", collector)];
                let server = bench.ours().serve(&file, &folder, 1, &variables)?;
                // Connections and fibres are there after that.
                from_ruby(&server)?;
                Some(server)
            }
        });
    }
    let mut entries = Vec::new();
    for (at, (program, kind)) in READERS.into_iter().enumerate() {
        let row = Row {
            case: database.to_owned(),
            ours: !matches!(kind, ReaderKind::Tool("threads")),
            ..Row::in_cell(GridCell::new(program, SECONDS), program)
        };
        let (stop, sum, server) = (&stop, &sum, &servers[at]);
        let tool: PathBuf = tool.to_owned();
        let entry = ProgramEntry::new(row, move |_| {
            let (run, read) = match (kind, server) {
                (ReaderKind::Tool(word), _) => from_rust(&tool, word, url, stop)?,
                (_, Some(server)) => from_ruby(server)?,
                (_, None) => bail!("its server was not started"),
            };
            let expected = sum.get().unwrap_or(read);
            ensure!(read == expected, "it read something else than the others");
            sum.set(Some(read));
            Ok(run)
        });
        let others = if at == 0 { 1..READERS.len() } else { 0..0 };
        entries.push(entry.over(others));
    }
    let published = publications::table(3)?;
    let table = ReportTable {
        title: format!("{}, {database}", published.title),
        better: Better::Less,
        notes: vec![
            published.note(),
            "fibres and futures run on one thread of their program; fibres are branches of one parallel".to_owned(),
        ],
        ..published.report(&format!("together {database}"))
    };
    bench.contest(table, entries).map(drop)
}

fn from_ruby(server: &Process) -> Result<(Run, i64)> {
    let before = server.processor_us()?;
    let answer = client::fetch(server.address, &format!("/reads?n={READS}"))?;
    let spent = server.processor_us()? - before;
    let text = String::from_utf8_lossy(&answer.body);
    ensure!(
        answer.status == 200,
        "/reads answers {} {text}",
        answer.status
    );
    let answer: Value = serde_json::from_str(&text)?;
    let seconds = answer["seconds"]
        .as_f64()
        .context("there are no seconds in it")?;
    let run = Run {
        figure: seconds,
        client_us: Some(spent / READS as f64),
        resident_bytes: Some(server.resident_bytes()?),
        ..Run::default()
    };
    Ok((
        run,
        answer["sum"].as_i64().context("there is no sum in it")?,
    ))
}

fn from_rust(tool: &Path, word: &str, url: &str, stop: &StopFlag) -> Result<(Run, i64)> {
    let before = driver::children_us()?;
    let printed = output_of(
        stop,
        Command::new(tool).args([word, url, &READS.to_string()]),
    )?;
    let spent = driver::children_us()? - before;
    let (queries, seconds, sum) = driver::figures(&printed)
        .with_context(|| format!("{TOOL} printed what it should not: {printed}"))?;
    let run = Run {
        figure: seconds,
        client_us: Some(spent / queries),
        ..Run::default()
    };
    Ok((run, sum))
}
