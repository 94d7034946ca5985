//! LISTEN on a connection of its own that is opened again when it is lost. Interprets no payload.
//! Rule: the listener reports when notifications may have been missed, and how many did not fit into the queue.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::config::Pooler;
use crate::connect::Connector;
use crate::connection::{Connection, Event};
use crate::error::{Error, Result};
use crate::limits::{NOTIFICATIONS_MAX, RECONNECT_BACKOFF_MAX, RECONNECT_BACKOFF_MIN};

/// What a [`Listener`] receives.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerEvent {
    /// One of the channels was notified.
    Notification {
        /// The channel.
        channel: String,
        /// What was said; may be empty.
        payload: String,
        /// The server process that notified.
        process_id: u32,
    },
    /// The connection was lost and is there again, with all its channels. What was said in between was missed: look at whatever the
    /// notifications are about.
    Gap,
    /// So many notifications came while `NOTIFICATIONS_MAX` waited to be received, and were dropped.
    Dropped(u64),
}

/// Listens to channels.
///
/// ```no_run
/// # async fn listen(connector: tsumugi_pg::Connector) -> tsumugi_pg::Result<()> {
/// use tsumugi_pg::{ListenerEvent, Listener};
///
/// let mut listener = Listener::connect(connector).await?;
/// listener.listen("jobs").await?;
/// loop {
///     match listener.recv().await? {
///         ListenerEvent::Notification { payload, .. } => println!("job {payload}"),
///         ListenerEvent::Gap | ListenerEvent::Dropped(_) => println!("look for jobs in the table"),
///         _ => {}
///     }
/// }
/// # }
/// ```
pub struct Listener {
    connector: Rc<Connector>,
    channels: BTreeSet<String>,
    queue: Rc<Queue>,
    connection: Connection,
    /// On its way to another connection. Kept here, so that a dropped [`Listener::recv`] does not begin anew.
    opening: Option<Opening>,
    backoff: Duration,
}

type Opening = LocalBoxFuture<'static, Result<(Connection, Rc<Queue>)>>;

impl Listener {
    /// Opens a connection to listen on.
    ///
    /// # Errors
    /// As [`Connection::open`]; [`Error::Config`] behind a pooler that gives each transaction another session.
    pub fn connect(connector: Connector) -> LocalBoxFuture<'static, Result<Listener>> {
        async move {
            if connector.config().pooler == Pooler::Transaction {
                return Err(Error::Config {
                    key: "pooler".to_owned(),
                    reason: "LISTEN needs a session of its own: connect past the pooler".to_owned(),
                });
            }
            let connector = Rc::new(connector);
            let queue = Rc::new(Queue::default());
            let connection = open(&connector, &queue).await?;
            Ok(Listener {
                connector,
                channels: BTreeSet::new(),
                queue,
                connection,
                opening: None,
                backoff: Duration::ZERO,
            })
        }
        .boxed_local()
    }

    /// Listens to one more channel. Its name is taken as it is: unlike in SQL, capitals matter. While there is no connection it is
    /// only noted, and listened to with the others.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error::Usage`]; the channel is not listened to then.
    pub fn listen<'a>(&'a mut self, channel: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            self.run_or_defer("LISTEN", channel).await?;
            self.channels.insert(channel.to_owned());
            self.opening = None;
            Ok(())
        }
        .boxed_local()
    }

    /// Stops listening to a channel. What was said in it before may still be received.
    ///
    /// # Errors
    /// As [`Listener::listen`].
    pub fn unlisten<'a>(&'a mut self, channel: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            self.run_or_defer("UNLISTEN", channel).await?;
            self.channels.remove(channel);
            self.opening = None;
            Ok(())
        }
        .boxed_local()
    }

    /// The channels.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        self.channels.iter().map(String::as_str)
    }

    /// The connection, to ask other things on it, such as [`Connection::notify`]. After a loss it is another one.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The next event. If the connection is lost this opens another one, and tries for as long as that may help. Dropping the
    /// future loses nothing.
    ///
    /// # Errors
    /// When there is no connection and trying again at once will not help, such as after a wrong password. Calling it again
    /// tries again.
    pub fn recv(&mut self) -> LocalBoxFuture<'_, Result<ListenerEvent>> {
        async move {
            loop {
                if let Some(heard) = self.queue.pop() {
                    return Ok(heard);
                }
                if self.opening.is_none() && self.connection.is_alive() {
                    self.queue.changed().await;
                    continue;
                }
                let opening = self
                    .opening
                    .get_or_insert_with(|| reopen(&self.connector, &self.channels, self.backoff));
                let opened = opening.as_mut().await;
                self.opening = None;
                match opened {
                    Ok((connection, queue)) => {
                        self.connection = connection;
                        self.queue = queue;
                        self.backoff = Duration::ZERO;
                    }
                    Err(error) => {
                        self.backoff =
                            (self.backoff * 2).clamp(RECONNECT_BACKOFF_MIN, RECONNECT_BACKOFF_MAX);
                        tracing::debug!(target: "tsumugi_pg", %error, "cannot listen");
                        if !(matches!(error, Error::Lost { .. }) || error.is_about_one_host()) {
                            return Err(error);
                        }
                    }
                }
            }
        }
        .boxed_local()
    }

    async fn run_or_defer(&self, word: &str, channel: &str) -> Result<()> {
        match self.connection.script(&statement(word, channel)).await {
            // It is done with the next connection.
            Err(Error::Lost { .. }) => Ok(()),
            outcome => outcome,
        }
    }
}

