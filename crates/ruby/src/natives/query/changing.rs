//! The methods of `DB::Query` that change rows: insert, update, delete. Ruby awaits what they start.
//! Rule: an insert answers the primary key, read by `returning`; several statements are committed or rolled back together.

use tsumugi_db::{Executor, KeyedExecutor, Rows};
use tsumugi_mruby::{Kind, Result, Scope, Value};
use tsumugi_sql::{Name, Query, Record, Statement};

use super::arguments::Reader;
use super::methods::Methods;
use super::parts::BuiltQuery;
use super::reading::wrap;
use crate::answer::{Operation, attempt};
use crate::host::Host;
use crate::natives::database::values;

pub(super) fn install<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    insert_one(methods)?;
    insert_several(methods)?;
    changes(methods)
}

fn insert_one<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    // One row, and the column to answer or nil for the primary key.
    methods.waiting("__insert", |host, reader, call, built| {
        let record = reader.record(call.argument(0))?;
        let insert = Insert::new(host, reader, built, call.argument(1))?;
        let depth_max = reader.json_depth_max();
        let is_returning = built.query.is_returning();
        Ok(insert_operation(
            insert,
            vec![record],
            move |scope, inserted| match inserted.into_iter().next().flatten() {
                Some(rows) if is_returning => wrap(scope, rows),
                rows => key(scope, rows, depth_max),
            },
        ))
    })
}

fn insert_several<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    // Several rows; how many there were, or what `returning` says.
    methods.waiting("__insert_all", |host, reader, call, built| {
        let records = records(reader, call.argument(0))?;
        if built.query.is_returning() {
            let insert = Insert::new(host, reader, built, Value::nil())?;
            return Ok(insert_operation(insert, records, |scope, inserted| {
                let rows = inserted.into_iter().flatten();
                scope.list(rows.map(|rows| wrap(scope, rows)))
            }));
        }
        let dialect = built.database.dialect();
        let statements = reader.accept(built.query.to_insert_all(&records, dialect))?;
        let executor = built.executor(host, reader)?;
        Ok(count(async move { executor.run_all(statements).await }))
    })?;
    // Several rows, one by one; the values of the column, or of the primary key.
    methods.waiting("__insert_ids", |host, reader, call, built| {
        let records = records(reader, call.argument(0))?;
        let insert = Insert::new(host, reader, built, call.argument(1))?;
        let depth_max = reader.json_depth_max();
        Ok(insert_operation(insert, records, move |scope, inserted| {
            let rows = inserted.into_iter();
            scope.list(rows.map(|rows| key(scope, rows, depth_max)))
        }))
    })
}

fn changes<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    methods.waiting("__update", |host, reader, call, built| {
        let query = built
            .query
            .clone()
            .set_all(reader.record(call.argument(0))?);
        let dialect = built.database.dialect();
        let statement = reader.accept(query.to_update(dialect))?;
        Ok(one(built.executor(host, reader)?, statement, &query))
    })?;
    methods.waiting("__delete", |host, reader, _, built| {
        let dialect = built.database.dialect();
        let statement = reader.accept(built.query.to_delete(dialect))?;
        Ok(one(built.executor(host, reader)?, statement, &built.query))
    })?;
    methods.derive("__set", |reader, call, query| {
        Ok(query.set_all(reader.record(call.argument(0))?))
    })?;
    methods.plain("__insert_sql", |reader, call, built| {
        let record = reader.record(call.argument(0))?;
        let made = built.query.to_insert(&record, built.database.dialect());
        reader.scope.string(&reader.accept(made)?.sql)
    })
}

fn records<'c>(reader: &Reader<'c>, rows: Value<'c>) -> Result<'c, Vec<Record>> {
    let rows = reader.flat(&[rows]);
    rows.into_iter().map(|row| reader.record(row)).collect()
}

/// An insert that has not begun.
struct Insert {
    keyed: KeyedExecutor,
    query: Query,
    column: Option<Name>,
}

/// What each row of an insert answers, if anything.
type InsertedRows = Vec<Option<Rows>>;

impl Insert {
    /// Of this query, which answers the column, or the primary key where that is nil, unless it says what it answers.
    fn new<'c>(
        host: &Host,
        reader: &Reader<'c>,
        built: &BuiltQuery,
        column: Value<'c>,
    ) -> Result<'c, Insert> {
        let column = match column.kind() {
            Kind::Nil => None,
            _ => Some(reader.name(column)?),
        };
        Ok(Insert {
            keyed: built.keyed(host, reader)?,
            query: built.query.clone(),
            column,
        })
    }

    async fn run(&self, records: &[Record]) -> tsumugi_db::Result<InsertedRows> {
        match &self.column {
            _ if self.query.is_returning() => self.keyed.insert(&self.query, &[], records).await,
            Some(column) => {
                let columns = std::slice::from_ref(column);
                self.keyed.insert(&self.query, columns, records).await
            }
            None => self.keyed.insert_keys(&self.query, records).await,
        }
    }
}

fn insert_operation(
    insert: Insert,
    records: Vec<Record>,
    make: impl for<'s> FnOnce(&'s Scope<'s>, InsertedRows) -> Result<'s, Value<'s>> + 'static,
) -> Operation {
    attempt(async move { insert.run(&records).await }, make)
}

/// The key of the row that was inserted, if one was.
fn key<'s>(scope: &'s Scope<'s>, rows: Option<Rows>, depth_max: usize) -> Result<'s, Value<'s>> {
    let Some(row) = rows.as_ref().and_then(Rows::first) else {
        return Ok(Value::nil());
    };
    let parts = row
        .values()
        .map(|part| values::value(scope, part, depth_max));
    match parts.collect::<Result<'s, Vec<_>>>()?.as_slice() {
        [part] => Ok(*part),
        parts => scope.array_of(parts),
    }
}

/// One statement: its rows if it says `returning`, otherwise how many it changed.
fn one(executor: Executor, statement: Statement, query: &Query) -> Operation {
    match query.is_returning() {
        true => attempt(async move { executor.fetch(statement).await }, wrap),
        false => count(async move { Ok(executor.run(statement).await?.affected) }),
    }
}

fn count(affected: impl Future<Output = tsumugi_db::Result<u64>> + 'static) -> Operation {
    attempt(affected, |scope, affected| Ok(scope.count(affected)))
}
