//! An answer on its way out: in pieces, so that a client that takes nothing leaves little in the connection's buffer.
//! Each piece knows when the connection has given it to the system; until then it counts as waiting, and its bytes are charged.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::Poll;

use bytes::{Buf, Bytes};
use h2::SendStream;
use h2::server::SendResponse;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body as _;
use tonic::body::Body;
use tonic::{Code, Status};

use super::budget::{Budget, Claim};
use super::framed_message::FramedMessage;
use crate::limits::SEND_BUFFER_BYTES;

/// Most bytes given to the connection at a time. It cuts them to the frames that the client takes.
const PIECE_BYTES: usize = SEND_BUFFER_BYTES;

/// An answer up to this size is given to it without a look whether the client has room.
const SMALL_ANSWER_BYTES: usize = 16 * 1024;

/// What the answers of one connection tell about their client. Written and read by one worker.
#[derive(Debug)]
pub(crate) struct ClientProgress {
    /// Pieces that the connection has and the system has not.
    waiting: AtomicUsize,
    /// How often some of a piece, or all of it, has gone.
    gone: AtomicU64,
    outbound: Arc<Budget>,
}

impl ClientProgress {
    pub(crate) fn new(outbound: Arc<Budget>) -> ClientProgress {
        ClientProgress {
            waiting: AtomicUsize::new(0),
            gone: AtomicU64::new(0),
            outbound,
        }
    }

    /// How much has gone, when more waits for the client.
    pub(crate) fn stalled_at(&self) -> Option<u64> {
        (self.waiting.load(Relaxed) > 0).then(|| self.gone.load(Relaxed))
    }
}

/// Bytes for the client. Dropped when they are the system's, or when the client has gone.
#[derive(Debug)]
pub(crate) struct OutboundPiece {
    bytes: Bytes,
    progress: Arc<ClientProgress>,
    /// Of the bytes that end with this piece.
    _claim: Claim,
}

impl Buf for OutboundPiece {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.progress.gone.fetch_add(1, Relaxed);
        self.bytes.advance(count);
    }
}

impl Drop for OutboundPiece {
    fn drop(&mut self) {
        let progress = &self.progress;
        progress.waiting.fetch_sub(1, Relaxed);
        progress.gone.fetch_add(1, Relaxed);
    }
}

/// What a call is answered.
pub(crate) enum CallReply {
    /// One message, with what it has claimed; that is nothing for a small one.
    Message(FramedMessage, Claim),
    /// gRPC's own refusal.
    Refused(Status),
    /// HTTP's own refusal.
    Http(StatusCode),
    /// Whatever another service answers.
    Other(Box<Response<Body>>),
}

impl CallReply {
    /// gRPC's code of an answer that is nothing else.
    pub(crate) fn refusal(&self) -> Option<Code> {
        match self {
            CallReply::Refused(status) => Some(status.code()),
            CallReply::Other(response) => {
                let status = response.headers().get(Status::GRPC_STATUS)?;
                Some(Code::from_bytes(status.as_bytes())).filter(|code| *code != Code::Ok)
            }
            CallReply::Message(..) | CallReply::Http(_) => None,
        }
    }

    /// Gives all of it to the connection.
    pub(crate) async fn send(
        self,
        respond: &mut SendResponse<OutboundPiece>,
        progress: Arc<ClientProgress>,
    ) -> Result<(), h2::Error> {
        match self {
            CallReply::Message(FramedMessage { head, tail }, claim) => {
                let stream = respond.send_response(response_head(), false)?;
                let mut outbound = Outbound { stream, progress };
                if !tail.is_empty() {
                    outbound.put(head, Claim::default())?;
                    outbound.put_all(tail, claim).await?;
                } else if head.len() <= SMALL_ANSWER_BYTES {
                    outbound.put(head, claim)?;
                } else {
                    outbound.put_all(head, claim).await?;
                }
                outbound.stream.send_trailers(success())
            }
            CallReply::Refused(status) => {
                let (head, _) = status.into_http::<()>().into_parts();
                let response = Response::from_parts(head, ());
                respond.send_response(response, true).map(drop)
            }
            CallReply::Http(status) => {
                let mut response = Response::new(());
                *response.status_mut() = status;
                respond.send_response(response, true).map(drop)
            }
            CallReply::Other(response) => {
                let (head, body) = response.into_parts();
                let ends = body.is_end_stream();
                let stream = respond.send_response(Response::from_parts(head, ()), ends)?;
                if ends {
                    return Ok(());
                }
                Outbound { stream, progress }.body(body).await
            }
        }
    }
}

