//! Reading by key, counting, and what a store says of itself.
//! Rule: point reads of a database of this process run in place; many of them on disk run off the worker.

use std::rc::Rc;

use bytes::Bytes;
use tsumugi_kv::{Error, KvDatabase};
use tsumugi_mruby::{Kind, NativeCall, NativeReply, Result, Scope, Suspension, Value};

use super::arguments::{key, with_key};
use super::failure::{Fault, failure, raise};
use super::remote;
use super::scans::done;
use super::store::{Backend, KvStore, embedded, store};
use crate::answer::{Answer, Operation, answer, nil};
use crate::limits::{KV_MULTI_BYTES_MAX, KV_MULTI_MAX};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let embedded_class = scope.constant("KV::Embedded")?;
    let define = |name, native: InPlace| {
        scope.define_method(
            embedded_class,
            name,
            Suspension::Never,
            move |scope, call| {
                let database = embedded(scope, call.this)?;
                native(scope, database, call).map(NativeReply::Value)
            },
        )
    };
    for name in ["get", "[]"] {
        define(name, |scope, database, call| {
            let found = with_key(scope, call.argument(0), |key| database.get(key))?;
            match found.map_err(|error| raise(scope, &error))? {
                Some(value) => scope.string(&value),
                None => Ok(Value::nil()),
            }
        })?;
    }
    for name in ["key?", "has_key?", "include?", "member?"] {
        define(name, |scope, database, call| {
            let found = with_key(scope, call.argument(0), |key| database.get(key))?;
            let found = found.map_err(|error| raise(scope, &error))?;
            Ok(Value::boolean(found.is_some()))
        })?;
    }
    define("number", |scope, database, call| {
        let found = with_key(scope, call.argument(0), |key| database.get(key))?;
        let found = found.map_err(|error| raise(scope, &error))?;
        found.map_or_else(|| Ok(Value::nil()), |value| number(scope, &value))
    })?;
    // nil while it takes a look at many records.
    define("__known_count", |scope, database, _| {
        Ok(match database.known_count() {
            Some(count) => integer(scope, count),
            None => Value::nil(),
        })
    })?;
    let memory = scope.constant("KV::Memory")?;
    for name in ["count", "size", "length"] {
        scope.define_method(memory, name, Suspension::Never, |scope, call| {
            let count = embedded(scope, call.this)?.count();
            let count = count.map_err(|error| raise(scope, &error))?;
            Ok(NativeReply::Value(integer(scope, count)))
        })?;
    }
    many(natives)?;
    natives.plain("kv_name", |_, scope, call| {
        let store = store(scope, call.argument(0))?;
        match &store.backend {
            Backend::Embedded(database) => scope.string(database.spec().to_string()),
            Backend::Remote { .. } => scope.string(&*store.place),
        }
    })?;
    distant(natives)?;
    information(natives)
}

fn integer<'c>(scope: &'c Scope<'_>, number: u64) -> Value<'c> {
    scope.integer(i64::try_from(number).unwrap_or(i64::MAX))
}

type InPlace = for<'c> fn(&'c Scope<'c>, &'c KvDatabase, &NativeCall<'c>) -> Result<'c, Value<'c>>;

/// What `incr` keeps, as an Integer.
pub(super) fn number<'c>(scope: &'c Scope<'_>, value: &[u8]) -> Result<'c, Value<'c>> {
    match value.try_into() {
        Ok(bytes) => Ok(scope.integer(i64::from_be_bytes(bytes))),
        Err(_) => {
            let length = value.len();
            Err(raise(scope, &Error::NotANumber { length }))
        }
    }
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
        check_bytes(bytes).map_err(|error| raise(scope, &error))?;
        keys.push(key);
        Ok(())
    };
    for value in given {
        if value.kind() != Kind::Array {
            add(*value)?;
            continue;
        }
        for i in 0..scope.array_len(*value) {
            add(scope.array_at(*value, i))?;
        }
    }
    Ok(keys)
}

fn many<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // The records that are there, as a Hash.
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    scope.define_method(memory, "get_multi", Suspension::Never, |scope, call| {
        let database = embedded(scope, call.this)?;
        let keys = keys(scope, call.arguments())?;
        let found = find_records(database, keys).map_err(|error| raise(scope, &error))?;
        hash(scope, &found).map(NativeReply::Value)
    })?;
    natives.waiting("kv_get_multi", |host, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let keys = keys(scope, call.arguments().get(1..).unwrap_or_default())?;
        let worker = host.worker.clone();
        Ok(Box::pin(async move {
            let found = match &store.backend {
                Backend::Embedded(database) => {
                    let database = database.clone();
                    done(worker.offload(move || find_records(&database, keys)).await)
                }
                Backend::Remote { client, .. } => remote::records(client, keys).await,
            };
            match found {
                Ok(found) => answer(move |scope| hash(scope, &found)),
                Err(error) => failure(error),
            }
        }) as Operation)
    })
}

