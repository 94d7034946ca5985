//! Files of public folders and of `send_file`: which are found, which are never shown, parts, conditions, encoded siblings.
//! The folder's bytes are the expectation; nothing here looks at how they are read or kept.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::rig::{Served, ask, folder, get, serve, start, until};

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
fn range_and_conditional_requests_of_a_file_get_206_416_or_304() {
    let (_served, address) = public();
    for _ in 0..2 {
        // The first time from disk, then from memory.
        let part = ask(&address, "GET", "/a.txt", "range: bytes=2-4\r\n");
        assert_eq!((part.status(), part.text().as_str()), (206, "234"));
        assert_eq!(part.field("content-range"), Some("bytes 2-4/10"));
        let bad = ask(&address, "GET", "/a.txt", "range: bytes=20-\r\n");
        assert_eq!(
            (
                bad.status(),
                bad.field("content-range"),
                bad.text().as_str()
            ),
            (416, Some("bytes */10"), "")
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
fn encoded_siblings_are_sent_to_clients_that_accept_them() {
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
fn missing_folder_is_reported_at_start() {
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
