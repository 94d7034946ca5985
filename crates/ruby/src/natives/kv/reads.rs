//! Reading by key, counting, and what a store says of itself.
//! Rule: point reads of a database of this process run in place; many of them on disk run off the worker.

use bytes::Bytes;
use tsumugi_kv::{Error, KvDatabase, KvSnapshot, Lifetime};
use tsumugi_mruby::{Kind, NativeCall, Result, Scope, Value};
use tsumugi_stores::Capabilities;

use super::arguments::{key, with_key};
use super::failure::Outcome;
use super::store::{at_once, embedded, store};
use crate::answer::{Failure as _, attempt};
use crate::limits::KV_MULTI_MAX;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let embedded_class = scope.constant("KV::Embedded")?;
    for name in ["get", "[]"] {
        natives.in_place(embedded_class, name, |scope, call| {
            scope.string_or_nil(find(scope, call)?)
        })?;
    }
    for name in ["key?", "has_key?", "include?", "member?"] {
        natives.in_place(embedded_class, name, |scope, call| {
            Ok(Value::boolean(find(scope, call)?.is_some()))
        })?;
    }
    natives.in_place(embedded_class, "number", |scope, call| {
        number(scope, find(scope, call)?)
    })?;
    natives.in_place(embedded_class, "ttl", |scope, call| {
        let database = embedded(scope, call.this)?;
        let left = with_key(scope, call.argument(0), |key| database.lifetime(key))?;
        seconds(scope, left.map_err(|error| error.raise(scope))?)
    })?;
    // nil while it takes a look at many records.
    natives.in_place(embedded_class, "__known_count", |scope, call| {
        let count = embedded(scope, call.this)?.known_count();
        Ok(count.map_or_else(Value::nil, |count| scope.count(count)))
    })?;
    let memory = scope.constant("KV::Memory")?;
    for name in ["count", "size", "length"] {
        natives.in_place(memory, name, |scope, call| {
            let store = &store(scope, call.this)?.store;
            Ok(scope.count(at_once(scope, store.count())?))
        })?;
    }
    many(natives)?;
    natives.plain("kv_name", |_, scope, call| {
        let store = &store(scope, call.argument(0))?.store;
        match store.database() {
            Some(database) => scope.string(database.spec().to_string()),
            None => scope.string(&*store.place()),
        }
    })?;
    distant(natives)?;
    information(natives)
}

/// The value of the key that is the first argument, in the store that is called.
pub(super) fn find<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Option<Bytes>> {
    let database = embedded(scope, call.this)?;
    let found = with_key(scope, call.argument(0), |key| database.get(key))?;
    found.map_err(|error| error.raise(scope))
}

/// What `incr` keeps, as an Integer; nil where there is nothing.
fn number<'c>(scope: &'c Scope<'_>, value: Option<Bytes>) -> Result<'c, Value<'c>> {
    let Some(value) = value else {
        return Ok(Value::nil());
    };
    match (*value).try_into() {
        Ok(bytes) => Ok(scope.integer(i64::from_be_bytes(bytes))),
        Err(_) => {
            let length = value.len();
            Err(Error::NotANumber { length }.raise(scope))
        }
    }
}

/// How long a record is there, as a Float; nil where there is none.
fn seconds<'c>(scope: &'c Scope<'_>, left: Option<Lifetime>) -> Result<'c, Value<'c>> {
    Ok(match left {
        None => Value::nil(),
        Some(Lifetime::Unlimited) => scope.float(f64::INFINITY),
        Some(Lifetime::Left(left)) => scope.float(left.as_secs_f64()),
    })
}

/// Keys, and Arrays of keys.
pub(super) fn keys<'c>(scope: &'c Scope<'c>, given: &[Value<'c>]) -> Result<'c, Vec<Bytes>> {
    let count = |value: &Value<'c>| match value.kind() {
        Kind::Array => scope.array_len(*value),
        _ => 1,
    };
    let count: usize = given.iter().map(count).sum();
    if count > KV_MULTI_MAX {
        let message = format!("{count} keys at once; kv_multi_max is {KV_MULTI_MAX}");
        return Err(scope.error("KV::LimitExceeded", message));
    }
    let mut keys = Vec::with_capacity(count);
    let mut bytes = 0;
    let mut add = |value: Value<'c>| -> Result<'c, ()> {
        let key = key(scope, value)?;
        bytes += key.len();
        Capabilities::check_bytes(bytes).map_err(|error| error.raise(scope))?;
        keys.push(key);
        Ok(())
    };
    for value in given {
        match value.kind() {
            Kind::Array => scope.elements(*value).try_for_each(&mut add)?,
            _ => add(*value)?,
        }
    }
    Ok(keys)
}

