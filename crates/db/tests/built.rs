//! Statements of the builder on both databases, through the public face. What the builder writes is tested where it is written.
//! Rule: each test runs on SQLite and on PostgreSQL and expects the same.

use tsumugi_db::{Database, Options, Rows, TransactionOptions};
use tsumugi_pg_rig::Server;
use tsumugi_sql::{Record, Value, col, raw, record, schema, table};

/// Runs a test on an empty database of each kind.
fn check<F: Future<Output = ()>>(test: impl Fn(Database) -> F) {
    let server = Server::shared().database();
    let directory = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", directory.path().join("test.db").display());
    for url in [file, server.url()] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let db = Database::connect(&url, Options::default()).await.unwrap();
            make(&db).await;
            test(db.clone()).await;
            db.close();
        });
    }
}

async fn make(db: &Database) {
    let users = schema::Table::new("users")
        .column(schema::increments("id"))
        .column(schema::string("name", 40));
    for sql in users.create(db.dialect()).unwrap() {
        db.execute_script(sql).await.unwrap();
    }
}

fn json(rows: &Rows) -> String {
    let mut out = Vec::new();
    rows.write_json(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn rows_are_inserted_fetched_followed_and_changed() {
    check(async |db| {
        let dialect = db.dialect();
        let users = table("users");
        let insert = users.clone().returning("id");
        let insert = insert.to_insert(&record! { "name" => "an" }, dialect);
        let rows = db.fetch(insert.unwrap()).await.unwrap();
        assert_eq!(json(&rows), r#"[{"id":1}]"#);
        let records = [record! { "name" => "bo" }, record! { "name" => "c?" }];
        for statement in users.to_insert_all(&records, dialect).unwrap() {
            assert_eq!(db.run(statement).await.unwrap().affected, 2);
        }
        let some = users.clone().filter(col("id").ge(2)).order("id");
        let rows = db.fetch(some.to_rows(dialect).unwrap()).await.unwrap();
        assert_eq!(
            json(&rows),
            r#"[{"id":2,"name":"bo"},{"id":3,"name":"c?"}]"#
        );
        let mut stream = db.follow(some.to_rows(dialect).unwrap()).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap().len(), 2);
        drop(stream);
        let renamed = some.clone().unordered().set("name", "d");
        let changed = db.run(renamed.to_update(dialect).unwrap()).await.unwrap();
        assert_eq!(changed.affected, 2);
    });
}

#[test]
fn question_marks_of_raw_sql_are_what_they_were() {
    check(async |db| {
        let query =
            table("users").filter(raw("'a?' = ? and ?=2", [Value::from("a?"), Value::from(2)]));
        let count = query.to_count(db.dialect()).unwrap();
        let rows = db.fetch(count).await.unwrap();
        assert_eq!(json(&rows), r#"[{"count":0}]"#);
        if db.scheme() == "postgres" {
            let query = table("users").filter(raw("'{\"a\": 1}'::jsonb ?? ?", [Value::from("a")]));
            db.fetch(query.to_rows(db.dialect()).unwrap())
                .await
                .unwrap();
        }
    });
}

#[test]
fn a_transaction_runs_them_too_and_knows_tables_made_in_it() {
    check(async |db| {
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let notes = schema::Table::new("notes").column(schema::increments("number"));
        for sql in notes.create(tx.dialect()).unwrap() {
            tx.execute_script(sql).await.unwrap();
        }
        let found = tx.describe("notes").await.unwrap().unwrap();
        assert_eq!(found.primary_key(), ["number"]);
        let insert = table("notes").to_insert(&Record::new(), tx.dialect());
        tx.run(insert.unwrap()).await.unwrap();
        tx.roll_back().await.unwrap();
        assert_eq!(db.describe("notes").await.unwrap(), None);
    });
}

#[test]
fn what_the_builder_refuses_has_a_kind() {
    check(async |db| {
        let refused = table("users").to_delete(db.dialect()).unwrap_err();
        assert_eq!(tsumugi_db::Error::from(refused).kind(), "UsageError");
        let unsupported = tsumugi_sql::Error::Unsupported {
            database: "SQLite",
            what: "skip locked",
        };
        assert_eq!(tsumugi_db::Error::from(unsupported).kind(), "Unsupported");
        let limit = tsumugi_sql::Error::Limit {
            limit: "DEPTH_MAX",
            max: 200,
        };
        assert_eq!(tsumugi_db::Error::from(limit).kind(), "LimitExceeded");
    });
}
