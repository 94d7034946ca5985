//! `kv.publish` and `kv.subscribe`: messages to all who subscribe, over a store. What is done about them is Ruby's.

use std::cell::RefCell;
use std::rc::Rc;

use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_stores::{ChannelMessage, StoreSubscription};

use super::arguments::{key, value};
use super::failure::Outcome;
use super::store::store;
use crate::answer::{attempt, attempt_only};
use crate::natives::arguments::data;
use crate::natives::definitions::Natives;

/// A subscription that Ruby holds; empty while it is waited for, and once it is over.
type Holder = Rc<RefCell<Option<StoreSubscription>>>;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("KvSubscription")?;
    natives.waiting("kv_publish", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let channel = key(scope, call.argument(1))?;
        let message = value(scope, call.argument(2))?;
        let published = async move { store.publish(channel, message).await };
        Ok(attempt_only(published))
    })?;
    natives.waiting("kv_subscribe", |_, scope, call| {
        let store = store(scope, call.argument(0))?.store.clone();
        let channel = key(scope, call.argument(1))?;
        let subscription = async move { store.subscribe(channel).await };
        Ok(attempt(subscription, |scope, subscription| {
            let holder: Holder = Rc::new(RefCell::new(Some(subscription)));
            scope.wrap_as("Tsumugi::Native::KvSubscription", holder)
        }))
    })?;
    // The message, or nil where some may have been missed.
    natives.waiting("kv_message", |_, scope, call| {
        let holder = Rc::clone(holder(scope, call.argument(0))?);
        let Some(mut subscription) = holder.take() else {
            let message = "this subscription is over, or another fibre waits for it";
            return Err(scope.error("KV::UsageError", message));
        };
        let next = async move {
            let next = subscription.next().await;
            *holder.borrow_mut() = Some(subscription);
            Outcome::Ok(next)
        };
        Ok(attempt(next, |scope, next| match next {
            ChannelMessage::Message(message) => scope.string(&message),
            ChannelMessage::Missed => Ok(Value::nil()),
        }))
    })?;
    natives.plain("kv_unsubscribe", |_, scope, call| {
        drop(holder(scope, call.argument(0))?.take());
        Ok(Value::nil())
    })
}

fn holder<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c Holder> {
    data(scope, value, "the subscription", "a subscription")
}
