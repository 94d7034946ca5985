//! `kv.watch`: waiting for changes of a store's keys. What is done about them is Ruby's.

use std::cell::RefCell;
use std::rc::Rc;

use tsumugi_kv::ChangeEvent;
use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_stores::StoreWatch;

use super::arguments::key;
use super::store::store;
use crate::answer::attempt;
use crate::natives::arguments::data;
use crate::natives::definitions::Natives;

/// A watch that Ruby holds; empty while it is waited for, and once it is over.
type Holder = Rc<RefCell<Option<StoreWatch>>>;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("KvWatch")?;
    natives.maybe_waiting("kv_watch", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let prefix = key(scope, call.argument(1))?;
        let watch = async move { store.watch(prefix).await };
        Ok(attempt(watch, |scope, watch| {
            let holder: Holder = Rc::new(RefCell::new(Some(watch)));
            scope.wrap_as("Tsumugi::Native::KvWatch", holder)
        }))
    })?;
    // `[kind, key, lost]`
    natives.waiting("kv_changed", |_, scope, call| {
        let holder = Rc::clone(holder(scope, call.argument(0))?);
        let Some(mut watch) = holder.take() else {
            let message = "this watch is over, or another fibre waits for it";
            return Err(scope.error("KV::UsageError", message));
        };
        let changed = async move {
            let changed = watch.next().await;
            *holder.borrow_mut() = Some(watch);
            changed
        };
        Ok(attempt(changed, change_value))
    })?;
    natives.plain("kv_unwatch", |_, scope, call| {
        drop(holder(scope, call.argument(0))?.take());
        Ok(Value::nil())
    })
}

fn holder<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c Holder> {
    data(scope, value, "the watch", "a watch")
}

fn change_value<'c>(scope: &'c Scope<'_>, changed: ChangeEvent) -> Result<'c, Value<'c>> {
    let kind = match &changed {
        ChangeEvent::Put(_) => "put",
        ChangeEvent::Removed(_) => "removed",
        ChangeEvent::Expired(_) => "expired",
        ChangeEvent::Evicted(_) => "evicted",
        ChangeEvent::Cleared => "cleared",
        ChangeEvent::Gap => "gap",
        _ => "lagged",
    };
    let lost = match changed {
        ChangeEvent::Lagged(lost) => lost,
        _ => 0,
    };
    scope.array_of(&[
        Value::symbol(scope.intern(kind)),
        scope.string_or_nil(changed.key())?,
        scope.count(lost),
    ])
}
