//! One SQLite connection and what runs on it. Knows no queue, no caller and no other connection.
//! Rule: after every call the connection is in the state in which it was opened, except for an open transaction,
//! which `is_clean` tells.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::hooks::{Action, AuthContext};
use rusqlite::types::{ToSql, ToSqlOutput, Value as SqliteValue, ValueRef as SqliteRef};
use rusqlite::{Batch, CachedStatement, ErrorCode, OpenFlags, Row, Rows as SqliteRows};

use crate::batch::BatchSize;
use crate::execution::ExecuteResult;
use crate::json;
use crate::limits;
use crate::options::{Access, MissingFile};
use crate::rows::Columns;
use crate::rows::packed::{Cell, PackedRows, Packer};
use crate::rows::typed::{self, DeclaredType};
use crate::value::Value;

use super::failure::Fault;
use super::functions;
use super::job::{Call, Output, Statement};
use super::policy::{self, Leading, Policy};
use super::watch;

/// Instructions between two looks at the caller and the clock: some tens of microseconds.
const WATCH_INSTRUCTIONS: i32 = 4_000;

/// How to open connections to one database.
#[derive(Debug)]
pub(super) struct Opening {
    /// None for a database in memory.
    pub(super) path: Option<PathBuf>,
    pub(super) missing: MissingFile,
    pub(super) busy_timeout: Duration,
    pub(super) statement_cache: usize,
}

#[derive(Debug)]
pub(super) struct Connection {
    sqlite: rusqlite::Connection,
    desk: ResultBuffers,
    /// What it was opened for.
    role: Access,
    /// What may run now: less than its role in a read-only transaction.
    access: Access,
    /// Whether foreign keys may be off.
    forgot_references: bool,
    /// The rows that referred to nothing before foreign keys were off.
    orphans: Orphans,
}

/// How many rows of a table refer to no row of another.
type Orphans = HashMap<(String, String), u64>;

/// What a connection keeps from one result to the next.
#[derive(Default)]
struct ResultBuffers {
    packer: Packer,
    columns: HashMap<Arc<str>, Arc<Columns>>,
    columns_max: usize,
}

impl std::fmt::Debug for ResultBuffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ResultBuffers(..)")
    }
}

impl Opening {
    /// Opens the connection that writes. It must be the first: it creates the file and chooses the journal.
    pub(super) fn writer(&self) -> rusqlite::Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = match &self.path {
            None => rusqlite::Connection::open_in_memory_with_flags(flags)?,
            Some(path) => {
                flags.set(
                    OpenFlags::SQLITE_OPEN_CREATE,
                    self.missing == MissingFile::Create,
                );
                rusqlite::Connection::open_with_flags(path, flags)?
            }
        };
        let connection = self.prepare(sqlite, Access::ReadWrite)?;
        if let Some(path) = &self.path {
            let set = set_journal(&connection.sqlite, "wal", self.busy_timeout);
            // A process that kept nothing in a file that it began may have removed it meanwhile; see `remove_unused`.
            if self.missing == MissingFile::Create && !path.exists() {
                return self.writer();
            }
            set?;
            // A transaction survives the end of the process; the last ones may be lost when the machine loses power,
            // and the file is consistent then as well.
            connection
                .sqlite
                .pragma_update(None, "synchronous", "normal")?;
        }
        connection.restore_settings()?;
        Ok(connection)
    }

    /// Opens a connection that only reads a file that the writer has opened.
    pub(super) fn reader(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let path = self
            .path
            .as_ref()
            .expect("a database in memory has one connection");
        let sqlite = rusqlite::Connection::open_with_flags(path, flags)?;
        let connection = self.prepare(sqlite, Access::ReadOnly)?;
        connection.sqlite.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    fn prepare(
        &self,
        mut sqlite: rusqlite::Connection,
        role: Access,
    ) -> rusqlite::Result<Connection> {
        let busy_timeout = self.busy_timeout;
        sqlite.busy_handler(Some(move |attempt| {
            watch::wait_for_lock(attempt, busy_timeout)
        }))?;
        sqlite.progress_handler(WATCH_INSTRUCTIONS, Some(watch::must_stop))?;
        sqlite.authorizer(Some(|context: AuthContext<'_>| {
            policy::authorize(context.action)
        }))?;
        if role == Access::ReadWrite {
            let notice = |action, _: &str, table: &str, row_id| {
                if action == Action::SQLITE_INSERT {
                    watch::inserted(table, row_id);
                }
            };
            sqlite.update_hook(Some(notice))?;
        }
        functions::define(&sqlite)?;
        sqlite.set_prepared_statement_cache_capacity(self.statement_cache);
        let desk = ResultBuffers {
            columns_max: self.statement_cache,
            ..ResultBuffers::default()
        };
        Ok(Connection {
            sqlite,
            desk,
            role,
            access: role,
            forgot_references: false,
            orphans: Orphans::new(),
        })
    }
}

