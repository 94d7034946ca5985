//! Statements outside of any transaction, of several callers on one connection: each is kept or undone by itself. Rule: random work, drops
//! included, is compared with what was acknowledged, row by row.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use tsumugi_firebird::limits::SPARE_TRANSACTIONS_MAX;
use tsumugi_firebird::{
    Access, Connection, Error, Isolation, StatementFate, TransactionOptions, Wait,
};
use tsumugi_firebird_proto::values::{TextRules, Value};
use tsumugi_testkit::Dice;
use tsumugi_testkit::firebird::{FirebirdDatabase, Server};

use crate::drops::poll_times;
use crate::{int, is_usable, open, run};

/// `writing(k)` adds two rows for `k` and answers three; `raising(k)` adds one, answers one and fails; `lengthy(k)` answers more than one batch
/// and adds a row at both ends of it; `doing(k)` adds two rows without an answer.
const SCHEMA: &str = "
create table kept (k int not null, v int not null, b blob, constraint once unique (k, v));
create table counted (id int not null primary key, n int not null);
create global temporary table mine (k int) on commit delete rows;
commit;
insert into counted values (1, 0);
commit;
set term ^;
create procedure writing (k int) returns (n int) as begin
  n = 1; suspend; insert into kept values (:k, 1, null); n = 2; suspend; insert into kept values (:k, 2, null); n = 3; suspend; end^
create procedure raising (k int) returns (n int) as begin
  insert into kept values (:k, 1, null); n = 1; suspend; insert into kept values (:k, 1, null); end^
create procedure lengthy (k int) returns (n int, t char(200)) as begin
  insert into kept values (:k, 1, null); n = 0;
  while (n < 1500) do begin n = n + 1; suspend; end
  insert into kept values (:k, 2, null); end^
create procedure doing (k int) as begin insert into kept values (:k, 1, null); insert into kept values (:k, 2, null); end^
create procedure noting (k int) returns (n int) as begin
  insert into mine values (:k); select count(*) from mine into :n; suspend; end^
create function writes (k int) returns int as begin insert into kept values (:k, 1, null); return k; end^
create procedure bodies (k int) returns (body blob sub_type text) as begin
  insert into kept values (:k, 1, null); body = lpad('', 20000, 'ab'); suspend; end^
set term ;^
commit;";

/// Callers on the connection.
const CALLERS: usize = 6;
/// Statements of each.
const ROUNDS: i32 = 250;

/// How many rows a statement with a key may have left.
#[derive(Clone, Copy, Debug)]
enum Left {
    Exactly(i64),
    AllOrNone(i64),
}

/// A blob for a key. It is too long to go with the other values, so that it is written before the statement runs.
fn body(key: i32) -> Vec<u8> {
    let length = 70_000 + key.unsigned_abs() as usize * 7_919 % 150_000;
    vec![u8::try_from(key.unsigned_abs() % 251).unwrap(); length]
}

/// Reads the blobs of a key's rows, and compares them with what was written.
async fn read_bodies(db: &Connection, key: i32) {
    let sql = "select b from kept where k = ? and b is not null";
    let values = [Value::Integer(key.into())];
    let reply = db.reply(sql, &values).await.unwrap();
    for row in reply.rows().iter() {
        let Value::Blob(id) = row.field(0).unwrap().value(TextRules::default()) else {
            panic!("{key} has no blob");
        };
        let mut reader = reply.blob(id, None).await.unwrap();
        let found = reader.read(usize::MAX).await.unwrap();
        assert!(found[..] == body(key)[..], "{key}: {} bytes", found.len());
    }
    reply.finish().await.unwrap();
}

