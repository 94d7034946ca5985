//! Whether what many clients of the service see at once could have been seen by one after another: each with a connection, on two workers.
//! LINEAR_ROUNDS sets how many histories.

use std::num::NonZeroUsize;

use bytes::Bytes;
use tokio::task::LocalSet;
use tsumugi_kv::{Durability, KvDatabase, Spec};

use crate::ask::ask;
use crate::history::{Call, check, rounds};
use crate::rig::Rig;

#[test]
fn every_history_of_clients_has_an_order() {
    for durability in [Durability::Memory, Durability::Process] {
        let rig = Rig::with(|settings, config, folder| {
            config.workers = NonZeroUsize::new(2).unwrap();
            if durability == Durability::Process {
                let spec = Spec::disk(folder.path().join("casket.tkt"), durability);
                settings.databases[0] = KvDatabase::open(&spec).unwrap().into();
            }
        });
        check(rounds(10), || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let tasks = LocalSet::new();
            let kv = rig.client();
            // Connected before the others begin.
            tasks.block_on(&runtime, kv.echo("")).unwrap();
            move |keys: &[Bytes; 2], call: &Call| {
                tasks.block_on(&runtime, ask(&kv, keys, call)).unwrap()
            }
        });
    }
}
