//! Popping from a store that is used as a queue, with waiting. Pushing is a write like others.
//! Rule: waiting is the store's own, so that nothing pushed falls between a look and the wait.

use std::time::Duration;

use tsumugi_kv::WriteResult;
use tsumugi_mruby::{Result, Scope, Value};

use super::arguments::wait;
use super::store::{at_once, store};
use crate::answer::attempt;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    natives.in_place(memory, "__shift", |scope, call| {
        let store = &store(scope, call.this)?.store;
        pair(scope, at_once(scope, store.pop(Duration::ZERO))?)
    })?;
    natives.waiting("kv_shift", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let wait = wait(scope, call.argument(1))?.unwrap_or_default();
        Ok(attempt(async move { store.pop(wait).await }, pair))
    })
}

/// `[key, value]`, or nil when there is nothing.
fn pair<'c>(scope: &'c Scope<'_>, written: WriteResult) -> Result<'c, Value<'c>> {
    match written {
        WriteResult::Popped { key, value } => scope.strings([key, value]),
        _ => Ok(Value::nil()),
    }
}
