//! Watches over the service: what is reported, also of what is lost, their limits, and what is left when they end.

use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpListener;
use tsumugi_http::admin::AdminSource as _;
use tsumugi_kv::limits::{PAGE_RECORDS_MAX, WATCH_CHANGES_MAX};
use tsumugi_kv::{ChangeEvent, KvDatabase, SetMode, Spec, Write};
use tsumugi_rpc::client::{Options, Watch};
use tsumugi_rpc::{Client, Error, GrpcCode, RpcTarget};
use tsumugi_worker::{Exit, ListenAddress};

use crate::hostile::{RESOURCE_EXHAUSTED, limited, serves, store};
use crate::raw_client::{RawClient, b, frame, n, raw_reply};
use crate::rig::{Rig, on_loop};

const WATCH: &str = "/tsumugi_kv.StoreService/Watch";

async fn change(watch: &mut Watch) -> ChangeEvent {
    let next = tokio::time::timeout(Duration::from_secs(60), watch.next());
    next.await.expect("a change in time").unwrap()
}

fn figure(rig: &Rig, name: &str) -> u64 {
    let text = rig
        .store
        .admin_source(rig.handle.clone())
        .metrics()
        .into_text();
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.rsplit(' ').next());
    value.unwrap().parse().unwrap()
}

/// Waits until a figure is what it shall be.
async fn until(rig: &Rig, name: &str, expected: u64) {
    let reached = async {
        while figure(rig, name) != expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(60), reached).await;
    assert!(reached.is_ok(), "{name} is {}", figure(rig, name));
}

const ACTIVE: &str = "tsumugi_rpc_watches_active";

#[test]
fn changes_of_a_prefix_are_reported_in_their_order() {
    let rig = Rig::start();
    on_loop(async {
        let kv = rig.client();
        store(&kv, "a:before", vec![1]).await;
        let mut watch = kv.watch("a:").await.unwrap();
        store(&kv, "a:1", vec![1]).await;
        store(&kv, "b:1", vec![1]).await;
        kv.at(1)
            .set("a:other", "x", SetMode::Overwrite)
            .await
            .unwrap();
        kv.remove("a:1").await.unwrap();
        let ttl = Duration::from_millis(1);
        kv.set_with_ttl("a:2", "v", SetMode::Overwrite, ttl)
            .await
            .unwrap();
        for expected in [
            ChangeEvent::Put("a:1".into()),
            ChangeEvent::Removed("a:1".into()),
            ChangeEvent::Put("a:2".into()),
            ChangeEvent::Expired("a:2".into()),
        ] {
            assert_eq!(change(&mut watch).await, expected);
        }
        kv.clear().await.unwrap();
        assert_eq!(change(&mut watch).await, ChangeEvent::Cleared);
        // A future that is dropped loses nothing.
        for _ in 0..3 {
            let early = tokio::time::timeout(Duration::from_millis(5), watch.next());
            assert!(early.await.is_err());
        }
        store(&kv, "a:3", vec![1]).await;
        assert_eq!(change(&mut watch).await, ChangeEvent::Put("a:3".into()));
    });
}

#[test]
fn watches_of_a_connection_end_at_their_limit_and_others_are_served() {
    let rig = limited(|limits| limits.connection_watches_max = 3);
    on_loop(async {
        let kv = rig.client();
        let mut watches = Vec::new();
        for _ in 0..3 {
            watches.push(kv.watch("").await.unwrap());
        }
        let error = kv.watch("").await.unwrap_err();
        assert!(
            error.to_string().contains("connection_watches_max (3)"),
            "{error}"
        );
        assert!(matches!(error, Error::Refused { .. }), "{error}");
        // Another connection has its own.
        let other = rig.client().watch("").await.unwrap();
        assert_eq!(figure(&rig, ACTIVE), 4);
        drop(watches.pop());
        until(&rig, ACTIVE, 3).await;
        watches.push(kv.watch("").await.unwrap());
        store(&kv, "a", vec![1]).await;
        for watch in &mut watches {
            assert_eq!(change(watch).await, ChangeEvent::Put("a".into()));
        }
        drop((watches, other));
        until(&rig, ACTIVE, 0).await;
    });
}

#[test]
fn watches_of_a_server_end_at_their_limit() {
    let rig = limited(|limits| limits.watches_max = 2);
    on_loop(async {
        let clients = [rig.client(), rig.client(), rig.client()];
        let first = clients[0].watch("").await.unwrap();
        let _second = clients[1].watch("").await.unwrap();
        let error = clients[2].watch("").await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("watches_max (2)") && !text.contains("connection_"),
            "{text}"
        );
        drop(first);
        until(&rig, ACTIVE, 1).await;
        assert!(clients[2].watch("").await.is_ok());
    });
}

