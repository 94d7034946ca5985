//! Whether what many clients see at once while members are killed and stopped could have been seen by one after another. What has no answer may
//! have taken place or not. CLUSTER_FAULTS sets how many faults there are.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::task::LocalSet;
use tsumugi_kv::Error as KvError;
use tsumugi_stores::{CallFate, Error, Store};
use tsumugi_testkit::etcd::EtcdCluster;

use crate::engines::open;
use crate::harm::{harm, rest};
use crate::history::{Answer, Call, has_order, record};
use crate::writes::{answer_to, write_of};

/// Tries of a call that is said not to have taken place.
const TRIES_MAX: usize = 20;

/// Histories that are looked at, at least.
const ROUNDS_MIN: u64 = 8;

async fn perform(store: &Store, keys: &[Bytes; 2], call: &Call) -> Answer {
    for _ in 0..TRIES_MAX {
        let answered = match call {
            Call::Get(at) => store.get(keys[*at].clone()).await.map(Answer::Value),
            call => {
                let written = store.write(write_of(keys, call)).await;
                written.map(|written| answer_to(call, written))
            }
        };
        match answered {
            Ok(answer) => return answer,
            Err(Error::Kv(KvError::NotANumber { .. })) => return Answer::NotANumber,
            Err(error) => match error.fate() {
                CallFate::Unknown => return Answer::Unknown,
                CallFate::NotApplied => {}
            },
        }
    }
    // It did not take place, and nobody saw an answer: as good as lost.
    Answer::Unknown
}

/// A client on a thread of its own, which has a runtime and a store.
fn caller(place: &str) -> impl FnMut(&[Bytes; 2], &Call) -> Answer + use<> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let local = LocalSet::new();
    let place = place.to_owned();
    let store = local.block_on(&runtime, async {
        let mut tries = 0;
        loop {
            match open(&place).await {
                Ok(store) => return store,
                Err(error) if tries > TRIES_MAX => panic!("{error}"),
                Err(_) => tries += 1,
            }
        }
    });
    move |keys, call| local.block_on(&runtime, perform(&store, keys, call))
}

#[test]
fn history_has_an_order_while_members_are_killed_and_stopped() {
    let cluster = EtcdCluster::start();
    let place = format!("{}?timeout=2", cluster.place("linear"));
    let (faults, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut rounds, mut lost, mut undecided) = (0, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            harm(&cluster, &faults);
            over.store(true, SeqCst);
        });
        // On a busy machine the last ones come after the last fault.
        while !over.load(SeqCst) || rounds < ROUNDS_MIN {
            let mut history = record(rounds, || caller(&place));
            let unknown = history
                .iter()
                .filter(|event| event.answer == Answer::Unknown);
            lost += unknown.count();
            match has_order(&mut history) {
                Some(true) => {}
                Some(false) => panic!("round {rounds} has no order: {history:#?}"),
                None => undecided += 1,
            }
            rounds += 1;
        }
    });
    println!(
        "{} faults, {rounds} histories, {lost} lost answers, {undecided} not decided",
        faults.load(SeqCst)
    );
    assert!(undecided * 2 <= rounds);
}

#[test]
fn increments_of_many_are_none_lost_while_a_member_dies() {
    let cluster = EtcdCluster::start();
    let place = cluster.place("counter");
    let key = || [Bytes::from("n"), Bytes::from("m")];
    let (done, unknown) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut perform = caller(&place);
                for _ in 0..50 {
                    match perform(&key(), &Call::Increment(0)) {
                        Answer::Number(_) => done.fetch_add(1, SeqCst),
                        Answer::Unknown => unknown.fetch_add(1, SeqCst),
                        other => panic!("{other:?}"),
                    };
                }
            });
        }
        rest(10);
        cluster.kill(0);
        rest(100);
        cluster.start_again(0);
    });
    let read = caller(&place)(&key(), &Call::Get(0));
    let Answer::Value(Some(value)) = read else {
        panic!("{read:?}");
    };
    let number = u64::from_be_bytes(value[..].try_into().unwrap());
    let (done, unknown) = (done.load(SeqCst), unknown.load(SeqCst));
    println!("{done} done, {unknown} unknown, {number} there");
    assert!(number >= done && number <= done + unknown);
}

#[test]
fn call_is_answered_by_another_member_when_one_is_stopped() {
    let cluster = EtcdCluster::start();
    let place = format!("{}?timeout=10", cluster.place("stopped"));
    for at in 0..cluster.members() {
        let mut perform = caller(&place);
        let key = [Bytes::from("a"), Bytes::from("b")];
        let set = Call::Set(0, Bytes::from(at.to_string()));
        assert_eq!(perform(&key, &set), Answer::Done);
        cluster.freeze(at);
        let began = Instant::now();
        let read = perform(&key, &Call::Get(0));
        let waited = began.elapsed();
        cluster.thaw(at);
        assert_eq!(read, Answer::Value(Some(at.to_string().into())));
        assert!(waited < Duration::from_secs(60), "{waited:?}");
        cluster.wait_all();
    }
}
