//! Statements whose parameters and columns are in their Rust types. Caches nothing: the connection does.
//! Rule: a wrong number of values does not compile; a statement that the server describes otherwise is an error before it runs.
//!
//! ```no_run
//! use tsumugi_pg::typed::Statement;
//! # async fn read(connection: &tsumugi_pg::Connection) -> tsumugi_pg::Result<()> {
//! const WORLD: Statement<(i32,), (i32, String)> = Statement::new("SELECT id, name FROM world WHERE id = $1");
//!
//! let (id, name) = WORLD.query_one(connection, (7,)).await?;
//! println!("{id} is {name}");
//! # Ok(())
//! # }
//! ```
//!
//! ```compile_fail
//! # use tsumugi_pg::typed::Statement;
//! # async fn read(connection: &tsumugi_pg::Connection) -> tsumugi_pg::Result<()> {
//! const ADD: Statement<(i32, i32), (i32,)> = Statement::new("SELECT $1 + $2");
//! ADD.query_one(connection, (1,)).await?;
//! # Ok(())
//! # }
//! ```

use std::marker::PhantomData;
use std::rc::Rc;

use tsumugi_pg_proto::frontend::BindWriter;
use tsumugi_pg_proto::typed::Column;
pub use tsumugi_pg_proto::typed::{Row, Values};

use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::query::Binding;
use crate::rows;
use crate::statement::{Columns, Description};

/// A statement with parameters `P` and rows `R`, both tuples. Made once, it runs on any connection.
pub struct Statement<P, R> {
    sql: &'static str,
    types: PhantomData<fn(P) -> R>,
}

/// The rows of a typed statement.
#[derive(Debug, Clone)]
pub struct Rows<R> {
    rows: rows::Rows,
    columns: Rc<[Column]>,
    types: PhantomData<fn() -> R>,
}

impl<P, R> Clone for Statement<P, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, R> Copy for Statement<P, R> {}

impl<P, R> Statement<P, R> {
    /// A statement; its placeholders are `$1`, `$2`, …
    pub const fn new(sql: &'static str) -> Self {
        Statement {
            sql,
            types: PhantomData,
        }
    }

    /// The statement's SQL.
    pub fn sql(&self) -> &'static str {
        self.sql
    }
}

impl<P: Values, R: for<'r> Row<'r>> Statement<P, R> {
    /// Prepares the statement on `connection`, to find out early whether the types fit.
    ///
    /// # Errors
    /// As [`Connection::query`]; [`Error::Mismatch`].
    pub async fn prepare(&self, connection: &Connection) -> Result<()> {
        let description = connection.prepare(self.sql, &[]).await?;
        fits::<P, R>(&description)
    }

    /// Runs the statement and gives its rows.
    ///
    /// # Errors
    /// As [`Connection::query`]; [`Error::Mismatch`], and then it has not run.
    pub async fn query(&self, connection: &Connection, values: P) -> Result<Rows<R>> {
        let binding = Typed::<P, R> {
            values: &values,
            rows: PhantomData,
        };
        let (rows, description) = connection.run(self.sql, &[], &binding).await?;
        Ok(Rows {
            columns: description.typed_columns(),
            rows,
            types: PhantomData,
        })
    }

    /// Runs a statement that gives exactly one row.
    ///
    /// # Errors
    /// As [`Statement::query`]; [`Error::RowCount`].
    pub async fn query_one(&self, connection: &Connection, values: P) -> Result<R> {
        let row = self.query_opt(connection, values).await?;
        row.ok_or(Error::RowCount { found: 0 })
    }

    /// Runs a statement that gives at most one row.
    ///
    /// # Errors
    /// As [`Statement::query`]; [`Error::RowCount`].
    pub async fn query_opt(&self, connection: &Connection, values: P) -> Result<Option<R>> {
        let rows = self.query(connection, values).await?;
        match rows.len() {
            0 | 1 => rows.iter().next().transpose(),
            found => Err(Error::RowCount { found }),
        }
    }

    /// Runs the statement and says how many rows it changed.
    ///
    /// # Errors
    /// As [`Statement::query`].
    pub async fn execute(&self, connection: &Connection, values: P) -> Result<u64> {
        Ok(self.query(connection, values).await?.affected())
    }
}

impl<R> Rows<R> {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows changed, as the server counts.
    pub fn affected(&self) -> u64 {
        self.rows.affected()
    }

    /// The columns.
    pub fn columns(&self) -> &Rc<Columns> {
        self.rows.columns()
    }

    /// The same rows as tuples of another type, such as one that borrows its texts.
    ///
    /// # Errors
    /// [`Error::Mismatch`]; an item is an error when a row is not what the server described.
    pub fn iter_as<'r, S: Row<'r>>(&'r self) -> Result<impl Iterator<Item = Result<S>> + 'r> {
        S::check(&self.columns)?;
        Ok(self.rows.iter().map(|row| {
            let row = S::read(&self.columns, row?.raw());
            row.map_err(value_error)
        }))
    }
}

impl<R: for<'r> Row<'r>> Rows<R> {
    /// The rows in order.
    ///
    /// # Errors
    /// An item is an error when a row is not what the server described, or holds a NULL where its type has no place for one.
    pub fn iter(&self) -> impl Iterator<Item = Result<R>> {
        self.rows.iter().map(|row| {
            let row = <R as Row<'_>>::read(&self.columns, row?.raw());
            row.map_err(value_error)
        })
    }
}

struct Typed<'v, P, R> {
    values: &'v P,
    rows: PhantomData<fn() -> R>,
}

impl<P: Values, R: for<'r> Row<'r>> Binding for Typed<'_, P, R> {
    fn count(&self) -> usize {
        P::COUNT
    }

    fn check(&self, description: &Description) -> Result<()> {
        fits::<P, R>(description)
    }

    fn write(&self, description: &Description, bind: &mut BindWriter<'_>) -> Result<()> {
        let written = self.values.write(description.parameters(), bind);
        written.map_err(value_error)
    }
}

fn fits<P: Values, R: for<'r> Row<'r>>(description: &Description) -> Result<()> {
    P::check(description.parameters())?;
    <R as Row<'_>>::check(&description.typed_columns())?;
    Ok(())
}

/// The driver's error for one of the protocol crate about a value or a row.
fn value_error(error: tsumugi_pg_proto::Error) -> Error {
    use tsumugi_pg_proto::Error as Protocol;
    match error {
        Protocol::Server(error) => Error::Server(error),
        Protocol::Protocol(violation) => Error::Protocol(violation),
        Protocol::Parameter { number, cause } => Error::Parameter {
            number,
            source: cause,
        },
        Protocol::Column { name, cause } => Error::column(&name, cause),
        Protocol::Mismatch(mismatch) => Error::Mismatch(mismatch),
        Protocol::Usage(misuse) => Error::Usage(misuse),
        other => Error::Column {
            column: String::new(),
            reason: other.to_string(),
            source: None,
        },
    }
}
