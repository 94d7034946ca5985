//! From a configuration to a connection that takes statements, and back: databases made and dropped. How one logs in is `connect`'s.
//! Rule: the connection's task runs on the thread that opened it.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use ring::rand::{SecureRandom as _, SystemRandom};
use tsumugi_firebird_proto::connection::Expect;

use super::Connection;
use super::driver::FirebirdDriver;
use crate::connect::{Connector, Creation, Opening};
use crate::error::Result;

impl Connection {
    /// Connects as `connector` is configured, and spawns the connection's task on this thread, whose runtime must be one for futures
    /// that are not `Send`.
    ///
    /// # Errors
    /// [`Error::Connect`](crate::Error::Connect).
    pub fn open(connector: &Connector) -> LocalBoxFuture<'_, Result<Connection>> {
        async move {
            let connection = Connection::opened(connector, Opening::Attach).await?;
            connection.automatic().await?;
            Ok(connection)
        }
        .boxed_local()
    }

    /// Creates the database that `connector` names and connects to it.
    ///
    /// # Errors
    /// As [`Connection::open`]; the server refuses when there is such a file.
    pub fn create<'a>(
        connector: &'a Connector,
        creation: &'a Creation,
    ) -> LocalBoxFuture<'a, Result<Connection>> {
        Connection::opened(connector, Opening::Create(creation)).boxed_local()
    }

    async fn opened(connector: &Connector, opening: Opening<'_>) -> Result<Connection> {
        let mut secret = [0; 32];
        SystemRandom::new()
            .fill(&mut secret)
            .expect("the operating system gives random bytes");
        let (stream, session) = connector.connect(opening, secret).await?;
        let driver = FirebirdDriver::new(connector, session.database, session.version);
        let handle = tsumugi_wire::start(driver, stream, session.layers, session.input);
        Ok(Connection(handle))
    }

    /// Deletes the database and ends the connection. No other connection to it may be open.
    ///
    /// # Errors
    /// [`Error::Server`](crate::Error::Server), [`Error::Lost`](crate::Error::Lost).
    pub fn drop_database(self) -> LocalBoxFuture<'static, Result<()>> {
        async move {
            self.forget_statements();
            self.end(self.take_spares());
            let mut asked = self.ask(|writer| {
                if let Some(transaction) = self.forget_automatic() {
                    writer.register_commit(transaction)?;
                }
                writer.ask(Expect::Response, |requests| {
                    requests.drop_database(self.0.driver.database)
                })
            })?;
            asked.response().await?;
            self.abort("the database was dropped");
            Ok(())
        }
        .boxed_local()
    }
}
