//! PostgreSQL: a database for each test, made from a template. Not a schema for each: channels of NOTIFY and advisory locks belong to a database, and
//! SQL may name schemas. A run is alive for as long as it holds an advisory lock of its number in the database that is named.
//! Rule: what is dropped was made beside that database, by this run or by one whose lock is free.

use super::address;
use super::test_database::{PREFIX, TestContents, TestDatabase, refuse};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::limits::SCHEMA_LOCK_MAX;
use crate::options::Options;
use crate::postgres::Session;
use crate::rows::Rows;
use crate::value::ValueRef;

/// The first half of the number of a run's advisory lock: "tsut".
const LOCK_CLASS: u32 = 0x7473_7574;

/// Tables and views that somebody has made: none of the system's, of extensions or of sessions.
const TABLES: &str = "select (n.nspname || '.' || c.relname)::text from pg_catalog.pg_class c \
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname <> 'information_schema' and left(n.nspname, 3) <> 'pg_' \
    and not exists (select 1 from pg_catalog.pg_depend d \
    where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype = 'e') order by 1 limit 2";

const HERE: &str = "select oid::bigint, pg_encoding_to_char(encoding)::text, datcollate::text, datctype::text, datname::text \
    from pg_catalog.pg_database where datname = current_database()";

/// What a role needs, where it is refused.
const NOT_PERMITTED: &str = "42501";

pub(super) struct PostgresTests {
    url: String,
    database: Database,
    /// Has the lock of the run.
    session: Session,
    /// The number of the database that is named, in the names of those beside it.
    home: i64,
    run: u32,
    /// How an empty one is made.
    empty: String,
    template: Option<String>,
}

impl PostgresTests {
    pub(super) async fn open(url: &str, run: u32) -> Result<PostgresTests> {
        let options = Options {
            pool: 1,
            min: 0,
            // A server that is busy copies files for a while.
            statement_timeout: SCHEMA_LOCK_MAX,
            ..Options::default()
        };
        let database = Database::connect(url, options).await?;
        let session = database.session().await?;
        let here = session.query(HERE, []).await?;
        let here = here.first();
        let text = |index: usize| {
            let value = here.and_then(|row| row.value(index));
            value.and_then(ValueRef::as_text).unwrap_or_default()
        };
        let home = here.and_then(|row| row.value(0));
        let home = home.and_then(ValueRef::as_integer).unwrap_or_default();
        let place = format!("the PostgreSQL database {}", text(4));
        refuse(&place, &texts(&session.query(TABLES, []).await?))?;
        let quoted = |index: usize| text(index).replace('\'', "''");
        let empty = format!(
            "template template0 encoding '{}' lc_collate '{}' lc_ctype '{}'",
            quoted(1),
            quoted(2),
            quoted(3)
        );
        let tests = PostgresTests {
            url: url.to_owned(),
            database,
            session,
            home,
            run,
            empty,
            template: None,
        };
        tests.lock(run).await?;
        tests.remove_stale().await?;
        Ok(tests)
    }

    pub(super) async fn template(&mut self) -> Result<String> {
        let name = self.name("template");
        self.create(&name, &self.empty).await?;
        let url = self.url_of(&name);
        self.template = Some(name);
        Ok(url)
    }

    pub(super) async fn fresh(&self, number: u32) -> Result<TestDatabase> {
        let name = self.name(&number.to_string());
        let contents = match &self.template {
            Some(template) => {
                self.disconnect(template).await?;
                self.create(&name, &format!("template \"{template}\""))
                    .await?;
                TestContents::Template
            }
            None => {
                self.create(&name, &self.empty).await?;
                TestContents::Nothing
            }
        };
        Ok(TestDatabase {
            url: self.url_of(&name),
            name,
            contents,
        })
    }

    pub(super) async fn remove(&self, name: &str) -> Result<()> {
        let sql = format!("drop database if exists \"{name}\" with (force)");
        self.session.execute(sql, []).await.map(drop)
    }

