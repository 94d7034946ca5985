//! The suite pg: the PostgreSQL driver alone beside those of others, each a program that asks and prints what it read: keys of a table, and the
//! statement of 13 values that postgresql-pure was measured with, by threads.
//! Rule: programs that asked the same must have read the same; processor time is the child's, as the kernel accounts it.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use crate::bench::{Bench, ProgramEntry, Run};
use crate::programs::find;
use crate::publications::{self, PublishedTable};
use crate::report::{Length, ReportTable, Row};
use crate::stop::StopFlag;

/// The published table of the constant query.
const PUBLISHED: u32 = 6;

/// Queries of one run with one in flight, and with several. Quick runs ask a tenth.
const COUNT_ALONE: u64 = 40_000;
const COUNT: u64 = 200_000;
/// At least so many of them are each thread's, which connects within the time that is measured. Quick runs ask half.
const EACH_ALONE: u64 = 4_000;
const EACH: u64 = 20_000;
/// In flight on each connection, where several threads have one.
const DEPTH: u64 = 64;

/// How deep it is that programs ask.
const DEPTH_NOTE: &str = "pgx keeps half to the whole of the depth in flight, the others the whole";
/// What else is in the time of a run.
const CONNECTING_NOTE: &str =
    "that a thread connects and prepares its statement is within the time";

/// A program in its turn.
struct Entrant {
    name: &'static str,
    program: PathBuf,
    /// What the program runs, when it is an interpreter.
    script: Option<PathBuf>,
    /// What to do about its absence.
    remedy: &'static str,
}

impl Entrant {
    fn new(name: &'static str, program: PathBuf, remedy: &'static str) -> Entrant {
        Entrant {
            name,
            program,
            script: None,
            remedy,
        }
    }

    fn is_installed(&self) -> bool {
        let has_modules = |script: &PathBuf| script.with_file_name("node_modules").is_dir();
        self.program.is_file() && self.script.as_ref().is_none_or(has_modules)
    }
}

/// What is asked.
#[derive(Clone)]
struct Case {
    name: String,
    threads: u64,
    depth: u64,
    /// A statement instead of reads by key.
    statement: Option<String>,
}

impl Case {
    /// Queries of one run, of all threads together.
    fn count(&self, length: Length) -> u64 {
        let (whole, each) = match self.depth {
            1 => (COUNT_ALONE, EACH_ALONE),
            _ => (COUNT, EACH),
        };
        let (whole, each) = match length.is_quick() {
            true => (whole / 10, each / 2),
            false => (whole, each),
        };
        whole.max(each * self.threads)
    }
}

/// Reads of a row by its key.
fn reads() -> Vec<Case> {
    let case = |name: &str, threads, depth| Case {
        name: name.to_owned(),
        threads,
        depth,
        statement: None,
    };
    vec![
        case("depth 1", 1, 1),
        case("depth 16", 1, 16),
        case("depth 64", 1, 64),
        case("depth 256", 1, 256),
        case("8 connections", 8, DEPTH),
    ]
}

/// How many threads ask for the constant row, each on a connection of its own.
const THREADS: [u64; 5] = [1, 2, 4, 8, 16];

/// The constant row, by threads with so many queries in flight each.
fn constants(depth: u64, statement: &str) -> Vec<Case> {
    let case = |threads| Case {
        name: match threads {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        },
        threads,
        depth,
        statement: Some(statement.to_owned()),
    };
    THREADS.map(case).to_vec()
}

/// The statement that was published: one row of so many columns of as many types, for which no table is read.
fn statement(published: &PublishedTable) -> Result<String> {
    let columns: Option<Vec<String>> = published
        .text
        .iter()
        .map(|line| line.split_once(' '))
        .map(|parts| parts.map(|(kind, value)| format!("{value}::{kind}")))
        .collect();
    let columns = columns.context("a column has a type and a value")?;
    Ok(format!("select {}", columns.join(", ")))
}

