//! `migrate` and `seed` of a native application: connects as the application says, runs what it declares and prints a line for each.
//! Starts no plugin: the tables that one needs may be what is missing. What migrations mean, and their lock, are the database crate's.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use crate::builder::reporting_left_out;
use crate::{Db, LocalTask, Migration, Settings, Worker};
use anyhow::{Context as _, Result, anyhow};
use clap::Subcommand;
use tsumugi_db::schema::MigrationEvent;
use tsumugi_db::{Database, Executor};
use tsumugi_jobs::{JobTablesWish, prepare_job_tables};
use tsumugi_server::DataFolder;
use tsumugi_server::commands::{self, RunMode, Task};

/// How to reach the database.
pub(crate) type Connect = Box<dyn Fn(Worker) -> LocalTask<crate::Result<Db>>>;

/// What fills it.
pub(crate) type Seeds = Box<dyn Fn(Db) -> LocalTask<crate::Result<()>>>;

/// What an application declares for `migrate` and `seed`.
#[derive(Default)]
pub(crate) struct DatabaseCommands {
    pub(crate) connect: Option<Connect>,
    pub(crate) migrations: Option<fn() -> Vec<Migration>>,
    pub(crate) seeds: Option<Seeds>,
    /// Whether its routes declare jobs: then their tables are made with the others.
    pub(crate) has_jobs: bool,
}

/// What `migrate` does.
#[derive(Subcommand)]
pub(crate) enum MigrateCommand {
    /// Apply what is pending
    Up(MigrateOptions),
    /// Undo the last migration
    Down(MigrateOptions),
    /// Undo the last migration and apply it again
    Redo(MigrateOptions),
    /// Say which migrations are applied
    Status(MaintenanceTarget),
}

/// Where the data is.
#[derive(clap::Args)]
pub(crate) struct MaintenanceTarget {
    /// Where the embedded databases of the application live
    #[arg(long = "data", value_name = "DIR", default_value = "data")]
    data: PathBuf,
}

/// What is worked on, and how much.
#[derive(clap::Args)]
pub(crate) struct MigrateOptions {
    #[command(flatten)]
    target: MaintenanceTarget,
    /// How many migrations; all for up, 1 for down and redo by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    steps: Option<u32>,
}

impl MigrateCommand {
    fn task(self) -> (Task, MaintenanceTarget) {
        match self {
            MigrateCommand::Up(work) => (Task::Up(work.steps), work.target),
            MigrateCommand::Down(work) => (Task::Down(work.steps), work.target),
            MigrateCommand::Redo(work) => (Task::Redo(work.steps), work.target),
            MigrateCommand::Status(target) => (Task::Status, target),
        }
    }
}

impl DatabaseCommands {
    pub(crate) fn migrate(self, command: MigrateCommand) -> Result<ExitCode> {
        let (task, target) = command.task();
        self.run(task, target)
    }

    pub(crate) fn seed(self, target: MaintenanceTarget) -> Result<ExitCode> {
        self.run(Task::Seed, target)
    }

    fn run(self, task: Task, target: MaintenanceTarget) -> Result<ExitCode> {
        commands::print(self.outcome(task, target)?)?;
        Ok(ExitCode::SUCCESS)
    }

    /// How it ended, in a line or a table.
    fn outcome(self, task: Task, target: MaintenanceTarget) -> Result<String> {
        self.outcome_with(task, target, |name| {
            let _ = commands::print(commands::left_out(name));
        })
    }

    /// The same, with what becomes of the names of seeds that were left out.
    fn outcome_with(
        self,
        task: Task,
        target: MaintenanceTarget,
        left_out: impl Fn(&str) + 'static,
    ) -> Result<String> {
        let DatabaseCommands {
            connect,
            migrations,
            seeds,
            has_jobs,
        } = self;
        let lacks = |what: &str| {
            anyhow!("this application declares no {what}: give them to Commands::{what}")
        };
        if task == Task::Seed {
            let seeds = seeds.ok_or_else(|| lacks("seeds"))?;
            on_database(connect, task, target, async |db| {
                reporting_left_out(left_out, seeds(db)).await
            })?;
            return Ok(task.summary(RunMode::Commit, 0));
        }
        let none: fn() -> Vec<Migration> = Vec::new;
        let migrations = migrations.or(has_jobs.then_some(none));
        let migrations = migrations.ok_or_else(|| lacks("migrations"))?;
        on_database(connect, task, target, async |db| {
            let migrator = db.migrator(migrations())?.on_event(reports());
            let steps = task.steps().map(|steps| steps as usize);
            let ran = match task {
                Task::Up(_) => migrator.up(steps).await? + job_tables(&db, has_jobs).await?,
                Task::Down(_) => migrator.down(steps).await?,
                Task::Redo(_) => migrator.redo(steps).await?,
                Task::Status | Task::Seed => {
                    let all = migrator.status().await?.into_iter();
                    let row = all.map(|one| [one.state.to_string(), one.name, one.applied_at]);
                    return Ok(commands::status(&row.collect::<Vec<_>>()));
                }
            };
            Ok(task.summary(RunMode::Commit, ran))
        })
    }
}

