//! What a client sends, or a handler makes of it, to keep a worker busy or to end the process. The server goes on; errors name limits.

use crate::rig::Rig;

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

#[test]
fn native_code_that_runs_long_is_stopped() {
    let rig = Rig::serve(
        "get('/after') { 'as before' }
         post('/pow') { n = (1 << 65_000) + 1; 100.times { n.pow(2**62 - 1, n + 2) }; '' }
         post('/scan') { t = 'a' * 3_000_000; 100.times { t.scan(/(a)(?=a)/) }; '' }",
    );
    for path in ["/pow", "/scan"] {
        let answer = rig.post(path, "text/plain", b"x");
        let text = answer.text();
        assert!(
            answer.status == 500 && text.contains("more CPU time")
                || text.contains("takes too long"),
            "{path}: {} {text}",
            answer.status
        );
        assert_eq!(rig.get("/after").text(), "as before");
    }
}

#[test]
fn texts_that_natives_multiply_have_a_limit() {
    let rig = Rig::serve(
        r#"get('/after') { 'as before' }
         post('/sub') { body.text.gsub(/a/, "\\'") }
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
    check(&rig, "/scrub", "text/plain", b"x", 500, "string_bytes_max");
    check(&rig, "/pretty", "text/plain", b"x", 500, "json_bytes_max");
}
