//! Statements whose futures are boxed within this crate, and why. Runs none by itself.
//! Rule: a function that boxes is neither `async` nor generic, because the body of one that is would be compiled in each crate that awaits it.

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::database::Database;
use crate::error::Result;
use crate::execution::ExecuteResult;
use crate::executor::Executor;
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::transaction::Transaction;
use crate::value::Value;

/// Beside a method the same one with its future boxed.
macro_rules! boxed {
    ($($of:ty: $($method:ident as $boxed:ident -> $output:ty),+;)+) => {
        $(impl $of {$(
            #[doc = concat!("As `", stringify!($method), "`.")]
            pub(crate) fn $boxed(
                &self,
                sql: SqlText,
                values: Vec<Value>,
            ) -> LocalBoxFuture<'_, Result<$output>> {
                self.$method(sql, values).boxed_local()
            }
        )+})+
    };
}

// What leaves this crate boxed, or is an arm of a future that most statements do not take.
boxed! {
    Database: query_text as query_boxed -> Rows;
    Executor: query_text as query_boxed -> Rows;
    Transaction: query_text as query_boxed -> Rows, execute_text as execute_boxed -> ExecuteResult;
}

// Those of Firebird are longer than those of other databases, beside which they stand in `Database` and `Transaction`.
#[cfg(feature = "firebird")]
boxed! {
    crate::server::Pool<crate::firebird::Firebird>: query as query_boxed -> Rows, execute as execute_boxed -> ExecuteResult;
    crate::server::Transaction<crate::firebird::Firebird>: query as query_boxed -> Rows, execute as execute_boxed -> ExecuteResult;
}
