//! Firebird: a file for each test beside that of the database that is named. The server cannot copy a database by SQL, so each is made empty. It cannot
//! list files either: what was made is noted in a table of the database that is named. A run is alive for as long as a transaction of it has a
//! row there that is never committed: no other transaction can store one with its number meanwhile.
//! Rule: what is dropped is noted there, by this run or by one whose number is free, and has a name that this run or that one gives: whoever may write
//! to the table names nothing else.

use tsumugi_firebird::{
    Config, Connection, Connector, Creation, ForcedWrites, TransactionOptions as Parameters, Wait,
};
use tsumugi_firebird_proto::{Argument, GdsCode, ServerError};

use super::address;
use super::test_database::{
    PREFIX, TestContents, TestDatabase, refuse, run_of, texts, warn_of_stale,
};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::limits::{TEST_DATABASE_PAUSE, TEST_DATABASE_TRIES_MAX, TIMEOUT_MAX};
use crate::options::{Options, TransactionOptions};
use crate::server::DriverError as _;
use crate::sql_text::SqlText;
use crate::statement_context::StatementContext;
use crate::transaction::Transaction;
use crate::value::{Value, ValueRef};

/// A row for each database, under the name of its file.
const LIST: &str = "tsumugi_test_databases";

const NOTE: &str = "insert into tsumugi_test_databases (name, run) values (?, ?)";

const TABLES: &str = "select first 2 lower(trim(rdb$relation_name)) from rdb$relations \
    where coalesce(rdb$system_flag, 0) = 0 and lower(trim(rdb$relation_name)) <> 'tsumugi_test_databases' order by 1";

pub(super) struct FirebirdTests {
    url: String,
    options: Options,
    /// The database that is named.
    database: Database,
    /// The folder of its file, on the server, with the sign behind it.
    folder: String,
    /// Has stored the run's number.
    _liveness_transaction: Transaction,
    run: String,
}

impl FirebirdTests {
    pub(super) async fn open(url: &str, run: u32) -> Result<FirebirdTests> {
        let options = Options {
            pool: 3,
            min: 0,
            // That of a run lasts as long as the run.
            idle_timeout: TIMEOUT_MAX,
            ..Options::default()
        };
        let database = Database::connect(url, options.clone()).await?;
        let file = database.query("select mon$database_name from mon$database", []);
        let file = texts(&file.await?).pop().unwrap_or_default();
        let place = format!("the Firebird database {file}");
        refuse(&place, &texts(&database.query(TABLES, []).await?))?;
        make_list(&database).await?;
        let run = format!("{run:08x}");
        let liveness_transaction = database.begin(TransactionOptions::default()).await?;
        let values = [Value::from(run.as_str()), Value::from(run.as_str())];
        liveness_transaction.execute(NOTE, values).await?;
        let end = file.rfind(['/', '\\']);
        let folder = end.and_then(|end| file.get(..=end)).unwrap_or_default();
        let tests = FirebirdTests {
            url: url.to_owned(),
            options,
            database,
            folder: folder.to_owned(),
            _liveness_transaction: liveness_transaction,
            run,
        };
        tests.remove_stale().await?;
        Ok(tests)
    }

    pub(super) async fn create(&self, number: u32) -> Result<TestDatabase> {
        let name = format!("{PREFIX}{}_{number}.fdb", self.run);
        let values = [Value::from(name.as_str()), Value::from(self.run.as_str())];
        self.database.execute(NOTE, values).await?;
        let creation = Creation {
            // What lives for a test need not reach the disk.
            forced_writes: ForcedWrites::Off,
            ..Creation::default()
        };
        let made = Connection::create(&connector(&self.url_of(&name))?, &creation).await;
        made.map_err(|error| {
            let error = self.failure("create database", error);
            Error::usage(format!(
                "each test gets a database of its own, and the server made none in {}: {error}. \
                 The user of DATABASE_URL needs `grant create database`, and DatabaseAccess in firebird.conf has to allow the folder",
                self.folder
            ))
        })?;
        Ok(TestDatabase {
            url: self.url_of(&name),
            name,
            contents: TestContents::Nothing,
        })
    }

    pub(super) async fn remove(&self, name: &str) -> Result<()> {
        self.drop_file(name).await?;
        let sql = format!("delete from {LIST} where name = ?");
        self.database
            .execute(sql, [Value::from(name)])
            .await
            .map(drop)
    }

    pub(super) async fn end(self) -> Result<()> {
        let mut outcome = Ok(());
        for name in self.noted_by(&self.run).await? {
            outcome = outcome.and(self.remove(&name).await);
        }
        self.database.close();
        outcome
    }

    fn url_of(&self, name: &str) -> String {
        let path = format!("{}{name}", self.folder);
        address::with_database(&self.url, "database", &path)
    }

