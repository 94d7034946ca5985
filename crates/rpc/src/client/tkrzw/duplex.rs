//! A call with many requests and many answers, pipelined: requests are gathered and sent together, answers come in order.
//! A sender waits for the server to take it; nothing is piled up here.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use prost::Message;

use super::inner::ClientInner;
use crate::client::call::{self, CallFailure, answer};
use crate::error::{Error, Result};
use crate::frame::{self, MessageReader};
use crate::limits::GATHERED_BYTES_MAX;
use crate::method::Method;

/// Requests `Q` and answers `R` of one call.
pub struct Duplex<Q, R> {
    core: DuplexCore,
    kinds: PhantomData<fn(Q) -> R>,
}

/// The bytes of a call: its streams in both directions, what is gathered, and how many answers are owed. Knows no types of messages.
struct DuplexCore {
    inner: Rc<ClientInner>,
    requests: SendStream<Bytes>,
    answers: Answers,
    messages: MessageReader,
    gathered: BytesMut,
    /// Answers that are owed.
    owed: usize,
    owed_max: usize,
}

pub(super) async fn within<T>(limit_ms: u64, wait: impl Future<Output = T>) -> Result<T> {
    let waited = tokio::time::timeout(Duration::from_millis(limit_ms), wait).await;
    waited.map_err(|_| Error::Deadline { limit_ms })
}

enum Answers {
    Awaited(Option<ResponseFuture>),
    Begun(RecvStream),
}

impl<Q: Message, R: Message + Default> Duplex<Q, R> {
    pub(super) async fn open(
        inner: &Rc<ClientInner>,
        method: Method,
        owed_max: usize,
    ) -> Result<Duplex<Q, R>> {
        Ok(Duplex {
            core: DuplexCore::open(inner, method, owed_max).await?,
            kinds: PhantomData,
        })
    }

    /// Answers that are owed now.
    pub fn owed(&self) -> usize {
        self.core.owed
    }

    /// Whether another request that wants an answer has to wait for one.
    pub fn is_full(&self) -> bool {
        self.core.is_full()
    }

    /// Adds a request that has an answer. It goes when the next answer is asked for, or when enough have gathered.
    ///
    /// # Errors
    /// [`Error::Usage`] when as many answers are owed as the stream was opened for.
    pub async fn send(&mut self, request: &Q) -> Result<()> {
        self.core.owe()?;
        self.send_silent(request).await
    }

    /// Adds a request without an answer.
    pub async fn send_silent(&mut self, request: &Q) -> Result<()> {
        frame::put(request, &mut self.core.gathered);
        if self.core.gathered.len() >= GATHERED_BYTES_MAX {
            self.flush().await?;
        }
        Ok(())
    }

    /// Sends what was gathered. Waits while the server takes nothing, and fails like [`receive`](Self::receive) when that takes too long.
    pub async fn flush(&mut self) -> Result<()> {
        self.core.flush().await
    }

    /// The next answer, after sending what was gathered. `None` once the server has ended the call in good order.
    ///
    /// # Errors
    /// [`Error::Deadline`] when it takes longer than `call_ms_max`; the stream is of no more use then.
    pub async fn receive(&mut self) -> Result<Option<R>> {
        let message = match self.core.arrived()? {
            Some(message) => Some(message),
            None => self.core.receive().await?,
        };
        let Some(message) = message else {
            return Ok(None);
        };
        self.core.owed = self.core.owed.saturating_sub(1);
        answer(message).map(Some)
    }

    /// Sends what was gathered, says that nothing follows, and returns the answers that are still owed.
    pub async fn finish(mut self) -> Result<VecDeque<R>> {
        self.flush().await?;
        self.core.end()?;
        let mut rest = VecDeque::new();
        while let Some(answer) = self.receive().await? {
            rest.push_back(answer);
        }
        Ok(rest)
    }
}

impl DuplexCore {
    async fn open(inner: &Rc<ClientInner>, method: Method, owed_max: usize) -> Result<DuplexCore> {
        let opened = inner.link.open().await?;
        let request = inner.request(method);
        let (answer, requests) = match call::begin(&opened, request).await {
            Ok(begun) => begun,
            Err(failure) => {
                inner.link.lost(&opened);
                return Err(failure.into_error(&inner.link));
            }
        };
        Ok(DuplexCore {
            inner: Rc::clone(inner),
            requests,
            answers: Answers::Awaited(Some(answer)),
            messages: MessageReader::new(inner.limits.message_bytes_max),
            gathered: BytesMut::new(),
            owed: 0,
            owed_max: owed_max.max(1),
        })
    }

    fn is_full(&self) -> bool {
        self.owed >= self.owed_max
    }

    fn owe(&mut self) -> Result<()> {
        if self.is_full() {
            return Err(Error::Usage(
                "the stream owes as many answers as it was opened for; receive one first",
            ));
        }
        self.owed += 1;
        Ok(())
    }

    fn flush(&mut self) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let mut piece = self.gathered.split().freeze();
            while !piece.is_empty() {
                self.requests.reserve_capacity(piece.len());
                let room = match self.requests.capacity() {
                    0 => {
                        let room = poll_fn(|context| self.requests.poll_capacity(context));
                        within(self.inner.limits.call_ms_max, room).await?
                    }
                    room => Some(Ok(room)),
                };
                let sent = match room {
                    Some(Ok(room)) => {
                        let part = piece.split_to(room.min(piece.len()));
                        self.requests.send_data(part, false)
                    }
                    Some(Err(error)) => Err(error),
                    // The server has ended the call; its reason comes with the answer.
                    None => return Ok(()),
                };
                sent.map_err(|error| CallFailure::from(error).into_error(&self.inner.link))?;
            }
            Ok(())
        }
        .boxed_local()
    }

    /// Whether something is to be sent before an answer is waited for.
    fn is_behind(&self) -> bool {
        !self.gathered.is_empty() && !self.messages.is_broken_off()
    }

    /// An answer that needs no waiting.
    fn arrived(&mut self) -> Result<Option<Bytes>> {
        match self.is_behind() {
            true => Ok(None),
            false => self.messages.next(),
        }
    }

    fn receive(&mut self) -> LocalBoxFuture<'_, Result<Option<Bytes>>> {
        async move {
            if self.is_behind() {
                self.flush().await?;
            }
            if let Some(message) = self.messages.next()? {
                return Ok(Some(message));
            }
            let limit_ms = self.inner.limits.call_ms_max;
            let next = within(limit_ms, self.next()).await?;
            next.map_err(|failure| failure.into_error(&self.inner.link))
        }
        .boxed_local()
    }

    async fn next(&mut self) -> Result<Option<Bytes>, CallFailure> {
        let body = match &mut self.answers {
            Answers::Begun(body) => body,
            Answers::Awaited(answer) => {
                let Some(answer) = answer.take() else {
                    return Err(Error::Usage("the stream has failed before; open another").into());
                };
                let body = call::body(answer).await?;
                self.answers = Answers::Begun(body);
                match &mut self.answers {
                    Answers::Begun(body) => body,
                    Answers::Awaited(_) => return Ok(None),
                }
            }
        };
        call::next(body, &mut self.messages).await
    }

    /// Nothing follows.
    fn end(&mut self) -> Result<()> {
        self.requests
            .send_data(Bytes::new(), true)
            .map_err(|error| CallFailure::from(error).into_error(&self.inner.link))
    }
}

impl<Q, R> std::fmt::Debug for Duplex<Q, R> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Duplex({} owed)", self.core.owed)
    }
}