/// Chooses the journal. Another process that makes the same file does so too, and SQLite asks no handler there: who waited for a lock
/// while it has one might wait for ever. Here nothing is held yet.
fn set_journal(
    sqlite: &rusqlite::Connection,
    mode: &str,
    patience: Duration,
) -> rusqlite::Result<()> {
    let mut attempt = 0;
    loop {
        match sqlite.pragma_update(None, "journal_mode", mode) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && watch::wait_for_lock(attempt, patience) =>
            {
                attempt += 1;
            }
            result => return result,
        }
    }
}

/// How long the connections of this process may take to close.
const CLOSING_MAX: Duration = Duration::from_secs(2);

/// Removes a file that holds nothing but an empty table of notes of this name, unless it is open elsewhere.
pub(super) fn remove_unused(path: &Path, notes: &str) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = rusqlite::Connection::open_with_flags(path, flags)?;
    // Only the last connection of all processes can leave that journal. One that comes later waits for the lock, and then finds no file.
    set_journal(&sqlite, "delete", CLOSING_MAX)?;
    sqlite.execute_batch("begin exclusive")?;
    let is = |sql: &str| sqlite.query_row(sql, [], |row| row.get::<_, bool>(0));
    let others = format!("select exists (select 1 from sqlite_schema where tbl_name <> '{notes}')");
    let noted = || is(&format!("select exists (select 1 from {notes})"));
    let is_left = is("select journal_mode = 'delete' from pragma_journal_mode")?;
    let has_notes = is("select exists (select 1 from sqlite_schema)")?;
    if is_left && !is(&others)? && !(has_notes && noted()?) {
        // What cannot be removed stays.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

impl Connection {
    /// Whether no transaction is open.
    pub(super) fn is_clean(&self) -> bool {
        self.sqlite.is_autocommit()
    }

    /// Sets what a script may have changed.
    pub(super) fn restore_settings(&self) -> rusqlite::Result<()> {
        self.sqlite
            .execute_batch("PRAGMA foreign_keys = ON; PRAGMA legacy_alter_table = OFF")
    }

    /// Notes that foreign keys are going to be off until [`Connection::remember_references`].
    pub(super) fn forget_references(&mut self) {
        self.forgot_references = true;
    }

    /// Whether foreign keys may be off.
    pub(super) fn forgot_references(&self) -> bool {
        self.forgot_references
    }

    /// Puts the setting back, outside of a transaction.
    pub(super) fn remember_references(&mut self) -> rusqlite::Result<()> {
        if self.forgot_references {
            self.restore_settings()?;
            self.forgot_references = false;
        }
        Ok(())
    }

    /// Notes which rows refer to nothing already, in a transaction without foreign keys that has changed nothing yet.
    pub(super) fn note_orphans(&mut self) {
        // What cannot be looked at now is told when the transaction is to be committed.
        self.orphans = self.count_orphans().unwrap_or_default();
    }

    /// Which table has more rows that refer to no row of which other than were noted, if one has.
    pub(super) fn broken_reference(&self) -> rusqlite::Result<Option<String>> {
        let orphans = self.count_orphans()?;
        let mut broken = orphans.iter().filter(|(tables, count)| {
            let before = self.orphans.get(*tables).copied().unwrap_or(0);
            **count > before
        });
        let tables = broken.next().map(|(tables, _)| tables);
        Ok(tables.map(|(from, to)| format!("a row of {from} refers to no row of {to}")))
    }

    fn count_orphans(&self) -> rusqlite::Result<Orphans> {
        let mut check = self.sqlite.prepare("PRAGMA foreign_key_check")?;
        let mut rows = check.query([])?;
        let mut orphans = Orphans::new();
        while let Some(row) = rows.next()? {
            *orphans.entry((row.get(0)?, row.get(2)?)).or_default() += 1;
        }
        Ok(orphans)
    }

    /// Narrows what may run until [`Connection::unrestrict`].
    pub(super) fn restrict(&mut self, access: Access) {
        if access == Access::ReadOnly {
            self.access = access;
        }
    }

    /// Lets run again what the connection was opened for.
    pub(super) fn unrestrict(&mut self) {
        self.access = self.role;
    }

    /// Runs a statement of this crate's own.
    pub(super) fn own(&self, sql: &str) -> rusqlite::Result<()> {
        self.sqlite.execute_batch(sql)
    }

    /// Whether the check of this name is the one by which the schema's own `string` and `char` columns keep their length: SQLite's types
    /// have none. Another's check of the same name is a check like any other.
    pub(super) fn limits_length(&self, constraint: &str) -> bool {
        let created = || -> rusqlite::Result<Vec<String>> {
            let sql = "select sql from sqlite_schema where type = 'table'";
            let mut tables = self.sqlite.prepare(sql)?;
            tables.query_map([], |row| row.get(0))?.collect()
        };
        // What cannot be read now is a check like any other.
        let created = created().unwrap_or_default();
        created
            .iter()
            .any(|create| tsumugi_sql::schema::limits_length(create, constraint))
    }

    /// What a caller's SQL may do here.
    pub(super) fn policy(&self, call: Call, sql: &str) -> Policy {
        match (self.access, call) {
            (Access::ReadOnly, _) => Policy::Reader,
            (_, Call::Script) if self.is_clean() => Policy::Script,
            (_, Call::Script) => Policy::Writer,
            _ if policy::leading(sql) == Leading::Vacuum => Policy::Internal,
            _ => Policy::Writer,
        }
    }

    /// Runs a caller's SQL to its end.
    pub(super) fn run(
        &mut self,
        call: Call,
        statement: &Statement,
        rows_max_bytes: usize,
    ) -> Result<Output, Fault> {
        match call {
            Call::Query => self.query(statement, rows_max_bytes).map(Output::Rows),
            Call::Execute => self.execute(statement).map(Output::Executed),
            Call::Script => self.script(&statement.sql).map(|()| Output::Done),
        }
    }

    fn query(&mut self, statement: &Statement, rows_max_bytes: usize) -> Result<PackedRows, Fault> {
        let Connection {
            sqlite,
            desk,
            access,
            ..
        } = self;
        let mut prepared = prepare(sqlite, statement, *access)?;
        desk.packer.clear();
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().map_err(Fault::Run)? {
            if let Err(fault) = desk.pack(row, rows_max_bytes) {
                if sqlite.is_autocommit() {
                    // Stopped before its end a statement is else committed. Its next step fails, and undoes what it wrote.
                    sqlite.get_interrupt_handle().interrupt();
                    drop(rows.next());
                }
                return Err(fault);
            }
        }
        drop(rows);
        Ok(desk.finish(&statement.sql, &prepared))
    }

    fn execute(&mut self, statement: &Statement) -> Result<ExecuteResult, Fault> {
        let mut prepared = prepare(&self.sqlite, statement, self.access)?;
        let before = self.sqlite.total_changes();
        let last_row_id = self.sqlite.last_insert_rowid();
        watch::look_for(last_row_id);
        step_to_end(&mut prepared.raw_query())?;
        // SQLite's count of changes is that of the last statement that could change rows, so it says nothing about
        // one that could not.
        let affected = if self.sqlite.total_changes() == before {
            0
        } else {
            self.sqlite.changes()
        };
        let inserts = matches!(
            policy::leading(&statement.sql),
            Leading::Insert | Leading::With
        );
        // What triggers insert leaves SQLite's last id as it was. A statement that inserts nothing itself does so, too, and one that inserts a row
        // whose number is the last one's.
        let row_id = self.sqlite.last_insert_rowid();
        let has_id = row_id != last_row_id || watch::has_inserted_into(&statement.sql);
        let last_insert_id = (inserts && has_id).then_some(row_id);
        Ok(ExecuteResult {
            affected,
            last_insert_id,
        })
    }

    fn script(&mut self, sql: &str) -> Result<(), Fault> {
        let mut batch = Batch::new(&self.sqlite, sql);
        while let Some(mut prepared) = batch.next().map_err(Fault::Prepare)? {
            if prepared.parameter_count() > 0 {
                return Err(Fault::Usage(
                    "a script takes no values: use execute for a statement with placeholders"
                        .into(),
                ));
            }
            if self.access == Access::ReadOnly && !prepared.readonly() {
                return Err(Fault::NeedsWriter);
            }
            step_to_end(&mut prepared.raw_query())?;
        }
        Ok(())
    }

    /// Prepares a statement whose rows are read in batches.
    pub(super) fn cursor(&mut self, statement: &Statement) -> Result<Cursor<'_>, Fault> {
        let Connection {
            sqlite,
            desk,
            access,
            ..
        } = self;
        let prepared = prepare(sqlite, statement, *access)?;
        if !prepared.readonly() {
            return Err(Fault::Usage(
                "stream takes a statement that only reads: use query".into(),
            ));
        }
        desk.packer.clear();
        Ok(Cursor {
            prepared,
            desk,
            sql: statement.sql.clone(),
        })
    }
}

