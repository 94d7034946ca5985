//! Isolation and cancellation: no request sees, stalls or spoils another, whatever it does and however it ends.

use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::rig::{Client, PATIENCE, Site, pause, routes};

#[test]
fn parked_requests_keep_their_own_context() {
    let site = Site::start(
        r##"
before { @before = query[:n]; sleep 0.002 }
after { header "x-after", @before }
post "/echo/:id" do |id|
  @mine = id
  sleep 0.003
  first = [id, captures[:id], query[:n], headers["x-n"], @mine, @before]
  [1, 2].each { sleep 0.003 }
  header "x-own", headers["x-n"]
  second = [id, captures[:id], query[:n], headers["x-n"], @mine, body.text]
  parallel(-> { sleep 0.001; @mine == id }, -> { query[:n] == id }).all? ? (first + second).join(",") : "mixed"
end
"##,
    );
    let mut clients: Vec<Client> = (0..60).map(|_| site.connect()).collect();
    for round in 0..10 {
        for (i, client) in clients.iter_mut().enumerate() {
            let n = round * 100 + i;
            let headers = format!("x-n: {n}\r\ncookie: n={n}\r\n");
            client.send(
                "POST",
                &format!("/echo/{n}?n={n}"),
                &headers,
                &n.to_string(),
            );
        }
        for (i, client) in clients.iter_mut().enumerate() {
            let n = (round * 100 + i).to_string();
            let reply = client.receive();
            assert_eq!(reply.text(), [n.as_str(); 12].join(","), "{}", site.log());
            assert_eq!(
                (reply.header("x-own"), reply.header("x-after")),
                (Some(n.as_str()), Some(n.as_str()))
            );
        }
    }
}

const LEAVING: &str = r##"
plugin(:db) { DB.connect "sqlite:leaving.db", pool: 2 }
db.execute "create table if not exists things (name text)"
COUNTS = { entered: 0, left: 0 }
helpers do
  def counted
    COUNTS[:entered] += 1
    yield
  ensure
    COUNTS[:left] += 1
  end
end
get("/sleep") { counted { sleep 60 } }
get("/ensure") { counted { begin sleep 60 ensure sleep 0.01; db.execute "insert into things values ('ensured')" end } }
get "/transaction" do
  counted { db.transaction { |tx| tx.execute "insert into things values ('lost')"; sleep 60 } }
end
get "/parallel" do
  counted { parallel(-> { counted { sleep 60 } }, -> { counted { sleep 60 } }) }
end
get("/channel") { counted { Tsumugi::Channel.new.pop } }
get "/stream" do
  stream("text/plain") { |out| counted { loop { out << "x" * 1000; sleep 0.01 } } }
end
get("/things/:name") { |name| db.query("select count(*) as n from things where name = ?", name).first[:n].to_s }
get("/insert") { db.transaction { |tx| tx.execute "insert into things values ('kept')" }; "inserted" }
get("/entered") { COUNTS[:entered].to_s }
get("/left") { COUNTS[:left].to_s }
get("/bytes") { GC.start; Tsumugi.vm_bytes.to_s }
"##;

#[test]
fn ensure_runs_when_the_client_has_gone() {
    let site = Site::start(LEAVING);
    let mut expected = 0;
    for (path, blocks) in [
        ("/sleep", 1),
        ("/ensure", 1),
        ("/transaction", 1),
        ("/parallel", 3),
        ("/channel", 1),
        ("/stream", 1),
    ] {
        expected += blocks;
        let mut client = site.connect();
        client.send("GET", path, "", "");
        site.until("/entered", &expected.to_string());
        pause(20);
        drop(client);
        site.until("/left", &expected.to_string());
    }
    site.check("/insert", "inserted");
    site.until("/things/ensured", "1");
    site.check("/things/lost", "0");
    site.check("/things/kept", "1");
    assert!(!site.log().contains("ERROR"), "{}", site.log());
}

