//! Migrations of applications in Rust: functions with a name and a text, each applied once, whoever comes first. What they do is theirs;
//! nothing is printed here. Rule: a migration is applied and noted in one transaction, or nothing of it is kept; the notes are those of
//! migrations in Ruby, so that both see what the other has applied.

use std::cmp::Ordering;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use ring::digest::{SHA256, digest};
use tsumugi_sql::schema::{Table, char, string, timestamp};
use tsumugi_sql::{Dialect, Record, Statement, col, table};

use crate::database::{Database, Transaction};
use crate::error::{Error, Result};
use crate::keys::PrimaryKeys;
use crate::limits::VERSION_DIGITS_MAX;
use crate::options::TransactionMode;
use crate::query::sendable;
use crate::rows::Rows;
use crate::value::Value;

/// Where it is noted what was applied.
const NOTES: &str = "tsumugi_migrations";

/// What is said of a migration that failed where Firebird had committed a part of it.
const KEPT: &str = "what came before its last statements is kept, because Firebird commits changes of tables before other statements";

/// What fails in an author's code.
type Failure = Box<dyn std::error::Error>;
type Work = Pin<Box<dyn Future<Output = Result<(), Failure>>>>;
type Code = Rc<dyn Fn(Rc<Transaction>) -> Work>;

/// One step of a schema's history.
#[derive(Clone)]
pub struct Migration {
    name: String,
    checksum: String,
    up: Code,
    down: Option<Code>,
}

impl Migration {
    /// A migration with a name such as `20260131120000_create_users`, whose number says when its turn is. Where `text` is another one
    /// than that of the migration that was applied, it is told: it is what makes it up, its source by `include_str!` as a rule.
    pub fn new<F, E>(name: &str, text: &str, up: F) -> Migration
    where
        F: AsyncFn(Rc<Transaction>) -> Result<(), E> + 'static,
        E: Into<Failure>,
    {
        let sum = digest(&SHA256, text.as_bytes());
        let checksum = sum.as_ref().iter().map(|byte| format!("{byte:02x}"));
        Migration {
            name: name.to_owned(),
            checksum: checksum.collect(),
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
        &self.name
    }

    /// The number in front of the name.
    fn version(&self) -> &str {
        self.name.split('_').next().unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        let (version, rest) = self.name.split_once('_').unwrap_or_default();
        let digits = (1..=usize::from(VERSION_DIGITS_MAX)).contains(&version.len())
            && version.bytes().all(|byte| byte.is_ascii_digit());
        if digits && !rest.is_empty() && self.name.len() <= 255 {
            return Ok(());
        }
        Err(Error::usage(format!(
            "{} is no name of a migration: 20260131120000_what_it_does is",
            self.name
        )))
    }
}

impl fmt::Debug for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Migration").field(&self.name).finish()
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

/// Whether a migration is applied or undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Applied.
    Up,
    /// Undone.
    Down,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Up => "up",
            Direction::Down => "down",
        })
    }
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

/// What has become of a migration in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is not applied.
    Pending,
    /// It is applied.
    Applied,
    /// Another text of this number is applied.
    Changed,
    /// One of this number is applied and unknown here.
    Unknown,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Pending => "pending",
            State::Applied => "applied",
            State::Changed => "changed",
            State::Unknown => "unknown",
        })
    }
}

/// A migration and what has become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    /// Its name.
    pub name: String,
    /// What has become of it.
    pub state: State,
    /// When it was applied, as the database prints it; empty if it is not.
    pub applied_at: String,
}

/// What is noted of one.
struct Note {
    version: String,
    name: String,
    checksum: String,
    applied_at: String,
}

/// The migrations of an application, and what of them a database has.
pub struct Migrator {
    database: Database,
    migrations: Vec<Migration>,
    report: Box<dyn Fn(MigrationEvent)>,
    keys: Rc<PrimaryKeys>,
}

