//! How long a handler's context has its request: until the request is over, wherever the context is kept.

use crate::rig::Rig;

const APP: &str = r##"
plugin(:kept) { [] }
get("/keep") { kept << self; "kept\n" }
get "/late" do
  kept.pop.request.path
rescue => e
  "#{e.class}: #{e.message}\n"
end
get("/stream") { stream("text/plain") { |out| sleep 0.01; out << query[:q] } }
get("/branch") { parallel(-> { sleep 0.01; query[:q] }, -> { request.path }).join(" ") }
"##;

fn check(paths: &[&str], expected: &str) {
    let rig = Rig::serve(APP);
    let answers: Vec<String> = paths.iter().map(|path| rig.get(path).text()).collect();
    assert_eq!(answers.last().unwrap(), expected, "{paths:?}");
}

#[test]
fn context_that_outlives_its_request_says_so() {
    let message =
        "RuntimeError: the request is over: read what is needed of it before it is answered\n";
    check(&["/keep", "/late"], message);
}

#[test]
fn block_of_a_stream_still_has_the_request() {
    check(&["/stream?q=here"], "here");
}

#[test]
fn branches_of_a_handler_have_the_request() {
    check(&["/branch?q=here"], "here /branch");
}

#[test]
fn event_has_the_fields_it_is_given_and_no_others() {
    let app = r##"
get("/lines") { events { |out| out.event("a\r\nb\rc", event: "news", id: 7); out.event("", event: "empty"); out.comment("x\ndata: y") } }
get("/name") { events { |out| out.event("a", event: query[:field]) } }
get("/id") { events { |out| out.event("a", id: query[:field]) } }
"##;
    let rig = Rig::serve(app);
    assert_eq!(
        rig.get("/lines").text(),
        "event: news\nid: 7\ndata: a\ndata: b\ndata: c\n\nevent: empty\ndata: \n\n: x\n: data: y\n\n"
    );
    for path in ["/name", "/id"] {
        assert_eq!(
            rig.get(&format!("{path}?field=x"))
                .text()
                .matches('\n')
                .count(),
            3
        );
        for smuggled in ["x%0Adata:%20b", "x%0Ddata:%20b", "x%00"] {
            let answer = rig.get(&format!("{path}?field={smuggled}"));
            assert!(
                !answer.text().contains("data"),
                "{path} {smuggled}: {answer:?}"
            );
        }
    }
}

#[test]
fn answer_without_its_value_says_how_it_is_written() {
    let app = r##"
get("/keywords") { json cents: 1, usd: 2 }
get("/status") { json status: 201 }
get("/text") { text status: 201 }
get("/html") { html status: 201 }
get("/value") { json({ cents: 1 }, status: 201, x_unit: "eur") }
get("/hash") { sum = { cents: 1 }; json sum }
error(ArgumentError) { |e| text e.message, status: 500 }
"##;
    let rig = Rig::serve(app);
    let braces = "json takes its value in braces: json({ a: 1 }); keywords are status: and headers";
    for (path, message) in [
        ("/keywords", braces),
        ("/status", braces),
        (
            "/text",
            "text takes its value first: text(\"a\", status: 201)",
        ),
        (
            "/html",
            "html takes its value first: html(\"<p>a</p>\", status: 201)",
        ),
    ] {
        assert_eq!(rig.get(path).text(), message, "{path}");
    }
    let answer = rig.get("/value");
    assert_eq!((answer.status, answer.header("x-unit")), (201, Some("eur")));
    assert_eq!(answer.text(), r#"{"cents":1}"#);
    assert_eq!(rig.get("/hash").text(), r#"{"cents":1}"#);
}

#[test]
fn route_that_is_there_already_is_refused_with_both_places() {
    let error = Rig::refused(
        "get('/:code') { |code| code }\nget('/:id') { |id| id }",
        |_| {},
    );
    let expected = "app.rb:2: route GET /:id answers the same requests as /:code at ";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("app.rb:1"), "{error}");
}

#[test]
fn word_of_sinatra_by_its_symbol_has_a_hint() {
    let app = "get '/' do\n  send(:params)\nrescue NameError => e\n  e.message\nend";
    let text = Rig::serve(app).get("/").text();
    assert!(
        text.contains("; Tsumugi has no params; use query[:name]"),
        "{text}"
    );
}

#[test]
fn plugin_without_a_block_or_with_a_name_that_cannot_be_called_is_refused_with_what_to_write() {
    for (plugin, expected) in [
        (
            "plugin :shop",
            "plugin(:shop) needs a block, whose value is what shop means in handlers",
        ),
        (
            "plugin(1) { 2 }",
            "plugin takes its name as a Symbol, as in `plugin(:db) { DB.connect }`, not 1",
        ),
        (
            "plugin('a b') { 1 }",
            "plugin(\"a b\"): that is no name of a method",
        ),
        (
            "plugin(:Shop) { 1 }",
            "plugin(:Shop): that is no name of a method",
        ),
        (
            "plugin('') { 1 }",
            "plugin(\"\"): that is no name of a method",
        ),
        (
            "plugin(:end) { 1 }",
            "plugin(:end): that is no name of a method",
        ),
        (
            "plugin(:get) { 1 }",
            "plugin(:get): get is a word of application files",
        ),
    ] {
        let error = Rig::refused(plugin, |_| {});
        assert!(error.contains(expected), "{plugin}: {error}");
        assert!(error.contains("app.rb:1"), "{plugin}: {error}");
    }
    let rig = Rig::serve("plugin(:a_1) { 1 }\nplugin('店') { 2 }\nget('/') { (a_1 + 店).to_s }");
    assert_eq!(rig.get("/").text(), "3");
}

#[test]
fn plugin_named_like_a_method_of_requests_is_refused() {
    for name in ["body", "query", "session", "json"] {
        let error = Rig::refused(&format!("plugin(:{name}) {{ 1 }}"), |_| {});
        let expected = format!("plugin(:{name}): {name} is a method of each request already");
        assert!(error.contains(&expected), "{error}");
    }
    let rig = Rig::serve("plugin(:a) { 1 }\nplugin(:a) { 2 }\nget('/') { a.to_s }");
    assert_eq!(rig.get("/").text(), "2");
}
