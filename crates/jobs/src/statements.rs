//! Every statement about jobs, for the three databases. Runs none. Rule: what ends or renews a claim names the job, its attempt and its state, so that
//! one who was replaced changes nothing.

use crate::job_claim::{JobClaim, JobEnd};
use crate::kind::{JobPush, millis};
use crate::sql::{JobEngine, Sql};
use crate::table::state::{DEAD, READY, RUNNING, SCHEDULED};

/// The channel of PostgreSQL that says that a job was pushed.
pub(crate) const NOTIFICATIONS: &str = "tsumugi_jobs";

/// The key in its row, which is that of its kind.
pub(crate) fn row_key(push: &JobPush) -> Option<String> {
    let key = push.unique.as_ref()?;
    Some(format!("{}:{key}", push.kind.name))
}

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
    engine: JobEngine,
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
    let key = row_key(push);
    let is_unique = key.is_some();
    let begin = match (engine, notice) {
        (JobEngine::Postgres, PushNotice::Given) => "with pushed as (insert into tsumugi_jobs ",
        _ => "insert into tsumugi_jobs ",
    };
    let sql = Sql::new(engine, begin)
        .add("(name, queue, arguments, state, sort_order, attempt, failures, retries, unique_key, trace, due_at, pushed_at) values (")
        .bind(&*kind.name).add(", ").bind(&*kind.queue).add(", ").bind(&*push.arguments).add(", ")
        .bind(state).add(", ").bind(-push.row_priority()).add(", 0, 0, ").bind(kind.retries).add(", ").bind(key)
        .add(", ").bind(trace).add(", ");
    let sql = match push.at_ms {
        Some(at) => sql.bind(at),
        None => sql.now_plus(after.unwrap_or_default()),
    };
    let sql = sql.add(", ").now().add(")");
    let sql = match (is_unique, engine) {
        (true, JobEngine::Sqlite | JobEngine::Postgres) => {
            sql.add(" on conflict (unique_key) do nothing")
        }
        _ => sql,
    };
    let sql = sql.add(" returning id");
    match (engine, notice) {
        (JobEngine::Postgres, PushNotice::Given) => {
            sql.add(") select id, pg_notify('tsumugi_jobs', '') from pushed")
        }
        _ => sql,
    }
}

/// Says to PostgreSQL that jobs were pushed.
pub(crate) fn notify(engine: JobEngine) -> Sql {
    Sql::new(engine, "select pg_notify('tsumugi_jobs', '')")
}

/// Jobs that are ready, on PostgreSQL. It plans by statistics, and those of a queue are of another time: by `state = 1` it takes the ready ones for a few, and
/// sorts all of them for each claim. Of these expressions it has no statistics and takes all rows for such, so that it reads the first of the index.
pub(crate) const POSTGRES_READY: &str = "state + 0 <> 0 and state + 0 <> 2 and state + 0 <> 3";

/// The condition for jobs of these kinds that are ready.
fn ready<'a>(sql: Sql, names: impl IntoIterator<Item = &'a str>) -> Sql {
    match sql.engine() {
        JobEngine::Postgres => sql
            .add(POSTGRES_READY)
            .add(" and case when name in ")
            .list(names)
            .add(" then 1 else 0 end <> 0"),
        _ => sql.add("state = 1 and name in ").list(names),
    }
}

/// Milliseconds until the next scheduled job is due and until the next claim runs out, and the place of one that is ready.
pub(crate) fn look<'a>(engine: JobEngine, names: impl IntoIterator<Item = &'a str>) -> Sql {
    let (limit, from) = match engine {
        JobEngine::Firebird => (" rows 1)", " from rdb$database"),
        _ => (" limit 1)", ""),
    };
    let sql = Sql::new(
        engine,
        "select (select min(due_at) from tsumugi_jobs where state = 0) - ",
    )
    .now()
    .add(", (select min(due_at) from tsumugi_jobs where state = 2) - ")
    .now()
    .add(", (select sort_order from tsumugi_jobs where ");
    ready(sql, names)
        .add(" order by sort_order, id")
        .add(limit)
        .add(from)
}

