//! What Ruby's prelude calls: methods of the module `Tsumugi::Native`, written in Rust. They start work and read state;
//! they hold no policy, which is Ruby's. One file per subject.

mod client;
mod context;
pub(crate) mod database;
mod failure;
pub(crate) mod kv;
mod news;
mod output;
mod parameters;
mod query;
pub(crate) mod rows;
pub(crate) mod standard;
mod wait;
mod web;

use std::ops::{Bound, RangeBounds};
use std::rc::{Rc, Weak};

use tsumugi_mruby::{NativeCall, NativeReply, Raise, Result, Scope, Suspension, Value};

use crate::answer::Operation;
use crate::app::App;
use crate::error::Error;
use crate::exchange::Exchange;
use crate::host::Host;
use crate::maintenance::News;

pub(crate) use failure::error_page;

/// Defines natives on one module.
pub(crate) struct Natives<'s> {
    host: Weak<Host>,
    scope: &'s Scope<'s>,
    module: Value<'s>,
}

/// Defines `Tsumugi::Native` and everything in it.
pub(crate) fn install<'s>(host: &Rc<Host>, scope: &'s Scope<'s>) -> Result<'s, ()> {
    let tsumugi = scope.constant("Tsumugi")?;
    let module = scope.define_module(tsumugi, "Native")?;
    let natives = Natives {
        host: Rc::downgrade(host),
        scope,
        module,
    };
    wait::install(&natives)?;
    output::install(&natives)?;
    context::install(&natives)?;
    parameters::install(&natives)?;
    web::install(&natives)?;
    database::install(&natives)?;
    rows::install(&natives)?;
    query::install(&natives)?;
    kv::install(&natives)?;
    standard::install(&natives)
}

/// Adds the client in the same process; see `client`.
pub(crate) fn offer_client(app: &Rc<App>) -> std::result::Result<(), Error> {
    let host = app.host();
    host.vm.enter(|scope| {
        let install = || {
            let natives = Natives {
                host: Rc::downgrade(host),
                scope,
                module: scope.constant("Tsumugi::Native")?,
            };
            client::install(&natives, app)
        };
        install().map_err(|raised: Raise<'_>| Error::Raised {
            report: scope.report(raised),
        })
    })
}

/// Adds what tells a command of the work on a schema; see `maintenance`.
pub(crate) fn offer_news(
    host: &Rc<Host>,
    hear: impl Fn(News) + 'static,
) -> std::result::Result<(), Error> {
    host.vm.enter(|scope| {
        let install = || {
            let natives = Natives {
                host: Rc::downgrade(host),
                scope,
                module: scope.constant("Tsumugi::Native")?,
            };
            news::install(&natives, hear)
        };
        install().map_err(|raised: Raise<'_>| Error::Raised {
            report: scope.report(raised),
        })
    })
}

impl<'s> Natives<'s> {
    /// A native that returns at once.
    pub fn plain<F>(&self, name: &str, native: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Value<'c>> + 'static,
    {
        self.scope
            .define_singleton(self.module, name, Suspension::Never, self.returning(native))
    }

    /// The same as a method of `class` that takes so many arguments: for what is called so often that a method in Ruby around it
    /// would be felt.
    pub fn method<F>(
        &self,
        class: Value<'s>,
        name: &str,
        takes: impl RangeBounds<usize> + 'static,
        native: F,
    ) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Value<'c>> + 'static,
    {
        let native = counted(takes, self.returning(native));
        self.scope
            .define_method(class, name, Suspension::Never, native)
    }

    /// A native that starts an operation; the fibre parks until it is over.
    pub fn waiting<F>(&self, name: &str, native: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Operation> + 'static,
    {
        self.scope
            .define_singleton(self.module, name, Suspension::Maybe, self.parking(native))
    }

    /// The same as a method of `class` that takes so many arguments.
    pub fn waiting_method<F>(
        &self,
        class: Value<'s>,
        name: &str,
        takes: impl RangeBounds<usize> + 'static,
        native: F,
    ) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Operation> + 'static,
    {
        let native = counted(takes, self.parking(native));
        self.scope
            .define_method(class, name, Suspension::Maybe, native)
    }

    fn returning<F>(
        &self,
        native: F,
    ) -> impl for<'c> Fn(&'c Scope<'c>, &NativeCall<'c>) -> Result<'c, NativeReply<'c>> + use<F>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Value<'c>> + 'static,
    {
        let host = self.host.clone();
        move |scope, call| {
            let host = alive(&host, scope)?;
            native(&host, scope, call).map(NativeReply::Value)
        }
    }

    fn parking<F>(
        &self,
        native: F,
    ) -> impl for<'c> Fn(&'c Scope<'c>, &NativeCall<'c>) -> Result<'c, NativeReply<'c>> + use<F>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Operation> + 'static,
    {
        let host = self.host.clone();
        move |scope, call| {
            let host = alive(&host, scope)?;
            let operation = native(&host, scope, call)?;
            *host.pending.borrow_mut() = Some(operation);
            Ok(NativeReply::Yield(Value::nil()))
        }
    }

