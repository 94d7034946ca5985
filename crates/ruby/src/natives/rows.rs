//! Results of queries in Ruby: a `DB::Rows` carries the packed rows; a row becomes a Hash or an Array only when it is
//! read.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_db::{Columns, Error, Format, Row, RowFeed, RowStream, Rows};
use tsumugi_mruby::{Result, Scope, Symbol, Value};

use super::database::values::{field, value};
use crate::answer::{Failure as _, Operation, attempt};
use crate::held_streams::HeldStream;
use crate::host::Host;
use crate::natives::arguments::{data, whole, wrong_type};
use crate::natives::definitions::Natives;

pub(crate) use super::database::packed::packed;

/// Rows that become Hashes or Arrays by one entry into the VM.
const ROWS_AT_ONCE: usize = 64;

/// Rows whose one value becomes an element between two looks at the watchdog.
const ROWS_UNINTERRUPTED: usize = 1_024;

/// What is sent as a body: rows that are there, or a stream of them.
pub(super) fn row_feed<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    format: Format,
) -> Result<'c, RowFeed> {
    match packed(scope, value) {
        Some(rows) => Ok(RowFeed::of_rows(rows.clone(), format)),
        None => {
            let (held, rows) = take_stream(scope, value)?;
            held.finish();
            Ok(RowFeed::of_stream(rows, format))
        }
    }
}

/// Opens a stream in Ruby, which closes with what the running job belongs to.
pub(super) fn open(
    host: &Rc<Host>,
    stream: impl Future<Output = tsumugi_db::Result<RowStream>> + 'static,
) -> Operation {
    let host = Rc::clone(host);
    attempt(stream, move |scope, stream| {
        scope.wrap_as("Tsumugi::Native::RowStream", host.job.hold(stream))
    })
}

/// Waits for the next rows of a stream.
fn next_rows<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Operation> {
    let (held, mut stream) = take_stream(scope, value)?;
    let rows = async move {
        let rows = stream.next().await;
        match rows {
            Ok(Some(_)) => held.put_back(stream),
            _ => held.finish(),
        }
        rows
    };
    Ok(attempt(rows, |scope, rows| match rows {
        Some(rows) => scope.wrap_as("DB::Rows", rows),
        None => Ok(Value::nil()),
    }))
}

/// The rows of a stream that is open and that no other fibre waits for.
fn take_stream<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
) -> Result<'c, (Rc<HeldStream>, RowStream)> {
    let held = scope.data::<Rc<HeldStream>>(value);
    if held.is_some_and(|held| held.is_closed()) {
        let closed = Error::Closed {
            what: "stream",
            reason: "the request or job that opened it has ended",
        };
        return Err(closed.raise(scope));
    }
    let rows = held.and_then(|held| Some((Rc::clone(held), held.take()?)));
    rows.ok_or_else(|| {
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
    natives.waiting("db_next_rows", |_, scope, call| {
        next_rows(scope, call.argument(0))
    })?;
    natives.plain("db_leave_stream", |_, scope, call| {
        if let Some(held) = scope.data::<Rc<HeldStream>>(call.argument(0)) {
            held.finish();
        }
        Ok(Value::nil())
    })?;
    let class = natives.scope().constant("DB::Rows")?;
    natives.method(class, "size", 0..=0, |_, scope, call| {
        Ok(scope.count(rows(scope, call.this)?.len()))
    })?;
    natives.plain("rows_columns", |_, scope, call| {
        let rows = rows(scope, call.argument(0))?;
        let names = rows.columns().names();
        scope.list(names.map(|name| Ok(Value::symbol(scope.intern(name)))))
    })?;
    as_objects(natives, class)?;
    natives.plain("rows_json", |_, scope, call| {
        let mut out = Vec::new();
        rows(scope, call.argument(0))?
            .write_json(&mut out)
            .map_err(|error| error.raise(scope))?;
        scope.string(out)
    })
}

fn as_objects<'s>(natives: &Natives<'s>, class: Value<'s>) -> Result<'s, ()> {
    let known = Rc::new(SymbolCache::default());
    let shared = Rc::clone(&known);
    natives.method(class, "to_a", 0..=0, move |host, scope, call| {
        let rows = rows(scope, call.this)?;
        let depth_max = host.settings.limits.json_depth_max;
        hashes(scope, &shared, rows, rows.len(), depth_max)
    })?;
    natives.method(class, "values", 0..=0, |host, scope, call| {
        let depth_max = host.settings.limits.json_depth_max;
        arrays(scope, rows(scope, call.this)?, depth_max)
    })?;
    let shared = Rc::clone(&known);
    natives.method(class, "first", 0..=1, move |host, scope, call| {
        let rows = rows(scope, call.this)?;
        let depth_max = host.settings.limits.json_depth_max;
        let count = call.argument(0);
        if count.is_nil() {
            return hash_at(scope, &shared, rows, 0, depth_max);
        }
        let Some(count) = whole(count) else {
            let message = "first takes how many rows: an Integer that is not negative";
            return Err(scope.error("ArgumentError", message));
        };
        hashes(scope, &shared, rows, count, depth_max)
    })?;
    natives.method(class, "[]", 1..=1, move |host, scope, call| {
        let rows = rows(scope, call.this)?;
        let index = call.argument(0);
        let Some(index) = index.as_integer() else {
            return Err(wrong_type(
                scope,
                index,
                "the number of a row",
                "an Integer",
            ));
        };
        // A negative one counts from the end.
        let index = usize::try_from(index).ok().or_else(|| {
            let back = usize::try_from(index.unsigned_abs()).ok()?;
            rows.len().checked_sub(back)
        });
        let Some(index) = index else {
            return Ok(Value::nil());
        };
        let depth_max = host.settings.limits.json_depth_max;
        hash_at(scope, &known, rows, index, depth_max)
    })
}

/// The first so many rows as Hashes.
fn hashes<'c>(
    scope: &'c Scope<'c>,
    known: &SymbolCache,
    rows: &Rows,
    count: usize,
    depth_max: usize,
) -> Result<'c, Value<'c>> {
    let names = symbols(scope, known, rows.columns());
    rows_array(scope, rows, count, Some(&names), depth_max)
}