#[test]
fn ten_thousand_clients_that_leave_cost_no_memory() {
    const ROUND: usize = 200;
    // Without the time that a client has which only said that it will send no more.
    let site = Site::start_with(LEAVING, &["--limit", "half_close_ms=0"]);
    let mut control = site.connect();
    let mut left = 0;
    let mut leave = |rounds: usize| {
        for _ in 0..rounds {
            let path = ["/sleep", "/transaction", "/channel"];
            let mut clients: Vec<Client> = (0..ROUND).map(|_| site.connect()).collect();
            for (i, client) in clients.iter_mut().enumerate() {
                // Transactions wait for each other, so a few are enough.
                client.send(
                    "GET",
                    path[if i % 50 == 1 { 1 } else { 2 * (i % 2) }],
                    "",
                    "",
                );
            }
            left += ROUND;
            while control.get("/entered").text() != left.to_string() {
                pause(1);
            }
            drop(clients);
            let start = Instant::now();
            while control.get("/left").text() != left.to_string() {
                assert!(start.elapsed() < PATIENCE, "{}", site.log());
                pause(1);
            }
        }
        (
            control.get("/bytes").text().parse::<u64>().unwrap(),
            site.resident_kib(),
        )
    };
    let (bytes_early, resident_early) = leave(5);
    let (bytes_late, resident_late) = leave(45);
    // What idles after a round is a MiB more or less, and no more after many rounds; one fibre lost per request would be fifteen.
    assert!(
        bytes_late < bytes_early + 4 * 1024 * 1024,
        "VM: {bytes_early} -> {bytes_late} bytes"
    );
    assert!(
        resident_late < resident_early + 16 * 1024,
        "process: {resident_early} -> {resident_late} KiB"
    );
    site.check("/insert", "inserted");
    site.check("/things/lost", "0");
}

#[test]
fn the_request_deadline_answers_504_runs_ensure_and_leaves_connections_clean() {
    let site = Site::start_with(LEAVING, &["--limit", "request_ms_max=1000"]);
    for (i, path) in ["/sleep", "/transaction", "/channel", "/transaction"]
        .iter()
        .enumerate()
    {
        let mut client = site.connect();
        let start = Instant::now();
        assert_eq!(client.get(path).status, 504);
        assert!(start.elapsed() >= Duration::from_millis(1_000));
        // The connection of the client goes on as well.
        assert_eq!(client.get("/left").text(), (i + 1).to_string());
        assert_eq!(client.get("/insert").text(), "inserted");
    }
    site.check("/things/lost", "0");
    site.check("/things/kept", "4");
}

#[test]
fn handler_that_rescues_or_delays_cancellation_ends_within_cancel_ms_max() {
    let site = Site::start_with(
        r##"
LEFT = []
get "/slow-ensure" do
  begin sleep 60 ensure sleep 0.05; LEFT << "slow"; sleep 60; LEFT << "never" end
end
get "/swallow" do
  begin sleep 60
  rescue Exception => e
    sleep 0.05
    "#{e.class} swallowed"
  end
end
get "/again" do
  begin sleep 60
  rescue Exception
    retry
  end
end
get "/again-and-again" do
  while true
    begin sleep 60
    rescue Exception
    end
  end
end
get("/left") { LEFT.join(" ") }
get("/alive") { sleep 0.01; "alive" }
"##,
        &[
            "--limit",
            "request_ms_max=800",
            "--limit",
            "cancel_ms_max=800",
        ],
    );
    site.check_status("/slow-ensure", 504);
    site.check("/left", "slow");
    site.check("/swallow", "Tsumugi::Cancelled swallowed");
    let replies = site.together(&["/again", "/again-and-again", "/again"]);
    assert!(
        replies.iter().all(|reply| reply.status == 504),
        "{replies:?}"
    );
    site.expect_log("GET /again: it rescues Tsumugi::Cancelled and waits on");
    for _ in 0..20 {
        site.check("/alive", "alive");
    }
    // The same when it is the client who has gone.
    let mut client = site.connect();
    client.send("GET", "/again", "", "");
    pause(50);
    drop(client);
    site.check("/alive", "alive");
}

