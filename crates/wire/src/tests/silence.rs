//! Times: how long the server has been silent, and when requests wait to be sent together.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{Cancelling, Failure, Scene, next, run, whole};
use crate::{Delivery, FlushMode, Replies};

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