/// All rows as Arrays of their values.
fn arrays<'c>(scope: &'c Scope<'c>, rows: &Rows, depth_max: usize) -> Result<'c, Value<'c>> {
    rows_array(scope, rows, rows.len(), None, depth_max)
}

/// An Array of the first so many rows: as Hashes of these names, or as Arrays.
fn rows_array<'c>(
    scope: &'c Scope<'c>,
    rows: &Rows,
    count: usize,
    names: Option<&[Symbol]>,
    depth_max: usize,
) -> Result<'c, Value<'c>> {
    let count = count.min(rows.len());
    let all = scope.array(count)?;
    let width = rows.columns().len();
    let mut iter = rows.iter();
    let mut left = count;
    while left > 0 {
        let some = left.min(ROWS_AT_ONCE);
        // What is made on the way to these rows may be collected before the next ones.
        scope
            .nested_try(|scope| push_some(scope, all, &mut iter, some, width, names, depth_max))?;
        scope.check_interrupt()?;
        left -= some;
    }
    Ok(all)
}

/// Appends the next so many rows.
fn push_some<'c, 'r>(
    scope: &'c Scope<'c>,
    all: Value<'_>,
    rows: &mut impl Iterator<Item = Row<'r>>,
    some: usize,
    width: usize,
    names: Option<&[Symbol]>,
    depth_max: usize,
) -> Result<'c, ()> {
    let mut fields = Vec::with_capacity(width * some);
    let mut count = 0;
    for row in rows.take(some) {
        for value in row.values() {
            fields.push(field(scope, value, depth_max)?);
        }
        count += 1;
    }
    match names {
        Some(names) => scope.push_records(all, names, count, &fields)?,
        None => scope.push_arrays(all, width, count, &fields)?,
    }
    Ok(())
}

/// A row as a Hash; nil if there is no such row.
pub(super) fn hash_at<'c>(
    scope: &'c Scope<'c>,
    known: &SymbolCache,
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
    if rows.columns().len() != 1 {
        return arrays(scope, rows, depth_max);
    }
    let all = scope.array(rows.len())?;
    for (index, row) in rows.iter().enumerate() {
        if index % ROWS_UNINTERRUPTED == ROWS_UNINTERRUPTED - 1 {
            scope.check_interrupt()?;
        }
        scope.nested_try(|scope| {
            let mut values = row.values().map(|one| value(scope, one, depth_max));
            values.try_for_each(|one| scope.push(all, one?))
        })?;
    }
    Ok(all)
}

/// The columns that were met last, with their names as Symbols: rows of one result, and results of one statement, come together.
pub(super) type SymbolCache = RefCell<Option<(Arc<Columns>, Rc<[Symbol]>)>>;

fn symbols(scope: &Scope<'_>, known: &SymbolCache, columns: &Arc<Columns>) -> Rc<[Symbol]> {
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
    data(scope, value, "the result", "a DB::Rows")
}
