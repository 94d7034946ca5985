//! What Firebird says of a statement: the plan that it made when it prepared it. Runs no statement.

use super::backend::Firebird;
use crate::error::Result;
use crate::server::{Fault, Pool};

/// Of an INSERT of values, for example.
const NO_PLAN: &str = "the server has no plan of this: it reads no table";

impl Pool<Firebird> {
    /// The lines of the plan.
    pub(crate) async fn explain(&self, sql: &str) -> Result<Vec<String>> {
        let inner = self.inner();
        let connection = inner.connections.shared().await;
        let connection = connection.map_err(|error| inner.not_acquired(sql, &[], error))?;
        let plan = connection.explain(sql).await;
        let plan = plan.map_err(|error| inner.error(sql, Fault::Driver(error)))?;
        let Some(plan) = plan else {
            return Ok(vec![NO_PLAN.to_owned()]);
        };
        let lines = plan.lines().filter(|line| !line.trim().is_empty());
        Ok(lines.map(str::to_owned).collect())
    }
}