    pub(super) async fn end(self) -> Result<()> {
        let mut outcome = Ok(());
        for name in self.beside().await? {
            if run_of(&name) == Some(self.run) {
                outcome = outcome.and(self.remove(&name).await);
            }
        }
        self.database.close();
        outcome
    }

    fn name(&self, last: &str) -> String {
        format!("{PREFIX}{}_{:08x}_{last}", self.home, self.run)
    }

    fn url_of(&self, name: &str) -> String {
        address::with_database(&self.url, "dbname", name)
    }

    async fn create(&self, name: &str, from: &str) -> Result<()> {
        let sql = format!("create database \"{name}\" {from}");
        match self.session.execute(sql, []).await {
            Ok(_) => Ok(()),
            Err(error) if error.code().as_deref() == Some(NOT_PERMITTED) => {
                Err(Error::usage(format!(
                    "each test gets a database of its own, and the user of DATABASE_URL may make none ({error}): grant it with `alter role NAME createdb`"
                )))
            }
            Err(error) => Err(error),
        }
    }

    /// Ends what is connected to it: a template that is in use is not copied.
    async fn disconnect(&self, name: &str) -> Result<()> {
        let sql = format!(
            "select pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where datname = '{name}'"
        );
        self.session.query(sql, []).await.map(drop)
    }

    /// Whether this session has the lock of a run now.
    async fn lock(&self, run: u32) -> Result<bool> {
        let sql = format!("select pg_try_advisory_lock({LOCK_CLASS}, {run})");
        let rows = self.session.query(sql, []).await?;
        let held = rows.first().and_then(|row| row.value(0));
        Ok(held == Some(ValueRef::Boolean(true)))
    }

    async fn unlock(&self, run: u32) -> Result<()> {
        let sql = format!("select pg_advisory_unlock({LOCK_CLASS}, {run})");
        self.session.query(sql, []).await.map(drop)
    }

    /// The databases that any run has made beside the one that is named.
    async fn beside(&self) -> Result<Vec<String>> {
        let start = format!("{PREFIX}{}_", self.home);
        let sql = format!(
            "select datname::text from pg_catalog.pg_database where left(datname, {}) = '{start}' order by 1",
            start.len()
        );
        Ok(texts(&self.session.query(sql, []).await?))
    }

    /// Removes what runs have left whose connection is gone.
    async fn remove_stale(&self) -> Result<()> {
        let names = self.beside().await?;
        let mut runs: Vec<u32> = names.iter().filter_map(|name| run_of(name)).collect();
        runs.dedup();
        for run in runs.into_iter().filter(|run| *run != self.run) {
            if !self.lock(run).await? {
                continue;
            }
            // One that cannot be dropped, as another user's, is not this run's failure.
            for name in names.iter().filter(|name| run_of(name) == Some(run)) {
                if let Err(error) = self.remove(name).await {
                    tracing::warn!(target: "tsumugi_db", "the database {name} of a run of tests that was killed stays: {error}");
                }
            }
            self.unlock(run).await?;
        }
        Ok(())
    }
}

/// The run in the name of a database.
fn run_of(name: &str) -> Option<u32> {
    let mut parts = name.strip_prefix(PREFIX)?.split('_');
    let (_home, run) = (parts.next()?, parts.next()?);
    u32::from_str_radix(run, 16).ok()
}

fn texts(rows: &Rows) -> Vec<String> {
    let texts = rows.iter().map(|row| row.value(0));
    let texts = texts.filter_map(|value| value?.as_text().map(str::to_owned));
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_read_from_the_names_of_its_databases_only() {
        assert_eq!(run_of("tsumugi_test_16384_0000002a_7"), Some(42));
        assert_eq!(
            run_of("tsumugi_test_16384_7fffffff_template"),
            Some(0x7fff_ffff)
        );
        for other in ["app", "tsumugi_test_", "tsumugi_test_1_x_1", "test_1_2_3"] {
            assert_eq!(run_of(other), None, "{other}");
        }
    }
}
