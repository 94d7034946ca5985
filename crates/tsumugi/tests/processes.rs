//! One of many processes in Rust: timers of the cluster, locks, fences, channels and values that one of all computes. What the engines do is tested in
//! `crates/cluster` and `crates/stores`; the Ruby face's tests of the same are in `crates/cli/tests/acceptance/cluster.rs`.

use std::cell::{Cell, RefCell};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tsumugi::cluster::{Error as LockError, ReleaseKind};
use tsumugi::prelude::*;
use tsumugi::{Settings, trial};
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::postgres::Server;
use tsumugi_testkit::redis::RedisServer;
use tsumugi_testkit::{RunningTick, freeze, thaw};

const SECOND: Duration = Duration::from_secs(1);
const NOW: LockWait = LockWait::UpTo(Duration::ZERO);
/// The database of a process that a test has started.
const DATABASE: &str = "TSUMUGI_TEST_PROCESSES_DATABASE";

thread_local! {
    /// Where the application's plugin finds its cluster: it is made on the thread of the test.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
    static RUNNING: Rc<Cell<usize>> = Rc::default();
    static TICKS: Cell<usize> = const { Cell::new(0) };
}

async fn connect(url: &str) -> Db {
    Db::connect(url, Options::default()).await.unwrap()
}

/// The cluster at a place, as another process has it.
async fn cluster_at(worker: &Worker, place: &str) -> Result<Cluster> {
    if place.starts_with("postgres") {
        let db = Db::connect(place, Options::default()).await?;
        return Ok(Cluster::over(&db)?);
    }
    Ok(Kv::open(worker, place).await?.cluster()?)
}

struct App {
    worker: Worker,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let place = PLACE.with_borrow(String::clone);
        worker.use_cluster(cluster_at(worker, &place).await?);
        Ok(App {
            worker: worker.clone(),
        })
    }
}

async fn tick(length: Duration) {
    let running = RUNNING.with(Rc::clone);
    let _running = RunningTick::begin(&running).await;
    sleep(length).await;
}

fn ticking() -> Router<App> {
    Router::new().every(
        SECOND * 4,
        On::OneInCluster { name: "rust beat" },
        async |_: &App| {
            tick(SECOND).await;
            TICKS.set(TICKS.get() + 1);
        },
    )
}

#[test]
fn timer_of_the_cluster_takes_turns_with_that_of_another_process() {
    let database = Server::shared().database();
    for place in [
        database.url(),
        EtcdCluster::shared().place("rust-processes"),
    ] {
        PLACE.set(place.clone());
        TICKS.set(0);
        trial::run(ticking, async |client| {
            let worker = &client.state().worker;
            let other = cluster_at(worker, &place).await.unwrap();
            let until = Instant::now() + SECOND * 60;
            while TICKS.get() == 0 && Instant::now() < until {
                sleep(SECOND / 4).await;
            }
            assert!(TICKS.get() > 0, "{place}: the application never ticks");
            // Both wait now. Which of them gets a turn that is due to both is chance: only that never two have it is certain.
            for _ in 0..2 {
                let _ = timeout(SECOND * 5, turn_of(&other)).await;
            }
        });
        let outcome = tsumugi::alone(Settings::default(), async |worker| {
            let other = cluster_at(worker, &place).await.unwrap();
            let turn = timeout(SECOND * 60, turn_of(&other)).await;
            assert!(turn.is_ok(), "{place}: the other process never ticks");
        });
        outcome.unwrap();
    }
}

/// One tick of the application's timer in another process.
async fn turn_of(cluster: &Cluster) {
    let timer = cluster.timer("rust beat", SECOND * 4).unwrap();
    loop {
        let lease = timer.turn().await;
        // Lost where the machine stood still for as long as it lasts.
        if lease.hold(tick(SECOND)).await.is_ok() {
            return lease.release(ReleaseKind::Ticked).await;
        }
    }
}

#[test]
fn application_with_a_timer_of_a_cluster_that_keeps_no_leases_does_not_start() {
    PLACE.set(RedisServer::shared().url());
    let panic = std::panic::catch_unwind(|| trial::run(ticking, async |_| ()));
    let panic = panic.unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("Redis has no locks and timers"), "{text}");
}

#[test]
fn channel_over_a_store_reaches_another_process() {
    for place in [
        EtcdCluster::shared().place("rust-channels"),
        format!("{}?prefix=rust-channels:", RedisServer::shared().url()),
    ] {
        let outcome = tsumugi::alone(Settings::default(), async |worker| {
            let one = cluster_at(worker, &place).await.unwrap();
            let other = cluster_at(worker, &place).await.unwrap();
            let mut messages = one.channel("chat").unwrap().subscribe().await.unwrap();
            other
                .channel("chat")
                .unwrap()
                .publish("hello")
                .await
                .unwrap();
            assert_eq!(messages.recv().await, ChannelEvent::Message("hello".into()));
            let kept = one.channel("chat").unwrap().keeping(10);
            assert!(
                matches!(kept, Err(LockError::Unsupported { .. })),
                "{kept:?}"
            );
        });
        outcome.unwrap();
    }
}

