//! Which host a request on HTTP/1 is for, and which requests are refused for it.

mod rig;

use http::StatusCode;
use rig::{Rig, rig};
use tsumugi_http::{HttpResponse, Request};

/// Answers with the host as a handler finds it, and the path.
async fn host(request: Request) -> HttpResponse {
    let hosts: Vec<_> = request.headers.get_all("host").iter().collect();
    let text = format!("{hosts:?} {}", request.uri.path());
    HttpResponse::text(StatusCode::OK, text)
}

#[test]
fn request_without_one_valid_host_is_400_and_the_connection_closes() {
    rig(host).run(async |rig: &Rig| {
        for request in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET http://user@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET https://:443/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: :80\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: [::1]:99999\r\n\r\n",
            "GET http://a:99999/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a:65536/ HTTP/1.1\r\nHost: a:65536\r\n\r\n",
            "CONNECT a:99999 HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET gopher://a HTTP/1.1\r\nHost: a\r\n\r\n",
            "OPTIONS ws://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        ] {
            // What follows is never a request.
            let follows = "GET /next HTTP/1.1\r\nHost: x\r\n\r\n";
            let answer = rig.ask_to_end(&format!("{request}{follows}")).await;
            assert!(
                answer.starts_with("HTTP/1.1 400 ") || answer.starts_with("HTTP/1.0 400 "),
                "{request:?}: {answer}"
            );
            assert_eq!(
                answer.matches("HTTP/1.").count(),
                1,
                "{request:?}: {answer}"
            );
            assert!(
                answer.contains("\r\n\r\nmalformed "),
                "{request:?}: {answer}"
            );
        }
        let refused = rig.finished();
        assert!(
            refused.iter().all(|(status, ..)| *status == 400),
            "{refused:?}"
        );
    });
}

#[test]
fn host_of_an_absolute_target_replaces_the_field() {
    rig(host).run(async |rig: &Rig| {
        for (request, expected) in [
            (
                "GET http://a.example:81/x HTTP/1.1\r\nHost: b\r\n\r\n",
                r#"["a.example:81"] /x"#,
            ),
            (
                "GET HTTPS://a.example/x HTTP/1.1\r\nHost: b\r\n\r\n",
                r#"["a.example"] /x"#,
            ),
            (
                "GET http://a.example HTTP/1.1\r\nHost: b\r\n\r\n",
                r#"["a.example"] /"#,
            ),
            (
                "GET http://a.example/x HTTP/1.0\r\n\r\n",
                r#"["a.example"] /x"#,
            ),
            ("GET / HTTP/1.1\r\nHost: b:80\r\n\r\n", r#"["b:80"] /"#),
            (
                "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
                r#"["[::1]:80"] /"#,
            ),
            ("GET / HTTP/1.1\r\nHost:\r\n\r\n", r#"[""] /"#),
            ("GET / HTTP/1.0\r\n\r\n", "[] /"),
        ] {
            let answer = rig.ask(request).await;
            assert!(answer.ends_with(expected), "{request:?}: {answer}");
        }
    });
}
