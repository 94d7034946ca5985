//! Sessions and the check of forms, from the outside.

use crate::rig::{Answer, Rig, SECRET};
use tsumugi_ruby::{Mode, Secret};

const APP: &str = "sessions
get('/') { session.to_h }
get('/in') { session[:user_id] = 1; session[:name] = '日本'; status 204 }
get('/out') { session.clear; status 204 }
get('/drop') { [session.delete(:name), session.to_h] }
get('/form') { html '<form>' + h(csrf_field) + '</form>' }
get('/large') { session[:large] = 'x' * 4000; 'stored' }
post('/do') { 'done' }
post('/save') { body[:text] }
put('/do') { 'done' }
not_found { 'nothing here' }
";
const FORM: &str = "application/x-www-form-urlencoded";

fn with(rig: &Rig, path: &str, cookie: &str) -> Answer {
    rig.send("GET", path, &[&format!("cookie: {cookie}")], b"")
}

#[test]
fn stored_session_comes_back() {
    let rig = Rig::serve(APP);
    let answer = rig.get("/in");
    let header = answer.header("set-cookie").unwrap();
    assert!(
        header.ends_with("; Path=/; Max-Age=1209600; HttpOnly; SameSite=Lax"),
        "{header}"
    );
    assert_eq!(answer.all("set-cookie").len(), 1);
    let cookie = answer.cookie("session").unwrap();
    let read = with(&rig, "/", &cookie);
    assert_eq!(read.text(), "{\"user_id\":1,\"name\":\"日本\"}");
    assert_eq!(read.header("set-cookie"), None);
    let dropped = with(&rig, "/drop", &cookie);
    assert_eq!(dropped.text(), "[\"日本\",{\"user_id\":1}]");
    let rest = dropped.cookie("session").unwrap();
    assert_eq!(with(&rig, "/", &rest).text(), "{\"user_id\":1}");
}

#[test]
fn options_reach_the_cookie() {
    let app = "sessions name: '__Host-s', same_site: :strict, max_age: 60, secure: true\nget('/') { session[:a] = 1; status 204 }";
    let rig = Rig::serve(app);
    let answer = rig.get("/");
    let header = answer.header("set-cookie").unwrap();
    assert!(header.starts_with("__Host-s=v1."), "{header}");
    assert!(
        header.ends_with("; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Strict"),
        "{header}"
    );
    for wrong in [
        "max_age: 0",
        "same_site: :maybe",
        "same_site: :none, secure: false",
        "name: 'a b'",
        "domain: 'x;y'",
    ] {
        let error = Rig::refused(&format!("sessions {wrong}"), |_| {});
        assert!(
            error.contains("app.rb:1") && error.contains("ArgumentError"),
            "{wrong}: {error}"
        );
    }
}

#[test]
fn changed_or_expired_cookie_is_an_empty_session() {
    let rig = Rig::serve(APP);
    let cookie = rig.get("/in").cookie("session").unwrap();
    let mut changed = cookie.clone().into_bytes();
    changed[20] = if changed[20] == b'A' { b'B' } else { b'A' };
    for wrong in [
        String::from_utf8(changed).unwrap().as_str(),
        "session=",
        "session=v1.0..",
        "session=%ff",
    ] {
        let answer = with(&rig, "/", wrong);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, "{}"),
            "{wrong}"
        );
    }
    // Of several cookies of the name, one that another path or domain left behind does not hide ours.
    assert!(
        with(&rig, "/", &format!("session=old; {cookie}"))
            .text()
            .contains("user_id")
    );
}

#[test]
fn clearing_ends_the_session_in_the_browser() {
    let rig = Rig::serve(APP);
    let cookie = rig.get("/in").cookie("session").unwrap();
    let answer = with(&rig, "/out", &cookie);
    assert_eq!(
        answer.all("set-cookie"),
        ["session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"]
    );
    assert_eq!(rig.get("/out").header("set-cookie"), None);
}

#[test]
fn secrets_can_be_replaced_without_losing_sessions() {
    let newer = "a newer secret of these tests that is long enough";
    let old = Rig::serve(APP);
    let cookie = old.get("/in").cookie("session").unwrap();
    let both = Rig::with(APP, |settings| {
        settings.secret = Some(Secret::new(&format!("{newer},{SECRET}")))
    });
    assert!(
        with(&both, "/", &cookie)
            .text()
            .starts_with("{\"user_id\":1")
    );
    let renewed = both.get("/in").cookie("session").unwrap();
    assert_eq!(with(&old, "/", &renewed).text(), "{}");
}

#[test]
fn session_larger_than_a_cookie_is_an_error_that_names_the_limit() {
    let rig = Rig::serve(APP);
    let answer = rig.get("/large");
    assert_eq!(answer.status, 500);
    assert!(
        answer.text().contains("session_cookie_bytes_max"),
        "{}",
        answer.text()
    );
}

