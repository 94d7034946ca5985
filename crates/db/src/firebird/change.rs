//! Changes of tables in a transaction: when they have to be committed so that other statements see them. Also the locks that keep others from
//! changing the schema meanwhile, and serializable transactions one after the other. Rule: a lock is a row that nobody ever commits, so
//! that it goes with whoever held it.

use std::cell::Cell;

use tsumugi_firebird::{
    Isolation as ServerIsolation, Transaction, TransactionOptions as Parameters, Wait,
};
use tsumugi_firebird_proto::{GdsCode, ServerError};

use super::link::ExclusiveConnection;
use super::pool::Inner;
use super::settings;
use super::transaction::{OpenTransaction, transaction_error};
use crate::error::{Error, Result};
use crate::options::TransactionMode;

/// What was changed of tables, and what becomes of it.
pub(super) struct Change {
    wanted: Wanted,
    /// There are changes that are not committed.
    open: Cell<bool>,
    /// There were, and they are.
    pub(super) kept: Cell<bool>,
    /// The transaction has the lock of the schema.
    locked: Cell<bool>,
}

/// What happens to other statements after a change of tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
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
                TransactionMode::Schema | TransactionMode::Rebuild => Wanted::Commits,
                TransactionMode::Trial => Wanted::Trial,
                TransactionMode::Deferred
                | TransactionMode::Immediate
                | TransactionMode::Exclusive => Wanted::Nothing,
            },
            open: Cell::new(false),
            kept: Cell::new(false),
            locked: Cell::new(false),
        }
    }

    pub(super) fn made(&self) {
        self.open.set(true);
    }

    pub(super) fn committed(&self) {
        self.open.set(false);
        self.kept.set(true);
    }

    /// Whether something has to happen before another statement.
    pub(super) fn is_due(&self) -> bool {
        self.open.get() && self.wanted != Wanted::Nothing
    }

    pub(super) fn is_trial(&self) -> bool {
        self.wanted == Wanted::Trial
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
enum Taken {
    Held(Transaction),
    /// By somebody else.
    Busy,
    /// The table was not there. Now it is, whoever of several made it.
    Made,
}

/// Takes the lock of the schema for as long as the transaction is open; false while somebody else has it.
pub(super) async fn locked(pool: &Inner, live: &OpenTransaction, change: &Change) -> Result<bool> {
    if change.locked.get() {
        return Ok(true);
    }
    let taken = pool.timed(take(&live.own, Lock::Schema, Wait::No)).await;
    match taken.map_err(|fault| transaction_error(pool, Lock::Schema.statement(), fault))? {
        Taken::Held(lock) => {
            live.locks.borrow_mut().push(lock);
            change.locked.set(true);
            Ok(true)
        }
        Taken::Busy | Taken::Made => Ok(false),
    }
}

/// Waits until no other transaction is a serializable one.
pub(super) async fn turn(pool: &Inner, own: &ExclusiveConnection) -> Result<Transaction> {
    let lock = Lock::Serializable;
    let turn = pool.timed(async {
        loop {
            match take(own, lock, settings::wait(&pool.options)).await? {
                Taken::Held(lock) => return Ok(Some(lock)),
                Taken::Busy => return Ok(None),
                Taken::Made => {}
            }
        }
    });
    let turn = turn
        .await
        .map_err(|fault| transaction_error(pool, lock.statement(), fault))?;
    turn.ok_or_else(|| {
        let attempt = pool.attempt(lock.statement().into(), Vec::new());
        Error::SerializationFailure {
            statement: attempt.failed(
                "another serializable transaction did not end within busy_timeout".to_owned(),
            ),
        }
    })
}

async fn take(
    own: &ExclusiveConnection,
    lock: Lock,
    wait: Wait,
) -> tsumugi_firebird::Result<Taken> {
    let parameters = Parameters {
        isolation: ServerIsolation::ReadCommitted,
        wait,
        ..Parameters::default()
    };
    let holder = own.begin(parameters).await?;
    let Err(error) = holder.immediate(lock.statement()).await else {
        return Ok(Taken::Held(holder));
    };
    holder.roll_back().await?;
    let said = error.server();
    if said.is_some_and(|said| said.has(GdsCode::TABLE_UNKNOWN)) {
        let maker = own.begin(parameters).await?;
        let made = match maker.immediate(LOCK_TABLE).await {
            Ok(()) => maker.commit().await,
            Err(error) => maker.roll_back().await.and(Err(error)),
        };
        return match made {
            Err(error) if !error.server().is_some_and(is_made) => Err(error),
            _ => Ok(Taken::Made),
        };
    }
    match said {
        Some(said) if is_taken(said) => Ok(Taken::Busy),
        _ => Err(error),
    }
}

/// Whether somebody else has the row.
fn is_taken(said: &ServerError) -> bool {
    let codes = [
        GdsCode::LOCK_CONFLICT,
        GdsCode::DEADLOCK,
        GdsCode::UPDATE_CONFLICT,
        GdsCode::UNIQUE,
        GdsCode::NO_DUPLICATE,
    ];
    codes.into_iter().any(|code| said.has(code))
}

/// Whether somebody else makes the table, or has made it.
fn is_made(said: &ServerError) -> bool {
    !said.has(GdsCode::NO_PRIVILEGE) && (is_taken(said) || said.has(GdsCode::NO_METADATA_UPDATE))
}
