//! PostgreSQL: a database for each test, made from a template. Not a schema for each: channels of NOTIFY and advisory locks belong to a database, and
//! SQL may name schemas. A run is alive for as long as it holds an advisory lock of its number in the database that is named.
//! Rule: what is dropped was made beside that database, by this run or by one whose lock is free. A connection that is lost between two tests takes the lock
//! with it, so the next one takes it again first.

use super::address;
use super::test_database::{
    PREFIX, TEMPLATE, TestContents, TestDatabase, refuse, run_of, texts, warn_of_stale,
};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::limits::{SCHEMA_LOCK_MAX, TEST_DATABASE_PAUSE, TEST_DATABASE_TRIES_MAX};
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

/// The database that is named: its number, its name, and how a new one is like it. Versions before 15 have no `datlocprovider`; from 17 on `daticulocale`
/// is `datlocale`.
const CURRENT_DATABASE: &str = "select d.oid::bigint, d.datname::text, format('encoding %L lc_collate %L lc_ctype %L', \
    pg_encoding_to_char(d.encoding), d.datcollate, d.datctype) \
    || case r->>'datlocprovider' when 'c' then ' locale_provider libc' \
    when 'i' then format(' locale_provider icu icu_locale %L', coalesce(r->>'datlocale', r->>'daticulocale')) \
    || coalesce(' icu_rules ' || quote_literal(r->>'daticurules'), '') \
    when 'b' then format(' locale_provider builtin builtin_locale %L', r->>'datlocale') else '' end \
    from pg_catalog.pg_database d, to_jsonb(d) r where d.datname = current_database()";

/// What a role needs, where it is refused.
const NOT_PERMITTED: &str = "42501";

