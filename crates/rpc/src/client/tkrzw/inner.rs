//! What the clones of a client share, and how it asks: one message, one answer, and once more what was not begun. Knows no database.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use http::{HeaderMap, Request, Uri};
use tokio::time::Instant;

use crate::client::call::{CallFailure, attempt};
use crate::client::channel::RpcChannel;
use crate::error::{Error, Result};
use crate::limits::ClientLimits;
use crate::method::Method;

/// What the clones share.
pub(super) struct ClientInner {
    pub(super) link: Rc<RpcChannel>,
    pub(super) limits: ClientLimits,
    /// Of every call, by its number.
    pub(super) uris: Vec<Uri>,
    /// Of reflection.
    pub(super) reflection: Uri,
    pub(super) headers: HeaderMap,
    /// The number of the connection whose server is known to have our own service.
    pub(super) own_service_at: Cell<Option<u64>>,
}

impl ClientInner {
    /// The beginning of a call.
    pub(super) fn request(&self, method: Method) -> Request<()> {
        self.request_at(self.uri(method))
    }

    fn request_at(&self, uri: Uri) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers.clone();
        request
    }

    pub(super) fn uri(&self, method: Method) -> Uri {
        self.uris.get(method.index()).cloned().unwrap_or_default()
    }

    /// The answer to a call of one message that may take `more` than others, and the number of the connection that it came on.
    pub(super) fn ask(
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

impl CallFailure {
    /// The error for the caller.
    pub(super) fn into_error(self, link: &RpcChannel) -> Error {
        match self {
            CallFailure::NotBegun(error) | CallFailure::Broken(error) => Error::Lost {
                target: link.target.to_string(),
                reason: error.to_string(),
            },
            CallFailure::Told(error) => error,
        }
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
