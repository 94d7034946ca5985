//! Streams and cursors by the client: order, silence, what a read sees, every operation both ways, over every store that can be behind a service.

use bytes::Bytes;
use tsumugi_kv::SetMode;
use tsumugi_rpc::client::Options;
use tsumugi_rpc::proto::iterate_request::OpType;
use tsumugi_rpc::proto::stream_request::RequestOneof;
use tsumugi_rpc::proto::stream_response::ResponseOneof;
use tsumugi_rpc::proto::*;
use tsumugi_rpc::{Client, Error, GrpcCode, TkrzwCode};

use crate::rig::{Need, each, has, many, on_loop};

fn set(key: impl Into<Bytes>, value: impl Into<Bytes>) -> StreamRequest {
    request(RequestOneof::SetRequest(SetRequest {
        dbm_index: 0,
        key: key.into(),
        value: value.into(),
        overwrite: true,
    }))
}

fn read(key: impl Into<Bytes>) -> StreamRequest {
    request(RequestOneof::GetRequest(GetRequest {
        key: key.into(),
        ..GetRequest::default()
    }))
}

fn request(request: RequestOneof) -> StreamRequest {
    StreamRequest {
        omit_response: false,
        request_oneof: Some(request),
    }
}

fn value(answer: StreamResponse) -> Bytes {
    match answer.response_oneof {
        Some(ResponseOneof::GetResponse(answer)) => answer.value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_read_sees_the_writes_before_it() {
    each(&[], async |kv| {
        let mut stream = kv.stream(10_000).await.unwrap();
        for number in 0..many(1_000) {
            let text = number.to_string();
            stream.send(&set("k", text)).await.unwrap();
            stream.send(&read("k")).await.unwrap();
        }
        for number in 0..many(1_000) {
            let first = stream.receive().await.unwrap().unwrap();
            assert!(matches!(
                first.response_oneof,
                Some(ResponseOneof::SetResponse(_))
            ));
            let second = stream.receive().await.unwrap().unwrap();
            assert_eq!(value(second), number.to_string());
        }
        assert!(stream.finish().await.unwrap().is_empty());
    });
}

#[test]
fn silent_requests_are_done_and_not_answered() {
    each(&[], async |kv| {
        let mut stream = kv.stream(1).await.unwrap();
        for number in 0..many(5_000) {
            let silent = StreamRequest {
                omit_response: true,
                ..set(format!("{number:05}"), "v")
            };
            stream.send_silent(&silent).await.unwrap();
        }
        let last = format!("{:05}", many(5_000) - 1);
        stream.send(&read(last)).await.unwrap();
        assert!(stream.is_full());
        let refused = stream.send(&read("x")).await.unwrap_err();
        assert!(matches!(refused, Error::Usage(_)), "{refused}");
        assert_eq!(value(stream.receive().await.unwrap().unwrap()), "v");
        assert!(stream.finish().await.unwrap().is_empty());
        if has(Need::Count) {
            assert_eq!(kv.count().await.unwrap(), many(5_000) as u64);
        }
    });
}

#[test]
fn requests_before_a_bad_one_are_answered() {
    each(&[], async |kv| {
        let mut stream = kv.stream(10).await.unwrap();
        stream.send(&set("k", "v")).await.unwrap();
        let bad = GetRequest {
            dbm_index: -1,
            ..GetRequest::default()
        };
        stream
            .send(&request(RequestOneof::GetRequest(bad)))
            .await
            .unwrap();
        assert!(stream.receive().await.unwrap().is_some());
        let error = stream.receive().await.unwrap_err();
        let code = GrpcCode::InvalidArgument;
        assert!(
            matches!(&error, Error::Refused { code: found, .. } if *found == code),
            "{error}"
        );
    });
}

#[test]
fn the_statuses_of_a_stream_are_those_of_the_calls() {
    each(&[], async |kv| {
        let mut stream = kv.stream(10).await.unwrap();
        let exchange = CompareExchangeRequest {
            key: "k".into(),
            expected_existence: true,
            expect_any_value: true,
            retry_wait: 0.02,
            ..CompareExchangeRequest::default()
        };
        stream
            .send(&request(RequestOneof::CompareExchangeRequest(exchange)))
            .await
            .unwrap();
        stream.send(&read("k")).await.unwrap();
        let remove = RemoveRequest {
            dbm_index: 0,
            key: "k".into(),
        };
        stream
            .send(&request(RequestOneof::RemoveRequest(remove)))
            .await
            .unwrap();
        let mut codes = Vec::new();
        for answer in stream.finish().await.unwrap() {
            let status = match answer.response_oneof.unwrap() {
                ResponseOneof::CompareExchangeResponse(answer) => answer.status,
                ResponseOneof::GetResponse(answer) => answer.status,
                ResponseOneof::RemoveResponse(answer) => answer.status,
                other => panic!("{other:?}"),
            };
            codes.push(TkrzwCode::of(status.unwrap().code));
        }
        assert_eq!(
            codes,
            [
                TkrzwCode::Infeasible,
                TkrzwCode::NotFound,
                TkrzwCode::NotFound
            ]
        );
    });
}

fn check(records: &'static [&'static str], script: &'static str, expected: &'static str) {
    each(&[Need::Order], async |kv| {
        let stored = records
            .iter()
            .map(|key| (Bytes::from(*key), Bytes::from(*key)));
        kv.set_multi(stored, SetMode::Overwrite).await.unwrap();
        let mut cursor = kv.iterate(100).await.unwrap();
        for word in script.split(' ') {
            cursor.send(&step(word)).await.unwrap();
        }
        let mut statuses = Vec::new();
        for answer in cursor.finish().await.unwrap() {
            statuses.push(match TkrzwCode::of(answer.status.unwrap().code) {
                TkrzwCode::Success if answer.value.is_empty() => "ok".to_owned(),
                TkrzwCode::Success => format!(
                    "{}={}",
                    String::from_utf8_lossy(&answer.key),
                    String::from_utf8_lossy(&answer.value)
                ),
                code => code.to_string(),
            });
        }
        assert_eq!(statuses.join(" "), expected, "{script}");
    });
}

/// `jump:b` has a key, `set:v` a value; `lower!` and `upper!` are inclusive.
fn step(word: &str) -> IterateRequest {
    let (name, argument) = word.split_once(':').unwrap_or((word, ""));
    let (operation, jump_inclusive) = match name {
        "none" => (OpType::OpNone, false),
        "first" => (OpType::OpFirst, false),
        "last" => (OpType::OpLast, false),
        "jump" => (OpType::OpJump, false),
        "lower" => (OpType::OpJumpLower, false),
        "lower!" => (OpType::OpJumpLower, true),
        "upper" => (OpType::OpJumpUpper, false),
        "upper!" => (OpType::OpJumpUpper, true),
        "next" => (OpType::OpNext, false),
        "previous" => (OpType::OpPrevious, false),
        "get" => (OpType::OpGet, false),
        "set" => (OpType::OpSet, false),
        "remove" => (OpType::OpRemove, false),
        "step" => (OpType::OpStep, false),
        other => panic!("{other}"),
    };
    let argument = Bytes::copy_from_slice(argument.as_bytes());
    IterateRequest {
        operation: operation as i32,
        key: argument.clone(),
        value: argument,
        jump_inclusive,
        ..IterateRequest::default()
    }
}

#[test]
fn a_cursor_goes_forward_to_the_end() {
    check(
        &["a", "b", "c"],
        "get first get next get next get next get next",
        "NOT_FOUND ok a=a ok b=b ok c=c ok NOT_FOUND NOT_FOUND",
    );
    check(&["a", "b"], "first step step step", "ok a=a b=b NOT_FOUND");
}

#[test]
fn a_cursor_goes_backward_to_the_beginning() {
    check(
        &["a", "b", "c"],
        "last get previous get previous get previous get",
        "ok c=c ok b=b ok a=a ok NOT_FOUND",
    );
    check(
        &["a", "b", "c"],
        "last previous previous next get",
        "ok ok ok ok b=b",
    );
}

#[test]
fn a_cursor_jumps_to_both_sides_of_a_key() {
    check(
        &["b", "d"],
        "jump:b get jump:c get jump:e get",
        "ok b=b ok d=d ok NOT_FOUND",
    );
    check(
        &["b", "d"],
        "lower:d get lower!:d get lower:b get",
        "ok b=b ok d=d ok NOT_FOUND",
    );
    check(
        &["b", "d"],
        "upper:b get upper!:b get upper:d get",
        "ok d=d ok b=b ok NOT_FOUND",
    );
    check(
        &["b", "d"],
        "lower:d next get previous get",
        "ok ok d=d ok b=b",
    );
}

#[test]
fn a_cursor_changes_and_removes_where_it_is() {
    check(
        &["a", "b", "c"],
        "jump:b set:x get remove get",
        "ok ok b=x ok c=c",
    );
    check(
        &["a"],
        "first remove get remove set:x",
        "ok ok NOT_FOUND NOT_FOUND NOT_FOUND",
    );
    check(
        &[],
        "none first get last get next",
        "ok ok NOT_FOUND ok NOT_FOUND NOT_FOUND",
    );
}

/// Does what `work` says between requests to one cursor, whose answers it sees.
fn with_cursor(records: usize, work: impl AsyncFn(&Client, &mut Cursor)) {
    each(&[Need::Order], async |kv| {
        for number in 0..records {
            let key = number.to_string();
            kv.set(key, "v", SetMode::Overwrite).await.unwrap();
        }
        let stream = kv.iterate(10).await.unwrap();
        let mut cursor = Cursor(stream);
        work(&kv, &mut cursor).await;
    });
}

struct Cursor(tsumugi_rpc::client::Duplex<IterateRequest, IterateResponse>);

impl Cursor {
    /// The key, or the code.
    async fn ask(&mut self, word: &str) -> Result<Bytes, TkrzwCode> {
        self.0.send(&step(word)).await.unwrap();
        let answer = self.0.receive().await.unwrap().unwrap();
        match TkrzwCode::of(answer.status.unwrap().code) {
            TkrzwCode::Success => Ok(answer.key),
            code => Err(code),
        }
    }
}

#[test]
fn a_loop_that_removes_each_record_by_another_call_leaves_none() {
    with_cursor(10, async |kv, cursor| {
        cursor.ask("first").await.unwrap();
        while let Ok(key) = cursor.ask("get").await {
            kv.remove(key).await.unwrap();
            cursor.ask("next").await.unwrap();
        }
        assert_eq!(kv.count().await.unwrap(), 0);
    });
}

#[test]
fn a_last_record_removed_by_another_call_leaves_the_cursor_nowhere() {
    with_cursor(3, async |kv, cursor| {
        cursor.ask("last").await.unwrap();
        kv.remove("2").await.unwrap();
        assert_eq!(cursor.ask("get").await, Err(TkrzwCode::NotFound));
        assert_eq!(cursor.ask("next").await, Err(TkrzwCode::NotFound));
        // What comes before the cursor is seen by going back, and what comes behind it by going on.
        cursor.ask("jump:1").await.unwrap();
        kv.set("0x", "v", SetMode::Overwrite).await.unwrap();
        kv.set("1x", "v", SetMode::Overwrite).await.unwrap();
        cursor.ask("previous").await.unwrap();
        assert_eq!(cursor.ask("get").await.unwrap(), "0x");
        for expected in ["0x", "1", "1x"] {
            assert_eq!(cursor.ask("step").await.unwrap(), expected);
        }
    });
}

#[test]
fn another_database_is_another_cursor() {
    each(&[Need::Order], async |kv| {
        kv.set("a", "1", SetMode::Overwrite).await.unwrap();
        let mut cursor = kv.iterate(10).await.unwrap();
        for (index, word) in [(0, "first"), (1, "get"), (0, "get")] {
            let request = IterateRequest {
                dbm_index: index,
                ..step(word)
            };
            cursor.send(&request).await.unwrap();
        }
        let codes: Vec<i32> = cursor
            .finish()
            .await
            .unwrap()
            .into_iter()
            .map(|answer| answer.status.unwrap().code)
            .collect();
        assert_eq!(codes, [0, 7, 7]);
    });
}

#[test]
fn a_stream_whose_server_says_nothing_ends_in_time() {
    on_loop(async {
        // It takes the connection and never says a word of HTTP/2.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("tkrzw://{}", silent.local_addr().unwrap());
        let mut options = Options::default();
        options.limits.call_ms_max = 100;
        let kv = Client::new(target.parse().unwrap(), options).unwrap();
        let mut stream = kv.iterate(1).await.unwrap();
        stream.send(&Default::default()).await.unwrap();
        let error = stream.receive().await.unwrap_err();
        assert!(
            matches!(error, Error::Deadline { limit_ms: 100 }),
            "{error}"
        );
    });
}
