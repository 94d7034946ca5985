//! Clients that send nothing more: those that wait for their answers get them, those that have gone are noticed.

mod rig;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use http::StatusCode;
use rig::{GET, Rig, rig, rig_with};
use tokio::time::sleep;
use tsumugi_http::{HttpBody, HttpLimits, HttpResponse, Request, RequestOutcome};

/// Says when a handler is dropped.
struct DropFlag(Rc<Cell<bool>>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// Reads the body, takes its time and answers with the length.
async fn slow(mut request: Request) -> HttpResponse {
    let body = request.body.read_all().await;
    sleep(Duration::from_millis(200)).await;
    match body {
        Ok(body) => HttpResponse::text(StatusCode::OK, format!("{} bytes", body.len())),
        Err(error) => HttpResponse::from_error(&error),
    }
}

#[test]
fn client_that_closes_its_sending_side_gets_its_answer() {
    rig(slow).run(async |rig: &Rig| {
        let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n";
        let post = post.to_owned() + &"x".repeat(200_000);
        let chunked =
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        let two = GET.repeat(2);
        for (request, body, count) in [
            (GET, "0 bytes", 1),
            ("GET / HTTP/1.0\r\n\r\n", "0 bytes", 1),
            (&post, "200000 bytes", 1),
            (chunked, "3 bytes", 1),
            (&two, "0 bytes", 2),
        ] {
            let mut client = rig.connect().await;
            client.send(request).await;
            client.close_sending().await;
            let answers = client.read_to_end().await;
            let found = answers.matches(&format!("\r\n\r\n{body}")).count();
            assert_eq!(found, count, "{answers}");
        }
    });
}

#[test]
fn stream_to_a_client_that_closes_its_sending_side_goes_on() {
    let limits = HttpLimits {
        half_close_ms: 800,
        ..HttpLimits::default()
    };
    let handler = async |_: Request| {
        let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
        tokio::task::spawn_local(async move {
            for _ in 0..20 {
                sleep(Duration::from_millis(50)).await;
                sender.send("piece".into()).await.unwrap();
            }
            sender.finish();
        });
        HttpResponse::new(StatusCode::OK, body)
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(GET).await;
        client.close_sending().await;
        let answer = client.read_to_end().await;
        assert_eq!(answer.matches("piece").count(), 20, "{answer}");
    });
}

#[test]
fn body_that_ends_early_is_an_error_at_once() {
    rig(slow).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client
            .send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
            .await;
        client.close_sending().await;
        client.read_to_end().await;
        rig.until(|| rig.open() == 0).await;
        assert_ne!(rig.finished()[0].0, 408);
    });
}

fn check_gone(half_close_ms: u64, leave: impl AsyncFn(rig::Client)) {
    let dropped = Rc::new(Cell::new(false));
    let flag = Rc::clone(&dropped);
    let limits = HttpLimits {
        half_close_ms,
        ..HttpLimits::default()
    };
    let handler = move |_: Request| {
        let dropped = DropFlag(Rc::clone(&flag));
        async move {
            std::future::pending::<()>().await;
            drop(dropped);
            HttpResponse::text(StatusCode::OK, "")
        }
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(GET).await;
        rig.until(|| rig.open() == 1).await;
        sleep(Duration::from_millis(50)).await;
        leave(client).await;
        rig.until(|| dropped.get() && rig.open() == 0).await;
        assert_eq!(rig.finished()[0].1, RequestOutcome::Unanswered);
    });
}

#[test]
fn client_that_has_gone_is_noticed_after_half_close_ms() {
    check_gone(200, async |client| drop(client));
    check_gone(0, async |client| drop(client));
}

/// Far beyond the patience of a test: only the reset itself can tell.
#[test]
fn client_that_resets_the_connection_is_noticed_at_once() {
    check_gone(3_600_000, async |client| client.reset());
}
