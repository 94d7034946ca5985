//! Results of queries in Ruby: a `DB::Rows` carries the packed rows; a row becomes a Hash only when it is asked for.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_db::{Columns, RowStream, Rows};
use tsumugi_mruby::{Raise, Result, Scope, Symbol, Value};

use super::database::values::{field, value};
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
        let Some(index) = index else {
            return Ok(Value::nil());
        };
        let depth_max = host.settings.limits.json_depth_max;
        hash_at(scope, &known, rows, index, depth_max)
    })
}

/// A row as a Hash; nil if there is no such row.
pub(super) fn hash_at<'c>(
    scope: &'c Scope<'c>,
    known: &Known,
    rows: &Rows,
    index: usize,
    depth_max: usize,
) -> Result<'c, Value<'c>> {
    let Some(row) = rows.row(index) else {
        return Ok(Value::nil());
    };
    let names = symbols(scope, known, rows.columns());
    let mut fields = Vec::with_capacity(names.len());
    for value in row.values() {
        fields.push(field(scope, value, depth_max)?);
    }
    scope.record(&names, &fields)
}

/// The values of all rows in an Array, in one of its own for each row unless there is one column.
pub(super) fn values_at<'c>(
    scope: &'c Scope<'c>,
    rows: &Rows,
    depth_max: usize,
) -> Result<'c, Value<'c>> {
    let all = scope.array(rows.len())?;
    let single = rows.columns().len() == 1;
    for (index, row) in rows.iter().enumerate() {
        if index % ROWS_UNINTERRUPTED == ROWS_UNINTERRUPTED - 1 {
            scope.check_interrupt()?;
        }
        let made = scope.nested(|scope| {
            let values = row.values().map(|one| value(scope, one, depth_max));
            let values = values.collect::<Result<'_, Vec<Value<'_>>>>();
            let pushed = values.and_then(|values| match values.as_slice() {
                [only] if single => scope.push(all, *only),
                several => scope.push(all, scope.array_of(several)?),
            });
            pushed.map_err(|raised| scope.root(raised.0))
        });
        made.map_err(|root| Raise(scope.rooted(&root)))?;
    }
    Ok(all)
}

/// The columns that were met last, with their names as Symbols: rows of one result, and results of one statement, come together.
pub(super) type Known = RefCell<Option<(Arc<Columns>, Rc<[Symbol]>)>>;

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
