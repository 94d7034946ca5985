//! Locks of engines with a table: what is written in it, what becomes of a question whose answer was lost, fences of transactions. What every engine
//! does is in `../behaviour/locks.rs`.

use std::rc::Rc;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tsumugi_cluster::limits::{CLUSTER_NAME_BYTES_MAX, LEASE_TTL_MAX, LEASE_TTL_MIN};
use tsumugi_cluster::{Cluster, Error, LockWait, ReleaseKind, fence};
use tsumugi_db::{Database, Executor, Options, StatementLog, TransactionOptions, values};
use tsumugi_testkit::{Cut, CutProxy, LogBuffer, ServerSide};

use crate::{LONG, Place, SHORT, at};

const NOW: LockWait = LockWait::UpTo(Duration::ZERO);

#[test]
fn work_under_a_lock_that_was_lost_is_dropped_where_it_waits() {
    at(Place::postgres(), async |place| {
        let Place::Postgres(database) = &place else {
            unreachable!()
        };
        let cluster = place.cluster().await;
        let held = cluster.acquire("warm", LONG, NOW).await.unwrap();
        held.release(ReleaseKind::Keep).await;
        let begun = Notify::new();
        let work = cluster.lock("stolen", SHORT, NOW, async |_| {
            begun.notify_one();
            std::future::pending::<()>().await;
        });
        let theft = async {
            begun.notified().await;
            database.psql("update tsumugi_leases set holder = 'another', token = token + 1");
        };
        let both = async { tokio::join!(work, theft) };
        let (outcome, ()) = timeout(Duration::from_secs(60), both).await.unwrap();
        assert!(matches!(outcome, Err(Error::Lost { .. })), "{outcome:?}");
    });
}

#[test]
fn lock_whose_answer_was_lost_is_free_again_when_its_holder_gives_up() {
    at(Place::postgres(), async |place| {
        let Place::Postgres(database) = &place else {
            unreachable!()
        };
        let server = database.server().port();
        let proxy = CutProxy::start(server);
        let url = database
            .url()
            .replace(&format!(":{server}/"), &format!(":{}/", proxy.port()));
        // Bytes of another connection, which the pool may open while the table is made, would count for the cut.
        let url = format!("{url}{}pool=1", if url.contains('?') { '&' } else { '?' });
        let through = Database::connect(&url, Options::default()).await.unwrap();
        let one = Cluster::over(&through).unwrap();
        let other = place.cluster().await;
        // The table is made, and the statement is prepared.
        let held = one.acquire("doubt", LONG, NOW).await.unwrap();
        held.release(ReleaseKind::Keep).await;
        proxy.cut_once(Cut::ToClient(1), ServerSide::Closes);
        let lost = one.acquire("doubt", LONG, NOW).await;
        assert!(matches!(lost, Err(Error::Database(_))), "{lost:?}");
        let wait = LockWait::UpTo(Duration::from_secs(60));
        let held = other.acquire("doubt", LONG, wait).await.unwrap();
        assert_eq!(held.token(), 3, "the server had given the second");
        held.release(ReleaseKind::Keep).await;
    });
}

#[test]
fn fence_refuses_a_token_that_is_not_the_last_and_keeps_others_out_until_the_commit() {
    for place in [
        Place::Sqlite(tempfile::tempdir().unwrap()),
        Place::postgres(),
    ] {
        at(place, async |place| {
            let (one, other) = (place.cluster().await, place.cluster().await);
            let database = place.database().await;
            let first = one.acquire("fence", SHORT, NOW).await.unwrap();
            let begin = async || {
                let transaction = database.begin(TransactionOptions::default()).await;
                Rc::new(transaction.unwrap())
            };
            let outside = Executor::Database(database.clone());
            let refused = fence(&outside, "fence", first.token()).await;
            assert!(matches!(refused, Err(Error::Usage(_))), "{refused:?}");

            let transaction = begin().await;
            let executor = Executor::Transaction(Rc::clone(&transaction));
            fence(&executor, "fence", first.token()).await.unwrap();
            // It is over, but not for who commits now.
            sleep(SHORT * 2).await;
            let early = other.acquire("fence", LONG, NOW);
            assert!(
                !matches!(timeout(SHORT, early).await, Ok(Ok(_))),
                "another one has it before the commit"
            );
            transaction.commit().await.unwrap();
            let wait = LockWait::UpTo(Duration::from_secs(60));
            let second = other.acquire("fence", LONG, wait).await.unwrap();

            let transaction = begin().await;
            let executor = Executor::Transaction(Rc::clone(&transaction));
            let refused = fence(&executor, "fence", first.token()).await;
            assert!(matches!(refused, Err(Error::Lost { .. })), "{refused:?}");
            fence(&executor, "fence", second.token()).await.unwrap();
            transaction.commit().await.unwrap();
            second.release(ReleaseKind::Keep).await;
        });
    }
}

