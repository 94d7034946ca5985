//! A Ruby application as a part of one in Rust: beside native routes, and below a prefix. In the same process, without a socket.

use std::path::Path as File;

use tsumugi::Settings;
use tsumugi::prelude::*;
use tsumugi::trial;

const APP: &str = r##"
plugin(:greeting) { "hello" }
get("/") { "ruby at home\n" }
get("/both") { "ruby\n" }
post("/both") { "ruby takes posts\n" }
get("/greet/:name") { |name| sleep 0.01; "#{greeting} #{name} #{query[:x]}\n" }
get("/data") { Tsumugi.data_dir + "\n" }
"##;

fn write(folder: &File) -> std::path::PathBuf {
    let file = folder.join("app.rb");
    std::fs::write(&file, APP).unwrap();
    file
}

async fn native() -> &'static str {
    "rust\n"
}

#[test]
fn ruby_answers_what_no_native_route_does() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path());
    let routes = move || {
        Router::<()>::new()
            .route("/both", get(native))
            .mount("/", Ruby::new(&file))
    };
    trial::run(routes, async |client| {
        assert_eq!(client.get("/both").await.text(), "rust\n");
        assert_eq!(client.post("/both").await.text(), "ruby takes posts\n");
        assert_eq!(client.get("/").await.text(), "ruby at home\n");
        assert_eq!(client.get("/greet/Ada?x=7").await.text(), "hello Ada 7\n");
        assert_eq!(client.get("/nowhere").await.status, 404);
    });
}

#[test]
fn ruby_below_a_prefix_sees_its_own_paths_and_the_layers_stand_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path());
    async fn guard(headers: Headers) -> Result<()> {
        match headers.text("authorization") {
            Some(_) => Ok(()),
            None => Err(Error::unauthorized("who are you")),
        }
    }
    let routes = move || {
        Router::<()>::new()
            .before(guard)
            .mount("/ruby", Ruby::new(&file))
    };
    let settings = Settings {
        data_dir: folder.path().to_owned(),
        ..Settings::default()
    };
    let data = format!("{}\n", folder.path().display());
    trial::run_with(settings, routes, async |client| {
        let ask = async |path: &str| client.get(path).header("authorization", "me").await;
        assert_eq!(ask("/ruby").await.text(), "ruby at home\n");
        assert_eq!(ask("/ruby/greet/Ada").await.text(), "hello Ada \n");
        assert_eq!(ask("/ruby/data").await.text(), data);
        assert_eq!(ask("/rubyist").await.status, 404);
        assert_eq!(client.get("/ruby/greet/Ada").await.status, 401);
    });
}

const SHARING: &str = r##"
STORE
get("/ruby/see") { (session[:user] || "nobody") + "\n" }
get("/ruby/set") { session[:user] = "Bo"; "set\n" }
get("/ruby/clear") { session.clear; "cleared\n" }
get("/ruby/count") { "#{DB.shared(:board).query("select count(*) as n from tasks").first[:n]}\n" }
get("/ruby/add") { DB.shared("board").execute("insert into tasks (title) values (?)", "from Ruby").to_s + "\n" }
get("/ruby/other") { DB.shared(:other) }
error(DB::UsageError) { |e| e.message + "\n" }
"##;

struct Board {
    db: Db,
}

impl Plugin for Board {
    async fn start(worker: &Worker) -> Result<Board> {
        let db = Db::connect("sqlite::memory:", Options::default()).await?;
        db.execute(
            "create table if not exists tasks (id integer primary key, title text not null)",
            [],
        )
        .await?;
        worker.share("board", &db);
        Ok(Board { db })
    }
}

/// The host of an application that has this line about sessions.
fn host(folder: &File, line: &str, sessions: Sessions) -> impl Fn() -> Router<Board> {
    let file = folder.join("app.rb");
    std::fs::write(&file, SHARING.replace("STORE", line)).unwrap();
    async fn see(session: Session) -> Result<String> {
        Ok(session
            .get::<String>("user")?
            .unwrap_or("nobody".to_owned()))
    }
    async fn set(session: Session) -> Result<&'static str> {
        session.set("user", "Ada").await?;
        Ok("set")
    }
    async fn count(app: State<Board>) -> Result<String> {
        Ok(app.db.table("tasks").count().await?.to_string())
    }
    move || {
        Router::new()
            .sessions(sessions.clone())
            .route("/rust/see", get(see))
            .route("/rust/set", get(set))
            .route("/rust/count", get(count))
            .mount("/", Ruby::new(&file))
    }
}

#[test]
fn ruby_and_rust_have_the_same_sessions_in_a_cookie_and_in_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder
        .path()
        .join("sessions")
        .to_string_lossy()
        .into_owned();
    let kept = format!("sessions kv: KV.open({place:?})");
    for (line, sessions) in [
        ("sessions", Sessions::in_cookie()),
        (kept.as_str(), Sessions::in_store(&place)),
        (
            "sessions kv: KV.open(\"memory:mounted\")",
            Sessions::in_store("memory:mounted"),
        ),
    ] {
        trial::run(host(folder.path(), line, sessions), async |client| {
            let cookie = |reply: &trial::Reply| {
                let cookie = reply
                    .header("set-cookie")
                    .unwrap_or_else(|| panic!("{line}"));
                cookie.split(';').next().unwrap().to_owned()
            };
            let ask =
                async |path: &str, cookie: &str| client.get(path).header("cookie", cookie).await;
            for (first, see, user) in [
                ("/rust/set", "/ruby/see", "Ada"),
                ("/ruby/set", "/rust/see", "Bo"),
            ] {
                let session = cookie(&client.get(first).await);
                assert_eq!(ask(see, &session).await.text().trim(), user, "{line}");
            }
            let session = cookie(&client.get("/rust/set").await);
            let changed = cookie(&ask("/ruby/set", &session).await);
            assert_eq!(ask("/rust/see", &changed).await.text(), "Bo", "{line}");
            assert!(
                ask("/ruby/clear", &changed)
                    .await
                    .header("set-cookie")
                    .is_some()
            );
            if line != "sessions" {
                assert_eq!(ask("/rust/see", &changed).await.text(), "nobody", "{line}");
            }
        });
    }
}

#[test]
fn ruby_has_the_databases_that_the_plugin_shares() {
    let folder = tempfile::tempdir().unwrap();
    trial::run(
        host(folder.path(), "", Sessions::in_cookie()),
        async |client| {
            assert_eq!(client.get("/ruby/add").await.text(), "1\n");
            assert_eq!(client.get("/rust/count").await.text(), "1");
            assert_eq!(client.get("/ruby/count").await.text(), "1\n");
            let other = client.get("/ruby/other").await;
            let expected = "no database is shared under the name other: there are board\n";
            assert_eq!(other.text(), expected);
        },
    );
}
