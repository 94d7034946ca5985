//! What PostgreSQL says of a statement whose values are not known: the plan that would serve any of them. Runs no statement of a caller's.
//! Rule: it is asked in a session of its own, which is made clean afterwards, and in a transaction that cannot write.

use super::backend::Postgres;
use super::plan::sent;
use crate::error::Result;
use crate::explain::lines;
use crate::limits::EXPLAIN_MAX;
use crate::server::Pool;
use crate::sql_text::SqlText;
use crate::value::ValueRef;

const NAME: &str = "tsumugi_explained";

impl Pool<Postgres> {
    /// The lines of the plan, with the literals that the statement has.
    pub(crate) async fn explain(&self, sql: &str) -> Result<Vec<String>> {
        let session = self.session().await?;
        let begin = format!(
            "begin read only; set local plan_cache_mode = force_generic_plan; set local statement_timeout = {}",
            EXPLAIN_MAX.as_millis()
        );
        session.execute_script(begin).await?;
        let sent = sent(&sql.into());
        let prepare = SqlText::native(format!("prepare {NAME} as {sent}"));
        session.execute(prepare, []).await?;
        let count = format!(
            "select coalesce(array_length(parameter_types, 1), 0)::bigint from pg_prepared_statements where name = '{NAME}'"
        );
        let count = session.query(count, []).await?;
        let count = count.first().and_then(|row| match row.value(0) {
            Some(ValueRef::Integer(count)) => usize::try_from(count).ok(),
            _ => None,
        });
        let nulls = vec!["null"; count.unwrap_or_default()].join(", ");
        let arguments = match nulls.is_empty() {
            true => String::new(),
            false => format!("({nulls})"),
        };
        let plan = session
            .query(format!("explain execute {NAME}{arguments}"), [])
            .await?;
        session.execute_script("rollback").await?;
        Ok(lines(&plan))
    }
}
