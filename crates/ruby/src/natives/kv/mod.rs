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

use crate::answer::Operation;
use crate::natives::arguments::{text, wrong_type};
use crate::natives::definitions::Natives;
use failure::failure;
pub(in crate::natives) use failure::raise;
use object::wrap;
use scans::done;
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
        Ok(Box::pin(async move {
            match done(opening.await) {
                Ok(database) => wrap(&host, KvStore::embedded(database, ttl)),
                Err(fault) => failure(fault),
            }
        }) as Operation)
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
        match value.kind() {
            Kind::Nil => {}
            Kind::Integer => add(
                &mut spelled,
                &name,
                &value.as_integer().unwrap_or_default().to_string(),
            ),
            Kind::String | Kind::Symbol => {
                add(&mut spelled, &name, &scope.text(value).unwrap_or_default())
            }
            _ => {
                return Err(wrong_type(
                    scope,
                    value,
                    &format!("{name}:"),
                    "a String or a number",
                ));
            }
        }
    }
    Spec::of_place(&spelled).map_err(|error| failure::raise(scope, &error))
}

/// Adds a setting to a specification.
fn add(spelled: &mut String, name: &str, value: &str) {
    spelled.push(match spelled.contains('#') {
        true => ',',
        false => '#',
    });
    spelled.push_str(name);
    spelled.push('=');
    spelled.push_str(value);
}
