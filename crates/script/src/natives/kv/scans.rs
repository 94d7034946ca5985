//! Pages of records, searches, and upkeep: what may look at many records or at files.
//! Rule: a page of a store in memory is read in place; everything else here runs off the worker.

use std::ops::Bound;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr as _;

use bytes::Bytes;
use tsumugi_kv::{Database, Direction, Pair, Range, SearchMode};
use tsumugi_mruby::{Reply, Result, Scope, Value, Waits};

use super::arguments::{integer, key};
use super::failure::{failure, raise};
use super::store::{Backend, embedded, store};
use crate::answer::{Answer, Operation, answer, nil, raise as raised};
use crate::limits::{KV_PAGE_RECORDS, KV_SEARCH_MAX};
use crate::natives::{Natives, text};

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    // prefix, from, to, reverse, the last key of the page before, how many records at most; pairs in an Array
    scope.define_method(memory, "__page", Waits::Never, |scope, call| {
        let database = embedded(scope, call.this)?;
        let (range, limit) = range(scope, call.arguments())?;
        let page = database.page(&range, limit);
        let page = page.map_err(|error| raise(scope, &error))?;
        pairs(scope, &page).map(Reply::Value)
    })?;
    natives.waiting("kv_page", |host, scope, call| {
        let (range, limit) = range(scope, call.arguments().get(1..).unwrap_or_default())?;
        let database = database(scope, call.argument(0))?;
        let page = host.worker.offload(move || database.page(&range, limit));
        Ok(Box::pin(
            async move { finished(page.await, |page| answer(move |scope| pairs(scope, &page))) },
        ) as Operation)
    })?;
    natives.waiting("kv_search", |host, scope, call| {
        let database = database(scope, call.argument(0))?;
        let pattern = key(scope, call.argument(1))?;
        let mode = text(scope, call.argument(2), "mode:")?;
        let mode = SearchMode::from_str(&mode).map_err(|error| raise(scope, &error))?;
        let limit = limit(scope, call.argument(3), KV_SEARCH_MAX)?;
        if limit == 0 {
            return Ok(Box::pin(async { answer(|scope| scope.array(0)) }) as Operation);
        }
        let search = host
            .worker
            .offload(move || database.search(mode, &pattern, limit));
        Ok(Box::pin(async move {
            finished(search.await, |keys| {
                answer(move |scope| strings(scope, &keys))
            })
        }) as Operation)
    })?;
    upkeep(natives)
}

fn upkeep<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_sync", |_, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        Ok(Box::pin(async move {
            let Backend::Embedded(database) = &store.backend;
            match database.synchronize().await {
                Ok(_) => nil(),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("kv_backup", |host, scope, call| {
        let database = database(scope, call.argument(0))?;
        let folder = PathBuf::from(text(scope, call.argument(1), "the folder of a backup")?);
        let backup = host.worker.offload(move || database.backup(&folder));
        Ok(Box::pin(async move { finished(backup.await, |()| nil()) }) as Operation)
    })
}

/// The answer to work that was done off the worker.
fn finished<T>(
    done: std::result::Result<tsumugi_kv::Result<T>, tsumugi_worker::Error>,
    then: impl FnOnce(T) -> Answer,
) -> Answer {
    match done {
        Ok(Ok(value)) => then(value),
        Ok(Err(error)) => failure(error),
        Err(error) => raised("KV::Error", error.to_string()),
    }
}

fn database<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Database> {
    embedded(scope, value).cloned()
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

fn range<'c>(scope: &'c Scope<'c>, given: &[Value<'c>]) -> Result<'c, (Range, usize)> {
    let at = |index: usize| given.get(index).copied().unwrap_or_else(Value::nil);
    let bound = |index: usize| {
        let value = at(index);
        (!value.is_nil()).then(|| key(scope, value)).transpose()
    };
    let whole = match bound(0)? {
        Some(prefix) => Range::prefix(prefix),
        None => Range::all(),
    };
    let mut range = Range {
        from: bound(1)?.map_or(Bound::Unbounded, Bound::Included),
        to: bound(2)?.map_or(Bound::Unbounded, Bound::Included),
        direction: match at(3).truthy() {
            true => Direction::Backward,
            false => Direction::Forward,
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
