//! A request to cancel what runs on a connection: a new socket to the same server, encrypted as the first one was.
//! It cannot name a statement, only a connection: the caller sees to it that the right statement runs there.
//! Rule: it is done when the server has closed the socket; before that the signal may still be on its way.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use bytes::BytesMut;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tsumugi_pg_proto::{CancelKey, Refusal, frontend};

use super::address::Address;
use super::{attempt, limited, socket};
use crate::config::{Config, Host, SslNegotiation};
use crate::error::{Cause, Error};
use crate::phase::Phase;
use crate::tls::Tls;

/// Cancels what runs on one connection.
#[derive(Clone)]
pub struct Canceller {
    pub(super) config: Rc<Config>,
    pub(super) host: Host,
    pub(super) address: Address,
    /// Set when the connection is encrypted.
    pub(super) tls: Option<Tls>,
    pub(super) key: CancelKey,
}

impl Canceller {
    /// The process that serves the connection.
    pub fn process_id(&self) -> u32 {
        self.key.process_id
    }

    /// Sends the request and waits until the server has taken it, at most `connect_timeout`. Whether there was anything to cancel
    /// is not known.
    pub fn cancel(&self) -> LocalBoxFuture<'_, Result<(), Error>> {
        async move {
            let phase = Cell::new(Phase::Cancel);
            limited(self.config.connect_timeout, &self.host, &phase, self.send()).await
        }
        .boxed_local()
    }

    async fn send(&self) -> Result<(), Cause> {
        let mut stream = socket::open(&self.config, &self.address).await?;
        let mut request = BytesMut::new();
        if let Some(tls) = &self.tls {
            if tls.negotiation() == SslNegotiation::Postgres {
                frontend::ssl_request(&mut request);
                stream.write_all(&request).await?;
                // What came unasked after the answer would be taken for the handshake, which then fails.
                if stream.read_u8().await? != b'S' {
                    return Err(Cause::Startup(Refusal::EncryptionUnavailable.into()));
                }
                request.clear();
            }
            stream = attempt::shake_hands(stream, &self.host, Some(tls)).await?;
        }
        frontend::cancel_request(&mut request, self.key.process_id, &self.key.secret)?;
        stream.write_all(&request).await?;
        stream.flush().await?;
        // The server says nothing; it closes. Some close by a reset, which is as good.
        let mut answer = [0; 64];
        while matches!(stream.read(&mut answer).await, Ok(read) if read > 0) {}
        Ok(())
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Canceller")
            .field("host", &self.host)
            .field("process_id", &self.key.process_id)
            .finish_non_exhaustive()
    }
}
