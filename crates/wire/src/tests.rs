//! The task of a connection with a toy protocol over bytes in memory. A request is any text; a reply is a line, and each line before it that
//! begins with `+` is a piece of it. `!` breaks the protocol. Time stands still unless every task waits for it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf, duplex};
use tokio::task::{LocalSet, yield_now};
use tokio::time::{Instant, sleep, timeout};

use crate::limits::{
    BUFFER_BYTES, CANCEL_AFTER, CANCEL_TIMEOUT, OUT_BYTES_MAX, SLOT_ITEMS_MAX, UNREAD_BYTES_MAX,
};
use crate::{
    CancelOutcome, Delivery, FlushMode, Item, Loss, LossOf, Pipeline, PipelineRef, Protocol,
    ReasonOf, Replies, ReplyLoss, StatementFate, Ticket, Transform, start,
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

    fn ended(pipeline: &Pipeline<Self>) {
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

#[test]
fn replies_fed_byte_by_byte_reach_their_callers_in_order() {
    run(1024, Cancelling::Over, |mut scene| async move {
        let mut first = scene.request("one;");
        let mut second = scene
            .try_request(&["two;", "three;"], Delivery::Whole)
            .unwrap();
        let mut third = scene.stream("four;");
        assert_eq!(scene.received().await, "one;two;three;four;");
        let stream = "1\n2\n3\n+4\n5\n";
        let mut order = Vec::new();
        for byte in stream.chars() {
            scene.reply(&byte.to_string()).await;
            if first.is_open()
                && let Some(lines) = now(whole(&mut first)).await
            {
                order.push(lines.unwrap().join(","));
            }
            if second.is_open()
                && let Some(lines) = now(whole(&mut second)).await
            {
                order.push(lines.unwrap().join(","));
            }
            if third.has_news() {
                order.push(next(&mut third).await.unwrap());
            }
        }
        assert_eq!(order, ["1", "2,3", "+4", "5"]);
        assert!(!third.is_due());
        assert_eq!(scene.client.driver.awaited(), 0);
    });
}

#[test]
fn caller_dropped_after_any_byte_disturbs_no_other() {
    let stream = "1\n+2\n+3\n4\n5\n";
    for dropped_after in 0..=stream.len() {
        run(1024, Cancelling::Impossible, |mut scene| async move {
            let mut first = scene.request("one;");
            let mut middle = Some(scene.stream("two;"));
            let mut last = scene.request("three;");
            let mut taken = Vec::new();
            for (fed, byte) in stream.chars().enumerate() {
                if fed == dropped_after {
                    middle = None;
                }
                scene.reply(&byte.to_string()).await;
                // It takes the first piece, and leaves the others.
                if let Some(middle) = middle.as_mut()
                    && taken.is_empty()
                    && middle.has_news()
                {
                    taken.push(next(middle).await.unwrap());
                }
            }
            drop(middle);
            settle().await;
            assert_eq!(whole(&mut first).await.unwrap(), ["1"], "{dropped_after}");
            assert_eq!(whole(&mut last).await.unwrap(), ["5"], "{dropped_after}");
            taken.extend(scene.discarded());
            assert_eq!(taken, ["+2", "+3", "4"], "{dropped_after}");
            // Its slot is free, once, and so are theirs.
            drop((first, last));
            let tickets: Vec<Ticket> = (0..3)
                .map(|_| {
                    let (replies, ticket) = Replies::open(&scene.client, Delivery::Whole);
                    std::mem::forget(replies);
                    ticket
                })
                .collect();
            let mut sorted = tickets.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2], "{dropped_after}");
        });
    }
}

#[test]
fn request_that_fails_leaves_no_bytes_and_frees_its_slot() {
    run(1024, Cancelling::Over, |mut scene| async move {
        let mut first = scene.request("one;");
        let (replies, ticket) = Replies::open(&scene.client, Delivery::Whole);
        let failed = scene.client.request(1, FlushMode::Now, |out| {
            out.extend_from_slice(b"half");
            Err::<(), Failure>(ReplyLoss {
                lost: crate::Loss::aborted("refused"),
                fate: StatementFate::No,
            })
        });
        assert_eq!(failed.unwrap_err().lost.to_string(), "refused");
        drop(replies);
        let (_replies, again) = Replies::open(&scene.client, Delivery::Whole);
        assert_eq!(again, ticket);
        assert_eq!(scene.received().await, "one;");
        scene.reply("1\n").await;
        assert_eq!(whole(&mut first).await.unwrap(), ["1"]);
    });
}

