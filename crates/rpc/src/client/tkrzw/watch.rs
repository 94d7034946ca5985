//! Watching a prefix of keys on a server: changes as they are reported, through losses of the connection. Keeps no record.
//! Rule: a change that may have been missed is never passed over in silence; what is not known is said to be lost.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use h2::RecvStream;
use prost::Message as _;
use tsumugi_kv::ChangeEvent;

use super::Client;
use super::duplex::within;
use super::inner::ClientInner;
use crate::client::call::{self, CallFailure};
use crate::client::channel::OpenChannel;
use crate::code::GrpcCode;
use crate::error::{Error, Result};
use crate::frame::{self, MessageReader};
use crate::limits::{
    RECONNECT_MS_MAX, RECONNECT_MS_MIN, WATCH_ALIVE_MS_MAX, WATCH_SILENCE_FACTOR,
    WATCH_SILENCE_MS_MIN,
};
use crate::method::Method;
use crate::own_proto::watch_response::Kind;
use crate::own_proto::{WatchRequest, WatchResponse};

/// The changes of the keys that begin with a prefix. Dropping it ends the watch on the server, too.
pub struct Watch {
    inner: Rc<ClientInner>,
    request: WatchRequest,
    /// None while the connection is lost.
    stream: Option<WatchStream>,
}

/// A watch on one connection.
struct WatchStream {
    opened: OpenChannel,
    body: RecvStream,
    messages: MessageReader,
    /// How long nothing may come.
    silence: Duration,
}

/// What a server says on a watch.
pub(crate) enum WatchMessage {
    /// That it goes on, or begins, and how often it says so at least.
    Alive(Option<Duration>),
    Change(ChangeEvent),
}

impl WatchMessage {
    pub(crate) fn of(message: Bytes) -> Result<WatchMessage> {
        let said = WatchResponse::decode(message);
        let said = said.map_err(|error| Error::Protocol(error.to_string()))?;
        let key = said.key;
        let change = match Kind::try_from(said.kind) {
            Ok(Kind::Alive) => return Ok(WatchMessage::Alive(None)),
            Ok(Kind::Ready) => {
                let every = Duration::from_millis(said.alive_ms.min(WATCH_ALIVE_MS_MAX));
                return Ok(WatchMessage::Alive(Some(every)));
            }
            Ok(Kind::Put) => ChangeEvent::Put(key),
            Ok(Kind::Removed) => ChangeEvent::Removed(key),
            Ok(Kind::Expired) => ChangeEvent::Expired(key),
            Ok(Kind::Evicted) => ChangeEvent::Evicted(key),
            Ok(Kind::Cleared) => ChangeEvent::Cleared,
            Ok(Kind::Missed) => ChangeEvent::Lagged(said.missed),
            // A kind that a later server has: anything may be different.
            Err(_) => ChangeEvent::Gap,
        };
        Ok(WatchMessage::Change(change))
    }
}

impl Client {
    /// The changes of the keys that begin with `prefix`, from now on.
    ///
    /// # Errors
    /// [`Error::Unsupported`] of a server that is none of ours; [`Error::Refused`] beyond the server's `watches_max` or `connection_watches_max`.
    pub fn watch(&self, prefix: impl Into<Bytes>) -> LocalBoxFuture<'_, Result<Watch>> {
        self.begin_watch(WatchRequest {
            dbm_index: self.index,
            prefix: prefix.into(),
        })
    }

    fn begin_watch(&self, request: WatchRequest) -> LocalBoxFuture<'_, Result<Watch>> {
        let mut watch = Watch {
            inner: Rc::clone(&self.inner),
            request,
            stream: None,
        };
        async move {
            watch.stream = Some(match watch.open().await {
                // The server was ending, or had ended since the last call.
                Err(Error::Lost { .. }) => watch.open().await?,
                opened => opened?,
            });
            Ok(watch)
        }
        .boxed_local()
    }
}

impl Watch {
    /// The next change. When the connection was lost and is there again, that is [`ChangeEvent::Gap`]: anything may have changed
    /// meanwhile. Until it is there, this waits. Dropping the future loses nothing.
    ///
    /// # Errors
    /// What the server says to a watch that begins again, such as [`Error::Refused`]; [`Error::Protocol`] of an answer that is none.
    pub async fn next(&mut self) -> Result<ChangeEvent> {
        self.read().await
    }

