//! Reads on replicas over HTTP, the same in Rust and in Ruby: what a client has written is what its next request sees, by the cookie beside its session's.
//! Rule: both faces answer the same, and a client that has written nothing gets no cookie.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tsumugi::db::ReplicaUrls;
use tsumugi::prelude::*;
use tsumugi::trial::{self, Client, Reply};
use tsumugi_testkit::Dice;
use tsumugi_testkit::postgres::{Options as ServerOptions, Server, User};

thread_local! {
    static URLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct App {
    db: Db,
}

impl Plugin for App {
    async fn start(_: &Worker) -> Result<App> {
        let urls = URLS.with_borrow(Clone::clone);
        let mut options = Options::default();
        options.replicas = ReplicaUrls::new(urls[1..].iter().cloned());
        let db = Db::connect(&urls[0], options).await?;
        Ok(App { db })
    }
}

async fn write(app: State<App>, Path((id, n)): Path<(i64, i64)>) -> Result<()> {
    let row = app.db.table("t").filter(col("id").eq(id));
    row.set("n", n).update().await?;
    Ok(())
}

async fn both(app: State<App>, Path((id, n)): Path<(i64, i64)>) -> Result<String> {
    app.db
        .tx(async |tx: &Tx| {
            let row = tx.table("t").filter(col("id").eq(id));
            row.set("n", n).update().await?;
            Ok::<_, Error>(())
        })
        .await?;
    shown(&app, id).await
}

async fn read(app: State<App>, Path(id): Path<i64>) -> Result<String> {
    shown(&app, id).await
}

async fn shown(app: &App, id: i64) -> Result<String> {
    let reads = app.db.read();
    let sql = "select n, coalesce(inet_server_port(), 0) as port from t where id = ?";
    let rows = reads.query(sql, values![id]).await?;
    let row = rows.first().ok_or_else(|| Error::not_found("no row"))?;
    let number = |at| row.value(at).and_then(|value| value.as_integer());
    let (n, port) = (number(0).unwrap_or(-1), number(1).unwrap_or(-1));
    let found: Option<BTreeMap<String, i64>> =
        reads.table("t").filter(col("id").eq(id)).first().await?;
    let again = found.and_then(|row| row.get("n").copied()).unwrap_or(-1);
    Ok(format!("{n} {again} {port}"))
}

async fn refused(app: State<App>) -> Result<String> {
    let rows = app.db.read().table("t").all_rows().set("n", 0);
    Ok(rows.update().await.unwrap_err().to_string())
}

const RUBY: &str = r##"
plugin(:db) { DB.connect "URL", replicas: [REPLICAS] }
sessions name: "ruby"

def shown(id)
  sql = "select n, coalesce(inet_server_port(), 0) as port from t where id = ?"
  first = db.read { db.query(sql, id).first }
  again = db.read[:t].where(id: id).first
  text "#{first[:n]} #{again[:n]} #{first[:port]}"
end
get("/write/:id/:n") { |id, n| db[:t].where(id: id.to_i).update(n: n.to_i); text "" }
get "/both/:id/:n" do |id, n|
  db.transaction { db[:t].where(id: id.to_i).update(n: n.to_i) }
  shown(id.to_i)
end
get("/read/:id") { |id| shown(id.to_i) }
get "/refused" do
  db.read { db[:t].all_rows!.update(n: 0) }
rescue DB::UsageError => e
  text e.message
end
get "/nested" do
  in_transaction = db.transaction { db.read { db.query("select inet_server_port() as port").first[:port] } }
  refused = begin
    db.read { db.transaction { 1 } }
  rescue DB::UsageError => e
    e.message
  end
  inside = db.read { db.transaction(mode: :read_only) { db.query("select inet_server_port() as port").first[:port] } }
  text "#{in_transaction} #{inside} #{refused}"
end
"##;

/// Runs a test with both faces of an application; `replicas` are those of the server.
fn check(test: impl AsyncFn(&Client<App>, &str, &[Server; 2])) {
    let primary = ServerOptions::default()
        .setting("synchronous_commit", "on")
        .start();
    primary.psql("create table t (id int primary key, n int not null); insert into t select i, 0 from generate_series(1, 5) i");
    let replicas = [primary.standby(), primary.standby()];
    for replica in &replicas {
        replica.catch_up(&primary);
    }
    let url = |server: &Server| server.url(User::ADMIN);
    let urls = vec![url(&primary), url(&replicas[0]), url(&replicas[1])];
    let directory = tempfile::tempdir().unwrap();
    let ruby = directory.path().join("app.rb");
    let listed = format!("\"{}\", \"{}\"", urls[1], urls[2]);
    let text = RUBY.replace("URL", &urls[0]).replace("REPLICAS", &listed);
    std::fs::write(&ruby, text).unwrap();
    URLS.set(urls);
    let routes = || {
        Router::new()
            .sessions(Sessions::in_store("memory:replicas#capacity=1m"))
            .route("/rust/write/{id}/{n}", get(write))
            .route("/rust/both/{id}/{n}", get(both))
            .route("/rust/read/{id}", get(read))
            .route("/rust/refused", get(refused))
            .mount("/ruby", Ruby::new(&ruby))
    };
    trial::run(routes, async |client| {
        for face in ["/rust", "/ruby"] {
            test(client, face, &replicas).await;
        }
    });
}

/// A client that keeps its cookies.
#[derive(Default)]
struct Browser {
    cookies: BTreeMap<String, String>,
}

impl Browser {
    async fn get(&mut self, client: &Client<App>, path: &str) -> Reply {
        let pairs = self.cookies.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let call = client.get(path);
        let reply = match pairs.is_empty() {
            true => call.await,
            false => call.header("cookie", &pairs.join("; ")).await,
        };
        assert!(reply.status.is_success(), "{path}: {}", reply.text());
        for cookie in reply.headers.get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        reply
    }
}

/// The number of the row, and the port of the server that said it.
fn numbers(reply: &Reply) -> (i64, i64) {
    let numbers: Vec<i64> = reply
        .text()
        .split(' ')
        .map(|n| n.parse().unwrap())
        .collect();
    (numbers[0].min(numbers[1]), numbers[2])
}

#[test]
fn client_sees_its_own_writes_and_never_older_ones_than_before() {
    check(async |client, face, replicas| {
        let dice = Dice::new(7);
        let mut browsers: Vec<(Browser, [i64; 5])> = Vec::new();
        browsers.resize_with(4, Default::default);
        let ports = replicas.each_ref().map(|replica| i64::from(replica.port()));
        let mut last: [i64; 5] = match face {
            "/rust" => [0; 5],
            _ => [1_000_000; 5],
        };
        let (mut on_replicas, mut paused) = (0, [false; 2]);
        for _ in 0..600 {
            let (browser, seen) = &mut browsers[dice.place(4)];
            let row = dice.place(5);
            if dice.one_in(15) {
                let which = dice.place(2);
                paused[which] = !paused[which];
                let word = match paused[which] {
                    true => "pause",
                    false => "resume",
                };
                replicas[which].psql(&format!("select pg_wal_replay_{word}()"));
            }
            let id = row + 1;
            match dice.below(4) {
                0 => {
                    last[row] += 1;
                    let path = format!("{face}/write/{id}/{}", last[row]);
                    browser.get(client, &path).await;
                    seen[row] = last[row];
                }
                1 => {
                    last[row] += 1;
                    let path = format!("{face}/both/{id}/{}", last[row]);
                    let (n, _) = numbers(&browser.get(client, &path).await);
                    assert_eq!(n, last[row], "{path}");
                    seen[row] = n;
                }
                _ => {
                    let has_cookie = !browser.cookies.is_empty();
                    let path = format!("{face}/read/{id}");
                    let (n, port) = numbers(&browser.get(client, &path).await);
                    assert!(n >= seen[row], "{path}: {n} after {}", seen[row]);
                    if has_cookie {
                        seen[row] = n;
                    }
                    on_replicas += u32::from(ports.contains(&port));
                }
            }
        }
        assert!(on_replicas > 20, "{face}: {on_replicas} reads on replicas");
        for replica in replicas {
            replica.psql("select pg_wal_replay_resume()");
        }
    });
}

#[test]
fn cookie_goes_to_those_who_wrote_and_cannot_be_changed() {
    check(async |client, face, _| {
        let mut browser = Browser::default();
        browser.get(client, &format!("{face}/read/1")).await;
        assert!(browser.cookies.is_empty(), "{:?}", browser.cookies);
        let reply = browser.get(client, &format!("{face}/write/1/1")).await;
        let name = match face {
            "/rust" => "session_written",
            _ => "ruby_written",
        };
        assert_eq!(browser.cookies.keys().collect::<Vec<_>>(), [name]);
        let cookie = reply.header("set-cookie").unwrap();
        assert!(
            cookie.len() < 250 && cookie.contains("HttpOnly"),
            "{cookie}"
        );
        // A forged one is none, and is not answered with another.
        let mut forger = Browser::default();
        let mut value = browser.cookies[name].clone();
        value.replace_range(10..11, "_");
        forger.cookies.insert(name.to_owned(), value.clone());
        forger.get(client, &format!("{face}/read/1")).await;
        assert_eq!(forger.cookies[name], value);
    });
}

#[test]
fn write_in_a_read_is_refused() {
    check(async |client, face, _| {
        let reply = client.get(&format!("{face}/refused")).await;
        assert!(
            reply.text().contains("db.read only reads"),
            "{}",
            reply.text()
        );
    });
}

#[test]
fn read_in_a_transaction_is_a_part_of_it_and_a_transaction_in_a_read_only_reads() {
    check(async |client, face, replicas| {
        if face == "/rust" {
            return; // nothing of a fibre's there
        }
        let reply = client.get(&format!("{face}/nested")).await;
        let text = reply.text();
        let mut words = text.splitn(3, ' ');
        let mut next = || words.next().unwrap();
        let ports = replicas
            .each_ref()
            .map(|replica| replica.port().to_string());
        assert!(!ports.contains(&next().to_owned()), "{text}");
        assert!(ports.contains(&next().to_owned()), "{text}");
        assert!(next().contains("db.read only reads"), "{text}");
    });
}