#[test]
fn caller_waits_for_room_when_the_send_buffer_holds_its_limit() {
    for (waiting, has_room) in [
        (OUT_BYTES_MAX - 1, true),
        (OUT_BYTES_MAX, false),
        (OUT_BYTES_MAX + 1, false),
    ] {
        run(
            SOCKET_BYTES,
            Cancelling::Impossible,
            |mut scene| async move {
                // The socket takes some of it.
                let _replies = scene.request(&"x".repeat(waiting + SOCKET_BYTES));
                settle().await;
                let room = scene.client.clone();
                let room = tokio::task::spawn_local(async move { room.room().await });
                settle().await;
                assert_eq!(room.is_finished(), has_room, "{waiting}");
                scene.received().await;
                assert!(room.is_finished(), "{waiting}");
            },
        );
    }
}

#[test]
fn socket_is_not_read_while_the_oldest_caller_has_its_limit_unread() {
    for (unread, reads_on) in [
        (UNREAD_BYTES_MAX - 1, true),
        (UNREAD_BYTES_MAX, false),
        (UNREAD_BYTES_MAX + 1, false),
    ] {
        run(
            SOCKET_BYTES,
            Cancelling::Impossible,
            |mut scene| async move {
                let mut slow = scene.stream("one;");
                scene.received().await;
                // As one item, it cannot stop in the middle.
                scene.reply(&format!("+{}\n", "x".repeat(unread - 1))).await;
                // More than the socket and one read hold.
                let rest = tokio::task::spawn_local(async move {
                    let rest = format!("+{}\n2\n", "y".repeat(BUFFER_BYTES * 4));
                    scene.server.write_all(rest.as_bytes()).await.unwrap();
                    scene
                });
                settle().await;
                for _ in 0..100 {
                    settle().await;
                }
                let stuck = !rest.is_finished();
                assert_eq!(!stuck, reads_on, "{unread}");
                // It takes one item, and the rest comes without another request.
                assert_eq!(next(&mut slow).await.unwrap().len(), unread);
                let rest = timeout(Duration::from_secs(1), rest).await;
                let _scene = rest.expect("the socket is read").unwrap();
                assert_eq!(next(&mut slow).await.unwrap().len(), BUFFER_BYTES * 4 + 1);
                assert_eq!(next(&mut slow).await.unwrap(), "2");
            },
        );
    }
}

#[test]
fn slow_caller_that_leaves_makes_way_for_the_next() {
    run(
        SOCKET_BYTES,
        Cancelling::Impossible,
        |mut scene| async move {
            let slow = scene.stream("one;");
            let mut next_one = scene.request("two;");
            scene.received().await;
            scene
                .reply(&format!("+{}\n", "x".repeat(UNREAD_BYTES_MAX)))
                .await;
            drop(slow);
            scene.server.write_all(b"1\n2\n").await.unwrap();
            let read = timeout(Duration::from_secs(1), whole(&mut next_one)).await;
            assert_eq!(read.expect("the socket is read").unwrap(), ["2"]);
        },
    );
}

