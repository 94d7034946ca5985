//! The suite pg: the PostgreSQL driver alone beside tokio-postgres and libpq, each a program that asks and prints what it read.
//! Rule: programs that asked the same must have read the same; processor time is the child's, as the kernel accounts it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use crate::figures::{Figures, order, thousands};
use crate::world::database;
use crate::{Length, Verdict};

/// One row of 13 columns of as many types, for which no table is read.
const CONSTANT: &str = "select 7::int4, 1234567890123::int8, 98765.4321::numeric, 0.5::float4, 0.25::float8, 'thread'::varchar, \
    'spindle'::text, '\\xcafe'::bytea, '2001-02-03 04:05:06.789'::timestamp, '2001-02-03 04:05:06.789+09'::timestamptz, \
    '2001-02-03'::date, '04:05:06'::time, true::bool";

/// Queries of one run with one in flight, and with several. Quick runs ask a quarter.
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

const CASES: [Case; 9] = [
    read("depth 1", 1, 1),
    read("depth 16", 1, 16),
    read("depth 64", 1, 64),
    read("depth 256", 1, 256),
    read("8 connections", 8, DEPTH),
    constant("constant, 1 thread", 1),
    constant("constant, 2 threads", 2),
    constant("constant, 4 threads", 4),
    constant("constant, 8 threads", 8),
];

/// One run.
struct Run {
    per_second: f64,
    processor_us: f64,
    sum: i64,
}

#[derive(Default)]
struct Cost {
    rate: Figures,
    processor_us: Figures,
}

/// Ours beside each peer.
pub fn run(depth: &Path, peers: &Path, length: Length) -> Result<Verdict> {
    let url = database()?;
    let ours = Entrant {
        name: "tsumugi",
        program: depth.to_owned(),
        remedy: "cargo build --release --package tsumugi-pg --example depth",
    };
    ensure!(
        ours.program.is_file(),
        "there is no {}; build it: {}",
        depth.display(),
        ours.remedy
    );
    let others = [
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
    for other in others.iter().filter(|other| !other.program.is_file()) {
        println!("pg       {} skipped: {}", other.name, other.remedy);
    }
    let mut alone = Vec::new();
    for case in CASES {
        // The program for libpq has one connection and one question.
        let fit = |entrant: &&Entrant| {
            let plain = case.threads == 1 && case.constant.is_none();
            entrant.program.is_file() && (plain || entrant.name != "libpq")
        };
        let entrants: Vec<&Entrant> = std::iter::once(&ours)
            .chain(others.iter().filter(fit))
            .collect();
        let costs = measure(&entrants, case, &url, length)?;
        report(case, &entrants, &costs, &alone);
        if case.constant.is_some() && case.threads == 1 {
            alone = costs.iter().map(|cost| cost.rate.median()).collect();
        }
    }
    Ok(Verdict::Passed)
}

fn measure(entrants: &[&Entrant], case: Case, url: &str, length: Length) -> Result<Vec<Cost>> {
    let mut costs: Vec<Cost> = entrants.iter().map(|_| Cost::default()).collect();
    let mut sum = None;
    for round in 0..length.rounds {
        for at in order(entrants.len(), round) {
            let run = entrants[at].run(case, url, length)?;
            ensure!(
                *sum.get_or_insert(run.sum) == run.sum,
                "{}: {} read something else",
                case.name,
                entrants[at].name
            );
            costs[at].rate.push(run.per_second);
            costs[at].processor_us.push(run.processor_us);
        }
    }
    Ok(costs)
}

/// A line for each program; `alone` is what they did with one thread, when that is known.
fn report(case: Case, entrants: &[&Entrant], costs: &[Cost], alone: &[f64]) {
    for (at, (entrant, cost)) in entrants.iter().zip(costs).enumerate() {
        let mut line = format!(
            "pg       {:<20} {:<15} {:>8} q/s   {:>6.2} us/query",
            case.name,
            entrant.name,
            thousands(cost.rate.median()),
            cost.processor_us.median()
        );
        if at > 0 {
            line += &format!(
                "   ours over it: q/s {}   cpu {}",
                costs[0].rate.over(&cost.rate),
                costs[0].processor_us.over(&cost.processor_us)
            );
        }
        if let (Some(one), true) = (alone.get(at), case.constant.is_some()) {
            line += &format!("   {:.2} x one thread", cost.rate.median() / one);
        }
        println!("{line}");
    }
}

impl Entrant {
    fn run(&self, case: Case, url: &str, length: Length) -> Result<Run> {
        let whole = if case.depth == 1 { COUNT_ALONE } else { COUNT };
        let count = if length.seconds < 5 { whole / 4 } else { whole };
        let mut command = Command::new(&self.program);
        command.args([&count.to_string(), &case.depth.to_string(), url]);
        if case.threads > 1 || case.constant.is_some() {
            command.arg(case.threads.to_string());
        }
        command.args(case.constant);
        let before = children_us()?;
        let output = command
            .output()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
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
        Ok(Run {
            per_second: queries / seconds,
            processor_us: spent / queries,
            sum,
        })
    }
}

/// Processor time of all children that have ended, in microseconds.
pub fn children_us() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let spent = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(spent as f64)
}

/// `queries=N seconds=S sum=X`.
fn figures(line: &str) -> Option<(f64, f64, i64)> {
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
