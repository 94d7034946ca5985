//! Results of queries in Ruby: a `DB::Rows` carries the packed rows; a row becomes a Hash only when it is asked for.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_db::{Columns, RowStream, Rows};
use tsumugi_mruby::{Result, Scope, Symbol, Value};

use super::database::values::field;
use super::{Natives, wrong_type};
use crate::streaming::RowSource;

/// The rows of a `DB::Rows`.
pub(crate) fn packed<'c>(scope: &'c Scope<'_>, value: Value<'c>) -> Option<&'c Rows> {
    if value.kind() != tsumugi_mruby::Kind::Data {
        return None;
    }
    scope.data::<Rows>(value)
}

/// Rows that become Hashes between two looks at the watchdog.
const ROWS_UNINTERRUPTED: usize = 1_024;

/// A row stream that has not been read yet.
pub(crate) type Unread = RefCell<Option<RowStream>>;

/// What is sent as a body: rows that are there, or a stream of them.
pub(super) fn source<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, RowSource> {
    match packed(scope, value) {
        Some(rows) => Ok(RowSource::Whole(rows.clone())),
        None => take_stream(scope, value).map(RowSource::Stream),
    }
}

pub(super) fn take_stream<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, RowStream> {
    scope
        .data::<Unread>(value)
        .and_then(|unread| unread.borrow_mut().take())
        .ok_or_else(|| {
            wrong_type(
                scope,
                value,
                "what is streamed",
                "the rows of db.query, or those of db.stream, not read yet",
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
    as_hashes(natives)?;
    natives.plain("rows_json", |_, scope, call| {
        let mut out = Vec::new();
        rows(scope, call.argument(0))?
            .write_json(&mut out)
            .map_err(|error| super::database::raise(scope, &error))?;
        scope.string(out)
    })
}

fn as_hashes<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let known = Rc::new(Known::default());
    let shared = Rc::clone(&known);
    natives.plain("rows_all", move |host, scope, call| {
        let rows = rows(scope, call.argument(0))?;
        let depth_max = host.settings.limits.json_depth_max;
        let names = symbols(scope, &shared, rows.columns());
        let all = scope.array(rows.len())?;
        let mut fields = Vec::with_capacity(names.len());
        for (index, row) in (0..rows.len()).map_while(|i| Some((i, rows.row(i)?))) {
            if index % ROWS_UNINTERRUPTED == ROWS_UNINTERRUPTED - 1 {
                scope.check_interrupt()?;
            }
            fields.clear();
            for value in row.values() {
                fields.push(field(scope, value, depth_max)?);
            }
            scope.push_record(all, &names, &fields)?;
        }
        Ok(all)
    })?;
    natives.plain("rows_at", move |host, scope, call| {
        let rows = rows(scope, call.argument(0))?;
        let index = call
            .argument(1)
            .as_integer()
            .and_then(|i| usize::try_from(i).ok());
        let Some(row) = index.and_then(|index| rows.row(index)) else {
            return Ok(Value::nil());
        };
        let depth_max = host.settings.limits.json_depth_max;
        let names = symbols(scope, &known, rows.columns());
        let fields = row
            .values()
            .map(|value| field(scope, value, depth_max))
            .collect::<Result<'_, Vec<_>>>()?;
        scope.record(&names, &fields)
    })
}

/// The columns that were met last, with their names as Symbols: rows of one result, and results of one statement, come together.
type Known = RefCell<Option<(Arc<Columns>, Rc<[Symbol]>)>>;

fn symbols(scope: &Scope<'_>, known: &Known, columns: &Arc<Columns>) -> Rc<[Symbol]> {
    if let Some((met, names)) = &*known.borrow()
        && Arc::ptr_eq(met, columns)
    {
        return Rc::clone(names);
    }
    let names: Rc<[Symbol]> = columns.names().map(|name| scope.intern(name)).collect();
    *known.borrow_mut() = Some((Arc::clone(columns), Rc::clone(&names)));
    names
}

fn rows<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c Rows> {
    packed(scope, value).ok_or_else(|| wrong_type(scope, value, "the result", "a DB::Rows"))
}
