//! Waiting: what parks a request parks nothing else, wherever in Ruby it happens, and says so where it cannot.

use std::time::{Duration, Instant};

use crate::rig::{Site, routes};

const SLEEPERS: &str = r#"
get("/half") { sleep 0.5; "slept" }
get("/three") { sleep 3; "slept" }
get("/now") { "now" }
get("/zero") { 200.times { sleep 0 }; "let others run" }
get "/loop" do
  out = ""
  5.times { |s| sleep 0.5; out << s.to_s }
  out
end
"#;

#[test]
fn a_sleep_takes_its_time() {
    let site = Site::start(SLEEPERS);
    let (reply, took) = site.timed("/half");
    assert_eq!((reply.status, reply.text().as_str()), (200, "slept"));
    assert!(took >= Duration::from_millis(500), "{took:?}");
}

#[test]
fn sleeps_of_twelve_requests_overlap() {
    let site = Site::start(SLEEPERS);
    let start = Instant::now();
    for reply in site.together(&["/three"; 12]) {
        assert_eq!(reply.text(), "slept");
    }
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(3), "{took:?}");
    assert!(
        took < Duration::from_secs(30),
        "one after the other: {took:?}"
    );
}

#[test]
fn others_are_answered_while_requests_sleep() {
    let site = Site::start(SLEEPERS);
    let mut sleeper = site.connect();
    sleeper.send("GET", "/three", "", "");
    let mut client = site.connect();
    assert_eq!(client.get("/now").text(), "now");
    assert!(!sleeper.has_answer(), "the sleeper held the worker");
    for _ in 0..100 {
        assert_eq!(client.get("/now").text(), "now");
    }
    assert_eq!(sleeper.receive().text(), "slept");
}

#[test]
fn loops_of_sleeps_run_together_and_in_order() {
    let site = Site::start(SLEEPERS);
    let start = Instant::now();
    for reply in site.together(&["/loop"; 12]) {
        assert_eq!(reply.text(), "01234");
    }
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(2500), "{took:?}");
    assert!(
        took < Duration::from_secs(28),
        "one after the other: {took:?}"
    );
}

#[test]
fn a_sleep_of_zero_lets_others_run() {
    let site = Site::start(
        r#"
STEPS = []
get "/both" do
  parallel(-> { 3.times { |i| STEPS << "a#{i}"; sleep 0 } }, -> { 3.times { |i| STEPS << "b#{i}"; sleep 0 } })
  STEPS.join
end
"#,
    );
    let steps = site.get("/both").text();
    assert!(
        steps.starts_with("a0b0") && !steps.ends_with("a1a2"),
        "not in turns: {steps}"
    );
}