#[test]
fn record_names_the_holder_by_the_servers_clock() {
    at(Place::postgres(), async |place| {
        let cluster = place.cluster().await;
        let held = cluster.acquire("record", LONG, NOW).await.unwrap();
        let database = place.database().await;
        let rows = database
            .query(
                "select holder like ?, taken_at <= clock_timestamp(), \
                 expires_at - taken_at between interval '599 s' and interval '601 s' from tsumugi_leases where name = ?",
                values![format!("%/{}/%", std::process::id()), "record"],
            )
            .await
            .unwrap();
        let row = rows.first().unwrap();
        for column in 0..3 {
            let value = row.value(column);
            assert_eq!(
                value,
                Some(tsumugi_db::ValueRef::Boolean(true)),
                "column {column}"
            );
        }
        held.release(ReleaseKind::Keep).await;
    });
}

#[test]
fn processes_that_begin_together_make_the_table_once() {
    for place in [
        Place::Sqlite(tempfile::tempdir().unwrap()),
        Place::postgres(),
    ] {
        at(place, async |place| {
            let all = [
                place.cluster().await,
                place.cluster().await,
                place.cluster().await,
            ];
            let [a, b, c] = all.each_ref().map(|cluster| async move {
                let wait = LockWait::UpTo(Duration::from_secs(60));
                let held = cluster.acquire("start", LONG, wait).await.unwrap();
                held.release(ReleaseKind::Keep).await;
                held.token()
            });
            let (a, b, c) = tokio::join!(a, b, c);
            let mut tokens = [a, b, c];
            tokens.sort_unstable();
            assert_eq!(tokens, [1, 2, 3]);
        });
    }
}

#[test]
fn names_and_times_beyond_their_limits_are_refused_by_name() {
    at(Place::Process, async |place| {
        let cluster = place.cluster().await;
        let acquire = async |name: &str, ttl| {
            let outcome = cluster.acquire(name, ttl, NOW).await;
            outcome.map(drop).map_err(|error| error.to_string())
        };
        let longest = "n".repeat(CLUSTER_NAME_BYTES_MAX);
        acquire(&longest, LEASE_TTL_MIN).await.unwrap();
        let error = acquire(&format!("{longest}n"), LONG).await.unwrap_err();
        assert!(error.contains("CLUSTER_NAME_BYTES_MAX"), "{error}");
        acquire("ttl", LEASE_TTL_MAX).await.unwrap();
        for ttl in [
            LEASE_TTL_MIN - Duration::from_millis(1),
            LEASE_TTL_MAX + Duration::from_millis(1),
        ] {
            let error = acquire("ttl", ttl).await.unwrap_err();
            assert!(error.contains("0.2 to 86400"), "{error}");
        }
        assert!(acquire("", LONG).await.is_err());
        assert!(acquire("a\nb", LONG).await.is_err());
    });
}

#[test]
fn fence_in_a_database_that_keeps_no_locks_says_which_one_it_is_for() {
    for place in [
        Place::Sqlite(tempfile::tempdir().unwrap()),
        Place::postgres(),
    ] {
        at(place, async |place| {
            let database = place.database().await;
            let transaction = database.begin(TransactionOptions::default()).await;
            let executor = Executor::Transaction(Rc::new(transaction.unwrap()));
            let refused = fence(&executor, "elsewhere", 1).await;
            assert!(matches!(refused, Err(Error::Usage(_))), "{refused:?}");
        });
    }
}

/// What has been logged of databases whose options ask for it. The threads of SQLite's engine write it, so it is the process's.
static LOG: LazyLock<LogBuffer> = LazyLock::new(|| LogBuffer::of_process(tracing::Level::TRACE));

#[test]
fn statements_of_a_lock_are_logged_at_trace() {
    for place in [
        Place::Sqlite(tempfile::tempdir().unwrap()),
        Place::postgres(),
    ] {
        LOG.take();
        at(place, async |place| {
            let mut options = Options::default();
            options.log = StatementLog::Statements;
            let database = Database::connect(&place.url(), options).await.unwrap();
            let cluster = Cluster::over(&database).unwrap();
            cluster
                .lock("quiet", LONG, NOW, async |_| ())
                .await
                .unwrap();
        });
        let lines = LOG.take();
        assert!(lines.contains("TRACE tsumugi_db: sql="), "{lines}");
        assert!(!lines.contains("DEBUG tsumugi_db: sql="), "{lines}");
    }
}