#[test]
fn value_is_computed_by_one_of_two_processes_and_found_by_the_other() {
    let place = EtcdCluster::shared().place("rust-fetch");
    let outcome = tsumugi::alone(Settings::default(), async |worker| {
        let kv = Kv::open(worker, &place).await.unwrap();
        let (one, other) = (kv.cluster().unwrap(), kv.cluster().unwrap());
        let computed = Cell::new(0);
        let value = async || {
            computed.set(computed.get() + 1);
            sleep(SECOND / 2).await;
            Ok::<_, Error>(computed.get())
        };
        // Another process has computed it when this one gets the lock, which is not the flight of its own process.
        let name = tsumugi::cluster::computation_name(&kv.place(), b"k");
        let before = one.acquire(&name, SECOND * 30, NOW).await.unwrap();
        let here = kv.fetch_in_cluster(&other, "k", SECOND * 60, value);
        let there = async {
            sleep(SECOND).await;
            kv.set("k", "7", None).await.unwrap();
            before.release(ReleaseKind::Forget).await;
        };
        let (here, ()) = tokio::join!(here, there);
        assert_eq!((here.unwrap(), computed.get()), (7, 0));
        // And of the same process and of no other one.
        let fetch = |cluster| kv.fetch_in_cluster(cluster, "new", SECOND * 60, value);
        let (here, there) = tokio::join!(fetch(&one), fetch(&other));
        assert_eq!((here.unwrap(), there.unwrap(), computed.get()), (1, 1, 1));
        let again = kv.fetch("new", SECOND, async || Err::<i32, _>(Error::conflict("no")));
        assert_eq!(again.await.unwrap(), 1);
    });
    outcome.unwrap();
}

#[test]
fn fence_of_a_transaction_refuses_the_token_of_a_holder_before() {
    let database = Server::shared().database();
    let outcome = tsumugi::alone(Settings::default(), async |_| {
        let db = connect(&database.url()).await;
        let cluster = Cluster::over(&db).unwrap();
        let first = cluster.lock("rust fence", SECOND * 30, NOW, async |token| token);
        let first = first.await.unwrap();
        let lease = cluster
            .acquire("rust fence", SECOND * 30, NOW)
            .await
            .unwrap();
        let fenced = async |token| {
            db.tx(async |tx| {
                tx.fence("rust fence", token).await?;
                tx.execute("select 1", []).await?;
                Ok::<_, Error>(())
            })
            .await
        };
        fenced(lease.token()).await.unwrap();
        let refused = fenced(first).await.unwrap_err();
        assert!(
            matches!(refused, Error::Cluster(LockError::Lost { .. })),
            "{refused:?}"
        );
        lease.release(ReleaseKind::Keep).await;
    });
    outcome.unwrap();
}

/// This test program once more, as a process that holds a lock.
struct Holder {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Holder {
    fn start(database: &str) -> Holder {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            .args([
                "process_that_holds_a_lock_says_when_it_has_lost_it",
                "--exact",
                "--nocapture",
            ])
            .env(DATABASE, database)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Holder {
            child,
            lines: Box::new(lines.map_while(std::io::Result::ok)),
        }
    }

    /// What it says first that begins so. Until then its work has not gone on.
    fn until(&mut self, beginning: &str) -> String {
        let found = self.lines.find(|line| {
            assert!(
                !line.starts_with("went on"),
                "its work went on without the lock"
            );
            line.starts_with(beginning)
        });
        found.unwrap_or_else(|| panic!("it never says {beginning}"))
    }

    fn number(&self) -> i32 {
        self.child.id().try_into().unwrap()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does nothing but where the test below has started it.
#[test]
fn process_that_holds_a_lock_says_when_it_has_lost_it() {
    let Ok(url) = std::env::var(DATABASE) else {
        return;
    };
    let outcome = tsumugi::alone(Settings::default(), async |_| {
        let db = connect(&url).await;
        let cluster = Cluster::over(&db).unwrap();
        let token = Cell::new(0);
        let work = async |held| {
            token.set(held);
            println!("\nholds {held}");
            loop {
                let before = Instant::now();
                sleep(SECOND / 20).await;
                db.execute("update beats set count = count + 1 where token <= 1", [])
                    .await
                    .unwrap();
                // The lock lasts no longer than that.
                if before.elapsed() > SECOND * 3 {
                    println!("went on");
                }
            }
        };
        let lost: Result<(), LockError> = cluster.lock("rust job", SECOND * 3, NOW, work).await;
        println!("lost {}", lost.unwrap_err());
        let fenced = db.tx(async |tx| {
            tx.fence("rust job", token.get()).await?;
            Ok::<_, Error>(())
        });
        println!("fenced {}", fenced.await.unwrap_err());
    });
    outcome.unwrap();
}

#[test]
fn process_that_stood_still_for_longer_than_its_lock_lasts_does_not_go_on() {
    let database = Server::shared().database();
    database
        .psql("create table beats (count bigint, token bigint); insert into beats values (0, 0)");
    let mut holder = Holder::start(&database.url());
    assert_eq!(holder.until("holds"), "holds 1");
    freeze(holder.number());
    let outcome = tsumugi::alone(Settings::default(), async |_| {
        let db = connect(&database.url()).await;
        let cluster = Cluster::over(&db).unwrap();
        let wait = LockWait::UpTo(SECOND * 60);
        let lease = cluster
            .acquire("rust job", SECOND * 60, wait)
            .await
            .unwrap();
        assert_eq!(lease.token(), 2);
        // What it had sent when it was stopped may still arrive, and changes nothing.
        let count = database.psql("update beats set token = 2 returning count");
        thaw(holder.number());
        let lost = holder.until("lost");
        assert!(lost.contains("the lock rust job was lost"), "{lost}");
        let fenced = holder.until("fenced");
        assert!(fenced.contains("1 is not its last token"), "{fenced}");
        let after = database.psql("select count from beats");
        assert_eq!(count.lines().next(), Some(&*after), "its work went on");
        lease.release(ReleaseKind::Keep).await;
    });
    outcome.unwrap();
}
