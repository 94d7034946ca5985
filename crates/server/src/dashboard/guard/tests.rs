//! Requests of every kind, and what becomes of them. Opens no socket.

use http::{HeaderName, HeaderValue};

use super::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn headers(lines: &str) -> HeaderMap {
    let pairs = lines
        .split('|')
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let pairs = pairs.map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        let name: HeaderName = name.to_ascii_lowercase().parse().unwrap();
        (name, HeaderValue::from_str(value.trim()).unwrap())
    });
    pairs.collect()
}

fn status(guard: &AccessGuard, address: &str, access: Access, lines: &str) -> u16 {
    let address = (address != "unix").then(|| address.parse().unwrap());
    match guard.check(&headers(lines), address, access) {
        Ok(()) => 200,
        Err(error) => error.status.as_u16(),
    }
}

#[test]
fn request_on_loopback_is_answered_to_own_names_alone() {
    let guard = AccessGuard::default();
    for (host, expected) in [
        ("127.0.0.1:9090", 200),
        ("127.0.0.1", 200),
        ("localhost:9090", 200),
        ("LOCALHOST", 200),
        ("[::1]:9090", 200),
        ("127.9.9.9:1", 200),
        ("evil.example:9090", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example:9090", 403),
        ("192.168.1.1:9090", 403),
        ("", 403),
    ] {
        for access in [Access::Page, Access::Data] {
            let found = status(&guard, "127.0.0.1:9090", access, &format!("Host: {host}"));
            assert_eq!(found, expected, "{host} {access:?}");
        }
    }
    assert_eq!(status(&guard, "127.0.0.1:9090", Access::Data, ""), 403);
    assert_eq!(
        status(&guard, "unix", Access::Data, "Host: anything.example"),
        200
    );
}

#[test]
fn page_of_another_site_is_refused() {
    let guard = AccessGuard::default();
    let host = "Host: localhost:9090";
    for (lines, page, data) in [
        ("Origin: http://localhost:9090", 200, 200),
        ("Origin: http://localhost:8080", 403, 403),
        ("Origin: http://evil.example", 403, 403),
        ("Origin: null", 403, 403),
        ("Sec-Fetch-Site: same-origin", 200, 200),
        ("Sec-Fetch-Site: none", 200, 200),
        // A link on a page of others may lead here.
        ("Sec-Fetch-Site: cross-site", 200, 403),
        ("Sec-Fetch-Site: same-site", 200, 403),
    ] {
        for (access, expected) in [(Access::Page, page), (Access::Data, data)] {
            for address in ["127.0.0.1:9090", "unix"] {
                let found = status(&guard, address, access, &format!("{host}|{lines}"));
                assert_eq!(found, expected, "{lines} {access:?} {address}");
            }
        }
    }
}

#[test]
fn action_needs_its_header_and_json() {
    let guard = AccessGuard::default();
    let host = "Host: localhost";
    for (lines, expected) in [
        ("X-Tsumugi-Action: 1|Content-Type: application/json", 200),
        (
            "X-Tsumugi-Action: 1|Content-Type: application/json; charset=utf-8",
            200,
        ),
        ("X-Tsumugi-Action: 1|Content-Type: text/plain", 415),
        ("X-Tsumugi-Action: 1", 415),
        ("X-Tsumugi-Action: 0|Content-Type: application/json", 403),
        ("Content-Type: application/json", 403),
    ] {
        for access in [Access::Action, Access::Login] {
            for address in ["127.0.0.1:9090", "unix"] {
                let found = status(&guard, address, access, &format!("{host}|{lines}"));
                assert_eq!(found, expected, "{lines} {access:?} {address}");
            }
        }
    }
}

#[test]
fn address_that_others_can_reach_needs_a_token() {
    let open = AccessGuard::default();
    let host = "Host: 192.0.2.7:9090";
    for access in [Access::Page, Access::Data, Access::Login] {
        assert_eq!(
            status(&open, "192.0.2.7:9090", access, host),
            403,
            "{access:?}"
        );
    }
    let guard = AccessGuard::new(Some(AdminToken::new(TOKEN).unwrap()));
    let session = guard.login(TOKEN).unwrap().unwrap();
    for address in ["192.0.2.7:9090", "0.0.0.0:9090", "127.0.0.1:9090"] {
        let host = match address {
            "127.0.0.1:9090" => "Host: localhost",
            _ => host,
        };
        for (lines, expected) in [
            (String::new(), 401),
            (format!("Authorization: Bearer {TOKEN}"), 200),
            (format!("Authorization: bearer {TOKEN}"), 200),
            (format!("Authorization: Basic {TOKEN}"), 401),
            ("Authorization: Bearer wrong".to_owned(), 401),
            (format!("Cookie: a=b; {COOKIE_NAME}={session}"), 200),
            (format!("Cookie: {COOKIE_NAME}=1.{TOKEN}"), 401),
            (format!("Cookie: {COOKIE_NAME}={TOKEN}"), 401),
            (
                format!("Cookie: {COOKIE_NAME}={session}|Host: evil.example"),
                403,
            ),
        ] {
            let lines = match lines.contains("Host") {
                true => lines,
                false => format!("{host}|{lines}"),
            };
            assert_eq!(
                status(&guard, address, Access::Data, &lines),
                expected,
                "{address} {lines}"
            );
        }
        assert_eq!(
            status(&guard, address, Access::Page, host),
            200,
            "{address}"
        );
    }
    assert_eq!(status(&guard, "unix", Access::Data, ""), 200);
}

#[test]
fn one_wrong_token_more_than_the_limit_is_told_to_wait_and_the_right_one_is_taken() {
    let guard = AccessGuard::new(Some(AdminToken::new(TOKEN).unwrap()));
    let session = guard.login(TOKEN).unwrap().unwrap();
    for _ in 0..DASHBOARD_LOGIN_FAILURES_MAX {
        assert_eq!(
            guard.login("wrong").unwrap_err().status,
            StatusCode::UNAUTHORIZED
        );
    }
    let refused = guard.login("wrong").unwrap_err();
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(
        refused.text.contains("dashboard_login_failures_max"),
        "{}",
        refused.text
    );
    let lines = "Host: localhost|Authorization: Bearer wrong";
    assert_eq!(status(&guard, "127.0.0.1:1", Access::Data, lines), 429);
    // Who sends wrong ones keeps nobody else out.
    assert!(guard.login(TOKEN).is_ok());
    let lines = format!("Host: localhost|Authorization: Bearer {TOKEN}");
    assert_eq!(status(&guard, "127.0.0.1:1", Access::Data, &lines), 200);
    let lines = format!("Host: localhost|Cookie: {COOKIE_NAME}={session}");
    assert_eq!(status(&guard, "127.0.0.1:1", Access::Data, &lines), 200);
}

#[test]
fn wrong_tokens_are_forgotten_after_a_minute() {
    let failures = LoginFailures::default();
    let begin = Instant::now();
    for _ in 0..DASHBOARD_LOGIN_FAILURES_MAX {
        failures.add(begin);
    }
    assert!(!failures.may_try(begin + LOGIN_WINDOW - Duration::from_millis(1)));
    assert!(failures.may_try(begin + LOGIN_WINDOW));
}
