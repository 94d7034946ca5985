//! A query in the making that knows where it will run. What its methods mean is the builder's business (`tsumugi_sql`).
//! Rule: a clone is cheap and independent, as the builder's are.

use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tsumugi_db::{BatchSize, KeyedExecutor, PrimaryKey, RowStream, Rows, SqlText, Value, sendable};
use tsumugi_sql::{
    Aggregate, Conflict, Dialect, Expr, Field, Item, Name, Order, Query, QueryOrRaw, Record,
    Several, Source,
};

use super::record::to_record;
use super::row::{from_row, from_rows};
use crate::error::{Error, Result};

/// The rows of a table, narrowed down step by step, to be read, updated or deleted, or a table to be inserted into.
#[derive(Clone, Debug)]
pub struct Table {
    query: Query,
    keyed: KeyedExecutor,
}

macro_rules! builds {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(self, $($argument: $type),*) -> Table {
                self.with(|query| query.$name($($argument),*))
            }
        )*
    };
}

impl Table {
    pub(super) fn new(source: Source, keyed: KeyedExecutor) -> Table {
        Table {
            query: tsumugi_sql::table(source),
            keyed,
        }
    }

    /// Changes the query with any method of the builder.
    #[must_use]
    pub fn with(self, change: impl FnOnce(Query) -> Query) -> Table {
        Table {
            query: change(self.query),
            keyed: self.keyed,
        }
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    fn dialect(&self) -> &'static Dialect {
        self.keyed.executor().dialect()
    }

    builds! {
        /// Only rows for which this is true as well.
        filter(condition: Expr);
        /// Also rows for which this is true.
        or_filter(condition: Expr);
        /// What to select; everything if nothing is said.
        select(items: impl Several<Item>);
        /// What to select as well.
        select_append(items: impl Several<Item>);
        /// Equal rows once.
        distinct();
        /// Rows of both for which the condition is true.
        join(source: impl Into<Source>, on: Expr);
        /// The same, and rows of the left side for which there is none on the right.
        left_join(source: impl Into<Source>, on: Expr);
        /// The same, and rows of the right side for which there is none on the left.
        right_join(source: impl Into<Source>, on: Expr);
        /// Each row with each.
        cross_join(source: impl Into<Source>);
        /// One row for all that have the same of these, after those it is grouped by already.
        group(fields: impl Several<Item>);
        /// What it is grouped by, instead of what it was before.
        regroup(fields: impl Several<Item>);
        /// Only groups for which this is true.
        having(condition: Expr);
        /// Also groups for which this is true.
        or_having(condition: Expr);
        /// The order, after what it is ordered by already.
        order(by: impl Several<Order>);
        /// The order, instead of what it was before.
        reorder(by: impl Several<Order>);
        /// In no order.
        unordered();
        /// At most so many rows.
        limit(rows: u64);
        /// Without the first so many rows.
        offset(rows: u64);
        /// Locks the rows for this transaction.
        for_update();
        /// Leaves out rows that others have locked; only with a lock.
        skip_locked();
        /// Fails where others have locked a row, instead of waiting; only with a lock.
        no_wait();
        /// A named query that this one can read from.
        with_query(name: impl Into<Name>, query: impl Into<QueryOrRaw>);
        /// The same with names for its columns, and it may read from itself.
        with_recursive(name: impl Into<Name>, columns: impl IntoIterator<Item = impl Into<Name>>, query: impl Into<QueryOrRaw>);
        /// What an update sets, beside what it sets already.
        set(column: impl Into<Name>, value: impl Into<Expr>);
        /// What an insert, update or delete answers of each row.
        returning(items: impl Several<Item>);
        /// What an insert does where a row with the same key exists.
        on_conflict(conflict: Conflict);
        /// Says that an update or delete without any condition is meant.
        all_rows();
    }

    /// The query as a statement of [`Database::pipeline`](tsumugi_db::Database::pipeline), which gives its rows;
    /// [`from_rows`](crate::builder::from_rows) reads them. It is written for this table's database: another one may not understand it.
    ///
    /// # Errors
    /// [`Error::Sql`] of a query that makes no sense or that this database has not.
    pub fn statement(&self) -> Result<(SqlText, Vec<Value>)> {
        Ok(sendable(self.query.to_rows(self.dialect())?))
    }