#[test]
fn call_left_behind_a_slow_caller_is_not_cancelled_and_its_reply_is_thrown_away() {
    run(SOCKET_BYTES, Cancelling::InBand, |mut scene| async move {
        let mut slow = scene.stream("one;");
        let left = scene.request("two;");
        let mut last = scene.request("three;");
        scene.received().await;
        let piece = format!("+{}\n", "x".repeat(UNREAD_BYTES_MAX));
        scene.reply(&piece).await;
        drop(left);
        sleep(CANCEL_AFTER * 5).await;
        assert_eq!(scene.client.driver.cancelled.get(), 0, "others wait");
        // Nothing is read before the slow caller takes something.
        let rest = b"+more\n1\n2\n3\n";
        scene.server.write_all(rest).await.unwrap();
        sleep(CANCEL_AFTER * 5).await;
        assert!(scene.discarded().is_empty());
        assert!(now(whole(&mut last)).await.is_none());
        assert_eq!(next(&mut slow).await.unwrap().len(), UNREAD_BYTES_MAX + 1);
        for text in ["+more", "1"] {
            assert_eq!(next(&mut slow).await.unwrap(), text);
        }
        assert_eq!(whole(&mut last).await.unwrap(), ["3"]);
        assert_eq!(scene.discarded(), ["2"]);
        sleep(CANCEL_AFTER * 5).await;
        assert_eq!(scene.client.driver.cancelled.get(), 0, "nothing runs");
    });
}

#[test]
fn held_back_bytes_are_read_without_more_from_the_socket() {
    let layers = Layers::Inverted {
        waiting: BytesMut::new(),
    };
    run_layered(1024, Cancelling::Over, layers, |mut scene| async move {
        let mut replies = scene
            .try_request(&["a", "b", "c"], Delivery::Whole)
            .unwrap();
        settle().await;
        let inverted: Vec<u8> = b"111\n22\n33\n".iter().map(|byte| !*byte).collect();
        scene.server.write_all(&inverted).await.unwrap();
        settle().await;
        let lines = now(whole(&mut replies)).await.expect("all was read");
        assert_eq!(lines.unwrap(), ["111", "22", "33"]);
    });
}

#[test]
fn send_buffer_gives_the_memory_of_a_large_request_back() {
    run(SOCKET_BYTES, Cancelling::Over, |mut scene| async move {
        let _replies = scene.request(&"x".repeat(OUT_BYTES_MAX + 1));
        assert_eq!(scene.received().await.len(), OUT_BYTES_MAX + 1);
        let mut out = scene.client.out.borrow_mut();
        let capacity = out
            .append(0, FlushMode::WithOthers, |out| Ok::<_, ()>(out.capacity()))
            .unwrap();
        assert!(capacity <= 2 * BUFFER_BYTES, "{capacity}");
    });
}

#[test]
fn slot_keeps_memory_for_its_limit_of_items_only() {
    run(64 * 1024, Cancelling::Over, |mut scene| async move {
        for (items, kept) in [(SLOT_ITEMS_MAX, true), (SLOT_ITEMS_MAX + 1, false)] {
            let texts = vec!["x"; items];
            let mut replies = scene.try_request(&texts, Delivery::Whole).unwrap();
            scene.received().await;
            scene.reply(&"1\n".repeat(items)).await;
            assert_eq!(whole(&mut replies).await.unwrap().len(), items);
            drop(replies);
            let mut again = scene.request("x");
            scene.received().await;
            scene.reply("1\n").await;
            let capacity = Cell::new(0);
            let taken = now(poll_fn(|cx| {
                again.poll_whole(cx, |items| capacity.set(items.capacity()))
            }));
            taken.await.unwrap().unwrap();
            assert_eq!(capacity.get() >= SLOT_ITEMS_MAX, kept, "{items}");
        }
    });
}

#[test]
fn connection_that_ends_says_which_requests_may_have_run() {
    run(4, Cancelling::Over, |mut scene| async move {
        let mut done = scene.request("a");
        scene.received().await;
        scene.reply("1\n").await;
        let mut partly = scene.stream("b");
        scene.received().await;
        scene.reply("+2\n").await;
        // The socket takes four bytes of what follows.
        let mut sent_in_part = scene.request("ccccc");
        let mut unsent = scene.request("d");
        settle().await;
        drop(scene.server);
        settle().await;
        assert_eq!(whole(&mut done).await.unwrap(), ["1"], "its reply had come");
        assert_eq!(next(&mut partly).await.unwrap(), "+2", "it had come");
        let fates = [
            next(&mut partly).await.unwrap_err(),
            whole(&mut sent_in_part).await.unwrap_err(),
            whole(&mut unsent).await.unwrap_err(),
        ];
        assert_eq!(
            fates.map(|loss| loss.fate),
            [
                StatementFate::Perhaps,
                StatementFate::Perhaps,
                StatementFate::No
            ]
        );
        assert!(scene.client.driver.ended.get());
        assert!(!scene.client.is_alive());
        let (_replies, _) = Replies::open(&scene.client, Delivery::Whole);
        let late = scene
            .client
            .request(1, FlushMode::Now, |_| Ok::<(), Failure>(()));
        assert_eq!(late.unwrap_err().fate, StatementFate::No);
        scene.client.room().await;
        scene.client.settled().await;
    });
}

