//! Sessions that a key-value store keeps: the client has an id and nothing else.

use crate::rig::{Answer, Rig};
use tsumugi_script::Mode;

/// Stores in memory are the process', so that each test names its own.
fn app(store: &str, options: &str) -> String {
    format!(
        "plugin(:kv) {{ KV.open 'memory:sessions-{store}' }}
         sessions kv: kv{options}
         get('/') {{ session.to_h }}
         get('/in') {{ session[:user_id] = 1; session[:name] = '日本'; status 204 }}
         get('/renew') {{ session.renew; session[:admin] = true; status 204 }}
         get('/out') {{ session.clear; status 204 }}
         get('/large') {{ session[:large] = 'x' * 100_000; status 204 }}
         get('/size') {{ session[:large].to_s.size }}
         get('/form') {{ csrf_token }}
         post('/do') {{ 'done' }}
         get('/records') {{ kv.scan(prefix: 'session:').map {{ |key, value| [key.size, value] }} }}"
    )
}

fn with(rig: &Rig, path: &str, cookie: &str) -> Answer {
    rig.send("GET", path, &[&format!("cookie: {cookie}")], b"")
}

#[test]
fn the_cookie_is_an_id_and_the_store_has_the_rest() {
    let rig = Rig::serve(&app("plain", ""));
    let answer = rig.get("/in");
    let header = answer.header("set-cookie").unwrap();
    assert!(
        header.ends_with("; Path=/; Max-Age=1209600; HttpOnly; SameSite=Lax"),
        "{header}"
    );
    let cookie = answer.cookie("session").unwrap();
    assert_eq!(cookie.len(), "session=".len() + 43, "{cookie}");
    assert_eq!(
        with(&rig, "/", &cookie).text(),
        "{\"user_id\":1,\"name\":\"日本\"}"
    );
    assert_eq!(
        rig.get("/records").text(),
        r#"[[51,"{\"user_id\":1,\"name\":\"日本\"}"]]"#
    );
    assert_eq!(with(&rig, "/large", &cookie).status, 204);
    assert_eq!(with(&rig, "/size", &cookie).text(), "100000");
    // The key in the store is no id.
    assert_eq!(with(&rig, "/", "session=session:x").text(), "{}");

    let ended = with(&rig, "/out", &cookie);
    assert!(
        ended
            .header("set-cookie")
            .unwrap()
            .starts_with("session=; Path=/; Max-Age=0")
    );
    assert_eq!(with(&rig, "/", &cookie).text(), "{}");
    assert_eq!(rig.get("/records").text(), "[]");
}

#[test]
fn an_id_that_the_store_does_not_know_is_not_taken_up() {
    let rig = Rig::serve(&app("fixation", ""));
    let foreign = format!("session={}", "A".repeat(43));
    let answer = with(&rig, "/in", &foreign);
    let cookie = answer.cookie("session").unwrap();
    assert_ne!(cookie, foreign);
    assert_eq!(with(&rig, "/", &foreign).text(), "{}");
    assert_eq!(
        with(&rig, "/", &cookie).text(),
        "{\"user_id\":1,\"name\":\"日本\"}"
    );
}

#[test]
fn a_renewed_session_has_another_id_and_the_old_one_is_void() {
    let rig = Rig::serve(&app("renewed", ""));
    let cookie = rig.get("/in").cookie("session").unwrap();
    let renewed = with(&rig, "/renew", &cookie);
    assert_eq!(renewed.all("set-cookie").len(), 1);
    let renewed = renewed.cookie("session").unwrap();
    assert_ne!(renewed, cookie);
    assert_eq!(with(&rig, "/", &cookie).text(), "{}");
    assert_eq!(
        with(&rig, "/", &renewed).text(),
        "{\"user_id\":1,\"name\":\"日本\",\"admin\":true}"
    );
}

#[test]
fn a_signed_session_can_be_renewed_too() {
    let rig = Rig::serve(
        "sessions
         get('/in') { session[:a] = 1; csrf_token }
         get('/renew') { session.renew; session.to_h }",
    );
    let cookie = rig.get("/in").cookie("session").unwrap();
    let renewed = with(&rig, "/renew", &cookie);
    assert_eq!(renewed.text(), "{\"a\":1}");
    assert!(renewed.cookie("session").unwrap().len() < cookie.len());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own thread")]
fn a_session_expires_in_the_store() {
    let rig = Rig::serve(&app("expiring", ", max_age: 1"));
    let cookie = rig.get("/in").cookie("session").unwrap();
    assert_eq!(
        with(&rig, "/", &cookie).text(),
        "{\"user_id\":1,\"name\":\"日本\"}"
    );
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(with(&rig, "/", &cookie).text(), "{}");
    assert_eq!(rig.get("/records").text(), "[]");
}

#[test]
fn forms_of_a_session_are_checked_and_others_are_not() {
    let rig = Rig::serve(&app("forms", ""));
    let post = |cookie: &str, token: &str| {
        let headers = [
            "content-type: application/x-www-form-urlencoded".to_owned(),
            format!("cookie: {cookie}"),
            format!("x-csrf-token: {token}"),
        ];
        let headers = headers.each_ref().map(String::as_str);
        rig.send("POST", "/do", &headers, b"a=1")
    };
    let cookie = rig.get("/in").cookie("session").unwrap();
    assert_eq!(post(&cookie, "").status, 403);
    let token = with(&rig, "/form", &cookie).text();
    assert_eq!(post(&cookie, &token).text(), "done");
    assert_eq!(post(&cookie, "wrong").status, 403);
    // No session, no forgery.
    assert_eq!(
        post(&format!("session={}", "A".repeat(43)), "").text(),
        "done"
    );
    assert_eq!(post("", "").text(), "done");
}

#[test]
fn no_secret_is_needed_and_what_is_no_store_is_refused() {
    let rig = Rig::with(&app("secret", ""), |settings| {
        settings.secret = None;
        settings.mode = Mode::Production;
    });
    assert_eq!(rig.get("/").text(), "{}");
    let error = Rig::refused("sessions kv: 'data/sessions'", |_| {});
    assert!(
        error.contains("kv: is a store, as KV.open answers it, not String"),
        "{error}"
    );
}