/// One of the statements, by number, and how many rows it leaves.
fn statement(kind: u64) -> (&'static str, i64) {
    match kind {
        0 => ("select * from writing(?)", 2),
        1 => ("select * from lengthy(?)", 2),
        2 => ("execute procedure doing(?)", 2),
        3 => ("insert into kept values (?, 1, null)", 1),
        4 => ("insert into kept values (?, 1, null) returning v", 1),
        5 => ("select writes(cast(? as int)) from rdb$database", 1),
        6..=9 => ("insert into kept (k, v, b) values (?, 1, ?)", 1),
        _ => ("select * from raising(?)", 0),
    }
}

/// A transaction beside the statements, ended in one of all ways: how many rows it leaves.
async fn transaction(db: &Connection, dice: &Dice, key: i32) -> Left {
    let transaction = db.begin(TransactionOptions::default()).await.unwrap();
    let insert = "insert into kept values (?, ?, null)";
    for value in 0..2 {
        let values = [Value::Integer(key.into()), Value::Integer(value)];
        transaction.query(insert, &values).await.unwrap();
    }
    match dice.below(4) {
        0 => {
            let times = dice.place(3);
            let ended = poll_times(transaction.commit(), times).await;
            return if ended {
                Left::Exactly(2)
            } else {
                Left::AllOrNone(2)
            };
        }
        1 => drop(transaction),
        2 => transaction.roll_back().await.unwrap(),
        _ => {
            transaction.commit().await.unwrap();
            return Left::Exactly(2);
        }
    }
    Left::Exactly(0)
}

/// Leaves a statement at any of the points where it waits, at some of them before anybody else runs.
async fn leave<F: Future>(work: F, dice: &Dice) {
    let mut work = pin!(work);
    for _ in 0..dice.below(3) {
        if futures_util::poll!(&mut work).is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
    if dice.one_in(2) {
        poll_times(&mut work, dice.place(12)).await;
    } else {
        let _ = futures_util::poll!(work);
    }
}

async fn caller(db: &Connection, dice: &Dice, first: i32, left: &RefCell<BTreeMap<i32, Left>>) {
    for key in first..first + ROUNDS {
        if dice.one_in(8) {
            let outcome = transaction(db, dice, key).await;
            left.borrow_mut().insert(key, outcome);
            continue;
        }
        let (sql, rows) = statement(dice.below(12));
        let mut values = vec![Value::Integer(key.into())];
        let large = body(key);
        if sql.matches('?').count() == 2 {
            values.push(Value::Bytes(&large));
        }
        let work = db.query(sql, &values);
        if dice.one_in(5) {
            leave(work, dice).await;
            left.borrow_mut().insert(key, Left::AllOrNone(rows));
        } else {
            let outcome = work.await;
            match outcome {
                Err(Error::Server(_)) if rows == 0 => {}
                outcome => assert!(outcome.is_ok() && rows > 0, "{sql}: {:?}", outcome.err()),
            }
            left.borrow_mut().insert(key, Left::Exactly(rows));
            // What a caller has written it reads.
            if rows > 0 && dice.below(2) == 0 {
                let count = "select count(*) from kept where k = ?";
                let found = db.query(count, &values[..1]).await.unwrap();
                assert_eq!(int(&found), rows, "{sql}");
                read_bodies(db, key).await;
            }
        }
        if dice.below(4) == 0 {
            let count = "update counted set n = n + 1 where id = 1";
            db.query(count, &[]).await.unwrap();
        }
    }
}

async fn rows_by_key(db: &Connection) -> BTreeMap<i64, i64> {
    let sql = "select k, count(*) from kept group by k";
    let rows = db.query(sql, &[]).await.unwrap();
    let number = |value: Value<'_>| match value {
        Value::Integer(number) => number,
        other => panic!("{other:?}"),
    };
    let pair = rows.iter().map(|row| {
        let value = |at| number(row.field(at).unwrap().value(TextRules::default()));
        (value(0), value(1))
    });
    pair.collect()
}

