//! The pool over a real server when it is busy, slow, silent or gone: which callers wait, and for how long.

use std::time::{Duration, Instant};

use tokio::task::spawn_local;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tsumugi_db::{Database, Error, Options, TransactionOptions, ValueRef, values};
use tsumugi_testkit::postgres::{Server, User};

use crate::chaos::{becomes, setting};

/// Runs a test with a server of its own.
fn alone<F: Future<Output = ()>>(
    options: &str,
    test: impl FnOnce(Database, std::rc::Rc<Server>) -> F,
) {
    let server = std::rc::Rc::new(Server::start());
    let url = server.url(User::ADMIN) + options;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(async {
        let db = Database::connect(&url, Options::default()).await.unwrap();
        test(db, server).await;
    });
}

const OURS: &str = "from pg_stat_activity where application_name = 'tsumugi'";

fn ours(server: &Server) -> Vec<i32> {
    let pids = server.psql(&format!("select pid {OURS}"));
    pids.lines().map(|line| line.parse().unwrap()).collect()
}

async fn read(db: Database, tick: u64) -> Duration {
    let id = i64::try_from(tick * 7 % 10_000).unwrap();
    let begun = Instant::now();
    let sql = "select name from item where id = ?";
    let rows = db.query(sql, values![id]).await.unwrap();
    let name = format!("item {id}");
    assert_eq!(rows.first().unwrap().value(0), Some(ValueRef::Text(&name)));
    begun.elapsed()
}

#[test]
fn a_slow_statement_a_second_leaves_the_reads_quick() {
    let seconds = setting("TSUMUGI_CHAOS_SECONDS", 3);
    alone("?pool=4", async |db, server| {
        server.psql(
            "create table item as select n as id, 'item ' || n as name from generate_series(0, 9999) n; \
             alter table item add primary key (id)",
        );
        let mut reads = Vec::new();
        let mut slow = Vec::new();
        let under_way = std::rc::Rc::new(std::cell::Cell::new(0));
        let mut ticks = interval(Duration::from_millis(1));
        // After a stall of the machine no crowd of reads at once, which would all go where the slow one is.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for tick in 0..seconds * 1_000 {
            ticks.tick().await;
            if tick % 1_000 == 0 {
                let slow_one = db.clone();
                slow.push(spawn_local(async move {
                    slow_one.query("select pg_sleep(2)", []).await.map(drop)
                }));
            }
            // On a crowded machine reads come more slowly: what is measured are not those that wait for the machine.
            while under_way.get() >= 32 {
                sleep(Duration::from_millis(1)).await;
            }
            under_way.set(under_way.get() + 1);
            let (db_of_one, count) = (db.clone(), std::rc::Rc::clone(&under_way));
            reads.push(spawn_local(async move {
                let took = read(db_of_one, tick).await;
                count.set(count.get() - 1);
                took
            }));
            assert!(db.snapshot().connections <= 4);
        }
        let mut times = Vec::new();
        for read in reads {
            times.push(read.await.unwrap());
        }
        for slow in slow {
            slow.await.unwrap().unwrap();
        }
        times.sort();
        let p99 = times[times.len() * 99 / 100];
        println!(
            "soak     slow     {} reads beside pg_sleep(2) each second: p50 {:?} p99 {p99:?} max {:?}",
            times.len(),
            times[times.len() / 2],
            times[times.len() - 1]
        );
        assert!(p99 < Duration::from_millis(1_500), "{p99:?}");
        assert!(ours(&server).len() <= 4);
    });
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}

