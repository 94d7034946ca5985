//! Popping from a store that is used as a queue, with waiting. Pushing is a write like others.
//! Rule: waiting is the store's own, so that nothing pushed falls between a look and the wait.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::WriteResult;
use tsumugi_mruby::{Result, Scope, Value};

use super::arguments::{key, wait};
use super::store::{at_once, store};
use crate::answer::attempt;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    natives.in_place(memory, "__shift", |scope, call| {
        let store = &store(scope, call.this)?.store;
        let queue = queue(scope, call.argument(0))?;
        pair(scope, at_once(scope, store.pop(queue, Duration::ZERO))?)
    })?;
    natives.waiting("kv_shift", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let wait = wait(scope, call.argument(1))?.unwrap_or_default();
        let queue = queue(scope, call.argument(2))?;
        Ok(attempt(async move { store.pop(queue, wait).await }, pair))
    })
}

/// The name of a queue, or nil for all records.
fn queue<'c>(scope: &'c Scope<'c>, name: Value<'c>) -> Result<'c, Option<Bytes>> {
    (!name.is_nil()).then(|| key(scope, name)).transpose()
}

/// `[key, value]`, or nil when there is nothing.
fn pair<'c>(scope: &'c Scope<'_>, written: WriteResult) -> Result<'c, Value<'c>> {
    match written {
        WriteResult::Popped { key, value } => scope.strings([key, value]),
        _ => Ok(Value::nil()),
    }
}
