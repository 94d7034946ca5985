//! The task of one connection: sends what callers wrote, reads what the server replies, and hands it out. Decodes nothing.
//! It always reads while it writes, so that both sides being full is no deadlock; it stops reading only while the caller at
//! the head of the line reads slowly. Rule: one system call sends what all callers of a turn of the event loop wrote.
//!
//! When a server and its client are equally quick, each reply makes a turn of its own, and a system call for each request is most of
//! what it costs. So with many requests under way what a turn wrote may wait for company (`send buffer`), as Nagle's algorithm lets
//! small pieces wait: until there is one request for every eighth reply that the server still owes. No timer: a reply that comes
//! makes a turn, and that decides anew. What it costs when it goes wrong:
//! - a long statement at the head of the line: the server replies in order, so what waits here would have waited there;
//! - a server far away that runs dry meanwhile: up to one way there and back, so only servers that have replied within half a
//!   millisecond are treated so;
//! - a caller that leaves: what waits is sent at once, so that the connection is drained, or its statement cancelled, as ever.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};

use crate::cancel;
use crate::limits;
use crate::loss::{Loss, LossReason};
use crate::pipeline::{Pipeline, PipelineRef, Protocol, ReasonOf, Transform as _};
use crate::send_buffer::SendBuffer;

/// Takes a stream over after its start-up; `input` is what was read beyond that. Spawns the connection's task on this thread, whose runtime
/// must be one for futures that are not `Send`.
pub fn start<P, S>(driver: P, stream: S, layers: P::Layers, input: BytesMut) -> PipelineRef<P>
where
    P: Protocol,
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let pipeline = Rc::new(Pipeline::new(driver, cancel::on_abandon));
    tokio::task::spawn_local(Pump {
        stream,
        layers,
        input,
        cancel: BytesMut::new(),
        pipeline: Rc::clone(&pipeline),
        unflushed: false,
        oversized: Oversized::default(),
    });
    PipelineRef(pipeline)
}

struct Pump<P: Protocol, S> {
    stream: S,
    layers: P::Layers,
    input: BytesMut,
    /// A request to cancel, on its way in a write of its own.
    cancel: BytesMut,
    pipeline: Rc<Pipeline<P>>,
    /// The stream (TLS) may hold back what it was given.
    unflushed: bool,
    oversized: Oversized,
}

/// Buffers that have grown for something large and shall not stay so.
#[derive(Default)]
struct Oversized {
    input: bool,
    out: bool,
}

/// Whether a step got anywhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Moved,
    Stuck,
}

impl<P: Protocol, S: AsyncRead + AsyncWrite + Unpin> Pump<P, S> {
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, ReasonOf<P>> {
        self.deliver()?;
        loop {
            // What was not sent until then was reported as such, and may be sent on another connection.
            if !self.pipeline.is_alive() {
                return Ok(Poll::Ready(()));
            }
            let wrote = self.write(cx)?;
            if self.pipeline.closing.get() && self.is_done() {
                self.send_goodbye(cx);
                return Ok(Poll::Ready(()));
            }
            let read = if self.is_choked() {
                Step::Stuck
            } else {
                self.read(cx)?
            };
            if (wrote, read) == (Step::Stuck, Step::Stuck) {
                return Ok(Poll::Pending);
            }
        }
    }

    /// No request will come, no reply is awaited, and all is sent.
    fn is_done(&self) -> bool {
        let pipeline = &self.pipeline;
        Rc::strong_count(pipeline) == 1
            && !pipeline.driver.will_answer()
            && pipeline.out.borrow().is_empty()
    }

    /// A courtesy: when it does not go out at once, the server learns of the end by that of the socket.
    fn send_goodbye(&mut self, cx: &mut Context<'_>) {
        self.pipeline
            .append(|out| self.pipeline.driver.goodbye(out));
        if self.write(cx).is_ok() {
            let _ = Pin::new(&mut self.stream).poll_shutdown(cx);
        }
    }