/// What comes before every message.
fn response_head() -> Response<()> {
    let mut response = Response::new(());
    let media_type = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// What comes after an answer that went well.
fn success() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert(Status::GRPC_STATUS, HeaderValue::from_static("0"));
    trailers
}

/// The way to the client.
struct Outbound {
    stream: SendStream<OutboundPiece>,
    progress: Arc<ClientProgress>,
}

impl Outbound {
    /// Gives one piece to the connection, which keeps it until the client has room.
    fn put(&mut self, bytes: Bytes, claim: Claim) -> Result<(), h2::Error> {
        let claim = self.progress.charged(&bytes, claim);
        let piece = self.progress.piece(bytes, claim);
        self.stream.send_data(piece, false)
    }

    /// Gives the connection a piece whenever the client has room. The last one has what all have claimed.
    async fn put_all(&mut self, mut bytes: Bytes, claim: Claim) -> Result<(), h2::Error> {
        let mut claim = self.progress.charged(&bytes, claim);
        while !bytes.is_empty() {
            let first = bytes.split_to(bytes.len().min(PIECE_BYTES));
            let claim = match bytes.is_empty() {
                true => std::mem::take(&mut claim),
                false => Claim::default(),
            };
            // From here on it waits for the client.
            let piece = self.progress.piece(first, claim);
            self.room().await?;
            self.stream.send_data(piece, false)?;
        }
        Ok(())
    }

    /// Waits until the client takes more.
    async fn room(&mut self) -> Result<(), h2::Error> {
        // As little as there is: the connection asks for the rest of a piece itself.
        self.stream.reserve_capacity(1);
        poll_fn(|context| {
            if let Poll::Ready(reason) = self.stream.poll_reset(context)? {
                return Poll::Ready(Err(reason.into()));
            }
            while self.stream.capacity() == 0 {
                match std::task::ready!(self.stream.poll_capacity(context)) {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Poll::Ready(Err(error)),
                    None => return Poll::Ready(Err(h2::Reason::CANCEL.into())),
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Sends what a body tells, as it tells it.
    async fn body(&mut self, body: Body) -> Result<(), h2::Error> {
        let mut body = pin!(body);
        loop {
            let frame = poll_fn(|context| {
                if let Poll::Ready(reason) = self.stream.poll_reset(context)? {
                    return Poll::Ready(Err(reason.into()));
                }
                body.as_mut().poll_frame(context).map(Ok::<_, h2::Error>)
            });
            match frame.await? {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.put_all(data, Claim::default()).await?,
                    Err(frame) => {
                        self.stream.reserve_capacity(0);
                        let trailers = frame.into_trailers().unwrap_or_default();
                        return self.stream.send_trailers(trailers);
                    }
                },
                Some(Err(error)) => {
                    tracing::debug!(%error, "an answer broke off");
                    self.stream.send_reset(h2::Reason::INTERNAL_ERROR);
                    return Ok(());
                }
                None => {
                    let end = self.progress.piece(Bytes::new(), Claim::default());
                    return self.stream.send_data(end, true);
                }
            }
        }
    }
}

impl ClientProgress {
    /// What bytes are held by: what was claimed for them, or else what they are charged.
    fn charged(&self, bytes: &Bytes, claim: Claim) -> Claim {
        match claim.bytes() {
            0 => self.outbound.charge(bytes.len()),
            _ => claim,
        }
    }

    fn piece(self: &Arc<ClientProgress>, bytes: Bytes, claim: Claim) -> OutboundPiece {
        self.waiting.fetch_add(1, Relaxed);
        OutboundPiece {
            bytes,
            progress: Arc::clone(self),
            _claim: claim,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_waits_and_is_charged_until_it_is_dropped() {
        let budget = Budget::new("outbound_bytes_max", 10);
        let progress = Arc::new(ClientProgress::new(Arc::clone(&budget)));
        let bytes = Bytes::from_static(b"twelve bytes");
        let charge = progress.charged(&bytes, Claim::default());
        assert_eq!(progress.stalled_at(), None);
        let first = progress.piece(bytes.slice(..6), Claim::default());
        let last = progress.piece(bytes.slice(6..), charge);
        assert_eq!((progress.stalled_at(), budget.used()), (Some(0), 12));
        drop(first);
        assert_eq!((progress.stalled_at(), budget.used()), (Some(1), 12));
        drop(last);
        assert_eq!((progress.stalled_at(), budget.used()), (None, 0));
    }
}
