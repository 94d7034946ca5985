//! The end of a connection: its reason, and which requests may have run.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::sleep;

use super::{Cancelling, Failure, Layers, Scene, Toy, next, now, run, settle, whole};
use crate::limits::CANCEL_AFTER;
use crate::{Delivery, FlushMode, Loss, Replies, StatementFate, start};

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
            scene.client.lose(Loss::aborted("enough"));
            // The first reason counts.
            scene.client.lose(Loss::unclean());
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
