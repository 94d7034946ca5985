//! Pages of records, searches, and upkeep: what may look at many records or at files.
//! Rule: a page of a store in memory is read in place; everything else runs off the worker or on another server.

use std::ops::Bound;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr as _;
use std::sync::Arc;

use bytes::Bytes;
use tsumugi_kv::{KeyRange, Pair, ReadDirection, SearchMode};
use tsumugi_mruby::{NativeReply, Result, Scope, Suspension, Value};

use super::arguments::{integer, key};
use super::failure::{Fault, failure, raise};
use super::remote;
use super::store::{Backend, embedded, store};
use crate::answer::{Operation, answer, nil};
use crate::limits::{KV_PAGE_RECORDS, KV_SEARCH_MAX};
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    // prefix, from, to, reverse, the last key of the page before, how many records at most; pairs in an Array
    scope.define_method(memory, "__page", Suspension::Never, |scope, call| {
        let database = embedded(scope, call.this)?;
        let (range, limit) = range(scope, call.arguments())?;
        let page = database.page(&range, limit);
        let page = page.map_err(|error| raise(scope, &error))?;
        pairs(scope, &page).map(NativeReply::Value)
    })?;
    natives.waiting("kv_page", |host, scope, call| {
        let (range, limit) = range(scope, call.arguments().get(1..).unwrap_or_default())?;
        let store = Rc::clone(store(scope, call.argument(0))?);
        let worker = host.worker.clone();
        Ok(Box::pin(async move {
            let page = match &store.backend {
                Backend::Embedded(database) => {
                    let database = database.clone();
                    let page = worker.offload(move || database.page(&range, limit)).await;
                    done(page)
                }
                Backend::Remote { client, .. } => remote::page(client, &range, limit).await,
            };
            match page {
                Ok(page) => answer(move |scope| pairs(scope, &page)),
                Err(fault) => failure(fault),
            }
        }) as Operation)
    })?;
    searching(natives)?;
    upkeep(natives)
}

fn searching<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_search", |host, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let pattern = key(scope, call.argument(1))?;
        let mode = text(scope, call.argument(2), "mode:")?;
        let known = SearchMode::from_str(&mode).map_err(|error| raise(scope, &error))?;
        let limit = limit(scope, call.argument(3), KV_SEARCH_MAX)?;
        let worker = host.worker.clone();
        Ok(Box::pin(async move {
            let keys = match &store.backend {
                _ if limit == 0 => Ok(Vec::new()),
                Backend::Embedded(database) => {
                    let database = database.clone();
                    // Who drops the operation drops this, and the search ends.
                    let caller = Arc::new(());
                    let waits = Arc::downgrade(&caller);
                    let wanted = move || waits.strong_count() > 0;
                    let search = move || database.search(known, &pattern, limit, wanted);
                    done(worker.offload(search).await)
                }
                Backend::Remote { client, .. } => {
                    let capacity = i32::try_from(limit).unwrap_or(i32::MAX);
                    let keys = client.search(&mode, pattern, capacity).await;
                    keys.map_err(Fault::from)
                }
            };
            match keys {
                Ok(keys) => answer(move |scope| strings(scope, &keys)),
                Err(fault) => failure(fault),
            }
        }) as Operation)
    })
}

fn upkeep<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_sync", |_, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        Ok(Box::pin(async move {
            let synchronized = match &store.backend {
                Backend::Embedded(database) => {
                    database.synchronize().await.map(drop).map_err(Fault::from)
                }
                Backend::Remote { client, .. } => client.synchronize().await.map_err(Fault::from),
            };
            match synchronized {
                Ok(()) => nil(),
                Err(fault) => failure(fault),
            }
        }) as Operation)
    })?;
    natives.waiting("kv_backup", |host, scope, call| {
        let database = embedded(scope, call.argument(0))?.clone();
        let folder = PathBuf::from(text(scope, call.argument(1), "the folder of a backup")?);
        let backup = host.worker.offload(move || database.backup(&folder));
        Ok(Box::pin(async move {
            match done(backup.await) {
                Ok(()) => nil(),
                Err(fault) => failure(fault),
            }
        }) as Operation)
    })
}

/// What became of work that was done off the worker.
pub(super) fn done<T>(
    done: std::result::Result<tsumugi_kv::Result<T>, tsumugi_worker::Error>,
) -> std::result::Result<T, Fault> {
    Ok(done??)
}

fn limit<'c>(scope: &'c Scope<'c>, value: Value<'c>, missing: usize) -> Result<'c, usize> {
    let given = integer(
        scope,
        value,
        "limit:",
        i64::try_from(missing).unwrap_or(i64::MAX),
    )?;
    match usize::try_from(given) {
        Ok(given) => Ok(given.min(missing)),
        Err(_) => Err(scope.error("ArgumentError", "limit: is an Integer from 0")),
    }
}

fn range<'c>(scope: &'c Scope<'c>, given: &[Value<'c>]) -> Result<'c, (KeyRange, usize)> {
    let at = |index: usize| given.get(index).copied().unwrap_or_else(Value::nil);
    let bound = |index: usize| {
        let value = at(index);
        (!value.is_nil()).then(|| key(scope, value)).transpose()
    };
    let whole = match bound(0)? {
        Some(prefix) => KeyRange::prefix(prefix),
        None => KeyRange::all(),
    };
    let mut range = KeyRange {
        from: bound(1)?.map_or(Bound::Unbounded, Bound::Included),
        to: bound(2)?.map_or(Bound::Unbounded, Bound::Included),
        direction: match at(3).truthy() {
            true => ReadDirection::Backward,
            false => ReadDirection::Forward,
        },
    }
    .within(&whole);
    if let Some(last) = bound(4)? {
        range = range.after(last);
    }
    Ok((range, limit(scope, at(5), KV_PAGE_RECORDS)?))
}

fn pairs<'c>(scope: &'c Scope<'_>, page: &[Pair]) -> Result<'c, Value<'c>> {
    let pairs = scope.array(page.len())?;
    for (key, value) in page {
        let pair = scope.array(2)?;
        scope.push(pair, scope.string(key)?)?;
        scope.push(pair, scope.string(value)?)?;
        scope.push(pairs, pair)?;
    }
    Ok(pairs)
}

fn strings<'c>(scope: &'c Scope<'_>, keys: &[Bytes]) -> Result<'c, Value<'c>> {
    let strings = scope.array(keys.len())?;
    for key in keys {
        scope.push(strings, scope.string(key)?)?;
    }
    Ok(strings)
}
