//! What goes over the wire on HTTP/1, byte by byte, over real sockets.

mod rig;

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use rig::{GET, Rig, rig, rig_with};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tsumugi_http::{
    HttpBody, HttpLimits, HttpResponse, Request, RequestBody, RequestNumber, RequestOutcome,
};

async fn hello(_: Request) -> HttpResponse {
    HttpResponse::text(StatusCode::OK, "hello")
}

/// Answers with the body it was sent, or with what went wrong.
async fn echo(mut request: Request) -> HttpResponse {
    match request.body.read_all().await {
        Ok(body) => HttpResponse::new(StatusCode::OK, body),
        Err(error) => HttpResponse::from_error(&error),
    }
}

#[test]
fn connections_stay_open_between_requests() {
    rig(hello).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        for _ in 0..3 {
            let answer = client.ask(GET).await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.contains("content-length: 5\r\n"), "{answer}");
            assert!(answer.contains("\r\ndate: "), "{answer}");
            assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
        }
    });
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let handler = async |request: Request| {
        let path = request.uri.path().to_owned();
        if path == "/slow" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        HttpResponse::text(StatusCode::OK, path)
    };
    rig(handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        let all = client.read_to_end().await;
        let bodies: Vec<&str> = all.split("HTTP/1.1 200 OK").skip(1).map(|one| one.rsplit("\r\n").next().unwrap()).collect();
        assert_eq!(bodies, ["/slow", "/2", "/3"]);
    });
}

#[test]
fn malformed_requests_get_400_and_the_connection_closes() {
    let requests = [
        "GARBAGE\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nNo colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1, 2\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    ];
    rig(hello).run(async |rig: &Rig| {
        for request in requests {
            let mut client = rig.connect().await;
            // What follows a malformed request is never a request.
            client
                .send(&format!(
                    "{request}GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
                ))
                .await;
            let answer = client.read_to_end().await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{request:?}: {answer}");
            assert_eq!(
                answer.matches("HTTP/1.1").count(),
                1,
                "{request:?}: {answer}"
            );
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(
                body.starts_with("malformed request: "),
                "{request:?}: {answer}"
            );
            let length = format!("content-length: {}\r\n", body.len());
            assert!(head.contains(&length), "{answer}");
        }
        assert_eq!(rig.finished().len(), 0);
    });
}

#[test]
fn target_with_a_character_that_must_be_escaped_is_refused_with_the_reason() {
    rig(hello).run(async |rig: &Rig| {
        for character in ['<', '>', '"'] {
            // On a new connection, and behind a request that was answered.
            for asked in [0, 1] {
                let mut client = rig.connect().await;
                for _ in 0..asked {
                    client.ask(GET).await;
                }
                let request = format!("GET /?q={character} HTTP/1.1\r\nHost: x\r\n\r\n");
                client.send(&request).await;
                let answer = client.read_to_end().await;
                assert!(
                    answer.starts_with("HTTP/1.1 400 Bad Request\r\n"),
                    "{answer}"
                );
                assert!(
                    answer.contains("\r\ncontent-type: text/plain; charset=utf-8\r\n"),
                    "{answer}"
                );
                assert!(
                    answer.contains("malformed request: invalid URI: "),
                    "{answer}"
                );
                assert!(answer.ends_with(" are written as %XX\n"), "{answer}");
            }
        }
    });
}

#[test]
fn body_that_is_coded_otherwise_than_once_in_chunks_is_refused_and_the_connection_closes() {
    rig(echo).run(async |rig: &Rig| {
        for (fields, status) in [
            ("Transfer-Encoding: chunked", 200),
            ("Transfer-Encoding: CHUNKED", 200),
            ("Transfer-Encoding: , chunked", 200),
            ("Transfer-Encoding: gzip, chunked", 501),
            ("Transfer-Encoding: identity, chunked", 501),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", 501),
            ("Transfer-Encoding: xchunked, chunked", 501),
            ("Transfer-Encoding: chunked;a=b, chunked", 501),
            ("Transfer-Encoding: chunked, chunked", 400),
            (
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                400,
            ),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip", 400),
        ] {
            let body = "5\r\nabcde\r\n0\r\n\r\n";
            let request = format!("POST / HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n{body}");
            if status == 200 {
                let answer = rig.ask(&request).await;
                assert!(answer.starts_with("HTTP/1.1 200 "), "{fields}: {answer}");
                continue;
            }
            let follows = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
            let answer = rig.ask_to_end(&format!("{request}{follows}")).await;
            let line = format!("HTTP/1.1 {status} ");
            assert!(answer.starts_with(&line), "{fields}: {answer}");
            assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{fields}: {answer}");
        }
    });
}

#[test]
fn a_body_with_two_lengths_is_read_as_chunked_and_the_connection_closes() {
    for headers in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
    ] {
        rig(echo).run(async |rig: &Rig| {
            let mut client = rig.connect().await;
            let body = "5\r\nabcde\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
            client
                .send(&format!(
                    "POST / HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n{body}"
                ))
                .await;
            let answer = client.read_to_end().await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.contains("connection: close\r\n"), "{answer}");
            assert!(answer.ends_with("\r\n\r\nabcde"), "{answer}");
            assert_eq!(rig.finished().len(), 1);
        });
    }
}

