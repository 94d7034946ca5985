//! Work for later: `jobs`, `job`. The words are Ruby's, what they mean `tsumugi_jobs`'s. Runs no job.
//! Rule: a push runs where the statements of its fibre run, so that it belongs to their transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use tsumugi_db::Executor;
use tsumugi_jobs::{
    CronSchedule, Error, JobKind, JobPush, JobQueue, JobRow, JobState, JobTablesWish,
    WorkerOptions, parse_line, prepare_job_tables,
};
use tsumugi_mruby::{NativeCall, Raise, Result, Scope, Value};
use tsumugi_server::commands::JOB_TABLES;

use super::database::vm_database::{executor, vm_database};
use crate::answer::{Failure, attempt};
use crate::host::Host;
use crate::job_setup::JobSetup;
use crate::job_worker;
use crate::natives::arguments::{float, text, whole, wrong_type};
use crate::natives::definitions::Natives;

impl Failure for Error {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        match (self, self.kind()) {
            (Error::Database(error), _) => error.raise(scope),
            (_, Some(kind)) => scope.error(&format!("Tsumugi::Jobs::{kind}"), self.to_string()),
            (_, None) => scope.error("Tsumugi::Jobs::Error", self.to_string()),
        }
    }
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("jobs_over", |host, scope, call| {
        let database = vm_database(scope, call.argument(0))?.database();
        let setup = JobSetup {
            queue: JobQueue::over(database),
            options: options(scope, call)?,
        };
        host.resources.jobs.replace(Some(setup));
        Ok(Value::nil())
    })?;
    natives.plain("job_declare", |host, scope, call| {
        job_worker::declare(host, kind(scope, call, 0)?);
        Ok(Value::nil())
    })?;
    natives.plain("job_schedule", |host, scope, call| {
        let kind = kind(scope, call, 2)?;
        let schedule = schedule(scope, call)?;
        job_worker::schedule(host, kind, schedule);
        Ok(Value::nil())
    })?;
    natives.plain("check_schedule", |_, scope, call| {
        schedule(scope, call).map(|_| Value::nil())
    })?;
    natives.plain("job_tables_title", |_, scope, _| scope.string(JOB_TABLES))?;
    natives.waiting("job_tables_make", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let made = async move { prepare_job_tables(&executor, JobTablesWish::Make).await };
        Ok(attempt(made, |_, is_changed| {
            Ok(Value::boolean(is_changed))
        }))
    })?;
    natives.waiting("job_tables_upgrade", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let upgraded = async move { prepare_job_tables(&executor, JobTablesWish::Upgrade).await };
        Ok(attempt(upgraded, |_, is_changed| {
            Ok(Value::boolean(is_changed))
        }))
    })?;
    install_pushing(natives)?;
    install_keeping(natives)
}

/// The functions that push jobs, do effects once, and run what is ready.
fn install_pushing<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("jobs_push", |host, scope, call| {
        let queue = queue(host, scope)?;
        let executor = executor(host, scope, call.argument(0))?;
        let arguments = text(scope, call.argument(1), "the arguments of a job")?;
        let mut push = JobPush::new(kind(scope, call, 6)?, arguments);
        // Seconds since 1970; what no clock can keep is refused behind this.
        push.at_ms = float(call.argument(2)).map(|seconds| (seconds * 1_000.0) as i64);
        push.after = match call.argument(3) {
            after if after.is_nil() => None,
            after => Some(seconds(scope, after, "after:")?),
        };
        push.unique = scope.text(call.argument(4));
        push.priority = match call.argument(5) {
            priority if priority.is_nil() => None,
            priority => Some(whole_priority(scope, priority)?),
        };
        let pushed = async move {
            let id = queue.push(&push, &executor).await?;
            if let (Some(_), Executor::Transaction(transaction)) = (id, &executor) {
                queue.wake_after_commit(transaction);
            }
            Ok::<_, Error>(id)
        };
        Ok(attempt(pushed, |scope, id| {
            Ok(id.map_or_else(Value::nil, |id| scope.integer(id)))
        }))
    })?;
    natives.waiting("jobs_once", |host, scope, call| {
        let queue = queue(host, scope)?;
        let executor = executor(host, scope, call.argument(0))?;
        let key = scope.text(call.argument(1));
        let job = call
            .argument(2)
            .as_integer()
            .zip(call.argument(3).as_integer());
        let begun = async move { queue.begin_once(&executor, key.as_deref(), job).await };
        Ok(attempt(begun, |_, is_new| Ok(Value::boolean(is_new))))
    })?;
    natives.waiting("jobs_run_ready", |host, scope, _| {
        let worker = job_worker::worker(host).map_err(|error| error.raise(scope))?;
        let Some(worker) = worker else {
            return Err(none(scope));
        };
        let ran = async move { worker.run_ready().await };
        Ok(attempt(ran, |scope, count| Ok(scope.count(count))))
    })
}

