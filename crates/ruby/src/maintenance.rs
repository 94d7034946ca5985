//! Migrations and seeds for commands: Ruby files run in a VM of their own, without the application, which may need the tables that
//! they make. What is done in which order is Ruby's (prelude/migrations.rb, maintenance.rb); nothing is printed here.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

use tsumugi_mruby::{ExceptionReport, Scope, Value};
use tsumugi_server::commands::{RunMode, Task};
use tsumugi_server::dispatch::StopSignal;
use tsumugi_worker::WorkerHandle;

use crate::answer::answer;
use crate::driver::{self, Bounds};
use crate::error::Error;
use crate::host::{Host, JobResult};
use crate::load::{self, OwnFile, own_files};
use crate::natives;
use crate::settings::{Settings, SharedResources};

pub use crate::natives::maintenance_event::MaintenanceEvent;

const MAINTENANCE: &[OwnFile] = own_files!("maintenance");

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
        let host = load::host(worker, settings, SharedResources::default())?;
        natives::offer_maintenance_events(&host, report)?;
        load::own(&host, MAINTENANCE)?;
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
        Ok(value) => match value.as_integer() {
            Some(count) => MaintenanceOutcome::Done(usize::try_from(count).unwrap_or_default()),
            None => MaintenanceOutcome::Status(rows(scope, value)),
        },
        Err(_) => driver::failure_of(scope, &ended)
            .map_or(MaintenanceOutcome::Interrupted, MaintenanceOutcome::Raised),
    }
}

fn rows(scope: &Scope<'_>, value: Value<'_>) -> Vec<[String; 3]> {
    let rows = scope.elements(value).map(|row| scope.texts(row));
    rows.filter_map(|row| row.try_into().ok()).collect()
}