#[test]
fn a_broken_chunk_is_400_and_the_connection_closes() {
    rig(echo).run(async |rig: &Rig| {
        let answer = rig.ask_to_end("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    });
}

#[test]
fn slow_headers_are_cut_off() {
    let limits = HttpLimits {
        header_timeout_ms: 300,
        ..HttpLimits::default()
    };
    rig_with(limits, hello).run(async |rig: &Rig| {
        for first in [
            "",
            "P",
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /",
        ] {
            let begun = Instant::now();
            let mut client = rig.connect().await;
            client.send(first).await;
            // Bytes that trickle in do not buy time.
            tokio::time::sleep(Duration::from_millis(150)).await;
            if !first.is_empty() {
                client.send("X").await;
            }
            client.read_to_end().await;
            let elapsed = begun.elapsed();
            assert!(
                elapsed >= Duration::from_millis(290) && elapsed < Duration::from_secs(60),
                "{first:?}: {elapsed:?}"
            );
        }
    });
}

#[test]
fn idle_connections_close_after_keep_alive() {
    let limits = HttpLimits {
        keep_alive_ms: 1_500,
        header_timeout_ms: 60_000,
        ..HttpLimits::default()
    };
    rig_with(limits, hello).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.ask(GET).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let begun = Instant::now();
        client.ask(GET).await;
        assert_eq!(client.read_to_end().await, "");
        let elapsed = begun.elapsed();
        assert!(elapsed >= Duration::from_millis(1_450), "{elapsed:?}");
    });
}

#[test]
fn a_handler_may_take_longer_than_every_limit() {
    let limits = HttpLimits {
        keep_alive_ms: 800,
        header_timeout_ms: 800,
        send_timeout_ms: 800,
        body_timeout_ms: 800,
        ..HttpLimits::default()
    };
    let handler = async |request: Request| {
        tokio::time::sleep(Duration::from_millis(2_000)).await;
        hello(request).await
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let answer = rig.ask(GET).await;
        assert!(answer.ends_with("hello"), "{answer}");
    });
}

#[test]
fn a_slow_body_is_408_and_the_connection_closes() {
    let limits = HttpLimits {
        body_timeout_ms: 200,
        ..HttpLimits::default()
    };
    rig_with(limits, echo).run(async |rig: &Rig| {
        let answer = rig
            .ask_to_end("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
            .await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
        assert!(answer.contains("body_timeout_ms"), "{answer}");
    });
}

#[test]
fn a_body_in_time_is_read_however_it_is_cut() {
    let limits = HttpLimits {
        body_timeout_ms: 1_500,
        header_timeout_ms: 1_500,
        ..HttpLimits::default()
    };
    rig_with(limits, echo).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client
            .send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n")
            .await;
        // Longer than the limit together, and each much shorter: a machine that stands still for a moment is no slow client.
        for piece in ["a", "bc", "d", "e", "f"] {
            tokio::time::sleep(Duration::from_millis(350)).await;
            client.send(piece).await;
        }
        let answer = client.read_answer().await;
        assert!(answer.ends_with("\r\n\r\nabcdef"), "{answer}");
        assert!(client.ask(GET).await.starts_with("HTTP/1.1 200"));
    });
}

