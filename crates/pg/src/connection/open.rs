//! From a configuration to a connection that takes statements. How a host is found and how one logs in is [`crate::connect`]'s.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::{Behaviour, Cancel, Connection};
use crate::connect::Connector;
use crate::error::{Cause, Error, Result};

/// So many bits of a statement's number count statements; those above are random, so that no two connections use the same names.
const STATEMENT_BITS: u32 = 20;

impl Connection {
    /// Connects as `connector` is configured, and spawns the connection's task on this thread.
    ///
    /// # Errors
    /// [`Error::Connect`], [`Error::Hosts`].
    pub fn open(connector: &Connector) -> LocalBoxFuture<'_, Result<Connection>> {
        Connection::open_with(connector, Behaviour::of(connector.config()))
    }

    /// Like [`Connection::open`], behaving as the caller says.
    ///
    /// # Errors
    /// As there.
    pub fn open_with(
        connector: &Connector,
        behaviour: Behaviour,
    ) -> LocalBoxFuture<'_, Result<Connection>> {
        async move {
            let connected = connector.connect(&mut random).await?;
            let cancel = match connected.cancel {
                None => Cancel::impossible(),
                Some(canceller) => Cancel::new(move || {
                    let canceller = canceller.clone();
                    async move {
                        canceller.cancel().await.map_err(|error| match error {
                            Error::Connect {
                                cause: Cause::Timeout(_),
                                ..
                            } => std::io::ErrorKind::TimedOut.into(),
                            error => std::io::Error::other(error),
                        })
                    }
                }),
            };
            let connection = Connection::new(
                connected.stream,
                connected.leftover,
                &connected.session,
                cancel,
                behaviour,
            );
            let mut start = [0; 5];
            random(&mut start);
            let start = start
                .iter()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            let mut queue = connection.0.driver.queue.borrow_mut();
            queue.number_statements_from(start << STATEMENT_BITS);
            drop(queue);
            Ok(connection)
        }
        .boxed_local()
    }
}

fn random(bytes: &mut [u8]) {
    SystemRandom::new()
        .fill(bytes)
        .expect("the operating system gives random bytes");
}
