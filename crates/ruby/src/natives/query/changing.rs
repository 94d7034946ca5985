//! The methods of `DB::Query` that change rows: insert, update, delete. Ruby awaits what they start.
//! Rule: an insert answers the primary key, read by `returning`; several statements are committed or rolled back together.

use std::rc::Rc;

use tsumugi_db::{ExecuteResult, Executor, PrimaryKeys, Rows};
use tsumugi_mruby::{Kind, Result, Scope, Value};
use tsumugi_sql::{Dialect, Item, Name, Query, Record, Statement};

use super::arguments::Reader;
use super::methods::Methods;
use super::parts::BuiltQuery;
use super::reading::wrap;
use crate::answer::{Answer, Operation, answer};
use crate::host::Host;
use crate::natives::database::failure::failure;
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
        let column = column(reader, call.argument(1))?;
        let insert = Insert::new(host, reader, built)?;
        let depth_max = reader.json_depth_max();
        Ok(Box::pin(async move {
            match insert.one(record, column).await {
                Ok(inserted) => answer(move |scope| inserted.value(scope, depth_max)),
                Err(error) => insert.fail(error),
            }
        }) as Operation)
    })
}

fn insert_several<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    // Several rows; how many there were, or what `returning` says.
    methods.waiting("__insert_all", |host, reader, call, built| {
        let records = records(reader, call.argument(0))?;
        let dialect = built.database.dialect();
        if built.query.is_returning() {
            let each = records
                .iter()
                .map(|record| built.query.to_insert(record, dialect));
            let each = reader.accept(each.collect::<tsumugi_sql::Result<Vec<Statement>>>())?;
            return Ok(many(built.executor(host, reader)?, each));
        }
        let statements = reader.accept(built.query.to_insert_all(&records, dialect))?;
        let executor = built.executor(host, reader)?;
        Ok(Box::pin(async move { count_answer(executor.run_all(statements).await) }) as Operation)
    })?;
    // Several rows, one by one; the values of the column, or of the primary key.
    methods.waiting("__insert_ids", |host, reader, call, built| {
        let records = records(reader, call.argument(0))?;
        let column = column(reader, call.argument(1))?;
        let insert = Insert::new(host, reader, built)?;
        let depth_max = reader.json_depth_max();
        Ok(Box::pin(async move {
            match insert.each(records, column).await {
                Ok(inserted) => answer(move |scope| {
                    let ids = scope.array(inserted.len())?;
                    for one in inserted {
                        scope.push(ids, one.value(scope, depth_max)?)?;
                    }
                    Ok(ids)
                }),
                Err(error) => insert.fail(error),
            }
        }) as Operation)
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

fn column<'c>(reader: &Reader<'c>, value: Value<'c>) -> Result<'c, Option<Name>> {
    match value.kind() {
        Kind::Nil => Ok(None),
        _ => reader.name(value).map(Some),
    }
}

fn records<'c>(reader: &Reader<'c>, rows: Value<'c>) -> Result<'c, Vec<Record>> {
    let rows = reader.flat(&[rows]);
    rows.into_iter().map(|row| reader.record(row)).collect()
}

/// An insert under way.
struct Insert {
    executor: Executor,
    keys: Rc<PrimaryKeys>,
    dialect: &'static Dialect,
    query: Query,
}

/// What an insert answered.
enum InsertOutput {
    /// What `returning` says.
    Rows(Rows),
    /// The key of the row, if one was inserted.
    Key(Rows),
    Nothing,
}

impl InsertOutput {
    fn value<'s>(self, scope: &'s Scope<'s>, depth_max: usize) -> Result<'s, Value<'s>> {
        let key = match self {
            InsertOutput::Rows(rows) => return wrap(scope, rows),
            InsertOutput::Nothing => return Ok(Value::nil()),
            InsertOutput::Key(rows) => rows,
        };
        let Some(row) = key.first() else {
            return Ok(Value::nil());
        };
        let parts = row
            .values()
            .map(|part| values::value(scope, part, depth_max));
        let mut parts = parts.collect::<Result<'s, Vec<Value<'s>>>>()?;
        match parts.len() {
            1 => Ok(parts.swap_remove(0)),
            _ => scope.array_of(&parts),
        }
    }
}

impl Insert {
    fn new<'c>(host: &Host, reader: &Reader<'c>, built: &BuiltQuery) -> Result<'c, Insert> {
        Ok(Insert {
            executor: built.executor(host, reader)?,
            keys: built.database.keys(host.job.number()),
            dialect: built.database.dialect(),
            query: built.query.clone(),
        })
    }

    /// What the inserts answer: what the query says, or the column, or the primary key.
    async fn returning(&self, column: Option<Name>) -> tsumugi_db::Result<Query> {
        if self.query.is_returning() {
            return Ok(self.query.clone());
        }
        let columns: Vec<Name> = match (column, self.query.table_name()) {
            (Some(column), _) => vec![column],
            (None, Some(table)) => {
                let key = self
                    .executor
                    .primary_key(&self.keys, table)
                    .await?
                    .unwrap_or_default();
                key.columns().to_vec()
            }
            (None, None) => Vec::new(),
        };
        let items: Vec<Item> = columns
            .into_iter()
            .map(|column| tsumugi_sql::col(column).into())
            .collect();
        Ok(self.query.clone().returning(items))
    }

    async fn one(&self, record: Record, column: Option<Name>) -> tsumugi_db::Result<InsertOutput> {
        let query = self.returning(column).await?;
        let statement = query.to_insert(&record, self.dialect)?;
        if !query.is_returning() {
            self.executor.run(statement).await?;
            return Ok(InsertOutput::Nothing);
        }
        let rows = self.executor.fetch(statement).await?;
        Ok(if self.query.is_returning() {
            InsertOutput::Rows(rows)
        } else {
            InsertOutput::Key(rows)
        })
    }

    async fn each(
        &self,
        records: Vec<Record>,
        column: Option<Name>,
    ) -> tsumugi_db::Result<Vec<InsertOutput>> {
        let query = self.returning(column).await?;
        let statements = records
            .iter()
            .map(|record| query.to_insert(record, self.dialect));
        let statements = statements.collect::<tsumugi_sql::Result<Vec<_>>>()?;
        let rows = self.executor.fetch_all(statements).await?;
        let made = |rows| {
            if query.is_returning() {
                InsertOutput::Key(rows)
            } else {
                InsertOutput::Nothing
            }
        };
        Ok(rows.into_iter().map(made).collect())
    }

    /// The answer to an error. A table that was changed may have another key now.
    fn fail(&self, error: tsumugi_db::Error) -> Answer {
        if let Some(table) = self.query.table_name() {
            self.keys.failed(table, &error);
        }
        failure(error)
    }
}

/// One statement: its rows if it says `returning`, otherwise how many it changed.
fn one(executor: Executor, statement: Statement, query: &Query) -> Operation {
    let returns = query.is_returning();
    Box::pin(async move {
        if returns {
            return match executor.fetch(statement).await {
                Ok(rows) => answer(move |scope| wrap(scope, rows)),
                Err(error) => failure(error),
            };
        }
        let executed = executor.run(statement).await;
        count_answer(executed.map(|ExecuteResult { affected, .. }| affected))
    })
}

/// Several statements that answer rows; an Array of the Hashes of all.
fn many(executor: Executor, statements: Vec<Statement>) -> Operation {
    Box::pin(async move {
        match executor.fetch_all(statements).await {
            Ok(results) => answer(move |scope| {
                let all = scope.array(results.len())?;
                for rows in results {
                    scope.push(all, wrap(scope, rows)?)?;
                }
                Ok(all)
            }),
            Err(error) => failure(error),
        }
    })
}

fn count_answer(affected: tsumugi_db::Result<u64>) -> Answer {
    match affected {
        Ok(affected) => {
            answer(move |scope| Ok(scope.integer(i64::try_from(affected).unwrap_or(i64::MAX))))
        }
        Err(error) => failure(error),
    }
}
