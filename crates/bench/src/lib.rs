//! `tsumugi bench`: measures the shipped server from outside, over sockets, beside its peers. Links no crate of the server.
//! A figure is a ratio of programs measured in turn in one run; exit code 1 when a suite failed, 2 for wrong usage.

#![forbid(unsafe_code)]

/// A line on standard output. Its reader may have gone, which ends nothing.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($words)*);
    }};
}

mod ab;
mod arena;
mod bench;
mod builder;
mod client;
mod database;
mod driver;
mod entry;
mod fibre;
mod firebird;
mod firebird_cost;
mod http;
mod jobs;
mod kv;
mod kv_large;
mod kv_load;
mod kv_servers;
mod limits;
mod load;
mod load_command;
mod message;
mod native;
mod ngx_mruby;
mod open_files;
mod parked;
mod pool;
mod process;
mod programs;
mod progress;
mod psql;
mod publications;
mod reads;
mod report;
mod samples;
mod scripting;
mod servers;
mod session;
mod sleeping;
mod soak;
mod stop;
mod store;
mod suites;
mod validate;
mod workers;
mod world;
mod worlds;
mod wrk;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::{CommandFactory as _, ValueEnum as _};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::arena::ArenaRun;
use crate::bench::{Bench, LoadSource};
use crate::programs::Programs;
use crate::report::chart::{alone, draw};
use crate::report::machine::Machine;
use crate::report::page::page;
use crate::report::{BenchReport, Length, SCHEMA, SuiteOutcome, print};
use crate::servers::SchedulingOption;
use crate::suites::SuiteName;

// For a load that has its client elsewhere.
pub use crate::kv_load::KvOperation;
pub use crate::open_files::allow_files;
pub use crate::report::print::figure;
pub use crate::samples::thousands;
pub use crate::session::lead;
pub use crate::stop::{Interruption, StopFlag};

/// Exit code after Ctrl-C, as shells give it to what a signal ended.
const INTERRUPTED: u8 = 130;

/// What the command takes.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchArguments {
    /// What to measure
    #[arg(value_enum)]
    suites: Vec<SuiteName>,
    /// Say what there is to measure
    #[arg(long)]
    list: bool,
    /// Shorter and less certain: 3 pairs of 2 s instead of 6 of 5 s
    #[arg(long)]
    quick: bool,
    /// Load from wrk where it can make it; it looks at no body
    #[arg(long)]
    wrk: bool,
    /// Write the figures for programs
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Go on with the report in the file of --json: suites that passed there are kept, the others are measured
    #[arg(long, requires = "json")]
    resume: bool,
    /// Write a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Measure this server instead of this program
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Where the programs of bench-peers are
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// Where tkrzw_server and tkrzw_dbm_remote_perf are, for kv, if not on PATH
    #[arg(long, value_name = "FOLDER")]
    tkrzw_rpc: Option<PathBuf>,
    /// Where ngx_http_mruby_module.so is, ngx_mruby built for Debian's nginx: fibre measures it
    #[arg(long, value_name = "FOLDER")]
    ngx_mruby: Option<PathBuf>,
    /// Look at the answers of the programs of arena and measure none
    #[arg(long)]
    check: bool,
    /// Start our server of world and world-native with these values of --scheduling, one beside the other, instead of its default
    #[arg(long, value_enum, value_name = "HOW", value_delimiter = ',')]
    scheduling: Vec<SchedulingOption>,
    /// How long the mixed load of soak lasts
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    soak_seconds: u64,
    /// Which parts of soak run, instead of all
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    soak_parts: Vec<soak::SoakPart>,
    #[command(subcommand)]
    action: Option<Action>,
}

