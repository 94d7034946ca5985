//! The handle of one worker for the code that runs on it: tasks, timers, offload, drain, watchdog.
//! Stays on its thread (`!Send`); whatever is reached through it is either the worker's own or made for sharing.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::shared::ServerShared;
use crate::{
    Observer, ObserverGuard, OffloadFuture, Pool, ServerSnapshot, WatchedFuture, WorkerLimits,
    WorkerTurn,
};

/// A future that stays on its worker, of whichever type it was: what tasks and all else on a worker are made of.
pub type LocalTask<T> = Pin<Box<dyn Future<Output = T>>>;

/// A worker, on its own thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WorkerHandle {
    inner: Rc<WorkerInner>,
}

#[derive(Debug)]
pub(crate) struct WorkerInner {
    pub id: usize,
    pub shared: Arc<ServerShared>,
    /// Connections that this worker has in hand. The lane's load counts those on their way as well.
    pub open: Cell<usize>,
    /// Told when `open` falls to 0.
    pub idle: Notify,
    draining: Cell<Option<DrainReason>>,
    drain: Notify,
    serving: Cell<bool>,
    serve: Notify,
}

/// Why a worker drains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainReason {
    /// The server ends, and nothing listens any more.
    Ending,
    /// Another process accepts from the same sockets.
    HandedOver,
}

impl WorkerInner {
    pub fn turn(&self) -> WorkerTurn<'_> {
        WorkerTurn::begin(&self.shared.lanes[self.id].turn)
    }
}

impl WorkerHandle {
    pub(crate) fn new(id: usize, shared: Arc<ServerShared>) -> Self {
        Self {
            inner: Rc::new(WorkerInner {
                id,
                shared,
                open: Cell::new(0),
                idle: Notify::new(),
                draining: Cell::new(None),
                drain: Notify::new(),
                serving: Cell::new(false),
                serve: Notify::new(),
            }),
        }
    }

    pub(crate) fn inner(&self) -> &Rc<WorkerInner> {
        &self.inner
    }

    pub(crate) fn shared(&self) -> &Arc<ServerShared> {
        &self.inner.shared
    }

    /// Number of this worker, from 0.
    pub fn id(&self) -> usize {
        self.inner.id
    }

    /// Number of workers of the server.
    pub fn count(&self) -> usize {
        self.inner.shared.lanes.len()
    }

    /// The server's limits.
    pub fn limits(&self) -> &WorkerLimits {
        &self.inner.shared.limits
    }

    /// Figures of the whole server.
    pub fn snapshot(&self) -> ServerSnapshot {
        self.inner.shared.snapshot()
    }

    /// Runs `future` on this worker, under the watchdog. The task goes on when the handle is dropped; it is
    /// dropped itself when the worker ends.
    ///
    /// # Panics
    /// Outside the worker's runtime, that is, anywhere but in a task or in the code that makes the service.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        tokio::task::spawn_local(self.watched(future))
    }

    /// The same for what begins seldom: a boxed edge, so that the event loop's code for tasks is there once for all of it.
    ///
    /// # Panics
    /// As [`WorkerHandle::spawn`].
    pub fn spawn_boxed(&self, future: LocalTask<()>) -> JoinHandle<()> {
        self.spawn(future)
    }

    /// Makes every poll of `future` a turn of this worker, for futures that are spawned elsewhere.
    pub fn watched<F: Future>(&self, future: F) -> WatchedFuture<F> {
        WatchedFuture::new(Rc::clone(&self.inner), future)
    }

    /// Begins a turn, for code that runs outside [`WorkerHandle::spawn`] and [`WorkerHandle::watched`].
    pub fn turn(&self) -> WorkerTurn<'_> {
        self.inner.turn()
    }

    /// The turn that runs now, to be compared with [`Sample::turn`](crate::Sample::turn): an observer's alarm
    /// may arrive when its turn has just ended, and must not hit the next one.
    pub fn turn_number(&self) -> u64 {
        self.inner.shared.lanes[self.inner.id]
            .turn
            .load(Ordering::Relaxed)
    }

    /// Tells `observer` of this worker's long turns until the returned guard is dropped.
    /// Several may be registered; all are called.
    pub fn watch(&self, observer: Arc<dyn Observer>) -> ObserverGuard {
        ObserverGuard::new(Arc::clone(&self.inner.shared), self.inner.id, observer)
    }

    /// Runs blocking work on the process-wide pool. See [`Pool::run`].
    pub fn offload<T, F>(&self, job: F) -> OffloadFuture<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.inner.shared.pool.run(job)
    }

    /// The process-wide pool, for code that outlives or never sees a worker.
    pub fn pool(&self) -> &Pool {
        &self.inner.shared.pool
    }

    /// Resolves after `duration`, never earlier, and up to about a millisecond later on an idle worker.
    pub fn sleep(&self, duration: Duration) -> tokio::time::Sleep {
        tokio::time::sleep(duration)
    }

    /// Whether a drain has begun.
    pub fn draining(&self) -> bool {
        self.drain_reason().is_some()
    }

    /// Why a drain has begun, if one has.
    pub fn drain_reason(&self) -> Option<DrainReason> {
        self.inner.draining.get()
    }

    /// Whether the server was asked to drain or to end: clients do well to send their next request on another connection.
    pub fn is_leaving(&self) -> bool {
        self.inner.shared.leaving.load(Ordering::Relaxed)
    }

    /// Resolves when a drain begins, at once when it has. Allocates nothing.
    pub fn drain_started(&self) -> impl Future<Output = ()> + 'static {
        let inner = Rc::clone(&self.inner);
        async move {
            let mut notified = std::pin::pin!(inner.drain.notified());
            // Registers before the flag is read, so that no drain falls between the two.
            notified.as_mut().enable();
            if inner.draining.get().is_none() {
                notified.await;
            }
        }
    }

    /// Resolves once this worker serves, at once when it does: all workers have loaded the application for the first time.
    pub fn serving_started(&self) -> impl Future<Output = ()> + 'static {
        let inner = Rc::clone(&self.inner);
        async move {
            while !inner.serving.get() {
                // One thread: nothing happens between the look and the registration.
                inner.serve.notified().await;
            }
        }
    }

    pub(crate) fn begin_serving(&self) {
        self.inner.serving.set(true);
        self.inner.serve.notify_waiters();
    }

    pub(crate) fn begin_drain(&self, reason: DrainReason) {
        self.inner.draining.set(Some(reason));
        self.inner.drain.notify_waiters();
    }

    /// Notes for other threads that the applications of this worker have retired for good.
    pub(crate) fn note_retired(&self) {
        self.inner.shared.retired.fetch_add(1, Ordering::Release);
    }

    /// Resolves when this worker has no connection in hand.
    pub(crate) async fn idle(&self) {
        while self.inner.open.get() > 0 {
            self.inner.idle.notified().await;
        }
    }
}