/// Ours beside each peer.
pub fn run(bench: &mut Bench) -> Result<()> {
    let Some(url) = bench.database()? else {
        return Ok(());
    };
    let all = entrants(bench);
    for entrant in all.iter().filter(|entrant| !entrant.is_installed()) {
        bench.miss(entrant.name, entrant.remedy);
    }
    let table = ReportTable {
        name: "reads".to_owned(),
        title: "reads of a row by its key, so many in flight".to_owned(),
        unit: "q/s".to_owned(),
        notes: vec![DEPTH_NOTE.to_owned(), CONNECTING_NOTE.to_owned()],
        ..ReportTable::default()
    };
    contest(bench, table, &all, &reads(), &url)?;
    let published = publications::table(PUBLISHED)?;
    let statement = statement(published)?;
    for (name, title, depth) in [
        (
            "constant-alone",
            "one query in flight on each connection",
            1,
        ),
        ("constant", "64 queries in flight on each connection", DEPTH),
    ] {
        let said = published.said.as_deref().unwrap_or_default();
        let mut notes = vec![
            published.note(),
            format!("its author's words, who drew a chart and no table: \"{said}\""),
            "each thread has a connection; postgres.js has one thread, and so many connections"
                .to_owned(),
            CONNECTING_NOTE.to_owned(),
        ];
        notes.extend((depth > 1).then(|| DEPTH_NOTE.to_owned()));
        let table = ReportTable {
            name: name.to_owned(),
            title: format!("a constant row of 13 types, by threads, {title}"),
            unit: "q/s".to_owned(),
            axis: Some("threads".to_owned()),
            notes,
            ..ReportTable::default()
        };
        contest(bench, table, &all, &constants(depth, &statement), &url)?;
    }
    Ok(())
}

/// Ours and the peers, whether they are here or not.
fn entrants(bench: &Bench) -> [Entrant; 5] {
    let peers = bench.programs.peers();
    let node = find("node").unwrap_or_else(|| PathBuf::from("node"));
    let remedy = "install the Debian packages nodejs npm, `make bench-peers` fetches it then";
    [
        Entrant::new(
            "tsumugi",
            bench.programs.tool("depth"),
            "`cargo build --release --package tsumugi-pg --example depth` builds it",
        ),
        Entrant::new(
            "tokio-postgres",
            peers.join("pg-tokio-postgres"),
            "`make bench-peers` builds it",
        ),
        Entrant::new(
            "libpq",
            peers.join("pg-libpq"),
            "install the Debian package libpq-dev, `make bench-peers` builds it then",
        ),
        Entrant::new(
            "pgx",
            peers.join("pg-pgx"),
            "install Go (https://go.dev/dl), `make bench-peers` builds it then",
        ),
        Entrant {
            script: Some(peers.join("javascript/pg.mjs")),
            ..Entrant::new("postgres.js", node, remedy)
        },
    ]
}

/// Programs beside each other, case by case; the same request must have got the same reply from each.
fn contest(
    bench: &mut Bench,
    table: ReportTable,
    all: &[Entrant],
    cases: &[Case],
    url: &str,
) -> Result<()> {
    let sums: Vec<Cell<Option<i64>>> = cases.iter().map(|_| Cell::new(None)).collect();
    let stop = bench.stop.clone();
    let fitting: Vec<&Entrant> = all.iter().filter(|it| it.is_installed()).collect();
    let by_threads = table.axis.is_some();
    let mut entries = Vec::new();
    for (case, sum) in cases.iter().zip(&sums) {
        let first = entries.len();
        for (at, &entrant) in fitting.iter().enumerate() {
            let row = Row {
                case: case.name.clone(),
                program: entrant.name.to_owned(),
                ours: entrant.name == "tsumugi",
                x: by_threads.then_some(case.threads as f64),
                ..Row::default()
            };
            let stop = &stop;
            let entry = ProgramEntry::new(row, move |length| {
                let (run, read) = entrant.run(case, url, length, stop)?;
                let expected = sum.get().unwrap_or(read);
                ensure!(read == expected, "it read something else than the others");
                sum.set(Some(read));
                Ok(run)
            });
            let others = if at == 0 && entrant.name == "tsumugi" {
                first + 1..first + fitting.len()
            } else {
                0..0
            };
            // And beside itself with one thread, which is the first case.
            let alone = (by_threads && first > 0).then_some(at);
            entries.push(entry.over(others).over(alone));
        }
    }
    bench.contest(table, entries).map(drop)
}

