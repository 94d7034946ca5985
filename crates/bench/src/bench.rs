//! A run of the command while it goes on: what suites measure with, and where their tables go. Knows no suite.
//! Programs beside each other run in turn, there and back again; a table is printed as soon as it is complete, or as far as it got when
//! the user ends the run.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;
use tempfile::TempDir;

use crate::database::{DatabaseServer, FIREBIRD, POSTGRES, ServerKind};
use crate::entry::milliseconds;
pub use crate::entry::{ProgramEntry, Run};
use crate::limits::{CHECKED_BEFORE_WRK_S, REPEATS_MAX, WARM_UP_MS};
use crate::load::{
    self, ConnectionUse, ExpectedBody, LoadOutcome, LoadPlan, LoadRequest, LoadTransport, Pace,
};
use crate::process::Process;
use crate::programs::Programs;
use crate::progress;
use crate::report::{Latency, Length, MissingPart, RatioRuns, ReportTable, Row, Suite, print};
use crate::samples::{Samples, order};
use crate::servers::{OwnPrograms, PeerProgram, SchedulingOption};
use crate::stop::StopFlag;
use crate::wrk;

/// Threads of the load.
pub const THREADS: usize = 2;
/// Connections of the load, where a suite does not say otherwise.
pub const CONNECTIONS: usize = 64;
/// What a table of such a load says.
const BY_WRK: &str =
    "load from wrk, which looks at no body; a second of our own load before each run does";
/// Who makes the load over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadSource {
    /// This program.
    Own,
    /// wrk, where it can make it.
    Wrk,
}

/// What a suite measures with.
pub struct Bench {
    /// What can be started.
    pub programs: Programs,
    /// How long each measurement is.
    pub length: Length,
    /// Who makes the load over HTTP.
    load: LoadSource,
    /// Whether the user wants an end.
    pub stop: StopFlag,
    /// Values of `--scheduling` that suites of whole servers compare; none is the servers' default alone.
    pub scheduling: Vec<SchedulingOption>,
    suite: Suite,
    folder: TempDir,
    database: Option<DatabaseServer>,
    firebird: Option<DatabaseServer>,
    /// Ends of that Firebird that programs have recovered from, by their names.
    recovered: HashMap<String, usize>,
}

impl Bench {
    /// Nothing is measured yet.
    pub fn new(
        programs: Programs,
        length: Length,
        load: LoadSource,
        stop: StopFlag,
        scheduling: Vec<SchedulingOption>,
    ) -> Result<Bench> {
        Ok(Bench {
            programs,
            length,
            load,
            stop,
            scheduling,
            suite: Suite::default(),
            folder: tempfile::tempdir()?,
            database: None,
            firebird: None,
            recovered: HashMap::new(),
        })
    }

    /// What runs one suite alone, as long and by the same load. Which programs it takes is in the report's own command.
    pub fn command(&self, suite: &str) -> String {
        let quick = if self.length.is_quick() {
            " --quick"
        } else {
            ""
        };
        let wrk = if self.load == LoadSource::Wrk {
            " --wrk"
        } else {
            ""
        };
        let words: Vec<&str> = self.scheduling.iter().map(|how| how.word()).collect();
        let scheduling = if words.is_empty() {
            String::new()
        } else {
            format!(" --scheduling {}", words.join(","))
        };
        format!("tsumugi bench{quick}{wrk}{scheduling} {suite}")
    }

    /// Begins a suite, with an empty folder.
    pub fn begin(&mut self, suite: Suite) -> Result<()> {
        self.folder = tempfile::tempdir()?;
        self.suite = suite;
        Ok(())
    }

    /// What became of the suite.
    pub fn end(&mut self) -> Suite {
        std::mem::take(&mut self.suite)
    }

    /// A folder for the suite's files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The programs of this repository.
    pub fn ours(&self) -> OwnPrograms {
        OwnPrograms {
            tsumugi: self.programs.server.clone(),
            tax: self.programs.tool("tax"),
        }
    }

