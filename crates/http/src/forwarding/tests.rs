//! Who is taken for the client, by what proxies say and what clients have written before them.

use super::*;

const HOPS_MAX: usize = 64;

/// A request of this peer (`unix` is one on a UNIX socket) with these lines; what becomes of it, as `client scheme host`, or the error.
#[track_caller]
fn check(trusted: &[&str], peer: &str, lines: &[(&str, &str)], expected: &str) {
    let proxies = TrustedProxies::new(trusted.iter().map(|text| text.parse().unwrap()).collect());
    let mut headers = HeaderMap::new();
    headers.insert(HOST, HeaderValue::from_static("inner.example"));
    for (name, value) in lines {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    let own = RequestSource {
        client: match peer {
            "unix" => None,
            peer => Some(SocketAddr::new(peer.parse().unwrap(), 4711)),
        },
        scheme: RequestScheme::Http,
    };
    let found = match settle(&proxies, &mut headers, own, HOPS_MAX) {
        Ok(RequestSource { client, scheme }) => {
            let client = client.map_or("unix".to_owned(), |client| client.to_string());
            let host = headers[HOST].to_str().unwrap();
            format!("{client} {} {host}", scheme.name())
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected, "{trusted:?} {peer} {lines:?}");
}

const FOR: &str = "x-forwarded-for";
const PROTO: &str = "x-forwarded-proto";
const FORWARDED: &str = "forwarded";

#[test]
fn fields_of_an_untrusted_peer_are_not_believed() {
    let lines = [
        (FOR, "192.0.2.9"),
        (PROTO, "https"),
        ("x-forwarded-host", "evil.example"),
        (FORWARDED, "for=192.0.2.9;proto=https;host=evil.example"),
    ];
    for trusted in [&[][..], &["10.0.0.0/8"], &["unix", "loopback,forwarded"]] {
        check(
            trusted,
            "203.0.113.5",
            &lines,
            "203.0.113.5:4711 http inner.example",
        );
    }
    check(&["10.0.0.0/8"], "unix", &lines, "unix http inner.example");
}

#[test]
fn fields_that_the_operator_did_not_name_are_not_believed() {
    let lines = [
        (FOR, "192.0.2.9"),
        (PROTO, "https"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-port", "8443"),
        (FORWARDED, "for=192.0.2.8;host=evil.example"),
    ];
    check(
        &["10.0.0.0/8"],
        "10.0.0.1",
        &lines,
        "192.0.2.9:0 https inner.example",
    );
    check(
        &["10.0.0.0/8,for"],
        "10.0.0.1",
        &lines,
        "192.0.2.9:0 http inner.example",
    );
    check(
        &["10.0.0.0/8,proto"],
        "10.0.0.1",
        &lines,
        "10.0.0.1:4711 https inner.example",
    );
    check(
        &["10.0.0.0/8,forwarded"],
        "10.0.0.1",
        &lines,
        "192.0.2.8:0 http evil.example",
    );
    check(
        &["10.0.0.0/8,for,proto,host,port"],
        "10.0.0.1",
        &lines,
        "192.0.2.9:0 https evil.example:8443",
    );
}

#[test]
fn first_untrusted_address_from_the_right_is_the_client() {
    let check = |value: &str, expected: &str| {
        let trusted = ["10.0.0.0/8", "fd00::/8", "unix"];
        check(
            &trusted,
            "10.0.0.1",
            &[(FOR, value)],
            &format!("{expected} http inner.example"),
        );
    };
    check("192.0.2.9", "192.0.2.9:0");
    check("1.1.1.1, 192.0.2.9", "192.0.2.9:0");
    check("1.1.1.1, 192.0.2.9, 10.0.0.7", "192.0.2.9:0");
    check("1.1.1.1,192.0.2.9,fd00::7,10.0.0.7", "192.0.2.9:0");
    check("10.0.0.9, 10.0.0.7", "10.0.0.9:0");
    check("192.0.2.9:5000", "192.0.2.9:5000");
    check("[2001:db8::1]:5000", "[2001:db8::1]:5000");
    check("2001:db8::1", "[2001:db8::1]:0");
    check("::ffff:192.0.2.9", "192.0.2.9:0");
    check("unknown", "10.0.0.1:4711");
    check("1.1.1.1, unknown, 10.0.0.7", "10.0.0.7:0");
    check("", "10.0.0.1:4711");
    check("1.1.1.1,", "10.0.0.1:4711");
    check("1.1.1.1, 192.0.2.9\u{e9}", "10.0.0.1:4711");
}

#[test]
fn several_lines_of_a_field_are_one_list() {
    check(
        &["unix"],
        "unix",
        &[(FOR, "1.1.1.1"), (FOR, "192.0.2.9")],
        "192.0.2.9:0 http inner.example",
    );
    check(
        &["unix,forwarded"],
        "unix",
        &[
            (FORWARDED, "for=1.1.1.1"),
            (FORWARDED, "for=192.0.2.9;proto=https"),
        ],
        "192.0.2.9:0 https inner.example",
    );
}

#[test]
fn scheme_is_that_of_the_hop_of_the_client_or_of_all() {
    let check = |addresses: &str, schemes: &str, expected: &str| {
        let lines = [(FOR, addresses), (PROTO, schemes)];
        check(
            &["10.0.0.0/8"],
            "10.0.0.1",
            &lines,
            &format!("{expected} inner.example"),
        );
    };
    check("192.0.2.9", "https", "192.0.2.9:0 https");
    check("192.0.2.9", "HTTPS", "192.0.2.9:0 https");
    check("192.0.2.9", "wss", "192.0.2.9:0 https");
    check("192.0.2.9", "gopher", "192.0.2.9:0 http");
    check("192.0.2.9, 10.0.0.7", "https", "192.0.2.9:0 https");
    check("192.0.2.9, 10.0.0.7", "https, http", "192.0.2.9:0 https");
    check("1.1.1.1, 192.0.2.9", "https, http", "192.0.2.9:0 http");
}

#[test]
fn host_and_port_are_those_that_the_client_asked_for() {
    let check = |fields: &[(&str, &str)], expected: &str| {
        let trusted = ["unix,for,proto,host,port"];
        check(&trusted, "unix", fields, expected);
    };
    const HOST: &str = "x-forwarded-host";
    const PORT: &str = "x-forwarded-port";
    check(&[(HOST, "a.example")], "unix http a.example");
    check(&[(HOST, "a.example"), (PORT, "80")], "unix http a.example");
    check(
        &[(HOST, "a.example"), (PORT, "8080")],
        "unix http a.example:8080",
    );
    check(
        &[(HOST, "a.example:1"), (PORT, "8080")],
        "unix http a.example:1",
    );
    check(&[(HOST, "[::1]"), (PORT, "8080")], "unix http [::1]:8080");
    check(
        &[(PORT, "8443"), (PROTO, "https")],
        "unix https inner.example:8443",
    );
    check(
        &[(PORT, "443"), (PROTO, "https")],
        "unix https inner.example",
    );
    check(&[(PORT, "x")], "unix http inner.example");
    check(&[(PORT, "+80")], "unix http inner.example");
    for wrong in ["a b", "a/b", "user@a", "a.example:99999", ""] {
        check(
            &[(HOST, wrong)],
            "malformed host that a proxy has forwarded",
        );
    }
}

#[test]
fn forwarded_is_read_as_rfc_7239_writes_it() {
    let check = |value: &str, expected: &str| {
        check(
            &["10.0.0.0/8,forwarded"],
            "10.0.0.1",
            &[(FORWARDED, value)],
            expected,
        );
    };
    check("for=192.0.2.43", "192.0.2.43:0 http inner.example");
    check(
        "For=\"[2001:db8:cafe::17]:4711\"",
        "[2001:db8:cafe::17]:4711 http inner.example",
    );
    check(
        "for=192.0.2.60;proto=http;by=203.0.113.43",
        "192.0.2.60:0 http inner.example",
    );
    check(
        "for=1.1.1.1, for=192.0.2.60;Proto=https;Host=\"a.example\" , for=10.0.0.2;proto=http;host=b",
        "192.0.2.60:0 https a.example",
    );
    check("for=unknown", "10.0.0.1:4711 http inner.example");
    check(
        "for=_hidden, for=\"_SEVKISEK\"",
        "10.0.0.1:4711 http inner.example",
    );
    check("for=\"192.0.2.1:_p\"", "192.0.2.1:0 http inner.example");
    check("for=\"192\\.0.2.1\"", "192.0.2.1:0 http inner.example");
    check(",, for=192.0.2.1 ,;", "192.0.2.1:0 http inner.example");
    check("proto=https", "10.0.0.1:4711 https inner.example");
}

#[test]
fn forwarded_that_a_client_left_open_refuses_the_request() {
    for value in [
        // What a proxy appends stands inside of the client's quotes.
        "for=\"1.1.1.1, for=192.0.2.60",
        "for=\"1.1.1.1, for=\"[2001:db8::1]\"",
        "for=1.1.1.1;x=\", for=192.0.2.60;by=\"[::1]\"",
        "for=1.1.1.1;for=2.2.2.2",
        "for",
        "for 1.1.1.1",
        "=x",
        "for=\"x\"y",
        "for=a b",
        "for=\"x\\",
    ] {
        let lines = [(FORWARDED, value)];
        check(&["unix,forwarded"], "unix", &lines, "malformed Forwarded");
    }
}

#[test]
fn more_hops_than_the_limit_are_refused() {
    let max = HOPS_MAX;
    let refused = format!(
        "request is larger than forwarded_hops_max allows ({max}); send less or raise forwarded_hops_max"
    );
    for (count, expected) in [(max, "10.0.0.9:0 http inner.example"), (max + 1, &refused)] {
        let plain = vec!["10.0.0.9"; count].join(",");
        check(&["10.0.0.0/8"], "10.0.0.1", &[(FOR, &plain)], expected);
        let elements = vec!["for=10.0.0.9"; count].join(",");
        let lines = [(FORWARDED, elements.as_str())];
        check(&["10.0.0.0/8,forwarded"], "10.0.0.1", &lines, expected);
    }
}
