//! What an application in Ruby sends to others: calls that a test answers, calls that may go to public addresses only, and mails. Black box: the real
//! binary, `tsumugi test` and `tsumugi serve`. How calls and mails travel is tested in their crates.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tsumugi_testkit::smtp::SmtpServer;

const APP: &str = r#"
get("/users/:id") do |id|
  http.get("https://api.example.org/users/#{id}", query: { full: 1 }).json
rescue HTTP::Timeout, HTTP::ConnectionFailed, HTTP::ProtocolError => e
  halt 502, e.class.name
end
post("/hook") { http.post("https://hooks.example.org/x", json: { text: body[:text] }, headers: { x_key: "k" }).status }
get("/inside") { http.get("http://127.0.0.1:1/", public_only: true).status }
get("/outside") { http.get("http://127.0.0.1:1/").status }
error(HTTP::NotPublic) { |e| text e.message, status: 403 }
error(HTTP::ConnectionFailed) { text "refused", status: 502 }
post("/invite") do
  mail to: body[:to], subject: "Hello #{body[:name]}", text: "come", html: "<b>come</b>", attachments: [{ name: "a.csv", type: "text/csv", body: "a,b" }]
rescue Mail::Invalid => e
  halt 422, e.message
end
"#;

const TESTS: &str = r#"
test "a block answers with what it makes of the call" do
  stub_http(:get, "https://api.example.org/users/:id") { |call| { id: call[:id], asked: call.url } }
  assert_equal({ "id" => "7", "asked" => "https://api.example.org/users/7?full=1" }, get("/users/7").json)
  assert_equal :get, http_calls.last.method
end

test "calls can be looked at" do
  stub_http :post, "https://hooks.example.org/*rest", status: 202, body: "thanks"
  assert_equal "202", post("/hook", json: { text: "hi" }).body
  assert_equal({ "text" => "hi" }, http_calls.first.json)
  assert_equal "k", http_calls.first.headers["x-key"]
end

test "failures can be played" do
  { timeout: "HTTP::Timeout", refused: "HTTP::ConnectionFailed", broken: "HTTP::ProtocolError" }.each do |how, name|
    stub_http(nil, "https://api.example.org/users/:id", fails: how) unless how == :timeout
    stub_http(nil, "https://api.example.org/users/:id") { |call| call.reply(status: 302, headers: { location: "/users/x" }) } if how == :timeout
    stub_http(nil, "https://api.example.org/users/x") { |call| call.fails(:refused) } if how == :timeout
    assert_equal(how == :timeout ? "HTTP::ConnectionFailed" : name, get("/users/7").body)
    assert_status 502
  end
end

test "a call without a stub fails" do
  get "/users/7"
  assert_status 500
  assert_match "stub it with stub_http, or let calls out with allow_http!", response.body
end

test "a stub that raises fails the call" do
  stub_http(:get, "https://api.example.org/users/:id") { |_| raise "no such row" }
  get "/users/7"
  assert_match "no such row", response.body
end

test "a wrong stub is refused" do
  assert_raises(ArgumentError) { stub_http :get, "/users" }
  assert_raises(ArgumentError) { stub_http :get, "https://a/", fails: :nonsense }
  assert_raises(ArgumentError) { stub_http :get, "https://a/", json: 1, body: "x" }
  assert_raises(ArgumentError) { stub_http(:get, "https://a/", status: 200) { 200 } }
end

test "calls can be let out" do
  allow_http!
  assert_equal "refused", get("/outside").body
  assert_match "no public address", get("/inside").body
  assert_status 403
end

test "mails are collected" do
  post "/invite", form: { to: "Ann <ann@example.org>", name: "Ann" }
  assert_equal 1, mails.size
  assert_equal ["Ann <ann@example.org>"], mails.last.to
  assert_equal "Hello Ann", mails.last.subject
  assert_equal "text/csv", mails.last.attachments.first[:type]
end

test "a name cannot begin a header field" do
  post "/invite", form: { to: "ann@example.org", name: "x\r\nBcc: eve@example.org" }
  assert_status 422
  assert_match "control character", response.body
  assert_equal 0, mails.size
end
"#;

fn application(folder: &Path) {
    std::fs::write(folder.join("app.rb"), APP).unwrap();
    std::fs::create_dir(folder.join("test")).unwrap();
    std::fs::write(folder.join("test/app_test.rb"), TESTS).unwrap();
}

fn tsumugi(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env_remove("SMTP_URL")
        .env_remove("MAIL_FROM");
    command
}

#[test]
fn calls_and_mails_of_an_application_under_test_stay_within_the_test() {
    let folder = tempfile::tempdir().unwrap();
    application(folder.path());
    let output = tsumugi(folder.path()).arg("test").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(text.ends_with("9 passed, 0 failed\n"), "{text}{log}");
}

/// A server that ends with its value.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `POST /invite` is answered, by a server with these options that finds this mail server.
fn invite(folder: &Path, options: &[&str], url: Option<&str>) -> String {
    let mut command = tsumugi(folder);
    command
        .args([
            "serve",
            "app.rb",
            "--workers",
            "1",
            "--listen",
            "127.0.0.1:0",
        ])
        .args(options)
        .env("TSUMUGI_SECRET", "a secret of this test that has 32 bytes")
        .env("TSUMUGI_LOG", "info")
        .env("MAIL_FROM", "App <app@example.org>")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(url) = url {
        command.env("SMTP_URL", url);
    }
    let mut child = command.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let _served = Served(child);
    let address = loop {
        let mut line = String::new();
        assert!(log.read_line(&mut line).unwrap() > 0, "the server ended");
        if let Some((_, rest)) = line.split_once("listening on http://") {
            break rest.split(' ').next().unwrap().trim().to_owned();
        }
    };
    // What it says later must find room.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let form = "to=ann%40example.org&name=Ann";
    let request = format!(
        "POST /invite HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
        form.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn mails_of_a_server_go_where_the_environment_says() {
    let folder = tempfile::tempdir().unwrap();
    application(folder.path());
    let server = SmtpServer::start();
    let answer = invite(folder.path(), &[], Some(&server.url()));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].to, ["ann@example.org"]);
    assert!(
        mails[0].text.contains("From: App <app@example.org>"),
        "{}",
        mails[0].text
    );
    assert!(answer.contains("@example.org>"), "the mail's id: {answer}");

    let answer = invite(folder.path(), &["--dev"], None);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let written = std::fs::read_dir(folder.path().join("data/mail")).unwrap();
    assert_eq!(written.count(), 1);

    let answer = invite(folder.path(), &[], None);
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert_eq!(server.mails().len(), 1);
}
