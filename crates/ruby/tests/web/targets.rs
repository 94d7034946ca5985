//! What a request is for: hosts, targets that are no path, parts of files. And clients that send nothing more.

use std::io::{Read, Write};
use std::net::Shutdown;

use crate::rig::{Answer, Rig};

const APP: &str = r##"
get("/host") { request.host }
get("/slow") { sleep 0.2; "done" }
post("/slow") { size = body.text.size; sleep 0.2; size.to_s }
get("/file") { send_file "#{Tsumugi.data_dir}/file.txt" }
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
