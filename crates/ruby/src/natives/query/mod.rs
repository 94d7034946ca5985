//! The query builder in Ruby: `DB::Query` carries a query of `tsumugi_sql` and the database it belongs to, `DB::Expression` a part of
//! one. What a query becomes in SQL is decided there. Rule: a method answers a new object and leaves the old one as it was.

mod arguments;
mod building;
mod changing;
mod expressions;
mod methods;
mod parts;
mod reading;

use tsumugi_mruby::Result;

use crate::natives::definitions::Natives;
use methods::Methods;

pub(crate) use parts::{BuiltQuery, built_query, refused};

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