/// A prepared statement whose rows are read in batches.
pub(super) struct Cursor<'a> {
    prepared: CachedStatement<'a>,
    desk: &'a mut ResultBuffers,
    sql: Arc<str>,
}

impl Cursor<'_> {
    /// Begins to read.
    pub(super) fn batches(&mut self, by: BatchSize) -> Batches<'_> {
        Batches {
            rows: self.prepared.raw_query(),
            desk: self.desk,
            sql: &self.sql,
            columns: None,
            by,
        }
    }

    /// The batch of a statement that turned out to give no row.
    pub(super) fn no_rows(&mut self) -> PackedRows {
        self.desk.finish(&self.sql, &self.prepared)
    }
}

/// The rows of a cursor, some at a time. All of them are of one snapshot.
pub(super) struct Batches<'a> {
    rows: SqliteRows<'a>,
    desk: &'a mut ResultBuffers,
    sql: &'a Arc<str>,
    /// Known from the first row on: a statement from the cache may get other columns as it begins.
    columns: Option<Arc<Columns>>,
    by: BatchSize,
}

impl Batches<'_> {
    /// The next rows, if there was ever a row, and whether they are the last.
    pub(super) fn next(
        &mut self,
        rows_max_bytes: usize,
    ) -> Result<(Option<PackedRows>, bool), Fault> {
        let mut is_last = false;
        while self.desk.has_room_in_batch(self.by) {
            let Some(row) = self.rows.next().map_err(Fault::Run)? else {
                is_last = true;
                break;
            };
            if self.columns.is_none() {
                self.columns = Some(self.desk.columns(self.sql, row.as_ref()));
            }
            self.desk.pack(row, rows_max_bytes)?;
        }
        let rows = self
            .columns
            .as_ref()
            .map(|columns| self.desk.packer.finish(columns.clone()));
        Ok((rows, is_last))
    }
}

