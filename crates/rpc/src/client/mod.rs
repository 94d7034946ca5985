//! The client: the databases of a server, as a worker's tasks use them. Knows no engine.
//! Cheap to clone and without a lock: all clones share one connection, made when it is needed and again when it was lost.
//! Boxed edge: every call. Behind it bytes alone are known, so that nothing is generic over types of messages.

mod batches;
mod call;
mod channel;
mod duplex;
mod grpc;
mod methods;
mod own_methods;
mod own_service;
mod plain;
mod records;
mod target;
mod tls;
mod watch;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, TE};
use http::{HeaderMap, Request, Uri};
use prost::{DecodeError, Message};
use tokio::time::Instant;

use self::channel::RpcChannel;
pub use self::duplex::Duplex;
pub use self::grpc::{GrpcAnswer, GrpcClient, GrpcFailure, GrpcMessage, GrpcStream};
pub use self::records::{CompareExchange, ExchangeOutcome, NotifyMode, RekeyOutcome};
pub use self::target::RpcTarget;
pub use self::tls::{ClientIdentity, Tls};
pub use self::watch::Watch;
pub(crate) use self::watch::WatchMessage;
use crate::client::call::CallFailure;
use crate::error::{Error, Result};
use crate::frame::{self, MessageReader};
use crate::limits::ClientLimits;
use crate::method::Method;
use crate::proto::{IterateRequest, IterateResponse, StreamRequest, StreamResponse};

/// How a client connects.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Certificates, for `tkrzw+tls`.
    pub tls: Option<Tls>,
    /// The token to show.
    pub token: Option<String>,
    /// What the client bears with.
    pub limits: ClientLimits,
}

/// One database of a server. Stays on its thread; clones may be used by any number of tasks at a time.
#[derive(Clone)]
pub struct Client {
    inner: Rc<ClientInner>,
    index: i32,
}

/// What the clones share.
pub(crate) struct ClientInner {
    pub(crate) link: Rc<RpcChannel>,
    pub(crate) limits: ClientLimits,
    /// Of every call, by its number.
    uris: Vec<Uri>,
    /// Of reflection.
    reflection: Uri,
    headers: HeaderMap,
    /// The number of the connection whose server is known to have our own service.
    own_service_at: Cell<Option<u64>>,
}

impl ClientInner {
    /// The beginning of a call.
    pub(crate) fn request(&self, method: Method) -> Request<()> {
        self.request_at(self.uri(method))
    }

    fn request_at(&self, uri: Uri) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers.clone();
        request
    }

    fn uri(&self, method: Method) -> Uri {
        self.uris.get(method.index()).cloned().unwrap_or_default()
    }

    /// The answer to a call of one message that may take `more` than others, and the number of the connection that it came on.
    fn ask(
        &self,
        uri: Uri,
        body: Bytes,
        more: Duration,
    ) -> LocalBoxFuture<'_, Result<(Bytes, u64)>> {
        async move {
            let limit = Duration::from_millis(self.limits.call_ms_max);
            let deadline = Instant::now() + limit.saturating_add(more).min(LONGEST);
            let mut again = Retry::Once;
            loop {
                let opened = self.link.open().await?;
                let request = self.request_at(uri.clone());
                let bytes_max = self.limits.message_bytes_max;
                // Pinned here: a future of this size is not moved into the one that bounds its time.
                let attempt = std::pin::pin!(attempt(&opened, request, body.clone(), bytes_max));
                let failure = match tokio::time::timeout_at(deadline, attempt).await {
                    Ok(Ok(answer)) => return Ok((answer, opened.number)),
                    Ok(Err(failure)) => failure,
                    Err(_) => {
                        // Perhaps the server is not there any more.
                        self.link.lost(&opened);
                        let limit_ms = self.limits.call_ms_max;
                        return Err(Error::Deadline { limit_ms });
                    }
                };
                if failure.is_of_connection() {
                    self.link.lost(&opened);
                }
                match (&failure, again) {
                    (CallFailure::NotBegun(_), Retry::Once) => again = Retry::No,
                    _ => return Err(failure.into_error(&self.link)),
                }
            }
        }
        .boxed_local()
    }
}

