//! What the dashboard shows of databases, stores and work: statements and their plans, pools, records, timers, jobs and channels of an application that has them.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};
use tsumugi_testkit::redis::RedisServer;
use tsumugi_testkit::{firebird, postgres};

use super::{Rig, value};
use crate::rig::{get, until};

/// The rows of a list.
fn rows<'v>(data: &'v Value, name: &str) -> &'v [Value] {
    data[name]
        .as_array()
        .unwrap_or_else(|| panic!("no {name} in {data}"))
}

/// The one row that has this.
fn row<'v>(data: &'v Value, list: &str, key: &str, wanted: &str) -> &'v Value {
    let mut found = rows(data, list).iter();
    let found = found.find(|row| row[key].as_str().is_some_and(|text| text.contains(wanted)));
    found.unwrap_or_else(|| panic!("{wanted} in {data}"))
}

/// With the database's URL in front.
const WITH_DATABASE: &str = r#"
db = DB.connect(URL, pool: 3)
plugin(:db) { db }
db.create(:notes) { increments :id; string :text, 50 }
jobs db
job(:fails, retries: 0, queue: "mail") { |card:| raise "it broke" }
get("/find/:id", id: Integer) { |id| db.query("select id, text from notes where id = ? and text <> 'hunter2'", id).size.to_s }
get("/wrong") { db.query("select nothing from notes where text = 'hunter2'"); "x" }
get("/push") { jobs.push(:fails, card: "4111").to_s }
"#;

fn check_database(url: &str, kind: &str) {
    let rig = Rig::start(&format!("URL = {url:?}{WITH_DATABASE}"), &[]);
    check_statements(&rig, kind);
    check_trace(&rig, kind);
    check_jobs(&rig);
}

/// A statement in the trace of the request that it was for.
fn check_trace(rig: &Rig, kind: &str) {
    let find = || {
        let traces = rig.data("traces");
        let mut traces = rows(&traces, "traces").iter();
        let found = traces.find(|trace| trace["route"] == "GET /find/:id")?;
        found["trace_id"].as_str().map(str::to_owned)
    };
    until("the trace of a request", || find().is_some());
    let trace = rig.data(&format!("trace?id={}", find().unwrap()));
    let statement = row(&trace, "spans", "name", "select id, text from notes");
    let system = match kind {
        "postgres" => "postgresql",
        "firebird" => "firebirdsql",
        _ => "sqlite",
    };
    let attributes = &statement["attributes"];
    assert_eq!(attributes["db.system.name"], system, "{trace}");
    assert_eq!(attributes["db.response.returned_rows"], 0, "{trace}");
    assert_eq!(statement["parent"], rows(&trace, "spans")[0]["id"]);
    assert_eq!(statement["place"], "app.rb:7", "{trace}");
}

/// Counted, shown without values, explained; and the pool that they ran on.
fn check_statements(rig: &Rig, kind: &str) {
    for id in 1..=3 {
        assert_eq!(get(&rig.address, &format!("/find/{id}")).status(), 200);
    }
    get(&rig.address, "/wrong");

    let statements = rig.data("statements?by=calls");
    let found = row(
        &statements,
        "statements",
        "sql",
        "select id, text from notes",
    );
    assert_eq!(
        found["sql"],
        "select id, text from notes where id = ? and text <> ?"
    );
    assert_eq!(
        (&found["calls"], &found["errors"], &found["rows"]),
        (&json!(3), &json!(0), &json!(0))
    );
    let ms = |name: &str| {
        found[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name} in {found}"))
    };
    assert!(ms("total_ms") >= ms("max_ms") && ms("max_ms") >= ms("p99_ms") && ms("mean_ms") > 0.0);
    let failed = row(&statements, "statements", "sql", "select nothing");
    assert_eq!(
        (&failed["calls"], &failed["errors"]),
        (&json!(1), &json!(1))
    );
    assert!(!statements.to_string().contains("hunter2"), "{statements}");
    for by in ["time", "mean", "p99"] {
        rig.data(&format!("statements?by={by}"));
    }

    check_plans(rig, found, failed, kind);

    // The worker of jobs may wait for a connection that is being opened.
    until("a pool for which nobody waits", || {
        let pools = rig.data("databases");
        rows(&pools, "pools")
            .first()
            .is_some_and(|pool| pool["waiting"] == 0)
    });
    let pools = rig.data("databases");
    let pool = &rows(&pools, "pools")[0];
    assert_eq!(
        (&pool["database"], &pool["kind"]),
        (&found["database"], &json!(kind))
    );
    assert!(pool["max"].as_u64() >= Some(3), "{pool}");

    assert_eq!(rig.act("statements/reset", &json!({})).status(), 200);
    let statements = rig.data("statements");
    let texts = rows(&statements, "statements").iter();
    assert!(
        !texts.clone().any(|row| row["sql"] == found["sql"]),
        "{statements}"
    );
}

