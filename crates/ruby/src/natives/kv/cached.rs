//! `kv.fetch`: values that are computed once and kept. Strings are stored as they are, everything else as JSON.
//! Rule: a hit, a miss and a wait answer the same value; what is stored says by its ending what it is, so nothing is guessed.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use bytes::Bytes;
use tsumugi_kv::single_flight::{Joined, Lead, Outcome, SingleFlight};
use tsumugi_kv::{Computed, SetMode, Write, mark_json, mark_text};
use tsumugi_mruby::{Call, Kind, Reply, Result, Scope, Value, Waits};

use super::arguments::{key, ttl, with_key};
use super::failure::{Fault, failure, raise};
use super::reads::value;
use super::store::{Backend, Store, embedded, store};
use super::writes::{at_once, submit};
use crate::answer::{Answer, answer, raise as raised};
use crate::host::Host;
use crate::natives::standard::read_json_with_symbols;
use crate::natives::{Maybe, Natives, wrong_type};

/// The duty to compute a value, in Ruby's hands. Empty once it was landed or given up.
type Duty = RefCell<Option<Computing>>;

struct Computing {
    store: Rc<Store>,
    key: Bytes,
    /// None when nobody waits for it.
    lead: Option<Lead>,
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    scope.carries_data(scope.define_class(scope.constant("KV")?, "Duty", scope.object_class())?);
    let host = natives.host().clone();
    let embedded_class = scope.constant("KV::Embedded")?;
    // The value, or :"tsumugi.miss".
    scope.define_method(
        embedded_class,
        "__cached",
        Waits::Never,
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
                    decoded(&host, scope, &stored)?
                }
                None => Value::symbol(scope.intern("tsumugi.miss")),
            };
            Ok(Reply::Value(value))
        },
    )?;
    // Of a store of another server.
    natives.waiting("kv_cached", |host, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let key = key(scope, call.argument(1))?;
        let host = Rc::downgrade(host);
        Ok(Box::pin(async move {
            match value(&store, key).await {
                Ok(Some(stored)) => shown(host, stored),
                Ok(None) => answer(|scope| Ok(Value::symbol(scope.intern("tsumugi.miss")))),
                Err(fault) => failure(fault),
            }
        }))
    })?;
    natives.maybe_waiting("kv_join", join)?;
    natives.maybe_waiting("kv_land", land)?;
    natives.plain("kv_give_up", |_, scope, call| {
        drop(duty(scope, call.argument(0))?.borrow_mut().take());
        Ok(Value::nil())
    })
}

fn duty<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c Duty> {
    scope
        .data::<Duty>(value)
        .ok_or_else(|| wrong_type(scope, value, "the duty", "a KV::Duty"))
}

/// The value that another fibre computes, or the duty to compute it.
fn join<'c>(host: &Rc<Host>, scope: &'c Scope<'c>, call: &Call<'c>) -> Result<'c, Maybe<'c>> {
    let store = Rc::clone(store(scope, call.argument(0))?);
    let key = key(scope, call.argument(1))?;
    let computing = |lead| Computing {
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
        Joined::Lead(lead) => {
            let Backend::Embedded(database) = &store.backend else {
                let host = Rc::downgrade(host);
                return Ok(Maybe::Wait(Box::pin(led(host, store, key, lead))));
            };
            match database.get(&key).map_err(|error| raise(scope, &error))? {
                // It was stored after this fibre had looked for it.
                Some(stored) => {
                    lead.land(&stored);
                    decoded(host, scope, &stored).map(Maybe::Value)
                }
                None => begin(scope, computing(Some(lead))).map(Maybe::Value),
            }
        }
        Joined::Alone => begin(scope, computing(None)).map(Maybe::Value),
        Joined::Wait(waiting) => {
            let host = Rc::downgrade(host);
            Ok(Maybe::Wait(Box::pin(async move {
                match waiting.await {
                    Some(Outcome::Landed(stored)) => shown(host, stored),
                    Some(Outcome::Lead(lead)) => led(host, store, key, lead).await,
                    None => raised("KV::Closed", "the value's computation has ended"),
                }
            })))
        }
    }
}

fn begin<'c>(scope: &'c Scope<'_>, computing: Computing) -> Result<'c, Value<'c>> {
    scope.wrap(scope.constant("KV::Duty")?, RefCell::new(Some(computing)))
}

/// What a new leader answers: the value, if it was stored meanwhile, or else the duty.
async fn led(host: Weak<Host>, store: Rc<Store>, key: Bytes, lead: Lead) -> Answer {
    match value(&store, key.clone()).await {
        Ok(Some(stored)) => {
            lead.land(&stored);
            shown(host, stored)
        }
        Ok(None) => {
            let lead = Some(lead);
            answer(move |scope| begin(scope, Computing { store, key, lead }))
        }
        Err(fault) => failure(fault),
    }
}

fn shown(host: Weak<Host>, stored: Bytes) -> Answer {
    answer(move |scope| match host.upgrade() {
        Some(host) => decoded(&host, scope, &stored),
        None => Err(scope.error("RuntimeError", "the application is being replaced")),
    })
}

/// Stores what the block answered, gives it to all who wait, and answers it as a hit would.
fn land<'c>(host: &Rc<Host>, scope: &'c Scope<'c>, call: &Call<'c>) -> Result<'c, Maybe<'c>> {
    let stored = encoded(host, scope, call.argument(1))?;
    let given = call.argument(2);
    let Some(Computing { store, key, lead }) = duty(scope, call.argument(0))?.borrow_mut().take()
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
        complain(at_once(database, write).err().map(Fault::from));
        if let Some(lead) = lead {
            lead.land(&stored);
        }
        return decoded(host, scope, &stored).map(Maybe::Value);
    }
    let host = Rc::downgrade(host);
    Ok(Maybe::Wait(Box::pin(async move {
        complain(submit(&store, write).await.err());
        if let Some(lead) = lead {
            lead.land(&stored);
        }
        shown(host, stored)
    })))
}

/// A value that cannot be kept is as good as one that can, for those who asked for it.
fn complain(error: Option<Fault>) {
    if let Some(error) = error {
        tracing::warn!(target: "app", "fetch could not store what its block answered: {error}");
    }
}

fn encoded<'c>(host: &Host, scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Bytes> {
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

fn decoded<'c>(host: &Host, scope: &'c Scope<'_>, stored: &[u8]) -> Result<'c, Value<'c>> {
    match Computed::of(stored) {
        Computed::Json(json) => read_json_with_symbols(host, scope, json),
        Computed::Text(text) | Computed::Unmarked(text) => scope.string(text),
    }
}
