//! Replies reach their callers, whole, in order and undisturbed by those that leave.

use super::{Cancelling, Failure, next, now, run, settle, whole};
use crate::{Delivery, FlushMode, Loss, Protocol as _, Replies, ReplyLoss, StatementFate, Ticket};

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
                lost: Loss::aborted("refused"),
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
fn replies_that_the_server_keeps_are_not_waited_for() {
    run(1024, Cancelling::Over, |scene| async move {
        scene.client.driver.deferred.set(1);
        scene.client.settled().await;
        assert_eq!(scene.client.driver.awaited(), 1);
        assert_eq!(scene.client.unanswered_since(), None);
        assert_eq!(scene.client.silent_since(), None);
    });
}
