//! Tables made, changed and dropped: which statements that takes is the builder's (`tsumugi_sql::schema`), in which transaction and under
//! which lock they run is here. Migrations and seeds are beside it. Rule: each runs whole or not at all, and one process at a time.

mod history;
mod migrations;
mod own_table;
mod redo;
mod turn;

use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_sql::schema::{Alteration, Description, Rebuild, Table, alter, drop_table};
use tsumugi_sql::{FIREBIRD, Name, SQLITE, Statement, table};

use crate::bookkeeping::bookkeeping;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::options::TransactionMode;
use crate::sequence::in_turn;
use crate::transaction::Transaction;
use crate::value::{Value, ValueRef};

pub(crate) use history::NOTES;
pub use history::{Direction, History, MigrationSource, MigrationStatus, State};
pub use migrations::{Migration, MigrationEvent, Migrator};
use turn::Patience;

/// A change of one table.
#[derive(Clone, Debug)]
pub enum TableChange {
    /// Makes it. One that is the same already is left alone.
    Create(Table),
    /// Changes it, in all steps or in none. What SQLite can only do by making the table anew it does so.
    Alter(Alteration),
    /// Drops it with what is in it. One that others refer to stays.
    Drop(Name),
}

impl TableChange {
    fn mode(&self) -> TransactionMode {
        match self {
            TableChange::Alter(_) => TransactionMode::Rebuild,
            TableChange::Create(_) | TableChange::Drop(_) => TransactionMode::Schema,
        }
    }
}

impl Executor {
    /// Changes a table in this transaction, or elsewhere in one of its own, and says whether there was anything to do.
    ///
    /// # Errors
    /// As [`Database::create`]; in a transaction as [`Transaction::alter`] too.
    pub fn change_table<'e>(&'e self, change: &'e TableChange) -> LocalBoxFuture<'e, Result<bool>> {
        async move {
            let options = match self {
                Executor::Transaction(transaction) => {
                    return transaction.change_table(change).await;
                }
                Executor::Database(database) | Executor::Read(database) => database.options(),
                Executor::Session(session) => session.options(),
            };
            self.change_table_by(change, Patience::short(options)).await
        }
        .boxed_local()
    }

    /// Makes a table, and waits as long as migrations do.
    fn create_for_migrations(&self, table: Table) -> LocalBoxFuture<'_, Result<bool>> {
        async move {
            let change = TableChange::Create(table);
            self.change_table_by(&change, Patience::long()).await
        }
        .boxed_local()
    }

    async fn change_table_by(&self, change: &TableChange, patience: Patience) -> Result<bool> {
        let tx = self.begin_in_turn(change.mode(), patience).await?;
        let has_changed = tx.run_change(change).await?;
        bookkeeping(tx.commit()).await?;
        Ok(has_changed)
    }
}

impl Database {
    /// Makes a table and says whether it did. One of this name that is the same already is left alone. Within a transaction it is
    /// [`Transaction::create`]: this one would wait for the transaction that it is called in. So it is with all changes below.
    ///
    /// # Errors
    /// [`Error::Usage`] within a transaction that [`Database::inside`] knows of.
    /// [`Error::TableDiffers`] if there is another one of this name. [`Error::PoolTimeout`] if another caller has been changing the schema for
    /// longer than [`schema_wait`](crate::Options::schema_wait).
    pub fn create<'d>(&'d self, table: &'d Table) -> LocalBoxFuture<'d, Result<bool>> {
        async move {
            let executor = Executor::Database(self.clone());
            let change = TableChange::Create(table.clone());
            executor.change_table(&change).await
        }
        .boxed_local()
    }

    /// Changes a table, in all steps or in none. What SQLite can only do by making the table anew it does so.
    pub fn alter<'d>(&'d self, alteration: &'d Alteration) -> LocalBoxFuture<'d, Result<()>> {
        async move {
            let executor = Executor::Database(self.clone());
            let change = TableChange::Alter(alteration.clone());
            executor.change_table(&change).await.map(drop)
        }
        .boxed_local()
    }

