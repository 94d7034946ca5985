//! One connection, used by many callers at once: each writes its request and awaits its own answer. Knows no SQL.
//! Everything stays on one thread. The task that sends and reads, and the slots where replies wait, are those of `tsumugi_wire`; what it has to
//! know of PostgreSQL is in `driver`. Rule: a caller that leaves never disturbs the others; its answer is thrown away.

mod answer;
mod behaviour;
mod cancel;
mod driver;
mod event;
mod open;

use bytes::BytesMut;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tsumugi_pg_proto::Session;
use tsumugi_pg_proto::backend::TransactionStatus;
use tsumugi_pg_proto::connection::{Request, Shape};
use tsumugi_wire::{Delivery, Loss, PipelineRef, Protocol as _, Replies};

use self::driver::PostgresDriver;
use crate::error::{Error, Result};
use crate::limits;

pub use self::answer::{Answer, Part, Parts};
pub use self::behaviour::{Behaviour, Pooling};
pub use self::cancel::Cancel;
pub(crate) use self::driver::ServerReply;
pub use self::event::Event;
pub(crate) use tsumugi_wire::{FlushMode, Ticket};

/// Why a connection ends whose COMMIT is not answered.
const STANDBY_GONE: &str = "the answer to a COMMIT did not come in time";

/// A connection. Clones are the same connection; it ends when the last one has gone and no answer is awaited.
#[derive(Clone)]
pub struct Connection(pub(crate) PipelineRef<PostgresDriver>);

