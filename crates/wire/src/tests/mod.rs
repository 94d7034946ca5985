//! The task of a connection with a toy protocol over bytes in memory: the protocol, a connection and its server. Tests are in the files beside
//! this one, by subject. A request is any text; a reply is a line, and each line before it that begins with `+` is a piece of it. `!` breaks
//! the protocol. Time stands still unless every task waits for it.

mod cancelling;
mod limits;
mod loss;
mod replies;
mod silence;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWriteExt as _, DuplexStream, ReadBuf, duplex};
use tokio::task::{LocalSet, yield_now};

use crate::{
    CancelOutcome, Delivery, FlushMode, Item, LossOf, Pipeline, PipelineRef, Protocol, ReasonOf,
    Replies, ReplyLoss, Ticket, Transform, start,
};

type Failure = ReplyLoss<LossOf<Toy>>;

/// What a usual socket takes here.
const SOCKET_BYTES: usize = 64 * 1024;

/// What a request to cancel comes to.
#[derive(Clone, Copy, PartialEq)]
enum Cancelling {
    Impossible,
    Over,
    Uncertain,
    /// The server takes it and does nothing.
    Endless,
    /// It goes on the same connection, and is over when everything has been answered.
    InBand,
}

struct Toy {
    expected: RefCell<VecDeque<Ticket>>,
    /// Requests without a reply that follow what is expected.
    deferred: Cell<usize>,
    cancelling: Cancelling,
    cancelled: Cell<usize>,
    discarded: RefCell<Vec<String>>,
    ended: Cell<bool>,
}

#[derive(Debug)]
struct Line(String);

#[derive(Debug)]
struct Breach;

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line of its own kind")
    }
}

impl Item for Line {
    fn unread_bytes(&self) -> usize {
        self.0.len()
    }
}

/// Bytes pass as they are, or inverted and no more than three at once.
enum Layers {
    Plain,
    Inverted { waiting: BytesMut },
}

impl<R> Transform<R> for Layers {
    fn seal(&mut self, out: &mut BytesMut) -> Result<usize, R> {
        match self {
            Layers::Plain => Ok(0),
            Layers::Inverted { .. } => {
                out.iter_mut().for_each(|byte| *byte = !*byte);
                Ok(out.len())
            }
        }
    }

    fn open(&mut self, input: &mut BytesMut, from: usize) -> Result<(), R> {
        if let Layers::Inverted { waiting } = self {
            waiting.extend_from_slice(&input.split_off(from));
            self.open_more(input)?;
        }
        Ok(())
    }

    fn open_more(&mut self, input: &mut BytesMut) -> Result<(), R> {
        if let Layers::Inverted { waiting } = self {
            let some = waiting.split_to(waiting.len().min(3));
            input.extend(some.iter().map(|byte| !*byte));
        }
        Ok(())
    }
}

impl Protocol for Toy {
    type Item = Line;
    type Event = (Ticket, String);
    type Violation = Breach;
    type Farewell = String;
    type Layers = Layers;

    const CANCEL_FAILED: &'static str = "it did not stop";

    fn cut(&self, input: &mut BytesMut) -> Result<Option<Self::Event>, Breach> {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let line = input.split_to(end + 1);
        let text = String::from_utf8_lossy(&line[..end]).into_owned();
        let mut expected = self.expected.borrow_mut();
        let ticket = *expected.front().ok_or(Breach)?;
        if text.starts_with('!') {
            return Err(Breach);
        }
        if !text.starts_with('+') {
            expected.pop_front();
        }
        Ok(Some((ticket, text)))
    }

    fn dispatch(
        pipeline: &Pipeline<Self>,
        (ticket, text): Self::Event,
    ) -> Result<(), ReasonOf<Self>> {
        let last = !text.starts_with('+');
        pipeline.deliver(ticket, Line(text));
        if last {
            pipeline.finish(ticket);
        }
        Ok(())
    }

    fn discard(pipeline: &Pipeline<Self>, Line(text): Line) {
        pipeline.driver.discarded.borrow_mut().push(text);
    }

    fn awaited(&self) -> usize {
        self.expected.borrow().len() + self.deferred.get()
    }

    fn will_answer(&self) -> bool {
        !self.expected.borrow().is_empty()
    }

    fn oldest(&self) -> Option<Ticket> {
        self.expected.borrow().front().copied()
    }

    fn missing(&self) -> usize {
        1
    }

    fn farewell(&self) -> Option<String> {
        Some("closing time".to_owned())
    }

