//! The loads of the suite kv: ours, `tsumugi bench kv --address`, and the author's, `tkrzw_dbm_remote_perf`, each a program of its own that prints
//! what it measured. Reads that and the server's processor time; knows no table.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::bench::{Bench, Run};
use crate::driver::children_us;
use crate::kv_servers::{KvServer, TkrzwPrograms};
use crate::limits::{STORE_BYTES_MAX, STORE_KEY_BYTES, STORE_RECORDS_MAX};
use crate::stop::StopFlag;

/// A call of a key-value server, under the head of its column in the author's table, and in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum KvOperation {
    /// The key there and back
    Echo,
    /// A record stored
    Set,
    /// Its value read
    Get,
    /// A cursor sent to a key, and the record there read
    Iterate,
    /// The record removed
    Remove,
}

impl KvOperation {
    /// In the order of the author's table.
    pub const ALL: [KvOperation; 5] = [
        KvOperation::Echo,
        KvOperation::Set,
        KvOperation::Get,
        KvOperation::Iterate,
        KvOperation::Remove,
    ];

    /// The head of its column.
    pub fn heading(self) -> &'static str {
        match self {
            KvOperation::Echo => "Echo",
            KvOperation::Set => "Set",
            KvOperation::Get => "Get",
            KvOperation::Iterate => "Iterate",
            KvOperation::Remove => "Remove",
        }
    }

    /// Whether it changes the database.
    pub fn is_write(self) -> bool {
        matches!(self, KvOperation::Set | KvOperation::Remove)
    }

    /// Whether its calls or their answers hold values.
    pub fn has_values(self) -> bool {
        matches!(
            self,
            KvOperation::Set | KvOperation::Get | KvOperation::Iterate
        )
    }

    /// Whether there is a call of it for many records.
    pub fn has_batches(self) -> bool {
        self.is_write() || self == KvOperation::Get
    }

    /// What the author's load does for it, and the word that begins the line of its figure. It clears the database first, so that records
    /// are stored in the same run.
    fn perf(self) -> (&'static [&'static str], &'static str) {
        match self {
            KvOperation::Echo => (&["--echo_only"], "Echoing"),
            KvOperation::Set => (&["--set_only"], "Setting"),
            KvOperation::Get => (&["--set_only", "--get_only"], "Getting"),
            KvOperation::Iterate => (&["--set_only", "--iter_only"], "Iterating"),
            KvOperation::Remove => (&["--set_only", "--remove_only"], "Removing"),
        }
    }
}

/// Callers of a load: a row of the author's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvCallers {
    /// How many.
    pub threads: u64,
    /// Whether they share a connection.
    pub connection: ConnectionSharing,
}

/// How callers are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionSharing {
    /// One for all of them.
    Same,
    /// One for each.
    Separate,
}

impl KvCallers {
    /// One.
    pub const ONE: KvCallers = KvCallers {
        threads: 1,
        connection: ConnectionSharing::Same,
    };

    /// The head of the row, in the author's words.
    pub fn heading(self) -> String {
        match (self.threads, self.connection) {
            (1, _) => "1 thread".to_owned(),
            (threads, ConnectionSharing::Same) => format!("{threads} threads, same connection"),
            (threads, ConnectionSharing::Separate) => format!("{threads} threads, separate"),
        }
    }

    /// Connections.
    fn connections(self) -> u64 {
        match self.connection {
            ConnectionSharing::Same => 1,
            ConnectionSharing::Separate => self.threads,
        }
    }

    fn put(self, command: &mut Command) {
        command.args(["--threads", &self.threads.to_string()]);
        if self.connection == ConnectionSharing::Separate {
            command.arg("--separate");
        }
    }
}

/// Our load.
#[derive(Clone, Debug)]
pub struct OwnLoad {
    program: PathBuf,
    file: PathBuf,
    stop: StopFlag,
}

/// What it wrote of one operation: a cell of its JSON. `client_us` is for each record.
#[derive(Debug, Deserialize)]
pub struct LoadFigures {
    records: u64,
    thread_records_max: u64,
    per_second: f64,
    client_us: f64,
}

