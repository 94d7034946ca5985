//! Tables that the product makes for itself in an author's database: leases, jobs. Knows none of them.
//! Rule: they are made under the lock of the schema, so that processes that start together make them once, and not at all where they are there.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_sql::Family;

use crate::bookkeeping::bookkeeping;
use crate::error::Result;
use crate::executor::Executor;
use crate::options::TransactionMode;
use crate::value::{Value, ValueRef};

impl Executor {
    /// Whether there is a table of this name, which is of small letters.
    ///
    /// # Errors
    /// As [`Executor::query`].
    pub fn has_table<'e>(&'e self, name: &'e str) -> LocalBoxFuture<'e, Result<bool>> {
        let sql = match self.dialect().family {
            Family::Postgres => "select case when to_regclass(?) is null then 0 else 1 end",
            Family::Sqlite => {
                "select count(*) from sqlite_master where type = 'table' and name = ?"
            }
            Family::Firebird => {
                "select count(*) from rdb$relations where trim(rdb$relation_name) = upper(cast(? as varchar(63)))"
            }
        };
        self.counts(sql, vec![Value::from(name)]).boxed_local()
    }

    /// Whether a table has a column of this name; both are of small letters.
    ///
    /// # Errors
    /// As [`Executor::query`].
    pub fn has_column<'e>(
        &'e self,
        table: &'e str,
        column: &'e str,
    ) -> LocalBoxFuture<'e, Result<bool>> {
        let sql = match self.dialect().family {
            Family::Postgres => {
                "select count(*) from pg_attribute where attrelid = to_regclass(?) and attname::text = ? and not attisdropped"
            }
            Family::Sqlite => "select count(*) from pragma_table_info(?) where name = ?",
            Family::Firebird => {
                "select count(*) from rdb$relation_fields where trim(rdb$relation_name) = upper(cast(? as varchar(63))) \
                 and trim(rdb$field_name) = upper(cast(? as varchar(63)))"
            }
        };
        let values = vec![Value::from(table), Value::from(column)];
        self.counts(sql, values).boxed_local()
    }

    /// Whether there is an index of this name, which is of small letters.
    ///
    /// # Errors
    /// As [`Executor::query`].
    pub fn has_index<'e>(&'e self, name: &'e str) -> LocalBoxFuture<'e, Result<bool>> {
        let sql = match self.dialect().family {
            Family::Postgres => "select case when to_regclass(?) is null then 0 else 1 end",
            Family::Sqlite => {
                "select count(*) from sqlite_master where type = 'index' and name = ?"
            }
            Family::Firebird => {
                "select count(*) from rdb$indices where trim(rdb$index_name) = upper(cast(? as varchar(63)))"
            }
        };
        self.counts(sql, vec![Value::from(name)]).boxed_local()
    }

    /// Whether a question about the catalog finds anything.
    async fn counts(&self, sql: &str, values: Vec<Value>) -> Result<bool> {
        let rows = bookkeeping(self.query_catalog(sql, values)).await?;
        let count = rows.first().and_then(|row| row.value(0));
        Ok(count.and_then(ValueRef::as_integer) != Some(0))
    }

    /// Makes the table of this name by these statements unless it is there, and says whether it did: in this transaction, or else in one of its own.
    ///
    /// # Errors
    /// As [`Executor::begin_change`], and of the statements.
    pub fn make_table<'e>(
        &'e self,
        name: &'e str,
        create: &'e [&'e str],
    ) -> LocalBoxFuture<'e, Result<bool>> {
        let is_missing = async |executor: &Executor| Ok(!executor.has_table(name).await?);
        bookkeeping(self.change_own(create, is_missing)).boxed_local()
    }

    /// Gives a table that an older version has made a column by these statements unless it has it, in the same way.
    ///
    /// # Errors
    /// As [`Executor::make_table`].
    pub fn make_column<'e>(
        &'e self,
        table: &'e str,
        column: &'e str,
        add: &'e [&'e str],
    ) -> LocalBoxFuture<'e, Result<bool>> {
        let is_missing =
            async |executor: &Executor| Ok(!executor.has_column(table, column).await?);
        bookkeeping(self.change_own(add, is_missing)).boxed_local()
    }

    /// Makes an index of a table that an older version has made, by these statements unless it is there, in the same way.
    ///
    /// # Errors
    /// As [`Executor::make_table`].
    pub fn make_index<'e>(
        &'e self,
        name: &'e str,
        make: &'e [&'e str],
    ) -> LocalBoxFuture<'e, Result<bool>> {
        let is_missing = async |executor: &Executor| Ok(!executor.has_index(name).await?);
        bookkeeping(self.change_own(make, is_missing)).boxed_local()
    }

    /// Runs the statements under the lock of the schema, where something is missing: before the lock, and with it.
    async fn change_own(
        &self,
        statements: &[&str],
        is_missing: impl AsyncFn(&Executor) -> Result<bool>,
    ) -> Result<bool> {
        if !is_missing(self).await? {
            return Ok(false);
        }
        if let Executor::Transaction(transaction) = self {
            self.lock_schema().await?;
            if !is_missing(self).await? {
                return Ok(false);
            }
            for sql in statements {
                transaction.execute(*sql, []).await?;
            }
            return Ok(true);
        }
        let transaction = std::rc::Rc::new(self.begin_change(TransactionMode::Schema).await?);
        let inside = Executor::Transaction(std::rc::Rc::clone(&transaction));
        let is_due = is_missing(&inside).await?;
        if is_due {
            for sql in statements {
                transaction.execute(*sql, []).await?;
            }
        }
        transaction.commit().await?;
        Ok(is_due)
    }
}