    fn failure(&self, sql: &str, error: tsumugi_firebird::Error) -> Error {
        error.into_error(StatementContext {
            sql: SqlText::from(sql),
            values: Vec::new(),
            options: &self.options,
        })
    }

    /// Drops a database with all connections to it. One that is not there is dropped.
    async fn drop_file(&self, name: &str) -> Result<()> {
        let connector = connector(&self.url_of(name))?;
        let mut tries = 0;
        loop {
            let error = match Connection::open(&connector).await {
                Ok(connection) => match drop_all(connection).await {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                },
                Err(error) if error.server().is_some_and(names_no_file) => return Ok(()),
                Err(error) => error,
            };
            tries += 1;
            if tries == TEST_DATABASE_TRIES_MAX {
                return Err(self.failure("drop database", error));
            }
            // Connections that are ended take a moment to go.
            tokio::time::sleep(TEST_DATABASE_PAUSE).await;
        }
    }

    /// What a run has noted, but for what it cannot have made.
    async fn noted_by(&self, run: &str) -> Result<Vec<String>> {
        let sql = format!("select name from {LIST} where run = ? order by 1");
        let rows = self.database.query(sql, [Value::from(run)]).await?;
        let mut names = texts(&rows);
        let number = u32::from_str_radix(run, 16).ok();
        names.retain(|name| {
            let is_made = number.is_some() && run_of(name) == number;
            if !is_made {
                tracing::warn!(target: "tsumugi_db", "{LIST} names {name:?}, which no run of tests has made: it is left as it is");
            }
            is_made
        });
        Ok(names)
    }

    /// Removes what runs have left whose connection is gone.
    async fn remove_stale(&self) -> Result<()> {
        let sql = format!("select distinct run from {LIST} where run <> ?");
        let rows = self.database.query(sql, [Value::from(self.run.as_str())]);
        let mut runs = texts(&rows.await?);
        // They stand in SQL.
        runs.retain(|run| run.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if runs.is_empty() {
            return Ok(());
        }
        let failure = |error| self.failure("select", error);
        let connector = connector(&self.url)?;
        let connection = Connection::open(&connector).await.map_err(failure)?;
        for run in runs {
            let at_once = Parameters {
                wait: Wait::No,
                ..Parameters::default()
            };
            let turn = connection.begin(at_once).await.map_err(failure)?;
            let number = format!("insert into {LIST} (name, run) values ('{run}', '{run}')");
            // Another run has stored it, which is alive or removes the same.
            if turn.query(&number, &[]).await.is_err() {
                continue;
            }
            for name in self.noted_by(&run).await? {
                if let Err(error) = self.remove(&name).await {
                    warn_of_stale(&name, &error);
                }
            }
            turn.roll_back().await.map_err(failure)?;
        }
        Ok(())
    }
}

fn connector(url: &str) -> Result<Connector> {
    let read = Config::parse_known(url);
    let (config, _) = read.map_err(|error| Error::usage(error.to_string()))?;
    Ok(Connector::new(config))
}

/// Ends all other connections to a database and drops it.
async fn drop_all(connection: Connection) -> tsumugi_firebird::Result<()> {
    let others = "delete from mon$attachments where mon$attachment_id <> current_connection and mon$system_flag = 0";
    // What is monitored is seen as it was when a transaction first looked.
    let transaction = connection.begin(Parameters::default()).await?;
    transaction.query(others, &[]).await?;
    transaction.commit().await?;
    connection.drop_database().await
}

/// Whether this says that there is no such file, and not that it cannot be opened.
fn names_no_file(error: &ServerError) -> bool {
    // ENOENT of the server's system, as its text or as its number.
    let is_absent = |argument: &Argument| match argument {
        Argument::Text(text) => text.contains("No such file or directory"),
        Argument::Number(number) => *number == 2,
    };
    let mut arguments = error.clauses.iter().flat_map(|clause| &clause.arguments);
    error.has(GdsCode::IO) && arguments.any(is_absent)
}

/// Makes the table of what was made, once for all runs.
async fn make_list(database: &Database) -> Result<()> {
    let there = "select count(*) from rdb$relations where lower(trim(rdb$relation_name)) = 'tsumugi_test_databases'";
    let create = format!(
        "create table {LIST} (name varchar(63) character set ascii not null primary key, run varchar(16) character set ascii not null)"
    );
    let mut tries = 0;
    loop {
        let rows = database.query(there, []).await?;
        let count = rows.first().and_then(|row| row.value(0));
        if count.and_then(ValueRef::as_integer) != Some(0) {
            return Ok(());
        }
        if let Err(error) = database.execute(create.as_str(), []).await {
            tries += 1;
            if tries == TEST_DATABASE_TRIES_MAX {
                return Err(error);
            }
            // Another run makes it.
            tokio::time::sleep(TEST_DATABASE_PAUSE).await;
        }
    }
}
