//! Clients that mean no good, or know no better: each loses its call or its connection, and the next one is served.
//! Every limit is met at its value and one beyond, and is named in the answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tsumugi_kv::SetMode;
use tsumugi_rpc::{Client, Error, RpcLimits, TkrzwCode};

use crate::raw_client::{RawClient, b, frame, n, raw_reply};
use crate::rig::{Rig, on_loop};

const RPCS: [&str; 22] = [
    "Get",
    "GetMulti",
    "Set",
    "SetMulti",
    "Remove",
    "RemoveMulti",
    "Append",
    "AppendMulti",
    "CompareExchange",
    "Increment",
    "CompareExchangeMulti",
    "Rekey",
    "PopFirst",
    "PushLast",
    "Count",
    "GetFileSize",
    "Clear",
    "Rebuild",
    "ShouldBeRebuilt",
    "Synchronize",
    "Search",
    "Iterate",
];

const INVALID_ARGUMENT: i32 = 3;
pub(crate) const DEADLINE_EXCEEDED: i32 = 4;
pub(crate) const RESOURCE_EXHAUSTED: i32 = 8;

pub(crate) fn limited(change: impl FnOnce(&mut RpcLimits)) -> Rig {
    Rig::with(|settings, _, _| change(&mut settings.limits))
}

pub(crate) async fn store(kv: &Client, key: &'static str, value: Vec<u8>) {
    kv.set(key, value, SetMode::Overwrite).await.unwrap();
}

/// A whole request for the value at `k`, whose answer is not read yet.
pub(crate) async fn begin_get(bare: &RawClient) -> h2::client::ResponseFuture {
    let (response, mut body) = bare.begin("/tkrzw_rpc.DBMService/Get").await.unwrap();
    body.send_data(frame(&b(2, "k")).into(), true).unwrap();
    response
}

pub(crate) async fn serves(rig: &Rig) {
    assert_eq!(rig.client().echo("still here").await.unwrap(), "still here");
}

#[test]
fn an_index_that_is_none_is_refused_as_the_first_message_of_every_call() {
    let rig = Rig::start();
    on_loop(async {
        for index in [-1, 2, i64::from(i32::MIN), i64::from(i32::MAX)] {
            for name in RPCS {
                let bare = RawClient::connect(rig.tcp()).await;
                let reply = bare.call(name, &[n(1, index)]).await;
                assert_eq!(reply.code, INVALID_ARGUMENT, "{name} {index}");
                assert!(
                    reply.message.contains("dbm_index"),
                    "{name}: {}",
                    reply.message
                );
            }
            for call in 2..=7 {
                let bare = RawClient::connect(rig.tcp()).await;
                let reply = bare.call("Stream", &[b(call, n(1, index))]).await;
                assert_eq!(reply.code, INVALID_ARGUMENT, "Stream {call} {index}");
            }
        }
        let bare = RawClient::connect(rig.tcp()).await;
        assert_eq!(bare.call("Inspect", &[n(1, -1)]).await.code, 0);
        assert_eq!(
            bare.call("Inspect", &[n(1, 2)]).await.code,
            INVALID_ARGUMENT
        );
        serves(&rig).await;
    });
}

#[test]
fn a_value_of_64_mib_is_stored_and_one_byte_more_is_refused_by_name() {
    let rig = Rig::start();
    on_loop(async {
        let kv = rig.client();
        let value = Bytes::from(vec![7; 64 * 1024 * 1024]);
        kv.set("k", value.clone(), SetMode::Overwrite)
            .await
            .unwrap();
        assert!(kv.get("k").await.unwrap().unwrap() == value);
        let more = [&value[..], b"x"].concat();
        let error = kv.set("k", more, SetMode::Overwrite).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Database {
                    code: TkrzwCode::InvalidArgument,
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains("value_max"), "{error}");
    });
}

#[test]
fn entries_beyond_the_limit_are_refused_before_they_are_decoded() {
    let rig = Rig::start();
    on_loop(async {
        let most = tsumugi_kv::limits::BATCH_WRITES_MAX;
        for (name, field) in [
            ("GetMulti", 2),
            ("SetMulti", 2),
            ("RemoveMulti", 2),
            ("AppendMulti", 2),
            ("CompareExchangeMulti", 2),
            ("CompareExchangeMulti", 3),
        ] {
            let entries = |count: usize| b(field, "").repeat(count);
            for (count, code) in [
                (most, 0),
                (most + 1, RESOURCE_EXHAUSTED),
                (32 * 1024 * 1024, RESOURCE_EXHAUSTED),
            ] {
                let bare = RawClient::connect(rig.tcp()).await;
                let reply = bare.call(name, &[entries(count)]).await;
                assert_eq!(reply.code, code, "{name} {count}: {}", reply.message);
                assert!(code == 0 || reply.message.contains("MESSAGE_ENTRIES_MAX"));
            }
        }
        serves(&rig).await;
    });
}