/// The functions that list, count, retry and drop jobs.
fn install_keeping<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("jobs_list", |host, scope, call| {
        let queue = queue(host, scope)?;
        let state = match scope.text(call.argument(0)) {
            None => None,
            Some(name) => {
                let state = JobState::ALL.into_iter().find(|state| state.name() == name);
                let unknown = || {
                    let message = format!("a job is scheduled, ready, running or dead, not {name}");
                    scope.error("ArgumentError", message)
                };
                Some(state.ok_or_else(unknown)?)
            }
        };
        let after = call.argument(1).as_integer().unwrap_or_default();
        let count = whole::<usize>(call.argument(2)).unwrap_or_default();
        let listed = async move { queue.list(state, after, count).await };
        Ok(attempt(listed, |scope, jobs| {
            scope.list(jobs.iter().map(|job| row(scope, job)))
        }))
    })?;
    natives.waiting("jobs_counts", |host, scope, _| {
        let queue = queue(host, scope)?;
        let counted = async move { queue.counts().await };
        Ok(attempt(counted, |scope, counts| {
            let counts = [
                counts.scheduled,
                counts.ready,
                counts.running,
                counts.failed,
                counts.dead,
            ];
            let integer = |count| i64::try_from(count).unwrap_or(i64::MAX);
            scope.list(
                counts
                    .into_iter()
                    .map(|count| Ok(scope.integer(integer(count)))),
            )
        }))
    })?;
    natives.waiting("jobs_retry", |host, scope, call| {
        let (queue, id) = (queue(host, scope)?, id(scope, call)?);
        let retried = async move { queue.retry(id).await };
        Ok(attempt(retried, |_, is_there| Ok(Value::boolean(is_there))))
    })?;
    natives.waiting("jobs_retry_dead", |host, scope, call| {
        let queue = queue(host, scope)?;
        let kind = text(scope, call.argument(0), "the name of a job")?;
        let retried = async move { queue.retry_dead(&kind).await };
        Ok(attempt(retried, |scope, count| {
            Ok(scope.integer(i64::try_from(count).unwrap_or(i64::MAX)))
        }))
    })?;
    natives.waiting("jobs_drop", |host, scope, call| {
        let (queue, id) = (queue(host, scope)?, id(scope, call)?);
        let dropped = async move { queue.drop(id).await };
        Ok(attempt(dropped, |_, is_there| Ok(Value::boolean(is_there))))
    })
}

/// The jobs of this application.
fn queue<'c>(host: &Host, scope: &'c Scope<'_>) -> Result<'c, JobQueue> {
    let setup = host.resources.jobs.borrow();
    let queue = setup.as_ref().map(|setup| setup.queue.clone());
    queue.ok_or_else(|| none(scope))
}

fn none<'c>(scope: &'c Scope<'_>) -> Raise<'c> {
    scope.error(
        "Tsumugi::Jobs::UsageError",
        "there are no jobs: `jobs db` says where they are kept",
    )
}

fn id<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, i64> {
    let id = call.argument(0);
    id.as_integer()
        .ok_or_else(|| wrong_type(scope, id, "the id of a job", "an Integer"))
}

