//! WebSockets in Ruby over sockets: who gets one, what is said, what runs beside the block, how a conversation ends, and how many there may be.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tsumugi_ruby::Settings;
use tsumugi_testkit::websocket::{ServerFrame, WebSocketPeer, check_websocket_echo, frame};
use tsumugi_testkit::{Dice, pause};

use crate::rig::Rig;

const PATIENCE: Duration = Duration::from_secs(120);

const APP: &str = r##"
ENDED = []
sessions

get("/echo") do
  websocket do |socket|
    while (message = socket.receive)
      socket.binary? ? socket.send_bytes(message) : socket << message
    end
  end
end
get "/room/:name" do |name|
  halt 403, "no such room" unless name == "a"
  websocket(protocols: %w[v2 v1]) do |socket|
    socket << "#{name} #{query[:as]} #{socket.protocol.inspect}"
    socket.each { |text| socket << { got: text } }
    ENDED << [socket.close_code, socket.close_reason]
  end
end
get("/partner") { websocket(origins: ["https://partner.example"]) { } }
get("/any") { websocket(origins: :any) { } }
get("/raises") { websocket { raise "broken" } }
get("/halts") { websocket { halt 404 } }
get("/closes") { websocket { |socket| socket << "last"; socket.close 4001, "enough" } }
get("/badclose") { websocket { |socket| begin; socket.close 1005; rescue ArgumentError => e; socket << e.message; end } }
get "/bytes" do
  websocket do |socket|
    begin
      socket << "\xff"
    rescue ArgumentError => e
      socket << e.message
    end
  end
end
get "/readers" do
  websocket do |socket|
    receive = lambda do
      begin
        socket.receive
      rescue IOError => e
        socket << e.message
      end
    end
    socket.meanwhile(&receive)
    receive.call
  end
end
get "/ensure" do
  websocket do |socket|
    socket.meanwhile do
      begin
        sleep 1_000
      ensure
        ENDED << "beside"
      end
    end
    begin
      socket << "ready"
      socket.receive
    ensure
      ENDED << "block"
    end
  end
end
get "/fails" do
  websocket do |socket|
    socket.meanwhile { sleep 0; raise "beside" }
    begin
      sleep 1_000
    ensure
      ENDED << "cancelled"
    end
  end
end
get "/full" do
  websocket do |socket|
    16.times { socket.meanwhile { sleep 1_000 } }
    begin
      socket.meanwhile { }
    rescue ArgumentError => e
      socket << e.message
    end
  end
end
get "/session" do
  halt 401 unless session[:name]
  websocket { |socket| socket << session[:name] }
end
post("/login") { session[:name] = "Ann"; status 204 }
get("/stuck") { websocket { begin; sleep 1_000; ensure; ENDED << "stuck"; end } }
get("/ended") { ENDED }
get("/vm") { GC.start; { bytes: Tsumugi.vm_bytes } }

CHAT = channel("chat of NUMBER")
get "/chat" do
  websocket do |socket|
    begin
      socket.forward CHAT
      socket << "ready"
      socket.each { |text| CHAT.publish text }
    ensure
      ENDED << "chat"
    end
  end
end
get("/mapped") { websocket { |socket| socket.forward(CHAT) { |text| text == "skip" ? nil : { text: text } }; socket << "ready"; socket.receive } }
KEPT = channel("kept of NUMBER", keep: 10)
post("/kept") { KEPT.publish(body.text).to_s }
get("/kept") { websocket { |socket| socket.forward(KEPT, after: query.int(:after, 0)) { |text, number| "#{number} #{text}" }; socket.receive } }
"##;

/// Serves the application with channels of its own: those of other tests are in this process too.
fn serve(set: impl FnOnce(&mut Settings)) -> Rig {
    static RIGS: AtomicUsize = AtomicUsize::new(0);
    let number = RIGS.fetch_add(1, Ordering::Relaxed).to_string();
    Rig::with(&APP.replace("NUMBER", &number), set)
}

fn open(rig: &Rig, path: &str) -> WebSocketPeer {
    WebSocketPeer::open(rig.address(), path, "").unwrap_or_else(|head| panic!("{path}: {head}"))
}

