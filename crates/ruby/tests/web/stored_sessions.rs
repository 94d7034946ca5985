//! Sessions that a key-value store keeps: the client has an id and nothing else.

use crate::rig::{Answer, Rig};
use tsumugi_ruby::Mode;

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
fn cookie_is_an_id_and_the_store_has_the_rest() {
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
fn id_that_the_store_does_not_know_is_not_taken_up() {
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
fn renewed_session_has_another_id_and_the_old_one_is_void() {
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
fn signed_session_can_be_renewed_too() {
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
fn session_expires_in_the_store() {
    let rig = Rig::serve(&app("expiring", ", max_age: 3"));
    let cookie = rig.get("/in").cookie("session").unwrap();
    assert_eq!(
        with(&rig, "/", &cookie).text(),
        "{\"user_id\":1,\"name\":\"日本\"}"
    );
    std::thread::sleep(std::time::Duration::from_millis(3_300));
    assert_eq!(with(&rig, "/", &cookie).text(), "{}");
    assert_eq!(rig.get("/records").text(), "[]");
}

/// What handlers do in whose middle other requests are answered.
const SLOW: &str = "
  plugin(:gate) { KV.open 'memory:gate-STORE' }
  def gated
    gate['there'] = '1'
    sleep 0.001 until gate.key?('open')
  end
  get('/there') { gate.key?('there') }
  get('/open') { gate['open'] = '1'; status 204 }
  get('/other') { session[:other] = 1; session.delete(:name); status 204 }
  get('/slow/write') { session[:early] = 1; gated; session[:late] = 2; csrf_token; session.to_h }
  get('/slow/delete') { session.to_h; gated; session.delete(:user_id); session.to_h }
  get('/slow/renew') { session.to_h; gated; session.renew; session[:admin] = true; session.to_h }
  get('/slow/login') { session.to_h; gated; session.clear; session[:admin] = true; session.to_h }
";

/// Sends a request with the cookie of a session, asks for `meanwhile` in its middle, and answers both and the cookie.
fn overlapped(rig: &Rig, slow: &str, meanwhile: &str) -> (Answer, Answer, String) {
    let cookie = rig.get("/in").cookie("session").unwrap();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| with(rig, slow, &cookie));
        while rig.get("/there").text() != "true" {
            std::thread::yield_now();
        }
        let meanwhile = with(rig, meanwhile, &cookie);
        assert_eq!(rig.get("/open").status, 204);
        (slow.join().unwrap(), meanwhile, cookie.clone())
    })
}

fn serve_slow(store: &str) -> Rig {
    Rig::serve(&format!(
        "{}{}",
        app(store, ""),
        SLOW.replace("STORE", store)
    ))
}

#[test]
fn session_that_was_ended_does_not_come_back() {
    for slow in ["write", "delete", "renew"] {
        let rig = serve_slow(&format!("ended-{slow}"));
        let (answer, _, cookie) = overlapped(&rig, &format!("/slow/{slow}"), "/out");
        assert_eq!(answer.status, 200, "{slow}");
        assert_eq!(with(&rig, "/", &cookie).text(), "{}", "{slow}");
        // One that is renewed begins anew, with nothing from before.
        let records = match slow {
            "renew" => r#"[[51,"{\"admin\":true}"]]"#,
            _ => "[]",
        };
        assert_eq!(rig.get("/records").text(), records, "{slow}");
        assert_eq!(answer.cookie("session").is_some(), slow == "renew");
    }
}

#[test]
fn session_that_was_renewed_has_no_second_life_under_its_old_id() {
    let rig = serve_slow("renewed-meanwhile");
    let (answer, renewed, cookie) = overlapped(&rig, "/slow/write", "/renew");
    // What the request wrote after that is its own, and the client keeps the new cookie.
    assert_eq!(answer.text(), r#"{"late":2}"#);
    assert_eq!(answer.cookie("session"), None);
    assert_eq!(with(&rig, "/", &cookie).text(), "{}");
    let renewed = renewed.cookie("session").unwrap();
    assert_eq!(
        with(&rig, "/", &renewed).text(),
        r#"{"user_id":1,"name":"日本","early":1,"admin":true}"#
    );
}

#[test]
fn requests_that_overlap_change_their_own_keys() {
    for (slow, expected) in [
        ("write", r#"{"user_id":1,"early":1,"other":1,"late":2}"#),
        ("delete", r#"{"other":1}"#),
        ("renew", r#"{"user_id":1,"other":1,"admin":true}"#),
        ("login", r#"{"admin":true}"#),
    ] {
        let rig = serve_slow(&format!("two-{slow}"));
        let (answer, _, cookie) = overlapped(&rig, &format!("/slow/{slow}"), "/other");
        assert_eq!(answer.text(), expected, "{slow}");
        let cookie = answer.cookie("session").unwrap_or(cookie);
        assert_eq!(with(&rig, "/", &cookie).text(), expected, "{slow}");
        let count = rig.get("/records").text().matches("[51,").count();
        assert_eq!(count, 1, "{slow}");
    }
}

#[test]
fn session_that_others_change_at_each_try_is_answered_503_with_retry_after() {
    let rig = Rig::serve(
        "plugin(:kv) { KV.open \"#{Tsumugi.data_dir}/sessions\" }
         sessions kv: kv
         get('/in') { session[:n] = 0; status 204 }
         get('/contended') do
           key = kv.scan(prefix: 'session:').map { |key, _| key }.first
           n = 0
           others = -> { loop { kv[key] = JSON.generate({ n: n += 1 }) } }
           parallel(*([others] * 16), -> { loop { session[:late] = n } })
         end",
    );
    let cookie = rig.get("/in").cookie("session").unwrap();
    let answer = with(&rig, "/contended", &cookie);
    assert_eq!(
        answer.text(),
        "other requests change this session all the time: try again\n"
    );
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), Some("1"));
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
