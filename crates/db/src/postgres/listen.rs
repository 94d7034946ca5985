//! Listening: a connection beside the pool's, for as long as a listener is there. Interprets no payload. A connection
//! that was lost is opened again by the driver's listener.
//! Rule: listeners are counted, because each costs the server a connection that the pool's limit does not see.

use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use super::backend::{Inner, Postgres};
use crate::error::{Error, FailedStatement, Result};
use crate::limits::LISTENERS_MAX;
use crate::log::opaque;
use crate::server::{Limits, Pool};

/// Receives notifications. Dropped, its connection is closed.
pub struct Listener {
    listener: tsumugi_pg::Listener,
    place: ListenerSlot,
}

/// What a [`Listener`] receives.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerEvent {
    /// A notification came.
    Notification {
        /// The channel.
        channel: String,
        /// May be empty.
        payload: String,
        /// The server's process for the connection that sent it.
        process_id: u32,
    },
    /// The connection had been lost, or more came than may wait: notifications may have been missed.
    Gap,
}

/// One of the places for listeners, free again when it is dropped.
struct ListenerSlot(Rc<Inner>);

impl Drop for ListenerSlot {
    fn drop(&mut self) {
        let listeners = &self.0.backend.listeners;
        listeners.set(listeners.get() - 1);
    }
}

impl Pool<Postgres> {
    pub(crate) async fn listen(&self, channels: &[String]) -> Result<Listener> {
        if self.inner().backend.limits == Limits::Client {
            return Err(Error::unsupported(
                "a pooler in transaction mode",
                "LISTEN: connect past it",
            ));
        }
        let place = self.place()?;
        let connector = self.inner().backend.connector.clone();
        let failed = |error| place.0.error("LISTEN", error);
        let listener = tsumugi_pg::Listener::connect(connector).await;
        let mut listener = listener.map_err(failed)?;
        for channel in channels {
            listener.listen(channel).await.map_err(failed)?;
        }
        Ok(Listener { listener, place })
    }

    fn place(&self) -> Result<ListenerSlot> {
        let listeners = &self.inner().backend.listeners;
        if listeners.get() >= LISTENERS_MAX {
            return Err(Error::queue_full(
                "listeners_max",
                LISTENERS_MAX,
                FailedStatement::none(),
            ));
        }
        listeners.set(listeners.get() + 1);
        Ok(ListenerSlot(Rc::clone(self.inner())))
    }
}

impl Listener {
    /// Takes an advisory lock of this number in the listener's session, and waits for it where another one has it. The server lets it go when the
    /// connection is lost, whatever has become of this process: after [`ListenerEvent::Gap`] it is to be taken again. No limit of time: drop the future to
    /// give up.
    ///
    /// # Errors
    /// [`Error::Unreachable`] and what the server says.
    pub fn lock(&self, number: i64) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let sql = format!("select pg_advisory_lock({number})");
            let locked = self.listener.connection().script(&sql).await;
            locked.map_err(|error| self.place.0.error("pg_advisory_lock", error))
        }
        .boxed_local()
    }

    /// Lets a lock go that [`Listener::lock`] has taken in this session; of one that it does not hold the server only says so in its log. No limit of time: drop
    /// the future to give up.
    ///
    /// # Errors
    /// As [`Listener::lock`].
    pub fn unlock(&self, number: i64) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let sql = format!("select pg_advisory_unlock({number})");
            let unlocked = self.listener.connection().script(&sql).await;
            unlocked.map_err(|error| self.place.0.error("pg_advisory_unlock", error))
        }
        .boxed_local()
    }

    /// Asks the listener's session for nothing, so that nothing on the way takes it for idle. No limit of time: drop the future to give up.
    ///
    /// # Errors
    /// [`Error::Unreachable`] where the connection is lost.
    pub fn check(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let checked = self.listener.connection().script("select 1").await;
            checked.map_err(|error| self.place.0.error("select 1", error))
        }
        .boxed_local()
    }

    /// What came next. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Unreachable`] when the server understood and refused; otherwise a lost connection is opened again.
    pub fn recv(&mut self) -> LocalBoxFuture<'_, Result<ListenerEvent>> {
        async move {
            let heard = self.listener.recv().await;
            let pool = &self.place.0;
            match heard.map_err(|error| pool.error("LISTEN", error))? {
                tsumugi_pg::ListenerEvent::Notification {
                    channel,
                    payload,
                    process_id,
                } => Ok(ListenerEvent::Notification {
                    channel,
                    payload,
                    process_id,
                }),
                // A gap in time or in the queue: either way something may be missing.
                _ => Ok(ListenerEvent::Gap),
            }
        }
        .boxed_local()
    }
}

opaque!(Listener);
