//! `KV`: opening stores, and the natives of their methods. The methods' Ruby is prelude/kv.rb.
//! Rule: what a store in memory does never parks; what may touch a disk's journal or another server always does.

mod arguments;
mod cached;
mod failure;
mod object;
mod queue;
mod reads;
mod remote;
mod scans;
mod service;
mod store;
mod watching;
mod writes;

use std::rc::Rc;

use tsumugi_kv::{KvDatabase, Spec};
use tsumugi_mruby::{Kind, Result, Scope, Value};

use crate::answer::{Failure as _, attempt};
use crate::natives::arguments::{text, wrong_type};
use crate::natives::definitions::Natives;
use failure::Fault;
use object::wrap;
pub(crate) use store::{Backend, KvStore};

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
        if place.starts_with("tkrzw") {
            return service::open(host, scope, &place, call);
        }
        let spec = spec(scope, place, call.argument(2))?;
        let opening = host.worker.offload(move || KvDatabase::open(&spec));
        let host = Rc::downgrade(host);
        let store = async move { Ok::<_, Fault>(KvStore::embedded(opening.await??, ttl)) };
        Ok(attempt(store, move |scope, store| {
            wrap(scope, &host, store)
        }))
    })?;
    reads::install(natives)?;
    writes::install(natives)?;
    queue::install(natives)?;
    scans::install(natives)?;
    watching::install(natives)?;
    cached::install(natives)
}

/// The specification of a path with settings as keywords.
fn spec<'c>(scope: &'c Scope<'c>, mut spelled: String, settings: Value<'c>) -> Result<'c, Spec> {
    for (name, value) in scope.entries(settings)? {
        let name = text(scope, name, "the name of a setting")?;
        let known = ["durability", "capacity", "when_full", "cache", "value_max"];
        if !known.contains(&name.as_str()) {
            let message = format!(
                "KV.open knows no {name}: of a store here; it knows ttl:, {}:",
                known.join(":, ")
            );
            return Err(scope.error("ArgumentError", message));
        }
        let value = match value.kind() {
            Kind::Nil => continue,
            Kind::Integer | Kind::String | Kind::Symbol => scope.text_by(value, "to_s")?,
            _ => {
                let what = format!("{name}:");
                return Err(wrong_type(scope, value, &what, "a String or a number"));
            }
        };
        spelled.push(match spelled.contains('#') {
            true => ',',
            false => '#',
        });
        spelled.push_str(&format!("{name}={value}"));
    }
    Spec::of_place(&spelled).map_err(|error| error.raise(scope))
}
