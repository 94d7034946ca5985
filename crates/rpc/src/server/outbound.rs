//! The body of an answer on its way out: in pieces, so that a client that takes nothing leaves little in the connection's buffer.
//! Each piece knows when the connection has given it to the system; until then it counts as waiting, and its bytes are charged.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::Frame;
use tonic::Status;
use tonic::body::Body;

use super::budget::{Budget, Claim};

/// Most bytes given to the connection at a time.
const PIECE_BYTES: usize = 16 * 1024;

/// What the answers of one connection tell about their client. Written and read by one worker.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Pieces that the connection has and the system has not.
    waiting: AtomicUsize,
    /// Pieces that have gone.
    gone: AtomicU64,
    outbound: Arc<Budget>,
}

impl Progress {
    pub(crate) fn new(outbound: Arc<Budget>) -> Progress {
        Progress {
            waiting: AtomicUsize::new(0),
            gone: AtomicU64::new(0),
            outbound,
        }
    }

    /// How many pieces have gone, when others wait for the client.
    pub(crate) fn stalled_at(&self) -> Option<u64> {
        (self.waiting.load(Relaxed) > 0).then(|| self.gone.load(Relaxed))
    }
}

/// Bytes for the client. Dropped when they are the system's, or when nobody will have them.
#[derive(Debug)]
pub(crate) struct Piece {
    bytes: Bytes,
    progress: Arc<Progress>,
    /// Of the bytes that end with this piece.
    _charge: Claim,
    /// Of the whole answer.
    _claim: Option<Arc<Claim>>,
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let progress = &self.progress;
        progress.waiting.fetch_sub(1, Relaxed);
        progress.gone.fetch_add(1, Relaxed);
    }
}

/// A body for the connection.
pub(crate) struct Outbound {
    body: Body,
    rest: Bytes,
    /// Of what is in `rest` and of its pieces that have gone before.
    charge: Claim,
    progress: Arc<Progress>,
    claim: Option<Arc<Claim>>,
}

impl Outbound {
    /// An answer with what it has claimed; what claims nothing is charged as it comes.
    pub(crate) fn new(body: Body, progress: Arc<Progress>, claim: Option<Arc<Claim>>) -> Outbound {
        Outbound {
            body,
            rest: Bytes::new(),
            charge: Claim::default(),
            progress,
            claim,
        }
    }

    fn next_piece(&mut self) -> Frame<Piece> {
        let length = self.rest.len().min(PIECE_BYTES);
        let bytes = self.rest.split_to(length);
        self.progress.waiting.fetch_add(1, Relaxed);
        let charge = match self.rest.is_empty() {
            true => std::mem::take(&mut self.charge),
            false => Claim::default(),
        };
        Frame::data(Piece {
            bytes,
            progress: Arc::clone(&self.progress),
            _charge: charge,
            _claim: self.claim.clone(),
        })
    }
}

impl http_body::Body for Outbound {
    type Data = Piece;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Status>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        if this.claim.is_none() {
                            this.charge = this.progress.outbound.charge(data.len());
                        }
                        this.rest = data;
                    }
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap_or_default();
                        return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                    }
                },
                Some(Err(status)) => return Poll::Ready(Some(Err(status))),
                None => return Poll::Ready(None),
            }
        }
        Poll::Ready(Some(Ok(this.next_piece())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_waits_and_is_charged_until_it_is_dropped() {
        let budget = Budget::new("outbound_bytes_max", 10);
        let progress = Arc::new(Progress::new(Arc::clone(&budget)));
        let mut answer = Outbound::new(Body::empty(), Arc::clone(&progress), None);
        answer.rest = vec![7; PIECE_BYTES + 1].into();
        answer.charge = budget.charge(PIECE_BYTES + 1);
        assert_eq!(progress.stalled_at(), None);
        let [first, last] = [answer.next_piece(), answer.next_piece()];
        assert_eq!((progress.stalled_at(), budget.used()), (Some(0), 16_385));
        drop(first);
        assert_eq!((progress.stalled_at(), budget.used()), (Some(1), 16_385));
        drop(last);
        assert_eq!((progress.stalled_at(), budget.used()), (None, 0));
    }
}