/// Short here; with TSUMUGI_CHAOS_ROWS=10000000 it is a part of `make soak`, and then there are enough rows to tell by the process's
/// memory that they are not kept.
#[test]
fn many_rows_for_a_slow_reader_keep_neither_memory_nor_others() {
    const BYTES_MAX: usize = 100 * 1024 * 1024;
    let rows = setting("TSUMUGI_CHAOS_ROWS", 200_000);
    alone("?pool=2", async |db, _| {
        let reads = std::rc::Rc::new(std::cell::Cell::new(0_u64));
        let others = spawn_local({
            let (db, reads) = (db.clone(), std::rc::Rc::clone(&reads));
            async move {
                loop {
                    db.query("select 1", []).await.unwrap();
                    reads.set(reads.get() + 1);
                }
            }
        });
        let before = resident();
        let (mut came, mut sum, mut most) = (0_u64, 0_i64, 0);
        let sql = "select n, 'some words beside it, so that it weighs' as words from generate_series(1, ?::int8) n";
        let count = i64::try_from(rows).unwrap();
        let mut stream = db.stream(sql, values![count]).await.unwrap();
        while let Some(batch) = stream.next().await.unwrap() {
            for row in batch.iter() {
                let Some(ValueRef::Integer(n)) = row.value(0) else {
                    panic!("the first column is a number");
                };
                sum += n;
            }
            came += u64::try_from(batch.len()).unwrap();
            most = most.max(resident());
            sleep(Duration::from_millis(1)).await;
        }
        assert_eq!((came, sum), (rows, count * (count + 1) / 2));
        assert!(!others.is_finished());
        others.abort();
        let grown = most.saturating_sub(before);
        let reads = reads.get();
        println!(
            "soak     rows     {rows} rows streamed: {grown} bytes more, {reads} reads of others meanwhile"
        );
        assert!(reads > rows / 10_000, "{reads}");
        // Of fewer rows it would tell nothing.
        assert!(rows < 5_000_000 || grown < BYTES_MAX, "{grown} bytes more");
    });
}

#[test]
fn never_more_connections_than_the_pool_may_have() {
    alone("?pool=3", async |db, server| {
        let tasks: Vec<_> = (0..60)
            .map(|number| {
                let db = db.clone();
                spawn_local(async move {
                    for _ in 0..5 {
                        if number % 3 == 0 {
                            let own = db.begin(TransactionOptions::default()).await.unwrap();
                            own.query("select pg_sleep(0.002)", []).await.unwrap();
                            own.commit().await.unwrap();
                        } else {
                            db.query("select 1", []).await.unwrap();
                        }
                    }
                })
            })
            .collect();
        while tasks.iter().any(|task| !task.is_finished()) {
            assert!(ours(&server).len() <= 3);
            sleep(Duration::from_millis(5)).await;
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(db.snapshot().connections_busy, 0);
    });
}

#[test]
fn a_connection_that_died_idle_is_not_handed_out() {
    alone("?pool=2", async |db, server| {
        for _ in 0..3 {
            db.query("select 1", []).await.unwrap();
            let killed = ours(&server);
            for backend in &killed {
                server.kill_backend(*backend);
            }
            while ours(&server).iter().any(|one| killed.contains(one)) {
                sleep(Duration::from_millis(10)).await;
            }
            // The end of a socket is news that this thread has to read first.
            sleep(Duration::from_millis(300)).await;
            db.query("select 1", []).await.unwrap();
            let own = db.begin(TransactionOptions::default()).await.unwrap();
            own.commit().await.unwrap();
        }
    });
}

#[test]
fn caller_that_waits_too_long_gets_an_error_that_says_what_to_do() {
    alone("?pool=1&acquire_timeout_ms=1000", async |db, _| {
        let own = db.begin(TransactionOptions::default()).await.unwrap();
        let error = db.query("select 1", []).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::PoolTimeout {
                    limit: "acquire_timeout",
                    waited_ms: 1_000..,
                    ..
                }
            ),
            "{error}"
        );
        assert!(
            timeout(Duration::from_millis(20), db.query("select 1", []))
                .await
                .is_err()
        );
        own.roll_back().await.unwrap();
        db.query("select 1", []).await.unwrap();
        assert_eq!(db.snapshot().waiting, 0);
    });
}

#[test]
fn an_abandoned_statement_does_not_delay_a_transaction() {
    alone("?pool=1", async |db, server| {
        let slow = db.query("select pg_sleep(60)", []);
        assert!(timeout(Duration::from_millis(100), slow).await.is_err());
        let own = timeout(
            Duration::from_secs(50),
            db.begin(TransactionOptions::default()),
        );
        own.await
            .expect("it waits behind what nobody wants")
            .unwrap();
        becomes(
            &server,
            &format!("select count(*) {OURS} and query like '%sleep%' and state = 'active'"),
            "0",
        )
        .await;
    });
}

#[test]
fn a_server_that_falls_silent_is_given_up() {
    alone(
        "?pool=1&statement_timeout_ms=2000&acquire_timeout_ms=60000",
        async |db, server| {
            // What is lost while it is prepared would be run again.
            db.query("select 1", []).await.unwrap();
            let backend = ours(&server)[0];
            server.freeze_backend(backend);
            let asked = timeout(Duration::from_secs(60), db.query("select 1", []));
            let error = asked.await.expect("it waits for ever").unwrap_err();
            assert_eq!(error.kind(), "ConnectionLost");
            db.query("select 1", []).await.unwrap();
            server.thaw_backend(backend);
        },
    );
}

