//! Limits of memory: a full send buffer, unread replies, and what is given back after something large.

use std::cell::Cell;
use std::future::poll_fn;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::{Cancelling, Layers, SOCKET_BYTES, next, now, run, run_layered, settle, whole};
use crate::limits::{BUFFER_BYTES, OUT_BYTES_MAX, SLOT_ITEMS_MAX, UNREAD_BYTES_MAX};
use crate::{Delivery, FlushMode};

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