async fn callers_on_one_connection(database: &FirebirdDatabase<'_>, seed: u64) {
    let db = open(database).await;
    let other = open(database).await;
    let left = RefCell::new(BTreeMap::new());
    let dice = Dice::new(seed);
    let callers = (0..CALLERS).map(|number| {
        let first = i32::try_from(number).unwrap() * ROUNDS;
        caller(&db, &dice, first, &left)
    });
    let all = futures_util::future::join_all(callers);
    let ended = tokio::time::timeout(Duration::from_secs(240), all).await;
    ended.expect("no statement waits for ever");
    db.reset().await;
    assert!(db.is_open());
    let found = rows_by_key(&other).await;
    for (key, left) in left.take() {
        let rows = found.get(&i64::from(key)).copied().unwrap_or(0);
        match left {
            Left::Exactly(expected) => assert_eq!(rows, expected, "{key}"),
            Left::AllOrNone(all) => assert!(rows == 0 || rows == all, "{key}: {rows} of {all}"),
        }
        if rows > 0 {
            read_bodies(&other, key).await;
        }
    }
}

/// Histories of this test, each of 1,500 statements; `make soak` asks for more.
fn histories() -> u64 {
    let name = "TSUMUGI_AUTOMATIC_HISTORIES";
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}")),
        Err(_) => 1,
    }
}

#[test]
fn each_of_many_callers_statements_is_kept_or_undone_alone() {
    run(async {
        let database = Server::shared().database();
        database.isql(SCHEMA);
        for history in 1..=histories() {
            callers_on_one_connection(&database, 88_172_645_463_325_252 ^ history).await;
            database.isql("delete from kept; commit;");
        }
    });
}

#[test]
fn rows_that_a_procedure_leaves_in_its_transaction_are_unseen_elsewhere() {
    run(async {
        let database = Server::shared().database();
        database.isql(SCHEMA);
        let db = open(&database).await;
        for key in 0..5 {
            let values = [Value::Integer(key)];
            let rows = db.query("select n from noting(?)", &values).await.unwrap();
            assert_eq!(int(&rows), 1, "{key}");
        }
        let rows = db.query("select count(*) from mine", &[]).await.unwrap();
        assert_eq!(int(&rows), 0);
    });
}

#[test]
fn procedure_that_is_selected_from_posts_its_events() {
    run(async {
        let database = Server::shared().database();
        database.isql(
            "set term ^; create procedure posting returns (n int) as begin post_event 'done'; n = 1; suspend; end^ set term ;^ commit;",
        );
        let (db, other) = (open(&database).await, open(&database).await);
        let mut listener = other.listen(["done"]).await.unwrap();
        db.query("select * from posting", &[]).await.unwrap();
        let posted = tokio::time::timeout(Duration::from_secs(60), listener.next()).await;
        assert_eq!(posted.expect("it is posted").unwrap()[0].name, "done");
    });
}

#[test]
fn commit_that_is_refused_undoes_its_statement_and_no_other() {
    run(async {
        let database = Server::shared().database();
        database.isql(SCHEMA);
        database.isql(
            "create exception refused 'refused'; commit; set term ^;
             create trigger guard on transaction commit as begin
               if (exists (select 1 from kept where k < 0)) then exception refused; end^ set term ;^ commit;",
        );
        let (db, other) = (open(&database).await, open(&database).await);
        let insert = "insert into kept values (?, 1, null)";
        let calls = (-20..20).map(async |key| {
            let outcome = db.query(insert, &[Value::Integer(key)]).await;
            assert_eq!(outcome.is_ok(), key >= 0, "{key}: {:?}", outcome.err());
        });
        futures_util::future::join_all(calls).await;
        let rows = other.query("select count(*), min(k) from kept", &[]).await;
        assert_eq!(int(&rows.unwrap()), 20);
        is_usable(&db).await;
    });
}