#[test]
fn a_message_beyond_the_limit_is_refused_at_its_prefix() {
    let rig = limited(|limits| limits.message_bytes_max = 100);
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        let echo = |bytes: usize| b(1, "x".repeat(bytes));
        assert_eq!(echo(98).len(), 100);
        assert_eq!(bare.call("Echo", &[echo(98)]).await.code, 0);
        let refused = bare.call("Echo", &[echo(99)]).await;
        assert_eq!(refused.code, RESOURCE_EXHAUSTED);
        assert!(
            refused.message.contains("message_bytes_max%20(100)")
                || refused.message.contains("message_bytes_max (100)")
        );
        // Only the prefix comes, and claims four gigabytes.
        let (response, mut body) = bare.begin("/tkrzw_rpc.DBMService/Echo").await.unwrap();
        body.send_data(Bytes::from_static(&[0, 255, 255, 255, 255]), false)
            .unwrap();
        assert_eq!(raw_reply(response).await.code, RESOURCE_EXHAUSTED);
        let refused = bare.call("Stream", &[b(1, echo(10)), b(1, echo(99))]).await;
        assert_eq!(
            (refused.code, refused.messages.len()),
            (RESOURCE_EXHAUSTED, 1)
        );
        serves(&rig).await;
    });
}

#[test]
fn an_answer_beyond_the_limit_is_refused_by_name() {
    let rig = limited(|limits| limits.message_bytes_max = 1_000);
    on_loop(async {
        let kv = rig.client();
        for key in ["a", "b"] {
            kv.set(key, vec![0; 600], SetMode::Overwrite).await.unwrap();
        }
        let error = kv.records(["a".into(), "b".into()]).await.unwrap_err();
        assert!(error.to_string().contains("message_bytes_max"), "{error}");
    });
}

#[test]
fn calls_beyond_the_limit_of_one_connection_wait() {
    let rig = limited(|limits| limits.streams_max = 3);
    on_loop(async {
        let kv = rig.client();
        kv.echo("settings are known").await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..3 {
            let kv = kv.clone();
            waiting.push(tokio::task::spawn_local(async move {
                kv.pop_first(Duration::from_secs(60)).await
            }));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let fourth = kv.echo("fourth");
        let mut fourth = std::pin::pin!(fourth);
        let early = tokio::time::timeout(Duration::from_millis(100), fourth.as_mut()).await;
        assert!(early.is_err(), "the fourth call was served");
        let other = rig.client();
        for _ in 0..3 {
            other.push_last("v", None).await.unwrap();
        }
        assert_eq!(fourth.await.unwrap(), "fourth");
        for one in waiting {
            assert!(one.await.unwrap().unwrap().is_some());
        }
    });
}

#[test]
fn connections_beyond_the_limit_are_closed_at_once() {
    let rig = Rig::with(|_, config, _| config.limits.connections_max = 2);
    let open = || {
        let stream = TcpStream::connect(rig.tcp()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    };
    on_loop(async {
        let (first, second) = (
            RawClient::connect(rig.tcp()).await,
            RawClient::connect(rig.tcp()).await,
        );
        for bare in [&first, &second] {
            assert_eq!(bare.call("Echo", &[vec![]]).await.code, 0);
        }
        let mut third = open();
        assert!(matches!(third.read(&mut [0]), Ok(0) | Err(_)));
        assert_eq!(first.call("Echo", &[vec![]]).await.code, 0);
    });
}

/// As many as `TSUMUGI_IDLE_CONNECTIONS` says and the system's files allow: both ends are in this process.
fn idle_connections() -> usize {
    let wished =
        std::env::var("TSUMUGI_IDLE_CONNECTIONS").map_or(1_000, |text| text.parse().unwrap());
    let (_, files) =
        nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE).unwrap();
    let possible = usize::try_from(files)
        .unwrap_or(usize::MAX)
        .saturating_sub(200)
        / 2;
    if possible < wished {
        eprintln!(
            "{possible} idle connections instead of {wished}: the limit of open files is {files}"
        );
    }
    possible.min(wished)
}

#[test]
fn idle_connections_cost_no_call() {
    let rig = Rig::start();
    on_loop(async {
        let mut idle = Vec::new();
        for _ in 0..idle_connections() {
            idle.push(RawClient::connect(rig.tcp()).await);
        }
        serves(&rig).await;
        let one = &idle[idle.len() / 2];
        assert_eq!(one.call("Echo", &[vec![]]).await.code, 0);
    });
}

#[test]
fn a_client_that_opens_a_thousand_streams_and_reads_nothing_loses_its_connection() {
    let rig = limited(|limits| limits.send_timeout_ms = 400);
    on_loop(async {
        let kv = rig.client();
        store(&kv, "k", vec![7; 100_000]).await;
        let bare = RawClient::with_window(rig.tcp(), 0).await;
        let mut calls = Vec::new();
        for _ in 0..1_000 {
            calls.push(begin_get(&bare).await);
        }
        // Others are served meanwhile, and the one that reads nothing is not for ever.
        serves(&rig).await;
        let mut lost = 0;
        for response in calls {
            let ended = async {
                match response.await {
                    Ok(answer) => {
                        let mut body = answer.into_body();
                        while let Some(Ok(_)) = body.data().await {}
                        body.is_end_stream()
                    }
                    Err(_) => true,
                }
            };
            let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
            lost += usize::from(ended.is_ok());
        }
        assert_eq!(lost, 1_000);
        serves(&rig).await;
    });
}

#[test]
fn a_message_that_stops_coming_fails_its_call() {
    let rig = limited(|limits| limits.message_timeout_ms = 100);
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        for begun in [&[][..], &[0, 0], &[0, 0, 0, 0, 9, 10]] {
            let (response, mut body) = bare.begin("/tkrzw_rpc.DBMService/Echo").await.unwrap();
            body.send_data(Bytes::copy_from_slice(begun), false)
                .unwrap();
            let reply = raw_reply(response).await;
            assert_eq!(reply.code, DEADLINE_EXCEEDED, "{begun:?}: {reply:?}");
        }
        // Between two messages of a stream the time is the client's.
        let mut stream = rig.client().iterate(1).await.unwrap();
        for _ in 0..2 {
            stream.send(&Default::default()).await.unwrap();
            stream.receive().await.unwrap().unwrap();
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    });
}

