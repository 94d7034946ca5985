//! What a client sends, or a handler makes of it, to keep a worker busy or to end the process. The server goes on; errors name limits.

use std::time::{Duration, Instant};

use crate::rig::Rig;

/// How late an end may be on a machine that does other things. That it is an end and no result, the error says.
const STOPPED_WITHIN: Duration = Duration::from_secs(60);

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Answers `expected` somewhere in a text of this status, and the next request as if nothing had been.
fn check(rig: &Rig, path: &str, media_type: &str, body: &[u8], status: u16, expected: &str) {
    let answer = rig.post(path, media_type, body);
    let text = answer.text();
    assert!(
        answer.status == status && text.contains(expected),
        "{path}: {} {}",
        answer.status,
        text.get(..600).unwrap_or(&text)
    );
    assert_eq!(rig.get("/after").text(), "as before");
}

#[test]
fn numbers_of_many_digits_are_refused_by_name() {
    let rig = Rig::serve(
        "get('/after') { 'as before' }
         post('/json') { body.data.to_json.bytesize.to_s }
         post('/hex') { body[:n].hex.to_s.size.to_s }
         post('/oct') { body[:n].oct.to_s.size.to_s }
         post('/to_i') { body[:n].to_i.to_s.size.to_s }
         post('/integer') { Integer(body[:n]).to_s.size.to_s }
         post('/field') { body.require(n: Integer)[:n].to_s.size.to_s }",
    );
    let digits = |count: usize| "7".repeat(count);
    check(
        &rig,
        "/json",
        JSON,
        digits(60_000).as_bytes(),
        400,
        "json_digits_max (4096)",
    );
    let nine = format!("[{}]", vec![digits(60_000); 9].join(","));
    check(
        &rig,
        "/json",
        JSON,
        nine.as_bytes(),
        400,
        "json_digits_max (4096)",
    );
    let many = format!("[{}]", vec![digits(4_096); 200].join(","));
    let length = many.len().to_string();
    check(&rig, "/json", JSON, many.as_bytes(), 200, &length);
    for path in ["/hex", "/oct", "/to_i", "/integer"] {
        let form = format!("n={}", digits(200_000));
        check(
            &rig,
            path,
            FORM,
            form.as_bytes(),
            500,
            "integer_digits_max (4096)",
        );
        let form = format!("n={}", digits(4_096));
        check(&rig, path, FORM, form.as_bytes(), 200, "");
    }
    let form = format!("n={}", digits(200_000));
    // What is declared as an Integer is the client's error.
    check(
        &rig,
        "/field",
        FORM,
        form.as_bytes(),
        422,
        "must be an integer",
    );
}

#[test]
fn value_nested_without_end_fails_its_request_only() {
    let rig = Rig::serve(
        "get('/after') { 'as before' }
         deep = -> { x = [1]; 100_000.times { x = [x] }; x }
         post('/join') { deep.().join }
         post('/flatten') { deep.().flatten.size.to_s }
         post('/inspect') { deep.().inspect }
         post('/equal') { (deep.() == deep.()).to_s }
         post('/hash') { deep.().hash.to_s }
         post('/order') { [deep.(), deep.()].sort.size.to_s }
         post('/json') { {a: deep.()} }
         post('/result') { [deep.()] }
         post('/parse') { JSON.parse('[' * 100_000) }
         post('/raise') { raise ArgumentError, deep.().to_s }
         post('/missing') { {}.fetch(deep.()) }",
    );
    for path in [
        "/join", "/flatten", "/inspect", "/equal", "/hash", "/order", "/raise", "/missing",
    ] {
        check(&rig, path, "text/plain", b"x", 500, "stack level too deep");
    }
    for path in ["/json", "/result"] {
        check(&rig, path, "text/plain", b"x", 500, "json_depth_max");
    }
    check(&rig, "/parse", "text/plain", b"x", 500, "json_depth_max");
}