    fn read(&mut self) -> LocalBoxFuture<'_, Result<ChangeEvent>> {
        async move {
            loop {
                let Some(stream) = &mut self.stream else {
                    self.stream = Some(self.resume().await?);
                    return Ok(ChangeEvent::Gap);
                };
                let failure = match stream.next().await {
                    Ok(WatchMessage::Change(change)) => return Ok(change),
                    Ok(WatchMessage::Alive(_)) => continue,
                    Err(failure) => failure,
                };
                if failure.is_of_connection() {
                    self.inner.link.lost(&stream.opened);
                }
                self.stream = None;
                let error = failure.into_error(&self.inner.link);
                if !is_passing(&error) {
                    return Err(error);
                }
                let target = &self.inner.link.target;
                tracing::warn!(%target, %error, "a watch was lost and is begun again");
            }
        }
        .boxed_local()
    }

    /// Begins again once the server is there.
    async fn resume(&self) -> Result<WatchStream> {
        let mut rest_ms = RECONNECT_MS_MIN;
        loop {
            match self.open().await {
                Err(error) if is_passing(&error) => {}
                ended => return ended,
            }
            tokio::time::sleep(Duration::from_millis(rest_ms)).await;
            rest_ms = rest_ms.saturating_mul(2).min(RECONNECT_MS_MAX);
        }
    }

    async fn open(&self) -> Result<WatchStream> {
        let method = Method::named("Watch");
        self.inner.require(method).await?;
        let opened = self.inner.link.open().await?;
        let begun = self.begin(method, opened.clone());
        let failure = match within(self.inner.limits.call_ms_max, begun).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(failure)) => failure,
            Err(error) => {
                // Perhaps the server is not there any more.
                self.inner.link.lost(&opened);
                return Err(error);
            }
        };
        if failure.is_of_connection() {
            self.inner.link.lost(&opened);
        }
        let error = failure.into_error(&self.inner.link);
        Err(self.inner.own_error(method, error))
    }

    async fn begin(&self, method: Method, opened: OpenChannel) -> Result<WatchStream, CallFailure> {
        let (answer, mut request) = call::begin(&opened, self.inner.request(method)).await?;
        request.send_data(frame::one(&self.request), true)?;
        let body = call::body(answer).await?;
        let mut stream = WatchStream {
            opened,
            body,
            messages: MessageReader::new(self.inner.limits.message_bytes_max),
            silence: Duration::from_millis(self.inner.limits.call_ms_max),
        };
        match stream.next().await? {
            WatchMessage::Alive(Some(every)) => {
                let least = Duration::from_millis(WATCH_SILENCE_MS_MIN);
                stream.silence = every.saturating_mul(WATCH_SILENCE_FACTOR).max(least);
                Ok(stream)
            }
            WatchMessage::Alive(None) | WatchMessage::Change(_) => {
                let text = "a watch does not begin with what says that it is ready";
                Err(Error::Protocol(text.to_owned()).into())
            }
        }
    }
}

impl WatchStream {
    /// What the server says next.
    async fn next(&mut self) -> Result<WatchMessage, CallFailure> {
        let next = call::next(&mut self.body, &mut self.messages);
        match tokio::time::timeout(self.silence, next).await {
            Ok(Ok(Some(message))) => Ok(WatchMessage::of(message)?),
            Ok(Ok(None)) => Err(unavailable("the server ended the watch").into()),
            Ok(Err(failure)) => Err(failure),
            // Nobody says that a connection is gone whose other end has lost its power.
            Err(_) => Err(CallFailure::Broken(h2::Reason::CANCEL.into())),
        }
    }
}

fn unavailable(message: &str) -> Error {
    Error::Refused {
        code: GrpcCode::Unavailable,
        message: message.to_owned(),
    }
}

/// Whether a watch that ended so is begun again: the server is away, or ending.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Connect { .. } | Error::Lost { .. } | Error::Deadline { .. } => true,
        Error::Refused { code, .. } => *code == GrpcCode::Unavailable,
        _ => false,
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // No prefix: it is a part of keys.
        write!(formatter, "Watch({})", self.inner.link.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: i32, expected: &str) {
        let said = WatchResponse {
            kind,
            key: "k".into(),
            missed: 7,
            alive_ms: 3,
        };
        let word = match WatchMessage::of(said.encode_to_vec().into()).unwrap() {
            WatchMessage::Alive(every) => format!("{every:?}"),
            WatchMessage::Change(change) => format!("{change:?}"),
        };
        assert_eq!(word, expected, "{kind}");
    }

    #[test]
    fn words_of_a_server_are_changes_or_signs_of_life() {
        check(0, "None");
        check(1, "Some(3ms)");
        check(2, "Put(b\"k\")");
        check(3, "Removed(b\"k\")");
        check(4, "Expired(b\"k\")");
        check(5, "Evicted(b\"k\")");
        check(6, "Cleared");
        check(7, "Lagged(7)");
        check(8, "Gap");
        assert!(WatchMessage::of(Bytes::from_static(b"\xff")).is_err());
    }
}
