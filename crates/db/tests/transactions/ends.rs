//! Streams that are left open by what ends around them. Rule: it holds no connection, lock or writer afterwards, also where the stream is kept,
//! and one that is kept says at its next read what has ended.

use std::time::Duration;

use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};
use tsumugi_db::{BatchSize, Database, RowStream};
use tsumugi_testkit::poll::pend;

use crate::{Kind, begin, insert, numbers, on_each};

/// What the next caller waits at most on a crowded machine: far less than what is left would last.
const AT_ONCE: Duration = Duration::from_secs(30);

const IN_A_TRANSACTION: [&str; 6] = [
    "dropped",
    "dropped before a row was read",
    "dropped after its commit was refused",
    "dropped after its rollback was refused",
    "dropped with a savepoint around the stream",
    "dropped while rows are computed",
];

const OUTSIDE: [&str; 4] = [
    "dropped after some rows",
    "dropped before a row was read",
    "dropped while it is opened",
    "dropped while rows are computed",
];

impl Kind {
    /// Some batches of rows, and then none for ten minutes or more.
    fn long(self) -> &'static str {
        match self {
            Kind::Sqlite => self.stalling(),
            Kind::Postgres => {
                "select n, case when n = 2001 then pg_sleep(600) end from generate_series(1, 5000) n"
            }
            Kind::Firebird => {
                "execute block returns (n integer, t char(200)) as begin \
                 n = 0; t = ''; while (n < 3000) do begin n = n + 1; suspend; end \
                 while (datediff(second from current_timestamp to cast('now' as timestamp)) < 600) do n = n + 1; \
                 suspend; end"
            }
        }
    }
}

/// Reads until nothing comes for a while.
async fn read_until_it_stalls(stream: &mut RowStream) {
    while let Ok(next) = timeout(Duration::from_millis(600), stream.next()).await {
        assert!(next.unwrap().is_some(), "no stall");
    }
}

/// Leaves a stream open in a transaction that ends in this way.
async fn end_transaction(db: &Database, kind: Kind, way: &str) -> RowStream {
    let tx = begin(db).await;
    insert(&tx, 2).await;
    let savepoint = match way.contains("savepoint") {
        true => Some(tx.savepoint().await.unwrap()),
        false => None,
    };
    let sql = match way.contains("computed") {
        true => kind.long(),
        false => kind.numbers(),
    };
    let mut stream = tx.stream(sql, []).await.unwrap();
    if !way.contains("before") {
        assert!(stream.next().await.unwrap().is_some());
    }
    if way.contains("computed") {
        read_until_it_stalls(&mut stream).await;
        let reader = spawn_local(async move {
            let outcome = stream.next().await;
            assert!(outcome.is_err(), "{kind:?}: {outcome:?}");
            stream
        });
        sleep(Duration::from_millis(50)).await;
        drop(tx);
        let read = timeout(AT_ONCE, reader).await;
        return read.expect("the reader learns at once").unwrap();
    }
    if way.contains("commit") {
        assert_eq!(tx.commit().await.unwrap_err().kind(), "UsageError");
    }
    if way.contains("rollback") {
        assert_eq!(tx.roll_back().await.unwrap_err().kind(), "UsageError");
    }
    drop(tx);
    drop(savepoint);
    stream
}

/// Opens a stream outside a transaction that is left in this way.
async fn leave_stream(db: &Database, kind: Kind, way: &str) {
    if way.contains("opened") {
        for polls in 0..4 {
            let opening = db.stream_by(kind.numbers(), [], BatchSize::default());
            drop(pend(opening, polls).await);
        }
        return;
    }
    let sql = match way.contains("computed") {
        true => kind.long(),
        false => kind.numbers(),
    };
    let mut stream = db.stream(sql, []).await.unwrap();
    if way.contains("computed") {
        read_until_it_stalls(&mut stream).await;
    } else if !way.contains("before") {
        assert!(stream.next().await.unwrap().is_some());
    }
    drop(stream);
}

/// The next callers, who read and write.
async fn others_are_served(db: &Database, context: &str) {
    let started = Instant::now();
    let others = async {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1", "{context}");
        let stream = db.stream("select n from t", []).await.unwrap();
        drop(stream);
    };
    let served = timeout(AT_ONCE, others).await;
    assert!(served.is_ok(), "{context}: after {:?}", started.elapsed());
    db.execute("delete from t", []).await.unwrap();
}

/// The stream says once what has ended, and has no rows any more.
async fn says_what_ended(mut stream: RowStream, what: &str, context: &str) {
    let ended = stream.next().await.expect_err(context);
    let text = ended.to_string();
    assert!(
        text.contains(&format!("the {what} is over")),
        "{context}: {text}"
    );
    assert!(stream.next().await.unwrap().is_none(), "{context}");
}

#[test]
fn stream_kept_beyond_its_transaction_holds_nothing() {
    on_each("?pool=1&acquire_timeout_ms=60000", async |db, place| {
        for way in IN_A_TRANSACTION {
            let context = format!("{:?}: {way}", place.kind);
            let stream = end_transaction(db, place.kind, way).await;
            others_are_served(db, &context).await;
            match way.contains("computed") {
                true => drop(stream),
                false => says_what_ended(stream, "transaction", &context).await,
            }
        }
    });
}

#[test]
fn stream_outside_a_transaction_that_is_dropped_holds_nothing() {
    on_each("?pool=1&acquire_timeout_ms=60000", async |db, place| {
        for way in OUTSIDE {
            leave_stream(db, place.kind, way).await;
            let context = format!("{:?}: {way}", place.kind);
            others_are_served(db, &context).await;
        }
    });
}

#[test]
fn stream_kept_beyond_its_session_holds_nothing() {
    on_each("?pool=1&acquire_timeout_ms=60000", async |db, place| {
        if place.kind != Kind::Postgres {
            return;
        }
        let session = db.session().await.unwrap();
        let alone = session.stream(place.kind.numbers(), []).await.unwrap();
        drop(session);
        others_are_served(db, "a stream of its own").await;
        says_what_ended(alone, "session", "a stream of its own").await;
        let session = db.session().await.unwrap();
        let tx = session.begin(Default::default()).await.unwrap();
        insert(&tx, 2).await;
        let mut within = tx.stream(place.kind.numbers(), []).await.unwrap();
        within.next().await.unwrap().unwrap();
        drop(tx);
        session.execute("select 1", []).await.unwrap();
        drop(session);
        others_are_served(db, "a stream of its transaction").await;
        says_what_ended(within, "transaction", "a stream of its transaction").await;
    });
}
