//! Jobs of an application in Rust as its router declares them, run on each worker. Which run when is `tsumugi_jobs`'s. Keeps none.
//! Rule: an application that declares jobs and does not say where they are kept does not load.

use std::rc::Rc;

use tokio::task::JoinHandle;
use tsumugi_jobs::{ClaimedJob, CronSchedule, JobFuture, JobKind, JobWorker, parse_line};
use tsumugi_server::dispatch::{StopSignal, push_schedules, run_jobs};
use tsumugi_server::story;
use tsumugi_worker::LocalTask;

use crate::error::{Error, Result, report};
use crate::job::{Job, LineOptions, kind};
use crate::plugin::Worker;
use crate::timers::TickOutcome;

/// A kind as the router declares it, with what runs its jobs.
pub(crate) struct DeclaredJob<S> {
    kind: Result<JobKind>,
    run: Run<S>,
    /// When it is pushed by the clock.
    schedule: Option<Result<CronSchedule>>,
}

type Run<S> = Rc<dyn Fn(Rc<S>, ClaimedJob) -> LocalTask<Result<()>>>;

pub(crate) fn declared<S, J, F, R>(perform: F) -> DeclaredJob<S>
where
    S: 'static,
    J: Job,
    F: AsyncFn(&S, J, &ClaimedJob) -> R + 'static,
    R: TickOutcome,
{
    let perform = Rc::new(perform);
    DeclaredJob {
        kind: kind::<J>(),
        schedule: None,
        run: Rc::new(move |state, job| {
            let perform = Rc::clone(&perform);
            Box::pin(async move {
                let arguments = serde_json::from_str(&job.arguments);
                let arguments =
                    arguments.map_err(|error| Error::Usage(error.to_string().into()))?;
                perform(&state, arguments, &job).await.ticked()
            })
        }),
    }
}

/// A kind whose jobs are pushed by a line of cron.
pub(crate) fn scheduled<S, F, R>(
    line: &str,
    zone: &str,
    name: &str,
    options: LineOptions,
    tick: F,
) -> DeclaredJob<S>
where
    S: 'static,
    F: AsyncFn(&S) -> R + 'static,
    R: TickOutcome,
{
    let tick = Rc::new(tick);
    DeclaredJob {
        kind: line_kind(name, options).map_err(Error::from),
        schedule: Some(schedule(line, zone).map_err(Error::from)),
        run: Rc::new(move |state, _| {
            let tick = Rc::clone(&tick);
            Box::pin(async move { tick(&state).await.ticked() })
        }),
    }
}

/// What a line and a zone stand for.
fn schedule(line: &str, zone: &str) -> tsumugi_jobs::Result<CronSchedule> {
    parse_line(line, zone, |seconds| {
        format!("an interval is for every(Duration::from_secs({seconds}), …)")
    })
}

fn line_kind(name: &str, options: LineOptions) -> tsumugi_jobs::Result<JobKind> {
    let mut kind = JobKind::every(name)?;
    kind.retries = options.retries;
    kind.timeout = options.timeout;
    kind.checked()
}

