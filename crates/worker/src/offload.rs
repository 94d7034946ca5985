//! The offload pool: blocking work off the workers, on one bounded pool for the whole process. Knows no runtime.
//! A job that was taken runs to its end even when no caller waits for it any more: it may be a rollback.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use tokio::sync::oneshot;

use crate::error::panic_message;
use crate::host::Cores;
use crate::{Error, Result, WorkerLimits};

/// A bounded pool of threads for blocking work. Cheap to clone; usable from any thread.
#[derive(Clone, Debug)]
pub struct Pool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    queue: Sender<Job>,
    jobs: Receiver<Job>,
    cores: Cores,
    threads_max: usize,
    queue_max: usize,
    /// Threads that were started and have not ended.
    threads: AtomicUsize,
    /// Jobs queued or running. While it does not exceed `threads`, every job has a thread.
    load: AtomicUsize,
    refused: AtomicU64,
    closed: AtomicBool,
}

enum Job {
    Run(Box<dyn FnOnce() + Send>),
    /// Ends the thread that takes it.
    Quit,
}

impl Pool {
    /// A pool with the limits' `offload_threads_max` and `offload_queue_max`. No thread starts before the first job.
    pub fn new(limits: &WorkerLimits) -> Self {
        Self::with_cores(limits, Cores::any())
    }

    pub(crate) fn with_cores(limits: &WorkerLimits, cores: Cores) -> Self {
        let queue_max = limits.offload_queue_max.max(1);
        let (queue, jobs) = bounded(queue_max);
        Self {
            inner: Arc::new(Inner {
                queue,
                jobs,
                cores,
                threads_max: limits.offload_threads_max.max(1),
                queue_max,
                threads: AtomicUsize::new(0),
                load: AtomicUsize::new(0),
                refused: AtomicU64::new(0),
                closed: AtomicBool::new(false),
            }),
        }
    }

