//! The HTTP client of handlers, against servers that answer what a test says, well or badly.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tsumugi_testkit::tls_server_that_answers;

use crate::rig::Rig;
use crate::upstream::{After, Upstream, ok};

/// What `line` gives as JSON, with `URL` standing for the upstream's.
fn check(upstream: &Upstream, line: &str, expected: &str) {
    let line = line.replace("URL", &upstream.url());
    let rig = Rig::serve(&format!("get('/') {{ {line} }}"));
    assert_eq!(rig.get("/").text(), expected, "{line}");
}

/// The class that `line` raises.
fn check_error(upstream: &Upstream, line: &str, expected: &str) {
    let line = format!(
        "begin; {line}; 'nothing raised'; rescue HTTP::Error => e; e.class.to_s + ' ' + e.message; end"
    );
    let line = line.replace("URL", &upstream.url());
    let rig = Rig::serve(&format!("get('/') {{ {line} }}"));
    let text = rig.get("/").text();
    assert!(
        text.starts_with(expected),
        "{line}: {text}: {:?}",
        upstream.last()
    );
}

#[test]
fn response_has_status_headers_and_body() {
    let upstream = Upstream::new(|_| {
        let text = "HTTP/1.1 201 Created\r\nX-A: 1\r\nx-a: 2\r\ncontent-length: 7\r\n\r\n[1,2.5]";
        (text.to_owned(), After::Stay)
    });
    check(
        &upstream,
        "r = http.get('URL/x'); [r.json, r.status, r.ok?, r.headers[:x_a], r.headers.all('X-A'), r.body, r.url == 'URL/x', r['none']]",
        r#"[[1,2.5],201,true,"1, 2",["1","2"],"[1,2.5]",true,null]"#,
    );
    let request = upstream.last();
    assert!(request.starts_with("GET /x HTTP/1.1\r\n"), "{request}");
    assert!(
        request.contains(&format!("host: {}\r\n", upstream.address)),
        "{request}"
    );
    assert!(!request.contains("content-length"), "{request}");
}