    /// The rows, undecoded: as a response they are an array of JSON without a value in between.
    ///
    /// # Errors
    /// [`Error::Sql`] of a query that makes no sense or that this database has not; nothing is sent then. [`Error::Db`]: as
    /// [`Executor::query`](tsumugi_db::Executor::query).
    pub async fn rows(&self) -> Result<Rows> {
        let statement = self.query.to_rows(self.dialect())?;
        Ok(self.keyed.executor().fetch(statement).await?)
    }

    /// The rows as values.
    ///
    /// # Errors
    /// As [`Table::rows`]; [`Error::Usage`] where a row is no `T`.
    pub async fn all<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        from_rows(&self.rows().await?)
    }

    /// The first row as a value.
    ///
    /// # Errors
    /// As [`Table::all`].
    pub async fn first<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let statement = self.query.to_first(self.dialect())?;
        let rows = self.keyed.executor().fetch(statement).await?;
        rows.first().map(from_row).transpose()
    }

    /// How many rows there are.
    ///
    /// # Errors
    /// As [`Table::rows`].
    pub async fn count(&self) -> Result<u64> {
        let statement = self.query.to_count(self.dialect())?;
        let counted: i64 = self.one(statement).await?.unwrap_or_default();
        Ok(u64::try_from(counted).unwrap_or_default())
    }

    /// Whether there is a row.
    ///
    /// # Errors
    /// As [`Table::rows`].
    pub async fn exists(&self) -> Result<bool> {
        let statement = self.query.to_exists(self.dialect())?;
        Ok(!self.keyed.executor().fetch(statement).await?.is_empty())
    }

    /// A number about the rows; none when there are no rows to tell it of.
    ///
    /// # Errors
    /// As [`Table::all`].
    pub async fn aggregate<T: DeserializeOwned>(
        &self,
        aggregate: Aggregate,
        field: impl Field,
    ) -> Result<Option<T>> {
        let dialect = self.dialect();
        let statement = self.query.to_aggregate(aggregate, field, dialect)?;
        Ok(self.one::<Option<T>>(statement).await?.flatten())
    }

    /// The rows while they are fetched: a body of CSV, JSON or NDJSON. Nothing runs before the response begins.
    pub fn stream(&self) -> Feed {
        Feed(self.clone())
    }

    /// The rows in batches by a cursor, as many at a time as suit their size.
    ///
    /// # Errors
    /// As [`Table::rows`], of what fails before the first batch; later errors come from [`RowStream::next`].
    pub async fn batches(&self) -> Result<RowStream> {
        self.follow(BatchSize::default()).await
    }

    /// The same with at most so many rows at a time, 1 to [`BATCH_MAX_ROWS`](tsumugi_db::limits::BATCH_MAX_ROWS).
    ///
    /// # Errors
    /// [`Error::Db`] of any other number; nothing is sent to the database then.
    pub async fn batches_of(&self, rows: i64) -> Result<RowStream> {
        self.follow(BatchSize::of(rows)?).await
    }

    async fn follow(&self, by: BatchSize) -> Result<RowStream> {
        let statement = self.query.to_rows(self.dialect())?;
        Ok(self.keyed.executor().follow_by(statement, by).await?)
    }

    /// Inserts a row, a struct or a map, and gives its primary key, which is a whole number. Of any other key: [`Table::insert_key`].
    ///
    /// # Errors
    /// [`Error::Usage`] and nothing inserted, where the table has no such key, as views and foreign tables have none; also where a conflict
    /// was ignored.
    pub async fn insert(&self, row: impl Serialize) -> Result<i64> {
        let (table, key) = self.key().await?;
        let inserted = match key {
            Some(key) if key.is_number() => self.insert_columns(row, key.columns()).await?,
            Some(key) => {
                let (table, has) = (table.as_str(), !key.columns().is_empty());
                let what = match has {
                    true => format!("the primary key of {table} is no column of whole numbers"),
                    false => format!("{table} has no primary key, as no view has one"),
                };
                let instead = "insert_key gives any key there is, insert_returning any column";
                return Err(Error::Usage(format!("{what}: {instead}").into()));
            }
            // The database says best that there is no such table.
            None => self.insert_columns(row, &["id".into()]).await?,
        };
        inserted.ok_or_else(|| Error::Usage("the insert gave no row: it was a conflict".into()))
    }

    /// Inserts a row, a struct or a map, and gives its primary key: a tuple if it has several columns. None where the table has no key,
    /// or where a conflict was ignored.
    ///
    /// # Errors
    /// As [`Table::insert_returning`]; [`Error::Usage`] where the query has [`Table::returning`] or is of no table.
    pub async fn insert_key<K: DeserializeOwned>(&self, row: impl Serialize) -> Result<Option<K>> {
        let (_, key) = self.key().await?;
        let key = key.unwrap_or_default();
        self.insert_columns(row, key.columns()).await
    }

    async fn key(&self) -> Result<(Name, Option<Rc<PrimaryKey>>)> {
        if self.query.is_returning() {
            let message = "an insert with returning gives that: say insert_returning";
            return Err(Error::Usage(message.into()));
        }
        let Some(table) = self.query.table_name() else {
            return Err(Error::Usage("rows are inserted into a table".into()));
        };
        let key = self.keyed.primary_key(table).await?;
        Ok((table.clone(), key))
    }

    /// These columns of the row that is inserted, or what the query says it answers.
    async fn insert_columns<T: DeserializeOwned>(
        &self,
        row: impl Serialize,
        columns: &[Name],
    ) -> Result<Option<T>> {
        let records = [to_record(&row)?];
        let inserted = self.keyed.insert(&self.query, columns, &records).await?;
        let rows = inserted.first().and_then(Option::as_ref);
        rows.and_then(Rows::first).map(from_row).transpose()
    }

    /// Inserts a row and gives what [`Table::returning`] asks for; none where a conflict was ignored.
    ///
    /// # Errors
    /// [`Error::Usage`] of a `row` that is neither a struct nor a map, or an answer that is no `T`. Else as [`Table::rows`].
    pub async fn insert_returning<T: DeserializeOwned>(
        &self,
        row: impl Serialize,
    ) -> Result<Option<T>> {
        self.insert_columns(row, &[]).await
    }

    /// Inserts rows, all or none, and says how many there were. In a transaction that goes on after an error none of them is there.
    ///
    /// # Errors
    /// As [`Table::insert_returning`], of the first row that fails.
    pub async fn insert_all<R: Serialize>(&self, rows: impl IntoIterator<Item = R>) -> Result<u64> {
        let records = rows.into_iter().map(|row| to_record(&row));
        let records: Vec<Record> = records.collect::<Result<_>>()?;
        let statements = self.query.to_insert_all(&records, self.dialect())?;
        Ok(self.keyed.executor().run_all(statements).await?)
    }

    /// Sets the columns of [`Table::set`] and returns the number of rows.
    ///
    /// # Errors
    /// As [`Table::rows`]; [`Error::Sql`] also without any condition, unless [`Table::all_rows`] says that this is meant.
    pub async fn update(&self) -> Result<u64> {
        let statement = self.query.to_update(self.dialect())?;
        Ok(self.keyed.executor().run(statement).await?.affected)
    }

    /// Deletes the rows and returns their number.
    ///
    /// # Errors
    /// As [`Table::update`].
    pub async fn delete(&self) -> Result<u64> {
        let statement = self.query.to_delete(self.dialect())?;
        Ok(self.keyed.executor().run(statement).await?.affected)
    }

    async fn one<T: DeserializeOwned>(
        &self,
        statement: tsumugi_sql::Statement,
    ) -> Result<Option<T>> {
        let rows = self.keyed.executor().fetch(statement).await?;
        rows.first().map(from_row).transpose()
    }
}

/// Rows on their way into a response: [`Csv`](crate::Csv), [`JsonRows`](crate::JsonRows), [`NdJson`](crate::NdJson).
#[derive(Clone, Debug)]
pub struct Feed(Table);

impl Feed {
    /// Begins to fetch.
    pub(crate) async fn open(self) -> Result<RowStream> {
        self.0.batches().await
    }
}
