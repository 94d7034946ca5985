//! How a database would go about a statement, for people. Runs no statement of a caller's.
//! Rule: only what reads or changes rows is explained, within a limit of time, and no literal of the statement is in the answer.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::timeout;
use tsumugi_sql::scan::{self, SentPiece};
use tsumugi_sql::{SQLITE, Value as Bound, fingerprint};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::limits::EXPLAIN_MAX;
use crate::rows::Rows;
use crate::value::ValueRef;

/// First words of statements that can be explained.
const EXPLAINED: &[&str] = &[
    "select", "insert", "update", "delete", "values", "with", "merge", "replace",
];

impl Database {
    /// How the database would run this statement: the text of its plan, line by line. The statement is not run, and its values are not known.
    ///
    /// # Errors
    /// [`Error::Usage`] of what is no query and no change of rows; [`Error::Unsupported`] where the database says nothing; what it says to the statement; where
    /// it has not answered within [`EXPLAIN_MAX`], or no connection was free, [`Error::PoolTimeout`] or [`Error::Usage`].
    pub fn explain<'d>(&'d self, sql: &'d str) -> LocalBoxFuture<'d, Result<String>> {
        async move {
            let first = scan::words(sql, self.dialect().lexicon).next();
            let is_explained = first.is_some_and(|(word, _)| {
                EXPLAINED
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(word))
            });
            if !is_explained {
                return Err(Error::usage(
                    "only statements that read or change rows can be explained",
                ));
            }
            let plan = async {
                match self {
                    Database::Sqlite(_) => self.query_plan(sql).await,
                    Database::Postgres(pool) => {
                        let lines = pool.explain(sql).await?;
                        Ok(whole_lines(lines)
                            .iter()
                            .map(|line| without_literals(line))
                            .collect())
                    }
                    #[cfg(feature = "firebird")]
                    Database::Firebird(pool) => pool.explain(sql).await,
                }
            };
            let plan: Vec<String> = match timeout(EXPLAIN_MAX, plan).await {
                Ok(plan) => plan?,
                Err(_) => return Err(Error::usage("the database has not explained it in time")),
            };
            Ok(plan.join("\n"))
        }
        .boxed_local()
    }

    /// SQLite's plan, which has no values in it.
    async fn query_plan(&self, sql: &str) -> Result<Vec<String>> {
        let mut placeholders = 0;
        scan::translate(sql, SQLITE.lexicon, |piece, _| {
            placeholders += usize::from(matches!(piece, SentPiece::Placeholder(_)));
        });
        let values = vec![Bound::Null; placeholders];
        let rows = self
            .query(format!("explain query plan {sql}"), values)
            .await?;
        let integer = |row: crate::rows::Row<'_>, at| match row.value(at) {
            Some(ValueRef::Integer(value)) => value,
            _ => 0,
        };
        let mut depths: Vec<(i64, usize)> = Vec::new();
        let lines = rows.iter().map(|row| {
            let parent = integer(row, 1);
            let above = depths.iter().find(|(id, _)| *id == parent);
            let depth = above.map_or(0, |(_, depth)| depth + 1);
            depths.push((integer(row, 0), depth));
            format!("{}{}", "  ".repeat(depth), text(row, 3))
        });
        Ok(lines.collect())
    }
}

/// The first column of rows of text.
pub(crate) fn lines(rows: &Rows) -> Vec<String> {
    rows.iter().map(|row| text(row, 0)).collect()
}

fn text(row: crate::rows::Row<'_>, at: usize) -> String {
    let text = row
        .value(at)
        .and_then(|value| value.as_text().map(str::to_owned));
    text.unwrap_or_default()
}

/// Lines of a plan, where one in which a literal is open goes on in the next.
fn whole_lines(lines: Vec<String>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::with_capacity(lines.len());
    let mut is_open = false;
    for line in lines {
        match whole.last_mut().filter(|_| is_open) {
            Some(last) => {
                last.push('\n');
                last.push_str(&line);
            }
            None => whole.push(line),
        }
        let last = whole.last().map_or("", |line| line);
        is_open = has_open_literal(last);
    }
    whole
}

/// Whether a literal or a name in quotes has no end in this text. PostgreSQL doubles the quotes in them.
fn has_open_literal(text: &str) -> bool {
    let mut open = None;
    for c in text.chars().filter(|c| matches!(c, '\'' | '"')) {
        open = match open {
            None => Some(c),
            Some(quote) if quote == c => None,
            Some(quote) => Some(quote),
        };
    }
    open.is_some()
}

/// A line of PostgreSQL's plan, which has the literals of the statement in its conditions, and figures of its own.
fn without_literals(line: &str) -> String {
    let content = line.trim_start();
    let indent = line.get(..line.len() - content.len()).unwrap_or_default();
    if content.starts_with("Workers Planned: ") {
        return line.to_owned();
    }
    // Costs have no quotes; what has some is in a literal.
    let costs = content.rfind("  (cost=");
    let (condition, costs) = match costs.filter(|at| !content[*at..].contains('\'')) {
        Some(at) => content.split_at(at),
        None => (content, ""),
    };
    let form = fingerprint(condition, tsumugi_sql::POSTGRES.lexicon);
    format!("{indent}{}{costs}", form.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_of_several_lines_with_costs_in_it_is_not_shown() {
        let plan = [
            "Seq Scan on t1  (cost=0.00..35.50 rows=10 width=4)",
            "  Filter: (a = 'one  (cost=",
            "''SECRET\" line",
            "three'::text)",
            "  Rows Removed",
        ];
        let lines = whole_lines(plan.map(str::to_owned).to_vec());
        let shown: Vec<String> = lines.iter().map(|line| without_literals(line)).collect();
        assert_eq!(shown.len(), 3, "{shown:?}");
        let text = shown.join("\n");
        assert!(
            !text.contains("SECRET") && !text.contains("three"),
            "{text}"
        );
        assert!(shown[1].contains("Filter: (a = ?"), "{text}");
    }

    #[test]
    fn line_of_a_plan_keeps_its_costs_and_loses_literals() {
        for (line, shown) in [
            (
                "  ->  Seq Scan on t1  (cost=0.00..35.50 rows=10 width=4)",
                "  -> Seq Scan on t1  (cost=0.00..35.50 rows=10 width=4)",
            ),
            (
                "        Filter: ((a = 'secret'::text) AND (b > 42))",
                "        Filter: ((a = ?::text) AND (b > ?))",
            ),
            ("Workers Planned: 2", "Workers Planned: 2"),
        ] {
            assert_eq!(without_literals(line), shown);
        }
    }
}
