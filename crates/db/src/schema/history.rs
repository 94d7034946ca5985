//! The history of a schema, in whichever language its migrations are: which of them a database has, what is pending, in which order they are undone,
//! and how each is noted. Runs none of them. Rule: what the faces report of a migration is worded here, and a number is what one is known by.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use ring::digest::{SHA256, digest};
use tsumugi_sql::schema::{Table, char, string, timestamp};
use tsumugi_sql::{Record, col, table};

use crate::bookkeeping::bookkeeping;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::limits::VERSION_DIGITS_MAX;
use crate::on_each::on_server;
use crate::options::MigrationScope;
use crate::query::sendable;
use crate::test_databases::is_test_database;
use crate::value::Value;

/// Where it is noted what was applied.
pub(crate) const NOTES: &str = "tsumugi_migrations";

/// The room for a name there.
const NAME_BYTES: u16 = 255;

/// What the names of files of migrations in Ruby end with. It is not noted; earlier versions noted it.
const FILE_END: &str = ".rb";

/// What identifies a migration: its name, whose number says when its turn is, and what it consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationSource {
    name: String,
    checksum: String,
}

impl MigrationSource {
    /// Of a migration with this name, or of this file, and this text.
    pub fn new(name: &str, text: &[u8]) -> MigrationSource {
        let sum = digest(&SHA256, text);
        let checksum = sum.as_ref().iter().map(|byte| format!("{byte:02x}"));
        MigrationSource {
            name: name.to_owned(),
            checksum: checksum.collect(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number in front of the name.
    fn version(&self) -> &str {
        self.name.split('_').next().unwrap_or_default()
    }

    /// The number as it is compared.
    fn ordinal(&self) -> String {
        ordinal(self.version())
    }

    fn check(&self) -> Result<()> {
        let name = without_end(&self.name);
        let (version, rest) = name.split_once('_').unwrap_or_default();
        let is_number = (1..=usize::from(VERSION_DIGITS_MAX)).contains(&version.len())
            && version.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && !rest.is_empty() && name.len() <= usize::from(NAME_BYTES) {
            return Ok(());
        }
        let end = self.name.get(name.len()..).unwrap_or_default();
        let reason = format!("is no name of a migration: 20260131120000_what_it_does{end} is");
        Err(self.error(reason, None))
    }

    fn state(&self, notes: &Notes) -> State {
        match notes.get(&self.ordinal()) {
            None => State::Pending,
            Some(note) if note.checksum == self.checksum => State::Applied,
            Some(_) => State::Changed,
        }
    }

    /// The error when the code of its author failed there.
    pub fn failure(
        &self,
        direction: Direction,
        executor: &Executor,
        cause: &str,
        source: Option<Error>,
    ) -> Error {
        let kept = match executor {
            Executor::Transaction(transaction) if transaction.has_kept_changes() => {
                "what came before its last statements is kept, because Firebird commits changes of tables before other statements"
            }
            Executor::Transaction(_) => "nothing of it was kept",
            Executor::Database(_) | Executor::Read(_) | Executor::Session(_) => {
                "it runs outside of a transaction, so what came before the error may have been kept"
            }
        };
        self.error(format!("failed ({direction}), {kept}: {cause}"), source)
    }

    /// The error when what is around that code failed. Where a commit was lost, or no connection was to be had, the database says best what is known.
    fn failure_around(&self, direction: Direction, executor: &Executor, error: Error) -> Error {
        match error {
            Error::Lost { reason, outcome } => {
                let reason = self.located(&reason, direction);
                Error::Lost { reason, outcome }
            }
            Error::CommitUnknown { xid, reason } => {
                let reason = self.located(&reason, direction);
                Error::CommitUnknown { xid, reason }
            }
            Error::Unreachable { .. }
            | Error::Open { .. }
            | Error::Closed { .. }
            | Error::PoolTimeout { .. }
            | Error::QueueFull { .. }
            | Error::Timeout { .. }
            | Error::Cancelled { .. } => error,
            error => self.failure(direction, executor, &error.to_string(), Some(error)),
        }
    }

    /// What was lost, with where that was.
    fn located(&self, reason: &str, direction: Direction) -> String {
        let name = &self.name;
        format!("{reason}, at the end or the beginning of {name} ({direction})")
    }

    fn error(&self, reason: String, source: Option<Error>) -> Error {
        Error::MigrationFailed {
            name: self.name.clone(),
            reason,
            source: source.map(Box::new),
        }
    }
}

impl AsRef<MigrationSource> for MigrationSource {
    fn as_ref(&self) -> &MigrationSource {
        self
    }
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
#[derive(Clone)]
struct Note {
    version: String,
    name: String,
    checksum: String,
    applied_at: String,
}

/// By their numbers as these are compared.
type Notes = BTreeMap<String, Note>;

/// The migrations of an application, and what of them a database has. What runs them asks for a plan, and for each of it, in the transaction
/// that has the lock of the schema, whether it is due and to complete it.
pub struct History<M> {
    /// By their numbers as these are compared.
    migrations: BTreeMap<String, M>,
    sources: SourceHistory,
}

/// All of a history but for the migrations themselves: what is generic over these would be compiled in each crate that has some.
#[derive(Default)]
struct SourceHistory {
    /// By their numbers as these are compared.
    sources: BTreeMap<String, MigrationSource>,
    /// The notes of a trial, which come from the database and never reach it.
    trial: RefCell<Option<Notes>>,
}

/// Whether this database is not migrated by the command that runs.
fn is_left(executor: &Executor) -> bool {
    match executor {
        Executor::Database(database) | Executor::Read(database) => on_server!(
            Database, database,
            Sqlite(pool) => pool.path().is_some() && MigrationScope::leaves(pool.path()),
            // One that was made for the test that runs is nobody else's.
            pool => MigrationScope::leaves(None) && !is_test_database(&pool.name())
        ),
        Executor::Session(_) | Executor::Transaction(_) => false,
    }
}

impl<M: AsRef<MigrationSource>> History<M> {
    /// Of migrations in any order.
    ///
    /// # Errors
    /// [`Error::MigrationFailed`] if a name has no number, or two have the same.
    pub fn new(migrations: impl IntoIterator<Item = M>) -> Result<History<M>> {
        let mut all = BTreeMap::new();
        let mut sources = SourceHistory::default();
        for migration in migrations {
            let ordinal = sources.add(migration.as_ref())?;
            all.insert(ordinal, migration);
        }
        Ok(History {
            migrations: all,
            sources,
        })
    }

    /// The migration of this name.
    pub fn named(&self, name: &str) -> Option<&M> {
        let mut all = self.migrations.values();
        all.find(|migration| migration.as_ref().name == name)
    }

    /// What is to be applied, all or the first so many.
    ///
    /// # Errors
    /// [`Error::MigrationFailed`] if one that is applied has another text now; what the database says.
    pub async fn pending(&self, executor: &Executor, steps: Option<usize>) -> Result<Vec<&M>> {
        let pending = self.sources.pending(executor, steps).await?;
        Ok(self.migrations_of(&pending))
    }

    /// What is to be undone, the last one or the last so many, newest first.
    ///
    /// # Errors
    /// [`Error::MigrationFailed`] if one of them is unknown here; what the database says.
    pub async fn newest(&self, executor: &Executor, steps: Option<usize>) -> Result<Vec<&M>> {
        let newest = self.sources.newest(executor, steps).await?;
        Ok(self.migrations_of(&newest))
    }

    /// Those with these numbers, which all are here.
    fn migrations_of(&self, ordinals: &[String]) -> Vec<&M> {
        let migrations = ordinals.iter().map(|ordinal| self.migrations.get(ordinal));
        migrations.flatten().collect()
    }

    /// All migrations in their order, with those that only the database knows. Changes nothing.
    ///
    /// # Errors
    /// What the database says.
    pub async fn status(&self, executor: &Executor) -> Result<Vec<MigrationStatus>> {
        self.sources.status(executor).await
    }

    /// From now on notes stay here: what a transaction notes that is rolled back in the end could not be read everywhere.
    ///
    /// # Errors
    /// What the database says.
    pub async fn begin_trial(&self, executor: &Executor) -> Result<()> {
        self.sources.begin_trial(executor).await
    }

    /// Whether [`History::begin_trial`] was called.
    pub fn is_trial(&self) -> bool {
        self.sources.is_trial()
    }

    /// The number under which the migration is noted, or will be; none if another caller was faster.
    ///
    /// # Errors
    /// [`Error::MigrationFailed`] with what the database says; where it was lost or could not be reached, that error.
    pub async fn due(
        &self,
        executor: &Executor,
        migration: &M,
        direction: Direction,
    ) -> Result<Option<String>> {
        let source = migration.as_ref();
        self.sources.due(executor, source, direction).await
    }

    /// Notes under this number that the migration has run, and commits the transaction that it ran in, unless that is a trial.
    ///
    /// # Errors
    /// As [`History::due`]. One whose commit was lost may or may not be applied.
    pub async fn complete(
        &self,
        executor: &Executor,
        migration: &M,
        direction: Direction,
        version: &str,
    ) -> Result<()> {
        let source = migration.as_ref();
        let completed = self.sources.complete(executor, source, direction, version);
        completed.await
    }
}

/// Each as the method of [`History`] of this name, with numbers in place of migrations.
impl SourceHistory {
    /// Adds one, and gives its number as it is compared.
    fn add(&mut self, source: &MigrationSource) -> Result<String> {
        source.check()?;
        let ordinal = source.ordinal();
        if let Some(other) = self.sources.get(&ordinal) {
            let reason = format!("and {} have the same number", source.name);
            return Err(other.error(reason, None));
        }
        self.sources.insert(ordinal.clone(), source.clone());
        Ok(ordinal)
    }

    fn pending<'h>(
        &'h self,
        executor: &'h Executor,
        steps: Option<usize>,
    ) -> LocalBoxFuture<'h, Result<Vec<String>>> {
        bookkeeping(async move {
            if is_left(executor) {
                tracing::info!(target: "tsumugi_db", "this command applies no migration to a database that is there: `migrate up` does");
                return Ok(Vec::new());
            }
            let notes = &self.notes_in_table(executor).await?;
            let all_that_are = |state| {
                let all = self.sources.iter();
                all.filter(move |(_, source)| source.state(notes) == state)
            };
            if let Some((_, changed)) = all_that_are(State::Changed).next() {
                let reason = "is not what was applied: put it back, or write a new migration; `migrate redo` undoes it and applies it as it is now";
                return Err(changed.error(reason.to_owned(), None));
            }
            let pending = all_that_are(State::Pending).map(|(ordinal, _)| ordinal.clone());
            Ok(pending.take(steps.unwrap_or(usize::MAX)).collect())
        })
        .boxed_local()
    }

    fn newest<'h>(
        &'h self,
        executor: &'h Executor,
        steps: Option<usize>,
    ) -> LocalBoxFuture<'h, Result<Vec<String>>> {
        bookkeeping(async move {
            let notes = self.notes_in_table(executor).await?.into_iter().rev();
            let known = |(ordinal, note): (String, Note)| {
                if self.sources.contains_key(&ordinal) {
                    return Ok(ordinal);
                }
                Err(Error::MigrationFailed {
                    name: note.name,
                    reason: "is applied and unknown here: without it nobody knows how to undo it"
                        .to_owned(),
                    source: None,
                })
            };
            notes.take(steps.unwrap_or(1)).map(known).collect()
        })
        .boxed_local()
    }

