//! Databases: connecting, statements, transactions. Everything that reaches a database waits; errors become `DB::…`.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tsumugi_db::{
    Database, Error, Executed, Options, RowStream, Rows, StatementLog, Transaction,
    TransactionMode, TransactionOptions, Value as Bind,
};
use tsumugi_mruby::{Kind, Result, Scope, Value};

use super::{Natives, text, wrong_type};
use crate::answer::{Answer, Operation, answer, nil};
use crate::host::Mode;

/// A transaction in Ruby's hands; `None` once it has ended.
type Running = Rc<RefCell<Option<Rc<Transaction>>>>;

/// Where a statement runs.
enum Target {
    Database(Database),
    Transaction(Rc<Transaction>),
}

impl Target {
    async fn query(&self, sql: String, binds: Vec<Bind>) -> tsumugi_db::Result<Rows> {
        match self {
            Target::Database(database) => database.query(sql, binds).await,
            Target::Transaction(transaction) => transaction.query(sql, binds).await,
        }
    }

    async fn execute(&self, sql: String, binds: Vec<Bind>) -> tsumugi_db::Result<Executed> {
        match self {
            Target::Database(database) => database.execute(sql, binds).await,
            Target::Transaction(transaction) => transaction.execute(sql, binds).await,
        }
    }

    async fn stream(&self, sql: String, binds: Vec<Bind>) -> tsumugi_db::Result<RowStream> {
        match self {
            Target::Database(database) => database.stream(sql, binds).await,
            Target::Transaction(transaction) => transaction.stream(sql, binds).await,
        }
    }