impl Client {
    /// A client of the first database. Connects with the first call; must be used on a thread that runs local tasks.
    ///
    /// # Errors
    /// [`Error::Usage`] for a token that cannot be sent, or `tkrzw+tls` without certificates.
    pub fn new(target: RpcTarget, options: Options) -> Result<Client> {
        if let (RpcTarget::Tls { .. }, None) = (&target, &options.tls) {
            return Err(Error::Usage(
                "tkrzw+tls needs the certificate of the server's authority",
            ));
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        if let Some(token) = &options.token {
            let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| Error::Usage("the token holds a byte that cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let base = format!("{}://{}", target.scheme(), target.authority());
        let uri = |path: &str| {
            let uri = Uri::try_from(format!("{base}{path}"));
            uri.map_err(|error| Error::Protocol(error.to_string()))
        };
        let uris: Result<Vec<Uri>> = Method::all().map(|method| uri(&method.path())).collect();
        let (uris, reflection) = (uris?, uri(own_service::REFLECTION)?);
        let limits = options.limits;
        Ok(Client {
            inner: Rc::new(ClientInner {
                link: RpcChannel::new(target, options.tls, limits.clone()),
                limits,
                uris,
                reflection,
                headers,
                own_service_at: Cell::new(None),
            }),
            index: 0,
        })
    }

    /// The same server's database with this index.
    #[must_use]
    pub fn at(&self, index: i32) -> Client {
        Client {
            inner: Rc::clone(&self.inner),
            index,
        }
    }

    /// The index of the database.
    pub fn index(&self) -> i32 {
        self.index
    }

    /// Any call of the protocol by its name, with the messages of [`proto`](crate::proto). What the database says is in the answer.
    ///
    /// # Errors
    /// When no answer came, or a refusal.
    pub async fn call<Q: Message, R: Message + Default>(
        &self,
        name: &str,
        request: &Q,
    ) -> Result<R> {
        self.call_for(Method::named(name), request, Duration::ZERO)
            .await
    }

    /// A call that may take `more` than others.
    pub(crate) async fn call_for<Q: Message, R: Message + Default>(
        &self,
        method: Method,
        request: &Q,
        more: Duration,
    ) -> Result<R> {
        let (uri, body) = (self.inner.uri(method), frame::one(request));
        let (message, _) = self.inner.ask(uri, body, more).await?;
        answer(message)
    }

    /// A stream of calls, with at most so many answers owed at a time.
    pub fn stream(
        &self,
        owed_max: usize,
    ) -> LocalBoxFuture<'_, Result<Duplex<StreamRequest, StreamResponse>>> {
        Duplex::open(&self.inner, Method::named("Stream"), owed_max).boxed_local()
    }

    /// A cursor, with at most so many answers owed at a time.
    pub fn iterate(
        &self,
        owed_max: usize,
    ) -> LocalBoxFuture<'_, Result<Duplex<IterateRequest, IterateResponse>>> {
        Duplex::open(&self.inner, Method::named("Iterate"), owed_max).boxed_local()
    }
}

/// Whether a call that the server has certainly not begun is tried again: the server was ending, or had ended since the last call.
#[derive(Clone, Copy)]
enum Retry {
    Once,
    No,
}

/// Longer than any call.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The one message of an answer.
async fn attempt(
    opened: &channel::OpenChannel,
    request: Request<()>,
    body: Bytes,
    message_bytes_max: usize,
) -> Result<Bytes, CallFailure> {
    let (answer, mut stream) = call::begin(opened, request).await?;
    stream.send_data(body, true)?;
    let mut body = call::body(answer).await?;
    let mut messages = MessageReader::new(message_bytes_max);
    let Some(message) = call::next(&mut body, &mut messages).await? else {
        return Err(Error::Protocol("the answer holds no message".to_owned()).into());
    };
    // The status at the end counts, whatever came before.
    match call::next(&mut body, &mut messages).await? {
        None => Ok(message),
        Some(_) => Err(Error::Protocol("the answer holds a second message".to_owned()).into()),
    }
}

/// The answer that a message is.
fn answer<R: Message + Default>(message: Bytes) -> Result<R> {
    R::decode(message).map_err(undecodable)
}

fn undecodable(error: DecodeError) -> Error {
    Error::Protocol(error.to_string())
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "Client({}, {})",
            self.inner.link.target, self.index
        )
    }
}
