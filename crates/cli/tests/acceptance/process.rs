//! The life of the process: drain, abort, reload. Requests that run are never cut off by the first signal or a reload.

use std::net::TcpStream;
use std::time::Instant;

use nix::sys::signal::{SigSet, Signal};

use crate::rig::{PATIENCE, Site, pause};

const APP: &str = r##"
plugin(:thing, stop: ->(_) { log.info "plugin stopped" }) { 1 }
get("/sleep") { sleep 1; "slept" }
get("/forever") { begin sleep 3600 ensure log.info "ensure ran" end }
get "/stream" do
  stream("text/plain") { |out| 5.times { |i| out << i.to_s; sleep 0.2 } }
end
get("/long") { log.info "the long one has begun"; sleep 6; "slept" }
get("/version") { "old" }
"##;

#[test]
fn sigterm_lets_requests_finish_refuses_new_ones_and_exits_with_0() {
    let mut site = Site::start(APP);
    let (mut sleeper, mut reader, mut idle) = (site.connect(), site.connect(), site.connect());
    assert_eq!(idle.get("/version").text(), "old");
    sleeper.send("GET", "/sleep", "", "");
    reader.send("GET", "/stream", "", "");
    pause(200);
    site.signal(Signal::SIGTERM);
    site.expect_log("draining");
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(site.address).is_ok() {
        assert!(Instant::now() < deadline, "connections are still accepted");
        pause(10);
    }
    assert_eq!(sleeper.receive().text(), "slept");
    assert_eq!(reader.receive().text(), "01234");
    assert_eq!(site.exit_code(), 0, "{}", site.log());
    site.expect_log("plugin stopped");
}

#[test]
fn signals_that_the_parent_blocks_reach_the_server() {
    // A child begins with what the thread blocks that starts it.
    let start = || {
        let blocked: SigSet = [Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
        blocked.thread_block().unwrap();
        Site::start(APP)
    };
    let mut site = std::thread::spawn(start).join().unwrap();
    site.signal(Signal::SIGHUP);
    site.expect_log("reloaded");
    site.signal(Signal::SIGTERM);
    assert_eq!(site.exit_code(), 0, "{}", site.log());
}

#[test]
fn a_second_sigterm_ends_at_once() {
    // The drain alone would take longer than anybody waits here.
    let mut site = Site::start_with(APP, &["--limit", "drain_ms_max=600000"]);
    let mut client = site.connect();
    client.send("GET", "/forever", "", "");
    pause(200);
    site.signal(Signal::SIGTERM);
    site.expect_log("draining");
    pause(100);
    let start = Instant::now();
    site.signal(Signal::SIGTERM);
    assert_ne!(site.exit_code(), 0);
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[test]
fn a_drain_ends_by_its_limit_and_runs_ensure() {
    let mut site = Site::start_with(APP, &["--limit", "drain_ms_max=500"]);
    let mut client = site.connect();
    client.send("GET", "/forever", "", "");
    pause(200);
    site.signal(Signal::SIGTERM);
    assert_eq!(site.exit_code(), 1, "{}", site.log());
    site.expect_log("drain_ms_max");
    site.expect_log("ensure ran");
}

#[test]
fn a_reload_serves_the_new_application_and_lets_old_requests_finish() {
    let site = Site::start(APP);
    let mut kept = site.connect();
    assert_eq!(kept.get("/version").text(), "old");
    let mut sleeper = site.connect();
    sleeper.send("GET", "/long", "", "");
    site.expect_log("the long one has begun");
    site.write(
        "app.rb",
        &APP.replace("\"old\"", "\"new\"")
            .replace("\"slept\"", "\"slept anew\""),
    );
    site.signal(Signal::SIGHUP);
    site.until("/version", "new");
    assert_eq!(
        kept.get("/version").text(),
        "new",
        "a connection that was open stays with the old application"
    );
    assert!(
        !site.log().contains("plugin stopped"),
        "a plugin of the old application stopped before its last request"
    );
    assert_eq!(sleeper.receive().text(), "slept");
    site.expect_log("plugin stopped");
}

#[test]
fn a_broken_file_keeps_the_old_application() {
    let site = Site::start(APP);
    for (broken, complaint) in [
        ("get(\"/\") {\n  1 +* 2\n}\n", "app.rb:2: syntax error"),
        (
            "\n\nraise ArgumentError, \"not today\"\n",
            "ArgumentError: not today",
        ),
        ("get(\"/a\") { 1 }\nget(\"/a\") { 1 }\n", "app.rb:2: "),
    ] {
        site.write("app.rb", broken);
        site.signal(Signal::SIGHUP);
        site.expect_log(complaint);
        site.check("/version", "old");
    }
    std::fs::remove_file(site.folder().join("app.rb")).unwrap();
    site.signal(Signal::SIGHUP);
    site.expect_log("cannot read app.rb");
    site.check("/version", "old");
    site.write("app.rb", &APP.replace("\"old\"", "\"mended\""));
    site.signal(Signal::SIGHUP);
    site.until("/version", "mended");
}

#[test]
fn reloads_under_load_lose_no_request_and_no_memory() {
    let site = Site::start("get(\"/\") { sleep 0.002; \"ok\" }\nget(\"/n\") { \"0\" }\n");
    let mut clients: Vec<_> = (0..20).map(|_| site.connect()).collect();
    let mut resident = 0;
    for n in 1..=30 {
        site.write(
            "app.rb",
            &format!("get(\"/\") {{ sleep 0.002; \"ok\" }}\nget(\"/n\") {{ \"{n}\" }}\n"),
        );
        site.signal(Signal::SIGHUP);
        loop {
            for client in &mut clients {
                client.send("GET", "/", "", "");
            }
            for client in &mut clients {
                assert_eq!(client.receive().text(), "ok", "{}", site.log());
            }
            if clients[0].get("/n").text() == n.to_string() {
                break;
            }
        }
        if n == 10 {
            resident = site.resident_kib();
        }
    }
    assert!(
        site.resident_kib() < resident + 20 * 1024,
        "{resident} -> {} KiB",
        site.resident_kib()
    );
}
