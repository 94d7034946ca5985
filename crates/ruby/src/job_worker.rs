//! Jobs in Ruby: the blocks of `job`, run on fibres of this worker's VM beside its requests. Which run when is `tsumugi_jobs`'s.
//! Rule: a job whose future is dropped is cancelled as a request is whose client has gone.

use std::rc::Rc;

use tokio::task::JoinHandle;
use tsumugi_jobs::{ClaimedJob, CronSchedule, JobFuture, JobKind, JobWorker, Perform, Result};
use tsumugi_mruby::Scope;
use tsumugi_server::dispatch::{StopSignal, push_schedules, run_jobs};

use crate::answer::answer;
use crate::driver::{self, Bounds};
use crate::host::{Host, JobResult};

/// The worker for the jobs that the application has declared; none where it has not said where they are kept.
///
/// # Errors
/// Of what is outside of the limits.
pub(crate) fn worker(host: &Rc<Host>) -> Result<Option<JobWorker>> {
    let setup = host.resources.jobs.borrow();
    let Some(setup) = &*setup else {
        return Ok(None);
    };
    // The worker must not keep its application from ending.
    let weak = Rc::downgrade(host);
    let perform: Perform = Rc::new(move |job| match weak.upgrade() {
        Some(host) => perform(host, job),
        None => Box::pin(async { Err("the application has ended".to_owned()) }),
    });
    let kinds = host.resources.job_kinds.borrow().clone();
    JobWorker::new(&setup.queue, kinds, setup.options.clone(), perform).map(Some)
}

/// Runs the jobs of this worker until `stop` is given or the server drains, if the application wants that.
///
/// # Errors
/// As [`worker`].
pub(crate) fn start(host: &Rc<Host>, stop: &Rc<StopSignal>) -> Result<Option<JoinHandle<()>>> {
    let is_wanted = host
        .resources
        .jobs
        .borrow()
        .as_ref()
        .is_some_and(|setup| setup.options.run);
    let Some(worker) = worker(host)?.filter(|_| is_wanted) else {
        return Ok(None);
    };
    let (handle, stop) = (host.worker.clone(), Rc::clone(stop));
    let run = async move { run_jobs(&handle, &stop, worker).await };
    Ok(Some(host.worker.spawn(run)))
}

/// Pushes the jobs of `every` with lines of cron, on the first worker, until `stop` is given or the server drains.
pub(crate) fn start_schedules(host: &Rc<Host>, stop: &Rc<StopSignal>) -> Option<JoinHandle<()>> {
    let schedules = host.resources.job_schedules.borrow().clone();
    let setup = host.resources.jobs.borrow();
    let setup = setup
        .as_ref()
        .filter(|_| host.worker.id() == 0 && !schedules.is_empty())?;
    let (handle, stop, queue) = (host.worker.clone(), Rc::clone(stop), setup.queue.clone());
    let run = async move { push_schedules(&handle, &stop, queue, schedules).await };
    Some(host.worker.spawn(run))
}

fn perform(host: Rc<Host>, job: ClaimedJob) -> JobFuture {
    Box::pin(async move {
        let what = format!("job {} {}", job.name, job.id);
        let task = answer(move |scope| {
            let arguments = [
                scope.string(&*job.name)?,
                scope.string(&*job.arguments)?,
                scope.integer(job.id),
                scope.integer(job.attempt),
                scope.integer(job.failures),
                scope.integer(job.retries),
            ];
            scope.call(scope.constant("Tsumugi::Jobs")?, "__task", &arguments)
        });
        let finish = |scope: &Scope<'_>, ended: JobResult<'_>| {
            ended.err().map(|raised| scope.report(raised))
        };
        match driver::run(&host, task, &Bounds::default(), finish).await {
            None => Ok(()),
            // Logged by who records it, with when it is begun again.
            Some(report) => Err(host.note_exception(&what, &report)),
        }
    })
}

/// Keeps a kind that the application has declared.
pub(crate) fn declare(host: &Host, kind: JobKind) {
    host.resources.job_kinds.borrow_mut().push(kind);
}

/// Has jobs of this kind pushed by the clock.
pub(crate) fn schedule(host: &Host, kind: JobKind, schedule: CronSchedule) {
    let mut schedules = host.resources.job_schedules.borrow_mut();
    schedules.push((kind, schedule));
}