/// Bodies that never end by themselves.
const LOOPS: &[&str] = &[
    "while true; end",
    "loop { }",
    "loop { [1, 2].map { |i| i.to_s } }",
    "begin\n  while true; end\nrescue Exception\n  while true; end\nend",
    "begin\n  while true; end\nensure\n  while true; end\nend",
    "while true\n  begin\n    while true; end\n  rescue Exception\n  end\nend",
    "sleep 0.001\n[1].each { while true; end }",
    "Hash.new { while true; end }[1]",
    "[2, 1].sort { |a, b| while true; end }",
    "\"#{Forever.new}\"",
    "{ forever: Forever.new }",
    "parallel(-> { while true; end }, -> { sleep 60 })",
    "f = Fiber.new { while true; end }\nf.resume",
    "def self.down(n)\n  n > 500 ? n : down(n + 1)\nend\nwhile true\n  down(0)\nend",
];

#[test]
fn endless_loop_of_instant_waits_yields_to_others_and_ends_at_request_ms_max() {
    let site = Site::start_with(
        r##"
get "/busy" do
  channel = Tsumugi::Channel.new
  loop { channel << 1; channel.pop }
end
get "/zero" do
  loop { sleep 0 }
end
get("/alive") { "alive" }
"##,
        &["--limit", "request_ms_max=3000"],
    );
    let (mut busy, mut zero) = (site.connect(), site.connect());
    busy.send("GET", "/busy", "", "");
    zero.send("GET", "/zero", "", "");
    pause(50);
    site.check("/alive", "alive");
    assert!(
        !busy.has_answer() && !zero.has_answer(),
        "answered only after the deadline"
    );
    assert_eq!((busy.receive().status, zero.receive().status), (504, 504));
}

const LOOPERS: &str = r#"
class Forever
  def to_s = (while true; end)
  def to_json(*) = (while true; end)
end
get("/alive") { sleep 0.001; "alive" }
"#;

#[test]
fn a_loop_without_end_is_stopped_by_the_turn_limit_and_neighbours_answer() {
    let site = Site::start_with(
        &routes(LOOPERS, LOOPS.iter().copied()),
        &["--limit", "turn_cpu_ms_max=200"],
    );
    for (i, body) in LOOPS.iter().enumerate() {
        let mut neighbour = site.connect();
        assert_eq!(neighbour.get("/alive").text(), "alive");
        let mut looper = site.connect();
        looper.send("GET", &format!("/{i}"), "", "");
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(50) {
            neighbour.get("/alive");
        }
        assert_eq!(looper.receive().status, 500, "{body}\n{}", site.log());
        site.expect_log(&format!(
            "GET /{i}: Tsumugi::Overrun: the handler used more CPU time"
        ));
        assert_eq!(neighbour.get("/alive").text(), "alive");
    }
    site.expect_log("a handler at app.rb:9 holds its worker");
}

#[test]
fn loops_without_end_in_streams_timers_and_filters_are_stopped() {
    let site = Site::start_with(
        r##"
TICKS = []
every(0.3, workers: :one) { TICKS << 1; while true; end }
before { while true; end if query[:loop] }
get("/stream") { stream("text/plain") { |out| out << "begun"; while true; end } }
get("/before") { "never" }
get("/ticks") { (TICKS.size >= 2).to_s }
"##,
        &["--limit", "turn_cpu_ms_max=150"],
    );
    site.check_status("/before?loop=1", 500);
    let mut client = site.connect();
    client.send("GET", "/stream", "", "");
    assert!(
        client.try_receive().is_none(),
        "a stream that failed ended like a complete one"
    );
    site.expect_log("GET /stream: while its body was sent: Tsumugi::Overrun");
    site.expect_log("every at app.rb:3: Tsumugi::Overrun");
    site.until("/ticks", "true");
}