    /// Tells readers something about the suite.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        say!("# {note}");
        self.suite.notes.push(note);
    }

    /// Tells that something is not measured, and why.
    pub fn miss(&mut self, what: &str, remedy: &str) {
        say!("  {what} skipped: {remedy}");
        self.suite.missing.push(MissingPart {
            what: what.to_owned(),
            remedy: remedy.to_owned(),
        });
    }

    /// Those servers of others that are installed. What is missing is reported.
    pub fn present_peers(&mut self) -> Vec<PeerProgram> {
        let all = PeerProgram::ALL.into_iter();
        all.filter(|peer| self.has_peer(*peer)).collect()
    }

    /// Whether this one is. That it is missing is reported.
    pub fn has_peer(&mut self, peer: PeerProgram) -> bool {
        let missing = peer.missing();
        if let Some(packages) = missing {
            self.miss(
                peer.name(),
                &format!("install the Debian packages {packages}"),
            );
        }
        missing.is_none()
    }

    /// The URL of a PostgreSQL with the tables of the benchmarks: that of `DATABASE_URL`, or one that is thrown away.
    /// `None` when there is none; that is reported.
    pub fn database(&mut self) -> Result<Option<String>> {
        if self.database.is_none() {
            self.database = self.find(&POSTGRES)?;
        }
        Ok(self.database.as_ref().map(|database| database.url.clone()))
    }

    /// The URL of a Firebird database: that of `FIREBIRD_URL`, or an empty one that is thrown away. `None` when there is none; that is reported.
    pub fn firebird(&mut self) -> Result<Option<String>> {
        if self.firebird.is_none() {
            self.firebird = self.find(&FIREBIRD)?;
        }
        Ok(self.firebird.as_ref().map(|database| database.url.clone()))
    }

    fn find(&mut self, kind: &ServerKind) -> Result<Option<DatabaseServer>> {
        match DatabaseServer::find(kind, &self.programs, &self.stop)? {
            Ok(database) => Ok(Some(database)),
            Err(missing) => {
                self.miss(&missing.what, &missing.remedy);
                Ok(None)
            }
        }
    }

    /// Measures the entries in turn, there and back again, and prints the table.
    pub fn contest(
        &mut self,
        table: ReportTable,
        entries: Vec<ProgramEntry<'_>>,
    ) -> Result<ReportTable> {
        let length = self.length;
        self.contest_for(length, table, entries)
    }

    /// The same for another length.
    pub fn contest_for(
        &mut self,
        length: Length,
        table: ReportTable,
        entries: Vec<ProgramEntry<'_>>,
    ) -> Result<ReportTable> {
        self.contest_and_conclude(length, table, entries, |_| Vec::new())
    }

    /// The same, with sentences on what was measured.
    pub fn contest_and_conclude(
        &mut self,
        length: Length,
        mut table: ReportTable,
        mut entries: Vec<ProgramEntry<'_>>,
        conclude: impl FnOnce(&ReportTable) -> Vec<String>,
    ) -> Result<ReportTable> {
        self.stop.check()?;
        let title = format!("{}: {}", self.suite.name, table.title);
        let bar = progress::bar(title, (length.rounds * entries.len()) as u64);
        let mut measured = Ok(());
        'rounds: for round in 0..length.rounds {
            for at in order(entries.len(), round) {
                measured = self
                    .stop
                    .check()
                    .and_then(|()| self.measure(&mut entries[at], length))
                    // What was cut short is no figure.
                    .and_then(|()| self.stop.check().inspect_err(|_| entries[at].forget()));
                if measured.is_err() {
                    break 'rounds;
                }
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        if entries.iter().any(|entry| entry.by_wrk) {
            table.notes.push(BY_WRK.to_owned());
        }
        let mut rows: Vec<Row> = entries.iter().map(ProgramEntry::row).collect();
        for (at, entry) in entries.iter().enumerate() {
            let own = Samples::from(entry.row.runs.as_slice());
            for &other in &entry.over {
                let others = &entries[other].row;
                if entry.row.fault.is_some() || others.fault.is_some() {
                    continue;
                }
                let runs = own.ratios(&Samples::from(others.runs.as_slice()));
                let program = name(others, &entry.row);
                let has_several = entry.over.iter().any(|&another| {
                    another != other && name(&entries[another].row, &entry.row) == program
                });
                let head = others.cell.as_ref().map(|cell| cell.row.clone());
                rows[at].over.push(RatioRuns {
                    program,
                    place: head.filter(|_| has_several),
                    runs,
                });
            }
        }
        table.rows = merge_published(std::mem::take(&mut table.rows), rows);
        table.conclusions = conclude(&table);
        if table.rows.iter().any(Row::is_measured) {
            self.table(table.clone());
        }
        measured.map(|()| table)
    }

    /// Measures an entry; again, when the database's server has ended by itself since its program was last measured well, which is
    /// told: what it had of connections is lost.
    fn measure(&mut self, entry: &mut ProgramEntry<'_>, length: Length) -> Result<()> {
        let name = format!("{} {}", entry.row.program, entry.row.case);
        for _ in 0..REPEATS_MAX {
            let before = self.firebird_ends();
            let Err(error) = entry.measure(length) else {
                self.recovered.insert(name, before);
                return Ok(());
            };
            let recovered = self.recovered.get(&name).copied().unwrap_or_default();
            if !self.firebird_ended_since(recovered)? {
                return Err(error);
            }
            self.recovered.insert(name.clone(), self.firebird_ends());
            self.note(format!(
                "Firebird ended by itself and was started again; the run of {}, {}, that this cut short is repeated",
                entry.row.program, entry.row.case
            ));
        }
        entry.measure(length)
    }

    /// How often the Firebird that is thrown away has ended by itself.
    pub fn firebird_ends(&self) -> usize {
        self.firebird.as_ref().map_or(0, DatabaseServer::ends)
    }

    /// Whether that is more often than `before`; then it runs again.
    pub fn firebird_ended_since(&self, before: usize) -> Result<bool> {
        let ended = |firebird: &DatabaseServer| firebird.has_ended_since(before, &self.stop);
        Ok(self
            .firebird
            .as_ref()
            .map(ended)
            .transpose()?
            .unwrap_or_default())
    }

    /// Tells a table that is complete.
    pub fn table(&mut self, table: ReportTable) {
        say!("{}", print::table(&self.suite.name, &table).trim_end());
        self.suite.tables.push(table);
    }

    /// An entry that loads a server over HTTP.
    pub fn http<'a>(&self, row: Row, asked: HttpLoad<'a>) -> ProgramEntry<'a> {
        let stop = self.stop.clone();
        let by_wrk = self.load == LoadSource::Wrk && asked.is_for_wrk();
        let sessions = asked.process.sessions();
        let row = Row { sessions, ..row };
        let mut entry = ProgramEntry::new(row, move |length| match by_wrk {
            true => asked.run_by_wrk(length, &stop),
            false => asked.run(length, &stop),
        });
        entry.by_wrk = by_wrk;
        entry
    }
}