#[test]
fn request_that_was_lost_before_it_was_sent_is_never_sent() {
    // While a request to cancel is under way.
    run(1024, Cancelling::Endless, |mut scene| async move {
        drop(scene.request("a"));
        assert_eq!(scene.received().await, "a");
        sleep(CANCEL_AFTER * 2).await;
        assert!(!scene.client.is_open());
        let mut unsent = scene.request("b");
        let loss = whole(&mut unsent).await.unwrap_err();
        assert_eq!(loss.fate, StatementFate::No);
        assert_eq!(scene.received().await, "");
    });
    // In the turn in which it was written, and behind what the socket does not take.
    for before in ["", "ccccc"] {
        run(4, Cancelling::Impossible, |mut scene| async move {
            let _before = scene.stream(before);
            settle().await;
            let mut unsent = scene.request("b");
            scene.client.lose(Loss::aborted("it is over"));
            let loss = whole(&mut unsent).await.unwrap_err();
            assert_eq!(loss.fate, StatementFate::No);
            let received = scene.received().await;
            assert!(!received.contains('b'), "{received}");
        });
    }
}

#[test]
fn callers_get_the_reason_for_which_the_connection_ended() {
    async fn reason(scene: Scene, end: impl AsyncFnOnce(Scene) -> Scene) -> String {
        let mut replies = scene.request("a");
        let mut stream = scene.stream("b");
        settle().await;
        let _scene = end(scene).await;
        settle().await;
        let loss = whole(&mut replies).await.unwrap_err();
        let other = next(&mut stream).await.unwrap_err();
        assert_eq!(loss.lost.to_string(), other.lost.to_string());
        loss.lost.to_string()
    }
    run(1024, Cancelling::Over, |scene| async move {
        let said = reason(scene, async |mut scene: Scene| {
            scene.server.shutdown().await.unwrap();
            scene
        });
        assert_eq!(said.await, "closing time");
    });
    run(1024, Cancelling::Over, |scene| async move {
        let said = reason(scene, async |mut scene: Scene| {
            scene.reply("!\n").await;
            scene
        });
        assert_eq!(
            said.await,
            "the server broke the protocol: a line of its own kind"
        );
    });
    run(1024, Cancelling::Over, |scene| async move {
        let said = reason(scene, async |scene: Scene| {
            scene.client.lose(crate::Loss::aborted("enough"));
            // The first reason counts.
            scene.client.lose(crate::Loss::unclean());
            scene
        });
        assert_eq!(said.await, "enough");
    });
}

#[test]
fn socket_error_ends_the_connection() {
    struct Failing;
    impl AsyncRead for Failing {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            Poll::Pending
        }
    }
    impl AsyncWrite for Failing {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[u8],
        ) -> Poll<std::io::Result<usize>> {
            Poll::Ready(Err(std::io::Error::other("the cable is cut")))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    run(1, Cancelling::Over, |scene| async move {
        let toy = Toy {
            expected: RefCell::default(),
            deferred: Cell::new(0),
            cancelling: Cancelling::Over,
            cancelled: Cell::new(0),
            discarded: RefCell::default(),
            ended: Cell::new(false),
        };
        let scene = Scene {
            client: start(toy, Failing, Layers::Plain, BytesMut::new()),
            server: scene.server,
        };
        let mut replies = scene.request("a");
        let loss = whole(&mut replies).await.unwrap_err();
        assert_eq!(loss.lost.to_string(), "the cable is cut");
        assert_eq!(loss.fate, StatementFate::No);
    });
}

