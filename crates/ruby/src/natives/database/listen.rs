//! `db.listen`: waiting for what others notify. What is done about it is Ruby's.

use tsumugi_db::{Listener, ListenerEvent};
use tsumugi_mruby::{Result, Value};

use super::handles::{exclusive_handle, let_go, take};
use super::vm_database::vm_database;
use crate::answer::attempt;
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Listener")?;
    natives.waiting("db_listen", |_, scope, call| {
        let database = vm_database(scope, call.argument(0))?.database().clone();
        let channels = scope.elements(call.argument(1));
        let channels = channels.map(|name| text(scope, name, "the channel"));
        let channels = channels.collect::<Result<'_, Vec<String>>>()?;
        let listening = async move { database.listen(&channels).await };
        Ok(attempt(listening, |scope, listener| {
            scope.wrap_as("Tsumugi::Native::Listener", exclusive_handle(listener))
        }))
    })?;
    // A notification as an Array, or nil when some may have been missed.
    natives.waiting("db_heard", |_, scope, call| {
        let (holder, mut listener) = take::<Listener>(scope, call.argument(0))?;
        let heard = async move {
            let heard = listener.recv().await;
            *holder.borrow_mut() = Some(listener);
            heard
        };
        Ok(attempt(heard, |scope, heard| match heard {
            ListenerEvent::Notification {
                channel,
                payload,
                process_id,
            } => scope.array_of(&[
                scope.string(channel)?,
                scope.string(payload)?,
                scope.integer(process_id.into()),
            ]),
            _ => Ok(Value::nil()),
        }))
    })?;
    natives.plain("db_stop_listening", |_, scope, call| {
        let_go::<Listener>(scope, call.argument(0));
        Ok(Value::nil())
    })
}
