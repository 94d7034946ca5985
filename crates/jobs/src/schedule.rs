//! Jobs by the clock: a line of cron in a time zone, and the jobs that it stands for, each pushed once for all processes before its time.
//! Knows no worker. Rule: the next job is in the table before it is due, so that one whose time came while no process ran is run late, and once.

use std::rc::Rc;
use std::time::Duration;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use tokio::time::sleep;
use tsumugi_db::{Error as DatabaseError, Executor, TransactionOptions};

use crate::error::{Error, Result, check_text};
use crate::failure_pause::FailurePause;
use crate::keys::{named_key, schedule_time};
use crate::kind::{JobKind, JobPush, millis};
use crate::limits::{CRON_LINE_BYTES_MAX, SCHEDULE_KEYS_KEPT, SCHEDULE_LOOK_MAX};
use crate::queue::{JobQueue, text};
use crate::sql::unix_millis;
use crate::{statements, upkeep};

/// Times of schedules have 13 digits, which is from 2001 to 2286.
const TIMES_BEGIN: i64 = 1_000_000_000_000;
const TIMES_END: i64 = 9_999_999_999_999;

/// When jobs are due: a line of cron, in a time zone.
#[derive(Clone, Debug)]
pub struct CronSchedule {
    /// One for each time of the day, where the line names these one by one: so each is read as a line of one time is.
    crons: Vec<Cron>,
    zone: TimeZone,
    words: String,
}

impl CronSchedule {
    /// A line of five fields (minute, hour, day of the month, month, day of the week) in a zone such as `Asia/Tokyo`.
    ///
    /// # Errors
    /// [`Error::Usage`] of a line or a zone that is none; [`Error::TooLarge`].
    pub fn parse(line: &str, zone: &str) -> Result<CronSchedule> {
        let max = CRON_LINE_BYTES_MAX;
        check_text("a line of cron", line, "CRON_LINE_BYTES_MAX", max)?;
        check_text("the name of a zone", zone, "CRON_LINE_BYTES_MAX", max)?;
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let refused = |why: String| Error::Usage(format!("{line:?} is no line of cron: {why}"));
        let parse = |line: &str| parser.parse(line).map_err(|error| error.to_string());
        let whole = parse(line).map_err(|error| {
            let is_read = |line: &str| parse(line).is_ok();
            refused(wrong_field(line, is_read).unwrap_or(error))
        })?;
        let crons = match times_of_day(line) {
            Some(lines) => lines
                .iter()
                .map(|line| parse(line).map_err(refused))
                .collect::<Result<_>>()?,
            None => vec![whole],
        };
        let words = format!("{line} ({zone})");
        let zone = TimeZone::get(zone);
        let zone = zone.map_err(|error| Error::Usage(format!("there is no such zone: {error}")))?;
        let schedule = CronSchedule { crons, zone, words };
        match schedule.next_after(unix_millis()) {
            Some(_) => Ok(schedule),
            None => Err(refused("it is never due".to_owned())),
        }
    }

    /// The line and its zone.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// When it is due next after this time, both in milliseconds since 1970; never, where there is no such day.
    #[must_use]
    pub fn next_after(&self, unix_ms: i64) -> Option<i64> {
        let now = Timestamp::from_millisecond(unix_ms).ok()?;
        let now = Zoned::new(now, self.zone.clone());
        let next = |cron: &Cron| cron.find_next_occurrence(&now, false).ok();
        let next = self.crons.iter().filter_map(next).min()?;
        Some(next.timestamp().as_millisecond())
    }
}

/// The fields of a line in their order, and what may be in each.
const FIELDS: [(&str, &str); 5] = [
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31"),
    ("month", "1 to 12 or jan to dec"),
    (
        "day of the week",
        "0 to 7, where 0 and 7 are Sunday, or sun to sat",
    ),
];

