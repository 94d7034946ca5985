//! Statements that no caller waits for: when they are cancelled, and what a cancel holds up.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

use super::{Cancelling, SOCKET_BYTES, Toy, next, now, run, settle, whole};
use crate::limits::{CANCEL_AFTER, CANCEL_TIMEOUT, UNREAD_BYTES_MAX};
use crate::{Delivery, Protocol as _, StatementFate, interrupt};

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
fn interrupted_statement_brings_its_caller_a_reply_or_the_end_of_the_connection() {
    run(1024, Cancelling::Over, |mut scene| async move {
        let mut asked = scene.request("a");
        scene.received().await;
        let client = scene.client.clone();
        let interrupting = spawn_local(async move { interrupt(&client, "enough").await });
        settle().await;
        assert_eq!(scene.client.driver.cancelled.get(), 1);
        scene.reply("1\n").await;
        interrupting.await.unwrap();
        assert_eq!(whole(&mut asked).await.unwrap(), ["1"]);
        assert!(scene.client.is_open());
        // The server takes the request and does nothing.
        let mut asked = scene.request("b");
        scene.received().await;
        let began = Instant::now();
        interrupt(&scene.client, "enough").await;
        assert_eq!(began.elapsed(), CANCEL_TIMEOUT);
        let loss = whole(&mut asked).await.unwrap_err();
        assert_eq!(loss.lost.to_string(), "enough");
        assert_eq!(loss.fate, StatementFate::Perhaps);
    });
}
