//! `KV`: opening stores, and the natives of their methods. The methods' Ruby is prelude/kv.rb.
//! Rule: what a store in memory does never parks; what may touch a disk's journal or another server always does.

mod arguments;
mod cached;
mod channels;
mod failure;
mod object;
mod queue;
mod reads;
mod scans;
mod store;
mod watching;
mod writes;

use std::rc::Rc;

use tsumugi_mruby::{Kind, Result, Scope, Value};
use tsumugi_stores::{Capability, StoreAddress, StoreSettings};

use crate::answer::{Failure as _, attempt};
use crate::natives::arguments::{text, wrong_type};
use crate::natives::definitions::Natives;
use failure::Outcome;
use object::wrap;
pub(crate) use store::KvStore;
pub(super) use store::store;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let kv = scope.define_class(Value::nil(), "KV", scope.object_class())?;
    let embedded = scope.define_class(kv, "Embedded", kv)?;
    for (name, parent) in [("Memory", embedded), ("Disk", embedded), ("Remote", kv)] {
        scope.carries_data(scope.define_class(kv, name, parent)?);
    }
    natives.waiting("kv_open", |host, scope, call| {
        let ttl = arguments::ttl(scope, call.argument(1))?;
        let place = text(scope, call.argument(0), "the place of a store")?;
        let settings = settings(scope, call.argument(2))?;
        let address = StoreAddress::parse(&place, &settings);
        let address = address.map_err(|error| error.raise(scope))?;
        let opening = Rc::clone(host);
        let host = Rc::downgrade(host);
        let store = async move {
            let store = opening.stores.open(address).await?;
            if ttl.is_some() {
                store.require(Capability::TimeToLive).await?;
            }
            Outcome::Ok(KvStore { store, ttl })
        };
        Ok(attempt(store, move |scope, store| {
            wrap(scope, &host, store)
        }))
    })?;
    reads::install(natives)?;
    writes::install(natives)?;
    queue::install(natives)?;
    scans::install(natives)?;
    watching::install(natives)?;
    channels::install(natives)?;
    cached::install(natives)
}

/// Settings that came as keywords.
fn settings<'c>(scope: &'c Scope<'c>, given: Value<'c>) -> Result<'c, StoreSettings> {
    let mut settings = StoreSettings::default();
    for (name, value) in scope.entries(given)? {
        let name = text(scope, name, "the name of a setting")?;
        let value = match value.kind() {
            Kind::Nil => continue,
            Kind::Integer | Kind::Float | Kind::String | Kind::Symbol => {
                scope.text_by(value, "to_s")?
            }
            _ => {
                let what = format!("{name}:");
                return Err(wrong_type(scope, value, &what, "a String or a number"));
            }
        };
        settings.set(name, value);
    }
    Ok(settings)
}