/// Whether the records of one call may have so many bytes.
pub(super) fn check_bytes(bytes: usize) -> tsumugi_kv::Result<()> {
    if bytes <= KV_MULTI_BYTES_MAX {
        return Ok(());
    }
    Err(Error::TooMany {
        what: "bytes of records at once",
        asked: bytes,
        max: KV_MULTI_BYTES_MAX,
        limit: "kv_multi_bytes_max",
    })
}

type Records = Vec<(Bytes, Bytes)>;

fn find_records(database: &KvDatabase, keys: Vec<Bytes>) -> tsumugi_kv::Result<Records> {
    let mut found = Vec::new();
    let mut bytes = 0;
    for key in keys {
        if let Some(value) = database.get(&key)? {
            bytes += key.len() + value.len();
            check_bytes(bytes)?;
            found.push((key, value));
        }
    }
    Ok(found)
}

fn hash<'c>(scope: &'c Scope<'_>, records: &Records) -> Result<'c, Value<'c>> {
    let hash = scope.hash(records.len())?;
    for (key, value) in records {
        scope.hash_set(hash, scope.string(key)?, scope.string(value)?)?;
    }
    Ok(hash)
}

/// Reads of a store of another server.
fn distant<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_get", |_, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let key = key(scope, call.argument(1))?;
        Ok(Box::pin(async move {
            match value(&store, key).await {
                Ok(Some(value)) => answer(move |scope| scope.string(&value)),
                Ok(None) => nil(),
                Err(fault) => failure(fault),
            }
        }) as Operation)
    })?;
    natives.waiting("kv_number", |_, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let key = key(scope, call.argument(1))?;
        Ok(Box::pin(async move {
            match value(&store, key).await {
                Ok(Some(value)) => answer(move |scope| number(scope, &value)),
                Ok(None) => nil(),
                Err(fault) => failure(fault),
            }
        }) as Operation)
    })?;
    natives.waiting("kv_count", |host, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let worker = host.worker.clone();
        Ok(Box::pin(async move {
            let count = match &store.backend {
                Backend::Embedded(database) => {
                    let database = database.clone();
                    done(worker.offload(move || database.count()).await)
                }
                Backend::Remote { client, .. } => client.count().await.map_err(Fault::from),
            };
            match count {
                Ok(count) => answer(move |scope| Ok(integer(scope, count))),
                Err(fault) => failure(fault),
            }
        }) as Operation)
    })
}

/// The value at a key, wherever the store is.
pub(super) async fn value(
    store: &KvStore,
    key: Bytes,
) -> std::result::Result<Option<Bytes>, Fault> {
    match &store.backend {
        Backend::Embedded(database) => Ok(database.get(&key)?),
        Backend::Remote { client, .. } => remote::get(client, key).await,
    }
}

/// `kv.info`: as a Hash, because a size on disk is a look at files.
fn information<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_info", |host, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let worker = host.worker.clone();
        Ok(Box::pin(async move {
            let database = match &store.backend {
                Backend::Embedded(database) => database.clone(),
                Backend::Remote { client, .. } => return inspection_answer(client.inspect().await),
            };
            let figures = worker.offload(move || (database.metrics(), database)).await;
            let (figures, database) = match figures {
                Ok(figures) => figures,
                Err(error) => return failure(error),
            };
            answer(move |scope| {
                let spec = database.spec();
                let hash = scope.hash(8)?;
                let set = |name: &str, value| {
                    scope.hash_set(hash, Value::symbol(scope.intern(name)), value)
                };
                let figure = |number| integer(scope, number);
                set(
                    "path",
                    scope.string(spec.path.as_os_str().as_encoded_bytes())?,
                )?;
                set("durability", scope.string(spec.durability.to_string())?)?;
                set("healthy", Value::boolean(database.is_healthy()))?;
                set("records", figure(figures.records))?;
                set("bytes", figure(figures.bytes))?;
                if let Some(capacity) = figures.capacity {
                    set("capacity", figure(capacity))?;
                }
                set("reads", figure(figures.reads))?;
                set("hits", figure(figures.hits))?;
                set("writes", figure(figures.writes))?;
                set("expired", figure(figures.expired))?;
                set("evicted", figure(figures.evicted))?;
                Ok(hash)
            })
        }) as Operation)
    })
}

/// What a server says of a database; names and texts are its own.
fn inspection_answer(figures: tsumugi_rpc::Result<Vec<(String, String)>>) -> Answer {
    let figures = match figures {
        Ok(figures) => figures,
        Err(error) => return failure(error),
    };
    answer(move |scope| {
        let hash = scope.hash(figures.len())?;
        for (name, text) in &figures {
            scope.hash_set(hash, scope.string(name)?, scope.string(text)?)?;
        }
        Ok(hash)
    })
}