impl BenchArguments {
    /// Whether that is asked for, and nothing else but where the figures go.
    pub fn is_only(&self, suite: &str) -> bool {
        let is_plain = !(self.list || self.quick || self.wrk || self.check || self.resume)
            && self.scheduling.is_empty()
            && self.soak_parts.is_empty();
        let folders = [
            &self.html,
            &self.server,
            &self.peers,
            &self.tkrzw_rpc,
            &self.ngx_mruby,
        ];
        let is_here = folders.iter().all(|folder| folder.is_none());
        let is_it = matches!(self.suites.as_slice(), [name] if name.word() == suite);
        is_it && is_plain && is_here && self.action.is_none()
    }

    /// Where figures for programs go.
    pub fn json(&self) -> Option<&Path> {
        self.json.as_deref()
    }
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Load any server with GET, over HTTP/1.1 or HTTP/2, and say how fast it answers
    Load(load_command::LoadArguments),
    /// Compare two reports: which figures differ by more than chance
    Diff {
        /// What --json wrote
        before: PathBuf,
        /// What --json wrote another time
        after: PathBuf,
    },
    /// Show a report again: its tables, its page, its charts
    Show(Show),
}

#[derive(clap::Args, Debug)]
struct Show {
    /// What --json wrote
    report: PathBuf,
    /// Write the page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write every chart as an SVG file, SUITE-TABLE.svg
    #[arg(long, value_name = "FOLDER")]
    charts: Option<PathBuf>,
}

/// How a part of a suite ended that reports its own result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartVerdict {
    /// What it checks holds; the figures are another matter.
    Passed,
    /// A check failed.
    Failed,
}

