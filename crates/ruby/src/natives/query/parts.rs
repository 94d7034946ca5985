//! What objects of the builder carry in Ruby: a `DB::Query` its query and database, a `DB::Expression` a part of a query. Defines no
//! method. Rule: what the builder refuses is an error of the class that the same refusal of a database has.

use std::rc::Rc;

use tsumugi_mruby::{Kind, Raise, Result, Scope, Value};
use tsumugi_sql::{Expr, Item, Order, Query, Source, Statement};

use crate::answer::Failure as _;
use crate::natives::arguments::data;
use crate::natives::database::vm_database::VmDatabase;

/// What a `DB::Query` carries.
pub(crate) struct BuiltQuery {
    pub(super) query: Query,
    pub(super) database: Rc<VmDatabase>,
}

/// What a `DB::Expression` carries.
#[derive(Clone)]
pub(super) enum ExpressionPart {
    Expr(Expr),
    Item(Item),
    Order(Order),
    Source(Source),
}

/// The query that a `DB::Query` carries.
pub(super) fn built<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c BuiltQuery> {
    data(scope, value, "the query", "a DB::Query")
}

/// The query that a value carries, if it is a `DB::Query`.
pub(crate) fn built_query<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Option<&'c BuiltQuery> {
    match value.kind() {
        Kind::Data => scope.data::<BuiltQuery>(value),
        _ => None,
    }
}

impl BuiltQuery {
    /// The statement that gives its rows, if it is of this database.
    pub(crate) fn reading_on(
        &self,
        database: &Rc<VmDatabase>,
    ) -> Option<tsumugi_sql::Result<Statement>> {
        let is_its = self.database.is_same_as(database);
        is_its.then(|| self.query.to_rows(database.dialect()))
    }
}

/// The exception for what the builder refuses.
pub(crate) fn refused<'c>(scope: &'c Scope<'c>, error: tsumugi_sql::Error) -> Raise<'c> {
    tsumugi_db::Error::from(error).raise(scope)
}