/// Calls of native code, each of which would take many seconds. `t` is a text of a million letters, `n` an Integer as long as one may
/// be, `deep` as many Arrays in pairs as a tree of 40 levels has.
const LONG: &[&str] = &[
    // Numbers.
    "1_000.times { n.pow(2**62 - 1, n + 2) }",
    "[n].cycle { |i| i.digits }",
    "[n].cycle { |i| i.to_s }",
    "[n.to_s[0, 4_000]].cycle { |s| s.to_i }",
    "([n] * 100_000).join",
    "([n] * 100_000).inspect",
    "([n] * 2_000_000).sum",
    "([n] * 2_000_000).max",
    "Time.now.strftime('%-d' * 20_000_000)",
    // Sorting: of Integers that mruby compares, of too many, of texts that are too long together.
    "([n] * 2_000_000).sort",
    "Array.new(2_000_000) { |i| -i }.sort",
    "([t] * 50_000).sort",
    "([t] * 50_000).sort_by { |text| text }",
    // Patterns.
    "(t * 20).scan(/(a)(?=a)/)",
    "(t * 20).gsub(/a/, '')",
    "(t * 20).gsub(/(a)(?=a)/) { |a| a }",
    "(t * 20).gsub('a', 'b')",
    "(t * 20).split(/a(?=a)/)",
    "t =~ /(?=.*\\d)(?=.*[A-Z])/",
    "t.match?(/(?=.*\\d)(?=.*[A-Z])/)",
    "t.gsub(/(?:(?!.*\\d).)*\\d/, '')",
    // JSON and pages.
    "([n] * 100_000).to_json",
    "JSON.generate(deep)",
    "JSON.parse('[' + '1,' * 20_000_000 + '1]')",
    "render_to_string('long', text: t)",
    // What is copied out of the VM.
    "DB.connect('sqlite::memory:').query('select ' + '?, ' * 2_000 + '1', *[t] * 2_000)",
    "DB.connect('sqlite::memory:').query('select ?', [[t] * 2_000])",
    "KV.open.get_multi(*[t] * 2_000)",
    "KV.open.set_multi((1..2_000).to_h { |i| [i.to_s, t] })",
    // Containers.
    "deep.flatten",
    "deep.hash",
    "other = [1]; 40.times { other = [other, other.dup] }; deep == other",
    "([t] * 100_000).uniq",
    "(1..12).to_a.permutation.to_a",
    "(1..40).to_a.combination(20).to_a",
    "(1..2_000).to_a.product((1..2_000).to_a, (1..2_000).to_a) { }",
    "1_000_000.times { [t] * 1_000_000 }",
    "1_000_000.times { t * 60 }",
];

#[test]
fn native_code_that_runs_long_is_stopped() {
    let routes = LONG.iter().enumerate().map(|(number, call)| {
        format!(
            "post('/{number}') {{ t = 'a' * 1_000_000; n = (1 << 65_500) + 1; deep = [1]; 40.times {{ deep = [deep, deep.dup] }}; {call}; 'done' }}\n"
        )
    });
    let app: String = routes.collect();
    let limits = tsumugi_worker::WorkerLimits {
        turn_cpu_ms_max: 100,
        ..tsumugi_worker::WorkerLimits::default()
    };
    let rig = Rig::limited(&format!("get('/after') {{ 'as before' }}\n{app}"), limits);
    let views = rig.path().join("views");
    std::fs::create_dir_all(&views).unwrap();
    let page = "<% 1_000_000.times do %><%= text %><% end %>";
    std::fs::write(views.join("long.erb"), page).unwrap();
    for (number, call) in LONG.iter().enumerate() {
        let start = Instant::now();
        let answer = rig.post(&format!("/{number}"), "text/plain", b"x");
        let text = answer.text();
        // What is copied has a limit in bytes too, which may be reached first.
        let is_ended = [
            "turn_cpu_ms_max is 100",
            "kv_multi_bytes_max",
            "binds_bytes_max",
        ]
        .iter()
        .any(|reason| text.contains(reason));
        assert!(
            answer.status == 500 && is_ended,
            "{call}: {} {}",
            answer.status,
            text.get(..600).unwrap_or(&text)
        );
        assert!(
            start.elapsed() < STOPPED_WITHIN,
            "{call}: {:?}",
            start.elapsed()
        );
        assert_eq!(rig.get("/after").text(), "as before", "{call}");
    }
}