    fn status<'h>(
        &'h self,
        executor: &'h Executor,
    ) -> LocalBoxFuture<'h, Result<Vec<MigrationStatus>>> {
        bookkeeping(async move {
            let notes = read_notes_if_any(executor).await?;
            let mut all: BTreeMap<&String, MigrationStatus> = BTreeMap::new();
            for (ordinal, note) in &notes {
                let status = MigrationStatus {
                    name: note.name.clone(),
                    state: State::Unknown,
                    applied_at: note.applied_at.clone(),
                };
                all.insert(ordinal, status);
            }
            for (ordinal, source) in &self.sources {
                let noted = all.remove(ordinal);
                let status = MigrationStatus {
                    name: source.name.clone(),
                    state: source.state(&notes),
                    applied_at: noted.map(|noted| noted.applied_at).unwrap_or_default(),
                };
                all.insert(ordinal, status);
            }
            Ok(all.into_values().collect())
        })
        .boxed_local()
    }

    fn begin_trial<'h>(&'h self, executor: &'h Executor) -> LocalBoxFuture<'h, Result<()>> {
        bookkeeping(async move {
            let notes = read_notes_if_any(executor).await?;
            self.trial.replace(Some(notes));
            Ok(())
        })
        .boxed_local()
    }

    fn is_trial(&self) -> bool {
        self.trial.borrow().is_some()
    }

    fn due<'h>(
        &'h self,
        executor: &'h Executor,
        source: &'h MigrationSource,
        direction: Direction,
    ) -> LocalBoxFuture<'h, Result<Option<String>>> {
        bookkeeping(async move {
            let notes = self.notes(executor).await;
            let notes = notes.map_err(|error| source.failure_around(direction, executor, error))?;
            Ok(match (direction, notes.get(&source.ordinal())) {
                (Direction::Up, None) => Some(source.version().to_owned()),
                (Direction::Down, Some(note)) => Some(note.version.clone()),
                (Direction::Up, Some(_)) | (Direction::Down, None) => None,
            })
        })
        .boxed_local()
    }

    fn complete<'h>(
        &'h self,
        executor: &'h Executor,
        source: &'h MigrationSource,
        direction: Direction,
        version: &'h str,
    ) -> LocalBoxFuture<'h, Result<()>> {
        bookkeeping(async move {
            let note = Note {
                version: version.to_owned(),
                name: without_end(&source.name).to_owned(),
                checksum: source.checksum.clone(),
                applied_at: String::new(),
            };
            if let Some(notes) = &mut *self.trial.borrow_mut() {
                match direction {
                    Direction::Up => notes.insert(source.ordinal(), note),
                    Direction::Down => notes.remove(&source.ordinal()),
                };
                return Ok(());
            }
            let completed = note_and_commit(executor, direction, note).await;
            completed.map_err(|error| source.failure_around(direction, executor, error))
        })
        .boxed_local()
    }

    async fn notes(&self, executor: &Executor) -> Result<Notes> {
        let trial = self.trial.borrow().clone();
        match trial {
            Some(notes) => Ok(notes),
            None => read_notes(executor).await,
        }
    }

    /// After the table of notes was made if it was absent.
    async fn notes_in_table(&self, executor: &Executor) -> Result<Notes> {
        if !self.is_trial() {
            executor.create_for_migrations(table_of_notes()).await?;
        }
        self.notes(executor).await
    }
}

