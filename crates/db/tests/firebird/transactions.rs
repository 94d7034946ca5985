//! Transactions: what they see, what they keep, how they end.

use std::time::Duration;

use tsumugi_db::{
    Access, Database, Error, Isolation, Options, Transaction, TransactionMode, TransactionOptions,
    values,
};
use tsumugi_testkit::firebird::Server;
use tsumugi_testkit::{Cut, CutProxy, ServerSide};

use super::{json, run, text, with, words};

fn with_isolation(isolation: Isolation) -> TransactionOptions {
    let mut options = TransactionOptions::default();
    options.isolation = isolation;
    options
}

async fn count(db: &Database) -> String {
    json(db, "select count(*) as n from words").await
}

#[test]
fn a_transaction_is_kept_or_undone_as_a_whole() {
    with("", async |db| {
        words(&db).await;
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into words(word) values (?)", values!["a"])
            .await
            .unwrap();
        assert_eq!(count(&db).await, r#"[{"n":0}]"#);
        tx.commit().await.unwrap();
        assert_eq!(count(&db).await, r#"[{"n":1}]"#);
        let over = tx
            .query("select 1 from rdb$database", [])
            .await
            .unwrap_err();
        assert!(over.to_string().contains("it was committed"), "{over}");
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("delete from words", []).await.unwrap();
        tx.roll_back().await.unwrap();
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("delete from words", []).await.unwrap();
        drop(tx);
        assert_eq!(count(&db).await, r#"[{"n":1}]"#);
        assert_eq!(db.snapshot().transactions, 3);
    });
}

#[test]
fn monitoring_tables_are_of_now_in_a_transaction_of_their_own() {
    with("", async |db| {
        let sql = "select mon$next_transaction from mon$database";
        let mut shown = Vec::new();
        for _ in 0..2 {
            let tx = db.begin(TransactionOptions::default()).await.unwrap();
            let rows = tx.query(sql, []).await.unwrap();
            shown.push(text(&rows));
            tx.commit().await.unwrap();
        }
        assert_ne!(shown[0], shown[1]);
    });
}

#[test]
fn a_statement_that_fails_leaves_the_transaction_usable() {
    with("", async |db| {
        words(&db).await;
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into words(word) values ('a')", [])
            .await
            .unwrap();
        tx.execute("insert into words(word) values ('a')", [])
            .await
            .unwrap_err();
        tx.execute("insert into words(word) values ('b')", [])
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(count(&db).await, r#"[{"n":2}]"#);
    });
}

#[test]
fn savepoints_nest_and_a_dropped_one_is_undone() {
    with("", async |db| {
        words(&db).await;
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let insert = async |word: &str| {
            tx.execute("insert into words(word) values (?)", values![word])
                .await
                .unwrap()
        };
        insert("a").await;
        let outer = tx.savepoint().await.unwrap();
        insert("b").await;
        let inner = tx.savepoint().await.unwrap();
        insert("c").await;
        drop(inner);
        insert("d").await;
        outer.release().await.unwrap();
        let last = tx.savepoint().await.unwrap();
        insert("e").await;
        last.roll_back().await.unwrap();
        let last = tx.savepoint().await.unwrap();
        insert("f").await;
        drop(last);
        tx.commit().await.unwrap();
        assert_eq!(
            json(
                &db,
                "select list(word) as w from (select word from words order by word)"
            )
            .await,
            r#"[{"w":"a,b,d"}]"#
        );
    });
}

#[test]
fn isolation_decides_what_is_seen_of_others() {
    with("", async |db| {
        words(&db).await;
        let seen = "select count(*) as n from words";
        for (isolation, expected) in [
            (Isolation::Default, r#"[{"n":1}]"#),
            (Isolation::ReadCommitted, r#"[{"n":1}]"#),
            (Isolation::RepeatableRead, r#"[{"n":0}]"#),
        ] {
            let tx = db.begin(with_isolation(isolation)).await.unwrap();
            tx.query(seen, []).await.unwrap();
            db.execute("insert into words(word) values ('a')", [])
                .await
                .unwrap();
            let found = tx.query(seen, []).await.unwrap();
            assert_eq!(text(&found), expected, "{isolation:?}");
            tx.roll_back().await.unwrap();
            db.execute("delete from words", []).await.unwrap();
        }
    });
}

#[test]
fn serializable_transactions_take_turns() {
    with("?busy_timeout_ms=1000", async |db| {
        let serializable = || db.begin(with_isolation(Isolation::Serializable));
        let one = serializable().await.unwrap();
        let late = serializable().await.unwrap_err();
        assert_eq!(late.kind(), "SerializationFailure");
        // Others need not wait.
        db.begin(with_isolation(Isolation::RepeatableRead))
            .await
            .unwrap();
        one.commit().await.unwrap();
        drop(serializable().await.unwrap());
        serializable().await.unwrap().roll_back().await.unwrap();
    });
}

#[test]
fn a_transaction_that_only_reads_refuses_to_write() {
    with("", async |db| {
        words(&db).await;
        let mut options = TransactionOptions::default();
        options.access = Access::ReadOnly;
        let tx = db.begin(options).await.unwrap();
        let error = tx.execute("insert into words(word) values ('a')", []).await;
        assert!(error.unwrap_err().to_string().contains("read-only"));
        tx.query("select * from words", []).await.unwrap();
    });
}

#[test]
fn write_of_a_row_being_changed_waits_and_then_fails() {
    with("?busy_timeout_ms=1000", async |db| {
        words(&db).await;
        db.execute("insert into words(word) values ('a')", [])
            .await
            .unwrap();
        let first = db
            .begin(with_isolation(Isolation::RepeatableRead))
            .await
            .unwrap();
        let second = db
            .begin(with_isolation(Isolation::RepeatableRead))
            .await
            .unwrap();
        first
            .execute("update words set word = 'b'", [])
            .await
            .unwrap();
        let conflict = second
            .execute("update words set word = 'c'", [])
            .await
            .unwrap_err();
        assert_eq!(conflict.kind(), "SerializationFailure", "{conflict}");
        first.commit().await.unwrap();
        let stale = second
            .execute("update words set word = 'c'", [])
            .await
            .unwrap_err();
        assert_eq!(stale.kind(), "SerializationFailure", "{stale}");
        drop(second);
        assert_eq!(
            json(&db, "select word from words").await,
            r#"[{"word":"b"}]"#
        );
    });
}

#[test]
fn conflict_behind_changes_that_are_committed_is_not_to_be_retried() {
    with("?busy_timeout_ms=1000", async |db| {
        words(&db).await;
        let insert = "insert into words(word) values ('a')";
        db.execute(insert, []).await.unwrap();
        let holder = db.begin(TransactionOptions::default()).await.unwrap();
        let update = "update words set word = ?";
        holder.execute(update, values!["b"]).await.unwrap();
        for change in [None, Some("create table other(n integer)")] {
            let schema = TransactionOptions::write(TransactionMode::Schema);
            let tx = db.begin(schema).await.unwrap();
            if let Some(change) = change {
                tx.execute(change, []).await.unwrap();
            }
            let error = tx.execute(update, values!["c"]).await.unwrap_err();
            assert_eq!(error.kind(), "SerializationFailure", "{error}");
            assert_eq!(error.sql(), Some(update));
            assert_eq!(error.is_retryable(), change.is_none(), "{error}");
            assert_eq!(tx.has_kept_changes(), change.is_some());
            let text = error.to_string();
            let says_so = text.contains("a part of the transaction is committed");
            assert_eq!(says_so, change.is_some(), "{text}");
            tx.roll_back().await.unwrap();
        }
    });
}

#[test]
fn a_stopped_write_ends_its_transaction() {
    with("?statement_timeout_ms=300", async |db| {
        words(&db).await;
        let slow =
            "execute block as declare n bigint = 0; begin while (n < 900000000) do n = n + 1; end";
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into words(word) values ('a')", [])
            .await
            .unwrap();
        let late = tx.execute(slow, []).await.unwrap_err();
        assert_eq!(late.kind(), "QueryCanceled", "{late}");
        let over = tx.commit().await.unwrap_err();
        assert_eq!(over.kind(), "TransactionRolledBack", "{over}");
        assert_eq!(count(&db).await, r#"[{"n":0}]"#);
    });
}

#[test]
fn an_idle_transaction_is_rolled_back() {
    with("?idle_timeout_ms=1000", async |db| {
        words(&db).await;
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into words(word) values ('a')", [])
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(4_000)).await;
        let over = tx.commit().await.unwrap_err();
        assert_eq!(over.kind(), "TransactionRolledBack", "{over}");
        assert_eq!(count(&db).await, r#"[{"n":0}]"#);
    });
}

/// Procedures that are selected from and write: one at once, one after a while. A function that writes and takes its time, too little to be
/// stopped; and a view of it.
async fn procedures(db: &Database) {
    words(db).await;
    let script = "
        create procedure add_word(w varchar(20)) returns (body blob sub_type text) as begin
          insert into words(word) values (:w); body = 'made of ' || w; suspend; end;
        create procedure add_slowly(w varchar(20)) returns (n int) as declare i bigint = 0; begin
          insert into words(word) values (:w);
          while (i < 3000000000) do i = i + 1;
          suspend; end;
        create procedure add_twice(w varchar(20)) returns (n int) as begin
          insert into words(word) values (:w); n = 1; suspend; insert into words(word) values (:w); end;
        create function add_late(w varchar(20)) returns int
          as declare i bigint = 0; declare begun timestamp; begin
          insert into words(word) values (:w);
          begun = cast('now' as timestamp);
          while (datediff(millisecond from begun to cast('now' as timestamp)) < 2200) do i = i + 1;
          return 1; end;
        create view through_view as select add_late('view') as n from rdb$database;";
    db.execute_script(script).await.unwrap();
}

/// The same by another one, whose statements may take their time.
fn with_procedures<F: Future<Output = ()>>(options: &str, test: impl FnOnce(Database) -> F) {
    let place = Server::shared().database();
    run(async {
        let own = Database::connect(&place.url(), Options::default()).await;
        let own = own.unwrap();
        procedures(&own).await;
        own.close();
        let url = place.url() + options;
        let db = Database::connect(&url, Options::default()).await.unwrap();
        test(db.clone()).await;
        db.close();
    });
}

#[test]
fn a_procedure_that_writes_is_kept_or_undone_with_its_rows_and_their_blobs() {
    with("?pool=1", async |db| {
        procedures(&db).await;
        let callers = (0..20).map(async |number| {
            let word = format!("w{number}");
            if number % 3 == 0 {
                let twice = "select n from add_twice(?)";
                let error = db.query(twice, values![word.as_str()]).await.unwrap_err();
                assert_eq!(error.kind(), "UniqueViolation", "{error}");
            } else if number % 3 == 1 {
                let sql = "select body from add_word(?)";
                let rows = db.query(sql, values![word.as_str()]).await.unwrap();
                assert_eq!(text(&rows), format!(r#"[{{"body":"made of {word}"}}]"#));
            } else {
                let sql = "insert into words(word) values (?)";
                db.execute(sql, values![word]).await.unwrap();
            }
        });
        futures_util::future::join_all(callers).await;
        assert_eq!(count(&db).await, r#"[{"n":13}]"#);
        // Blobs that are longer than one answer of the server are read whole before the commit.
        let long = "select lpad(body, 100000, body) as body from add_word(?)";
        db.query(long, values!["long"]).await.unwrap();
        assert_eq!(count(&db).await, r#"[{"n":14}]"#);
    });
}

#[test]
fn a_query_that_is_stopped_ends_its_transaction_whatever_it_reads() {
    with_procedures("?statement_timeout_ms=1500", async |db| {
        for slow in [
            "select n from add_slowly('procedure')",
            "select add_late('function') from rdb$database",
            "select n from through_view",
            "select count(*) from rdb$fields a, rdb$fields b, rdb$fields c, rdb$fields d",
        ] {
            let tx = db.begin(TransactionOptions::default()).await.unwrap();
            let insert = "insert into words(word) values (current_transaction)";
            tx.execute(insert, []).await.unwrap();
            let late = tx.query(slow, []).await.unwrap_err();
            assert_eq!(late.kind(), "QueryCanceled", "{slow}: {late}");
            let over = tx.commit().await.expect_err(slow);
            assert_eq!(over.kind(), "TransactionRolledBack", "{slow}: {over}");
            drop(tx);
            // It is stopped when nobody waits for anything behind it.
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(count(&db).await, r#"[{"n":0}]"#, "{slow}");
        }
    });
}

#[test]
fn a_stream_that_is_stopped_ends_its_transaction() {
    with_procedures("?statement_timeout_ms=1500", async |db| {
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let slow = "select add_late('function') from rdb$database";
        // The first rows come when it is begun.
        let late = tx.stream(slow, []).await.unwrap_err();
        assert_eq!(late.kind(), "QueryCanceled", "{late}");
        let over = tx.commit().await.unwrap_err();
        assert_eq!(over.kind(), "TransactionRolledBack", "{over}");
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let slow = "with recursive n as (select 1 as i from rdb$database union all select i + 1 from n where i < 1000) \
             select a.i, iif(b.i = 20, add_late('later'), 0) from n b cross join n a";
        let mut rows = tx.stream(slow, []).await.unwrap();
        let late = loop {
            match rows.next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it is stopped before its end"),
                Err(late) => break late,
            }
        };
        assert_eq!(late.kind(), "QueryCanceled", "{late}");
        drop(rows);
        let over = tx.commit().await.unwrap_err();
        assert_eq!(over.kind(), "TransactionRolledBack", "{over}");
        assert_eq!(count(&db).await, r#"[{"n":0}]"#);
    });
}

#[test]
fn a_change_of_tables_waits_for_no_statement_of_a_transaction_that_uses_others() {
    with("?pool=3&statement_timeout_ms=300000", async |db| {
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let slow = "select count(*) from rdb$types a, rdb$types b, rdb$types c, rdb$types d";
        let change = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let made = db.execute("create table other(n int)", []);
            tokio::time::timeout(Duration::from_secs(60), made).await
        };
        tokio::select! {
            ended = tx.query(slow, []) => panic!("{ended:?}"),
            made = change => drop(made.expect("it does not wait").unwrap()),
        }
    });
}

/// Another one where the connection that was cut before was not yet known to be lost.
async fn begin_again(db: &Database) -> Transaction {
    loop {
        match db.begin(TransactionOptions::default()).await {
            Ok(transaction) => return transaction,
            Err(Error::Lost { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn commit_whose_answer_is_lost_is_unknown_and_says_no_number() {
    let server = Server::shared();
    let database = server.database();
    let proxy = CutProxy::start(server.port());
    let own = format!(":{}/", server.port());
    let url = database.url().replace(&own, &format!(":{}/", proxy.port()));
    run(async {
        let db = Database::connect(&(url + "?pool=1"), Options::default())
            .await
            .unwrap();
        words(&db).await;
        for (cut, word) in [(Cut::ToServer(0), "a"), (Cut::ToClient(0), "b")] {
            let tx = begin_again(&db).await;
            let insert = "insert into words(word) values (?)";
            tx.execute(insert, values![word]).await.unwrap();
            proxy.cut_once(cut, ServerSide::Closes);
            let error = tx.commit().await.unwrap_err();
            assert!(
                matches!(error, Error::CommitUnknown { xid: None, .. }),
                "{cut:?}: {error}"
            );
            assert!(!error.is_retryable());
        }
        assert_eq!(db.snapshot().commits_unknown, 2);
        let tx = begin_again(&db).await;
        let rows = tx.query("select word from words", []).await.unwrap();
        assert_eq!(text(&rows), r#"[{"word":"b"}]"#);
        tx.roll_back().await.unwrap();
        db.close();
    });
}