#[test]
fn client_that_takes_nothing_costs_bounded_memory_and_learns_how_much_it_lost() {
    const CHANGES: usize = 200_000;
    let database = KvDatabase::open(&Spec::memory()).unwrap();
    let own = database.clone();
    let rig = Rig::with(move |settings, _, _| settings.databases = vec![own.into()]);
    on_loop(async {
        let bare = RawClient::with_window(rig.tcp(), 1_000).await;
        let (response, mut request) = bare.begin(WATCH).await.unwrap();
        request.send_data(frame(&[]).into(), true).unwrap();
        let mut body = response.await.unwrap().into_body();
        let mut read = Vec::new();
        // The first answer says that the watch has begun.
        read.extend_from_slice(&body.data().await.unwrap().unwrap());
        for number in 0..CHANGES {
            let written = database.submit(Write::set(format!("key {number:06}"), "v"));
            written.await.unwrap();
            if number % 1_000 == 0 {
                tokio::task::yield_now().await;
            }
        }
        // What is on its way, beside what the store keeps for the watch.
        let waiting = figure(&rig, "tsumugi_rpc_outbound_bytes");
        assert!(waiting <= 256 * 1024, "{waiting} bytes wait");
        serves(&rig).await;
        let (mut put, mut missed) = (0, 0);
        body.flow_control().release_capacity(read.len()).unwrap();
        while put + missed < CHANGES as u64 {
            let piece = tokio::time::timeout(Duration::from_secs(60), body.data()).await;
            let piece = piece.expect("more comes").unwrap().unwrap();
            body.flow_control().release_capacity(piece.len()).unwrap();
            read.extend_from_slice(&piece);
            while let Some(message) = first_message(&mut read) {
                match message.get(..2) {
                    Some([8, 2]) => put += 1,
                    Some([8, 7]) => missed += varint(&message[3..]),
                    _ => {}
                }
            }
        }
        assert_eq!(put + missed, CHANGES as u64);
        assert!(
            missed > 0 && put >= WATCH_CHANGES_MAX as u64,
            "{put} {missed}"
        );
        assert!(put < 50_000, "{put} changes were kept");
        drop((body, request, bare));
        until(&rig, ACTIVE, 0).await;
        assert!(
            database
                .page(&tsumugi_kv::KeyRange::all(), PAGE_RECORDS_MAX)
                .is_ok()
        );
    });
}

/// Takes the first whole message out of what has come.
fn first_message(read: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u32::from_be_bytes(read.get(1..5)?.try_into().unwrap()) as usize;
    let message = read.get(5..5 + length)?.to_vec();
    read.drain(..5 + length);
    Some(message)
}

fn varint(bytes: &[u8]) -> u64 {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

#[test]
fn watch_that_is_taken_back_or_whose_connection_ends_frees_all() {
    let rig = Rig::start();
    on_loop(async {
        for round in 0..50 {
            let bare = RawClient::connect(rig.tcp()).await;
            let mut calls = Vec::new();
            for _ in 0..20 {
                let (response, mut request) = bare.begin(WATCH).await.unwrap();
                request.send_data(frame(&b(2, "k")).into(), true).unwrap();
                calls.push((response, request));
            }
            if round % 2 == 0 {
                let (response, _) = calls.pop().unwrap();
                response.await.unwrap();
                for (_, mut request) in calls {
                    request.send_reset(h2::Reason::CANCEL);
                }
            }
            drop(bare);
        }
        until(&rig, ACTIVE, 0).await;
        until(&rig, "tsumugi_rpc_calls_active", 0).await;
        until(&rig, "tsumugi_rpc_outbound_bytes", 0).await;
        serves(&rig).await;
    });
}

#[test]
fn prefix_longer_than_any_key_is_watched_in_vain() {
    let rig = Rig::start();
    on_loop(async {
        let kv = rig.client();
        let mut watch = kv.watch(vec![b'k'; 1 << 20]).await.unwrap();
        store(&kv, "k", vec![1]).await;
        let early = tokio::time::timeout(Duration::from_millis(50), watch.next());
        assert!(early.await.is_err());
        kv.clear().await.unwrap();
        assert_eq!(change(&mut watch).await, ChangeEvent::Cleared);
    });
}

#[test]
fn watch_with_nothing_to_report_says_that_it_goes_on() {
    // Without it the client would take the watch for lost after ten times as long, and does so on a machine that stands still for that.
    let lengths = [100, 500, 3_000].map(Duration::from_millis);
    let is_quiet = tsumugi_testkit::any_length(lengths, |alive| {
        let rig = limited(|limits| limits.watch_alive_ms = alive.as_millis() as u64);
        on_loop(async {
            let mut watch = rig.client().watch("").await.unwrap();
            let quiet = tokio::time::timeout(alive * 15, watch.next());
            quiet.await.is_err()
        })
    });
    assert!(is_quiet);
    let rig = limited(|limits| limits.watch_alive_ms = 100);
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        let (response, mut request) = bare.begin(WATCH).await.unwrap();
        request.send_data(frame(&[]).into(), true).unwrap();
        let mut body = response.await.unwrap().into_body();
        let mut read = Vec::new();
        let (ready, alive) = ([n(1, 1), n(4, 100)].concat(), Vec::new());
        while read.len() < frame(&ready).len() + frame(&alive).len() {
            read.extend_from_slice(&body.data().await.unwrap().unwrap());
        }
        assert_eq!(first_message(&mut read), Some(ready));
        assert_eq!(first_message(&mut read), Some(alive));
    });
}

