//! What the pool needs of PostgreSQL connections: how they are opened, whether they are clean, how they become so.
//! Rule: a session that was changed is discarded before the next user has it; one that cannot be is closed.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use tokio::time::{Instant, timeout};
use tsumugi_pg::connection::{Behaviour, Event};
use tsumugi_pg::{Cause, Connection, Connector, Error, LogPosition, StandbyState, may_write};
use tsumugi_pg_proto::TransactionStatus;

use super::write_notes::{PendingWrite, WriteNotes};
use crate::limits::REPLICA_CHECK;
use crate::server::connections::{self, ConnectFailure, Retryable};

/// Opens and judges connections.
pub(crate) struct Link {
    pub(super) connector: Connector,
    pub(super) behaviour: Behaviour,
    pub(super) role: ServerRole,
}

/// What the server of a pool is among those of its database.
#[derive(Clone)]
pub(super) enum ServerRole {
    /// It has no replicas that are known here.
    Alone,
    /// It has replicas, and what is written is noted here.
    Primary(Rc<WriteNotes>),
    /// It is one.
    Replica,
}

/// A connection, and what was done to its session.
pub(crate) struct Session {
    pub(super) connection: Connection,
    /// A setting was changed, a channel is listened to, or something else was left behind.
    pub(super) changed: Cell<bool>,
    /// The script that ran last ended the transaction it ran in, or began one.
    pub(super) script_left_transaction: Cell<bool>,
    /// The server watches over no `statement_timeout` here, because for it all batches of a stream are one statement.
    timeless: Cell<bool>,
    /// Settings that are not as they were when the connection was opened, of those that the server reports.
    differing_settings: Rc<Cell<usize>>,
    role: ServerRole,
    /// How far a replica has come at least.
    replayed: Cell<Option<LogPosition>>,
    /// When a replica was last asked for its timeline.
    looked_at: Cell<Option<Instant>>,
}

impl Session {
    fn new(connection: Connection, role: ServerRole) -> Session {
        let differing_settings = Rc::new(Cell::new(0));
        let counted = Rc::clone(&differing_settings);
        let at_first = connection.parameters();
        let mut differing = BTreeSet::new();
        connection.observe(move |event| match event {
            // What a promoted server says about itself is no doing of a session.
            Event::Parameter { name, .. } if name == "in_hot_standby" => {}
            Event::Parameter { name, value } => {
                let same = at_first
                    .iter()
                    .any(|(known, first)| *known == name && *first == value);
                if same {
                    differing.remove(&name);
                } else {
                    differing.insert(name);
                }
                counted.set(differing.len());
            }
            Event::Notice(notice) => tracing::debug!(target: "tsumugi_pg", "{notice}"),
            _ => {}
        });
        Session {
            connection,
            changed: Cell::new(false),
            script_left_transaction: Cell::new(false),
            timeless: Cell::new(false),
            differing_settings,
            role,
            replayed: Cell::new(None),
            looked_at: Cell::new(None),
        }
    }

    /// Something that may write is about to be sent, where the database has replicas.
    pub(super) fn begin_write(&self) -> Option<PendingWrite> {
        match &self.role {
            ServerRole::Primary(notes) => notes.begin_write(),
            ServerRole::Alone | ServerRole::Replica => None,
        }
    }

    /// The same of a statement, if it may write.
    pub(super) fn begin_statement(&self, sql: &str) -> Option<PendingWrite> {
        match &self.role {
            ServerRole::Primary(notes) if may_write(sql) => notes.begin_write(),
            _ => None,
        }
    }

    /// What was sent alone has ended, or a commit has.
    pub(super) fn end_write<T>(
        &self,
        write: Option<PendingWrite>,
        outcome: &tsumugi_pg::Result<T>,
    ) {
        let Some(write) = write else { return };
        match outcome {
            Ok(_) if self.status() == TransactionStatus::Idle => {
                write.written(self.log_position());
            }
            // In a transaction the commit counts.
            Ok(_) => write.nothing_written(),
            // What was refused has written nothing.
            Err(Error::Server(_) | Error::RolledBack) => write.nothing_written(),
            Err(_) => drop(write),
        }
    }

    /// Several statements have run here, or data were copied. Where that may have left something behind, the server is asked how far its log is.
    pub(super) async fn end_several<T>(
        &self,
        write: Option<PendingWrite>,
        outcome: tsumugi_pg::Result<T>,
    ) -> tsumugi_pg::Result<T> {
        if let Some(write) = write {
            if self.status() == TransactionStatus::Idle {
                let position = self.learn_log_position().await.ok().flatten();
                write.written(position);
            } else {
                write.nothing_written();
            }
        }
        outcome
    }

    /// Asks a replica how far it has come, and on which timeline.
    pub(super) async fn look_at_replica(&self) -> tsumugi_pg::Result<Option<StandbyState>> {
        self.looked_at.set(Some(Instant::now()));
        let state = self.standby_state().await?;
        if let Some(replayed) = state.as_ref().and_then(|state| state.replayed) {
            self.note_replayed(replayed);
        }
        Ok(state)
    }

    /// The same, unless it was asked just now.
    pub(super) async fn look_again(&self) {
        let is_due = |at: Instant| at.elapsed() >= REPLICA_CHECK;
        if self.looked_at.get().is_none_or(is_due) {
            // What cannot be asked is not known to have come any further.
            let _ = timeout(REPLICA_CHECK, self.look_at_replica()).await;
        }
    }

