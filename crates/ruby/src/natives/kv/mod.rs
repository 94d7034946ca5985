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
use std::time::Duration;

use tsumugi_kv::Spec;
use tsumugi_mruby::{Kind, Result, Scope, Value};
use tsumugi_server::DataAccess;

use crate::answer::{Failure as _, attempt};
use crate::host::Host;
use crate::natives::arguments::{text, wrong_type};
use crate::natives::definitions::Natives;
use failure::Outcome;
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
        let settings = &host.settings;
        let spec = settings.access.store(spec, &settings.data_dir);
        let watcher = Rc::downgrade(host);
        let store = open(Rc::clone(host), spec, ttl);
        Ok(attempt(store, move |scope, store| {
            wrap(scope, &watcher, store)
        }))
    })?;
    reads::install(natives)?;
    writes::install(natives)?;
    queue::install(natives)?;
    scans::install(natives)?;
    watching::install(natives)?;
    cached::install(natives)
}

/// Opens a store of this process, or reaches it through the process that has it.
async fn open(host: Rc<Host>, spec: Spec, ttl: Option<Duration>) -> Outcome<KvStore> {
    let access = host.settings.access;
    let opened = host.worker.offload(move || (access.open(&spec), spec));
    let (database, spec) = opened.await?;
    let database = database?;
    let has_other = access == DataAccess::Shared && database.is_unavailable();
    if has_other && let Some(store) = service::of_folder(&host, &spec, ttl).await {
        return Ok(store);
    }
    Ok(KvStore::embedded(database, ttl))
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