fn note_and_commit(
    executor: &Executor,
    direction: Direction,
    note: Note,
) -> LocalBoxFuture<'_, Result<()>> {
    async move {
        let (notes, dialect) = (table(NOTES), executor.dialect());
        let change = match direction {
            Direction::Up => {
                let record = Record::new()
                    .set("version", note.version)
                    .set("name", note.name)
                    .set("checksum", note.checksum);
                notes.to_insert(&record, dialect)
            }
            Direction::Down => {
                let own = notes.filter(col("version").eq(note.version));
                own.to_delete(dialect)
            }
        };
        let (sql, values) = sendable(change?);
        // Firebird would commit changes of tables before another statement, and the note apart from them.
        executor.run_beside_changes(sql, values).await?;
        match executor {
            Executor::Transaction(transaction) => transaction.commit().await,
            Executor::Database(_) | Executor::Read(_) | Executor::Session(_) => Ok(()),
        }
    }
    .boxed_local()
}

/// The table of what was applied.
fn table_of_notes() -> Table {
    Table::new(NOTES)
        .column(string("version", u32::from(VERSION_DIGITS_MAX)).primary())
        .column(string("name", u32::from(NAME_BYTES)))
        .column(char("checksum", 64))
        .column(timestamp("applied_at").default_now())
}

