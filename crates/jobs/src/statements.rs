//! Every statement about jobs, for the three databases. Runs none. Rule: what ends or renews a claim names the job, its attempt and its state, so that
//! one who was replaced changes nothing.

use tsumugi_db::Family;

use crate::job_claim::{JobClaim, JobEnd};
use crate::keys::{named_key, own_key, row_key, schedule_key};
use crate::kind::{JobPush, millis};
use crate::limits::JOBS_PROMOTED_MAX;
use crate::sql::Sql;
use crate::table::state::{DEAD, READY, RUNNING, SCHEDULED};

/// The channel of PostgreSQL that says that a job was pushed.
pub(crate) const NOTIFICATIONS: &str = "tsumugi_jobs";

/// How workers are woken, where the database can do that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushNotice {
    /// By the statement that pushes.
    Given,
    /// By a statement behind it, which pushes share: those that notify are committed one behind the other.
    Shared,
    /// Not at all: it is due later.
    Omitted,
}

/// Answers the id, or no row where the key is there. `trace` is that of the pusher.
pub(crate) fn push(
    family: Family,
    push: &JobPush,
    trace: Option<String>,
    notice: PushNotice,
) -> Sql {
    let after = push.after.filter(|after| !after.is_zero()).map(millis);
    let state = match push.at_ms.or(after) {
        Some(_) => SCHEDULED,
        None => READY,
    };
    let kind = &push.kind;
    let key = row_key(family, push);
    let is_unique = key.is_some();
    let begin = match (family, notice) {
        (Family::Postgres, PushNotice::Given) => "with pushed as (insert into tsumugi_jobs ",
        _ => "insert into tsumugi_jobs ",
    };
    let sql = Sql::new(family, begin)
        .add("(name, queue, arguments, state, sort_order, attempt, failures, retries, unique_key, trace, due_at, pushed_at) values (")
        .bind(&*kind.name).add(", ").bind(&*kind.queue).add(", ").bind(&*push.arguments).add(", ")
        .bind(state).add(", ").bind(-push.row_priority()).add(", 0, 0, ").bind(kind.retries).add(", ").bind(key)
        .add(", ").bind(trace).add(", ");
    let sql = match push.at_ms {
        Some(at) => sql.bind(at),
        None => sql.now_plus(after.unwrap_or_default()),
    };
    let sql = sql.add(", ").now().add(")");
    let sql = match (is_unique, family) {
        (true, Family::Sqlite | Family::Postgres) => {
            sql.add(" on conflict (unique_key) do nothing")
        }
        _ => sql,
    };
    let sql = sql.add(" returning id");
    match (family, notice) {
        (Family::Postgres, PushNotice::Given) => {
            sql.add(") select id, pg_notify('tsumugi_jobs', '') from pushed")
        }
        _ => sql,
    }
}

/// Says to PostgreSQL that jobs were pushed.
pub(crate) fn notify(family: Family) -> Sql {
    Sql::new(family, "select pg_notify('tsumugi_jobs', '')")
}

/// The jobs of these kinds that are ready, for statements that read them in order: of the index of that order, whatever statistics say.
fn from_ready<'a>(sql: Sql, names: impl IntoIterator<Item = &'a str>) -> Sql {
    match sql.family() {
        Family::Postgres => sql
            .add(concat!(
                " from tsumugi_jobs where ",
                postgres_ready!(),
                " and case when name in "
            ))
            .list(names)
            .add(" then 1 else 0 end <> 0"),
        // It would take the index of states, and sort all that are ready for each claim.
        Family::Sqlite => sql
            .add(" from tsumugi_jobs indexed by tsumugi_jobs_ready where state = 1 and name in ")
            .list(names),
        Family::Firebird => sql
            .add(" from tsumugi_jobs where state = 1 and name in ")
            .list(names),
    }
}

