//! A program in its turn within a table: how it is measured, and what all of its runs gave. Knows no suite and runs nothing by itself.

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;

use crate::process::ProgramCrash;
use crate::report::{Cost, Latency, Length, Row};

/// Percentiles that are kept of a latency: enough to draw the curve.
const PERCENTILES: [f64; 16] = [
    0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9, 99.95, 99.99, 99.999,
    100.0,
];

/// A program in its turn, and the row that it fills.
pub struct ProgramEntry<'a> {
    pub row: Row,
    /// Which entries it is compared with.
    pub over: Vec<usize>,
    run: Box<dyn FnMut(Length) -> Result<Run> + 'a>,
    /// Whether wrk makes its load.
    pub by_wrk: bool,
    on_failure: FailureUse,
    /// The latencies of all runs, and their summary.
    spread: Option<(Histogram<u64>, Latency)>,
}

/// What becomes of the crash of a program; other failures are fatal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FailureUse {
    /// It fails the suite.
    #[default]
    Fatal,
    /// It is shown in the place of a figure.
    Shown,
}

/// What one run gave.
#[derive(Default)]
pub struct Run {
    /// In the table's unit.
    pub figure: f64,
    /// Processor time of the server for each request, in microseconds.
    pub server_us: Option<f64>,
    /// The same of the client.
    pub client_us: Option<f64>,
    /// Memory of the server.
    pub resident_bytes: Option<u64>,
    /// Where latencies are the point.
    pub spread: Option<(Histogram<u64>, Latency)>,
}

impl<'a> ProgramEntry<'a> {
    /// An entry that is measured by `run`.
    pub fn new(row: Row, run: impl FnMut(Length) -> Result<Run> + 'a) -> ProgramEntry<'a> {
        ProgramEntry {
            row,
            over: Vec::new(),
            run: Box::new(run),
            by_wrk: false,
            on_failure: FailureUse::default(),
            spread: None,
        }
    }

    /// Compares it with entries of the same table.
    pub fn over(mut self, others: impl IntoIterator<Item = usize>) -> ProgramEntry<'a> {
        self.over.extend(others);
        self
    }

    /// Makes a crash of its program a result: what happened is shown in the place of its figure, and it is not measured again.
    pub fn showing_crashes(mut self) -> ProgramEntry<'a> {
        self.on_failure = FailureUse::Shown;
        self
    }

    /// Another measurement of it.
    pub fn measure(&mut self, length: Length) -> Result<()> {
        if self.row.fault.is_some() {
            return Ok(());
        }
        let context = || format!("{} {}", self.row.program, self.row.case);
        let run = match (self.run)(length) {
            Err(error) if self.on_failure == FailureUse::Shown && error.is::<ProgramCrash>() => {
                self.row.fault = Some(first_line(&error));
                self.row.runs.clear();
                self.row.cost = None;
                return Ok(());
            }
            run => run.with_context(context)?,
        };
        self.row.runs.push(run.figure);
        let cost = self.row.cost.get_or_insert_default();
        cost.server_us.extend(run.server_us);
        cost.client_us.extend(run.client_us);
        cost.resident_bytes = run.resident_bytes.or(cost.resident_bytes);
        match (&mut self.spread, run.spread) {
            (Some((all, latencies)), Some((spread, latency))) => {
                all.add(spread)?;
                latencies.requests += latency.requests;
                latencies.unanswered += latency.unanswered;
                latencies.late_p99_ms = latencies.late_p99_ms.max(latency.late_p99_ms);
            }
            (all, spread) => *all = spread,
        }
        Ok(())
    }

    /// Its row as far as it got.
    pub fn row(&self) -> Row {
        let mut row = self.row.clone();
        if row.cost == Some(Cost::default()) {
            row.cost = None;
        }
        row.latency = self.spread.as_ref().map(|(spread, latency)| {
            let at = |percentile: f64| {
                let nanoseconds = spread.value_at_percentile(percentile);
                (percentile, milliseconds(nanoseconds))
            };
            Latency {
                percentiles: PERCENTILES.map(at).to_vec(),
                ..latency.clone()
            }
        });
        row
    }

    /// Takes the last run away.
    pub fn forget(&mut self) {
        self.row.runs.pop();
        if let Some(cost) = &mut self.row.cost {
            cost.server_us.pop();
            cost.client_us.pop();
        }
    }
}

/// What is shown of a failure in a cell.
fn first_line(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.lines().next().unwrap_or_default().to_owned()
}

/// Of nanoseconds.
pub fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}
