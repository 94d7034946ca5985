//! A real nginx and a real HAProxy in front of the server: who the application takes for its client, with which scheme and host, over IPv4, IPv6 and UNIX
//! sockets. What clients write into the same header fields is not believed, nor is anybody else.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use tsumugi_testkit::FrontProxy;

use crate::rig::{Answer, PATIENCE, Served, ask, folder, request, serve, until};
use crate::tls::{certify, tls};

const APP: &[u8] =
    b"get('/') { \"#{request.ip.inspect} #{request.scheme} #{request.host} #{request.base_url}\" }
get('/port') { request.port.inspect }";

/// What a client writes who would like to be somebody else.
const FORGED: &str = "x-forwarded-for: 198.51.100.7\r\nx-forwarded-proto: https\r\nx-forwarded-host: evil.example\r\nx-forwarded-port: 1\r\nforwarded: for=198.51.100.7;proto=https;host=evil.example\r\n";

/// A header of version 1.
const HEADER: &[u8] = b"PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\n";

/// A server with the addresses that its log names, in turn.
fn start(options: &[&str], schemes: &[&str]) -> (Served, Vec<String>) {
    let folder = folder(&[("app.rb", APP)]);
    certify(folder.path());
    let mut served = serve(folder, options);
    let word = |scheme: &&str| served.word_after(&format!("listening on {scheme}"));
    let addresses = schemes.iter().map(word).collect();
    (served, addresses)
}

#[test]
fn nginx_in_front_says_who_the_client_is() {
    let options = "--listen 127.0.0.1:0 --listen [::1]:0 --listen unix:app.sock --trust-proxy 127.0.0.2,for,proto,host \
        --trust-proxy ::1/128 --trust-proxy unix,forwarded --access-log access.log";
    let options: Vec<&str> = options.split_whitespace().collect();
    let (served, addresses) = start(&options, &["http://", "http://", "unix:"]);
    let socket = served.path("app.sock");
    let nginx = FrontProxy::nginx(1, |own| {
        format!(
            "server {{
  listen {};
  proxy_http_version 1.1;
  location /v4/ {{
    proxy_pass http://{}/;
    proxy_bind 127.0.0.2;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-Host $http_host;
  }}
  location /v6/ {{
    proxy_pass http://{}/;
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
  }}
  location /unix/ {{
    proxy_pass http://unix:{}:/;
    proxy_set_header Forwarded \"for=$remote_addr;proto=$scheme;host=\\\"$http_host\\\"\";
  }}
}}",
            own[0],
            addresses[0],
            addresses[1],
            socket.display()
        )
    });
    for path in ["/v4/", "/v6/", "/unix/"] {
        for fields in ["", FORGED] {
            let found = ask(&nginx.address(0), "GET", path, fields).text();
            assert_eq!(found, "\"127.0.0.1\" http x http://x", "{path} {fields}");
        }
    }
    let log = served.path("access.log");
    until("a line for each request", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.matches("\"ip\":\"127.0.0.1\"").count() == 6
    });
    // Without the proxy the same fields are anybody's.
    let direct = ask(&addresses[0], "GET", "/", FORGED).text();
    assert_eq!(direct, "\"127.0.0.1\" http x http://x");
    let mut stream = UnixStream::connect(&socket).unwrap();
    let broken = request("GET", "/", "forwarded: for=\"1.1.1.1\r\n");
    stream.write_all(broken.as_bytes()).unwrap();
    assert_eq!(Answer::read(stream).status(), 400);
}

/// Sections of HAProxy that pass connections on to a server.
fn relay(own: &std::net::SocketAddr, name: &str, server: &str) -> String {
    format!(
        "listen {name}\n  mode tcp\n  bind {own}\n  server s {server} check inter 100ms fall 1000\n"
    )
}