#[test]
fn bodies_and_queries_are_encoded() {
    let upstream = Upstream::saying("ok");
    check(
        &upstream,
        "http.post('URL/?z=0', query: {q: 'a b', r: [1, 2]}, form: {'名': 'x&y'}).text",
        "ok",
    );
    let request = upstream.last();
    assert!(
        request.starts_with("POST /?z=0&q=a+b&r=1&r=2 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("content-type: application/x-www-form-urlencoded\r\n"),
        "{request}"
    );
    assert!(request.ends_with("\r\n\r\n%E5%90%8D=x%26y"), "{request}");
    check(
        &upstream,
        "http.put('URL', json: {a: [1, nil]}, headers: {'x-b': 'c', accept: %w[d e]}).text",
        "ok",
    );
    let request = upstream.last();
    assert!(
        request.contains("x-b: c\r\naccept: d\r\naccept: e\r\ncontent-type: application/json\r\n"),
        "{request}"
    );
    assert!(request.ends_with("\r\n\r\n{\"a\":[1,null]}"), "{request}");
    check(&upstream, "http.patch('URL', json: nil).text", "ok");
    assert!(upstream.last().ends_with("\r\n\r\nnull"));
    check(&upstream, "http.delete('URL', body: 'raw').text", "ok");
    assert!(upstream.last().ends_with("\r\n\r\nraw"));
    check(&upstream, "http.post('URL').text", "ok");
    assert!(upstream.last().contains("content-length: 0\r\n"));
}

#[test]
fn misuse_is_an_argument_error_before_anything_is_sent() {
    let upstream = Upstream::saying("ok");
    for line in [
        "http.get('URL', headers: {'a' => \"x\\r\\ny: z\"})",
        "http.get('URL', headers: {\"a b\" => 'x'})",
        "http.get('URL', timeout: 0)",
        "http.get('URL', timeout: -1)",
        "http.get('URL', time: 1)",
        "http.post('URL', json: {}, body: '')",
        "http.request(\"GET /x HTTP/1.1\\r\\n\", 'URL')",
    ] {
        check(
            &upstream,
            &format!("begin; {line}; rescue ArgumentError => e; 'refused'; end"),
            "refused",
        );
    }
    assert_eq!(upstream.connections(), 0);
    check_error(&upstream, "http.get('/x')", "HTTP::InvalidURL");
    check_error(
        &upstream,
        "http.get(\"URL/\\r\\nx: y\")",
        "HTTP::InvalidURL",
    );
    check_error(
        &upstream,
        "http.get('file:///etc/passwd')",
        "HTTP::InvalidURL",
    );
}

#[test]
fn headers_of_framing_are_not_the_callers() {
    let upstream = Upstream::saying("ok");
    check(
        &upstream,
        "http.post('URL', body: 'abc', headers: {'content-length' => '1', 'transfer-encoding' => 'chunked', 'connection' => 'close'}).text",
        "ok",
    );
    let request = upstream.last();
    assert!(request.contains("content-length: 3\r\n"), "{request}");
    assert!(
        !request.contains("chunked") && !request.contains("close"),
        "{request}"
    );
}

#[test]
fn redirects_are_followed_to_a_limit() {
    let upstream = Upstream::new(|request| {
        let text = match request.split(' ').nth(1).unwrap() {
            "/a" => "HTTP/1.1 302 Found\r\nlocation: b?c\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "/keep" => {
                "HTTP/1.1 307 Temporary Redirect\r\nlocation: /end\r\ncontent-length: 0\r\n\r\n"
                    .to_owned()
            }
            "/loop" => {
                "HTTP/1.1 301 Moved\r\nlocation: /loop\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            "/bad" => "HTTP/1.1 301 Moved\r\nlocation: javascript:x\r\ncontent-length: 0\r\n\r\n"
                .to_owned(),
            path => ok(&format!("{} {path}", request.split(' ').next().unwrap())),
        };
        (text, After::Stay)
    });
    check(
        &upstream,
        "r = http.post('URL/a', form: {x: 1}); [r.text, r.url]",
        &format!(r#"["GET /b?c","{}/b?c"]"#, upstream.url()),
    );
    assert!(!upstream.last().contains("content-type"));
    check(
        &upstream,
        "http.put('URL/keep', body: 'x').text",
        "PUT /end",
    );
    check(&upstream, "http.get('URL/a', redirects: 0).status", "302");
    check_error(
        &upstream,
        "http.get('URL/loop', redirects: 3)",
        "HTTP::TooManyRedirects",
    );
    check_error(&upstream, "http.get('URL/bad')", "HTTP::InvalidURL");
}

#[test]
fn credentials_do_not_follow_a_redirect_to_another_host() {
    let other = Upstream::saying("other");
    let url = other.url();
    let upstream = Upstream::new(move |_| {
        let text = format!("HTTP/1.1 302 Found\r\nlocation: {url}/\r\ncontent-length: 0\r\n\r\n");
        (text, After::Stay)
    });
    let line = "http.get('URL', headers: {authorization: 'Bearer x', cookie: 'a=b', 'x-kept' => '1'}).text";
    check(&upstream, line, "other");
    assert!(upstream.last().contains("Bearer x"));
    let request = other.last();
    assert!(request.contains("x-kept: 1"), "{request}");
    assert!(
        !request.contains("Bearer") && !request.contains("cookie"),
        "{request}"
    );
    let line = format!("http.get('http://user:pass@{}').text", upstream.address);
    check(&upstream, &line, "other");
    assert!(
        upstream
            .last()
            .contains("authorization: Basic dXNlcjpwYXNz")
    );
    assert!(!other.last().contains("authorization"));
}

#[test]
fn slow_server_is_a_timeout_and_others_answer_meanwhile() {
    let upstream = Upstream::new(|_| {
        #[expect(
            clippy::disallowed_methods,
            reason = "this thread serves one connection"
        )]
        std::thread::sleep(Duration::from_secs(5));
        (ok("late"), After::Close)
    });
    check_error(&upstream, "http.get('URL', timeout: 0.2)", "HTTP::Timeout");
    let trickle = Upstream::new(|_| {
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_owned(),
            After::Stay,
        )
    });
    check_error(&trickle, "http.get('URL', timeout: 0.2)", "HTTP::Timeout");
}

#[test]
fn refused_connection_is_a_failed_connection() {
    let upstream = Upstream::absent();
    check_error(&upstream, "http.get('URL')", "HTTP::ConnectionFailed");
    check_error(
        &upstream,
        "http.get('http://no-such-host.invalid/')",
        "HTTP::ConnectionFailed",
    );
    let line = format!("http.get('http://user:geheim@{}/')", upstream.address);
    let rig = Rig::serve(&format!(
        "get('/') {{ begin; {line}; rescue HTTP::Error => e; e.message; end }}"
    ));
    assert!(!rig.get("/").text().contains("geheim"));
}

#[test]
fn answer_beyond_the_limit_is_not_taken() {
    let upstream = Upstream::saying("12345678901");
    check_error(
        &upstream,
        "http.get('URL', max_bytes: 10)",
        "HTTP::TooLarge",
    );
    check(
        &upstream,
        "http.get('URL', max_bytes: 11).text",
        "12345678901",
    );
    let endless = Upstream::new(|_| {
        let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
        (
            format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}",
                chunk.repeat(10)
            ),
            After::Stay,
        )
    });
    check_error(
        &endless,
        "http.get('URL', max_bytes: 30000)",
        "HTTP::TooLarge",
    );
}

