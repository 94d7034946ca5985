//! The tour of examples/: migrated, seeded and served on SQLite, on PostgreSQL and on Firebird, every route asked. The demo as far as `make run`
//! goes before it serves.

#[path = "databases/mod.rs"]
mod databases;
#[allow(dead_code)] // this uses a part of it
#[path = "serving/rig.rs"]
mod rig;

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use databases::Database;
use rig::{Answer, PATIENCE, Served, get, until};
use serde_json::{Value, json};

/// The tour on one database.
struct Tour {
    served: Served,
    address: String,
    database: Database,
}

/// An application of examples/.
fn example(name: &str) -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    examples.join(name).join("app.rb")
}

fn command(folder: &Path, url: &str, words: &[&str]) -> Command {
    command_of("tour", folder, url, words)
}

fn command_of(name: &str, folder: &Path, url: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command
        .args(words)
        .arg(example(name))
        .current_dir(folder)
        .env("DATABASE_URL", url)
        .env("TSUMUGI_LOG", "info")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// Its URL, or that of SQLite's file.
fn database_url(database: &Database) -> String {
    let file = || "sqlite:data/tour.db".to_owned();
    database.url().unwrap_or_else(file)
}

impl Tour {
    fn start(database: Database) -> Tour {
        let folder = rig::folder(&[("data/.keep", b"")]);
        let url = database_url(&database);
        for words in [&["migrate", "up"][..], &["seed"]] {
            let output = command(folder.path(), &url, words).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{words:?}: {said}");
        }
        let mut child = command(
            folder.path(),
            &url,
            &["serve", "--workers", "1", "--listen", "127.0.0.1:0"],
        )
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut served = Served { child, log, folder };
        let address = served.word_after("listening on http://");
        Tour {
            served,
            address,
            database,
        }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        let request = rig::request(method, path, &head) + &body;
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read(stream)
    }

    #[track_caller]
    fn check(&self, path: &str, expected: &Value) {
        let answer = get(&self.address, path);
        let json: Value = serde_json::from_slice(&answer.body)
            .unwrap_or_else(|_| panic!("{path}: {}", answer.text()));
        assert_eq!(json, *expected, "{path}");
    }

    #[track_caller]
    fn status(&self, method: &str, path: &str, body: &Value, expected: u16) -> Answer {
        let answer = self.send(method, path, body);
        assert_eq!(
            answer.status(),
            expected,
            "{method} {path}: {}",
            answer.text()
        );
        answer
    }
}

fn on_all(test: impl Fn(&Tour)) {
    for database in Database::all() {
        test(&Tour::start(database));
    }
}

const NOTHING: Value = Value::Null;

#[test]
fn the_first_page_says_what_this_is_and_which_worker_answered() {
    on_all(|tour| {
        let answer = get(&tour.address, "/");
        let json: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(json["name"], "demo");
        assert!(json["at"].is_i64());
        assert_eq!(answer.field("x-worker"), Some("0"));
        tour.check("/nowhere", &json!({ "error": "no such path" }));
    });
}

#[test]
fn users_are_listed_by_page_and_found_by_name() {
    let user = |id: u64, name: &str| json!({ "id": id, "name": name });
    on_all(|tour| {
        let all = [
            user(1, "Ann"),
            user(2, "Bo"),
            user(3, "Chika"),
            user(4, "Dan"),
        ];
        let page = |rows: &[Value], page: u64, total: u64, pages: u64| json!({ "rows": rows, "page": page, "pages": pages, "total": total, "perPage": 20, "hasMore": false });
        tour.check("/users", &page(&all, 1, 4, 1));
        tour.check("/users?page=2", &page(&[], 2, 4, 1));
        tour.check("/users?q=an", &page(&all[3..], 1, 1, 1));
        tour.status("GET", "/users?page=0", &NOTHING, 400);
    });
}

#[test]
fn a_user_is_made_shown_and_deleted() {
    on_all(|tour| {
        let eve = json!({ "name": "Eve", "email": "eve@example.com" });
        let made = tour.status("POST", "/users", &eve, 201);
        assert_eq!(made.text(), r#"{"id":5}"#);
        assert_eq!(made.field("location"), Some("/users/5"));
        tour.check(
            "/users/5",
            &json!({ "id": 5, "name": "Eve", "email": "eve@example.com" }),
        );
        let twice = tour.status("POST", "/users", &eve, 409);
        assert!(
            twice.text().starts_with(r#"{"error":"duplicate","on":""#),
            "{}",
            twice.text()
        );
        tour.status("POST", "/users", &json!({ "name": 1 }), 422);
        tour.status("GET", "/users/abc", &NOTHING, 404);
        tour.check("/users/77", &json!({ "error": "no user 77" }));
        tour.status("DELETE", "/users/5", &NOTHING, 204);
        tour.status("DELETE", "/users/5", &NOTHING, 404);
    });
}

#[test]
fn three_queries_of_the_dashboard_run_at_once() {
    on_all(|tour| {
        let answer = get(&tour.address, "/dashboard");
        let mut json: Value =
            serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{}", answer.text()));
        let top = json["top"].as_array_mut().unwrap();
        top.sort_by_key(|row| row["user_id"].as_i64());
        assert_eq!(
            json,
            json!({
                "users": 4,
                "top": [{ "user_id": 1, "sum_total": "10.30" }, { "user_id": 2, "sum_total": "7.00" }],
                "motd": null
            })
        );
    });
}

#[test]
fn money_is_transferred_whole_or_not_at_all() {
    on_all(|tour| {
        let transfer = |amount: i64| json!({ "from": 1, "to": 2, "amount": amount });
        let to_nobody = json!({ "from": 1, "to": 3, "amount": 60 });
        tour.status("POST", "/transfer", &to_nobody, 404);
        for amount in [0, -1] {
            tour.status("POST", "/transfer", &transfer(amount), 422);
        }
        tour.status("POST", "/transfer", &transfer(60), 204);
        let refused = tour.status("POST", "/transfer", &transfer(60), 409);
        assert_eq!(refused.text(), r#"{"error":"insufficient funds"}"#);
        tour.status("POST", "/transfer", &transfer(40), 204);
        tour.status("POST", "/transfer", &json!({ "from": 1 }), 422);
    });
}

#[test]
fn events_are_sent_as_csv_and_as_lines_of_json() {
    on_all(|tour| {
        let answer = get(&tour.address, "/export.csv");
        assert!(
            answer
                .field("content-type")
                .unwrap()
                .starts_with("text/csv")
        );
        let text = answer.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1_201);
        assert_eq!(lines[0], "id,kind,at");
        let zone = if tour.database.is_firebird() {
            ""
        } else {
            "+00"
        };
        assert_eq!(lines[1_200], format!("1200,tock,2026-01-01 00:19:59{zone}"));
        let answer = get(&tour.address, "/events");
        let text = answer.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1_200);
        let last: Value = serde_json::from_str(lines[1_199]).unwrap();
        assert_eq!(
            (&last["id"], &last["kind"], &last["seen"]),
            (&json!(1200), &json!("tock"), &json!(true))
        );
    });
}

#[test]
fn a_slow_handler_answers_in_the_end() {
    on_all(|tour| {
        assert_eq!(get(&tour.address, "/slow").text(), "done\n");
    });
}

#[test]
fn a_second_seed_changes_nothing() {
    on_all(|tour| {
        let url = database_url(&tour.database);
        let folder = tour.served.folder.path();
        let output = command(folder, &url, &["seed"]).output().unwrap();
        assert!(output.status.success());
        until("four users", || {
            get(&tour.address, "/users").text().contains(r#""total":4"#)
        });
    });
}

/// As two `make run` at once do it, and one later.
#[test]
fn board_of_the_demo_is_seeded_once_and_left_alone_with_tasks_on_it() {
    for database in Database::all() {
        let folder = rig::folder(&[("data/.keep", b"")]);
        let url = database.url().unwrap_or("sqlite:data/demo.db".to_owned());
        let run = |words: &[&str]| {
            let mut command = command_of("demo", folder.path(), &url, words);
            command.stdout(Stdio::piped()).spawn().unwrap()
        };
        let said = |child: Child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        said(run(&["migrate", "up"]));
        let both = [run(&["seed"]), run(&["seed"])].map(said);
        let left_out = |said: &String| said.contains("seeds of tasks: left out");
        assert_eq!(
            both.iter().filter(|said| left_out(said)).count(),
            1,
            "{both:?}"
        );
        let later = said(run(&["seed"]));
        assert!(left_out(&later), "{later}");
    }
}