/// Rows that were measured among those that were only published: in the same cell of a grid they take its place, with its figure; others follow.
pub fn merge_published(published: Vec<Row>, mut measured: Vec<Row>) -> Vec<Row> {
    let mut rows = Vec::new();
    for author in published {
        let (mut same, others): (Vec<Row>, Vec<Row>) = measured
            .into_iter()
            .partition(|row| author.cell.is_some() && row.cell == author.cell);
        measured = others;
        match same.first_mut() {
            Some(first) => first.published = first.published.take().or(author.published),
            None => rows.push(author),
        }
        rows.append(&mut same);
    }
    rows.extend(measured);
    rows
}

/// What another row is called beside this one: its program, or its case where the program is the same.
fn name(other: &Row, row: &Row) -> String {
    if other.program == row.program {
        other.case.clone()
    } else {
        other.program.clone()
    }
}

/// What a server is asked over HTTP.
pub struct HttpLoad<'a> {
    /// Who is asked.
    pub process: &'a Process,
    /// How.
    pub transport: LoadTransport,
    /// For what.
    pub path: &'a str,
    /// What the answer must be.
    pub expected: ExpectedBody,
    /// By how many at once.
    pub connections: usize,
    /// From how many threads.
    pub threads: usize,
    /// When.
    pub pace: Pace,
}

