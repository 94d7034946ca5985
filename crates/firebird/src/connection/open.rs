//! From a configuration to a connection that takes statements, and back: databases made and dropped. How one logs in is `connect`'s.
//! Rule: the connection's task runs on the thread that opened it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::Instant;
use tsumugi_firebird_proto::connection::{Connection as Protocol, Expect};

use super::outbox::Outbox;
use super::pump::Pump;
use super::{Connection, Shared};
use crate::automatic::Automatic;
use crate::cache::Cache;
use crate::connect::{Connector, Creation, Opening};
use crate::error::Result;
use crate::events::Listening;
use crate::single::Singles;

impl Connection {
    /// Connects as `connector` is configured, and spawns the connection's task on this thread, whose runtime must be one for futures
    /// that are not `Send`.
    ///
    /// # Errors
    /// [`Error::Connect`](crate::Error::Connect), [`Error::Timeout`](crate::Error::Timeout).
    pub async fn open(connector: &Connector) -> Result<Connection> {
        let connection = Connection::opened(connector, Opening::Attach).await?;
        connection.automatic().await?;
        Ok(connection)
    }

    /// Creates the database that `connector` names and connects to it.
    ///
    /// # Errors
    /// As [`Connection::open`]; the server refuses when there is such a file.
    pub async fn create(connector: &Connector, creation: &Creation) -> Result<Connection> {
        Connection::opened(connector, Opening::Create(creation)).await
    }

    async fn opened(connector: &Connector, opening: Opening<'_>) -> Result<Connection> {
        let mut secret = [0; 32];
        SystemRandom::new()
            .fill(&mut secret)
            .expect("the operating system gives random bytes");
        let (stream, session) = connector.connect(opening, secret).await?;
        let shared = Rc::new(Shared {
            database: session.database,
            version: session.version,
            connector: connector.clone(),
            protocol: RefCell::new(Protocol::new()),
            out: RefCell::new(Outbox::new()),
            slots: RefCell::default(),
            expected: RefCell::default(),
            moved: Cell::new(0),
            progress: Cell::new((0, Instant::now())),
            pump: Cell::new(None),
            rung: Cell::new(true),
            room: RefCell::default(),
            held: Cell::new(false),
            cancelling: Cell::new(false),
            watching_abandoned: Cell::new(false),
            closing: Cell::new(false),
            lost: RefCell::new(None),
            listening: Listening::default(),
            cache: RefCell::new(Cache::new(connector.config().statement_cache)),
            unused: RefCell::default(),
            ends: RefCell::default(),
            automatic: Automatic::default(),
            single: Singles::default(),
        });
        let pump = Pump::new(stream, session.layers, session.input, Rc::clone(&shared));
        tokio::task::spawn_local(pump);
        Ok(Connection(shared))
    }

    /// Deletes the database and ends the connection. Nobody else may be connected to it.
    ///
    /// # Errors
    /// [`Error::Server`](crate::Error::Server), [`Error::Lost`](crate::Error::Lost).
    pub async fn drop_database(self) -> Result<()> {
        self.forget_statements();
        self.end(self.take_spares());
        let mut asked = self.ask(|writer| {
            if let Some(transaction) = self.forget_automatic() {
                writer.tell_commit(transaction)?;
            }
            writer.ask(Expect::Response, |requests| {
                requests.drop_database(self.0.database);
                Ok(())
            })
        })?;
        asked.response().await?;
        self.abort("the database was dropped");
        Ok(())
    }
}
