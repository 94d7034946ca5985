//! Transactions of Firebird: each has a handle on its connection. Rule: a change of tables that other statements of its transaction shall
//! see is committed before the next of them.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use tsumugi_firebird::TransactionOptions as Parameters;

use super::backend::{Firebird, Inner, release_tables, with_blobs};
use super::blobs::Source;
use super::change::{self, Change};
use super::link::Link;
use super::open::{OpenTransaction, parameters};
use super::plan::StatementEffect;
use super::rows::Rows;
use super::stream::CursorRows;
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::options::{Isolation, TransactionOptions};
use crate::outcome::{EndReason, guarded};
use crate::server::connections::Exclusive;
use crate::server::{
    Expiry, Fault, NextStep, Outcome, Running, SavepointCommand, Scope, Transaction,
    TransactionInner, Transactional,
};
use crate::sql_text::SqlText;
use crate::statement_outcome::StatementOutcome;
use crate::value::{Value, bounded};

/// What belongs to a transaction beside what is open.
pub(crate) struct State {
    parameters: Parameters,
    change: Change,
}

impl Transaction<Firebird> {
    /// Runs a statement beside changes of tables that are not committed yet, about what they do not touch.
    pub(crate) async fn run_beside_changes(
        &self,
        sql: SqlText,
        values: Vec<Value>,
    ) -> Result<crate::Rows> {
        let values = bounded(values)?;
        guarded!(self.owner(), self.run_unprepared(sql, values))
    }

    async fn run_unprepared(&self, sql: SqlText, values: Vec<Value>) -> Result<crate::Rows> {
        let (inner, pool) = (self.inner(), &self.inner().pool);
        let effect = pool.plan(&sql, &values, Scope::Exclusive)?;
        let answer = inner.run_planned(&effect, &sql, &values).await;
        pool.stats.count(answer).map(|answer| answer.rows)
    }

    /// Takes the lock of the schema until the end, unless another transaction has it.
    pub(crate) async fn has_schema(&self) -> Result<bool> {
        guarded!(self.owner(), self.lock_schema())
    }

    async fn lock_schema(&self) -> Result<bool> {
        let inner = self.inner();
        let open = inner.ready().await?;
        let call = Running::begin(inner);
        let locked = change::lock_schema(&inner.pool, &open, &inner.state.change).await;
        // An end that waits looks for the last user when a call has ended.
        drop(open);
        drop(call);
        locked
    }
}

impl Transactional for Firebird {
    const NAME: &'static str = "Firebird";
    const KEEPS_IDLE: bool = true;
    type Open = Rc<OpenTransaction>;
    type Closing = OpenTransaction;
    type State = State;
    type Inquiry = ();

    async fn begin(
        pool: &Inner,
        connection: Exclusive<Link>,
        options: TransactionOptions,
    ) -> Result<(Rc<OpenTransaction>, State)> {
        let turn = match options.isolation {
            Isolation::Serializable => Some(change::take_turn(pool, &connection).await?),
            _ => None,
        };
        let parameters = parameters(&pool.options, &options);
        let sql = "SET TRANSACTION";
        let transaction = pool.command(sql, connection.begin(parameters)).await;
        let transaction = transaction.map_err(|fault| pool.error(sql, fault))?;
        let open = OpenTransaction::new(transaction, connection);
        open.locks.borrow_mut().extend(turn);
        let change = Change::of(options.mode);
        Ok((Rc::new(open), State { parameters, change }))
    }

    fn on_begin(transaction: &Rc<TransactionInner<Firebird>>) {
        let expiry: Rc<dyn Expiry> = Rc::<TransactionInner<Firebird>>::clone(transaction);
        if let Some(open) = transaction.open() {
            open.connection.expiry.replace(Some(Rc::downgrade(&expiry)));
        }
    }

    fn close(open: Rc<OpenTransaction>) -> Result<OpenTransaction, Rc<OpenTransaction>> {
        Rc::try_unwrap(open)
    }

    fn inquiry(_: &OpenTransaction) {}

    /// The server can be asked of no transaction that is over.
    async fn inquire(pool: &Inner, (): (), fault: Fault<tsumugi_firebird::Error>) -> Result<()> {
        let reason = pool.error("COMMIT", fault).into_reason();
        Err(Error::CommitUnknown { xid: None, reason })
    }

    fn has_kept(state: &State) -> bool {
        state.change.is_committed()
    }

    async fn commit(closing: OpenTransaction) -> tsumugi_firebird::Result<()> {
        closing.transaction.commit().await
    }

