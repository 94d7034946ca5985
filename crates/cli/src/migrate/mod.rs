//! `tsumugi migrate` and `tsumugi seed`: what is asked for, and how it ended. What migrations do is Ruby's, in the `ruby` crate.

mod show;
mod skeleton;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::Result;
use clap::Subcommand;
use tsumugi_ruby::{ExceptionReport, Maintenance, MaintenanceOutcome, Mode, Settings};
use tsumugi_server::DataFolder;
use tsumugi_server::commands::{self, RunMode, Task};
use tsumugi_worker::WorkerLimits;

use crate::console::interrupted;
use show::Show;

pub const HELP: &str = "\
Examples:
  tsumugi migrate new create_users     migrations/20260131120000_create_users.rb
  tsumugi migrate up                   all that this database does not have yet
  tsumugi migrate up --dry-run         the statements; nothing is kept
  tsumugi migrate status
  tsumugi migrate redo                 undo the last one and apply it again
  DATABASE_URL=postgres://… tsumugi migrate up

A migration:
  up do
    db.create(:users) { increments :id; string :name, 100; timestamps }
  end
  down { db.drop :users }

Each is applied in a transaction of its own, so one that fails leaves nothing behind; on Firebird
its message says what was kept. Many processes may migrate one database at once: each migration
is applied once.";

pub const SEED_HELP: &str = "\
Examples:
  tsumugi seed                         seeds.rb, or seeds/*.rb, beside app.rb

A file of seeds:
  seeder(:users) { %w[Ann Bo].each { |name| db.execute \"insert into users(name) values (?)\", name } }

The block runs only if the table is empty, and in a transaction.";

const MIGRATIONS: &str = "migrations";

/// Options of `migrate`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    word: Word,
}

#[derive(Subcommand)]
enum Word {
    /// Apply what is pending
    Up(Work),
    /// Undo the last migration
    Down(Work),
    /// Undo the last migration and apply it again
    Redo(Work),
    /// Say which migrations are applied
    Status(MigrateTarget),
    /// Make a file for a new migration
    New(skeleton::Arguments),
}

/// What is worked on; also the options of `seed`.
#[derive(clap::Args)]
pub struct MigrateTarget {
    /// The application file, beside which migrations and seeds are; it is not loaded
    #[arg(default_value_os_t = crate::bundle::default_application(), hide_default_value = crate::bundle::is_built_in())]
    app: PathBuf,
    /// The database's URL; by default that of DATABASE_URL, else sqlite:DIR/app.db
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Where the embedded databases of the application live
    #[arg(long = "data", value_name = "DIR", default_value = "data")]
    data: PathBuf,
}

#[derive(clap::Args)]
struct Work {
    #[command(flatten)]
    place: MigrateTarget,
    /// How many migrations; all for up, 1 for down and redo by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    steps: Option<u32>,
    /// Print the statements, keep nothing
    #[arg(long)]
    dry_run: bool,
}

/// Migrates.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (work, task) = match &arguments.word {
        Word::New(arguments) => return skeleton::run(arguments),
        Word::Status(place) => return perform(place, Task::Status, RunMode::Commit),
        Word::Up(work) => (work, Task::Up(work.steps)),
        Word::Down(work) => (work, Task::Down(work.steps)),
        Word::Redo(work) => (work, Task::Redo(work.steps)),
    };
    let mode = if work.dry_run {
        RunMode::DryRun
    } else {
        RunMode::Commit
    };
    perform(&work.place, task, mode)
}

/// Runs the seeds.
pub fn seed(place: &MigrateTarget) -> Result<ExitCode> {
    perform(place, Task::Seed, RunMode::Commit)
}

fn perform(place: &MigrateTarget, task: Task, mode: RunMode) -> Result<ExitCode> {
    let adds = place.database.is_none() && task.adds(mode);
    let _data = adds
        .then(|| DataFolder::of(Some(&place.data)))
        .transpose()?;
    let settings = Rc::new(Settings {
        app: place.app.clone(),
        data_dir: place.data.clone(),
        mode: Mode::Development,
        ..Settings::default()
    });
    let outcome = tsumugi_worker::alone(WorkerLimits::default(), async |worker| {
        let show = Rc::new(RefCell::new(Show::new(mode)));
        let shown = Rc::clone(&show);
        let maintenance = Maintenance::open(&worker, settings, move |news| {
            shown.borrow_mut().record(news)
        })?;
        let url = place.database.clone();
        let outcome = maintenance.run(task, mode, url, interrupted()).await;
        show.borrow_mut().end();
        anyhow::Ok(outcome)
    })??;
    match outcome {
        MaintenanceOutcome::Raised(report) => anyhow::bail!(describe(&report)),
        MaintenanceOutcome::Status(rows) => commands::print(commands::status(&rows))?,
        MaintenanceOutcome::Done(count) => commands::print(task.summary(mode, count))?,
        _ => anyhow::bail!(
            "interrupted: what was under way is undone, except what a migration with `transaction false` had done"
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// An exception with the author's own frames. What says itself what to do needs no class before it.
pub(crate) fn describe(report: &ExceptionReport) -> String {
    let mut text = match report.class.as_str() {
        "DB::MigrationFailed" | "DB::UsageError" => report.message.clone(),
        _ => report.to_string(),
    };
    let own = |frame: &&String| !frame.starts_with("tsumugi/");
    for frame in report.backtrace.iter().filter(own) {
        text.push_str("\n    from ");
        // That a block of the author's runs there says nothing.
        text.push_str(frame.trim_end_matches(":in instance_exec"));
    }
    text
}

/// The folder of migrations beside an application.
pub(crate) fn folder(app: &Path) -> PathBuf {
    crate::serve::folder_of(app).join(MIGRATIONS)
}
