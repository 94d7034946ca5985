//! `kv.watch`: waiting for changes of a store's keys. What is done about them is Ruby's.

use std::cell::RefCell;
use std::rc::Rc;

use tsumugi_kv::{ChangeEvent, PrefixWatch};
use tsumugi_mruby::{Result, Scope, Value};

use super::arguments::key;
use super::failure::raise;
use super::store::embedded;
use crate::answer::{Operation, answer, raise as raised};
use crate::natives::arguments::wrong_type;
use crate::natives::definitions::Natives;

/// A watch that Ruby holds; empty while it is waited for, and once it is over.
type Holder = Rc<RefCell<Option<PrefixWatch>>>;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("KvWatch")?;
    natives.plain("kv_watch", |_, scope, call| {
        let prefix = key(scope, call.argument(1))?;
        let watch = embedded(scope, call.argument(0))?.watch(prefix);
        let watch = watch.map_err(|error| raise(scope, &error))?;
        let holder: Holder = Rc::new(RefCell::new(Some(watch)));
        scope.wrap(scope.constant("Tsumugi::Native::KvWatch")?, holder)
    })?;
    // `[kind, key, lost]`
    natives.waiting("kv_changed", |_, scope, call| {
        let holder = holder(scope, call.argument(0))?;
        let Some(mut watch) = holder.borrow_mut().take() else {
            let message = "this watch is over, or another fibre waits for it";
            return Err(scope.error("KV::UsageError", message));
        };
        Ok(Box::pin(async move {
            let changed = watch.next().await;
            *holder.borrow_mut() = Some(watch);
            match changed {
                Some(changed) => answer(move |scope| change_value(scope, &changed)),
                None => raised("KV::Closed", "the database was closed"),
            }
        }) as Operation)
    })?;
    natives.plain("kv_unwatch", |_, scope, call| {
        drop(holder(scope, call.argument(0))?.borrow_mut().take());
        Ok(Value::nil())
    })
}

fn holder<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Holder> {
    scope
        .data::<Holder>(value)
        .cloned()
        .ok_or_else(|| wrong_type(scope, value, "the watch", "a watch"))
}

fn change_value<'c>(scope: &'c Scope<'_>, changed: &ChangeEvent) -> Result<'c, Value<'c>> {
    let kind = match changed {
        ChangeEvent::Put(_) => "put",
        ChangeEvent::Removed(_) => "removed",
        ChangeEvent::Expired(_) => "expired",
        ChangeEvent::Evicted(_) => "evicted",
        ChangeEvent::Cleared => "cleared",
        _ => "lagged",
    };
    let lost = match changed {
        ChangeEvent::Lagged(lost) => i64::try_from(*lost).unwrap_or(i64::MAX),
        _ => 0,
    };
    let shown = scope.array(3)?;
    scope.push(shown, Value::symbol(scope.intern(kind)))?;
    let key = match changed.key() {
        Some(key) => scope.string(key)?,
        None => Value::nil(),
    };
    scope.push(shown, key)?;
    scope.push(shown, scope.integer(lost))?;
    Ok(shown)
}
