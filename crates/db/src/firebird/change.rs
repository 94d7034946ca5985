//! Changes of tables in a transaction: when they have to be committed so that other statements see them. Also the locks that keep others from
//! changing the schema meanwhile, and serializable transactions one after the other. Rule: a lock is a row that is never committed, so
//! that it goes with the transaction that held it.

use std::cell::Cell;

use tsumugi_firebird::{
    Isolation as ServerIsolation, Transaction, TransactionOptions as Parameters, Wait,
};
use tsumugi_firebird_proto::{GdsCode, ServerError};

use super::backend::Inner;
use super::link::Session;
use super::open::OpenTransaction;
use super::settings;
use crate::error::{Error, Result};
use crate::options::TransactionMode;

/// What was changed of tables, and what becomes of it.
pub(super) struct Change {
    wanted: ChangeMode,
    /// There are changes that are not committed.
    open: Cell<bool>,
    /// There were, and they are.
    is_committed: Cell<bool>,
    /// The transaction has the lock of the schema.
    locked: Cell<bool>,
}

/// What happens to other statements after a change of tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeMode {
    /// They see the tables as they were.
    Nothing,
    /// They see the change, which is committed.
    Commits,
    /// They are left out.
    Trial,
}

impl Change {
    pub(super) fn of(mode: TransactionMode) -> Change {
        Change {
            wanted: match mode {
                TransactionMode::Schema | TransactionMode::Rebuild => ChangeMode::Commits,
                TransactionMode::Trial => ChangeMode::Trial,
                TransactionMode::Deferred
                | TransactionMode::Immediate
                | TransactionMode::Exclusive => ChangeMode::Nothing,
            },
            open: Cell::new(false),
            is_committed: Cell::new(false),
            locked: Cell::new(false),
        }
    }

    pub(super) fn note_change(&self) {
        self.open.set(true);
    }

    pub(super) fn note_commit(&self) {
        self.open.set(false);
        self.is_committed.set(true);
    }

    /// Whether something has to happen before another statement.
    pub(super) fn is_due(&self) -> bool {
        self.open.get() && self.wanted != ChangeMode::Nothing
    }

    /// Whether changes have been committed.
    pub(super) fn is_committed(&self) -> bool {
        self.is_committed.get()
    }

    pub(super) fn is_trial(&self) -> bool {
        self.wanted == ChangeMode::Trial
    }
}

const LOCK_TABLE: &str = "create table tsumugi_lock (id smallint not null primary key)";

/// What a lock is for: a row of the table.
#[derive(Clone, Copy)]
enum Lock {
    Schema,
    Serializable,
}

impl Lock {
    fn statement(self) -> &'static str {
        match self {
            Lock::Schema => "insert into tsumugi_lock (id) values (1)",
            Lock::Serializable => "insert into tsumugi_lock (id) values (2)",
        }
    }
}

/// How an attempt to take a lock went.
enum LockOutcome {
    Held(Transaction),
    /// Another transaction has it.
    Busy,
    /// The table was not there. Now it is, made by this connection or another.
    Made,
}

/// Takes the lock of the schema for as long as the transaction is open; false while another has it.
pub(super) async fn lock_schema(
    pool: &Inner,
    open: &OpenTransaction,
    change: &Change,
) -> Result<bool> {
    if change.locked.get() {
        return Ok(true);
    }
    let outcome = pool
        .timed(take(&open.connection, Lock::Schema, Wait::No))
        .await;
    match outcome.map_err(|fault| pool.error(Lock::Schema.statement(), fault))? {
        LockOutcome::Held(lock) => {
            open.locks.borrow_mut().push(lock);
            change.locked.set(true);
            Ok(true)
        }
        LockOutcome::Busy | LockOutcome::Made => Ok(false),
    }
}

/// Waits until no other transaction is a serializable one.
pub(super) async fn take_turn(pool: &Inner, connection: &Session) -> Result<Transaction> {
    let lock = Lock::Serializable;
    let turn = pool.timed(async {
        loop {
            match take(connection, lock, settings::wait(&pool.options)).await? {
                LockOutcome::Held(lock) => return Ok(Some(lock)),
                LockOutcome::Busy => return Ok(None),
                LockOutcome::Made => {}
            }
        }
    });
    let turn = turn
        .await
        .map_err(|fault| pool.error(lock.statement(), fault))?;
    turn.ok_or_else(|| {
        let statement = pool.statement(lock.statement(), &[]);
        Error::SerializationFailure {
            statement: statement.failed(
                "another serializable transaction did not end within busy_timeout".to_owned(),
            ),
        }
    })
}

async fn take(
    connection: &Session,
    lock: Lock,
    wait: Wait,
) -> tsumugi_firebird::Result<LockOutcome> {
    let parameters = Parameters {
        isolation: ServerIsolation::ReadCommitted,
        wait,
        ..Parameters::default()
    };
    let holder = connection.begin(parameters).await?;
    let Err(error) = holder.immediate(lock.statement()).await else {
        return Ok(LockOutcome::Held(holder));
    };
    holder.roll_back().await?;
    let reported = error.server();
    if reported.is_some_and(|reported| reported.has(GdsCode::TABLE_UNKNOWN)) {
        let maker = connection.begin(parameters).await?;
        let made = match maker.immediate(LOCK_TABLE).await {
            Ok(()) => maker.commit().await,
            Err(error) => maker.roll_back().await.and(Err(error)),
        };
        return match made {
            Err(error) if !error.server().is_some_and(is_made) => Err(error),
            _ => Ok(LockOutcome::Made),
        };
    }
    match reported {
        Some(reported) if is_taken(reported) => Ok(LockOutcome::Busy),
        _ => Err(error),
    }
}

/// Whether another transaction has the row.
fn is_taken(error: &ServerError) -> bool {
    let codes = [
        GdsCode::LOCK_CONFLICT,
        GdsCode::DEADLOCK,
        GdsCode::UPDATE_CONFLICT,
        GdsCode::UNIQUE,
        GdsCode::NO_DUPLICATE,
    ];
    codes.into_iter().any(|code| error.has(code))
}

/// Whether another connection makes the table, or has made it.
fn is_made(error: &ServerError) -> bool {
    !error.has(GdsCode::NO_PRIVILEGE) && (is_taken(error) || error.has(GdsCode::NO_METADATA_UPDATE))
}