/// What a line and a zone stand for.
fn schedule<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, CronSchedule> {
    let line = text(scope, call.argument(0), "a line of cron")?;
    let zone = text(scope, call.argument(1), "zone:")?;
    let advice = |seconds| format!("an interval is a number of seconds: every({seconds})");
    parse_line(&line, &zone, advice).map_err(|error| error.raise(scope))
}

/// A kind of five arguments: name, queue, retries, timeout in seconds, priority.
fn kind<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>, first: usize) -> Result<'c, JobKind> {
    let argument = |index| call.argument(first + index);
    let number = |index, what: &str| {
        let value = argument(index);
        let integer = value.as_integer();
        integer.ok_or_else(|| wrong_type(scope, value, what, "an Integer"))
    };
    let refused = |error: Error| error.raise(scope);
    let name = text(scope, argument(0), "the name of a job")?;
    let mut kind = JobKind::new(name).map_err(refused)?;
    kind.queue = text(scope, argument(1), "queue:")?;
    kind.retries = u32::try_from(number(2, "retries:")?).unwrap_or(u32::MAX);
    kind.timeout = seconds(scope, argument(3), "timeout:")?;
    kind.priority = whole_priority(scope, argument(4))?;
    kind.checked().map_err(refused)
}

/// What is beyond an `i32` is beyond the limit too, on the same side.
fn whole_priority<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, i32> {
    let integer = value.as_integer();
    let priority = integer.ok_or_else(|| wrong_type(scope, value, "priority:", "an Integer"))?;
    let farthest = if priority < 0 { i32::MIN } else { i32::MAX };
    Ok(i32::try_from(priority).unwrap_or(farthest))
}

fn options<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, WorkerOptions> {
    let room = |value: Value<'c>, what: &str| {
        whole::<usize>(value).ok_or_else(|| wrong_type(scope, value, what, "an Integer above 0"))
    };
    let mut queues = BTreeMap::new();
    for pair in scope.elements(call.argument(2)) {
        let mut pair = scope.elements(pair);
        let (Some(name), Some(value)) = (pair.next(), pair.next()) else {
            continue;
        };
        queues.insert(
            text(scope, name, "the name of a queue")?,
            room(value, "the limit of a queue")?,
        );
    }
    let poll = match call.argument(6) {
        poll if poll.is_nil() => None,
        poll => Some(seconds(scope, poll, "poll:")?),
    };
    let options = WorkerOptions {
        run: call.argument(5).truthy(),
        running: room(call.argument(1), "running:")?,
        queues,
        grace: seconds(scope, call.argument(3), "grace:")?,
        lease: seconds(scope, call.argument(4), "lease:")?,
        poll,
    };
    options.checked().map_err(|error| error.raise(scope))
}

fn seconds<'c>(scope: &'c Scope<'c>, value: Value<'c>, what: &str) -> Result<'c, Duration> {
    let Some(seconds) = float(value) else {
        return Err(wrong_type(scope, value, what, "a number of seconds"));
    };
    Duration::try_from_secs_f64(seconds).map_err(|error| {
        let message = match seconds >= 0.0 {
            true => format!("{what} takes a number of seconds, not {seconds}: {error}"),
            false => format!("{what} is a number of seconds, 0 or more, not {seconds}"),
        };
        scope.error("ArgumentError", message)
    })
}

fn row<'c>(scope: &'c Scope<'_>, job: &JobRow) -> Result<'c, Value<'c>> {
    let error = match &job.error {
        Some(error) => scope.string(&**error)?,
        None => Value::nil(),
    };
    let values = [
        scope.integer(job.id),
        scope.string(&*job.name)?,
        scope.string(&*job.queue)?,
        Value::symbol(scope.intern(job.state.name())),
        scope.integer(job.priority),
        scope.integer(job.attempts),
        scope.integer(job.failures),
        scope.integer(job.retries),
        scope.integer(job.losses),
        scope.integer(job.due_ms),
        scope.integer(job.pushed_ms),
        error,
        scope.string(&*job.arguments)?,
    ];
    scope.list(values.into_iter().map(Ok))
}
