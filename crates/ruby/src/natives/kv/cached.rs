//! `kv.fetch`: values that are computed once and kept. Strings are stored as they are, everything else as JSON.
//! Rule: a hit, a miss and a wait answer the same value; what is stored says by its ending what it is, so nothing is guessed.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use bytes::Bytes;
use tsumugi_kv::single_flight::{FetchLease, FetchTurn, SingleFlight};
use tsumugi_kv::{ComputedValue, SetMode, Write, mark_json, mark_text};
use tsumugi_mruby::{Kind, NativeCall, Result, Scope, Value};
use tsumugi_stores::Capability;

use super::arguments::{key, ttl};
use super::failure::Outcome;
use super::reads::{ask, find};
use super::store::{KvStore, store};
use crate::answer::{Failure as _, Operation, answer, attempt};
use crate::host::Host;
use crate::natives::arguments::data;
use crate::natives::definitions::{Natives, alive};
use crate::natives::standard::read_json_with_symbols;

/// The lead of a computation, as Ruby holds it. Empty once it has landed or was given up.
type LeadHandle = RefCell<Option<Computation>>;

struct Computation {
    store: Rc<KvStore>,
    key: Bytes,
    lease: FetchLease,
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    scope.carries_data(scope.define_class(scope.constant("KV")?, "Lead", scope.object_class())?);
    let host = natives.host().clone();
    let embedded_class = scope.constant("KV::Embedded")?;
    // The value, or :"tsumugi.miss".
    natives.in_place(embedded_class, "__cached", move |scope, call| {
        cached(&host, scope, find(scope, call)?)
    })?;
    // Of a store of another server.
    natives.waiting("kv_cached", |host, scope, call| {
        let host = Rc::downgrade(host);
        Ok(attempt(ask(scope, call)?, move |scope, stored| {
            cached(&host, scope, stored)
        }))
    })?;
    // Raises where the store knows no time to live, before anything is computed.
    natives.plain("kv_check_ttl", |_, scope, call| {
        let table = store(scope, call.argument(0))?.store.capabilities();
        let able = table.check(Capability::TimeToLive);
        able.map_err(|error| error.raise(scope))?;
        Ok(Value::nil())
    })?;
    natives.maybe_waiting("kv_join", join)?;
    natives.maybe_waiting("kv_land", land)?;
    natives.plain("kv_give_up", |_, scope, call| {
        drop(lead_handle(scope, call.argument(0))?.borrow_mut().take());
        Ok(Value::nil())
    })
}

fn lead_handle<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c LeadHandle> {
    data(scope, value, "the computation", "a KV::Lead")
}

fn cached<'c>(
    host: &Weak<Host>,
    scope: &'c Scope<'_>,
    stored: Option<Bytes>,
) -> Result<'c, Value<'c>> {
    match stored {
        Some(stored) => decode(host, scope, &stored),
        None => Ok(Value::symbol(scope.intern("tsumugi.miss"))),
    }
}

/// The value that another fibre computes, or the lead to compute it.
fn join<'c>(host: &Rc<Host>, scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Operation> {
    let store = Rc::clone(store(scope, call.argument(0))?);
    let key = key(scope, call.argument(1))?;
    let lineage = host.jobs.lineage(host.job.number());
    let host = Rc::downgrade(host);
    let turn = async move {
        let flights = SingleFlight::of_process();
        let look = async || store.store.get(key.clone()).await;
        let turn = flights.turn(store.store.flights(), key.clone(), lineage, look);
        let turn = turn.await?;
        Outcome::Ok((store, key, turn))
    };
    Ok(attempt(turn, move |scope, (store, key, turn)| match turn {
        FetchTurn::Found(stored) => decode(&host, scope, &stored),
        FetchTurn::Compute(lease) => {
            let computation = Computation { store, key, lease };
            scope.wrap_as("KV::Lead", RefCell::new(Some(computation)))
        }
    }))
}

/// Stores what the block answered, gives it to all waiters, and answers it as a hit would.
fn land<'c>(host: &Rc<Host>, scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Operation> {
    let stored = encode(host, scope, call.argument(1))?;
    let given = call.argument(2);
    let Some(Computation { store, key, lease }) =
        lead_handle(scope, call.argument(0))?.borrow_mut().take()
    else {
        return Err(scope.error("KV::UsageError", "this value was computed already"));
    };
    let ttl = match given.as_symbol() {
        Some(_) => store.ttl,
        None => ttl(scope, given)?,
    };
    let write = Write::Set {
        key,
        value: stored.clone(),
        mode: SetMode::Overwrite,
        ttl,
    };
    let host = Rc::downgrade(host);
    Ok(Box::pin(async move {
        lease.land(&stored, store.store.write(write)).await;
        answer(move |scope| decode(&host, scope, &stored))
    }))
}

fn encode<'c>(host: &Host, scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Bytes> {
    let mut stored = Vec::new();
    if value.kind() == Kind::String {
        scope.with_bytes(value, |bytes| stored.extend_from_slice(bytes));
        mark_text(&mut stored);
    } else {
        let depth_max = host.settings.limits.json_depth_max;
        crate::json::write(scope, value, depth_max, &mut stored)?;
        mark_json(&mut stored);
    }
    Ok(stored.into())
}

fn decode<'c>(host: &Weak<Host>, scope: &'c Scope<'_>, stored: &[u8]) -> Result<'c, Value<'c>> {
    let host = alive(host, scope)?;
    match ComputedValue::of(stored) {
        ComputedValue::Json(json) => read_json_with_symbols(&host, scope, json),
        ComputedValue::Text(text) | ComputedValue::Unmarked(text) => scope.string(text),
    }
}
