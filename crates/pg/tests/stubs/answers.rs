//! Answers to statements that no sound server gives. Rule: an error, no panic, no more memory than the bytes that came.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tsumugi_pg::{Config, Connection, Connector, Environment, Error, Result, StatementFate};
use tsumugi_testkit::poll::once;

use super::{AUTHENTICATION_OK, READY, Step, message, say, stub};

const PARSED: &[u8] = b"1\0\0\0\x04";
const NO_PARAMETERS: &[u8] = b"t\0\0\0\x06\0\0";
const BOUND: &[u8] = b"2\0\0\0\x04";

fn run<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

/// One column of type int4, called `n`.
fn described() -> Vec<u8> {
    message(
        b'T',
        b"\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0",
    )
}

fn row(body: &[u8]) -> Vec<u8> {
    message(b'D', body)
}

fn complete() -> Vec<u8> {
    message(b'C', b"SELECT 1\0")
}

/// A connection to a server that follows `script` after the start-up.
async fn open(script: Vec<Step>) -> Connection {
    let mut steps = vec![Step::Packet, say(&[AUTHENTICATION_OK, READY])];
    steps.extend(script);
    let port = stub(vec![steps]).await;
    let text = format!("user=me host=127.0.0.1 sslmode=disable port={port}");
    let config = Config::parse(&text, &Environment::empty()).unwrap();
    Connection::open(&Connector::new(config)).await.unwrap()
}

/// What a script of the simple protocol comes to when it is answered so.
fn simple(answer: &[u8]) -> Result<()> {
    run(async {
        let db = open(vec![Step::Message, say(&[answer]), Step::Silence]).await;
        db.script("x").await
    })
}

/// What a statement comes to whose execution is answered so, and all its rows have been looked at.
fn executed(answer: &[&[u8]]) -> Result<usize> {
    run(async {
        let db = open(vec![
            Step::Message,
            Step::Message,
            Step::Message,
            say(&[PARSED, NO_PARAMETERS, &described(), READY]),
            Step::Message,
            Step::Message,
            Step::Message,
            say(answer),
            Step::Silence,
        ])
        .await;
        let mut rows = db.query("x", &()).await?;
        rows.check()?;
        for row in rows.iter() {
            row?.value::<i32>(0)?;
        }
        Ok(rows.len())
    })
}

