//! What `routes --openapi` says of an application in Ruby: each word of a handler, a whole application, handlers that say nothing, and limits.

use std::rc::Rc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tsumugi_ruby::{App, Mode, Secret, Settings};
use tsumugi_server::openapi::DocumentInfo;
use tsumugi_testkit::{Dice, openapi};
use tsumugi_worker::WorkerLimits;

use crate::rig::SECRET;

/// The document of an application, as text.
fn text_of(source: &str) -> String {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("app.rb");
    std::fs::write(&file, source).unwrap();
    let settings = Settings {
        app: file,
        data_dir: directory.path().to_owned(),
        mode: Mode::Development,
        secret: Some(Secret::new(SECRET)),
        ..Settings::default()
    };
    let operations = tsumugi_worker::alone(WorkerLimits::default(), async |worker| {
        let app = App::load(&worker, Rc::new(settings)).await;
        let app = app.unwrap_or_else(|error| panic!("{error}:\n{source}"));
        let operations = app.operations().unwrap();
        app.retire().await;
        operations
    });
    let info = DocumentInfo {
        title: "shop".to_owned(),
        version: "0".to_owned(),
    };
    let text = tsumugi_server::openapi::document(&info, &operations.unwrap());
    text.replace(&format!("{}/", directory.path().display()), "")
}

/// The operation of `post "/x"` with this handler, after these lines.
fn operation_after(lines: &str, handler: &str) -> Value {
    let app = format!("{lines}\npost \"/x\" do\n{handler}\nend\n");
    let document = openapi::read(&text_of(&app));
    document["paths"]["/x"]["post"].clone()
}

fn operation(handler: &str) -> Value {
    operation_after("", handler)
}

/// The parameters of a handler, without their place when it is the query.
#[track_caller]
fn check_parameters(handler: &str, expected: &Value) {
    let found = operation(handler);
    let parameters = found
        .get("parameters")
        .cloned()
        .unwrap_or_else(|| json!([]));
    assert_eq!(parameters, *expected, "{handler}");
}

#[track_caller]
fn check_query(handler: &str, name: &str, schema: &Value) {
    check_parameters(
        handler,
        &json!([{"name": name, "in": "query", "schema": schema}]),
    );
}

/// The schema of the body of a handler, and how it may be written.
#[track_caller]
fn check_body(handler: &str, media_types: &[&str], schema: &Value) {
    let found = operation(handler);
    let content = found["requestBody"]["content"].as_object();
    let content = content.unwrap_or_else(|| panic!("{handler}: {found}"));
    let mut types: Vec<&str> = content.keys().map(String::as_str).collect();
    types.sort_unstable();
    assert_eq!(types, media_types, "{handler}");
    for content in content.values() {
        assert_eq!(content["schema"], *schema, "{handler}");
    }
}

#[track_caller]
fn check_statuses(handler: &str, expected: &[&str]) {
    let found = operation(handler);
    let statuses = found["responses"].as_object().unwrap();
    let statuses: Vec<&str> = statuses.keys().map(String::as_str).collect();
    assert_eq!(statuses, expected, "{handler}");
}

const FIELDS: [&str; 2] = ["application/json", "application/x-www-form-urlencoded"];

#[test]
fn parameters_of_the_query_have_types_ranges_and_defaults() {
    check_query("query[:q]", "q", &json!({"type": "string"}));
    check_query("query['q']", "q", &json!({"type": "string"}));
    check_query("'x' if query.key?(:q)", "q", &json!({"type": "string"}));
    check_query(
        "query.list(:tag)",
        "tag",
        &json!({"type": "array", "items": {"type": "string"}}),
    );
    check_query("query.int(:page)", "page", &json!({"type": "integer"}));
    check_query(
        "query.int(:page, 1, in: 1..100)",
        "page",
        &json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 1}),
    );
    check_query(
        "query.int(:page, in: -5...1000)",
        "page",
        &json!({"type": "integer", "minimum": -5, "exclusiveMaximum": 1000}),
    );
    check_query(
        "query.float(:x, 0.5, in: 0.0..1.0)",
        "x",
        &json!({"type": "number", "minimum": 0.0, "maximum": 1.0, "default": 0.5}),
    );
    check_query(
        "query.bool(:all, false)",
        "all",
        &json!({"type": "boolean", "default": false}),
    );
    check_query(
        "p = query\n  limit = 9\n  p.int(:n, in: 1..limit)",
        "n",
        &json!({"type": "integer", "minimum": 1, "maximum": 9}),
    );
}

