//! A plain synchronous interface for scripts and tools: each call returns when its answer is there. Not for workers: it blocks
//! its thread. Types and methods are called as in the crate `postgres`, so that a program moves by changing its `use`.
//! Rule: nothing runs in the background; what the server says between two calls is read by the next one.
//!
//! ```no_run
//! use tsumugi_pg::blocking::{Client, Error, NoTls};
//!
//! fn main() -> Result<(), Error> {
//!     let mut client = Client::connect("host=localhost user=postgres", NoTls)?;
//!     client.batch_execute("CREATE TEMP TABLE person (id serial PRIMARY KEY, name text NOT NULL, data bytea)")?;
//!     let name = "Ferris";
//!     let data = None::<&[u8]>;
//!     client.execute("INSERT INTO person (name, data) VALUES ($1, $2)", &[&name, &data])?;
//!     for row in client.query("SELECT id, name, data FROM person", &[])? {
//!         let id: i32 = row.get(0);
//!         let name: &str = row.get("name");
//!         let data: Option<&[u8]> = row.get(2);
//!         println!("found person: {id} {name} {data:?}");
//!     }
//!     let mut transaction = client.transaction()?;
//!     transaction.execute("UPDATE person SET name = $1", &[&"Corro"])?;
//!     transaction.commit()
//! }
//! ```

mod copy;
mod row;
mod transaction;

use std::rc::Rc;

use bytes::BytesMut;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;
use tsumugi_pg_proto::types::{EncodeError, Encoded, Oid, Type, TypeRef};

use crate::config::{Config, Environment, SslMode};
use crate::connect::Connector;
use crate::connection::Connection;
use crate::query::Parameters;
use crate::rows::Rows;
use crate::statement::{Columns, Description};
use crate::transaction::TransactionOptions;

pub use self::copy::{CopyInWriter, CopyOutReader};
pub use self::row::{Row, RowIndex, SimpleQueryMessage, SimpleQueryRow};
pub use self::transaction::{IsolationLevel, Transaction, TransactionBuilder};
pub use crate::error::Error;
pub use tsumugi_pg_proto::types::{Decode as FromSql, Encode as ToSql};

/// Values for a statement's parameters: `&[&id, &name]`.
pub type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// What a connection string's `sslmode` may come to.
pub trait TlsMode {
    /// Changes the configuration accordingly.
    ///
    /// # Errors
    /// [`Error::Config`] when the connection string wants something else.
    fn apply(&self, config: &mut Config) -> Result<(), Error>;
}

/// Nothing is encrypted. A connection string that requires TLS is an error.
#[derive(Clone, Copy, Debug)]
pub struct NoTls;

/// Encrypted as the connection string says.
#[derive(Clone, Copy, Debug)]
pub struct Tls;

impl TlsMode for NoTls {
    fn apply(&self, config: &mut Config) -> Result<(), Error> {
        if config.tls.mode >= SslMode::Require {
            let reason = "it requires TLS and NoTls was given; pass Tls";
            return Err(Error::config("sslmode", reason));
        }
        config.tls.mode = SslMode::Disable;
        Ok(())
    }
}

impl TlsMode for Tls {
    fn apply(&self, _: &mut Config) -> Result<(), Error> {
        Ok(())
    }
}

/// The runtime of one client, and what runs on it.
struct Session {
    local: LocalSet,
    runtime: Runtime,
}

/// What a client and its transactions share.
#[derive(Clone)]
struct Link {
    connection: Connection,
    session: Rc<Session>,
}

/// A connection to a server.
pub struct Client {
    link: Link,
}

/// A statement that the server knows.
#[derive(Clone)]
pub struct Statement {
    sql: Rc<str>,
    types: Rc<[Oid]>,
    description: Rc<Description>,
}

/// A statement, or its text.
pub trait ToStatement {
    /// The text.
    fn sql(&self) -> &str;

    /// The types its parameters shall have; 0 lets the server decide.
    fn types(&self) -> &[Oid] {
        &[]
    }
}

impl ToStatement for str {
    fn sql(&self) -> &str {
        self
    }
}

impl ToStatement for String {
    fn sql(&self) -> &str {
        self
    }
}

impl ToStatement for Statement {
    fn sql(&self) -> &str {
        &self.sql
    }

    fn types(&self) -> &[Oid] {
        &self.types
    }
}

impl Statement {
    /// The types of its parameters.
    pub fn params(&self) -> &[TypeRef] {
        self.description.parameters()
    }

    /// The columns of the statement's rows.
    pub fn columns(&self) -> &Columns {
        self.description.columns()
    }
}

struct BorrowedValues<'a>(Values<'a>);

impl Parameters for BorrowedValues<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, index: usize, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        self.0[index].encode(ty, out)
    }
}

impl Session {
    fn wait<F: Future>(&self, future: F) -> F::Output {
        self.local.block_on(&self.runtime, future)
    }
}

impl Link {
    fn wait<F: Future>(&self, future: F) -> F::Output {
        self.session.wait(future)
    }

    fn run<S: ToStatement + ?Sized>(
        &self,
        statement: &S,
        values: Values<'_>,
    ) -> Result<Rows, Error> {
        let (sql, types) = (statement.sql(), statement.types());
        self.wait(
            self.connection
                .query_hinted(sql, types, &BorrowedValues(values)),
        )
    }

    fn prepare(&self, sql: &str, types: &[Oid]) -> Result<Statement, Error> {
        let description = self.wait(self.connection.prepare(sql, types))?;
        Ok(Statement {
            sql: sql.into(),
            types: types.into(),
            description,
        })
    }
}

