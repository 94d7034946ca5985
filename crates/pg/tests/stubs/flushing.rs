//! When requests go out: at once, or several together. The server is the test itself, at the other end of a pipe in memory.
//! Rule: the clock stands unless a test moves it, so a server is near or far as the test wants, however slow the machine is.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf,
};
use tokio::task::JoinHandle;
use tsumugi_pg::connection::{Behaviour, Cancel};
use tsumugi_pg::{Connection, Error, StatementFate};
use tsumugi_pg_proto::Session;

use super::{READY, message};

/// What the driver's end of the pipe is; it counts what would be system calls.
struct Pipe {
    stream: DuplexStream,
    writes: Rc<Cell<usize>>,
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.writes.set(self.writes.get() + 1);
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A connection, and the server that it is to.
struct Scene {
    db: Connection,
    server: DuplexStream,
    writes: Rc<Cell<usize>>,
    cancelled: Rc<Cell<usize>>,
    /// What the server received and has not looked at.
    received: Vec<u8>,
    callers: Vec<JoinHandle<tsumugi_pg::Result<()>>>,
    answered: Rc<RefCell<Vec<usize>>>,
}

/// How long the server takes for its first answer.
const NEAR: Duration = Duration::ZERO;
const FAR: Duration = Duration::from_millis(1);

fn run<F: Future<Output = ()>>(distance: Duration, test: impl FnOnce(Scene) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut scene = Scene::new();
        scene.prepare(distance).await;
        test(scene).await;
    });
}

/// Everybody gets his turns.
async fn turns() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

impl Scene {
    fn new() -> Scene {
        let (stream, server) = tokio::io::duplex(1 << 20);
        let (writes, cancelled) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let pipe = Pipe {
            stream,
            writes: Rc::clone(&writes),
        };
        let counter = Rc::clone(&cancelled);
        let cancel = Cancel::new(move || {
            counter.set(counter.get() + 1);
            std::future::ready(Ok(()))
        });
        let (session, behaviour) = (Session::default(), Behaviour::default());
        Scene {
            db: Connection::new(pipe, BytesMut::new(), &session, cancel, behaviour),
            server,
            writes,
            cancelled,
            received: Vec::new(),
            callers: Vec::new(),
            answered: Rc::default(),
        }
    }

    /// The statement is known, and how far the server is.
    async fn prepare(&mut self, distance: Duration) {
        self.ask(1).await;
        assert_eq!(self.requests().await, 1);
        tokio::time::advance(distance).await;
        let described = [b"1\0\0\0\x04", &b"t\0\0\0\x06\0\0"[..], b"n\0\0\0\x04"].concat();
        self.say(&[&described, READY].concat()).await;
        assert_eq!(self.requests().await, 1);
        tokio::time::advance(distance).await;
        self.answer(1).await;
        assert!(self.callers.pop().unwrap().await.unwrap().is_ok());
        self.answered.borrow_mut().clear();
        self.writes.set(0);
    }

    /// So many callers more, each in a task of its own.
    async fn ask(&mut self, callers: usize) {
        for _ in 0..callers {
            let (db, answered) = (self.db.clone(), Rc::clone(&self.answered));
            let number = self.callers.len();
            self.callers.push(tokio::task::spawn_local(async move {
                db.query("x", &()).await?;
                answered.borrow_mut().push(number);
                Ok(())
            }));
        }
        turns().await;
    }

    async fn say(&mut self, bytes: &[u8]) {
        self.server.write_all(bytes).await.unwrap();
        turns().await;
    }

    /// The server answers so many executions.
    async fn answer(&mut self, executions: usize) {
        let one = [b"2\0\0\0\x04", &message(b'C', b"DO\0")[..], READY].concat();
        self.say(&one.repeat(executions)).await;
    }

    /// How many requests have arrived since the last look: each ends with a Sync, or is a Query.
    async fn requests(&mut self) -> usize {
        let mut bytes = [0; 4096];
        while let Some(count) = now(self.server.read(&mut bytes)).await {
            let count = count.unwrap();
            if count == 0 {
                break;
            }
            self.received.extend_from_slice(&bytes[..count]);
        }
        let mut requests = 0;
        while let [tag, a, b, c, d, ..] = self.received[..] {
            let length = u32::from_be_bytes([a, b, c, d]) as usize + 1;
            requests += usize::from(tag == b'S' || tag == b'Q');
            self.received.drain(..length);
        }
        requests
    }

    /// So many are under way, and all of it is sent.
    async fn fill(&mut self, requests: usize) {
        self.ask(requests).await;
        assert_eq!(self.requests().await, requests);
        assert_eq!(self.writes.replace(0), 1);
    }
}

/// What a future has at once.
async fn now<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

#[test]
fn sequential_request_is_sent_at_once() {
    run(NEAR, |mut scene| async move {
        for asked in 1..=20 {
            scene.ask(1).await;
            assert_eq!(scene.requests().await, 1);
            assert_eq!(scene.writes.get(), asked);
            scene.answer(1).await;
        }
        assert_eq!(scene.answered.borrow().len(), 20);
    });
}