#[test]
fn statement_too_slow_or_transaction_idle_too_long_is_ended() {
    alone(
        "?pool=1&statement_timeout_ms=1000&idle_timeout_ms=1000",
        async |db, server| {
            let error = db.query("select pg_sleep(30)", []).await.unwrap_err();
            assert!(matches!(error, Error::Timeout { .. }), "{error}");
            let own = db.begin(TransactionOptions::default()).await.unwrap();
            own.query("select 1", []).await.unwrap();
            sleep(Duration::from_millis(2_500)).await;
            let error = own.query("select 1", []).await.unwrap_err();
            assert_eq!(error.kind(), "TransactionRolledBack", "{error}");
            drop(own);
            db.query("select 1", []).await.unwrap();
            becomes(
                &server,
                &format!("select count(*) {OURS} and state like 'idle in%'"),
                "0",
            )
            .await;
        },
    );
}

#[test]
fn the_limit_is_for_each_batch_of_a_stream_and_holds_again_afterwards() {
    alone("?pool=1&statement_timeout_ms=2000", async |db, _| {
        // 100 rows are the first batch, some thousands the second.
        let sql = "select n, pg_sleep(case when n = ? then 30 else 0 end) from generate_series(1, 20000) n";
        let mut stream = db.stream(sql, values![0]).await.unwrap();
        let (mut rows, begun) = (0, Instant::now());
        while let Some(batch) = stream.next().await.unwrap() {
            rows += batch.len();
            sleep(Duration::from_millis(400)).await;
        }
        assert_eq!(rows, 20_000);
        assert!(begun.elapsed() > Duration::from_millis(2_000));
        drop(stream);
        for slow in [1, 5_000] {
            let mut stream = db.stream(sql, values![slow]).await.unwrap();
            let error = loop {
                match stream.next().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("it slept"),
                    Err(error) => break error,
                }
            };
            assert!(matches!(error, Error::Timeout { .. }), "{error}");
        }
        let rows = db.query("show statement_timeout", []).await.unwrap();
        let row = rows.first().unwrap();
        assert_eq!(row.value(0), Some(ValueRef::Text("2s")));
    });
}

/// With such a pooler the server gets none of our limits when we connect; a plain server stands for it here.
#[test]
fn limits_hold_also_behind_a_pooler_that_knows_none() {
    let options = "?pool=1&pooler=transaction&statement_timeout_ms=1000&idle_timeout_ms=1000";
    alone(options, async |db, server| {
        let slow = "select pg_sleep(30)";
        let error = db.query(slow, []).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        let own = db.begin(TransactionOptions::default()).await.unwrap();
        let error = own.query(slow, []).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        drop(own);
        let own = db.begin(TransactionOptions::default()).await.unwrap();
        sleep(Duration::from_millis(2_500)).await;
        let error = own.query("select 1", []).await.unwrap_err();
        assert_eq!(error.kind(), "TransactionRolledBack", "{error}");
        drop(own);
        db.query("select 1", []).await.unwrap();
        let busy = format!("select count(*) {OURS} and state <> 'idle'");
        becomes(&server, &busy, "0").await;
    });
}

#[test]
fn a_script_is_bounded_as_a_whole() {
    alone("?pool=1&statement_timeout_ms=1000", async |db, _| {
        let script = "select pg_sleep(0.6); select pg_sleep(0.6); select pg_sleep(0.6)";
        let error = db.execute_script(script).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        db.query("select 1", []).await.unwrap();
    });
}

#[test]
fn statement_that_another_session_cancels_is_not_reported_as_its_timeout() {
    alone("?pool=2", async |db, server| {
        let slow = db.query("select pg_sleep(30)", []);
        let cancel = async {
            let pid = format!("select pid {OURS} and query like '%pg_sleep(30)'");
            becomes(&server, &format!("select count(*) from ({pid}) as s"), "1").await;
            server.psql(&format!("select pg_cancel_backend(({pid}))"));
        };
        let (stopped, ()) = tokio::join!(slow, cancel);
        let error = stopped.unwrap_err();
        assert!(matches!(error, Error::Cancelled { .. }), "{error}");
        assert_eq!(error.kind(), "QueryCanceled");
        let message = error.to_string();
        assert!(message.contains("user request"), "{message}");
        assert!(!message.contains("statement_timeout"), "{message}");
        db.query("select 1", []).await.unwrap();
    });
}
