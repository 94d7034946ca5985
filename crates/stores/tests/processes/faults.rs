//! Locks, timers and messages over three members of etcd, of which one is killed or stopped, the leader too. TSUMUGI_CLUSTER_FAULTS sets how many
//! faults there are.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tsumugi_cluster::{ChannelEvent, Cluster, Error, LockWait, ReleaseKind};
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::{RunningTick, any_length_of};

use crate::{Place, at};

const SECOND: Duration = Duration::from_secs(1);

fn faults() -> usize {
    let chosen = std::env::var("TSUMUGI_CLUSTER_FAULTS").ok();
    chosen.and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// Kills or stops one member after another, the leader each second time.
async fn harm(cluster: &EtcdCluster) {
    for fault in 0..faults() {
        let at = match fault % 2 {
            0 => cluster.leader(),
            _ => fault % cluster.members(),
        };
        match fault % 3 {
            0 => {
                cluster.freeze(at);
                sleep(SECOND * 5).await;
                cluster.thaw(at);
            }
            _ => {
                cluster.kill(at);
                sleep(SECOND * 3).await;
                cluster.start_again(at);
            }
        }
        sleep(SECOND * 2).await;
    }
}

/// For what must come, however crowded the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn lock_has_one_holder_at_a_time_while_members_are_killed_and_stopped() {
    let members = EtcdCluster::start();
    let place = Place(format!("{}?timeout=5", members.place("locks")));
    at(place, async |place| {
        let running = Rc::new(Cell::new(0));
        let (held, lost) = (Cell::new(0), Cell::new(0));
        let last = Cell::new(0);
        let contend = async |cluster: Cluster| {
            loop {
                let work = async |token: i64| {
                    let _running = RunningTick::begin(&running).await;
                    assert!(token > last.replace(token), "tokens grow");
                    sleep(SECOND * 3).await;
                };
                match cluster
                    .lock("one", SECOND * 2, LockWait::Forever, work)
                    .await
                {
                    Ok(()) => held.set(held.get() + 1),
                    Err(Error::Lost { .. }) => lost.set(lost.get() + 1),
                    // No server, or no answer from it.
                    Err(_) => sleep(SECOND / 4).await,
                }
            }
        };
        let (one, other) = (place.cluster().await, place.cluster().await);
        let all = async {
            harm(&members).await;
            let before = held.get();
            let goes_on = async {
                while held.get() == before {
                    sleep(SECOND / 10).await;
                }
            };
            timeout(PATIENCE, goes_on).await.expect("it goes on");
        };
        tokio::select! {
            never = contend(one) => never,
            never = contend(other) => never,
            () = all => {}
        }
        println!("held {} times, lost {} times", held.get(), lost.get());
    });
}

#[test]
fn timer_ticks_on_one_at_a_time_and_goes_on_while_members_are_killed_and_stopped() {
    let period = SECOND * 4;
    let members = EtcdCluster::start();
    let place = Place(format!("{}?timeout=5", members.place("timers")));
    at(place, async |place| {
        let running = Rc::new(Cell::new(0));
        let ticks = RefCell::new(Vec::new());
        let run = async |cluster: Cluster| {
            let timer = cluster.timer("beat", period).unwrap();
            loop {
                let lease = timer.turn().await;
                let tick = async {
                    let _running = RunningTick::begin(&running).await;
                    ticks.borrow_mut().push(Instant::now());
                    sleep(SECOND).await;
                };
                if lease.hold(tick).await.is_ok() {
                    lease.release(ReleaseKind::Ticked).await;
                }
            }
        };
        let (one, other) = (place.cluster().await, place.cluster().await);
        let all = async {
            harm(&members).await;
            let before = ticks.borrow().len();
            let goes_on = async {
                while ticks.borrow().len() < before + 2 {
                    sleep(SECOND / 10).await;
                }
            };
            timeout(PATIENCE, goes_on).await.expect("it goes on");
        };
        tokio::select! {
            never = run(one) => never,
            never = run(other) => never,
            () = all => {}
        }
        let ticks = ticks.take();
        let gaps: Vec<Duration> = ticks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        println!("{} ticks, apart: {gaps:?}", ticks.len());
        // A leader that is gone costs an election, and the lease of a tick that it cut lasts anew; more on a crowded machine.
        let most = period * 2 + SECOND * 60;
        assert!(gaps.iter().all(|gap| *gap < most), "{gaps:?}");
    });
}

