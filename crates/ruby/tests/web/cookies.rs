//! Cookies: what comes in, what goes out, what is signed.

use crate::rig::Rig;

/// The `Set-Cookie` headers of a handler's `line`.
fn check(line: &str, expected: &[&str]) {
    let rig = Rig::serve(&format!("get('/') {{ {line}; status 204 }}"));
    let answer = rig.get("/");
    assert_eq!(answer.status, 204, "{line}: {}", answer.text());
    assert_eq!(answer.all("set-cookie"), expected, "{line}");
}

#[test]
fn cookie_is_set_with_careful_defaults() {
    check(
        "cookies[:a] = 'x'",
        &["a=x; Path=/; HttpOnly; SameSite=Lax"],
    );
    let rig = Rig::with("get('/') { cookies[:a] = 1; status 204 }", |settings| {
        settings.mode = tsumugi_ruby::Mode::Production;
    });
    assert_eq!(
        rig.get("/").all("set-cookie"),
        ["a=1; Path=/; Secure; HttpOnly; SameSite=Lax"]
    );
}

#[test]
fn every_attribute_can_be_chosen() {
    check(
        "cookies.set :a, 'x', path: '/p', domain: 'example.org', max_age: 60, expires: Time.at(784111777), secure: true, \
         http_only: false, same_site: :none",
        &[
            "a=x; Path=/p; Domain=example.org; Max-Age=60; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Secure; SameSite=None",
        ],
    );
}

#[test]
fn several_cookies_are_several_headers_and_the_last_of_a_name_counts() {
    check(
        "cookies[:a] = 1; cookies[:b] = 2; cookies[:a] = 3",
        &[
            "b=2; Path=/; HttpOnly; SameSite=Lax",
            "a=3; Path=/; HttpOnly; SameSite=Lax",
        ],
    );
    check(
        "cookies[:a] = 1; cookies.set :a, 2, path: '/p'; cookies.delete :a",
        &[
            "a=2; Path=/p; HttpOnly; SameSite=Lax",
            "a=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax",
        ],
    );
}

#[test]
fn value_that_no_cookie_can_hold_comes_back_as_it_was() {
    let app = "get('/set') { cookies[:a] = \"日 本;%\\r\\nx\"; status 204 }\nget('/') { cookies[:a] + cookies['b'].to_s }";
    let rig = Rig::serve(app);
    let cookie = rig.get("/set").cookie("a").unwrap();
    assert_eq!(cookie, "a=%E6%97%A5%20%E6%9C%AC%3B%25%0D%0Ax");
    let answer = rig.send("GET", "/", &[&format!("cookie: {cookie}; b=50%")], b"");
    assert_eq!(answer.text(), "日 本;%\r\nx50%");
}

#[test]
fn cookie_is_read_once_set_and_gone_once_deleted() {
    let app = "get('/') { was = cookies[:a]; cookies[:a] = 2; now = cookies[:a]; gone = cookies.delete(:a); [was, now, gone, cookies[:a], cookies.key?(:b)] }";
    let rig = Rig::serve(app);
    let answer = rig.send("GET", "/", &["cookie: a=1; b="], b"");
    assert_eq!(answer.text(), "[\"1\",\"2\",\"2\",null,true]");
}

#[test]
fn name_or_attribute_cannot_smuggle_in_another() {
    for line in [
        "cookies['a; b'] = 1",
        "cookies[\"a\\r\\nx: y\"] = 1",
        "cookies.set :a, 1, path: '/; Secure'",
        "cookies.set :a, 1, domain: \"x\\r\\ny: z\"",
        "cookies.set :a, 1, same_site: :none",
        "cookies.set :a, 1, same_site: :sometimes",
        "cookies.set :a, 'x' * 4096",
    ] {
        let rig = Rig::serve(&format!("get('/') {{ {line}; 'set' }}"));
        let answer = rig.get("/");
        assert_eq!(answer.status, 500, "{line}");
        assert!(
            answer.text().contains("ArgumentError"),
            "{line}: {}",
            answer.text()
        );
        assert_eq!(answer.all("set-cookie"), [""; 0], "{line}");
    }
}

#[test]
fn signed_cookie_cannot_be_changed_or_used_under_another_name() {
    let app = "get('/set') { cookies.signed[:id] = 7; status 204 }
get('/') { [cookies.signed[:id], cookies.signed[:other]] }
get('/old') { cookies.signed.set :id, 7, expires: Time.at(1_000); status 204 }
get('/oldest') { cookies.signed.set :id, 7, expires: Time.at(0); status 204 }";
    let rig = Rig::serve(app);
    let read = |cookie: &str| {
        rig.send("GET", "/", &[&format!("cookie: {cookie}")], b"")
            .text()
    };
    let cookie = rig.get("/set").cookie("id").unwrap();
    assert_eq!(read(&cookie), "[\"7\",null]");
    assert_eq!(read(&cookie.replace("id=", "other=")), "[null,null]");
    assert_eq!(read(&cookie.replace("v1.0", "v1.9")), "[null,null]");
    assert_eq!(read("id=7"), "[null,null]");
    for path in ["/old", "/oldest"] {
        let old = rig.get(path).cookie("id").unwrap();
        assert_eq!(read(&old), "[null,null]", "{path}");
    }
}

#[test]
fn header_can_have_several_values_and_no_line_break() {
    let app = "get('/') { header 'x-a', ['1', '2']; header 'x-a', '3', add: true; status 204 }
get('/go') { redirect \"/x\\r\\nset-cookie: a=b\" }";
    let rig = Rig::serve(app);
    assert_eq!(rig.get("/").all("x-a"), ["1", "2", "3"]);
    let answer = rig.get("/go");
    assert_eq!(answer.status, 500);
    assert_eq!(answer.cookie("a"), None);
}

#[test]
fn redirect_escapes_what_no_location_may_have() {
    let app = "get('/far') { redirect 'https://a.org/日本 x?y=%20' }
get('/made') { json 1, status: 201, location: '/日' }
get('/tab') { redirect \"/a\\tb\" }";
    let rig = Rig::serve(app);
    let location = |path: &str| rig.get(path).all("location").concat();
    assert_eq!(
        location("/far"),
        "https://a.org/%E6%97%A5%E6%9C%AC%20x?y=%20"
    );
    assert_eq!(location("/made"), "/%E6%97%A5");
    assert_eq!(rig.get("/tab").status, 500);
}

#[test]
fn cookies_in_several_fields_are_one_header() {
    let app = "get('/') { [headers['cookie'], headers.to_h['cookie'], headers['x-a'], headers.to_h['x-a'], cookies.to_h] }";
    let rig = Rig::serve(app);
    let fields = ["cookie: a=1", "cookie: b=2", "x-a: 1", "x-a: 2"];
    assert_eq!(
        rig.send("GET", "/", &fields, b"").text(),
        "[\"a=1; b=2\",\"a=1; b=2\",\"1, 2\",\"1, 2\",{\"a\":\"1\",\"b\":\"2\"}]"
    );
}