fn many<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // The records that are there, as a Hash.
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    natives.in_place(memory, "get_multi", |scope, call| {
        let store = &store(scope, call.this)?.store;
        let keys = keys(scope, call.arguments())?;
        hash(scope, at_once(scope, store.records(keys))?)
    })?;
    natives.waiting("kv_get_multi", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let keys = keys(scope, call.arguments().get(1..).unwrap_or_default())?;
        Ok(attempt(async move { store.records(keys).await }, hash))
    })
}

fn hash<'c, T: AsRef<[u8]>>(scope: &'c Scope<'_>, records: Vec<(T, T)>) -> Result<'c, Value<'c>> {
    let hash = scope.hash(records.len())?;
    for (key, value) in records {
        scope.hash_set(hash, scope.string(key)?, scope.string(value)?)?;
    }
    Ok(hash)
}

/// Reads of a store of another server.
fn distant<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_get", |_, scope, call| {
        let value = ask(scope, call)?;
        Ok(attempt(value, |scope, value| scope.string_or_nil(value)))
    })?;
    natives.waiting("kv_number", |_, scope, call| {
        Ok(attempt(ask(scope, call)?, number))
    })?;
    natives.waiting("kv_ttl", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let key = key(scope, call.argument(1))?;
        let left = async move { store.lifetime(key).await };
        Ok(attempt(left, seconds))
    })?;
    natives.waiting("kv_count", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let count = async move { store.count().await };
        Ok(attempt(count, |scope, count| Ok(scope.count(count))))
    })
}

/// Asks for the value of the key that is the second argument.
pub(super) fn ask<'c>(
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
) -> Result<'c, impl Future<Output = Outcome<Option<Bytes>>> + use<>> {
    let store = store(scope, call.argument(0))?.store.clone();
    let key = key(scope, call.argument(1))?;
    Ok(async move { store.get(key).await })
}

/// `kv.info`: as a Hash, because a size on disk is a look at files.
fn information<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_info", |host, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let worker = host.worker.clone();
        let information = async move {
            let Some(database) = store.database().cloned() else {
                return Outcome::Ok(Information::There(store.inspect().await?));
            };
            let figures = worker
                .offload(move || (database.metrics(), database))
                .await?;
            Ok(Information::Here(Box::new(figures.0), figures.1))
        };
        Ok(attempt(information, information_value))
    })
}

/// What is said of a store.
enum Information {
    Here(Box<KvSnapshot>, KvDatabase),
    /// Names and texts are the server's own.
    There(Vec<(String, String)>),
}

fn information_value<'c>(scope: &'c Scope<'_>, said: Information) -> Result<'c, Value<'c>> {
    let (figures, database) = match said {
        Information::Here(figures, database) => (figures, database),
        Information::There(said) => return hash(scope, said),
    };
    let spec = database.spec();
    let path = spec.path.as_os_str().as_encoded_bytes();
    let mut fields = vec![
        ("path", scope.string(path)?),
        ("durability", scope.string(spec.durability.to_string())?),
        ("healthy", Value::boolean(database.is_healthy())),
        ("records", scope.count(figures.records)),
        ("bytes", scope.count(figures.bytes)),
    ];
    fields.extend(
        figures
            .capacity
            .map(|bytes| ("capacity", scope.count(bytes))),
    );
    fields.extend([
        ("reads", scope.count(figures.reads)),
        ("hits", scope.count(figures.hits)),
        ("writes", scope.count(figures.writes)),
        ("expired", scope.count(figures.expired)),
        ("evicted", scope.count(figures.evicted)),
    ]);
    scope.fields(&fields)
}
