//! `migrate` and `seed` of a native application: connects as the application says, runs what it declares and prints a line for each.
//! Starts no plugin: the tables that one needs may be what is missing. What migrations mean, and their lock, are the database crate's.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::{Db, Local, Migration, Settings, Worker};
use anyhow::{Context as _, Result, anyhow};
use clap::Subcommand;
use tsumugi_db::schema::{Applied, News};
use tsumugi_server::table;

use crate::command::say;

/// How to reach the database.
pub(crate) type Connect = Box<dyn Fn(Worker) -> Local<crate::Result<Db>>>;

/// What fills it.
pub(crate) type Seeds = Box<dyn Fn(Db) -> Local<crate::Result<()>>>;

/// What an application declares of its database.
#[derive(Default)]
pub(crate) struct Maintained {
    pub(crate) connect: Option<Connect>,
    pub(crate) migrations: Option<fn() -> Vec<Migration>>,
    pub(crate) seeds: Option<Seeds>,
}

/// What `migrate` does.
#[derive(Subcommand)]
pub(crate) enum Word {
    /// Apply what is pending
    Up(Work),
    /// Undo the last migration
    Down(Work),
    /// Undo the last migration and apply it again
    Redo(Work),
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
pub(crate) struct Work {
    #[command(flatten)]
    place: MaintenanceTarget,
    /// How many migrations; all for up, 1 for down and redo by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    steps: Option<u32>,
}

impl Maintained {
    pub(crate) fn migrate(self, word: Word) -> Result<ExitCode> {
        say(&self.migrated(&word)?)
    }

    /// How it ended, in a line or a table.
    fn migrated(self, word: &Word) -> Result<String> {
        let Some(migrations) = self.migrations else {
            return Err(anyhow!("this application declares no migrations"));
        };
        let place = match word {
            Word::Up(work) | Word::Down(work) | Word::Redo(work) => &work.place,
            Word::Status(place) => place,
        };
        on_database(self.connect, place.data.clone(), async |db| {
            let migrator = db.migrator(migrations())?.telling(tell);
            let steps = |work: &Work| work.steps.map(|steps| steps as usize);
            let done = |count: usize, what: &str| match count {
                0 => "nothing to do\n".to_owned(),
                1 => format!("1 migration {what}\n"),
                _ => format!("{count} migrations {what}\n"),
            };
            Ok(match word {
                Word::Up(work) => done(migrator.up(steps(work)).await?, "applied"),
                Word::Down(work) => done(migrator.down(steps(work)).await?, "undone"),
                Word::Redo(work) => {
                    done(migrator.redo(steps(work)).await? / 2, "undone and applied")
                }
                Word::Status(_) => status(migrator.status().await?),
            })
        })
    }

    pub(crate) fn seed(self, place: MaintenanceTarget) -> Result<ExitCode> {
        let Some(seeds) = self.seeds else {
            return Err(anyhow!("this application declares no seeds"));
        };
        on_database(self.connect, place.data, async |db| seeds(db).await)?;
        say("ran the seeds\n")
    }
}

/// Runs this on the application's database.
fn on_database<T>(
    connect: Option<Connect>,
    data_dir: PathBuf,
    run: impl AsyncFnOnce(Db) -> crate::Result<T>,
) -> Result<T> {
    let connect = connect.context("this application does not say how to reach its database")?;
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

/// A line for each migration that has run. The work goes on when nobody reads it.
fn tell(news: News) {
    if let News::Ended { name, direction } = news {
        let _ = say(&format!("{direction:<4}  {name}\n"));
    }
}

fn status(migrations: Vec<Applied>) -> String {
    if migrations.is_empty() {
        return "there is no migration\n".to_owned();
    }
    let row = |one: Applied| [one.state.to_string(), one.name, one.applied_at];
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

    fn maintained() -> Maintained {
        let connect: Connect = Box::new(|worker| {
            Box::pin(async move {
                let url = format!("sqlite:{}/test.db", worker.data_dir().display());
                Db::connect(&url, Default::default()).await
            })
        });
        Maintained {
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
        let place = || MaintenanceTarget {
            data: folder.path().join("data"),
        };
        let work = |steps| Work {
            place: place(),
            steps,
        };
        let status = Word::Status(place());
        for (word, expected) in [
            (&status, "pending"),
            (&Word::Up(work(None)), "1 migration applied"),
            (&Word::Up(work(None)), "nothing to do"),
            (&status, "applied"),
            (&Word::Redo(work(Some(1))), "1 migration undone and applied"),
        ] {
            let told = maintained().migrated(word).unwrap();
            assert!(told.starts_with(expected), "{told}");
        }
        maintained().seed(place()).unwrap();
        let told = maintained().migrated(&Word::Down(work(None))).unwrap();
        assert_eq!(told, "1 migration undone\n");
        let error = maintained().seed(place()).unwrap_err().to_string();
        assert!(error.contains("users"), "{error}");
    }

    #[test]
    fn what_is_not_declared_is_said() {
        let place = || MaintenanceTarget {
            data: "data".into(),
        };
        let error = Maintained::default().seed(place()).unwrap_err();
        assert!(error.to_string().contains("declares no seeds"));
        let word = Word::Status(place());
        let error = Maintained::default().migrated(&word).unwrap_err();
        assert!(error.to_string().contains("declares no migrations"));
        let unreachable = Maintained {
            connect: None,
            ..maintained()
        };
        let error = unreachable.migrated(&word).unwrap_err();
        assert!(error.to_string().contains("how to reach its database"));
    }
}