    /// Drops a table with what is in it. One that others refer to stays.
    pub fn drop_table(&self, name: impl Into<Name>) -> LocalBoxFuture<'_, Result<()>> {
        self.change_by(TableChange::Drop(name.into()))
    }

    fn change_by(&self, change: TableChange) -> LocalBoxFuture<'_, Result<()>> {
        let executor = Executor::Database(self.clone());
        async move { executor.change_table(&change).await.map(drop) }.boxed_local()
    }

    /// Gives a table another name.
    pub fn rename_table(
        &self,
        name: impl Into<Name>,
        to: impl Into<Name>,
    ) -> LocalBoxFuture<'_, Result<()>> {
        self.change_by(TableChange::Alter(alter(name).rename(to)))
    }

    /// Whether there is a table of this name.
    pub fn has_table(&self, name: impl Into<Name>) -> LocalBoxFuture<'_, Result<bool>> {
        is_described(self.describe(name))
    }

    /// Runs this in one transaction if the table is empty, and says whether it did. Of many processes that come at once one does.
    pub async fn seed<E: From<Error>>(
        &self,
        name: impl Into<Name>,
        run: impl AsyncFn(Rc<Transaction>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let name = name.into();
        self.change(TransactionMode::Schema, async |tx| {
            let rows = table(name.as_str());
            let found = rows.to_exists(tx.dialect()).map_err(Error::from)?;
            if !bookkeeping(tx.fetch(found)).await?.is_empty() {
                return Ok(false);
            }
            run(Rc::clone(tx)).await?;
            Ok(true)
        })
        .await
    }
}

/// Whether the database says anything of a table.
fn is_described(
    description: LocalBoxFuture<'_, Result<Option<Description>>>,
) -> LocalBoxFuture<'_, Result<bool>> {
    async move { Ok(description.await?.is_some()) }.boxed_local()
}

/// The same in a transaction of the caller's, whose end the lock is kept to.
impl Transaction {
    /// Like [`Database::create`].
    pub fn create<'t>(&'t self, table: &'t Table) -> LocalBoxFuture<'t, Result<bool>> {
        async move {
            let change = TableChange::Create(table.clone());
            self.change_table(&change).await
        }
        .boxed_local()
    }

    /// Like [`Database::alter`].
    ///
    /// # Errors
    /// [`Error::NeedsRebuild`] if SQLite has to make a table anew that others refer to, and the transaction was not begun with
    /// [`TransactionMode::Rebuild`]. [`Database::alter`] and migrations do that themselves.
    pub fn alter<'t>(&'t self, alteration: &'t Alteration) -> LocalBoxFuture<'t, Result<()>> {
        async move {
            let change = TableChange::Alter(alteration.clone());
            self.change_table(&change).await.map(drop)
        }
        .boxed_local()
    }

