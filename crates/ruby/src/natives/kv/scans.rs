//! Pages of records, searches, and upkeep: what may look at many records or at files.
//! Rule: a page of a store in memory is read in place; everything else runs off the worker or on another server.

use std::ops::Bound;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr as _;
use std::sync::Arc;

use tsumugi_kv::{KeyRange, KvDatabase, Pair, ReadDirection, SearchMode};
use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_rpc::Client;

use super::arguments::{integer, key};
use super::failure::Fault;
use super::remote;
use super::store::{Backend, embedded, store};
use crate::answer::{Failure as _, attempt, attempt_only};
use crate::limits::{KV_PAGE_RECORDS, KV_SEARCH_MAX};
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    // prefix, from, to, reverse, the last key of the page before, how many records at most; pairs in an Array
    natives.in_place(memory, "__page", |scope, call| {
        let database = embedded(scope, call.this)?;
        let (range, limit) = range(scope, call.arguments())?;
        let page = database.page(&range, limit);
        pairs(scope, page.map_err(|error| error.raise(scope))?)
    })?;
    natives.waiting("kv_page", |host, scope, call| {
        let (range, limit) = range(scope, call.arguments().get(1..).unwrap_or_default())?;
        let store = Rc::clone(store(scope, call.argument(0))?);
        let worker = host.worker.clone();
        let page = async move {
            let asked = range.clone();
            let here = move |database: &KvDatabase| database.page(&asked, limit);
            let there = async |client: &Client| remote::page(client, &range, limit).await;
            store.ask(&worker, here, there).await
        };
        Ok(attempt(page, pairs))
    })?;
    searching(natives)?;
    upkeep(natives)
}

fn searching<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_search", |host, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        let pattern = key(scope, call.argument(1))?;
        let mode = text(scope, call.argument(2), "mode:")?;
        let known = SearchMode::from_str(&mode).map_err(|error| error.raise(scope))?;
        let limit = limit(scope, call.argument(3), KV_SEARCH_MAX)?;
        let worker = host.worker.clone();
        let keys = async move {
            if limit == 0 {
                return Ok(Vec::new());
            }
            // Who drops the operation drops this, and the search ends.
            let caller = Arc::new(());
            let waits = Arc::downgrade(&caller);
            let asked = pattern.clone();
            let here = move |database: &KvDatabase| {
                database.search(known, &asked, limit, || waits.strong_count() > 0)
            };
            let there = async |client: &Client| {
                let capacity = i32::try_from(limit).unwrap_or(i32::MAX);
                Ok(client.search(&mode, pattern, capacity).await?)
            };
            store.ask(&worker, here, there).await
        };
        Ok(attempt(keys, |scope, keys| scope.strings(keys)))
    })
}

fn upkeep<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_sync", |_, scope, call| {
        let store = Rc::clone(store(scope, call.argument(0))?);
        Ok(attempt_only(async move {
            match &store.backend {
                Backend::Embedded(database) => drop(database.synchronize().await?),
                Backend::Remote { client, .. } => client.synchronize().await?,
            }
            Ok::<_, Fault>(())
        }))
    })?;
    natives.waiting("kv_backup", |host, scope, call| {
        let database = embedded(scope, call.argument(0))?.clone();
        let folder = PathBuf::from(text(scope, call.argument(1), "the folder of a backup")?);
        let backup = host.worker.offload(move || database.backup(&folder));
        Ok(attempt_only(async move { Ok::<_, Fault>(backup.await??) }))
    })
}

fn limit<'c>(scope: &'c Scope<'c>, value: Value<'c>, missing: usize) -> Result<'c, usize> {
    let given = integer(scope, value, "limit:", i64::MAX)?;
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

fn pairs<'c>(scope: &'c Scope<'_>, page: Vec<Pair>) -> Result<'c, Value<'c>> {
    let page = page.into_iter();
    scope.list(page.map(|(key, value)| scope.strings([key, value])))
}
