//! Requests about statements: allocate, prepare, execute, fetch, free. Knows no value: messages come ready from `row`.
//! Rule: the number that stands for the last object is never executed, because the server would end the connection.

use crate::error::Misuse;
use crate::handle::{Database, Statement, Transaction};
use crate::wire::{put_cstring, sendable};
use crate::{Version, op};

use super::{Items, Requests};

const DIALECT: u32 = 3;
/// The only message of a statement has this number.
const MESSAGE: u32 = 0;

/// The values of one execution: what they look like and what they are. Empty without parameters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Message<'a> {
    /// The types of the values as BLR.
    pub blr: &'a [u8],
    /// The values as one row in the form of the BLR.
    pub row: &'a [u8],
}

impl Message<'_> {
    fn sendable(&self) -> Result<(), Misuse> {
        sendable(self.blr, "description of a message")?;
        sendable(self.row, "row of parameters")
    }
}

/// What becomes of a statement; the numbers are the protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Free {
    /// Its cursor is closed; it stays prepared.
    Close = 1,
    /// It is forgotten, and its handle is free.
    Drop = 2,
    /// It forgets its text and keeps its handle.
    Unprepare = 4,
}

impl Requests<'_> {
    /// op_allocate_statement. Answered by a response with the handle, which is deferred until an answer that is not.
    pub fn allocate_statement(&mut self, database: Database) {
        self.words([op::ALLOCATE_STATEMENT, database.0]);
    }

    /// op_prepare_statement: parses `sql` and describes it by `asked`. Answered by a response with the description.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn prepare(
        &mut self,
        transaction: Transaction,
        statement: Statement,
        sql: &[u8],
        asked: Items<'_>,
    ) -> Result<(), Misuse> {
        sendable(sql, "SQL text")?;
        sendable(asked.items, "list of information items")?;
        self.words([op::PREPARE_STATEMENT, transaction.0, statement.0, DIALECT]);
        put_cstring(self.out, sql);
        put_cstring(self.out, asked.items);
        self.words([asked.bytes_max.into()]);
        Ok(())
    }

    /// op_info_sql: more of a description, or how many rows the last execution affected. Answered by a response.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn statement_info(&mut self, statement: Statement, asked: Items<'_>) -> Result<(), Misuse> {
        self.info(op::INFO_SQL, statement.0, asked)
    }

    /// op_execute. Answered by a response; rows, if any, are fetched. `timeout_ms`: the server cancels the statement after that time; 0 never does.
    /// Servers before protocol 16 know no timeout, and none is sent to them.
    ///
    /// # Errors
    /// [`Misuse::Length`], [`Misuse::LastStatement`].
    pub fn execute(
        &mut self,
        statement: Statement,
        transaction: Transaction,
        input: Message<'_>,
        timeout_ms: u32,
    ) -> Result<(), Misuse> {
        input.sendable()?;
        named(statement)?;
        self.words([op::EXECUTE, statement.0, transaction.0]);
        self.input(input);
        self.timeout(timeout_ms);
        Ok(())
    }

    /// op_execute2, for statements that return one row without a cursor, such as EXECUTE PROCEDURE and INSERT … RETURNING. Answered by
    /// op_sql_response with at most one row of the form `output`, and then by a response. Firebird 3 answers an UPDATE or DELETE … RETURNING that
    /// touched no row with a row of NULLs: ask how many rows it touched.
    ///
    /// # Errors
    /// [`Misuse::Length`], [`Misuse::LastStatement`].
    pub fn execute2(
        &mut self,
        statement: Statement,
        transaction: Transaction,
        input: Message<'_>,
        output: &[u8],
        timeout_ms: u32,
    ) -> Result<(), Misuse> {
        input.sendable()?;
        sendable(output, "description of a message")?;
        named(statement)?;
        self.words([op::EXECUTE2, statement.0, transaction.0]);
        self.input(input);
        put_cstring(self.out, output);
        self.words([MESSAGE]);
        self.timeout(timeout_ms);
        Ok(())
    }

    /// op_exec_immediate: parses and runs a text that has no parameters and returns nothing. Answered by a response.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn execute_immediate(
        &mut self,
        database: Database,
        transaction: Transaction,
        sql: &[u8],
    ) -> Result<(), Misuse> {
        sendable(sql, "SQL text")?;
        self.words([op::EXEC_IMMEDIATE, transaction.0, database.0, DIALECT]);
        put_cstring(self.out, sql);
        put_cstring(self.out, &[]);
        self.words([0]);
        Ok(())
    }

    /// op_fetch: at most `rows` rows of the form `output`, which may be empty after the first fetch of an execution. Answered by
    /// op_fetch_responses; the server may stop before, and then says that there are more.
    ///
    /// # Errors
    /// [`Misuse::Length`], [`Misuse::LastStatement`].
    pub fn fetch(&mut self, statement: Statement, output: &[u8], rows: u16) -> Result<(), Misuse> {
        sendable(output, "description of a message")?;
        named(statement)?;
        self.words([op::FETCH, statement.0]);
        put_cstring(self.out, output);
        self.words([MESSAGE, rows.into()]);
        Ok(())
    }

    /// op_free_statement. Answered by a response, which is deferred until an answer that is not.
    pub fn free_statement(&mut self, statement: Statement, what: Free) {
        self.words([op::FREE_STATEMENT, statement.0, what as u32]);
    }

    fn input(&mut self, input: Message<'_>) {
        put_cstring(self.out, input.blr);
        let messages = u32::from(!input.blr.is_empty());
        self.words([MESSAGE, messages]);
        self.out.extend_from_slice(input.row);
    }

    fn timeout(&mut self, timeout_ms: u32) {
        if self.version >= Version::V16 {
            self.words([timeout_ms]);
        }
    }
}

fn named(statement: Statement) -> Result<(), Misuse> {
    if statement == Statement::LAST {
        return Err(Misuse::LastStatement);
    }
    Ok(())
}