/// Runs this on the application's database.
fn on_database<T>(
    connect: Option<Connect>,
    task: Task,
    target: MaintenanceTarget,
    run: impl AsyncFnOnce(Db) -> crate::Result<T>,
) -> Result<T> {
    let connect = connect.context("this application does not say how to reach its database: give Commands::database a function that connects")?;
    let adds = task.adds(RunMode::Commit);
    let _data = adds
        .then(|| DataFolder::of(Some(&target.data)))
        .transpose()?;
    let settings = Settings {
        data_dir: target.data,
        ..Settings::default()
    };
    let outcome = crate::alone(settings, async |worker| {
        let outcome = async {
            let db = connect(worker.clone()).await?;
            let outcome = run(db.clone()).await;
            db.close().await;
            outcome
        };
        task.perform(RunMode::Commit, outcome).await
    });
    outcome?.map_err(|error| anyhow!("{}", crate::story(&error)))
}

/// Makes the tables of jobs where they are wanted, or else brings those up to date that are there. Counts as a migration where anything was missing.
async fn job_tables(db: &Db, has_jobs: bool) -> crate::Result<usize> {
    let begun = Instant::now();
    let executor = Executor::Database(Database::clone(db));
    let wish = match has_jobs {
        true => JobTablesWish::Make,
        false => JobTablesWish::Upgrade,
    };
    let is_changed = prepare_job_tables(&executor, wish).await?;
    if is_changed {
        let line = commands::ran("up", commands::JOB_TABLES, begun.elapsed());
        let _ = commands::print(line);
    }
    Ok(usize::from(is_changed))
}

/// A line for each migration that has run. A closed standard output does not stop the work.
fn reports() -> impl Fn(MigrationEvent) {
    let begun = Cell::new(Instant::now());
    move |news| match news {
        MigrationEvent::Ended { name, direction } => {
            let took = begun.get().elapsed();
            let _ = commands::print(commands::ran(&direction.to_string(), &name, took));
        }
        _ => begun.set(Instant::now()),
    }
}

#[cfg(test)]
mod tests {
    use crate::Tx;
    use tsumugi_sql::schema::{Table, increments};

    use super::*;

    fn migrations() -> Vec<Migration> {
        async fn up(tx: &Tx) -> crate::Result<()> {
            tx.create(&Table::new("users").column(increments("id")))
                .await?;
            Ok(())
        }
        async fn down(tx: &Tx) -> crate::Result<()> {
            tx.drop_table("users").await
        }
        vec![Migration::new("1_users", "users", up).down(down)]
    }

    fn commands() -> DatabaseCommands {
        let connect: Connect = Box::new(|worker| {
            Box::pin(async move {
                let url = format!("sqlite:{}/test.db", worker.data_dir().display());
                Db::connect(&url, Default::default()).await
            })
        });
        DatabaseCommands {
            connect: Some(connect),
            migrations: Some(migrations),
            seeds: Some(Box::new(|db| {
                Box::pin(async move {
                    db.execute("insert into users default values", []).await?;
                    Ok(())
                })
            })),
            has_jobs: false,
        }
    }

    #[test]
    fn tables_of_jobs_are_made_by_migrate_where_routes_declare_jobs() {
        let folder = tempfile::tempdir().unwrap();
        let up = |commands: DatabaseCommands| {
            let target = MaintenanceTarget {
                data: folder.path().join("data"),
            };
            commands.outcome(Task::Up(None), target).unwrap()
        };
        let jobs = || DatabaseCommands {
            migrations: None,
            has_jobs: true,
            ..commands()
        };
        assert_eq!(up(commands()), "1 migration applied\n");
        assert_eq!(up(jobs()), "1 migration applied\n");
        assert_eq!(up(jobs()), "nothing to do\n");
        assert_eq!(up(commands()), "nothing to do\n");
    }