#[test]
fn programs_that_ruby_compiles_have_a_limit() {
    let app = "get('/after') { 'as before' }
         post('/eval') { eval(body.text).to_s }
         post('/instance') { Object.new.instance_eval(body.text).to_s }";
    let rig = Rig::with(app, |settings| settings.limits.eval_bytes_max = 1_000);
    for path in ["/eval", "/instance"] {
        let text = format!("{:<1000}", "6 * 7");
        check(&rig, path, "text/plain", text.as_bytes(), 200, "42");
        let longer = format!("{text} ");
        check(
            &rig,
            path,
            "text/plain",
            longer.as_bytes(),
            500,
            "eval_bytes_max (1000)",
        );
    }
}

/// Texts that take longest to compile for their length, by the square of it.
const SLOW_PROGRAMS: [&str; 5] = ["1 and ", "1||", "a += 1\n", "1;", "a "];

#[test]
fn program_of_the_greatest_length_is_compiled_within_a_minute() {
    let rig = Rig::serve("get('/after') { 'as before' }; post('/eval') { eval(body.text).to_s }");
    let bytes_max = tsumugi_ruby::Limits::default().eval_bytes_max;
    for unit in SLOW_PROGRAMS {
        let words = "%w[".to_owned() + &unit.repeat((bytes_max - 20) / unit.len()) + "].size";
        let lines = "if false;".to_owned() + &unit.repeat((bytes_max - 20) / unit.len()) + "1;end";
        for text in [words, lines] {
            let start = Instant::now();
            rig.post("/eval", "text/plain", text.as_bytes());
            assert!(
                start.elapsed() < STOPPED_WITHIN,
                "{unit}: {:?}",
                start.elapsed()
            );
        }
    }
}

#[test]
fn texts_that_natives_multiply_have_a_limit() {
    let rig = Rig::serve(
        r#"get('/after') { 'as before' }
         post('/sub') { body.text.gsub(/a/, "\\'") }
         post('/references') { body.text.sub(/a/, "\\'" * 60_000) }
         post('/parts') { body.text.sub(/a/, "\\1" * 65_537) }
         post('/strftime') { Time.now.strftime("%1024Y" * 1_000_000) }
         post('/html') { CGI.escapeHTML('"' * 12_000_000) }
         post('/percent') { URI.encode_www_form_component('"' * 23_000_000) }
         post('/scrub') { ("\xff" * 70_000).scrub('x' * 10_000) }
         post('/pretty') { JSON.pretty_generate((0...98).inject([1] * 600_000) { |v, _| [v] }) }"#,
    );
    check(
        &rig,
        "/sub",
        "text/plain",
        &vec![b'a'; 100_000],
        500,
        "string_bytes_max",
    );
    let text = vec![b'a'; 100_000];
    check(
        &rig,
        "/references",
        "text/plain",
        &text,
        500,
        "string_bytes_max",
    );
    check(
        &rig,
        "/parts",
        "text/plain",
        b"a",
        500,
        "replacement_parts_max (65536)",
    );
    for path in ["/strftime", "/html", "/percent", "/scrub"] {
        check(&rig, path, "text/plain", b"x", 500, "string_bytes_max");
    }
    check(&rig, "/pretty", "text/plain", b"x", 500, "json_bytes_max");
}

#[test]
fn fields_of_a_body_that_become_headers_or_cookies_are_refused_beyond_a_limit() {
    let rig = Rig::serve(
        "get('/after') { 'as before' }
         post('/headers') { body.data.each { |name, value| header \"x-#{name}\", value }; 'mirrored' }
         post('/cookies') { body.data.each { |name, value| cookies[name] = value }; 'mirrored' }
         post('/request') { http.get('http://127.0.0.1:1/', headers: body.data).status.to_s }",
    );
    let fields = |count: usize| {
        let fields: Vec<String> = (0..count).map(|i| format!("\"n{i}\":\"v\"")).collect();
        format!("{{{}}}", fields.join(","))
    };
    for (path, limit, name) in [
        ("/headers", 1_000, "header_fields_max"),
        ("/cookies", 200, "cookies_set_max"),
        ("/request", 1_000, "header_fields_max"),
    ] {
        for count in [limit + 1, 40_000] {
            check(&rig, path, JSON, fields(count).as_bytes(), 500, name);
        }
        if path != "/request" {
            let many = fields(limit - 50);
            check(&rig, path, JSON, many.as_bytes(), 200, "mirrored");
        }
    }
}