/// Bodies that allocate without end.
const HOGS: &[&str] = &[
    "a = []\nloop { a << \"x\" * 1_000_000 }",
    "a = []\nloop { a << \"small\" + a.size.to_s }",
    "s = \"x\"\nloop { s = s + s }",
    "s = \"x\"\nloop { s << s }",
    "h = {}\nloop { h[h.size] = [h.size] }",
    "a = []\nloop { a = [a, a.dup, Object.new] }",
    "a = []\nbegin\n  loop { a << \"x\" * 100_000 }\nensure\n  sleep 0.001\n  [1, 2].map { |i| i.to_s * 100 }\nend",
    "a = []\nloop { sleep 0; a << \"x\" * 1_000_000 }",
    "parallel(-> { a = []\nloop { a << \"x\" * 1_000_000 } }, -> { sleep 60 })",
];

#[test]
fn allocation_without_end_raises_there_and_the_vm_stays_usable() {
    let before = "get(\"/alive\") { sleep 0.001; { alive: [1, \"two\" * 1000].size } }\n\
        get(\"/bytes\") { GC.start; Tsumugi.vm_bytes.to_s }\n\
        get \"/rescued\" do\n  a = []\n  begin\n    loop { a << \"x\" * 1_000_000 }\n  rescue NoMemoryError => e\n    n = a.size\n    a = nil\n    \"rescued #{n > 5}\"\n  end\nend";
    let site = Site::start_with(
        &routes(before, HOGS.iter().copied()),
        &[
            "--limit",
            "vm_bytes_max=33554432",
            "--limit",
            "turn_cpu_ms_max=20000",
            "--limit",
            "stall_ms=5000",
        ],
    );
    let mut neighbour = site.connect();
    neighbour.send("GET", "/alive", "", "");
    for round in 0..2 {
        for (i, body) in HOGS.iter().enumerate() {
            assert_eq!(
                site.get(&format!("/{i}")).status,
                500,
                "{round} {body}\n{}",
                site.log()
            );
            site.check("/alive", "{\"alive\":2}");
        }
        site.check("/rescued", "rescued true");
    }
    assert_eq!(neighbour.receive().text(), "{\"alive\":2}");
    site.expect_log("NoMemoryError: the memory of this worker's VM is used up (vm_bytes_max)");
    let bytes: u64 = site.get("/bytes").text().parse().unwrap();
    assert!(bytes < 12_000_000, "{bytes} bytes are still held");
    assert!(site.resident_kib() < 300_000, "{} KiB", site.resident_kib());
}

/// Single calls of native code that ask for too much.
const GIANTS: &[&str] = &[
    "(2 ** (2 ** 40)).to_s.size",
    "(1 << (1 << 40)).to_s.size",
    "((2 ** 200_000) ** 100).to_s.size",
    "x = 3\n100.times { x *= x }\nx.to_s.size",
    "(\"9\" * 1_000_000).to_i.size",
    "(\"x\" * (1 << 40)).size",
    "(\"x\" * 60_000_000 * 60).size",
    "\"x\".ljust(1 << 40).size",
    "\"x\".rjust(1 << 40, \"ab\").size",
    "\"x\".center(1 << 33).size",
    "Array.new(1 << 40).size",
    "Array.new(1 << 24, 0).size",
    "([0] * (1 << 40)).size",
    "([0] * 100_000 * 100_000).size",
    "a = []\na[1 << 40] = 1\na.size",
    "(1..40).to_a.combination(20).to_a.size",
    "(1..20).to_a.permutation.to_a.size",
    "a = (1..1000).to_a\na.product(a, a, a).size",
    "(1..(1 << 40)).to_a.size",
    "format(\"%1000000000d\", 1).size",
    "format(\"%-1000000000s\", \"x\").size",
    "format(\"%.1000000000f\", 1.0).size",
    "format(\"%*d\", 1 << 30, 1).size",
    "[1].pack(\"x1000000000\").size",
    "[\"x\"].pack(\"a1000000000\").size",
    "([\"xxxxxxxxxx\"] * 4_000_000).join.size",
    "([\"x\" * 1_000_000] * 1000).join.size",
    "a = []\n30.times { a = [a, a] }\na.flatten.size",
    "a = []\n30.times { a = [a, a] }\na.inspect.size",
    "a = []\n30.times { a = [a, a] }\na.hash",
    "a = [1]\n30.times { a = [a, a] }\nb = [1]\n30.times { b = [b, b] }\n(a == b).to_s",
    "a = []\n30.times { a = [a, a] }\na",
    "a = []\na << a\na.flatten",
    "(\"ab\" * 10_000_000).gsub(\"a\", \"x\" * 1000).size",
    "(\"a\" * 20_000_000).split(\"\").size",
    "(\"a\" * 20_000_000).chars.size",
    "(\"a\" * 20_000_000).reverse.succ.size",
];

