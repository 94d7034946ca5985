//! Migrations of applications in Rust: functions with a name and a text, each applied once, whoever comes first. What they do is theirs;
//! nothing is printed here. Rule: a migration is applied and noted in one transaction, or nothing of it is kept.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::bookkeeping::bookkeeping;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::keys::PrimaryKeys;
use crate::options::TransactionMode;
use crate::schema::history::{Direction, History, MigrationSource, MigrationStatus};
use crate::transaction::Transaction;

/// What fails in an author's code.
type Failure = Box<dyn std::error::Error>;
type Work = Pin<Box<dyn Future<Output = Result<(), Failure>>>>;
type Code = Rc<dyn Fn(Rc<Transaction>) -> Work>;

/// One step of a schema's history.
#[derive(Clone)]
pub struct Migration {
    source: MigrationSource,
    up: Code,
    down: Option<Code>,
}

impl Migration {
    /// A migration with a name such as `20260131120000_create_users`, whose number says when its turn is. `text` is what it consists of, as a rule
    /// its source by `include_str!`; where it was applied with another text, [`Migrator::up`] fails.
    pub fn new<F, E>(name: &str, text: &str, up: F) -> Migration
    where
        F: AsyncFn(Rc<Transaction>) -> Result<(), E> + 'static,
        E: Into<Failure>,
    {
        Migration {
            source: MigrationSource::new(name, text.as_bytes()),
            up: code(up),
            down: None,
        }
    }

    /// What undoes it.
    #[must_use]
    pub fn down<F, E>(mut self, down: F) -> Migration
    where
        F: AsyncFn(Rc<Transaction>) -> Result<(), E> + 'static,
        E: Into<Failure>,
    {
        self.down = Some(code(down));
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    async fn run(&self, direction: Direction, tx: Rc<Transaction>) -> Result<(), Failure> {
        let code = match direction {
            Direction::Up => &self.up,
            Direction::Down => self.down.as_ref().ok_or("nothing says how to undo it")?,
        };
        code(tx).await
    }
}

impl AsRef<MigrationSource> for Migration {
    fn as_ref(&self) -> &MigrationSource {
        &self.source
    }
}

impl fmt::Debug for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Migration").field(&self.name()).finish()
    }
}

fn code<F, E>(run: F) -> Code
where
    F: AsyncFn(Rc<Transaction>) -> Result<(), E> + 'static,
    E: Into<Failure>,
{
    let run = Rc::new(run);
    Rc::new(move |tx| {
        let run = Rc::clone(&run);
        Box::pin(async move { run(tx).await.map_err(Into::into) })
    })
}

/// What is reported while migrations run.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationEvent {
    /// One begins.
    Began {
        /// Its name.
        name: String,
        /// What is done with it.
        direction: Direction,
        /// How many came before it.
        place: usize,
        /// How many there are.
        count: usize,
    },
    /// It has run and is noted.
    Ended {
        /// Its name.
        name: String,
        /// What was done with it.
        direction: Direction,
    },
}

/// The migrations of an application, and what of them a database has.
pub struct Migrator {
    database: Database,
    history: History<Migration>,
    report: Box<dyn Fn(MigrationEvent)>,
    keys: Rc<PrimaryKeys>,
}

impl Migrator {
    /// Migrations in any order: their numbers are their order.
    ///
    /// # Errors
    /// [`Error::MigrationFailed`] if a name has no number, or two have the same.
    pub fn new(
        database: &Database,
        migrations: impl IntoIterator<Item = Migration>,
    ) -> Result<Migrator> {
        Ok(Migrator {
            database: database.clone(),
            history: History::new(migrations)?,
            report: Box::new(|_| {}),
            keys: Rc::default(),
        })
    }

    /// Calls this for each step of the work.
    #[must_use]
    pub fn on_event(mut self, report: impl Fn(MigrationEvent) + 'static) -> Migrator {
        self.report = Box::new(report);
        self
    }

    /// Forgets these keys after each migration.
    #[must_use]
    pub fn forgetting(mut self, keys: &Rc<PrimaryKeys>) -> Migrator {
        self.keys = Rc::clone(keys);
        self
    }