/// Plans of what ran and of what could not, and what is no statement.
fn check_plans(rig: &Rig, found: &Value, failed: &Value, kind: &str) {
    let name = |found: &Value| json!({ "fingerprint": found["fingerprint"], "database": found["database"] });
    let explained = rig.act("statements/explain", &name(found));
    assert_eq!(explained.status(), 200, "{kind}: {}", explained.text());
    let plan = value(&explained)["plan"].as_str().unwrap().to_owned();
    assert!(
        plan.to_lowercase().contains("notes") && !plan.contains("hunter2"),
        "{plan}"
    );
    let refused = rig.act("statements/explain", &name(failed));
    assert_eq!(refused.status(), 400, "{kind}: {}", refused.text());
    let unknown = json!({ "fingerprint": "0000000000000000", "database": found["database"] });
    assert_eq!(rig.act("statements/explain", &unknown).status(), 404);
    let elsewhere = json!({ "fingerprint": found["fingerprint"], "database": "none" });
    assert_eq!(rig.act("statements/explain", &elsewhere).status(), 503);
}

/// Figures, a dead job, and what an operator does with it.
fn check_jobs(rig: &Rig) {
    let id = get(&rig.address, "/push").text().to_owned();
    let jobs = || rig.data("work")["jobs"].clone();
    until("the job is dead", || rows(&jobs(), "dead").len() == 1);
    let work = jobs();
    let dead = &rows(&work, "dead")[0];
    assert_eq!(
        (&dead["id"], &dead["kind"], &dead["queue"]),
        (&json!(id), &json!("fails"), &json!("mail"))
    );
    assert!(
        dead["error"].as_str().unwrap().contains("it broke"),
        "{dead}"
    );
    assert!(
        !work.to_string().contains("4111"),
        "arguments are not shown: {work}"
    );
    let queue = row(&work, "queues", "queue", "mail");
    assert_eq!(
        (&queue["dead"], &queue["ready"], &queue["kind"]),
        (&json!(1), &json!(0), &json!("fails"))
    );
    // Asked for by a look at the figures, and there some time later.
    let figure = r#"tsumugi_jobs{queue="mail",state="dead"} 1"#;
    until("the figures of jobs", || {
        get(&rig.admin, "/metrics").text().contains(figure)
    });

    assert_eq!(
        rig.act("jobs/retry", &json!({ "kind": "fails" })).status(),
        200
    );
    let begun_again = |dead: &Value| dead["attempts"].as_u64() >= Some(2);
    until("it is dead once more", || {
        rows(&jobs(), "dead").first().is_some_and(begun_again)
    });
    assert_eq!(rig.act("jobs/drop", &json!({ "id": id })).status(), 200);
    until("it is gone", || rows(&jobs(), "dead").is_empty());
    for (action, body, status) in [
        ("jobs/drop", json!({ "id": id }), 404),
        ("jobs/retry", json!({ "id": id }), 404),
        ("jobs/retry", json!({ "kind": "none" }), 404),
        ("jobs/drop", json!({}), 400),
        ("jobs/retry", json!({}), 400),
    ] {
        assert_eq!(rig.act(action, &body).status(), status, "{action} {body}");
    }
}

#[test]
fn statements_pools_and_jobs_of_sqlite_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    check_database(
        &format!("sqlite:{}", folder.path().join("shown.db").display()),
        "sqlite",
    );
}

#[test]
fn statements_pools_and_jobs_of_postgresql_are_shown() {
    check_database(&postgres::Server::shared().database().url(), "postgres");
}

#[test]
fn statements_pools_and_jobs_of_firebird_are_shown() {
    check_database(&firebird::Server::shared().database().url(), "firebird");
}

const WITH_STORES: &str = r##"
store = KV.open "memory:shown", capacity: "1m"
disk = KV.open "#{Tsumugi.data_dir}/records"
120.times { |n| store.set "user:#{n.to_s.rjust(3, '0')}", "紡ぎ #{n}" }
store.set "user:bytes", "\xff\x00"
store.set "user:long", "x" * 300
store.set "reset:token:abcdef", "1"
store.set "settings", '{"password":"hunter2"}'
store.set "soon", "gone", ttl: 3600
get("/read/:key") { |key| store.get(key).to_s }
every(3600) { }
every(0.05, workers: :one) { raise "not today" }
NEWS = channel("news")
get("/news") { events { |out| NEWS.subscribe { |text| out.event text } } }
get("/publish") { NEWS.publish("hello"); "x" }
"##;

#[test]
fn stores_timers_and_channels_are_shown() {
    let rig = Rig::start(WITH_STORES, &[]);
    for key in ["user:001", "user:002", "none"] {
        get(&rig.address, &format!("/read/{key}"));
    }
    let stores = rig.data("stores");
    let shown = row(&stores, "stores", "store", "shown");
    assert_eq!(
        (&shown["kind"], &shown["records"]),
        (&json!("memory"), &json!(125))
    );
    assert_eq!((&shown["hits"], &shown["misses"]), (&json!(2), &json!(1)));
    assert!(
        (shown["hit_rate"].as_f64().unwrap() - 2.0 / 3.0).abs() < 0.01,
        "{shown}"
    );
    assert!(shown["bytes"].as_u64() > Some(1_000), "{shown}");
    assert_eq!(row(&stores, "stores", "store", "records")["kind"], "disk");

    check_records(&rig, shown["store"].as_str().unwrap());
    check_timers(&rig);
    check_channels(&rig);
}

