//! Calls of another service of gRPC, over the same kind of connection as the store's: for engines that speak gRPC with messages of their own.
//! Knows no service. Rule: a call is sent once; its failure says whether the server may have begun it, and the caller decides what follows.

use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use h2::{RecvStream, SendStream};
use http::header::{CONTENT_TYPE, HeaderValue, TE};
use http::{HeaderMap, Request, Uri};
use prost::Message;
use tokio::time::Instant;

use super::call::{self, CallFailure, answer, attempt};
use super::channel::{OpenChannel, RpcChannel};
use super::{RpcTarget, Tls};
use crate::code::GrpcCode;
use crate::error::Error;
use crate::frame::{self, MessageReader};
use crate::limits::ClientLimits;

/// A server of any service. Cheap to clone; clones share the connection, which is made when it is needed, and stay on its thread.
#[derive(Clone)]
pub struct GrpcClient {
    link: Rc<RpcChannel>,
    limits: ClientLimits,
}

/// Why a call failed.
#[derive(Debug)]
pub enum GrpcFailure {
    /// The server has certainly not begun it: it was not reached, or refused the call as such.
    NotBegun(String),
    /// The connection was lost. The call may or may not have taken place.
    Lost(String),
    /// No answer came in time. The call may or may not have taken place.
    Deadline,
    /// The server's own status.
    Status {
        /// gRPC's code.
        code: GrpcCode,
        /// The server's text.
        message: String,
    },
    /// The answer is too large, or none.
    Answer(Error),
}

impl From<CallFailure> for GrpcFailure {
    fn from(failure: CallFailure) -> GrpcFailure {
        match failure {
            CallFailure::NotBegun(error) => GrpcFailure::NotBegun(error.to_string()),
            CallFailure::Broken(error) => GrpcFailure::Lost(error.to_string()),
            CallFailure::Told(Error::Refused { code, message }) => {
                GrpcFailure::Status { code, message }
            }
            CallFailure::Told(error) => GrpcFailure::Answer(error),
        }
    }
}

impl GrpcClient {
    /// A client of this server. Connects with the first call; must be used on a thread that runs local tasks. Of the limits those of
    /// connecting and of messages count.
    #[must_use]
    pub fn new(target: RpcTarget, tls: Option<Tls>, limits: ClientLimits) -> GrpcClient {
        GrpcClient {
            link: RpcChannel::new(target, tls, limits.clone()),
            limits,
        }
    }

    /// The server.
    #[must_use]
    pub fn target(&self) -> &RpcTarget {
        &self.link.target
    }

    /// A call of one message and one answer, at `/package.Service/Method`, with metadata beside it.
    ///
    /// # Errors
    /// [`GrpcFailure`] after `limit` at the latest.
    pub fn call<'a>(
        &'a self,
        path: &'a str,
        metadata: &'a HeaderMap,
        request: &GrpcMessage,
        limit: Duration,
    ) -> LocalBoxFuture<'a, Result<GrpcAnswer, GrpcFailure>> {
        let GrpcMessage(body) = request.clone();
        async move {
            let deadline = Instant::now() + limit;
            let opened = self.open(deadline).await?;
            let begin = self.request(path, metadata)?;
            let called = attempt(&opened, begin, body, self.limits.message_bytes_max);
            let called = std::pin::pin!(called);
            let answered = tokio::time::timeout_at(deadline, called).await;
            self.outcome(&opened, answered).map(GrpcAnswer)
        }
        .boxed_local()
    }

    /// Begins a call of many messages in both directions with its first message, and waits for the head of the answer.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn stream<Q: Message, R: Message + Default>(
        &self,
        path: &str,
        metadata: &HeaderMap,
        first: &Q,
        limit: Duration,
    ) -> Result<GrpcStream<Q, R>, GrpcFailure> {
        Ok(GrpcStream {
            core: self.begin(path, metadata, frame::one(first), limit).await?,
            kinds: PhantomData,
        })
    }

    fn begin<'a>(
        &'a self,
        path: &'a str,
        metadata: &'a HeaderMap,
        first: Bytes,
        limit: Duration,
    ) -> LocalBoxFuture<'a, Result<GrpcCore, GrpcFailure>> {
        async move {
            let deadline = Instant::now() + limit;
            let opened = self.open(deadline).await?;
            let begin = self.request(path, metadata)?;
            let begun = async {
                let (answer, mut requests) = call::begin(&opened, begin).await?;
                requests.send_data(first, false)?;
                let body = call::body(answer).await?;
                Ok::<_, CallFailure>((requests, body))
            };
            let begun = tokio::time::timeout_at(deadline, begun).await;
            let (requests, body) = self.outcome(&opened, begun)?;
            Ok(GrpcCore {
                client: self.clone(),
                opened,
                requests,
                body,
                messages: MessageReader::new(self.limits.message_bytes_max),
            })
        }
        .boxed_local()
    }

    async fn open(&self, deadline: Instant) -> Result<OpenChannel, GrpcFailure> {
        let opened = self.link.open_once(deadline).await;
        opened.map_err(|error| GrpcFailure::NotBegun(error.to_string()))
    }

    fn request(&self, path: &str, metadata: &HeaderMap) -> Result<Request<()>, GrpcFailure> {
        let target = self.target();
        let uri = format!("{}://{}{path}", target.scheme(), target.authority());
        let uri = Uri::try_from(uri);
        let uri = uri.map_err(|error| GrpcFailure::NotBegun(error.to_string()))?;
        let mut request = Request::new(());
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.extend(metadata.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        Ok(request)
    }

    /// What became of a call; a connection that is of no more use is forgotten.
    fn outcome<T>(
        &self,
        opened: &OpenChannel,
        outcome: Result<Result<T, CallFailure>, tokio::time::error::Elapsed>,
    ) -> Result<T, GrpcFailure> {
        match outcome {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(failure)) => {
                if failure.is_of_connection() {
                    self.link.lost(opened);
                }
                Err(failure.into())
            }
            Err(_) => {
                // Perhaps the server is not there any more.
                self.link.lost(opened);
                Err(GrpcFailure::Deadline)
            }
        }
    }
}

