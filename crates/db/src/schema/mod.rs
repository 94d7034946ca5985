//! Tables made, changed and dropped: which statements that takes is the builder's (`tsumugi_sql::schema`), in which transaction and under
//! which lock they run is here. Migrations and seeds are beside it. Rule: each runs whole or not at all, and one process at a time.

mod migrations;
mod turn;

use std::rc::Rc;

use tsumugi_sql::schema::{Alteration, Rebuild, Table, alter, drop_table};
use tsumugi_sql::{FIREBIRD, Name, SQLITE, Statement, table};

use crate::database::{Database, Transaction};
use crate::error::{Error, Result};
use crate::options::TransactionMode;
use crate::sequence::in_turn;
use crate::value::{Value, ValueRef};

pub use migrations::{
    Direction, Migration, MigrationEvent, MigrationStatus, Migrator, State, ordinal,
};
pub use turn::LOCK;
use turn::Patience;

impl Database {
    /// Makes a table and says whether it did. One of this name that is the same already is left alone. Within a transaction it is
    /// [`Transaction::create`]: this one would wait for the transaction that it is called in. So it is with all changes below.
    ///
    /// # Errors
    /// [`Error::Usage`] within a transaction that [`Database::inside`] knows of.
    /// [`Error::TableDiffers`] if there is another one of this name. [`Error::PoolTimeout`] if another caller has been changing the schema for
    /// longer than [`schema_wait`](crate::Options::schema_wait).
    pub async fn create(&self, table: &Table) -> Result<bool> {
        self.make(table, Patience::short(self.options())).await
    }

    async fn make(&self, table: &Table, patience: Patience) -> Result<bool> {
        let make = async |tx: &Rc<Transaction>| made(tx, table).await;
        self.change(TransactionMode::Schema, patience, make).await
    }

    /// Changes a table, in all steps or in none. What SQLite can only do by making the table anew it does so.
    pub async fn alter(&self, alteration: &Alteration) -> Result<()> {
        let patience = Patience::short(self.options());
        self.change(TransactionMode::Rebuild, patience, async |tx| {
            altered(tx, alteration).await
        })
        .await
    }

    /// Drops a table with what is in it. One that others refer to stays.
    pub async fn drop_table(&self, name: impl Into<Name>) -> Result<()> {
        let name = name.into();
        let patience = Patience::short(self.options());
        self.change(TransactionMode::Schema, patience, async |tx| {
            dropped(tx, &name).await
        })
        .await
    }

    /// Gives a table another name.
    pub async fn rename_table(&self, name: impl Into<Name>, to: impl Into<Name>) -> Result<()> {
        self.alter(&alter(name).rename(to)).await
    }

    /// Whether there is a table of this name.
    pub async fn has_table(&self, name: impl Into<Name>) -> Result<bool> {
        Ok(self.describe(name).await?.is_some())
    }

    /// Runs this in one transaction if the table is empty, and says whether it did. Of many processes that come at once one does.
    pub async fn seed<E: From<Error>>(
        &self,
        name: impl Into<Name>,
        run: impl AsyncFn(Rc<Transaction>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let name = name.into();
        self.change(TransactionMode::Schema, Patience::long(), async |tx| {
            let rows = table(name.as_str());
            let found = rows.to_exists(tx.dialect()).map_err(Error::from)?;
            if !tx.fetch(found).await?.is_empty() {
                return Ok(false);
            }
            run(Rc::clone(tx)).await?;
            Ok(true)
        })
        .await
    }
}

/// The same in a transaction of the caller's, whose end the lock is kept to.
impl Transaction {
    /// Like [`Database::create`].
    pub async fn create(&self, table: &Table) -> Result<bool> {
        self.wait_for_schema().await?;
        made(self, table).await
    }

    /// Like [`Database::alter`].
    ///
    /// # Errors
    /// [`Error::NeedsRebuild`] if SQLite has to make a table anew that others refer to, and the transaction was not begun with
    /// [`TransactionMode::Rebuild`]. [`Database::alter`] and migrations do that themselves.
    pub async fn alter(&self, alteration: &Alteration) -> Result<()> {
        self.wait_for_schema().await?;
        altered(self, alteration).await
    }