impl<'a> HttpLoad<'a> {
    /// As fast as [`CONNECTIONS`] get answers.
    pub fn fast(process: &'a Process, path: &'a str, expected: ExpectedBody) -> HttpLoad<'a> {
        HttpLoad {
            process,
            transport: LoadTransport::default(),
            path,
            expected,
            connections: CONNECTIONS,
            threads: THREADS,
            pace: Pace::Closed,
        }
    }

    /// Whether wrk can ask the same.
    fn is_for_wrk(&self) -> bool {
        self.pace == Pace::Closed && self.transport == LoadTransport::default()
    }

    /// The same as `run`, from wrk. It looks at no body, so our own load does before.
    fn run_by_wrk(&self, length: Length, stop: &StopFlag) -> Result<Run> {
        let short = Length {
            seconds: CHECKED_BEFORE_WRK_S,
            ..length
        };
        self.run(short, stop)?;
        let load = wrk::Load {
            address: self.process.address,
            path: self.path,
            seconds: length.seconds,
            connections: self.connections,
            threads: self.threads,
            sessions: self.process.sessions(),
        };
        let before = self.process.processor_us()?;
        let per_second = wrk::run(&load, stop);
        stop.check()?;
        let per_second = per_second.with_context(|| self.process.last_words())?;
        let server_us = self.process.processor_us()? - before;
        Ok(Run {
            figure: per_second,
            server_us: Some(server_us / (per_second * length.seconds as f64)),
            resident_bytes: Some(self.process.resident_bytes()?),
            ..Run::default()
        })
    }

    /// Asks for so long, and says what came of it; an error if an answer was not what it must be.
    pub fn run(&self, length: Length, stop: &StopFlag) -> Result<Run> {
        let plan = LoadPlan {
            address: self.process.address,
            transport: self.transport,
            requests: &[LoadRequest::get(self.path, self.expected.clone())],
            connection_use: ConnectionUse::default(),
            connections: self.connections,
            threads: self.threads,
            pace: self.pace,
            warm_up: Duration::from_millis(WARM_UP_MS),
            length: Duration::from_secs(length.seconds),
        };
        let outcome = load::run(&plan, stop, || self.process.processor_us())?;
        if outcome.tally.errors > 0 {
            let first = outcome.tally.first.unwrap_or_default();
            bail!(
                "{} of {} requests failed, the first with: {first}\n{}",
                outcome.tally.errors,
                outcome.tally.requests + outcome.tally.errors,
                self.process.last_words(),
            );
        }
        stop.check()?;
        if outcome.tally.requests == 0 {
            bail!("not one request was answered");
        }
        let each = |us: f64| Some(us / outcome.tally.requests as f64);
        let mut run = Run {
            figure: outcome.per_second(),
            server_us: each(outcome.server_us),
            client_us: each(outcome.client_us),
            resident_bytes: Some(self.process.resident_bytes()?),
            spread: None,
        };
        if let Pace::Open(rate) = self.pace {
            run.figure = milliseconds(outcome.tally.latency.value_at_percentile(99.0));
            run.spread = Some(spread(outcome, rate));
        }
        Ok(run)
    }
}

/// The latencies of a load, and their summary.
pub fn spread(outcome: LoadOutcome, rate: f64) -> (Histogram<u64>, Latency) {
    let tally = outcome.tally;
    let latency = Latency {
        rate,
        requests: tally.requests,
        unanswered: tally.unanswered,
        percentiles: Vec::new(),
        late_p99_ms: milliseconds(tally.late.value_at_percentile(99.0)),
    };
    (tally.latency, latency)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::ProgramCrash;

    fn command(length: Length, load: LoadSource, scheduling: &[SchedulingOption]) -> String {
        let programs = Programs::new(std::env::current_exe().ok(), None).unwrap();
        let (stop, scheduling) = (StopFlag::default(), scheduling.to_vec());
        let bench = Bench::new(programs, length, load, stop, scheduling);
        bench.unwrap().command("world")
    }

    #[test]
    fn the_command_of_a_suite_says_how_long_and_by_whom_it_was_measured() {
        let whole = command(Length::WHOLE, LoadSource::Own, &[]);
        assert_eq!(whole, "tsumugi bench world");
        let quick = command(Length::QUICK, LoadSource::Wrk, &[]);
        assert_eq!(quick, "tsumugi bench --quick --wrk world");
        let both = [SchedulingOption::Batches, SchedulingOption::Inherited];
        let compared = command(Length::WHOLE, LoadSource::Own, &both);
        let expected = "tsumugi bench --scheduling batches,inherited world";
        assert_eq!(compared, expected);
    }

    #[test]
    fn crash_of_a_program_is_its_result_and_another_failure_is_fatal() {
        let crash = || anyhow::Error::new(ProgramCrash("crash (signal: 11)\nmore".to_owned()));
        let mut entry = ProgramEntry::new(Row::default(), |_| Err(crash())).showing_crashes();
        entry.measure(Length::QUICK).unwrap();
        assert_eq!(entry.row().fault.as_deref(), Some("crash (signal: 11)"));
        let wrong = |_: Length| bail!("it is another page");
        let mut entry = ProgramEntry::new(Row::default(), wrong).showing_crashes();
        assert!(entry.measure(Length::QUICK).is_err());
        let mut entry = ProgramEntry::new(Row::default(), |_| Err(crash()));
        assert!(entry.measure(Length::QUICK).is_err());
    }
}