pub(super) struct PostgresTests {
    url: String,
    database: Database,
    /// Has the lock of the run. None once it was lost and no other was opened yet.
    session: Option<Session>,
    /// Of the database that is named; in the names of those beside it.
    database_oid: i64,
    run: u32,
    /// How an empty one is made, as CREATE DATABASE has it behind the name.
    template0_clause: String,
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
        let here = session.query(CURRENT_DATABASE, []).await?;
        let here = here.first();
        let text = |index: usize| {
            let value = here.and_then(|row| row.value(index));
            value.and_then(ValueRef::as_text).unwrap_or_default()
        };
        let database_oid = here.and_then(|row| row.value(0));
        let database_oid = database_oid
            .and_then(ValueRef::as_integer)
            .unwrap_or_default();
        let place = format!("the PostgreSQL database {}", text(1));
        refuse(&place, &texts(&session.query(TABLES, []).await?))?;
        let template0_clause = format!("template template0 {}", text(2));
        let mut tests = PostgresTests {
            url: url.to_owned(),
            database,
            session: Some(session),
            database_oid,
            run,
            template0_clause,
            template: None,
        };
        // Nobody else has a number that was just made up.
        tests.execute(&lock_sql(run)).await?;
        tests.remove_stale().await?;
        Ok(tests)
    }

    pub(super) async fn template(&mut self) -> Result<String> {
        let name = self.name(TEMPLATE);
        let from = self.template0_clause.clone();
        self.create_database(&name, &from).await?;
        let url = self.url_of(&name);
        self.template = Some(name);
        Ok(url)
    }

    pub(super) async fn create(&mut self, number: u32) -> Result<TestDatabase> {
        let name = self.name(&number.to_string());
        let (from, contents) = match self.template.clone() {
            Some(template) => {
                self.disconnect(&template).await?;
                (format!("template \"{template}\""), TestContents::Template)
            }
            None => (self.template0_clause.clone(), TestContents::Nothing),
        };
        self.create_database(&name, &from).await?;
        Ok(TestDatabase {
            url: self.url_of(&name),
            name,
            contents,
        })
    }

    pub(super) async fn remove(&mut self, name: &str) -> Result<()> {
        let sql = format!("drop database if exists \"{name}\" with (force)");
        self.execute(&sql).await.map(drop)
    }

    pub(super) async fn end(mut self) -> Result<()> {
        let mut outcome = Ok(());
        for name in self.list_test_databases().await? {
            if run_of(&name) == Some(self.run) {
                outcome = outcome.and(self.remove(&name).await);
            }
        }
        self.database.close();
        outcome
    }

    fn name(&self, last: &str) -> String {
        format!("{PREFIX}{}_{:08x}_{last}", self.database_oid, self.run)
    }

    fn url_of(&self, name: &str) -> String {
        address::with_database(&self.url, "dbname", name)
    }

    async fn create_database(&mut self, name: &str, from: &str) -> Result<()> {
        let sql = format!("create database \"{name}\" {from}");
        let mut made = self.execute_once(&sql).await;
        if made.as_ref().is_err_and(is_lost) {
            // It may be there.
            self.remove(name).await?;
            made = self.execute_once(&sql).await;
        }
        match made {
            Ok(_) => Ok(()),
            Err(error) if error.code().as_deref() == Some(NOT_PERMITTED) => {
                Err(Error::usage(format!(
                    "each test gets a database of its own, and the user of DATABASE_URL may make none ({error}): grant it with `alter role NAME createdb`"
                )))
            }
            Err(error) => Err(error),
        }
    }

    /// Runs what may run twice, on another connection where the first is lost.
    async fn execute(&mut self, sql: &str) -> Result<Rows> {
        match self.execute_once(sql).await {
            Err(error) if is_lost(&error) => self.execute_once(sql).await,
            ran => ran,
        }
    }

    /// Runs it on the session that has the run's lock. One that is lost is given up.
    async fn execute_once(&mut self, sql: &str) -> Result<Rows> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.locked_session().await?,
        };
        let ran = session.query(sql, []).await;
        if !ran.as_ref().is_err_and(is_lost) {
            self.session = Some(session);
        }
        ran
    }

    /// A session that has taken the lock of the run anew.
    async fn locked_session(&self) -> Result<Session> {
        let session = self.database.session().await?;
        let mut tries = 0;
        while !lock(&session, self.run).await? {
            tries += 1;
            if tries == TEST_DATABASE_TRIES_MAX {
                return Err(Error::usage(
                    "the connection of this run of tests was lost, and another run removes its databases: run it again",
                ));
            }
            // The server may not have seen yet that the connection before is gone.
            tokio::time::sleep(TEST_DATABASE_PAUSE).await;
        }
        Ok(session)
    }

    /// Ends what is connected to it: a template that is in use is not copied.
    async fn disconnect(&mut self, name: &str) -> Result<()> {
        let sql = format!(
            "select pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where datname = '{name}'"
        );
        self.execute(&sql).await.map(drop)
    }

    /// The databases that any run has made beside the one that is named.
    async fn list_test_databases(&mut self) -> Result<Vec<String>> {
        let start = format!("{PREFIX}{}_", self.database_oid);
        let sql = format!(
            "select datname::text from pg_catalog.pg_database where left(datname, {}) = '{start}' order by 1",
            start.len()
        );
        Ok(texts(&self.execute(&sql).await?))
    }

    /// Removes what runs have left whose connection is gone.
    async fn remove_stale(&mut self) -> Result<()> {
        let names = self.list_test_databases().await?;
        let mut runs: Vec<u32> = names.iter().filter_map(|name| run_of(name)).collect();
        runs.dedup();
        runs.retain(|run| *run != self.run);
        for run in runs {
            if !is_true(&self.execute(&lock_sql(run)).await?) {
                continue;
            }
            // One that cannot be dropped, as another user's, is not this run's failure.
            for name in names.iter().filter(|name| run_of(name) == Some(run)) {
                if let Err(error) = self.remove(name).await {
                    warn_of_stale(name, &error);
                }
            }
            self.execute(&format!("select pg_advisory_unlock({LOCK_CLASS}, {run})"))
                .await?;
        }
        Ok(())
    }
}

/// Tries to take the lock of a run.
fn lock_sql(run: u32) -> String {
    format!("select pg_try_advisory_lock({LOCK_CLASS}, {run})")
}

async fn lock(session: &Session, run: u32) -> Result<bool> {
    let rows = session.query(lock_sql(run), []).await?;
    Ok(is_true(&rows))
}

fn is_true(rows: &Rows) -> bool {
    let value = rows.first().and_then(|row| row.value(0));
    value == Some(ValueRef::Boolean(true))
}

/// Whether the connection is gone.
fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Lost { .. })
}