#[test]
fn a_body_past_the_limit_is_413_before_it_is_read() {
    let limits = HttpLimits {
        body_bytes_max: 1000,
        ..HttpLimits::default()
    };
    rig_with(limits, echo).run(async |rig: &Rig| {
        let post = |length: usize| {
            format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n")
        };
        let mut client = rig.connect().await;
        client.send(&post(1000)).await;
        let answer = client.ask(&"x".repeat(1000)).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        // Not one byte of the body is sent, and there is an answer.
        client.send(&post(1001)).await;
        let answer = client.read_answer().await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
        assert!(answer.contains("body_bytes_max allows (1000)"), "{answer}");
        assert_eq!(client.read_to_end().await, "");
    });
}

#[test]
fn bodies_of_all_requests_past_their_limit_are_503_until_there_is_room() {
    let limits = HttpLimits {
        bodies_bytes_max: 1000,
        ..HttpLimits::default()
    };
    rig_with(limits, echo).run(async |rig: &Rig| {
        let post = |length: usize, sent: usize| {
            let head = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
            head + &"x".repeat(sent)
        };
        let mut slow = rig.connect().await;
        slow.send(&post(800, 700)).await;
        let mut answer = String::new();
        for _ in 0..100 {
            answer = rig.connect().await.ask(&post(400, 400)).await;
            if !answer.starts_with("HTTP/1.1 200 ") {
                break;
            }
        }
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
        assert!(answer.contains("bodies_bytes_max (1000 bytes)"), "{answer}");
        let answer = rig.connect().await.ask(&post(200, 200)).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let answer = slow.ask(&"x".repeat(100)).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let answer = rig.connect().await.ask(&post(1000, 1000)).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    });
}

#[test]
fn answers_that_wait_past_their_limit_are_503_until_they_are_taken() {
    let limits = HttpLimits {
        answers_bytes_max: 200_000,
        ..HttpLimits::default()
    };
    let handler = async |request: Request| {
        let length = request.uri.path()[1..].parse().unwrap();
        HttpResponse::new(StatusCode::OK, Bytes::from(vec![b'x'; length]))
    };
    rig_with(limits, handler).run_over_pipes(1000, async |[mut slow, mut other]| {
        let ask = |length: usize| format!("GET /{length} HTTP/1.1\r\nHost: x\r\n\r\n");
        slow.write_all(ask(120_000).as_bytes()).await.unwrap();
        assert_eq!(&answer(&mut slow, 12).await[..], b"HTTP/1.1 200");
        for (length, status) in [(80_001, "503"), (80_000, "200"), (64 * 1024, "200")] {
            other.write_all(ask(length).as_bytes()).await.unwrap();
            let (head, body) = whole_answer(&mut other).await;
            assert_eq!(&head[9..12], status, "{length}: {head}");
            if status == "503" {
                assert!(head.contains("retry-after: 1\r\n"), "{head}");
                let expected =
                    "the answers that wait for their clients fill answers_bytes_max (200000 bytes)";
                assert!(body.starts_with(expected), "{body}");
            }
        }
        let (_, body) = whole_answer(&mut slow).await;
        assert_eq!(body.len(), 120_000);
        other.write_all(ask(200_000).as_bytes()).await.unwrap();
        assert_eq!(whole_answer(&mut other).await.1.len(), 200_000);
    });
}

async fn answer(stream: &mut DuplexStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await.unwrap();
    bytes
}

/// Head and body of an answer with a length.
async fn whole_answer(stream: &mut DuplexStream) -> (String, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push(char::from(stream.read_u8().await.unwrap()));
    }
    let length = head.split("content-length: ").nth(1).unwrap();
    let length = length.split('\r').next().unwrap().parse().unwrap();
    let body = answer(stream, length).await;
    (head, String::from_utf8(body).unwrap())
}

#[test]
fn a_chunked_body_past_the_limit_is_413() {
    let limits = HttpLimits {
        body_bytes_max: 1000,
        ..HttpLimits::default()
    };
    rig_with(limits, echo).run(async |rig: &Rig| {
        let chunks = |count: usize| {
            format!(
                "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                format!("64\r\n{}\r\n", "x".repeat(100)).repeat(count)
            )
        };
        let mut client = rig.connect().await;
        let answer = client.ask(&format!("{}0\r\n\r\n", chunks(10))).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        client.send(&format!("{}1\r\nx\r\n", chunks(10))).await;
        let answer = client.read_answer().await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    });
}

