//! The client's connections: used again, replaced, bounded in number, closed after their time. Not what calls say.
//! Servers count; how many connections exist at once shows what a call waits for.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tsumugi_ruby::Settings;

use crate::rig::Rig;
use crate::upstream::{After, Upstream, ok};

fn check(upstream: &Upstream, line: &str, expected: &str) {
    let line = line.replace("URL", &upstream.url());
    let rig = Rig::serve(&format!("get('/') {{ {line} }}"));
    assert_eq!(rig.get("/").text(), expected, "{line}");
}

/// Requests that are being answered, and the most that were at once.
#[derive(Default)]
struct Busy {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Busy {
    /// A server that takes its time; several may count together.
    fn upstream(self: &Arc<Self>) -> Upstream {
        let busy = Arc::clone(self);
        Upstream::new(move |_| {
            let now = busy.now.fetch_add(1, Ordering::SeqCst) + 1;
            busy.most.fetch_max(now, Ordering::SeqCst);
            #[expect(
                clippy::disallowed_methods,
                reason = "this thread serves one connection"
            )]
            std::thread::sleep(Duration::from_millis(600));
            busy.now.fetch_sub(1, Ordering::SeqCst);
            (ok("ok"), After::Stay)
        })
    }
}

#[test]
fn connection_is_used_again() {
    let upstream = Upstream::saying("ok");
    check(
        &upstream,
        "5.times.map { http.get('URL').text }.uniq",
        r#"["ok"]"#,
    );
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn connection_that_the_server_closed_meanwhile_is_replaced() {
    let upstream = Upstream::new(|_| (ok("ok"), After::Close));
    check(
        &upstream,
        "3.times.map { http.get('URL').text }",
        r#"["ok","ok","ok"]"#,
    );
    assert_eq!(upstream.connections(), 3);
}

/// Calls each of two servers `calls` times at once, and all of it again; answers how many connections each saw and how many
/// requests were at once.
fn rounds(calls: usize, limit: impl FnOnce(&mut Settings)) -> ([usize; 2], usize) {
    let busy = Arc::new(Busy::default());
    let upstreams = [busy.upstream(), busy.upstream()];
    let branches: String = upstreams
        .iter()
        .map(|upstream| {
            format!(
                "*([-> {{ http.get('{}').text }}] * {calls}),",
                upstream.url()
            )
        })
        .collect();
    let rig = Rig::with(&format!("get('/') {{ parallel({branches}) }}"), limit);
    let expected = format!("[{}]", vec!["\"ok\""; 2 * calls].join(","));
    for _ in 0..2 {
        assert_eq!(rig.get("/").text(), expected);
    }
    let connections = upstreams.each_ref().map(Upstream::connections);
    (connections, busy.most.load(Ordering::SeqCst))
}

#[test]
fn calls_at_once_wait_only_beyond_connections_per_host_max() {
    let limit = |settings: &mut Settings| settings.limits.client.connections_per_host_max = 2;
    assert_eq!(rounds(2, limit), ([2, 2], 4));
    assert_eq!(rounds(3, limit), ([2, 2], 4));
}

#[test]
fn calls_at_once_wait_only_beyond_connections_max() {
    let limit = |settings: &mut Settings| settings.limits.client.connections_max = 4;
    assert_eq!(rounds(2, limit).1, 4);
    assert_eq!(rounds(3, limit).1, 4);
}

#[test]
fn one_connection_more_than_idle_per_host_max_is_not_kept() {
    let limit = |settings: &mut Settings| settings.limits.client.idle_per_host_max = 2;
    assert_eq!(rounds(2, limit).0, [2, 2]);
    assert_eq!(rounds(3, limit).0, [4, 4]);
}

#[test]
fn one_connection_more_than_idle_max_is_not_kept() {
    let total = |idle_max| {
        let limit = |settings: &mut Settings| settings.limits.client.idle_max = idle_max;
        rounds(1, limit).0.iter().sum::<usize>()
    };
    assert_eq!((total(2), total(1)), (2, 3));
}

#[test]
fn idle_connection_is_closed_after_its_time() {
    let (sender, gone) = std::sync::mpsc::channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut piece = [0; 4096];
        assert!(stream.read(&mut piece).unwrap() > 0);
        stream.write_all(ok("ok").as_bytes()).unwrap();
        let end = stream.read(&mut piece);
        sender.send(end.is_ok_and(|read| read == 0)).unwrap();
    });
    let app = format!("get('/') {{ http.get('http://{address}').text }}");
    let rig = Rig::with(&app, |settings| settings.limits.client.idle_ms_max = 50);
    assert_eq!(rig.get("/").text(), "ok");
    assert_eq!(gone.recv_timeout(Duration::from_secs(60)), Ok(true));
}
