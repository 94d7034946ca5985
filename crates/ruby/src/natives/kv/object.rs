//! The object of Ruby that a store becomes: its class says where the records are. Opens nothing.

use std::rc::{Rc, Weak};

use tsumugi_kv::KvDatabase;
use tsumugi_mruby::{Result, Scope, Value};

use super::store::KvStore;
use crate::host::Host;

/// The object of a store.
pub(super) fn wrap<'s>(
    scope: &'s Scope<'_>,
    host: &Weak<Host>,
    store: KvStore,
) -> Result<'s, Value<'s>> {
    let store = Rc::new(store);
    if let Some(host) = host.upgrade() {
        host.resources.keep_store(&store);
    }
    let class = match store.store.database().map(KvDatabase::is_in_memory) {
        Some(true) => "KV::Memory",
        Some(false) => "KV::Disk",
        None => "KV::Remote",
    };
    scope.wrap_as(class, store)
}
