//! Returning and failing: every way in which a handler ends has one answer, and a failure is written to the log, not to the
//! client.

use crate::rig::{Site, routes};

/// Bodies that leave by `return` or `halt`, and the status and text they answer.
const ENDS: &[(&str, u16, &str)] = &[
    ("return \"early\" if true\n\"late\"", 200, "early"),
    ("return \"early\" unless true\n\"late\"", 200, "late"),
    (
        "sleep 0.001\nreturn \"after a wait\"\n\"late\"",
        200,
        "after a wait",
    ),
    (
        "[1, 2].each { |i| return \"from each\" if i == 2 }\n\"late\"",
        200,
        "from each",
    ),
    (
        "[1, 2].each { |i| sleep 0.001; return \"from each after a wait\" if i == 2 }\n\"late\"",
        200,
        "from each after a wait",
    ),
    (
        "[[1]].each { |a| a.map { |i| { i => 1 }.each { |k, v| return \"deep\" } } }\n\"late\"",
        200,
        "deep",
    ),
    (
        "loop { sleep 0.001; return \"from loop\" }\n\"late\"",
        200,
        "from loop",
    ),
    (
        "5.times { |i| sleep 0.001; return i.to_s if i == 3 }\n\"late\"",
        200,
        "3",
    ),
    (
        "begin\n  return \"from begin\"\nensure\n  sleep 0.001\nend\n\"late\"",
        200,
        "from begin",
    ),
    (
        "begin\n  raise \"x\"\nrescue\n  return \"from rescue\"\nend\n\"late\"",
        200,
        "from rescue",
    ),
    (
        "yielding { sleep 0.001; return \"from a block of mine\" }\n\"late\"",
        200,
        "from a block of mine",
    ),
    (
        "return json({ a: 1 }, status: 201) if true",
        201,
        "{\"a\":1}",
    ),
    (
        "return { a: [1, nil, true, 1.5, \"x\"] }",
        200,
        "{\"a\":[1,null,true,1.5,\"x\"]}",
    ),
    ("status 204\nreturn", 204, ""),
    (
        "l = -> { return 1 }\nl.call\n\"lambdas return to their caller\"",
        200,
        "lambdas return to their caller",
    ),
    ("halt 404", 404, ""),
    (
        "halt 404, error: \"no such user\"",
        404,
        "{\"error\":\"no such user\"}",
    ),
    ("halt 418, \"teapot\"", 418, "teapot"),
    ("halt \"only a body\"", 200, "only a body"),
    ("halt 400, { a: 1 }", 400, "{\"a\":1}"),
    (
        "halt html(\"<p>page</p>\", status: 202)",
        202,
        "<p>page</p>",
    ),
    ("deep(5)\n\"late\"", 403, "{\"depth\":0}"),
    (
        "begin\n  halt 404\nrescue => e\n  \"swallowed\"\nend",
        404,
        "",
    ),
    (
        "begin\n  sleep 0.001\n  deep(3)\nrescue StandardError => e\n  \"swallowed\"\nend",
        403,
        "{\"depth\":0}",
    ),
    (
        "[1].each { [2].map { halt 410, \"gone\" } }\n\"late\"",
        410,
        "gone",
    ),
    (
        "begin\n  halt 410, \"gone\"\nensure\n  sleep 0.001\nend",
        410,
        "gone",
    ),
    (
        "parallel(-> { sleep 0.001; 1 }, -> { halt 409, \"from a branch\" })\n\"late\"",
        409,
        "from a branch",
    ),
    (
        "parallel(a: -> { sleep 0.001; halt 409, error: \"waited\" }, b: -> { sleep 5 })\n\"late\"",
        409,
        "{\"error\":\"waited\"}",
    ),
    (
        "parallel(-> { parallel(-> { halt 409, \"nested\" }) })\n\"late\"",
        409,
        "nested",
    ),
    (
        "begin\n  parallel(-> { halt 409, \"branch\" })\nrescue => e\n  \"swallowed\"\nend",
        409,
        "branch",
    ),
];

const ENDERS: &str = r#"
helpers do
  def yielding = yield
  def deep(n) = n == 0 ? halt(403, depth: n) : deep(n - 1)
end
"#;