    async fn roll_back(closing: OpenTransaction) -> tsumugi_firebird::Result<()> {
        closing.transaction.roll_back().await
    }

    /// Commits changes of tables that this statement could not see, where that is wanted.
    async fn prepare(
        transaction: &TransactionInner<Firebird>,
        effect: Option<&StatementEffect>,
    ) -> Result<NextStep> {
        let change = &transaction.state.change;
        if effect == Some(&StatementEffect::Schema) || !change.is_due() {
            return Ok(NextStep::Run);
        }
        if change.is_trial() {
            return Ok(NextStep::Skip);
        }
        if transaction.savepoint_depth() > 0 {
            return Err(Error::usage(
                "Firebird commits a change of tables before the next statement: change tables outside of savepoints",
            ));
        }
        drop(transaction.ready().await?);
        let closing = transaction.take().await?;
        transaction.note_commit();
        // Dropped from the last to the first.
        let OpenTransaction {
            connection,
            locks,
            transaction: changed,
        } = closing;
        let pool = &transaction.pool;
        let is_committed = Cell::new(false);
        let next = pool.timed(async {
            changed.commit().await?;
            change.note_commit();
            is_committed.set(true);
            connection.begin(transaction.state.parameters).await
        });
        let next = next.await.map_err(|fault| {
            let is_unknown = fault.is_unanswered() && !is_committed.get();
            let error = pool.error("COMMIT", fault);
            match is_unknown {
                true => {
                    pool.stats.count_unknown_commit();
                    Error::CommitUnknown {
                        xid: None,
                        reason: error.into_reason(),
                    }
                }
                // Of changes that came before these a part may be committed.
                false => transaction.partly_committed(error),
            }
        })?;
        transaction.replace(Rc::new(OpenTransaction {
            transaction: next,
            locks,
            connection,
        }));
        Ok(NextStep::Run)
    }

    async fn query_within(
        transaction: &TransactionInner<Firebird>,
        open: &Rc<OpenTransaction>,
        effect: &StatementEffect,
        sql: &str,
        binds: &Self::Binds<'_>,
    ) -> tsumugi_firebird::Result<Rows> {
        let pool = &transaction.pool;
        release_tables(pool, *effect).await;
        let rows = open.transaction.query(sql, binds).await?;
        let source = Source::Transaction(&open.transaction);
        let rows = with_blobs(pool, &rows, *effect, &source).await?;
        if *effect == StatementEffect::Schema {
            transaction.state.change.note_change();
        }
        Ok(rows)
    }

    async fn cursor_within(
        pool: &Inner,
        open: Rc<OpenTransaction>,
        _: &StatementEffect,
        sql: &str,
        binds: Self::Binds<'_>,
        by: BatchSize,
    ) -> Outcome<Firebird, CursorRows> {
        CursorRows::within(pool, open, sql, &binds, by).await
    }

    /// Runs the statements one by one, as changes of tables among them may have to be committed before the next.
    async fn script_within(transaction: &TransactionInner<Firebird>, sql: SqlText) -> Result<()> {
        let pool = &transaction.pool;
        transaction.check()?;
        let script = pool.plan_script(&sql)?;
        let run = async {
            for (statement, effect) in script {
                if Firebird::prepare(transaction, Some(&effect)).await? == NextStep::Run {
                    let sql = statement.into();
                    transaction.run_planned(&effect, &sql, &[]).await?;
                }
            }
            Ok(())
        };
        let run = tokio::time::timeout(pool.options.statement_timeout, run).await;
        let run = run.unwrap_or_else(|_| {
            transaction.end(EndReason::Stopped);
            let late = pool.statement(sql, &[]).late(StatementOutcome::RolledBack);
            Err(match transaction.state.change.is_committed() {
                true => late.of_parts(),
                false => late,
            })
        });
        pool.stats.count(run)
    }

    /// Named by the depth: a later one at the same depth takes the name over, and ends the one that was gone back to.
    fn savepoint_sql(command: SavepointCommand, _: u32, depth: usize) -> String {
        match command {
            SavepointCommand::Set => format!("SAVEPOINT S{depth}"),
            SavepointCommand::Release => format!("RELEASE SAVEPOINT S{depth}"),
            SavepointCommand::RollBack => format!("ROLLBACK TO SAVEPOINT S{depth}"),
        }
    }

    fn run_command<'c>(
        open: &'c Rc<OpenTransaction>,
        sql: &'c str,
    ) -> LocalBoxFuture<'c, tsumugi_firebird::Result<()>> {
        open.transaction.immediate(sql)
    }
}