    /// Whether the caller at the head of the line has enough to read.
    fn is_choked(&self) -> bool {
        let oldest = self.pipeline.driver.oldest();
        oldest.is_some_and(|ticket| self.pipeline.slots.borrow().is_choked(ticket))
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Result<Step, ReasonOf<P>> {
        let mut step = self.write_cancel(cx)?;
        let pipeline = &*self.pipeline;
        let mut out = pipeline.out.borrow_mut();
        self.oversized.out |= out.len() > limits::OUT_BYTES_MAX;
        let may = self.cancel.is_empty()
            && !out.is_empty()
            && !pipeline.is_paused.get()
            && is_due(pipeline, &mut out);
        while may && !out.is_empty() {
            let ready = out.ready(|bytes| self.layers.seal(bytes))?;
            match write_some(&mut self.stream, cx, ready)? {
                Some(count) => {
                    out.record_written(count);
                    pipeline.moved(count);
                    self.unflushed = true;
                    step = Step::Moved;
                }
                None => break,
            }
        }
        if self.unflushed {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.unflushed = false,
                Poll::Ready(Err(error)) => return Err(LossReason::Io(error)),
                Poll::Pending => {}
            }
        }
        if out.is_empty() {
            out.emptied();
            if std::mem::take(&mut self.oversized.out) {
                out.shrink();
            }
        }
        if out.len() < limits::OUT_BYTES_MAX {
            for waker in pipeline.room.take() {
                waker.wake();
            }
        }
        Ok(step)
    }

    /// Sends the request to cancel, if one is wanted. Its bytes are no progress of the connection.
    fn write_cancel(&mut self, cx: &mut Context<'_>) -> Result<Step, ReasonOf<P>> {
        if self.pipeline.cancelling.take() && self.cancel.is_empty() {
            self.pipeline.driver.write_cancel(&mut self.cancel);
            self.layers.seal(&mut self.cancel)?;
        }
        let mut step = Step::Stuck;
        while !self.cancel.is_empty() {
            let Some(count) = write_some(&mut self.stream, cx, &self.cancel)? else {
                break;
            };
            self.cancel.advance(count);
            self.unflushed = true;
            step = Step::Moved;
        }
        Ok(step)
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<Step, ReasonOf<P>> {
        let from = self.input.len();
        self.layers.open_more(&mut self.input)?;
        if self.input.len() > from {
            self.deliver()?;
            return Ok(Step::Moved);
        }
        let missing = self.pipeline.driver.missing();
        let room = missing.clamp(limits::READ_BYTES_MIN, limits::READ_BYTES_MAX);
        if self.input.capacity() - self.input.len() < room {
            self.input.reserve(room.max(limits::BUFFER_BYTES));
        }
        let reading = pin!(self.stream.read_buf(&mut self.input));
        match reading.poll(cx) {
            Poll::Ready(Ok(0)) => return Err(LossReason::Closed(self.pipeline.driver.farewell())),
            Poll::Ready(Ok(count)) => self.pipeline.moved(count),
            Poll::Ready(Err(error)) => return Err(LossReason::Io(error)),
            Poll::Pending => return Ok(Step::Stuck),
        }
        self.layers.open(&mut self.input, from)?;
        self.deliver()?;
        Ok(Step::Moved)
    }

    /// Hands out what has come.
    fn deliver(&mut self) -> Result<(), ReasonOf<P>> {
        self.oversized.input |= self.input.len() > limits::READ_BYTES_MAX;
        loop {
            let cut = self.pipeline.driver.cut(&mut self.input);
            let Some(event) = cut.map_err(LossReason::Protocol)? else {
                break;
            };
            P::dispatch(&self.pipeline, event)?;
        }
        if self.input.is_empty() && std::mem::take(&mut self.oversized.input) {
            self.input = BytesMut::with_capacity(limits::BUFFER_BYTES);
        }
        Ok(())
    }
}

/// Whether what was written goes out in this turn.
fn is_due<P: Protocol>(pipeline: &Pipeline<P>, out: &mut SendBuffer) -> bool {
    let latency = pipeline.slots.borrow().latency();
    out.is_due(pipeline.driver.awaited(), latency)
}

/// How many bytes the socket has taken; none while it is full.
fn write_some<S: AsyncWrite + Unpin, F, V>(
    stream: &mut S,
    cx: &mut Context<'_>,
    bytes: &[u8],
) -> Result<Option<usize>, LossReason<F, V>> {
    match Pin::new(stream).poll_write(cx, bytes) {
        Poll::Ready(Ok(0)) => Err(LossReason::Io(io::ErrorKind::WriteZero.into())),
        Poll::Ready(Ok(count)) => Ok(Some(count)),
        Poll::Ready(Err(error)) => Err(LossReason::Io(error)),
        Poll::Pending => Ok(None),
    }
}

impl<P: Protocol, S: AsyncRead + AsyncWrite + Unpin> Future for Pump<P, S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.pipeline.pump.set(Some(cx.waker().clone()));
        this.pipeline.rung.set(false);
        match this.turn(cx) {
            Ok(polled) => polled,
            Err(reason) => {
                this.pipeline.lose(Loss::new(reason));
                Poll::Ready(())
            }
        }
    }
}
