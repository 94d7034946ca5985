//! What a single statement calls besides its driver, behind pointers that are made with the pool. Decides nothing.
//! Rule: the future of a statement is compiled in each crate that waits for it, with all that is generic below, but for what it calls through here.

#![expect(
    clippy::type_complexity,
    reason = "a pointer has the type of the function that it points to"
)]

use std::time::Instant;

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::error::{Error, Result};
use crate::outcome::EndReason;
use crate::sql_text::SqlText;
use crate::value::Value;

use super::backend::{Answer, Outcome, PoolInner, Scope, ServerBackend};
use super::connections::AcquireError;
use super::pool;
use super::step::SavepointName;
use super::transaction::{TransactionInner, Transactional};

type Reply<B> = Outcome<B, <B as ServerBackend>::Reply>;

/// What statements outside of transactions need.
pub(super) struct Code<B: ServerBackend> {
    pub(super) plan: fn(&PoolInner<B>, &SqlText, &[Value], Scope) -> Result<B::Plan>,
    pub(super) not_acquired: fn(&PoolInner<B>, &str, &[Value], AcquireError) -> Error,
    pub(super) log:
        fn(&PoolInner<B>, Option<Instant>, &SqlText, &[Value], Reply<B>) -> Result<Answer>,
    pub(super) run_alone: for<'p> fn(
        &'p PoolInner<B>,
        &'p B::Plan,
        SqlText,
        Vec<Value>,
    ) -> LocalBoxFuture<'p, Result<Answer>>,
    pub(super) run_again:
        for<'p> fn(
            &'p PoolInner<B>,
            &'p B::Plan,
            &'p SqlText,
            &'p [Value],
        ) -> LocalBoxFuture<'p, std::result::Result<Reply<B>, AcquireError>>,
}

impl<B: ServerBackend> Code<B> {
    /// That of the crate which calls this.
    pub(super) fn here() -> Code<B> {
        Code {
            plan: PoolInner::plan_here,
            not_acquired: PoolInner::not_acquired_here,
            log: PoolInner::log_here,
            run_alone: |pool, plan, sql, values| {
                pool::run_alone(pool, plan, sql, values).boxed_local()
            },
            run_again: |pool, plan, sql, values| {
                pool::run_again(pool, plan, sql, values).boxed_local()
            },
        }
    }
}

/// What statements in transactions need.
pub(super) struct TransactionCode<B: Transactional> {
    /// Goes back to a savepoint that was dropped.
    pub(super) go_back: for<'t> fn(
        &'t TransactionInner<B>,
        &'t B::Open,
        SavepointName,
    ) -> LocalBoxFuture<'t, Result<()>>,
    pub(super) end: fn(&TransactionInner<B>, EndReason),
    pub(super) undone: fn(&TransactionInner<B>, Error) -> Error,
}

impl<B: Transactional> TransactionCode<B> {
    /// That of the crate which calls this.
    pub(super) fn here() -> TransactionCode<B> {
        TransactionCode {
            go_back: |transaction, open, name| transaction.go_back(open, name).boxed_local(),
            end: TransactionInner::end_here,
            undone: TransactionInner::undone_here,
        }
    }
}