fn read_notes_if_any(executor: &Executor) -> LocalBoxFuture<'_, Result<Notes>> {
    async move {
        match executor.describe(NOTES).await? {
            Some(_) => read_notes(executor).await,
            None => Ok(Notes::new()),
        }
    }
    .boxed_local()
}

fn read_notes(executor: &Executor) -> LocalBoxFuture<'_, Result<Notes>> {
    async move {
        let notes = table(NOTES).select(["version", "name", "checksum", "applied_at"]);
        let rows = executor.fetch(notes.to_rows(executor.dialect())?).await?;
        let notes = rows.iter().map(|row| {
            let mut texts = row.values().map(|value| match Value::from(value) {
                Value::Text(text) => text,
                _ => String::new(),
            });
            let mut text = || texts.next().unwrap_or_default();
            let note = Note {
                version: text(),
                name: without_end(&text()).to_owned(),
                checksum: text(),
                applied_at: text(),
            };
            (ordinal(&note.version), note)
        });
        Ok(notes.collect())
    }
    .boxed_local()
}

fn without_end(name: &str) -> &str {
    name.strip_suffix(FILE_END).unwrap_or(name)
}

/// The number of a migration as it is compared: `007` is 7, and 10 comes after 9. It has as many digits as a number may have, so that these texts
/// compare as their numbers do.
fn ordinal(version: &str) -> String {
    let digits = usize::from(VERSION_DIGITS_MAX);
    format!("{version:0>digits$}")
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn numbers_are_compared_as_such() {
        for (one, other, expected) in [
            ("2", "10", Ordering::Less),
            ("010", "9", Ordering::Greater),
            ("007", "7", Ordering::Equal),
            ("20260101000000", "20251231000000", Ordering::Greater),
        ] {
            assert_eq!(ordinal(one).cmp(&ordinal(other)), expected, "{one} {other}");
        }
    }
}