/// Bodies that wait in every kind of Ruby frame, and what they answer.
const WAITS: &[(&str, &str)] = &[
    (
        "[1, 2].each { |i| sleep 0.001; @sum = (@sum || 0) + i }\n@sum.to_s",
        "3",
    ),
    (
        "[1, 2, 3].map { |i| sleep 0.001; i * 2 }.inspect",
        "[2, 4, 6]",
    ),
    (
        "[3, 1, 2].sort { |a, b| sleep 0.001; a <=> b }.inspect",
        "[1, 2, 3]",
    ),
    (
        "[3, 1, 2].sort_by { |a| sleep 0.001; a }.inspect",
        "[1, 2, 3]",
    ),
    ("[1, 2, 3].inject { |a, b| sleep 0.001; a + b }.to_s", "6"),
    (
        "[1, 2, 3].reduce(10) { |a, b| sleep 0.001; a + b }.to_s",
        "16",
    ),
    (
        "[1, 2, 3].select { |i| sleep 0.001; i > 1 }.inspect",
        "[2, 3]",
    ),
    (
        "[1, 2, 3].each_with_index.map { |v, i| v * i }.inspect",
        "[0, 2, 6]",
    ),
    (
        "[1, 2, 3].each_slice(2) { |s| sleep 0.001; @last = s }\n@last.inspect",
        "[3]",
    ),
    (
        "out = []\n{ a: 1, b: 2 }.each { |k, v| sleep 0.001; out << \"#{k}#{v}\" }\nout.join",
        "a1b2",
    ),
    (
        "{ a: 1 }.map { |k, v| sleep 0.001; [k, v] }.inspect",
        "[[:a, 1]]",
    ),
    (
        "{ a: 1 }.transform_values { |v| sleep 0.001; v + 1 }.inspect",
        "{:a=>2}",
    ),
    ("{ a: 1 }.fetch(:b) { sleep 0.001; 7 }.to_s", "7"),
    ("(1..3).each { |i| sleep 0.001; @n = i }\n@n.to_s", "3"),
    ("1.upto(3) { |i| sleep 0.001; @n = i }\n@n.to_s", "3"),
    ("3.times { |i| sleep 0.001; @n = i }\n@n.to_s", "2"),
    ("\"abc\".gsub(\"b\") { |m| sleep 0.001; m.upcase }", "aBc"),
    ("\"ab\".each_char { |c| sleep 0.001; @c = c }\n@c", "b"),
    (
        "p = Proc.new { |x| sleep 0.001; x + 1 }\np.call(1).to_s + p.(2).to_s + p[3].to_s",
        "234",
    ),
    (
        "l = ->(x) { sleep 0.001; return x * 2 }\nl.call(4).to_s",
        "8",
    ),
    ("def self.slow(x) = (sleep 0.001; x)\nslow(5).to_s", "5"),
    (
        "send(:slow_helper, 1).to_s + __send__(:slow_helper, 2).to_s + public_send(:slow_helper, 3).to_s",
        "123",
    ),
    ("Defined.new.dynamic.to_s", "dynamic"),
    ("Missing.new.anything(1)", "anything1"),
    ("Made.new.value", "made"),
    ("(Plus.new + 1).to_s", "added"),
    ("Plus.new[3].to_s", "indexed 3"),
    ("(Plus.new == 1).to_s", "true"),
    (
        "begin\n  raise \"x\"\nrescue\n  sleep 0.001\n  \"rescued\"\nend",
        "rescued",
    ),
    (
        "out = []\nbegin\n  out << 1\nensure\n  sleep 0.001\n  out << 2\nend\nout.inspect",
        "[1, 2]",
    ),
    (
        "n = 0\nbegin\n  n += 1\n  sleep 0.001\n  raise \"again\" if n < 3\n  n.to_s\nrescue\n  sleep 0.001\n  retry\nend",
        "3",
    ),
    ("\"abc\".instance_eval { sleep 0.001; size.to_s }", "3"),
    ("Plus.class_eval { sleep 0.001; name }", "Plus"),
    (
        "1.instance_exec(2) { |x| sleep 0.001; (self + x).to_s }",
        "3",
    ),
    ("eval(\"sleep 0.001; 42.to_s\")", "42"),
    (
        "catch(:done) { [1, 2].each { |i| sleep 0.001; throw :done, \"thrown\" } }",
        "thrown",
    ),
    ("loop { sleep 0.001; break \"broken\" }", "broken"),
    (
        "i = 0\nwhile i < 3\n  sleep 0.001\n  i += 1\nend\ni.to_s",
        "3",
    ),
    (
        "[1, 2, 3].each { |i| sleep 0.001; next if i == 1; break @x = i }\n@x.to_s",
        "2",
    ),
    (
        "(1..Float::INFINITY).lazy.map { |x| sleep 0.001; x * 2 }.first(2).inspect",
        "[2, 4]",
    ),
    ("method(:slow_helper).call(9).to_s", "9"),
    ("[1, 2].map(&method(:slow_helper)).inspect", "[1, 2]"),
    ("yielder { |x| sleep 0.001; x + 1 }.to_s", "2"),
    ("x = 5.then { |v| sleep 0.001; v + 1 }\nx.to_s", "6"),
    ("[5].tap { |v| sleep 0.001 }.inspect", "[5]"),
    (
        "case sleep(0.001)\nwhen nil then \"nil\"\nelse \"else\"\nend",
        "nil",
    ),
    ("\"#{sleep 0.001; 7}\"", "7"),
    ("Array.new(2) { |i| sleep 0.001; i }.inspect", "[0, 1]"),
    (
        "[[1, 2], [3]].flat_map { |a| sleep 0.001; a }.inspect",
        "[1, 2, 3]",
    ),
    (
        "[1, 2].zip([3, 4]).each { |a, b| sleep 0.001; @z = a + b }\n@z.to_s",
        "6",
    ),
    ("[1, 2, 3].min_by { |x| sleep 0.001; -x }.to_s", "3"),
    (
        "[1, 2, 3, 4].group_by { |x| sleep 0.001; x % 2 }.inspect",
        "{1=>[1, 3], 0=>[2, 4]}",
    ),
    (
        "[1, 2, 3, 4].partition { |x| sleep 0.001; x > 2 }.inspect",
        "[[3, 4], [1, 2]]",
    ),
    (
        "[1, 2].each_with_object([]) { |x, m| sleep 0.001; m << x }.inspect",
        "[1, 2]",
    ),
    ("[1, 2].any? { |x| sleep 0.001; x == 2 }.to_s", "true"),
    ("[1, 2].cycle { |x| sleep 0.001; break }\n\"ok\"", "ok"),
];

const WAITERS: &str = r##"
helpers do
  def slow_helper(x) = (sleep 0.001; x)
  def yielder = yield(1)
end
class Defined
  define_method(:dynamic) { sleep 0.001; "dynamic" }
end
class Missing
  def method_missing(name, *args) = (sleep 0.001; "#{name}#{args[0]}")
  def respond_to_missing?(*) = true
