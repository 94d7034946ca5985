//! Concurrency within a handler, and what runs without one: `parallel`, `every`, channels, fibres of the author's own.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::rig::{PATIENCE, Site, pause};

#[test]
fn parallel_takes_as_long_as_its_longest_branch_and_keeps_names_and_order() {
    let site = Site::start(
        r##"
get("/named") { parallel(a: -> { sleep 0.6; 1 }, b: -> { sleep 0.3; "two" }, c: -> { nil }) }
get("/positional") { parallel(-> { sleep 0.02; 1 }, -> { 2 }, -> { sleep 0.01; 3 }) }
get("/none") { [parallel] }
get("/long") { parallel(*(0...200).map { |i| -> { sleep 0.6; i } }).sum.to_s }
get("/nested") { parallel(a: -> { parallel(-> { sleep 0.01; 1 }, -> { parallel(b: -> { sleep 0.01; 2 }) }) }) }
get("/many") { parallel(*(0...500).map { |i| -> { sleep 0.01; i } }).sum.to_s }
get("/both") { parallel(-> { 1 }, a: -> { 2 }) }
"##,
    );
    let (reply, took) = site.timed("/named");
    assert_eq!(reply.text(), "{\"a\":1,\"b\":\"two\",\"c\":null}");
    assert!(took >= Duration::from_millis(550), "{took:?}");
    // One behind the other they take two minutes.
    let (reply, took) = site.timed("/long");
    assert_eq!(reply.text(), "19900");
    assert!(took < Duration::from_secs(60), "{took:?}");
    site.check("/positional", "[1,2,3]");
    site.check("/none", "[[]]");
    site.check("/nested", "{\"a\":[1,{\"b\":2}]}");
    site.check("/many", "124750");
    site.check_status("/both", 500);
    site.expect_log("ArgumentError: parallel takes lambdas or named lambdas, not both");
}

#[test]
fn the_first_error_of_parallel_cancels_the_others_and_is_raised() {
    let site = Site::start(
        r##"
SEEN = []
class Early < StandardError; end
get "/first" do
  begin
    parallel(-> { begin sleep 60 ensure sleep 0.01; SEEN << "ensured" end },
             -> { sleep 0.02; raise Early, "early" },
             -> { sleep 0.05; raise "late" })
  rescue Early => e
    "#{e.message} #{SEEN.inspect}"
  end
end
get("/logged") { parallel(-> { sleep 0.01; raise Early, "unrescued" }, -> { sleep 60 }) }
get("/most") { parallel(*(0...16_384).map { |i| -> { sleep 0.01; i } }).sum.to_s }
get("/limit") { parallel(*(0..16_384).map { |i| -> { i } }).size.to_s }
"##,
    );
    site.check("/first", "early [\"ensured\"]");
    site.check_status("/logged", 500);
    site.expect_log("GET /logged: Early: unrescued");
    site.expect_log("    from app.rb:13");
    site.check("/most", "134209536");
    site.check_status("/limit", 500);
    site.expect_log("ArgumentError: parallel has 16385 branches; parallel_max is 16384");
}

#[test]
fn timers_run_never_overlap_and_survive_their_errors() {
    let site = Site::start(
        r##"
COUNT = { all: 0, one: 0, running: 0, overlaps: 0, failing: 0 }
plugin(:greeting) { "hello" }
helpers { def twice(x) = x * 2 }
every(0.05) { COUNT[:all] += 1 }
every 0.02, workers: :one do
  COUNT[:overlaps] += 1 if COUNT[:running] > 0
  COUNT[:running] += 1
  sleep 0.07
  COUNT[:running] -= 1
  COUNT[:one] += 1
end
every(0.05) { COUNT[:failing] += 1; raise "tick #{twice(COUNT[:failing])} #{greeting}" }
get("/reached") { (COUNT[:all] > 3 && COUNT[:one] > 3 && COUNT[:failing] > 3).to_s }
get("/overlaps") { COUNT[:overlaps].to_s }
get("/one") { "#{worker.id} #{COUNT[:one] > 0}" }
"##,
    );
    site.until("/reached", "true");
    site.check("/overlaps", "0");
    site.expect_log("every at app.rb:13: RuntimeError: tick 6 hello");
    assert_eq!(
        site.log().matches("RuntimeError: tick 2 ").count(),
        1,
        "{}",
        site.log()
    );
}

