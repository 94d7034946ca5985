//! The suite pg: the PostgreSQL driver alone beside tokio-postgres and libpq, each a program that asks and prints what it read.
//! Rule: programs that asked the same must have read the same; processor time is the child's, as the kernel accounts it.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use crate::bench::{Bench, ProgramEntry, Run};
use crate::report::{Length, ReportTable, Row};
use crate::stop::StopFlag;

/// One row of 13 columns of as many types, for which no table is read.
const CONSTANT: &str = "select 7::int4, 1234567890123::int8, 98765.4321::numeric, 0.5::float4, 0.25::float8, 'thread'::varchar, \
    'spindle'::text, '\\xcafe'::bytea, '2001-02-03 04:05:06.789'::timestamp, '2001-02-03 04:05:06.789+09'::timestamptz, \
    '2001-02-03'::date, '04:05:06'::time, true::bool";

/// Queries of one run with one in flight, and with several. Quick runs ask a tenth.
const COUNT_ALONE: u64 = 40_000;
const COUNT: u64 = 200_000;
/// In flight on each connection, where several threads have one.
const DEPTH: u64 = 64;

/// A program in its turn.
struct Entrant {
    name: &'static str,
    program: PathBuf,
    /// What to do about its absence.
    remedy: &'static str,
}

/// What is asked.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    threads: u64,
    depth: u64,
    constant: Option<&'static str>,
}

const fn read(name: &'static str, threads: u64, depth: u64) -> Case {
    Case {
        name,
        threads,
        depth,
        constant: None,
    }
}

const fn constant(name: &'static str, threads: u64) -> Case {
    Case {
        name,
        threads,
        depth: DEPTH,
        constant: Some(CONSTANT),
    }
}

const READS: [Case; 5] = [
    read("depth 1", 1, 1),
    read("depth 16", 1, 16),
    read("depth 64", 1, 64),
    read("depth 256", 1, 256),
    read("8 connections", 8, DEPTH),
];
const CONSTANTS: [Case; 4] = [
    constant("1 thread", 1),
    constant("2 threads", 2),
    constant("4 threads", 4),
    constant("8 threads", 8),
];

/// Ours beside each peer.
pub fn run(bench: &mut Bench) -> Result<()> {
    let Some(url) = bench.database()? else {
        return Ok(());
    };
    let peers = bench.programs.peers().clone();
    let all = [
        Entrant {
            name: "tsumugi",
            program: bench.programs.tool("depth"),
            remedy: "`cargo build --release --package tsumugi-pg --example depth` builds it",
        },
        Entrant {
            name: "tokio-postgres",
            program: peers.join("pg-tokio-postgres"),
            remedy: "`make bench-peers` builds it",
        },
        Entrant {
            name: "libpq",
            program: peers.join("pg-libpq"),
            remedy: "install the Debian package libpq-dev, `make bench-peers` builds it then",
        },
    ];
    for entrant in all.iter().filter(|entrant| !entrant.program.is_file()) {
        bench.miss(entrant.name, entrant.remedy);
    }
    let reads = ReportTable {
        name: "reads".to_owned(),
        title: "reads of a row by its key, so many in flight".to_owned(),
        unit: "q/s".to_owned(),
        ..ReportTable::default()
    };
    contest(bench, reads, &all, &READS, &url)?;
    let constant = ReportTable {
        name: "constant".to_owned(),
        title: "a constant row of 13 types, by threads".to_owned(),
        unit: "q/s".to_owned(),
        axis: Some("threads".to_owned()),
        notes: vec![format!(
            "{DEPTH} in flight on the connection of each thread"
        )],
        ..ReportTable::default()
    };
    contest(bench, constant, &all, &CONSTANTS, &url)
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
    let mut entries = Vec::new();
    for (case, sum) in cases.iter().zip(&sums) {
        // The program for libpq has one connection and one question.
        let fit = |entrant: &&Entrant| {
            let plain = case.threads == 1 && case.constant.is_none();
            entrant.program.is_file() && (plain || entrant.name != "libpq")
        };
        let first = entries.len();
        let fitting: Vec<&Entrant> = all.iter().filter(fit).collect();
        for (at, &entrant) in fitting.iter().enumerate() {
            let row = Row {
                case: case.name.to_owned(),
                program: entrant.name.to_owned(),
                ours: entrant.name == "tsumugi",
                x: case.constant.map(|_| case.threads as f64),
                ..Row::default()
            };
            let (stop, case) = (&stop, *case);
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
            entries.push(entry.over(others));
        }
    }
    bench.contest(table, entries).map(drop)
}

impl Entrant {
    /// One run, and the sum of what was read.
    fn run(&self, case: Case, url: &str, length: Length, stop: &StopFlag) -> Result<(Run, i64)> {
        let whole = if case.depth == 1 { COUNT_ALONE } else { COUNT };
        let count = if length.is_quick() { whole / 10 } else { whole };
        let mut command = Command::new(&self.program);
        command.args([&count.to_string(), &case.depth.to_string(), url]);
        if case.threads > 1 || case.constant.is_some() {
            command.arg(case.threads.to_string());
        }
        command.args(case.constant);
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
    let value = |name: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let queries = value("queries")?.parse().ok()?;
    let seconds = value("seconds")?.parse().ok()?;
    Some((queries, seconds, value("sum")?.parse().ok()?))
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
    }
}