    /// How far a replica has come at least.
    pub(super) fn known_replayed(&self) -> Option<LogPosition> {
        self.replayed.get()
    }

    pub(super) fn note_replayed(&self, position: LogPosition) {
        let known = self.replayed.get().unwrap_or(position);
        self.replayed.set(Some(LogPosition {
            timeline: known.timeline.max(position.timeline),
            lsn: known.lsn.max(position.lsn),
        }));
    }

    /// Tells the server not to watch over the time of statements, until the connection is given back.
    pub(super) async fn lift_limit(&self) -> tsumugi_pg::Result<()> {
        self.timeless.set(true);
        self.script("SET statement_timeout = 0").await
    }

    /// Whether the time of statements is watched on this side alone.
    pub(super) fn is_timeless(&self) -> bool {
        self.timeless.get()
    }

    /// Whether a statement on this shared connection left a transaction open. No other caller gets the connection after that, nor after a
    /// setting was changed, which only the log reports: what the statement did besides stands.
    pub(super) fn is_left_changed(&self) -> bool {
        if self.differing_settings.get() > 0 && !self.changed.replace(true) {
            tracing::warn!(
                target: "tsumugi_db",
                "a statement changed a setting of a shared connection's session, so the connection is closed; change settings on a \
                 connection of your own, or by SET LOCAL in a transaction"
            );
        }
        let left = self.status() != TransactionStatus::Idle;
        self.changed.set(self.changed.get() || left);
        left
    }
}

impl std::ops::Deref for Session {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl connections::Link for Link {
    type Connection = Session;

    async fn open(&self) -> Result<Session, ConnectFailure> {
        let connection = Connection::open_with(&self.connector, self.behaviour).await;
        let connection = connection.map_err(|error| ConnectFailure {
            retryable: retryable(&error),
            reason: reason(&error, &self.connector.config().database).into(),
        })?;
        let session = Session::new(connection, self.role.clone());
        if matches!(self.role, ServerRole::Replica) {
            let state = timeout(REPLICA_CHECK, session.look_at_replica()).await;
            if session.known_replayed().is_none() {
                let why = match state {
                    Ok(Ok(_)) => "it is no standby, or does not say how far it is".to_owned(),
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "it did not answer in time".to_owned(),
                };
                return Err(ConnectFailure {
                    retryable: Retryable::Transient,
                    reason: why.into(),
                });
            }
        }
        Ok(session)
    }

    fn is_usable(&self, session: &Session) -> bool {
        session.is_open()
            && session.status() == TransactionStatus::Idle
            && !session.changed.get()
            && session.differing_settings.get() == 0
            && !session.timeless.get()
    }

    fn is_clean(&self, session: &Session) -> bool {
        self.is_usable(session) && session.awaited() == 0
    }

    fn unanswered_since(&self, session: &Session) -> Option<Instant> {
        session.unanswered_since()
    }

    fn silent_since(&self, session: &Session) -> Option<Instant> {
        session.silent_since()
    }

    async fn clean(&self, session: &Session) {
        session.reset().await;
        let changed = session.changed.get() || session.differing_settings.get() > 0;
        if changed && session.is_open() {
            session.discard().await;
            session.changed.set(!session.is_open());
        } else if session.timeless.get()
            && session.is_open()
            && session.script("RESET statement_timeout").await.is_err()
        {
            session.abort("its limit could not be set again");
        }
        session.timeless.set(!session.is_open());
    }

    async fn ping(&self, session: &Session) -> Result<(), ()> {
        session.script("").await.map_err(drop)
    }

    fn end(&self, session: &Session) {
        session.end_unanswered("the server did not answer in time");
    }
}

/// What went wrong, and what would help where the server does not say that.
fn reason(error: &Error, database: &str) -> String {
    let missing = matches!(error, Error::Connect { cause: Cause::Startup(tsumugi_pg_proto::Error::Server(reported)), .. }
        if reported.code.as_str() == "3D000");
    if missing {
        format!("{error}; make it with `createdb {database}`, or name another in the URL")
    } else {
        error.to_string()
    }
}

/// Whether trying again can help: not when the server understood and refused.
fn retryable(error: &Error) -> Retryable {
    match error {
        Error::Config { .. } => Retryable::Permanent,
        Error::Connect { cause, .. } => of_cause(cause),
        Error::Hosts(errors)
            if errors
                .iter()
                .all(|error| retryable(error) == Retryable::Permanent) =>
        {
            Retryable::Permanent
        }
        _ => Retryable::Transient,
    }
}

fn of_cause(cause: &Cause) -> Retryable {
    match cause {
        Cause::PasswordMissing(_) | Cause::Configuration(_) => Retryable::Permanent,
        Cause::Startup(tsumugi_pg_proto::Error::Server(error)) => {
            // Invalid authorization, no such database, no such role.
            let code = error.code.as_str();
            if code.starts_with("28") || code == "3D000" {
                Retryable::Permanent
            } else {
                Retryable::Transient
            }
        }
        Cause::Startup(tsumugi_pg_proto::Error::Refused(_)) => Retryable::Permanent,
        _ => Retryable::Transient,
    }
}

/// A connection that one caller has, with what is open on it.
pub(crate) type ExclusiveConnection = Rc<connections::Exclusive<Link>>;
