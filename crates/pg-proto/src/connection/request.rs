//! A run of messages that ends with one Sync. Not its answer.
//! Rule: all of it reaches the buffer and is awaited, or nothing of it.

use bytes::BytesMut;

use super::{Connection, Protocol, Shape};
use crate::error::Misuse;
use crate::frontend::{self, BindWriter};
use crate::types::Oid;

/// A request while it is written. Dropping it takes everything back.
#[derive(Debug)]
pub struct Request<'c, T: Copy> {
    connection: &'c mut Connection<T>,
    out: &'c mut BytesMut,
    start: usize,
}

impl<'c, T: Copy> Request<'c, T> {
    pub(super) fn begin(connection: &'c mut Connection<T>, out: &'c mut BytesMut) -> Self {
        Self {
            start: out.len(),
            connection,
            out,
        }
    }

    /// The buffer, for messages of [`crate::frontend`] that have no method here. Neither Sync nor Query.
    pub fn out(&mut self) -> &mut BytesMut {
        self.out
    }

    /// As [`frontend::parse`].
    ///
    /// # Errors
    /// As there.
    pub fn parse(&mut self, statement: &str, sql: &str, types: &[Oid]) -> Result<(), Misuse> {
        frontend::parse(self.out, statement, sql, types)
    }

    /// As [`BindWriter::begin`].
    ///
    /// # Errors
    /// As there.
    pub fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        parameters: usize,
    ) -> Result<BindWriter<'_>, Misuse> {
        BindWriter::begin(self.out, portal, statement, parameters)
    }

    /// As [`frontend::describe_statement`].
    ///
    /// # Errors
    /// As there.
    pub fn describe_statement(&mut self, statement: &str) -> Result<(), Misuse> {
        frontend::describe_statement(self.out, statement)
    }

    /// As [`frontend::describe_portal`].
    ///
    /// # Errors
    /// As there.
    pub fn describe_portal(&mut self, portal: &str) -> Result<(), Misuse> {
        frontend::describe_portal(self.out, portal)
    }

    /// As [`frontend::execute`].
    ///
    /// # Errors
    /// As there.
    pub fn execute(&mut self, portal: &str, rows_max: u32) -> Result<(), Misuse> {
        frontend::execute(self.out, portal, rows_max)
    }

    /// As [`frontend::close_statement`].
    ///
    /// # Errors
    /// As there.
    pub fn close_statement(&mut self, statement: &str) -> Result<(), Misuse> {
        frontend::close_statement(self.out, statement)
    }

    /// As [`frontend::close_portal`].
    ///
    /// # Errors
    /// As there.
    pub fn close_portal(&mut self, portal: &str) -> Result<(), Misuse> {
        frontend::close_portal(self.out, portal)
    }

    /// Ends the request with a Sync and awaits its answer under `token`.
    ///
    /// # Errors
    /// As [`Connection::expect`].
    pub fn sync(self, token: T, shape: Shape) -> Result<(), Misuse> {
        self.commit(token, shape, Protocol::Extended, |out| {
            frontend::sync(out);
            Ok(())
        })
    }

    /// Ends the request with a Flush and awaits its answer under `token`. The answer goes on until a Sync, which the
    /// caller appends by [`frontend::sync`] when it has read enough, or an error.
    ///
    /// # Errors
    /// As [`Connection::expect`].
    pub fn flush(self, token: T, shape: Shape) -> Result<(), Misuse> {
        self.commit(token, shape, Protocol::Extended, |out| {
            frontend::flush(out);
            Ok(())
        })
    }

    /// Makes the request one of the simple protocol: `sql`, and nothing else.
    ///
    /// # Errors
    /// As [`frontend::query`] and [`Connection::expect`]; [`Misuse::OutOfTurn`] if something was written before.
    pub fn query(self, sql: &str, token: T, shape: Shape) -> Result<(), Misuse> {
        if self.out.len() != self.start {
            return Err(Misuse::OutOfTurn("query"));
        }
        self.commit(token, shape, Protocol::Simple, |out| {
            frontend::query(out, sql)
        })
    }

    fn commit(
        mut self,
        token: T,
        shape: Shape,
        protocol: Protocol,
        last: impl FnOnce(&mut BytesMut) -> Result<(), Misuse>,
    ) -> Result<(), Misuse> {
        self.connection.accepts()?;
        last(self.out)?;
        self.connection.push(token, shape, protocol);
        self.start = self.out.len();
        Ok(())
    }
}

impl<T: Copy> Drop for Request<'_, T> {
    fn drop(&mut self) {
        self.out.truncate(self.start);
    }
}
