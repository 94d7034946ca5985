//! COPY: data in bulk between Ruby's strings and a table. Knows no format.
//! Rule: what Ruby holds is empty while a piece is on its way and after the end, so an interrupted COPY is dropped with its wait.

use tsumugi_db::{CopyIn, CopyOut};
use tsumugi_mruby::{Result, Scope, Value};

use super::failure::failure;
use super::handles::{ExclusiveHandle, exclusive_handle, take};
use super::vm_database::executor;
use crate::answer::{Operation, answer, nil};
use crate::natives::arguments::{text, wrong_type};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Copy")?;
    writing(natives)?;
    reading(natives)?;
    natives.plain("db_copy_abandon", |_, scope, call| {
        let holder = call.argument(0);
        if let Some(copy) = scope.data::<ExclusiveHandle<CopyIn>>(holder) {
            copy.borrow_mut().take();
        }
        if let Some(copy) = scope.data::<ExclusiveHandle<CopyOut>>(holder) {
            copy.borrow_mut().take();
        }
        Ok(Value::nil())
    })
}

fn writing<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_copy_in", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let sql = text(scope, call.argument(1), "the SQL")?;
        Ok(Box::pin(async move {
            match executor.copy_in(sql).await {
                Ok(copy) => answer(move |scope| wrap(scope, copy)),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_copy_write", |_, scope, call| {
        let Some(data) = scope.bytes(call.argument(1)) else {
            return Err(wrong_type(
                scope,
                call.argument(1),
                "what is copied",
                "a String",
            ));
        };
        let (holder, mut copy) = take::<CopyIn>(scope, call.argument(0))?;
        Ok(Box::pin(async move {
            match copy.send(&data).await {
                Ok(()) => {
                    *holder.borrow_mut() = Some(copy);
                    nil()
                }
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_copy_finish", |_, scope, call| {
        let (_, copy) = take::<CopyIn>(scope, call.argument(0))?;
        Ok(Box::pin(async move {
            match copy.finish().await {
                Ok(rows) => {
                    answer(move |scope| Ok(scope.integer(i64::try_from(rows).unwrap_or(i64::MAX))))
                }
                Err(error) => failure(error),
            }
        }) as Operation)
    })
}

fn reading<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_copy_out", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let sql = text(scope, call.argument(1), "the SQL")?;
        Ok(Box::pin(async move {
            match executor.copy_out(sql).await {
                Ok(copy) => answer(move |scope| wrap(scope, copy)),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_copy_read", |_, scope, call| {
        let (holder, mut copy) = take::<CopyOut>(scope, call.argument(0))?;
        Ok(Box::pin(async move {
            match copy.next().await {
                Ok(Some(bytes)) => {
                    *holder.borrow_mut() = Some(copy);
                    answer(move |scope| scope.string(&bytes))
                }
                Ok(None) => nil(),
                Err(error) => failure(error),
            }
        }) as Operation)
    })
}

fn wrap<'c, T: 'static>(scope: &'c Scope<'_>, copy: T) -> Result<'c, Value<'c>> {
    scope.wrap(
        scope.constant("Tsumugi::Native::Copy")?,
        exclusive_handle(copy),
    )
}
