//! The suite builder: what `where(id:).first` costs over the same SQL written by hand, in Ruby and in Rust, on SQLite and on PostgreSQL.
//! Each program takes turns between both ways within one run, so that whatever else the machine does falls on both; the figure is the
//! difference. Rule: both ways and all programs must have read the same of one database.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::bench::{Bench, ProgramEntry, Run};
use crate::client;
use crate::process::Process;
use crate::reads;
use crate::report::{Better, Length, RatioRuns, ReportTable, Row};
use crate::servers::application_file;
use crate::stop::StopFlag;

/// The tool that asks from Rust.
const TOOL: &str = "builder";
/// Turns of one run; quick runs take a fifth. One has 50 queries of each way.
const TURNS: u64 = 400;
/// What the difference is to stay below, in microseconds.
const GOALS: &str = "goals: 10 us in Ruby, 3 us in Rust";

/// Microseconds of one query.
#[derive(Clone, Copy)]
struct QueryCost {
    raw: f64,
    built: f64,
    alone: f64,
}

/// Who asks: what tables call it.
const RUBY: &str = "Ruby";
const RUST: &str = "Rust";

/// Runs the suite.
pub fn run(bench: &mut Bench) -> Result<()> {
    let tool = bench.programs.tool(TOOL);
    let fill = bench.programs.tool(reads::TOOL);
    if !tool.is_file() || !fill.is_file() {
        bench.miss(
            "what the builder costs",
            "`make bench-build` builds what asks from Rust and what makes the table",
        );
        return Ok(());
    }
    let file = bench.folder().join("world.db");
    let mut databases = vec![("SQLite", format!("sqlite:{}", file.display()))];
    reads::fill(&bench.stop, &fill, &databases[0].1)?;
    databases.extend(bench.database()?.map(|url| ("PostgreSQL", url)));
    contest(bench, &tool, &databases)
}

/// Who asks, of which database, what came of each run.
struct Case<'a> {
    language: &'static str,
    database: &'static str,
    url: &'a str,
    server: Option<Process>,
    spent: RefCell<Vec<QueryCost>>,
}

fn contest(bench: &mut Bench, tool: &Path, databases: &[(&'static str, String)]) -> Result<()> {
    let folder = bench.folder().to_owned();
    let file = application_file("builder.rb", &folder)?;
    let mut cases = Vec::new();
    for (database, url) in databases {
        for language in [RUBY, RUST] {
            let serve = || {
                bench
                    .ours()
                    .serve(&file, &folder, 1, &[("BUILDER_URL", url)])
            };
            let server = (language == RUBY).then(serve).transpose()?;
            let spent = RefCell::default();
            cases.push(Case {
                language,
                database,
                url,
                server,
                spent,
            });
        }
    }
    // By database: another suite may have changed the rows of one.
    let sums: RefCell<HashMap<&str, i64>> = RefCell::default();
    let (stop, tool) = (bench.stop.clone(), tool.to_owned());
    let entries = cases.iter().map(|case| {
        let (sums, stop, tool) = (&sums, &stop, &tool);
        ProgramEntry::new(case.row("over its SQL"), move |length| {
            let (spent, read) = case.ask(tool, length, stop)?;
            let expected = *sums.borrow_mut().entry(case.database).or_insert(read);
            ensure!(read == expected, "it read something else than the others");
            case.spent.borrow_mut().push(spent);
            Ok(Run {
                figure: spent.built - spent.raw,
                ..Run::default()
            })
        })
    });
    let difference = ReportTable {
        name: "difference".to_owned(),
        title: "where(id:).first over the same SQL, for each query".to_owned(),
        unit: "us".to_owned(),
        better: Better::Less,
        notes: vec![GOALS.to_owned()],
        ..ReportTable::default()
    };
    let entries = entries.collect();
    bench.contest(difference, entries)?;
    bench.table(alone(&cases));
    bench.table(whole(&cases));
    Ok(())
}

/// What making the SQL costs without a database.
fn alone(cases: &[Case<'_>]) -> ReportTable {
    ReportTable {
        name: "alone".to_owned(),
        title: "the builder's SQL alone".to_owned(),
        unit: "us".to_owned(),
        better: Better::Less,
        rows: cases
            .iter()
            .map(|case| Row {
                runs: case.runs(|spent| spent.alone),
                ..case.row("the SQL alone")
            })
            .collect(),
        ..ReportTable::default()
    }
}

/// What the queries cost with their way to the database and back.
fn whole(cases: &[Case<'_>]) -> ReportTable {
    let rows = cases.iter().flat_map(|case| {
        let ratios = case.runs(|spent| spent.built / spent.raw);
        let built = Row {
            runs: case.runs(|spent| spent.built),
            over: vec![RatioRuns {
                program: "SQL".to_owned(),
                place: None,
                runs: ratios,
            }],
            ..case.row("builder")
        };
        let raw = Row {
            runs: case.runs(|spent| spent.raw),
            ..case.row("SQL")
        };
        [built, raw]
    });
    ReportTable {
        name: "queries".to_owned(),
        title: "one query after the other on one connection".to_owned(),
        unit: "us".to_owned(),
        better: Better::Less,
        rows: rows.collect(),
        ..ReportTable::default()
    }
}

impl Case<'_> {
    fn row(&self, program: &str) -> Row {
        Row {
            case: format!("{}, {}", self.language, self.database),
            program: program.to_owned(),
            ours: true,
            ..Row::default()
        }
    }

    fn runs(&self, of: impl Fn(&QueryCost) -> f64) -> Vec<f64> {
        self.spent.borrow().iter().map(of).collect()
    }

    /// One run, and the sum of what was read.
    fn ask(&self, tool: &PathBuf, length: Length, stop: &StopFlag) -> Result<(QueryCost, i64)> {
        let turns = if length.is_quick() { TURNS / 5 } else { TURNS };
        let output = match &self.server {
            Some(server) => {
                let answer = client::fetch(server.address, &format!("/cost?turns={turns}"))?;
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                ensure!(answer.status == 200, "{} {text}", answer.status);
                text
            }
            None => reads::output_of(
                stop,
                Command::new(tool).args([self.url, &turns.to_string()]),
            )?,
        };
        figures(&output).with_context(|| format!("no figures in {output:?}"))
    }
}

/// Seconds of so many queries, as microseconds of one.
fn figures(output: &str) -> Option<(QueryCost, i64)> {
    let output: Value = serde_json::from_str(output).ok()?;
    let queries = output["queries"].as_f64()?;
    let each = |name: &str| Some(output[name].as_f64()? * 1e6 / queries);
    let spent = QueryCost {
        raw: each("raw")?,
        built: each("built")?,
        alone: each("alone")?,
    };
    Some((spent, output["sum"].as_i64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_all_queries_are_microseconds_of_one() {
        let output = r#"{"queries":1000,"raw":0.02,"built":0.025,"alone":0.001,"sum":-7}"#;
        let (spent, sum) = figures(output).unwrap();
        assert_eq!(
            (spent.raw, spent.built, spent.alone, sum),
            (20.0, 25.0, 1.0, -7)
        );
        assert!(figures("{}").is_none() && figures("builder: no").is_none());
    }
}
