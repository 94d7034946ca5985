//! The requests of one execution of a prepared statement, and what comes of a fetch. Runs nothing and waits for nothing.
//! Rule: each function writes the requests whose answers its caller takes, in that order.

use std::sync::Arc;

use tsumugi_firebird_proto::ServerError;
use tsumugi_firebird_proto::connection::{Expect, FetchEnd};
use tsumugi_firebird_proto::describe::{Column, Kind, StatementKind};
use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_firebird_proto::info;
use tsumugi_firebird_proto::limits::TEXT_PARAMETER_BYTES_MAX;
use tsumugi_firebird_proto::request::Items;
use tsumugi_firebird_proto::row::Rows as Batch;
use tsumugi_firebird_proto::values::{Parameters, Value};

use crate::connection::{Answer, Writer};
use crate::error::Result;
use crate::limits::FETCH_ROWS;
use crate::statement::StatementLease;

/// What is asked to know how many rows were affected, and how long the answer may be.
const AFFECTED: Items<'static> = Items {
    items: &[info::statement::RECORDS],
    bytes_max: 64,
};

/// Whether the server counts what such a statement affects.
pub(crate) fn is_counted(kind: StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Insert
            | StatementKind::Update
            | StatementKind::Delete
            | StatementKind::ExecuteProcedure
    )
}

/// What came of a fetch, and how the batch ended.
pub(crate) fn batch(answer: Answer) -> (Batch, Option<Result<FetchEnd, Box<ServerError>>>) {
    match answer {
        Answer::Rows(rows, end) => (rows, end),
        Answer::Response(_) | Answer::Sql(..) => {
            unreachable!("the protocol gives what the writer expects")
        }
    }
}

/// The bytes of a value that is written as a blob before the statement runs.
pub(crate) fn goes_before<'v>(column: &Column, value: &'v Value<'_>) -> Option<&'v [u8]> {
    let bytes = match value {
        Value::Text(text) if column.kind == Kind::Blob => text.as_bytes(),
        Value::Bytes(bytes) if column.kind == Kind::Blob => bytes,
        _ => return None,
    };
    // The server makes no blob of a kind of the application's own of a text.
    let is_usual = matches!(column.sub_type, 0 | 1);
    (!is_usual || bytes.len() > TEXT_PARAMETER_BYTES_MAX).then_some(bytes)
}

/// Executes a statement without a cursor, and asks how many rows it affected.
pub(crate) fn write_call(
    writer: &mut Writer<'_>,
    lease: &StatementLease,
    transaction: Transaction,
    input: &Parameters,
) -> Result<()> {
    let (handle, description) = (lease.handle(), lease.description());
    if description.columns().is_empty() {
        writer.ask(Expect::Response, |requests| {
            requests.execute(handle, transaction, input.message(), 0)
        })?;
    } else {
        let format = &description.format;
        writer.ask(Expect::Sql(Arc::clone(format)), |requests| {
            requests.execute2(handle, transaction, input.message(), format.blr(), 0)
        })?;
    }
    if is_counted(description.kind) {
        writer.ask(Expect::Response, |requests| {
            requests.statement_info(handle, AFFECTED)
        })?;
    }
    Ok(())
}

/// Executes a statement with a cursor and asks for the first rows.
pub(crate) fn write_execution(
    writer: &mut Writer<'_>,
    lease: &StatementLease,
    transaction: Transaction,
    input: &Parameters,
) -> Result<()> {
    writer.ask(Expect::Response, |requests| {
        requests.execute(lease.handle(), transaction, input.message(), 0)
    })?;
    write_fetch(writer, lease)
}

/// Asks for the next rows.
pub(crate) fn write_fetch(writer: &mut Writer<'_>, lease: &StatementLease) -> Result<()> {
    let format = &lease.description().format;
    writer.ask(Expect::Fetch(Arc::clone(format)), |requests| {
        requests.fetch(lease.handle(), format.blr(), FETCH_ROWS)
    })
}