#[track_caller]
fn check_refused(rig: &Rig, path: &str, fields: &str, expected: &str) {
    let head = WebSocketPeer::open(rig.address(), path, fields).expect_err("a refusal");
    assert!(
        head.starts_with(&format!("HTTP/1.1 {expected} ")),
        "{path}: {head}"
    );
}

/// Until what has ended is this, in any order.
#[track_caller]
fn until_ended(rig: &Rig, expected: &[&str]) {
    let begun = Instant::now();
    loop {
        let mut ended: Vec<String> = parse(&rig.get("/ended").text());
        ended.sort();
        if ended == expected {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{ended:?}");
        pause();
    }
}

/// A list of texts in JSON, without anything to be escaped in them.
fn parse(json: &str) -> Vec<String> {
    let inner = json.trim_start_matches('[').trim_end_matches(']');
    let items = inner.split(',').filter(|item| !item.is_empty());
    items
        .map(|item| item.trim_matches('"').to_owned())
        .collect()
}

fn closed(code: u16, reason: &str) -> ServerFrame {
    ServerFrame::Close(Some(code), reason.to_owned())
}

#[test]
fn echo_in_ruby_answers_every_case_of_the_table() {
    check_websocket_echo(serve(|_| {}).address(), "/echo");
}

#[test]
fn handler_reads_the_request_and_may_refuse_before_the_handshake() {
    let rig = serve(|_| {});
    let mut peer = WebSocketPeer::open(
        rig.address(),
        "/room/a?as=Ann",
        "sec-websocket-protocol: v1, v2\r\n",
    )
    .unwrap();
    assert_eq!(peer.text(), "a Ann \"v2\"");
    peer.send("x");
    assert_eq!(peer.text(), r#"{"got":"x"}"#);
    peer.close(4000, "bye");
    assert_eq!(peer.receive(), closed(4000, "bye"));
    until_ended_text(&rig, r#"[[4000,"bye"]]"#);
    check_refused(&rig, "/room/b", "", "403");
    assert_eq!(open(&rig, "/room/a").text(), "a  nil");
}

#[track_caller]
fn until_ended_text(rig: &Rig, expected: &str) {
    let begun = Instant::now();
    while rig.get("/ended").text() != expected {
        assert!(begun.elapsed() < PATIENCE, "{}", rig.get("/ended").text());
        pause();
    }
}

#[test]
fn pages_of_other_origins_are_let_in_by_name_only() {
    let rig = serve(|_| {});
    let opened = |path: &str, origin: &str| {
        let field = format!("origin: {origin}\r\n");
        WebSocketPeer::open(rig.address(), path, &field).is_ok()
    };
    assert!(opened("/echo", "http://test"));
    check_refused(&rig, "/echo", "origin: https://partner.example\r\n", "403");
    assert!(opened("/partner", "https://partner.example"));
    assert!(!opened("/partner", "https://other.example"));
    assert!(opened("/any", "https://other.example"));
}

#[test]
fn plain_request_is_answered_426() {
    let rig = serve(|_| {});
    let answer = rig.get("/echo");
    assert_eq!(answer.status, 426);
    let field = |name: &str| answer.headers.iter().find(|(key, _)| key == name);
    assert_eq!(
        field("upgrade").map(|(_, value)| value.as_str()),
        Some("websocket")
    );
    assert_eq!(answer.text(), "a WebSocket is asked for by an upgrade\n");
}

#[test]
fn block_that_ends_closes_with_a_code() {
    let rig = serve(|_| {});
    for (path, text, code, reason) in [
        ("/any", None, 1000, ""),
        ("/raises", None, 1011, "the handler failed"),
        ("/halts", None, 1011, "the handler failed"),
        ("/fails", None, 1011, "the handler failed"),
        ("/closes", Some("last"), 4001, "enough"),
        (
            "/badclose",
            Some("the code is one of 1000 to 1003, 1007 to 1014 and 3000 to 4999"),
            1000,
            "",
        ),
        (
            "/bytes",
            Some("the text of a message must be UTF-8"),
            1000,
            "",
        ),
        (
            "/readers",
            Some("another fibre receives from this WebSocket"),
            1000,
            "",
        ),
        (
            "/full",
            Some("16 fibres (WEBSOCKET_FIBRES_MAX) run beside this WebSocket already"),
            1000,
            "",
        ),
    ] {
        let mut peer = open(&rig, path);
        if let Some(text) = text {
            assert_eq!(peer.text(), text, "{path}");
        }
        if path == "/readers" {
            // Whichever of the two waits first.
            peer.close(1000, "");
        }
        assert_eq!(peer.receive(), closed(code, reason), "{path}");
    }
    until_ended(&rig, &["cancelled"]);
}

#[test]
fn ensure_runs_when_the_client_goes() {
    let rig = serve(|_| {});
    let mut peer = open(&rig, "/ensure");
    assert_eq!(peer.text(), "ready");
    peer.hang_up();
    until_ended(&rig, &["beside", "block"]);
}

#[test]
fn block_that_waits_for_something_else_is_cancelled_when_it_is_over() {
    let rig = serve(|settings| settings.http.websocket_close_ms = 50);
    open(&rig, "/stuck").hang_up();
    until_ended(&rig, &["stuck"]);
}

#[test]
fn conversation_outlives_the_deadline_of_requests() {
    let rig = serve(|settings| settings.limits.request_ms_max = 50);
    let mut peer = open(&rig, "/echo");
    for _ in 0..20 {
        pause();
    }
    peer.send("still there");
    assert_eq!(peer.text(), "still there");
}

#[test]
fn session_is_read_before_and_during_the_conversation() {
    let rig = serve(|_| {});
    check_refused(&rig, "/session", "", "401");
    let login = rig.post("/login", "application/json", b"{}");
    let cookie = login.headers.iter().find(|(name, _)| name == "set-cookie");
    let cookie = cookie.unwrap().1.split(';').next().unwrap().to_owned();
    let field = format!("cookie: {cookie}\r\n");
    let mut peer = WebSocketPeer::open(rig.address(), "/session", &field).unwrap();
    assert_eq!(peer.text(), "Ann");
}

#[test]
fn message_larger_than_its_limit_closes_with_1009() {
    let rig = serve(|settings| settings.http.websocket_message_bytes_max = 1_000);
    let mut peer = open(&rig, "/echo");
    peer.send(&"x".repeat(1_000));
    assert_eq!(peer.text().len(), 1_000);
    peer.send(&"x".repeat(1_001));
    assert_eq!(
        peer.receive(),
        closed(1009, "websocket_message_bytes_max is 1000")
    );
}

#[test]
fn client_that_does_not_read_makes_its_fibre_wait() {
    let app = r#"
SENT = [0]
get("/flood") { websocket { |socket| text = "x" * 10_000; 2_000.times { socket << text; SENT[0] += 1 } } }
get("/sent") { SENT[0].to_s }
"#;
    let rig = Rig::serve(app);
    let sent = || rig.get("/sent").text().parse::<usize>().unwrap();
    let mut peer = open(&rig, "/flood");
    let begun = Instant::now();
    let mut last = 0;
    // Until nothing more goes: what the sockets hold.
    loop {
        for _ in 0..20 {
            pause();
        }
        let now = sent();
        if now > 0 && now == last {
            break;
        }
        last = now;
        assert!(begun.elapsed() < PATIENCE);
    }
    assert!(last < 2_000, "20 MB were taken without a reader");
    for _ in 0..2_000 {
        assert_eq!(peer.text().len(), 10_000);
    }
    assert_eq!(peer.receive(), closed(1000, ""));
}

#[test]
fn messages_of_a_channel_are_mapped_and_those_that_were_kept_come_first() {
    let rig = serve(|_| {});
    let (mut mapped, mut other) = (open(&rig, "/mapped"), open(&rig, "/chat"));
    assert_eq!(
        (mapped.text(), other.text()),
        ("ready".to_owned(), "ready".to_owned())
    );
    for text in ["a", "skip", "b"] {
        other.send(text);
        assert_eq!(other.text(), text);
    }
    assert_eq!(
        (mapped.text(), mapped.text()),
        (r#"{"text":"a"}"#.to_owned(), r#"{"text":"b"}"#.to_owned())
    );
    let publish = |text: &str| rig.post("/kept", "text/plain", text.as_bytes()).text();
    let (first, second) = (publish("x"), publish("y"));
    let mut kept = open(&rig, &format!("/kept?after={first}"));
    assert_eq!(kept.text(), format!("{second} y"));
    let third = publish("z");
    assert_eq!(kept.text(), format!("{third} z"));
}

/// Clients come, send, close and hang up in an order that the seed says. Each message is awaited by its sender, so that its place among all is known:
/// who is there has to get each of them, in that order.
fn interleave(seed: u64) {
    let rig = serve(|_| {});
    let dice = Dice::new(seed);
    // Each with the messages that it has to get.
    let mut clients: Vec<(WebSocketPeer, Vec<String>)> = Vec::new();
    let mut opened = 0;
    for step in 0..150 {
        match dice.below(10) {
            0 | 1 if clients.len() < 8 => {
                let mut peer = open(&rig, "/chat");
                assert_eq!(peer.text(), "ready", "seed {seed}, step {step}");
                clients.push((peer, Vec::new()));
                opened += 1;
            }
            2 if !clients.is_empty() => {
                let (mut peer, due) = clients.swap_remove(dice.place(clients.len()));
                if dice.one_in(2) {
                    peer.hang_up();
                } else {
                    drain(&mut peer, due, seed);
                    peer.close(1000, "");
                    assert_eq!(peer.receive(), closed(1000, ""), "seed {seed}");
                }
            }
            3 | 4 if !clients.is_empty() => {
                let place = dice.place(clients.len());
                let (peer, due) = &mut clients[place];
                drain(peer, std::mem::take(due), seed);
            }
            _ if !clients.is_empty() => {
                let text = format!("message {step}");
                clients
                    .iter_mut()
                    .for_each(|(_, due)| due.push(text.clone()));
                let place = dice.place(clients.len());
                let (peer, due) = &mut clients[place];
                // A ping is answered by the server itself and disturbs nothing.
                if dice.one_in(4) {
                    peer.write(&frame(0x8a, b"unasked"));
                }
                peer.send(&text);
                drain(peer, std::mem::take(due), seed);
            }
            _ => {}
        }
    }
    for (mut peer, due) in clients {
        drain(&mut peer, due, seed);
    }
    until_ended(&rig, &vec!["chat"; opened]);
}

#[track_caller]
fn drain(peer: &mut WebSocketPeer, due: Vec<String>, seed: u64) {
    for expected in due {
        assert_eq!(peer.text(), expected, "seed {seed}");
    }
}

#[test]
fn clients_that_come_and_go_in_any_order_get_each_message_once_and_in_order() {
    for seed in 1..=6 {
        interleave(seed);
    }
}

#[test]
fn thousand_conversations_share_a_worker_and_leave_nothing() {
    let rig = serve(|_| {});
    let bytes = || {
        let text = rig.get("/vm").text();
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<usize>().unwrap()
    };
    let before = bytes();
    let mut peaks = Vec::new();
    for _ in 0..3 {
        let mut peers: Vec<WebSocketPeer> = (0..1_000).map(|_| open(&rig, "/chat")).collect();
        for peer in &mut peers {
            assert_eq!(peer.text(), "ready");
        }
        peaks.push(bytes() - before);
        drop(peers);
        let begun = Instant::now();
        while rig.get("/ended").text().matches("chat").count() < 1_000 * peaks.len() {
            assert!(begun.elapsed() < PATIENCE, "some do not end");
            pause();
        }
    }
    let each = peaks[0] / 1_000;
    println!("{each} bytes of the VM for each WebSocket that forwards a channel");
    assert!(
        each < 16 * 1024,
        "{each} bytes of the VM for each WebSocket"
    );
    // After the first round idle fibres are kept for the next.
    assert!(peaks[2] < peaks[1] + 1_000_000, "{peaks:?}");
}
