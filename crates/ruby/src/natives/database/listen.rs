//! `db.listen`: waiting for what others notify. What is done about it is Ruby's.

use tsumugi_db::{Listener, ListenerEvent};
use tsumugi_mruby::{Result, Value};

use super::failure::failure;
use super::handles::{ExclusiveHandle, exclusive_handle, take};
use super::vm_database::vm_database;
use crate::answer::{Operation, answer, nil};
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Listener")?;
    natives.waiting("db_listen", |_, scope, call| {
        let database = vm_database(scope, call.argument(0))?.database().clone();
        let names = call.argument(1);
        let names = (0..scope.array_len(names)).map(|i| scope.array_at(names, i));
        let channels = names.map(|name| text(scope, name, "the channel"));
        let channels = channels.collect::<Result<'_, Vec<String>>>()?;
        Ok(Box::pin(async move {
            match database.listen(&channels).await {
                Ok(listener) => answer(move |scope| {
                    scope.wrap(
                        scope.constant("Tsumugi::Native::Listener")?,
                        exclusive_handle(listener),
                    )
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    // A notification as an Array, or nil when some may have been missed.
    natives.waiting("db_heard", |_, scope, call| {
        let (holder, mut listener) = take::<Listener>(scope, call.argument(0))?;
        Ok(Box::pin(async move {
            let heard = listener.recv().await;
            *holder.borrow_mut() = Some(listener);
            match heard {
                Ok(ListenerEvent::Notification {
                    channel,
                    payload,
                    process_id,
                }) => answer(move |scope| {
                    let heard = scope.array(3)?;
                    scope.push(heard, scope.string(&channel)?)?;
                    scope.push(heard, scope.string(&payload)?)?;
                    scope.push(heard, scope.integer(process_id.into()))?;
                    Ok(heard)
                }),
                Ok(_) => nil(),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.plain("db_stop_listening", |_, scope, call| {
        if let Some(listener) = scope.data::<ExclusiveHandle<Listener>>(call.argument(0)) {
            listener.borrow_mut().take();
        }
        Ok(Value::nil())
    })
}