/// Runs the jobs of this worker until `stop` is given or the server drains; nothing where there are none.
///
/// # Errors
/// Of what is outside of the limits.
pub(crate) fn start<S: 'static>(
    worker: &Worker,
    state: &Rc<S>,
    declared: Vec<DeclaredJob<S>>,
    stop: &Rc<StopSignal>,
) -> Result<Vec<JoinHandle<()>>> {
    if declared.is_empty() && worker.jobs().is_none() {
        return Ok(Vec::new());
    }
    let mut kinds = Vec::new();
    let mut runs = Vec::new();
    let mut schedules = Vec::new();
    for DeclaredJob {
        kind,
        run,
        schedule,
    } in declared
    {
        let kind = kind?;
        if let Some(schedule) = schedule {
            schedules.push((kind.clone(), schedule?));
        }
        runs.push((kind.name.clone(), run));
        kinds.push(kind);
    }
    // Behind the errors of declarations, which a place for jobs would not mend.
    let Some(jobs) = worker.jobs() else {
        return Err(Error::Usage("jobs are declared, and nothing says where they are kept: worker.use_jobs(Jobs::over(&db))".into()));
    };
    let state = Rc::clone(state);
    let perform = Rc::new(move |job: ClaimedJob| -> JobFuture {
        let what = format!("job {} {}", job.name, job.id);
        let run = runs.iter().find(|(name, _)| *name == job.name);
        let run = run.map(|(_, run)| run(Rc::clone(&state), job));
        Box::pin(async move {
            match run {
                Some(run) => run.await.map_err(|error| {
                    let story = story(&error);
                    report(error.class(), &story, &what);
                    story
                }),
                None => Err("nobody runs it".to_owned()),
            }
        })
    });
    let (queue, runs) = (jobs.queue, jobs.options.run);
    let jobs = JobWorker::new(&queue, kinds, jobs.options, perform)?;
    let mut started = Vec::new();
    if runs {
        let (handle, signal) = (worker.inner().clone(), Rc::clone(stop));
        let run = async move { run_jobs(&handle, &signal, jobs).await };
        started.push(worker.spawn_boxed(Box::pin(run)));
    }
    if worker.id() == 0 && !schedules.is_empty() {
        let (handle, signal) = (worker.inner().clone(), Rc::clone(stop));
        let push = async move { push_schedules(&handle, &signal, queue, schedules).await };
        started.push(worker.spawn_boxed(Box::pin(push)));
    }
    Ok(started)
}

#[cfg(test)]
mod tests {
    use tsumugi_db::{Database, Options};
    use tsumugi_jobs::WorkerOptions;

    use super::*;
    use crate::{Jobs, Settings};

    impl Job for u8 {
        const NAME: &'static str = "byte";
    }

    #[test]
    fn worker_with_run_false_starts_no_task_that_runs_jobs() {
        let started = |run: bool| {
            let tasks = crate::alone(Settings::default(), async |worker| {
                let url = "sqlite::memory:?name=run";
                let database = Database::connect(url, Options::default()).await.unwrap();
                let options = WorkerOptions {
                    run,
                    ..WorkerOptions::default()
                };
                worker.use_jobs(Jobs::over(&database).options(options));
                let kinds = vec![declared(async |_: &(), _: u8, _: &ClaimedJob| {})];
                let tasks = start(worker, &Rc::new(()), kinds, &Rc::default()).unwrap();
                tasks.iter().for_each(JoinHandle::abort);
                tasks.len()
            });
            tasks.unwrap()
        };
        assert_eq!((started(true), started(false)), (1, 0));
    }

    #[test]
    fn name_of_a_line_of_cron_past_its_limit_is_refused_with_the_name_of_the_limit() {
        let kind = |bytes: usize| {
            let name = "n".repeat(bytes);
            let options = LineOptions::default();
            scheduled("0 3 * * *", "UTC", &name, options, async |_: &()| {}).kind
        };
        // `every ` stands in front of it.
        let longest = tsumugi_jobs::limits::JOB_NAME_BYTES_MAX - "every ".len();
        assert!(kind(longest).is_ok());
        let error = kind(longest + 1).unwrap_err();
        assert!(
            story(&error).contains("JOB_NAME_BYTES_MAX is 64"),
            "{}",
            story(&error)
        );
    }

    #[test]
    fn line_that_is_none_is_refused_before_a_place_for_jobs_is_asked_for() {
        let refused = |line: &'static str| {
            let outcome = crate::alone(Settings::default(), async move |worker| {
                let options = LineOptions::default();
                let tick = scheduled(line, "UTC", "report", options, async |_: &()| {});
                let error = start(worker, &Rc::new(()), vec![tick], &Rc::default()).unwrap_err();
                story(&error)
            });
            outcome.unwrap()
        };
        let interval = refused("5 minutes");
        for part in ["is no line of cron", "every(Duration::from_secs(300), …)"] {
            assert!(interval.contains(part), "{interval}");
        }
        let without_place = refused("0 3 * * *");
        assert!(without_place.contains("worker.use_jobs"), "{without_place}");
    }
}
