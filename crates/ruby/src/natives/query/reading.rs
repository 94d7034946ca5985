//! The methods of `DB::Query` that read: rows, the first, numbers about them, pages, streams. Ruby awaits what they start.
//! Rule: the SQL is made before anything waits, so what the builder refuses is raised at once; only a primary key is read first.

use std::rc::Rc;

use tsumugi_db::{
    BatchSize, Executor, KeyedExecutor, PipelineAtomicity, Rows, ValueKind, ValueRef, sendable,
};
use tsumugi_mruby::{Kind, NativeCall, Result, Scope, Value};
use tsumugi_sql::{Aggregate, Key, Name, Pages, Query, Statement, col};

use super::arguments::Reader;
use super::methods::Methods;
use super::parts::BuiltQuery;
use crate::answer::{Operation, attempt};
use crate::host::Host;
use crate::natives::database::failure::bind_value;
use crate::natives::database::values;
use crate::natives::rows::{SymbolCache, hash_at, open, values_at};

pub(super) fn install<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    texts(methods)?;
    rows(methods)?;
    first(methods)?;
    numbers(methods)?;
    pages(methods)
}

impl BuiltQuery {
    /// Where a statement of the running fibre on the query's database runs.
    pub(super) fn executor<'c>(&self, host: &Host, reader: &Reader<'c>) -> Result<'c, Executor> {
        self.database.executor(reader.scope, host.job.number())
    }

    /// The same, with the primary keys that are known there.
    pub(super) fn keyed<'c>(&self, host: &Host, reader: &Reader<'c>) -> Result<'c, KeyedExecutor> {
        let keys = self.database.keys(host.job.number());
        Ok(KeyedExecutor::new(self.executor(host, reader)?, &keys))
    }
}

/// Starts a statement that gives rows.
fn fetch<'c>(
    host: &Host,
    reader: &Reader<'c>,
    built: &BuiltQuery,
    statement: tsumugi_sql::Result<Statement>,
    make: impl for<'s> FnOnce(&'s Scope<'s>, Rows) -> Result<'s, Value<'s>> + 'static,
) -> Result<'c, Operation> {
    let statement = reader.accept(statement)?;
    let executor = built.executor(host, reader)?;
    let rows = async move { executor.fetch(statement).await };
    Ok(attempt(rows, make))
}

/// `DB::Rows`.
pub(super) fn wrap<'s>(scope: &'s Scope<'_>, rows: Rows) -> Result<'s, Value<'s>> {
    scope.wrap_as("DB::Rows", rows)
}

fn texts<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    let statement = |reader: &Reader<'_>,
                     call: &NativeCall<'_>,
                     built: &BuiltQuery|
     -> tsumugi_sql::Result<Statement> {
        let dialect = built.database.dialect();
        match reader.scope.text(call.argument(0)).as_deref() {
            Some("delete") => built.query.to_delete(dialect),
            Some("update") => built.query.to_update(dialect),
            _ => built.query.to_rows(dialect),
        }
    };
    methods.plain("__sql", move |reader, call, built| {
        let made = reader.accept(statement(reader, call, built))?;
        reader.scope.string(&made.sql)
    })?;
    methods.plain("__binds", move |reader, call, built| {
        let made = reader.accept(statement(reader, call, built))?;
        let binds = made.binds.into_iter();
        let scope = reader.scope;
        scope.list(binds.map(|bind| bind_value(scope, &bind)))
    })
}

fn rows<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    methods.waiting("__all", |host, reader, _, built| {
        let statement = built.query.to_rows(built.database.dialect());
        fetch(host, reader, built, statement, wrap)
    })?;
    methods.waiting("__columns", |host, reader, _, built| {
        let statement = built.query.to_columns(built.database.dialect());
        fetch(host, reader, built, statement, wrap)
    })?;
    // So many rows at a time at most, or as many as suit their size.
    methods.waiting("__stream", |host, reader, call, built| {
        let by = batch_size(reader, call.argument(0))?;
        let statement = reader.accept(built.query.to_rows(built.database.dialect()))?;
        let executor = built.executor(host, reader)?;
        Ok(open(host, async move {
            executor.follow_by(statement, by).await
        }))
    })?;
    // Values of the columns that are named, an Array for each row if they are several.
    methods.waiting("__pluck", |host, reader, call, built| {
        let items = reader.items(call.arguments())?;
        if items.is_empty() {
            return reader.usage("pluck takes the columns");
        }
        let depth_max = reader.json_depth_max();
        let query = built.query.clone().select(items);
        let statement = query.to_rows(built.database.dialect());
        fetch(host, reader, built, statement, move |scope, rows| {
            values_at(scope, &rows, depth_max)
        })
    })
}

