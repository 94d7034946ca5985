//! Pages of records, searches, and upkeep: what may look at many records or at files.
//! Rule: a page of a store in memory is read in place; everything else runs off the worker or on another server.

use std::ops::Bound;
use std::path::PathBuf;

use tsumugi_kv::{KeyRange, Pair, ReadDirection};
use tsumugi_mruby::{Result, Scope, Value};

use super::arguments::{integer, key};
use super::store::{at_once, store};
use crate::answer::{attempt, attempt_only};
use crate::limits::{KV_PAGE_RECORDS, KV_SEARCH_MAX};
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    // prefix, from, to, reverse, the last key of the page before, how many records at most; pairs in an Array
    natives.in_place(memory, "__page", |scope, call| {
        let store = &store(scope, call.this)?.store;
        let (range, limit) = range(scope, call.arguments())?;
        pairs(scope, at_once(scope, store.page(&range, limit))?)
    })?;
    natives.waiting("kv_page", |_, scope, call| {
        let (range, limit) = range(scope, call.arguments().get(1..).unwrap_or_default())?;
        let store = store(scope, call.argument(0))?.store.clone();
        let page = async move { store.page(&range, limit).await };
        Ok(attempt(page, pairs))
    })?;
    searching(natives)?;
    upkeep(natives)
}

fn searching<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_search", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let pattern = key(scope, call.argument(1))?;
        let mode = text(scope, call.argument(2), "mode:")?;
        let limit = limit(scope, call.argument(3), KV_SEARCH_MAX)?;
        let keys = async move { store.search(&mode, pattern, limit).await };
        Ok(attempt(keys, |scope, keys| scope.strings(keys)))
    })
}

fn upkeep<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("kv_sync", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        Ok(attempt_only(async move { store.synchronize().await }))
    })?;
    natives.waiting("kv_backup", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let folder = PathBuf::from(text(scope, call.argument(1), "the folder of a backup")?);
        Ok(attempt_only(async move { store.backup(folder).await }))
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
