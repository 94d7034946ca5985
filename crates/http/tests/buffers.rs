//! How much a connection holds for a client that does not read, or for a handler that does not.
//! The connection is a pipe of few bytes, so that what disappears in it is in the server's buffers and not in the kernel's.

mod rig;

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use rig::rig_with;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::task::spawn_local;
use tokio::time::timeout;
use tsumugi_http::{HttpBody, HttpLimits, HttpResponse, Request};

const PIPE: usize = 1024;
const PIECE: usize = 4 * 1024;

/// The smallest value that is not raised.
const SMALL: usize = 8 * 1024;
/// More, but not more pieces than are queued for one write whatever their size.
const LARGE: usize = 32 * 1024;

fn limits(connection_buffer_bytes_max: usize) -> HttpLimits {
    HttpLimits {
        connection_buffer_bytes_max,
        stream_buffer_bytes_max: PIECE,
        header_bytes_max: 1024,
        ..HttpLimits::default()
    }
}

/// Bytes that a handler can send while the client reads none of them. `ask` sends the request.
fn sent(limit: usize, ask: impl AsyncFn(DuplexStream) + 'static) -> usize {
    let total = Rc::new(Cell::new(0));
    let count = Rc::clone(&total);
    let handler = async move |_: Request| {
        let (mut sender, body) = HttpBody::channel(&limits(limit));
        let count = Rc::clone(&count);
        spawn_local(async move {
            while sender.send(Bytes::from(vec![b'x'; PIECE])).await.is_ok() {
                count.set(count.get() + PIECE);
            }
        });
        HttpResponse::new(StatusCode::OK, body)
    };
    let seen = Rc::clone(&total);
    rig_with(limits(limit), handler).run_over(PIPE, async move |client| {
        spawn_local(async move { ask(client).await });
        // Until nothing more has been taken for some looks.
        let (mut last, mut same) = (0, 0);
        while same < 4 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let is_same = seen.get() == last && last > 0;
            (last, same) = (seen.get(), if is_same { same + 1 } else { 0 });
        }
    });
    total.get()
}

#[track_caller]
fn check(limit: usize, sent: usize) {
    // The stream's own queue with the piece that fills it, and the piece that goes beyond the connection's buffer.
    let bound = limit + PIPE + 4 * PIECE;
    assert!(sent > limit / 2 && sent <= bound, "{sent} of {bound}");
}

/// A request, then nothing is ever read.
async fn plainly(mut client: DuplexStream) {
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    std::future::pending::<()>().await;
}

/// The same with HTTP/2 and windows that allow more than any buffer holds; frames are read, but only until the answer has begun.
async fn multiplexed(client: DuplexStream) {
    let (mut client, connection) = h2::client::Builder::new()
        .initial_window_size(16 * 1024 * 1024)
        .initial_connection_window_size(16 * 1024 * 1024)
        .handshake::<_, Bytes>(client)
        .await
        .unwrap();
    let request = http::Request::get("http://localhost/").body(()).unwrap();
    let (answer, _) = client.send_request(request, true).unwrap();
    let mut connection = pin!(connection);
    let _unread = tokio::select! {
        _ = &mut connection => unreachable!("the answer does not end"),
        answer = answer => answer.unwrap(),
    };
    std::future::pending::<()>().await;
}

#[test]
fn a_client_that_does_not_read_fills_no_more_than_the_buffer() {
    for limit in [SMALL, LARGE] {
        check(limit, sent(limit, plainly));
    }
}

#[test]
fn a_stream_that_is_not_read_fills_no_more_than_the_buffer() {
    for limit in [SMALL, LARGE] {
        check(limit, sent(limit, multiplexed));
    }
}

#[test]
fn a_handler_that_does_not_read_lets_no_more_than_the_buffer_in() {
    for limit in [SMALL, LARGE] {
        let handler = async |_: Request| std::future::pending::<HttpResponse>().await;
        rig_with(limits(limit), handler).run_over(PIPE, async |mut client: DuplexStream| {
            let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n";
            client.write_all(head.as_bytes()).await.unwrap();
            let mut taken = 0;
            let pause = Duration::from_millis(100);
            while let Ok(written) = timeout(pause, client.write(&[b'x'; PIPE])).await {
                taken += written.unwrap();
            }
            assert!(taken <= limit + PIPE, "{taken} of {limit}");
        });
    }
}
