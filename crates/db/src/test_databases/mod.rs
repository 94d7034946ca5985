//! Databases of their own for tests, beside the one that a URL names: made for one test, removed after it, and after a run that was killed by the next
//! one. Runs no test and no migration. Rule: the database that is named is looked at and never changed, but for Firebird's list of what was made beside it;
//! what is removed has a name that only runs of tests give.

mod address;
#[cfg(feature = "firebird")]
mod firebird;
mod postgres;
mod sqlite;
mod test_database;

use std::path::Path;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::error::Result;
use crate::on_each::on_server;
use postgres::PostgresTests;
use sqlite::SqliteTests;

pub(crate) use test_database::is_test_database;
pub use test_database::{TestContents, TestDatabase};

/// The databases of one run of tests, on one thread. End it with [`TestDatabases::end`]; what a run has left that was killed is removed when the next
/// one opens.
pub struct TestDatabases {
    engine: Engine,
    made: u32,
}

enum Engine {
    Sqlite(SqliteTests),
    Postgres(Box<PostgresTests>),
    #[cfg(feature = "firebird")]
    Firebird(Box<firebird::FirebirdTests>),
}

impl TestDatabases {
    /// Databases as the one at `url`: on the same server, or else files below folders that belong to the run; without a URL files of SQLite. Removes
    /// what runs have left that were killed. Firebird needs the feature `firebird`.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) of a database with tables that no test has made. As [`Database::connect`](crate::Database::connect).
    pub fn open<'u>(
        url: Option<&'u str>,
        folder: &'u Path,
    ) -> LocalBoxFuture<'u, Result<TestDatabases>> {
        async move {
            let engine = match url {
                Some(url) if url.starts_with("postgres:") || url.starts_with("postgresql:") => {
                    Engine::Postgres(Box::new(PostgresTests::open(url, run_number()).await?))
                }
                #[cfg(feature = "firebird")]
                Some(url) if url.starts_with("firebird:") => {
                    let tests = firebird::FirebirdTests::open(url, run_number()).await?;
                    Engine::Firebird(Box::new(tests))
                }
                url => Engine::Sqlite(SqliteTests::open(url, folder, run_number()).await?),
            };
            Ok(TestDatabases { engine, made: 0 })
        }
        .boxed_local()
    }

    /// A database to be migrated once, of which all that follow are copies; its URL. None where there is no copying: each is migrated then.
    ///
    /// # Errors
    /// As [`TestDatabases::create`].
    pub fn template(&mut self) -> LocalBoxFuture<'_, Result<Option<String>>> {
        async move {
            match &mut self.engine {
                Engine::Sqlite(tests) => Ok(tests.template()),
                Engine::Postgres(tests) => tests.template().await.map(Some),
                #[cfg(feature = "firebird")]
                Engine::Firebird(_) => Ok(None),
            }
        }
        .boxed_local()
    }

    /// A database that nothing has used: a copy of the template, or an empty one. A file is made in `folder`, which is the test's.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) where the user of the URL may make none, which says what to grant; what the database says.
    pub fn create<'t>(&'t mut self, folder: &'t Path) -> LocalBoxFuture<'t, Result<TestDatabase>> {
        async move {
            self.made += 1;
            on_server!(
                Engine, &mut self.engine,
                Sqlite(tests) => tests.create(folder, self.made).await,
                tests => tests.create(self.made).await
            )
        }
        .boxed_local()
    }

    /// Removes one, whoever is still connected to it. A file goes with its folder.
    ///
    /// # Errors
    /// What the database says.
    pub fn remove(&mut self, database: TestDatabase) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            on_server!(
                Engine, &mut self.engine,
                Sqlite(tests) => {
                    tests.remove(&database.name);
                    Ok(())
                },
                tests => tests.remove(&database.name).await
            )
        }
        .boxed_local()
    }

    /// Removes all that this run has made and that is still there.
    ///
    /// # Errors
    /// What the database says; the next run removes what was left.
    pub fn end(self) -> LocalBoxFuture<'static, Result<()>> {
        async move {
            on_server!(Engine, self.engine, Sqlite(_) => Ok(()), tests => tests.end().await)
        }
        .boxed_local()
    }
}

/// A number that no other run has, which fits PostgreSQL's locks.
fn run_number() -> u32 {
    let mut bytes = [0; 4];
    // Without random bytes the time would do: a number that is taken is an error of the server.
    if SystemRandom::new().fill(&mut bytes).is_err() {
        bytes = std::process::id().to_be_bytes();
    }
    u32::from_be_bytes(bytes) >> 1
}