#[test]
fn the_answer_to_a_large_unread_body_arrives() {
    let limits = HttpLimits {
        body_bytes_max: 1000,
        ..HttpLimits::default()
    };
    rig_with(limits, echo).run(async |rig: &Rig| {
        for _ in 0..5 {
            let mut client = rig.connect().await;
            client
                .send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 800000\r\n\r\n")
                .await;
            // The client sends all of it before it reads, as simple clients do.
            client.send(&"x".repeat(800_000)).await;
            let answer = client.read_to_end().await;
            assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        }
    });
}

#[test]
fn small_unread_body_does_not_close_the_connection() {
    rig(hello).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        for _ in 0..3 {
            let answer = client
                .ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde")
                .await;
            assert!(answer.ends_with("hello"), "{answer}");
        }
    });
}

#[test]
fn expect_continue_is_answered_only_when_the_body_is_wanted() {
    let limits = HttpLimits {
        body_bytes_max: 10,
        ..HttpLimits::default()
    };
    rig_with(limits, echo).run(async |rig: &Rig| {
        let post = |length: usize| format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n");
        let mut client = rig.connect().await;
        client.send(&post(3)).await;
        assert_eq!(client.read_until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
        assert!(client.ask("abc").await.ends_with("\r\n\r\nabc"));
        client.send(&post(11)).await;
        assert!(client.read_to_end().await.starts_with("HTTP/1.1 413 "));
    });
}

#[test]
fn one_header_more_than_the_limit_is_431() {
    for headers_max in [100, 20] {
        let limits = HttpLimits {
            headers_max,
            ..HttpLimits::default()
        };
        rig_with(limits, hello).run(async |rig: &Rig| {
            let get = |headers: usize| {
                format!(
                    "GET / HTTP/1.1\r\nHost: x\r\n{}\r\n",
                    "A: b\r\n".repeat(headers - 1)
                )
            };
            assert!(
                rig.ask(&get(headers_max))
                    .await
                    .starts_with("HTTP/1.1 200 ")
            );
            let answer = rig.ask_to_end(&get(headers_max + 1)).await;
            assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
            let reason = format!("or has more than {headers_max} fields\n");
            assert!(answer.ends_with(&reason), "{answer}");
        });
    }
}

#[test]
fn one_byte_more_than_the_limit_in_the_headers_is_431() {
    let limits = HttpLimits {
        header_bytes_max: 2000,
        ..HttpLimits::default()
    };
    rig_with(limits, hello).run(async |rig: &Rig| {
        let get = |length: usize| {
            let frame = "GET / HTTP/1.1\r\nHost: x\r\nA: \r\n\r\n";
            format!(
                "GET / HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n",
                "x".repeat(length - frame.len())
            )
        };
        assert!(rig.ask(&get(2000)).await.starts_with("HTTP/1.1 200 "));
        assert!(
            rig.ask_to_end(&get(2001))
                .await
                .starts_with("HTTP/1.1 431 ")
        );
        assert!(
            rig.ask_to_end(&format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(60_000)))
                .await
                .starts_with("HTTP/1.1 431 ")
        );
    });
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    rig(hello).run(async |rig: &Rig| {
        let answer = rig.ask_to_end("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nHEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        assert_eq!(answer.matches("content-length: 5\r\n").count(), 2, "{answer}");
        assert!(!answer.contains("hello"), "{answer}");
        let outcomes: Vec<_> = rig.finished().iter().map(|(_, outcome, bytes)| (*outcome, *bytes)).collect();
        assert_eq!(outcomes, [(RequestOutcome::Complete, 0), (RequestOutcome::Complete, 0)]);
    });
}

#[test]
fn statuses_without_a_body_have_none() {
    for status in [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED] {
        let handler = async move |_: Request| {
            HttpResponse::text(status, "not for the wire")
                .with(header::CONTENT_LENGTH, HeaderValue::from(3))
        };
        rig(handler).run(async |rig: &Rig| {
            let answer = rig.ask_to_end("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
            assert!(!answer.contains("content-length"), "{answer}");
            assert!(!answer.contains("transfer-encoding"), "{answer}");
            assert!(!answer.contains("wire"), "{answer}");
            assert_eq!(answer.matches(&format!("HTTP/1.1 {}", status.as_u16())).count(), 2, "{answer}");
        });
    }
}

#[test]
fn framing_headers_of_a_handler_do_not_reach_the_wire() {
    let handler = async |_: Request| {
        HttpResponse::text(StatusCode::OK, "hello")
            .with(header::CONTENT_LENGTH, HeaderValue::from(3))
            .with(
                header::TRANSFER_ENCODING,
                HeaderValue::from_static("chunked"),
            )
    };
    rig(handler).run(async |rig: &Rig| {
        let answer = rig.ask(GET).await;
        assert!(answer.contains("content-length: 5\r\n"), "{answer}");
        assert!(!answer.contains("chunked"), "{answer}");
    });
}

#[test]
fn an_informational_status_becomes_500() {
    let handler = async |_: Request| HttpResponse::new(StatusCode::EARLY_HINTS, HttpBody::Empty);
    rig(handler).run(async |rig: &Rig| {
        let answer = rig.ask(GET).await;
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    });
}

#[test]
fn http_1_0_is_answered_and_closed() {
    rig(hello).run(async |rig: &Rig| {
        let answer = rig.ask_to_end("GET / HTTP/1.0\r\n\r\n").await;
        assert!(
            answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.ends_with("hello"),
            "{answer}"
        );
    });
}

#[test]
fn headers_may_repeat_in_both_directions() {
    let handler = async |request: Request| {
        let mut response = HttpResponse::new(StatusCode::OK, Bytes::new());
        for value in request.headers.get_all("x-in") {
            response.headers.append(header::SET_COOKIE, value.clone());
        }
        response
    };
    rig(handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        for _ in 0..3 {
            let answer = client
                .ask("GET / HTTP/1.1\r\nHost: x\r\nX-In: a\r\nX-In: b\r\n\r\n")
                .await;
            assert!(
                answer.contains("set-cookie: a\r\nset-cookie: b\r\n"),
                "{answer}"
            );
            assert_eq!(answer.matches("set-cookie").count(), 2, "{answer}");
        }
    });
}

#[test]
fn handler_can_be_called_without_a_connection() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let request = Request {
            method: Method::POST,
            uri: "/".parse().unwrap(),
            version: http::Version::HTTP_11,
            headers: HeaderMap::new().into(),
            body: RequestBody::in_memory(Bytes::from_static(b"abc")),
            peer: None,
            scheme: Default::default(),
            received_at: Instant::now(),
            number: RequestNumber::default(),
            mounted_path: None,
            activity: None,
        };
        let whole = echo(request).await.into_parts().body.read_all().await;
        assert_eq!(whole.unwrap(), "abc");
        let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
        sender.send(Bytes::from_static(b"a")).await.unwrap();
        sender.send(Bytes::from_static(b"b")).await.unwrap();
        sender.finish();
        assert_eq!(body.read_all().await.unwrap(), "ab");
    });
}

/// `given` is what the client says; the answer is whether that becomes the id.
fn check_id(given: &str, expected: bool) {
    let answer_id = async |request: Request| HttpResponse::text(StatusCode::OK, request.id());
    rig(answer_id).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        let mut ids = Vec::new();
        for _ in 0..2 {
            let request = format!("GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: {given}\r\n\r\n");
            let answer = client.ask(&request).await;
            ids.push(answer.split("\r\n\r\n").nth(1).unwrap().to_owned());
        }
        if expected {
            assert_eq!(ids, [given, given]);
        } else {
            assert!(ids.iter().all(|id| id.len() == 32), "{ids:?}");
            assert_ne!(ids[0], ids[1]);
        }
    });
}

#[test]
fn a_request_has_an_id_of_its_own_unless_the_client_names_it() {
    check_id("f81d4fae-7dec_11d0.a765:1/2", true);
    check_id(&"a".repeat(128), true);
    check_id(&"a".repeat(129), false);
    check_id("two words", false);
    check_id("\"quoted\"", false);
    check_id("", false);
}
