//! What the application answers, in the same process, on SQLite in a folder that is thrown away. No socket.
//! Every test has a worker, a plugin and a folder of its own.

use std::time::Duration;

use tsumugi::tokio::time::timeout;
use tsumugi::trial::{self, Client, Socket};
use tsumugi::{Close, Message, Settings};

use crate::tasks::{NewTask, Task};
use crate::{App, NewUser, User, routes};

fn run(test: impl AsyncFnOnce(&Client<App>)) {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        data_dir: folder.path().to_owned(),
        ..Settings::default()
    };
    trial::run_with(settings, routes, test);
}

/// What comes next; a test that gets nothing fails instead of waiting.
async fn heard(socket: &mut Socket, what: &str) -> Result<Message, Close> {
    let heard = timeout(Duration::from_secs(30), socket.receive()).await;
    heard.unwrap_or_else(|_| panic!("{what} did not come within 30 s"))
}

fn ada() -> NewUser {
    NewUser {
        name: "Ada".to_owned(),
        email: "ada@example.com".to_owned(),
    }
}

#[test]
fn users_are_made_once_and_shown() {
    run(async |client| {
        let made = client.post("/users").json(&ada()).await;
        assert_eq!((made.status.as_u16(), made.json::<i64>()), (201, 1));
        let again = client.post("/users").json(&ada()).await;
        assert_eq!((again.status.as_u16(), again.text()), (409, "duplicate"));
        for _ in 0..2 {
            let user: User = client.get("/users/1").await.json();
            assert_eq!((user.id, user.name.as_str()), (1, "Ada"));
        }
        assert_eq!(client.state().served.get(), 2);
        let nobody = client.get("/users/2").await;
        assert_eq!(
            (nobody.status.as_u16(), nobody.text()),
            (404, "no such user\n")
        );
        assert_eq!(client.get("/users/Ada").await.status, 404);
    });
}

#[test]
fn the_dashboard_asks_three_things_at_once() {
    run(async |client| {
        client.post("/users").json(&ada()).await;
        client.state().kv.set("motd", "hello", None).await.unwrap();
        let dashboard = client.get("/dashboard").await;
        assert_eq!(dashboard.text(), r#"[1,[{"id":1,"name":"Ada"}],"hello"]"#);
    });
}

#[test]
fn a_transfer_that_is_not_covered_changes_nothing() {
    run(async |client| {
        let db = &client.state().db;
        crate::migrations::seeds(db).await.unwrap();
        let balances = async || {
            let accounts = db.table("accounts").select("balance").order("id");
            accounts.all::<i64>().await.unwrap()
        };
        let transfer = async |from: i64, to: i64, amount: i64| {
            let body = format!(r#"{{"from":{from},"to":{to},"amount":{amount}}}"#);
            let call = client.post("/transfer").body("application/json", body);
            call.await.status.as_u16()
        };
        assert_eq!(transfer(1, 2, 7).await, 204);
        assert_eq!(balances().await, [3, 7]);
        assert_eq!(transfer(1, 2, 7).await, 409);
        assert_eq!(transfer(2, 3, 7).await, 404);
        assert_eq!(transfer(1, 2, -1).await, 422);
        assert_eq!(transfer(1, 2, 0).await, 422);
        assert_eq!(balances().await, [3, 7]);
    });
}

#[test]
fn events_are_exported_as_csv() {
    run(async |client| {
        let db = &client.state().db;
        db.execute("insert into events (what) values ('a'), ('b, c')", [])
            .await
            .unwrap();
        let export = client.get("/export.csv").await;
        assert_eq!(export.text(), "id,what\r\n1,a\r\n2,\"b, c\"\r\n");
    });
}

#[test]
fn tasks_are_added_searched_toggled_and_removed() {
    run(async |client| {
        let add = async |title: &str| {
            let task = NewTask {
                title: title.to_owned(),
            };
            client.post("/tasks").json(&task).await.status.as_u16()
        };
        assert_eq!(add("Milk").await, 201);
        assert_eq!(add("Bread").await, 201);
        assert_eq!(add(" ").await, 422);
        assert_eq!(client.post("/tasks/1/toggle").await.status, 204);
        let found: Vec<Task> = client.get("/tasks?q=mil").await.json();
        let milk = Task {
            id: 1,
            title: "Milk".to_owned(),
            done: true,
        };
        assert_eq!(found, [milk]);
        assert_eq!(client.delete("/tasks/1").await.status, 204);
        assert_eq!(client.delete("/tasks/1").await.status, 404);
        let left = client.get("/tasks/all.csv").await;
        assert_eq!(left.text(), "id,title,done\r\n2,Bread,0\r\n");
    });
}

#[test]
fn titles_come_and_counts_go_over_a_websocket() {
    run(async |client| {
        let mut socket = client.get("/tasks/socket").websocket().await.unwrap();
        assert_eq!(heard(&mut socket, "a count").await, Ok("0".into()));
        socket.send(" ").await.unwrap();
        let fault = heard(&mut socket, "the title's fault").await;
        assert_eq!(fault, Ok("a task needs a title".into()));
        socket.send("Milk").await.unwrap();
        assert_eq!(heard(&mut socket, "the task").await, Ok("1".into()));
        assert_eq!(client.delete("/tasks/1").await.status, 204);
        assert_eq!(heard(&mut socket, "its end").await, Ok("0".into()));
        socket.send(vec![0]).await.unwrap();
        let close = heard(&mut socket, "the close").await.unwrap_err();
        assert_eq!(close.code, 1003);
    });
}