impl Connection {
    /// Takes over a stream after start-up; `leftover` is what was read beyond it. Spawns the connection's task on the
    /// current thread's runtime, which must be one for futures that are not `Send`.
    pub fn new<S>(
        stream: S,
        leftover: BytesMut,
        session: &Session,
        cancel: Cancel,
        behaviour: Behaviour,
    ) -> Connection
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let driver = PostgresDriver::new(session, cancel, behaviour);
        Connection(tsumugi_wire::start(driver, stream, (), leftover))
    }

    /// Whether statements can be sent.
    pub fn is_open(&self) -> bool {
        self.0.is_open() && self.0.driver.queue.borrow().fatal().is_none()
    }

    /// What the last answer said about the session's transaction.
    pub fn status(&self) -> TransactionStatus {
        self.0.driver.queue.borrow().status()
    }

    /// How many answers are awaited.
    pub fn awaited(&self) -> usize {
        self.0.driver.awaited()
    }

    /// Since when the oldest request has been waiting for its answer.
    pub fn unanswered_since(&self) -> Option<Instant> {
        self.0.unanswered_since()
    }

    /// Since when the server has owed an answer without a byte going in either direction. It owes none while it waits for its
    /// client, as for a caller who reads rows slowly. As exact as this is called often.
    pub fn silent_since(&self) -> Option<Instant> {
        self.0.silent_since()
    }

    /// A setting that the server reports, such as `server_version`, `server_encoding` or `TimeZone`, as it is now.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let queue = self.0.driver.queue.borrow();
        queue.parameters().value(name).map(str::to_owned)
    }

    /// Whether a setting that the server reports has this value.
    pub(crate) fn parameter_is(&self, name: &str, value: &str) -> bool {
        let queue = self.0.driver.queue.borrow();
        queue.parameters().value(name) == Some(value)
    }

    /// All settings that the server reports, with their values as they are now.
    pub fn parameters(&self) -> Vec<(String, String)> {
        let queue = self.0.driver.queue.borrow();
        let known = queue.parameters().iter();
        known
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// Calls `observer` for what comes unasked: notifications, notices, changed settings. It replaces an earlier one.
    pub fn observe(&self, observer: impl FnMut(Event) + 'static) {
        self.0.driver.observer.set(observer);
    }

    /// Waits until the answers to everything sent so far have come, and leaves a transaction that is open. Afterwards the
    /// connection is clean, or it has ended.
    pub fn reset(&self) -> LocalBoxFuture<'_, ()> {
        async move {
            let mut is_clean = self.is_reset_in_time().await;
            if !is_clean && self.is_alive() && self.0.driver.is_committing() {
                tsumugi_wire::interrupt(&self.0, STANDBY_GONE).await;
                is_clean = self.is_reset_in_time().await;
            }
            if !is_clean {
                self.0.lose(Loss::unclean());
            }
            // What the next user has open is nobody else's.
            self.0.driver.orphaned.set(false);
        }
        .boxed_local()
    }

    async fn is_reset_in_time(&self) -> bool {
        let reset = async {
            self.0.settled().await;
            if self.status() != TransactionStatus::Idle && self.is_alive() {
                self.simple("ROLLBACK")?.await?;
            }
            Ok::<(), Error>(())
        };
        let done = tokio::time::timeout(limits::RESET_TIMEOUT, reset).await;
        matches!(done, Ok(Ok(()))) && self.status() == TransactionStatus::Idle
    }

    /// Ends the connection; callers that wait for an answer get an error with this reason.
    pub fn abort(&self, reason: &'static str) {
        self.0.lose(Loss::aborted(reason));
    }

    /// Ends the connection of a server that owes an answer and does not give it; callers that wait get an error with this reason. Where a COMMIT is
    /// awaited the server is asked first to stop waiting for its synchronous standbys, and gets [`CANCEL_TIMEOUT`](limits::CANCEL_TIMEOUT) for its answer,
    /// which is [`Error::Unreplicated`] then: its backend would else wait on without us.
    pub fn end_unanswered(&self, reason: &'static str) {
        let driver = &self.0.driver;
        if !driver.is_committing() || tokio::runtime::Handle::try_current().is_err() {
            return self.abort(reason);
        }
        if driver.interrupts.replace(true) {
            return;
        }
        let wire = self.0.clone();
        tokio::task::spawn_local(async move {
            tsumugi_wire::interrupt(&wire, reason).await;
            wire.driver.interrupts.set(false);
        });
    }

    /// Asks the server to stop what it still runs for this connection, if it is lost. For a COMMIT that was on its way then: others are stopped
    /// without this.
    pub fn stop_lost_commit(&self) {
        if !self.is_alive() {
            self.0.driver.stop_after_loss();
        }
    }

    /// Throws away the state of the session: settings, temporary tables, locks, subscriptions, prepared statements.
    /// Afterwards the connection is as new, or it has ended.
    pub fn discard(&self) -> LocalBoxFuture<'_, ()> {
        async move {
            self.0.driver.cache.borrow_mut().clear();
            self.0.driver.xact.forget_session();
            let discarded = async { self.simple("DISCARD ALL")?.await };
            match tokio::time::timeout(limits::RESET_TIMEOUT, discarded).await {
                Ok(Ok(reply)) if reply.error.is_none() => {}
                _ => self.0.lose(Loss::unclean()),
            }
        }
        .boxed_local()
    }

    /// Sends a statement without values whose answer no caller waits for, before whatever is asked next: at once, or as soon as the rows or
    /// COPY data that are on their way have ended or were dropped. If it cannot be sent then, the connection ends instead.
    pub fn send_unawaited(&self, sql: &str) {
        PostgresDriver::send_unawaited(&self.0, sql);
    }

    /// Leaves the transaction that is open, or will be once what was sent has run. As with [`Connection::send_unawaited`] no caller waits for the
    /// answer.
    pub(crate) fn leave_transaction(&self) {
        self.0.driver.orphaned.set(true);
        self.0.driver.xact.end();
        self.send_unawaited("ROLLBACK");
    }

    /// A transaction is begun, whose owner sees to its end.
    pub(crate) fn enter_transaction(&self) {
        self.0.driver.orphaned.set(false);
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    /// Asks by the simple protocol, which takes several statements and no values.
    pub(crate) fn simple(&self, sql: &str) -> Result<Answer> {
        self.ask(1, FlushMode::Now, |request, ticket| {
            Ok(request.query(sql, ticket, Shape::Whole)?)
        })
    }

    /// Writes one request and awaits its whole answer.
    pub(crate) fn ask(
        &self,
        requests: u32,
        flush: FlushMode,
        write: impl FnMut(Request<'_, Ticket>, Ticket) -> Result<()>,
    ) -> Result<Answer> {
        let (replies, ticket) = Replies::open(&self.0, Delivery::Whole);
        PostgresDriver::write(&self.0, ticket, requests, flush, write)?;
        Ok(Answer::new(replies))
    }

    /// Writes one request and awaits its answer message by message.
    pub(crate) fn ask_parts(
        &self,
        write: impl FnMut(Request<'_, Ticket>, Ticket) -> Result<()>,
    ) -> Result<Parts> {
        let (replies, ticket) = Replies::open(&self.0, Delivery::Pieces);
        PostgresDriver::write(&self.0, ticket, 1, FlushMode::Now, write)?;
        Ok(Parts::new(replies))
    }

    /// Gives up the COPY that was asked for last.
    pub(crate) fn give_copy_up(&self) {
        let given_up = self.0.append(|out| {
            let mut queue = self.0.driver.queue.borrow_mut();
            queue.copy_give_up(out, "the caller gave it up")
        });
        debug_assert!(given_up.is_ok(), "the newest request is a COPY");
    }

    /// Waits until the buffer for what is to be sent has room, so that it stays bounded when the server does not read.
    pub(crate) async fn room(&self) {
        self.0.room().await;
    }
}