fn first<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    let known: Rc<SymbolCache> = Rc::default();
    let shared = Rc::clone(&known);
    methods.waiting("__first", move |host, reader, _, built| {
        let (known, depth_max) = (Rc::clone(&shared), reader.json_depth_max());
        let statement = built.query.to_first(built.database.dialect());
        fetch(host, reader, built, statement, move |scope, rows| {
            hash_at(scope, &known, &rows, 0, depth_max)
        })
    })?;
    // The row with this value of the column that is named, or of the primary key.
    methods.waiting("__find", move |host, reader, call, built| {
        let id = reader.operand(call.argument(0))?;
        let column = match call.argument(1) {
            key if key.is_nil() => None,
            key => Some(reader.field(key)?),
        };
        let keyed = built.keyed(host, reader)?;
        let (dialect, query) = (built.database.dialect(), built.query.clone());
        let (known, depth_max) = (Rc::clone(&known), reader.json_depth_max());
        let rows = async move {
            let column = match column {
                Some(column) => column,
                None => col(single_key(&keyed, &query).await?),
            };
            let found = query.filter(column.matches(id)).to_first(dialect)?;
            keyed.executor().fetch(found).await
        };
        Ok(attempt(rows, move |scope, rows| {
            hash_at(scope, &known, &rows, 0, depth_max)
        }))
    })
}

/// The column of a primary key of one column.
async fn single_key(keyed: &KeyedExecutor, query: &Query) -> tsumugi_db::Result<Name> {
    match keyed.query_key(query).await?.columns() {
        [column] => Ok(column.clone()),
        _ => {
            let message = "find needs the column here: the rows are of no table with a primary key of one column";
            Err(tsumugi_sql::Error::Usage(message.to_owned()).into())
        }
    }
}

fn numbers<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    methods.waiting("__exists", |host, reader, _, built| {
        let statement = built.query.to_exists(built.database.dialect());
        fetch(host, reader, built, statement, |_, rows| {
            Ok(Value::boolean(!rows.is_empty()))
        })
    })?;
    methods.waiting("__count", |host, reader, call, built| {
        let dialect = built.database.dialect();
        let statement = match call.argument(0) {
            field if field.is_nil() => built.query.to_count(dialect),
            field => {
                let field = reader.field(field)?;
                built.query.to_aggregate(Aggregate::Count, field, dialect)
            }
        };
        fetch_value(host, reader, built, statement)
    })?;
    for (name, aggregate) in [
        ("__sum", Aggregate::Sum),
        ("__avg", Aggregate::Avg),
        ("__min", Aggregate::Min),
        ("__max", Aggregate::Max),
    ] {
        methods.waiting(name, move |host, reader, call, built| {
            let field = reader.field(call.argument(0))?;
            let statement = built
                .query
                .to_aggregate(aggregate, field, built.database.dialect());
            fetch_value(host, reader, built, statement)
        })?;
    }
    Ok(())
}

/// Starts a statement that gives one value.
fn fetch_value<'c>(
    host: &Host,
    reader: &Reader<'c>,
    built: &BuiltQuery,
    statement: tsumugi_sql::Result<Statement>,
) -> Result<'c, Operation> {
    let depth_max = reader.json_depth_max();
    fetch(host, reader, built, statement, move |scope, rows| {
        value(scope, &rows, depth_max)
    })
}

/// The only value of the only row. A whole number is an Integer, also where the database makes an exact number of it, as PostgreSQL
/// does of a sum of `bigint`.
fn value<'s>(scope: &'s Scope<'s>, rows: &Rows, depth_max: usize) -> Result<'s, Value<'s>> {
    let Some(value) = rows.first().and_then(|row| row.value(0)) else {
        return Ok(Value::nil());
    };
    if let ValueRef::Typed(typed) = value
        && typed.kind() == ValueKind::Decimal
    {
        let mut text = Vec::new();
        let written = typed.write_text(&mut text).is_ok();
        let whole = std::str::from_utf8(&text)
            .ok()
            .and_then(|text| text.parse().ok());
        if let Some(whole) = whole.filter(|_| written) {
            return Ok(scope.integer(whole));
        }
    }
    values::value(scope, value, depth_max)
}

