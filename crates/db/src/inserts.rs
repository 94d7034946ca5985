//! Inserts that answer of each row what `returning` says or its primary key, run where their query is to run. Writes no SQL.
//! Rule: the rows of one call are inserted all or none, and a table whose insert was not understood is asked for its key again.

use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_sql::{Item, Name, Query, Record, Statement, col};

use crate::error::Result;
use crate::executor::Executor;
use crate::keys::{PrimaryKey, PrimaryKeys};
use crate::rows::Rows;

/// The executor of a query, with the primary keys that are known there. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KeyedExecutor {
    executor: Executor,
    keys: Rc<PrimaryKeys>,
}

impl KeyedExecutor {
    /// Runs there, and knows these.
    pub fn new(executor: Executor, keys: &Rc<PrimaryKeys>) -> KeyedExecutor {
        let keys = Rc::clone(keys);
        KeyedExecutor { executor, keys }
    }

    /// The executor.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// The primary key of a table; none where there is no such table.
    ///
    /// # Errors
    /// When the database that is asked for it fails.
    pub async fn primary_key(&self, table: &Name) -> Result<Option<Rc<PrimaryKey>>> {
        self.executor.primary_key(&self.keys, table).await
    }

    /// The primary key of a query's table; one of no column where that has none, or the query is about no table.
    ///
    /// # Errors
    /// As [`KeyedExecutor::primary_key`].
    pub async fn query_key(&self, query: &Query) -> Result<Rc<PrimaryKey>> {
        Ok(match query.table_name() {
            Some(table) => self.primary_key(table).await?.unwrap_or_default(),
            None => Rc::default(),
        })
    }

    /// Inserts rows, and gives the primary key of each: none where the table has no key, no row of it where a conflict was ignored.
    ///
    /// # Errors
    /// As [`Executor::fetch_all`].
    pub fn insert_keys<'e>(
        &'e self,
        query: &'e Query,
        records: &'e [Record],
    ) -> LocalBoxFuture<'e, Result<Vec<Option<Rows>>>> {
        async move {
            let key = self.query_key(query).await?;
            self.insert_records(query, key.columns(), records).await
        }
        .boxed_local()
    }

    /// Inserts rows, and gives these columns of each, or what the query's `returning` says when there are none; none where that says nothing.
    ///
    /// # Errors
    /// As [`Executor::fetch_all`].
    pub fn insert<'e>(
        &'e self,
        query: &'e Query,
        columns: &'e [Name],
        records: &'e [Record],
    ) -> LocalBoxFuture<'e, Result<Vec<Option<Rows>>>> {
        self.insert_records(query, columns, records).boxed_local()
    }

    async fn insert_records(
        &self,
        query: &Query,
        columns: &[Name],
        records: &[Record],
    ) -> Result<Vec<Option<Rows>>> {
        let items: Vec<Item> = columns
            .iter()
            .cloned()
            .map(|name| col(name).into())
            .collect();
        let query = match items.is_empty() {
            true => query.clone(),
            false => query.clone().returning(items),
        };
        let dialect = self.executor.dialect();
        let statements = records
            .iter()
            .map(|record| query.to_insert(record, dialect));
        let statements = statements.collect::<tsumugi_sql::Result<Vec<Statement>>>()?;
        let inserted = match query.is_returning() {
            true => self
                .executor
                .fetch_all(statements)
                .await
                .map(|all| all.into_iter().map(Some).collect()),
            false => self
                .executor
                .run_all(statements)
                .await
                .map(|_| vec![None; records.len()]),
        };
        if let (Err(error), Some(table)) = (&inserted, query.table_name()) {
            self.keys.failed(table, error);
        }
        inserted
    }
}
