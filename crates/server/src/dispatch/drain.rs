//! What an application waits for before it retires: its timers, then its requests with the streams and conversations that they left.
//! Rule: a request counts from its first moment, so that nothing of it meets an application that has ended.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// What runs of one application.
#[derive(Default)]
pub struct RunningWork {
    running: Cell<usize>,
    ended: Notify,
    /// Whether there are none any more, and none may begin.
    are_over: Cell<bool>,
    stop: Rc<StopSignal>,
    timers: RefCell<Vec<JoinHandle<()>>>,
}

impl RunningWork {
    /// Given when timers are to stop.
    pub fn stop_signal(&self) -> &Rc<StopSignal> {
        &self.stop
    }

    /// Adds timers that end at the signal.
    pub fn add_timers(&self, timers: impl IntoIterator<Item = JoinHandle<()>>) {
        self.timers.borrow_mut().extend(timers);
    }

    /// Stops the timers, then waits for the last job.
    pub async fn drain(&self) {
        self.stop.give();
        let timers: Vec<JoinHandle<()>> = self.timers.borrow_mut().drain(..).collect();
        for timer in timers {
            let _ = timer.await; // it ends by the signal; a panic in it is in the log
        }
        while self.running.get() > 0 {
            self.ended.notified().await; // nothing awaits between the check and the registration: one thread
        }
        self.are_over.set(true);
    }

    /// Whether the last job has ended after a drain began.
    pub(super) fn are_over(&self) -> bool {
        self.are_over.get()
    }
}

/// An application that has jobs.
pub trait HasJobs: 'static {
    /// What the application still has to do, which a drain waits for.
    fn jobs(&self) -> &RunningWork;
}

/// Keeps an application from retiring.
pub struct JobGuard<A: HasJobs>(Rc<A>);

impl<A: HasJobs> JobGuard<A> {
    pub(super) fn begin(app: &Rc<A>) -> JobGuard<A> {
        let running = &app.jobs().running;
        running.set(running.get() + 1);
        JobGuard(Rc::clone(app))
    }

    /// One more, for what goes on when this is over.
    #[must_use]
    pub fn another(&self) -> JobGuard<A> {
        JobGuard::begin(&self.0)
    }

    /// The application.
    pub fn app(&self) -> &Rc<A> {
        &self.0
    }
}

impl<A: HasJobs> Drop for JobGuard<A> {
    fn drop(&mut self) {
        let jobs = self.0.jobs();
        jobs.running.set(jobs.running.get() - 1);
        // Only a drain waits.
        if jobs.running.get() == 0 && jobs.stop.is_given() {
            jobs.ended.notify_waiters();
        }
    }
}

/// Ends something from outside, once.
#[derive(Debug, Default)]
pub struct StopSignal {
    given: Cell<bool>,
    notify: Notify,
}

impl StopSignal {
    /// Gives it.
    pub fn give(&self) {
        self.given.set(true);
        self.notify.notify_waiters();
    }

    /// Whether it was given.
    pub fn is_given(&self) -> bool {
        self.given.get()
    }

    /// Resolves when it is given.
    pub async fn given(&self) {
        while !self.given.get() {
            self.notify.notified().await;
        }
    }
}