#[test]
fn protocol_violation_has_an_error_of_its_own() {
    for text in [
        "nonsense\r\n\r\n",
        "",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
    ] {
        let upstream = Upstream::new(move |_| (text.to_owned(), After::Close));
        check_error(&upstream, "http.get('URL')", "HTTP::ProtocolError");
    }
    let huge = Upstream::new(|_| {
        (
            format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(100_000)),
            After::Close,
        )
    });
    check_error(&huge, "http.get('URL')", "HTTP::ProtocolError");
}

#[test]
fn call_of_a_cancelled_request_is_given_up() {
    let (sender, gone) = std::sync::mpsc::channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut piece = [0; 4096];
        assert!(stream.read(&mut piece).unwrap() > 0);
        sender.send("asked").unwrap();
        // Ends when the caller closes, with or without an error.
        while stream.read(&mut piece).is_ok_and(|read| read > 0) {}
        sender.send("closed").unwrap();
    });
    let rig = Rig::serve(&format!(
        "get('/') {{ http.get('http://{address}', timeout: 20).text }}\nget('/ok') {{ 'ok' }}"
    ));
    let limit = Duration::from_secs(10);
    let mut stream = rig.connect();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    assert_eq!(gone.recv_timeout(limit), Ok("asked"));
    drop(stream);
    assert_eq!(gone.recv_timeout(limit), Ok("closed"));
    assert_eq!(rig.get("/ok").text(), "ok");
}

#[test]
fn application_can_call_itself() {
    let rig = Rig::serve(
        "get('/a') { http.get(\"http://#{headers['host']}/b\").text + '!' }\nget('/b') { sleep 0.01; 'b' }",
    );
    let head = format!(
        "GET /a HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        rig.address()
    );
    assert_eq!(rig.raw(head.as_bytes()).text(), "b!");
}

/// An upstream behind TLS, and the file of its certificate.
fn secure(
    directory: &std::path::Path,
    name: &str,
    answer: String,
) -> (SocketAddr, std::path::PathBuf) {
    let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    secure_by(directory, params, answer)
}

/// The same by any certificate that signs itself.
fn secure_by(
    directory: &std::path::Path,
    params: rcgen::CertificateParams,
    answer: String,
) -> (SocketAddr, std::path::PathBuf) {
    let signing_key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&signing_key).unwrap();
    let (file, key) = (directory.join("trusted.pem"), directory.join("key.pem"));
    std::fs::write(&file, certificate.pem()).unwrap();
    std::fs::write(&key, signing_key.serialize_pem()).unwrap();
    (tls_server_that_answers(&file, &key, answer), file)
}

#[test]
fn tls_is_spoken_and_certificates_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    let (address, file) = secure(directory.path(), "localhost", ok("secret"));
    let port = address.port();
    let app = format!(
        "get('/good') {{ http.get('https://localhost:{port}/').text }}
get('/name') {{ begin; http.get('https://127.0.0.1:{port}/').text; rescue HTTP::ConnectionFailed => e; 'wrong name'; end }}"
    );
    let trusting = Rig::with(&app, |settings| settings.certificates = Some(file));
    assert_eq!(trusting.get("/good").text(), "secret");
    assert_eq!(trusting.get("/name").text(), "wrong name");
    let (_, other) = secure(
        tempfile::tempdir().unwrap().keep().as_path(),
        "localhost",
        String::new(),
    );
    let wary = Rig::with(&app, |settings| settings.certificates = Some(other));
    let answer = wary.get("/good");
    assert!(
        answer.status == 500 && answer.text().contains("ConnectionFailed"),
        "{}",
        answer.text()
    );
}

#[test]
fn certificate_out_of_its_dates_is_refused_though_it_is_trusted() {
    for (from, to, expected) in [
        (1990, 4000, "secret"),
        (1990, 2020, "certificate expired"),
        (3000, 4000, "certificate not valid yet"),
    ] {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(to, 1, 1);
        let directory = tempfile::tempdir().unwrap();
        let (address, file) = secure_by(directory.path(), params, ok("secret"));
        let app = format!(
            "get('/') {{ begin; http.get('https://localhost:{}/').text; rescue HTTP::ConnectionFailed => e; e.message; end }}",
            address.port()
        );
        let rig = Rig::with(&app, |settings| settings.certificates = Some(file));
        let answer = rig.get("/");
        assert!(answer.text().contains(expected), "{}", answer.text());
    }
}

#[test]
fn redirect_from_https_to_http_is_not_followed() {
    let plain = Upstream::saying("plain");
    let directory = tempfile::tempdir().unwrap();
    let answer = format!(
        "HTTP/1.1 302 Found\r\nlocation: {}/\r\ncontent-length: 0\r\n\r\n",
        plain.url()
    );
    let (address, file) = secure(directory.path(), "localhost", answer);
    let app = format!(
        "get('/') {{ http.get('https://localhost:{}/').text }}",
        address.port()
    );
    let rig = Rig::with(&app, |settings| settings.certificates = Some(file));
    assert!(rig.get("/").text().contains("InsecureRedirect"));
    assert_eq!(plain.connections(), 0);
}