    /// Queues `job` now and resolves with its value. Dropping the future does not take the job back.
    ///
    /// # Errors
    /// [`Error::OffloadFull`] when `offload_queue_max` jobs wait, [`Error::OffloadPanicked`] when the job
    /// panicked, [`Error::Stopped`] when the pool has closed, [`Error::Start`] when no thread could be started.
    pub fn run<T, F>(&self, job: F) -> OffloadFuture<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let value = Arc::default();
        let cell: ResultCell<T> = Arc::clone(&value);
        // Where no caller waits any more, the value is dropped with its cell.
        let job = move || store(&cell, job());
        OffloadFuture {
            state: self.begin(Box::new(job)),
            value,
        }
    }

    /// Everything that is the same for values of all types.
    fn begin(&self, job: Box<dyn FnOnce() + Send>) -> State {
        let (sender, receiver) = oneshot::channel();
        let boxed = Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(job));
            let outcome = outcome.map_err(|payload| panic_message(&*payload));
            let _ = sender.send(outcome);
        });
        match self.submit(boxed) {
            Ok(()) => State::Waiting(receiver),
            Err(error) => State::Failed(Some(error)),
        }
    }

    /// Jobs that wait for a thread.
    pub fn queued(&self) -> usize {
        self.inner.jobs.len()
    }

    /// Threads that have been started.
    pub fn threads(&self) -> usize {
        self.inner.threads.load(Ordering::Relaxed)
    }

    /// Jobs refused because the queue was full.
    pub fn refused(&self) -> u64 {
        self.inner.refused.load(Ordering::Relaxed)
    }

    fn submit(&self, job: Box<dyn FnOnce() + Send>) -> Result<()> {
        let inner = &self.inner;
        if inner.closed.load(Ordering::Acquire) {
            return Err(Error::Stopped);
        }
        let load = inner.load.fetch_add(1, Ordering::AcqRel) + 1;
        let started = if load > inner.threads.load(Ordering::Acquire) {
            Inner::grow(inner)
        } else {
            Ok(())
        };
        let outcome = match started {
            // Without any thread the job would wait for ever; with some it only waits longer.
            Err(source) if inner.threads.load(Ordering::Acquire) == 0 => {
                Err(Error::start("an offload thread")(source))
            }
            _ => inner
                .queue
                .try_send(Job::Run(job))
                .map_err(|error| match error {
                    TrySendError::Full(_) => {
                        inner.refused.fetch_add(1, Ordering::Relaxed);
                        Error::OffloadFull {
                            queue_max: inner.queue_max,
                        }
                    }
                    TrySendError::Disconnected(_) => Error::Stopped,
                }),
        };
        if outcome.is_err() {
            inner.load.fetch_sub(1, Ordering::AcqRel);
        }
        outcome
    }

    /// Refuses further jobs, lets the queued ones run and resolves when every thread has ended.
    pub(crate) async fn close(&self) {
        const PAUSE: Duration = Duration::from_millis(2);
        self.inner.closed.store(true, Ordering::Release);
        for _ in 0..self.threads() {
            while self.inner.queue.try_send(Job::Quit).is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
        while self.threads() > 0 {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Inner {
    /// Starts one more thread unless `threads_max` run.
    fn grow(inner: &Arc<Self>) -> std::io::Result<()> {
        let grown = inner
            .threads
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |threads| {
                (threads < inner.threads_max).then_some(threads + 1)
            });
        let Ok(number) = grown else { return Ok(()) };
        let own = Arc::clone(inner);
        let started = thread::Builder::new()
            .name(format!("tsumugi-offload-{number}"))
            .spawn(move || own.work());
        if started.is_err() {
            inner.threads.fetch_sub(1, Ordering::AcqRel);
        }
        started.map(drop)
    }

    fn work(&self) {
        self.cores.unpin();
        while let Ok(Job::Run(job)) = self.jobs.recv() {
            job();
            self.load.fetch_sub(1, Ordering::AcqRel);
        }
        self.threads.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The value of an offloaded job, once it has run.
#[derive(Debug)]
#[must_use = "the job's outcome is lost unless this is awaited"]
pub struct OffloadFuture<T> {
    state: State,
    value: ResultCell<T>,
}

/// Where a job leaves its value.
type ResultCell<T> = Arc<Mutex<Option<T>>>;

fn store<T>(cell: &ResultCell<T>, value: T) {
    *cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

#[derive(Debug)]
enum State {
    Waiting(oneshot::Receiver<Result<(), String>>),
    Failed(Option<Error>),
}

impl State {
    /// Ready once the job has run.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        match self {
            State::Waiting(receiver) => {
                Pin::new(receiver)
                    .poll(context)
                    .map(|outcome| match outcome {
                        Ok(Ok(())) => Ok(()),
                        Ok(Err(message)) => Err(Error::OffloadPanicked { message }),
                        Err(_) => Err(Error::Stopped),
                    })
            }
            State::Failed(error) => Poll::Ready(Err(error.take().unwrap_or(Error::Stopped))),
        }
    }
}

impl<T> Future for OffloadFuture<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let this = self.get_mut();
        ready!(this.state.poll_end(context))?;
        let mut value = this.value.lock().unwrap_or_else(PoisonError::into_inner);
        Poll::Ready(value.take().ok_or(Error::Stopped))
    }
}

impl<T> Unpin for OffloadFuture<T> {}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn pool(offload_threads_max: usize, offload_queue_max: usize) -> Pool {
        Pool::new(&WorkerLimits {
            offload_threads_max,
            offload_queue_max,
            ..WorkerLimits::default()
        })
    }

    fn wait<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(future)
    }

    /// Occupies one thread until the returned sender is dropped.
    fn occupy(pool: &Pool) -> (mpsc::Sender<()>, OffloadFuture<()>) {
        let (started, running) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let job = pool.run(move || {
            started.send(()).unwrap();
            let _ = released.recv();
        });
        running.recv().unwrap();
        (release, job)
    }

    #[test]
    fn the_job_after_the_limit_is_refused_by_name() {
        let pool = pool(1, 2);
        let (release, first) = occupy(&pool);
        let queued = [pool.run(|| 1), pool.run(|| 2)];
        let error = wait(pool.run(|| 3)).unwrap_err();
        assert!(matches!(error, Error::OffloadFull { queue_max: 2 }));
        assert!(
            error.to_string().contains("offload_queue_max = 2"),
            "{error}"
        );
        assert_eq!((pool.queued(), pool.refused(), pool.threads()), (2, 1, 1));
        drop(release);
        wait(first).unwrap();
        assert_eq!(queued.map(|each| wait(each).unwrap()), [1, 2]);
        assert_eq!(wait(pool.run(|| 4)).unwrap(), 4);
    }

    #[test]
    fn threads_start_when_needed_up_to_the_limit() {
        let pool = pool(3, 10);
        assert_eq!(pool.threads(), 0);
        let held: Vec<_> = (1..=3)
            .map(|threads| {
                let each = occupy(&pool);
                assert_eq!(pool.threads(), threads);
                each
            })
            .collect();
        let waiting = pool.run(|| ());
        assert_eq!((pool.threads(), pool.queued()), (3, 1));
        for (release, job) in held {
            drop(release);
            wait(job).unwrap();
        }
        wait(waiting).unwrap();
    }

    #[test]
    fn an_idle_thread_is_used_before_another_starts() {
        let pool = pool(8, 10);
        for _ in 0..20 {
            wait(pool.run(|| ())).unwrap();
            while pool.inner.load.load(Ordering::Acquire) > 0 {
                thread::yield_now();
            }
        }
        assert_eq!(pool.threads(), 1);
    }

    #[test]
    fn a_panicking_job_is_an_error_and_its_thread_goes_on() {
        let pool = pool(1, 10);
        let error =
            wait(pool.run(|| -> () { std::panic::resume_unwind(Box::new("boom")) })).unwrap_err();
        assert!(matches!(&error, Error::OffloadPanicked { message } if message == "boom"));
        assert_eq!(wait(pool.run(|| 5)).unwrap(), 5);
    }

    #[test]
    fn job_without_a_waiter_runs() {
        let pool = pool(1, 10);
        let (sender, receiver) = mpsc::channel();
        drop(pool.run(move || sender.send(()).unwrap()));
        receiver.recv().unwrap();
    }

    #[test]
    fn a_closing_pool_runs_what_is_queued_and_refuses_the_rest() {
        let pool = pool(1, 2);
        let (release, first) = occupy(&pool);
        let queued = [pool.run(|| 1), pool.run(|| 2)];
        wait(async {
            let close = pool.close();
            let mut close = std::pin::pin!(close);
            assert!(
                tokio::time::timeout(Duration::from_millis(20), close.as_mut())
                    .await
                    .is_err()
            );
            assert!(matches!(pool.run(|| 3).await, Err(Error::Stopped)));
            drop(release);
            close.await;
        });
        wait(first).unwrap();
        assert_eq!(queued.map(|each| wait(each).unwrap()), [1, 2]);
        assert_eq!(pool.threads(), 0);
    }
}