impl ResultBuffers {
    fn pack(&mut self, row: &Row<'_>, rows_max_bytes: usize) -> Result<(), Fault> {
        let statement: &rusqlite::Statement<'_> = row.as_ref();
        self.packer.begin_row();
        for index in 0..statement.column_count() {
            let cell = match row.get_ref(index).map_err(Fault::Run)? {
                SqliteRef::Null => Cell::Null,
                SqliteRef::Integer(integer) => Cell::Integer(integer),
                SqliteRef::Real(real) => Cell::Real(real),
                SqliteRef::Text(text) => Cell::Text(text),
                SqliteRef::Blob(blob) => Cell::Blob(blob),
            };
            let unmarked = match cell {
                Cell::Text(text) => typed::unmarked(text),
                _ => None,
            };
            let cell = match &unmarked {
                Some(text) => Cell::Text(text.as_bytes()),
                None => cell,
            };
            if self.packer.push(cell).is_err() {
                return Err(Fault::InvalidText(
                    statement.column_name(index).unwrap_or("?").to_owned(),
                ));
            }
            if !self.packer.fits(rows_max_bytes) {
                return Err(Fault::TooLarge);
            }
        }
        Ok(())
    }

    fn has_room_in_batch(&self, by: BatchSize) -> bool {
        self.packer.len() < by.rows_max() && self.packer.packed_bytes() < limits::BATCH_MAX_BYTES
    }

