//! A part of the suite db: the table that allographer's author published of prepared statements and pools, as a grid. Seconds for 500 reads
//! in one request, and the processor time of the server that asks.
//! Rule: one request at a time, from one worker, so that a figure is the time of one program, as its author counted it.

use anyhow::{Context as _, Result};

use crate::bench::{Bench, HttpLoad, ProgramEntry, Run};
use crate::process::Process;
use crate::publications;
use crate::report::{Better, GridCell, Length, ReportTable, Row};
use crate::servers::application_file;
use crate::stop::StopFlag;
use crate::world::{EndpointLoad, EndpointServer};
use crate::worlds::ExpectedAnswer;

/// Connections of a pool: as many as ours takes. Its author had 96.
const POOL: usize = 64;
/// Reads of one request.
const READS: usize = 500;

/// A way of asking: its column, what the application calls it, connections, what is added to the URL.
struct PoolWay {
    column: &'static str,
    way: &'static str,
    pool: usize,
    option: &'static str,
}

/// The first as the author calls it; of the second he had more connections.
const WAYS: [PoolWay; 4] = [
    PoolWay {
        column: "prepared statement on one connection",
        way: "in_turn",
        pool: 1,
        option: "",
    },
    PoolWay {
        column: "pool of 64 connections, not prepared",
        way: "together",
        pool: POOL,
        option: "statement_cache=0",
    },
    PoolWay {
        column: "pool of 64 connections, prepared",
        way: "together",
        pool: POOL,
        option: "",
    },
    PoolWay {
        column: "pipelined on one connection, prepared",
        way: "pipelined",
        pool: 1,
        option: "",
    },
];

/// A time of a run, in seconds.
type RunTime = fn(&Run) -> Option<f64>;

/// What is read of a run: its rows.
const TIMES: [(&str, RunTime); 2] = [
    ("CPU seconds", |run| run.server_us.map(|us| us / 1e6)),
    ("seconds", |run| Some(1.0 / run.figure)),
];

/// Measures the grid.
pub fn run(bench: &mut Bench) -> Result<()> {
    let Some(url) = bench.database()? else {
        return Ok(());
    };
    let published = publications::table(2)?;
    let mut entries = Vec::new();
    for (name, time) in TIMES {
        for way in &WAYS {
            let row = Row {
                ours: true,
                ..Row::in_cell(GridCell::new(name, way.column), "tsumugi")
            };
            let (stop, start) = (bench.stop.clone(), start(bench, &url, way)?);
            let entry = ProgramEntry::new(row, move |length| {
                let run = measure(start()?, length, &stop)?;
                let figure = time(&run).context("its processor time is unknown")?;
                Ok(Run { figure, ..run })
            });
            entries.push(entry);
        }
    }
    let table = ReportTable {
        better: Better::Less,
        notes: vec![
            published.note(),
            format!(
                "ours: Ruby, one worker, one request of {READS} reads at a time, a server started for each run; CPU seconds are its own, without those of the \
                 database; a pool of ours has 64 connections at most"
            ),
        ],
        ..published.report("pool")
    };
    let length = match bench.length.is_quick() {
        true => Length {
            rounds: 3,
            seconds: 2,
        },
        false => bench.length,
    };
    bench
        .contest_and_conclude(length, table, entries, conclusions)
        .map(drop)
}

fn start(bench: &Bench, url: &str, way: &PoolWay) -> Result<impl Fn() -> Result<Process> + use<>> {
    let folder = bench.folder().to_owned();
    let file = application_file("pool.rb", &folder)?;
    let mark = if url.contains('?') { '&' } else { '?' };
    let url = match way.option {
        "" => url.to_owned(),
        option => format!("{url}{mark}{option}"),
    };
    let (ours, way, pool) = (bench.ours(), way.way, way.pool.to_string());
    Ok(move || {
        let variables = [
            ("DATABASE_URL", url.as_str()),
            ("READS_WAY", way),
            ("READS_POOL", pool.as_str()),
        ];
        ours.serve(&file, &folder, 1, &variables)
    })
}

fn measure(process: Process, length: Length, stop: &StopFlag) -> Result<Run> {
    let server = EndpointServer {
        name: "tsumugi",
        ours: true,
        process,
    };
    let load = EndpointLoad {
        connections: 1,
        ..EndpointLoad::fast("/reads", ExpectedAnswer::Worlds(READS))
    };
    let asked = HttpLoad {
        threads: 1,
        ..server.load(load)?
    };
    asked.run(length, stop)
}

/// Where the time of a way goes.
fn conclusions(table: &ReportTable) -> Vec<String> {
    let of = |row: &str, column: &str| {
        let cell = GridCell::new(row, column);
        let found = table
            .rows
            .iter()
            .find(|row| row.cell.as_ref() == Some(&cell));
        found.filter(|row| !row.runs.is_empty()).map(Row::median)
    };
    let shares = WAYS.iter().filter_map(|way| {
        let (used, took) = (of(TIMES[0].0, way.column)?, of(TIMES[1].0, way.column)?);
        let share = 100.0 * used / took;
        Some(format!("{}: {share:.0} %", way.column))
    });
    let shares: Vec<String> = shares.collect();
    if shares.is_empty() {
        return Vec::new();
    }
    let shares = shares.join("; ");
    vec![format!(
        "of the time of a request the server itself uses so much: {shares}. The rest it waits, for the database and for what lies between"
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_way_is_the_authors() {
        let published = publications::table(2).unwrap();
        published.cell(TIMES[0].0, WAYS[0].column).unwrap();
        // Of the second, no more connections than ours takes.
        let second = WAYS[1].column.replace("64", "96");
        published.cell(TIMES[0].0, &second).unwrap();
    }

    #[test]
    fn conclusion_says_how_much_of_the_time_is_the_servers_own() {
        let row = |name: &str, figure: f64| Row {
            runs: vec![figure],
            ..Row::in_cell(GridCell::new(name, WAYS[0].column), "tsumugi")
        };
        let table = ReportTable {
            rows: vec![row("CPU seconds", 0.02), row("seconds", 0.08)],
            ..ReportTable::default()
        };
        let said = conclusions(&table).join("");
        assert!(
            said.contains("prepared statement on one connection: 25 %."),
            "{said}"
        );
        assert!(conclusions(&ReportTable::default()).is_empty());
    }
}
