//! The tables of a cluster in its database, which the first use makes, and work on leases that nobody waits for. Reads and writes no row.
//! Rule: they are made under the lock of the schema, so that processes that start together make them once.

use tokio::sync::OnceCell;
use tsumugi_db::{Database, Executor, Family, TransactionMode, ValueRef, bookkeeping};

use crate::error::Result;

/// How PostgreSQL is asked for them and makes them. The same statements stand in docs/cluster.md, for those who make them by a migration.
const POSTGRES_LEASES: TableSql = TableSql {
    exists: "select to_regclass('tsumugi_leases') is not null",
    create: "create table if not exists tsumugi_leases (\
             name text primary key, token bigint not null, holder text, \
             taken_at timestamptz not null, expires_at timestamptz not null, ticked_at timestamptz)",
};

/// The times are milliseconds since a start of the machine, and `boot` says of which.
const SQLITE_LEASES: TableSql = TableSql {
    exists: "select count(*) > 0 from sqlite_master where type = 'table' and name = 'tsumugi_leases'",
    create: "create table if not exists tsumugi_leases (\
             name text primary key, token integer not null, holder text, boot text not null, \
             taken_at integer not null, expires_at integer not null, ticked_at integer)",
};

/// The last number of each channel, and the messages that are kept.
const POSTGRES_MESSAGES: TableSql = TableSql {
    exists: "select to_regclass('tsumugi_messages') is not null",
    create: "create table if not exists tsumugi_channels (name text primary key, last bigint not null); \
             create table if not exists tsumugi_messages (\
             channel text not null, id bigint not null, message text not null, primary key (channel, id))",
};

const SQLITE_MESSAGES: TableSql = TableSql {
    exists: "select count(*) > 0 from sqlite_master where type = 'table' and name = 'tsumugi_messages'",
    create: "create table if not exists tsumugi_channels (name text primary key, last integer not null); \
             create table if not exists tsumugi_messages (\
             channel text not null, id integer not null, message text not null, primary key (channel, id)) without rowid",
};

#[derive(Debug)]
struct TableSql {
    exists: &'static str,
    create: &'static str,
}

/// Tables of one database that belong together.
#[derive(Debug)]
pub(crate) struct SharedTable {
    database: Database,
    sql: &'static TableSql,
    ready: OnceCell<()>,
}

impl SharedTable {
    /// Where leases are.
    pub fn leases(database: Database) -> SharedTable {
        SharedTable::new(database, &SQLITE_LEASES, &POSTGRES_LEASES)
    }

    /// Where the messages of channels are kept.
    pub fn messages(database: Database) -> SharedTable {
        SharedTable::new(database, &SQLITE_MESSAGES, &POSTGRES_MESSAGES)
    }

    fn new(
        database: Database,
        sqlite: &'static TableSql,
        postgres: &'static TableSql,
    ) -> SharedTable {
        SharedTable {
            // `Cluster::over` makes none over Firebird.
            sql: match database.dialect().family {
                Family::Sqlite => sqlite,
                Family::Postgres | Family::Firebird => postgres,
            },
            database,
            ready: OnceCell::new(),
        }
    }

    /// The database, in which they are.
    pub async fn database(&self) -> Result<&Database> {
        let make = || bookkeeping(self.make());
        self.ready.get_or_try_init(make).await?;
        Ok(&self.database)
    }

    /// The database as it is.
    pub fn database_as_is(&self) -> &Database {
        &self.database
    }

    async fn make(&self) -> Result<()> {
        let rows = self.database.query(self.sql.exists, []).await?;
        let exists = rows.first().and_then(|row| row.value(0));
        if matches!(exists, Some(ValueRef::Boolean(true) | ValueRef::Integer(1))) {
            return Ok(());
        }
        let executor = Executor::Database(self.database.clone());
        let transaction = executor.begin_change(TransactionMode::Immediate).await?;
        transaction.execute_script(self.sql.create).await?;
        transaction.commit().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{POSTGRES_LEASES, POSTGRES_MESSAGES};

    #[test]
    fn statements_of_the_documents_make_the_same_tables() {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let page = words(include_str!("../../../docs/cluster.md"));
        for sql in [POSTGRES_LEASES, POSTGRES_MESSAGES] {
            let create = words(sql.create).replace("( ", "(");
            assert!(page.replace("( ", "(").contains(&create), "{create}");
        }
    }
}
