//! Stores of another server, and what they cannot do. The servers are in this process, each on a thread of its own.

use std::net::SocketAddr;
use std::num::NonZeroUsize;

use tsumugi_kv::{KvDatabase, Spec};
use tsumugi_rpc::server::{ServedStore as Stores, ServiceSettings};
use tsumugi_worker::{BoundServer, Config, Handle, ListenAddress, Signals};

use crate::rig::Rig;
use crate::{HELPERS, Store, check_on};

/// A server of two databases, until the tests end.
pub(crate) fn start() -> SocketAddr {
    serve_tcp(|_| {})
}

/// A server on a port of its own. Nobody ends it but the process.
fn serve_tcp(change: impl FnOnce(&mut ServiceSettings)) -> SocketAddr {
    let (addresses, _) = serve("127.0.0.1:0", change);
    let tcp = addresses.into_iter().find_map(|address| match address {
        ListenAddress::Tcp(address) => Some(address),
        ListenAddress::Unix(_) => None,
    });
    tcp.unwrap()
}

fn serve(listen: &str, change: impl FnOnce(&mut ServiceSettings)) -> (Vec<ListenAddress>, Handle) {
    let mut settings = ServiceSettings {
        databases: (0..2)
            .map(|_| KvDatabase::open(&Spec::memory()).unwrap().into())
            .collect(),
        ..ServiceSettings::default()
    };
    change(&mut settings);
    let config = Config {
        workers: NonZeroUsize::MIN,
        listen: vec![listen.parse().unwrap()],
        signals: Signals::Leave,
        ..Config::default()
    };
    let server = BoundServer::bind(config).unwrap();
    let addresses = server.addresses().to_vec();
    let handle = server.handle();
    let stores = Stores::new(settings).unwrap();
    std::thread::spawn(move || server.run(move |worker| stores.service(worker)));
    (addresses, handle)
}

#[test]
fn call_that_a_service_lacks_is_refused_before_it_is_sent() {
    check_on(
        Store::Remote,
        "",
        "",
        &[
            ("failed { kv.backup 'x' }", "KV::Unsupported"),
            ("kv.count", "0"),
            ("kv.push('x').nil?", "true"),
            (
                "[kv.sync, kv.info['num_records'], kv.inspect.start_with?('#<KV::Remote tkrzw://127.0.0.1:')]",
                r#"[null,"1",true]"#,
            ),
        ],
    );
}

#[test]
fn unreachable_service_stops_the_start() {
    let address = serve_tcp(|_| {});
    for (line, expected) in [
        (
            "KV.open 'tkrzw://127.0.0.1:1', timeout: 0.3",
            "KV::ConnectionLost",
        ),
        (
            "KV.open 'tkrzw+unix:/none/kv.sock', timeout: 0.3",
            "KV::ConnectionLost",
        ),
        ("KV.open 'tkrzw://'", "KV::UsageError"),
        (
            "KV.open 'tkrzw://h', durability: :disk",
            "ArgumentError: KV.open knows no durability: of a store behind a service; it knows index:",
        ),
        (&format!("KV.open 'tkrzw://{address}/2'"), "KV::"),
    ] {
        let error = Rig::refused(line, |_| {});
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn lost_server_is_reported_and_found_again() {
    // A socket's path is free again when the server is gone; a port may be somebody else's by then.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kv.sock");
    let listen = format!("unix:{}", path.display());
    let (_, handle) = serve(&listen, |_| {});
    let rig = Rig::serve(&format!(
        "plugin(:kv) {{ KV.open 'tkrzw+{listen}', timeout: 2 }}\n{HELPERS}
         get('/') {{ failed {{ kv['a'] = '1' }} }}
         get('/there') {{ kv.key?('a') rescue 'lost' }}"
    ));
    assert_eq!(rig.get("/").text(), "RuntimeError"); // nothing was raised
    handle.abort();
    while rig.get("/there").text() != "lost" {
        std::thread::yield_now();
    }
    // The one that was ended may be about to take its path away.
    while path.exists() {
        std::thread::yield_now();
    }
    let (_, _again) = serve(&listen, |_| {});
    while rig.get("/there").text() == "lost" {
        std::thread::yield_now();
    }
    assert_eq!(rig.get("/").text(), "RuntimeError");
}

#[test]
fn indexes_are_stores_of_their_own() {
    let address = start();
    let rig = Rig::serve(&format!(
        "plugin(:one) {{ KV.open 'tkrzw://{address}' }}
         plugin(:two) {{ KV.open 'tkrzw://{address}', index: 1 }}
         get('/') {{ one['a'] = '1'; [one['a'], two['a'], KV.open('tkrzw://{address}/0')['a']] }}"
    ));
    assert_eq!(rig.get("/").text(), r#"["1",null,"1"]"#);
}

#[test]
fn refused_record_does_not_stop_the_others() {
    let address = serve_tcp(|settings| {
        let mut small = Spec::memory();
        small.value_max = 16;
        settings.databases = vec![KvDatabase::open(&small).unwrap().into()];
    });
    for place in [
        format!("'tkrzw://{address}'"),
        "'memory:tried', value_max: 16".to_owned(),
    ] {
        let rig = Rig::serve(&format!(
            "plugin(:kv) {{ KV.open {place} }}\n{HELPERS}
             get('/') {{ kind = exception {{ kv.set_multi({{ 'a' => '1', 'b' => 'x' * 17, 'c' => '3' }}) }}.is_a?(KV::Error)
               [kind, kv.scan.keys] }}"
        ));
        assert_eq!(rig.get("/").text(), r#"[true,["a","c"]]"#, "{place}");
    }
}

/// A server that has the calls of the protocol which opening needs, and no reflection.
fn foreign() -> SocketAddr {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let head = http::Response::builder().header("content-type", "application/grpc");
                    if !request.uri().path().ends_with("/Count") {
                        let head = head.header("grpc-status", "12").body(()).unwrap();
                        respond.send_response(head, true).unwrap();
                        continue;
                    }
                    let mut body = respond
                        .send_response(head.body(()).unwrap(), false)
                        .unwrap();
                    body.send_data(vec![0; 5].into(), false).unwrap();
                    let mut trailers = http::HeaderMap::new();
                    trailers.insert("grpc-status", "0".parse().unwrap());
                    body.send_trailers(trailers).unwrap();
                }
            }
        });
    });
    receiver.recv().unwrap()
}