#[test]
fn abandoned_statement_is_cancelled_once_no_caller_waits() {
    run(1024, Cancelling::Over, |mut scene| async move {
        let abandoned = scene.request("a");
        let mut other = scene.request("b");
        scene.received().await;
        drop(abandoned);
        sleep(CANCEL_AFTER * 3).await;
        assert_eq!(
            scene.client.driver.cancelled.get(),
            0,
            "another caller waits"
        );
        drop(other);
        sleep(CANCEL_AFTER * 2).await;
        assert!(scene.client.driver.cancelled.get() > 0);
        scene.reply("1\n2\n").await;
        let cancelled = scene.client.driver.cancelled.get();
        sleep(CANCEL_AFTER * 5).await;
        assert_eq!(
            scene.client.driver.cancelled.get(),
            cancelled,
            "nothing runs"
        );
        // The connection is as good as before.
        other = scene.request("c");
        assert_eq!(scene.received().await, "c");
        scene.reply("3\n").await;
        assert_eq!(whole(&mut other).await.unwrap(), ["3"]);
    });
}

#[test]
fn caller_whose_reply_has_come_hinders_no_cancel() {
    run(1024, Cancelling::Over, |mut scene| async move {
        let mut served = scene.request("a");
        let abandoned = scene.request("b");
        scene.received().await;
        scene.reply("1\n").await;
        drop(abandoned);
        sleep(CANCEL_AFTER * 2).await;
        assert!(scene.client.driver.cancelled.get() > 0);
        assert_eq!(whole(&mut served).await.unwrap(), ["1"]);
    });
}

#[test]
fn statement_that_ends_soon_is_not_cancelled() {
    run(1024, Cancelling::Over, |mut scene| async move {
        drop(scene.request("a"));
        assert_eq!(scene.received().await, "a");
        scene.reply("1\n").await;
        sleep(CANCEL_AFTER * 5).await;
        assert_eq!(scene.client.driver.cancelled.get(), 0);
        assert_eq!(scene.discarded(), ["1"]);
    });
}

#[test]
fn nothing_is_sent_while_a_cancel_is_under_way() {
    run(1024, Cancelling::InBand, |mut scene| async move {
        drop(scene.request("a"));
        assert_eq!(scene.received().await, "a");
        sleep(CANCEL_AFTER * 2).await;
        assert_eq!(scene.received().await, "STOP");
        assert!(!scene.client.is_open());
        let mut next_one = scene.request("b");
        assert_eq!(scene.received().await, "");
        scene.reply("cancelled\n").await;
        // The protocol here waits for all that is expected; a real one stops at its fence.
        scene.reply("2\n").await;
        assert_eq!(scene.received().await, "b");
        assert_eq!(whole(&mut next_one).await.unwrap(), ["2"]);
        assert!(scene.client.is_open());
    });
}

#[test]
fn cancel_that_may_still_come_ends_the_connection() {
    for (cancelling, after) in [
        (Cancelling::Uncertain, CANCEL_AFTER),
        (Cancelling::Endless, CANCEL_AFTER + CANCEL_TIMEOUT),
    ] {
        run(1024, cancelling, |mut scene| async move {
            drop(scene.request("a"));
            scene.received().await;
            let began = Instant::now();
            scene.client.settled().await;
            assert!(!scene.client.is_alive());
            let took = began.elapsed();
            assert!(
                took >= after && took < after + Duration::from_millis(50),
                "{took:?}"
            );
            let late = scene.try_request(&["b"], Delivery::Whole).err().unwrap();
            assert_eq!(late.lost.to_string(), Toy::CANCEL_FAILED);
        });
    }
}

