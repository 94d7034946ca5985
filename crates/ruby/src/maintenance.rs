//! Migrations and seeds for commands: Ruby files run in a VM of their own, without the application, which may need the tables that
//! they make. What is done in which order is Ruby's (prelude/migrations.rb, maintenance.rb); nothing is printed here.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

use tsumugi_mruby::{ExceptionReport, Raise, Scope, Value};
use tsumugi_server::commands::{RunMode, Task};
use tsumugi_server::dispatch::StopSignal;
use tsumugi_worker::WorkerHandle;

use crate::answer::answer;
use crate::driver::{self, Bounds};
use crate::error::Error;
use crate::host::{Host, JobResult};
use crate::settings::Settings;
use crate::{load, natives};

pub use crate::natives::maintenance_event::MaintenanceEvent;

const MAINTENANCE: (&str, &str) = (
    "tsumugi/maintenance.rb",
    include_str!("../prelude/maintenance.rb"),
);

/// A VM that migrations and seeds run in.
pub struct Maintenance {
    host: Rc<Host>,
}

/// What became of a task.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaintenanceOutcome {
    /// So many files did what they say.
    Done(usize),
    /// The migrations, each with its state, its name and when it was applied.
    Status(Vec<[String; 3]>),
    /// Something raised.
    Raised(ExceptionReport),
    /// It was interrupted.
    Interrupted,
}

impl Maintenance {
    /// Opens a VM beside the application file of `settings`, which is not loaded; `report` gets the events of the work.
    pub fn open(
        worker: &WorkerHandle,
        settings: Rc<Settings>,
        report: impl Fn(MaintenanceEvent) + 'static,
    ) -> Result<Maintenance, Error> {
        let host = load::host(worker, settings)?;
        natives::offer_maintenance_events(&host, report)?;
        load::own(&host, &[MAINTENANCE])?;
        Ok(Maintenance { host })
    }

    /// Runs the task on the database at `url`, or else on the one that applications have without a URL. What runs is cancelled
    /// when `interrupted` resolves.
    pub async fn run(
        &self,
        task: Task,
        mode: RunMode,
        url: Option<String>,
        interrupted: impl Future<Output = ()>,
    ) -> MaintenanceOutcome {
        let signal = Rc::new(StopSignal::default());
        let bounds = Bounds {
            signal: Some(Rc::clone(&signal)),
            ..Bounds::default()
        };
        let job = answer(move |scope| {
            let url = url.map_or(Ok(Value::nil()), |url| scope.string(url))?;
            let steps = task.steps().map(|steps| scope.integer(steps.into()));
            let arguments = [
                Value::symbol(scope.intern(word(task))),
                url,
                steps.unwrap_or_else(Value::nil),
                Value::boolean(mode == RunMode::DryRun),
            ];
            scope.call(scope.constant("Tsumugi::Maintenance")?, "job", &arguments)
        });
        let run = driver::run(&self.host, job, &bounds, finish);
        let mut run = pin!(task.perform(mode, run));
        tokio::select! {
            biased;
            outcome = &mut run => outcome,
            () = interrupted => {
                signal.give();
                run.await
            }
        }
    }
}

/// The method of Ruby.
fn word(task: Task) -> &'static str {
    match task {
        Task::Up(_) => "up",
        Task::Down(_) => "down",
        Task::Redo(_) => "redo",
        Task::Status => "status",
        Task::Seed => "seed",
    }
}

fn finish(scope: &Scope<'_>, ended: JobResult<'_>) -> MaintenanceOutcome {
    match ended {
        JobResult::Value(value) => match value.as_integer() {
            Some(count) => MaintenanceOutcome::Done(usize::try_from(count).unwrap_or_default()),
            None => MaintenanceOutcome::Status(rows(scope, value)),
        },
        JobResult::Raised(exception) => {
            let report = scope.report(Raise(exception));
            if report.class == "Tsumugi::Cancelled" {
                MaintenanceOutcome::Interrupted
            } else {
                MaintenanceOutcome::Raised(report)
            }
        }
    }
}

fn rows(scope: &Scope<'_>, value: Value<'_>) -> Vec<[String; 3]> {
    let text = |row, index| {
        let value = scope.array_at(row, index);
        scope.text(value).unwrap_or_default()
    };
    (0..scope.array_len(value))
        .map(|index| scope.array_at(value, index))
        .map(|row| [0, 1, 2].map(|index| text(row, index)))
        .collect()
}
