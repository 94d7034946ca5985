//! Bodies of requests: forms, files, pieces, limits, and several readers of one body.

use std::io::{Read, Write};
use std::time::Duration;

use crate::rig::{Answer, Rig};

const MULTIPART: &str = "multipart/form-data; boundary=b";

/// A multipart body of `(head, content)`; the head is what follows `form-data; `.
fn multipart(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (head, content) in parts {
        body.extend_from_slice(
            format!("--b\r\ncontent-disposition: form-data; {head}\r\n\r\n").as_bytes(),
        );
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--b--\r\n");
    body
}

/// What a handler of `line` answers to the form.
fn check(line: &str, form: &str, expected: &str) {
    let rig = Rig::serve(&format!("post('/') {{ {line} }}"));
    let answer = rig.post("/", "application/x-www-form-urlencoded", form.as_bytes());
    assert_eq!(answer.text(), expected, "{line} {form}");
}

#[test]
fn fields_of_a_form_are_required_or_permitted() {
    check(
        "body.require(a: String, n: Integer, f: Float, t: :bool)",
        "a=x&n=-3&f=1.5&t=on",
        r#"{"a":"x","n":-3,"f":1.5,"t":true}"#,
    );
    check(
        "body.require(a: String, n: Integer, f: Float, t: :bool, u: Upload)",
        "n=x&f=y&t=z&u=w",
        r#"{"errors":{"a":"is missing","n":"must be an integer","f":"must be a number","t":"must be true or false","u":"must be a file"}}"#,
    );
    check(
        "body.require(a: String, n: Integer, u: Upload, z: Integer)",
        "a=&n=&u=",
        r#"{"errors":{"a":"is empty","n":"is empty","u":"is missing","z":"is missing"}}"#,
    );
    check("body.permit(a: String, n: Integer)", "n=3&a=", r#"{"n":3}"#);
    check(
        "body.permit(a: String, n: Integer)",
        "n=x",
        r#"{"errors":{"n":"must be an integer"}}"#,
    );
    check("body.list(:a)", "a=1&b=2&a=3", r#"["1","3"]"#);
}

#[test]
fn fields_of_json_must_have_their_types() {
    let rig = Rig::serve(
        "post('/') { body.require(a: String, n: Integer, f: Float, t: :bool, l: Array) }",
    );
    let check = |json: &str, status: u16, expected: &str| {
        let answer = rig.post("/", "application/json; charset=utf-8", json.as_bytes());
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, expected),
            "{json}"
        );
    };
    check(
        r#"{"a":"x","n":1,"f":2,"t":false,"l":[]}"#,
        200,
        r#"{"a":"x","n":1,"f":2.0,"t":false,"l":[]}"#,
    );
    check(
        r#"{"a":1,"n":1.5,"f":"x","t":0,"l":{}}"#,
        422,
        r#"{"errors":{"a":"must be a string","n":"must be an integer","f":"must be a number","t":"must be true or false","l":"must be a list"}}"#,
    );
    check("[]", 422, r#"{"errors":{"body":"must be an object"}}"#);
    let answer = rig.post("/", "application/json", b"{");
    assert!(
        answer.status == 400 && answer.text().contains("malformed JSON"),
        "{}",
        answer.text()
    );
}

#[test]
fn upload_has_its_bytes_and_what_the_client_says_of_them() {
    let app = "post('/') { f = body[:file]; [body[:title], f.filename, f.content_type, f.size, f.read, f.read(2, 1)] }
post('/needs') { f = body.require(file: Upload, title: String); [f[:file].size, f[:title]] }
post('/saves') { body[:file].save(Tsumugi.data_dir + '/kept'); body[:file].save(Tsumugi.data_dir + '/kept') }
post('/replaces') { body[:file].replace(Tsumugi.data_dir + '/kept') }
post('/nowhere') { body[:file].replace(Tsumugi.data_dir + '/none/kept') }";
    let rig = Rig::serve(app);
    let form = multipart(&[
        ("name=\"title\"", "日本".as_bytes()),
        (
            "name=\"file\"; filename=\"../up/a.txt\"\r\ncontent-type: text/plain",
            b"hello",
        ),
    ]);
    let answer = rig.post("/", MULTIPART, &form);
    assert_eq!(
        answer.text(),
        r#"["日本","a.txt","text/plain",5,"hello","el"]"#
    );
    assert_eq!(rig.post("/needs", MULTIPART, &form).text(), r#"[5,"日本"]"#);
    let answer = rig.post("/needs", MULTIPART, &multipart(&[("name=\"title\"", b"x")]));
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (422, r#"{"errors":{"file":"is missing"}}"#)
    );
    let answer = rig.post("/saves", MULTIPART, &form);
    assert_eq!(std::fs::read(rig.path().join("kept")).unwrap(), b"hello");
    assert!(
        answer.status == 500 && answer.text().contains("cannot be saved"),
        "{}",
        answer.text()
    );
    let other = multipart(&[("name=\"file\"; filename=\"b\"", b"other")]);
    let answer = rig.post("/replaces", MULTIPART, &other);
    assert!(answer.text().ends_with("/kept"), "{}", answer.text());
    assert_eq!(std::fs::read(rig.path().join("kept")).unwrap(), b"other");
    let answer = rig.post("/nowhere", MULTIPART, &other);
    assert!(
        answer.status == 500 && answer.text().contains("cannot be saved as"),
        "{}",
        answer.text()
    );
}

#[test]
fn large_upload_goes_through_disk_and_comes_back_whole() {
    let app = "post('/') do
  f = body[:file]
  f.save(Tsumugi.data_dir + '/kept')
  sum = 0
  pieces = 0
  f.each_chunk { |piece| sum += piece.bytesize; pieces += 1 }
  [f.size, sum, pieces > 1, f.read(3, 1_999_997)]
end
post('/later') { f = body[:file]; stream('text/plain') { |out| sleep 0.05; out << f.read(5) } }
KEPT = []
post('/keeps') { KEPT << body[:file]; 'kept' }
get('/keeps') { KEPT[0].read }";
    let rig = Rig::serve(app);
    let mut file = vec![b'x'; 2_000_000];
    file[..5].copy_from_slice(b"first");
    file[1_999_997..].copy_from_slice(b"end");
    let form = multipart(&[("name=\"file\"; filename=\"a\"", &file)]);
    assert_eq!(
        rig.post("/", MULTIPART, &form).text(),
        r#"[2000000,2000000,true,"end"]"#
    );
    assert!(std::fs::read(rig.path().join("kept")).unwrap() == file);
    assert_eq!(rig.post("/later", MULTIPART, &form).text(), "first");
    // After its request an upload is gone, whoever kept the object.
    assert_eq!(rig.post("/keeps", MULTIPART, &form).text(), "kept");
    let answer = rig.get("/keeps");
    assert!(
        answer.status == 500 && answer.text().contains("the request is over"),
        "{}",
        answer.text()
    );
}

#[test]
fn body_beyond_a_limit_is_refused_before_it_is_read() {
    let app = "post('/form') { body.data; 'read' }\npost('/text') { body.text; 'read' }\npost('/pieces') { body.each_chunk(max: 10) { |_| }; 'read' }";
    let rig = Rig::with(app, |settings| {
        settings.http.body_bytes_max = 1_000;
        settings.http.upload_bytes_max = 2_000;
    });
    let claim = |path: &str, media_type: &str, length: usize| {
        // Only the header is sent: an answer shows that nothing was waited for.
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n"
        );
        let mut stream = rig.connect();
        stream.write_all(head.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    };
    let answer = claim("/text", "text/plain", 1_001);
    assert!(
        answer.status == 413 && answer.text().contains("body_bytes_max"),
        "{}",
        answer.text()
    );
    let answer = claim("/form", MULTIPART, 2_001);
    assert!(
        answer.status == 413 && answer.text().contains("upload_bytes_max"),
        "{}",
        answer.text()
    );
    let answer = rig.post("/pieces", "text/plain", b"01234567890");
    assert_eq!(answer.status, 413);
    assert_eq!(
        rig.post("/pieces", "text/plain", b"0123456789").text(),
        "read"
    );
}

#[test]
fn malformed_bodies_are_the_clients_fault() {
    let rig = Rig::serve("post('/') { body.data; 'read' }");
    assert_eq!(rig.post("/", "multipart/form-data", b"x").status, 400);
    assert_eq!(rig.post("/", MULTIPART, b"--b\r\nnonsense").status, 400);
    assert_eq!(
        rig.post("/", "application/x-www-form-urlencoded", b"a=%zz")
            .status,
        400
    );
    let form = "application/x-www-form-urlencoded";
    let answer = rig.post("/", form, b"{\"a\": 1}");
    assert!(
        answer.status == 415 && answer.text().contains("must be application/json"),
        "{}",
        answer.text()
    );
    assert_eq!(rig.post("/", form, b"%7B%22a=1").status, 200);
    let digits = "1".repeat(4_097);
    let answer = rig.post("/", "application/json", digits.as_bytes());
    assert!(
        answer.status == 400 && answer.text().contains("json_digits_max"),
        "{}",
        answer.text()
    );
    let answer = rig.post("/", "text/html", b"x");
    assert!(
        answer.status == 415 && answer.text().contains("multipart/form-data"),
        "{}",
        answer.text()
    );
}

#[test]
fn fibres_that_ask_at_once_get_the_same_body() {
    let app = "post('/text') { parallel(-> { body.text }, -> { body.text.size }, -> { body[:a] }) }
post('/form') { parallel(-> { body[:a] }, -> { sleep 0.01; body[:a] }, -> { body.to_h.size }) }";
    let rig = Rig::serve(app);
    let mut stream = rig.connect();
    let head = "POST /text HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 7\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "this thread serves nobody")]
    std::thread::sleep(Duration::from_millis(50)); // all three wait for it by now
    stream.write_all(b"a=hello").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    assert_eq!(Answer::parse(&bytes).text(), r#"["a=hello",7,"hello"]"#);
    let form = multipart(&[("name=\"a\"", b"1"), ("name=\"b\"", b"2")]);
    assert_eq!(rig.post("/form", MULTIPART, &form).text(), r#"["1","1",2]"#);
}

#[test]
fn reader_that_is_cancelled_leaves_an_error_and_not_a_part_of_the_body() {
    let app = "post('/') do
  begin
    parallel(-> { body.text }, -> { sleep 0.02; raise 'enough' })
  rescue RuntimeError
    begin
      body.text
    rescue IOError => e
      e.message
    end
  end
end";
    let rig = Rig::serve(app);
    let mut stream = rig.connect();
    stream
        .write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf")
        .unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    assert!(Answer::parse(&bytes).text().contains("cancelled"));
}

#[test]
fn body_comes_in_pieces_as_it_arrives() {
    let app = "post('/') { stream('text/plain') { |out| body.each_chunk { |piece| out << \"[#{piece}]\" } } }
post('/whole') { body.text; pieces = []; body.each_chunk { |piece| pieces << piece }; pieces }
post('/both') { body.each_chunk { |_| }; body.text }";
    let rig = Rig::serve(app);
    let mut stream = rig.connect();
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 6\r\n\r\nabc",
        )
        .unwrap();
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    while !bytes.windows(5).any(|window| window == b"[abc]") {
        let read = stream.read(&mut piece).unwrap();
        assert!(
            read > 0,
            "the first piece comes back before the second is sent"
        );
        bytes.extend_from_slice(&piece[..read]);
    }
    stream.write_all(b"def").unwrap();
    stream.read_to_end(&mut bytes).unwrap();
    assert_eq!(Answer::parse(&bytes).text(), "[abc][def]");
    assert_eq!(
        rig.post("/whole", "text/plain", b"abc").text(),
        r#"["abc"]"#
    );
    let answer = rig.post("/both", "text/plain", b"abc");
    assert!(
        answer.status == 500 && answer.text().contains("piece by piece"),
        "{}",
        answer.text()
    );
}

#[test]
fn trailers_stand_behind_the_bodies_of_requests_and_streams() {
    let app = "post('/whole') { body.text; request.trailers }
post('/unread') { [request.trailers['x-sum'], body.text] }
post('/early') { body.each_chunk { |_| request.trailers } }
post('/pieces') { body.each_chunk { |_| }; request.trailers }
get('/stream') { stream('text/plain', trailers: ['x-sum', :'X-Size']) { |out| out << 'abc'; out.trailer('X-Sum', 1).trailer(:'x-sum', 2) } }
get('/unannounced') { stream('text/plain', trailers: 'x-sum') { |out|
  begin
    out.trailer 'x-other', 1
  rescue ArgumentError => e
    out << e.message
  end
} }
get('/forbidden') { stream('text/plain', trailers: ['content-length']) { |out| out << 'abc' } }";
    let rig = Rig::serve(app);
    let ask = |path: &str| {
        let head = "host: x\r\nconnection: close\r\ntransfer-encoding: chunked";
        let body = "3\r\nabc\r\n0\r\nX-Sum: 7\r\nHost: y\r\n\r\n";
        rig.raw(format!("POST {path} HTTP/1.1\r\n{head}\r\n\r\n{body}").as_bytes())
            .text()
    };
    assert_eq!(ask("/whole"), r#"{"x-sum":"7"}"#);
    assert_eq!(ask("/unread"), r#"["7","abc"]"#);
    assert_eq!(ask("/pieces"), r#"{"x-sum":"7"}"#);
    assert!(ask("/early").contains("read it to its end before"));
    assert_eq!(rig.post("/whole", "text/plain", b"abc").text(), "{}");
    let mut stream = rig.connect();
    let request = "GET /stream HTTP/1.1\r\nhost: x\r\nte: trailers\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("trailer: x-sum, x-size\r\n"), "{answer}");
    assert!(answer.ends_with("0\r\nx-sum: 2\r\n\r\n"), "{answer}");
    assert!(rig.get("/unannounced").text().contains("not announced"));
    let answer = rig.get("/forbidden");
    assert!(
        answer.status == 500 && answer.text().contains("cannot come behind the body"),
        "{}",
        answer.text()
    );
}

#[test]
fn unread_body_does_not_hold_its_connection() {
    let rig = Rig::serve("post('/') { 'not read' }");
    let mut stream = rig.connect();
    stream
        .write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nbegin")
        .unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes); // ends, because the server closes
    let answer = Answer::parse(&bytes);
    assert_eq!(
        (answer.status, answer.header("connection")),
        (200, Some("close"))
    );
}