#[test]
fn watch_ends_with_its_server() {
    let rig = Rig::start();
    let handle = rig.handle.clone();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        let (response, mut request) = bare.begin(WATCH).await.unwrap();
        request.send_data(frame(&[]).into(), true).unwrap();
        until(&rig, ACTIVE, 1).await;
        handle.drain();
        let reply = raw_reply(response).await;
        assert_eq!(reply.code, GrpcCode::Unavailable as i32, "{reply:?}");
        assert_eq!(reply.messages.len(), 1);
    });
    assert_eq!(rig.ended(), Exit::Drained);
}

#[test]
fn watch_begins_again_with_its_server_and_says_that_changes_may_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kv.sock");
    let database = KvDatabase::open(&Spec::memory()).unwrap();
    let serve = || {
        let (path, database) = (path.clone(), database.clone());
        Rig::with(move |settings, config, _| {
            settings.databases = vec![database.into()];
            config.listen = vec![ListenAddress::Unix(path)];
        })
    };
    let rig = serve();
    on_loop(async {
        let target: RpcTarget = format!("tkrzw+unix:{}", path.display()).parse().unwrap();
        let kv = Client::new(target, Options::default()).unwrap();
        let mut watch = kv.watch("").await.unwrap();
        store(&kv, "a", vec![1]).await;
        assert_eq!(change(&mut watch).await, ChangeEvent::Put("a".into()));
        drop(rig);
        database.submit(Write::set("missed", "v")).await.unwrap();
        // Nothing is reported while it is away.
        let away = tokio::time::timeout(Duration::from_millis(100), watch.next());
        assert!(away.await.is_err());
        let _rig = serve();
        assert_eq!(change(&mut watch).await, ChangeEvent::Gap);
        database.submit(Write::set("b", "v")).await.unwrap();
        assert_eq!(change(&mut watch).await, ChangeEvent::Put("b".into()));
    });
}

/// Answers reflection and watches, and says nothing more.
async fn silent(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::task::spawn_local(async move {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            let mut held = Vec::new();
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let head = http::Response::builder().header("content-type", "application/grpc");
                let head = head.body(()).unwrap();
                let mut body = respond.send_response(head, false).unwrap();
                if request.uri().path() == WATCH {
                    let ready = frame(&[n(1, 1), n(4, 1)].concat());
                    body.send_data(Bytes::from(ready), false).unwrap();
                    held.push(body);
                    continue;
                }
                let list = b(6, b(1, b(1, "tsumugi_kv.StoreService")));
                body.send_data(Bytes::from(frame(&list)), false).unwrap();
                let mut trailers = http::HeaderMap::new();
                trailers.insert("grpc-status", "0".parse().unwrap());
                body.send_trailers(trailers).unwrap();
            }
        });
    }
}

#[test]
fn watch_whose_server_says_nothing_any_more_is_begun_again() {
    on_loop(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("tkrzw://{}", listener.local_addr().unwrap());
        tokio::task::spawn_local(silent(listener));
        let kv = Client::new(target.parse().unwrap(), Options::default()).unwrap();
        let mut watch = kv.watch("").await.unwrap();
        assert_eq!(change(&mut watch).await, ChangeEvent::Gap);
    });
}

#[test]
fn watch_beyond_the_limit_is_refused_by_the_code_of_limits() {
    let rig = limited(|limits| limits.watches_max = 0);
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        let refused = bare.call_at(WATCH, &[vec![]]).await;
        assert_eq!(refused.code, RESOURCE_EXHAUSTED, "{}", refused.message);
        assert!(refused.messages.is_empty());
    });
}