#[test]
fn connection_says_goodbye_when_the_last_reply_has_come() {
    for dropped_first in [true, false] {
        run(1024, Cancelling::Impossible, |scene| async move {
            let Scene { client, server } = scene;
            let (pending, ticket) = Replies::open(&client, Delivery::Whole);
            let written: Result<(), Failure> = client.request(1, FlushMode::Now, |out| {
                out.extend_from_slice(b"a");
                client.driver.expected.borrow_mut().push_back(ticket);
                client.expect(ticket, 1);
                Ok(())
            });
            written.unwrap();
            // A scene holds its connection; here only the caller does.
            let mut server = server;
            settle().await;
            let mut replies = Some(pending);
            if dropped_first {
                replies = None;
            }
            drop(client);
            settle().await;
            let mut seen = [0; 16];
            let mut buffer = ReadBuf::new(&mut seen);
            let read = now(poll_fn(|cx| {
                Pin::new(&mut server).poll_read(cx, &mut buffer)
            }));
            read.await.unwrap().unwrap();
            assert_eq!(buffer.filled(), b"a", "it still waits");
            server.write_all(b"1\n").await.unwrap();
            settle().await;
            if let Some(mut replies) = replies {
                assert_eq!(whole(&mut replies).await.unwrap(), ["1"]);
            }
            settle().await;
            let mut rest = Vec::new();
            tokio::io::AsyncReadExt::read_to_end(&mut server, &mut rest)
                .await
                .unwrap();
            assert_eq!(rest, b"bye");
        });
    }
}

#[test]
fn replies_that_the_server_keeps_are_not_waited_for() {
    run(1024, Cancelling::Over, |scene| async move {
        scene.client.driver.deferred.set(1);
        scene.client.settled().await;
        assert_eq!(scene.client.driver.awaited(), 1);
        assert_eq!(scene.client.unanswered_since(), None);
        assert_eq!(scene.client.silent_since(), None);
    });
}

#[test]
fn silence_is_counted_from_the_last_byte_in_either_direction() {
    run(1024, Cancelling::Impossible, |mut scene| async move {
        assert_eq!(scene.client.silent_since(), None);
        let mut stream = scene.stream("a");
        scene.received().await;
        let asked = Instant::now();
        assert_eq!(scene.client.silent_since(), Some(asked));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(scene.client.silent_since(), Some(asked));
        scene.reply("+").await;
        let heard = Instant::now();
        assert_eq!(scene.client.silent_since(), Some(heard));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(scene.client.silent_since(), Some(heard));
        scene.reply("1\n").await;
        assert_eq!(scene.client.silent_since(), None, "its caller has not read");
        next(&mut stream).await.unwrap();
        assert_eq!(scene.client.unanswered_since(), Some(asked));
        scene.reply("2\n").await;
        assert_eq!(scene.client.unanswered_since(), None);
    });
}

#[test]
fn server_is_silent_between_the_replies_that_a_caller_awaits_together() {
    run(1024, Cancelling::Impossible, |mut scene| async move {
        let mut replies = scene.try_request(&["a", "b"], Delivery::Whole).unwrap();
        scene.received().await;
        scene.reply("1\n").await;
        let heard = Instant::now();
        assert_eq!(scene.client.silent_since(), Some(heard), "one is owed");
        sleep(Duration::from_secs(1)).await;
        assert_eq!(scene.client.silent_since(), Some(heard));
        scene.reply("2\n").await;
        assert_eq!(scene.client.silent_since(), None);
        assert_eq!(whole(&mut replies).await.unwrap(), ["1", "2"]);
    });
}

#[test]
fn requests_wait_for_company_only_where_many_are_owed() {
    run(64 * 1024, Cancelling::Impossible, |mut scene| async move {
        let put = |scene: &Scene| {
            let (replies, ticket) = Replies::open(&scene.client, Delivery::Whole);
            let written: Result<(), Failure> =
                scene.client.request(1, FlushMode::WithOthers, |out| {
                    out.extend_from_slice(b"x");
                    scene.client.driver.expected.borrow_mut().push_back(ticket);
                    scene.client.expect(ticket, 1);
                    Ok(())
                });
            written.unwrap();
            replies
        };
        // One reply at once: the server is near.
        let mut first = put(&scene);
        scene.received().await;
        scene.reply("1\n").await;
        whole(&mut first).await.unwrap();
        let many: Vec<_> = (0..64).map(|_| put(&scene)).collect();
        assert_eq!(scene.received().await.len(), 64);
        let waiting = put(&scene);
        assert_eq!(scene.received().await, "", "it waits for company");
        drop(waiting);
        assert_eq!(scene.received().await, "x", "its caller has left");
        drop(many);
    });
}
