//! The task of one connection: sends what callers wrote, reads what the server answers, and hands it out. Decodes nothing.
//! It always reads while it writes, so that both sides being full is no deadlock; it stops reading only while the caller at
//! the head of the line reads slowly. Rule: one system call sends what all callers of a turn of the event loop wrote.
//!
//! When a server and its client are equally quick, each answer makes a turn of its own, and a system call for each request is most of
//! what it costs. So with many requests under way what a turn wrote may wait for company (`outbox`), as Nagle's algorithm lets
//! small pieces wait: until there is one request for every eighth answer that the server still owes. No timer: an answer that comes
//! makes a turn, and that decides anew. What it costs when it goes wrong:
//! - a long statement at the head of the line: the server answers in order, so what waits here would have waited there;
//! - a server far away that runs dry meanwhile: up to one way there and back, so only servers that have answered within half a
//!   millisecond are treated so;
//! - a caller that leaves: what waits is sent at once, so that the connection is drained, or its statement cancelled, as ever.
//!
//! Statements that prepare, begin, commit, stream, copy or have several parts do not wait, nor does anything below nine in flight.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tsumugi_pg_proto::connection::Event as Cut;

use super::outbox::Outbox;
use super::slots::{Lost, Reason, ReplyChunk};
use super::{Event, Shared};
use crate::error::Error;
use crate::limits;

pub(super) struct Pump<S> {
    stream: S,
    input: BytesMut,
    shared: Rc<Shared>,
    /// The stream (TLS) may hold back what it was given.
    unflushed: bool,
    /// A buffer has grown for something large and shall not stay so.
    swollen: Oversized,
}

#[derive(Default)]
struct Oversized {
    input: bool,
    out: bool,
}

impl<S> Pump<S> {
    pub(super) fn new(stream: S, leftover: BytesMut, shared: Rc<Shared>) -> Self {
        Pump {
            stream,
            input: leftover,
            shared,
            unflushed: false,
            swollen: Oversized::default(),
        }
    }
}