    #[test]
    fn migrations_and_seeds_run_on_the_database_of_the_application() {
        let folder = tempfile::tempdir().unwrap();
        let target = || MaintenanceTarget {
            data: folder.path().join("data"),
        };
        let work = |steps| MigrateOptions {
            target: target(),
            steps,
        };
        let outcome = |command: MigrateCommand| {
            let (task, target) = command.task();
            commands().outcome(task, target)
        };
        for (command, expected) in [
            (MigrateCommand::Status(target()), "pending"),
            (MigrateCommand::Down(work(None)), "nothing to do"),
            (MigrateCommand::Redo(work(None)), "nothing to do"),
        ] {
            let outcome = outcome(command).unwrap();
            assert!(outcome.starts_with(expected), "{outcome}");
        }
        let error = commands().seed(target()).unwrap_err().to_string();
        assert!(error.contains("apply the migrations first"), "{error}");
        let broken = DatabaseCommands {
            migrations: Some(|| {
                let up = async |tx: &Tx| -> crate::Result<()> {
                    tx.execute("nonsense", []).await?;
                    Ok(())
                };
                vec![Migration::new("1_broken", "", up)]
            }),
            ..commands()
        };
        let error = broken.migrate(MigrateCommand::Up(work(None))).unwrap_err();
        assert!(
            error.to_string().contains("1_broken failed (up)"),
            "{error}"
        );
        assert!(!target().data.exists());
        for (command, expected) in [
            (MigrateCommand::Up(work(None)), "1 migration applied"),
            (MigrateCommand::Up(work(None)), "nothing to do"),
            (MigrateCommand::Status(target()), "applied"),
            (
                MigrateCommand::Redo(work(Some(1))),
                "1 migration undone and applied",
            ),
        ] {
            let outcome = outcome(command).unwrap();
            assert!(outcome.starts_with(expected), "{outcome}");
        }
        let seeded = commands().outcome(Task::Seed, target()).unwrap();
        assert_eq!(seeded, "ran the seeds\n");
        let undone = outcome(MigrateCommand::Down(work(None))).unwrap();
        assert_eq!(undone, "1 migration undone\n");
        let error = commands().seed(target()).unwrap_err().to_string();
        assert!(error.contains("users"), "{error}");
    }

    #[test]
    fn seeds_of_a_table_that_has_rows_are_named_as_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let target = || MaintenanceTarget {
            data: folder.path().join("data"),
        };
        let seeding = || DatabaseCommands {
            seeds: Some(Box::new(|db| {
                Box::pin(async move {
                    let seed = async |tx: &Tx| -> crate::Result<()> {
                        tx.execute("insert into users default values", []).await?;
                        Ok(())
                    };
                    db.seed("users", seed).await?;
                    Ok(())
                })
            })),
            ..commands()
        };
        commands().outcome(Task::Up(None), target()).unwrap();
        let left_out = || {
            let names = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
            let own = std::rc::Rc::clone(&names);
            let report = move |name: &str| own.borrow_mut().push(commands::left_out(name));
            let outcome = seeding().outcome_with(Task::Seed, target(), report);
            assert_eq!(outcome.unwrap(), "ran the seeds\n");
            names.take()
        };
        assert!(left_out().is_empty());
        assert_eq!(
            left_out(),
            ["-- seeds of users: left out, the table has rows\n"]
        );
    }

    #[test]
    fn command_without_its_declaration_is_refused() {
        let target = || MaintenanceTarget {
            data: "data".into(),
        };
        let error = DatabaseCommands::default().seed(target()).unwrap_err();
        assert!(error.to_string().contains("declares no seeds"));
        let status = |commands: DatabaseCommands| commands.outcome(Task::Status, target());
        let error = status(DatabaseCommands::default()).unwrap_err();
        assert!(error.to_string().contains("declares no migrations"));
        let unreachable = DatabaseCommands {
            connect: None,
            ..commands()
        };
        let error = status(unreachable).unwrap_err();
        assert!(error.to_string().contains("how to reach its database"));
    }
}