/// Page by page, cut, in hex or hidden.
fn check_records(rig: &Rig, place: &str) {
    let page = |prefix: &str, after: &str| {
        rig.data(&format!(
            "records?store={place}&prefix={prefix}&after={}",
            after.replace('#', "%23")
        ))
    };
    let mut seen: Vec<Value> = Vec::new();
    let mut after = String::new();
    loop {
        let data = page("", &after);
        assert!(rows(&data, "records").len() <= 50, "{data}");
        seen.extend(rows(&data, "records").iter().cloned());
        match data["after"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen.len(), 125);
    let all = Value::Array(seen.clone()).to_string();
    assert!(!all.contains("hunter2") && !all.contains("abcdef"), "{all}");
    let of = |key: &str| {
        seen.iter()
            .find(|row| row["key_text"] == *key)
            .unwrap_or_else(|| panic!("{key}"))
    };
    let plain = of("user:007");
    assert_eq!(
        (&plain["preview"], &plain["binary"], &plain["hidden"]),
        (&json!("紡ぎ 7"), &json!(false), &json!(false))
    );
    assert_eq!(
        (&plain["size"], &plain["expires_at"]),
        (&json!(8), &Value::Null)
    );
    assert_eq!(
        (&of("user:bytes")["preview"], &of("user:bytes")["binary"]),
        (&json!("ff00"), &json!(true))
    );
    assert_eq!(
        of("user:long")["preview"].as_str().unwrap().len(),
        256 + "…".len()
    );
    assert!(of("soon")["expires_at"].as_u64() > plain["expires_at"].as_u64());
    let hidden = of("reset:…");
    assert_eq!(
        (&hidden["hidden"], &hidden["preview"], &hidden["key"]),
        (&json!(true), &Value::Null, &Value::Null)
    );
    assert_eq!(rows(&page("user:11", ""), "records").len(), 10);
}

fn check_timers(rig: &Rig) {
    let timers = || rig.data("work");
    until("a timer has failed", || {
        rows(&timers(), "timers")
            .iter()
            .any(|timer| !timer["last_error"].is_null())
    });
    let work = timers();
    let failing = row(&work, "timers", "last_error", "not today");
    assert_eq!(
        (&failing["kind"], &failing["period"], &failing["period_ms"]),
        (&json!("worker"), &json!("0.05 s"), &json!(50))
    );
    assert!(
        failing["place"].as_str().unwrap().contains("app.rb:12"),
        "{failing}"
    );
    assert!(
        failing["last_at"].as_u64() > Some(1_600_000_000_000),
        "{failing}"
    );
    let slow = row(&work, "timers", "period", "3600 s");
    assert!(
        slow["last_at"].is_null() && slow["next_at"].as_u64() > failing["last_at"].as_u64(),
        "{slow}"
    );
    assert_eq!(work["jobs"], Value::Null);
}

fn check_channels(rig: &Rig) {
    let mut listener = TcpStream::connect(&rig.address).unwrap();
    listener
        .write_all(b"GET /news HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let channel = || {
        let work = rig.data("work");
        let mut channels = rows(&work, "channels").iter();
        channels.find(|channel| channel["name"] == "news").cloned()
    };
    until("a subscriber", || channel().is_some());
    get(&rig.address, "/publish");
    until("its message", || {
        channel().is_some_and(|channel| channel["messages"] == 1)
    });
    let news = channel().unwrap();
    assert_eq!(
        (&news["subscribers"], &news["cluster"]),
        (&json!(1), &json!(false))
    );
}

#[test]
fn store_of_another_server_says_what_it_knows_and_has_no_pages_without_an_order() {
    let url = RedisServer::shared().url();
    let rig = Rig::start(
        &format!("REDIS = KV.open {url:?}\nget('/') {{ REDIS.set('a', 'b'); 'x' }}"),
        &[],
    );
    assert_eq!(get(&rig.address, "/").status(), 200);
    let stores = rig.data("stores");
    let shown = row(&stores, "stores", "kind", "Redis");
    assert_eq!(
        (&shown["hit_rate"], &shown["records"]),
        (&Value::Null, &Value::Null)
    );
    assert!(
        shown["bytes"].as_u64() > Some(1_000) && shown["engine"]["redis_version"].is_string(),
        "{shown}"
    );
    let place = shown["store"].as_str().unwrap();
    let path = format!(
        "records?store={}&prefix=",
        place.replace('#', "%23").replace('&', "%26")
    );
    let refused = super::ask(&rig.admin, &super::call("GET", &path, "", ""));
    assert_eq!(refused.status(), 400, "{}", refused.text());
    let unknown = super::ask(
        &rig.admin,
        &super::call("GET", "records?store=none&prefix=", "", ""),
    );
    assert_eq!(unknown.status(), 503, "{}", unknown.text());
}
