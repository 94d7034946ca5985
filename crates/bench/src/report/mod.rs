//! What was measured, as data: the shape of `--json`, from which tables, pages and comparisons are made. Measures and prints nothing.
//! Rule: this is read by programs of others, and by ours of another version. Fields are added, never changed; a change of what one means
//! raises [`SCHEMA`]. docs/bench.md describes it.

pub mod chart;
pub mod claims;
pub mod diff;
pub mod grid;
pub mod machine;
pub mod page;
mod page_grid;
mod resume;
pub mod statistics;

pub mod print;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use self::machine::Machine;
use crate::samples::Samples;

/// The version of the shape.
pub const SCHEMA: u32 = 1;

/// A run of the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// [`SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// The version of Tsumugi.
    pub version: String,
    /// What was typed.
    pub command: String,
    /// When it began: RFC 3339, UTC.
    pub began: String,
    /// How long it took.
    pub took_s: f64,
    /// How long each measurement was.
    pub length: Length,
    /// Where it ran.
    pub machine: Machine,
    /// What was run, in order.
    pub suites: Vec<Suite>,
}

/// How long a figure is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Length {
    /// Runs of each program.
    pub rounds: usize,
    /// Length of one run.
    pub seconds: u64,
}

impl Length {
    /// Of `--quick`: three pairs of two seconds.
    pub(crate) const QUICK: Length = Length {
        rounds: 3,
        seconds: 2,
    };
    /// Six pairs of five seconds.
    pub(crate) const WHOLE: Length = Length {
        rounds: 6,
        seconds: 5,
    };

    /// Whether this is the form that says where one stands, and leaves out what takes long.
    pub fn is_quick(self) -> bool {
        self.seconds < Length::WHOLE.seconds
    }
}

/// A suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// What it is called on the command line.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Whose table it is made after, and what was published there.
    pub source: String,
    /// How to run it alone.
    pub command: String,
    /// How it ended.
    pub outcome: SuiteOutcome,
    /// Why it failed.
    pub fault: Option<String>,
    /// How long it took.
    pub took_s: f64,
    /// What this machine lacked.
    pub missing: Vec<MissingPart>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// What was measured.
    pub tables: Vec<ReportTable>,
}

/// How a suite ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteOutcome {
    /// What it checks holds; the figures are another matter.
    #[default]
    Passed,
    /// A check failed, or a program did.
    Failed,
    /// The user ended it; its last table may be short of runs.
    Interrupted,
    /// What it measures is not there.
    Skipped,
}

/// What a suite would have measured with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPart {
    /// The program.
    pub what: String,
    /// How to get it.
    pub remedy: String,
}

/// Rows of one unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportTable {
    /// Unique in its suite, and the same in every run.
    pub name: String,
    /// What a reader sees.
    pub title: String,
    /// Of every row's runs: `req/s`, `q/s`, `ms`, …
    pub unit: String,
    /// Which end of the scale is the good one.
    pub better: Better,
    /// What `x` of the rows is; without it, rows are drawn as bars.
    pub axis: Option<String>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// One for each program and case.
    pub rows: Vec<Row>,
    /// Why ours is behind a peer where it is, as far as something beside this table measured it. Without it the cost of a request says why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What follows from its figures, in sentences that stand under it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<String>,
}

/// Which figures are the good ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Rates.
    #[default]
    More,
    /// Times.
    Less,
}

/// Where the programs of a figure ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionScope {
    /// Each in a session of its own, as service managers and containers start programs; the load too.
    #[default]
    Own,
    /// Servers and load in one, as programs that one shell starts.
    One,
}

impl SessionScope {
    /// Both.
    pub const ALL: [SessionScope; 2] = [SessionScope::Own, SessionScope::One];

    /// What readers see.
    pub fn words(self) -> &'static str {
        match self {
            SessionScope::Own => "own sessions",
            SessionScope::One => "one session",
        }
    }

    /// Of reports that do not say it: nothing was in a session of its own then.
    fn unsaid() -> SessionScope {
        SessionScope::One
    }
}

