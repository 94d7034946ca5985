//! Reads that may go to a replica: what [`Executor::Read`](crate::Executor::Read) runs. A database without replicas runs them itself.
//! Rule: what the text shows to write is refused on every database, so that an application finds it before it has replicas.

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::batch::BatchSize;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::options::{Access, PipelineAtomicity, TransactionOptions};
use crate::read_text::reads;
use crate::row_stream::RowStream;
use crate::rows::Rows;
use crate::sequence::mark_rolled_back;
use crate::sql_text::SqlText;
use crate::transaction::Transaction;
use crate::value::{Value, bounded, bounded_together};

const ONLY_READS: &str = "db.read only reads: run what writes outside of it";

const READ_ONLY_TRANSACTIONS: &str = "db.read only reads: begin a transaction there that only reads, or one that writes outside of it";

impl Database {
    /// Like [`Database::query`], on a replica if one is recent enough.
    pub(crate) fn read(
        &self,
        sql: SqlText,
        values: Vec<Value>,
    ) -> LocalBoxFuture<'_, Result<Rows>> {
        async move {
            let values = bounded(values)?;
            check(&sql)?;
            match self.as_postgres() {
                Some(pool) => pool.read(sql, values).await,
                None => self.query(sql, values).await,
            }
        }
        .boxed_local()
    }

    /// Like [`Database::stream_by`], on a replica if one is recent enough.
    pub(crate) async fn read_stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let values = bounded(values)?;
        check(&sql)?;
        match self.as_postgres() {
            Some(pool) => {
                let stream = pool.read_stream(sql, values, by).await;
                stream.map(RowStream::Postgres)
            }
            None => self.stream_by(sql, values, by).await,
        }
    }

    /// Like [`Database::begin`], of a transaction that only reads, on a replica if one is recent enough.
    pub(crate) async fn read_begin(&self, options: TransactionOptions) -> Result<Transaction> {
        if options.access != Access::ReadOnly {
            return Err(Error::usage(READ_ONLY_TRANSACTIONS));
        }
        match self.as_postgres() {
            Some(pool) => pool.read_begin(options).await.map(Transaction::Postgres),
            None => self.begin(options).await,
        }
    }

    /// Like [`Database::pipeline`], one after the other.
    pub(crate) async fn read_pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: PipelineAtomicity,
    ) -> Result<Vec<Result<Rows>>> {
        let statements = bounded_together(statements)?;
        for (sql, _) in &statements {
            check(sql)?;
        }
        let count = statements.len();
        let mut outcomes = Vec::with_capacity(count);
        for (sql, values) in statements {
            let outcome = self.read(sql, values).await;
            let stops = outcome.is_err() && atomicity == PipelineAtomicity::All;
            outcomes.push(outcome);
            if stops {
                return Ok(mark_rolled_back(outcomes, count));
            }
        }
        Ok(outcomes)
    }

    /// Like [`Database::query`], of what the database says of its tables. That is no write of a user's, and a replica may not have the tables yet.
    pub(crate) fn query_catalog(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> LocalBoxFuture<'_, Result<Rows>> {
        self.query_catalog_text(sql.into(), values.into())
    }

    fn query_catalog_text(
        &self,
        sql: SqlText,
        values: Vec<Value>,
    ) -> LocalBoxFuture<'_, Result<Rows>> {
        match self.as_postgres().filter(|pool| pool.has_replicas()) {
            Some(pool) => {
                async move { pool.read_on_primary(sql, bounded(values)?).await }.boxed_local()
            }
            None => self.query_boxed(sql, values),
        }
    }

    /// The refusal of what may write.
    pub(crate) fn refuse_write<T>(&self) -> Result<T> {
        Err(Error::usage(ONLY_READS))
    }
}

fn check(sql: &SqlText) -> Result<()> {
    match reads(sql) {
        true => Ok(()),
        false => Err(Error::usage(ONLY_READS)),
    }
}
