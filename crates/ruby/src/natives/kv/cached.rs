//! `kv.fetch`: values that are computed once and kept. Strings are stored as they are, everything else as JSON.
//! Rule: a hit, a miss and a wait answer the same value; what is stored says by its ending what it is, so nothing is guessed.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use bytes::Bytes;
use tsumugi_kv::single_flight::{FlightLease, FlightOutcome, JoinOutcome, SingleFlight};
use tsumugi_kv::{ComputedValue, SetMode, Write, mark_json, mark_text};
use tsumugi_mruby::{Kind, NativeCall, NativeReply, Result, Scope, Suspension, Value};

use super::arguments::{key, ttl, with_key};
use super::failure::{Fault, failure, raise};
use super::reads::value;
use super::store::{Backend, KvStore, embedded, store};
use super::writes::{at_once, submit};
use crate::answer::{Answer, answer, raise as raised};
use crate::host::Host;
use crate::natives::arguments::wrong_type;
use crate::natives::definitions::{Maybe, Natives};
use crate::natives::standard::read_json_with_symbols;

/// The lead of a computation, as Ruby holds it. Empty once it has landed or was given up.
type LeadHandle = RefCell<Option<Computation>>;

struct Computation {
    store: Rc<KvStore>,
    key: Bytes,
    /// None without a waiter.
    lead: Option<FlightLease>,
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    scope.carries_data(scope.define_class(scope.constant("KV")?, "Lead", scope.object_class())?);
    let host = natives.host().clone();
    let embedded_class = scope.constant("KV::Embedded")?;
    // The value, or :"tsumugi.miss".
    scope.define_method(
        embedded_class,
        "__cached",
        Suspension::Never,
        move |scope, call| {
            let database = embedded(scope, call.this)?;
            let found = with_key(scope, call.argument(0), |key| database.get(key))?;
            let value = match found.map_err(|error| raise(scope, &error))? {
                Some(stored) => {
                    let Some(host) = host.upgrade() else {
                        return Err(
                            scope.error("RuntimeError", "the application is being replaced")
                        );
                    };
                    decode(&host, scope, &stored)?
                }
                None => Value::symbol(scope.intern("tsumugi.miss")),
            };
            Ok(NativeReply::Value(value))
        },
    )?;
    // Of a store of another server.
    natives.waiting("kv_cached", |host, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let key = key(scope, call.argument(1))?;
        let host = Rc::downgrade(host);
        Ok(Box::pin(async move {
            match value(&store, key).await {
                Ok(Some(stored)) => hit_answer(host, stored),
                Ok(None) => answer(|scope| Ok(Value::symbol(scope.intern("tsumugi.miss")))),
                Err(fault) => failure(fault),
            }
        }))
    })?;
    natives.maybe_waiting("kv_join", join)?;
    natives.maybe_waiting("kv_land", land)?;
    natives.plain("kv_give_up", |_, scope, call| {
        drop(lead_handle(scope, call.argument(0))?.borrow_mut().take());
        Ok(Value::nil())
    })
}

fn lead_handle<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c LeadHandle> {
    scope
        .data::<LeadHandle>(value)
        .ok_or_else(|| wrong_type(scope, value, "the computation", "a KV::Lead"))
}

/// The value that another fibre computes, or the lead to compute it.
fn join<'c>(host: &Rc<Host>, scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Maybe<'c>> {
    let store = Rc::clone(store(scope, call.argument(0))?);
    let key = key(scope, call.argument(1))?;
    let computation = |lead| Computation {
        store: Rc::clone(&store),
        key: key.clone(),
        lead,
    };
    let flights = SingleFlight::of_process();
    let joined = flights.join(
        &store.flights,
        key.clone(),
        host.jobs.lineage(host.job.number()),
    );
    match joined.map_err(|error| raise(scope, &error))? {
        JoinOutcome::Lead(lead) => {
            let Backend::Embedded(database) = &store.backend else {
                let host = Rc::downgrade(host);
                return Ok(Maybe::Wait(Box::pin(lead_value(host, store, key, lead))));
            };
            match database.get(&key).map_err(|error| raise(scope, &error))? {
                // It was stored after this fibre had looked for it.
                Some(stored) => {
                    lead.land(&stored);
                    decode(host, scope, &stored).map(Maybe::Value)
                }
                None => begin(scope, computation(Some(lead))).map(Maybe::Value),
            }
        }
        JoinOutcome::Alone => begin(scope, computation(None)).map(Maybe::Value),
        JoinOutcome::Wait(waiting) => {
            let host = Rc::downgrade(host);
            Ok(Maybe::Wait(Box::pin(async move {
                match waiting.await {
                    Some(FlightOutcome::Landed(stored)) => hit_answer(host, stored),
                    Some(FlightOutcome::Lead(lead)) => lead_value(host, store, key, lead).await,
                    None => raised("KV::Closed", "the value's computation has ended"),
                }
            })))
        }
    }
}

fn begin<'c>(scope: &'c Scope<'_>, computation: Computation) -> Result<'c, Value<'c>> {
    scope.wrap(scope.constant("KV::Lead")?, RefCell::new(Some(computation)))
}

/// What a new leader answers: the value, if it was stored meanwhile, or else the lead.
async fn lead_value(host: Weak<Host>, store: Rc<KvStore>, key: Bytes, lead: FlightLease) -> Answer {
    match value(&store, key.clone()).await {
        Ok(Some(stored)) => {
            lead.land(&stored);
            hit_answer(host, stored)
        }
        Ok(None) => {
            let lead = Some(lead);
            answer(move |scope| begin(scope, Computation { store, key, lead }))
        }
        Err(fault) => failure(fault),
    }
}

fn hit_answer(host: Weak<Host>, stored: Bytes) -> Answer {
    answer(move |scope| match host.upgrade() {
        Some(host) => decode(&host, scope, &stored),
        None => Err(scope.error("RuntimeError", "the application is being replaced")),
    })
}

/// Stores what the block answered, gives it to all waiters, and answers it as a hit would.
fn land<'c>(host: &Rc<Host>, scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Maybe<'c>> {
    let stored = encode(host, scope, call.argument(1))?;
    let given = call.argument(2);
    let Some(Computation { store, key, lead }) =
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
    if let Backend::Embedded(database) = &store.backend
        && database.is_in_memory()
    {
        warn_unless_stored(at_once(database, write).err().map(Fault::from));
        if let Some(lead) = lead {
            lead.land(&stored);
        }
        return decode(host, scope, &stored).map(Maybe::Value);
    }
    let host = Rc::downgrade(host);
    Ok(Maybe::Wait(Box::pin(async move {
        warn_unless_stored(submit(&store, write).await.err());
        if let Some(lead) = lead {
            lead.land(&stored);
        }
        hit_answer(host, stored)
    })))
}

/// A value that cannot be stored is returned all the same.
fn warn_unless_stored(error: Option<Fault>) {
    if let Some(error) = error {
        tracing::warn!(target: "app", "fetch could not store its value: {error}");
    }
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

fn decode<'c>(host: &Host, scope: &'c Scope<'_>, stored: &[u8]) -> Result<'c, Value<'c>> {
    match ComputedValue::of(stored) {
        ComputedValue::Json(json) => read_json_with_symbols(host, scope, json),
        ComputedValue::Text(text) | ComputedValue::Unmarked(text) => scope.string(text),
    }
}
