//! What surrounds an application, as its clients and operators meet it: TLS, files, compression, access log, admin pages, sockets.
//! Black box: the real binary, real sockets. Not what handlers do.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A running server in a folder of its own.
struct Served {
    child: Child,
    log: BufReader<ChildStderr>,
    folder: TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn serve(folder: TempDir, options: &[&str]) -> Served {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .args(["serve", "app.rb", "--workers", "1"])
        .args(options)
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .env("TSUMUGI_LOG", "info")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    Served { child, log, folder }
}

impl Served {
    /// The rest of the next log line that has `piece`, up to a space.
    fn word_after(&mut self, piece: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            assert!(
                self.log.read_line(&mut line).unwrap() > 0,
                "no {piece:?} in:\n{all}"
            );
            if let Some((_, rest)) = line.split_once(piece) {
                return rest
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
            }
            all.push_str(&line);
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }
}

/// A server on a port of its own, with `app.rb` and other files.
fn start(app: &str, files: &[(&str, &[u8])], options: &[&str]) -> (Served, String) {
    let all = [&[("app.rb", app.as_bytes())], files].concat();
    let options = [&["--listen", "127.0.0.1:0"], options].concat();
    let mut served = serve(folder(&all), &options);
    let address = served.word_after("listening on http://");
    (served, address)
}

/// An answer: status line, head and body.
#[derive(Debug)]
struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn read(mut stream: impl Read) -> Answer {
        let mut bytes = Vec::new();
        // A peer that closes TLS without saying so is an end as well.
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no head in {:?}", String::from_utf8_lossy(&bytes)));
        let body = bytes.split_off(end + 4);
        let head = String::from_utf8(bytes).unwrap();
        let body = match head.contains("\r\ntransfer-encoding: chunked\r\n") {
            true => unchunk(&body),
            false => body,
        };
        Answer { head, body }
    }

