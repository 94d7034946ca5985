//! The client of Tkrzw-RPC: the databases of a server, as a worker's tasks use them. Knows no engine.
//! Cheap to clone and without a lock: all clones share one connection, made when it is needed and again when it was lost.
//! Boxed edge: every call. Behind it bytes alone are known, so that nothing is generic over types of messages.

mod batches;
mod duplex;
mod inner;
mod methods;
mod own_methods;
mod own_service;
mod records;
mod watch;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, TE};
use http::{HeaderMap, Uri};
use prost::Message;

pub use self::duplex::Duplex;
use self::inner::ClientInner;
pub use self::records::{CompareExchange, ExchangeOutcome, NotifyMode, RekeyOutcome};
pub use self::watch::Watch;
#[cfg(feature = "service")]
pub(crate) use self::watch::WatchMessage;
use super::call::answer;
use super::channel::RpcChannel;
use super::{RpcTarget, Tls};
use crate::error::{Error, Result};
use crate::frame;
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

/// One database of a server. Stays on its thread; clones may be used by any number of tasks at a time. Needs the feature `tkrzw`.
#[derive(Clone)]
pub struct Client {
    inner: Rc<ClientInner>,
    index: i32,
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

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "Client({}, {})",
            self.inner.link.target, self.index
        )
    }
}