#[test]
fn header_fields_and_cookies_are_parameters() {
    check_parameters(
        "headers[:x_token]\n  request.headers['accept']\n  cookies[:seen]\n  request.cookies.signed[:who]",
        &json!([
            {"name": "x-token", "in": "header", "schema": {"type": "string"}},
            {"name": "seen", "in": "cookie", "schema": {"type": "string"}},
            {"name": "who", "in": "cookie", "schema": {"type": "string"}},
        ]),
    );
}

#[test]
fn fields_of_the_body_have_types() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "age": {"type": "integer"},
            "weight": {"type": "number"},
            "admin": {"type": "boolean"},
        },
        "required": ["name", "age", "weight", "admin"],
    });
    check_body(
        "body.require(name: String, age: Integer, weight: Float, admin: :bool)",
        &FIELDS,
        &schema,
    );
    check_body(
        "body.require(title: String)\n  body.permit(tags: Array)",
        &FIELDS,
        &json!({
            "type": "object",
            "properties": {"title": {"type": "string", "minLength": 1}, "tags": {"type": "array"}},
            "required": ["title"],
        }),
    );
    check_body(
        "body.require(name: String, photo: Upload)",
        &["multipart/form-data"],
        &json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "photo": {"type": "string", "contentMediaType": "application/octet-stream"},
            },
            "required": ["name", "photo"],
        }),
    );
    check_body("body.json", &["application/json"], &json!({}));
    check_body(
        "[body[:a], body.list(:b)]",
        &FIELDS,
        &json!({"type": "object", "properties": {"a": {}, "b": {}}}),
    );
}