#[test]
fn transaction_that_was_not_begun_executes_nothing_elsewhere() {
    run(async {
        let database = Server::shared().database();
        database.isql(SCHEMA);
        let (db, other) = (open(&database).await, open(&database).await);
        let sql = "select * from writing(?)";
        db.describe(sql).await.unwrap();
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        // A server 3.0 does not know it.
        let options = TransactionOptions {
            isolation: Isolation::ReadConsistency,
            access: Access::ReadWrite,
            ..TransactionOptions::default()
        };
        let values = [Value::Integer(1)];
        let began = db.begin_stream(options, sql, &values);
        assert!(began.await.is_err());
        transaction.commit().await.unwrap();
        let rows = other.query("select count(*) from kept", &[]).await.unwrap();
        assert_eq!(int(&rows), 0);
        db.reset().await;
        is_usable(&db).await;
    });
}

#[test]
fn rows_that_are_locked_outside_of_a_transaction_are_free_again() {
    run(async {
        let database = Server::shared().database();
        database.isql(SCHEMA);
        let (db, other) = (open(&database).await, open(&database).await);
        let options = TransactionOptions {
            wait: Wait::No,
            ..TransactionOptions::default()
        };
        for sql in [
            "select n from counted with lock",
            "select n from counted for update",
            "select n from counted for update with lock",
        ] {
            for _ in 0..2 {
                assert_eq!(int(&db.query(sql, &[]).await.unwrap()), 0, "{sql}");
                let next = other.begin(options).await.unwrap();
                next.query("update counted set n = 1", &[]).await.unwrap();
                next.roll_back().await.unwrap();
            }
        }
    });
}

#[test]
fn statement_whose_rows_were_not_taken_is_undone_and_others_go_on() {
    run(async {
        let database = Server::shared().database();
        database.isql(SCHEMA);
        let db = open(&database).await;
        let values = [Value::Integer(1)];
        let reply = db.reply("select * from writing(?)", &values).await.unwrap();
        assert_eq!(reply.rows().len(), 3);
        let count = "select count(*) from kept";
        assert_eq!(int(&db.query(count, &[]).await.unwrap()), 0);
        let insert = "insert into kept values (1, 1, null)";
        let (inserted, ()) = tokio::join!(db.query(insert, &[]), async {
            tokio::task::yield_now().await;
            drop(reply);
        });
        // It would have been refused, or have waited for itself, beside the row of the first.
        assert_eq!(inserted.unwrap().affected(), 1);
        assert_eq!(int(&db.query(count, &[]).await.unwrap()), 1);
    });
}

#[test]
fn large_blob_that_is_not_waited_for_leaves_those_of_others_alone() {
    run(async {
        let database = Server::shared().database();
        database.isql(SCHEMA);
        let db = open(&database).await;
        let insert = async |key: i32| {
            let large = body(key);
            let values = [Value::Integer(key.into()), Value::Bytes(&large)];
            let sql = "insert into kept (k, v, b) values (?, 1, ?)";
            db.query(sql, &values).await.map(drop)
        };
        // Afterwards statements and transactions are at hand, so that a blob is what is asked for first.
        futures_util::future::join_all((0..12).map(insert))
            .await
            .into_iter()
            .for_each(Result::unwrap);
        for round in 1..20 {
            for key in 0..round % 4 {
                let mut left = Box::pin(insert(100 * round + 50 + key));
                assert!(futures_util::poll!(&mut left).is_pending());
            }
            let keys = 100 * round..100 * round + 4;
            let inserted = futures_util::future::join_all(keys.clone().map(insert)).await;
            inserted.into_iter().for_each(Result::unwrap);
            for key in keys {
                read_bodies(&db, key).await;
            }
        }
    });
}