/// A run of it.
#[derive(Clone, Debug)]
pub struct OwnCall<'a> {
    /// What is called.
    pub operation: KvOperation,
    /// The callers.
    pub callers: KvCallers,
    /// The database, by its place in the server's list.
    pub index: usize,
    /// Different keys.
    pub records: u64,
    /// Bytes of a value.
    pub size: usize,
    /// More options: how calls follow each other.
    pub form: &'a [&'a str],
}

impl OwnLoad {
    /// The load of the server's own program.
    pub fn new(bench: &Bench) -> OwnLoad {
        OwnLoad {
            program: bench.programs.server.clone(),
            file: bench.folder().join("load.json"),
            stop: bench.stop.clone(),
        }
    }

    /// Calls for `seconds`; the figure is in records a second. Removed records are stored again afterwards.
    pub fn run_for(&self, server: &KvServer<'_>, call: &OwnCall<'_>, seconds: f64) -> Result<Run> {
        let (run, figures) = self.measure(server, call, &["--seconds", &seconds.to_string()])?;
        if call.operation == KvOperation::Remove {
            let KvCallers { threads, .. } = call.callers;
            let most = figures.thread_records_max * call.callers.connections();
            let again = OwnCall {
                operation: KvOperation::Set,
                form: &[],
                ..call.clone()
            };
            self.store(server, &again, most.div_ceil(threads))?;
        }
        Ok(run)
    }

    /// `each` calls by each caller; the figure is in records a second.
    pub fn run(&self, server: &KvServer<'_>, call: &OwnCall<'_>, each: u64) -> Result<Run> {
        let run = self.measure(server, call, &["--iter", &each.to_string()]);
        run.map(|(run, _)| run)
    }

    /// Stores `each` records for each caller, in batches. Not measured.
    pub fn store(&self, server: &KvServer<'_>, call: &OwnCall<'_>, each: u64) -> Result<()> {
        let batch = store_batch(call.size).to_string();
        let many = OwnCall {
            operation: KvOperation::Set,
            form: &["--batch", &batch],
            ..call.clone()
        };
        self.measure(server, &many, &["--iter", &each.to_string()])
            .map(drop)
    }

    fn measure(
        &self,
        server: &KvServer<'_>,
        call: &OwnCall<'_>,
        extent: &[&str],
    ) -> Result<(Run, LoadFigures)> {
        let mut command = Command::new(&self.program);
        command.args([
            "bench",
            "kv",
            "--address",
            &server.url,
            "--yes",
            "--scattered",
        ]);
        command.args(["--index", &call.index.to_string()]);
        command.args(["--records", &call.records.to_string()]);
        command.args(["--size", &call.size.to_string()]);
        command.args(["--only", &call.operation.heading().to_lowercase()]);
        command.arg("--json").arg(&self.file);
        call.callers.put(&mut command);
        command.args(extent).args(call.form);
        let before = server.process.processor_us()?;
        run(&self.stop, &mut command)?;
        let spent = server.process.processor_us()? - before;
        let figures = figures(&self.file)?;
        let run = Run {
            figure: figures.per_second,
            server_us: Some(spent / figures.records.max(1) as f64),
            client_us: Some(figures.client_us),
            ..Run::default()
        };
        Ok((run, figures))
    }
}

/// Records of one call that stores; the load takes no more of this size.
fn store_batch(size: usize) -> usize {
    (STORE_BYTES_MAX / (size + STORE_KEY_BYTES)).clamp(1, STORE_RECORDS_MAX)
}

/// The one cell of the table that our load wrote.
fn figures(file: &Path) -> Result<LoadFigures> {
    #[derive(Deserialize)]
    struct Table {
        rows: Vec<TableRow>,
    }
    #[derive(Deserialize)]
    struct TableRow {
        cells: Vec<LoadFigures>,
    }
    let text = std::fs::read_to_string(file)?;
    let table: Table = serde_json::from_str(&text).context("the load wrote what it should not")?;
    let mut cells = table.rows.into_iter().flat_map(|row| row.cells);
    cells.next().context("the load measured nothing")
}

/// Behind the name of a server that the author's load calls.
pub const BY_PERF: &str = " by tkrzw_dbm_remote_perf";