/// Milliseconds until the next scheduled job is due and until the next claim runs out, the time, and of each of these groups of kinds the place of a job that is
/// ready.
pub(crate) fn look<'a>(
    family: Family,
    groups: impl IntoIterator<Item = impl IntoIterator<Item = &'a str>>,
) -> Sql {
    let (limit, from) = match family {
        Family::Firebird => (" rows 1)", " from rdb$database"),
        _ => (" limit 1)", ""),
    };
    let sql = Sql::new(
        family,
        "select (select min(due_at) from tsumugi_jobs where state = 0) - ",
    )
    .now()
    .add(", (select min(due_at) from tsumugi_jobs where state = 2) - ")
    .now()
    .add(", ")
    .now();
    let look = |sql: Sql, names| {
        from_ready(sql.add(", (select sort_order"), names)
            .add(" order by sort_order, id")
            .add(limit)
    };
    groups.into_iter().fold(sql, look).add(from)
}

/// Makes what is due ready, what was due first first, and [`JOBS_PROMOTED_MAX`] at most.
pub(crate) fn promote(family: Family) -> Sql {
    let count = i64::try_from(JOBS_PROMOTED_MAX).unwrap_or(i64::MAX);
    let due = |sql: Sql| sql.add("state = 0 and due_at <= ").now();
    let (ids, end) = match family {
        Family::Firebird => {
            let sql = Sql::new(family, "update tsumugi_jobs set state = 1 where ");
            return due(sql).add(" order by due_at rows ").bind(count);
        }
        // By an array the rows are found one by one, and what another worker makes ready is left to it.
        Family::Postgres => (
            "id = any (array(select id from tsumugi_jobs where ",
            " for update skip locked))",
        ),
        Family::Sqlite => ("id in (select id from tsumugi_jobs where ", ")"),
    };
    let sql = Sql::new(family, "update tsumugi_jobs set state = 1 where ").add(ids);
    due(sql).add(" order by due_at limit ").bind(count).add(end)
}

const CLAIMED: &str = "id, name, arguments, attempt, failures, retries, sort_order, trace";

/// Claims jobs of these kinds; answers them. On Firebird [`candidates`] and [`claim_one`] do.
pub(crate) fn claim<'a>(
    family: Family,
    names: impl IntoIterator<Item = &'a str>,
    count: usize,
    lease: i64,
    worker: &str,
) -> Sql {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let next = |sql: Sql, names| {
        from_ready(sql.add("select id"), names)
            .add(" order by sort_order, id limit ")
            .bind(count)
    };
    let set = |sql: Sql| {
        sql.add("update tsumugi_jobs set state = 2, attempt = attempt + 1, claimed_by = ")
            .bind(worker)
            .add(", due_at = ")
            .now_plus(lease)
    };
    let sql = match family {
        Family::Postgres => {
            let sql = next(Sql::new(family, "with due as ("), names);
            // By an array the rows are found one by one, whatever the statistics say.
            set(sql.add(" for update skip locked) "))
                .add(" where id = any (array(select id from due))")
        }
        _ => next(set(Sql::new(family, "")).add(" where id in ("), names).add(")"),
    };
    sql.add(" returning ").add(CLAIMED)
}

/// Jobs that may be claimed, each with its attempt. Their arguments are read by [`claimed`]: what another one ends meanwhile has none any more.
pub(crate) fn candidates<'a>(
    family: Family,
    names: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Sql {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    from_ready(Sql::new(family, "select id, attempt"), names)
        .add(" order by sort_order, id rows ")
        .bind(count)
}

/// A job that is claimed.
pub(crate) fn claimed(family: Family, claim: JobClaim) -> Sql {
    of_claim(
        Sql::new(family, "select ")
            .add(CLAIMED)
            .add(" from tsumugi_jobs"),
        claim,
    )
}

/// Claims this one unless another has.
pub(crate) fn claim_one(family: Family, id: i64, attempt: i64, lease: i64, worker: &str) -> Sql {
    Sql::new(
        family,
        "update tsumugi_jobs set state = 2, attempt = attempt + 1, claimed_by = ",
    )
    .bind(worker)
    .add(", due_at = ")
    .now_plus(lease)
    .add(" where id = ")
    .bind(id)
    .add(" and state = 1 and attempt = ")
    .bind(attempt)
}

fn of_claim(sql: Sql, claim: JobClaim) -> Sql {
    sql.add(" where id = ")
        .bind(claim.id)
        .add(" and attempt = ")
        .bind(claim.attempt)
        .add(" and state = ")
        .bind(RUNNING)
}

