//! Connections that wait for their next request, and places that bound how many are in use. Opens none.
//! A connection is kept only when its last response was read to the end and the server leaves it open.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tsumugi_trace::{SpanKind, in_wait, span};
use tsumugi_worker::WorkerHandle;

use super::target::{TargetUrl, UrlOrigin};
use super::{Error, Reach, Sender};
use crate::limits::{CallLimits, READY_WAIT};

/// The connections of one VM.
pub(crate) struct Pool {
    worker: WorkerHandle,
    hosts: RefCell<HashMap<Destination, Host>>,
    idle: Cell<usize>,
    /// Connections in use, all hosts together.
    places: Arc<Semaphore>,
    sweeping: Cell<bool>,
    limits: CallLimits,
}

struct Host {
    places: Arc<Semaphore>,
    idle: VecDeque<Idle>,
}

struct Idle {
    sender: Sender,
    since: Instant,
}

/// What shares connections: those that were opened to public addresses alone are not those that may lead anywhere.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Destination(UrlOrigin, Reach);

/// A place for one connection in use, given back when it is dropped.
pub(crate) struct ConnectionLease {
    pool: Rc<Pool>,
    destination: Destination,
    permits: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
}

impl Pool {
    pub fn new(worker: &WorkerHandle, limits: &CallLimits) -> Rc<Pool> {
        Rc::new(Pool {
            worker: worker.clone(),
            hosts: RefCell::default(),
            idle: Cell::new(0),
            places: Arc::new(Semaphore::new(limits.connections_max)),
            sweeping: Cell::new(false),
            limits: limits.clone(),
        })
    }

    /// Waits for a place. First come, first served.
    pub async fn place(
        self: &Rc<Self>,
        target: &TargetUrl,
        reach: Reach,
    ) -> Result<ConnectionLease, Error> {
        let mut lease = ConnectionLease {
            pool: Rc::clone(self),
            destination: Destination(target.origin().clone(), reach),
            permits: None,
        };
        let host = {
            let mut hosts = self.hosts.borrow_mut();
            let host = hosts
                .entry(lease.destination.clone())
                .or_insert_with(|| Host {
                    places: Arc::new(Semaphore::new(self.limits.connections_per_host_max)),
                    idle: VecDeque::new(),
                });
            Arc::clone(&host.places)
        };
        let closed = |_: AcquireError| Error::Connect {
            place: target.place(),
            reason: "the client is closed".to_owned(),
        };
        // The host's first: who waits for a busy host must not keep others from theirs.
        let permits = async {
            let of_host = host.acquire_owned().await?;
            Ok((of_host, Arc::clone(&self.places).acquire_owned().await?))
        };
        let permits = in_wait(|| span(SpanKind::Pool, &target.place()), permits);
        lease.permits = Some(permits.await.map_err(closed)?);
        Ok(lease)
    }

    fn keep(self: &Rc<Self>, destination: &Destination, sender: Sender) {
        let mut hosts = self.hosts.borrow_mut();
        let Some(host) = hosts.get_mut(destination) else {
            return;
        };
        if host.idle.len() >= self.limits.idle_per_host_max
            || self.idle.get() >= self.limits.idle_max
        {
            return;
        }
        host.idle.push_back(Idle {
            sender,
            since: Instant::now(),
        });
        self.idle.set(self.idle.get() + 1);
        drop(hosts);
        self.start_sweeping();
    }

    /// Closes what has waited too long, for as long as anything waits.
    fn start_sweeping(self: &Rc<Self>) {
        if self.sweeping.replace(true) {
            return;
        }
        let pool = Rc::downgrade(self);
        let pause = Duration::from_millis(self.limits.idle_ms_max);
        drop(self.worker.spawn_boxed(Box::pin(async move {
            loop {
                tokio::time::sleep(pause / 2).await;
                let Some(pool) = pool.upgrade() else {
                    return;
                };
                pool.sweep(pause);
                if pool.idle.get() == 0 {
                    pool.sweeping.set(false);
                    return;
                }
            }
        })));
    }

    fn sweep(&self, idle_max: Duration) {
        let mut left = 0;
        self.hosts.borrow_mut().retain(|_, host| {
            host.idle
                .retain(|idle| idle.since.elapsed() < idle_max && !idle.sender.is_closed());
            left += host.idle.len();
            !host.is_unused()
        });
        self.idle.set(left);
    }
}

impl Host {
    fn is_unused(&self) -> bool {
        self.idle.is_empty() && Arc::strong_count(&self.places) == 1
    }
}

impl ConnectionLease {
    /// A connection that has waited, the latest first.
    pub fn idle(&self) -> Option<Sender> {
        let mut hosts = self.pool.hosts.borrow_mut();
        let host = hosts.get_mut(&self.destination)?;
        let idle_max = Duration::from_millis(self.pool.limits.idle_ms_max);
        while let Some(idle) = host.idle.pop_back() {
            self.pool.idle.set(self.pool.idle.get() - 1);
            if idle.sender.is_ready() && idle.since.elapsed() < idle_max {
                return Some(idle.sender);
            }
        }
        None
    }

    /// Keeps a connection for later, when it stays open.
    pub async fn keep(&self, mut sender: Sender) {
        if let Ok(Ok(())) = timeout(READY_WAIT, sender.ready()).await {
            self.pool.keep(&self.destination, sender);
        }
    }
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        self.permits = None; // first, so that the count below is without them
        let mut hosts = self.pool.hosts.borrow_mut();
        if hosts.get(&self.destination).is_some_and(Host::is_unused) {
            hosts.remove(&self.destination);
        }
    }
}