impl Connection {
    /// Notifies all who listen to `channel`, when the transaction is committed that is open, if one is.
    ///
    /// # Errors
    /// As [`Connection::query`]; the server takes up to 8,000 bytes of payload.
    pub fn notify<'a>(
        &'a self,
        channel: &'a str,
        payload: &'a str,
    ) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            let values = [channel, payload];
            let notified = self.query("select pg_notify($1, $2)", &values).await;
            notified.map(drop)
        }
        .boxed_local()
    }
}

async fn open(connector: &Connector, queue: &Rc<Queue>) -> Result<Connection> {
    let connection = Connection::open(connector).await?;
    let queue = Rc::clone(queue);
    connection.observe(move |event| match event {
        Event::Notification {
            process_id,
            channel,
            payload,
        } => queue.push(ListenerEvent::Notification {
            channel,
            payload,
            process_id,
        }),
        Event::Ended => queue.wake(),
        Event::Notice(notice) => tracing::debug!(target: "tsumugi_pg", "{notice}"),
        Event::Parameter { .. } => {}
    });
    Ok(connection)
}

/// Another connection with the same channels. Its queue begins with the gap, which is reported once it listens.
fn reopen(connector: &Rc<Connector>, channels: &BTreeSet<String>, backoff: Duration) -> Opening {
    let connector = Rc::clone(connector);
    let listen: Vec<String> = channels
        .iter()
        .map(|channel| statement("LISTEN", channel))
        .collect();
    Box::pin(async move {
        tokio::time::sleep(backoff).await;
        let queue = Rc::new(Queue::default());
        queue.push(ListenerEvent::Gap);
        let connection = open(&connector, &queue).await?;
        connection.script(&listen.join(";")).await?;
        Ok((connection, queue))
    })
}

fn statement(word: &str, channel: &str) -> String {
    format!("{word} \"{}\"", channel.replace('"', "\"\""))
}

/// Events that were not received yet.
#[derive(Default)]
struct Queue(RefCell<Waiting>);

#[derive(Default)]
struct Waiting {
    heard: VecDeque<ListenerEvent>,
    waker: Option<Waker>,
}

impl Queue {
    fn push(&self, heard: ListenerEvent) {
        let mut waiting = self.0.borrow_mut();
        if waiting.heard.len() < NOTIFICATIONS_MAX {
            waiting.heard.push_back(heard);
        } else if let Some(ListenerEvent::Dropped(count)) = waiting.heard.back_mut() {
            *count += 1;
        } else {
            waiting.heard.push_back(ListenerEvent::Dropped(1));
        }
        drop(waiting);
        self.wake();
    }

    fn wake(&self) {
        let waker = self.0.borrow_mut().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn pop(&self) -> Option<ListenerEvent> {
        self.0.borrow_mut().heard.pop_front()
    }

    /// Resolves at the next change.
    async fn changed(&self) {
        let mut waited = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut waited, true) && self.0.borrow().waker.is_none() {
                return Poll::Ready(());
            }
            self.0.borrow_mut().waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
