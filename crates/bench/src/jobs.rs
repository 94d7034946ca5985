//! The suite jobs: empty jobs on PostgreSQL, pushed one by one while they are run, and stored before; beside graphile-worker and pg-boss under Node.
//! Rule: every program is one process that does both, with as many pushes under way and jobs at once; all of them must have run the same.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::bench::{Bench, ProgramEntry, Run};
use crate::client;
use crate::driver;
use crate::process::Process;
use crate::programs::find;
use crate::reads::output_of;
use crate::report::{Length, ReportTable, Row};
use crate::servers::application_file;
use crate::stop::StopFlag;

/// Jobs of one run. Quick runs have a fifth.
const JOBS: u64 = 20_000;
/// What runs them from Rust.
const TOOL: &str = "empty_jobs";
const TOOL_REMEDY: &str =
    "`cargo build --release --package tsumugi-jobs --example empty_jobs` builds it";
const NODE_REMEDY: &str =
    "install the Debian packages nodejs npm, `make bench-peers` fetches it then";

/// What is asked, with its word.
const CASES: [(&str, &str); 2] = [("pushed and run", "pushed"), ("stored before", "stored")];

/// A program in its turn.
enum JobRunner {
    /// What starts our server with an application in Ruby, for one run: its worker would look for the jobs of others.
    Ruby(Box<dyn Fn() -> Result<Process>>),
    /// A program with these arguments first.
    Program(PathBuf, Option<PathBuf>),
}

/// Measures all that are here.
pub fn run(bench: &mut Bench) -> Result<()> {
    let Some(url) = bench.database()? else {
        return Ok(());
    };
    let folder = bench.folder().to_owned();
    let file = application_file("jobs.rb", &folder)?;
    let (ours, own_url) = (bench.ours(), url.clone());
    let start = move || ours.serve(&file, &folder, 1, &[("DATABASE_URL", own_url.as_str())]);
    let mut runners = vec![("tsumugi, Ruby", JobRunner::Ruby(Box::new(start)))];
    let tool = bench.programs.tool(TOOL);
    match tool.is_file() {
        true => runners.push(("tsumugi, Rust", JobRunner::Program(tool, None))),
        false => bench.miss("tsumugi, Rust", TOOL_REMEDY),
    }
    let modules = bench.programs.peers().join("jobs");
    for name in ["graphile-worker", "pg-boss"] {
        let has_package = modules.join("node_modules").join(name).is_dir();
        match find("node").filter(|_| has_package) {
            Some(node) => {
                let script = Some(modules.join(format!("{name}.mjs")));
                runners.push((name, JobRunner::Program(node, script)));
            }
            None => bench.miss(name, NODE_REMEDY),
        }
    }
    contest(bench, &runners, &url)
}

fn contest(bench: &mut Bench, runners: &[(&'static str, JobRunner)], url: &str) -> Result<()> {
    let sums = [Cell::new(None), Cell::new(None)];
    let stop = bench.stop.clone();
    let mut entries = Vec::new();
    for ((case, word), sum) in CASES.into_iter().zip(&sums) {
        let first = entries.len();
        for (at, (name, runner)) in runners.iter().enumerate() {
            let row = Row {
                case: case.to_owned(),
                program: (*name).to_owned(),
                ours: name.starts_with("tsumugi"),
                ..Row::default()
            };
            let (stop, ours) = (&stop, row.ours);
            let entry = ProgramEntry::new(row, move |length| {
                let (run, added) = runner.run(word, url, count(length), stop)?;
                let expected = sum.get().unwrap_or(added);
                ensure!(
                    added == expected,
                    "it has run something else than the others"
                );
                sum.set(Some(added));
                Ok(run)
            });
            let others = if ours {
                first + at + 1..first + runners.len()
            } else {
                0..0
            };
            entries.push(entry.over(others));
        }
    }
    let table = ReportTable {
        name: "empty".to_owned(),
        title: "empty jobs on PostgreSQL".to_owned(),
        unit: "jobs/s".to_owned(),
        notes: vec![
            "one process each, ours with one worker; 64 pushes of one job under way, 100 jobs at once; until none is left in the table".to_owned(),
            "pg-boss: its calls fetch and complete in batches of 100, four at a time, without the pauses of its workers; graphile-worker: a local queue of 500, ends together".to_owned(),
        ],
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}

fn count(length: Length) -> u64 {
    match length.is_quick() {
        true => JOBS / 5,
        false => JOBS,
    }
}

impl JobRunner {
    /// One run, and the sum of what its jobs were given.
    fn run(&self, word: &str, url: &str, count: u64, stop: &StopFlag) -> Result<(Run, i64)> {
        match self {
            JobRunner::Ruby(start) => from_ruby(&start()?, word, count),
            JobRunner::Program(program, script) => {
                from_program(program, script.as_deref(), word, url, count, stop)
            }
        }
    }
}

fn from_ruby(server: &Process, word: &str, count: u64) -> Result<(Run, i64)> {
    let before = server.processor_us()?;
    let answer = ask(server, &format!("/run/{word}/{count}"))?;
    let spent = server.processor_us()? - before;
    let seconds = answer["seconds"].as_f64();
    let seconds = seconds.context("there are no seconds in its answer")?;
    let run = Run {
        figure: count as f64 / seconds,
        client_us: Some(spent / count as f64),
        ..Run::default()
    };
    let sum = answer["sum"].as_i64();
    Ok((run, sum.context("there is no sum in its answer")?))
}

fn ask(server: &Process, path: &str) -> Result<Value> {
    let answer = client::fetch(server.address, path)?;
    let text = String::from_utf8_lossy(&answer.body);
    ensure!(
        answer.status == 200,
        "{path} answers {} {text}",
        answer.status
    );
    Ok(serde_json::from_str(&text)?)
}

fn from_program(
    program: &Path,
    script: Option<&Path>,
    word: &str,
    url: &str,
    count: u64,
    stop: &StopFlag,
) -> Result<(Run, i64)> {
    let before = driver::children_us()?;
    let mut command = Command::new(program);
    command.args(script);
    command.args([word, url, &count.to_string()]);
    let printed = output_of(stop, &mut command)?;
    let spent = driver::children_us()? - before;
    let (jobs, seconds, sum) = driver::figures(&printed)
        .with_context(|| format!("it printed what it should not: {printed}"))?;
    let run = Run {
        figure: jobs / seconds,
        client_us: Some(spent / jobs),
        ..Run::default()
    };
    Ok((run, sum))
}