/// Asks for the routes that have these bodies, after `first` others.
fn check(site: &Site, first: usize, ends: &[(&str, u16, &str)]) {
    let mut wrong = String::new();
    for (i, (body, status, text)) in ends.iter().enumerate() {
        let reply = site.get(&format!("/{}", first + i));
        let found = (reply.status, reply.text());
        if found != (*status, (*text).to_owned()) {
            wrong.push_str(&format!("{body}\n=> {found:?}, not {status} {text:?}\n\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}{}", site.log());
}

#[test]
fn return_and_halt_end_the_handler_from_anywhere() {
    let site = Site::start(&routes(ENDERS, ENDS.iter().map(|(body, ..)| *body)));
    // Twice: the second time on fibres that have ended so before.
    check(&site, 0, ENDS);
    check(&site, 0, ENDS);
}

#[test]
fn filters_run_around_handlers_and_may_end_the_request() {
    let site = Site::start(
        r#"
before { header "x-before", "outer"; sleep 0.001 }
before { return if query[:skip]; halt 401, "no" if query[:refuse] }
after { header "x-after", "ran" }
get("/plain") { "plain" }
get("/plain/:id", id: Integer) { |id| "plain #{id}" }
scope "/in" do
  before { @inner = "inner" }
  get("/side") { @inner }
end
get("/outside") { @inner.inspect }
get("/nothing") do
  nil
end
"#,
    );
    let reply = site.get("/plain?skip=1");
    assert_eq!(
        (
            reply.text().as_str(),
            reply.header("x-before"),
            reply.header("x-after")
        ),
        ("plain", Some("outer"), Some("ran"))
    );
    site.check("/plain/7", "plain 7");
    let reply = site.check_status("/plain?refuse=1", 401);
    assert_eq!(
        (reply.text().as_str(), reply.header("x-after")),
        ("no", None)
    );
    site.check("/in/side", "inner");
    site.check("/outside", "nil");
    site.check_status("/nothing", 500); // a header of a filter is none of the handler's
    site.expect_log("    from app.rb:12");
}

const RAISES: &str = r#"
helpers do
  def fail_deep(text)
    raise text
  end
end
get("/before") { fail_deep "before the wait" }
get "/after" do
  sleep 0.01
  [1].each do
    fail_deep "after the wait"
  end
end
get("/next") { header "x-own", "1"; "clean" }
"#;

#[test]
fn a_raise_is_answered_500_and_logged_with_every_frame() {
    let site = Site::start(RAISES);
    let mut client = site.connect();
    for (path, message, frames) in [
        (
            "/before",
            "RuntimeError: before the wait",
            ["app.rb:4:in fail_deep", "app.rb:7"].as_slice(),
        ),
        (
            "/after",
            "RuntimeError: after the wait",
            &["app.rb:4:in fail_deep", "app.rb:11", "app.rb:10"],
        ),
    ] {
        let reply = client.get(path);
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (500, "internal server error\n")
        );
        site.expect_log(&format!("GET {path}: {message}"));
        site.expect_log(&format!("    from {}", frames[frames.len() - 1]));
        let log = site.log();
        let story = &log[log.find(message).unwrap()..];
        let mut at = 0;
        for frame in frames {
            let found = story[at..].find(frame);
            at += found.unwrap_or_else(|| panic!("no {frame} after {at} in\n{story}"));
        }
        let reply = client.get("/next");
        assert_eq!(
            (reply.status, reply.text().as_str(), reply.header("x-own")),
            (200, "clean", Some("1"))
        );
    }
    assert!(
        !site.log().contains("tsumugi/"),
        "frames of the product's own:\n{}",
        site.log()
    );
}

#[test]
fn raises_under_load_touch_no_other_request() {
    let site = Site::start(RAISES);
    let paths = ["/before", "/next", "/after", "/next", "/next", "/after"];
    for _ in 0..50 {
        for (path, reply) in paths.iter().zip(site.together(&paths)) {
            let expected = if *path == "/next" { 200 } else { 500 };
            assert_eq!(reply.status, expected, "{path}");
        }
    }
}

const SECRETS: &str = r#"
plugin(:db) { DB.connect "sqlite:errors.db" }
get("/sql") { secret_name = 1; db.query("select nonsense from nowhere where id = ?", "bind-#{40 + 2}") }
get("/raise") { raise ArgumentError, "wrong <b>argument</b>" }
"#;

#[test]
fn the_error_page_of_production_shows_nothing() {
    let site = Site::start(SECRETS);
    for path in ["/sql", "/raise"] {
        let reply = site.check_status(path, 500);
        assert_eq!(reply.text(), "internal server error\n");
        assert_eq!(
            reply
                .headers
                .iter()
                .filter(|(_, value)| value.contains("app.rb"))
                .count(),
            0
        );
    }
    site.expect_log("ArgumentError: wrong <b>argument</b>");
    site.expect_log("GET /sql: DB::");
    assert!(
        !site.log().contains("bind-42"),
        "a bound value is in the log:\n{}",
        site.log()
    );
}

#[test]
fn the_error_page_of_development_shows_source_statement_and_values() {
    let site = Site::start_with(SECRETS, &["--dev"]);
    let page = |path| {
        let mut client = site.connect();
        client.send("GET", path, "accept: text/html\r\n", "");
        client.receive().text()
    };
    let raised = page("/raise");
    for shown in [
        "ArgumentError",
        "wrong &lt;b&gt;argument&lt;/b&gt;",
        "app.rb:4",
        "get(&quot;/raise&quot;)",
    ] {
        assert!(raised.contains(shown), "no {shown} in\n{raised}");
    }
    assert!(
        !raised.contains("<b>argument"),
        "the message is not escaped"
    );
    let page = page("/sql");
    for shown in [
        "select nonsense from nowhere where id = ?",
        "bind-42",
        "secret_name = 1",
        "app.rb:3",
    ] {
        assert!(page.contains(shown), "no {shown} in\n{page}");
    }
    assert!(
        !page.contains("tsumugi/"),
        "frames of the product's own in\n{page}"
    );
}

/// Bodies whose end is no plain value, and what they answer.
const UNUSUAL: &[(&str, u16, &str)] = &[
    ("status 202\nnil", 202, ""),
    ("header \"x-own\", \"1\"\nnil", 200, ""),
    ("\"\"", 200, ""),
    ("42", 200, "42"),
    ("3.5", 200, "3.5"),
    ("true", 200, "true"),
    ("[]", 200, "[]"),
    (":symbol", 200, "\"symbol\""),
    ("2 ** 70", 200, "1180591620717411303424"),
    ("{ nan: 0.0 / 0.0 }", 200, "{\"nan\":null}"),
    (
        "{ \"k\\n\" => \"\\u0001\\\"\" }",
        200,
        "{\"k\\n\":\"\\u0001\\\"\"}",
    ),
    ("next \"by next\"", 200, "by next"),
];

/// Bodies whose end is a failure.
const FAILURES: &[&str] = &[
    "nil",
    "",
    "status \"200\"\n\"x\"",
    "status 99\n\"x\"",
    "status 101\n\"x\"",
    "status 1000\n\"x\"",
    "status nil\n\"x\"",
    "header \"x-own\", {}\n\"x\"",
    "header \"x-own\", nil\n\"x\"",
    "header \"x-own\", \"a\\r\\nset-cookie: b=c\"\n\"x\"",
    "header \"bad name\", \"a\"\n\"x\"",
    "h = {}\nh[:self] = h\nh",
    "a = []\na << a\njson(a)",
    "{ at: Stubborn.new }",
    "raise Unspeakable",
    "raise Wordless",
    "raise Class.new(StandardError), \"anonymous\"",
    "raise \"bytes \\xff\\xfe\"",
    "raise Exception, \"the root of all\"",
    "def self.again = again\nagain",
    "throw :nobody",
    "break",
    "begin\n  1 / 0\nrescue\n  raise\nend",
    // What mruby lacks is refused where it is written: here it is called by its name.
    "send(\"ex\" + \"it\")",
];

const UNUSUALS: &str = r#"
class Stubborn
  def to_json(*) = raise("no JSON of me")
end
class Unspeakable < StandardError
  def message = raise("no message of me")
end
class Wordless < StandardError
  def message = nil
end
get("/alive") { sleep 0.001; "alive" }
"#;

#[test]
fn whatever_a_handler_ends_in_has_one_answer() {
    let bodies = UNUSUAL.iter().map(|(body, ..)| *body);
    let site = Site::start(&routes(UNUSUALS, bodies.chain(FAILURES.iter().copied())));
    check(&site, 0, UNUSUAL);
    for (i, body) in FAILURES.iter().enumerate() {
        let i = UNUSUAL.len() + i;
        check(&site, i, &[(body, 500, "internal server error\n")]);
        site.expect_log(&format!("GET /{i}: "));
        site.check("/alive", "alive");
    }
    for reason in [
        "the handler returned nil and set neither status nor header",
        "TypeError: a status is an Integer from 200 to 599, not \"200\"",
        "TypeError: the value of the header x-own must be",
        "nesting of JSON exceeds json_depth_max (100); is it cyclic?",
        "RuntimeError: no JSON of me",
        "ZeroDivisionError: divided by 0",
        "Unspeakable: (its message raised RuntimeError)",
        "SystemStackError: stack level too deep",
        " frames more …",
    ] {
        site.expect_log(reason);
    }
}

#[test]
fn a_syntax_error_at_start_names_file_and_line_and_exits_with_1() {
    let mut site = Site::bind(
        "get(\"/\") { \"x\" }\nget \"/broken\" do\n  1 +* 2\nend\n",
        &[],
    );
    site.expect_log("app.rb:3: syntax error");
    site.expect_log("      1 +* 2");
    assert_eq!(site.exit_code(), 1);
    assert_eq!(
        site.log().matches("syntax error").count(),
        1,
        "said twice:\n{}",
        site.log()
    );
}

#[test]
fn a_raise_at_start_names_file_and_line_and_exits_with_1() {
    let mut site = Site::bind(
        "plugin(:late) { sleep 0.01\n  raise \"no database\" }\n",
        &[],
    );
    site.expect_log("app.rb:2");
    site.expect_log("RuntimeError: no database");
    assert_eq!(site.exit_code(), 1);
}

#[test]
fn two_routes_for_the_same_requests_are_refused_at_start_with_their_line() {
    let mut site = Site::bind("get(\"/a\") { 1 }\n\nget(\"/a\") { 2 }\n", &[]);
    site.expect_log("app.rb:3: ");
    assert_eq!(site.exit_code(), 1);
}

#[test]
fn the_error_handler_of_the_nearest_class_answers() {
    let site = Site::start(
        r#"
class Base < StandardError; end
class Middle < Base; end
class Leaf < Middle; end
class Other < StandardError; end
module Tagged; end
class WithTag < Exception; include Tagged; end
error(StandardError) { |e| text("standard: #{e.message}", status: 520) }
error(Base) { |e| sleep 0.001; text("base: #{e.message}", status: 521) }
error(Leaf) { { leaf: true } }
error(Other) { |e| raise "in the error handler" }
error(ZeroDivisionError) { halt 422, "halted" }
error(Tagged) { |e| status 523; "tagged" }
get("/leaf") { sleep 0.001; raise Leaf, "x" }
get("/middle") { raise Middle, "y" }
get("/plain") { header "x-own", "kept"; status 201; raise "z" }
get("/other") { raise Other }
get("/zero") { 1 / 0 }
get("/tag") { raise WithTag }
get("/branch") { parallel(-> { sleep 0.001; raise Middle, "in a branch" }) }
get("/missing") { nosuchmethod }
"#,
    );
    let check = |path: &str, status: u16, text: &str| {
        let reply = site.get(path);
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (status, text),
            "{path}\n{}",
            site.log()
        );
    };
    check("/leaf", 500, "{\"leaf\":true}");
    site.expect_log("GET /leaf: Leaf: x");
    check("/middle", 521, "base: y");
    check("/plain", 520, "standard: z");
    check("/other", 500, "internal server error\n");
    site.expect_log("in the error handler");
    assert_eq!(
        site.log().matches("in the error handler").count(),
        1,
        "{}",
        site.log()
    );
    check("/zero", 422, "halted");
    assert!(
        !site.log().contains("GET /zero"),
        "what is not answered with 500 is the handler's to log\n{}",
        site.log()
    );
    check("/tag", 523, "tagged");
    check("/branch", 521, "base: in a branch");
    check(
        "/missing",
        520,
        "standard: undefined method 'nosuchmethod' for an instance of Tsumugi::Handler",
    );
}