#[track_caller]
fn check<T>(result: Result<T>, expected: &str) {
    match result {
        Err(error @ (Error::Lost { .. } | Error::Protocol(_) | Error::Column { .. })) => {
            let text = error.to_string();
            assert!(text.contains(expected), "{text}");
            if let Error::Lost { ran, .. } = error {
                assert_eq!(ran, StatementFate::Perhaps);
            }
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it must fail: {expected}"),
    }
}

#[test]
fn lengths_that_cannot_be_end_the_connection() {
    for length in [0_u32, 3, 0x4000_0000, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        for tag in b"CDEITZ" {
            let answer = [&[*tag][..], &length.to_be_bytes()].concat();
            check(simple(&answer), "broke the protocol");
        }
    }
    // A ReadyForQuery has one byte.
    check(simple(b"Z\0\0\0\x06II"), "broke the protocol");
}

#[test]
fn malformed_or_unsolicited_reply_ends_the_connection() {
    check(simple(b"\0\0\0\0\x04"), "unknown message");
    check(simple(b"!\0\0\0\x04"), "unknown message");
    check(simple(b"K\0\0\0\x0c\0\0\0\x01\0\0\0\x02"), "came unasked");
    check(simple(b"R\0\0\0\x08\0\0\0\0"), "came unasked");
    check(simple(b"W\0\0\0\x07\0\0\0"), "came unasked");
    check(simple(b"Z\0\0\0\x05?"), "broke the protocol");
    // A setting and an error whose texts do not end.
    check(
        simple(&message(b'S', b"TimeZone\0UTC")),
        "broke the protocol",
    );
    check(simple(&message(b'E', b"SERROR\0C22")), "broke the protocol");
}

#[test]
fn reply_without_a_request_while_idle_ends_the_connection() {
    for unasked in [READY, &complete(), &row(b"\0\0"), b"!\0\0\0\x04"] {
        run(async {
            let db = open(vec![say(&[unasked]), Step::Silence]).await;
            while db.is_open() {
                tokio::task::yield_now().await;
            }
            let result = db.script("x").await;
            assert!(matches!(
                result,
                Err(Error::Lost {
                    ran: StatementFate::No,
                    ..
                })
            ));
        });
    }
    // One ReadyForQuery too many.
    let twice = [&complete()[..], READY, READY].concat();
    run(async {
        let db = open(vec![Step::Message, say(&[&twice]), Step::Silence]).await;
        let first = db.script("x").await;
        assert!(first.is_ok() || matches!(first, Err(Error::Lost { .. })));
        check(db.script("y").await.map_err(unsent_too), "came unasked");
    });
}

/// For [`check`], which expects a statement that was sent.
fn unsent_too(error: Error) -> Error {
    match error {
        Error::Lost { reason, server, .. } => Error::Lost {
            reason,
            server,
            ran: StatementFate::Perhaps,
        },
        other => other,
    }
}

#[test]
fn rows_that_are_not_as_described_are_errors() {
    let complete = complete();
    let answered = |body: &[u8]| executed(&[BOUND, &row(body), &complete, READY]);
    assert_eq!(answered(b"\0\x01\0\0\0\x04\0\0\0\x07").unwrap(), 1);
    check(
        answered(b"\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff"),
        "2 fields where 1",
    );
    check(answered(b"\0\0"), "0 fields where 1");
    check(answered(b"\xff\xff"), "fields where 1");
    check(answered(b"\0\x01\xff\xff\xff\xfe"), "impossible length -2");
    check(answered(b"\0\x01\x7f\xff\xff\xff\0"), "impossible length");
    check(
        answered(b"\0\x01\0\0\0\x04\0\0\0\x07\0"),
        "broke the protocol",
    );
    check(answered(b"\0\x01\0\0\0\x03\0\0\0"), "column n");
    check(answered(b"\0\x01\xff\xff\xff\xff"), "column n");
    check(answered(b""), "broke the protocol");
}

#[test]
fn descriptions_that_do_not_end_are_errors() {
    for body in [
        &b""[..],
        b"\0\x01",
        b"\0\x01n",
        b"\0\x01n\0\0\0\0\0",
        b"\xff\xff",
    ] {
        let result = run(async {
            let description = message(b'T', body);
            let db = open(vec![
                Step::Message,
                Step::Message,
                Step::Message,
                say(&[PARSED, NO_PARAMETERS, &description, READY]),
                Step::Silence,
            ])
            .await;
            db.query("x", &()).await
        });
        // It was only prepared.
        check(result.map_err(unsent_too), "broke the protocol");
    }
}

#[test]
fn server_that_goes_away_amid_an_answer_is_lost() {
    let whole = [
        BOUND,
        &row(b"\0\x01\0\0\0\x04\0\0\0\x07"),
        &complete(),
        READY,
    ]
    .concat();
    for length in 0..whole.len() {
        let result = run(async {
            let db = open(vec![
                Step::Message,
                Step::Message,
                Step::Message,
                say(&[PARSED, NO_PARAMETERS, &described(), READY]),
                Step::Message,
                Step::Message,
                Step::Message,
                say(&[&whole[..length]]),
            ])
            .await;
            db.query("x", &()).await
        });
        check(result, "the connection to the database was lost");
    }
}

#[test]
fn answer_in_single_bytes_is_an_answer() {
    let whole = [
        BOUND,
        &row(b"\0\x01\0\0\0\x04\0\0\0\x07"),
        &complete(),
        READY,
    ]
    .concat();
    let rows = run(async {
        let mut script = vec![
            Step::Message,
            Step::Message,
            Step::Message,
            say(&[PARSED, NO_PARAMETERS, &described(), READY]),
            Step::Message,
            Step::Message,
            Step::Message,
        ];
        script.extend(whole.iter().map(|byte| say(&[&[*byte]])));
        script.push(Step::Silence);
        open(script).await.query("x", &()).await.unwrap()
    });
    let row = rows.first().unwrap().unwrap();
    // The column came as text or binary, as the driver asked: int4 is binary.
    assert_eq!(row.value::<i32>(0).unwrap(), 7);
}

#[test]
fn malformed_copy_reply_is_an_error() {
    for tag in b"GH" {
        let answer = message(*tag, b"\0\0\x01\0\0");
        let data = message(b'd', b"1\n");
        let result = run(async {
            let parts = [&answer[..], &data, &message(b'C', b"COPY 1\0"), READY].concat();
            let db = open(vec![Step::Message, say(&[&parts]), Step::Silence]).await;
            match tag {
                b'G' => db.copy_in("x").await.map(drop),
                _ => db.copy_out("x").await.map(drop),
            }
        });
        // A server that answers before it has read is odd, but no danger.
        drop(result);
    }
    let result = run(async {
        let answer = message(b'H', b"\0\0\x05\0\0");
        let db = open(vec![Step::Message, say(&[&answer]), Step::Silence]).await;
        db.copy_out("x").await.map(drop)
    });
    check(result, "broke the protocol");
}

/// An error of a statement, which leaves the connection as it is.
fn refusal() -> Vec<u8> {
    message(b'E', b"SERROR\0VERROR\0C22012\0Mdivision by zero\0\0")
}

/// What a call comes to whose future is dropped each time it has to wait.
async fn asked_anew<T, F: Future<Output = T>>(mut call: impl FnMut() -> F) -> T {
    loop {
        {
            let mut future = pin!(call());
            let polled = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
            if let Poll::Ready(outcome) = polled {
                return outcome;
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn check_refused<T: std::fmt::Debug>(result: Result<T>) {
    match result {
        Err(Error::Server(error)) => assert_eq!(error.code.to_string(), "22012"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn stream_whose_next_is_dropped_still_reports_the_servers_error() {
    run(async {
        let one = row(b"\0\x01\0\0\0\x04\0\0\0\x07");
        let mut script = vec![Step::Message; 3];
        script.push(say(&[PARSED, NO_PARAMETERS, &described(), READY]));
        // Bind, Flush, Execute, Flush.
        script.extend(vec![Step::Message; 4]);
        script.push(say(&[BOUND, &one, &refusal()]));
        // Sync.
        script.extend([Step::Message, say(&[READY]), Step::Silence]);
        let db = open(script).await;
        let stream = std::cell::RefCell::new(db.stream("x", &()).await.unwrap());
        #[expect(clippy::await_holding_refcell_ref, reason = "no other task borrows it")]
        let next = || async { stream.borrow_mut().next().await };
        assert_eq!(asked_anew(next).await.unwrap().unwrap().len(), 1);
        check_refused(asked_anew(next).await);
        assert!(asked_anew(next).await.unwrap().is_none());
    });
}

#[test]
fn copy_out_whose_next_is_dropped_still_reports_the_servers_error() {
    run(async {
        let begun = message(b'H', b"\0\0\x01\0\0");
        let line = message(b'd', b"1\n");
        let db = open(vec![
            Step::Message,
            say(&[&begun, &line, &refusal()]),
            Step::Pause(Duration::from_millis(200)),
            say(&[READY]),
            Step::Silence,
        ])
        .await;
        let out = std::cell::RefCell::new(db.copy_out("x").await.unwrap());
        #[expect(clippy::await_holding_refcell_ref, reason = "no other task borrows it")]
        let next = || async { out.borrow_mut().next().await };
        assert_eq!(&asked_anew(next).await.unwrap().unwrap()[..], b"1\n");
        check_refused(asked_anew(next).await);
        assert!(asked_anew(next).await.unwrap().is_none());
    });
}

#[test]
fn copy_in_whose_send_is_dropped_still_reports_the_servers_error() {
    run(async {
        let begun = message(b'G', b"\0\0\x01\0\0");
        let db = open(vec![
            Step::Message,
            say(&[&begun, &refusal()]),
            Step::Pause(Duration::from_secs(2)),
            say(&[READY]),
            Step::Silence,
        ])
        .await;
        let mut copy = db.copy_in("x").await.unwrap();
        // Until the refusal has come.
        let mut sent = 0;
        while once(pin!(copy.send(b"1\n"))).await {
            sent += 1;
            assert!(sent < 6_000, "the server has refused by now");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        check_refused(copy.finish().await);
    });
}
