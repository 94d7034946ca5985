//! How natives are defined: plain ones, ones that park their fibre, methods of classes that carry data. Knows none of them.
//! Rule: a native reaches its application through a weak pointer, and says so when the application is gone.

use std::ops::{Bound, RangeBounds};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use tsumugi_mruby::{NativeCall, NativeReply, Raise, Result, Scope, Suspension, Value};

use crate::answer::Operation;
use crate::exchange::Exchange;
use crate::host::Host;
use crate::natives::span_place::placed;

/// Defines natives on one module.
pub(crate) struct Natives<'s> {
    host: Weak<Host>,
    scope: &'s Scope<'s>,
    module: Value<'s>,
}

impl<'s> Natives<'s> {
    /// For definitions on this module.
    pub(super) fn new(host: &Rc<Host>, scope: &'s Scope<'s>, module: Value<'s>) -> Natives<'s> {
        Natives {
            host: Rc::downgrade(host),
            scope,
            module,
        }
    }

    /// The same for definitions on another module or class.
    pub fn within(&self, module: Value<'s>) -> Natives<'s> {
        Natives {
            host: Weak::clone(&self.host),
            scope: self.scope,
            module,
        }
    }

    /// A native that returns at once.
    pub fn plain<F>(&self, name: &str, native: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Value<'c>> + 'static,
    {
        self.scope
            .define_singleton(self.module, name, Suspension::Never, self.returning(native))
    }

    /// The same for one that is about the request whose context is its first argument.
    pub fn of_request<F>(&self, name: &str, native: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(
                &Rc<Host>,
                &'c Scope<'c>,
                &Exchange,
                &NativeCall<'c>,
            ) -> Result<'c, Value<'c>>
            + 'static,
    {
        self.plain(name, move |host, scope, call| {
            native(host, scope, &*exchange(scope, call.argument(0))?, call)
        })
    }

    /// A method of `class` that returns at once. The prelude's methods around it have counted the arguments.
    pub fn uncounted_method<F>(&self, class: Value<'s>, name: &str, native: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Value<'c>> + 'static,
    {
        self.scope
            .define_method(class, name, Suspension::Never, self.returning(native))
    }

    /// The same for one that needs no application.
    pub fn in_place<F>(&self, class: Value<'s>, name: &str, native: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Value<'c>> + 'static,
    {
        self.scope
            .define_method(class, name, Suspension::Never, move |scope, call| {
                native(scope, call).map(NativeReply::Value)
            })
    }

    /// The same as `uncounted_method` for one that takes so many arguments: for what is called so often that a method in Ruby around it would be felt.
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
            let operation = placed(&host, scope, native(&host, scope, call)?);
            *host.pending.borrow_mut() = Some(operation);
            Ok(NativeReply::Yield(Value::nil()))
        }
    }

    /// A native that parks the fibre only when its operation takes time.
    pub fn maybe_waiting<F>(&self, name: &str, native: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Rc<Host>, &'c Scope<'c>, &NativeCall<'c>) -> Result<'c, Operation> + 'static,
    {
        let host = self.host.clone();
        self.scope
            .define_singleton(self.module, name, Suspension::Maybe, move |scope, call| {
                let host = alive(&host, scope)?;
                let mut operation = placed(&host, scope, native(&host, scope, call)?);
                // Parked, it is polled again by a task that can be woken.
                let first = operation
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()));
                if let Poll::Ready(answer) = first {
                    return answer(scope).map(NativeReply::Value);
                }
                *host.pending.borrow_mut() = Some(operation);
                Ok(NativeReply::Yield(Value::nil()))
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
    match takes.contains(&given) {
        true => Ok(()),
        false => Err(wrong_count(scope, given, takes)),
    }
}

/// The error for a wrong number of arguments.
pub(crate) fn wrong_count<'c>(
    scope: &'c Scope<'c>,
    given: usize,
    takes: &impl RangeBounds<usize>,
) -> Raise<'c> {
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
    scope.error("ArgumentError", message)
}

/// The host, unless its application has been replaced.
pub(crate) fn alive<'c>(host: &Weak<Host>, scope: &'c Scope<'_>) -> Result<'c, Rc<Host>> {
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