/// Runs what is asked for; the code says whether what suites check holds.
pub fn run(arguments: BenchArguments) -> Result<ExitCode> {
    match &arguments.action {
        Some(Action::Load(arguments)) => {
            return match session::lead()? {
                Some(code) => Ok(code),
                None => load_command::run(arguments, &StopFlag::at_signals()),
            };
        }
        Some(Action::Diff { before, after }) => {
            let (before, after) = (BenchReport::read(before)?, BenchReport::read(after)?);
            say!("{}", report::diff::text(&before, &after).trim_end());
            return Ok(ExitCode::SUCCESS);
        }
        Some(Action::Show(show)) => return show.run(),
        None => {}
    }
    if arguments.list {
        list();
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.suites.is_empty() {
        usage();
    }
    let mut programs = Programs::new(arguments.server.clone(), arguments.peers.clone())?;
    programs.tkrzw_rpc.clone_from(&arguments.tkrzw_rpc);
    programs.ngx_mruby.clone_from(&arguments.ngx_mruby);
    if !programs.server.is_file() {
        bail!("there is no {}", programs.server.display());
    }
    let load = source(arguments.wrk)?;
    match session::lead()? {
        Some(code) => Ok(code),
        None => measure(programs, load, arguments),
    }
}

/// Runs the suites, and says and writes what they gave.
fn measure(programs: Programs, load: LoadSource, arguments: BenchArguments) -> Result<ExitCode> {
    let length = if arguments.quick {
        Length::QUICK
    } else {
        Length::WHOLE
    };
    let began = Instant::now();
    let mut report = BenchReport {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(),
        began: OffsetDateTime::now_utc().format(&Rfc3339)?,
        took_s: 0.0,
        length,
        machine: Machine::here(),
        suites: Vec::new(),
    };
    if let (true, Some(file)) = (arguments.resume, &arguments.json)
        && file.exists()
    {
        report = report.resuming(BenchReport::read(file)?)?;
        BenchReport::check_age(file, &programs.server)?;
    }
    let took_before_s = report.took_s;
    say!("{}", conditions(&report));
    let mut bench = Bench::new(
        programs,
        length,
        load,
        StopFlag::at_signals(),
        arguments.scheduling,
    )?;
    let arena = match arguments.check {
        true => ArenaRun::Checks,
        false => ArenaRun::Whole,
    };
    let soak = soak::SoakPlan::new(arguments.soak_seconds, &arguments.soak_parts);
    for name in SuiteName::expand(&arguments.suites) {
        if arguments.resume && report.has(&name.word()) {
            say!("# {} is in the report", name.word());
            continue;
        }
        report.put(name.run(&mut bench, &soak, arena)?);
        report.took_s = took_before_s + began.elapsed().as_secs_f64();
        // After each suite, so that no accident takes hours with it.
        if let Some(file) = &arguments.json {
            report.write(file)?;
        }
        if bench.stop.is_set() {
            say!("# interrupted: this is what there is; --json FILE --resume goes on");
            break;
        }
    }
    print_claims(&report);
    if let Some(file) = &arguments.html {
        write(file, &page(&report))?;
    }
    let ended = |outcome| report.suites.iter().any(|suite| suite.outcome == outcome);
    Ok(if ended(SuiteOutcome::Interrupted) {
        ExitCode::from(INTERRUPTED)
    } else if ended(SuiteOutcome::Failed) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

impl Show {
    fn run(&self) -> Result<ExitCode> {
        let report = BenchReport::read(&self.report)?;
        if let Some(folder) = &self.charts {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        let tables = report.suites.iter().flat_map(|suite| {
            let named = |table| (suite.name.as_str(), table);
            suite.tables.iter().map(named)
        });
        for (suite, table) in tables {
            say!("{}", print::table(suite, table).trim_end());
            if let (Some(folder), Some(chart)) = (&self.charts, draw(table)) {
                let plain = |sign: char| {
                    if sign.is_ascii_alphanumeric() {
                        sign
                    } else {
                        '-'
                    }
                };
                let name: String = table.name.chars().map(plain).collect();
                let file = folder.join(format!("{suite}-{name}.svg"));
                write(&file, &alone(&chart, &table.heading()))?;
            }
        }
        print_claims(&report);
        if let Some(file) = &self.html {
            write(file, &page(&report))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Says what the report does of ours beside its peers.
fn print_claims(report: &BenchReport) {
    let claims = report::claims::text(report);
    if !claims.is_empty() {
        say!("{}", claims.trim_end());
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Says what is wrong in the words of clap, and ends the process with code 2.
fn usage() -> ! {
    #[derive(clap::Parser)]
    #[command(name = "tsumugi bench")]
    struct SuiteList {
        #[command(flatten)]
        _arguments: BenchArguments,
    }
    let kind = clap::error::ErrorKind::MissingRequiredArgument;
    let message = "name what to measure, for example `tsumugi bench http --quick`; `tsumugi bench --list` says what there is";
    SuiteList::command().error(kind, message).exit()
}

fn list() {
    for name in SuiteName::value_variants() {
        let value = name.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        say!("{:<9} {help}", name.word());
    }
}

/// Who makes the load over HTTP.
fn source(wrk: bool) -> Result<LoadSource> {
    if !wrk {
        return Ok(LoadSource::Own);
    }
    if programs::find("wrk").is_none() {
        bail!("there is no wrk: install the Debian package wrk, or leave --wrk out");
    }
    Ok(LoadSource::Wrk)
}

/// What was typed.
fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(program) = words.first_mut() {
        let name = Path::new(program.as_str()).file_name();
        *program = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    }
    words.join(" ")
}

/// What shares the machine, so that a figure is not read as more than it is.
fn conditions(report: &BenchReport) -> String {
    let Machine {
        processor,
        cores,
        load_before,
        ..
    } = &report.machine;
    let Length { rounds, seconds } = report.length;
    format!(
        "# {processor}, {cores} cores, shared by servers, load and databases; load average before: {load_before}\n\
         # every program, server, database or load, in a session of its own, unless a line says \"one session\"; {}\n\
         # every figure: median (lowest-highest) of {rounds} runs of {seconds} s, programs in turn; {} connections on {} threads unless said otherwise",
        report.machine.sharing(),
        bench::CONNECTIONS,
        bench::THREADS,
    )
}