/// What one program did in one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was asked; the same for all programs beside each other.
    pub case: String,
    /// Who was asked.
    pub program: String,
    /// Whether that is this server.
    pub ours: bool,
    /// Where it ran. A table may have the same case and program in both.
    #[serde(default = "SessionScope::unsaid")]
    pub sessions: SessionScope,
    /// Where it is on the table's axis.
    pub x: Option<f64>,
    /// Where it is in the table's grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<GridCell>,
    /// The figure of each run, in order.
    pub runs: Vec<f64>,
    /// What happened in place of a figure: a crash is a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// This row's figures over those of others, run by run.
    pub over: Vec<RatioRuns>,
    /// What was published of the same, on another machine.
    pub published: Option<PublishedFigure>,
    /// What it cost.
    pub cost: Option<Cost>,
    /// How long requests took, of all runs together.
    pub latency: Option<Latency>,
}

/// A place in a table that is drawn as a grid. Rows and columns stand in the order in which the table's rows first name them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridCell {
    /// The head of its row.
    pub row: String,
    /// The head of its column.
    pub column: String,
}

/// Ratios, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioRuns {
    /// The program of the other row.
    pub program: String,
    /// The head of the other row in its grid, where this row is compared with several of that program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// This row's run over the other's beside it.
    pub runs: Vec<f64>,
}

/// A figure from elsewhere: another machine, another day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// The lowest and the highest that was published; the same when it is one figure.
    pub range: (f64, f64),
    /// Of what.
    pub of: String,
    /// When it was published, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<String>,
    /// What stands in the author's table: "33", "about 200", "crash". Without a figure in it, the range is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// What was used for each request, query or call, run by run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Processor time of the server, in microseconds. Empty where it was not measured.
    pub server_us: Vec<f64>,
    /// Processor time of the client, in microseconds. Empty where it was not measured.
    pub client_us: Vec<f64>,
    /// Memory of the server when its last run was over.
    pub resident_bytes: Option<u64>,
}

/// How requests were spread over time, measured from when they were due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Requests a second that were due.
    pub rate: f64,
    /// Requests that counted.
    pub requests: u64,
    /// Of them, those that had no answer when the load gave up; they count with the time that they had.
    pub unanswered: u64,
    /// Pairs of a percentile and the milliseconds within which so many were answered.
    pub percentiles: Vec<(f64, f64)>,
    /// How late the load itself was with one in a hundred requests, in milliseconds: latencies below this say little.
    pub late_p99_ms: f64,
}

impl GridCell {
    /// A cell by its heads.
    pub fn new(row: &str, column: &str) -> GridCell {
        GridCell {
            row: row.to_owned(),
            column: column.to_owned(),
        }
    }
}

impl RatioRuns {
    /// What readers see of the other row.
    pub fn other(&self) -> String {
        let place = self.place.iter().map(|place| format!(" ({place})"));
        [self.program.clone()].into_iter().chain(place).collect()
    }
}

impl Row {
    /// A row of a program in a cell of a grid; its case are the heads of the cell.
    pub fn in_cell(cell: GridCell, program: &str) -> Row {
        Row {
            case: format!("{}, {}", cell.row, cell.column),
            program: program.to_owned(),
            cell: Some(cell),
            ..Row::default()
        }
    }

    /// Whether there is something to show of its program: figures, or what happened in their place.
    pub fn is_measured(&self) -> bool {
        !self.runs.is_empty() || self.fault.is_some()
    }

    /// Whether nothing was measured here and something was published: an author's cell that has no counterpart.
    pub fn is_published_only(&self) -> bool {
        !self.is_measured() && self.published.is_some()
    }

    /// The middle of its runs.
    pub fn median(&self) -> f64 {
        Samples::from(self.runs.as_slice()).median()
    }
}