impl Migrator {
    /// Migrations in any order: their numbers are their order.
    ///
    /// # Errors
    /// [`Error::Usage`] if a name has no number, or two have the same.
    pub fn new(
        database: &Database,
        migrations: impl IntoIterator<Item = Migration>,
    ) -> Result<Migrator> {
        let mut migrations: Vec<Migration> = migrations.into_iter().collect();
        for migration in &migrations {
            migration.check()?;
        }
        migrations.sort_by(|one, other| by_number(one.version(), other.version()));
        let twice = |pair: &&[Migration]| same(pair[0].version(), pair[1].version());
        if let Some([one, other]) = migrations.windows(2).find(twice) {
            let (one, other) = (&one.name, &other.name);
            return Err(Error::usage(format!(
                "{one} and {other} have the same number"
            )));
        }
        Ok(Migrator {
            database: database.clone(),
            migrations,
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
    pub async fn up(&self, steps: Option<usize>) -> Result<usize> {
        self.database.make(notes()).await?;
        let noted = noted(&self.database).await?;
        let applied = |migration: &Migration| find(&noted, migration.version());
        let changed = |migration: &&Migration| {
            applied(migration).is_some_and(|note| note.checksum != migration.checksum)
        };
        if let Some(changed) = self.migrations.iter().find(changed) {
            return Err(Error::MigrationFailed {
                name: changed.name.clone(),
                reason: "it is not what was applied: put it back, or write a new migration; undone and applied again it is as it is now"
                    .to_owned(),
                source: None,
            });
        }
        let pending = self.migrations.iter().filter(|one| applied(one).is_none());
        let pending: Vec<&Migration> = pending.take(steps.unwrap_or(usize::MAX)).collect();
        self.run(&pending, Direction::Up).await
    }

    /// Undoes the last one, or the last so many, newest first. Gives how many.
    ///
    /// # Errors
    /// [`Error::MigrationFailed`], also if one of them is unknown here or nothing says how to undo it.
    pub async fn down(&self, steps: Option<usize>) -> Result<usize> {
        let newest = self.newest(steps).await?;
        self.run(&newest, Direction::Down).await
    }

    /// Undoes the last one, or the last so many, and applies them again. Gives how many of both.
    pub async fn redo(&self, steps: Option<usize>) -> Result<usize> {
        let mut newest = self.newest(steps).await?;
        let undone = self.run(&newest, Direction::Down).await?;
        newest.reverse();
        Ok(undone + self.run(&newest, Direction::Up).await?)
    }

    /// All migrations in their order, with those that only the database knows. Changes nothing.
    pub async fn status(&self) -> Result<Vec<MigrationStatus>> {
        let mut noted = match self.database.has_table(NOTES).await? {
            true => noted(&self.database).await?,
            false => Vec::new(),
        };
        let mut all: Vec<(String, MigrationStatus)> = Vec::with_capacity(self.migrations.len());
        for migration in &self.migrations {
            let version = migration.version();
            let place = noted.iter().position(|note| same(&note.version, version));
            let note = place.map(|place| noted.swap_remove(place));
            let state = match &note {
                None => State::Pending,
                Some(note) if note.checksum == migration.checksum => State::Applied,
                Some(_) => State::Changed,
            };
            let applied = MigrationStatus {
                name: migration.name.clone(),
                state,
                applied_at: note.map(|note| note.applied_at).unwrap_or_default(),
            };
            all.push((version.to_owned(), applied));
        }
        all.extend(noted.into_iter().map(|note| {
            let applied = MigrationStatus {
                name: note.name,
                state: State::Unknown,
                applied_at: note.applied_at,
            };
            (note.version, applied)
        }));
        all.sort_by(|(one, _), (other, _)| by_number(one, other));
        Ok(all.into_iter().map(|(_, applied)| applied).collect())
    }

    async fn newest(&self, steps: Option<usize>) -> Result<Vec<&Migration>> {
        self.database.make(notes()).await?;
        let mut noted = noted(&self.database).await?;
        noted.sort_by(|one, other| by_number(&other.version, &one.version));
        noted.truncate(steps.unwrap_or(1));
        let migration = |note: Note| {
            let mut all = self.migrations.iter();
            all.find(|migration| same(migration.version(), &note.version))
                .ok_or_else(|| Error::MigrationFailed {
                    name: note.name,
                    reason:
                        "it is applied and unknown here: without it nobody knows how to undo it"
                            .to_owned(),
                    source: None,
                })
        };
        noted.into_iter().map(migration).collect()
    }

    async fn run(&self, migrations: &[&Migration], direction: Direction) -> Result<usize> {
        let mut ran = 0;
        for (place, migration) in migrations.iter().enumerate() {
            let name = migration.name.clone();
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
        let run = async |mode| {
            let step = async |tx: &Rc<Transaction>| step(tx, migration, direction).await;
            self.database.change(mode, step).await
        };
        let mut outcome = run(TransactionMode::Schema).await;
        if let Err(MigrationFault::Own(error)) = &outcome
            && let Some(Error::NeedsRebuild { .. }) = error.downcast_ref()
        {
            outcome = run(TransactionMode::Rebuild).await;
        }
        outcome.map_err(|fault| fault.into_error(migration.name.clone(), direction))
    }
}

/// Why a migration has not ended.
enum MigrationFault {
    /// The author's code failed.
    Own(Failure),
    /// The same, after Firebird had committed changes of tables.
    Half(Failure),
    /// What is around it failed.
    Database(Error),
}

impl From<Error> for MigrationFault {
    fn from(error: Error) -> MigrationFault {
        MigrationFault::Database(error)
    }
}

impl MigrationFault {
    /// The transaction was rolled back, unless its commit was lost or it was never begun: then the error says best what is known.
    fn into_error(self, name: String, direction: Direction) -> Error {
        let kept = match self {
            MigrationFault::Half(_) => KEPT,
            MigrationFault::Own(_) | MigrationFault::Database(_) => "nothing of it was kept",
        };
        let (cause, source) = match self {
            MigrationFault::Database(Error::Lost { reason, ran }) => {
                let reason =
                    format!("{reason}, at the end or the beginning of {name} ({direction})");
                return Error::Lost { reason, ran };
            }
            MigrationFault::Database(
                error @ (Error::Unreachable { .. }
                | Error::Open { .. }
                | Error::Closed { .. }
                | Error::PoolTimeout { .. }
                | Error::QueueFull { .. }
                | Error::Timeout { .. }),
            ) => return error,
            MigrationFault::Database(error) => (error.to_string(), Some(error)),
            MigrationFault::Own(failure) | MigrationFault::Half(failure) => {
                (failure.to_string(), failure.downcast().ok().map(|own| *own))
            }
        };
        Error::MigrationFailed {
            name,
            reason: format!("{kept} ({direction}): {cause}"),
            source: source.map(Box::new),
        }
    }
}

/// Under the lock: gives whether there was anything to do.
async fn step(
    tx: &Rc<Transaction>,
    migration: &Migration,
    direction: Direction,
) -> Result<bool, MigrationFault> {
    let rows = tx.fetch(all_notes(tx.dialect())?).await?;
    let noted = read(&rows);
    let noted = find(&noted, migration.version());
    if noted.is_some() == (direction == Direction::Up) {
        return Ok(false);
    }
    let code = match direction {
        Direction::Up => &migration.up,
        Direction::Down => {
            let missing = || MigrationFault::Own("nothing says how to undo it".into());
            migration.down.as_ref().ok_or_else(missing)?
        }
    };
    if let Err(failure) = code(Rc::clone(tx)).await {
        return Err(match tx.has_kept_changes() {
            true => MigrationFault::Half(failure),
            false => MigrationFault::Own(failure),
        });
    }
    let note = match noted {
        None => {
            let note = Record::new()
                .set("version", migration.version())
                .set("name", migration.name.as_str())
                .set("checksum", migration.checksum.as_str());
            table(NOTES).to_insert(&note, tx.dialect())
        }
        Some(note) => {
            let own = table(NOTES).filter(col("version").eq(note.version.as_str()));
            own.to_delete(tx.dialect())
        }
    };
    let (sql, values) = sendable(note.map_err(Error::from)?);
    tx.run_beside_changes(sql, values).await?;
    Ok(true)
}

/// The table of what was applied: the same as that of migrations in Ruby.
fn notes() -> Table {
    Table::new(NOTES)
        .column(string("version", u32::from(VERSION_DIGITS_MAX)).primary())
        .column(string("name", 255))
        .column(char("checksum", 64))
        .column(timestamp("applied_at").default_now())
}

async fn noted(database: &Database) -> Result<Vec<Note>> {
    let rows = database.fetch(all_notes(database.dialect())?).await?;
    Ok(read(&rows))
}

fn all_notes(dialect: &Dialect) -> Result<Statement> {
    let notes = table(NOTES).select(["version", "name", "checksum", "applied_at"]);
    Ok(notes.to_rows(dialect)?)
}

fn read(rows: &Rows) -> Vec<Note> {
    let notes = rows.iter().map(|row| {
        let mut texts = row.values().map(|value| match Value::from(value) {
            Value::Text(text) => text,
            _ => String::new(),
        });
        let mut text = || texts.next().unwrap_or_default();
        Note {
            version: text(),
            name: text(),
            checksum: text(),
            applied_at: text(),
        }
    });
    notes.collect()
}

fn find<'n>(noted: &'n [Note], version: &str) -> Option<&'n Note> {
    noted.iter().find(|note| same(&note.version, version))
}

/// The number of a migration, as those in Ruby and in Rust are compared and put in order: `007` is 7, and 10 comes after 9. It has as many
/// digits as a number may have, so that these texts compare as their numbers do.
pub fn ordinal(version: &str) -> String {
    let digits = usize::from(VERSION_DIGITS_MAX);
    format!("{version:0>digits$}")
}

fn same(one: &str, other: &str) -> bool {
    by_number(one, other) == Ordering::Equal
}

fn by_number(one: &str, other: &str) -> Ordering {
    ordinal(one).cmp(&ordinal(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_such() {
        for (one, other, expected) in [
            ("2", "10", Ordering::Less),
            ("010", "9", Ordering::Greater),
            ("007", "7", Ordering::Equal),
            ("20260101000000", "20251231000000", Ordering::Greater),
        ] {
            assert_eq!(by_number(one, other), expected, "{one} {other}");
        }
    }
}