impl Entrant {
    /// One run, and the sum of what was read.
    fn run(&self, case: &Case, url: &str, length: Length, stop: &StopFlag) -> Result<(Run, i64)> {
        let count = case.count(length);
        let mut command = Command::new(&self.program);
        command.args(&self.script);
        command.args([&count.to_string(), &case.depth.to_string(), url]);
        command.arg(case.threads.to_string());
        command.args(&case.statement);
        let before = children_us()?;
        let output = stop.run(&mut command)?;
        let spent = children_us()? - before;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!(
                "{} failed: {printed}{}",
                self.name,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let (queries, seconds, sum) = figures(&printed)
            .with_context(|| format!("{} printed what it should not: {printed}", self.name))?;
        // What a runtime needs to begin is no query's: a program that has one counts from there.
        let spent = value(&printed, "cpu").map_or(Some(spent), |seconds| {
            seconds.parse().ok().map(|seconds: f64| seconds * 1e6)
        });
        let spent = spent.with_context(|| format!("{} printed {printed}", self.name))?;
        let run = Run {
            figure: queries / seconds,
            client_us: Some(spent / queries),
            ..Run::default()
        };
        Ok((run, sum))
    }
}

/// Processor time of all children that have ended, in microseconds.
pub fn children_us() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let spent = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(spent as f64)
}

/// `queries=N seconds=S sum=X`.
pub fn figures(line: &str) -> Option<(f64, f64, i64)> {
    let queries = value(line, "queries")?.parse().ok()?;
    let seconds = value(line, "seconds")?.parse().ok()?;
    Some((queries, seconds, value(line, "sum")?.parse().ok()?))
}

/// The text after `NAME=`.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let mut words = line.split_whitespace();
    words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_prints_its_figures() {
        let line = "queries=100 seconds=0.5 sum=-7\n";
        assert_eq!(figures(line), Some((100.0, 0.5, -7)));
        assert_eq!(figures("queries=100 seconds=x sum=1"), None);
        assert_eq!(figures(""), None);
        assert_eq!(value("queries=1 sum=2 cpu=0.5", "cpu"), Some("0.5"));
        assert_eq!(value(line, "cpu"), None);
    }

    #[test]
    fn constant_query_is_the_statement_that_was_published() {
        let statement = statement(publications::table(PUBLISHED).unwrap()).unwrap();
        let expected = "select 2147483647::int4, 9223372036854775807::int8, 1234567890.0123456789::numeric, 0.015625::float4, \
            0.00024414062::float8, 'hello'::varchar, 'hello'::text, '\\xDEADBEEF'::bytea, \
            '1000-01-01 00:00:00.000001'::timestamp, '2000-01-01 00:00:00.000001+14:30'::timestamptz, '0001-01-01'::date, \
            '23:00:00'::time, true::bool";
        assert_eq!(statement, expected);
    }

    #[test]
    fn every_thread_has_enough_queries_that_connecting_is_little_of_its_time() {
        let long = Length {
            rounds: 3,
            seconds: 5,
        };
        for (depth, quick, full) in [(1, 2_000, 4_000), (DEPTH, 10_000, 20_000)] {
            for case in constants(depth, "select 1") {
                let each = |length| case.count(length) / case.threads;
                assert!(
                    each(Length::QUICK) >= quick && each(long) >= full,
                    "{}",
                    case.name
                );
            }
        }
    }

    #[test]
    fn constant_row_is_asked_for_by_one_thread_first() {
        let cases = constants(DEPTH, "select 1");
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        let expected = [
            "1 thread",
            "2 threads",
            "4 threads",
            "8 threads",
            "16 threads",
        ];
        assert_eq!(names, expected);
    }
}
