//! What the pool needs of Firebird connections: how they are opened, whether they are clean, how they become so.
//! Rule: a transaction that is left open is rolled back before the next user has the connection.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use tsumugi_firebird::{Cause, Connection, Connector, Error, Reply};
use tsumugi_firebird_proto::values::Value;
use tsumugi_firebird_proto::{GdsCode, ServerError};

use super::plan::StatementEffect;
use crate::server::Expiry;
use crate::server::connections::{self, ConnectFailure, Retryable};

/// How long a connection that writes nothing keeps transactions begun for what it may write next.
const SPARES: Duration = Duration::from_secs(10);

/// Opens and judges connections.
pub(crate) struct Link {
    pub(super) connector: Connector,
    pub(super) opened: Rc<OpenSessions>,
}

/// All connections of a pool, for what concerns them all.
#[derive(Default)]
pub(super) struct OpenSessions(RefCell<Vec<Weak<Session>>>);

impl OpenSessions {
    fn add(&self, session: &Rc<Session>) {
        let mut sessions = self.0.borrow_mut();
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Rc::downgrade(session));
    }

    /// Lets go of the tables that earlier statements used, on all connections: one that is in use cannot be changed. Waits until that is
    /// done where nothing runs; elsewhere it is done when what runs has ended, and the server waits for that.
    pub(super) async fn release(&self) {
        let sessions: Vec<_> = self.0.borrow().iter().filter_map(Weak::upgrade).collect();
        for session in &sessions {
            session.outdated.set(true);
            session.release_when_idle();
        }
        // One whose transaction runs something is not waited for either.
        let is_quiet = |session: &&Rc<Session>| {
            session.users.get() == 0 && session.unanswered_since().is_none()
        };
        for session in sessions.iter().filter(is_quiet) {
            // One that is lost holds nothing any more.
            let _ = session.connection.ping().await;
        }
    }
}

/// A connection, and the transaction that has it.
pub(crate) struct Session {
    connection: Connection,
    pub(super) expiry: RefCell<Option<Weak<dyn Expiry>>>,
    /// Statements that run on it outside a transaction.
    users: Cell<usize>,
    /// It is to let go of the tables it used.
    release_due: Cell<bool>,
    /// Tables have changed since it was opened. The server keeps what a connection knew of them, and what it then says of a column
    /// that was dropped and added again is wrong: the next user gets another one.
    outdated: Cell<bool>,
    /// When unused transactions that are kept for statements that write were last looked for.
    spares_looked: Cell<Instant>,
}

impl Session {
    fn release_when_idle(&self) {
        self.release_due.set(self.users.get() > 0);
        if !self.release_due.get() {
            self.connection.forget_statements();
        }
    }

    /// Runs a statement with this effect outside a transaction. What may write is alone in one from the beginning, because code can hide that it
    /// was refused, and because what it did until then would be done twice.
    pub(super) async fn reply_to(
        &self,
        effect: StatementEffect,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Reply, Error> {
        match effect {
            StatementEffect::Read => self.connection.reply(sql, values).await,
            _ => self.connection.reply_alone(sql, values).await,
        }
    }

    /// Counts a statement for as long as it runs.
    pub(super) fn used(&self) -> InUse<'_> {
        self.users.set(self.users.get() + 1);
        InUse(self)
    }
}

/// A statement that runs outside a transaction.
pub(super) struct InUse<'a>(&'a Session);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.users.set(self.0.users.get() - 1);
        if self.0.release_due.get() {
            self.0.release_when_idle();
        }
    }
}

impl std::ops::Deref for Session {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl connections::Link for Link {
    type Connection = Rc<Session>;

    async fn open(&self) -> Result<Rc<Session>, ConnectFailure> {
        let connection = Connection::open(&self.connector).await;
        let connection = connection.map_err(|error| ConnectFailure {
            retryable: retryable(&error),
            reason: reason(&error).into(),
        })?;
        let session = Rc::new(Session {
            connection,
            expiry: RefCell::default(),
            users: Cell::new(0),
            release_due: Cell::new(false),
            outdated: Cell::new(false),
            spares_looked: Cell::new(Instant::now()),
        });
        self.opened.add(&session);
        Ok(session)
    }

    fn is_usable(&self, session: &Rc<Session>) -> bool {
        session.is_open() && !session.outdated.get()
    }

    fn is_clean(&self, session: &Rc<Session>) -> bool {
        session.is_open() && session.unanswered_since().is_none()
    }

    fn unanswered_since(&self, session: &Rc<Session>) -> Option<Instant> {
        session.unanswered_since()
    }

    fn silent_since(&self, session: &Rc<Session>) -> Option<Instant> {
        session.silent_since()
    }

    fn look_after(&self, session: &Rc<Session>) {
        if session.spares_looked.get().elapsed() >= SPARES {
            session.spares_looked.set(Instant::now());
            session.end_unused_spares();
        }
        // The server ends no idle transaction, so we do.
        let transaction = session.expiry.borrow().as_ref().and_then(Weak::upgrade);
        if let Some(transaction) = transaction {
            transaction.end_if_idle();
        }
    }

    async fn clean(&self, session: &Rc<Session>) {
        session.reset().await;
    }

    async fn ping(&self, session: &Rc<Session>) -> Result<(), ()> {
        session.connection.ping().await.map_err(drop)
    }

    fn end(&self, session: &Rc<Session>) {
        session.abort("the server did not answer in time");
    }
}

/// What went wrong, and what would help where the server does not say that.
fn reason(error: &Error) -> String {
    match error.server() {
        Some(said) if is_missing(said) => {
            format!("{error}; make the database with CREATE DATABASE, or name another in the URL")
        }
        _ => error.to_string(),
    }
}

/// The server's word for a file that is not there, or that it may not open.
fn is_missing(said: &ServerError) -> bool {
    said.has(GdsCode::IO)
}

/// Whether trying again can help: not when the server understood and refused.
fn retryable(error: &Error) -> Retryable {
    let known = match error {
        Error::Config { .. } => true,
        Error::Connect {
            cause: Cause::Plugin(_) | Cause::Unencrypted,
            ..
        } => true,
        other => other
            .server()
            .is_some_and(|said| said.sqlstate.as_str().starts_with("28") || is_missing(said)),
    };
    if known {
        Retryable::Permanent
    } else {
        Retryable::Transient
    }
}
