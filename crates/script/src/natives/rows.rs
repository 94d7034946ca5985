//! Results of queries in Ruby: a `DB::Rows` carries the packed rows; a row becomes a Hash only when it is asked for.

use std::cell::RefCell;

use tsumugi_db::{RowStream, Rows};
use tsumugi_mruby::{Result, Scope, Value};

use super::database::values::ruby;
use super::{Natives, wrong_type};

/// The rows of a `DB::Rows`.
pub(crate) fn packed<'c>(scope: &'c Scope<'_>, value: Value<'c>) -> Option<&'c Rows> {
    if value.kind() != tsumugi_mruby::Kind::Data {
        return None;
    }
    scope.data::<Rows>(value)
}

/// A row stream that has not been read yet.
pub(crate) type Unread = RefCell<Option<RowStream>>;

pub(super) fn take_stream<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, RowStream> {
    scope
        .data::<Unread>(value)
        .and_then(|unread| unread.borrow_mut().take())
        .ok_or_else(|| {
            wrong_type(
                scope,
                value,
                "what is streamed",
                "the rows of db.stream, not read yet",
            )
        })
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("RowStream")?;
    natives.plain("rows_size", |_, scope, call| {
        let size = rows(scope, call.argument(0))?.len();
        Ok(scope.integer(i64::try_from(size).unwrap_or(i64::MAX)))
    })?;
    natives.plain("rows_columns", |_, scope, call| {
        let rows = rows(scope, call.argument(0))?;
        let names = scope.array(rows.columns().len())?;
        for name in rows.columns().names() {
            scope.push(names, Value::symbol(scope.intern(name)))?;
        }
        Ok(names)
    })?;
    natives.plain("rows_at", |host, scope, call| {
        let rows = rows(scope, call.argument(0))?;
        let index = call
            .argument(1)
            .as_integer()
            .and_then(|i| usize::try_from(i).ok());
        match index.and_then(|index| rows.row(index)) {
            None => Ok(Value::nil()),
            Some(row) => {
                let depth_max = host.settings.limits.json_depth_max;
                let hash = scope.hash(rows.columns().len())?;
                for (name, value) in rows.columns().names().zip(row.values()) {
                    scope.hash_set(
                        hash,
                        Value::symbol(scope.intern(name)),
                        ruby(scope, value, depth_max)?,
                    )?;
                }
                Ok(hash)
            }
        }
    })?;
    natives.plain("rows_json", |_, scope, call| {
        let mut out = Vec::new();
        rows(scope, call.argument(0))?
            .write_json(&mut out)
            .map_err(|error| super::database::raise(scope, &error))?;
        scope.string(out)
    })
}

fn rows<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c Rows> {
    packed(scope, value).ok_or_else(|| wrong_type(scope, value, "the result", "a DB::Rows"))
}