    fn finish(&mut self, sql: &Arc<str>, prepared: &rusqlite::Statement<'_>) -> PackedRows {
        let columns = self.columns(sql, prepared);
        self.packer.finish(columns)
    }

    /// The columns of a statement: those of last time if they are still the same, which a changed table may prevent.
    fn columns(&mut self, sql: &Arc<str>, prepared: &rusqlite::Statement<'_>) -> Arc<Columns> {
        let names = || prepared.column_names();
        let types = || {
            let columns = prepared.columns();
            columns.map(|column| DeclaredType::of(column.decl_type()))
        };
        if let Some(columns) = self.columns.get(sql)
            && columns.are(names(), types())
        {
            return columns.clone();
        }
        if self.columns.len() >= self.columns_max {
            self.columns.clear();
        }
        let columns = Columns::new(names()).declared(types());
        let columns = Arc::new(columns);
        self.columns.insert(sql.clone(), columns.clone());
        columns
    }
}

fn step_to_end(rows: &mut SqliteRows<'_>) -> Result<(), Fault> {
    while rows.next().map_err(Fault::Run)?.is_some() {}
    Ok(())
}

fn prepare<'a>(
    sqlite: &'a rusqlite::Connection,
    statement: &Statement,
    access: Access,
) -> Result<CachedStatement<'a>, Fault> {
    if policy::leading(&statement.sql) == Leading::Nothing {
        return Err(Fault::Usage("the SQL holds no statement".into()));
    }
    let mut prepared = sqlite
        .prepare_cached(&statement.sql)
        .map_err(Fault::Prepare)?;
    if access == Access::ReadOnly && !prepared.readonly() {
        return Err(Fault::NeedsWriter);
    }
    let (expected, given) = (prepared.parameter_count(), statement.values.len());
    if expected != given {
        return Err(Fault::Usage(format!(
            "the statement has {expected} placeholders but {given} values were given"
        )));
    }
    for (index, value) in statement.values.iter().enumerate() {
        prepared
            .raw_bind_parameter(index + 1, Bind(value))
            .map_err(Fault::Run)?;
    }
    Ok(prepared)
}

struct Bind<'a>(&'a Value);

impl ToSql for Bind<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => SqliteRef::Null,
            Value::Boolean(truth) => SqliteRef::Integer((*truth).into()),
            Value::Integer(integer) => SqliteRef::Integer(*integer),
            Value::Real(real) => SqliteRef::Real(*real),
            Value::Text(text) | Value::Decimal(text) => SqliteRef::Text(text.as_bytes()),
            Value::Blob(blob) => SqliteRef::Blob(blob),
            Value::Json(json) => SqliteRef::Text(json.as_bytes()),
            // There are no arrays: its JSON functions read this text.
            Value::List(_) => {
                let text = SqliteValue::Text(json::text(self.0));
                return Ok(ToSqlOutput::Owned(text));
            }
        }))
    }
}
