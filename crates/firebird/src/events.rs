//! Events: names that a transaction posts when it commits, reported on a second connection. Interprets no name.
//! Rule: what is posted after `listen` has returned is reported, with how often; several posts of one name may be reported together. The second
//! connection is opened once: a server that is asked for another while it loses the first answers without an address, or not at all.

use bytes::BytesMut;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::io::AsyncReadExt as _;
use tsumugi_firebird_proto::connection::Expect;
use tsumugi_firebird_proto::events::{self, Events};
use tsumugi_firebird_proto::request::EventId;

use crate::connection::Connection;
use crate::error::{Error, Result, StatementFate};
use crate::limits::READ_BYTES_MIN;
use crate::listening::EventChannel;

/// A name that was posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCount {
    /// The name of the event.
    pub name: String,
    /// How often since it was reported last; at least 1.
    pub times: u32,
}

/// Listens for events, one listener a connection. Dropped, it listens no more.
pub struct EventListener {
    connection: Connection,
    id: EventId,
    /// `None` when it is lost.
    channel: Option<EventChannel>,
    events: Events,
}

impl Connection {
    /// Listens for these names.
    ///
    /// # Errors
    /// [`Error::Listening`] when this connection does already; [`Error::Usage`] for names that cannot be; [`Error::Connect`] when the
    /// server's second port cannot be reached; [`Error::Server`], [`Error::Lost`].
    pub async fn listen(
        &self,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<EventListener> {
        self.listen_to(Events::new(names)?).await
    }

    fn listen_to(&self, events: Events) -> LocalBoxFuture<'_, Result<EventListener>> {
        async move {
            let listening = &self.0.driver.listening;
            if listening.busy.replace(true) {
                return Err(Error::Listening);
            }
            let turn = Turn(Some(self));
            let kept = listening.channel.take();
            let channel = match kept {
                Some(channel) => channel,
                None => self.event_channel().await?,
            };
            listening.last.set(listening.last.get().wrapping_add(1));
            let mut listener = EventListener {
                id: EventId(listening.last.get()),
                connection: turn.keep(),
                channel: Some(channel),
                events,
            };
            listener.ask().await?;
            // What the server says first is where the counts stand.
            listener.report().await?;
            Ok(listener)
        }
        .boxed_local()
    }

    /// Opens the second connection.
    async fn event_channel(&self) -> Result<EventChannel> {
        let mut asked = self.ask(|writer| {
            writer.ask(Expect::Response, |requests| {
                requests.connect_request(self.0.driver.database)
            })
        })?;
        let port = events::port(&asked.response().await?.data).map_err(Error::Protocol)?;
        Ok(EventChannel {
            stream: self.0.driver.connector.event_socket(port).await?,
            input: BytesMut::new(),
        })
    }
}

/// The right to listen, until a listener has it.
struct Turn<'a>(Option<&'a Connection>);

impl Turn<'_> {
    fn keep(mut self) -> Connection {
        self.0.take().expect("it is there until the end").clone()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.0 {
            connection.0.driver.listening.busy.set(false);
        }
    }
}

impl EventListener {
    /// The next names that were posted, at least one. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Lost`]: connect and listen again, and look at whatever the events are about.
    pub async fn next(&mut self) -> Result<Vec<EventCount>> {
        loop {
            let posted = self.report().await?;
            if !posted.is_empty() {
                return Ok(posted);
            }
        }
    }

    /// Asks for a report of counts beyond those that are known.
    async fn ask(&self) -> Result<()> {
        let mut asked = self.write()?;
        asked.response().await.map(drop)
    }

    fn write(&self) -> Result<crate::connection::Responses> {
        let connection = &self.connection;
        connection.ask(|writer| {
            writer.ask(Expect::Response, |requests| {
                requests.que_events(connection.0.driver.database, &self.events.block(), self.id)
            })
        })
    }

    /// What the server says next. It is asked again in the same turn, so that nothing is lost when the future is dropped.
    async fn report(&mut self) -> Result<Vec<EventCount>> {
        while let Some(channel) = &mut self.channel {
            if let Some(report) =
                events::next_report(&mut channel.input).map_err(Error::Protocol)?
            {
                if report.id != self.id {
                    // It was under way to a listener that has gone.
                    continue;
                }
                let posted = self.events.record(&report).map_err(Error::Protocol)?;
                let posted = posted.into_iter().map(|posted| EventCount {
                    name: posted.name.to_owned(),
                    times: posted.times,
                });
                let posted = posted.collect();
                drop(self.write()?);
                return Ok(posted);
            }
            channel.input.reserve(READ_BYTES_MIN);
            if !matches!(channel.stream.read_buf(&mut channel.input).await, Ok(1..)) {
                self.channel = None;
            }
        }
        Err(Error::Lost {
            reason: "the server closed the connection for events".to_owned(),
            ran: StatementFate::No,
        })
    }
}

impl Drop for EventListener {
    fn drop(&mut self) {
        let listening = &self.connection.0.driver.listening;
        listening.busy.set(false);
        listening.channel.replace(self.channel.take());
        if self.connection.is_alive() {
            self.connection.send_unawaited(|writer| {
                writer.ask_unawaited(Expect::Response, |requests| {
                    requests.cancel_events(self.connection.0.driver.database, self.id)
                })
            });
        }
    }
}
