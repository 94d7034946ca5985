//! Memory that clients make the server hold (messages that come, answers that nobody takes, windows): each sum at its limit and beyond.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use tsumugi_kv::SetMode;
use tsumugi_rpc::proto::stream_request::RequestOneof;
use tsumugi_rpc::proto::{SetRequest, StreamRequest};

use crate::hostile::{DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, begin_get, limited, serves, store};
use crate::raw_client::{RawClient, b, d, frame, n, raw_reply};
use crate::rig::{Rig, on_loop};

/// What the client of a new connection may send before the server takes it: as much more than HTTP/2 begins with as the server says until it has
/// answered two pings, of which the second one was sent after the first was answered.
fn window_of(stream: &mut TcpStream) -> usize {
    let wait = Duration::from_secs(60);
    stream.set_read_timeout(Some(wait)).unwrap();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], b"question"].concat();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let begin = [&preface[..], &settings, &ping].concat();
    stream.write_all(&begin).unwrap();
    let (mut answered, mut window) = (0, 65_535);
    while answered < 2 {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let mut payload = vec![0; usize::from(head[2])];
        stream.read_exact(&mut payload).unwrap();
        match (head[3], head[4]) {
            (8, _) => window += u32::from_be_bytes(payload.try_into().unwrap()) as usize,
            // The answer to a ping, not one of the server's own.
            (6, 1) => {
                answered += 1;
                stream.write_all(&ping).unwrap();
            }
            _ => {}
        }
    }
    window
}

#[test]
fn windows_of_all_connections_are_inbound_bytes_max_together() {
    const INBOUND: usize = 16 << 20;
    let rig = limited(|limits| limits.inbound_bytes_max = INBOUND);
    let open = || {
        let mut stream = TcpStream::connect(rig.tcp()).unwrap();
        let window = window_of(&mut stream);
        (stream, window)
    };
    let mut streams: Vec<(TcpStream, usize)> = (0..60).map(|_| open()).collect();
    let first = streams[0].1;
    assert_eq!(first, INBOUND / 64);
    let last = streams.pop().unwrap();
    assert!(last.1 < first / 2, "{} of {first}", last.1);
    let sum: usize = streams.iter().map(|(_, window)| window).sum();
    assert!(sum <= INBOUND, "{sum}");
    drop((streams, last));
    let free = std::iter::repeat_with(open).any(|(_, window)| window == first);
    assert!(free);
}

#[test]
fn connection_without_room_for_its_window_has_the_least() {
    let rig = limited(|limits| limits.inbound_bytes_max = 65_535 * 64 - 1);
    let mut stream = TcpStream::connect(rig.tcp()).unwrap();
    assert_eq!(window_of(&mut stream), 65_535);
    let rig = Rig::start();
    let mut stream = TcpStream::connect(rig.tcp()).unwrap();
    assert_eq!(window_of(&mut stream), 4 << 20);
}

#[test]
fn large_messages_of_all_clients_have_a_bound() {
    let rig = limited(|limits| limits.inbound_bytes_max = 150_000);
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        // Begins a message of 100,000 bytes and does not end it.
        let (_response, mut body) = bare.begin("/tkrzw_rpc.DBMService/Echo").await.unwrap();
        let begun = frame(&[0; 100_000])[..50_000].to_vec();
        body.send_data(begun.into(), false).unwrap();
        let refused = async {
            loop {
                let refused = RawClient::connect(rig.tcp())
                    .await
                    .call("Echo", &[b(1, "x".repeat(100_000))])
                    .await;
                if refused.code == RESOURCE_EXHAUSTED {
                    return refused;
                }
            }
        };
        let refused = tokio::time::timeout(Duration::from_secs(60), refused)
            .await
            .unwrap();
        assert!(
            refused.message.contains("inbound_bytes_max"),
            "{}",
            refused.message
        );
        drop(body);
        drop(_response);
        serves(&rig).await;
    });
}

#[test]
fn answers_that_wait_for_slow_clients_have_a_bound() {
    let rig = limited(|limits| limits.outbound_bytes_max = 250_000);
    on_loop(async {
        let kv = rig.client();
        store(&kv, "k", vec![7; 100_000]).await;
        let bare = RawClient::with_window(rig.tcp(), 0).await;
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(begin_get(&bare).await.await.unwrap());
        }
        let error = kv.get("k").await.unwrap_err();
        assert!(error.to_string().contains("outbound_bytes_max"), "{error}");
        // An exchange is refused as long as it changes nothing; one that took place is answered.
        let other = RawClient::connect(rig.tcp()).await;
        let exchange = |rest| [b(2, "k"), n(3, 1), n(5, 1), n(9, 1), rest].concat();
        let refused = other.call("CompareExchange", &[exchange(n(8, 1))]).await;
        assert_eq!(refused.code, RESOURCE_EXHAUSTED, "{}", refused.message);
        let answered = other.call("CompareExchange", &[exchange(n(6, 1))]).await;
        assert_eq!(answered.code, 0, "{}", answered.message);
        assert!(answered.messages[0].len() > 100_000);
        store(&kv, "k", vec![7; 100_000]).await;
        let refused = [b(6, exchange(n(8, 1)))];
        let refused = other.call("Stream", &refused).await;
        assert_eq!(refused.code, RESOURCE_EXHAUSTED, "{}", refused.message);
        let answered = [b(6, exchange(n(6, 1)))];
        let answered = other.call("Stream", &answered).await;
        assert_eq!(answered.code, 0, "{}", answered.message);
        store(&kv, "k", vec![7; 100_000]).await;
        drop(held);
        drop(bare);
        let again = async {
            while kv.get("k").await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), again)
            .await
            .unwrap();
    });
}