/// Makes what is due ready.
pub(crate) fn promote(engine: JobEngine) -> Sql {
    Sql::new(
        engine,
        "update tsumugi_jobs set state = 1 where state = 0 and due_at <= ",
    )
    .now()
}

const CLAIMED: &str = "id, name, arguments, attempt, failures, retries, sort_order, trace";

/// Claims jobs of these kinds; answers them. On Firebird [`candidates`] and [`claim_one`] do.
pub(crate) fn claim<'a>(
    engine: JobEngine,
    names: impl IntoIterator<Item = &'a str>,
    count: usize,
    lease: i64,
    worker: &str,
) -> Sql {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let next = |sql: Sql, names| {
        let sql = sql.add("select id from tsumugi_jobs where ");
        ready(sql, names)
            .add(" order by sort_order, id limit ")
            .bind(count)
    };
    let set = |sql: Sql| {
        sql.add("update tsumugi_jobs set state = 2, attempt = attempt + 1, claimed_by = ")
            .bind(worker)
            .add(", due_at = ")
            .now_plus(lease)
    };
    let sql = match engine {
        JobEngine::Postgres => {
            let sql = next(Sql::new(engine, "with due as ("), names);
            // By an array the rows are found one by one, whatever the statistics say.
            set(sql.add(" for update skip locked) "))
                .add(" where id = any (array(select id from due))")
        }
        _ => next(set(Sql::new(engine, "")).add(" where id in ("), names).add(")"),
    };
    sql.add(" returning ").add(CLAIMED)
}

/// Jobs that may be claimed, each with its attempt. Their arguments are read by [`claimed`]: what another one ends meanwhile has none any more.
pub(crate) fn candidates<'a>(
    engine: JobEngine,
    names: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Sql {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Sql::new(
        engine,
        "select id, attempt from tsumugi_jobs where state = 1 and name in ",
    )
    .list(names)
    .add(" order by sort_order, id rows ")
    .bind(count)
}

/// A job that is claimed.
pub(crate) fn claimed(engine: JobEngine, claim: JobClaim) -> Sql {
    of_claim(
        Sql::new(engine, "select ")
            .add(CLAIMED)
            .add(" from tsumugi_jobs"),
        claim,
    )
}

