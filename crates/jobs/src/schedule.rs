//! Jobs by the clock: what lines of cron stand for, each job pushed once for all processes before its time. Reads no line.
//! Knows no worker. Rule: the next job is in the table before it is due, so that one whose time came while no process ran is run late, and once.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::sleep;
use tsumugi_db::{Error as DatabaseError, Executor, TransactionOptions, bookkeeping};

use crate::cron::CronSchedule;
use crate::error::Result;
use crate::failure_pause::FailurePause;
use crate::keys::{named_key, schedule_time};
use crate::kind::{JobKind, JobPush, millis};
use crate::limits::{SCHEDULE_KEYS_KEPT, SCHEDULE_LOOK_MAX};
use crate::queue::{JobQueue, text};
use crate::sql::unix_millis;
use crate::{statements, upkeep};

/// Times of schedules have 13 digits, which is from 2001 to 2286.
const TIMES_BEGIN: i64 = 1_000_000_000_000;
const TIMES_END: i64 = 9_999_999_999_999;

/// Pushes the jobs of schedules until `stop` resolves. One of a process does, and any number of processes may.
pub fn run_schedules<'s>(
    queue: JobQueue,
    schedules: Vec<(JobKind, CronSchedule)>,
    stop: impl Future<Output = ()> + 's,
) -> LocalBoxFuture<'s, ()> {
    follow_all(queue, schedules, stop.boxed_local())
}

fn follow_all(
    queue: JobQueue,
    schedules: Vec<(JobKind, CronSchedule)>,
    stop: LocalBoxFuture<'_, ()>,
) -> LocalBoxFuture<'_, ()> {
    async move {
        let all = schedules
            .iter()
            .map(|(kind, schedule)| follow(&queue, kind, schedule));
        let all = futures_util::future::join_all(all);
        tokio::select! {
            biased;
            () = stop => {}
            _ = futures_util::future::join(all, forget_old_times(&queue)) => {}
        }
    }
    .boxed_local()
}

async fn follow(queue: &JobQueue, kind: &JobKind, schedule: &CronSchedule) {
    let mut failures = FailurePause::new();
    let mut is_first = true;
    while let Some(next) = schedule.next_after(unix_millis()) {
        match bookkeeping(push_next(queue, kind, next, is_first)).await {
            Ok(()) => {
                is_first = false;
                failures.reset();
                let left = u64::try_from(next.saturating_sub(unix_millis())).unwrap_or_default();
                // The clock may be set meanwhile, and another version of the application may begin and drop what this one has pushed.
                sleep(Duration::from_millis(left + 1).min(SCHEDULE_LOOK_MAX)).await;
            }
            Err(error) => {
                if failures.is_worth_a_line(queue, &error) {
                    tracing::warn!("{} is not scheduled: {error}", kind.name);
                }
                sleep(failures.take()).await;
            }
        }
    }
}

/// The rows of a schedule's keys of times within these.
async fn keys_within(
    queue: &JobQueue,
    inside: &Executor,
    name: &str,
    from_ms: i64,
    to_ms: i64,
) -> Result<Vec<(i64, String)>> {
    let sql = statements::schedule_keys(queue.family(), name, from_ms, to_ms);
    let rows = inside.query(sql.text, sql.values).await?;
    let key = |row| {
        let row = text(row, 0)?;
        Some((schedule_time(&row, name)?, row))
    };
    Ok(rows.iter().filter_map(key).collect())
}

/// Keeps the key of a time, and says whether it was not kept.
async fn remember_time(queue: &JobQueue, inside: &Executor, key: &str) -> Result<bool> {
    let family = queue.family();
    let key = named_key(family, key);
    let sql = statements::remember(family, &key, Some(upkeep::SCHEDULE_MARK));
    match inside.execute(sql.text, sql.values).await {
        Ok(changed) => Ok(changed.affected == 1),
        Err(DatabaseError::UniqueViolation { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Drops keys of old times of schedules that are not followed any more, whatever their names. The next start drops what is left by an error.
async fn forget_old_times(queue: &JobQueue) {
    let old = unix_millis().saturating_sub(millis(SCHEDULE_KEYS_KEPT));
    loop {
        match queue
            .change(upkeep::forget_times(queue.family(), old))
            .await
        {
            Ok(changed) if changed.affected == 0 => return,
            Ok(_) => {}
            Err(error) => {
                tracing::debug!("keys of old schedules are not dropped: {error}");
                return;
            }
        }
    }
}

/// Pushes the job that is due at this time, unless a process has. The first time, what waits for another time is dropped: its line was another one.
async fn push_next(queue: &JobQueue, kind: &JobKind, at_ms: i64, is_first: bool) -> Result<()> {
    let family = queue.family();
    let key = format!("{} {at_ms}", kind.name);
    let is_pushed = !queue
        .ask(statements::remembered(family, &key))
        .await?
        .is_empty();
    if is_pushed && !is_first {
        return Ok(());
    }
    let transaction = Rc::new(
        queue
            .database()
            .begin(TransactionOptions::default())
            .await?,
    );
    let inside = Executor::Transaction(Rc::clone(&transaction));
    let is_new = remember_time(queue, &inside, &key).await?;
    let (name, now) = (&*kind.name, unix_millis());
    let mut keys = Vec::new();
    if is_first {
        let sql = statements::forget_scheduled(family, name, at_ms, now);
        inside.execute(sql.text, sql.values).await?;
        keys = keys_within(queue, &inside, name, now, TIMES_END).await?;
        keys.retain(|(time, _)| *time != at_ms);
    }
    if is_new {
        // By the time that they are of: the next one's key is as old as the one before.
        let old = now.saturating_sub(millis(SCHEDULE_KEYS_KEPT));
        keys.extend(keys_within(queue, &inside, name, TIMES_BEGIN, old).await?);
    }
    for (_, row) in keys {
        let sql = statements::forget_key(family, &row);
        inside.execute(sql.text, sql.values).await?;
    }
    if is_new {
        let mut push = JobPush::new(kind.clone(), "{}");
        push.at_ms = Some(at_ms);
        queue.push(&push, &inside).await?;
        queue.wake_after_commit(&transaction);
    }
    drop(inside);
    transaction.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a clock that is behind does it, after another has pushed the next one.
    #[test]
    fn time_is_pushed_once_however_long_before_it_its_key_was_made_and_keys_of_old_times_go() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite:{}/app.db", folder.path().display());
            let database = tsumugi_db::Database::connect(&url, tsumugi_db::Options::default());
            let database = database.await.unwrap();
            let queue = JobQueue::over(&database);
            let kind = JobKind::every("week").unwrap();
            let week = millis(SCHEDULE_KEYS_KEPT);
            let now = unix_millis();
            for at in [now - week - 60_000, now] {
                push_next(&queue, &kind, at, false).await.unwrap();
                let made = format!("update tsumugi_job_keys set made_at = {}", now - 2 * week);
                database.execute(made, []).await.unwrap();
            }
            for at in [now + week, now] {
                push_next(&queue, &kind, at, false).await.unwrap();
            }
            let here = Executor::Database(database);
            let keys = keys_within(&queue, &here, &kind.name, TIMES_BEGIN, TIMES_END).await;
            let times: Vec<i64> = keys.unwrap().iter().map(|(time, _)| *time).collect();
            assert_eq!(times, [now, now + week]);
            let due = queue.list(None, 0, 10).await.unwrap();
            let due: Vec<i64> = due.iter().map(|job| job.due_ms).collect();
            assert_eq!(due, [now - week - 60_000, now, now + week]);
        });
    }
}