#[test]
fn small_unread_answers_are_counted_and_do_not_wait_for_ever() {
    let rig = limited(|limits| {
        limits.outbound_bytes_max = 250_000;
        limits.send_timeout_ms = 5_000;
    });
    on_loop(async {
        let kv = rig.client();
        let value = |length| vec![7; length];
        store(&kv, "k", value(60_000)).await;
        store(&kv, "large", value(100_000)).await;
        let bare = RawClient::with_window(rig.tcp(), 0).await;
        let mut held = Vec::new();
        for _ in 0..5 {
            held.push(begin_get(&bare).await.await.unwrap());
        }
        let error = kv.get("large").await.unwrap_err();
        assert!(error.to_string().contains("outbound_bytes_max"), "{error}");
        assert!(kv.get("k").await.unwrap().is_some());
        // They are in the connection's buffer; the client loses them, and others have the room.
        let room = async {
            while kv.get("large").await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), room)
            .await
            .unwrap();
        let mut body = held.remove(0).into_body();
        assert!(body.data().await.is_none_or(|piece| piece.is_err()));
    });
}

#[test]
fn a_message_that_comes_byte_by_byte_does_not_hold_its_room() {
    let rig = limited(|limits| {
        limits.message_timeout_ms = 400;
        limits.inbound_bytes_max = 70_000;
    });
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        let (response, mut body) = bare.begin("/tkrzw_rpc.DBMService/Echo").await.unwrap();
        body.send_data(Bytes::from_static(&[0, 0, 0, 255, 0]), false)
            .unwrap();
        let mut reply = Box::pin(raw_reply(response));
        let reply = loop {
            tokio::select! {
                reply = &mut reply => break reply,
                () = tokio::time::sleep(Duration::from_millis(50)) => {
                    // Once it has failed there is nobody to send to.
                    let _ = body.send_data(Bytes::from_static(&[1]), false);
                }
            }
        };
        assert_eq!(reply.code, DEADLINE_EXCEEDED, "{reply:?}");
        let kv = rig.client();
        store(&kv, "k", vec![7; 60_000]).await;
    });
}

#[test]
fn a_call_that_waits_pays_for_its_message_and_a_stream_that_rests_does_not() {
    let rig = limited(|limits| limits.inbound_bytes_max = 250_000);
    on_loop(async {
        let kv = rig.client();
        let value = vec![7; 200_000];
        let mut stream = kv.stream(1).await.unwrap();
        let set = SetRequest {
            key: "s".into(),
            value: value.clone().into(),
            overwrite: true,
            dbm_index: 0,
        };
        let request = StreamRequest {
            request_oneof: Some(RequestOneof::SetRequest(set)),
            omit_response: false,
        };
        stream.send(&request).await.unwrap();
        stream.receive().await.unwrap().unwrap();
        kv.set("k", value.clone(), SetMode::Overwrite)
            .await
            .unwrap();
        let bare = RawClient::connect(rig.tcp()).await;
        let waits = [b(2, "k"), n(3, 1), b(4, &value[1..]), n(5, 0), d(10, 60.0)].concat();
        let begin = async || {
            let (response, mut body) = bare
                .begin("/tkrzw_rpc.DBMService/CompareExchange")
                .await
                .unwrap();
            body.send_data(frame(&waits).into(), true).unwrap();
            (response, body)
        };
        let refused = async {
            let mut call = begin().await;
            while kv
                .set("other", value.clone(), SetMode::Overwrite)
                .await
                .is_ok()
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
                // Its message came while that of a Set was there, and was the one that is too much.
                if (&mut call.0).now_or_never().is_some() {
                    call = begin().await;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), refused)
            .await
            .unwrap();
    });
}

#[test]
fn calls_that_wait_pay_for_small_messages_until_they_end() {
    let rig = limited(|limits| limits.inbound_bytes_max = 100_000);
    on_loop(async {
        let kv = rig.client();
        let value = vec![7; 40_000];
        kv.set("k", value.clone(), SetMode::Overwrite)
            .await
            .unwrap();
        let bare = RawClient::connect(rig.tcp()).await;
        let waits = [b(2, "k"), n(3, 1), b(4, &value[1..]), n(5, 0), d(10, 60.0)].concat();
        let mut calls = Vec::new();
        for _ in 0..2 {
            let (response, mut body) = bare
                .begin("/tkrzw_rpc.DBMService/CompareExchange")
                .await
                .unwrap();
            body.send_data(frame(&waits).into(), false).unwrap();
            // A second message, for which this call has no use, gives back nothing of the first.
            body.send_data(frame(&[]).into(), true).unwrap();
            calls.push((response, body));
        }
        let set = async || kv.set("other", value.clone(), SetMode::Overwrite).await;
        let refused = async {
            while set().await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), refused)
            .await
            .unwrap();
        drop(calls);
        let taken = async {
            while set().await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), taken)
            .await
            .unwrap();
    });
}