#[test]
fn many_fields_are_read_though_they_come_as_one_hash() {
    let fields: Vec<String> = (0..40).map(|i| format!("f{i}: Integer")).collect();
    let found = operation(&format!("body.require({})", fields.join(", ")));
    let schema = &found["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(schema["required"].as_array().map(Vec::len), Some(40));
}

#[test]
fn field_of_one_way_through_the_handler_is_not_required() {
    let is_required = |handler: &str| operation(handler)["requestBody"].get("required").is_some();
    assert!(is_required(
        "halt 401 unless request.ip\n  body.require(a: String)"
    ));
    assert!(is_required(
        "db.transaction do\n  body.require(a: String)\n  end"
    ));
    assert!(!is_required(
        "if query[:a]\n  body.require(a: String)\n  end"
    ));
    assert!(!is_required(
        "[1].each { body.require(a: String) if query[:a] }"
    ));
}

#[test]
fn field_behind_an_early_end_is_not_required() {
    let helpers = "helpers do
          def early
            return 1 if query[:a]
            body.require(a: String)
          end
          def late
            body.require(a: String)
            return 1 if query[:a]
            2
          end
        end";
    let is_required = |handler: &str| {
        let found = operation_after(helpers, handler);
        found["requestBody"].get("required").is_some()
    };
    for early in [
        "next text('skip') if query[:skip]\n  body.require(a: String)",
        "return text('skip') if query[:skip]\n  body.require(a: String)",
        "query[:skip] and return 1\n  db.transaction { body.require(a: String) }",
        "[1].each { return 1 if query[:skip] }\n  body.require(a: String)",
        "[1].each { return 1 }\n  body.require(a: String)",
        "[1].each { |x| next if query[:skip]; body.require(a: String) }",
        "db.transaction { break if query[:skip]; body.require(a: String) }",
        "while query[:skip] do return 1 end\n  body.require(a: String)",
        "early",
    ] {
        assert!(!is_required(early), "{early}");
    }
    for late in [
        "body.require(a: String)\n  next text('skip') if query[:skip]\n  'x'",
        "[1].each { |x| next if query[:skip]; 1 }\n  body.require(a: String)",
        "db.transaction { break if query[:skip]; 1 }\n  body.require(a: String)",
        "halt text('no') unless query[:key]\n  body.require(a: String)",
        "late",
        "early\n  body.require(b: String)",
    ] {
        assert!(is_required(late), "{late}");
    }
}

#[test]
fn statuses_are_those_that_are_written_down() {
    check_statuses("'ok'", &["200"]);
    check_statuses("halt 404 unless query[:a]\n  json({})", &["200", "404"]);
    check_statuses("halt(403, error: 'no')", &["200", "403"]);
    check_statuses("status 204", &["204"]);
    check_statuses("json({}, status: 201)", &["201"]);
    check_statuses("text('x', status: 202, type: 'text/csv')", &["202"]);
    check_statuses("redirect '/'", &["303"]);
    check_statuses("redirect '/', status: 301", &["301"]);
    check_statuses("body.require(a: String)", &["200", "422"]);
    check_statuses("query.int(:a)", &["200", "400"]);
    check_statuses("invalid name: :taken", &["200", "422"]);
    check_statuses(
        "begin\n  'x'\n  rescue ArgumentError\n  halt 409\n  end",
        &["200", "409"],
    );
    check_statuses("code = query[:a] ? 404 : 410\n  halt code", &["200"]);
}

#[test]
fn blocks_helpers_and_filters_are_read_as_parts_of_the_handler() {
    let found = operation_after(
        "helpers do\n  def page(least) = query.int(:page, in: least..9)\n  def again = again\nend\n\
         before { halt 401 unless headers[:x_key] }",
        "parallel { [1].each { query[:q] } }\n  page(2)\n  again\n  status 204",
    );
    let statuses: Vec<&String> = found["responses"].as_object().unwrap().keys().collect();
    assert_eq!(statuses, ["204", "400", "401"]);
    let names: Vec<&str> = found["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["x-key", "q", "page"]);
    assert_eq!(
        found["parameters"][2]["schema"],
        json!({"type": "integer", "minimum": 2, "maximum": 9})
    );
}

#[test]
fn shape_stands_once_under_its_name() {
    let app = "shape(:line_item) { integer :count, min: 1 }\n\
        PAGE = shape { integer :page, min: 1, max: 9, default: 1; object(:of) { text :city, optional: true }; list(:all) { text :x } }\n\
        post('/a') { body.check :line_item }\n\
        put('/a') { body.check(:line_item) { |form| 'again' } }\n\
        get('/b') { query.check PAGE }\n\
        post('/c') { body.check :nothing }\n";
    let document = openapi::read(&text_of(app));
    let schema = json!({
        "LineItem": {
            "type": "object",
            "properties": {"count": {"type": "integer", "minimum": 1}},
            "required": ["count"],
        },
    });
    assert_eq!(document["components"]["schemas"], schema);
    for method in ["post", "put"] {
        let content = &document["paths"]["/a"][method]["requestBody"]["content"];
        assert_eq!(
            content["application/json"]["schema"]["$ref"],
            "#/components/schemas/LineItem"
        );
    }
    assert_eq!(
        document["paths"]["/b"]["get"]["parameters"],
        json!([
            {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1}},
            {"name": "of.city", "in": "query", "schema": {"type": "string"}},
        ])
    );
    assert!(document["paths"]["/c"]["post"].get("requestBody").is_none());
}

#[test]
fn whole_application_has_this_document() {
    const EXPECTED: &str = include_str!("openapi/shop.json");
    const APP: &str = include_str!("openapi/shop.rb");
    let text = text_of(APP);
    openapi::read(&text);
    assert_eq!(text, EXPECTED, "the document is now:\n{text}");
}

#[test]
fn handler_that_says_nothing_to_a_reader_has_an_operation_all_the_same() {
    for handler in [
        "while true do query[name] end",
        "send(:body).send(:require, a: String)",
        "instance_eval { self }",
        "eval 'body'",
        "fields = {a: String}\n  fields[:b] = String\n  body.require(**fields.merge(c: String))",
        "body.require(*[1, 2], **{})",
        "x = [1]\n  20.times { x = [x, x] }\n  json x",
        "case query\n  when nil then 1\n  else halt(*[404])\n  end",
        "loop { break }\n  redo_it = -> { redo_it.call }\n  begin; raise 'x'; ensure; 1; end",
        "def later = 1\n  class << self; def y = 2; end",
        "a, (b, *c), d = *[1, [2, 3]], 4\n  \"#{a}#{b}\"",
        "query&.int(:a)&.then { |x| x + 1 }",
    ] {
        let found = operation(handler);
        assert_eq!(found["operationId"], "post_x", "{handler}");
    }
}

#[test]
fn handler_beyond_a_limit_is_read_up_to_it() {
    // Each helper calls the next, and each asks for a parameter.
    let helpers: Vec<String> = (0..8)
        .map(|i| format!("def h{i}\n  query[:q{i}]\n  h{}\nend", i + 1))
        .collect();
    let found = operation_after(&format!("helpers do\n{}\nend", helpers.join("\n")), "h0");
    assert_eq!(found["parameters"].as_array().map(Vec::len), Some(4));
    // More instructions than are read: what comes last is not seen.
    let long = format!(
        "query[:first]\n{}query[:last]",
        "x = [1, 2, 3]\n".repeat(6_000)
    );
    let found = operation(&long);
    assert_eq!(found["parameters"].as_array().map(Vec::len), Some(1));
    // More registers than are looked at.
    let locals: Vec<String> = (0..248).map(|i| format!("v{i} = 1")).collect();
    for (before, is_seen) in [(0, true), (10, false)] {
        let list = format!("[{}query[:p]]", "1, ".repeat(before));
        let found = operation(&format!("{}\n  {list}", locals.join("\n  ")));
        assert_eq!(found.get("parameters").is_some(), is_seen, "{before}");
    }
    // More instructions than are looked at, though each method is read whole.
    let helper = format!(
        "helpers do\ndef big\n{}end\nend",
        "x = [1, 2, 3]\n".repeat(3_000)
    );
    let found = operation_after(
        &helper,
        &format!("query[:a]\n{}query[:b]", "big\n".repeat(6)),
    );
    assert_eq!(found["parameters"].as_array().map(Vec::len), Some(1));
    // More parameters than are described.
    let many: Vec<String> = (0..=200).map(|i| format!("query[:q{i}]")).collect();
    let found = operation(&many.join("\n"));
    assert_eq!(found["parameters"].as_array().map(Vec::len), Some(200));
}

#[test]
fn every_program_of_these_pieces_has_a_sound_document() {
    const PIECES: [&str; 22] = [
        "query.int(:a, @, in: 1..(@))",
        "query[@]",
        "body.require(a: String, b: @)",
        "body.permit(**(@ || {}))",
        "body.check(:order)",
        "halt((@))",
        "status((@))",
        "json({a: @}, status: @)",
        "if @ then @ else @ end",
        "while @; @; break; end",
        "x = @",
        "x",
        "[1, @].each { |y| @ }",
        "begin; @; rescue => e; @; ensure; @; end",
        "(@ ? query : body)[:z]",
        "case @ when 1..3 then @ else @ end",
        "({k: @, 'l' => @})",
        "help(@)",
        "\"#{@}\"",
        "nil",
        "404",
        ":name",
    ];
    let dice = Dice::new(24);
    for _ in 0..12 {
        let handlers: Vec<String> = (0..20)
            .map(|i| {
                let mut text = "@\n  @\n  @".to_owned();
                for _ in 0..24 {
                    text = text.replacen('@', &format!("({})", dice.pick(&PIECES)), 1);
                }
                format!("post \"/r{i}\" do\n  {}\nend\n", text.replace('@', "nil"))
            })
            .collect();
        let app = format!(
            "shape(:order) {{ text :a }}\nhelpers do\n  def help(z) = query[z]\nend\n{}",
            handlers.concat()
        );
        let document = openapi::read(&text_of(&app));
        assert_eq!(
            document["paths"].as_object().map(serde_json::Map::len),
            Some(20)
        );
    }
}