/// Claims this one unless another has.
pub(crate) fn claim_one(engine: JobEngine, id: i64, attempt: i64, lease: i64, worker: &str) -> Sql {
    Sql::new(
        engine,
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
pub(crate) fn done(engine: JobEngine, claim: JobClaim) -> Sql {
    of_claim(Sql::new(engine, "delete from tsumugi_jobs"), claim)
}

/// These jobs have ended well, on PostgreSQL: answers the ids of those that were still claimed so. One text for any number of them, and one commit.
pub(crate) fn all_done(ends: &[JobEnd]) -> Sql {
    let joined = |number: fn(&JobEnd) -> i64| {
        let numbers: Vec<String> = ends.iter().map(|end| number(end).to_string()).collect();
        numbers.join(",")
    };
    let sql = Sql::new(JobEngine::Postgres, "with done as (delete from tsumugi_jobs using unnest(string_to_array(")
        .bind(joined(|end| end.claim.id))
        .add("::text, ',')::bigint[], string_to_array(")
        .bind(joined(|end| end.claim.attempt))
        .add("::text, ',')::bigint[]) as ended(ended_id, ended_attempt) where id = ended_id and attempt = ended_attempt and state = 2 returning id)");
    match ends.iter().any(|end| end.is_keyed) {
        true => sql.add(
            ", forgotten as (delete from tsumugi_job_keys where name in (select 'job ' || id from done)) select id from done",
        ),
        false => sql.add(" select id from done"),
    }
}

/// The keys of its own effects are no more needed.
pub(crate) fn forget_keys(engine: JobEngine, id: i64) -> Sql {
    Sql::new(engine, "delete from tsumugi_job_keys where name = ").bind(own_key(id))
}

/// The key of a job's own effects.
pub(crate) fn own_key(id: i64) -> String {
    format!("job {id}")
}

/// The job has failed: it is due again after so many milliseconds, or not any more.
pub(crate) fn failed(engine: JobEngine, claim: JobClaim, again: Option<i64>, error: &str) -> Sql {
    let sql = Sql::new(
        engine,
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

/// The job is given back as it was.
pub(crate) fn give_back(engine: JobEngine, claim: JobClaim) -> Sql {
    let sql = Sql::new(
        engine,
        "update tsumugi_jobs set state = 1, claimed_by = null, due_at = ",
    )
    .now();
    of_claim(sql, claim)
}

/// Claims that have run out.
pub(crate) fn expired(engine: JobEngine, count: usize) -> Sql {
    let limit = if engine == JobEngine::Firebird {
        " rows "
    } else {
        " limit "
    };
    Sql::new(
        engine,
        "select id, attempt, failures, retries from tsumugi_jobs where state = 2 and due_at <= ",
    )
    .now()
    .add(" order by due_at")
    .add(limit)
    .bind(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The same as [`failed`] for a claim that has run out and was not renewed meanwhile.
pub(crate) fn expire(engine: JobEngine, claim: JobClaim, again: Option<i64>, error: &str) -> Sql {
    failed(engine, claim, again, error)
        .add(" and due_at <= ")
        .now()
}

/// Jobs that run whose worker held a lock that its session has no more, on PostgreSQL: its process has died, or its connection. Each with the text of its
/// worker, which changes when that one comes back. Not those of the worker that asks, whose claims fit `own`.
pub(crate) fn orphans(own: &str, count: usize) -> Sql {
    Sql::new(
        JobEngine::Postgres,
        "select id, attempt, failures, retries, claimed_by from tsumugi_jobs where state = 2 and claimed_by like '%+%' \
         and split_part(claimed_by, '+', 2) not in (select ((classid::bigint << 32) | objid::bigint)::text from pg_locks \
         where locktype = 'advisory' and objsubid = 1 and granted \
         and database = (select oid from pg_database where datname = current_database())) and claimed_by not like ",
    )
    .bind(own)
    .add(" order by id limit ")
    .bind(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The same as [`failed`] for a job of such a worker, unless that has come back.
pub(crate) fn abandon(claim: JobClaim, again: Option<i64>, error: &str, worker: &str) -> Sql {
    failed(JobEngine::Postgres, claim, again, error)
        .add(" and claimed_by = ")
        .bind(worker)
}

/// Renews the claims of a worker, under the text that it has now. `all` fits all texts that it has had.
pub(crate) fn renew(engine: JobEngine, lease: i64, worker: &str, all: &str) -> Sql {
    Sql::new(engine, "update tsumugi_jobs set due_at = ")
        .now_plus(lease)
        .add(", claimed_by = ")
        .bind(worker)
        .add(" where state = 2 and claimed_by like ")
        .bind(all)
}

/// What a worker has claimed.
pub(crate) fn claimed_by(engine: JobEngine, all: &str) -> Sql {
    Sql::new(
        engine,
        "select id, attempt from tsumugi_jobs where state = 2 and claimed_by like ",
    )
    .bind(all)
}

/// Remembers an effect; no row changed where it is remembered.
pub(crate) fn remember(engine: JobEngine, key: &str, job: Option<i64>) -> Sql {
    let sql = Sql::new(
        engine,
        "insert into tsumugi_job_keys (name, job_id, made_at) values (",
    )
    .bind(key)
    .add(", ")
    .bind(job)
    .add(", ")
    .now()
    .add(")");
    match engine {
        JobEngine::Firebird => sql,
        _ => sql.add(" on conflict (name) do nothing"),
    }
}

/// Whether an effect with a key of the caller's is remembered.
pub(crate) fn remembered(engine: JobEngine, key: &str) -> Sql {
    Sql::new(engine, "select name from tsumugi_job_keys where name = ").bind(named_key(key))
}

/// The row of an effect with a key of the caller's.
pub(crate) fn named_key(key: &str) -> String {
    format!("key {key}")
}

/// Drops jobs of a kind that have not been begun and are due at another time than this one, later than now.
pub(crate) fn forget_scheduled(engine: JobEngine, name: &str, at_ms: i64, now_ms: i64) -> Sql {
    Sql::new(
        engine,
        "delete from tsumugi_jobs where state = 0 and attempt = 0 and name = ",
    )
    .bind(name)
    .add(" and due_at <> ")
    .bind(at_ms)
    .add(" and due_at > ")
    .bind(now_ms)
}

/// Drops the keys of these. Their numbers are of one length, so that they are in the order of their texts.
pub(crate) fn forget_later_keys(engine: JobEngine, name: &str, at_ms: i64, now_ms: i64) -> Sql {
    let key = named_key(name);
    Sql::new(engine, "delete from tsumugi_job_keys where name > ")
        .bind(format!("{key} {now_ms}"))
        .add(" and name < ")
        .bind(format!("{key}!"))
        .add(" and name <> ")
        .bind(format!("{key} {at_ms}"))
}

/// Drops the keys of a kind's times that are older than this.
pub(crate) fn forget_old_keys(engine: JobEngine, name: &str, age: i64) -> Sql {
    let key = named_key(name);
    Sql::new(engine, "delete from tsumugi_job_keys where name > ")
        .bind(format!("{key} "))
        .add(" and name < ")
        .bind(format!("{key}!"))
        .add(" and made_at < ")
        .now_plus(-age)
}

/// Whether a claim still holds, which it does until the end of the transaction then.
pub(crate) fn hold(engine: JobEngine, claim: JobClaim) -> Sql {
    let sql = of_claim(Sql::new(engine, "select id from tsumugi_jobs"), claim);
    match engine {
        JobEngine::Postgres => sql.add(" for key share"),
        _ => sql,
    }
}

const LISTED: &str = "id, name, queue, state, sort_order, attempt, failures, retries, due_at, pushed_at, claimed_by, error, arguments";

/// Jobs in the order of their ids, of one state or of all, after an id.
pub(crate) fn list(engine: JobEngine, state: Option<i64>, after: i64, count: usize) -> Sql {
    let sql = Sql::new(engine, "select ")
        .add(LISTED)
        .add(" from tsumugi_jobs where id > ")
        .bind(after);
    let sql = match state {
        Some(state) => sql.add(" and state = ").bind(state),
        None => sql,
    };
    let limit = if engine == JobEngine::Firebird {
        " order by id rows "
    } else {
        " order by id limit "
    };
    sql.add(limit)
        .bind(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Makes a job that waits or is dead ready, with all of its retries.
pub(crate) fn retry(engine: JobEngine, id: i64) -> Sql {
    Sql::new(
        engine,
        "update tsumugi_jobs set state = 1, failures = 0, due_at = ",
    )
    .now()
    .add(" where id = ")
    .bind(id)
    .add(" and state in (0, 3)")
}

/// Makes the dead jobs of a kind ready, with all of their retries.
pub(crate) fn retry_dead(engine: JobEngine, name: &str) -> Sql {
    Sql::new(
        engine,
        "update tsumugi_jobs set state = 1, failures = 0, due_at = ",
    )
    .now()
    .add(" where state = 3 and name = ")
    .bind(name)
}

/// How many jobs of one state there are of each queue and kind, among so many of them. Read by the index of states.
pub(crate) fn figures(engine: JobEngine, state: i64, count: usize) -> Sql {
    let limit = if engine == JobEngine::Firebird {
        " order by due_at rows "
    } else {
        " order by due_at limit "
    };
    Sql::new(
        engine,
        "select queue, name, count(*) from (select queue, name from tsumugi_jobs where state = ",
    )
    .bind(state)
    .add(limit)
    .bind(i64::try_from(count).unwrap_or(i64::MAX))
    .add(") as counted group by queue, name")
}

/// Drops a job that does not run.
pub(crate) fn drop_job(engine: JobEngine, id: i64) -> Sql {
    Sql::new(engine, "delete from tsumugi_jobs where id = ")
        .bind(id)
        .add(" and state <> 2")
}

/// How many jobs there are of each state, how many of them have failed before, and since when the oldest that is ready has waited.
pub(crate) fn counts(engine: JobEngine) -> Sql {
    Sql::new(
        engine,
        "select state, count(*), sum(case when failures > 0 then 1 else 0 end), ",
    )
    .now()
    .add(" - min(due_at) from tsumugi_jobs group by state")
}