    /// Applies what the database does not have yet, all or the first so many, each in a transaction of its own. Many processes may do so
    /// at once. Gives how many it applied: what another process was faster with is left out.
    ///
    /// # Errors
    /// [`Error::MigrationFailed`], also if one that is applied has another text now. Where the database could not be reached, was lost, or had
    /// no turn for it, that error; one whose commit was lost may or may not be applied, which [`Migrator::status`] tells.
    pub fn up(&self, steps: Option<usize>) -> LocalBoxFuture<'_, Result<usize>> {
        async move {
            let pending = self.history.pending(&self.executor(), steps).await?;
            self.run(&pending, Direction::Up).await
        }
        .boxed_local()
    }

    /// Undoes the last one, or the last so many, newest first. Gives how many.
    ///
    /// # Errors
    /// [`Error::MigrationFailed`], also if one of them is unknown here or nothing says how to undo it.
    pub fn down(&self, steps: Option<usize>) -> LocalBoxFuture<'_, Result<usize>> {
        async move {
            let newest = self.history.newest(&self.executor(), steps).await?;
            self.run(&newest, Direction::Down).await
        }
        .boxed_local()
    }

    /// Undoes the last one, or the last so many, and applies them again. Gives how many of both.
    ///
    /// # Errors
    /// As [`Migrator::down`] and [`Migrator::up`]; [`Error::MigrationFailed`] too, and nothing is undone, if one that follows is not applied.
    pub fn redo(&self, steps: Option<usize>) -> LocalBoxFuture<'_, Result<usize>> {
        async move {
            let mut newest = self.history.redoable(&self.executor(), steps).await?;
            let undone = self.run(&newest, Direction::Down).await?;
            newest.reverse();
            Ok(undone + self.run(&newest, Direction::Up).await?)
        }
        .boxed_local()
    }

    /// All migrations in their order, with those that only the database knows. Changes nothing.
    pub fn status(&self) -> LocalBoxFuture<'_, Result<Vec<MigrationStatus>>> {
        async move { self.history.status(&self.executor()).await }.boxed_local()
    }

    fn executor(&self) -> Executor {
        Executor::Database(self.database.clone())
    }

    async fn run(&self, migrations: &[&Migration], direction: Direction) -> Result<usize> {
        let mut ran = 0;
        for (place, migration) in migrations.iter().enumerate() {
            let name = migration.name().to_owned();
            (self.report)(MigrationEvent::Began {
                name: name.clone(),
                direction,
                place,
                count: migrations.len(),
            });
            if self.one(migration, direction).await? {
                ran += 1;
                (self.report)(MigrationEvent::Ended { name, direction });
            }
        }
        Ok(ran)
    }

    /// In one transaction. Where a table has to be made anew it begins again in one that allows it: nothing of the first is kept.
    async fn one(&self, migration: &Migration, direction: Direction) -> Result<bool> {
        let _changing = self.keys.changing();
        let schema = TransactionMode::Schema;
        match self.attempt(migration, direction, schema).await {
            Err(Error::NeedsRebuild { .. }) => {
                let rebuild = TransactionMode::Rebuild;
                self.attempt(migration, direction, rebuild).await
            }
            outcome => outcome,
        }
    }

    /// Gives whether there was anything to do.
    async fn attempt(
        &self,
        migration: &Migration,
        direction: Direction,
        mode: TransactionMode,
    ) -> Result<bool> {
        let tx = Rc::new(self.executor().begin_change(mode).await?);
        let executor = Executor::Transaction(Rc::clone(&tx));
        let step = async {
            let due = self.history.due(&executor, migration, direction).await?;
            let Some(version) = due else {
                bookkeeping(tx.roll_back()).await?;
                return Ok(false);
            };
            if let Err(failure) = migration.run(direction, Rc::clone(&tx)).await {
                let cause = failure.to_string();
                return Err(match failure.downcast().map(|own| *own) {
                    Ok(again @ Error::NeedsRebuild { .. }) => again,
                    own => migration
                        .source
                        .failure(direction, &executor, &cause, own.ok()),
                });
            }
            let complete = self
                .history
                .complete(&executor, migration, direction, &version);
            complete.await.map(|()| true)
        };
        self.database.inside(step).await
    }
}
