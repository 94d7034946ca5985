//! Tables that the product makes for itself in an author's database: leases, jobs. Knows none of them.
//! Rule: they are made under the lock of the schema, so that processes that start together make them once, and not at all where they are there.

use crate::error::Result;
use crate::executor::Executor;
use crate::options::TransactionMode;
use crate::value::{Value, ValueRef};

impl Executor {
    /// Whether there is a table of this name, which is of small letters.
    ///
    /// # Errors
    /// As [`Executor::query`].
    pub async fn has_table(&self, name: &str) -> Result<bool> {
        let sql = match self.dialect().name {
            "PostgreSQL" => "select case when to_regclass(?) is null then 0 else 1 end",
            "SQLite" => "select count(*) from sqlite_master where type = 'table' and name = ?",
            _ => {
                "select count(*) from rdb$relations where trim(rdb$relation_name) = upper(cast(? as varchar(63)))"
            }
        };
        let rows = self.query_catalog(sql, [Value::from(name)]).await?;
        let count = rows.first().and_then(|row| row.value(0));
        Ok(count.and_then(ValueRef::as_integer) != Some(0))
    }

    /// Makes the table of this name by these statements unless it is there, and says whether it did: in this transaction, or else in one of its own.
    ///
    /// # Errors
    /// As [`Executor::begin_change`], and of the statements.
    pub async fn make_table(&self, name: &str, create: &[&str]) -> Result<bool> {
        if self.has_table(name).await? {
            return Ok(false);
        }
        if let Executor::Transaction(transaction) = self {
            self.lock_schema().await?;
            if self.has_table(name).await? {
                return Ok(false);
            }
            for sql in create {
                transaction.execute(*sql, []).await?;
            }
            return Ok(true);
        }
        let transaction = std::rc::Rc::new(self.begin_change(TransactionMode::Schema).await?);
        let inside = Executor::Transaction(std::rc::Rc::clone(&transaction));
        let is_missing = !inside.has_table(name).await?;
        if is_missing {
            for sql in create {
                transaction.execute(*sql, []).await?;
            }
        }
        transaction.commit().await?;
        Ok(is_missing)
    }
}
