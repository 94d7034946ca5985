//! COPY: data in bulk between Ruby's strings and a table. Knows no format.
//! Rule: what Ruby holds is empty while a piece is on its way and after the end, so an interrupted COPY is dropped with its wait.

use tsumugi_db::{CopyIn, CopyOut};
use tsumugi_mruby::{Result, Scope, Value};

use super::handles::{exclusive_handle, let_go, take};
use super::vm_database::executor;
use crate::answer::{attempt, attempt_only};
use crate::natives::arguments::{bytes, text};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Copy")?;
    writing(natives)?;
    reading(natives)?;
    natives.plain("db_copy_abandon", |_, scope, call| {
        let_go::<CopyIn>(scope, call.argument(0));
        let_go::<CopyOut>(scope, call.argument(0));
        Ok(Value::nil())
    })
}

fn writing<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_copy_in", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let sql = text(scope, call.argument(1), "the SQL")?;
        Ok(attempt(async move { executor.copy_in(sql).await }, wrap))
    })?;
    natives.waiting("db_copy_write", |_, scope, call| {
        let data = bytes(scope, call.argument(1), "what is copied")?;
        let (holder, mut copy) = take::<CopyIn>(scope, call.argument(0))?;
        Ok(attempt_only(async move {
            copy.send(&data).await?;
            *holder.borrow_mut() = Some(copy);
            Ok::<_, tsumugi_db::Error>(())
        }))
    })?;
    natives.waiting("db_copy_finish", |_, scope, call| {
        let (_, copy) = take::<CopyIn>(scope, call.argument(0))?;
        Ok(attempt(
            async move { copy.finish().await },
            |scope, rows| Ok(scope.count(rows)),
        ))
    })
}

fn reading<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_copy_out", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let sql = text(scope, call.argument(1), "the SQL")?;
        Ok(attempt(async move { executor.copy_out(sql).await }, wrap))
    })?;
    natives.waiting("db_copy_read", |_, scope, call| {
        let (holder, mut copy) = take::<CopyOut>(scope, call.argument(0))?;
        let piece = async move {
            let piece = copy.next().await?;
            if piece.is_some() {
                *holder.borrow_mut() = Some(copy);
            }
            Ok::<_, tsumugi_db::Error>(piece)
        };
        Ok(attempt(piece, |scope, piece| scope.string_or_nil(piece)))
    })
}

fn wrap<'c, T: 'static>(scope: &'c Scope<'_>, copy: T) -> Result<'c, Value<'c>> {
    scope.wrap_as("Tsumugi::Native::Copy", exclusive_handle(copy))
}
