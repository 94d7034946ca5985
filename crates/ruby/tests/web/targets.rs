//! What a request is for: hosts, targets that are no path, parts of files. And clients that send nothing more.

use std::io::{Read, Write};
use std::net::Shutdown;

use crate::rig::{Answer, Rig};

const APP: &str = r##"
get("/host") { request.host }
get("/slow") { sleep 0.2; "done" }
post("/slow") { size = body.text.size; sleep 0.2; size.to_s }
get("/file") { send_file "#{Tsumugi.data_dir}/file.txt" }
get("/reports/*path") { |path| send_file path, within: "reports", download: true }
"##;

fn rig() -> Rig {
    Rig::with(APP, |settings| {
        std::fs::create_dir_all(&settings.data_dir).unwrap();
        std::fs::write(settings.data_dir.join("file.txt"), "0123456789").unwrap();
    })
}

#[test]
fn host_is_one_and_that_of_the_target() {
    let rig = rig();
    let ask = |request: &str| {
        let answer = rig.raw(format!("{request}connection: close\r\n\r\n").as_bytes());
        (answer.status, answer.text())
    };
    let ok = |text: &str| (200, text.to_owned());
    assert_eq!(ask("GET /host HTTP/1.1\r\nhost: a:80\r\n"), ok("a:80"));
    assert_eq!(ask("GET http://b/host HTTP/1.1\r\nhost: a\r\n"), ok("b"));
    for request in [
        "GET /host HTTP/1.1\r\n",
        "GET /host HTTP/1.1\r\nhost: a\r\nhost: b\r\n",
        "GET /host HTTP/1.1\r\nhost: a/b\r\n",
    ] {
        assert_eq!(ask(request).0, 400, "{request}");
    }
}

#[test]
fn options_of_the_server_itself_are_the_methods() {
    let rig = rig();
    let answer = rig.send("OPTIONS", "*", &[], b"");
    assert_eq!(answer.status, 204);
    let allow = answer.header("allow").unwrap();
    assert_eq!(allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    assert_eq!(rig.send("GET", "*", &[], b"").status, 400);
}

#[test]
fn range_is_for_get_only() {
    let rig = rig();
    let ask = |method: &str| {
        let answer = rig.send(method, "/file", &["range: bytes=2-4"], b"");
        let length = answer.header("content-length").map(str::to_owned);
        (
            answer.status,
            length,
            answer.header("content-range").is_some(),
        )
    };
    assert_eq!(ask("GET"), (206, Some("3".to_owned()), true));
    assert_eq!(ask("HEAD"), (200, Some("10".to_owned()), false));
}

#[test]
fn client_that_sends_nothing_more_gets_its_answer() {
    let rig = rig();
    for (request, expected) in [
        ("GET /slow HTTP/1.1\r\nhost: x\r\n\r\n", "done"),
        (
            "POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc",
            "3",
        ),
    ] {
        let mut stream = rig.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert_eq!(Answer::parse(&bytes).text(), expected, "{request}");
    }
}

#[test]
fn file_within_a_folder_is_sent_and_nothing_else() {
    let rig = rig();
    let folder = rig.path().join("reports/2026");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("may.txt"), "0123456789").unwrap();
    std::fs::write(folder.join(".hidden"), "no").unwrap();
    std::os::unix::fs::symlink("../../app.rb", folder.join("link.rb")).unwrap();
    let answer = rig.get("/reports/2026/may.txt");
    assert_eq!((answer.status, answer.text().as_str()), (200, "0123456789"));
    let disposition = answer.header("content-disposition").unwrap();
    assert!(
        disposition.contains("filename=\"may.txt\""),
        "{disposition}"
    );
    let part = rig.send("GET", "/reports/2026/may.txt", &["range: bytes=2-4"], b"");
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    // Who may put files into the folder does not change what others get.
    std::fs::write(folder.join("may.txt.gz"), "other").unwrap();
    std::fs::write(folder.join("may.txt.br"), "other").unwrap();
    let accepts = ["accept-encoding: gzip, br"];
    let whole = rig.send("GET", "/reports/2026/may.txt", &accepts, b"");
    assert_eq!((whole.status, whole.text().as_str()), (200, "0123456789"));
    for path in [
        "%00",
        "2026/may.txt%00",
        "%2F",
        "%2F%2F",
        "2026/.hidden",
        "2026/link.rb",
        "2026",
        "2026/none.txt",
        "../app.rb",
        "2026/%2e%2e/%2e%2e/app.rb",
        "%2Fetc/passwd",
    ] {
        assert_eq!(rig.get(&format!("/reports/{path}")).status, 404, "{path}");
    }
}

#[test]
fn files_of_the_application_are_read_when_it_loads_and_in_handlers() {
    let app = "WORDS = begin
  read_file('app.rb').lines.size
end
get('/loaded') { WORDS.to_s }
get('/read') { read_file(query[:path]) }
get('/both') { parallel(-> { read_file('words.txt') }, -> { read_file('./words.txt') }) }";
    let rig = Rig::serve(app);
    std::fs::write(rig.path().join("words.txt"), "日本\n").unwrap();
    assert_eq!(rig.get("/loaded").text(), "6");
    assert_eq!(rig.get("/read?path=words.txt").text(), "日本\n");
    std::fs::write(rig.path().join("words.txt"), "other").unwrap();
    assert_eq!(rig.get("/both").text(), r#"["other","other"]"#);
    let large = std::fs::File::create(rig.path().join("large")).unwrap();
    large.set_len(16 * 1024 * 1024 + 1).unwrap();
    for (path, reason) in [
        ("../app.rb", "is no path of a file below"),
        ("/etc/passwd", "ArgumentError"),
        ("none.txt", "cannot be read"),
        ("large", "larger than app_file_bytes_max"),
    ] {
        let answer = rig.get(&format!("/read?path={path}"));
        let text = answer.text();
        assert!(answer.status == 500 && text.contains(reason), "{text}");
    }
}
