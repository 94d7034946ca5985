//! `migrate` and `seed` of a native application: connects as the application says, runs what it declares and prints a line for each.
//! Starts no plugin: the tables that one needs may be what is missing. What migrations mean, and their lock, are the database crate's.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::{Db, Local, Migration, Settings, Worker};
use anyhow::{Context as _, Result, anyhow};
use clap::Subcommand;
use tsumugi_db::schema::{MigrationEvent, MigrationStatus};
use tsumugi_server::table;

use crate::stdout::print;

/// How to reach the database.
pub(crate) type Connect = Box<dyn Fn(Worker) -> Local<crate::Result<Db>>>;

/// What fills it.
pub(crate) type Seeds = Box<dyn Fn(Db) -> Local<crate::Result<()>>>;

/// What an application declares for `migrate` and `seed`.
#[derive(Default)]
pub(crate) struct DatabaseCommands {
    pub(crate) connect: Option<Connect>,
    pub(crate) migrations: Option<fn() -> Vec<Migration>>,
    pub(crate) seeds: Option<Seeds>,
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

impl DatabaseCommands {
    pub(crate) fn migrate(self, command: MigrateCommand) -> Result<ExitCode> {
        print(&self.outcome(&command)?)
    }

    /// How it ended, in a line or a table.
    fn outcome(self, command: &MigrateCommand) -> Result<String> {
        let Some(migrations) = self.migrations else {
            return Err(anyhow!(
                "this application declares no migrations: give them to Commands::migrations"
            ));
        };
        let target = match command {
            MigrateCommand::Up(work) | MigrateCommand::Down(work) | MigrateCommand::Redo(work) => {
                &work.target
            }
            MigrateCommand::Status(target) => target,
        };
        on_database(self.connect, target.data.clone(), async |db| {
            let migrator = db.migrator(migrations())?.on_event(report);
            let steps = |work: &MigrateOptions| work.steps.map(|steps| steps as usize);
            let done = |count: usize, what: &str| match count {
                0 => "nothing to do\n".to_owned(),
                1 => format!("1 migration {what}\n"),
                _ => format!("{count} migrations {what}\n"),
            };
            Ok(match command {
                MigrateCommand::Up(work) => done(migrator.up(steps(work)).await?, "applied"),
                MigrateCommand::Down(work) => done(migrator.down(steps(work)).await?, "undone"),
                MigrateCommand::Redo(work) => {
                    done(migrator.redo(steps(work)).await? / 2, "undone and applied")
                }
                MigrateCommand::Status(_) => status(migrator.status().await?),
            })
        })
    }

    pub(crate) fn seed(self, target: MaintenanceTarget) -> Result<ExitCode> {
        let Some(seeds) = self.seeds else {
            return Err(anyhow!(
                "this application declares no seeds: give them to Commands::seeds"
            ));
        };
        on_database(self.connect, target.data, async |db| seeds(db).await)?;
        print("ran the seeds\n")
    }
}

/// Runs this on the application's database.
fn on_database<T>(
    connect: Option<Connect>,
    data_dir: PathBuf,
    run: impl AsyncFnOnce(Db) -> crate::Result<T>,
) -> Result<T> {
    let connect = connect.context("this application does not say how to reach its database: give Commands::database a function that connects")?;
    std::fs::create_dir_all(&data_dir)
        .with_context(|| format!("cannot make the folder {}", data_dir.display()))?;
    let settings = Settings {
        data_dir,
        ..Settings::default()
    };
    let outcome = crate::alone(settings, async |worker| {
        let db = connect(worker.clone()).await?;
        let outcome = run(db.clone()).await;
        db.close().await;
        outcome
    });
    outcome?.map_err(|error| anyhow!("{}", crate::story(&error)))
}

/// A line for each migration that has run. A closed standard output does not stop the work.
fn report(news: MigrationEvent) {
    if let MigrationEvent::Ended { name, direction } = news {
        let _ = print(&format!("{direction:<4}  {name}\n"));
    }
}

fn status(migrations: Vec<MigrationStatus>) -> String {
    if migrations.is_empty() {
        return "there is no migration\n".to_owned();
    }
    let row = |one: MigrationStatus| [one.state.to_string(), one.name, one.applied_at];
    let rows: Vec<[String; 3]> = migrations.into_iter().map(row).collect();
    table::aligned(&rows)
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
        }
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
        let status = MigrateCommand::Status(target());
        for (command, expected) in [
            (&status, "pending"),
            (&MigrateCommand::Up(work(None)), "1 migration applied"),
            (&MigrateCommand::Up(work(None)), "nothing to do"),
            (&status, "applied"),
            (
                &MigrateCommand::Redo(work(Some(1))),
                "1 migration undone and applied",
            ),
        ] {
            let outcome = commands().outcome(command).unwrap();
            assert!(outcome.starts_with(expected), "{outcome}");
        }
        commands().seed(target()).unwrap();
        let outcome = commands()
            .outcome(&MigrateCommand::Down(work(None)))
            .unwrap();
        assert_eq!(outcome, "1 migration undone\n");
        let error = commands().seed(target()).unwrap_err().to_string();
        assert!(error.contains("users"), "{error}");
    }

    #[test]
    fn command_without_its_declaration_is_refused() {
        let target = || MaintenanceTarget {
            data: "data".into(),
        };
        let error = DatabaseCommands::default().seed(target()).unwrap_err();
        assert!(error.to_string().contains("declares no seeds"));
        let command = MigrateCommand::Status(target());
        let error = DatabaseCommands::default().outcome(&command).unwrap_err();
        assert!(error.to_string().contains("declares no migrations"));
        let unreachable = DatabaseCommands {
            connect: None,
            ..commands()
        };
        let error = unreachable.outcome(&command).unwrap_err();
        assert!(error.to_string().contains("how to reach its database"));
    }
}