#[test]
fn no_single_call_stalls_the_worker_or_takes_all_memory() {
    let before = "get(\"/alive\") { sleep 0.001; \"alive\" }";
    let site = Site::start_with(
        &routes(before, GIANTS.iter().copied()),
        &[
            "--limit",
            "turn_cpu_ms_max=500",
            "--limit",
            "vm_bytes_max=268435456",
        ],
    );
    let mut slow = String::new();
    for (i, body) in GIANTS.iter().enumerate() {
        let before = site.cpu_time();
        let reply = site.get(&format!("/{i}"));
        let took = site.cpu_time() - before;
        assert!(
            [200, 500].contains(&reply.status),
            "{body}: {}",
            reply.status
        );
        if took > Duration::from_secs(4) {
            slow.push_str(&format!("{took:?}: {body}\n"));
        }
        site.check("/alive", "alive");
    }
    assert!(slow.is_empty(), "{slow}");
    assert!(site.resident_kib() < 600_000, "{} KiB", site.resident_kib());
}

#[test]
fn client_text_in_an_exception_is_cut_in_the_log() {
    let site = Site::start(
        "post(\"/raise\") { raise ArgumentError, body.text }\nget(\"/now\") { \"now\" }",
    );
    let text = format!("begin{}", "x".repeat(1 << 20));
    let mut client = site.connect();
    client.send("POST", "/raise", "content-type: text/plain\r\n", &text);
    assert_eq!(client.receive().status, 500);
    let line = site.expect_log("POST /raise: ArgumentError: beginx");
    assert!(line.contains("bytes left out (log_event_bytes_max is 16384)"));
    assert!(line.len() <= 16_384, "{} bytes", line.len());
    // The frames behind it are there, and further events are whole.
    site.expect_log("from app.rb:1");
    site.check("/now", "now");
}

#[test]
fn ten_thousand_parked_requests_are_all_answered() {
    const REQUESTS: usize = 10_000;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    assert!(
        hard > REQUESTS as u64 + 200,
        "this test needs {REQUESTS} open files; the hard limit is {hard}"
    );
    let site = Site::start("get(\"/park\") { sleep 5; \"parked\" }\nget(\"/now\") { \"now\" }");
    let start = Instant::now();
    let mut clients: Vec<Client> = (0..REQUESTS)
        .map(|_| {
            let mut client = Client::small(site.address);
            client.send("GET", "/park", "", "");
            client
        })
        .collect();
    site.check("/now", "now");
    for client in &mut clients {
        let reply = client.receive();
        assert_eq!((reply.status, reply.text().as_str()), (200, "parked"));
    }
    assert!(start.elapsed() >= Duration::from_secs(5));
    site.check("/now", "now");
}

#[test]
fn a_stack_that_is_too_small_is_made_larger() {
    let app = r##"
helpers { def deeper(n, &block) = [n].map { |i| deeper(i + 1, &block) } }
get("/deep") { begin; deeper(0); rescue SystemStackError; "deep enough"; end }
get("/nested") { JSON.parse("[" * 100 + "]" * 100).inspect.size.to_s }
"##;
    let site = Site::start_with(app, &["--limit", "stack_bytes_max=1"]);
    site.check("/deep", "deep enough");
    site.check("/nested", "200");
}