impl ReportTable {
    /// Where all of its programs ran, unless some ran elsewhere.
    pub fn sessions(&self) -> Option<SessionScope> {
        // What was only published ran elsewhere.
        let mut ran = self.rows.iter().filter(|row| !row.is_published_only());
        let first = ran.next()?.sessions;
        ran.all(|row| row.sessions == first).then_some(first)
    }

    /// What was asked, and where the program ran when that is not the same in the whole table and not as usual.
    pub fn case(&self, row: &Row) -> String {
        match (self.sessions(), row.sessions) {
            (None, SessionScope::One) => format!("{}, {}", row.case, SessionScope::One.words()),
            _ => row.case.clone(),
        }
    }

    /// The program, and where it ran when that is not the same in the whole table and not as usual.
    pub fn program(&self, row: &Row) -> String {
        match (self.sessions(), row.sessions) {
            (None, SessionScope::One) => format!("{}, {}", row.program, SessionScope::One.words()),
            _ => row.program.clone(),
        }
    }

    /// What a reader sees above it, with where its programs ran when that is not as usual.
    pub fn heading(&self) -> String {
        match self.sessions() {
            Some(SessionScope::One) => format!("{}, {}", self.title, SessionScope::One.words()),
            _ => self.title.clone(),
        }
    }
}

impl PublishedFigure {
    /// One published figure.
    pub fn exactly(figure: f64, of: &str) -> PublishedFigure {
        PublishedFigure::between(figure, figure, of)
    }

    /// Several published figures.
    pub fn between(low: f64, high: f64, of: &str) -> PublishedFigure {
        PublishedFigure {
            range: (low, high),
            of: of.to_owned(),
            year: None,
            words: None,
        }
    }

    /// Whose it is: the work and its year.
    pub fn source(&self) -> String {
        match &self.year {
            Some(year) => format!("{}, {year}", self.of),
            None => self.of.clone(),
        }
    }

    /// The middle.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.range.0, self.range.1)
    }
}

impl BenchReport {
    /// Reads a file that `--json` wrote.
    pub fn read(file: &Path) -> Result<BenchReport> {
        let text = fs::read_to_string(file)
            .with_context(|| format!("cannot read the report {}", file.display()))?;
        let context = || format!("{} is no report of `tsumugi bench --json`", file.display());
        let value: serde_json::Value = serde_json::from_str(&text).with_context(context)?;
        let schema = value["schema"].as_u64().with_context(context)?;
        ensure!(
            schema == u64::from(SCHEMA),
            "{} has the shape {schema}, this program reads {SCHEMA}: use the program that wrote it, or measure again",
            file.display()
        );
        serde_json::from_value(value).with_context(context)
    }

