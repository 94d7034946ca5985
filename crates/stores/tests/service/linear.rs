//! Whether what many clients of a service see at once, while members of the cluster behind it are killed and stopped, could have been seen by one
//! after another. CLUSTER_FAULTS sets how many faults there are.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use bytes::Bytes;
use tokio::task::LocalSet;
use tsumugi_rpc::{Client, Error};
use tsumugi_testkit::etcd::EtcdCluster;

use crate::ask::ask;
use crate::harm::harm;
use crate::history::{Answer, Call, has_order, record};
use crate::rig::Rig;

/// Tries of a call that is said not to have taken place.
const TRIES_MAX: usize = 20;

async fn perform(kv: &Client, keys: &[Bytes; 2], call: &Call) -> Answer {
    for _ in 0..TRIES_MAX {
        match ask(kv, keys, call).await {
            Ok(answer) => return answer,
            Err(Error::Database { message, .. }) if message.contains("nothing was written") => {}
            Err(Error::Database { message, .. }) => {
                assert!(message.contains("may or may not"), "{message}");
                return Answer::Unknown;
            }
            Err(error) => panic!("the service itself failed: {error}"),
        }
    }
    Answer::Unknown
}

fn caller(rig: &Rig) -> impl FnMut(&[Bytes; 2], &Call) -> Answer + use<> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let local = LocalSet::new();
    let kv = rig.client();
    local.block_on(&runtime, kv.echo("")).unwrap();
    move |keys, call| local.block_on(&runtime, perform(&kv, keys, call))
}

#[test]
fn history_of_clients_has_an_order_while_members_are_killed_and_stopped() {
    let cluster = EtcdCluster::start();
    let rig = Rig::start(&[&format!("{}?timeout=2", cluster.place("linear"))]);
    let (faults, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut rounds, mut lost, mut undecided) = (0, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            harm(&cluster, &faults);
            over.store(true, SeqCst);
        });
        while !over.load(SeqCst) {
            let mut history = record(rounds, || caller(&rig));
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
    assert!(rounds > 3 && undecided * 4 <= rounds);
}
