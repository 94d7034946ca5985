//! The store behind a `KV` object, and how it is found there. Knows no engine.

use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tsumugi_kv::KvDatabase;
use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_stores::Store;

use super::failure::Outcome;
use crate::answer::Failure as _;
use crate::natives::arguments::data;

/// What a `KV` object carries, in an `Rc`.
pub(crate) struct KvStore {
    pub store: Store,
    /// How long what is stored through this object lives unless a call says otherwise.
    pub ttl: Option<Duration>,
}

/// The store of an object.
pub(in crate::natives) fn store<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
) -> Result<'c, &'c Rc<KvStore>> {
    data(scope, value, "the store", "what KV.open answered")
}

/// The database of an object of `KV::Embedded`.
pub(super) fn embedded<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c KvDatabase> {
    let database = store(scope, value)?.store.database();
    database.ok_or_else(|| scope.error("KV::Unsupported", "this store is none of this process"))
}

/// What a call of a store in memory answers: it is there at once.
pub(super) fn at_once<'c, T>(
    scope: &'c Scope<'_>,
    call: impl Future<Output = Outcome<T>>,
) -> Result<'c, T> {
    let answered = call.now_or_never();
    let answered = answered.unwrap_or(Err(tsumugi_kv::Error::Closed.into()));
    answered.map_err(|error| error.raise(scope))
}