    /// Writes it for programs.
    pub fn write(&self, file: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        let is_plain = fs::symlink_metadata(file).map_or(true, |metadata| metadata.is_file());
        let written = if is_plain {
            // Beside it first: an end in the middle leaves the report that was there.
            let mut beside = file.as_os_str().to_owned();
            beside.push(".new");
            fs::write(&beside, text).and_then(|()| fs::rename(&beside, file))
        } else {
            // A terminal, a pipe or a link stays what it is.
            fs::write(file, text)
        };
        written.with_context(|| format!("cannot write {}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publications;

    pub(super) fn report() -> BenchReport {
        let row = Row {
            case: "<case>".to_owned(),
            program: "tsumugi".to_owned(),
            ours: true,
            runs: vec![1.0, 2.5],
            published: Some(PublishedFigure::between(1.0, 2.0, "somebody")),
            ..Row::default()
        };
        let table = ReportTable {
            name: "table".to_owned(),
            title: "<script>alert(1)</script>".to_owned(),
            unit: "req/s".to_owned(),
            rows: vec![row],
            ..ReportTable::default()
        };
        let suite = Suite {
            name: "http".to_owned(),
            fault: Some("a & b".to_owned()),
            tables: vec![table],
            ..Suite::default()
        };
        BenchReport {
            schema: SCHEMA,
            version: "0.1.0".to_owned(),
            command: "tsumugi bench http".to_owned(),
            began: "2026-01-01T00:00:00Z".to_owned(),
            took_s: 1.5,
            length: Length {
                rounds: 2,
                seconds: 1,
            },
            machine: Machine::default(),
            suites: vec![suite],
        }
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        report().write(&file).unwrap();
        assert_eq!(BenchReport::read(&file).unwrap(), report());
    }

    #[test]
    fn figures_of_a_report_that_names_no_sessions_were_in_one() {
        let mut value = serde_json::to_value(report()).unwrap();
        let row = &mut value["suites"][0]["tables"][0]["rows"][0];
        assert_eq!(row["sessions"], "own");
        row.as_object_mut().unwrap().remove("sessions");
        let scheduling = value["machine"].as_object_mut().unwrap();
        scheduling.remove("autogroup").unwrap();
        scheduling.remove("cgroup").unwrap();
        let read: BenchReport = serde_json::from_value(value).unwrap();
        assert_eq!(read.suites[0].tables[0].rows[0].sessions, SessionScope::One);
        assert_eq!(read.machine, Machine::default());
    }

    #[test]
    fn only_what_ran_in_one_session_is_marked() {
        let row = |sessions| Row {
            case: "/db".to_owned(),
            sessions,
            ..Row::default()
        };
        let check = |rows: &[SessionScope], heading: &str, cases: &[&str]| {
            let table = ReportTable {
                title: "reads".to_owned(),
                rows: rows.iter().copied().map(row).collect(),
                ..ReportTable::default()
            };
            assert_eq!(table.heading(), heading);
            let shown: Vec<String> = table.rows.iter().map(|row| table.case(row)).collect();
            assert_eq!(shown, cases);
        };
        check(&[SessionScope::Own], "reads", &["/db"]);
        check(&[SessionScope::One], "reads, one session", &["/db"]);
        check(&SessionScope::ALL, "reads", &["/db", "/db, one session"]);
    }

    fn check_refused(text: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        fs::write(&file, text).unwrap();
        let error = BenchReport::read(&file).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }

    #[test]
    fn malformed_report_is_refused() {
        let other = "is no report of `tsumugi bench --json`";
        check_refused("hello", other);
        check_refused("{}", other);
        check_refused(r#"{"schema":1}"#, other);
        check_refused(
            r#"{"schema":2}"#,
            "has the shape 2, this program reads 1: use the program that wrote it, or measure again",
        );
    }

    #[test]
    fn page_has_a_grid_in_a_box_that_scrolls_with_what_follows_under_it() {
        let mut report = report();
        let mut table = publications::table(1).unwrap().report("workers");
        table.rows[0].runs = vec![44.0];
        table.rows[1].fault = Some("crash (signal: 11)".to_owned());
        table.conclusions.push("one thread waits".to_owned());
        report.suites[0].tables = vec![table];
        let page = page::page(&report);
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        let places = [
            "<div class=\"scroll\" tabindex=\"0\"><table class=\"grid\">",
            "<th scope=\"col\">return string</th>",
            "<th scope=\"row\">refc, threads on</th>",
            "<b>44.0</b>",
            "<div class=\"theirs\">33</div>",
            "<div class=\"fault\"><b>crash (signal: 11)</b>",
            "<div class=\"theirs\">crash</div>",
            "<a href=\"https://github.com/itsumura-h/nim-allographer\">allographer</a>, 2022",
            "<p class=\"conclusion\">one thread waits</p>",
        ]
        .map(place);
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn names_are_text_in_a_page_and_nothing_is_loaded_from_elsewhere() {
        let page = page::page(&report());
        assert!(
            page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("a &amp; b")
        );
        for foreign in ["<script", "<link rel=\"style", "@import", "url(", "src="] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }
}