#[test]
fn tick_after_one_that_ended_well_is_not_begun_before_a_period_although_the_leader_is_another_one()
{
    let period = SECOND * 6;
    let members = EtcdCluster::start();
    at(Place(members.place("early")), async |place| {
        let (one, other) = (place.cluster().await, place.cluster().await);
        let timer = |cluster: &Cluster| cluster.timer("slow", period).unwrap();
        let begun = Instant::now();
        let tick = timer(&one).turn().await;
        tick.release(ReleaseKind::Ticked).await;
        members.kill(members.leader());
        let next = timeout(PATIENCE, timer(&other).turn()).await.unwrap();
        // Each a period after the one before, the first one too.
        let waited = begun.elapsed();
        assert!(waited >= period * 9 / 5, "{waited:?}");
        assert!(next.token() > tick.token());
        next.release(ReleaseKind::Ticked).await;
    });
}

#[test]
fn messages_come_in_order_and_none_is_missing_while_members_are_killed_and_stopped() {
    let members = EtcdCluster::start();
    let place = Place(format!("{}?timeout=5", members.place("messages")));
    at(place, async |place| {
        let (one, other) = (place.cluster().await, place.cluster().await);
        let mut received = one.channel("c").unwrap().subscribe().await.unwrap();
        let sender = other.channel("c").unwrap();
        let sent = RefCell::new(Vec::new());
        let send = async {
            for number in 0_u32.. {
                // What has no answer may have been sent: it is not sent again.
                if sender.publish(&number.to_string()).await.is_ok() {
                    sent.borrow_mut().push(number);
                }
                sleep(SECOND / 20).await;
            }
        };
        let mut heard = Vec::new();
        let hear = async {
            loop {
                match received.recv().await {
                    ChannelEvent::Message(text) => heard.push(text.parse::<u32>().unwrap()),
                    event => panic!("nothing was compacted: {event:?}"),
                }
            }
        };
        let all = async {
            tokio::select! {
                () = send => {}
                () = harm(&members) => {}
            }
            sleep(SECOND * 10).await;
        };
        tokio::select! {
            never = hear => never,
            () = all => {}
        }
        let sent = sent.take();
        println!("{} sent, {} heard", sent.len(), heard.len());
        assert!(
            heard.windows(2).all(|pair| pair[0] < pair[1]),
            "in order, once"
        );
        let missing: Vec<&u32> = sent
            .iter()
            .filter(|number| !heard.contains(number))
            .collect();
        assert!(missing.is_empty() && sent.len() > 20, "{missing:?}");
    });
}

#[test]
fn lock_whose_holder_died_is_free_when_its_lease_of_etcd_is_over() {
    let members = EtcdCluster::shared();
    at(Place(members.place("died")), async |place| {
        let one = place.cluster().await;
        // On a crowded machine a short lease is over before it is looked at.
        let lengths = [SECOND * 2, SECOND * 8, SECOND * 32];
        let is_seen = any_length_of(lengths, async |ttl| {
            let begun = Instant::now();
            let lock = one.acquire("died", ttl, LockWait::Forever).await;
            let lock = lock.unwrap();
            let token = lock.token();
            // As of a process that was killed: nothing is given back.
            std::mem::forget(lock);
            let key = members.etcdctl(&["get", "died!cluster/leases/died", "--print-value-only"]);
            let is_seen = key.contains(&format!("/{}/", std::process::id()));
            let other = place.cluster().await;
            let next = other.acquire("died", SECOND * 60, LockWait::UpTo(PATIENCE));
            let next = next.await.unwrap();
            assert!(begun.elapsed() >= ttl * 9 / 10);
            assert!(next.token() > token);
            next.release(ReleaseKind::Keep).await;
            is_seen
        })
        .await;
        assert!(is_seen, "a lock that is held has a key");
        let key = members.etcdctl(&["get", "died!cluster/leases/", "--prefix", "--keys-only"]);
        assert_eq!(key.trim(), "", "a lock that was given back leaves no key");
    });
}