/// Which field of a line cannot be read, in words; nothing where each of them can by itself.
fn wrong_field(line: &str, is_read: impl Fn(&str) -> bool) -> Option<String> {
    let given: Vec<&str> = line.split_whitespace().collect();
    if given.len() != FIELDS.len() {
        let names = FIELDS.map(|(name, _)| name).join(", ");
        let count = given.len();
        return Some(format!("it has {count} fields and needs five: {names}"));
    }
    let is_alone_read = |at: usize| {
        let alone = given.iter().enumerate();
        let alone = alone.map(|(place, field)| if place == at { *field } else { "*" });
        is_read(&alone.collect::<Vec<_>>().join(" "))
    };
    let wrong = (0..FIELDS.len()).find(|at| !is_alone_read(*at))?;
    let (name, range) = FIELDS[wrong];
    let field = given[wrong];
    Some(format!("its {name} is {field:?}; that is {range}"))
}

/// A line for each minute and hour of one that names several one by one. Where the clock is set, a line of one time is due once on each day, and one for every
/// so often goes by the clock on the wall.
fn times_of_day(line: &str) -> Option<Vec<String>> {
    let mut fields = line.split_whitespace();
    let (minutes, hours) = (fields.next()?, fields.next()?);
    let is_list = |field: &str| {
        let is_part = |byte: u8| byte == b',' || byte.is_ascii_digit();
        field.bytes().all(is_part)
    };
    if !(is_list(minutes) && is_list(hours)) {
        return None;
    }
    let rest: Vec<&str> = fields.collect();
    let rest = rest.join(" ");
    let at = |hour| {
        let minutes = minutes.split(',');
        let rest = &rest;
        minutes.map(move |minute| format!("{minute} {hour} {rest}"))
    };
    Some(hours.split(',').flat_map(at).collect())
}

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
        match push_next(queue, kind, next, is_first).await {
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
    let sql = statements::schedule_keys(queue.engine(), name, from_ms, to_ms);
    let rows = inside.query(sql.text, sql.values).await?;
    let key = |row| {
        let row = text(row, 0)?;
        Some((schedule_time(&row, name)?, row))
    };
    Ok(rows.iter().filter_map(key).collect())
}