end
class Made
  attr_reader :value
  def initialize = (sleep 0.001; @value = "made")
end
class Plus
  def +(_) = (sleep 0.001; "added")
  def [](i) = (sleep 0.001; "indexed #{i}")
  def ==(_) = (sleep 0.001; true)
end
"##;

#[test]
fn a_wait_works_in_every_ruby_frame() {
    let site = Site::start(&routes(WAITERS, WAITS.iter().map(|(body, _)| *body)));
    let mut failures = String::new();
    for (i, (body, expected)) in WAITS.iter().enumerate() {
        let reply = site.get(&format!("/{i}"));
        if (reply.status, reply.text().as_str()) != (200, expected) {
            failures.push_str(&format!(
                "{body}\n=> {} {}, not {expected}\n\n",
                reply.status,
                reply.text()
            ));
        }
    }
    assert!(failures.is_empty(), "{failures}{}", site.log());
}

#[test]
fn waits_in_every_ruby_frame_keep_apart_when_they_interleave() {
    let site = Site::start(&routes(WAITERS, WAITS.iter().map(|(body, _)| *body)));
    let paths: Vec<String> = (0..WAITS.len()).map(|i| format!("/{i}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    for _ in 0..5 {
        for ((body, expected), reply) in WAITS.iter().zip(site.together(&paths)) {
            assert_eq!(reply.text(), *expected, "{body}");
        }
    }
}

/// Bodies that wait where native code is in between.
const CANNOT: &[&str] = &[
    "h = Hash.new { |hash, key| sleep 0.01 }\nh[:x].to_s",
    "\"#{Named.new}\"",
    "[Named.new].join",
    "Class.new { sleep 0.01 }.to_s",
    "e = Enumerator.new { |y| sleep 0.01; y << 1 }\ne.next.to_s",
    "f = Fiber.new { sleep 0.01 }\nf.resume.to_s",
    "h = {}\n40.times { |i| h[Keyed.new] = i }\nh.size.to_s",
    "format(\"%s\", Named.new)",
];

#[test]
fn a_wait_that_cannot_work_raises_fiber_error_and_names_the_rule() {
    let before = r#"
class Named
  def to_s = (sleep 0.01; "named")
end
class Keyed
  def hash = (sleep 0.01; 1)
end
error(FiberError) { |e| text("FiberError: #{e.message}", status: 500) }
get("/alive") { sleep 0.01; "alive" }
"#;
    let site = Site::start(&routes(before, CANNOT.iter().copied()));
    for (i, body) in CANNOT.iter().enumerate() {
        let reply = site.get(&format!("/{i}"));
        assert!(
            reply.text().starts_with("FiberError: cannot wait here: "),
            "{body}: {}",
            reply.text()
        );
        site.check("/alive", "alive");
    }
}

#[test]
fn a_yield_of_the_handler_itself_raises_and_the_request_goes_on() {
    let site = Site::start(
        r#"
get("/yield") { Fiber.yield 1; "never" }
get "/rescued" do
  begin
    Fiber.yield
  rescue FiberError => e
    "rescued: #{e.message}"
  end
end
get("/alive") { sleep 0.01; "alive" }
"#,
    );
    site.check_status("/yield", 500);
    site.expect_log("Fiber.yield is for a Fiber of your own");
    assert!(
        site.get("/rescued")
            .text()
            .starts_with("rescued: Fiber.yield"),
        "{}",
        site.log()
    );
    site.check("/alive", "alive");
}

#[test]
fn the_application_waits_while_it_loads_and_requests_are_served_after_it() {
    let site = Site::bind(
        r#"
plugin(:db) { DB.connect "sqlite:load.db" }
db.execute "create table things (name text)"
db.execute "insert into things values (?)", "loaded"
plugin(:name) { sleep 0.5; db.query("select name from things").first[:name] }
sleep 0.2
get("/") { name }
"#,
        &[],
    );
    assert!(!site.log().contains("serving"));
    let early = site.together(&["/", "/", "/"]);
    for reply in early {
        assert_eq!(reply.text(), "loaded", "{}", site.log());
    }
}

#[test]
fn a_duration_that_is_none_raises_argument_error() {
    let bodies = [
        "sleep Object.new",
        "sleep(-1)",
        "sleep 0.0 / 0.0",
        "sleep nil",
        "sleep \"1\"",
        "sleep Float::INFINITY",
        "sleep 1e300",
    ];
    let before = "get(\"/alive\") { sleep 0.01; \"alive\" }";
    let site = Site::start(&routes(before, bodies));
    for i in 0..bodies.len() {
        site.check_status(&format!("/{i}"), 500);
        site.check("/alive", "alive");
        site.expect_log(&format!(
            "GET /{i}: ArgumentError: sleep takes a number of seconds"
        ));
    }
}