#[test]
fn haproxy_in_front_says_with_the_proxy_protocol_who_the_client_is() {
    let options = "--listen 127.0.0.1:0,proxy --listen 127.0.0.1:0,tls,proxy --listen [::1]:0,proxy --listen unix:app.sock,proxy \
        --tls-cert cert.pem --tls-key key.pem --trust-proxy 127.0.0.2 --trust-proxy ::1 --trust-proxy unix";
    let options: Vec<&str> = options.split_whitespace().collect();
    let schemes = ["http://", "https://", "http://", "unix:"];
    let (served, addresses) = start(&options, &schemes);
    let socket = served.path("app.sock");
    let haproxy = FrontProxy::haproxy(4, |own| {
        let source = "source 127.0.0.2";
        let unix = format!("unix@{} send-proxy-v2 check-send-proxy", socket.display());
        [
            relay(
                &own[0],
                "v1",
                &format!("{} {source} send-proxy", addresses[0]),
            ),
            relay(
                &own[1],
                "tls",
                &format!("{} {source} send-proxy-v2", addresses[1]),
            ),
            relay(
                &own[2],
                "v6",
                &format!("{} send-proxy-v2-ssl", addresses[2]),
            ),
            relay(&own[3], "unix", &unix),
        ]
        .concat()
    });
    for place in [0, 2, 3] {
        let found = ask(&haproxy.address(place), "GET", "/", FORGED).text();
        assert_eq!(found, "\"127.0.0.1\" http x http://x", "{place}");
    }
    let mut stream = TcpStream::connect(haproxy.address(0)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let own_port = stream.local_addr().unwrap().port().to_string();
    stream
        .write_all(request("GET", "/port", "").as_bytes())
        .unwrap();
    assert_eq!(Answer::read(stream).text(), own_port);

    let certificate = std::fs::read_to_string(served.path("cert.pem")).unwrap();
    let mut stream = tls(&haproxy.address(1), &certificate, &[]).unwrap();
    stream
        .write_all(request("GET", "/", FORGED).as_bytes())
        .unwrap();
    assert_eq!(
        Answer::read(stream).text(),
        "\"127.0.0.1\" https x https://x"
    );
}

/// What comes back on a connection that begins so.
fn answer_to(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = stream.write_all(bytes); // one that is refused at once may be reset
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn proxy_header_is_asked_of_proxies_and_taken_from_nobody_else() {
    let options = "--listen 127.0.0.1:0,proxy --listen [::1]:0,proxy --listen 127.0.0.1:0 --trust-proxy ::1 --limit proxy_header_ms=600000";
    let options: Vec<&str> = options.split_whitespace().collect();
    let (mut served, addresses) = start(&options, &["http://"; 3]);
    let get = request("GET", "/", FORGED).into_bytes();
    let whole = [HEADER, &get].concat();
    let trusted = answer_to(&addresses[1], &whole);
    assert!(
        trusted.ends_with("\"192.0.2.1\" http x http://x"),
        "{trusted}"
    );
    // A client of the balancer's is no proxy because the balancer is one.
    let concealed = [b"PROXY UNKNOWN\r\n".as_slice(), &get].concat();
    let concealed = answer_to(&addresses[1], &concealed);
    assert!(
        concealed.ends_with("\"::1\" http x http://x"),
        "{concealed}"
    );
    assert_eq!(answer_to(&addresses[0], &whole), "", "an untrusted peer");
    served.word_after("this address is not there");
    assert_eq!(answer_to(&addresses[1], &get), "", "no header");
    served.word_after("it begins with no PROXY header");
    let unasked = answer_to(&addresses[2], &whole);
    assert!(unasked.starts_with("HTTP/1.1 400"), "{unasked}");
}

#[test]
fn proxy_header_that_stays_half_is_not_waited_for_longer_than_its_limit() {
    let options = "--listen [::1]:0,proxy --trust-proxy ::1 --limit proxy_header_ms=200";
    let options: Vec<&str> = options.split_whitespace().collect();
    let (mut served, addresses) = start(&options, &["http://"]);
    assert_eq!(answer_to(&addresses[0], &HEADER[..20]), "");
    served.word_after("within proxy_header_ms (200 ms)");
}
