//! What a layer above implements to be run on every worker. Knows neither threads nor sockets' contents.
//! The application is asked for per request, so that a reload takes effect on open connections.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::rc::Rc;

use crate::{BoxError, Connection};

/// What runs on each worker. Its futures stay on that worker's thread and need not be `Send`.
pub trait WorkerService: 'static {
    /// The loaded application of one worker.
    type App: 'static;

    /// Loads the application on this worker; may wait. Called at start and again at each reload.
    /// The future is dropped when the load takes longer than `load_ms_max`, when another worker's load
    /// failed, or when the server is to end.
    fn load(&self) -> impl Future<Output = Result<Rc<Self::App>, BoxError>>;

    /// Serves one connection to its end. Ask `app.current()` for every request. Once
    /// [`WorkerHandle::drain_started`](crate::WorkerHandle::drain_started) resolves, finish the running request and return.
    fn serve(&self, connection: Connection, app: Current<Self::App>) -> impl Future<Output = ()>;

    /// Resolves when the last request of `app` has ended and its plugins have stopped. Called after a swap,
    /// after a discarded load and at drain. Dropped when `drain_ms_max` is over.
    fn retire(&self, app: Rc<Self::App>) -> impl Future<Output = ()>;

    /// Resolves, once another process has taken over, when no further request is expected: the application retires then, even if clients
    /// that do not answer keep their connections. By default it retires when the last connection has ended, as in any drain.
    fn last_requests(&self) -> impl Future<Output = ()> {
        pending()
    }
}

/// The application that answers requests now, on this worker.
#[derive(Debug)]
pub struct Current<A>(Rc<RefCell<Rc<A>>>);

impl<A> Current<A> {
    pub(crate) fn new(app: Rc<A>) -> Self {
        Self(Rc::new(RefCell::new(app)))
    }

    /// The application for one request. Keep it for that request only.
    pub fn current(&self) -> Rc<A> {
        Rc::clone(&self.0.borrow())
    }

    pub(crate) fn swap(&self, app: Rc<A>) -> Rc<A> {
        self.0.replace(app)
    }
}

impl<A> Clone for Current<A> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}