/// The author's load.
#[derive(Clone, Debug)]
pub struct PerfLoad {
    programs: TkrzwPrograms,
    stop: StopFlag,
}

impl PerfLoad {
    /// Of these programs.
    pub fn new(programs: &TkrzwPrograms, bench: &Bench) -> PerfLoad {
        PerfLoad {
            programs: programs.clone(),
            stop: bench.stop.clone(),
        }
    }

    /// `each` calls by each caller. The figure is in calls a second. The tool empties the database at the beginning of each run, and for most operations
    /// stores records then. Processor time is of the whole run, so it is known only where no records were stored; the emptying is within it.
    pub fn run(&self, server: &KvServer<'_>, call: &OwnCall<'_>, each: u64) -> Result<Run> {
        let (words, beginning) = call.operation.perf();
        let mut command = self.programs.perf();
        command.args(["sequence", "--address", &server.address]);
        command.args(["--index", &call.index.to_string()]);
        command.args(["--size", &call.size.to_string()]);
        command.args(["--iter", &each.to_string()]);
        call.callers.put(&mut command);
        command.args(words);
        let (before, clients) = (server.process.processor_us()?, children_us()?);
        let printed = run(&self.stop, &mut command)?;
        let spent = server.process.processor_us()? - before;
        let clients = children_us()? - clients;
        let figure = perf_figure(&printed, beginning)
            .with_context(|| format!("tkrzw_dbm_remote_perf printed no figure: {printed}"))?;
        let calls = (each * call.callers.threads) as f64;
        let stores_nothing_else = words.len() == 1;
        Ok(Run {
            figure,
            server_us: stores_nothing_else.then_some(spent / calls),
            client_us: stores_nothing_else.then_some(clients / calls),
            ..Run::default()
        })
    }
}

/// `Setting done: elapsed_time=0.5 num_records=10000 qps=20000 mem=0`.
fn perf_figure(printed: &str, beginning: &str) -> Option<f64> {
    let beginning = format!("{beginning} done:");
    let line = printed.lines().find(|line| line.starts_with(&beginning))?;
    let mut words = line.split_whitespace();
    words
        .find_map(|word| word.strip_prefix("qps="))?
        .parse()
        .ok()
}

fn run(stop: &StopFlag, command: &mut Command) -> Result<String> {
    let output = stop.run(command)?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let program = command.get_program().to_string_lossy().into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{program} failed: {}", errors.trim());
    }
    Ok(printed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publications;

    #[test]
    fn figure_of_the_authors_load_is_found_by_its_operation() {
        let printed = "Setting: num_iterations=10000 value_size=8 num_threads=1\n\
            ..... (00010000)\n\
            Setting done: elapsed_time=0.500000 num_records=10000 qps=20000 mem=0\n\n\
            Getting done: elapsed_time=0.400000 num_records=10000 qps=25000 mem=0\n";
        assert_eq!(perf_figure(printed, "Setting"), Some(20_000.0));
        assert_eq!(perf_figure(printed, "Getting"), Some(25_000.0));
        assert_eq!(perf_figure(printed, "Removing"), None);
    }

    #[test]
    fn batches_that_store_fit_one_call() {
        assert_eq!(store_batch(8), STORE_RECORDS_MAX);
        assert_eq!(store_batch(100_000), 10);
        assert_eq!(store_batch(STORE_BYTES_MAX), 1);
    }

    #[test]
    fn figures_of_our_load_are_those_of_its_one_cell() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = r#"{"schema": 1, "rows": [{"case": "1 thread", "cells": [
            {"operation": "Set", "records": 10, "thread_records_max": 10, "per_second": 5.0, "client_us": 2.0}]}]}"#;
        std::fs::write(file.path(), text).unwrap();
        assert_eq!(figures(file.path()).unwrap().records, 10);
        std::fs::write(file.path(), r#"{"rows": []}"#).unwrap();
        assert!(figures(file.path()).is_err());
    }

    #[test]
    fn every_column_of_the_published_table_has_its_operation() {
        let table = publications::table(8).unwrap();
        let headings = KvOperation::ALL.map(KvOperation::heading);
        assert_eq!(table.columns, headings);
    }
}