#[test]
fn foreign_server_is_named_with_the_call_that_it_lacks() {
    let address = foreign();
    let calls = [
        ("kv.set('a', '1', ttl: 5)", "SetWithTtl"),
        ("kv.set_multi({ 'a' => '1' }, ttl: 5)", "SetMultiWithTtl"),
        ("kv.cas('a', nil, '1', ttl: 5)", "CompareExchangeWithTtl"),
        ("kv.touch('a', ttl: 5)", "Touch"),
        ("kv.ttl('a')", "Lifetime"),
        ("kv.push('q', '1')", "Push"),
        ("kv.pop('q')", "Pop"),
        ("kv.watch { }", "Watch"),
    ];
    let routes: String = calls
        .iter()
        .map(|(line, call)| format!("get('/{call}') {{ error_text {{ {line} }} }}\n"))
        .collect();
    let rig = Rig::serve(&format!(
        "plugin(:kv) {{ KV.open 'tkrzw://{address}' }}\n{HELPERS}{routes}
         get('/count') {{ kv.count }}"
    ));
    for (_, call) in calls {
        let text = rig.get(&format!("/{call}")).text();
        assert!(text.starts_with("KV::Unsupported: "), "{call}: {text}");
        for part in [
            format!("tkrzw://{address}"),
            format!("tsumugi_kv.StoreService/{call}"),
        ] {
            assert!(text.contains(&part), "{call}: {text}");
        }
    }
    assert_eq!(rig.get("/count").text(), "0");
}

#[test]
fn time_to_live_of_a_store_is_that_of_what_it_stores() {
    let address = start();
    let rig = Rig::serve(&format!(
        "plugin(:kv) {{ KV.open 'tkrzw://{address}', ttl: 100 }}
         get('/') {{ kv['a'] = '1'; kv.set('b', '1', ttl: nil); kv.fetch('c') {{ 'x' }}; kv.incr('d')
           [kv.ttl('a').between?(90, 100), kv.ttl('b') == Float::INFINITY, kv.ttl('c').between?(90, 100), kv.ttl('d') == Float::INFINITY, kv.ttl('e')] }}"
    ));
    assert_eq!(rig.get("/").text(), "[true,true,true,true,null]");
    let foreign = foreign();
    let error = Rig::refused(&format!("KV.open 'tkrzw://{foreign}', ttl: 5"), |_| {});
    assert!(error.contains("KV::Unsupported"), "{error}");
}

#[test]
fn session_in_a_store_of_another_server_is_there_for_every_process() {
    let address = start();
    let application = format!(
        "sessions kv: KV.open('tkrzw://{address}'), secure: false
         get('/add') {{ session['n'] = (session['n'] || 0) + 1; session['n'] }}"
    );
    let (one, other) = (Rig::serve(&application), Rig::serve(&application));
    let first = one.get("/add");
    assert_eq!(first.text(), "1");
    let cookie = format!("cookie: {}", first.cookie("session").unwrap());
    for (rig, expected) in [(&other, "2"), (&one, "3"), (&other, "4")] {
        let answer = rig.send("GET", "/add", &[&cookie], b"");
        assert_eq!(answer.text(), expected);
    }
}
