//! Statements for what is many and has waited long: dead jobs of a kind, keys of old times of schedules. Runs none.
//! Rule: each changes up to a limit of rows, and is run until there are none.

use tsumugi_db::Family;

use crate::limits::{JOBS_RETRIED_MAX, SCHEDULE_KEYS_DROPPED_MAX};
use crate::sql::Sql;

/// When the last dead job of a kind has died.
pub(crate) fn last_dead(family: Family, name: &str) -> Sql {
    Sql::new(
        family,
        "select max(due_at) from tsumugi_jobs where state = 3 and name = ",
    )
    .bind(name)
}

/// Makes the dead jobs of a kind ready that have died until then, with all of their retries, and [`JOBS_RETRIED_MAX`] at most.
pub(crate) fn retry_dead(family: Family, name: &str, last_ms: i64) -> Sql {
    let count = i64::try_from(JOBS_RETRIED_MAX).unwrap_or(i64::MAX);
    let dead = |sql: Sql| {
        sql.add("state = 3 and name = ")
            .bind(name)
            .add(" and due_at <= ")
            .bind(last_ms)
    };
    let sql = Sql::new(
        family,
        "update tsumugi_jobs set state = 1, failures = 0, losses = 0, due_at = ",
    )
    .now()
    .add(" where ");
    let (ids, end) = match family {
        Family::Firebird => return dead(sql).add(" order by due_at rows ").bind(count),
        // What two callers retry at once is retried by one of them.
        Family::Postgres => (
            "id = any (array(select id from tsumugi_jobs where ",
            " for update skip locked))",
        ),
        Family::Sqlite => ("id in (select id from tsumugi_jobs where ", ")"),
    };
    dead(sql.add(ids))
        .add(" order by due_at limit ")
        .bind(count)
        .add(end)
}

/// What the key of a schedule's time has in place of a job, so that it is told from keys of the caller's: ids begin at 1.
pub(crate) const SCHEDULE_MARK: i64 = 0;

/// Forgets keys of the times of all schedules before `to_ms`, and [`SCHEDULE_KEYS_DROPPED_MAX`] at most.
pub(crate) fn forget_times(family: Family, to_ms: i64) -> Sql {
    let count = i64::try_from(SCHEDULE_KEYS_DROPPED_MAX).unwrap_or(i64::MAX);
    let (ids, digits, limit, end) = match family {
        Family::Firebird => ("", "right(name, 13)", " rows ", ""),
        Family::Postgres => (
            "name in (select name from tsumugi_job_keys where ",
            "right(name, 13)",
            " limit ",
            " for update skip locked)",
        ),
        Family::Sqlite => (
            "name in (select name from tsumugi_job_keys where ",
            "substr(name, -13)",
            " limit ",
            ")",
        ),
    };
    // By the primary key. A space is followed by an exclamation mark.
    Sql::new(family, "delete from tsumugi_job_keys where ")
        .add(ids)
        .add("name > 'key every ' and name < 'key every!' and job_id = ")
        .bind(SCHEDULE_MARK)
        .add(" and ")
        .add(digits)
        .add(" < ")
        .bind(format!("{to_ms:013}"))
        .add(limit)
        .bind(count)
        .add(end)
}
