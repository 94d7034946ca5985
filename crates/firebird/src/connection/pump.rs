//! The task of one connection: sends what callers wrote, reads what the server answers, and hands it out. Decodes nothing.
//! It always reads while it writes, so that both sides being full is no deadlock; it stops reading only while the caller at
//! the head of the line reads slowly. Rule: one system call sends what all callers of a turn of the event loop wrote.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tsumugi_firebird_proto::Requests;
use tsumugi_firebird_proto::request::Cancel;

use super::Shared;
use super::lost::{Lost, Reason};
use crate::connect::Layers;
use crate::limits;

pub(super) struct Pump<S> {
    stream: S,
    layers: Layers,
    input: BytesMut,
    /// A request to cancel, on its way in a write of its own.
    lone: BytesMut,
    shared: Rc<Shared>,
    /// A buffer has grown for something large and shall not stay so.
    swollen: bool,
}

/// Whether a step got anywhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Moved,
    Stuck,
}

impl<S> Pump<S> {
    pub(super) fn new(stream: S, layers: Layers, input: BytesMut, shared: Rc<Shared>) -> Self {
        Pump {
            stream,
            layers,
            input,
            lone: BytesMut::new(),
            shared,
            swollen: false,
        }
    }
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
        Rc::strong_count(shared) == 1
            && !shared.protocol.borrow().will_answer()
            && shared.out.borrow().is_empty()
    }

    /// A courtesy: when it does not go out at once, the server learns of the end by that of the socket.
    fn say_goodbye(&mut self, cx: &mut Context<'_>) {
        let mut out = BytesMut::new();
        let mut requests = Requests::new(&mut out, self.shared.version);
        requests.detach(self.shared.database);
        requests.disconnect();
        if self.layers.seal(&mut out, 0).is_ok() {
            let _ = Pin::new(&mut self.stream).poll_write(cx, &out);
            let _ = Pin::new(&mut self.stream).poll_shutdown(cx);
        }
    }

    /// Whether the caller at the head of the line has enough to read.
    fn is_choked(&self) -> bool {
        let protocol = self.shared.protocol.borrow();
        let slots = self.shared.slots.borrow();
        let next = protocol.next();
        next.is_some_and(|token| slots.waiting_bytes(token.ticket) >= limits::UNREAD_BYTES_MAX)
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Result<Step, Reason> {
        let mut step = self.write_lone(cx)?;
        if !self.lone.is_empty() || self.shared.held.get() {
            return Ok(step);
        }
        let mut out = self.shared.out.borrow_mut();
        self.swollen |= out.bytes.len() > limits::OUT_BYTES_MAX;
        while !out.is_empty() {
            let ready = out.seal(&mut self.layers)?;
            match Pin::new(&mut self.stream).poll_write(cx, ready) {
                Poll::Ready(Ok(0)) => return Err(Reason::Io(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    out.took(count);
                    self.shared.moved(count);
                    step = Step::Moved;
                }
                Poll::Ready(Err(error)) => return Err(Reason::Io(error)),
                Poll::Pending => break,
            }
        }
        if out.is_empty() && std::mem::take(&mut self.swollen) {
            out.bytes = BytesMut::with_capacity(limits::BUFFER_BYTES);
        }
        if out.bytes.len() < limits::OUT_BYTES_MAX {
            for waker in self.shared.room.take() {
                waker.wake();
            }
        }
        Ok(step)
    }

    /// Sends the request to cancel, if one is wanted.
    fn write_lone(&mut self, cx: &mut Context<'_>) -> Result<Step, Reason> {
        if self.shared.cancelling.take() && self.lone.is_empty() {
            Requests::new(&mut self.lone, self.shared.version).cancel(Cancel::Raise);
            self.layers.seal(&mut self.lone, 0)?;
        }
        let mut step = Step::Stuck;
        while !self.lone.is_empty() {
            match Pin::new(&mut self.stream).poll_write(cx, &self.lone) {
                Poll::Ready(Ok(0)) => return Err(Reason::Io(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    self.lone.advance(count);
                    step = Step::Moved;
                }
                Poll::Ready(Err(error)) => return Err(Reason::Io(error)),
                Poll::Pending => break,
            }
        }
        Ok(step)
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<Step, Reason> {
        if self.layers.holds_back() {
            let before = self.input.len();
            self.layers.inflate(&mut self.input)?;
            self.deliver()?;
            if self.input.len() > before {
                return Ok(Step::Moved);
            }
        }
        let missing = self.shared.protocol.borrow().missing();
        let room = missing.clamp(limits::READ_BYTES_MIN, limits::READ_BYTES_MAX);
        if self.input.capacity() - self.input.len() < room {
            self.input.reserve(room.max(limits::BUFFER_BYTES));
        }
        let from = self.input.len();
        let reading = pin!(self.stream.read_buf(&mut self.input));
        match reading.poll(cx) {
            Poll::Ready(Ok(0)) => return Err(Reason::Closed),
            Poll::Ready(Ok(count)) => self.shared.moved(count),
            Poll::Ready(Err(error)) => return Err(Reason::Io(error)),
            Poll::Pending => return Ok(Step::Stuck),
        }
        self.layers.open(&mut self.input, from)?;
        self.deliver()?;
        Ok(Step::Moved)
    }

    /// Hands out what has come.
    fn deliver(&mut self) -> Result<(), Reason> {
        loop {
            let cut = self.shared.protocol.borrow_mut().poll(&mut self.input);
            let Some(event) = cut.map_err(Reason::Protocol)? else {
                return Ok(());
            };
            let orphan = self.shared.slots.borrow_mut().answer(event);
            if let Some(orphan) = orphan {
                self.shared.undo(orphan);
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