/// Keeps the key of a time, and says whether it was not kept.
async fn remember_time(queue: &JobQueue, inside: &Executor, key: &str) -> Result<bool> {
    let engine = queue.engine();
    let key = named_key(engine, key);
    let sql = statements::remember(engine, &key, Some(upkeep::SCHEDULE_MARK));
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
            .change(upkeep::forget_times(queue.engine(), old))
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
    let engine = queue.engine();
    let key = format!("{} {at_ms}", kind.name);
    let is_pushed = !queue
        .ask(statements::remembered(engine, &key))
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
        let sql = statements::forget_scheduled(engine, name, at_ms, now);
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
        let sql = statements::forget_key(engine, &row);
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

    fn times(line: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let schedule = CronSchedule::parse(line, zone).unwrap();
        let start: Timestamp = from.parse().unwrap();
        let mut at = start.as_millisecond();
        (0..count)
            .map(|_| {
                at = schedule.next_after(at).unwrap();
                let time = Timestamp::from_millisecond(at).unwrap();
                time.to_zoned(schedule.zone.clone())
                    .strftime("%m-%dT%H:%M%:z")
                    .to_string()
            })
            .collect()
    }

    #[test]
    fn line_is_read_in_its_zone() {
        let found = times("0 3 * * *", "Asia/Tokyo", "2026-01-31T17:59:59Z", 2);
        assert_eq!(found, ["02-01T03:00+09:00", "02-02T03:00+09:00"]);
        let found = times("*/20 9-10 * * mon", "UTC", "2026-11-26T00:00:00Z", 7);
        let monday = [
            "11-30T09:00+00:00",
            "11-30T09:20+00:00",
            "11-30T09:40+00:00",
        ];
        assert_eq!(found[..3], monday);
        assert_eq!(found[6], "12-07T09:00+00:00");
    }

    #[test]
    fn time_that_a_day_does_not_have_is_when_its_clock_goes_on_and_one_that_it_has_twice_is_the_first()
     {
        let found = times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3);
        assert_eq!(
            found,
            [
                "03-28T02:30+01:00",
                "03-29T03:00+02:00",
                "03-30T02:30+02:00"
            ]
        );
        let found = times("30 2 * * *", "Europe/Berlin", "2026-10-24T00:00:00Z", 3);
        assert_eq!(
            found,
            [
                "10-24T02:30+02:00",
                "10-25T02:30+02:00",
                "10-26T02:30+01:00"
            ]
        );
    }

    #[test]
    fn line_for_every_so_often_goes_on_through_a_change_of_the_clock() {
        let found = times("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:29:00Z", 3);
        assert_eq!(
            found,
            [
                "03-29T01:30+01:00",
                "03-29T03:00+02:00",
                "03-29T03:30+02:00"
            ]
        );
        let found = times("0 * * * *", "Europe/Berlin", "2026-10-24T23:59:00Z", 4);
        let twice = [
            "10-25T02:00+02:00",
            "10-25T02:00+01:00",
            "10-25T03:00+01:00",
            "10-25T04:00+01:00",
        ];
        assert_eq!(found, twice);
    }

    #[test]
    fn each_time_of_a_line_that_names_several_is_due_once_on_each_day() {
        let berlin = |line, from, count| times(line, "Europe/Berlin", from, count);
        let found = berlin("30 2,14 * * *", "2026-03-28T20:00:00Z", 3);
        let spring = [
            "03-29T03:00+02:00",
            "03-29T14:30+02:00",
            "03-30T02:30+02:00",
        ];
        assert_eq!(found, spring);
        let found = berlin("30 2,14 * * *", "2026-10-24T20:00:00Z", 3);
        let autumn = [
            "10-25T02:30+02:00",
            "10-25T14:30+01:00",
            "10-26T02:30+01:00",
        ];
        assert_eq!(found, autumn);
        // Both are at the moment at which the clock goes on.
        let found = berlin("0,30 2 * * *", "2026-03-28T20:00:00Z", 2);
        assert_eq!(found, ["03-29T03:00+02:00", "03-30T02:00+02:00"]);
    }

    #[test]
    fn line_with_a_range_of_hours_goes_by_the_clock_on_the_wall() {
        let berlin = |from, count| times("30 1-3 * * *", "Europe/Berlin", from, count);
        let found = berlin("2026-03-28T20:00:00Z", 2);
        assert_eq!(found, ["03-29T01:30+01:00", "03-29T03:30+02:00"]);
        let found = berlin("2026-10-24T23:45:00Z", 2);
        assert_eq!(found, ["10-25T02:30+02:00", "10-25T02:30+01:00"]);
    }

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

    #[test]
    fn line_that_is_none_is_refused_with_the_field_that_is_wrong() {
        let check = |line: &str, why: &str| {
            let said = CronSchedule::parse(line, "UTC").unwrap_err().to_string();
            assert_eq!(said, format!("{line:?} is no line of cron: {why}"));
        };
        check("60 * * * *", "its minute is \"60\"; that is 0 to 59");
        check("0 24,3 * * *", "its hour is \"24,3\"; that is 0 to 23");
        check(
            "0 3 32 * *",
            "its day of the month is \"32\"; that is 1 to 31",
        );
        check(
            "0 3 * * someday",
            "its day of the week is \"someday\"; that is 0 to 7, where 0 and 7 are Sunday, or sun to sat",
        );
        check(
            "0 3 * *",
            "it has 4 fields and needs five: minute, hour, day of the month, month, day of the week",
        );
    }

    #[test]
    fn line_or_zone_that_is_none_is_refused() {
        let said =
            |line: &str, zone: &str| CronSchedule::parse(line, zone).unwrap_err().to_string();
        for line in ["60 * * * *", "* * *", "0 0 0 * * *", "x", "0 0 31 2 *"] {
            assert!(said(line, "UTC").contains("is no line of cron"), "{line}");
        }
        assert!(said("0 3 * * *", "Asia/Nowhere").contains("no such zone"));
        assert!(said(&"1,".repeat(51), "UTC").contains("CRON_LINE_BYTES_MAX is 100"));
    }
}
