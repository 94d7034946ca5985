//! How the methods of `DB::Query` are defined. Knows none of them.
//! Rule: a method reads its arguments before anything waits.

use std::rc::Rc;

use tsumugi_mruby::{NativeCall, Result, Value};
use tsumugi_sql::Query;

use super::arguments::Reader;
use super::parts::{BuiltQuery, built};
use crate::answer::Operation;
use crate::host::Host;
use crate::natives::definitions::Natives;

/// Defines the methods of `DB::Query`.
pub(super) struct Methods<'n, 's> {
    pub(super) natives: &'n Natives<'s>,
    pub(super) class: Value<'s>,
}

impl<'s> Methods<'_, 's> {
    /// A method that answers the query changed.
    pub(super) fn derive<F>(&self, name: &str, change: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Reader<'c>, &NativeCall<'c>, Query) -> Result<'c, Query> + 'static,
    {
        self.plain(name, move |reader, call, built| {
            let query = change(reader, call, built.query.clone())?;
            reader.derive(call, built, query)
        })
    }

    /// A method that returns at once.
    pub(super) fn plain<F>(&self, name: &str, method: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Reader<'c>, &NativeCall<'c>, &'c BuiltQuery) -> Result<'c, Value<'c>>
            + 'static,
    {
        self.natives
            .uncounted_method(self.class, name, move |host, scope, call| {
                let reader = Reader::new(host, scope);
                method(&reader, call, built(scope, call.this)?)
            })
    }

    /// A method that starts an operation; Ruby awaits it.
    pub(super) fn waiting<F>(&self, name: &str, method: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(
                &Rc<Host>,
                &Reader<'c>,
                &NativeCall<'c>,
                &'c BuiltQuery,
            ) -> Result<'c, Operation>
            + 'static,
    {
        self.natives
            .waiting_method(self.class, name, .., move |host, scope, call| {
                let reader = Reader::new(host, scope);
                method(host, &reader, call, built(scope, call.this)?)
            })
    }
}