#[test]
fn transactions_that_are_kept_for_statements_end_when_none_comes() {
    run(async {
        let database = Server::shared().database();
        database.isql(SCHEMA);
        let (db, other) = (open(&database).await, open(&database).await);
        let me = "select current_connection from rdb$database";
        let me = int(&db.query(me, &[]).await.unwrap());
        let open_now = async || {
            db.reset().await;
            let sql = "select count(*) from mon$transactions where mon$attachment_id = ?";
            let look = other.begin(TransactionOptions::default()).await.unwrap();
            let rows = look.query(sql, &[Value::Integer(me)]).await.unwrap();
            look.roll_back().await.unwrap();
            int(&rows)
        };
        assert_eq!(open_now().await, 1);
        let inserts = (0..40).map(async |key| {
            let insert = "insert into kept values (?, 1, null)";
            db.query(insert, &[Value::Integer(key)]).await.unwrap();
        });
        futures_util::future::join_all(inserts).await;
        let kept = open_now().await;
        let most = i64::try_from(SPARE_TRANSACTIONS_MAX).unwrap() + 1;
        assert!((2..=most).contains(&kept), "{kept}");
        db.end_unused_spares();
        assert_eq!(open_now().await, kept);
        db.end_unused_spares();
        assert_eq!(open_now().await, 1);
    });
}

#[test]
fn transactions_that_are_kept_for_many_writes_do_not_grow_old_under_few() {
    run(async {
        let database = Server::shared().database();
        database.isql(SCHEMA);
        let (db, other) = (open(&database).await, open(&database).await);
        let look = async || {
            db.reset().await;
            let sql = "select mon$next_transaction - mon$oldest_active, \
                 (select count(*) from mon$transactions where mon$read_only = 0) from mon$database";
            let look = other.begin(TransactionOptions::default()).await.unwrap();
            let rows = look.query(sql, &[]).await.unwrap();
            look.roll_back().await.unwrap();
            let row = rows.first().unwrap();
            let number = |at| match row.field(at).unwrap().value(TextRules::default()) {
                Value::Integer(number) => number,
                other => panic!("{other:?}"),
            };
            // Without the one that looks.
            (number(0), number(1) - 1)
        };
        let update = async || {
            for _ in 0..50 {
                let count = "update counted set n = n + 1 where id = 1";
                db.query(count, &[]).await.unwrap();
            }
        };
        let inserts = (0..40).map(async |key| {
            let insert = "insert into kept values (?, 1, null)";
            db.query(insert, &[Value::Integer(key)]).await.unwrap();
        });
        futures_util::future::join_all(inserts).await;
        update().await;
        let most = i64::try_from(SPARE_TRANSACTIONS_MAX).unwrap();
        let (age, _) = look().await;
        assert!(age <= 2 * most, "{age}");
        // As many as were used at once since the last time stay.
        db.end_unused_spares();
        update().await;
        db.end_unused_spares();
        update().await;
        // One is used, and the next may have come before that or not.
        let (_, kept) = look().await;
        assert!((1..=2).contains(&kept), "{kept}");
    });
}

#[test]
fn statement_whose_connection_is_lost_before_its_commit_may_have_run() {
    let database = Server::shared().database();
    database.isql(SCHEMA);
    run(async {
        let db = open(&database).await;
        let reply = db.reply("select * from writing(1)", &[]).await.unwrap();
        db.abort("it was lost");
        let lost = reply.finish().await.unwrap_err();
        assert!(may_have_run(&lost), "{lost}");
        let db = open(&database).await;
        let sql = "select cast('x' as blob sub_type text) from writing(2)";
        let reply = db.reply(sql, &[]).await.unwrap();
        let Some(Value::Blob(id)) = reply.rows().first().map(|row| {
            let field = row.field(0).expect("it has a column");
            field.value(TextRules::default())
        }) else {
            panic!("the procedure gives a blob");
        };
        db.abort("it was lost");
        let lost = reply.blob(id, None).await.err().expect("it is lost");
        assert!(may_have_run(&lost), "{lost}");
    });
}

fn may_have_run(error: &Error) -> bool {
    let perhaps = StatementFate::Perhaps;
    matches!(error, Error::Lost { ran, .. } if *ran == perhaps)
}