/// The job has ended well.
pub(crate) fn done(family: Family, claim: JobClaim) -> Sql {
    of_claim(Sql::new(family, "delete from tsumugi_jobs"), claim)
}

/// These jobs have ended well, on PostgreSQL: answers the ids of those that were still claimed so. One text for any number of them, and one commit.
pub(crate) fn all_done(ends: &[JobEnd]) -> Sql {
    let claims: Vec<JobClaim> = ends.iter().map(|end| end.claim).collect();
    let sql = Sql::new(
        Family::Postgres,
        "with done as (delete from tsumugi_jobs using ",
    );
    let sql = postgres_claims(sql, &claims).add(" returning id)");
    match ends.iter().any(|end| end.is_keyed) {
        true => sql.add(
            ", forgotten as (delete from tsumugi_job_keys where name in (select 'job ' || id from done)) select id from done",
        ),
        false => sql.add(" select id from done"),
    }
}

/// The rows of these claims, behind `using` or `from`: one text for any number of them.
fn postgres_claims(sql: Sql, claims: &[JobClaim]) -> Sql {
    sql.add("unnest(string_to_array(")
        .bind(joined(claims, |claim| claim.id))
        .add("::text, ',')::bigint[], string_to_array(")
        .bind(joined(claims, |claim| claim.attempt))
        .add("::text, ',')::bigint[]) as claim(claim_id, claim_attempt) where id = claim_id and attempt = claim_attempt and state = 2")
}

fn joined(claims: &[JobClaim], number: fn(&JobClaim) -> i64) -> String {
    let numbers: Vec<String> = claims
        .iter()
        .map(|claim| number(claim).to_string())
        .collect();
    numbers.join(",")
}

/// The rows of these claims, on databases without arrays: some at a time.
fn where_claims(sql: Sql, claims: &[JobClaim]) -> Sql {
    let pairs = claims.iter().map(|claim| {
        let JobClaim { id, attempt } = claim;
        format!("when {id} then {attempt}")
    });
    let pairs: Vec<String> = pairs.collect();
    sql.add(" where state = 2 and id in (")
        .add(&joined(claims, |claim| claim.id))
        .add(") and attempt = case id ")
        .add(&pairs.join(" "))
        .add(" end")
}

/// The keys of its own effects are no more needed.
pub(crate) fn forget_keys(family: Family, id: i64) -> Sql {
    forget_key(family, &own_key(id))
}

/// The job has failed: it is due again after so many milliseconds, or not any more.
pub(crate) fn failed(family: Family, claim: JobClaim, again: Option<i64>, error: &str) -> Sql {
    let sql = Sql::new(
        family,
        "update tsumugi_jobs set failures = failures + 1, claimed_by = null, error = ",
    )
    .bind(error)
    .add(", state = ")
    .bind(if again.is_some() { SCHEDULED } else { DEAD });
    let sql = match again {
        Some(_) => sql,
        None => sql.add(", unique_key = null"),
    };
    of_claim(
        sql.add(", due_at = ").now_plus(again.unwrap_or_default()),
        claim,
    )
}

/// What becomes of a job whose process has left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterLoss {
    Again,
    /// It was lost too often.
    Dead,
}

/// The process of the job has left it: it may be begun again at once, or never.
fn lost(family: Family, claim: JobClaim, next: AfterLoss, error: &str) -> Sql {
    let sql = Sql::new(
        family,
        "update tsumugi_jobs set losses = losses + 1, claimed_by = null, error = ",
    )
    .bind(error)
    .add(", state = ")
    .bind(match next {
        AfterLoss::Dead => DEAD,
        AfterLoss::Again => READY,
    });
    let sql = match next {
        AfterLoss::Dead => sql.add(", unique_key = null"),
        AfterLoss::Again => sql,
    };
    let sql = of_claim(sql.add(", due_at = ").now(), claim);
    if family != Family::Postgres {
        return sql;
    }
    // The process may stand still in a transaction that holds its claim: that is not waited for.
    sql.add(" and id = (select id from tsumugi_jobs where id = ")
        .bind(claim.id)
        .add(match next {
            AfterLoss::Dead => " for update skip locked)",
            AfterLoss::Again => " for no key update skip locked)",
        })
}