fn pages<'s>(methods: &Methods<'_, 's>) -> Result<'s, ()> {
    methods.waiting("__paginate", |host, reader, call, built| {
        let page = reader.count(call.argument(0), "paginate")?;
        let per_page = reader.count(call.argument(1), "paginate")?;
        let dialect = built.database.dialect();
        let made = reader.accept(built.query.to_page(page, per_page, dialect))?;
        let executor = built.executor(host, reader)?;
        let statements = vec![sendable(made.rows), sendable(made.total)];
        let rows = async move {
            let outcomes = executor
                .pipeline(statements, PipelineAtomicity::Each)
                .await?;
            outcomes.into_iter().collect::<tsumugi_db::Result<_>>()
        };
        Ok(attempt(rows, move |scope, rows| {
            page_value(scope, rows, page, per_page)
        }))
    })?;
    // The keys in an Array, the values of the last row of the page before or nil, rows of a page.
    methods.waiting("__page_after", |host, reader, call, built| {
        let orders = reader.orders(&[call.argument(0)])?;
        let names = reader.flat(&[call.argument(1)]);
        let names = names.into_iter().map(|name| reader.name_text(name));
        let names = names.collect::<Result<'_, Vec<String>>>()?;
        let after = match call.argument(2) {
            after if after.is_nil() => None,
            after => Some(reader.values(&reader.flat(&[after]))?),
        };
        let per_page = reader.count(call.argument(3), "per:")?;
        let keyed = built.keyed(host, reader)?;
        let (dialect, query) = (built.database.dialect(), built.query.clone());
        let depth_max = reader.json_depth_max();
        let rows = async move {
            let primary = keyed.query_key(&query).await?;
            let keys = orders.into_iter().map(|order| {
                let own = query.own_column(&order);
                let mut columns = primary.columns().iter();
                let is_primary = columns.any(|column| own == Some(column.as_str()));
                let key = Key::new(order);
                if is_primary { key.never_null() } else { key }
            });
            let keys: Vec<Key> = keys.collect();
            let page = query.page_after(keys, after.as_deref(), per_page)?;
            keyed.executor().fetch(page.to_rows(dialect)?).await
        };
        Ok(attempt(rows, move |scope, rows| {
            after_page(scope, rows, &names, per_page, depth_max)
        }))
    })
}

/// How many rows come at a time; nil where it was not said.
fn batch_size<'c>(reader: &Reader<'c>, value: Value<'c>) -> Result<'c, BatchSize> {
    let scope = reader.scope;
    let refused = |message: String| scope.error("ArgumentError", message);
    match (value.kind(), value.as_integer()) {
        (Kind::Nil, _) => Ok(BatchSize::default()),
        (_, Some(rows)) => BatchSize::of(rows).map_err(|error| refused(error.to_string())),
        _ => {
            let class = scope.class_name(value);
            Err(refused(format!(
                "a batch has a number of rows, not a value of class {class}"
            )))
        }
    }
}

/// A page with what is known of the others.
fn page_value<'s>(
    scope: &'s Scope<'_>,
    rows: Vec<Rows>,
    page: u64,
    per_page: u64,
) -> Result<'s, Value<'s>> {
    let mut rows = rows.into_iter();
    let shown = rows.next().map(|rows| wrap(scope, rows)).transpose()?;
    let total = rows
        .next()
        .and_then(|rows| rows.first()?.value(0)?.as_integer());
    let total = total.and_then(|total| total.try_into().ok()).unwrap_or(0);
    let pages = Pages::of(page, per_page, total);
    scope.fields(&[
        ("rows", shown.unwrap_or_else(Value::nil)),
        ("page", scope.count(pages.page)),
        ("pages", scope.count(pages.pages)),
        ("total", scope.count(pages.total)),
        ("perPage", scope.count(pages.per_page)),
        ("hasMore", Value::boolean(pages.has_more)),
    ])
}

/// A key as it comes back from a client. Of a time this is the text that a statement gets, because SQLite compares texts, and the
/// JSON of a time is shorter.
fn sent_back<'s>(scope: &'s Scope<'s>, key: Value<'s>) -> Result<'s, Value<'s>> {
    match scope.class_name(key).as_str() {
        "Time" => scope.call(key, "__bind", &[]),
        _ => Ok(key),
    }
}

/// A page by key: its rows, the keys of the last of them, and whether there are more.
fn after_page<'s>(
    scope: &'s Scope<'s>,
    rows: Rows,
    names: &[String],
    per_page: u64,
    depth_max: usize,
) -> Result<'s, Value<'s>> {
    let per_page = usize::try_from(per_page).unwrap_or(usize::MAX);
    let has_more = rows.len() > per_page;
    let rows = rows.truncated(per_page);
    let after = match rows.len().checked_sub(1).and_then(|last| rows.row(last)) {
        None => Value::nil(),
        Some(row) => scope.list(names.iter().map(|name| {
            let Some(value) = row.find(name) else {
                let message = format!("page_after needs the key {name} among what is selected");
                return Err(scope.error("DB::UsageError", message));
            };
            sent_back(scope, values::value(scope, value, depth_max)?)
        }))?,
    };
    scope.fields(&[
        ("rows", wrap(scope, rows)?),
        ("after", after),
        ("hasMore", Value::boolean(has_more)),
    ])
}