    /// Like [`Database::drop_table`].
    pub async fn drop_table(&self, name: impl Into<Name>) -> Result<()> {
        self.wait_for_schema().await?;
        dropped(self, &name.into()).await
    }

    /// Like [`Database::rename_table`].
    pub async fn rename_table(&self, name: impl Into<Name>, to: impl Into<Name>) -> Result<()> {
        self.alter(&alter(name).rename(to)).await
    }

    /// Like [`Database::has_table`].
    pub async fn has_table(&self, name: impl Into<Name>) -> Result<bool> {
        Ok(self.describe(name).await?.is_some())
    }

    async fn say(&self, statements: Vec<String>) -> Result<()> {
        let statement = |sql| Statement {
            sql,
            binds: Vec::new(),
        };
        let statements: Vec<Statement> = statements.into_iter().map(statement).collect();
        let run = async |statement| self.run(statement).await;
        // Firebird commits some changes of tables on their way, and no savepoint outlives that.
        if statements.len() < 2 || *self.dialect() == FIREBIRD {
            in_turn(statements, run).await?;
        } else {
            self.atomically(statements, run).await?;
        }
        Ok(())
    }

    /// SQLite's tables that refer to this one, but for itself.
    async fn referring_to(&self, name: &Name) -> Result<Vec<String>> {
        let sql = "select distinct m.name from sqlite_schema m join pragma_foreign_key_list(m.name) f \
                   where m.type = 'table' and lower(f.\"table\") = lower(?) and lower(m.name) <> lower(?) order by m.name";
        let values = [name.last(), name.last()].map(Value::from);
        let rows = self.query(sql, values).await?;
        let names = rows.iter().filter_map(|row| row.value(0)?.as_text());
        Ok(names.map(str::to_owned).collect())
    }
}

async fn made(tx: &Transaction, table: &Table) -> Result<bool> {
    let dialect = tx.dialect();
    // Said first, so that what could not be made is refused also where something is there.
    let statements = table.create(dialect)?;
    if let Some(found) = tx.describe(table.name()).await? {
        table.compare(&found, dialect)?;
        return Ok(false);
    }
    tx.say(statements).await?;
    Ok(true)
}

async fn altered(tx: &Transaction, alteration: &Alteration) -> Result<()> {
    let (dialect, name) = (tx.dialect(), alteration.table());
    let Some(found) = tx.describe(name).await? else {
        return Err(Error::usage(format!("there is no table {name}")));
    };
    let altered = alteration.statements_for(&found, dialect)?;
    if altered.rebuild == Rebuild::Yes && looks_at_keys(tx).await? {
        let name = Name::from(name);
        if !tx.referring_to(&name).await?.is_empty() {
            let table = name.as_str().to_owned();
            return Err(Error::NeedsRebuild { table });
        }
    }
    tx.say(altered.statements).await
}

/// Making a table anew drops the old one, and with that SQLite deletes what refers to it, unless the transaction looks away.
async fn looks_at_keys(tx: &Transaction) -> Result<bool> {
    let rows = tx
        .query("select foreign_keys from pragma_foreign_keys", [])
        .await?;
    let first = rows.first().and_then(|row| row.value(0));
    Ok(first != Some(ValueRef::Integer(0)))
}

async fn dropped(tx: &Transaction, name: &Name) -> Result<()> {
    let statement = drop_table(name.clone(), tx.dialect())?;
    if *tx.dialect() == SQLITE {
        // SQLite would delete what refers to it.
        let others = tx.referring_to(name).await?;
        if !others.is_empty() {
            let (name, others) = (name.as_str(), others.join(", "));
            return Err(Error::usage(format!(
                "{name} stays as long as {others} refers to it: drop that first"
            )));
        }
    }
    tx.say(vec![statement]).await
}