/// The job is given back as it was.
pub(crate) fn give_back(family: Family, claim: JobClaim) -> Sql {
    let sql = Sql::new(
        family,
        "update tsumugi_jobs set state = 1, claimed_by = null, due_at = ",
    )
    .now();
    of_claim(sql, claim)
}

const LEFT: &str =
    "select id, attempt, losses, retries, claimed_by from tsumugi_jobs where state = 2 and ";

/// Claims that have run out, each with the text of its worker.
pub(crate) fn expired(family: Family, count: usize) -> Sql {
    let limit = if family == Family::Firebird {
        " rows "
    } else {
        " limit "
    };
    Sql::new(family, LEFT)
        .add("due_at <= ")
        .now()
        .add(" order by due_at")
        .add(limit)
        .bind(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The job is lost whose claim has run out, if that was not renewed meanwhile.
pub(crate) fn expire(family: Family, claim: JobClaim, next: AfterLoss, error: &str) -> Sql {
    lost(family, claim, next, error)
        .add(" and due_at <= ")
        .now()
}

/// Jobs that run whose worker held a lock that its session has no more, on PostgreSQL: its process has died, or its connection. Each with the text of its
/// worker, which changes when that one comes back. Not those of the worker that asks, whose claims fit `own`.
pub(crate) fn orphans(own: &str, count: usize) -> Sql {
    Sql::new(Family::Postgres, LEFT)
        .add(
            "claimed_by like '%+%' \
             and split_part(claimed_by, '+', 2) not in (select ((classid::bigint << 32) | objid::bigint)::text from pg_locks \
             where locktype = 'advisory' and objsubid = 1 and granted \
             and database = (select oid from pg_database where datname = current_database())) and claimed_by not like ",
        )
        .bind(own)
        .add(" order by id limit ")
        .bind(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The job of such a worker is lost, unless that has come back.
pub(crate) fn abandon(claim: JobClaim, next: AfterLoss, error: &str, worker: &str) -> Sql {
    lost(Family::Postgres, claim, next, error)
        .add(" and claimed_by = ")
        .bind(worker)
}

/// Renews these claims, under the text that their worker has now.
pub(crate) fn renew(family: Family, claims: &[JobClaim], lease: i64, worker: &str) -> Sql {
    let sql = Sql::new(family, "update tsumugi_jobs set due_at = ")
        .now_plus(lease)
        .add(", claimed_by = ")
        .bind(worker);
    match family {
        Family::Postgres => postgres_claims(sql.add(" from "), claims),
        _ => where_claims(sql, claims),
    }
}

/// Which of these claims are held.
pub(crate) fn held(family: Family, claims: &[JobClaim]) -> Sql {
    let sql = Sql::new(family, "select id, attempt from tsumugi_jobs");
    match family {
        Family::Postgres => postgres_claims(sql.add(", "), claims),
        _ => where_claims(sql, claims),
    }
}

/// Remembers an effect; no row changed where it is remembered.
pub(crate) fn remember(family: Family, key: &str, job: Option<i64>) -> Sql {
    let sql = Sql::new(
        family,
        "insert into tsumugi_job_keys (name, job_id, made_at) values (",
    )
    .bind(key)
    .add(", ")
    .bind(job)
    .add(", ")
    .now()
    .add(")");
    match family {
        Family::Firebird => sql,
        _ => sql.add(" on conflict (name) do nothing"),
    }
}

/// Whether an effect with a key of the caller's is remembered.
pub(crate) fn remembered(family: Family, key: &str) -> Sql {
    Sql::new(family, "select name from tsumugi_job_keys where name = ").bind(named_key(family, key))
}

/// Drops jobs of a kind that have not been begun and are due at another time than this one, later than now.
pub(crate) fn forget_scheduled(family: Family, name: &str, at_ms: i64, now_ms: i64) -> Sql {
    Sql::new(
        family,
        "delete from tsumugi_jobs where state = 0 and attempt = 0 and name = ",
    )
    .bind(name)
    .add(" and due_at <> ")
    .bind(at_ms)
    .add(" and due_at > ")
    .bind(now_ms)
}

/// The keys of a schedule's times after `from_ms` and before `to_ms`; keys of schedules with longer names may be among them.
pub(crate) fn schedule_keys(family: Family, name: &str, from_ms: i64, to_ms: i64) -> Sql {
    Sql::new(family, "select name from tsumugi_job_keys where name > ")
        .bind(schedule_key(name, from_ms))
        .add(" and name < ")
        .bind(schedule_key(name, to_ms))
}

/// Forgets an effect with a key.
pub(crate) fn forget_key(family: Family, row: &str) -> Sql {
    Sql::new(family, "delete from tsumugi_job_keys where name = ").bind(row)
}

/// A row where a claim still holds, which it does until the end of the transaction then; on PostgreSQL with the isolation of that.
pub(crate) fn hold(family: Family, claim: JobClaim) -> Sql {
    match family {
        Family::Postgres => {
            let select = "select id, current_setting('transaction_isolation') from tsumugi_jobs";
            of_claim(Sql::new(family, select), claim).add(" for key share")
        }
        Family::Sqlite => of_claim(Sql::new(family, "select id from tsumugi_jobs"), claim),
        // A transaction that sees what was there when it began does not see that the job was begun anew since.
        Family::Firebird => Sql::new(family, "execute block (wanted bigint = ")
            .bind(claim.id)
            .add(", attempted bigint = ")
            .bind(claim.attempt)
            .add(
                ") returns (held bigint) as begin in autonomous transaction do select id from tsumugi_jobs \
                 where id = :wanted and attempt = :attempted and state = 2 into held; if (held is not null) then suspend; end",
            ),
    }
}

const LISTED: &str = "id, name, queue, state, sort_order, attempt, failures, retries, due_at, pushed_at, claimed_by, error, losses";

/// Whether a list has the arguments of jobs, which may be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListedArguments {
    Included,
    Omitted,
}

/// Jobs in the order of their ids, of one state or of all, after an id.
pub(crate) fn list(
    family: Family,
    state: Option<i64>,
    after: i64,
    count: usize,
    arguments: ListedArguments,
) -> Sql {
    let sql = Sql::new(family, "select ")
        .add(LISTED)
        .add(match arguments {
            ListedArguments::Included => ", arguments",
            ListedArguments::Omitted => "",
        })
        .add(" from tsumugi_jobs where id > ")
        .bind(after);
    let sql = match state {
        Some(state) => sql.add(" and state = ").bind(state),
        None => sql,
    };
    let limit = if family == Family::Firebird {
        " order by id rows "
    } else {
        " order by id limit "
    };
    sql.add(limit)
        .bind(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Makes a job that waits or is dead ready, with all of its retries.
pub(crate) fn retry(family: Family, id: i64) -> Sql {
    Sql::new(
        family,
        "update tsumugi_jobs set state = 1, failures = 0, losses = 0, due_at = ",
    )
    .now()
    .add(" where id = ")
    .bind(id)
    .add(" and state in (0, 3)")
}

/// How many jobs there are of each state, queue and kind, among so many of each state. Read by the index of states.
pub(crate) fn figures(family: Family, count: usize) -> Sql {
    let limit = match family {
        Family::Firebird => " order by due_at rows ",
        _ => " order by due_at limit ",
    };
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let mut sql = Sql::new(family, "");
    for (at, state) in [SCHEDULED, READY, RUNNING, DEAD].into_iter().enumerate() {
        let state = state.to_string();
        sql = sql
            .add(if at == 0 { "select " } else { " union all select " })
            .add(&state)
            .add(" as state, queue, name, count(*) from (select queue, name from tsumugi_jobs where state = ")
            .add(&state)
            .add(limit)
            .bind(count)
            .add(") as counted group by queue, name");
    }
    sql
}

/// Drops a job that does not run.
pub(crate) fn drop_job(family: Family, id: i64) -> Sql {
    Sql::new(family, "delete from tsumugi_jobs where id = ")
        .bind(id)
        .add(" and state <> 2")
}

/// How many jobs there are of each state, how many of them have failed before, and since when the oldest that is ready has waited.
pub(crate) fn counts(family: Family) -> Sql {
    Sql::new(
        family,
        "select state, count(*), sum(case when failures > 0 then 1 else 0 end), ",
    )
    .now()
    .add(" - min(due_at) from tsumugi_jobs group by state")
}