    fn status(&self) -> u16 {
        self.head[9..12].parse().unwrap()
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = std::str::from_utf8(&bytes[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[end + 4 + length..];
    }
}

fn request(method: &str, path: &str, fields: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{fields}\r\n")
}

fn ask(address: &str, method: &str, path: &str, fields: &str) -> Answer {
    let until = Instant::now() + PATIENCE;
    let mut stream = loop {
        match TcpStream::connect(address) {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(request(method, path, fields).as_bytes())
        .unwrap();
    Answer::read(stream)
}

fn get(address: &str, path: &str) -> Answer {
    ask(address, "GET", path, "")
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

const PUBLIC: &str = "public 'public'\nget('/route') { 'route' }\nget('/both.txt') { 'from the route' }\npost('/a.txt') { 'posted' }\n\
    public 'assets', at: '/assets', cache: 3600\nnot_found { 'nothing here' }";

fn public() -> (Served, String) {
    let files: &[(&str, &[u8])] = &[
        ("public/a.txt", b"0123456789"),
        ("public/both.txt", b"from the file"),
        ("public/index.html", b"<p>home"),
        ("public/sub/index.html", b"<p>sub"),
        ("public/.env", b"SECRET"),
        ("public/x.js", b"plain"),
        ("public/x.js.br", b"brotli"),
        ("public/x.js.gz", b"gzip"),
        ("assets/logo.svg", b"<svg/>"),
        ("secret.txt", b"outside"),
    ];
    start(PUBLIC, files, &[])
}

#[test]
fn files_are_served_where_no_route_matches() {
    let (_served, address) = public();
    let file = get(&address, "/a.txt");
    assert_eq!((file.status(), file.text().as_str()), (200, "0123456789"));
    assert_eq!(
        file.field("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(file.field("content-length"), Some("10"));
    assert_eq!(file.field("cache-control"), Some("no-cache"));
    assert!(file.field("last-modified").unwrap().ends_with("GMT"));
    assert_eq!(get(&address, "/both.txt").text(), "from the route");
    assert_eq!(get(&address, "/").text(), "<p>home");
    assert_eq!(get(&address, "/sub/").text(), "<p>sub");
    let moved = get(&address, "/sub?q=1");
    assert_eq!(
        (moved.status(), moved.field("location")),
        (308, Some("/sub/?q=1"))
    );
    let logo = get(&address, "/assets/logo.svg");
    assert_eq!(logo.field("content-type"), Some("image/svg+xml"));
    assert_eq!(logo.field("cache-control"), Some("public, max-age=3600"));
    let missing = get(&address, "/missing.txt");
    assert_eq!(
        (missing.status(), missing.text().as_str()),
        (404, "nothing here")
    );
    let head = ask(&address, "HEAD", "/a.txt", "");
    assert_eq!(
        (head.field("content-length"), head.body.len()),
        (Some("10"), 0)
    );
    assert_eq!(
        ask(&address, "POST", "/a.txt", "content-length: 0\r\n").text(),
        "posted"
    );
    assert_eq!(ask(&address, "DELETE", "/x.js", "").status(), 404);
}

#[test]
fn no_path_leaves_the_folder_or_shows_hidden_files() {
    let (served, address) = public();
    let link = |target: &Path, name: &str| {
        std::os::unix::fs::symlink(target, served.path("public").join(name)).unwrap();
    };
    link(&served.path("secret.txt"), "out.txt");
    link(&served.path("assets"), "out");
    link(Path::new("a.txt"), "in.txt");
    link(Path::new(".env"), "env.txt");
    for path in [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/sub/../../secret.txt",
        "/.env",
        "/%2eenv",
        "/out.txt",
        "/out/logo.svg",
        "/env.txt",
        "/a.txt%00",
        "/a.txt/",
        "//etc/passwd",
        "/sub%2findex.html",
    ] {
        let answer = get(&address, path);
        assert_eq!(
            (answer.status(), answer.text().as_str()),
            (404, "nothing here"),
            "{path}"
        );
    }
    assert_eq!(get(&address, "/in.txt").text(), "0123456789");
}

#[test]
fn parts_and_conditions_of_a_file() {
    let (_served, address) = public();
    for _ in 0..2 {
        // The first time from disk, then from memory.
        let part = ask(&address, "GET", "/a.txt", "range: bytes=2-4\r\n");
        assert_eq!((part.status(), part.text().as_str()), (206, "234"));
        assert_eq!(part.field("content-range"), Some("bytes 2-4/10"));
        let bad = ask(&address, "GET", "/a.txt", "range: bytes=20-\r\n");
        assert_eq!(
            (bad.status(), bad.field("content-range")),
            (416, Some("bytes */10"))
        );
        let whole = get(&address, "/a.txt");
        let tag = whole.field("etag").unwrap().to_owned();
        let date = whole.field("last-modified").unwrap().to_owned();
        for field in [
            format!("if-none-match: {tag}\r\n"),
            format!("if-modified-since: {date}\r\n"),
        ] {
            let unchanged = ask(&address, "GET", "/a.txt", &field);
            assert_eq!(
                (unchanged.status(), unchanged.body.len()),
                (304, 0),
                "{field}"
            );
            assert_eq!(unchanged.field("etag"), Some(tag.as_str()));
        }
        let stale = ask(
            &address,
            "GET",
            "/a.txt",
            "range: bytes=2-4\r\nif-range: \"old\"\r\n",
        );
        assert_eq!((stale.status(), stale.text().as_str()), (200, "0123456789"));
    }
}

#[test]
fn a_changed_file_is_noticed() {
    let (served, address) = public();
    assert_eq!(get(&address, "/a.txt").text(), "0123456789");
    fs::write(served.path("public/a.txt"), "new").unwrap();
    until("the new bytes", || get(&address, "/a.txt").text() == "new");
    fs::remove_file(served.path("public/a.txt")).unwrap();
    until("the end of the file", || {
        get(&address, "/a.txt").status() == 405
    });
}

#[test]
fn encoded_siblings_are_sent_to_who_accepts_them() {
    let (_served, address) = public();
    for (accept, expected) in [
        ("gzip, br", "brotli"),
        ("gzip", "gzip"),
        ("br;q=0", "plain"),
        ("identity", "plain"),
    ] {
        let answer = ask(
            &address,
            "GET",
            "/x.js",
            &format!("accept-encoding: {accept}\r\n"),
        );
        assert_eq!(answer.text(), expected, "{accept}");
        assert_eq!(answer.field("vary"), Some("accept-encoding"), "{accept}");
        assert_eq!(
            answer.field("content-type"),
            Some("text/javascript; charset=utf-8")
        );
    }
    let part = ask(
        &address,
        "GET",
        "/x.js",
        "accept-encoding: br\r\nrange: bytes=0-1\r\n",
    );
    assert_eq!((part.status(), part.text().as_str()), (206, "pl"));
}

#[test]
fn large_files_are_sent_in_pieces_whole_and_in_part() {
    let large: Vec<u8> = (0..5_000_000u32).map(|n| (n % 251) as u8).collect();
    let (_served, address) = start("public", &[("public/large.bin", &large)], &[]);
    let whole = get(&address, "/large.bin");
    assert_eq!(whole.field("content-length"), Some("5000000"));
    assert!(whole.body == large);
    let part = ask(
        &address,
        "GET",
        "/large.bin",
        "range: bytes=1000000-3999999\r\n",
    );
    assert_eq!(part.field("content-length"), Some("3000000"));
    assert!(part.body == large[1_000_000..4_000_000]);
}

#[test]
fn a_handler_sends_a_file() {
    let app = "get('/report') { send_file 'data.csv', download: 'r\u{e9}sum\u{e9} 1.csv' }\n\
        get('/typed') { header 'x-own', 1; send_file 'data.csv', type: 'text/x-own' }\nget('/gone') { send_file 'gone' }";
    let (_served, address) = start(app, &[("data.csv", b"a,b\n")], &[]);
    let report = get(&address, "/report");
    assert_eq!((report.status(), report.text().as_str()), (200, "a,b\n"));
    assert_eq!(
        report.field("content-type"),
        Some("text/csv; charset=utf-8")
    );
    assert_eq!(
        report.field("content-disposition"),
        Some("attachment; filename=\"r_sum_ 1.csv\"; filename*=UTF-8''r%C3%A9sum%C3%A9%201.csv")
    );
    let typed = get(&address, "/typed");
    assert_eq!(
        (typed.field("content-type"), typed.field("x-own")),
        (Some("text/x-own"), Some("1"))
    );
    let part = ask(&address, "GET", "/report", "range: bytes=0-0\r\n");
    assert_eq!((part.status(), part.text().as_str()), (206, "a"));
    assert_eq!(get(&address, "/gone").status(), 404);
}

#[test]
fn a_missing_folder_is_told_at_start() {
    let mut served = serve(
        folder(&[("app.rb", b"\npublic 'nowhere'")]),
        &["--listen", "127.0.0.1:0"],
    );
    let mut text = String::new();
    served.log.read_to_string(&mut text).unwrap();
    assert!(
        text.contains("app.rb:2") && text.contains("nowhere"),
        "{text}"
    );
    assert_eq!(served.child.wait().unwrap().code(), Some(1));
}

fn decode(answer: &Answer) -> String {
    let mut text = String::new();
    match answer.field("content-encoding") {
        Some("gzip") => {
            flate2::read::GzDecoder::new(&answer.body[..])
                .read_to_string(&mut text)
                .unwrap();
        }
        Some("br") => {
            brotli::Decompressor::new(&answer.body[..], 4096)
                .read_to_string(&mut text)
                .unwrap();
        }
        _ => text = answer.text(),
    }
    text
}

const BODIES: &str = "get('/large') { 'abcdefgh' * 20_000 }\nget('/small') { 'x' * 1000 }\nget('/mid') { 'y' * 1500 }\n\
    get('/image') { text 'z' * 5000, type: 'image/png' }\nget('/events') { events { |out| out << 'w' * 5000 } }\n\
    get('/done') { header 'content-encoding', 'br'; 'v' * 5000 }\nget('/tag') { header 'etag', '\"t\"'; 'u' * 5000 }\n\
    get('/stream') { stream('text/plain') { |out| 100.times { |i| out << \"line #{i}\\n\" } } }\n";

#[test]
fn text_is_compressed_for_who_accepts_it() {
    let (_served, address) = start(BODIES, &[], &[]);
    let ask = |path: &str, accept: &str| {
        ask(
            &address,
            "GET",
            path,
            &format!("accept-encoding: {accept}\r\n"),
        )
    };
    for (path, length) in [("/large", 160_000), ("/mid", 1_500)] {
        for (accept, coding) in [
            ("gzip", "gzip"),
            ("br", "br"),
            ("gzip, br", "br"),
            ("gzip, br;q=0.1", "gzip"),
        ] {
            let answer = ask(path, accept);
            assert_eq!(
                answer.field("content-encoding"),
                Some(coding),
                "{path} {accept}"
            );
            assert_eq!(answer.field("vary"), Some("accept-encoding"));
            assert!(answer.body.len() < length / 2);
            assert_eq!(decode(&answer).len(), length);
        }
    }
    for path in ["/small", "/image", "/events"] {
        assert_eq!(
            ask(path, "gzip, br").field("content-encoding"),
            None,
            "{path}"
        );
    }
    assert_eq!(ask("/done", "gzip").body.len(), 5000);
    assert_eq!(ask("/large", "identity").field("content-encoding"), None);
    assert_eq!(ask("/tag", "gzip").field("etag"), Some("W/\"t\""));
    let lines: String = (0..100).map(|i| format!("line {i}\n")).collect();
    for accept in ["gzip", "br", "br, gzip"] {
        let answer = ask("/stream", accept);
        assert!(answer.field("content-encoding").is_some());
        assert_eq!(decode(&answer), lines);
    }
}

#[test]
fn a_compressed_stream_is_flushed_piece_by_piece() {
    let app = "get('/') { stream('text/plain') { |out| out << 'first'; sleep 60 } }";
    let (_served, address) = start(app, &[], &[]);
    let mut stream = TcpStream::connect(&address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream
        .write_all(request("GET", "/", "accept-encoding: gzip\r\n").as_bytes())
        .unwrap();
    let mut bytes = Vec::new();
    // The piece has to come long before the stream ends: reading to its end would time out.
    while !decoded_so_far(&bytes).contains("first") {
        let mut buffer = [0; 1024];
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0);
        bytes.extend_from_slice(&buffer[..read]);
    }
}

fn decoded_so_far(bytes: &[u8]) -> String {
    let Some(start) = bytes.windows(2).position(|two| two == [0x1F, 0x8B]) else {
        return String::new();
    };
    // Chunk sizes stand between the pieces, so each piece is tried alone with what follows.
    let plain: Vec<u8> = bytes[start..].to_vec();
    let mut text = [0; 64];
    let mut whole = String::new();
    for gap in std::iter::once(None).chain((10..plain.len()).map(Some)) {
        let mut candidate = plain.clone();
        if let Some(gap) = gap
            && let Some(end) = candidate[gap..].windows(2).position(|two| two == b"\r\n")
            && candidate[gap..].starts_with(b"\r\n")
            && let Some(next) = candidate[gap + 2..]
                .windows(2)
                .position(|two| two == b"\r\n")
        {
            candidate.drain(gap + end..gap + 2 + next + 2);
        }
        let read = flate2::read::GzDecoder::new(&candidate[..])
            .read(&mut text)
            .unwrap_or(0);
        whole.push_str(&String::from_utf8_lossy(&text[..read]));
    }
    whole
}

#[test]
fn compression_can_be_switched_off() {
    let (_served, address) = start(&format!("compress false\n{BODIES}"), &[], &[]);
    let answer = ask(&address, "GET", "/large", "accept-encoding: gzip, br\r\n");
    assert_eq!(
        (answer.field("content-encoding"), answer.body.len()),
        (None, 160_000)
    );
}

/// Makes a certificate for localhost in `folder`; answers it in PEM.
fn certify(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    made.cert.pem()
}

const TLS: [&str; 4] = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

fn tls(
    address: &str,
    certificate: &str,
    protocols: &[&str],
) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(connection, stream))
}

#[test]
fn tls_speaks_what_the_client_asks_for_and_reloads_its_certificate() {
    let folder = folder(&[("app.rb", b"get('/') { \"#{request.version}\" }")]);
    let first = certify(folder.path());
    let socket = folder.path().join("app.sock");
    let unix = format!("unix:{}", socket.display());
    let options = [&["--listen", "127.0.0.1:0", "--listen", &unix], &TLS[..]].concat();
    let mut served = serve(folder, &options);
    let address = served.word_after("listening on https://");
    let version = |certificate: &str, protocols: &[&str]| {
        let mut stream = tls(&address, certificate, protocols).unwrap();
        stream
            .write_all(request("GET", "/", "").as_bytes())
            .unwrap();
        Answer::read(stream).text()
    };
    assert_eq!(version(&first, &["http/1.1"]), "1.1");
    assert_eq!(version(&first, &[]), "1.1");
    let mut second_version = tls(&address, &first, &["h2", "http/1.1"]).unwrap();
    assert_eq!(second_version.conn.alpn_protocol(), Some(&b"h2"[..]));
    second_version
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let mut frame = [0; 9];
    second_version.read_exact(&mut frame).unwrap();
    assert_eq!(frame[3], 4, "no SETTINGS but {frame:?}");

    // A UNIX socket stays plain.
    let mut plain = UnixStream::connect(&socket).unwrap();
    plain.write_all(request("GET", "/", "").as_bytes()).unwrap();
    assert_eq!(Answer::read(plain).text(), "1.1");
    // Who speaks no TLS gets nothing, and nobody else notices.
    let mut stranger = TcpStream::connect(&address).unwrap();
    stranger
        .write_all(request("GET", "/", "").as_bytes())
        .unwrap();
    let mut answer = Vec::new();
    let _ = stranger.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"));

    let second = certify(served.folder.path());
    served.signal("-HUP");
    until("the new certificate", || {
        tls(&address, &second, &[]).is_ok()
    });
    assert!(tls(&address, &first, &[]).is_err());
    fs::write(served.path("key.pem"), "broken").unwrap();
    served.signal("-HUP");
    served.word_after("not reloaded");
    assert_eq!(version(&second, &[]), "1.1");
}

#[test]
fn a_key_that_cannot_be_used_is_told_without_showing_it() {
    let folder = folder(&[
        ("app.rb", b"get('/') { 'x' }"),
        ("key.pem", b"-----BEGIN PRIVATE KEY-----\nS3CR3T\n"),
    ]);
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
    let options = [&["--listen", "127.0.0.1:0"], &TLS[..]].concat();
    let mut served = serve(folder, &options);
    let mut text = String::new();
    served.log.read_to_string(&mut text).unwrap();
    assert!(
        text.contains("cannot use key.pem") && !text.contains("S3CR3T"),
        "{text}"
    );
    assert_eq!(served.child.wait().unwrap().code(), Some(1));
}

#[test]
fn the_access_log_has_a_line_for_every_request() {
    let app = "get('/users/:id', id: Integer) { |id| sleep 0.05; log.info \"seen\"; request.id }";
    let (mut served, address) = start(app, &[], &["--access-log", "access.log"]);
    let log = served.path("access.log");
    let lines = |path: &Path| -> Vec<String> {
        fs::read_to_string(path)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    };
    let given = ask(
        &address,
        "GET",
        "/users/7?token=secret",
        "x-request-id: mine-1\r\n",
    );
    assert_eq!(given.text(), "mine-1");
    assert_eq!(served.word_after("seen request="), "mine-1");
    let made = get(&address, "/users/8").text();
    get(&address, "/missing");
    until("three lines", || lines(&log).len() == 3);
    let all = lines(&log);
    for piece in [
        "\"method\":\"GET\",\"path\":\"/users/7\",\"pattern\":\"/users/:id\",\"status\":200",
        "\"id\":\"mine-1\",\"ip\":\"127.0.0.1\"",
        "\"bytes\":6",
    ] {
        assert!(all[0].contains(piece), "{piece} in {}", all[0]);
    }
    assert!(!all[0].contains("secret"));
    let number = |name: &str| -> f64 {
        let (_, rest) = all[0].split_once(&format!("\"{name}\":")).unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    };
    assert!(
        number("wait_ms") >= 50.0 && number("ms") >= number("wait_ms"),
        "{}",
        all[0]
    );
    assert!(
        all[1].contains(&format!("\"id\":\"{made}\"")),
        "{made} in {}",
        all[1]
    );
    assert!(
        all[2].contains("\"pattern\":null,\"status\":404"),
        "{}",
        all[2]
    );

    let moved = served.path("access.log.1");
    fs::rename(&log, &moved).unwrap();
    served.signal("-HUP");
    until("a new file", || log.exists());
    get(&address, "/users/9");
    // What is queued at the end is written.
    served.signal("-TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert_eq!((lines(&moved).len(), lines(&log).len()), (3, 1));
}

#[test]
fn admin_pages_answer_while_the_worker_is_stuck_and_say_when_it_drains() {
    let app = "get('/') { 'x' }\nget('/stuck') { i = 0; i += 1 while i < 3_000_000_000; 'y' }\nget('/slow') { sleep 3; 'z' }";
    let all: &[(&str, &[u8])] = &[("app.rb", app.as_bytes())];
    let options = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut served = serve(folder(all), &options);
    let address = served.word_after("listening on http://");
    let admin = served.word_after("admin pages on http://");
    until("ready", || get(&admin, "/ready").status() == 200);
    for _ in 0..5 {
        get(&address, "/");
    }
    get(&address, "/missing");
    let metrics = get(&admin, "/metrics");
    assert_eq!(
        metrics.field("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = metrics.text();
    for line in [
        "tsumugi_http_requests_total{method=\"GET\",status=\"2xx\"} 5",
        "tsumugi_http_requests_total{method=\"GET\",status=\"4xx\"} 1",
        "tsumugi_http_request_duration_seconds_count 6",
        "tsumugi_http_requests_in_flight{worker=\"0\"} 0",
        "# TYPE tsumugi_connections_open gauge",
        "tsumugi_connections_refused_total{worker=\"0\"} 0",
        "# TYPE tsumugi_worker_stalls_total counter",
        "tsumugi_offload_queued 0",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
    }
    until("figures of the VM", || {
        let text = get(&admin, "/metrics").text();
        text.lines().any(|line| {
            line.starts_with("tsumugi_vm_bytes{worker=\"0\"} ") && !line.ends_with(" 0")
        })
    });
    let mut stuck = TcpStream::connect(&address).unwrap();
    stuck
        .write_all(request("GET", "/stuck", "").as_bytes())
        .unwrap();
    until("the stuck request", || {
        get(&admin, "/metrics")
            .text()
            .contains("tsumugi_http_requests_in_flight{worker=\"0\"} 1")
    });
    assert_eq!(get(&admin, "/healthz").text(), "alive\n");
    assert_eq!(Answer::read(stuck).status(), 500);
    assert_eq!(get(&admin, "/other").status(), 404);

    let mut slow = TcpStream::connect(&address).unwrap();
    slow.write_all(request("GET", "/slow", "").as_bytes())
        .unwrap();
    until("the slow request", || {
        get(&admin, "/metrics")
            .text()
            .contains("tsumugi_http_requests_in_flight{worker=\"0\"} 1")
    });
    served.signal("-TERM");
    until("the drain", || get(&admin, "/ready").status() == 503);
    assert_eq!(get(&admin, "/healthz").status(), 200);
    assert_eq!(Answer::read(slow).text(), "z");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn ipv6_and_unix_sockets_are_listened_on_side_by_side() {
    let folder = folder(&[("app.rb", b"get('/') { request.ip.inspect }")]);
    let socket = folder.path().join("app.sock");
    let unix = format!("unix:{}", socket.display());
    let mut served = serve(folder, &["--listen", "[::1]:0", "--listen", &unix]);
    let address = served.word_after("listening on http://");
    assert_eq!(get(&address, "/").text(), "\"::1\"");
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream
        .write_all(request("GET", "/", "").as_bytes())
        .unwrap();
    assert_eq!(Answer::read(stream).text(), "nil");
    served.signal("-TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert!(!socket.exists(), "the socket is left behind");
}