impl Client {
    /// Connects as `params` says: a URL, or keys and values. What it leaves open comes from the environment, as with libpq.
    ///
    /// # Errors
    /// As [`Connection::open`].
    ///
    /// # Panics
    /// On a thread that runs asynchronous code already.
    pub fn connect(params: &str, tls_mode: impl TlsMode) -> Result<Client, Error> {
        let mut config = Config::parse(params, &Environment::of_process())?;
        tls_mode.apply(&mut config)?;
        Client::open(config)
    }

    /// Connects as `config` says.
    ///
    /// # Errors
    /// As [`Connection::open`].
    ///
    /// # Panics
    /// On a thread that runs asynchronous code already.
    pub fn open(config: Config) -> Result<Client, Error> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::config("runtime", error.to_string()))?;
        let session = Rc::new(Session {
            local: LocalSet::new(),
            runtime,
        });
        let connector = Connector::new(config);
        let connection = session.wait(Connection::open(&connector))?;
        Ok(Client {
            link: Link {
                connection,
                session,
            },
        })
    }

    /// Begins a transaction, which is rolled back unless it is committed.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn transaction(&mut self) -> Result<Transaction<'_>, Error> {
        self.build_transaction().start()
    }

    /// A transaction with choices.
    pub fn build_transaction(&mut self) -> TransactionBuilder<'_> {
        TransactionBuilder {
            link: &self.link,
            options: TransactionOptions::default(),
        }
    }

    /// Whether the connection has ended, as far as the last call has shown.
    pub fn is_closed(&self) -> bool {
        !self.link.connection.is_open()
    }

    /// Asks the server for a sign of life.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn is_valid(&mut self) -> Result<(), Error> {
        self.batch_execute("")
    }

    /// Says goodbye to the server.
    ///
    /// # Errors
    /// None; what cannot be said is left unsaid.
    pub fn close(self) -> Result<(), Error> {
        let Link {
            connection,
            session,
        } = self.link;
        session.wait(async move {
            drop(connection);
            tokio::task::yield_now().await;
        });
        Ok(())
    }
}

/// The methods that a client and a transaction have.
macro_rules! statements {
    ($name:ty) => {
        impl $name {
            /// Runs a statement and says how many rows it changed.
            ///
            /// # Errors
            /// As [`Connection::query`].
            pub fn execute<S: ToStatement + ?Sized>(
                &mut self,
                statement: &S,
                params: Values<'_>,
            ) -> Result<u64, Error> {
                self.link.run(statement, params).map(|rows| rows.affected())
            }

            /// Runs a statement and gives its rows.
            ///
            /// # Errors
            /// As [`Connection::query`].
            pub fn query<S: ToStatement + ?Sized>(
                &mut self,
                statement: &S,
                params: Values<'_>,
            ) -> Result<Vec<Row>, Error> {
                self.link.run(statement, params).and_then(Row::all)
            }

            /// Runs a statement that gives exactly one row.
            ///
            /// # Errors
            /// As [`Connection::query`]; [`Error::RowCount`].
            pub fn query_one<S: ToStatement + ?Sized>(
                &mut self,
                statement: &S,
                params: Values<'_>,
            ) -> Result<Row, Error> {
                self.query_opt(statement, params)?
                    .ok_or(Error::RowCount { found: 0 })
            }

            /// Runs a statement that gives at most one row.
            ///
            /// # Errors
            /// As [`Connection::query`]; [`Error::RowCount`].
            pub fn query_opt<S: ToStatement + ?Sized>(
                &mut self,
                statement: &S,
                params: Values<'_>,
            ) -> Result<Option<Row>, Error> {
                let mut rows = self.query(statement, params)?;
                match rows.len() {
                    0 | 1 => Ok(rows.pop()),
                    found => Err(Error::RowCount { found }),
                }
            }

            /// Prepares a statement.
            ///
            /// # Errors
            /// As [`Connection::query`].
            pub fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
                self.link.prepare(sql, &[])
            }

            /// Prepares a statement whose parameters shall have these types.
            ///
            /// # Errors
            /// As [`Connection::query`].
            pub fn prepare_typed(&mut self, sql: &str, types: &[Type]) -> Result<Statement, Error> {
                let types: Vec<Oid> = types.iter().map(Type::oid).collect();
                self.link.prepare(sql, &types)
            }

            /// Runs several statements without values, separated by semicolons.
            ///
            /// # Errors
            /// As [`Connection::query`].
            pub fn batch_execute(&mut self, sql: &str) -> Result<(), Error> {
                self.link.wait(self.link.connection.script(sql))
            }

            /// Runs several statements without values, separated by semicolons; all that they give comes as text.
            ///
            /// # Errors
            /// As [`Connection::query`].
            pub fn simple_query(&mut self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Error> {
                let results = self.link.wait(self.link.connection.script_rows(sql))?;
                SimpleQueryMessage::all(results)
            }

            /// Runs a `COPY … FROM STDIN`; the data are written to what it returns.
            ///
            /// # Errors
            /// As [`Connection::copy_in`].
            pub fn copy_in<S: ToStatement + ?Sized>(
                &mut self,
                statement: &S,
            ) -> Result<CopyInWriter<'_>, Error> {
                CopyInWriter::begin(&self.link, statement.sql())
            }

            /// Runs a `COPY … TO STDOUT`; the data are read from what it returns.
            ///
            /// # Errors
            /// As [`Connection::copy_out`].
            pub fn copy_out<S: ToStatement + ?Sized>(
                &mut self,
                statement: &S,
            ) -> Result<CopyOutReader<'_>, Error> {
                CopyOutReader::begin(&self.link, statement.sql())
            }
        }
    };
}

statements!(Client);
statements!(Transaction<'_>);
