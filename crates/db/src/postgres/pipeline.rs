//! Several statements in one write: PostgreSQL answers them in order. Not what the other databases do with several, one by one.
//! Rule: every statement is planned before the first is sent, and each has an outcome of its own.

use std::rc::Rc;

use tsumugi_pg::{Statement, may_write};

use super::backend::{Inner, Postgres, changed, check_by_tag};
use super::bind::Binds;
use super::link::Session;
use super::plan::{Plan, StatementEffect};
use crate::error::{Error, Result};
use crate::options::PipelineAtomicity;
use crate::rows::Rows;
use crate::server::{Fault, Outcome, Pool, Scope, Transaction};
use crate::sql_text::SqlText;
use crate::value::Value;

/// Statements with their values.
pub(super) type Statements = Vec<(SqlText, Vec<Value>)>;

type Reply = Outcome<Postgres, tsumugi_pg::Rows>;

impl Pool<Postgres> {
    /// Each statement for itself, or all or none.
    pub(crate) async fn pipeline(
        &self,
        statements: Statements,
        atomicity: PipelineAtomicity,
    ) -> Result<Vec<Result<Rows>>> {
        let pool = self.inner();
        let plans = plans(pool, &statements, Scope::Shared)?;
        if plans
            .iter()
            .any(|plan| plan.effect == StatementEffect::Procedure)
        {
            let connection = pool.exclusive("", &[]).await?;
            let outcomes = run(pool, &connection, &plans, statements, atomicity, unchecked).await;
            let outcomes = outcomes.map_err(|fault| pool.error("", fault.alone()))?;
            let outcomes = outcomes.into_iter();
            return Ok(outcomes.map(|one| one.map_err(Error::of_parts)).collect());
        }
        let connection = pool.connections.shared().await;
        let connection = connection.map_err(|error| pool.not_acquired("", &[], error))?;
        let check = |plan: &Plan, reply| check_by_tag(&connection, plan, reply);
        let outcomes = run(pool, &connection, &plans, statements, atomicity, check).await;
        let outcomes = match connection.is_left_changed() {
            true => outcomes.and(Err(changed())),
            false => outcomes,
        };
        outcomes.map_err(|fault| pool.error("", fault.alone()))
    }
}

impl Transaction<Postgres> {
    /// All or none.
    pub(crate) async fn pipeline(&self, statements: Statements) -> Result<Vec<Result<Rows>>> {
        let inner = self.inner();
        let open = inner.ready().await?;
        let outcomes = pipeline_on(&inner.pool, &open, statements, PipelineAtomicity::All).await?;
        inner.settle(&outcomes);
        outcomes.map_err(|fault| inner.rolled_back_error(inner.pool.error("", fault)))
    }
}

/// Runs statements on a connection that the caller has alone.
pub(super) async fn pipeline_on(
    pool: &Inner,
    connection: &Session,
    statements: Statements,
    atomicity: PipelineAtomicity,
) -> Result<Outcome<Postgres, Vec<Result<Rows>>>> {
    let plans = plans(pool, &statements, Scope::Exclusive)?;
    Ok(run(pool, connection, &plans, statements, atomicity, unchecked).await)
}

/// The outcome on a connection that the caller has alone.
fn unchecked(_: &Plan, reply: Reply) -> Reply {
    reply
}

/// The plans of several statements. A text that is repeated is looked at once.
fn plans(pool: &Inner, statements: &Statements, scope: Scope) -> Result<Vec<Rc<Plan>>> {
    let mut plans: Vec<Rc<Plan>> = Vec::with_capacity(statements.len());
    let mut before: Option<&SqlText> = None;
    for (sql, values) in statements {
        let same = before.is_some_and(|before| sql.is_clone_of(before));
        let plan = match plans.last().filter(|_| same) {
            Some(plan) => Rc::clone(plan),
            None => pool.plan(sql, values, scope)?,
        };
        plans.push(plan);
        before = Some(sql);
    }
    Ok(plans)
}

async fn run(
    pool: &Inner,
    connection: &Session,
    plans: &[Rc<Plan>],
    statements: Statements,
    atomicity: PipelineAtomicity,
    check: impl Fn(&Plan, Reply) -> Reply,
) -> Outcome<Postgres, Vec<Result<Rows>>> {
    let atomicity = match atomicity {
        PipelineAtomicity::Each => tsumugi_pg::Atomicity::Each,
        PipelineAtomicity::All => tsumugi_pg::Atomicity::All,
    };
    for plan in plans {
        connection.note(plan.effect);
    }
    let binds: Vec<Binds<'_>> = statements.iter().map(|(_, values)| Binds(values)).collect();
    let written = plans.iter().zip(&binds).map(|(plan, values)| Statement {
        sql: &plan.sql,
        values,
    });
    let written: Vec<Statement<'_>> = written.collect();
    let started = pool.stats.start();
    let write = match plans.iter().any(|plan| may_write(&plan.sql)) {
        true => connection.begin_write(),
        false => None,
    };
    let replies = {
        let replies = std::pin::pin!(connection.pipeline(&written, atomicity));
        pool.bounded(replies).await
    };
    drop(written);
    drop(binds);
    let replies = match replies {
        Ok(replies) => connection
            .end_several(write, Ok(replies))
            .await
            .map_err(Fault::Driver),
        Err(fault) => Err(fault),
    };
    let outcomes = replies?.into_iter().zip(plans);
    let outcomes = outcomes.map(|(reply, plan)| check(plan, reply.map_err(Fault::Driver)));
    let outcomes = outcomes.zip(statements).map(|(outcome, (sql, values))| {
        let answer = pool.finish(started, &sql, &values, outcome);
        answer.map(|answer| answer.rows)
    });
    Ok(outcomes.collect())
}