/// Whether a step got anywhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Moved,
    Stuck,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Pump<S> {
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, Reason> {
        self.deliver()?;
        loop {
            let wrote = self.write(cx)?;
            if self.shared.lost.borrow().is_some() {
                return Ok(Poll::Ready(()));
            }
            if self.shared.closing.get() && self.is_done() {
                self.say_goodbye(cx);
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

    /// Nobody will ask again, nobody waits, and all is sent.
    fn is_done(&self) -> bool {
        let shared = &self.shared;
        Rc::strong_count(shared) == 1 && shared.protocol.borrow().awaited() == 0
    }

    /// A courtesy: when it does not go out at once, the server learns of the end by that of the socket.
    fn say_goodbye(&mut self, cx: &mut Context<'_>) {
        self.shared.terminate();
        if self.write(cx).is_ok() {
            let _ = Pin::new(&mut self.stream).poll_shutdown(cx);
        }
    }

    /// Whether the caller at the head of the line has enough to read.
    fn is_choked(&self) -> bool {
        let oldest = self.shared.protocol.borrow().oldest();
        let slots = self.shared.slots.borrow();
        oldest.is_some_and(|ticket| slots.waiting_bytes(ticket) >= limits::UNREAD_BYTES_MAX)
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Result<Step, Reason> {
        let mut step = Step::Stuck;
        let mut out = self.shared.out.borrow_mut();
        self.swollen.out |= out.bytes.len() > limits::OUT_BYTES_MAX;
        let may = !out.bytes.is_empty() && !self.shared.held.get() && self.is_due(&mut out);
        while may && !out.bytes.is_empty() {
            match Pin::new(&mut self.stream).poll_write(cx, &out.bytes) {
                Poll::Ready(Ok(0)) => return Err(Reason::Io(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    out.bytes.advance(count);
                    self.shared.sent.set(self.shared.sent.get() + count as u64);
                    self.unflushed = true;
                    step = Step::Moved;
                }
                Poll::Ready(Err(error)) => return Err(Reason::Io(error)),
                Poll::Pending => break,
            }
        }
        if self.unflushed {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.unflushed = false,
                Poll::Ready(Err(error)) => return Err(Reason::Io(error)),
                Poll::Pending => {}
            }
        }
        if out.bytes.is_empty() {
            out.emptied();
            if std::mem::take(&mut self.swollen.out) {
                out.bytes = BytesMut::with_capacity(limits::BUFFER_BYTES);
            }
        }
        if out.bytes.len() < limits::OUT_BYTES_MAX {
            for waker in self.shared.room.take() {
                waker.wake();
            }
        }
        Ok(step)
    }

    /// Whether what was written goes out in this turn.
    fn is_due(&self, out: &mut Outbox) -> bool {
        let awaited = self.shared.protocol.borrow().awaited();
        out.is_due(awaited, self.shared.slots.borrow().near())
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<Step, Reason> {
        let missing = self.shared.protocol.borrow().missing();
        let room = missing.clamp(limits::READ_BYTES_MIN, limits::READ_BYTES_MAX);
        if self.input.capacity() - self.input.len() < room {
            self.input.reserve(room.max(limits::BUFFER_BYTES));
        }
        let reading = pin!(self.stream.read_buf(&mut self.input));
        match reading.poll(cx) {
            Poll::Ready(Ok(0)) => {
                let fatal = self.shared.protocol.borrow().fatal().cloned();
                return Err(Reason::Closed(fatal.map(Box::new)));
            }
            Poll::Ready(Ok(count)) => {
                let received = &self.shared.received;
                received.set(received.get() + count as u64);
            }
            Poll::Ready(Err(error)) => return Err(Reason::Io(error)),
            Poll::Pending => return Ok(Step::Stuck),
        }
        self.swollen.input |= self.input.len() > limits::READ_BYTES_MAX;
        self.deliver()?;
        if self.input.is_empty() && std::mem::take(&mut self.swollen.input) {
            self.input = BytesMut::with_capacity(limits::BUFFER_BYTES);
        }
        Ok(Step::Moved)
    }

    /// Hands out what has come.
    fn deliver(&mut self) -> Result<(), Reason> {
        loop {
            let cut = self.shared.protocol.borrow_mut().poll(&mut self.input);
            let Some(cut) = cut.map_err(Reason::Protocol)? else {
                return Ok(());
            };
            let mut slots = self.shared.slots.borrow_mut();
            match cut {
                Cut::Reply(reply) => slots.reply(reply.token, Ok(reply)),
                Cut::Part { token, tag, bytes } => {
                    slots.bit(token, ReplyChunk::Part { tag, bytes })
                }
                Cut::Fragment { token, bytes, left } => {
                    slots.bit(token, ReplyChunk::Fragment { bytes, left });
                }
                Cut::End { token, .. } => slots.end(token),
                Cut::TooLarge {
                    token,
                    reply_bytes_max,
                } => slots.fail(token, Error::TooLarge { reply_bytes_max }),
                Cut::CopyIn { token, bytes } if slots.reads_bits(token) => {
                    slots.bit(token, ReplyChunk::CopyIn(bytes));
                }
                Cut::CopyIn { .. } => {
                    drop(slots);
                    let refuse = "COPY FROM STDIN has to be run by copy_in";
                    let mut protocol = self.shared.protocol.borrow_mut();
                    let mut out = self.shared.out.borrow_mut();
                    let refused = protocol.copy_fail(&mut out.bytes, refuse);
                    out.press();
                    debug_assert!(refused.is_ok(), "the server has just asked for data");
                }
                Cut::Notification {
                    process_id,
                    channel,
                    payload,
                } => {
                    drop(slots);
                    self.shared.tell(Event::Notification {
                        process_id,
                        channel,
                        payload,
                    });
                }
                Cut::Notice(notice) => {
                    drop(slots);
                    self.shared.tell(Event::Notice(notice));
                }
                Cut::Parameter { name, value } => {
                    drop(slots);
                    self.shared.tell(Event::Parameter { name, value });
                }
                Cut::Fatal(error) => return Err(Reason::Closed(Some(error))),
                _ => {}
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Pump<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.shared.pump.set(Some(cx.waker().clone()));
        this.shared.rung.set(false);
        match this.turn(cx) {
            Ok(polled) => polled,
            Err(reason) => {
                this.shared.lose(Lost(Rc::new(reason)));
                Poll::Ready(())
            }
        }
    }
}
