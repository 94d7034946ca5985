//! Behind PgBouncer, which gives every transaction whatever server session is free.

use tsumugi_pg::Error;
use tsumugi_testkit::postgres::{Pooler, Server};

use crate::{int, open_at, run};

#[test]
fn pooler_setting_lets_many_statements_and_transactions_run() {
    run(async {
        let pooler = Pooler::start(Server::shared());
        let url = pooler.url("postgres") + "?pooler=transaction";
        Server::shared().psql("create table if not exists pooled(n int)");
        let mut tasks = Vec::new();
        for client in 0..10 {
            let db = open_at(&url).await;
            for task in 0..10 {
                let db = db.clone();
                tasks.push(tokio::task::spawn_local(async move {
                    for round in 0..5 {
                        let number = client * 1000 + task * 10 + round;
                        let sql = format!("select $1::int4 + {}", number % 3);
                        let rows = db.query(&sql, &(number,)).await.unwrap();
                        assert_eq!(int(&rows), number + number % 3);
                    }
                }));
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
        let mut tasks = Vec::new();
        for client in 0..10 {
            let db = open_at(&url).await;
            tasks.push(tokio::task::spawn_local(async move {
                for _ in 0..3 {
                    let transaction = db.begin(Default::default()).await.unwrap();
                    db.execute("insert into pooled values ($1)", &(client,))
                        .await
                        .unwrap();
                    let seen = "select count(*)::int4 from pooled where n = $1";
                    assert_eq!(int(&db.query(seen, &(client,)).await.unwrap()), 1);
                    transaction.roll_back().await.unwrap();
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn missing_pooler_setting_gives_right_replies_or_an_error_that_names_it() {
    run(async {
        let pooler = Pooler::start(Server::shared());
        let mut tasks = Vec::new();
        for client in 0..10_i32 {
            let db = open_at(&pooler.url("postgres")).await;
            tasks.push(tokio::task::spawn_local(async move {
                for round in 0..20 {
                    // Each client's first statement has another text.
                    let sql = format!("select $1::int4 + {client}");
                    match db.query(&sql, &(round,)).await {
                        Ok(rows) => assert_eq!(int(&rows), client + round),
                        Err(error @ Error::Forgotten(_)) => {
                            assert!(error.to_string().contains("pooler=transaction"));
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}