    async fn script(&self, sql: String) -> tsumugi_db::Result<()> {
        match self {
            Target::Database(database) => database.execute_script(sql).await,
            Target::Transaction(transaction) => transaction.execute_script(sql).await,
        }
    }
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let db = scope.define_class(Value::nil(), "DB", scope.object_class())?;
    let rows = scope.define_class(db, "Rows", scope.object_class())?;
    scope.carries_data(rows);
    natives.data_class("Database")?;
    natives.data_class("Transaction")?;
    natives.waiting("db_connect", |host, scope, call| {
        let url = text(scope, call.argument(0), "the database's URL")?;
        let mut options = options(scope, call.argument(1))?;
        if host.settings.mode == Mode::Development
            && scope.keyword(call.argument(1), "log")?.is_nil()
        {
            options.log = StatementLog::Statements;
        }
        Ok(Box::pin(async move {
            match Database::connect(&url, options).await {
                Ok(database) => answer(move |scope| {
                    scope.wrap(scope.constant("Tsumugi::Native::Database")?, database)
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    statements(natives)?;
    transactions(natives)
}

fn statements<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_query", |_, scope, call| {
        let (target, sql, binds) = statement(scope, call)?;
        Ok(Box::pin(async move {
            match target.query(sql, binds).await {
                Ok(rows) => answer(move |scope| scope.wrap(scope.constant("DB::Rows")?, rows)),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_execute", |_, scope, call| {
        let (target, sql, binds) = statement(scope, call)?;
        Ok(Box::pin(async move {
            match target.execute(sql, binds).await {
                Ok(executed) => answer(move |scope| {
                    let pair = scope.array(2)?;
                    scope.push(
                        pair,
                        scope.integer(i64::try_from(executed.affected).unwrap_or(i64::MAX)),
                    )?;
                    let id = executed
                        .last_insert_id
                        .map_or_else(Value::nil, |id| scope.integer(id));
                    scope.push(pair, id)?;
                    Ok(pair)
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_stream", |_, scope, call| {
        let (target, sql, binds) = statement(scope, call)?;
        Ok(Box::pin(async move {
            match target.stream(sql, binds).await {
                Ok(stream) => answer(move |scope| {
                    let unread: super::rows::Unread = RefCell::new(Some(stream));
                    scope.wrap(scope.constant("Tsumugi::Native::RowStream")?, unread)
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_next_rows", |_, scope, call| {
        let holder = scope.root(call.argument(0));
        let mut stream = super::rows::take_stream(scope, call.argument(0))?;
        Ok(Box::pin(async move {
            match stream.next().await {
                Ok(None) => nil(),
                Ok(Some(rows)) => answer(move |scope| {
                    if let Some(unread) = scope.data::<super::rows::Unread>(scope.rooted(&holder)) {
                        *unread.borrow_mut() = Some(stream);
                    }
                    scope.wrap(scope.constant("DB::Rows")?, rows)
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_script", |_, scope, call| {
        let (target, sql, _) = statement(scope, call)?;
        Ok(
            Box::pin(async move { target.script(sql).await.map_or_else(failure, |()| nil()) })
                as Operation,
        )
    })
}

fn transactions<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_begin", |_, scope, call| {
        let Some(database) = scope.data::<Database>(call.argument(0)).cloned() else {
            return Err(wrong_type(scope, call.argument(0), "the connection", "a database"));
        };
        let options = match scope.text(call.argument(1)).as_deref() {
            None | Some("immediate") => TransactionOptions::write(TransactionMode::Immediate),
            Some("deferred") => TransactionOptions::write(TransactionMode::Deferred),
            Some("exclusive") => TransactionOptions::write(TransactionMode::Exclusive),
            Some("read_only") => TransactionOptions::read_only(),
            Some(other) => {
                let message = format!("transaction takes mode: :immediate, :deferred, :exclusive or :read_only, not {other}");
                return Err(scope.error("ArgumentError", message));
            }
        };
        Ok(Box::pin(async move {
            match database.begin(options).await {
                Ok(transaction) => answer(move |scope| {
                    let running: Running = Rc::new(RefCell::new(Some(Rc::new(transaction))));
                    scope.wrap(scope.constant("Tsumugi::Native::Transaction")?, running)
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    for (name, commits) in [("db_commit", true), ("db_rollback", false)] {
        natives.waiting(name, move |_, scope, call| {
            let transaction = scope
                .data::<Running>(call.argument(0))
                .and_then(|running| running.borrow_mut().take());
            Ok(Box::pin(async move {
                let Some(transaction) = transaction else {
                    return nil();
                };
                let ended = if commits {
                    transaction.commit().await
                } else {
                    transaction.roll_back().await
                };
                ended.map_or_else(failure, |()| nil())
            }) as Operation)
        })?;
    }
    // For `ensure` of a cancelled request, which should not wait: dropping rolls back.
    natives.plain("db_abandon", |_, scope, call| {
        if let Some(running) = scope.data::<Running>(call.argument(0)) {
            running.borrow_mut().take();
        }
        Ok(Value::nil())
    })
}

fn statement<'c>(
    scope: &'c Scope<'c>,
    call: &tsumugi_mruby::Call<'c>,
) -> Result<'c, (Target, String, Vec<Bind>)> {
    let holder = call.argument(0);
    let target = if let Some(database) = scope.data::<Database>(holder) {
        Target::Database(database.clone())
    } else if let Some(running) = scope.data::<Running>(holder) {
        let transaction = running.borrow().clone();
        Target::Transaction(
            transaction.ok_or_else(|| scope.error("DB::UsageError", "the transaction is over"))?,
        )
    } else {
        return Err(wrong_type(scope, holder, "the connection", "a database"));
    };
    let sql = text(scope, call.argument(1), "the SQL")?;
    let values = call.argument(2);
    let binds = (0..scope.array_len(values)).map(|i| bind(scope, scope.array_at(values, i)));
    Ok((target, sql, binds.collect::<Result<'c, Vec<Bind>>>()?))
}

fn bind<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Bind> {
    Ok(match value.kind() {
        Kind::Nil => Bind::Null,
        Kind::True => Bind::Boolean(true),
        Kind::False => Bind::Boolean(false),
        Kind::Integer => Bind::Integer(value.as_integer().unwrap_or_default()),
        Kind::Float => Bind::Real(value.as_float().unwrap_or_default()),
        Kind::Symbol => Bind::Text(scope.text(value).unwrap_or_default()),
        Kind::String => match String::from_utf8(scope.bytes(value).unwrap_or_default()) {
            Ok(text) => Bind::Text(text),
            Err(bytes) => Bind::Blob(bytes.into_bytes()),
        },
        _ => {
            if let Some(blob) = scope.bytes(scope.ivar(value, scope.intern("@tsumugi_blob"))) {
                return Ok(Bind::Blob(blob));
            }
            let class = scope.class_name(value);
            let message = format!(
                "a value of class {class} cannot be bound: convert it to a String or a number"
            );
            return Err(scope.error("TypeError", message));
        }
    })
}

fn options<'c>(scope: &'c Scope<'c>, keywords: Value<'c>) -> Result<'c, Options> {
    let mut options = Options::default();
    for (name, value) in scope.entries(keywords)? {
        let name = scope.text(name).unwrap_or_default();
        let whole = value.as_integer().and_then(|n| usize::try_from(n).ok());
        let seconds = value.as_float().or(value.as_integer().map(|n| n as f64));
        let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let wrong = || {
            scope.error(
                "ArgumentError",
                format!("DB.connect: {name}: has a value that makes no sense"),
            )
        };
        match name.as_str() {
            "pool" => options.pool = whole.ok_or_else(wrong)?,
            "acquire" => options.acquire_timeout = seconds.ok_or_else(wrong)?,
            "timeout" => options.statement_timeout = seconds.ok_or_else(wrong)?,
            "busy" => options.busy_timeout = seconds.ok_or_else(wrong)?,
            "statements" => options.statement_cache = whole.ok_or_else(wrong)?,
            "log" if value.truthy() => options.log = StatementLog::Statements,
            "log" => options.log = StatementLog::Off,
            other => {
                let message = format!(
                    "DB.connect has no option {other}: there are pool, acquire, timeout, busy, statements, log"
                );
                return Err(scope.error("ArgumentError", message));
            }
        }
    }
    Ok(options)
}

/// An error of the database as the exception of the class of its kind, with what a handler asks for.
fn failure(error: Error) -> Answer {
    answer(move |scope| {
        let class = scope.constant("DB")?;
        let name = Value::symbol(scope.intern(error.kind()));
        let class = match scope.call(class, "const_get", &[name]) {
            Ok(class) => class,
            Err(_) => scope.constant("DB::Error")?,
        };
        let exception = scope.error_of(class, error.to_string()).0;
        let set = |name: &str, value| scope.set_ivar(exception, scope.intern(name), value);
        if let Some(constraint) = error.constraint() {
            set("@constraint", scope.string(constraint)?)?;
        }
        if let Some(sql) = error.sql() {
            set("@sql", scope.string(sql)?)?;
            let binds = scope.array(error.binds().len())?;
            for bind in error.binds() {
                scope.push(binds, shown(scope, bind)?)?;
            }
            set("@binds", binds)?;
        }
        if let Some(position) = error.position() {
            set(
                "@position",
                scope.integer(i64::try_from(position).unwrap_or(0)),
            )?;
        }
        Err(tsumugi_mruby::Raise(exception))
    })
}

fn shown<'c>(scope: &'c Scope<'c>, bind: &Bind) -> Result<'c, Value<'c>> {
    match bind {
        Bind::Boolean(truth) => Ok(Value::boolean(*truth)),
        Bind::Integer(integer) => Ok(scope.integer(*integer)),
        Bind::Real(real) => Ok(scope.float(*real)),
        Bind::Text(text) => scope.string(text),
        Bind::Blob(blob) => scope.string(blob),
        _ => Ok(Value::nil()),
    }
}
