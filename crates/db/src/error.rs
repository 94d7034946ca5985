//! What can go wrong, by what the caller can do about it. Not the database's list of codes.
//! Rule: `Display` and `Debug` never show binds or row data; `sql`, `binds` and `detail` give them.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use crate::code::Code;
pub use crate::failed_statement::FailedStatement;
use crate::refusal::Refusal;
use crate::statement_outcome::StatementOutcome;
use crate::value::Value;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What applies migrations, for errors about what they would have made.
pub(crate) const MIGRATE: &str = "`tsumugi migrate up` (a program in Rust: its own `migrate up`)";

/// Why a statement, a transaction or a connection failed.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A row with the same key exists. Choose another key, or insert with `ON CONFLICT`.
    #[error("unique constraint {constraint} is violated")]
    UniqueViolation {
        /// The columns, such as `users.email` or `a.x, a.y`, or `index 'name'` for an index over expressions.
        constraint: String,
        /// What failed.
        statement: FailedStatement,
    },
    /// A row refers to a row that is not there, or a row is still referred to.
    #[error("a foreign key constraint is violated{}", .constraint.as_ref().map(|name| format!(": {name}")).unwrap_or_default())]
    ForeignKeyViolation {
        /// The constraint. SQLite does not say which.
        constraint: Option<String>,
        /// What failed.
        statement: FailedStatement,
    },
    /// A column that needs a value got NULL.
    #[error("column {column} must not be null")]
    NotNullViolation {
        /// The column, such as `users.name`.
        column: String,
        /// What failed.
        statement: FailedStatement,
    },
    /// A check constraint refused the row.
    #[error("check constraint {constraint} is violated")]
    CheckViolation {
        /// The name of the constraint, or its text if it has no name.
        constraint: String,
        /// What failed.
        statement: FailedStatement,
    },
    /// Another process changed or locks the database. Run the whole transaction again.
    #[error("the database is locked or was changed by another process; run the transaction again")]
    SerializationFailure {
        /// What failed.
        statement: FailedStatement,
    },
    /// This transaction and another waited for each other, and this one was undone. Run it again.
    #[error("the transaction waited for another that waited for it, and was undone; run it again")]
    Deadlock {
        /// What failed.
        statement: FailedStatement,
    },
    /// The database does not understand the SQL, or the SQL names something else than a table that is not there, such as a column. Fix it.
    #[error("{message}")]
    Syntax {
        /// Byte offset into the SQL, when known.
        position: Option<usize>,
        /// What the database says.
        message: String,
        /// What failed.
        statement: FailedStatement,
    },
    /// The SQL names a table that is not there. Make it, as a rule by applying the migrations, or correct its name.
    #[error("{message}; if a migration makes it, run {MIGRATE}")]
    UndefinedTable {
        /// Byte offset into the SQL, when known.
        position: Option<usize>,
        /// What the database says.
        message: String,
        /// What failed.
        statement: FailedStatement,
    },
    /// No connection became free in time. Nothing ran. Try later, raise the limit, or make the work before it shorter.
    #[error("no {connection} became free within {limit} ({waited_ms} ms); nothing was run")]
    PoolTimeout {
        /// What was waited for: `reader`, `writer` or `connection`.
        connection: &'static str,
        /// The option that bounds the wait.
        limit: &'static str,
        /// How long the caller waited.
        waited_ms: u64,
        /// What did not run.
        statement: FailedStatement,
    },
    /// Too many callers wait already. Nothing ran. Try later.
    #[error("{limit} is reached: {max} are waiting already; nothing was run")]
    QueueFull {
        /// The name of the limit that was exceeded.
        limit: &'static str,
        /// The limit's value.
        max: usize,
        /// What did not run.
        statement: FailedStatement,
    },
    /// The statement ran longer than it may and was stopped. What it changed is undone, unless `outcome` says that this is not known.
    #[error("the statement was stopped after statement_timeout ({} ms){}; raise it or make the statement faster", .limit.as_millis(), .outcome.addition())]
    Timeout {
        /// `statement_timeout` as it was for this statement.
        limit: Duration,
        /// Not known where it stood alone and was given up here, before its server said what had become of it; nor of a script or a procedure outside of
        /// a transaction, which may have committed a part before.
        outcome: StatementOutcome,
        /// What was stopped.
        statement: FailedStatement,
    },
    /// The server cancelled the statement, and not for its `statement_timeout`: an administrator did, or a limit that the server has of its own.
    /// What it changed is undone, unless `outcome` says that this is not known. A PostgreSQL server that speaks another language than English does not
    /// say which it was, but in `reason`.
    #[error("the server cancelled the statement: {reason}{}", .outcome.clause())]
    Cancelled {
        /// The server's words.
        reason: String,
        /// Not known of a script or a procedure outside of a transaction, which may have committed a part before.
        outcome: StatementOutcome,
        /// What was cancelled.
        statement: FailedStatement,
    },
    /// The result is larger than one result may be. Ask for less, raise the limit or use `stream`.
    #[error("the result exceeds {limit} ({max} bytes); use stream, ask for less or raise it")]
    TooLarge {
        /// The name of the limit that was exceeded.
        limit: &'static str,
        /// The limit in bytes.
        max: usize,
        /// What was run.
        statement: FailedStatement,
    },
    /// Text in the result is not UTF-8. Select it as bytes: `cast(… as blob)`.
    #[error("text in column {column} is not UTF-8; select it with cast(… as blob)")]
    InvalidText {
        /// The name of the column.
        column: String,
        /// What was run.
        statement: FailedStatement,
    },
    /// The transaction or stream is over, or its connection is gone. Begin another.
    #[error("the {what} is over: {reason}")]
    Closed {
        /// `transaction`, `session`, `stream` or `database`.
        what: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// The database rolled the transaction back, so nothing of it was kept. Run it again, once the cause is gone.
    #[error("the transaction was rolled back: {reason}")]
    RolledBack {
        /// Why.
        reason: &'static str,
    },
    /// The database cannot be opened.
    #[error("cannot open the database {path}: {reason}", path = .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why, and what would help.
        reason: String,
        /// The cause.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// No connection to the server could be opened. Nothing ran.
    #[error("cannot connect to the database: {reason}")]
    Unreachable {
        /// Why: host, phase and cause.
        reason: String,
    },
    /// The connection was lost before the answer had come.
    #[error("the connection to the database was lost: {reason}; {outcome}")]
    Lost {
        /// Why.
        reason: String,
        /// Whether the statement may have run.
        outcome: StatementOutcome,
    },
    /// The connection was lost, and nothing of the transaction was kept: its commit was not sent, or has not happened. Run it again.
    #[error("the transaction was rolled back: the connection to the database was lost: {reason}")]
    LostUncommitted {
        /// Why.
        reason: String,
    },
    /// The answer to a commit did not come, and no server can say whether it has happened; or it has happened on a server that may be lost
    /// with it, because no synchronous standby has confirmed it. Look at what it was to change before it is run again.
    #[error("it is not known whether the transaction{} is committed: {reason}", .xid.map(|xid| format!(" {xid}")).unwrap_or_default())]
    CommitUnknown {
        /// The number of the transaction, where the server has given it one and says so: PostgreSQL's `xid8`.
        xid: Option<u64>,
        /// Why.
        reason: String,
    },
    /// A transaction failed in a way after which one is run again, but a part of it is committed: Firebird commits changes of tables before the
    /// statements behind them. Look at what stays before it is run again.
    #[error(
        "{cause}; but a part of the transaction is committed, its changes of tables: look at what stays first"
    )]
    PartlyCommitted {
        /// Why it failed.
        cause: Box<Error>,
    },
    /// The server sent a value that is none of its type.
    #[error("the value in column {column} cannot be read: {reason}")]
    Malformed {
        /// The column's name in the result.
        column: String,
        /// What is wrong.
        reason: String,
    },
    /// A value is not what its parameter or column needs: it is out of range or of another kind. Nothing was changed. Give another value.
    #[error("{message}")]
    Value {
        /// The SQLSTATE for that, which no database said: it was found before anything was sent, or by SQLite, which has none.
        code: &'static str,
        /// What is wrong; never the value.
        message: String,
        /// What failed.
        statement: FailedStatement,
    },
    /// The caller misused the API. Fix the code: trying again cannot help.
    #[error("{message}")]
    Usage {
        /// What is wrong and what is right.
        message: String,
        /// What was not run.
        statement: FailedStatement,
    },
    /// This database has no such thing. Use another way, or another database.
    #[error("{database} has no {what}")]
    Unsupported {
        /// The name of the database product.
        database: &'static str,
        /// What was asked for.
        what: &'static str,
    },
    /// A table of this name exists and is another one. Nothing was changed. Alter it, or say what it is.
    #[error("the table {table} exists and is different: {difference}")]
    TableDiffers {
        /// The name of the table.
        table: String,
        /// The first thing that differs.
        difference: String,
    },
    /// SQLite has to make the table anew, and others refer to it. Begin the transaction with
    /// [`TransactionMode::Rebuild`](crate::TransactionMode::Rebuild).
    #[error(
        "SQLite makes {table} anew, and others refer to it: alter it outside of a transaction, or begin that in the mode rebuild"
    )]
    NeedsRebuild {
        /// The name of the table.
        table: String,
    },
    /// A migration was not applied, or not undone. The database is as it was before it; those before it stay.
    #[error("{name} {reason}")]
    MigrationFailed {
        /// The name of the migration.
        name: String,
        /// Why.
        reason: String,
        /// What the database said, where it is that.
        source: Option<Box<Error>>,
    },
    /// The statement is larger than one may be. Nothing ran. Split it.
    #[error("{limit} is exceeded: at most {max}; nothing was run")]
    Limit {
        /// The name of the limit that was exceeded.
        limit: &'static str,
        /// The limit's value.
        max: usize,
    },
    /// The database refused for another reason.
    #[error("{message} ({code})")]
    Database {
        /// The database's own code.
        code: Code,
        /// What the database says, or a general text where that could hold data: see [`Error::detail`].
        message: String,
        /// What failed.
        statement: FailedStatement,
    },
}

