//! The query builder in Ruby: `DB::Query` carries a query of `tsumugi_sql` and the database it belongs to, `DB::Expression` a part of
//! one. What a query becomes in SQL is decided there. Rule: a method answers a new object and leaves the old one as it was.

mod arguments;
mod building;
mod changing;
mod expressions;
mod reading;

use std::rc::Rc;

use tsumugi_mruby::{NativeCall, NativeReply, Raise, Result, Scope, Suspension, Value};
use tsumugi_sql::{Expr, Item, Order, Query, Source};

use super::Natives;
use super::database::face::Face;
use super::database::raise;
use crate::answer::Operation;
use crate::host::Host;
use arguments::Reader;

/// What a `DB::Query` carries.
pub(super) struct Built {
    query: Query,
    face: Rc<Face>,
}

/// What a `DB::Expression` carries.
#[derive(Clone)]
enum Part {
    Expr(Expr),
    Item(Item),
    Order(Order),
    Source(Source),
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let db = scope.constant("DB")?;
    let query = scope.define_class(db, "Query", scope.object_class())?;
    scope.carries_data(query);
    let methods = Methods {
        natives,
        class: query,
    };
    building::install(&methods)?;
    reading::install(&methods)?;
    changing::install(&methods)?;
    expressions::install(natives, db)
}

/// Defines the methods of `DB::Query`.
struct Methods<'n, 's> {
    natives: &'n Natives<'s>,
    class: Value<'s>,
}

impl<'s> Methods<'_, 's> {
    /// A method that answers the query changed.
    fn derive<F>(&self, name: &str, change: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Reader<'c>, &NativeCall<'c>, Query) -> Result<'c, Query> + 'static,
    {
        self.plain(name, move |reader, call, built| {
            let query = change(reader, call, built.query.clone())?;
            reader.derived(call, built, query)
        })
    }

    /// A method that returns at once.
    fn plain<F>(&self, name: &str, method: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Reader<'c>, &NativeCall<'c>, &'c Built) -> Result<'c, Value<'c>> + 'static,
    {
        let host = self.natives.host().clone();
        let scope = self.natives.scope();
        scope.define_method(self.class, name, Suspension::Never, move |scope, call| {
            let host = super::alive(&host, scope)?;
            let reader = Reader::new(&host, scope);
            method(&reader, call, built(scope, call.this)?).map(NativeReply::Value)
        })
    }

    /// A method that starts an operation; Ruby awaits it.
    fn waiting<F>(&self, name: &str, method: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Rc<Host>, &Reader<'c>, &NativeCall<'c>, &'c Built) -> Result<'c, Operation>
            + 'static,
    {
        let host = self.natives.host().clone();
        let scope = self.natives.scope();
        scope.define_method(self.class, name, Suspension::Maybe, move |scope, call| {
            let host = super::alive(&host, scope)?;
            let reader = Reader::new(&host, scope);
            let operation = method(&host, &reader, call, built(scope, call.this)?)?;
            *host.pending.borrow_mut() = Some(operation);
            Ok(NativeReply::Yield(Value::nil()))
        })
    }
}

/// The query that a `DB::Query` carries.
fn built<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c Built> {
    scope
        .data::<Built>(value)
        .ok_or_else(|| super::wrong_type(scope, value, "the query", "a DB::Query"))
}

/// The exception for what the builder refuses.
fn refused<'c>(scope: &'c Scope<'c>, error: tsumugi_sql::Error) -> Raise<'c> {
    raise(scope, &error.into())
}