#[test]
fn a_timer_of_one_worker_runs_on_one_of_them_and_goes_on_after_a_reload() {
    let app = r##"
every(0.1, workers: :one) { log.info "VERSION one on #{worker.id}." }
every(0.1) { log.info "VERSION all on #{worker.id}." }
"##;
    let site = Site::start_with(&app.replace("VERSION", "old"), &["--workers", "2"]);
    let five_of = |version: &str| {
        for timer in ["one on", "all on 0.", "all on 1."] {
            until_lines(&site, &format!("{version} {timer}"), 5);
        }
    };
    five_of("old");
    site.write("app.rb", &app.replace("VERSION", "new"));
    site.signal(Signal::SIGHUP);
    five_of("new");
    let log = site.log();
    assert!(!log.contains("one on 1."), "it ran on both workers\n{log}");
    let old = log.matches("old one on").count();
    until_lines(&site, "new one on", 10);
    let log = site.log();
    assert_eq!(log.matches("old one on").count(), old, "{log}");
}

/// Waits until the log has `text` so many times.
fn until_lines(site: &Site, text: &str, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    while site.log().matches(text).count() < count {
        assert!(
            Instant::now() < deadline,
            "not {count} times {text}\n{}",
            site.log()
        );
        pause(20);
    }
}

#[test]
fn channels_are_first_in_first_out_and_wake_their_waiters() {
    let site = Site::start(
        r##"
JOBS = Tsumugi::Channel.new(2)
GATE = Tsumugi::Channel.new
get "/order" do
  channel = Tsumugi::Channel.new(2)
  got = []
  parallel(-> { 6.times { |i| channel << i }; channel.close }, -> { channel.each { |v| sleep 0.001; got << v } })
  got.inspect
end
get("/wait/:n") { |n| "#{n} got #{GATE.pop}" }
get("/open") { 3.times { |i| GATE << i }; "opened" }
get "/closed" do
  channel = Tsumugi::Channel.new
  parallel(-> { sleep 0.02; channel.close; 0 }, *(1..3).map { |i| -> { begin channel.pop rescue Tsumugi::Channel::Closed; i end } }).inspect
end
get "/push-closed" do
  channel = Tsumugi::Channel.new(1)
  channel << 1
  parallel(-> { sleep 0.02; channel.close; 0 },
           -> { begin channel << 2 rescue Tsumugi::Channel::Closed; "refused" end }, -> { channel.size }).inspect
end
get("/wrong") { Tsumugi::Channel.new(-1) }
"##,
    );
    site.check("/order", "[0, 1, 2, 3, 4, 5]");
    let mut waiters: Vec<_> = (0..3).map(|_| site.connect()).collect();
    for (n, waiter) in waiters.iter_mut().enumerate() {
        waiter.send("GET", &format!("/wait/{n}"), "", "");
        pause(50);
    }
    // A waiter that leaves keeps no place in the queue.
    let mut leaver = site.connect();
    leaver.send("GET", "/wait/9", "", "");
    pause(50);
    drop(leaver);
    site.check("/open", "opened");
    for (n, waiter) in waiters.iter_mut().enumerate() {
        assert_eq!(waiter.receive().text(), format!("{n} got {n}"));
    }
    site.check("/closed", "[0, 1, 2, 3]");
    site.check("/push-closed", "[0, \"refused\", 1]");
    site.check_status("/wrong", 500);
}

const FIBRES: &str = r##"
def demonstration
  out = []
  p1 = Proc.new { %w(hoge fuga foo).each { |s| out << s; Fiber.yield } }
  f = Fiber.new { p1.call }
  p2 = Proc.new { f.resume; f.alive? }
  4.times { out << p2.call.to_s }
  out.join(" ")
end
AT_LOAD = demonstration
get("/load") { AT_LOAD }
get("/handler") { demonstration }
get("/after-a-wait") { sleep 0.001; text = demonstration; sleep 0.001; text }
get("/in-parallel") { parallel(-> { sleep 0.001; demonstration }, -> { demonstration }).uniq.join }
get "/enumerator" do
  e = [1, 2, 3].each
  first = e.next
  sleep 0.001
  [first, e.next, e.next, (begin e.next rescue StopIteration; "end" end)].inspect
end
get "/kept-over-waits" do
  f = Fiber.new { |x| loop { x = Fiber.yield(x + 1) } }
  [1, 10, 100].map { |i| sleep 0.001; f.resume(i) }.inspect
end
"##;

#[test]
fn a_proc_in_a_fibre_in_a_proc_works_everywhere() {
    let site = Site::start(FIBRES);
    let expected = "hoge true fuga true foo true false";
    for path in ["/load", "/handler", "/after-a-wait", "/in-parallel"] {
        site.check(path, expected);
    }
    for reply in site.together(&["/handler", "/after-a-wait", "/in-parallel", "/after-a-wait"]) {
        assert_eq!(reply.text(), expected);
    }
    site.check("/enumerator", "[1, 2, 3, \"end\"]");
    site.check("/kept-over-waits", "[2, 11, 101]");
}