#[test]
fn application_with_sessions_does_not_start_without_a_good_secret() {
    // The variable is not set where tests run.
    assert!(
        std::env::var("TSUMUGI_SECRET").is_err(),
        "unset TSUMUGI_SECRET for the tests"
    );
    let error = Rig::refused(APP, |settings| {
        settings.secret = None;
        settings.mode = Mode::Production;
    });
    assert!(
        error.contains("openssl rand -hex 32") && error.contains("app.rb:1"),
        "{error}"
    );
    let error = Rig::refused(APP, |settings| settings.secret = Some(Secret::new("short")));
    assert!(error.contains("openssl rand -hex 32"), "{error}");
    let rig = Rig::with(APP, |settings| settings.secret = None); // development makes one up
    let cookie = rig.get("/in").cookie("session").unwrap();
    assert!(
        with(&rig, "/", &cookie)
            .text()
            .starts_with("{\"user_id\":1")
    );
}

#[test]
fn session_that_was_not_declared_is_an_error_that_says_how() {
    let rig = Rig::serve("get('/') { session[:a] }");
    let answer = rig.get("/");
    assert_eq!(answer.status, 500);
    assert!(
        answer.text().contains("write `sessions`"),
        "{}",
        answer.text()
    );
}

struct Visitor<'r> {
    rig: &'r Rig,
    cookie: String,
    token: String,
}

impl<'r> Visitor<'r> {
    fn of(rig: &'r Rig) -> Visitor<'r> {
        let page = rig.get("/form");
        let field = page.text();
        let token = field
            .split("value=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        Visitor {
            rig,
            cookie: page.cookie("session").unwrap(),
            token: token.to_owned(),
        }
    }

    /// The status of a request with the session's cookie.
    fn check(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &str,
        expected: u16,
    ) -> Answer {
        let cookie = format!("cookie: {}", self.cookie);
        let mut all = vec![cookie.as_str()];
        all.extend(headers);
        let answer = self.rig.send(method, path, &all, body.as_bytes());
        assert_eq!(
            answer.status,
            expected,
            "{method} {path} {headers:?} {body}: {}",
            answer.text()
        );
        answer
    }
}

#[test]
fn form_with_a_session_needs_the_token() {
    let rig = Rig::serve(APP);
    let visitor = Visitor::of(&rig);
    let form = format!("content-type: {FORM}");
    let form = form.as_str();
    let token = &visitor.token;
    let refusal = visitor.check("POST", "/do", &[form], "a=b", 403);
    assert!(refusal.text().contains("csrf_field"), "{}", refusal.text());
    visitor.check("POST", "/do", &[form], "_csrf=wrong", 403);
    visitor.check("POST", "/do", &["content-type: text/plain"], "_csrf=x", 403);
    visitor.check("POST", "/do", &[], "", 403);
    visitor.check("PUT", "/do", &[form], "a=b", 403);
    visitor.check("POST", "/nowhere", &[form], "a=b", 403);
    visitor.check("POST", "/do", &[form], &format!("_csrf={token}"), 200);
    visitor.check(
        "POST",
        "/do",
        &[
            "content-type: text/plain",
            &format!("x-csrf-token: {token}"),
        ],
        "x",
        200,
    );
    let answer = visitor.check(
        "POST",
        "/save",
        &[form],
        &format!("text=hi&_csrf={token}"),
        200,
    );
    assert_eq!(answer.text(), "hi");
    let parts = format!(
        "--b\r\ncontent-disposition: form-data; name=\"_csrf\"\r\n\r\n{token}\r\n--b--\r\n"
    );
    visitor.check(
        "POST",
        "/do",
        &["content-type: multipart/form-data; boundary=b"],
        &parts,
        200,
    );
    visitor.check(
        "POST",
        "/do",
        &["content-type: multipart/form-data; boundary=b"],
        "--b--\r\n",
        403,
    );
}

#[test]
fn token_of_another_session_does_not_count() {
    let rig = Rig::serve(APP);
    let (one, other) = (Visitor::of(&rig), Visitor::of(&rig));
    let form = format!("content-type: {FORM}");
    one.check(
        "POST",
        "/do",
        &[&form],
        &format!("_csrf={}", other.token),
        403,
    );
}

#[test]
fn fetch_metadata_of_the_browser_counts() {
    let rig = Rig::serve(APP);
    let visitor = Visitor::of(&rig);
    let form = format!("content-type: {FORM}");
    visitor.check(
        "POST",
        "/do",
        &[&form, "sec-fetch-site: same-origin"],
        "a=b",
        200,
    );
    for site in ["cross-site", "same-site", "none"] {
        visitor.check(
            "POST",
            "/do",
            &[&form, &format!("sec-fetch-site: {site}")],
            "a=b",
            403,
        );
    }
}

#[test]
fn json_and_requests_without_a_session_are_not_checked() {
    let rig = Rig::serve(APP);
    let visitor = Visitor::of(&rig);
    visitor.check(
        "POST",
        "/do",
        &["content-type: application/json"],
        "{}",
        200,
    );
    visitor.check("GET", "/", &[], "", 200);
    assert_eq!(rig.post("/do", FORM, b"a=b").status, 200);
    let forged = ["cookie: session=forged", "content-type: text/plain"];
    assert_eq!(rig.send("POST", "/do", &forged, b"x").status, 200);
}

#[test]
fn check_can_be_switched_off() {
    let rig = Rig::serve(&APP.replacen("sessions", "sessions csrf: false", 1));
    let visitor = Visitor::of(&rig);
    visitor.check("POST", "/do", &["content-type: text/plain"], "x", 200);
}
