//! Reads on replicas: where they go, what they see while replicas are behind, paused, dead or promoted, and what is refused. Rule: a user sees what that user
//! has written and seen before, wherever the read ran, and no read fails because a replica does.

mod cost;
mod standstill;

use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tsumugi_db::{
    BatchSize, Database, Error, Executor, Options, PipelineAtomicity, PoolRole, ReadTarget,
    Recency, RecencyTexts, ReplicaUrls, Rows, SqlText, TransactionMode, TransactionOptions, limits,
    values,
};
use tsumugi_testkit::Dice;
use tsumugi_testkit::postgres::{Server, User};

use crate::chaos::becomes;
use crate::doubt::run;

const TABLE: &str = "create table t (id int primary key, n int not null); insert into t select i, 0 from generate_series(1, 10) i";

/// How long something may take that happens within seconds on a quiet machine.
const SOON: Duration = Duration::from_secs(60);

struct Cluster {
    primary: Server,
    replicas: [Server; 2],
}

impl Cluster {
    fn start() -> Cluster {
        // What is only inserted into the log may lie there for long before it is sent.
        let primary = tsumugi_testkit::postgres::Options::default()
            .setting("synchronous_commit", "on")
            .start();
        primary.psql(TABLE);
        let replicas = [primary.standby(), primary.standby()];
        for replica in &replicas {
            replica.catch_up(&primary);
        }
        Cluster { primary, replicas }
    }

    fn options(&self) -> Options {
        let mut options = Options::default();
        options.replicas = ReplicaUrls::new(
            self.replicas
                .each_ref()
                .map(|replica| replica.url(User::ADMIN)),
        );
        options
    }

    async fn connect(&self, options: Options) -> Users {
        let url = self.primary.url(User::ADMIN);
        Users(Database::connect(&url, options).await.unwrap())
    }

    fn port(&self) -> i64 {
        self.primary.port().into()
    }

    fn is_replica(&self, port: i64) -> bool {
        self.replicas
            .iter()
            .any(|replica| i64::from(replica.port()) == port)
    }
}

/// A database whose callers are users.
struct Users(Database);

impl Users {
    fn reads(&self) -> Executor {
        Executor::Read(self.0.clone())
    }

    /// Where a read goes, and the number of the row.
    async fn read(&self, user: &Rc<Recency>) -> (i64, i64) {
        let read = async {
            let sql = "select coalesce(inet_server_port(), 0), n from t where id = ?";
            self.reads().query(sql, values![1]).await.unwrap()
        };
        numbers(&user.scope(read).await)
    }

    async fn write(&self, user: &Rc<Recency>, n: i64) {
        let written = self
            .0
            .execute("update t set n = ? where id = 1", values![n]);
        assert_eq!(user.scope(written).await.unwrap().affected, 1);
    }