    fn abandon(&self) {
        self.expected.borrow_mut().clear();
    }

    fn on_end(pipeline: &Pipeline<Self>) {
        pipeline.driver.ended.set(true);
    }

    fn goodbye(&self, out: &mut BytesMut) {
        out.extend_from_slice(b"bye");
    }

    fn write_cancel(&self, out: &mut BytesMut) {
        out.extend_from_slice(b"STOP");
    }

    fn can_cancel(&self) -> bool {
        self.cancelling != Cancelling::Impossible
    }

    async fn cancel(pipeline: &PipelineRef<Self>) -> CancelOutcome {
        let driver = &pipeline.driver;
        driver.cancelled.set(driver.cancelled.get() + 1);
        match driver.cancelling {
            Cancelling::Impossible | Cancelling::Over => CancelOutcome::Over,
            Cancelling::Uncertain => CancelOutcome::Uncertain,
            Cancelling::Endless => std::future::pending().await,
            Cancelling::InBand => {
                pipeline.send_cancel();
                while driver.will_answer() {
                    pipeline.another_reply().await;
                }
                CancelOutcome::Over
            }
        }
    }
}

/// A client's connection and its server's end.
struct Scene {
    client: PipelineRef<Toy>,
    server: DuplexStream,
}

/// Runs a test with a connection whose socket takes so many bytes.
fn run<F: Future<Output = ()>>(
    socket_bytes: usize,
    cancelling: Cancelling,
    test: impl FnOnce(Scene) -> F,
) {
    run_layered(socket_bytes, cancelling, Layers::Plain, test);
}

fn run_layered<F: Future<Output = ()>>(
    socket_bytes: usize,
    cancelling: Cancelling,
    layers: Layers,
    test: impl FnOnce(Scene) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        let (stream, server) = duplex(socket_bytes);
        let toy = Toy {
            expected: RefCell::default(),
            deferred: Cell::new(0),
            cancelling,
            cancelled: Cell::new(0),
            discarded: RefCell::default(),
            ended: Cell::new(false),
        };
        let client = start(toy, stream, layers, BytesMut::new());
        test(Scene { client, server }).await;
    });
}

/// Lets all tasks go as far as they get.
async fn settle() {
    for _ in 0..50 {
        yield_now().await;
    }
}

/// What a future says at once.
async fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(said) => Poll::Ready(Some(said)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

async fn whole(replies: &mut Replies<Toy>) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    poll_fn(|cx| {
        replies.poll_whole(cx, |items| {
            lines.extend(items.drain(..).map(|line| line.0));
        })
    })
    .await?;
    Ok(lines)
}

async fn next(replies: &mut Replies<Toy>) -> Result<String, Failure> {
    let line = poll_fn(|cx| replies.poll_next(cx)).await?;
    Ok(line.0)
}

impl Scene {
    fn try_request(&self, texts: &[&str], delivery: Delivery) -> Result<Replies<Toy>, Failure> {
        let (replies, ticket) = Replies::open(&self.client, delivery);
        self.client
            .request(texts.len(), FlushMode::Now, |out| {
                for text in texts {
                    out.extend_from_slice(text.as_bytes());
                    self.client.driver.expected.borrow_mut().push_back(ticket);
                }
                self.client
                    .expect(ticket, u32::try_from(texts.len()).unwrap());
                Ok::<(), Failure>(())
            })
            .map(|()| replies)
    }

    fn request(&self, text: &str) -> Replies<Toy> {
        self.try_request(&[text], Delivery::Whole).unwrap()
    }

    fn stream(&self, text: &str) -> Replies<Toy> {
        self.try_request(&[text], Delivery::Pieces).unwrap()
    }

    /// What the server has got since it was asked last.
    async fn received(&mut self) -> String {
        settle().await;
        let mut all = Vec::new();
        loop {
            let mut bytes = [0; 4096];
            let mut buffer = ReadBuf::new(&mut bytes);
            let reading = now(poll_fn(|cx| {
                Pin::new(&mut self.server).poll_read(cx, &mut buffer)
            }));
            let more = matches!(reading.await, Some(Ok(()))) && !buffer.filled().is_empty();
            all.extend_from_slice(buffer.filled());
            if !more {
                return String::from_utf8_lossy(&all).into_owned();
            }
            settle().await;
        }
    }

    async fn reply(&mut self, bytes: &str) {
        self.server.write_all(bytes.as_bytes()).await.unwrap();
        settle().await;
    }

    fn discarded(&self) -> Vec<String> {
        self.client.driver.discarded.take()
    }
}