    /// Like [`Database::drop_table`].
    pub fn drop_table(&self, name: impl Into<Name>) -> LocalBoxFuture<'_, Result<()>> {
        self.change_by(TableChange::Drop(name.into()))
    }

    fn change_by(&self, change: TableChange) -> LocalBoxFuture<'_, Result<()>> {
        async move { self.change_table(&change).await.map(drop) }.boxed_local()
    }

    /// Like [`Database::rename_table`].
    pub fn rename_table(
        &self,
        name: impl Into<Name>,
        to: impl Into<Name>,
    ) -> LocalBoxFuture<'_, Result<()>> {
        self.change_by(TableChange::Alter(alter(name).rename(to)))
    }

    /// Like [`Database::has_table`].
    pub fn has_table(&self, name: impl Into<Name>) -> LocalBoxFuture<'_, Result<bool>> {
        is_described(self.describe(name))
    }

    async fn change_table(&self, change: &TableChange) -> Result<bool> {
        self.wait_for_schema().await?;
        self.run_change(change).await
    }

    async fn run_change(&self, change: &TableChange) -> Result<bool> {
        let statements = self.plan(change).await?;
        let run = async |statement| self.run(statement).await;
        // Firebird commits some changes of tables on their way, and no savepoint outlives that.
        let results = if statements.len() < 2 || *self.dialect() == FIREBIRD {
            in_turn(statements, run).await?
        } else {
            self.atomically(statements, run).await?
        };
        Ok(!results.is_empty())
    }

    /// The statements that a change of a table takes, as this transaction sees the database; none where there is nothing to do. Runs none
    /// of them.
    ///
    /// # Errors
    /// As [`Transaction::create`], [`Transaction::alter`] or [`Transaction::drop_table`] before they run one.
    pub fn plan<'t>(
        &'t self,
        change: &'t TableChange,
    ) -> LocalBoxFuture<'t, Result<Vec<Statement>>> {
        async move {
            let statements = match change {
                TableChange::Create(table) => self.plan_create(table).await?,
                TableChange::Alter(alteration) => self.plan_alter(alteration).await?,
                TableChange::Drop(name) => self.plan_drop(name).await?,
            };
            let statement = |sql| Statement {
                sql,
                binds: Vec::new(),
            };
            Ok(statements.into_iter().map(statement).collect())
        }
        .boxed_local()
    }

    async fn plan_create(&self, table: &Table) -> Result<Vec<String>> {
        let dialect = self.dialect();
        // Written first, so that what could not be made is refused also where something is there.
        let statements = table.create(dialect)?;
        let Some(found) = self.describe(table.name()).await? else {
            return Ok(statements);
        };
        table.compare(&found, dialect)?;
        Ok(Vec::new())
    }

    async fn plan_alter(&self, alteration: &Alteration) -> Result<Vec<String>> {
        let name = alteration.table();
        let Some(found) = self.describe(name).await? else {
            return Err(Error::usage(format!("there is no table {name}")));
        };
        let altered = alteration.statements_for(&found, self.dialect())?;
        if altered.rebuild == Rebuild::Yes && self.checks_foreign_keys().await? {
            let name = Name::from(name);
            if !self.referring_to(&name).await?.is_empty() {
                let table = name.as_str().to_owned();
                return Err(Error::NeedsRebuild { table });
            }
        }
        Ok(altered.statements)
    }

    async fn plan_drop(&self, name: &Name) -> Result<Vec<String>> {
        let statement = drop_table(name.clone(), self.dialect())?;
        if *self.dialect() == SQLITE {
            // SQLite would delete what refers to it.
            let others = self.referring_to(name).await?;
            if !others.is_empty() {
                let (name, others) = (name.as_str(), others.join(", "));
                return Err(Error::usage(format!(
                    "{name} stays as long as {others} refers to it: drop that first"
                )));
            }
        }
        Ok(vec![statement])
    }

    /// Making a table anew drops the old one, and with that SQLite deletes what refers to it, unless the transaction looks away.
    async fn checks_foreign_keys(&self) -> Result<bool> {
        let sql = "select foreign_keys from pragma_foreign_keys";
        let rows = bookkeeping(self.query(sql, [])).await?;
        let first = rows.first().and_then(|row| row.value(0));
        Ok(first != Some(ValueRef::Integer(0)))
    }

    /// SQLite's tables that refer to this one, but for itself.
    async fn referring_to(&self, name: &Name) -> Result<Vec<String>> {
        let sql = "select distinct m.name from sqlite_schema m join pragma_foreign_key_list(m.name) f \
                   where m.type = 'table' and lower(f.\"table\") = lower(?) and lower(m.name) <> lower(?) order by m.name";
        let values = [name.last(), name.last()].map(Value::from);
        let rows = bookkeeping(self.query(sql, values)).await?;
        let names = rows.iter().filter_map(|row| row.value(0)?.as_text());
        Ok(names.map(str::to_owned).collect())
    }
}
