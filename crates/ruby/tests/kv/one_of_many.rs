//! `cluster` over a store: locks, timers and channels over etcd, channels over Redis. What the engines do is tested in `crates/stores`.

use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::redis::RedisServer;

use crate::rig::Rig;

const APPLICATION: &str = "
    GOT = []
    CHAT = channel('chat', cluster: true)
    READY = []
    def failed
      yield
      'nothing was raised'
    rescue StandardError => e
      \"#{e.class}: #{e.message}\"
    end
    get('/hear') do
      parallel(
        -> { CHAT.subscribe { |m| GOT << m; break if m == 'end' } },
        -> { CHAT.publish 'ready' until GOT.include?('ready') || sleep(0.02).nil? })
      GOT
    end
    get('/say') { CHAT.publish 'one'; CHAT.publish 'end'; 'said' }
    get('/got') { GOT - ['ready'] }
    get('/lock') { Tsumugi.lock('job', ttl: 30, wait: 0) { |token| token > 0 } }
    get('/held') { Tsumugi.lock('job', ttl: 30) { |token| failed { sleep 2; raise 'end' } } }
    get('/try') { failed { Tsumugi.lock('job', ttl: 30, wait: 0) { 'held' } } }
    get('/fetch') { kv.fetch('k', cluster: true) { NAME } }
    get('/fence') { db = DB.connect('sqlite::memory:'); failed { db.transaction { db.fence 'job', 1 } } }";

fn serve(place: &str, name: &str) -> Rig {
    Rig::serve(&format!(
        "NAME = '{name}'
         KV_OF_ALL = KV.open '{place}'
         plugin(:kv) {{ KV_OF_ALL }}
         cluster KV_OF_ALL
         {APPLICATION}"
    ))
}

/// Asks until it answers this.
fn until(rig: &Rig, path: &str, expected: &str) {
    let mut text = String::new();
    for _ in 0..1_000 {
        text = rig.get(path).text();
        if text == expected {
            return;
        }
        tsumugi_testkit::pause();
    }
    panic!("{path}: {text}, not {expected}");
}

/// One hears what the other one says.
fn check_channel(one: &Rig, other: &Rig) {
    std::thread::scope(|scope| {
        let hearing = scope.spawn(|| one.get("/hear"));
        while !hearing.is_finished() {
            other.get("/say");
            tsumugi_testkit::pause();
        }
    });
    let got = one.get("/got").text();
    assert!(got.ends_with(r#""end"]"#), "{got}");
}

#[test]
fn processes_find_each_other_by_a_store_in_etcd() {
    let place = EtcdCluster::shared().place("ruby-processes");
    let (one, other) = (serve(&place, "one"), serve(&place, "other"));
    check_channel(&one, &other);
    std::thread::scope(|scope| {
        let held = scope.spawn(|| one.get("/held").text());
        let busy = "Tsumugi::Lock::Unavailable";
        while !other.get("/try").text().starts_with(busy) {
            assert!(!held.is_finished(), "the lock was never seen held");
        }
        assert!(held.join().unwrap().contains("end"));
    });
    until(&other, "/try", "nothing was raised");
    assert_eq!(one.get("/lock").text(), "true");
    assert_eq!(one.get("/fetch").text(), "one");
    assert_eq!(other.get("/fetch").text(), "one");
    let refused = one.get("/fence").text();
    assert!(
        refused.starts_with("Tsumugi::Lock::UsageError: this database keeps no locks"),
        "{refused}"
    );
}

#[test]
fn channels_go_through_redis_and_locks_and_timers_are_refused_by_name() {
    let place = format!("{}?prefix=ruby-processes:", RedisServer::shared().url());
    let (one, other) = (serve(&place, "one"), serve(&place, "other"));
    check_channel(&one, &other);
    for path in ["/lock", "/fetch"] {
        assert_eq!(one.get(path).status, 500, "{path}");
    }
    let refused = one.get("/try").text();
    assert!(
        refused.starts_with("Tsumugi::Lock::Unsupported: Redis has no locks"),
        "{refused}"
    );
    let refused = Rig::refused(
        &format!("cluster KV.open('{place}'); every(60, cluster: :one) {{}}"),
        |_| {},
    );
    assert!(
        refused.contains("Redis has no locks and timers"),
        "{refused}"
    );
}

#[test]
fn store_that_no_other_process_has_is_refused_as_a_cluster() {
    for (line, expected) in [
        (
            "cluster KV.open('memory:alone')",
            "Tsumugi::Lock::Unsupported: a store of this process has no other processes",
        ),
        (
            "cluster 'etcd://a'",
            "ArgumentError: cluster takes what DB.connect or KV.open has opened, not String",
        ),
    ] {
        let error = Rig::refused(line, |_| {});
        assert!(error.contains(expected), "{line}: {error}");
    }
}