#[test]
fn half_sent_frames_and_random_bytes_end_their_connection_only() {
    // Who serves below has to come in time on a crowded machine, too.
    let rig = limited(|limits| limits.preface_ms = 3_000);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let dice = tsumugi_testkit::Dice::new(1);
    let mut talks: Vec<Vec<u8>> = vec![
        vec![],
        preface[..10].to_vec(),
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(),
        [&preface[..], &[0, 0, 50, 1, 4, 0, 0, 0, 1, 0x82]].concat(),
        [
            &preface[..],
            &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0],
        ]
        .concat(),
    ];
    for _ in 0..100 {
        talks.push((0..200).map(|_| dice.byte()).collect());
        let noise: Vec<u8> = (0..200).map(|_| dice.byte()).collect();
        talks.push([&preface[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0], &noise].concat());
    }
    let mut open = Vec::new();
    for talk in talks {
        let mut stream = TcpStream::connect(rig.tcp()).unwrap();
        let _ = stream.write_all(&talk);
        open.push(stream);
    }
    on_loop(serves(&rig));
    // Silence instead of a preface is not for ever, whatever the server has said before.
    open[0]
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    open[0].read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_client_that_is_not_there_any_more_loses_its_connection() {
    let rig = limited(|limits| {
        limits.keep_alive_ms = 100;
        // Far above the time that a thread waits for its turn on a crowded machine: who answers must be heard in time.
        limits.keep_alive_answer_ms = 4_000;
    });
    on_loop(async {
        // This one answers pings for longer than the other one may be silent, so it stays.
        let bare = RawClient::connect(rig.tcp()).await;
        let silent = std::thread::spawn({
            let address = rig.tcp();
            move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
                stream
                    .write_all(&[&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings].concat())
                    .unwrap();
                stream
                    .set_read_timeout(Some(Duration::from_secs(60)))
                    .unwrap();
                let mut heard = Vec::new();
                stream.read_to_end(&mut heard).unwrap();
                heard
            }
        });
        while !silent.is_finished() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let heard = silent.join().unwrap();
        // A frame of type 6 without flags: a question.
        assert!(heard.windows(5).any(|window| window == [0, 0, 8, 6, 0]));
        assert_eq!(bare.call("Echo", &[vec![]]).await.code, 0);
    });
}

#[test]
fn messages_that_are_no_messages_fail_their_call() {
    let rig = Rig::start();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        for name in RPCS.into_iter().chain(["Stream", "Inspect", "Echo"]) {
            let reply = bare.call(name, &[vec![0xff; 40]]).await;
            assert_ne!(reply.code, 0, "{name}");
        }
        // Compressed, which was not agreed on; and no message at all.
        let (response, mut body) = bare.begin("/tkrzw_rpc.DBMService/Echo").await.unwrap();
        body.send_data(Bytes::from_static(&[1, 0, 0, 0, 0]), true)
            .unwrap();
        assert_ne!(raw_reply(response).await.code, 0);
        assert_ne!(bare.call("Echo", &[]).await.code, 0);
        serves(&rig).await;
    });
}

#[test]
fn request_without_grpc_gets_an_http_status() {
    let rig = Rig::start();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        let path = "http://localhost/tkrzw_rpc.DBMService/Echo";
        for (request, status) in [
            (Request::get(path), 405),
            (Request::post(path), 415),
            (
                Request::post(path).header("content-type", "application/json"),
                415,
            ),
        ] {
            let (response, _body) = bare.send(request.body(()).unwrap()).await.unwrap();
            assert_eq!(response.await.unwrap().status(), status);
        }
    });
}

#[test]
fn workers_share_the_connections_of_many_clients() {
    let rig = Rig::with(|_, config, _| config.workers = NonZeroUsize::new(2).unwrap());
    on_loop(async {
        let clients: Vec<Client> = (0..8).map(|_| rig.client()).collect();
        for (number, client) in clients.iter().enumerate() {
            client
                .set(number.to_string(), "v", SetMode::Overwrite)
                .await
                .unwrap();
        }
        assert_eq!(clients[0].count().await.unwrap(), 8);
    });
}
