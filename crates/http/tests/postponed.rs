//! Small answers leave together, at the end of a turn: what becomes of them when a client takes none, or has gone, or others are slow.

mod rig;

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use rig::{GET, rig, rig_with};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::task::spawn_local;
use tsumugi_http::{HttpLimits, HttpResponse, Request};

/// Less than any answer has.
const PIPE: usize = 64;
const ASKED: usize = 200;

async fn path(request: Request) -> HttpResponse {
    HttpResponse::text(StatusCode::OK, request.uri.path().to_owned())
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[test]
fn answers_that_find_no_room_come_in_order_once_there_is() {
    rig(path).run_over(PIPE, async |client: DuplexStream| {
        let (mut answers, mut requests) = tokio::io::split(client);
        spawn_local(async move {
            for i in 0..ASKED {
                let close = if i + 1 == ASKED {
                    "Connection: close\r\n"
                } else {
                    ""
                };
                let request = format!("GET /{i} HTTP/1.1\r\nHost: x\r\n{close}\r\n");
                requests.write_all(request.as_bytes()).await.unwrap();
            }
        });
        pause().await;
        let mut all = String::new();
        answers.read_to_string(&mut all).await.unwrap();
        let bodies: Vec<&str> = all
            .split("HTTP/1.1 200 OK")
            .skip(1)
            .map(|one| one.rsplit("\r\n").next().unwrap())
            .collect();
        let expected: Vec<String> = (0..ASKED).map(|i| format!("/{i}")).collect();
        assert_eq!(bodies, expected);
    });
}

#[test]
fn frames_that_find_no_room_come_once_there_is() {
    rig(path).run_over(PIPE, async |client: DuplexStream| {
        let (client, connection) = h2::client::handshake(client).await.unwrap();
        spawn_local(async move { connection.await.unwrap() });
        let mut asked = Vec::new();
        for i in 0..ASKED {
            let mut client = client.clone().ready().await.unwrap();
            let request = http::Request::get(format!("http://localhost/{i}"));
            asked.push(
                client
                    .send_request(request.body(()).unwrap(), true)
                    .unwrap()
                    .0,
            );
        }
        for (i, answer) in asked.into_iter().enumerate() {
            let mut body = answer.await.unwrap().into_body();
            let bytes: Bytes = body.data().await.unwrap().unwrap();
            assert_eq!(bytes, format!("/{i}"));
            assert!(body.data().await.is_none());
        }
    });
}

/// A download whose frames are all small, taken slowly: each of them restarts the time that the client has.
#[test]
fn small_frames_taken_slowly_outlive_keep_alive() {
    const BODY: usize = 20_000;
    const WINDOW: u32 = 1_000;
    let limits = HttpLimits {
        keep_alive_ms: 700,
        send_timeout_ms: 700,
        ..HttpLimits::default()
    };
    let handler =
        async |_: Request| HttpResponse::new(StatusCode::OK, Bytes::from(vec![b'x'; BODY]));
    rig_with(limits, handler).run_over(64 * 1024, async |client: DuplexStream| {
        let (client, connection) = h2::client::Builder::new()
            .initial_window_size(WINDOW)
            .handshake::<_, Bytes>(client)
            .await
            .unwrap();
        spawn_local(async move { connection.await.unwrap() });
        let mut client = client.ready().await.unwrap();
        let request = http::Request::get("http://localhost/").body(()).unwrap();
        let (answer, _) = client.send_request(request, true).unwrap();
        let mut body = answer.await.unwrap().into_body();
        let mut taken = 0;
        while let Some(bytes) = body.data().await {
            taken += bytes.as_ref().unwrap().len();
            pause().await;
            body.flow_control()
                .release_capacity(bytes.unwrap().len())
                .unwrap();
        }
        assert_eq!(taken, BODY);
    });
}

#[test]
fn a_client_that_takes_no_small_answers_is_closed() {
    let limits = HttpLimits {
        send_timeout_ms: 100,
        ..HttpLimits::default()
    };
    rig_with(limits, path).run_over(PIPE, async |mut client: DuplexStream| {
        client.write_all(GET.as_bytes()).await.unwrap();
        while client.write_all(GET.as_bytes()).await.is_ok() {
            pause().await;
        }
        let mut all = Vec::new();
        client.read_to_end(&mut all).await.unwrap();
        assert_eq!(all.len(), PIPE, "the beginning of the first answer");
    });
}

#[test]
fn a_client_that_has_gone_takes_no_answer_of_others_with_it() {
    let goes: Rc<RefCell<Option<DuplexStream>>> = Rc::default();
    let client_of = Rc::clone(&goes);
    let handler = async move |request: Request| {
        if request.uri.path() == "/stays" {
            let gone = client_of.borrow_mut().take();
            assert!(gone.is_some(), "its answer waits, it goes now");
        }
        path(request).await
    };
    rig(handler).run_over_pipes(1024, async move |clients: [DuplexStream; 3]| {
        pause().await; // each connection waits for its request
        let [mut gone, mut stays, mut last] = clients;
        gone.write_all(GET.as_bytes()).await.unwrap();
        let request = b"GET /stays HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stays.write_all(request).await.unwrap();
        last.write_all(GET.as_bytes()).await.unwrap();
        goes.replace(Some(gone));
        let mut answer = String::new();
        stays.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("\r\n\r\n/stays"), "{answer}");
        let mut answer = [0; 15];
        last.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
    });
}

/// Bytes that a client could read now.
fn arrived(client: &RefCell<DuplexStream>) -> usize {
    let mut memory = [0; 1024];
    let mut buffer = ReadBuf::new(&mut memory);
    let cx = &mut Context::from_waker(Waker::noop());
    let _ = Pin::new(&mut *client.borrow_mut()).poll_read(cx, &mut buffer);
    buffer.filled().len()
}

#[test]
fn an_answer_waits_for_one_slow_handler_and_no_more() {
    let quick: Rc<RefCell<Option<Rc<RefCell<DuplexStream>>>>> = Rc::default();
    let seen: Rc<RefCell<Vec<usize>>> = Rc::default();
    let (client_of, log) = (Rc::clone(&quick), Rc::clone(&seen));
    let handler = async move |request: Request| {
        if request.uri.path() == "/slow" {
            let client = client_of.borrow();
            log.borrow_mut().push(arrived(client.as_ref().unwrap()));
            #[expect(clippy::disallowed_methods, reason = "it is what the test is about")]
            std::thread::sleep(Duration::from_millis(5));
        }
        HttpResponse::text(StatusCode::OK, "done")
    };
    rig(handler).run_over_pipes(1024, async move |clients: [DuplexStream; 4]| {
        pause().await; // each connection waits for its request
        let [mut first, mut second, mut third, mut fourth] = clients;
        first.write_all(GET.as_bytes()).await.unwrap();
        for slow in [&mut second, &mut third, &mut fourth] {
            slow.write_all(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
                .await
                .unwrap();
        }
        quick.replace(Some(Rc::new(RefCell::new(first))));
        while seen.borrow().len() < 3 {
            pause().await;
        }
        let seen = seen.borrow();
        assert!(seen[0] == 0 && seen[1] > 0, "{seen:?}");
    });
}