impl Error {
    /// Every name that [`Error::kind`] can give.
    pub const KINDS: &[&str] = &[
        "UniqueViolation",
        "ForeignKeyViolation",
        "NotNullViolation",
        "CheckViolation",
        "SerializationFailure",
        "DeadlockDetected",
        "SyntaxError",
        "UndefinedTable",
        "PoolTimeout",
        "QueryCanceled",
        "LimitExceeded",
        "DataError",
        "TransactionRolledBack",
        "ConnectionLost",
        "CommitUnknown",
        "UsageError",
        "Unsupported",
        "NeedsRebuild",
        "TableDiffers",
        "MigrationFailed",
        "Error",
    ];

    /// The name of the Ruby class for this error, below `DB::`. `Error` is the class that all others descend from.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::UniqueViolation { .. } => "UniqueViolation",
            Error::ForeignKeyViolation { .. } => "ForeignKeyViolation",
            Error::NotNullViolation { .. } => "NotNullViolation",
            Error::CheckViolation { .. } => "CheckViolation",
            Error::SerializationFailure { .. } => "SerializationFailure",
            Error::Deadlock { .. } => "DeadlockDetected",
            Error::Syntax { .. } => "SyntaxError",
            Error::UndefinedTable { .. } => "UndefinedTable",
            Error::PoolTimeout { .. } | Error::QueueFull { .. } => "PoolTimeout",
            Error::Timeout { .. } | Error::Cancelled { .. } => "QueryCanceled",
            Error::TooLarge { .. } | Error::Limit { .. } => "LimitExceeded",
            Error::InvalidText { .. } | Error::Malformed { .. } | Error::Value { .. } => {
                "DataError"
            }
            Error::RolledBack { .. } | Error::LostUncommitted { .. } => "TransactionRolledBack",
            Error::CommitUnknown { .. } => "CommitUnknown",
            Error::PartlyCommitted { cause } => cause.kind(),
            Error::Closed { .. }
            | Error::Open { .. }
            | Error::Unreachable { .. }
            | Error::Lost { .. } => "ConnectionLost",
            Error::Usage { .. } => "UsageError",
            Error::Unsupported { .. } => "Unsupported",
            Error::NeedsRebuild { .. } => "NeedsRebuild",
            Error::TableDiffers { .. } => "TableDiffers",
            Error::MigrationFailed { .. } => "MigrationFailed",
            Error::Database { code, .. } if code.is_about_data() => "DataError",
            Error::Database { .. } => "Error",
        }
    }

    /// The constraint or column that was violated, if that is what happened and the database says which.
    pub fn constraint(&self) -> Option<&str> {
        match self {
            Error::UniqueViolation { constraint, .. }
            | Error::CheckViolation { constraint, .. } => Some(constraint),
            Error::NotNullViolation { column, .. } => Some(column),
            Error::ForeignKeyViolation { constraint, .. } => constraint.as_deref(),
            _ => None,
        }
    }

    /// Whether a value that was bound to the statement is not what the statement needs: out of range, too long, no number, no date. Such a
    /// value comes from a client as a rule.
    pub fn is_about_value(&self) -> bool {
        match self {
            Error::Value { statement, .. } => statement.has_binds() || statement.is_none(),
            Error::Database {
                code, statement, ..
            } => code.is_about_data() && statement.has_binds(),
            _ => false,
        }
    }

    /// Whether the same transaction may be run again as it is: nothing of it was kept, and what stopped it may not come again. Both faces go by this.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Error::SerializationFailure { .. }
                | Error::Deadlock { .. }
                | Error::LostUncommitted { .. }
                | Error::Lost {
                    outcome: StatementOutcome::RolledBack,
                    ..
                }
        )
    }

    /// The number of the transaction of which it is not known whether it was committed, where there is one.
    pub fn xid(&self) -> Option<u64> {
        match self {
            Error::CommitUnknown { xid, .. } => *xid,
            _ => None,
        }
    }

    /// How both faces answer a request that ends with this error, unless the application says otherwise. `None` is a fault of the
    /// application or the database: 500.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Error::PoolTimeout { .. } | Error::QueueFull { .. } => Some(Refusal::Busy),
            error => error.is_about_value().then_some(Refusal::Value),
        }
    }

    /// Byte offset into the SQL of what the database does not understand, when known.
    pub fn position(&self) -> Option<usize> {
        match self {
            Error::Syntax { position, .. } | Error::UndefinedTable { position, .. } => *position,
            _ => None,
        }
    }

    /// The database's own code, such as `22012`, where the kind does not say it.
    pub fn code(&self) -> Option<String> {
        match self {
            Error::Database {
                code: Code::SqlState(code),
                ..
            } => Some((**code).to_owned()),
            Error::Database {
                code: Code::Sqlite(code),
                ..
            } => Some(code.to_string()),
            Error::Value { code, .. } => Some((*code).to_owned()),
            _ => None,
        }
    }

    /// The SQL that failed, if the error is about a statement. It may hold literals: not for production logs.
    pub fn sql(&self) -> Option<&str> {
        self.failed()?.sql()
    }

    /// The values bound to the statement that failed. Not for production logs.
    pub fn binds(&self) -> &[Value] {
        self.failed().map_or(&[], FailedStatement::binds)
    }

    /// The database's own message in full, where there is one. It may hold data: not for production logs.
    pub fn detail(&self) -> Option<&str> {
        self.failed()?.detail()
    }

    /// The server's bytes make no sense.
    pub(crate) fn protocol(violation: impl fmt::Display) -> Error {
        Error::Lost {
            reason: format!("the server broke the protocol: {violation}"),
            outcome: StatementOutcome::Unknown,
        }
    }

    /// The same for a call in a transaction that was not committed: where the connection was lost, the server rolls that back.
    pub(crate) fn into_rolled_back(self) -> Error {
        match self {
            Error::Lost { reason, .. } => Error::Lost {
                reason,
                outcome: StatementOutcome::RolledBack,
            },
            other => other,
        }
    }

    /// The same of what stands outside of a transaction and commits in parts, as a script or a procedure may: where it was stopped, a part may stay.
    pub(crate) fn of_parts(self) -> Error {
        let outcome = StatementOutcome::Unknown;
        match self {
            Error::Timeout {
                limit, statement, ..
            } => Error::Timeout {
                limit,
                outcome,
                statement,
            },
            Error::Cancelled {
                reason, statement, ..
            } => Error::Cancelled {
                reason,
                outcome,
                statement,
            },
            other => other,
        }
    }

    /// The same of a transaction of which a part is committed: it is not run again by itself.
    pub(crate) fn partly_committed(self) -> Error {
        match self.is_retryable() {
            true => Error::PartlyCommitted {
                cause: Box::new(self),
            },
            false => self,
        }
    }

    /// Why the answer to a commit did not come, for an error about the commit.
    pub(crate) fn into_reason(self) -> String {
        match self {
            Error::Lost { reason, .. } | Error::CommitUnknown { reason, .. } => reason,
            other => other.to_string(),
        }
    }

    pub(crate) fn closed(what: &'static str, reason: &'static str) -> Error {
        Error::Closed { what, reason }
    }

    pub(crate) fn rolled_back(reason: &'static str) -> Error {
        Error::RolledBack { reason }
    }

    pub(crate) fn unsupported(database: &'static str, what: &'static str) -> Error {
        Error::Unsupported { database, what }
    }

    pub(crate) fn queue_full(limit: &'static str, max: usize, statement: FailedStatement) -> Error {
        Error::QueueFull {
            limit,
            max,
            statement,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Error {
        Error::Usage {
            message: message.into(),
            statement: FailedStatement::none(),
        }
    }

    fn failed(&self) -> Option<&FailedStatement> {
        match self {
            Error::UniqueViolation { statement, .. }
            | Error::ForeignKeyViolation { statement, .. }
            | Error::NotNullViolation { statement, .. }
            | Error::CheckViolation { statement, .. }
            | Error::SerializationFailure { statement }
            | Error::Deadlock { statement }
            | Error::Syntax { statement, .. }
            | Error::UndefinedTable { statement, .. }
            | Error::PoolTimeout { statement, .. }
            | Error::QueueFull { statement, .. }
            | Error::Timeout { statement, .. }
            | Error::Cancelled { statement, .. }
            | Error::TooLarge { statement, .. }
            | Error::InvalidText { statement, .. }
            | Error::Usage { statement, .. }
            | Error::Value { statement, .. }
            | Error::Database { statement, .. } => Some(statement),
            Error::PartlyCommitted { cause } => cause.failed(),
            Error::Closed { .. }
            | Error::RolledBack { .. }
            | Error::Open { .. }
            | Error::Unreachable { .. }
            | Error::Lost { .. }
            | Error::LostUncommitted { .. }
            | Error::CommitUnknown { .. }
            | Error::Unsupported { .. }
            | Error::TableDiffers { .. }
            | Error::NeedsRebuild { .. }
            | Error::MigrationFailed { .. }
            | Error::Limit { .. }
            | Error::Malformed { .. } => None,
        }
    }
}

/// What the builder refuses before there is SQL.
impl From<tsumugi_sql::Error> for Error {
    fn from(error: tsumugi_sql::Error) -> Self {
        use tsumugi_sql::Error as Refused;
        match error {
            Refused::Unsupported { database, what } => Error::Unsupported { database, what },
            Refused::Limit { limit, max } => Error::Limit { limit, max },
            Refused::Different { table, difference } => Error::TableDiffers { table, difference },
            Refused::Value(message) => Error::Value {
                code: "22023",
                message,
                statement: FailedStatement::none(),
            },
            other => Error::usage(other.to_string()),
        }
    }
}
