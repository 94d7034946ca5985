//! The body of an answer on its way out: in pieces, so that a client that takes nothing leaves little in the connection's buffer.
//! Holds what a large answer has claimed until its last piece is given away.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;
use tonic::Status;
use tonic::body::Body;

use super::budget::Claim;

/// Most bytes given to the connection at a time.
const PIECE_BYTES: usize = 16 * 1024;

/// What the answers of one connection tell about their client. Written and read by one worker.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Answers that gave a piece away and were not asked for the next.
    waiting: AtomicUsize,
    /// Pieces that were given away.
    pieces: AtomicU64,
}

impl Progress {
    /// How many pieces have gone, when answers wait for the client.
    pub(crate) fn stalled_at(&self) -> Option<u64> {
        (self.waiting.load(Relaxed) > 0).then(|| self.pieces.load(Relaxed))
    }
}

/// A body for the connection.
pub(crate) struct Outbound {
    body: Body,
    rest: Bytes,
    progress: Arc<Progress>,
    /// Whether this body is among those that wait.
    waits: bool,
    _claim: Claim,
}

impl Outbound {
    pub(crate) fn new(body: Body, progress: Arc<Progress>, claim: Claim) -> Outbound {
        Outbound {
            body,
            rest: Bytes::new(),
            progress,
            waits: false,
            _claim: claim,
        }
    }

    fn set_waits(&mut self, waits: bool) {
        if self.waits != waits {
            self.waits = waits;
            if waits {
                self.progress.waiting.fetch_add(1, Relaxed);
            } else {
                self.progress.waiting.fetch_sub(1, Relaxed);
            }
        }
    }

    fn next_piece(&mut self) -> Frame<Bytes> {
        let length = self.rest.len().min(PIECE_BYTES);
        let piece = self.rest.split_to(length);
        self.progress
            .pieces
            .store(self.progress.pieces.load(Relaxed) + 1, Relaxed);
        // Only a piece that is not the last can be waited for: after the last the client may be slow without holding anything.
        self.set_waits(!self.rest.is_empty());
        Frame::data(piece)
    }
}

impl http_body::Body for Outbound {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            this.set_waits(false);
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            }
        }
        Poll::Ready(Some(Ok(this.next_piece())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        self.set_waits(false);
    }
}