    /// A native that parks the fibre only when what it answers takes time.
    pub fn maybe_waiting<F>(&self, name: &str, native: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Maybe<'c>> + 'static,
    {
        let host = self.host.clone();
        self.scope
            .define_singleton(self.module, name, Suspension::Maybe, move |scope, call| {
                let host = alive(&host, scope)?;
                Ok(match native(&host, scope, call)? {
                    Maybe::Value(value) => NativeReply::Value(value),
                    Maybe::Wait(operation) => {
                        *host.pending.borrow_mut() = Some(operation);
                        NativeReply::Yield(Value::nil())
                    }
                })
            })
    }

    /// A class under `Tsumugi::Native` whose instances carry Rust data.
    pub fn data_class(&self, name: &str) -> Result<'s, Value<'s>> {
        let class = self
            .scope
            .define_class(self.module, name, self.scope.object_class())?;
        self.scope.carries_data(class);
        Ok(class)
    }

    /// The scope of the definitions.
    pub fn scope(&self) -> &'s Scope<'s> {
        self.scope
    }

    /// The host, for natives of other modules.
    pub fn host(&self) -> &Weak<Host> {
        &self.host
    }
}

/// A native that takes so many arguments.
fn counted<F>(
    takes: impl RangeBounds<usize> + 'static,
    native: F,
) -> impl for<'c> Fn(&'c Scope<'c>, &NativeCall<'c>) -> Result<'c, NativeReply<'c>>
where
    F: for<'c> Fn(&'c Scope<'c>, &NativeCall<'c>) -> Result<'c, NativeReply<'c>>,
{
    move |scope, call| {
        check_count(scope, call, &takes)?;
        native(scope, call)
    }
}

/// Refuses a wrong number of arguments in Ruby's words.
fn check_count<'c>(
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
    takes: &impl RangeBounds<usize>,
) -> Result<'c, ()> {
    let given = call.arguments().len();
    if takes.contains(&given) {
        return Ok(());
    }
    let least = match takes.start_bound() {
        Bound::Included(least) => *least,
        _ => 0,
    };
    let expected = match takes.end_bound() {
        Bound::Included(most) if *most == least => least.to_string(),
        Bound::Included(most) => format!("{least}..{most}"),
        _ => format!("{least}+"),
    };
    let message = format!("wrong number of arguments (given {given}, expected {expected})");
    Err(scope.error("ArgumentError", message))
}

/// What a native that parks only sometimes answers.
pub(crate) enum Maybe<'c> {
    /// The value, at once.
    Value(Value<'c>),
    /// What the fibre waits for.
    Wait(Operation),
}

fn alive<'c>(host: &Weak<Host>, scope: &'c Scope<'c>) -> Result<'c, Rc<Host>> {
    host.upgrade()
        .ok_or_else(|| scope.error("RuntimeError", "the application is being replaced"))
}

/// The exchange of a context.
pub(crate) fn exchange<'c>(scope: &'c Scope<'c>, context: Value<'c>) -> Result<'c, Rc<Exchange>> {
    let Some(exchange) = scope.data::<Weak<Exchange>>(context) else {
        let message = "this is for handlers: there is no request here";
        return Err(scope.error("TypeError", message));
    };
    exchange.upgrade().ok_or_else(|| {
        let message = "the request is over: read what is needed of it before it is answered";
        scope.error("RuntimeError", message)
    })
}

/// A String or Symbol argument as text.
pub(crate) fn text<'c>(scope: &'c Scope<'c>, value: Value<'c>, what: &str) -> Result<'c, String> {
    scope
        .text(value)
        .ok_or_else(|| wrong_type(scope, value, what, "a String"))
}

/// The TypeError for an argument.
pub(crate) fn wrong_type<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    what: &str,
    wanted: &str,
) -> Raise<'c> {
    scope.error(
        "TypeError",
        format!("{what} must be {wanted}, not {}", scope.class_name(value)),
    )
}

/// Is this what `json`, `text` and `redirect` return: the answer is in the draft already?
pub(crate) fn is_responded(scope: &Scope<'_>, value: Value<'_>) -> bool {
    value.as_symbol() == Some(scope.intern("tsumugi.responded"))
}