    /// Waits until a read of this user goes where it shall.
    async fn until(&self, user: &Rc<Recency>, is_there: impl Fn(i64) -> bool) {
        let until = Instant::now() + SOON;
        while !is_there(self.read(user).await.0) {
            assert!(Instant::now() < until, "no read goes there");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The first two columns of the first row.
fn numbers(rows: &Rows) -> (i64, i64) {
    let row = rows.first().unwrap();
    let number = |at| row.value(at).unwrap().as_integer().unwrap();
    (number(0), number(1))
}

fn user() -> Rc<Recency> {
    Rc::default()
}

async fn pause(replica: &Server) {
    replica.psql("select pg_wal_replay_pause()");
    becomes(replica, "select pg_get_wal_replay_pause_state()", "paused").await;
}

fn resume(replica: &Server) {
    replica.psql("select pg_wal_replay_resume()");
}

#[test]
fn read_goes_to_a_replica_that_has_what_was_written_and_else_to_the_primary() {
    let cluster = Cluster::start();
    run(async {
        let db = cluster.connect(cluster.options()).await;
        let (ann, bob) = (user(), user());
        assert!(cluster.is_replica(db.read(&bob).await.0));
        for n in 1..=100 {
            db.write(&ann, n).await;
            assert_eq!(db.read(&ann).await.1, n);
        }
        for replica in &cluster.replicas {
            pause(replica).await;
        }
        db.write(&ann, 200).await;
        assert_eq!(db.read(&ann).await, (cluster.port(), 200));
        // Who has not written it may see it later.
        let (port, n) = db.read(&bob).await;
        assert!(cluster.is_replica(port) && n == 100, "{port} {n}");
        // The next request of the same user, in any process.
        let next = Rc::new(Recency::of_texts(&ann.texts()));
        assert_eq!(db.read(&next).await, (cluster.port(), 200));
        for replica in &cluster.replicas {
            resume(replica);
        }
        db.until(&next, |port| cluster.is_replica(port)).await;
        assert_eq!(db.read(&next).await.1, 200);

        let watch = db.0.watch();
        assert_eq!(watch.role(), Some(PoolRole::Primary));
        assert_eq!(watch.replicas().len(), 2);
        let of = |replica: &tsumugi_db::DatabaseWatch| replica.snapshot().unwrap().statements;
        assert!(watch.replicas().iter().map(of).sum::<u64>() > 0);
        db.0.close();
    });
}

#[test]
fn all_ways_to_write_are_followed() {
    let cluster = Cluster::start();
    cluster.primary.psql(
        "create function add() returns int language sql as 'update t set n = n + 1 where id = 1 returning n'; \
         create procedure add_all() language sql as 'update t set n = n + 1'",
    );
    for replica in &cluster.replicas {
        replica.catch_up(&cluster.primary);
    }
    run(async {
        let db = cluster.connect(cluster.options()).await;
        for replica in &cluster.replicas {
            pause(replica).await;
        }
        let one = async |write: &dyn AsyncWrite, n: i64| {
            let ann = user();
            ann.scope(write.write(&db.0)).await;
            assert_eq!(db.read(&ann).await, (cluster.port(), n), "{n}");
        };
        one(&Statement("update t set n = n + 1"), 1).await;
        one(&Statement("select add()"), 2).await;
        one(&Statement("call add_all()"), 3).await;
        one(&Script, 4).await;
        one(&Pipeline, 5).await;
        one(&InTransaction, 6).await;
        one(&InSession, 7).await;
        one(&Copy, 7).await;
        one(&Stream, 8).await;
        // What nobody has waited for may be done yet.
        let (ann, sleep) = (user(), db.0.query("select pg_sleep(30)", []));
        let given_up = timeout(Duration::from_millis(100), ann.scope(sleep)).await;
        assert!(given_up.is_err());
        let next = Rc::new(Recency::of_texts(&ann.texts()));
        for user in [ann, next] {
            assert_eq!(db.read(&user).await.0, cluster.port());
        }
        // What only reads on the primary leaves the user where he was.
        let ann = user();
        let read = db.0.query("select n from t where id = 1", []);
        ann.scope(read).await.unwrap();
        assert!(cluster.is_replica(db.read(&ann).await.0));
        assert_eq!(ann.texts(), RecencyTexts::default());
        db.0.close();
    });
}

/// Writes in some way.
trait AsyncWrite {
    fn write<'d>(&'d self, db: &'d Database) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'd>>;
}

macro_rules! writes {
    ($($name:ident($db:ident) $run:block)*) => {
        $(
            struct $name;

            impl AsyncWrite for $name {
                fn write<'d>(&'d self, $db: &'d Database) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'd>> {
                    Box::pin(async move { $run })
                }
            }
        )*
    };
}

struct Statement(&'static str);

impl AsyncWrite for Statement {
    fn write<'d>(&'d self, db: &'d Database) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'd>> {
        Box::pin(async move { drop(db.query(self.0, []).await.unwrap()) })
    }
}

writes! {
    Script(db) {
        db.execute_script("update t set n = n + 1; select 1").await.unwrap();
    }
    Pipeline(db) {
        let statements = vec![(SqlText::from("update t set n = n + 1"), Vec::new())];
        let outcomes = db.pipeline(statements, PipelineAtomicity::Each).await.unwrap();
        assert!(outcomes.iter().all(Result::is_ok));
    }
    InTransaction(db) {
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("update t set n = n + 1", []).await.unwrap();
        tx.commit().await.unwrap();
    }
    InSession(db) {
        let session = db.session().await.unwrap();
        session.execute("update t set n = n + 1", []).await.unwrap();
    }
    Stream(db) {
        let sql = "update t set n = n + 1 returning id";
        let mut rows = db.stream_by(sql, [], BatchSize::default()).await.unwrap();
        while rows.next().await.unwrap().is_some() {}
    }
    Copy(db) {
        let mut copy = db.copy_in("copy t from stdin").await.unwrap();
        copy.send(b"11\t0\n").await.unwrap();
        assert_eq!(copy.finish().await.unwrap(), 1);
    }
}

#[test]
fn replica_beyond_its_lag_is_left_and_comes_back() {
    let cluster = Cluster::start();
    run(async {
        let mut options = cluster.options();
        options.replica_lag = Duration::from_secs(1);
        let db = cluster.connect(options).await;
        let (ann, bob) = (user(), user());
        let [slow, quick] = &cluster.replicas;
        pause(slow).await;
        let slow_port = i64::from(slow.port());
        let until = Instant::now() + SOON;
        // Until it is left: when is a matter of how often it is looked at.
        let (mut n, mut elsewhere) = (0, 0);
        while elsewhere < 40 {
            assert!(Instant::now() < until, "reads go to what is behind");
            n += 1;
            db.write(&ann, n).await;
            sleep(Duration::from_millis(50)).await;
            let (port, seen) = db.read(&bob).await;
            elsewhere = match port == slow_port {
                true => 0,
                false => elsewhere + 1,
            };
            assert!(elsewhere < 20 || seen > 0, "{port} {seen}");
        }
        resume(slow);
        db.until(&bob, |port| port == slow_port).await;
        // Held back by its configuration.
        slow.psql("alter system set recovery_min_apply_delay = '3s'");
        slow.psql("select pg_reload_conf()");
        becomes(slow, "show recovery_min_apply_delay", "3s").await;
        for n in 1000..1040 {
            db.write(&ann, n).await;
            assert_eq!(db.read(&ann).await.1, n);
            sleep(Duration::from_millis(50)).await;
        }
        db.until(&ann, |port| port == i64::from(quick.port())).await;
        db.0.close();
    });
}

#[test]
fn replica_whose_url_names_another_database_is_not_read_from() {
    let primary = Server::start();
    primary.psql(TABLE);
    // The second is one of those that runs of tests make.
    let others = ["other", "tsumugi_test_1_0000002a_7"];
    for other in others {
        primary.psql(&format!("create database {other}"));
    }
    let replica = primary.standby();
    replica.catch_up(&primary);
    let with = |url: &str, name: &str| format!("{}/{name}", url.rsplit_once('/').unwrap().0);
    let url = primary.url(User::ADMIN);
    run(async {
        let mut options = Options::default();
        options.replicas = ReplicaUrls::new([with(&replica.url(User::ADMIN), "other")]);
        let db = Users(Database::connect(&url, options).await.unwrap());
        for _ in 0..20 {
            assert_eq!(db.read(&user()).await, (i64::from(primary.port()), 0));
        }
        db.0.close();
        // What an application names in a test is not the test's.
        let mut options = Options::default();
        options.replicas = ReplicaUrls::new([replica.url(User::ADMIN)]);
        let url = with(&url, others[1]);
        let db = Database::connect(&url, options).await.unwrap();
        let sql = "select inet_server_port(), count(*) from pg_class where relname = 't'";
        for _ in 0..20 {
            let read = Executor::Read(db.clone()).query(sql, []).await.unwrap();
            assert_eq!(numbers(&read), (i64::from(primary.port()), 0));
        }
        assert!(db.watch().replicas().is_empty());
        db.close();
    });
}

#[test]
fn replica_that_dies_fails_no_read_and_comes_back() {
    let cluster = Cluster::start();
    run(async {
        let db = cluster.connect(cluster.options()).await;
        let bob = user();
        let [dying, living] = &cluster.replicas;
        let dying_port = i64::from(dying.port());
        db.until(&bob, |port| port == dying_port).await;
        dying.kill_9();
        for _ in 0..100 {
            assert_ne!(db.read(&bob).await.0, dying_port);
        }
        db.until(&bob, |port| port == i64::from(living.port()))
            .await;
        dying.start_again();
        db.until(&bob, |port| port == dying_port).await;
        // None is left.
        dying.kill_9();
        living.kill_9();
        for _ in 0..20 {
            assert_eq!(db.read(&bob).await.0, cluster.port());
        }
        db.0.close();
    });
}

#[test]
fn read_that_writes_is_refused_by_a_replica_that_has_just_been_promoted() {
    let cluster = Cluster::start();
    let add = "create function add() returns int language sql as 'update t set n = n + 1 where id = 1 returning n'";
    cluster.primary.psql(add);
    for replica in &cluster.replicas {
        replica.catch_up(&cluster.primary);
    }
    run(async {
        let db = cluster.connect(cluster.options()).await;
        let ann = user();
        for _ in 0..4 {
            assert!(cluster.is_replica(db.read(&ann).await.0));
        }
        for replica in &cluster.replicas {
            replica.psql("select pg_promote()");
        }
        // Whether that has been noticed or not.
        for _ in 0..4 {
            let error = db.reads().query("select add()", []).await.unwrap_err();
            assert!(matches!(error, Error::Usage { .. }), "{error}");
        }
        for server in cluster.replicas.iter().chain([&cluster.primary]) {
            assert_eq!(server.psql("select n from t where id = 1"), "0");
        }
        db.0.close();
    });
}

#[test]
fn promoted_replica_is_not_read_from_and_the_new_primary_has_its_own() {
    let cluster = Cluster::start();
    run(async {
        let [promoted, follower] = &cluster.replicas;
        let ports = [cluster.primary.port(), promoted.port(), follower.port()];
        let hosts = ports.map(|port| format!("127.0.0.1:{port}")).join(",");
        let url =
            format!("postgres://postgres@{hosts}/postgres?reads=replica&acquire_timeout_ms=60000");
        let db = Users(Database::connect(&url, Options::default()).await.unwrap());
        let (ann, bob) = (user(), user());
        db.write(&ann, 1).await;
        db.until(&ann, |port| port == i64::from(promoted.port()))
            .await;
        for replica in &cluster.replicas {
            replica.catch_up(&cluster.primary);
        }
        cluster.primary.kill_9();
        // Reads go on without a primary.
        assert!(cluster.is_replica(db.read(&bob).await.0));
        promoted.psql("select pg_promote()");
        db.write(&ann, 2).await;
        for _ in 0..20 {
            let (port, n) = db.read(&ann).await;
            assert_eq!((port, n), (i64::from(promoted.port()), 2));
        }
        let followed = format!(
            "alter system set primary_conninfo = 'host={} port={} user=postgres'",
            promoted.socket_directory().display(),
            promoted.port()
        );
        follower.psql(&followed);
        follower.psql("select pg_reload_conf()");
        db.until(&ann, |port| port == i64::from(follower.port()))
            .await;
        assert_eq!(db.read(&ann).await.1, 2);
        db.0.close();
    });
}

#[test]
fn writing_statement_is_refused_on_replicas_and_on_the_primary() {
    let cluster = Cluster::start();
    cluster
        .primary
        .psql("create function add() returns int language sql as 'update t set n = n + 1 where id = 1 returning n'");
    for replica in &cluster.replicas {
        replica.catch_up(&cluster.primary);
    }
    run(async {
        let with = cluster.connect(cluster.options()).await;
        let without = cluster.connect(Options::default()).await;
        for db in [&with, &without] {
            let reads = db.reads();
            for sql in [
                "update t set n = 1",
                "with a as (delete from t returning 1) select * from a",
                "select add()",
                "select * from t for update",
                "select 1 into u",
            ] {
                let error = reads.query(sql, []).await.unwrap_err();
                assert!(matches!(error, Error::Usage { .. }), "{sql}: {error}");
                assert!(error.to_string().contains("db.read only reads"), "{error}");
            }
            let refused = [
                reads.execute("update t set n = 1", []).await.map(drop),
                reads.execute_script("select 1").await,
                reads.copy_in("copy t from stdin").await.map(drop),
                reads
                    .begin(TransactionOptions::write(TransactionMode::Immediate))
                    .await
                    .map(drop),
            ];
            for error in refused.map(Result::unwrap_err) {
                assert!(matches!(error, Error::Usage { .. }), "{error}");
            }
            assert_eq!(db.read(&user()).await.1, 0);
            db.0.close();
        }
    });
}

#[test]
fn transactions_and_streams_read_on_one_server_what_the_user_has_written() {
    let cluster = Cluster::start();
    run(async {
        let db = cluster.connect(cluster.options()).await;
        let ann = user();
        let transaction = async || {
            let tx = db
                .reads()
                .begin(TransactionOptions::read_only())
                .await
                .unwrap();
            let sql = "select coalesce(inet_server_port(), 0), n from t where id = 1";
            let first = tx.query(sql, []).await.unwrap();
            cluster.primary.psql("update t set n = n + 1 where id = 1");
            for replica in &cluster.replicas {
                replica.psql("select pg_wal_replay_resume()");
                replica.catch_up(&cluster.primary);
            }
            let second = tx.query(sql, []).await.unwrap();
            assert_eq!(numbers(&first), numbers(&second));
            tx.commit().await.unwrap();
            numbers(&first)
        };
        let (port, n) = ann.scope(transaction()).await;
        assert!(cluster.is_replica(port) && n == 0, "{port} {n}");
        for replica in &cluster.replicas {
            pause(replica).await;
        }
        db.write(&ann, 70).await;
        let stream = async || {
            let sql = "select coalesce(inet_server_port(), 0), n from t where id = 1";
            let mut stream = db
                .reads()
                .stream_by(sql, [], BatchSize::default())
                .await
                .unwrap();
            numbers(&stream.next().await.unwrap().unwrap())
        };
        assert_eq!(ann.scope(stream()).await, (cluster.port(), 70));
        let (port, n) = user().scope(stream()).await;
        assert!(cluster.is_replica(port) && n == 1, "{port} {n}");
        assert_eq!(ann.scope(transaction()).await, (cluster.port(), 70));
        db.0.close();
    });
}

#[test]
fn read_that_conflicts_with_what_is_replayed_runs_on_the_primary() {
    let cluster = Cluster::start();
    for replica in &cluster.replicas {
        replica.psql("alter system set max_standby_streaming_delay = 0");
        replica.psql("select pg_reload_conf()");
    }
    run(async {
        for replica in &cluster.replicas {
            becomes(replica, "show max_standby_streaming_delay", "0").await;
        }
        let db = cluster.connect(cluster.options()).await;
        // It ends on a replica only by what is replayed there.
        let sql = "select coalesce(inet_server_port(), 0), \
                   case when pg_is_in_recovery() then pg_sleep(600)::text end from t where id = 1";
        let reads = db.reads();
        let read = reads.query(sql, []);
        let change = async {
            let sleeps = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
            while cluster.replicas.iter().all(|one| one.psql(sleeps) == "0") {
                sleep(Duration::from_millis(20)).await;
            }
            cluster.primary.psql("alter table t add column m int");
        };
        let (rows, ()) = tokio::join!(read, change);
        let rows = rows.unwrap();
        let port = rows.first().unwrap().value(0).unwrap().as_integer();
        assert_eq!(port, Some(cluster.port()));
        db.0.close();
    });
}

#[test]
fn replica_beyond_the_limit_and_those_of_other_databases_are_refused() {
    run(async {
        let with = |count: usize| {
            let mut options = Options::default();
            options.replicas = ReplicaUrls::new((0..count).map(|_| "postgres://127.0.0.1:1/x"));
            options.acquire_timeout = Duration::from_millis(1);
            options
        };
        let connect = async |url: &str, options| Database::connect(url, options).await.unwrap_err();
        let url = "postgres://127.0.0.1:1/x";
        let error = connect(url, with(limits::REPLICAS_MAX + 1))
            .await
            .to_string();
        assert!(
            error.contains("at most 16 replicas (replicas_max), not 17"),
            "{error}"
        );
        let error = connect(url, with(limits::REPLICAS_MAX)).await;
        assert!(
            matches!(error, Error::Unreachable { .. } | Error::PoolTimeout { .. }),
            "{error}"
        );
        let error = connect(&format!("{url}?target_session_attrs=standby"), with(1)).await;
        assert!(matches!(error, Error::Usage { .. }), "{error}");
        let error = connect(&format!("{url}?pooler=transaction"), with(1)).await;
        assert!(matches!(error, Error::Usage { .. }), "{error}");
        let error = connect("sqlite::memory:?name=replicas", with(1)).await;
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(!format!("{:?}", with(1)).contains("127.0.0.1"));

        // The same words on a database that has none.
        let mut options = Options::default();
        options.reads = ReadTarget::Replica;
        let db = Database::connect("sqlite::memory:?name=reads", options)
            .await
            .unwrap();
        db.execute_script("create table t (n); insert into t values (1)")
            .await
            .unwrap();
        let reads = Executor::Read(db);
        assert_eq!(reads.query("select n from t", []).await.unwrap().len(), 1);
        let tx = reads.begin(TransactionOptions::read_only()).await.unwrap();
        assert_eq!(tx.query("select n from t", []).await.unwrap().len(), 1);
        for sql in ["delete from t", "pragma user_version = 1"] {
            let error = reads.query(sql, []).await.unwrap_err();
            assert!(matches!(error, Error::Usage { .. }), "{sql}: {error}");
        }
    });
}

#[test]
fn users_see_their_own_writes_and_never_older_ones_than_before() {
    let cluster = Cluster::start();
    run(async {
        let db = cluster.connect(cluster.options()).await;
        let dice = Dice::new(22);
        // What each user has written, and what was seen of each row last.
        let mut users: Vec<(Rc<Recency>, RecencyTexts, [i64; 10])> = Vec::new();
        users.resize_with(5, || (user(), RecencyTexts::default(), [0; 10]));
        let (mut last, mut on_replicas) = ([0; 10], 0);
        let until = Instant::now() + Duration::from_secs(10);
        let mut paused = [false; 2];
        // On a crowded machine it takes longer to come to so many.
        while Instant::now() < until || (on_replicas <= 100 && Instant::now() < until + SOON) {
            let (recency, cookies, seen) = &mut users[dice.place(5)];
            let row = dice.place(10);
            let id = i64::try_from(row).unwrap() + 1;
            if dice.one_in(20) {
                let which = dice.place(2);
                let replica = &cluster.replicas[which];
                paused[which] = !paused[which];
                match paused[which] {
                    true => drop(replica.psql("select pg_wal_replay_pause()")),
                    false => resume(replica),
                }
            }
            if dice.one_in(4) {
                last[row] += 1;
                let sql = "update t set n = ? where id = ?";
                let write = db.0.execute(sql, values![last[row], id]);
                recency.scope(write).await.unwrap();
                seen[row] = last[row];
            } else {
                let sql = "select n, coalesce(inet_server_port(), 0) from t where id = ?";
                let reads = db.reads();
                let rows = recency.scope(reads.query(sql, values![id])).await.unwrap();
                let (n, port) = numbers(&rows);
                assert!(n >= seen[row], "row {id}: {n} after {}", seen[row]);
                seen[row] = n;
                on_replicas += u32::from(cluster.is_replica(port));
            }
            // Another request of the same user.
            if dice.one_in(3) && (cookies.written.is_some() || recency.texts().written.is_some()) {
                let RecencyTexts { written, seen } = recency.texts();
                cookies.written = written.or(cookies.written.take());
                cookies.seen = seen.or(cookies.seen.take());
                *recency = Rc::new(Recency::of_texts(cookies));
            }
        }
        assert!(on_replicas > 100, "{on_replicas} reads on replicas");
        db.0.close();
    });
}