#[test]
fn requests_behind_many_others_are_sent_together() {
    run(NEAR, |mut scene| async move {
        scene.fill(64).await;
        for _ in 0..640 {
            scene.answer(1).await;
            scene.ask(1).await;
        }
        // Seven of 64 are the first number that is an eighth of the rest.
        assert!(scene.writes.get() <= 640 / 7 + 1, "{}", scene.writes.get());
        assert!(scene.requests().await >= 640 - 7);
        scene.answer(64 - 7).await;
        scene.requests().await;
        scene.answer(7).await;
        assert_eq!(*scene.answered.borrow(), Vec::from_iter(0..704));
    });
}

#[test]
fn waiting_requests_are_sent_when_the_server_replies() {
    run(NEAR, |mut scene| async move {
        scene.fill(12).await;
        scene.ask(1).await;
        assert_eq!(scene.requests().await, 0);
        scene.answer(3).await;
        assert_eq!(scene.requests().await, 0, "the server owes nine");
        scene.answer(1).await;
        assert_eq!(scene.requests().await, 1);
        scene.answer(9).await;
        assert_eq!(scene.answered.borrow().len(), 13);
    });
}

#[test]
fn requests_behind_a_long_statement_are_sent_when_it_ends() {
    run(NEAR, |mut scene| async move {
        scene.fill(64).await;
        let asked = scene.db.unanswered_since();
        tokio::time::advance(Duration::from_secs(10)).await;
        scene.ask(7).await;
        // Whoever chooses among connections sees how long this one has not answered.
        assert_eq!(scene.db.unanswered_since(), asked);
        assert_eq!(scene.requests().await, 0);
        scene.ask(1).await;
        assert_eq!(scene.requests().await, 8);
        scene.ask(5).await;
        scene.answer(64 + 8).await;
        assert_eq!(scene.requests().await, 5);
        scene.answer(5).await;
        assert_eq!(scene.answered.borrow().len(), 77);
    });
}

#[test]
fn request_to_a_distant_server_is_sent_at_once() {
    run(FAR, |mut scene| async move {
        scene.fill(64).await;
        for _ in 0..5 {
            scene.ask(1).await;
            assert_eq!(scene.requests().await, 1);
        }
    });
}

#[test]
fn request_that_is_no_plain_execution_is_sent_at_once_with_those_waiting() {
    run(NEAR, |mut scene| async move {
        scene.fill(64).await;
        scene.ask(3).await;
        assert_eq!(scene.requests().await, 0);
        scene.db.send_unawaited("x");
        turns().await;
        assert_eq!((scene.requests().await, scene.writes.get()), (4, 1));
        let (db, other) = (scene.db.clone(), "a statement that is not prepared");
        scene.callers.push(tokio::task::spawn_local(async move {
            db.query(other, &()).await.map(drop)
        }));
        turns().await;
        assert_eq!(scene.requests().await, 1);
    });
}

#[test]
fn dropped_caller_removes_no_request_of_others() {
    run(NEAR, |mut scene| async move {
        scene.fill(64).await;
        scene.ask(3).await;
        assert_eq!(scene.requests().await, 0);
        scene.callers[65].abort();
        turns().await;
        assert_eq!(scene.requests().await, 3);
        scene.answer(67).await;
        assert_eq!(scene.answered.borrow().len(), 66);
        assert_eq!(scene.cancelled.get(), 0);
    });
}

#[test]
fn statement_that_all_callers_left_is_cancelled() {
    run(NEAR, |mut scene| async move {
        scene.fill(12).await;
        scene.ask(1).await;
        scene.callers.iter().for_each(JoinHandle::abort);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(scene.requests().await, 1);
        assert_eq!(scene.cancelled.get(), 1);
        scene.answer(13).await;
        scene.ask(1).await;
        assert_eq!(scene.requests().await, 1);
        scene.answer(1).await;
        assert_eq!(*scene.answered.borrow(), [13]);
    });
}

#[test]
fn request_waiting_when_the_connection_ends_has_not_run() {
    run(NEAR, |mut scene| async move {
        scene.fill(64).await;
        scene.ask(3).await;
        drop(scene.server);
        let mut ran = Vec::new();
        for caller in scene.callers {
            match caller.await.unwrap() {
                Err(Error::Lost { ran: outcome, .. }) => ran.push(outcome),
                other => panic!("{other:?}"),
            }
        }
        assert!(ran[..64].iter().all(|ran| *ran == StatementFate::Perhaps));
        assert!(ran[64..].iter().all(|ran| *ran == StatementFate::No));
    });
}

#[test]
fn last_handle_dropped_while_requests_wait_sends_them() {
    run(NEAR, |mut scene| async move {
        scene.fill(12).await;
        scene.ask(1).await;
        let (other, _) = tokio::io::duplex(1);
        let cancel = Cancel::impossible();
        let (session, behaviour) = (Session::default(), Behaviour::default());
        scene.db = Connection::new(other, BytesMut::new(), &session, cancel, behaviour);
        turns().await;
        scene.answer(12).await;
        assert_eq!(scene.requests().await, 1);
        scene.answer(1).await;
        assert_eq!(scene.answered.borrow().len(), 13);
        let mut rest = Vec::new();
        scene.server.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"X\0\0\0\x04");
    });
}
