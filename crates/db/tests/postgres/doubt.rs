//! Commits whose answer is lost: by a proxy that cuts the connection at every byte of the exchange, by servers that crash, and where the wait for a
//! standby is ended. Rule: what the caller is answered is what the table says. Committed is there, rolled back is not, and unknown is only where no
//! server can know.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tsumugi_db::{
    Database, Error, Options, SqlText, Transaction, TransactionOptions, Value, values,
};
use tsumugi_testkit::postgres::{Options as ServerOptions, Server};
use tsumugi_testkit::{Cut, CutProxy, ServerSide};

use crate::chaos::becomes;

/// A server, a proxy in front of it, and a pool of one connection through that.
pub(crate) struct Place<'a> {
    pub(crate) server: &'a Server,
    pub(crate) proxy: &'a CutProxy,
    pub(crate) db: Database,
}

/// What the tests write to.
pub(crate) const TABLE: &str = "create table t (n int primary key); \
     create function put(n int) returns int language sql as 'insert into t values (n) returning n'";

pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

/// Runs a test with a server of its own; `options` are those of the pool.
pub(crate) fn on(server: &Server, options: &str, test: impl AsyncFnOnce(Place<'_>)) {
    server.psql(TABLE);
    on_port(server, server.port(), options, test);
}

/// The same with a port at which the server is reached, and tables that are there.
pub(crate) fn on_port(
    server: &Server,
    port: u16,
    options: &str,
    test: impl AsyncFnOnce(Place<'_>),
) {
    let proxy = CutProxy::start(port);
    let url = format!(
        "postgres://postgres@127.0.0.1:{}/postgres?pool=1&pool_min=0{options}",
        proxy.port()
    );
    run(async {
        let db = Database::connect(&url, Options::default()).await.unwrap();
        let place = Place {
            server,
            proxy: &proxy,
            db: db.clone(),
        };
        test(place).await;
        db.close();
    });
}

impl Place<'_> {
    /// Another one where the connection that was cut before was not yet known to be lost.
    pub(crate) async fn begin(&self) -> Transaction {
        self.begin_with(TransactionOptions::default()).await
    }

    pub(crate) async fn begin_with(&self, options: TransactionOptions) -> Transaction {
        loop {
            match self.db.begin(options).await {
                Ok(transaction) => return transaction,
                Err(Error::Lost { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub(crate) fn has(&self, n: i64) -> bool {
        has(self.server, n)
    }

    /// Cuts the transaction's connection. Waits until no other one is left, such as that of an inquiry before, whose last bytes would count too.
    pub(crate) async fn cut_once(&self, cut: Cut, server: ServerSide) {
        let alone = async {
            while self.proxy.open_connections() > 1 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let alone = timeout(Duration::from_secs(30), alone).await;
        alone.expect("other connections end");
        self.proxy.cut_once(cut, server);
    }

    pub(crate) async fn is_cut(&self) {
        while self.proxy.is_armed() {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

pub(crate) fn has(server: &Server, n: i64) -> bool {
    server.psql(&format!("select count(*) from t where n = {n}")) == "1"
}

/// What a commit came to, checked against the table. True if it is committed.
#[track_caller]
pub(crate) fn check(committed: &Result<(), Error>, server: &Server, n: i64, context: &str) -> bool {
    let is_there = has(server, n);
    match committed {
        Ok(()) => assert!(is_there, "{context}: committed and missing"),
        Err(error @ Error::LostUncommitted { .. }) => {
            assert!(!is_there, "{context}: rolled back and there");
            assert!(error.is_retryable(), "{context}");
            assert_eq!(error.kind(), "TransactionRolledBack", "{context}");
        }
        Err(error) => panic!("{context}: {} {error}", error.kind()),
    }
    committed.is_ok()
}

/// The ways to write. Behind the first ones the number of the transaction is asked for in the same write, behind the others before the commit.
const WAYS: [(&str, bool); 10] = [
    ("a statement", true),
    ("a statement behind reads", true),
    ("a pipeline", true),
    ("a function", true),
    ("a savepoint that is undone before", true),
    ("a savepoint after an error", true),
    ("a statement when nothing is prepared any more", true),
    ("a script", false),
    ("a stream", false),
    ("a copy", false),
];

pub(crate) async fn write(tx: &Transaction, way: &str, n: i64) {
    let insert = "insert into t values (?) returning n";
    match way {
        "a statement" => {
            tx.execute(insert, values![n]).await.unwrap();
        }
        "a statement behind reads" => {
            tx.query("select count(*) from t", []).await.unwrap();
            tx.execute("set transaction read write", []).await.unwrap();
            tx.execute(insert, values![n]).await.unwrap();
        }
        "a pipeline" => {
            let read: (SqlText, Vec<Value>) = ("select 1".into(), vec![]);
            let statements = vec![read.clone(), (insert.into(), values![n]), read];
            let outcomes = tx.pipeline(statements).await.unwrap();
            let rows: Vec<_> = outcomes.into_iter().map(|one| one.unwrap().len()).collect();
            assert_eq!(rows, [1, 1, 1]);
        }
        "a function" => {
            let rows = tx.query("select put(?::int)", values![n]).await.unwrap();
            assert_eq!(rows.len(), 1);
        }
        "a savepoint that is undone before" => {
            let savepoint = tx.savepoint().await.unwrap();
            tx.execute(insert, values![-n - 1]).await.unwrap();
            savepoint.roll_back().await.unwrap();
            tx.execute(insert, values![n]).await.unwrap();
        }
        "a savepoint after an error" => {
            let savepoint = tx.savepoint().await.unwrap();
            tx.execute("insert into t values (null)", [])
                .await
                .unwrap_err();
            savepoint.roll_back().await.unwrap();
            tx.execute(insert, values![n]).await.unwrap();
        }
        "a statement when nothing is prepared any more" => {
            tx.execute("deallocate all", []).await.unwrap();
            tx.execute(insert, values![n]).await.unwrap();
        }
        "a script" => {
            let script = format!("insert into t values ({n}); select 1");
            tx.execute_script(script).await.unwrap();
        }
        "a stream" => {
            let mut stream = tx.stream(insert, values![n]).await.unwrap();
            while stream.next().await.unwrap().is_some() {}
        }
        "a copy" => {
            let mut copy = tx.copy_in("copy t from stdin").await.unwrap();
            copy.send(format!("{n}\n").as_bytes()).await.unwrap();
            assert_eq!(copy.finish().await.unwrap(), 1);
        }
        other => unreachable!("{other}"),
    }
}

/// Cuts a commit behind every byte of one direction, until it comes to its end before the cut. Behind how many bytes it was committed, and how often it
/// was cut or not.
async fn cut_everywhere(
    place: &Place<'_>,
    way: &str,
    next: &mut i64,
    cut: fn(usize) -> Cut,
) -> (Vec<usize>, usize) {
    let mut committed = Vec::new();
    for bytes in 0.. {
        assert!(bytes < 1_000, "{way}: it never ends");
        *next += 1;
        let n = *next;
        let tx = place.begin().await;
        write(&tx, way, n).await;
        place.cut_once(cut(bytes), ServerSide::Closes).await;
        let outcome = tx.commit().await;
        let was_cut = !place.proxy.is_armed();
        place.proxy.disarm();
        let context = format!("{way}, {:?}", cut(bytes));
        if check(&outcome, place.server, n, &context) {
            committed.push(bytes);
        }
        if !was_cut {
            outcome.unwrap();
            return (committed, bytes + 1);
        }
    }
    unreachable!("it has returned")
}

#[test]
fn commit_cut_at_every_byte_is_answered_as_the_table_says() {
    on(
        &Server::start(),
        "&acquire_timeout_ms=30000",
        async |place| {
            let mut n = 0;
            // Behind a script the question goes first, by a name of as many digits as a random number has.
            for (way, digits) in [("a statement", 0), ("a script", 20)] {
                let (kept, all) = cut_everywhere(&place, way, &mut n, Cut::ToServer).await;
                // Behind its last byte, and where it was not cut at all.
                let expected = [all - 2, all - 1];
                match digits {
                    0 => assert_eq!(kept, expected, "{way}"),
                    _ => assert!(kept[0] >= expected[0] - digits, "{way}: {kept:?} of {all}"),
                }
                let (kept, all) = cut_everywhere(&place, way, &mut n, Cut::ToClient).await;
                // Of a statement the number is known before, whatever is lost of the answer.
                if way == "a statement" {
                    assert_eq!(kept, Vec::from_iter(0..all), "{way}");
                }
                let kept = kept.len();
                assert!(kept > 10 && all > 10, "{way}: {kept} of {all}");
            }
        },
    );
}

#[test]
fn number_of_a_transaction_is_known_before_its_commit_however_it_wrote() {
    on(
        &Server::start(),
        "&acquire_timeout_ms=30000",
        async |place| {
            for (n, (way, is_asked_behind)) in (1..).zip(WAYS) {
                let tx = place.begin().await;
                write(&tx, way, n).await;
                place.cut_once(Cut::ToClient(0), ServerSide::Closes).await;
                let outcome = tx.commit().await;
                let is_committed = check(&outcome, place.server, n, way);
                // Else the answer to the question is cut, and no COMMIT is sent.
                assert_eq!(is_committed, is_asked_behind, "{way}");
                let tx = place.begin().await;
                write(&tx, way, n + 100).await;
                place.cut_once(Cut::ToServer(0), ServerSide::Closes).await;
                let outcome = tx.commit().await;
                assert!(!check(&outcome, place.server, n + 100, way), "{way}");
            }
        },
    );
}

#[test]
fn commit_of_what_only_read_is_not_missed_where_that_is_certain() {
    on(&Server::start(), "", async |place| {
        let read = "select count(*) from t";
        let db = &place.db;
        let tx = db.begin(TransactionOptions::read_only()).await.unwrap();
        tx.query(read, []).await.unwrap();
        place.cut_once(Cut::ToClient(0), ServerSide::Closes).await;
        tx.commit().await.unwrap();
        let tx = place.begin().await;
        tx.query(read, []).await.unwrap();
        place.cut_once(Cut::ToClient(0), ServerSide::Closes).await;
        let error = tx.commit().await.unwrap_err();
        assert!(
            matches!(error, Error::CommitUnknown { xid: None, .. }),
            "{error}"
        );
        assert!(!error.is_retryable());
    });
}

#[test]
fn commit_after_a_statement_that_failed_is_rolled_back_also_where_its_answer_is_lost() {
    on(&Server::start(), "", async |place| {
        for (options, n) in [
            (TransactionOptions::read_only(), None),
            (TransactionOptions::default(), None),
            (TransactionOptions::default(), Some(1)),
        ] {
            let tx = place.begin_with(options).await;
            if let Some(n) = n {
                write(&tx, "a statement", n).await;
            }
            let wrong = "select 1 / 0";
            tx.query(wrong, []).await.unwrap_err();
            place.cut_once(Cut::ToClient(0), ServerSide::Closes).await;
            let error = tx.commit().await.unwrap_err();
            // As where it is answered.
            assert!(matches!(error, Error::RolledBack { .. }), "{error}");
            assert!(!error.is_retryable());
        }
        assert!(!place.has(1));
    });
}

#[test]
fn statement_whose_connection_is_lost_in_a_transaction_says_that_it_is_rolled_back() {
    on(&Server::start(), "", async |place| {
        let tx = place.begin().await;
        write(&tx, "a statement", 1).await;
        place.cut_once(Cut::ToClient(0), ServerSide::Closes).await;
        let error = tx.query("select 1", []).await.unwrap_err();
        assert_eq!(error.kind(), "ConnectionLost", "{error}");
        assert!(error.is_retryable(), "{error}");
        let text = error.to_string();
        assert!(text.ends_with("its transaction was rolled back"), "{text}");
        let error = tx.commit().await.unwrap_err();
        assert!(matches!(error, Error::LostUncommitted { .. }), "{error}");
        drop(tx);
        // A statement by itself may have run, once it is prepared.
        place.begin().await.roll_back().await.unwrap();
        let insert = async |n: i64| {
            let sql = "insert into t values (?)";
            place.db.execute(sql, values![n]).await
        };
        insert(2).await.unwrap();
        place.cut_once(Cut::ToClient(0), ServerSide::Closes).await;
        let error = insert(3).await.unwrap_err();
        assert!(!error.is_retryable(), "{error}");
        let text = error.to_string();
        assert!(text.ends_with("may or may not have run"), "{text}");
        // Until then it has not, and is run on another connection.
        place.begin().await.roll_back().await.unwrap();
        place.cut_once(Cut::ToClient(0), ServerSide::Closes).await;
        insert(4).await.unwrap();
        assert!(!place.proxy.is_armed());
        assert!(place.has(4));
    });
}

#[test]
fn commit_that_is_in_progress_for_too_long_is_unknown() {
    on(
        &Server::start(),
        "&acquire_timeout_ms=1000",
        async |place| {
            let tx = place.begin().await;
            write(&tx, "a statement", 1).await;
            let has_run = Rc::new(Cell::new(false));
            let own = Rc::clone(&has_run);
            tx.after_commit(move || own.set(true));
            // The server waits for the rest of the COMMIT.
            place
                .cut_once(Cut::ToServer(3), ServerSide::StaysOpen)
                .await;
            let error = tx.commit().await.unwrap_err();
            assert_eq!(error.kind(), "CommitUnknown", "{error}");
            drop(tx);
            assert!(!has_run.get());
            assert!(error.xid().is_some(), "{error}");
            assert!(error.to_string().contains("still in progress"), "{error}");
            assert!(!error.is_retryable());
            assert_eq!(place.db.snapshot().commits_unknown, 1);
            assert!(!place.has(1));
        },
    );
}

/// How many commits wait for a standby.
pub(crate) const WAITING: &str =
    "select count(*) from pg_stat_activity where wait_event = 'SyncRep'";

/// A server whose commits wait for a standby that never comes, where they ask for that.
pub(crate) fn without_its_standby() -> Server {
    ServerOptions::default()
        .setting("synchronous_standby_names", "nobody")
        .start()
}

pub(crate) async fn write_synchronously(tx: &Transaction, n: i64) {
    tx.execute("set local synchronous_commit = on", [])
        .await
        .unwrap();
    write(tx, "a statement", n).await;
}

#[test]
fn commit_whose_wait_for_a_standby_is_cancelled_is_unknown() {
    on(&without_its_standby(), "", async |place| {
        let tx = place.begin().await;
        write_synchronously(&tx, 1).await;
        let cancel = async {
            becomes(place.server, WAITING, "1").await;
            let waiting = WAITING.replace("count(*)", "pg_cancel_backend(pid)");
            place.server.psql(&waiting);
        };
        let (outcome, ()) = tokio::join!(tx.commit(), cancel);
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), "CommitUnknown", "{error}");
        assert!(error.xid().is_some(), "{error}");
        assert!(place.has(1));
        // The connection goes on.
        let tx = place.begin().await;
        write(&tx, "a statement", 2).await;
        tx.commit().await.unwrap();
    });
}

#[test]
fn backend_ended_while_it_waits_for_a_standby_leaves_the_commit_unknown() {
    on(&without_its_standby(), "", async |place| {
        let tx = place.begin().await;
        write_synchronously(&tx, 1).await;
        let end = async {
            becomes(place.server, WAITING, "1").await;
            let waiting = WAITING.replace("count(*)", "pg_terminate_backend(pid)");
            place.server.psql(&waiting);
        };
        let (outcome, ()) = tokio::join!(tx.commit(), end);
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), "CommitUnknown", "{error}");
        assert!(place.has(1));
    });
}

#[test]
fn commit_that_is_not_awaited_goes_on_waiting_for_its_standby() {
    on(&without_its_standby(), "", async |place| {
        let tx = place.begin().await;
        write_synchronously(&tx, 1).await;
        tokio::select! {
            outcome = tx.commit() => panic!("it has no standby: {outcome:?}"),
            () = becomes(place.server, WAITING, "1") => {}
        }
        drop(tx);
        // Longer than an abandoned statement is left alone.
        sleep(Duration::from_secs(1)).await;
        assert_eq!(place.server.psql(WAITING), "1");
    });
}

/// Whether a commit waits until it is on disk, and for a standby.
#[derive(Clone, Copy)]
pub(crate) enum Durability {
    Synchronous,
    Asynchronous,
}

/// Commits 1, the answer of which is lost, while `meanwhile` goes on, during which the proxy lets no other connection through.
pub(crate) async fn commit_through(
    place: &Place<'_>,
    durability: Durability,
    meanwhile: impl AsyncFnOnce(),
) -> Result<(), Error> {
    let tx = place.begin().await;
    match durability {
        Durability::Synchronous => write_synchronously(&tx, 1).await,
        Durability::Asynchronous => write(&tx, "a statement", 1).await,
    }
    place.cut_once(Cut::ToClient(0), ServerSide::Closes).await;
    place.proxy.refuse();
    let meanwhile = async {
        place.is_cut().await;
        meanwhile().await;
        place.proxy.accept();
    };
    let (outcome, ()) = tokio::join!(tx.commit(), meanwhile);
    outcome
}

#[test]
fn commit_that_was_flushed_is_found_after_a_crash() {
    on(
        &Server::start(),
        "&acquire_timeout_ms=120000",
        async |place| {
            let crash = async || {
                place.server.kill_9();
                place.server.start_again();
            };
            let outcome = commit_through(&place, Durability::Synchronous, crash).await;
            assert!(check(&outcome, place.server, 1, "after a crash"));
        },
    );
}

#[test]
fn commit_that_a_crash_undid_is_not_taken_for_another_with_its_number() {
    on(
        &Server::start(),
        "&acquire_timeout_ms=120000",
        async |place| {
            place.server.psql("create table other (n int)");
            // What was committed before is on disk.
            place.server.psql("checkpoint");
            let crash_and_go_on = async || {
                place.server.kill_9();
                place.server.start_again();
                // Their numbers begin where those of the log end that was kept.
                for _ in 0..20 {
                    place.server.psql("insert into other values (1)");
                }
            };
            let outcome = commit_through(&place, Durability::Asynchronous, crash_and_go_on).await;
            if let Err(Error::CommitUnknown { xid, .. }) = &outcome {
                assert!(xid.is_some());
            } else {
                check(&outcome, place.server, 1, "after a crash");
            }
        },
    );
}
