//! Channels that keep their messages, and followers of them, for `KeptChannel` of prelude/cluster.rb. What they mean is `tsumugi_cluster`'s.
//! Rule: a follower is waited for by one fibre at a time.

use std::cell::RefCell;
use std::rc::Rc;

use tsumugi_cluster::{Error, FollowEvent, Follower, KeptChannel, event_position};
use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use crate::answer::attempt;
use crate::host::Host;
use crate::natives::arguments::{data, exact_text, wrong_type};
use crate::natives::cluster::{message_channel, refusal};
use crate::natives::definitions::Natives;

/// A follower that Ruby holds; empty while it is waited for, and once it is over.
type FollowerHandle = Rc<RefCell<Option<Follower>>>;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("ChannelFollower")?;
    natives.plain("check_kept_channel", |host, scope, call| {
        kept_channel(host, scope, call)?;
        Ok(Value::nil())
    })?;
    natives.waiting("channel_publish_kept", |host, scope, call| {
        let channel = kept_channel(host, scope, call)?;
        let message = exact_text(scope, call.argument(3), "the message")?;
        let published = async move { channel.publish(&message).await };
        Ok(attempt(published, |scope, id| Ok(scope.integer(id))))
    })?;
    natives.waiting("channel_last", |host, scope, call| {
        let channel = kept_channel(host, scope, call)?;
        let last = async move { channel.last().await };
        Ok(attempt(last, |scope, id| Ok(scope.integer(id))))
    })?;
    natives.waiting("channel_follow", |host, scope, call| {
        let channel = kept_channel(host, scope, call)?;
        let after = after(scope, call.argument(3))?;
        let followed = async move { channel.follow(after).await };
        Ok(attempt(followed, |scope, follower| {
            let handle: FollowerHandle = Rc::new(RefCell::new(Some(follower)));
            scope.wrap_as("Tsumugi::Native::ChannelFollower", handle)
        }))
    })?;
    followers(natives)
}

fn followers<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // A text and its number, or nil and that of the last message that is missing.
    natives.waiting("follower_next", |_, scope, call| {
        let handle = Rc::clone(follower(scope, call.argument(0))?);
        let Some(mut follower) = handle.take() else {
            let message = "this follower is over, or another fibre waits for it";
            return Err(scope.error("Tsumugi::Lock::UsageError", message));
        };
        let next = async move {
            let event = follower.next().await;
            let position = follower.position();
            *handle.borrow_mut() = Some(follower);
            Ok::<_, Error>((event, position))
        };
        Ok(attempt(next, |scope, (event, position)| {
            let text = match &event {
                FollowEvent::Message { text, .. } => Some(&**text),
                _ => None,
            };
            let answer = scope.array(2)?;
            scope.push(answer, scope.string_or_nil(text)?)?;
            scope.push(answer, scope.integer(position))?;
            Ok(answer)
        }))
    })?;
    natives.plain("follower_leave", |_, scope, call| {
        drop(follower(scope, call.argument(0))?.take());
        Ok(Value::nil())
    })
}

/// Its arguments are a name, whether it is the cluster's, and how many messages it keeps.
fn kept_channel<'c>(
    host: &Rc<Host>,
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
) -> Result<'c, KeptChannel> {
    let channel = message_channel(host, scope, call)?;
    let keep = integer(scope, call.argument(2), "keep:")?;
    let kept = channel.keeping(keep);
    kept.map_err(|error| refusal(host, scope, &error))
}

/// The number of a message: an Integer, or the text that a client sent.
fn after<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Option<i64>> {
    match scope.text(value) {
        Some(id) => Ok(Some(event_position(&id))),
        None if value.is_nil() => Ok(None),
        None => integer(scope, value, "after:").map(Some),
    }
}

fn integer<'c>(scope: &'c Scope<'c>, value: Value<'c>, what: &str) -> Result<'c, i64> {
    let wrong = || wrong_type(scope, value, what, "an Integer");
    value.as_integer().ok_or_else(wrong)
}

fn follower<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c FollowerHandle> {
    data(scope, value, "the follower", "a follower")
}
