//! What Ruby's prelude calls: methods of the module `Tsumugi::Native`, written in Rust. They start work and read state;
//! they hold no policy, which is Ruby's. One file per subject.

mod arguments;
mod client;
mod cluster;
mod context;
mod conversion;
pub(crate) mod database;
mod definitions;
mod failure;
mod jobs;
mod kept_channel;
pub(crate) mod kv;
pub(crate) mod maintenance_event;
mod output;
mod parameters;
mod query;
pub(crate) mod rows;
mod span_place;
pub(crate) mod standard;
mod tracing;
mod wait;
mod web;

use std::rc::Rc;

use tsumugi_http::{HttpResponse, Request};
use tsumugi_mruby::{Result, Scope};

use crate::error::Error;
use crate::host::Host;
use definitions::Natives;
use maintenance_event::MaintenanceEvent;

pub(crate) use arguments::is_responded;
pub(crate) use failure::{error_page, error_response, source};
pub(crate) use wait::timer_period;
pub(crate) use web::input_shape;

/// Defines `Tsumugi::Native` and everything in it.
pub(crate) fn install<'s>(host: &Rc<Host>, scope: &'s Scope<'s>) -> Result<'s, ()> {
    let tsumugi = scope.constant("Tsumugi")?;
    let module = scope.define_module(tsumugi, "Native")?;
    let natives = Natives::new(host, scope, module);
    wait::install(&natives)?;
    output::install(&natives)?;
    tracing::install(&natives)?;
    context::install(&natives)?;
    parameters::install(&natives)?;
    conversion::install(&natives)?;
    web::install(&natives)?;
    database::install(&natives)?;
    rows::install(&natives)?;
    query::install(&natives)?;
    kv::install(&natives)?;
    cluster::install(&natives)?;
    jobs::install(&natives)?;
    kept_channel::install(&natives)?;
    standard::install(&natives)
}

/// Adds the client in the same process: `answer` answers its requests, with nothing once the application is gone.
pub(crate) fn offer_client<A>(
    host: &Rc<Host>,
    answer: impl Fn(Box<Request>) -> A + 'static,
) -> std::result::Result<(), Error>
where
    A: Future<Output = Option<HttpResponse>> + 'static,
{
    add(host, |natives| client::install(natives, answer))
}

/// Adds the reports on the work on a schema, for a command that shows them.
pub(crate) fn offer_maintenance_events(
    host: &Rc<Host>,
    report: impl Fn(MaintenanceEvent) + 'static,
) -> std::result::Result<(), Error> {
    add(host, |natives| maintenance_event::install(natives, report))
}

/// Defines more natives in a VM that has the others already.
fn add(
    host: &Rc<Host>,
    install: impl for<'s> FnOnce(&Natives<'s>) -> Result<'s, ()>,
) -> std::result::Result<(), Error> {
    host.vm.enter(|scope| {
        let module = scope.constant("Tsumugi::Native");
        let installed = module.and_then(|module| install(&Natives::new(host, scope, module)));
        installed.map_err(|raised| Error::raised(scope, raised))
    })
}
