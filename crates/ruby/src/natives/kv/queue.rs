//! Popping from a store that is used as a queue, with waiting. Pushing is a write like others.
//! Rule: waiting is the store's own, so that nothing pushed falls between a look and the wait.

use std::rc::Rc;

use bytes::Bytes;
use tokio::time::Instant;
use tsumugi_kv::{QUEUE_KEY, Write, WriteResult};
use tsumugi_mruby::{Result, Scope, Value};

use super::arguments::wait;
use super::failure::Outcome;
use super::remote;
use super::store::{Backend, KvStore, embedded, store};
use super::writes::{at_once, submit};
use crate::answer::{Failure as _, attempt};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    natives.in_place(memory, "__shift", |scope, call| {
        let written = at_once(embedded(scope, call.this)?, Write::PopFirst);
        pair(scope, written.map_err(|error| error.raise(scope))?)
    })?;
    natives.waiting("kv_shift", |_, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let wait = wait(scope, call.argument(1))?;
        let deadline = wait.map(|wait| Instant::now() + wait);
        Ok(attempt(async move { pop(&store, deadline).await }, pair))
    })
}

async fn pop(store: &KvStore, deadline: Option<Instant>) -> Outcome<WriteResult> {
    let database = match &store.backend {
        Backend::Embedded(database) => database,
        Backend::Remote { client, .. } => {
            let wait = deadline.map(|deadline| deadline.duration_since(Instant::now()));
            return remote::pop(client, wait.unwrap_or_default()).await;
        }
    };
    let Some(deadline) = deadline else {
        return submit(store, Write::PopFirst).await;
    };
    let over = tokio::time::sleep_until(deadline);
    let popped = database.submit_until(Write::PopFirst, Bytes::from_static(QUEUE_KEY), over);
    Ok(popped.await?)
}

/// `[key, value]`, or nil when there is nothing.
fn pair<'c>(scope: &'c Scope<'_>, written: WriteResult) -> Result<'c, Value<'c>> {
    match written {
        WriteResult::Popped { key, value } => scope.strings([key, value]),
        _ => Ok(Value::nil()),
    }
}
