//! The table of leases in a database, which the first use makes, and work on it that nobody waits for. Reads and writes no row of it.
//! Rule: it is made under the lock of the schema, so that processes that start together make it once.

use tokio::sync::OnceCell;
use tokio::time::sleep;
use tsumugi_db::{Database, Executor, TransactionMode, ValueRef};

use crate::error::Result;
use crate::limits::ABANDON_PAUSES;

/// How PostgreSQL is asked for it and makes it. The same statement stands in docs/cluster.md, for those who make it by a migration.
const POSTGRES: TableSql = TableSql {
    exists: "select to_regclass('tsumugi_leases') is not null",
    create: "create table if not exists tsumugi_leases (\
             name text primary key, token bigint not null, holder text, \
             taken_at timestamptz not null, expires_at timestamptz not null, ticked_at timestamptz)",
};

/// The times are milliseconds since a start of the machine, and `boot` says of which.
const SQLITE: TableSql = TableSql {
    exists: "select count(*) > 0 from sqlite_master where type = 'table' and name = 'tsumugi_leases'",
    create: "create table if not exists tsumugi_leases (\
             name text primary key, token integer not null, holder text, boot text not null, \
             taken_at integer not null, expires_at integer not null, ticked_at integer)",
};

struct TableSql {
    exists: &'static str,
    create: &'static str,
}

/// The table of one database.
#[derive(Debug)]
pub(crate) struct LeaseTable {
    database: Database,
    ready: OnceCell<()>,
}

impl LeaseTable {
    pub fn of(database: Database) -> LeaseTable {
        LeaseTable {
            database,
            ready: OnceCell::new(),
        }
    }

    /// The database, in which the table is.
    pub async fn database(&self) -> Result<&Database> {
        self.ready.get_or_try_init(|| self.make()).await?;
        Ok(&self.database)
    }

    /// The database as it is.
    pub fn database_as_is(&self) -> &Database {
        &self.database
    }

    async fn make(&self) -> Result<()> {
        let sql = match &self.database {
            Database::Sqlite(_) => SQLITE,
            _ => POSTGRES,
        };
        let rows = self.database.query(sql.exists, []).await?;
        let exists = rows.first().and_then(|row| row.value(0));
        if matches!(exists, Some(ValueRef::Boolean(true) | ValueRef::Integer(1))) {
            return Ok(());
        }
        let executor = Executor::Database(self.database.clone());
        let transaction = executor.begin_change(TransactionMode::Immediate).await?;
        transaction.execute_script(sql.create).await?;
        transaction.commit().await?;
        Ok(())
    }
}

/// Ends a lease in a task of its own, if there are any more. Where the holder has none yet, the question for it may still be under way, on another
/// connection; so it is looked for again.
pub(crate) fn abandon_by(release: impl AsyncFn() -> Result<bool> + 'static) {
    if tokio::runtime::Handle::try_current().is_err() {
        return; // its time ends it
    }
    drop(tokio::task::spawn_local(async move {
        for pause in ABANDON_PAUSES {
            match release().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "a lease is not given back yet"),
            }
            sleep(pause).await;
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::POSTGRES;

    #[test]
    fn statement_of_the_documents_makes_the_same_table() {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let page = words(include_str!("../../../docs/cluster.md"));
        let create = words(POSTGRES.create).replace("( ", "(");
        assert!(page.replace("( ", "(").contains(&create), "{create}");
    }
}
