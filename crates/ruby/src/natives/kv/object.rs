//! The object of Ruby that a store becomes: its class says where the records are. Opens nothing.

use std::rc::{Rc, Weak};

use super::store::{Backend, KvStore};
use crate::answer::{Answer, answer};
use crate::host::Host;

/// The object of a store.
pub(super) fn wrap(host: &Weak<Host>, store: KvStore) -> Answer {
    let store = Rc::new(store);
    if let Some(host) = host.upgrade() {
        host.resources.keep_store(&store);
    }
    answer(move |scope| {
        let class = match &store.backend {
            Backend::Embedded(database) if database.is_in_memory() => "KV::Memory",
            Backend::Embedded(_) => "KV::Disk",
            Backend::Remote { .. } => "KV::Remote",
        };
        scope.wrap(scope.constant(class)?, store)
    })
}
