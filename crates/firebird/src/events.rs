//! Events: names that a transaction posts when it commits, told on a second connection. Interprets no name.
//! Rule: what is posted after `listen` has returned is told, with how often; several posts of one name may be told together.

use bytes::BytesMut;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tsumugi_firebird_proto::connection::Expect;
use tsumugi_firebird_proto::events::{self, Events};
use tsumugi_firebird_proto::request::EventId;

use crate::connection::{Connection, Creates};
use crate::error::{Error, Ran, Result};
use crate::limits::READ_BYTES_MIN;

/// The one request for events that a connection has.
const ID: EventId = EventId(1);

/// A name that was posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The name.
    pub name: String,
    /// How often since it was told last; at least 1.
    pub times: u32,
}

/// Listens for events, one listener a connection. Dropped, it listens no more.
pub struct EventListener {
    connection: Connection,
    stream: TcpStream,
    input: BytesMut,
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
        let events = Events::new(names)?;
        if self.0.listening.replace(true) {
            return Err(Error::Listening);
        }
        let turn = Turn(Some(self));
        let mut asked = self.ask(Creates::Nothing, |writer| {
            writer.ask(Expect::Response, |requests| {
                requests.connect_request(self.0.database);
                Ok(())
            })
        })?;
        let port = events::port(&asked.response().await?.data).map_err(Error::Protocol)?;
        let stream = self.0.connector.second(port).await?;
        let mut listener = EventListener {
            connection: turn.keep(),
            stream,
            input: BytesMut::new(),
            events,
        };
        listener.ask().await?;
        // What the server says first is where the counts stand.
        listener.told().await?;
        Ok(listener)
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
            connection.0.listening.set(false);
        }
    }
}

impl EventListener {
    /// The next names that were posted, at least one. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Lost`]: connect and listen again, and look at whatever the events are about.
    pub async fn next(&mut self) -> Result<Vec<Posted>> {
        loop {
            let posted = self.told().await?;
            if !posted.is_empty() {
                return Ok(posted);
            }
        }
    }

    /// Asks to be told of counts beyond those that are known.
    async fn ask(&self) -> Result<()> {
        let mut asked = self.write()?;
        asked.response().await.map(drop)
    }

    fn write(&self) -> Result<crate::connection::Asked> {
        let connection = &self.connection;
        connection.ask(Creates::Nothing, |writer| {
            writer.ask(Expect::Response, |requests| {
                requests.que_events(connection.0.database, &self.events.block(), ID)
            })
        })
    }

    /// What the server says next. It is asked again in the same turn, so that nothing is lost when the future is dropped.
    async fn told(&mut self) -> Result<Vec<Posted>> {
        loop {
            if let Some(told) = events::told(&mut self.input).map_err(Error::Protocol)? {
                let posted = self.events.told(&told).map_err(Error::Protocol)?;
                let posted = posted.into_iter().map(|posted| Posted {
                    name: posted.name.to_owned(),
                    times: posted.times,
                });
                let posted = posted.collect();
                drop(self.write()?);
                return Ok(posted);
            }
            self.input.reserve(READ_BYTES_MIN);
            let lost = |reason: String| Error::Lost {
                reason,
                ran: Ran::No,
            };
            match self.stream.read_buf(&mut self.input).await {
                Ok(0) => {
                    return Err(lost(
                        "the server closed the connection for events".to_owned(),
                    ));
                }
                Ok(_) => {}
                Err(error) => return Err(lost(error.to_string())),
            }
        }
    }
}

impl Drop for EventListener {
    fn drop(&mut self) {
        self.connection.0.listening.set(false);
        if self.connection.is_alive() {
            self.connection.tell(|writer| {
                writer.tell(Expect::Response, |requests| {
                    requests.cancel_events(self.connection.0.database, ID);
                    Ok(())
                })
            });
        }
    }
}