impl std::fmt::Debug for GrpcClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "GrpcClient({})", self.link.target)
    }
}

/// A request as it is sent. Cheap to clone, for one that is sent again.
#[derive(Clone, Debug)]
pub struct GrpcMessage(Bytes);

impl GrpcMessage {
    /// The request that a message is.
    pub fn of(message: &impl Message) -> GrpcMessage {
        GrpcMessage(frame::one(message))
    }
}

/// An answer as it came.
#[derive(Debug)]
pub struct GrpcAnswer(Bytes);

impl GrpcAnswer {
    /// The message that it is.
    ///
    /// # Errors
    /// [`GrpcFailure::Answer`] when it is none.
    pub fn read<R: Message + Default>(self) -> Result<R, GrpcFailure> {
        answer(self.0).map_err(GrpcFailure::Answer)
    }
}

/// A call under way, with messages `Q` to the server and `R` from it. Dropping it ends the call.
pub struct GrpcStream<Q, R> {
    core: GrpcCore,
    kinds: PhantomData<fn(Q) -> R>,
}

/// The bytes of a call: its streams in both directions, and the connection that they are on. Knows no types of messages.
struct GrpcCore {
    client: GrpcClient,
    opened: OpenChannel,
    requests: SendStream<Bytes>,
    body: RecvStream,
    messages: MessageReader,
}

impl<Q: Message, R: Message + Default> GrpcStream<Q, R> {
    /// Sends a message, which is small: it waits in memory while the server takes nothing.
    ///
    /// # Errors
    /// The call has ended.
    pub fn send(&mut self, message: &Q) -> Result<(), GrpcFailure> {
        self.core.send(frame::one(message))
    }

    /// The next message; `None` once the server has ended the call in good order. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The call has failed.
    pub async fn next(&mut self) -> Result<Option<R>, GrpcFailure> {
        let message = self.core.next().await?;
        let message = message.map(answer).transpose();
        message.map_err(GrpcFailure::Answer)
    }

    /// The server does not answer: another connection is made for the next call.
    pub fn abandon(self) {
        self.core.client.link.lost(&self.core.opened);
    }
}

impl GrpcCore {
    fn send(&mut self, message: Bytes) -> Result<(), GrpcFailure> {
        let sent = self.requests.send_data(message, false);
        sent.map_err(|error| self.failed(error.into()))
    }

    fn next(&mut self) -> LocalBoxFuture<'_, Result<Option<Bytes>, GrpcFailure>> {
        async move {
            let next = call::next(&mut self.body, &mut self.messages).await;
            next.map_err(|failure| self.failed(failure))
        }
        .boxed_local()
    }

    fn failed(&self, failure: CallFailure) -> GrpcFailure {
        if failure.is_of_connection() {
            self.client.link.lost(&self.opened);
        }
        failure.into()
    }
}

impl<Q, R> std::fmt::Debug for GrpcStream<Q, R> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "GrpcStream({})", self.core.client.link.target)
    }
}
